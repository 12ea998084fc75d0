//===- BucketCollectives.cpp - Many small sums as one ---------------------===//

#include "hone/Dist/Links.h"
#include "hone/Dist/Passes.h"
#include "hone/Dist/Sharding.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace hone {
#define GEN_PASS_DEF_DISTBUCKETCOLLECTIVES
#include "hone/Dist/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Bytes of a sum among `group` of which a tenth of the time is latency.
static int64_t defaultBytes(const Group &group) {
  constexpr double sample = 1 << 20, share = 0.1;
  double latency = secondsOf(Exchange::AllReduce, group, 0);
  double perByte =
      (secondsOf(Exchange::AllReduce, group, sample) - latency) / sample;
  return perByte > 0 ? int64_t(latency * (1 / share - 1) / perByte) : 0;
}

namespace {
/// Sums that can be one.
using Key = std::tuple<const void *, ReduceKind, const void *>; // axes, element

struct Bucket {
  SmallVector<AllReduceOp> sums;
  int64_t bytes = 0, limit = 0;
};

class Bucketer {
public:
  Bucketer(Block &block, const Mesh &mesh, int64_t bytes)
      : block(block), mesh(mesh), bytes(bytes) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      closeReadBy(op);
      if (auto sum = dyn_cast<AllReduceOp>(op))
        add(sum);
    }
  }

private:
  /// Whether the operand can be made at its place in the bucket: a kernel makes
  /// it, and nothing else reads it.
  static bool canJoin(AllReduceOp sum) {
    Operation *producer = sum.getOperand().getDefiningOp();
    return producer && isa<HoneDialect>(producer->getDialect()) &&
           sum.getOperand().hasOneUse() && !sum.getAsync();
  }

  void add(AllReduceOp sum) {
    if (!canJoin(sum))
      return;
    Bucket &bucket =
        open[{sum.getAxes().getAsOpaquePointer(), sum.getKind(),
              getElementTypeOrSelf(sum.getType()).getAsOpaquePointer()}];
    if (bucket.sums.empty())
      bucket.limit =
          bytes > 0 ? bytes
                    : defaultBytes(mesh.group(axesOf(sum.getAxes(), mesh)));
    bucket.sums.push_back(sum);
    bucket.bytes += byteSize(sum.getType());
    if (bucket.bytes >= bucket.limit)
      close(bucket, sum->getNextNode());
  }

  /// What `op` reads must be there.
  void closeReadBy(Operation &op) {
    for (auto &[key, bucket] : open)
      if (llvm::any_of(bucket.sums, [&](AllReduceOp sum) {
            return llvm::is_contained(op.getOperands(), sum.getResult());
          }))
        close(bucket, &op);
  }

  void close(Bucket &bucket, Operation *before);

  Block &block;
  const Mesh &mesh;
  int64_t bytes;
  llvm::MapVector<Key, Bucket, std::map<Key, unsigned>> open;
};
} // namespace

/// One sum of all in place of each.
void Bucketer::close(Bucket &bucket, Operation *before) {
  SmallVector<AllReduceOp> sums = std::exchange(bucket.sums, {});
  bucket.bytes = 0;
  if (sums.size() < 2)
    return;
  SmallVector<Location> locs;
  for (AllReduceOp sum : sums)
    locs.push_back(sum.getLoc());
  ImplicitLocOpBuilder b(FusedLoc::get(before->getContext(), locs), before);
  SmallVector<Value> flat;
  int64_t total = 0;
  for (AllReduceOp sum : sums) {
    RankedTensorType type = typeOf(sum.getOperand());
    total += type.getNumElements();
    flat.push_back(b.create<ReshapeOp>(type.clone({type.getNumElements()}),
                                       sum.getOperand()));
  }
  RankedTensorType all = typeOf(flat.front()).clone({total});
  Value joined = b.create<ConcatOp>(all, flat, 0);
  Value summed = b.create<AllReduceOp>(all, sums.front().getKind(), joined,
                                       sums.front().getAxes());
  int64_t start = 0;
  for (AllReduceOp sum : sums) {
    RankedTensorType type = typeOf(sum.getResult());
    int64_t end = start + type.getNumElements();
    Value part =
        b.create<SliceOp>(type.clone({end - start}), summed, ArrayRef(start),
                          ArrayRef(end), ArrayRef<int64_t>(1));
    start = end;
    sum.getResult().replaceAllUsesWith(b.create<ReshapeOp>(type, part));
    sum.erase();
  }
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
