//===- PositionAnalysis.cpp - Which dimensions run along tokens -----------===//

#include "PositionAnalysis.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

bool hone::isPlain(ArrayRef<Run> runs) {
  return llvm::all_of(runs, [](Run run) { return run.axis == Axis::Other; });
}

int64_t hone::sizeOfOne(ArrayRef<Run> runs) {
  int64_t size = 1;
  for (Run run : runs)
    size *= run.axis == Axis::Other ? run.size : 1;
  return size;
}

/// The dimension, or factor, of `size` elements of one axis.
static DimRuns runsOfSize(Axis axis, int64_t size) {
  return size == 1 ? DimRuns() : DimRuns{{axis, size}};
}

TensorRuns hone::plainRuns(Value value) {
  TensorRuns runs;
  for (int64_t size : cast<RankedTensorType>(value.getType()).getShape())
    runs.push_back(runsOfSize(Axis::Other, size));
  return runs;
}

/// Takes the first `size` elements from `runs`, whose latest run is the last.
static std::optional<DimRuns> takeRuns(SmallVectorImpl<Run> &runs,
                                       int64_t size) {
  DimRuns taken;
  while (size != 1) {
    if (runs.empty() || runs.back().size == 0)
      return std::nullopt;
    Run &first = runs.back();
    if (size % first.size == 0) {
      taken.push_back(first);
      size /= first.size;
      runs.pop_back();
    } else if (first.axis == Axis::Other && first.size % size == 0) {
      taken.push_back({Axis::Other, size});
      first.size /= size;
      size = 1;
    } else {
      return std::nullopt;
    }
  }
  return taken;
}

LogicalResult hone::addRuns(const DimensionMapping &mapping,
                            const DimensionFactors &factors, ArrayRef<Run> runs,
                            FactorRuns &found) {
  if (isPlain(runs))
    return success();
  if (factors.empty() || factors.offset())
    return failure();
  SmallVector<Run> left(llvm::reverse(runs));
  for (int index : factors) {
    const Factor &factor = mapping.factors[index];
    std::optional<DimRuns> own = takeRuns(left, factor.size);
    if (!own)
      return failure();
    if (isPlain(*own))
      continue;
    if (factor.kind != FactorKind::Parallel ||
        (!found[index].empty() && found[index] != *own))
      return failure();
    found[index] = *own;
  }
  return success(left.empty());
}

std::optional<DimRuns> hone::runsOf(const DimensionFactors &factors,
                                    int64_t size, const FactorRuns &found) {
  DimRuns runs;
  int64_t left = size;
  if (llvm::all_of(factors, [&](int index) { return found[index].empty(); }))
    return runsOfSize(Axis::Other, size);
  if (factors.offset()) { // one factor: the first positions, more than one
    DimRuns whole = found[factors[0]];
    if (*factors.offset() != 0 || size < 2 || whole.size() != 1 ||
        whole[0].axis != Axis::Position)
      return std::nullopt;
    return runsOfSize(Axis::Position, size);
  }
  // What factors without runs have together is what the others leave.
  for (int index : factors)
    for (Run run : found[index])
      left /= run.size;
  if (factors.size() == 1)
    return found[factors[0]];
  for (int index : factors) {
    if (!found[index].empty())
      llvm::append_range(runs, found[index]);
    else if (std::exchange(left, 1) != 1)
      runs.push_back({Axis::Other, left});
  }
  return runs;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

bool PositionAnalysis::dependsOnTokens(Operation *op) const {
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return find(operand); });
}

InFlightDiagnostic PositionAnalysis::reject(Operation *op) const {
  return op->emitOpError("cannot ") << purpose << ": ";
}

FactorRuns PositionAnalysis::factorsOf(Operation *op,
                                       const DimensionMapping &mapping) const {
  FactorRuns factors(mapping.factors.size());
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (const TensorRuns *own = find(operand))
      for (auto [dim, dimRuns] : llvm::enumerate(*own))
        if (failed(addRuns(mapping, mapping.operands[index][dim], dimRuns,
                           factors)))
          llvm_unreachable("the analysis has found these runs");
  return factors;
}

/// Attention of each position over those up to its own.
LogicalResult PositionAnalysis::visitAttention(AttentionOp op) {
  if (!op.getCausal())
    return reject(op) << "it is not causal, expected positions that depend on "
                         "earlier ones only";
  if (op.getMask() && find(op.getMask()))
    return reject(op) << "its mask depends on the tokens";
  if (op.getSegments() && find(op.getSegments()))
    return reject(op) << "its segments depend on the tokens";
  auto expected = [&](Value value) {
    TensorRuns all = plainRuns(value);
    all[0] = runsOfSize(Axis::Batch, batch);
    all[1] = runsOfSize(Axis::Position, positions);
    return all;
  };
  for (Value value : {op.getQuery(), op.getKey(), op.getValue()})
    if (const TensorRuns *own = find(value); !own || *own != expected(value))
      return reject(op) << "query, key and value are expected to have the "
                           "sequences and positions of the tokens as their "
                           "first dimensions";
  runs[op.getResult()] = expected(op.getResult());
  return success();
}

LogicalResult PositionAnalysis::visit(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return visitAttention(attention);
  auto facts = dyn_cast<HoneOpInterface>(op);
  if (!facts)
    return reject(op) << "it says not which iterations are independent";
  DimensionMapping mapping = facts.getDimensionMapping();
  FactorRuns factors(mapping.factors.size());
  auto mixes = [&] {
    return reject(op) << "it combines positions or sequences, as only causal "
                         "attention may";
  };
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (const TensorRuns *own = find(operand))
      for (auto [dim, dimRuns] : llvm::enumerate(*own))
        if (failed(addRuns(mapping, mapping.operands[index][dim], dimRuns,
                           factors)))
          return mixes();
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    TensorRuns own;
    int counted = 0;
    auto shape = cast<RankedTensorType>(result.getType()).getShape();
    for (auto [dim, size] : llvm::enumerate(shape)) {
      std::optional<DimRuns> dimRuns =
          runsOf(mapping.results[index][dim], size, factors);
      if (!dimRuns)
        return mixes();
      counted += llvm::count_if(
          *dimRuns, [](Run run) { return run.axis == Axis::Position; });
      own.push_back(*dimRuns);
    }
    if (counted != 1 && !result.use_empty())
      return mixes();
    runs[result] = std::move(own);
  }
  return success();
}

FailureOr<BlockArgument> hone::findTokenInput(func::FuncOp func) {
  for (BlockArgument arg : func.getArguments()) {
    unsigned index = arg.getArgNumber();
    if (argString(func, index, attr::role) != "tokens")
      continue;
    auto type = cast<RankedTensorType>(arg.getType());
    if (type.getRank() == 2 && type.getDimSize(0) > 0 && type.getDimSize(1) > 1)
      return arg;
    func.emitError("input '")
        << argString(func, index, attr::fqn) << "' has type " << type
        << ", expected tokens of several positions, [batch, position]";
    return failure();
  }
  func.emitError("has no input of role tokens, expected a language model");
  return failure();
}

FailureOr<PositionAnalysis>
PositionAnalysis::run(Value value, BlockArgument tokens, StringRef purpose) {
  PositionAnalysis analysis;
  analysis.purpose = purpose;
  auto shape = cast<RankedTensorType>(tokens.getType()).getShape();
  analysis.batch = shape[0];
  analysis.positions = shape[1];
  analysis.runs[tokens] = {runsOfSize(Axis::Batch, shape[0]),
                           runsOfSize(Axis::Position, shape[1])};
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [](Operation *op) { return !op->hasAttr(attr::ofDocument); };
  getBackwardSlice(value, &slice, options);
  analysis.needed = slice.takeVector();
  llvm::sort(analysis.needed,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation &op : *tokens.getOwner())
    if (auto of = op.getAttrOfType<StringAttr>(attr::ofDocument))
      if (of == "position")
        analysis.runs[op.getResult(0)] = analysis.runs.lookup(tokens);
  for (Operation *op : analysis.needed)
    if (analysis.dependsOnTokens(op) && failed(analysis.visit(op)))
      return failure();
  return analysis;
}
