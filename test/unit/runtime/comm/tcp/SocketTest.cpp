//===- SocketTest.cpp - Ranks that meet over TCP --------------------------===//

#include "support/RankStep.h"
#include "support/SocketRanks.h"
#include "train/Connect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

using namespace honert;

namespace {

using CommSocket = test::SocketRanks;

/// Each rank's number, from each rank, and large blocks in both directions.
Status exchange(ProcessGroup &world) {
  int64_t own = world.rank() + 7;
  std::vector<int64_t> all(size_t(world.size()));
  for (int round = 0; round != 3; ++round) {
    HONERT_TRY(world.allGather(&own, sizeof own, all.data()));
    for (int64_t rank = 0; rank != world.size(); ++rank)
      EXPECT_EQ(all[size_t(rank)], rank + 7);
    for (int64_t root = 0; root != world.size(); ++root) {
      std::string text(3000000, char('a' + world.rank()));
      HONERT_TRY(world.broadcast(text.data(), int64_t(text.size()), root));
      EXPECT_EQ(text, std::string(text.size(), char('a' + root)));
    }
  }
  return Status();
}

TEST_F(CommSocket, every_rank_reaches_every_other) {
  for (int64_t ranks : {2, 3, 5})
    expectAll(ranks, exchange);
}

TEST_F(CommSocket, late_ranks_are_waited_for) {
  std::vector<LauncherEnvironment> places;
  for (int64_t rank : {2, 1, 0}) // the first starts last
    places.push_back(placeOf(rank, 3));
  for (const std::string &line : run(places, exchange))
    EXPECT_EQ(line, "");
}

TEST_F(CommSocket, meets_by_a_file) {
  test::Folder folder;
  bootstrap = "file:" + (folder / "place");
  expectAll(3, exchange);
  EXPECT_FALSE(test::exists(folder / "place"));
}

TEST_F(CommSocket, an_old_file_is_nobody) {
  test::Folder folder;
  bootstrap = "file:" + (folder / "place");
  test::writeFile(folder / "place", "hone-meeting-1 127.0.0.1 1 0 " +
                                        std::string(64, '0') + "\n");
  std::vector<LauncherEnvironment> places = {placeOf(1, 2), placeOf(0, 2)};
  for (const std::string &line : run(places, exchange))
    EXPECT_EQ(line, "");
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(CommSocket, no_address) {
  LauncherEnvironment place = placeOf(0, 2);
  place.masterAddress = "", place.launcher = "srun";
  EXPECT_EQ(run({place})[0],
            "srun started 2 ranks, but MASTER_ADDR and MASTER_PORT do not say "
            "where they meet (or --dist-bootstrap=file:PATH)");
}

/// Both ranks end, whatever listens there.
TEST_F(CommSocket, a_busy_port) {
  Socket other;
  SocketAddress taken = SocketAddress::everywhere(port);
  ASSERT_TRUE(listenAt(taken, other).ok());
  std::vector<std::string> lines = run(2);
  std::string where = format("the ranks do not meet at 127.0.0.1:%lld "
                             "(MASTER_PORT + 1): ",
                             static_cast<long long>(port));
  EXPECT_EQ(lines[0], where + format("port %lld of this machine: Address "
                                     "already in use",
                                     static_cast<long long>(port)));
  EXPECT_EQ(lines[1], where + "what listens there has not answered in time");
}

TEST_F(CommSocket, a_rank_that_does_not_come) {
  timeout = 0.5;
  std::vector<std::string> lines = run({placeOf(0, 3), placeOf(2, 3)});
  EXPECT_NE(lines[0].find("the ranks 1 have not come in time (--comm-timeout)"),
            std::string::npos)
      << lines[0];
  EXPECT_NE(lines[1].find("rank 0 "), std::string::npos) << lines[1];
}

TEST_F(CommSocket, no_first_rank) {
  timeout = 0.3;
  EXPECT_NE(run({placeOf(1, 2)})[0].find(
                "rank 0 has not come in time (--comm-timeout)"),
            std::string::npos);
}

TEST_F(CommSocket, a_rank_of_another_size_or_twice) {
  timeout = 0.5;
  EXPECT_NE(run({placeOf(0, 2), placeOf(1, 3)})[1].find(
                "what listens there is of 2 ranks, this process of 3"),
            std::string::npos);
  std::vector<std::string> lines =
      run({placeOf(0, 3), placeOf(1, 3), placeOf(1, 3)});
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const auto &line) {
    return line.find("has a rank 1 already") != std::string::npos;
  })) << lines[1];
}

TEST_F(CommSocket, a_rank_that_leaves) {
  std::vector<std::string> lines = run(3, [](ProcessGroup &world) {
    HONERT_TRY(world.barrier());
    if (world.rank() == 1)
      return Status::error("no more");
    return world.barrier();
  });
  EXPECT_EQ(lines[1], "no more");
  for (int rank : {0, 2})
    EXPECT_EQ(lines[size_t(rank)], "rank 1 has left the run");
}

TEST_F(CommSocket, the_first_rank_leaves) {
  std::vector<std::string> lines = run(3, [](ProcessGroup &world) {
    HONERT_TRY(world.barrier());
    return world.isFirst() ? Status::error("no more") : world.barrier();
  });
  for (int rank : {1, 2})
    EXPECT_EQ(lines[size_t(rank)], "rank 0 has left the run");
}

/// Rank 0 waits for rank 1, which has not come yet.
TEST_F(CommSocket, a_rank_that_leaves_while_others_are_late) {
  std::vector<std::string> lines = run(3, [](ProcessGroup &world) {
    HONERT_TRY(world.barrier());
    if (world.rank() == 2)
      return Status::error("no more");
    if (world.rank() == 1)
      for (int i = 0; i != 400 && world.findLost().ok(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return world.barrier();
  });
  for (int rank : {0, 1})
    EXPECT_EQ(lines[size_t(rank)], "rank 2 has left the run");
}

/// Not the first one, with which it exchanges everything.
TEST_F(CommSocket, a_rank_knows_for_which_other_it_waits) {
  for (int64_t late : {0, 1, 2})
    expectAll(3, [&](ProcessGroup &world) {
      std::thread watcher([&] {
        for (int i = 0; i != 400 && world.rank() != late; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          std::optional<CollectiveLog::Wait> wait = world.log().waiting();
          if (wait && wait->peer == late)
            return;
        }
        EXPECT_EQ(world.rank(), late);
      });
      if (world.rank() == late)
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
      Status met = world.barrier();
      watcher.join();
      return met;
    });
}

/// What the call before asked for lies in memory that is gone.
TEST_F(CommSocket, after_a_loss_every_call_is_the_same_error) {
  std::vector<std::string> lines = run(3, [](ProcessGroup &world) {
    HONERT_TRY(world.barrier());
    if (world.rank() == 1)
      return Status::error("no more");
    Status first;
    for (int call = 0; call != 3; ++call) {
      std::vector<char> own(100000), all(3 * own.size());
      Status status =
          call == 2
              ? world.broadcast(own.data(), int64_t(own.size()), 0)
              : world.allGather(own.data(), int64_t(own.size()), all.data());
      if (call == 0)
        first = status;
      EXPECT_EQ(status.message(), first.message());
    }
    return first;
  });
  for (int rank : {0, 2})
    EXPECT_EQ(lines[size_t(rank)], "rank 1 has left the run");
}

/// Slurm's srun --mpi=pmi2 shows as PMI.
TEST_F(CommSocket, ranks_on_gpus_meet_so_under_srun) {
  for (const char *launcher : {"srun", "PMI", "torchrun"}) {
    std::vector<std::string> lines(2);
    std::vector<std::thread> threads;
    for (int64_t rank : {0, 1})
      threads.emplace_back([&, rank] {
        test::RankStep step({2});
        LauncherEnvironment place = placeOf(rank, 2);
        place.launcher = launcher;
        Options options;
        options.commTimeout = timeout;
        std::unique_ptr<ProcessGroup> world;
        Status status = connect(step.finish(true), options, place, world);
        if (status.ok())
          status = world->barrier();
        if (world)
          world->leave(status);
        lines[size_t(rank)] = status.message();
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(lines, std::vector<std::string>(2)) << launcher;
  }
}

/// Another thread sees it while the ranks' own ones are busy, also at ranks
/// that have no connection to it.
TEST_F(CommSocket, a_rank_that_left_is_seen) {
  run(3, [](ProcessGroup &world) {
    HONERT_TRY(world.barrier());
    EXPECT_TRUE(world.rank() == 1 || world.findLost().ok());
    HONERT_TRY(world.barrier());
    if (world.rank() == 1)
      return Status::error("no more");
    for (int i = 0; i != 200 && world.findLost().ok(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(world.findLost().message(), "rank 1 has left the run");
    return Status::error("nor this one");
  });
}

} // namespace
