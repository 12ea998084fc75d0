//===- ClusterTimelineTest.cpp - Collectives beside work ------------------===//

#include "hone/Analysis/Cost/ClusterTimeline.h"

#include "gtest/gtest.h"

using namespace hone;

namespace {

using Event = TimelineEvent;

Event work(double seconds) { return {Event::Work, seconds}; }
Event begin(size_t collective, double seconds, size_t channel = 0) {
  return {Event::Begin, seconds, collective, channel};
}
Event wait(size_t collective) { return {Event::Wait, 0, collective}; }

TEST(ClusterTimeline, WaitedForAtOnceIsExposed) {
  TimelineSeconds seconds =
      runTimeline({work(1), begin(0, 2), wait(0), work(3)});
  EXPECT_EQ(seconds.work, 4);
  EXPECT_EQ(seconds.exposed[0], 2);
  EXPECT_EQ(seconds.total(), 6);
}

TEST(ClusterTimeline, WorkHides) {
  EXPECT_EQ(runTimeline({begin(0, 2), work(3), wait(0)}).total(), 3);
  EXPECT_EQ(runTimeline({begin(0, 5), work(3), wait(0)}).exposed[0], 2);
}

TEST(ClusterTimeline, ChannelsRunBesideEachOther) {
  EXPECT_EQ(runTimeline({begin(0, 2), begin(1, 2), wait(0), wait(1)}).total(),
            4);
  TimelineSeconds two =
      runTimeline({begin(0, 2, 0), begin(1, 2, 1), wait(0), wait(1)});
  EXPECT_EQ(two.total(), 2);
  EXPECT_EQ(two.exposed[1], 0);
}

/// A collective's span is on its channel, a wait's is what is exposed.
TEST(ClusterTimeline, EventsHaveSpans) {
  TimelineSeconds seconds = runTimeline(
      {work(1), begin(0, 2), begin(1, 3), work(4), wait(0), wait(1)});
  std::vector<std::pair<double, double>> expected = {{0, 1}, {1, 3}, {3, 6},
                                                     {1, 5}, {5, 5}, {5, 6}};
  EXPECT_EQ(seconds.spans, expected);
}

TEST(ClusterTimeline, TheListEndsWithItsExchanges) {
  EXPECT_EQ(runTimeline({work(1), begin(0, 2)}).total(), 3);
  EXPECT_EQ(runTimeline({}).total(), 0);
}

} // namespace
