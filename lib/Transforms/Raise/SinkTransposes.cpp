//===- SinkTransposes.cpp - Channels stay last behind convolutions --------===//

#include "DimGroups.h"
#include "IndexedProduct.h"
#include "hone/Analysis/Layout/Strides.h"
#include "hone/IR/Hone.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/TypeSwitch.h"

namespace hone {
#define GEN_PASS_DEF_SINKTRANSPOSES
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static SmallVector<int64_t> permuted(ArrayRef<int64_t> list,
                                     ArrayRef<int64_t> permutation) {
  return llvm::map_to_vector(permutation,
                             [&](int64_t dim) { return list[dim]; });
}

static SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    result[from] = to;
  return result;
}

static bool isIdentity(ArrayRef<int64_t> permutation) {
  return llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size()));
}

//===----------------------------------------------------------------------===//
// Sinking
//===----------------------------------------------------------------------===//

namespace {
/// A value as a transpose of another: dimension d of it is dimension
/// `permutation[d]` of `source`.
struct Layout {
  Value source;
  SmallVector<int64_t> permutation;
};

/// Which transposes begin to sink.
enum class Start {
  Convolutions, ///< of what convolutions and pooling make
  Channels,     ///< these, and those that make channels second
  Everywhere
};

/// Walks a block once, in order. A value whose transpose is not made yet has an
/// entry in `layouts`; whoever cannot read its source makes the transpose.
class Sinker {
public:
  Sinker(Block &block, Start start)
      : block(block), b(block.getParentOp()), start(start) {}
  void run();

private:
  bool sink(Operation *op);
  bool begins(TransposeOp op) const;
  bool sinkTranspose(TransposeOp op);
  bool sinkElementwise(Operation *op);
  bool sinkReduce(ReduceOp op);
  bool sinkReshape(ReshapeOp op);
  bool sinkSlice(SliceOp op);
  bool sinkPad(PadOp op);
  bool sinkConcat(ConcatOp op);
  bool sinkProduct(DotGeneralOp op);
  /// The layout that all of these values share.
  const Layout *sharedLayout(ValueRange values) const;
  /// `operand`, a constant or a broadcast, as an operand of an op whose
  /// dimensions have the order of sources of `layout`; null: it is neither.
  Value permutedOperand(Value operand, const Layout &layout);
  void moved(Operation *from, Value source, ArrayRef<int64_t> permutation) {
    layouts[from->getResult(0)] = {source, SmallVector<int64_t>(permutation)};
  }
  Value materialize(Value value);

  Block &block;
  OpBuilder b;
  Start start;
  DenseMap<Value, Layout> layouts;
  DenseMap<Value, Value> made; // transposes of entries of layouts
};
} // namespace

const Layout *Sinker::sharedLayout(ValueRange values) const {
  const Layout *shared = nullptr;
  for (Value value : values) {
    auto found = layouts.find(value);
    if (found == layouts.end() ||
        (shared && shared->permutation != found->second.permutation))
      return nullptr;
    shared = &found->second;
  }
  return shared;
}

Value Sinker::permutedOperand(Value operand, const Layout &layout) {
  SmallVector<int64_t> order = inverse(layout.permutation);
  // Of two transposes, one is left.
  if (auto found = layouts.find(operand); found != layouts.end()) {
    SmallVector<int64_t> both = permuted(found->second.permutation, order);
    if (isIdentity(both))
      return found->second.source;
    return b.create<TransposeOp>(operand.getLoc(), found->second.source, both);
  }
  SmallVector<int64_t> shape = permuted(shapeOf(operand), order);
  DenseElementsAttr constant;
  if (matchPattern(operand, m_Constant(&constant)) && constant.isSplat())
    return b.create<ConstantOp>(
        operand.getLoc(), constant.resizeSplat(withShape(operand, shape)));
  auto broadcast = operand.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  // Its dimensions in increasing order: those of its operand may need another.
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [from, dim] : llvm::enumerate(broadcast.getDims()))
    dims.push_back({layout.permutation[dim], from});
  llvm::sort(dims);
  SmallVector<int64_t> to, from;
  for (auto [dim, index] : dims) {
    to.push_back(dim);
    from.push_back(index);
  }
  Value value = broadcast.getOperand();
  if (!isIdentity(from))
    value = b.create<TransposeOp>(
        operand.getLoc(), withShape(value, permuted(shapeOf(value), from)),
        value, from);
  return b.create<BroadcastOp>(operand.getLoc(), withShape(operand, shape),
                               value, to);
}

/// The transpose that `value` stands for.
Value Sinker::materialize(Value value) {
  const Layout &layout = layouts.find(value)->second;
  Value &result = made[value];
  if (!result) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(layout.source);
    result = b.create<TransposeOp>(value.getLoc(), value.getType(),
                                   layout.source, layout.permutation);
  }
  return result;
}

/// Made by a convolution or pooling, perhaps with elementwise ops behind it
/// that read nothing else but constants and repeated vectors (a bias).
static bool hasChannelsLast(Value value) {
  Operation *producer = value.getDefiningOp();
  if (isa_and_present<ConvolutionOpInterface, MaxPoolOp>(producer))
    return true;
  if (!producer || !producer->hasTrait<OpTrait::Elementwise>())
    return false;
  SmallVector<Value> others;
  for (Value operand : producer->getOperands())
    if (!isa_and_present<ConstantOp, BroadcastOp>(operand.getDefiningOp()))
      others.push_back(operand);
  return others.size() == 1 && hasChannelsLast(others.front());
}

/// Whether a transpose makes channels that are last second, of images or
/// volumes.
static bool movesChannels(ArrayRef<int64_t> permutation) {
  int64_t rank = permutation.size();
  return rank >= 4 && permutation[0] == 0 && permutation[1] == rank - 1 &&
         llvm::equal(permutation.drop_front(2),
                     llvm::seq<int64_t>(1, rank - 1));
}

/// Whether a layout begins at `op`, a transpose of no value that has one.
bool Sinker::begins(TransposeOp op) const {
  return start == Start::Everywhere || hasChannelsLast(op.getOperand()) ||
         (start == Start::Channels && movesChannels(op.getPermutation()));
}

bool Sinker::sinkTranspose(TransposeOp op) {
  Value source = op.getOperand();
  SmallVector<int64_t> permutation(op.getPermutation());
  if (auto found = layouts.find(source); found != layouts.end()) {
    permutation = permuted(found->second.permutation, permutation);
    source = found->second.source;
  } else if (!begins(op)) {
    return false;
  }
  if (isIdentity(permutation))
    op.getResult().replaceAllUsesWith(source);
  else
    moved(op, source, permutation);
  return true;
}

bool Sinker::sinkElementwise(Operation *op) {
  std::optional<Layout> layout;
  for (Value operand : op->getOperands())
    if (auto found = layouts.find(operand); found != layouts.end()) {
      if (!layout)
        layout = found->second;
      else if (start != Start::Everywhere &&
               layout->permutation != found->second.permutation)
        return false;
    }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(permutedOperand(operand, *layout));
    if (!operands.back())
      return false;
  }
  Value result = op->getResult(0);
  SmallVector<int64_t> shape =
      permuted(shapeOf(result), inverse(layout->permutation));
  Operation *sunk =
      b.create(op->getLoc(), op->getName().getIdentifier(), operands,
               withShape(result, shape), op->getAttrs());
  moved(op, sunk->getResult(0), SmallVector<int64_t>(layout->permutation));
  return true;
}

bool Sinker::sinkReduce(ReduceOp op) {
  Layout layout = layouts.find(op.getOperand())->second;
  SmallVector<int64_t> dims = permuted(layout.permutation, op.getDims());
  llvm::sort(dims);
  // Where each dimension of the source is in the new result.
  SmallVector<int64_t> shape, place(layout.permutation.size(), -1);
  for (auto [dim, size] : llvm::enumerate(shapeOf(layout.source)))
    if (!llvm::is_contained(dims, int64_t(dim))) {
      place[dim] = shape.size();
      shape.push_back(size);
    }
  SmallVector<int64_t> permutation;
  for (auto [dim, from] : llvm::enumerate(layout.permutation))
    if (!llvm::is_contained(op.getDims(), int64_t(dim)))
      permutation.push_back(place[from]);
  auto sunk = b.create<ReduceOp>(op.getLoc(), withShape(op, shape),
                                 op.getKind(), layout.source, dims);
  if (isIdentity(permutation))
    op.getResult().replaceAllUsesWith(sunk);
  else
    moved(op, sunk, permutation);
  return true;
}

/// A reshape moves where each group of dimensions that it joins or splits lies
/// side by side in the source too.
bool Sinker::sinkReshape(ReshapeOp op) {
  Layout layout = layouts.find(op.getOperand())->second;
  ArrayRef<int64_t> to = shapeOf(op);
  auto groups = groupDims(shapeOf(op.getOperand()), to);
  if (!groups)
    return false;
  // By place in the source, then by place in the result.
  SmallVector<std::tuple<int64_t, size_t, const DimGroup *>> order;
  for (auto [index, group] : llvm::enumerate(*groups)) {
    int64_t first = layout.permutation.size(); // a new size of 1: last
    if (!group.from.empty())
      first = layout.permutation[group.from.front()];
    for (auto [offset, dim] : llvm::enumerate(group.from))
      if (layout.permutation[dim] != first + int64_t(offset))
        return false;
    order.push_back({first, index, &group});
  }
  llvm::sort(order);
  SmallVector<int64_t> shape, permutation(to.size());
  for (auto [first, index, group] : order)
    for (int64_t dim : group->to) {
      permutation[dim] = shape.size();
      shape.push_back(to[dim]);
    }
  Value sunk = layout.source;
  if (shapeOf(sunk) != ArrayRef<int64_t>(shape))
    sunk = b.create<ReshapeOp>(op.getLoc(), withShape(op, shape), sunk);
  if (isIdentity(permutation))
    op.getResult().replaceAllUsesWith(sunk);
  else
    moved(op, sunk, permutation);
  return true;
}

bool Sinker::sinkSlice(SliceOp op) {
  Layout layout = layouts.find(op.getOperand())->second;
  SmallVector<int64_t> order = inverse(layout.permutation);
  moved(op,
        b.create<SliceOp>(
            op.getLoc(), withShape(op, permuted(shapeOf(op), order)),
            layout.source, permuted(op.getStarts(), order),
            permuted(op.getLimits(), order), permuted(op.getStrides(), order)),
        layout.permutation);
  return true;
}

bool Sinker::sinkPad(PadOp op) {
  Layout layout = layouts.find(op.getOperand())->second;
  SmallVector<int64_t> order = inverse(layout.permutation);
  moved(op,
        b.create<PadOp>(
            op.getLoc(), withShape(op, permuted(shapeOf(op), order)),
            layout.source, permuted(op.getLow(), order),
            permuted(op.getHigh(), order), permuted(op.getInterior(), order)),
        layout.permutation);
  return true;
}

bool Sinker::sinkConcat(ConcatOp op) {
  const Layout *shared = sharedLayout(op.getInputs());
  if (!shared)
    return false;
  SmallVector<int64_t> permutation = shared->permutation;
  SmallVector<Value> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(layouts.find(input)->second.source);
  moved(op,
        b.create<ConcatOp>(
            op.getLoc(),
            withShape(op, permuted(shapeOf(op), inverse(permutation))), inputs,
            permutation[op.getDim()]),
        permutation);
  return true;
}

/// A product reads the sources of its operands. Its result has no layout: the
/// free dimensions keep their order.
bool Sinker::sinkProduct(DotGeneralOp op) {
  IndexedProduct product(op);
  bool changed = false;
  for (ProductOperand *factor : {&product.lhs, &product.rhs})
    if (auto found = layouts.find(factor->value); found != layouts.end()) {
      Layout layout = found->second;
      if (product.readSource(*factor, layout.source, layout.permutation))
        changed = true;
      else
        factor->value = materialize(factor->value);
    }
  if (!changed)
    return false;
  SmallVector<int64_t> order;
  op.getResult().replaceAllUsesWith(product.build(b, op));
  return true;
}

/// Makes the op on sources of its operands, where that is the same up to a
/// transpose.
bool Sinker::sink(Operation *op) {
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return sinkTranspose(transpose);
  auto isSunk = [&](Value operand) { return layouts.contains(operand); };
  if (!isa<HoneDialect>(op->getDialect()) ||
      llvm::none_of(op->getOperands(), isSunk))
    return false;
  if (op->hasTrait<OpTrait::Elementwise>() ||
      isa<StopGradientOp, SelectModeOp>(op))
    return sinkElementwise(op);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](ReduceOp reduce) { return sinkReduce(reduce); })
      .Case([&](ReshapeOp reshape) { return sinkReshape(reshape); })
      .Case([&](SliceOp slice) { return sinkSlice(slice); })
      .Case([&](PadOp pad) { return sinkPad(pad); })
      .Case([&](ConcatOp concat) { return sinkConcat(concat); })
      .Case([&](DotGeneralOp dot) {
        return start == Start::Everywhere && sinkProduct(dot);
      })
      .Default(false);
}

void Sinker::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops) {
    b.setInsertionPoint(op);
    if (sink(op))
      continue;
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (layouts.contains(operand.get()))
          operand.set(materialize(operand.get()));
    });
  }
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Elements that transposes move, and the libraries' products, which read one
/// stride per index (`hone-normalize-contractions`).
static int64_t movedElements(func::FuncOp function) {
  int64_t count = 0;
  auto add = [&](Value value) {
    count += cast<ShapedType>(value.getType()).getNumElements();
  };
  function.walk([&](Operation *op) {
    if (isOpTriviallyDead(op))
      return;
    if (isa<TransposeOp>(op))
      add(op->getResult(0));
    auto dot = dyn_cast<DotGeneralOp>(op);
    if (!dot)
      return;
    if (!isStridedMatrix(shapeOf(dot.getLhs()), dot.getLhsBatch(),
                         dot.getLhsFree(), dot.getLhsContract()))
      add(dot.getLhs());
    if (!isStridedMatrix(shapeOf(dot.getRhs()), dot.getRhsBatch(),
                         dot.getRhsFree(), dot.getRhsContract()))
      add(dot.getRhs());
  });
  return count;
}

namespace {
struct SinkTransposes : hone::impl::SinkTransposesBase<SinkTransposes> {
  using SinkTransposesBase::SinkTransposesBase;
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    auto isConvolution = [](Operation &op) {
      return isa<ConvolutionOpInterface>(op);
    };
    SmallVector<Start> starts = {Start::Convolutions};
    if (all)
      starts = {Start::Everywhere};
    else if (llvm::any_of(function.getOps(), isConvolution))
      starts.push_back(Start::Channels);
    OwningOpRef<func::FuncOp> best;
    int64_t least = movedElements(function);
    for (Start start : starts) {
      OwningOpRef<func::FuncOp> sunk(cast<func::FuncOp>(function->clone()));
      Sinker(sunk->getBody().front(), start).run();
      if (int64_t moved = movedElements(*sunk); moved < least) {
        least = moved;
        best = std::move(sunk);
      }
    }
    if (best)
      function.getBody().takeBody(best->getBody());
  }
};
} // namespace
