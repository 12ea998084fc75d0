//===- Communicator.cpp - A communicator of the fake NCCL -----------------===//

#include "emulation/nccl/Communicator.h"

#include <chrono>
#include <thread>

using namespace honert;
using namespace honert::fake;

namespace {
/// All communicators of the process.
struct Registry {
  std::mutex mutex;
  std::map<ncclComm_t, std::shared_ptr<NcclComm>> live;
};
} // namespace

thread_local bool fake::isPassage = false;

static Registry &registry() {
  static Registry registry;
  return registry;
}

void fake::add(const std::shared_ptr<NcclComm> &comm) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().live[comm.get()] = comm;
}

std::shared_ptr<NcclComm> fake::remove(ncclComm_t comm) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto found = registry().live.find(comm);
  if (found == registry().live.end())
    return nullptr;
  std::shared_ptr<NcclComm> removed = std::move(found->second);
  registry().live.erase(found);
  return removed;
}

std::shared_ptr<NcclComm> fake::find(ncclComm_t comm) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto found = registry().live.find(comm);
  return found == registry().live.end() ? nullptr : found->second;
}

int fake::liveCommunicators() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return static_cast<int>(registry().live.size());
}

void fake::failCommunicators(ncclResult_t error) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  for (auto &[comm, shared] : registry().live) {
    std::lock_guard<std::mutex> own(shared->mutex);
    shared->state = error;
  }
}

ncclResult_t fake::ncclMistake(ncclResult_t result, const std::string &text) {
  (void)state().mistake(CUDA_SUCCESS, text);
  return result;
}

ncclResult_t fake::use(ncclComm_t comm, const char *function,
                       std::shared_ptr<NcclComm> &shared) {
  shared = find(comm);
  if (!shared)
    return ncclMistake(ncclInvalidArgument,
                       format("%s of a communicator that is none", function));
  std::lock_guard<std::mutex> lock(shared->mutex);
  if (shared->state == ncclInProgress)
    return ncclMistake(ncclInvalidUsage,
                       format("%s while another call goes on", function));
  return shared->state;
}

ncclResult_t fake::goOn(NcclComm &comm, std::function<bool()> pending) {
  std::lock_guard<std::mutex> lock(comm.mutex);
  comm.state = ncclInProgress;
  comm.polls = state().settings.ncclPolls;
  comm.pending = std::move(pending);
  return ncclInProgress;
}

bool NcclComm::await(int64_t times, const std::string &what) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  while (true) {
    int64_t missing = rendezvous->missing(times);
    if (missing < 0)
      return true;
    if (isAborted)
      return false;
    std::chrono::duration<double> waited = Clock::now() - begin;
    if (waited.count() > fake::state().settings.ncclPatience) {
      (void)fake::state().mistake(
          CUDA_SUCCESS, format("rank %lld of a communicator has not come to %s",
                               static_cast<long long>(missing), what.c_str()));
      return false;
    }
    if (!isPassage)
      goOnBeside();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}
