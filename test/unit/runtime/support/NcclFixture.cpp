//===- NcclFixture.cpp - Ranks on GPUs that the fake shows ----------------===//

#include "support/NcclFixture.h"

#include <cstdlib>

using namespace honert;
using namespace test;

// Threads that start at once must not change the environment while others read
// it: what the runtime would set is set already.
Nccl::Nccl() {
  setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  for (const char *variable :
       {"HONE_CHECK_LAUNCHES", "HONE_NCCL_REGISTRATION", "HONE_COLLECTIVE_SMS",
        "HONE_GRAPHS", "NCCL_ALGO"})
    unsetenv(variable);
}

Nccl::~Nccl() { check(); }

void Nccl::check() {
  for (size_t rank = 0; rank != states.size(); ++rank) {
    if (!leavesThings)
      for (const auto &[kind, count] : states[rank]->live)
        ADD_FAILURE() << "rank " << rank << ": " << count << " " << kind
                      << " left";
    if (!expectsMistakes)
      for (const std::string &mistake : states[rank]->mistakes)
        ADD_FAILURE() << "rank " << rank << ": " << mistake;
  }
  EXPECT_EQ(fake::liveCommunicators(), 0);
}

std::vector<Status> Nccl::onRanks(int64_t ranks, const Body &body) {
  check();
  states.clear();
  settings.devices = static_cast<int>(ranks);
  for (int64_t rank = 0; rank != ranks; ++rank) {
    states.push_back(std::make_unique<fake::State>());
    states.back()->settings = settings;
  }
  std::vector<Status> results(static_cast<size_t>(ranks));
  test::onRanks(ranks, [&](ProcessGroup &world) {
    fake::PlayedProcess played(rank(world.rank()));
    world.setTimeout(timeout);
    results[static_cast<size_t>(world.rank())] = body(world);
  });
  return results;
}

void Nccl::onAll(int64_t ranks, const Body &body) {
  for (const Status &status : onRanks(ranks, body))
    EXPECT_TRUE(status.ok()) << status.message();
}

std::vector<std::string> Nccl::mistakes() const {
  std::vector<std::string> all;
  for (const auto &state : states)
    all.insert(all.end(), state->mistakes.begin(), state->mistakes.end());
  return all;
}

int Nccl::calls(const char *function) {
  int count = 0;
  for (const auto &state : states)
    count += state->calls[function];
  return count;
}
