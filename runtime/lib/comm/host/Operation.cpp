//===- Operation.cpp - One collective by messages -------------------------===//

#include "comm/host/Operation.h"

#include "base/Collectives.h"
#include "comm/host/Combine.h"

#include <algorithm>
#include <cstring>

using namespace honert;

/// Bytes of a group's inputs below which one exchange of all of them is faster
/// than two of parts.
static constexpr int64_t directBytes = 32 << 10;

/// Bytes of `in` in a slice: many against latency, few against memory.
static constexpr int64_t sliceBytes = 4 << 20;

static std::string textOf(const Launch &launch, const Mesh &mesh) {
  auto &collective = std::get<CollectiveLaunch>(launch.action);
  std::string text =
      format("%s '%s' along %s of %lld bytes", name(collective.kind),
             shortName(launch.name).c_str(), mesh.text(collective.axes).c_str(),
             static_cast<long long>(collective.inBytes()));
  return launch.location.empty() ? text : text + " at " + launch.location;
}

MessageOperation::MessageOperation(PointToPoint &peers, CollectiveLog &log,
                                   ScratchPool &scratch, int64_t &nextTag,
                                   const Mesh &mesh, const Launch &from)
    : launch(std::get<CollectiveLaunch>(from.action)), text(textOf(from, mesh)),
      log(log), scratch(scratch), nextTag(nextTag), pending(peers, log),
      group(mesh.groupOf(peers.rank(), launch.axes)),
      own(mesh.numberInGroup(peers.rank(), launch.axes)) {
  if (!reduces())
    return;
  isDirect = launch.kind == CollectiveKind::allReduce &&
             launch.inBytes() * ranks() <= directBytes;
  sliceLength =
      std::max(sliceBytes / byteWidth(launch.dtype) / ranks(), int64_t(1)) *
      ranks();
}

bool MessageOperation::reduces() const { return factsOf(launch.kind).combines; }

//===----------------------------------------------------------------------===//
// Where things are
//===----------------------------------------------------------------------===//

int64_t MessageOperation::slices() const {
  return (launch.count + sliceLength - 1) / sliceLength;
}

/// The first element of `in` that rank `part` of the group combines in `slice`.
/// An all_reduce cuts each slice among the ranks; a reduce_scatter each rank's
/// block among the slices.
int64_t MessageOperation::partBegin(int64_t slice, int64_t part) const {
  if (launch.kind == CollectiveKind::reduceScatter) {
    int64_t block = launch.count / ranks();
    return part * block + std::min(slice * (sliceLength / ranks()), block);
  }
  int64_t begin = slice * sliceLength;
  int64_t length = std::min(sliceLength, launch.count - begin);
  // Without overflow: length is at most a slice.
  return begin + length * part / ranks();
}

/// Bytes that each rank sends this one in this round, where it combines.
int64_t MessageOperation::receivedBytes() const {
  int64_t width = byteWidth(launch.dtype);
  if (isDirect)
    return launch.inBytes();
  int64_t begin = partBegin(round, own);
  int64_t end = launch.kind == CollectiveKind::reduceScatter
                    ? partBegin(round + 1, own)
                    : partBegin(round, own + 1);
  return (end - begin) * width;
}

int64_t MessageOperation::scratchBytes() const {
  if (!reduces() || ranks() == 1)
    return 0;
  int64_t most = sliceLength * byteWidth(launch.dtype);
  return isDirect ? launch.inBytes() * ranks() : most;
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

/// place(i) is {address, bytes} of what rank i of the group gets.
template <typename Place> Status MessageOperation::sendAll(Place place) {
  // Each begins with its neighbour, so that not all send to the first.
  for (int64_t i = 1; i < ranks(); ++i) {
    int64_t to = (own + i) % ranks();
    auto [address, bytes] = place(to);
    HONERT_TRY(pending.send(group[to], tag, address, bytes));
  }
  return Status();
}

/// place(i) is {address, bytes} of what rank i of the group sends.
template <typename Place> Status MessageOperation::receiveAll(Place place) {
  for (int64_t i = 1; i < ranks(); ++i) {
    int64_t from = (own + ranks() - i) % ranks();
    auto [address, bytes] = place(from);
    HONERT_TRY(pending.receive(group[from], tag, address, bytes));
  }
  return Status();
}

using Place = std::pair<char *, int64_t>;
using ConstPlace = std::pair<const char *, int64_t>;

/// A collective that combines nothing has one round.
Status MessageOperation::postMove() {
  int64_t bytes = launch.inBytes();
  if (launch.kind == CollectiveKind::shift) {
    int64_t from = (own + ranks() - launch.amount) % ranks();
    int64_t to = (own + launch.amount) % ranks();
    if (from == own) // the amount is a multiple of the ranks
      return Status();
    HONERT_TRY(pending.receive(group[from], tag, out, bytes));
    return pending.send(group[to], tag, in, bytes);
  }
  bool gathers = launch.kind == CollectiveKind::allGather;
  int64_t block = gathers ? bytes : bytes / ranks();
  HONERT_TRY(
      receiveAll([&](int64_t i) { return Place(out + i * block, block); }));
  return sendAll([&](int64_t i) {
    return ConstPlace(in + (gathers ? 0 : i * block), block);
  });
}

/// What this rank keeps of its own.
void MessageOperation::copyOwn() {
  int64_t bytes = launch.inBytes();
  if (launch.kind == CollectiveKind::shift) {
    if (launch.amount % ranks() == 0)
      std::memcpy(out, in, bytes);
    return;
  }
  bool gathers = launch.kind == CollectiveKind::allGather;
  int64_t block = gathers ? bytes : bytes / ranks();
  std::memcpy(out + own * block, in + (gathers ? 0 : own * block), block);
}

/// The terms of this round's slice, to the ranks that combine them.
Status MessageOperation::postTerms() {
  int64_t width = byteWidth(launch.dtype), bytes = receivedBytes();
  HONERT_TRY(receiveAll(
      [&](int64_t i) { return Place(received + i * bytes, bytes); }));
  return sendAll([&](int64_t i) {
    if (isDirect)
      return ConstPlace(in, bytes);
    int64_t begin = partBegin(round, i);
    int64_t end = launch.kind == CollectiveKind::reduceScatter
                      ? partBegin(round + 1, i)
                      : partBegin(round, i + 1);
    return ConstPlace(in + begin * width, (end - begin) * width);
  });
}

/// The parts of the slice before, which are combined, to all.
Status MessageOperation::postSums() {
  int64_t width = byteWidth(launch.dtype), slice = round - 1;
  auto place = [&](int64_t i) {
    int64_t begin = partBegin(slice, i), end = partBegin(slice, i + 1);
    return Place(out + begin * width, (end - begin) * width);
  };
  HONERT_TRY(receiveAll(place));
  return sendAll([&](int64_t) { return place(own); });
}

void MessageOperation::combineTerms() {
  int64_t width = byteWidth(launch.dtype), bytes = receivedBytes();
  int64_t begin = isDirect ? 0 : partBegin(round, own);
  terms.clear();
  for (int64_t i = 0; i != ranks(); ++i)
    terms.push_back(i == own ? in + begin * width : received + i * bytes);
  int64_t first = launch.kind == CollectiveKind::reduceScatter
                      ? partBegin(0, own) // of `out`
                      : 0;
  combine(launch.reduce, launch.dtype, terms, bytes / width,
          out + (begin - first) * width);
}

Status MessageOperation::post() {
  if (!reduces())
    return postMove();
  if (isDirect)
    return postTerms();
  if (round < slices())
    HONERT_TRY(postTerms());
  bool handsOut = launch.kind == CollectiveKind::allReduce && round > 0;
  return handsOut ? postSums() : Status();
}

Status MessageOperation::begin(char *memory) {
  in = memory + launch.in;
  out = memory + launch.out;
  round = 0;
  if (launch.count == 0)
    return Status();
  number = log.begin(text);
  tag = nextTag % PointToPoint::firstChannelTag;
  nextTag += 2;
  if (!reduces())
    copyOwn();
  else if (ranks() > 1)
    received = scratch.take();
  return post();
}

Status MessageOperation::finish() {
  if (launch.count == 0)
    return Status();
  bool isAllReduce = launch.kind == CollectiveKind::allReduce;
  int64_t last = !reduces() || isDirect       ? 0
                 : isAllReduce && ranks() > 1 ? slices()
                                              : slices() - 1;
  for (;; ++round) {
    if (round > 0)
      HONERT_TRY(post());
    HONERT_TRY(pending.finish(number));
    if (reduces() && (isDirect || round < slices()))
      combineTerms();
    if (round == last)
      break;
  }
  if (received)
    scratch.give(std::exchange(received, nullptr));
  log.end(number);
  return Status();
}
