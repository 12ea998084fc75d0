//===- BucketCollectives.cpp - Many small collectives as one --------------===//
//
// All-reduces of any size become one: kernels write their operands into the
// bucket. What is scattered or gathered must be copied into blocks, so only
// where latency is most of its time.
//
//===----------------------------------------------------------------------===//

#include "hone/Sharding/IR/Links.h"
#include "hone/Sharding/IR/Sharding.h"
#include "hone/Sharding/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>

namespace hone {
#define GEN_PASS_DEF_DISTBUCKETCOLLECTIVES
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

using Collective = CollectiveOpInterface;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Bytes of a collective in a group of ranks of which `share` of the time is
/// latency.
static int64_t bytesAtLatency(const Group &group, double share) {
  constexpr double sample = 1 << 20;
  double latency = secondsOf(CollectiveKind::allReduce, group, 0);
  double perByte =
      (secondsOf(CollectiveKind::allReduce, group, sample) - latency) / sample;
  return perByte > 0 ? int64_t(latency * (1 / share - 1) / perByte) : 0;
}

/// The bytes that an op exchanges, of which a rank may have a part.
static int64_t collectiveBytes(Collective op) {
  return std::max(byteSize(op->getOperand(0).getType()),
                  byteSize(op->getResult(0).getType()));
}

/// The argument that `value` is, seen through reshapes of its own; or null.
static Value argumentUnder(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return isa<BlockArgument>(value) ? value : Value();
}

static bool isAllReduce(Collective op) {
  return op.getCollectiveKind() == CollectiveKind::allReduce;
}

/// Whether `op` gathers an argument: it can come before it is read.
static bool isAhead(Collective op) {
  return op.getCollectiveKind() == CollectiveKind::allGather &&
         argumentUnder(op->getOperand(0));
}

namespace {
struct Bucket {
  SmallVector<Collective> members;
  int64_t bytes = 0;
};

class Bucketer {
public:
  Bucketer(Block &block, const Mesh &mesh, int64_t bytes)
      : block(block), mesh(mesh), bytes(bytes) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      // A collective of what waits can wait with it: sums along two axes.
      if (auto collective = dyn_cast<Collective>(op);
          collective && canWait(collective)) {
        // A bucket cannot wait for itself.
        Bucket &own = open[keyOf(collective)];
        if (isReadBy(own, collective))
          close(own, &op);
        add(collective);
        continue;
      }
      for (Value operand : op.getOperands())
        if (Bucket *bucket = bucketOf.lookup(operand))
          close(*bucket, &op);
    }
    eraseUnread();
    gatherAhead();
  }

private:
  /// Collectives that can be one: op, axes, element type, what combines, and
  /// whether they come again.
  using Key = std::tuple<const void *, const void *, const void *,
                         std::optional<ReduceKind>, bool>;
  static Key keyOf(Collective op) {
    return {
        op->getName().getAsOpaquePointer(), op.getAxes().getAsOpaquePointer(),
        getElementTypeOrSelf(op->getResult(0).getType()).getAsOpaquePointer(),
        op.getCombiner(), op.getAgain()};
  }

  int64_t ranksOf(Collective op) const {
    return mesh.count(axesOf(op.getAxes(), mesh));
  }
  int64_t limitOf(Collective op, bool isCopied) const;
  bool canJoin(Collective op) const;
  bool canWait(Collective op) const;
  void add(Collective op);
  bool isReadBy(const Bucket &bucket, Collective op) const;
  void eraseUnread();
  void close(Bucket &bucket, Operation *before);
  void gatherAhead();
  void join(ArrayRef<Collective> members, Operation *before);

  Block &block;
  const Mesh &mesh;
  int64_t bytes;
  std::map<Key, Bucket> open; ///< looked up only: its order says nothing
  llvm::DenseMap<Value, Bucket *> bucketOf; ///< of results in open buckets
};
} // namespace

/// Bytes of a bucket: of sums as many as make latency a tenth of its time, of
/// what must be copied half.
int64_t Bucketer::limitOf(Collective op, bool isCopied) const {
  if (bytes > 0)
    return bytes;
  Group group = mesh.group(axesOf(op.getAxes(), mesh));
  return bytesAtLatency(group, isCopied ? 0.5 : 0.1);
}

/// Whether `op` may be in a bucket. A large sum only if its operand is made at
/// its place there: by a kernel, for nothing else.
bool Bucketer::canJoin(Collective op) const {
  Value operand = op->getOperand(0);
  if (op.getAsync() || !op.isContiguous() || ranksOf(op) == 1 ||
      op->hasAttr(pieceAttr))
    return false;
  Operation *producer = operand.getDefiningOp();
  if (isAllReduce(op) && producer && isa<HoneDialect>(producer->getDialect()) &&
      operand.hasOneUse())
    return true;
  // Gathered ahead, a bucket lives as long as its last reader: small ones.
  int64_t share = isAhead(op) ? 32 : 2;
  return share * collectiveBytes(op) <= limitOf(op, /*isCopied=*/true);
}

/// Whether `op` is one that waits until it is read.
bool Bucketer::canWait(Collective op) const {
  return op.isBucketable() && !isAhead(op) && canJoin(op);
}

//===----------------------------------------------------------------------===//
// What can wait until it is read
//===----------------------------------------------------------------------===//

void Bucketer::add(Collective op) {
  Bucket &bucket = open[keyOf(op)];
  bucket.members.push_back(op);
  bucket.bytes += collectiveBytes(op);
  bucketOf[op->getResult(0)] = &bucket;
  if (bucket.bytes >= limitOf(op, !isAllReduce(op)))
    close(bucket, op->getNextNode());
}

/// Whether `op` reads a member of `bucket`, directly or by what waits too.
bool Bucketer::isReadBy(const Bucket &bucket, Collective op) const {
  SmallVector<const Bucket *> reads = {bucketOf.lookup(op->getOperand(0))};
  llvm::SmallPtrSet<const Bucket *, 4> seen;
  while (!reads.empty()) {
    const Bucket *next = reads.pop_back_val();
    if (next == &bucket)
      return true;
    if (!next || !seen.insert(next).second)
      continue;
    for (Collective member : next->members)
      reads.push_back(bucketOf.lookup(member->getOperand(0)));
  }
  return false;
}

/// What still waits at the end is read by nobody.
void Bucketer::eraseUnread() {
  SmallVector<Collective> waiting;
  for (auto &[key, bucket] : open)
    llvm::append_range(waiting, std::exchange(bucket.members, {}));
  llvm::sort(waiting,
             [](Collective a, Collective b) { return b->isBeforeInBlock(a); });
  for (Collective op : waiting)
    if (op->use_empty())
      op->erase();
}

void Bucketer::close(Bucket &bucket, Operation *before) {
  SmallVector<Collective> members = std::exchange(bucket.members, {});
  bucket.bytes = 0;
  for (Collective op : members)
    bucketOf.erase(op->getResult(0));
  // What they read comes before them.
  for (Collective op : members)
    if (Bucket *read = bucketOf.lookup(op->getOperand(0)))
      close(*read, before);
  if (members.size() > 1)
    return join(members, before);
  for (Collective op : members)
    if (Operation *producer = op->getOperand(0).getDefiningOp();
        producer && op->isBeforeInBlock(producer))
      op->moveBefore(before);
}

//===----------------------------------------------------------------------===//
// Gathered parameters, which are there from the beginning
//===----------------------------------------------------------------------===//

/// Small ones come with the first that is read.
void Bucketer::gatherAhead() {
  std::map<Key, Bucket> ahead;
  auto flush = [&](Bucket &bucket) {
    SmallVector<Collective> members = std::exchange(bucket.members, {});
    bucket.bytes = 0;
    if (members.size() > 1)
      join(members, members.front());
  };
  for (auto gather : llvm::make_early_inc_range(block.getOps<Collective>())) {
    if (!isAhead(gather) || !canJoin(gather))
      continue;
    Bucket &bucket = ahead[keyOf(gather)];
    if (bucket.bytes + collectiveBytes(gather) > limitOf(gather, true))
      flush(bucket);
    bucket.members.push_back(gather);
    bucket.bytes += collectiveBytes(gather);
  }
  for (auto &[key, bucket] : ahead)
    flush(bucket);
}

//===----------------------------------------------------------------------===//
// One for many
//===----------------------------------------------------------------------===//

/// A bucket's operand is [blocks, elements]: a block for each rank where the op
/// produces shards. So is its result where it consumes them.
static int64_t blocksOf(const AxisPlacement &placement, int64_t ranks) {
  return placement.isSharded() ? ranks : 1;
}

/// One collective of all in place of each.
void Bucketer::join(ArrayRef<Collective> members, Operation *before) {
  Collective first = members.front();
  int64_t ranks = ranksOf(first);
  PlacementChange change = *first.getPlacementChange();
  int64_t in = blocksOf(change.produced, ranks),
          out = blocksOf(change.consumed, ranks);
  SmallVector<Location> locs;
  for (Collective op : members)
    locs.push_back(op->getLoc());
  ImplicitLocOpBuilder b(FusedLoc::get(before->getContext(), locs), before);
  SmallVector<Value> blocks;
  SmallVector<int64_t> ends = {0};
  for (Collective op : members) {
    Value operand = op->getOperand(0);
    if (Value argument = argumentUnder(operand)) // what is seen comes later
      operand = argument;
    int64_t elements = typeOf(operand).getNumElements() / in;
    ends.push_back(ends.back() + elements);
    blocks.push_back(
        b.create<ReshapeOp>(typeOf(operand).clone({in, elements}), operand));
  }
  RankedTensorType type = typeOf(blocks.front());
  Value joined =
      b.create<ConcatOp>(type.clone({in, ends.back()}), blocks, /*dim=*/1);
  Value all = first.createOnBlocks(b, joined, ranks);
  for (auto [index, op] : llvm::enumerate(members)) {
    int64_t starts[] = {0, ends[index]}, limits[] = {out, ends[index + 1]},
            steps[] = {1, 1};
    Value part = b.create<SliceOp>(type.clone({out, limits[1] - starts[1]}),
                                   all, starts, limits, steps);
    Value result = op->getResult(0);
    result.replaceAllUsesWith(b.create<ReshapeOp>(result.getType(), part));
  }
  for (Collective op : members)
    op->erase();
}

namespace {
struct DistBucketCollectives
    : hone::impl::DistBucketCollectivesBase<DistBucketCollectives> {
  using DistBucketCollectivesBase::DistBucketCollectivesBase;

  void runOnOperation() override {
    FailureOr<Mesh> mesh = Mesh::of(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        Bucketer(func.getBody().front(), *mesh, bytes).run();
  }
};
} // namespace
