//===- BucketCollectives.cpp - Many small exchanges as one ----------------===//
//
// All-reduces of any size become one: kernels write their operands into the
// bucket. What is scattered or gathered must be copied into blocks, so only
// where latency is most of its time.
//
//===----------------------------------------------------------------------===//

#include "hone/Sharding/IR/Links.h"
#include "hone/Sharding/IR/Sharding.h"
#include "hone/Sharding/Model/Blocks.h"
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

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Bytes of an exchange in a group of ranks of which `share` of the time is
/// latency.
static int64_t bytesAtLatency(const Group &group, double share) {
  constexpr double sample = 1 << 20;
  double latency = secondsOf(CollectiveKind::allReduce, group, 0);
  double perByte =
      (secondsOf(CollectiveKind::allReduce, group, sample) - latency) / sample;
  return perByte > 0 ? int64_t(latency * (1 / share - 1) / perByte) : 0;
}

/// The bytes that an op exchanges, of which a rank may have a part.
static int64_t exchangedBytes(Operation *op) {
  return std::max(byteSize(op->getOperand(0).getType()),
                  byteSize(op->getResult(0).getType()));
}

/// The argument that `value` is, seen through reshapes of its own; or null.
static Value argumentUnder(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return isa<BlockArgument>(value) ? value : Value();
}

/// Whether `op` gathers an argument: it can come before it is read.
static bool isAhead(Operation *op) {
  return isa<AllGatherOp>(op) && argumentUnder(op->getOperand(0));
}

namespace {
struct Bucket {
  SmallVector<Operation *> members;
  int64_t bytes = 0;
};

class Bucketer {
public:
  Bucketer(Block &block, const Mesh &mesh, int64_t bytes)
      : block(block), mesh(mesh), bytes(bytes) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      // An exchange of what waits can wait with it: sums along two axes.
      if (canWait(&op)) {
        // A bucket cannot wait for itself.
        Bucket &own = open[keyOf(&op)];
        if (isReadBy(own, &op))
          close(own, &op);
        add(&op);
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
  /// Exchanges that can be one: op, axes, element type, what combines.
  using Key =
      std::tuple<const void *, const void *, const void *, const void *>;
  static Key keyOf(Operation *op) {
    Attribute how = op->getAttr(isa<AllGatherOp>(op) ? "again" : "kind");
    return {
        op->getName().getAsOpaquePointer(),
        op->getAttr("axes").getAsOpaquePointer(),
        getElementTypeOrSelf(op->getResult(0).getType()).getAsOpaquePointer(),
        how ? how.getAsOpaquePointer() : nullptr};
  }

  int64_t ranksOf(Operation *op) const {
    return mesh.count(axesOf(op->getAttrOfType<ArrayAttr>("axes"), mesh));
  }
  int64_t limitOf(Operation *op, bool isCopied) const;
  bool canJoin(Operation *op) const;
  bool canWait(Operation *op) const;
  void add(Operation *op);
  bool isReadBy(const Bucket &bucket, Operation *op) const;
  void eraseUnread();
  void close(Bucket &bucket, Operation *before);
  void gatherAhead();
  void join(ArrayRef<Operation *> members, Operation *before);

  Block &block;
  const Mesh &mesh;
  int64_t bytes;
  std::map<Key, Bucket> open; ///< looked up only: its order says nothing
  llvm::DenseMap<Value, Bucket *> bucketOf; ///< of results in open buckets
};
} // namespace

/// Bytes of a bucket: of sums as many as make latency a tenth of its time, of
/// what must be copied half.
int64_t Bucketer::limitOf(Operation *op, bool isCopied) const {
  if (bytes > 0)
    return bytes;
  Group group = mesh.group(axesOf(op->getAttrOfType<ArrayAttr>("axes"), mesh));
  return bytesAtLatency(group, isCopied ? 0.5 : 0.1);
}

/// Whether `op` may be in a bucket. A large sum only if its operand is made at
/// its place there: by a kernel, for nothing else.
bool Bucketer::canJoin(Operation *op) const {
  Value operand = op->getOperand(0);
  if (op->hasAttr(asyncAttr) || !isInBlocks(op) || ranksOf(op) == 1)
    return false;
  Operation *producer = operand.getDefiningOp();
  if (isa<AllReduceOp>(op) && producer &&
      isa<HoneDialect>(producer->getDialect()) && operand.hasOneUse())
    return true;
  // Gathered ahead, a bucket lives as long as its last reader: small ones.
  int64_t share = isAhead(op) ? 32 : 2;
  return share * exchangedBytes(op) <= limitOf(op, /*isCopied=*/true);
}

/// Whether `op` is one that waits until it is read.
bool Bucketer::canWait(Operation *op) const {
  return isa<AllReduceOp, ReduceScatterOp, AllGatherOp>(op) && !isAhead(op) &&
         canJoin(op);
}

//===----------------------------------------------------------------------===//
// What can wait until it is read
//===----------------------------------------------------------------------===//

void Bucketer::add(Operation *op) {
  Bucket &bucket = open[keyOf(op)];
  bucket.members.push_back(op);
  bucket.bytes += exchangedBytes(op);
  bucketOf[op->getResult(0)] = &bucket;
  if (bucket.bytes >= limitOf(op, !isa<AllReduceOp>(op)))
    close(bucket, op->getNextNode());
}

/// Whether `op` reads a member of `bucket`, directly or by what waits too.
bool Bucketer::isReadBy(const Bucket &bucket, Operation *op) const {
  SmallVector<const Bucket *> reads = {bucketOf.lookup(op->getOperand(0))};
  llvm::SmallPtrSet<const Bucket *, 4> seen;
  while (!reads.empty()) {
    const Bucket *next = reads.pop_back_val();
    if (next == &bucket)
      return true;
    if (!next || !seen.insert(next).second)
      continue;
    for (Operation *member : next->members)
      reads.push_back(bucketOf.lookup(member->getOperand(0)));
  }
  return false;
}

/// What still waits at the end is read by nobody.
void Bucketer::eraseUnread() {
  SmallVector<Operation *> waiting;
  for (auto &[key, bucket] : open)
    llvm::append_range(waiting, std::exchange(bucket.members, {}));
  llvm::sort(waiting,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *op : waiting)
    if (op->use_empty())
      op->erase();
}

void Bucketer::close(Bucket &bucket, Operation *before) {
  SmallVector<Operation *> members = std::exchange(bucket.members, {});
  bucket.bytes = 0;
  for (Operation *op : members)
    bucketOf.erase(op->getResult(0));
  // What they read comes before them.
  for (Operation *op : members)
    if (Bucket *read = bucketOf.lookup(op->getOperand(0)))
      close(*read, before);
  if (members.size() > 1)
    return join(members, before);
  for (Operation *op : members)
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
    SmallVector<Operation *> members = std::exchange(bucket.members, {});
    bucket.bytes = 0;
    if (members.size() > 1)
      join(members, members.front());
  };
  for (auto gather : llvm::make_early_inc_range(block.getOps<AllGatherOp>())) {
    if (!isAhead(gather) || !canJoin(gather))
      continue;
    Bucket &bucket = ahead[keyOf(gather)];
    if (bucket.bytes + exchangedBytes(gather) > limitOf(gather, true))
      flush(bucket);
    bucket.members.push_back(gather);
    bucket.bytes += exchangedBytes(gather);
  }
  for (auto &[key, bucket] : ahead)
    flush(bucket);
}

//===----------------------------------------------------------------------===//
// One for many
//===----------------------------------------------------------------------===//

/// A bucket's operand is [blocks, elements]: as many blocks as the op takes
/// apart. An all-reduce takes none apart.
static int64_t blocksIn(Operation *op, int64_t ranks) {
  return isa<ReduceScatterOp>(op) ? ranks : 1;
}
static int64_t blocksOut(Operation *op, int64_t ranks) {
  return isa<AllGatherOp>(op) ? ranks : 1;
}

static Value createLike(ImplicitLocOpBuilder &b, Operation *op, Type type,
                        Value operand) {
  if (auto sum = dyn_cast<AllReduceOp>(op))
    return b.create<AllReduceOp>(type, sum.getKind(), operand, sum.getAxes());
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return b.create<ReduceScatterOp>(type, scatter.getKind(), operand, 0,
                                     scatter.getAxes(), ArrayRef<int64_t>());
  auto gather = cast<AllGatherOp>(op);
  return b.create<AllGatherOp>(type, operand, 0, gather.getAxes(),
                               ArrayRef<int64_t>(), gather.getAgain());
}

/// One exchange of all in place of each.
void Bucketer::join(ArrayRef<Operation *> members, Operation *before) {
  Operation *first = members.front();
  int64_t in = blocksIn(first, ranksOf(first)),
          out = blocksOut(first, ranksOf(first));
  SmallVector<Location> locs;
  for (Operation *op : members)
    locs.push_back(op->getLoc());
  ImplicitLocOpBuilder b(FusedLoc::get(before->getContext(), locs), before);
  SmallVector<Value> blocks;
  SmallVector<int64_t> ends = {0};
  for (Operation *op : members) {
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
  Value all = createLike(b, first, type.clone({out, ends.back()}), joined);
  for (auto [index, op] : llvm::enumerate(members)) {
    int64_t starts[] = {0, ends[index]}, limits[] = {out, ends[index + 1]},
            steps[] = {1, 1};
    Value part = b.create<SliceOp>(type.clone({out, limits[1] - starts[1]}),
                                   all, starts, limits, steps);
    Value result = op->getResult(0);
    result.replaceAllUsesWith(b.create<ReshapeOp>(result.getType(), part));
  }
  for (Operation *op : members)
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
