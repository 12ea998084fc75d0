//===- BlockExperts.cpp - Mixtures of experts in blocks -------------------===//

#include "Mixture.h"
#include "hone/Sharding/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace hone {
#define GEN_PASS_DEF_DISTBLOCKEXPERTS
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
/// Writes a mixture again, with the experts in `groups` and the tokens in
/// `blocks` of as many parts as there are groups: values have the dimensions
/// [groups, blocks, rows, ...] in place of [slots, ...].
class BlockBuilder {
public:
  BlockBuilder(const Mixture &mixture, int64_t groups, int64_t blocks)
      : mixture(mixture), groups(groups), blocks(blocks),
        slots(mixture.slots() / blocks),
        b(mixture.tail.back()->getLoc(), mixture.tail.back()) {
    int64_t tokens = slots / mixture.slotsPerToken;
    rows = tokens * std::min(mixture.slotsPerToken, groupSize());
  }

  /// The sum of each token's results.
  Value build();

private:
  int64_t groupSize() const { return mixture.experts / groups; }
  RankedTensorType index(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, b.getI64Type());
  }
  /// [groups, blocks, rows, ...] for [slots, ...].
  RankedTensorType blocked(Value value) {
    auto type = llvm::cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape = {groups, blocks, rows};
    llvm::append_range(shape, type.getShape().drop_front());
    return type.clone(shape);
  }
  Value splat(RankedTensorType type, int64_t number) {
    return b.create<ConstantOp>(DenseElementsAttr::get(
        type, Attribute(b.getIntegerAttr(type.getElementType(), number))));
  }
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    auto type = llvm::cast<RankedTensorType>(value.getType());
    return b.create<ReshapeOp>(type.clone(shape), value);
  }
  Value broadcast(Value value, ArrayRef<int64_t> shape,
                  ArrayRef<int64_t> dims) {
    auto type = llvm::cast<RankedTensorType>(value.getType());
    return b.create<BroadcastOp>(type.clone(shape), value, dims);
  }

  /// The first `size` elements along the last dimension.
  Value slice(Value value, int64_t size) {
    SmallVector<int64_t> limits(shapeOf(value));
    if (limits.back() == size)
      return value;
    limits.back() = size;
    auto type = llvm::cast<RankedTensorType>(value.getType()).clone(limits);
    SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
    return b.create<SliceOp>(type, value, starts, limits, strides);
  }
  Value cast(Value value, Type element) {
    auto type = llvm::cast<RankedTensorType>(value.getType());
    return b.create<CastOp>(type.clone(element), value);
  }

  void route();
  Value slotNumbers(int64_t divisor);
  Value operandOf(Value value);
  Value rebuild(Operation *op);
  Value pick(EmbeddingOp op);
  Value combine();

  const Mixture &mixture;
  int64_t groups, blocks, slots, rows;
  ImplicitLocOpBuilder b;
  Value own;    ///< [groups, blocks, slots], whether the group has the expert
  Value order;  ///< [groups, blocks, rows], slots in the order of experts
  Value places; ///< [groups, blocks, slots], where they went
  Value ends;   ///< [groups, blocks, experts of a group]
  DenseMap<Value, Value> made;
};
} // namespace

/// Sorts the slots of each block for each group: those of its own experts
/// first.
void BlockBuilder::route() {
  SmallVector<int64_t> shape = {groups, blocks, slots};
  Value ids = reshape(mixture.ids, {blocks, slots});
  if (!elementOf(ids).isInteger(64))
    ids = cast(ids, b.getI64Type());
  Value key = broadcast(ids, shape, {1, 2});
  int64_t classes = groupSize();
  if (groups != 1) {
    Value first = b.create<MulOp>(b.create<IotaOp>(index({groups}), 0),
                                  splat(index({groups}), classes));
    key = b.create<SubOp>(key, broadcast(first, shape, {0}));
    Value size = splat(index(shape), classes);
    auto flags = index(shape).clone(b.getI1Type());
    own = b.create<AndOp>(
        b.create<CmpOp>(flags, CmpPredicate::ge, key, splat(index(shape), 0)),
        b.create<CmpOp>(flags, CmpPredicate::lt, key, size));
    key = b.create<SelectOp>(own, key, size);
    ++classes;
  }
  Value sorted =
      b.create<ArgsortOp>(index(shape), key, 2, /*descending=*/false);
  places = b.create<ArgsortOp>(index(shape), sorted, 2, /*descending=*/false);
  order = slice(sorted, rows);
  Value counts =
      b.create<PutAlongOp>(index({groups, blocks, classes}), ReduceKind::sum,
                           splat(index(shape), 1), key, 2);
  counts = cast(slice(counts, groupSize()), b.getI32Type());
  ends = b.create<CumsumOp>(counts.getType(), counts, 2, /*reverse=*/false);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Neighbouring rows of a table make up those of a block's parts.
Value BlockBuilder::pick(EmbeddingOp op) {
  ArrayRef<int64_t> table = shapeOf(op.getTable());
  int64_t parts = groups * blocks;
  int64_t divisor = mixture.slots() / table[0];
  Value ids = order;
  if (divisor != 1)
    ids = b.create<DivOp>(order, splat(index(shapeOf(order)), divisor));
  return b.create<BlockEmbeddingOp>(
      blocked(op.getResult()),
      reshape(op.getTable(), {parts, table[0] / parts, table[1]}), ids);
}

/// An operand in the shape of rows: equal rows are made again.
Value BlockBuilder::operandOf(Value value) {
  if (Value there = made.lookup(value))
    return there;
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return b.create<ConstantOp>(
        llvm::cast<SplatElementsAttr>(constant.getValue())
            .resizeSplat(blocked(value)));
  auto equal = value.getDefiningOp<BroadcastOp>();
  SmallVector<int64_t> dims;
  for (int64_t dim : equal.getDims())
    dims.push_back(dim + 2);
  return b.create<BroadcastOp>(blocked(value), equal.getOperand(), dims);
}

static SmallVector<int64_t> behindBlocks(ArrayRef<int64_t> positions,
                                         ArrayRef<int64_t> ofBlocks) {
  SmallVector<int64_t> all(ofBlocks);
  llvm::append_range(all, positions.drop_front());
  return all;
}

static SmallVector<int64_t> shifted(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> all;
  for (int64_t dim : dims)
    all.push_back(dim + 2);
  return all;
}

/// The op on rows of blocks: dimension 0 becomes three.
Value BlockBuilder::rebuild(Operation *op) {
  RankedTensorType type = blocked(op->getResult(0));
  if (mixture.isSource(op))
    return pick(llvm::cast<EmbeddingOp>(op));
  if (auto product = dyn_cast<GroupedDotOp>(op))
    return b.create<BlockGroupedDotOp>(type, made.lookup(product.getInput()),
                                       product.getWeight(), ends,
                                       product.getContract());
  Operation *copy = b.clone(*op);
  for (OpOperand &operand : copy->getOpOperands())
    operand.set(operandOf(operand.get()));
  copy->getResult(0).setType(type);
  copy->moveBefore(copy->getBlock(), b.getInsertionPoint());
  llvm::TypeSwitch<Operation *>(copy)
      .Case([&](SliceOp slice) {
        slice.setStarts(behindBlocks(slice.getStarts(), {0, 0, 0}));
        slice.setLimits(
            behindBlocks(slice.getLimits(), {groups, blocks, rows}));
        slice.setStrides(behindBlocks(slice.getStrides(), {1, 1, 1}));
      })
      .Case([&](PadOp pad) {
        pad.setLow(behindBlocks(pad.getLow(), {0, 0, 0}));
        pad.setHigh(behindBlocks(pad.getHigh(), {0, 0, 0}));
        pad.setInterior(behindBlocks(pad.getInterior(), {0, 0, 0}));
      })
      .Case([&](BroadcastOp broadcast) {
        broadcast.setDims(
            behindBlocks(shifted(broadcast.getDims()), {0, 1, 2}));
      })
      .Case([&](ConcatOp concat) { concat.setDim(concat.getDim() + 2); })
      .Case(
          [&](ReduceOp reduce) { reduce.setDims(shifted(reduce.getDims())); });
  return copy->getResult(0);
}

/// A group adds the results that its own experts have for a token, and groups
/// are added. In a mesh-invariant module, first each slot gets the result of
/// the one group that has it, so that results are added in the order of slots.
Value BlockBuilder::combine() {
  auto out = llvm::cast<EmbeddingOp>(mixture.tail.front());
  SmallVector<int64_t> shape = {groups, blocks, slots,
                                shapeOf(out.getResult())[1]};
  Value ids = places;
  if (rows != slots)
    ids = b.create<MinOp>(places, splat(index(shapeOf(places)), rows - 1));
  auto type = llvm::cast<RankedTensorType>(out.getType());
  Value results = b.create<BlockEmbeddingOp>(type.clone(shape),
                                             made.lookup(out.getTable()), ids);
  if (own) {
    Value zero = b.create<ConstantOp>(DenseElementsAttr::get(
        type.clone(shape), b.getFloatAttr(type.getElementType(), 0)));
    results =
        b.create<SelectOp>(broadcast(own, shape, {0, 1, 2}), results, zero);
  }
  int64_t perToken = mixture.slotsPerToken, parts = groups * blocks;
  int64_t tokens = mixture.slots() / perToken / parts;
  results = reshape(results, {groups, parts, tokens, perToken, shape.back()});
  auto sum = llvm::cast<ReduceOp>(mixture.tail.back());
  auto add = [&](ArrayRef<int64_t> dims) {
    results = b.create<ReduceOp>(ReduceKind::sum, results, dims);
  };
  // Casts on the way to the sum.
  results = elementOf(results) == elementOf(sum.getOperand())
                ? results
                : cast(results, elementOf(sum.getOperand()));
  if (isMeshInvariant(sum)) {
    add({0});
    add({2});
  } else {
    add({0, 3});
  }
  return reshape(results, shapeOf(sum.getResult()));
}

Value BlockBuilder::build() {
  route();
  for (Operation *op : mixture.ops)
    made[op->getResult(0)] = rebuild(op);
  return combine();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Checks of ids that are within their tables by construction: the values that
/// they read are needed no longer.
static void dropProvenChecks(func::FuncOp func,
                             const RoutingAnalysis &routing) {
  Operation *end = func.front().getTerminator();
  for (OpOperand &result : end->getOpOperands()) {
    auto kind = func.getResultAttrOfType<StringAttr>(result.getOperandNumber(),
                                                     attr::kind);
    if (!kind || kind.getValue() != kind::idCheck)
      continue;
    std::optional<RoutedValue> value = routing.lookup(result.get());
    if (!value || !value->isConstant() || value->low != 0)
      continue;
    OpBuilder builder(end);
    auto type = llvm::cast<RankedTensorType>(result.get().getType());
    result.set(builder.create<ConstantOp>(
        result.get().getLoc(),
        DenseElementsAttr::get(type, Attribute(builder.getIntegerAttr(
                                         type.getElementType(), 0)))));
  }
}

static void eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

namespace {
struct DistBlockExperts : hone::impl::DistBlockExpertsBase<DistBlockExperts> {
  using DistBlockExpertsBase::DistBlockExpertsBase;

  void runOnOperation() override {
    if (groups < 1 || blocks < 1) {
      getOperation().emitError("groups is ")
          << int64_t(groups) << " and blocks " << int64_t(blocks)
          << ", expected at least 1";
      return signalPassFailure();
    }
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(divide(func)))
        return signalPassFailure();
  }

  LogicalResult divide(func::FuncOp func);
  LogicalResult check(const Mixture &mixture, Operation *op);
};
} // namespace

LogicalResult DistBlockExperts::check(const Mixture &mixture, Operation *op) {
  int64_t parts = groups * blocks;
  int64_t tokens = mixture.slots() / mixture.slotsPerToken;
  if (mixture.experts % groups != 0)
    return op->emitError() << "has " << mixture.experts
                           << " experts, expected a multiple of "
                           << int64_t(groups) << ", the ranks along axis ep";
  if (tokens % parts != 0)
    return op->emitError() << "has " << tokens
                           << " tokens, expected a multiple of " << parts
                           << ", the ranks that share the batch";
  return success();
}

LogicalResult DistBlockExperts::divide(func::FuncOp func) {
  RoutingAnalysis routing(func);
  SmallVector<GroupedDotOp> products(func.getOps<GroupedDotOp>());
  llvm::SmallPtrSet<Operation *, 8> seen;
  bool isChanged = false;
  for (GroupedDotOp product : products) {
    if (seen.contains(product))
      continue;
    std::variant<Mixture, MixtureProblem> found = findMixture(product, routing);
    if (auto *problem = std::get_if<MixtureProblem>(&found)) {
      if (groups == 1) // every rank computes all rows
        continue;
      InFlightDiagnostic error = product.emitError(
          "is in no mixture of experts that axis ep can divide");
      error.attachNote(problem->op->getLoc())
          << "expected " << problem->expected << " at this '"
          << problem->op->getName() << "'";
      return error;
    }
    auto &mixture = std::get<Mixture>(found);
    seen.insert(mixture.ops.begin(), mixture.ops.end());
    // dist-annotate reports a batch that its ranks cannot share.
    if (groups == 1 && mixture.slots() / mixture.slotsPerToken % blocks != 0)
      continue;
    if (failed(check(mixture, product)))
      return failure();
    mixture.tail.back()->getResult(0).replaceAllUsesWith(
        BlockBuilder(mixture, groups, blocks).build());
    isChanged = true;
  }
  if (isChanged) {
    dropProvenChecks(func, routing);
    eraseUnused(func.front());
  } else if (groups != 1 && func.getName() == "forward") {
    return func.emitError("has no products of groups of rows "
                          "(hone.grouped_dot), expected experts for axis ep");
  }
  return success();
}
