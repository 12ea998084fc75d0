//===- LowerCollectives.cpp - Parts side by side --------------------------===//
//
// Libraries exchange blocks: one after another in memory, by the number of the
// rank. Collectives along inner dimensions, or with cuts, become such, with
// moves around them that the fuse phase sees.
//
//===----------------------------------------------------------------------===//

#include "Sharding/Model/Slices.h"
#include "hone/Sharding/IR/Sharding.h"
#include "hone/Sharding/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {
#define GEN_PASS_DEF_DISTLOWERCOLLECTIVES
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

using Shape = SmallVector<int64_t>;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// Writes the moves around collectives of `n` ranks.
class Blocks {
public:
  Blocks(ImplicitLocOpBuilder &b, int64_t n) : b(b), n(n) {}

  /// `value`, dimension `dim` of which all ranks' parts make up, as one block
  /// per rank in a new dimension 0.
  Value split(Value value, int64_t dim, ArrayRef<int64_t> cuts, bool isSnake) {
    SmallVector<Value> blocks;
    for (auto [begin, end] : segments(typeOf(value).getDimSize(dim), cuts)) {
      Value part = slice(value, dim, begin, end);
      Shape shape(typeOf(part).getShape());
      shape[dim] /= n;
      shape.insert(shape.begin() + dim, n);
      Value own = moveDim(reshape(part, shape), dim, 0);
      bool isReversed = isSnake && blocks.size() % 2 == 1;
      blocks.push_back(isReversed ? reverse(own) : own);
    }
    return concat(blocks, dim + 1);
  }

  /// What `make` makes of each segment of dimension `dim`, side by side.
  Value forEachSegment(Value value, int64_t dim, ArrayRef<int64_t> cuts,
                       llvm::function_ref<Value(Value)> make) {
    SmallVector<Value> made;
    for (auto [begin, end] : segments(typeOf(value).getDimSize(dim), cuts))
      made.push_back(make(slice(value, dim, begin, end)));
    return concat(made, dim);
  }

  /// The inverse: blocks of dimension 0 become parts of dimension `dim`, cut
  /// at `cuts`, positions of the result.
  Value merge(Value blocks, int64_t dim, ArrayRef<int64_t> cuts, bool isSnake) {
    SmallVector<Value> parts;
    for (auto [begin, end] :
         segments(typeOf(blocks).getDimSize(dim + 1) * n, cuts)) {
      Value part = slice(blocks, dim + 1, begin / n, end / n);
      if (isSnake && parts.size() % 2 == 1)
        part = reverse(part);
      part = moveDim(part, 0, dim);
      Shape shape(typeOf(part).getShape());
      shape[dim + 1] *= n;
      shape.erase(shape.begin() + dim);
      parts.push_back(reshape(part, shape));
    }
    return concat(parts, dim);
  }

  Value reshape(Value value, ArrayRef<int64_t> shape) {
    if (typeOf(value).getShape() == shape)
      return value;
    return b.create<ReshapeOp>(typeOf(value).clone(shape), value);
  }
  /// `value` as one block.
  Value asBlock(Value value) {
    Shape shape(typeOf(value).getShape());
    shape.insert(shape.begin(), 1);
    return reshape(value, shape);
  }
  Value withoutBlock(Value value) {
    return reshape(value, typeOf(value).getShape().drop_front());
  }

  /// The blocks of dimension 0, the last one first.
  Value reverse(Value blocks) {
    SmallVector<Value> each;
    for (int64_t block = n; block-- != 0;)
      each.push_back(slice(blocks, 0, block, block + 1));
    return concat(each, 0);
  }

private:
  static SmallVector<std::pair<int64_t, int64_t>>
  segments(int64_t size, ArrayRef<int64_t> cuts) {
    SmallVector<std::pair<int64_t, int64_t>> all;
    int64_t begin = 0;
    for (int64_t cut : cuts) {
      all.emplace_back(begin, cut);
      begin = cut;
    }
    all.emplace_back(begin, size);
    return all;
  }

  Value slice(Value value, int64_t dim, int64_t begin, int64_t end) {
    return sliceOf(b, value, dim, begin, end);
  }
  Value concat(ArrayRef<Value> parts, int64_t dim) {
    return concatOf(b, parts, dim);
  }

  Value moveDim(Value value, int64_t from, int64_t to) {
    if (from == to)
      return value;
    Shape permutation =
        llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
    permutation.erase(permutation.begin() + from);
    permutation.insert(permutation.begin() + to, from);
    Shape shape;
    for (int64_t dim : permutation)
      shape.push_back(typeOf(value).getDimSize(dim));
    return b.create<TransposeOp>(typeOf(value).clone(shape), value,
                                 permutation);
  }

  ImplicitLocOpBuilder &b;
  int64_t n;
};
} // namespace

//===----------------------------------------------------------------------===//
// One collective each
//===----------------------------------------------------------------------===//

/// Shards that the op produces become blocks of its operand, those that it
/// consumes blocks of its result.
static Value lower(ImplicitLocOpBuilder &b, CollectiveOpInterface op,
                   const PlacementChange &change, int64_t n) {
  Blocks blocks(b, n);
  Value operand = op->getOperand(0);
  const AxisPlacement &from = change.consumed, &to = change.produced;
  Value sent = to.isSharded() ? blocks.split(operand, to.dim, to.cuts, to.snake)
                              : blocks.asBlock(operand);
  Value received = op.createOnBlocks(b, sent, n);
  if (Attribute piece = op->getAttr(pieceAttr)) {
    Operation *made = received.getDefiningOp();
    while (!isa<CollectiveOpInterface>(made)) // a view of what it returns
      made = made->getOperand(0).getDefiningOp();
    made->setAttr(pieceAttr, piece);
  }
  return from.isSharded()
             ? blocks.merge(received, from.dim, from.cuts, from.snake)
             : blocks.withoutBlock(received);
}

/// The part of each segment, side by side. Where a snake turns, it is the part
/// of the reversed blocks.
static Value lower(ImplicitLocOpBuilder &b, ShardOp op, int64_t n) {
  Blocks blocks(b, n);
  auto shardOf = [&](Value value, int64_t dim) {
    Shape shape(typeOf(value).getShape());
    shape[dim] /= n;
    return b.create<ShardOp>(typeOf(value).clone(shape), value, dim,
                             op.getAxes(), Shape());
  };
  bool isReversed = false;
  return blocks.forEachSegment(
      op.getOperand(), op.getDim(), op.getCuts(), [&](Value segment) -> Value {
        bool isTurned = std::exchange(isReversed, op.getSnake() && !isReversed);
        if (!isTurned)
          return shardOf(segment, op.getDim());
        Value reversed =
            blocks.reverse(blocks.split(segment, op.getDim(), {}, false));
        return blocks.withoutBlock(shardOf(reversed, 0));
      });
}

static LogicalResult lowerIfNeeded(PlacementOpInterface op, const Mesh &mesh) {
  if (op.isContiguous())
    return success();
  if (isAsync(op))
    return op.emitOpError("is async, expected that only of blocks: what comes "
                          "behind it would not wait");
  ImplicitLocOpBuilder b(op.getLoc(), op);
  PlacementChange change = *op.getPlacementChange();
  int64_t n = mesh.count(axesOf(change.axes, mesh));
  auto collective = dyn_cast<CollectiveOpInterface>(op.getOperation());
  op->getResult(0).replaceAllUsesWith(collective
                                          ? lower(b, collective, change, n)
                                          : lower(b, cast<ShardOp>(op), n));
  op.erase();
  return success();
}

/// The ranks of the same coordinates in the other stages have the other terms.
static void lowerStageSum(StageSumOp op) {
  OpBuilder builder(op);
  op.replaceAllUsesWith(
      builder
          .create<AllReduceOp>(op.getLoc(), op.getType(), ReduceKind::sum,
                               op.getOperand(),
                               builder.getStrArrayAttr({stageAxis}))
          .getResult());
  op.erase();
}

namespace {
struct DistLowerCollectives
    : hone::impl::DistLowerCollectivesBase<DistLowerCollectives> {
  void runOnOperation() override {
    FailureOr<Mesh> mesh = Mesh::of(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    WalkResult lowered = getOperation().walk([&](PlacementOpInterface op) {
      return WalkResult(lowerIfNeeded(op, *mesh));
    });
    if (lowered.wasInterrupted())
      return signalPassFailure();
    getOperation().walk(lowerStageSum);
  }
};
} // namespace
