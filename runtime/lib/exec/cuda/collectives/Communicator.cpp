//===- Communicator.cpp - One communicator of NCCL ------------------------===//

#include "exec/cuda/collectives/Communicator.h"

#include <chrono>
#include <thread>

using namespace honert;

using Clock = std::chrono::steady_clock;

/// The user need not wait as long for ranks that leave as for those that come.
static constexpr double closingSeconds = 10;

ncclConfig_t Communicator::makeConfig() const {
  ncclConfig_t config;
  config.blocking = 0;
  config.splitShare = 0; // a part that is aborted leaves the others
  config.commName = label.c_str();
  if (mostCtas > 0)
    config.maxCTAs = mostCtas;
  return config;
}

Status Communicator::join(std::vector<ncclUniqueId> ids, int64_t ranks,
                          int64_t rank, const std::string &name) {
  label = name;
  ncclConfig_t config = makeConfig();
  ncclResult_t result =
      ids.size() == 1
          ? nccl.ncclCommInitRankConfig(&comm, int(ranks), ids[0], int(rank),
                                        &config)
          : nccl.ncclCommInitRankScalable(&comm, int(ranks), int(rank),
                                          int(ids.size()), ids.data(), &config);
  return finish(result, format("rank %lld cannot join the %lld ranks",
                               static_cast<long long>(rank),
                               static_cast<long long>(ranks)));
}

Status Communicator::split(Communicator &whole, int64_t color, int64_t key,
                           const std::string &name) {
  label = name;
  ncclConfig_t config = makeConfig();
  std::string what =
      format("the ranks along %s cannot be joined", name.c_str());
  HONERT_TRY(whole.finish(
      nccl.ncclCommSplit(whole.comm, int(color), int(key), &joining, &config),
      what));
  comm = joining;
  return color == ncclSplitNoColor ? Status() : finish(ncclSuccess, what);
}

Status Communicator::registerMemory(void *memory, int64_t bytes,
                                    bool symmetric) {
  auto size = static_cast<size_t>(bytes);
  ncclResult_t result =
      symmetric ? nccl.ncclCommWindowRegister(comm, memory, size, &window,
                                              ncclSymmetricWindow)
                : nccl.ncclCommRegister(comm, memory, size, &buffer);
  return finish(
      result, format("the arena cannot be registered along %s", label.c_str()));
}

Status Communicator::close() {
  if (!comm)
    return Status();
  std::string what = format("the ranks along %s cannot part", label.c_str());
  if (buffer)
    HONERT_TRY(finish(nccl.ncclCommDeregister(comm, buffer), what));
  if (window)
    HONERT_TRY(finish(nccl.ncclCommWindowDeregister(comm, window), what));
  buffer = nullptr, window = nullptr;
  ncclResult_t result = nccl.ncclCommFinalize(comm);
  if (result == ncclInProgress)
    HONERT_TRY(await(what, closingSeconds));
  else
    HONERT_TRY(nccl.check(result, what, comm));
  std::lock_guard<std::mutex> lock(mutex);
  ncclComm_t left = std::exchange(comm, nullptr);
  return nccl.check(nccl.ncclCommDestroy(left), what);
}

void Communicator::abort() {
  ncclComm_t left;
  {
    std::lock_guard<std::mutex> lock(mutex);
    left = std::exchange(comm, nullptr);
  }
  if (left) // may take long: others that look meanwhile find none
    (void)nccl.ncclCommAbort(left);
}

Status Communicator::poll() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!comm)
    return Status();
  ncclResult_t state = ncclSuccess;
  HONERT_TRY(nccl.check(nccl.ncclCommGetAsyncError(comm, &state),
                        "the state of NCCL cannot be read", comm));
  if (state == ncclInProgress)
    return Status();
  return nccl.check(state, format("the ranks along %s", label.c_str()), comm);
}

Status Communicator::await(const std::string &what, double seconds) {
  Clock::time_point begin = Clock::now();
  for (int64_t looks = 0;; ++looks) {
    ncclResult_t state = ncclSuccess;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!comm)
        return Status::error(what + ": NCCL was stopped");
      HONERT_TRY(
          nccl.check(nccl.ncclCommGetAsyncError(comm, &state), what, comm));
    }
    if (state != ncclInProgress)
      return nccl.check(state, what, comm);
    std::chrono::duration<double> waited = Clock::now() - begin;
    if (seconds > 0 && waited.count() > seconds)
      return Status::error(
          format("%s: waited %.0f s for the others, expected at "
                 "most %g s (--comm-timeout)",
                 what.c_str(), waited.count(), seconds));
    // A launch takes microseconds, a start seconds.
    if (looks > 100)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    else
      std::this_thread::yield();
  }
}

Status Communicator::finish(ncclResult_t result, const std::string &what) {
  if (result != ncclSuccess && result != ncclInProgress)
    return nccl.check(result, what, comm);
  return await(what, timeout);
}
