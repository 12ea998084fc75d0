//===- WatchdogTest.cpp - Waiting in vain ---------------------------------===//

#include "comm/group/Watchdog.h"

#include <gtest/gtest.h>

#include <csignal>

using namespace honert;

namespace {

TEST(CommLog, keeps_the_latest_and_what_is_waited_for) {
  CollectiveLog log;
  EXPECT_EQ(log.text(), "");
  log.setStep(7);
  for (int i = 0; i != 40; ++i) {
    int64_t number = log.begin("sum " + std::to_string(i));
    if (i != 39)
      log.end(number);
  }
  std::string text = log.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 32);
  EXPECT_EQ(text.rfind("  sum 8 (number 9 of step 7): begun ", 0), 0u) << text;
  EXPECT_NE(text.find("sum 39 (number 40 of step 7): begun "),
            std::string::npos);
  EXPECT_NE(text.find("not done"), std::string::npos);
  EXPECT_FALSE(log.waiting());
  log.wait(40, 2);
  ASSERT_TRUE(log.waiting());
  EXPECT_EQ(log.waiting()->entry.what, "sum 39");
  EXPECT_EQ(log.waiting()->peer, 2);
  log.end(40);
  EXPECT_FALSE(log.waiting());
}

TEST(CommLog, tells_of_a_wait_that_has_left_it) {
  CollectiveLog log;
  int64_t first = log.begin("first");
  for (int i = 0; i != 40; ++i)
    log.end(log.begin("later"));
  log.wait(first);
  EXPECT_EQ(toString(log.waiting()->entry),
            "a collective begun long ago (number 1)");
  log.end(first);
  EXPECT_FALSE(log.waiting());
}

TEST(CommLog, is_written_in_pieces_of_whole_lines) {
  EXPECT_TRUE(piecesOf("", "rank 3: ").empty());
  EXPECT_EQ(piecesOf("a\nb", "rank 3: "),
            std::vector<std::string>{"rank 3: a\nrank 3: b\n"});
  std::string text, all;
  for (int i = 0; i != 100; ++i)
    text += std::string(static_cast<size_t>(i * 3), 'x') + "\n";
  text += std::string(5000, 'y');
  for (const std::string &piece : piecesOf(text, "rank 3: ")) {
    EXPECT_LE(piece.size(), 4000u);
    EXPECT_EQ(piece.rfind("rank 3: ", 0), 0u);
    EXPECT_EQ(piece.back(), '\n');
    all += piece;
  }
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 101);
  EXPECT_EQ(all.substr(all.size() - 5), "y...\n");
}

TEST(CommLog, cuts_names) {
  EXPECT_EQ(shortName("sum wte"), "sum wte");
  std::string module = "blocks.0.attn.proj/", name = "all_gather ";
  for (int i = 0; i != 9; ++i)
    name += module;
  EXPECT_EQ(shortName(name).size(), 80u);
  EXPECT_EQ(shortName(name).substr(70), "ocks.0....");
  std::string some = shortName(name + " and 12 more");
  EXPECT_EQ(some.size(), 80u);
  EXPECT_EQ(some.substr(60), "tn.pr... and 12 more");
}

void waitFor(double seconds, double timeout, Watchdog::Hooks hooks = {}) {
  CollectiveLog log;
  Watchdog watchdog(log, 3, timeout, std::move(hooks));
  int64_t number = log.begin("all_reduce 'w'");
  log.wait(number, 1);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  log.end(number);
}

// The limits leave a busy machine some hundred milliseconds.
TEST(CommWatchdog, lets_short_waits_be) {
  waitFor(0.3, 30);
  waitFor(0.3, 0);
}

TEST(CommWatchdogDeathTest, ends_a_long_wait) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      waitFor(10, 0.2), testing::ExitedWithCode(1),
      "rank 3: error: all_reduce 'w' \\(number 1\\) has waited 0.[0-9] "
      "s for rank 1, expected at most 0.2 s \\(--comm-timeout\\)\n"
      "rank 3: its latest collectives:\n"
      "rank 3:   all_reduce 'w' \\(number 1\\): begun .* ms ago, not done\n");
}

TEST(CommWatchdogDeathTest, ends_at_an_error_of_the_library) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  Watchdog::Hooks hooks;
  hooks.poll = [] { return Status::error("a link is down"); };
  hooks.abort = [] { std::fputs("aborted\n", stderr); };
  EXPECT_EXIT(waitFor(10, 0, hooks), testing::ExitedWithCode(1),
              "rank 3: error: a link is down\n(.|\n)*aborted\n");
}

TEST(CommWatchdogDeathTest, ends_where_the_library_does_not) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  Watchdog::Hooks hooks;
  hooks.poll = [] { return Status::error("a link is down"); };
  hooks.abort = [] { std::this_thread::sleep_for(std::chrono::minutes(1)); };
  EXPECT_EXIT(waitFor(60, 0, hooks), testing::KilledBySignal(SIGALRM),
              "rank 3: error: a link is down\n");
}

} // namespace
