//===- BuildGenerate.cpp - From @evaluate to one token at a time ----------===//

#include "PositionAnalysis.h"
#include "StepFunction.h"
#include "hone/Transforms/Passes.h"

#include <map>

namespace hone {
#define GEN_PASS_DEF_BUILDGENERATE
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// Writes @generate, from the ops that compute the logits of @evaluate.
class GenerateBuilder {
public:
  GenerateBuilder(func::FuncOp evaluate, const PositionAnalysis &positions)
      : evaluate(evaluate), positions(positions),
        step(evaluate.getContext(), evaluate.getLoc(), "generate"),
        b(step.builder) {}

  func::FuncOp build(CrossEntropyOp loss, BlockArgument tokens);

private:
  void addArguments(BlockArgument tokens);
  Value whole(Value value);
  Value one(Value value, const TensorRuns &runs);
  Value narrow(Value value, const TensorRuns &runs);
  Value pick(Value value, const TensorRuns &runs);
  Value rebuild(OpResult result, const DimensionMapping &mapping,
                const FactorRuns &factors);
  void rebuild(Operation *op);
  Value updateCache(Value row, int64_t size, const Twine &name);
  void rebuildAttention(AttentionOp op);
  Value splat(RankedTensorType type, double number);
  Value broadcastScalar(Value scalar, RankedTensorType type);

  func::FuncOp evaluate;
  const PositionAnalysis &positions;
  StepFunction step;
  ImplicitLocOpBuilder &b;
  BlockArgument position;
  IRMapping wholes;            ///< values that do not depend on the tokens
  DenseMap<Value, Value> ones; ///< others, at the position
  /// Values of `wholes` at the position, by what lies along their dimensions.
  std::map<std::pair<void *, std::vector<int64_t>>, Value> narrowed;
  int64_t attentions = 0;
};
} // namespace

Value GenerateBuilder::splat(RankedTensorType type, double number) {
  Type element = type.getElementType();
  Attribute value = isa<FloatType>(element)
                        ? Attribute(b.getFloatAttr(element, number))
                        : b.getIntegerAttr(element, int64_t(number));
  return b.create<ConstantOp>(DenseElementsAttr::get(type, value));
}

/// `scalar`, of i64, as every element of `type`.
Value GenerateBuilder::broadcastScalar(Value scalar, RankedTensorType type) {
  auto element = RankedTensorType::get({}, type.getElementType());
  if (element != scalar.getType())
    scalar = b.create<CastOp>(element, scalar);
  return type.getRank() == 0
             ? scalar
             : b.create<BroadcastOp>(type, scalar, ArrayRef<int64_t>());
}

//===----------------------------------------------------------------------===//
// Values that do not depend on the tokens
//===----------------------------------------------------------------------===//

/// A value as @evaluate computes it.
Value GenerateBuilder::whole(Value value) {
  if (Value known = wholes.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    whole(operand);
  b.clone(*op, wholes);
  return wholes.lookup(value);
}

/// What `value` holds at the position: computed in all, then picked.
Value GenerateBuilder::pick(Value value, const TensorRuns &runs) {
  // A dimension per run, that of the positions first.
  SmallVector<int64_t> split, starts, limits, order, final;
  int64_t along = -1;
  for (const DimRuns &dim : runs) {
    for (Run run : dim) {
      if (run.axis == Axis::Position)
        along = split.size();
      split.push_back(run.size);
      starts.push_back(0);
      limits.push_back(run.axis == Axis::Batch ? 1 : run.size);
    }
    final.push_back(sizeOfOne(dim));
  }
  Type element = typeOf(value).getElementType();
  Value all =
      b.create<ReshapeOp>(RankedTensorType::get(split, element), whole(value));
  all = b.create<SliceOp>(RankedTensorType::get(limits, element), all, starts,
                          limits, SmallVector<int64_t>(split.size(), 1));
  if (along >= 0) {
    order.push_back(along);
    for (int64_t dim = 0; dim != int64_t(split.size()); ++dim)
      if (dim != along)
        order.push_back(dim);
    all = b.create<TransposeOp>(all, order);
    SmallVector<int64_t> shape(typeOf(all).getShape());
    shape[0] = 1;
    Value ids =
        broadcastScalar(position, RankedTensorType::get(shape, b.getI64Type()));
    all = b.create<TakeAlongOp>(RankedTensorType::get(shape, element), all, ids,
                                /*dim=*/0);
  }
  return b.create<ReshapeOp>(RankedTensorType::get(final, element), all);
}

/// The same, but computed at the position alone where the op allows it.
Value GenerateBuilder::narrow(Value value, const TensorRuns &runs) {
  SmallVector<int64_t> shape;
  for (const DimRuns &dim : runs)
    shape.push_back(sizeOfOne(dim));
  auto type = RankedTensorType::get(shape, typeOf(value).getElementType());
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return pick(value, runs);
  Operation *op = result.getOwner();
  if (auto constant = dyn_cast<ConstantOp>(op))
    if (auto elements = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return b.create<ConstantOp>(elements.resizeSplat(type));
  if (auto iota = dyn_cast<IotaOp>(op)) {
    const DimRuns &counted = runs[iota.getDim()];
    if (counted ==
        DimRuns{{Axis::Position, typeOf(value).getDimSize(iota.getDim())}})
      return broadcastScalar(position, type);
    if (isPlain(counted))
      return b.create<IotaOp>(type, iota.getDim());
  }
  auto facts = dyn_cast<HoneOpInterface>(op);
  if (!facts || op->getNumOperands() == 0 || isa<RandomOpInterface>(op))
    return pick(value, runs);
  DimensionMapping mapping = facts.getDimensionMapping();
  FactorRuns factors(mapping.factors.size());
  for (auto [dim, dimRuns] : llvm::enumerate(runs))
    if (failed(addRuns(mapping, mapping.results[result.getResultNumber()][dim],
                       dimRuns, factors)))
      return pick(value, runs);
  Value made = rebuild(result, mapping, factors);
  return made ? made : pick(value, runs);
}

/// The value at the position of `runs`.
Value GenerateBuilder::one(Value value, const TensorRuns &runs) {
  if (positions.find(value))
    return ones.lookup(value);
  if (llvm::all_of(runs, isPlain))
    return whole(value);
  std::vector<int64_t> key;
  for (const DimRuns &dim : runs) {
    for (Run run : dim)
      key.insert(key.end(), {int64_t(run.axis), run.size});
    key.push_back(-1);
  }
  auto [it, isNew] =
      narrowed.try_emplace({value.getAsOpaquePointer(), std::move(key)});
  if (isNew)
    it->second = narrow(value, runs);
  return it->second;
}

//===----------------------------------------------------------------------===//
// Ops at one position
//===----------------------------------------------------------------------===//

/// The op of `result` where its factors have `factors`; null where an operand
/// would be a part of a run.
Value GenerateBuilder::rebuild(OpResult result, const DimensionMapping &mapping,
                               const FactorRuns &factors) {
  Operation *op = result.getOwner();
  auto runsOfTensor = [&](Value value, const TensorFactors &dims) {
    std::optional<TensorRuns> runs = TensorRuns();
    for (auto [dim, size] : llvm::zip_equal(dims, typeOf(value).getShape())) {
      std::optional<DimRuns> own = runsOf(dim, size, factors);
      if (!own)
        return std::optional<TensorRuns>();
      runs->push_back(*own);
    }
    return runs;
  };
  SmallVector<TensorRuns> operandRuns;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), mapping.operands)) {
    std::optional<TensorRuns> runs = runsOfTensor(operand, dims);
    if (!runs)
      return {};
    operandRuns.push_back(*runs);
  }
  SmallVector<Value> operands;
  for (auto [operand, runs] : llvm::zip_equal(op->getOperands(), operandRuns))
    operands.push_back(one(operand, runs));
  Operation *made = b.clone(*op);
  made->setOperands(operands);
  for (auto [old, value, dims] :
       llvm::zip(op->getResults(), made->getResults(), mapping.results)) {
    std::optional<TensorRuns> runs = runsOfTensor(old, dims);
    if (!runs)
      continue; // nobody reads it
    SmallVector<int64_t> shape;
    for (const DimRuns &dim : *runs)
      shape.push_back(sizeOfOne(dim));
    value.setType(RankedTensorType::get(shape, typeOf(old).getElementType()));
  }
  if (auto slice = dyn_cast<SliceOp>(made)) {
    SmallVector<int64_t> starts(slice.getStarts()), limits(slice.getLimits());
    for (auto [dim, dimRuns] : llvm::enumerate(operandRuns[0]))
      if (!isPlain(dimRuns)) {
        starts[dim] = 0;
        limits[dim] = sizeOfOne(dimRuns);
      }
    slice.setStarts(starts);
    slice.setLimits(limits);
  }
  return made->getResult(result.getResultNumber());
}

void GenerateBuilder::rebuild(Operation *op) {
  b.setLoc(op->getLoc());
  if (auto attention = dyn_cast<AttentionOp>(op))
    return rebuildAttention(attention);
  DimensionMapping mapping = cast<HoneOpInterface>(op).getDimensionMapping();
  FactorRuns factors = positions.factorsOf(op, mapping);
  Operation *made = rebuild(op->getResult(0), mapping, factors).getDefiningOp();
  for (auto [old, value] : llvm::zip(op->getResults(), made->getResults()))
    ones[old] = value;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The cache `name` of `size` positions with `row`, `[1, 1, heads, width]`, at
/// the position.
Value GenerateBuilder::updateCache(Value row, int64_t size, const Twine &name) {
  SmallVector<int64_t> shape(typeOf(row).getShape());
  shape[1] = size;
  auto type = RankedTensorType::get(shape, typeOf(row).getElementType());
  BlockArgument cache = step.addArgument(type, kind::cache, name);
  Value updated =
      b.create<UpdateSliceOp>(type, cache, row, position, /*dim=*/1);
  step.addUpdate(updated, cache);
  return updated;
}

/// One query over the positions up to its own.
void GenerateBuilder::rebuildAttention(AttentionOp op) {
  int64_t size = typeOf(op.getKey()).getDimSize(1);
  std::string number = std::to_string(attentions++);
  Value query = ones.lookup(op.getQuery());
  Value keys = updateCache(ones.lookup(op.getKey()), size, "key." + number);
  Value values =
      updateCache(ones.lookup(op.getValue()), size, "value." + number);
  Value mask = op.getMask();
  if (mask) {
    TensorRuns runs = plainRuns(mask);
    for (Run &run : runs[0])
      run.axis = Axis::Batch;
    for (Run &run : runs[2])
      run.axis = Axis::Position;
    mask = one(mask, runs);
  }
  RankedTensorType result = typeOf(op.getResult());
  SmallVector<int64_t> shape(result.getShape());
  shape[0] = shape[1] = 1;
  ones[op.getResult()] = b.create<DecodeAttentionOp>(
      result.clone(shape), query, keys, values, position, mask, op.getScale());
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// The arguments of @evaluate that the logits are computed from, then token and
/// position.
void GenerateBuilder::addArguments(BlockArgument tokens) {
  llvm::SmallPtrSet<Operation *, 32> needed(positions.ops().begin(),
                                            positions.ops().end());
  for (BlockArgument arg : evaluate.getArguments()) {
    bool isRead = llvm::any_of(
        arg.getUsers(), [&](Operation *op) { return needed.contains(op); });
    if (isRead && arg != tokens)
      wholes.map(arg,
                 step.addArgument(arg.getType(),
                                  evaluate.getArgAttrDict(arg.getArgNumber()),
                                  arg.getLoc()));
  }
  auto number = RankedTensorType::get({}, b.getI64Type());
  BlockArgument token = step.addArgument(number, kind::scalar, "token");
  position = step.addArgument(number, kind::scalar, "position");
  ones[tokens] = broadcastScalar(token, typeOf(tokens).clone({1, 1}));
  // The text is one document.
  for (Operation &op : evaluate.front())
    if (op.hasAttr(attr::ofDocument) && positions.find(op.getResult(0)))
      ones[op.getResult(0)] =
          broadcastScalar(position, typeOf(op.getResult(0)).clone({1, 1}));
}

func::FuncOp GenerateBuilder::build(CrossEntropyOp loss, BlockArgument tokens) {
  addArguments(tokens);
  for (Operation *op : positions.ops())
    if (llvm::any_of(op->getResults(),
                     [&](Value value) { return positions.find(value); }))
      rebuild(op);
  b.setLoc(loss.getLoc());
  Value logits = ones.lookup(loss.getLogits());
  RankedTensorType type = typeOf(logits);
  // Behind them is padding.
  int64_t classes =
      loss.getWidth() ? int64_t(loss.getWidth()) : type.getShape().back();
  logits = b.create<ReshapeOp>(type.clone({type.getNumElements()}), logits);
  logits =
      b.create<SliceOp>(type.clone({classes}), logits, ArrayRef<int64_t>{0},
                        ArrayRef<int64_t>{classes}, ArrayRef<int64_t>{1});
  if (!type.getElementType().isF32())
    logits = b.create<CastOp>(RankedTensorType::get({classes}, b.getF32Type()),
                              logits);
  step.addResult(logits, step.describe(kind::logits));
  return step.finish();
}

namespace {
struct BuildGenerate : hone::impl::BuildGenerateBase<BuildGenerate> {
  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    auto evaluate = module.lookupSymbol<func::FuncOp>("evaluate");
    if (!evaluate)
      return module.emitError("has no function @evaluate: run hone-autodiff "
                              "before hone-build-generate");
    SmallVector<CrossEntropyOp> losses(
        evaluate.front().getOps<CrossEntropyOp>());
    if (losses.size() != 1)
      return evaluate.emitError("computes ")
             << losses.size() << " cross entropies, expected one, whose logits "
             << "choose the next token";
    FailureOr<BlockArgument> tokens = findTokenInput(evaluate);
    if (failed(tokens))
      return failure();
    Value logits = losses.front().getLogits();
    FailureOr<PositionAnalysis> positions =
        PositionAnalysis::run(logits, *tokens, "compute one token at a time");
    if (failed(positions) || failed(checkInputs(evaluate, *tokens, *positions)))
      return failure();
    const TensorRuns *runs = positions->find(logits);
    if (!runs || !isPlain(runs->back()))
      return losses.front().emitOpError(
          "has logits that do not depend on the tokens position by position");
    module.push_back(
        GenerateBuilder(evaluate, *positions).build(losses.front(), *tokens));
    return success();
  }

  /// Besides the tokens, state alone decides.
  LogicalResult checkInputs(func::FuncOp evaluate, BlockArgument tokens,
                            const PositionAnalysis &positions) {
    for (Operation *op : positions.ops())
      for (Value operand : op->getOperands()) {
        auto arg = dyn_cast<BlockArgument>(operand);
        if (!arg || arg == tokens)
          continue;
        StringRef kind = argString(evaluate, arg.getArgNumber(), attr::kind);
        if (kind != kind::param && kind != kind::buffer)
          return op->emitOpError("reads input '")
                 << argString(evaluate, arg.getArgNumber(), attr::fqn)
                 << "', expected logits that depend on the tokens alone";
      }
    return success();
  }
};
} // namespace
