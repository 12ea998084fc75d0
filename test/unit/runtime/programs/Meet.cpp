//===- Meet.cpp - Processes that meet over TCP, and nothing else ----------===//
//
// honert-meet [SECONDS [file:PATH]]: a process that a launcher has started, as
// its environment says, meets the others within SECONDS (default 20), exchanges
// a number with each, and prints how long that took.
//
//===----------------------------------------------------------------------===//

#include "comm/tcp/Rendezvous.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace honert;

static Status exchange(ProcessGroup &world) {
  std::vector<int64_t> all(static_cast<size_t>(world.size()));
  for (int64_t round = 0; round != 3; ++round) {
    int64_t own = 7 * world.rank() + round;
    HONERT_TRY(world.allGather(&own, sizeof own, all.data()));
    for (int64_t rank = 0; rank != world.size(); ++rank)
      if (all[static_cast<size_t>(rank)] != 7 * rank + round)
        return Status::error(format("rank %lld has sent another number",
                                    static_cast<long long>(rank)));
  }
  return Status();
}

int main(int argc, char **argv) {
  auto begin = std::chrono::steady_clock::now();
  LauncherEnvironment place;
  std::unique_ptr<ProcessGroup> world;
  Status status = readLauncherEnvironment(place);
  double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 20;
  if (status.ok())
    status = connectSockets(place, argc > 2 ? argv[2] : "", seconds, world);
  if (status.ok())
    status = exchange(*world);
  if (world)
    world->leave(status);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (status.ok())
    std::printf("rank %lld of %lld met all in %.3f s\n",
                static_cast<long long>(place.rank),
                static_cast<long long>(place.size), took.count());
  else
    std::fprintf(stderr, "rank %lld: error: %s\n",
                 static_cast<long long>(place.rank), status.message().c_str());
  return status.exitCode();
}
