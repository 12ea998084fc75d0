//===- SocketRanks.h - Ranks of threads that meet over TCP ----------------===//

#ifndef TEST_UNIT_RUNTIME_SOCKETRANKS_H
#define TEST_UNIT_RUNTIME_SOCKETRANKS_H

#include "comm/tcp/Handshake.h"
#include "comm/tcp/Rendezvous.h"
#include "comm/tcp/RendezvousFile.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <unistd.h>

namespace test {

using namespace honert;

class SocketRanks : public testing::Test {
protected:
  SocketRanks() {
    Socket probe;
    SocketAddress any = SocketAddress::everywhere(0);
    EXPECT_TRUE(listenAt(any, probe).ok());
    port = any.port();
  }
  LauncherEnvironment placeOf(int64_t rank, int64_t size) const {
    LauncherEnvironment place;
    place.launcher = "torchrun";
    place.rank = place.localRank = rank, place.size = size;
    place.masterAddress = "127.0.0.1", place.masterPort = port - 1;
    place.secret = secret;
    return place;
  }
  using Body = std::function<Status(ProcessGroup &)>;
  /// What the ranks of `places` say, each a thread.
  std::vector<std::string> run(const std::vector<LauncherEnvironment> &places,
                               const Body &body = {}) {
    std::vector<std::string> lines(places.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i != places.size(); ++i)
      threads.emplace_back([&, i] {
        std::unique_ptr<ProcessGroup> world;
        Status status = connectSockets(places[i], bootstrap, timeout, world);
        if (status.ok() && body)
          status = body(*world);
        if (world)
          world->leave(status);
        lines[i] = status.message();
      });
    for (std::thread &thread : threads)
      thread.join();
    return lines;
  }
  std::vector<std::string> run(int64_t ranks, const Body &body = {}) {
    std::vector<LauncherEnvironment> places;
    for (int64_t rank = 0; rank != ranks; ++rank)
      places.push_back(placeOf(rank, ranks));
    return run(places, body);
  }
  void expectAll(int64_t ranks, const Body &body) {
    for (const std::string &line : run(ranks, body))
      EXPECT_EQ(line, "");
  }

  int64_t port = 0; ///< that was free a moment ago
  double timeout = 20;
  std::string bootstrap;
  std::optional<std::string> secret;
};

} // namespace test

#endif // TEST_UNIT_RUNTIME_SOCKETRANKS_H
