//===- Operations.cpp - Collectives of the fake NCCL ----------------------===//

#include "emulation/nccl/Communicator.h"

#include <thread>

using namespace honert;
using namespace honert::fake;

static int64_t widthOf(ncclDataType_t type) {
  switch (type) {
  case ncclFloat64:
  case ncclInt64:
    return 8;
  case ncclFloat32:
  case ncclInt32:
    return 4;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  }
  return 1;
}

namespace {
/// The messages of a group that has not ended, of one communicator.
struct Group {
  int depth = 0;
  ncclComm_t comm = nullptr;
  CUstream stream = nullptr;
  ncclDataType_t type = 0;
  std::vector<MessageEnd> ends;
};
} // namespace

static thread_local Group group;

namespace {
/// Messages under way, beside what else the device does: a thread waits for the
/// other ranks.
class Passage {
public:
  explicit Passage(std::function<CUresult()> body)
      : thread([this, body = std::move(body), owner = &state()] {
          PlayedProcess played(*owner);
          isPassage = true;
          result = body();
          isDone = true;
        }) {}
  ~Passage() { thread.join(); }

  /// Not ready, or what came of it.
  CUresult look() const { return isDone ? result : CUDA_ERROR_NOT_READY; }

private:
  CUresult result = CUDA_SUCCESS;
  std::atomic<bool> isDone{false};
  std::thread thread; // last: it uses the others
};
} // namespace

/// Puts an operation on its stream. Each run of it, of which a graph has many,
/// is compared by its number among those of the communicator so far.
static ncclResult_t put(const std::shared_ptr<NcclComm> &comm, CUstream stream,
                        Operation operation, const char *in, char *out,
                        std::vector<MessageEnd> ends = {}) {
  operation.number = ++comm->operations;
  operation.registered = comm->registered;
  bool isRecorded = operation.isRecorded = state().isCapturing;
  comm->issued += !isRecorded;
  // What a graph has many runs of waits for the other ranks by itself.
  bool isBeside = operation.kind == Operation::messages && !isRecorded;
  // Whoever sends and receives at once does so in the order of all ranks.
  bool isOneWay = isBeside && ends.size() == 1;
  state().messages += isOneWay;
  auto work = [=, ends = std::move(ends),
               passage = std::shared_ptr<Passage>()]() mutable -> CUresult {
    if (comm->isAborted)
      return state().mistake(CUDA_ERROR_LAUNCH_FAILED,
                             "an operation of a communicator that is no more");
    auto pass = [=] { return meet(*comm, operation, in, out, ends); };
    if (isBeside && !passage)
      passage = std::make_shared<Passage>(pass);
    CUresult result = isBeside ? passage->look() : pass();
    bool isDone = result != CUDA_ERROR_NOT_READY;
    comm->executed += !isRecorded && isDone;
    state().messages -= isOneWay && isDone;
    return result;
  };
  if (CUresult failed = enqueue(stream, std::move(work), isBeside))
    return failed;
  return goOn(*comm);
}

static bool isOnDevice(const void *memory, int64_t bytes) {
  return state().isOnDevice(memory, bytes);
}

/// One of the operations that every rank makes with its own block.
static ncclResult_t collect(const char *function, Operation::Kind kind,
                            const void *in, int64_t inBlocks, void *out,
                            int64_t outBlocks, size_t count,
                            ncclDataType_t type, ncclRedOp_t op,
                            ncclComm_t comm, CUstream stream) {
  FAKE_NCCL_ENTER(function, true, /*mayCapture=*/true);
  std::shared_ptr<NcclComm> shared;
  if (ncclResult_t failed = use(comm, function, shared))
    return failed;
  int64_t bytes = static_cast<int64_t>(count) * widthOf(type);
  if (group.depth > 0)
    return ncclMistake(ncclInvalidUsage, "a collective among messages");
  if (!isOnDevice(in, bytes * inBlocks) || !isOnDevice(out, bytes * outBlocks))
    return ncclMistake(
        ncclInvalidArgument,
        format("%s of memory that is not the device's", function));
  return put(shared, stream,
             {kind, static_cast<int64_t>(count), type, op, 0, 0, false},
             static_cast<const char *>(in), static_cast<char *>(out));
}

static int64_t ranksOf(ncclComm_t comm) {
  std::shared_ptr<NcclComm> shared = find(comm);
  return shared ? shared->rendezvous->ranks() : 1;
}

ncclResult_t fake::ncclAllReduce(const void *in, void *out, size_t count,
                                 ncclDataType_t type, ncclRedOp_t op,
                                 ncclComm_t comm, cudaStream_t stream) {
  return collect("ncclAllReduce", Operation::allReduce, in, 1, out, 1, count,
                 type, op, comm, stream);
}

ncclResult_t fake::ncclAllGather(const void *in, void *out, size_t count,
                                 ncclDataType_t type, ncclComm_t comm,
                                 cudaStream_t stream) {
  return collect("ncclAllGather", Operation::allGather, in, 1, out,
                 ranksOf(comm), count, type, 0, comm, stream);
}

ncclResult_t fake::ncclReduceScatter(const void *in, void *out, size_t count,
                                     ncclDataType_t type, ncclRedOp_t op,
                                     ncclComm_t comm, cudaStream_t stream) {
  return collect("ncclReduceScatter", Operation::reduceScatter, in,
                 ranksOf(comm), out, 1, count, type, op, comm, stream);
}

/// One end of a message, to be put on its stream at the end of the group.
static ncclResult_t addEnd(const char *function, const MessageEnd &end,
                           ncclDataType_t type, ncclComm_t comm,
                           CUstream stream) {
  FAKE_NCCL_ENTER(function, true, /*mayCapture=*/true);
  std::shared_ptr<NcclComm> shared;
  if (ncclResult_t failed = use(comm, function, shared))
    return failed;
  if (group.depth == 0)
    return ncclMistake(ncclInvalidUsage,
                       format("%s outside a group waits for ever", function));
  const void *memory = end.from ? end.from : end.to;
  if (end.peer < 0 || end.peer >= shared->rendezvous->ranks() ||
      !isOnDevice(memory, end.bytes))
    return ncclMistake(ncclInvalidArgument,
                       format("%s with rank %d, or of memory that is not the "
                              "device's",
                              function, end.peer));
  if (!group.ends.empty() && (group.comm != comm || group.stream != stream))
    return ncclMistake(ncclInvalidUsage, "a group of several communicators");
  group.comm = comm;
  group.stream = stream;
  group.type = type;
  group.ends.push_back(end);
  return ncclSuccess;
}

ncclResult_t fake::ncclSend(const void *in, size_t count, ncclDataType_t type,
                            int peer, ncclComm_t comm, cudaStream_t stream) {
  return addEnd("ncclSend",
                {static_cast<const char *>(in), nullptr,
                 static_cast<int64_t>(count) * widthOf(type), peer},
                type, comm, stream);
}

ncclResult_t fake::ncclRecv(void *out, size_t count, ncclDataType_t type,
                            int peer, ncclComm_t comm, cudaStream_t stream) {
  return addEnd("ncclRecv",
                {nullptr, static_cast<char *>(out),
                 static_cast<int64_t>(count) * widthOf(type), peer},
                type, comm, stream);
}

ncclResult_t fake::ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t fake::ncclGroupEnd() {
  if (group.depth == 0)
    return ncclMistake(ncclInvalidUsage, "the end of no group");
  if (--group.depth > 0 || group.ends.empty())
    return ncclSuccess;
  Group ended = std::exchange(group, {});
  std::shared_ptr<NcclComm> shared = find(ended.comm);
  if (!shared)
    return ncclInvalidArgument;
  return put(shared, ended.stream,
             {Operation::messages, 0, ended.type, 0, 0, 0, false}, nullptr,
             nullptr, std::move(ended.ends));
}
