//===- Matching.cpp - What ranks of the fake NCCL do together -------------===//

#include "comm/host/Combine.h"
#include "emulation/nccl/Communicator.h"

#include <algorithm>
#include <cstring>

using namespace honert;
using namespace honert::fake;

static DType dtypeOf(int64_t type) {
  switch (type) {
  case ncclFloat32:
    return DType::f32;
  case ncclFloat64:
    return DType::f64;
  case ncclFloat16:
    return DType::f16;
  case ncclBfloat16:
    return DType::bf16;
  case ncclInt64:
    return DType::i64;
  case ncclInt32:
    return DType::i32;
  }
  return DType::i8;
}

static ReduceKind reduceOf(int64_t op) {
  return op == ncclSum   ? ReduceKind::sum
         : op == ncclMax ? ReduceKind::max
                         : ReduceKind::min;
}

bool Operation::operator==(const Operation &other) const {
  return kind == other.kind && count == other.count && type == other.type &&
         op == other.op && number == other.number &&
         registered == other.registered && isRecorded == other.isRecorded;
}

std::string Operation::text() const {
  static const char *const names[] = {"all_reduce", "all_gather",
                                      "reduce_scatter", "messages"};
  return format("%snumber %lld, %s of %lld %s (operation %lld, %lld bytes "
                "registered)",
                isRecorded ? "recorded " : "", static_cast<long long>(number),
                names[kind], static_cast<long long>(count), name(dtypeOf(type)),
                static_cast<long long>(op), static_cast<long long>(registered));
}

namespace {
/// One operation, from when this rank has come to when all have gone on.
class Encounter {
public:
  Encounter(NcclComm &comm, const Operation &operation)
      : comm(comm), rendezvous(*comm.rendezvous), operation(operation) {}

  CUresult run(const char *in, char *out, const std::vector<MessageEnd> &ends);

private:
  bool passes() { return comm.await(rendezvous.arrive(), operation.text()); }
  CUresult compare(const std::vector<MessageEnd> &ends);
  CUresult combineAll(const char *in, char *out);
  CUresult gather(const char *in, char *out);
  CUresult deliver(const std::vector<MessageEnd> &ends);

  NcclComm &comm;
  Rendezvous &rendezvous;
  const Operation &operation;
};

/// What a rank shows of an operation: what it sends to each other.
struct Note {
  Operation operation;
  int64_t sent[Rendezvous::largest];
};
static_assert(sizeof(Note) <= Rendezvous::noteBytes);
} // namespace

static constexpr CUresult failure = CUDA_ERROR_LAUNCH_FAILED;

CUresult Encounter::compare(const std::vector<MessageEnd> &ends) {
  Note own = {operation, {}};
  for (const MessageEnd &end : ends)
    if (end.from)
      own.sent[end.peer] += end.bytes;
  std::memcpy(rendezvous.note(rendezvous.rank()), &own, sizeof own);
  if (!passes())
    return failure;
  std::string wrong;
  std::vector<int64_t> coming(static_cast<size_t>(rendezvous.ranks()));
  for (const MessageEnd &end : ends)
    if (end.to)
      coming[static_cast<size_t>(end.peer)] += end.bytes;
  for (int64_t rank = 0; rank != rendezvous.ranks(); ++rank) {
    Note other;
    std::memcpy(&other, rendezvous.note(rank), sizeof other);
    if (!(other.operation == operation))
      wrong = format("rank %lld does %s, rank %lld %s",
                     static_cast<long long>(rendezvous.rank()),
                     operation.text().c_str(), static_cast<long long>(rank),
                     other.operation.text().c_str());
    else if (other.sent[rendezvous.rank()] != coming[static_cast<size_t>(rank)])
      wrong = format("rank %lld sends %lld bytes, of which rank %lld receives "
                     "%lld",
                     static_cast<long long>(rank),
                     static_cast<long long>(other.sent[rendezvous.rank()]),
                     static_cast<long long>(rendezvous.rank()),
                     static_cast<long long>(coming[static_cast<size_t>(rank)]));
  }
  if (!passes())
    return failure;
  return wrong.empty() ? CUDA_SUCCESS : state().mistake(failure, wrong);
}

/// All blocks combined; of reduce_scatter only the own one is kept.
CUresult Encounter::combineAll(const char *in, char *out) {
  bool scatters = operation.kind == Operation::reduceScatter;
  int64_t width = byteWidth(dtypeOf(operation.type)),
          ranks = rendezvous.ranks();
  int64_t total = operation.count * (scatters ? ranks : 1);
  int64_t most = Rendezvous::dataBytes / width;
  int64_t first = scatters ? rendezvous.rank() * operation.count : 0;
  std::vector<const char *> terms;
  for (int64_t rank = 0; rank != ranks; ++rank)
    terms.push_back(rendezvous.data(rank));
  std::vector<char> sums(static_cast<size_t>(Rendezvous::dataBytes));
  for (int64_t at = 0; at < total; at += most) {
    int64_t count = std::min(most, total - at);
    std::memcpy(rendezvous.data(rendezvous.rank()), in + at * width,
                static_cast<size_t>(count * width));
    if (!passes())
      return failure;
    combine(reduceOf(operation.op), dtypeOf(operation.type), terms, count,
            sums.data());
    int64_t begin = std::max(at, first),
            end = std::min(at + count, first + operation.count);
    if (begin < end)
      std::memcpy(out + (begin - first) * width,
                  sums.data() + (begin - at) * width,
                  static_cast<size_t>((end - begin) * width));
    if (!passes())
      return failure;
  }
  return CUDA_SUCCESS;
}

CUresult Encounter::gather(const char *in, char *out) {
  int64_t bytes = operation.count * byteWidth(dtypeOf(operation.type));
  for (int64_t at = 0; at < bytes; at += Rendezvous::dataBytes) {
    auto part = std::min(Rendezvous::dataBytes, bytes - at);
    std::memcpy(rendezvous.data(rendezvous.rank()), in + at,
                static_cast<size_t>(part));
    if (!passes())
      return failure;
    for (int64_t rank = 0; rank != rendezvous.ranks(); ++rank)
      std::memcpy(out + rank * bytes + at, rendezvous.data(rank),
                  static_cast<size_t>(part));
    if (!passes())
      return failure;
  }
  return CUDA_SUCCESS;
}

/// In rounds: a rank shows each other a piece of what it sends there. At most
/// one message goes from a rank to another.
CUresult Encounter::deliver(const std::vector<MessageEnd> &ends) {
  int64_t piece = Rendezvous::dataBytes / rendezvous.ranks(), longest = 0;
  for (int64_t rank = 0; rank != rendezvous.ranks(); ++rank) {
    Note note;
    std::memcpy(&note, rendezvous.note(rank), sizeof note);
    for (int64_t bytes : note.sent)
      longest = std::max(longest, bytes);
  }
  if (!passes()) // all have read the notes
    return failure;
  for (int64_t at = 0; at < longest; at += piece) {
    for (const MessageEnd &end : ends)
      if (end.from && at < end.bytes)
        std::memcpy(rendezvous.data(rendezvous.rank()) + end.peer * piece,
                    end.from + at,
                    static_cast<size_t>(std::min(piece, end.bytes - at)));
    if (!passes())
      return failure;
    for (const MessageEnd &end : ends)
      if (end.to && at < end.bytes)
        std::memcpy(end.to + at,
                    rendezvous.data(end.peer) + rendezvous.rank() * piece,
                    static_cast<size_t>(std::min(piece, end.bytes - at)));
    if (!passes())
      return failure;
  }
  return CUDA_SUCCESS;
}

CUresult Encounter::run(const char *in, char *out,
                        const std::vector<MessageEnd> &ends) {
  if (CUresult failed = compare(ends))
    return failed;
  switch (operation.kind) {
  case Operation::allReduce:
  case Operation::reduceScatter:
    return combineAll(in, out);
  case Operation::allGather:
    return gather(in, out);
  case Operation::messages:
    return deliver(ends);
  }
  return failure;
}

CUresult fake::meet(NcclComm &comm, const Operation &operation, const char *in,
                    char *out, const std::vector<MessageEnd> &ends) {
  return Encounter(comm, operation).run(in, out, ends);
}
