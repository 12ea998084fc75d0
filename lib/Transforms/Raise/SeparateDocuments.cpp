//===- SeparateDocuments.cpp - Keeps the documents of a row apart ---------===//

#include "Transforms/Step/PositionAnalysis.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {
#define GEN_PASS_DEF_SEPARATEDOCUMENTS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static bool counts(ArrayRef<Run> runs, Axis axis) {
  return llvm::any_of(runs, [&](Run run) { return run.axis == axis; });
}

static bool countsAnywhere(ArrayRef<DimRuns> runs, Axis axis) {
  return llvm::any_of(runs,
                      [&](const DimRuns &dim) { return counts(dim, axis); });
}

/// The runs of a tensor whose dimensions have these factors; nothing where one
/// has a part of a run.
static std::optional<TensorRuns> runsOfTensor(Value value,
                                              const TensorFactors &dims,
                                              const FactorRuns &factors) {
  TensorRuns runs;
  for (auto [dim, size] : llvm::zip_equal(dims, typeOf(value).getShape())) {
    std::optional<DimRuns> own = runsOf(dim, size, factors);
    if (!own)
      return std::nullopt;
    runs.push_back(*own);
  }
  return runs;
}

/// Whether elements of `value`, which does not depend on the tokens, may differ
/// along an axis of `runs`.
static bool variesAlong(Axis axis, Value value, TensorRuns runs) {
  if (!countsAnywhere(runs, axis))
    return false;
  // Ops may mix what lies along the other axis.
  for (DimRuns &dim : runs)
    for (Run &run : dim)
      if (run.axis != axis)
        run.axis = Axis::Other;
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return true;
  Operation *op = result.getOwner();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return !isa<SplatElementsAttr>(constant.getValue());
  if (auto iota = dyn_cast<IotaOp>(op))
    return counts(runs[iota.getDim()], axis);
  auto facts = dyn_cast<HoneOpInterface>(op);
  if (!facts || op->getNumOperands() == 0 || isa<RandomOpInterface>(op))
    return true;
  DimensionMapping mapping = facts.getDimensionMapping();
  FactorRuns factors(mapping.factors.size());
  for (auto [dim, dimRuns] : llvm::enumerate(runs))
    if (failed(addRuns(mapping, mapping.results[result.getResultNumber()][dim],
                       dimRuns, factors)))
      return true;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), mapping.operands)) {
    std::optional<TensorRuns> own = runsOfTensor(operand, dims, factors);
    if (!own || variesAlong(axis, operand, *own))
      return true;
  }
  return false;
}

/// Whether the slowest indices of a tensor are those of `batch` sequences.
static bool isForEachSequence(const TensorRuns &runs, int64_t batch) {
  if (batch == 1)
    return true;
  for (const DimRuns &dim : runs)
    if (!dim.empty())
      return dim.front() == Run{Axis::Batch, batch};
  return false;
}

namespace {
/// Changes one function.
class Separator {
public:
  Separator(func::FuncOp func, BlockArgument tokens, int64_t end)
      : func(func), tokens(tokens), end(end),
        b(func.getLoc(), OpBuilder::atBlockBegin(&func.front())) {}

  LogicalResult run();

private:
  LogicalResult checkEnd();
  LogicalResult analyse();
  LogicalResult checkAttention(AttentionOp op);
  void numberDocuments();
  Value positionsInDocuments();
  LogicalResult restart(Operation *op, const PositionAnalysis &analysis);
  FailureOr<Value> restart(OpOperand &use, TensorRuns runs);

  func::FuncOp func;
  BlockArgument tokens; ///< [batch, position]
  int64_t end;
  ImplicitLocOpBuilder b;
  /// Of the logits of each loss.
  SmallVector<PositionAnalysis, 1> analyses;
  Value segments;  ///< [batch, position]
  Value positions; ///< the same, inside of documents; null until needed
};
} // namespace

LogicalResult Separator::checkEnd() {
  auto vocab =
      func.getArgAttrOfType<IntegerAttr>(tokens.getArgNumber(), attr::vocab);
  if (end >= 0 && (!vocab || end < vocab.getInt()))
    return success();
  InFlightDiagnostic diag = func.emitError("the end of documents is id ")
                            << end << ", expected an id of the tokens";
  if (vocab)
    diag << ", from 0 to " << vocab.getInt() - 1;
  return diag;
}

LogicalResult Separator::analyse() {
  for (auto loss : func.front().getOps<CrossEntropyOp>()) {
    FailureOr<PositionAnalysis> analysis =
        PositionAnalysis::run(loss.getLogits(), tokens, "keep documents apart");
    if (failed(analysis))
      return failure();
    analyses.push_back(std::move(*analysis));
  }
  if (analyses.empty())
    return func.emitError("computes no hone.cross_entropy, expected one, whose "
                          "logits are followed back to the tokens to keep "
                          "documents apart");
  return success();
}

/// Causality and shapes are known where the analysis has been.
LogicalResult Separator::checkAttention(AttentionOp op) {
  if (op.getSegments())
    return op.emitOpError("has segments of the model's own, expected none "
                          "where documents are found by their end");
  if (llvm::none_of(analyses, [&](const PositionAnalysis &analysis) {
        return analysis.find(op.getResult());
      }))
    return op.emitOpError("cannot keep documents apart: it is not between the "
                          "tokens and the logits of the loss");
  return success();
}

/// Ends before each position.
void Separator::numberDocuments() {
  RankedTensorType type = typeOf(tokens).clone(b.getI32Type());
  Value id = b.create<ConstantOp>(DenseElementsAttr::get(
      typeOf(tokens),
      b.getIntegerAttr(typeOf(tokens).getElementType(), end).getValue()));
  Value isEnd =
      b.create<CmpOp>(type.clone(b.getI1Type()), CmpPredicate::eq, tokens, id);
  Value ends = b.create<CastOp>(type, isEnd);
  auto number =
      b.create<SubOp>(b.create<CumsumOp>(type, ends, /*dim=*/1), ends);
  number->setAttr(attr::ofDocument, b.getStringAttr("segment"));
  segments = number;
}

/// Places in the row less that of the first of the document.
Value Separator::positionsInDocuments() {
  if (positions)
    return positions;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(segments);
  RankedTensorType type = typeOf(segments);
  Value place = b.create<IotaOp>(type, uint64_t(1));
  Value firsts = b.create<PutAlongOp>(type, ReduceKind::min, place, segments,
                                      /*dim=*/1);
  auto position = b.create<SubOp>(
      place, b.create<TakeAlongOp>(type, firsts, segments, /*dim=*/1));
  position->setAttr(attr::ofDocument, b.getStringAttr("position"));
  return positions = position;
}

/// The value of `use`, which has the same rows for every sequence, with that of
/// the position in the document for each position.
FailureOr<Value> Separator::restart(OpOperand &use, TensorRuns runs) {
  Operation *op = use.getOwner();
  Value table = use.get();
  auto refuse = [&](StringRef why) {
    return op->emitOpError("cannot keep documents apart: operand #")
           << use.getOperandNumber() << " has a row for each position, " << why;
  };
  if (!isa<FloatType>(typeOf(table).getElementType()))
    return refuse("of integers, expected numbers");
  if (!isForEachSequence(runs, typeOf(tokens).getDimSize(0)))
    return refuse("expected sequences along its first dimension");
  RankedTensorType full = typeOf(table);
  // Rows that are repeated for every sequence are taken before that.
  if (auto broadcast = table.getDefiningOp<BroadcastOp>()) {
    bool isForSequences = true;
    for (auto [dim, dimRuns] : llvm::enumerate(runs))
      if (!llvm::is_contained(broadcast.getDims(), int64_t(dim)))
        isForSequences &= llvm::all_of(
            dimRuns, [](Run run) { return run.axis == Axis::Batch; });
    if (isForSequences) {
      table = broadcast.getOperand();
      TensorRuns inner;
      for (int64_t dim : broadcast.getDims())
        inner.push_back(runs[dim]);
      runs.swap(inner);
    }
  }
  // A dimension per run: rows of a table first.
  int64_t batch = typeOf(tokens).getDimSize(0),
          length = typeOf(tokens).getDimSize(1), width = 1;
  SmallVector<int64_t> split, one, toRows, rest;
  std::optional<int64_t> position;
  for (const DimRuns &dim : runs)
    for (Run run : dim) {
      if (run.axis == Axis::Position)
        position = split.size();
      split.push_back(run.size);
      one.push_back(run.axis == Axis::Batch ? 1 : run.size);
    }
  if (!position || split[*position] != length)
    return refuse("of fewer positions than the tokens have");
  if (variesAlong(Axis::Batch, table, runs))
    return refuse("and for each sequence, expected the same for all");
  b.setLoc(op->getLoc());
  b.setInsertionPoint(op);
  Type element = full.getElementType();
  auto typeOfShape = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, element);
  };
  Value rows = b.createOrFold<ReshapeOp>(typeOfShape(split), table);
  if (split != one)
    rows = b.create<SliceOp>(typeOfShape(one), rows,
                             SmallVector<int64_t>(split.size(), 0), one,
                             SmallVector<int64_t>(split.size(), 1));
  toRows.push_back(*position);
  for (int64_t dim = 0; dim != int64_t(split.size()); ++dim)
    if (dim != *position) {
      toRows.push_back(dim);
      rest.push_back(one[dim]);
      width *= one[dim];
    }
  rows = b.createOrFold<TransposeOp>(rows, toRows);
  rows = b.createOrFold<ReshapeOp>(typeOfShape({length, width}), rows);
  Value taken = b.create<EmbeddingOp>(typeOfShape({batch, length, width}), rows,
                                      positionsInDocuments());
  // [batch, position, rest] to the order of `full`: the position goes back
  // behind what stood before it.
  SmallVector<int64_t> shape = {batch, length}, order = {0};
  llvm::append_range(shape, rest);
  taken = b.createOrFold<ReshapeOp>(typeOfShape(shape), taken);
  for (int64_t dim = 0; dim != int64_t(split.size()); ++dim)
    order.push_back(dim < *position ? dim + 2 : dim == *position ? 1 : dim + 1);
  taken = b.createOrFold<TransposeOp>(taken, order);
  return b.createOrFold<ReshapeOp>(full, taken);
}

/// Reads tables of `op` by the position in the document.
LogicalResult Separator::restart(Operation *op,
                                 const PositionAnalysis &analysis) {
  // Both depend on distances of positions only.
  if (isa<AttentionOp, RopeOp>(op))
    return success();
  DimensionMapping mapping = cast<HoneOpInterface>(op).getDimensionMapping();
  FactorRuns factors = analysis.factorsOf(op, mapping);
  for (OpOperand &use : op->getOpOperands()) {
    if (analysis.find(use.get()))
      continue;
    std::optional<TensorRuns> runs = runsOfTensor(
        use.get(), mapping.operands[use.getOperandNumber()], factors);
    if (!runs)
      return op->emitOpError("cannot keep documents apart: operand #")
             << use.getOperandNumber()
             << " has a part of the positions of the tokens";
    if (!variesAlong(Axis::Position, use.get(), *runs))
      continue;
    FailureOr<Value> restarted = restart(use, *runs);
    if (failed(restarted))
      return failure();
    use.set(*restarted);
  }
  return success();
}

LogicalResult Separator::run() {
  if (failed(checkEnd()) || failed(analyse()))
    return failure();
  SmallVector<AttentionOp> attentions(func.front().getOps<AttentionOp>());
  if (attentions.empty())
    return func.emitError("has no attention, expected some that is causal, "
                          "where documents are kept apart");
  for (AttentionOp op : attentions)
    if (failed(checkAttention(op)))
      return failure();
  numberDocuments();
  llvm::DenseSet<Operation *> seen;
  for (const PositionAnalysis &analysis : analyses)
    for (Operation *op : analysis.ops())
      if (llvm::any_of(op->getOperands(),
                       [&](Value value) { return analysis.find(value); }) &&
          seen.insert(op).second && failed(restart(op, analysis)))
        return failure();
  for (AttentionOp op : attentions) {
    SmallVector<Value> masks(op.getMasks());
    masks.push_back(segments);
    op.getMasksMutable().assign(masks);
  }
  return success();
}

namespace {
struct SeparateDocuments
    : hone::impl::SeparateDocumentsBase<SeparateDocuments> {
  using Base::Base;

  void runOnOperation() override {
    auto func = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!func) {
      getOperation().emitError("has no function @forward");
      return signalPassFailure();
    }
    FailureOr<BlockArgument> tokens = findTokenInput(func);
    if (failed(tokens) || failed(Separator(func, *tokens, end).run()))
      signalPassFailure();
  }
};
} // namespace
