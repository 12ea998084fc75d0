//===- LowerCollectives.cpp - Parts side by side --------------------------===//
//
// Libraries exchange blocks: one after another in memory, by the number of the
// rank. Collectives along inner dimensions, or with cuts, become such, with
// moves around them that the fuse phase sees.
//
//===----------------------------------------------------------------------===//

#include "hone/Sharding/IR/Sharding.h"
#include "hone/Sharding/Model/Blocks.h"
#include "hone/Sharding/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

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
  Value split(Value value, int64_t dim, ArrayRef<int64_t> cuts) {
    SmallVector<Value> blocks;
    for (auto [begin, end] : segments(typeOf(value).getDimSize(dim), cuts)) {
      Value part = slice(value, dim, begin, end);
      Shape shape(typeOf(part).getShape());
      shape[dim] /= n;
      shape.insert(shape.begin() + dim, n);
      blocks.push_back(moveDim(reshape(part, shape), dim, 0));
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
  Value merge(Value blocks, int64_t dim, ArrayRef<int64_t> cuts) {
    SmallVector<Value> parts;
    for (auto [begin, end] :
         segments(typeOf(blocks).getDimSize(dim + 1) * n, cuts)) {
      Value part = slice(blocks, dim + 1, begin / n, end / n);
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
    Shape limits(typeOf(value).getShape());
    if (end - begin == limits[dim])
      return value;
    Shape starts(limits.size(), 0), strides(limits.size(), 1);
    starts[dim] = begin;
    limits[dim] = end;
    Shape shape = limits;
    shape[dim] -= begin;
    return b.create<SliceOp>(typeOf(value).clone(shape), value, starts, limits,
                             strides);
  }

  Value concat(ArrayRef<Value> parts, int64_t dim) {
    if (parts.size() == 1)
      return parts.front();
    Shape shape(typeOf(parts.front()).getShape());
    shape[dim] = 0;
    for (Value part : parts)
      shape[dim] += typeOf(part).getDimSize(dim);
    return b.create<ConcatOp>(typeOf(parts.front()).clone(shape), parts, dim);
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

static Shape withLeading(int64_t size, Value block) {
  Shape shape(typeOf(block).getShape());
  shape.front() = size;
  return shape;
}

static Value lower(ImplicitLocOpBuilder &b, AllGatherOp op, int64_t n) {
  Blocks blocks(b, n);
  Value own = blocks.asBlock(op.getOperand());
  Value all = b.create<AllGatherOp>(typeOf(own).clone(withLeading(n, own)), own,
                                    0, op.getAxes(), Shape(), op.getAgain());
  return blocks.merge(all, op.getDim(), op.getCuts());
}

static Value lower(ImplicitLocOpBuilder &b, ReduceScatterOp op, int64_t n) {
  Blocks blocks(b, n);
  Value all = blocks.split(op.getOperand(), op.getDim(), op.getCuts());
  Value own =
      b.create<ReduceScatterOp>(typeOf(all).clone(withLeading(1, all)),
                                op.getKind(), all, 0, op.getAxes(), Shape());
  return blocks.withoutBlock(own);
}

static Value lower(ImplicitLocOpBuilder &b, AllToAllOp op, int64_t n) {
  Blocks blocks(b, n);
  Value sent = blocks.split(op.getOperand(), op.getTo(), op.getToCuts());
  // [n, 1, ...] to [1, n, ...]: the blocks stay where they are.
  Shape from(typeOf(sent).getShape());
  from.insert(from.begin() + 1, 1);
  Shape to = from;
  std::swap(to[0], to[1]);
  Value received =
      b.create<AllToAllOp>(typeOf(sent).clone(to), blocks.reshape(sent, from),
                           1, 0, op.getAxes(), Shape(), Shape());
  return blocks.merge(blocks.withoutBlock(received), op.getFrom(),
                      op.getFromCuts());
}

/// The part of each segment, side by side.
static Value lower(ImplicitLocOpBuilder &b, ShardOp op, int64_t n) {
  return Blocks(b, n).forEachSegment(
      op.getOperand(), op.getDim(), op.getCuts(), [&](Value segment) {
        Shape shape(typeOf(segment).getShape());
        shape[op.getDim()] /= n;
        return b.create<ShardOp>(typeOf(segment).clone(shape), segment,
                                 op.getDim(), op.getAxes(), Shape());
      });
}

template <typename Op>
static LogicalResult lowerIfNeeded(Op op, const Mesh &mesh) {
  if (isInBlocks(op))
    return success();
  if (op->hasAttr(asyncAttr))
    return op.emitOpError("is async, expected that only of blocks: what comes "
                          "behind it would not wait");
  ImplicitLocOpBuilder b(op.getLoc(), op);
  op.getResult().replaceAllUsesWith(
      lower(b, op, mesh.count(axesOf(op.getAxes(), mesh))));
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// What is in blocks already
//===----------------------------------------------------------------------===//

/// Whether parts of dimension `dim` lie one after another.
static bool isOutermost(RankedTensorType type, int64_t dim,
                        ArrayRef<int64_t> cuts) {
  return cuts.empty() && llvm::all_of(type.getShape().take_front(dim),
                                      [](int64_t size) { return size == 1; });
}

bool dist::isInBlocks(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<AllGatherOp, ReduceScatterOp>([](auto op) {
        return isOutermost(typeOf(op.getResult()), op.getDim(), op.getCuts());
      })
      .Case([](AllToAllOp op) {
        // Of the dimensions up to both, only one may differ from 1 before, and
        // the other after.
        int64_t outer = std::max(op.getFrom(), op.getTo());
        RankedTensorType type = typeOf(op.getOperand());
        for (int64_t dim = 0; dim <= outer; ++dim)
          if (dim != int64_t(op.getTo()) && type.getDimSize(dim) != 1)
            return false;
        return op.getFromCuts().empty() && op.getToCuts().empty() &&
               typeOf(op.getResult()).getDimSize(op.getTo()) == 1;
      })
      // Parts at equal distances are as good: nobody sends them.
      .Case([](ShardOp op) { return op.getCuts().empty(); })
      .Default([](Operation *) { return true; });
}

namespace {
struct DistLowerCollectives
    : hone::impl::DistLowerCollectivesBase<DistLowerCollectives> {
  void runOnOperation() override {
    FailureOr<Mesh> mesh = Mesh::of(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    WalkResult lowered = getOperation().walk([&](Operation *op) {
      return llvm::TypeSwitch<Operation *, WalkResult>(op)
          .Case<AllGatherOp, ReduceScatterOp, AllToAllOp, ShardOp>(
              [&](auto op) { return WalkResult(lowerIfNeeded(op, *mesh)); })
          .Default([](Operation *) { return WalkResult::advance(); });
    });
    if (lowered.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
