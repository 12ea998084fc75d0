//===- StrangersTest.cpp - Ranks meet while others knock ------------------===//

#include "support/SocketRanks.h"

#include <gtest/gtest.h>

#include <atomic>

using namespace honert;

namespace {

class CommStrangers : public test::SocketRanks {
protected:
  CommStrangers() { secret = "a secret for this test alone"; }

  Socket knock() {
    std::vector<SocketAddress> found;
    EXPECT_TRUE(SocketAddress::find("127.0.0.1", port, found).ok());
    Socket socket;
    while (!socket.isOpen()) // rank 0 has not come yet
      EXPECT_TRUE(connectTo(found[0], Deadline(10), socket).ok());
    return socket;
  }
  /// Ranks 1 to `ranks` - 1 come once strangers have done something to rank 0.
  std::vector<std::string> meetAfter(int64_t ranks,
                                     const std::function<void()> &strangers) {
    std::vector<std::string> lines(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    threads.emplace_back([&] { lines[0] = meet(placeOf(0, ranks)); });
    strangers();
    for (int64_t rank = 1; rank != ranks; ++rank)
      threads.emplace_back(
          [&, rank] { lines[size_t(rank)] = meet(placeOf(rank, ranks)); });
    for (std::thread &thread : threads)
      thread.join();
    return lines;
  }
  std::string meet(const LauncherEnvironment &place) {
    return run({place}, [](ProcessGroup &world) { return world.barrier(); })[0];
  }
};

/// Three of them ended a run, when they were served one by one.
TEST_F(CommStrangers, cost_a_run_no_time) {
  std::vector<Socket> sockets;
  auto begin = Deadline::Clock::now();
  for (const std::string &line : meetAfter(3, [&] {
         for (int i = 0; i != 60; ++i) {
           sockets.push_back(knock());
           std::string text = i % 3 == 0   ? ""
                              : i % 3 == 1 ? "GET / HTTP/1.1\r\n\r\n"
                                           : std::string(5000, char(i));
           EXPECT_TRUE(
               sendAll(sockets.back(), text.data(), text.size(), Deadline(5))
                   .ok());
         }
       }))
    EXPECT_EQ(line, "");
  std::chrono::duration<double> took = Deadline::Clock::now() - begin;
  EXPECT_LT(took.count(), 4);
}

/// It knows how to talk, and not the secret.
TEST_F(CommStrangers, take_no_place_of_a_rank) {
  RunKey none;
  for (const std::string &line : meetAfter(2, [&] {
         Call call(none, 1, 2);
         ASSERT_EQ(call.open(knock(), Deadline(5)), Reply::welcome);
         EXPECT_EQ(call.introduce(Deadline(5)), Reply::stranger);
         EXPECT_EQ(call.reason(),
                   "has another secret than this process, which has none "
                   "(HONE_SECRET, HONE_SECRET_FILE)");
       }))
    EXPECT_EQ(line, "");
}

TEST_F(CommStrangers, without_the_secret_a_rank_is_refused) {
  timeout = 3;
  LauncherEnvironment other = placeOf(1, 2);
  other.secret = "another secret, of another test";
  std::vector<std::string> lines = run({placeOf(0, 2), other});
  std::string where =
      "the ranks do not meet at 127.0.0.1:" + std::to_string(port) +
      " (MASTER_PORT + 1): ";
  EXPECT_NE(lines[0].find("the ranks 1 have not come in time (--comm-timeout); "
                          "refused: rank 1 of 2 from 127.0.0.1:"),
            std::string::npos)
      << lines[0];
  EXPECT_NE(lines[0].find(" has another secret"), std::string::npos);
  EXPECT_EQ(lines[1], where + "what listens there has another secret than this "
                              "process (HONE_SECRET, HONE_SECRET_FILE)");
}

/// It has taken the port, and welcomes everybody.
TEST_F(CommStrangers, are_no_rank_0) {
  Socket listener, socket;
  std::vector<SocketAddress> found;
  ASSERT_TRUE(SocketAddress::find("127.0.0.1", port, found).ok());
  ASSERT_TRUE(listenAt(found[0], listener).ok());
  std::string line;
  std::thread rank([&] { line = meet(placeOf(1, 2)); });
  SocketAddress from;
  while (!acceptFrom(listener, socket, from))
    std::this_thread::yield();
  RunKey none;
  Challenge challenge;
  Hello hello;
  ASSERT_TRUE(makeChallenge(challenge).ok());
  EXPECT_TRUE(sendAll(socket, &challenge, sizeof challenge, Deadline(5)).ok());
  EXPECT_TRUE(receiveAll(socket, &hello, sizeof hello, Deadline(5)).ok());
  Answer answer = makeAnswer(none, 2, Verdict::welcome, challenge, hello);
  EXPECT_TRUE(sendAll(socket, &answer, sizeof answer, Deadline(5)).ok());
  rank.join();
  EXPECT_NE(
      line.find("what listens there does not know the secret of this run"),
      std::string::npos)
      << line;
}

/// The run goes on with those that are right.
TEST_F(CommStrangers, a_rank_twice_or_of_another_size_ends_itself_alone) {
  std::string twice, other;
  std::vector<std::string> lines(3);
  std::atomic<int> come = 0;
  auto join = [&](LauncherEnvironment place, std::string &line) {
    line = run({place}, [&](ProcessGroup &world) {
      ++come;
      return world.barrier();
    })[0];
  };
  std::thread first([&] { join(placeOf(0, 3), lines[0]); });
  std::thread second([&] { join(placeOf(1, 3), lines[1]); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::thread again([&] { join(placeOf(1, 3), twice); });
  again.join();
  std::thread more([&] { join(placeOf(2, 4), other); });
  more.join();
  EXPECT_NE(twice.find("what listens there has a rank 1 already"),
            std::string::npos)
      << twice;
  EXPECT_NE(other.find("what listens there is of 3 ranks, this process of 4"),
            std::string::npos)
      << other;
  EXPECT_EQ(come, 0);
  std::thread third([&] { join(placeOf(2, 3), lines[2]); });
  for (std::thread *thread : {&first, &second, &third})
    thread->join();
  EXPECT_EQ(lines, std::vector<std::string>(3));
}

/// While others are missing.
TEST_F(CommStrangers, a_rank_that_came_and_went_may_come_again) {
  LauncherEnvironment place = placeOf(1, 3);
  RunKey key;
  ASSERT_TRUE(readRunKey(place, key).ok());
  for (const std::string &line : meetAfter(3, [&] {
         Call call(key, 1, 3);
         ASSERT_EQ(call.open(knock(), Deadline(5)), Reply::welcome);
         EXPECT_EQ(call.introduce(Deadline(5)), Reply::welcome);
       }))
    EXPECT_EQ(line, "");
}

TEST_F(CommStrangers, a_file_has_a_secret_of_its_own) {
  test::Folder folder;
  bootstrap = "file:" + (folder / "place");
  secret.reset();
  std::vector<std::string> lines(2);
  std::thread first([&] { lines[0] = meet(placeOf(0, 2)); });
  RendezvousFile file;
  for (bool isThere = false; !isThere;)
    ASSERT_TRUE(file.read(folder / "place", isThere).ok());
  port = file.port;
  RunKey none;
  Call call(none, 1, 2);
  EXPECT_EQ(call.open(knock(), Deadline(5)), Reply::welcome);
  EXPECT_EQ(call.introduce(Deadline(5)), Reply::stranger);
  lines[1] = meet(placeOf(1, 2));
  first.join();
  EXPECT_EQ(lines, std::vector<std::string>(2));
}

/// At once, whatever the timeout.
TEST_F(CommStrangers, a_file_that_is_a_link_ends_all) {
  test::Folder folder;
  bootstrap = "file:" + (folder / "place");
  ASSERT_EQ(symlink("elsewhere", (folder / "place").c_str()), 0);
  std::string path = folder / "place";
  for (const std::string &line : run(2))
    EXPECT_EQ(line, "the ranks do not meet at " + path + ": " + path +
                        ": is a link, expected a regular file, or none");
}

TEST_F(CommStrangers, no_port_above_the_last) {
  LauncherEnvironment place = placeOf(0, 2);
  place.masterPort = 65535;
  EXPECT_EQ(run({place})[0], "MASTER_PORT is 65535, expected at most 65534: "
                             "ranks meet one port above it");
}

} // namespace
