//===- FakeNccl.cpp - NCCL between ranks without GPUs ---------------------===//

#include "emulation/nccl/FakeNccl.h"
#include "emulation/nccl/Communicator.h"

#include <algorithm>
#include <cstring>
#include <random>

using namespace honert;
using namespace honert::fake;

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

static ncclResult_t checkConfig(const ncclConfig_t *config) {
  if (!config || config->magic != 0xcafebeef ||
      config->size != sizeof(ncclConfig_t) || config->blocking != 0)
    return ncclMistake(ncclInvalidArgument,
                       "a communicator that blocks, or without a config");
  if (config->maxCTAs != ncclConfig_t::unset &&
      (config->maxCTAs < 1 || config->maxCTAs > 64))
    return ncclMistake(ncclInvalidArgument,
                       "a communicator with too many blocks, or none");
  state().mostCtas.push_back(config->maxCTAs);
  return ncclSuccess;
}

/// A new communicator that goes on until all ranks have joined.
static ncclResult_t makeComm(ncclComm_t *comm, const std::string &name,
                             int ranks, int rank) {
  if (ranks < 1 || ranks > Rendezvous::largest || rank < 0 || rank >= ranks)
    return ncclMistake(ncclInvalidArgument,
                       format("rank %d of %d ranks", rank, ranks));
  auto made = std::make_shared<NcclComm>();
  made->owner = &state();
  made->rendezvous = Rendezvous::join(name, ranks, rank);
  if (!made->rendezvous)
    return ncclMistake(ncclInvalidUsage,
                       format("rank %d has joined twice", rank));
  *comm = made.get();
  add(made);
  return goOn(*made, [rendezvous = made->rendezvous] {
    if (rendezvous->missing(1) >= 0)
      return false;
    rendezvous->forget();
    return true;
  });
}

ncclResult_t fake::ncclGetVersion(int *version) {
  *version = state().settings.ncclVersion;
  return ncclSuccess;
}

const char *fake::ncclGetErrorString(ncclResult_t result) {
  static const char *const texts[] = {
      "no error",
      "unhandled cuda error",
      "unhandled system error",
      "internal error",
      "invalid argument",
      "invalid usage",
      "remote process exited or there was a network error",
      "in progress"};
  return result >= 0 && result <= ncclInProgress ? texts[result]
                                                 : "unknown result code";
}

const char *fake::ncclGetLastError(ncclComm_t) { return state().text.c_str(); }

ncclResult_t fake::ncclGetUniqueId(ncclUniqueId *id) {
  FAKE_NCCL_ENTER("ncclGetUniqueId");
  std::random_device draw;
  std::string name = format("honert-fake-nccl-%08x%08x", draw(), draw());
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, name.data(), name.size());
  return ncclSuccess;
}

ncclResult_t fake::ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                          ncclUniqueId id, int rank,
                                          ncclConfig_t *config) {
  FAKE_NCCL_ENTER("ncclCommInitRankConfig");
  if (ncclResult_t failed = checkConfig(config))
    return failed;
  return makeComm(comm, id.internal, ranks, rank);
}

ncclResult_t fake::ncclCommInitRankScalable(ncclComm_t *comm, int ranks,
                                            int rank, int count,
                                            ncclUniqueId *ids,
                                            ncclConfig_t *config) {
  FAKE_NCCL_ENTER("ncclCommInitRankScalable");
  if (ncclResult_t failed = checkConfig(config))
    return failed;
  return makeComm(comm, ids[count - 1].internal, ranks, rank);
}

namespace {
/// The parts of a split, as each rank shows what it wants.
struct Wish {
  int64_t color, key;
};
} // namespace

/// Joins the part that all ranks' wishes give this one. It may be none.
static ncclResult_t joinPart(NcclComm &whole, int64_t number,
                             ncclComm_t *part) {
  Rendezvous &rendezvous = *whole.rendezvous;
  std::vector<std::pair<int64_t, int64_t>> members; // key, rank
  Wish own, other;
  std::memcpy(&own, rendezvous.note(rendezvous.rank()), sizeof own);
  *part = nullptr;
  if (own.color == ncclSplitNoColor)
    return ncclInProgress;
  for (int64_t rank = 0; rank != rendezvous.ranks(); ++rank) {
    std::memcpy(&other, rendezvous.note(rank), sizeof other);
    if (other.color == own.color)
      members.push_back({other.key, rank});
  }
  std::sort(members.begin(), members.end());
  auto place = std::find(members.begin(), members.end(),
                         std::pair(own.key, rendezvous.rank()));
  return makeComm(part,
                  format("%s-%lld-%lld", rendezvous.label().c_str(),
                         static_cast<long long>(number),
                         static_cast<long long>(own.color)),
                  static_cast<int>(members.size()),
                  static_cast<int>(place - members.begin()));
}

ncclResult_t fake::ncclCommSplit(ncclComm_t comm, int color, int key,
                                 ncclComm_t *part, ncclConfig_t *config) {
  FAKE_NCCL_ENTER("ncclCommSplit");
  std::shared_ptr<NcclComm> whole;
  if (ncclResult_t failed = use(comm, "ncclCommSplit", whole))
    return failed;
  if (ncclResult_t failed = checkConfig(config))
    return failed;
  if (color < 0 && color != ncclSplitNoColor)
    return ncclMistake(ncclInvalidArgument, "a part of a negative color");
  if (whole->issued != whole->executed)
    return ncclMistake(ncclInvalidUsage, "a split while work goes on");
  Wish wish = {color, key};
  Rendezvous &rendezvous = *whole->rendezvous;
  std::memcpy(rendezvous.note(rendezvous.rank()), &wish, sizeof wish);
  int64_t shown = rendezvous.arrive(), read = 0;
  State *owner = &state();
  return goOn(*whole, [=, whole = whole.get()]() mutable {
    PlayedProcess played(*owner);
    if (read == 0 && whole->rendezvous->missing(shown) < 0) {
      if (joinPart(*whole, shown, part) != ncclInProgress)
        return true; // the mistake is listed
      read = whole->rendezvous->arrive();
    }
    return read != 0 && whole->rendezvous->missing(read) < 0;
  });
}

ncclResult_t fake::ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  std::shared_ptr<NcclComm> shared = find(comm);
  if (!shared)
    return ncclInvalidArgument;
  std::lock_guard<std::mutex> lock(shared->mutex);
  if (shared->state == ncclInProgress && --shared->polls <= 0 &&
      (!shared->pending || shared->pending())) {
    shared->pending = {};
    shared->state = ncclSuccess;
  }
  *error = shared->state;
  return ncclSuccess;
}

static ncclResult_t leave(ncclComm_t comm, const char *function) {
  std::shared_ptr<NcclComm> left = remove(comm);
  if (!left)
    return ncclMistake(ncclInvalidArgument,
                       format("%s of a communicator that is none", function));
  left->isAborted = true;
  return ncclSuccess;
}

ncclResult_t fake::ncclCommFinalize(ncclComm_t comm) {
  FAKE_NCCL_ENTER("ncclCommFinalize");
  std::shared_ptr<NcclComm> shared;
  if (ncclResult_t failed = use(comm, "ncclCommFinalize", shared))
    return failed;
  if (shared->issued != shared->executed)
    return ncclMistake(ncclInvalidUsage, "an end while work goes on");
  std::shared_ptr<Rendezvous> rendezvous = shared->rendezvous;
  int64_t came = rendezvous->arrive();
  return goOn(*shared, [=] { return rendezvous->missing(came) < 0; });
}

ncclResult_t fake::ncclCommDestroy(ncclComm_t comm) {
  return leave(comm, "ncclCommDestroy");
}

ncclResult_t fake::ncclCommAbort(ncclComm_t comm) {
  return leave(comm, "ncclCommAbort");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

ncclResult_t fake::ncclMemAlloc(void **memory, size_t bytes) {
  CUdeviceptr address = 0;
  if (cuMemAlloc_v2(&address, bytes))
    return ncclUnhandledCudaError;
  *memory = reinterpret_cast<void *>(address);
  return ncclSuccess;
}

ncclResult_t fake::ncclMemFree(void *memory) {
  return cuMemFree_v2(reinterpret_cast<CUdeviceptr>(memory))
             ? ncclInvalidArgument
             : ncclSuccess;
}

/// Memory that all ranks register, in the same order: what each has is compared
/// with every operation.
static ncclResult_t enrol(ncclComm_t comm, const char *function, void *memory,
                          size_t bytes, void **handle) {
  FAKE_NCCL_ENTER(function);
  std::shared_ptr<NcclComm> shared;
  if (ncclResult_t failed = use(comm, function, shared))
    return failed;
  if (!state().isOnDevice(memory, static_cast<int64_t>(bytes)))
    return ncclMistake(ncclInvalidArgument,
                       "registered memory that is not the device's");
  shared->registered += static_cast<int64_t>(bytes);
  state().born("registered memory");
  *handle = memory;
  return ncclSuccess;
}

static ncclResult_t dismiss(ncclComm_t comm, const char *function,
                            const void *handle) {
  FAKE_NCCL_ENTER(function);
  std::shared_ptr<NcclComm> shared;
  if (ncclResult_t failed = use(comm, function, shared))
    return failed;
  if (!handle)
    return ncclMistake(ncclInvalidArgument, "memory that was not registered");
  state().died("registered memory");
  return ncclSuccess;
}

ncclResult_t fake::ncclCommRegister(ncclComm_t comm, void *memory, size_t bytes,
                                    void **handle) {
  return enrol(comm, "ncclCommRegister", memory, bytes, handle);
}

ncclResult_t fake::ncclCommDeregister(ncclComm_t comm, void *handle) {
  return dismiss(comm, "ncclCommDeregister", handle);
}

ncclResult_t fake::ncclCommWindowRegister(ncclComm_t comm, void *memory,
                                          size_t bytes, ncclWindow_t *window,
                                          int flags) {
  if (flags != ncclSymmetricWindow)
    return ncclMistake(ncclInvalidArgument, "a window that is not symmetric");
  return enrol(comm, "ncclCommWindowRegister", memory, bytes,
               reinterpret_cast<void **>(window));
}

ncclResult_t fake::ncclCommWindowDeregister(ncclComm_t comm,
                                            ncclWindow_t window) {
  return dismiss(comm, "ncclCommWindowDeregister", window);
}

void *fake::findNccl(const char *symbol) {
#define NCCL_FUNCTION(result, name, parameters)                                \
  if (std::strcmp(symbol, #name) == 0)                                         \
    return reinterpret_cast<void *>(&fake::name);
#include "exec/cuda/collectives/Nccl.def"
#undef NCCL_FUNCTION
  return nullptr;
}
