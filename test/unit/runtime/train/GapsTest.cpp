//===- GapsTest.cpp - Idle time between the launches of a graph -----------===//

#include "train/Gaps.h"
#include "train/Profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

using namespace honert;

namespace {

using Clock = std::chrono::steady_clock;

/// A function whose launches are made up, with their times in microseconds.
class Gaps : public testing::Test {
protected:
  Gaps() {
    function.name = "step";
    times.function = &function;
    times.isGraph = true;
  }
  void add(const char *name, int begin, int end,
           decltype(Launch::action) action = {}) {
    Launch &launch = launches.emplace_back();
    launch.name = name;
    launch.action = std::move(action);
    times.launches.push_back({&launch, at(begin), at(end)});
    times.end = std::max(times.end, at(end));
  }
  static Clock::time_point at(int microsecond) {
    return Clock::time_point() + std::chrono::microseconds(microsecond);
  }
  /// "a..b 10-30, "
  std::string text() const {
    std::string text;
    for (const Gap &gap : findGaps(times)) {
      auto count = [](Clock::time_point moment) {
        return std::chrono::duration_cast<std::chrono::microseconds>(
                   moment.time_since_epoch())
            .count();
      };
      text += format("%s..%s %d-%d, ", gap.before->name.c_str(),
                     gap.after->name.c_str(), int(count(gap.begin)),
                     int(count(gap.end)));
    }
    return text;
  }

  Function function;
  std::deque<Launch> launches; // stay where they are
  FunctionTimes times;
};

TEST_F(Gaps, lie_between_launches) {
  add("a", 5, 10);
  add("b", 30, 40);
  add("c", 40, 50);
  add("d", 51, 60);
  EXPECT_EQ(text(), "a..b 10-30, c..d 50-51, ");
}

/// The collective begins before `b` and covers the time up to `c`, not that
/// between `c` and `d`.
TEST_F(Gaps, none_while_a_collective_runs) {
  add("a", 0, 10);
  add("reduce", 10, 45);
  add("b", 12, 20);
  add("c", 40, 50);
  add("d", 60, 70);
  EXPECT_EQ(text(), "c..d 50-60, ");
}

TEST_F(Gaps, a_wait_is_one_unless_something_runs) {
  add("a", 0, 10);
  add("wait", 10, 30, WaitLaunch{1});
  add("b", 30, 40);
  EXPECT_EQ(text(), "a..b 10-30, ");
}

TEST_F(Gaps, of_launches_made_one_by_one_say_nothing) {
  add("a", 0, 10);
  add("b", 30, 40);
  times.isGraph = false;
  EXPECT_EQ(text(), "");
}

/// The largest of all runs of the step come first, five at most.
TEST_F(Gaps, the_table_shows_the_largest) {
  times.begin = at(0);
  int moment = 0;
  for (int gap : {30, 10, 60, 20, 50, 40}) {
    add("k", moment, moment + 100);
    moment += 100 + gap;
  }
  add("last", moment, moment + 190);
  StepTimes step;
  step.add({times});
  std::string table = profileTable(step, {0.8e-3, 0.7e-3, 0.9e-3, 5e-3});
  size_t graph = table.find("graph:");
  ASSERT_NE(graph, std::string::npos);
  EXPECT_EQ(table.substr(graph),
            "graph: 0.800 ms a step as replayed (median of 4), 1.000 ms with "
            "times of launches, 0.210 ms of it idle (21.0%)\n"
            "   idle ms       %  largest gaps\n"
            "     0.060    6.0%  step: after k, before k\n"
            "     0.050    5.0%  step: after k, before k\n"
            "     0.040    4.0%  step: after k, before last\n"
            "     0.030    3.0%  step: after k, before k\n"
            "     0.020    2.0%  step: after k, before k\n");
}

} // namespace
