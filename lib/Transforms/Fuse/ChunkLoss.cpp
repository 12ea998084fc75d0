//===- ChunkLoss.cpp - Head and loss by chunks of rows --------------------===//
//
// Applies the decision of Analysis/LossChunks.h. The chunks are written one
// after the other, right before the contraction of the logits, each from its
// own slice of the rows; what the rows share (the number of targets, the weight
// of the gradient) comes first.
//
//===----------------------------------------------------------------------===//

#include "hone/Analysis/Fusion/Groups.h"
#include "hone/Analysis/Fusion/LossChunks.h"
#include "hone/Transforms/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace hone {
#define GEN_PASS_DEF_CHUNKLOSS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// `sizes` in front of `rest`.
static SmallVector<int64_t> shapeFrom(int64_t rows, ArrayRef<int64_t> rest) {
  SmallVector<int64_t> shape = {rows};
  llvm::append_range(shape, rest);
  return shape;
}

namespace {
/// Rewrites one head.
class Chunker {
public:
  Chunker(LossHead whole, int64_t chunkRows)
      : head(std::move(whole)), rows(head.rows()), chunkRows(chunkRows),
        b(head.loss.getLoc(), head.product) {}
  void run();

private:
  void hoistOperands();
  Value flatten(Value value, int64_t leading);
  Value rowsOf(Value value, int64_t leading);
  Value partOf(Value value);
  Value wholeOf(Operation *op, int64_t leading, ArrayRef<Value> parts);
  Value countTargets();
  void emitChunk();
  void emitMap(Operation *op);
  Operation *cloneFor(Operation *op, ArrayRef<Value> operands);
  Value emitRowProduct(DotGeneralOp dot, Value left, int64_t leading);
  Value emitWeightSum(DotGeneralOp dot);
  Value accumulate(Operation *sum, Value part);
  void replaceResults();

  LossHead head;
  int64_t rows, chunkRows;
  ImplicitLocOpBuilder b;
  Value lossCount;             ///< rank 0, where the loss is a mean
  Value cotangent;             ///< rank 0, of the sum of the rows' losses
  int64_t start = 0, size = 0; ///< rows of the chunk that is written
  IRMapping parts;             ///< of values [rows..., vocab] in that chunk
  SmallVector<Value> losses;
  llvm::SmallDenseMap<Operation *, SmallVector<Value>> rowParts;
  llvm::MapVector<Operation *, Value> sums;
};
} // namespace

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// What the head reads is computed before it.
void Chunker::hoistOperands() {
  llvm::SetVector<Operation *> late;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) {
    return op->getBlock() == head.product->getBlock() &&
           head.product->isBeforeInBlock(op);
  };
  for (Value operand : head.operands())
    if (Operation *producer = operand.getDefiningOp())
      if (options.filter(producer))
        getBackwardSlice(producer, &late, options);
  SmallVector<Operation *> order = late.takeVector();
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : order)
    op->moveBefore(head.product);
}

/// `value` with its `leading` dimensions, which are the rows, as one.
Value Chunker::flatten(Value value, int64_t leading) {
  RankedTensorType type = typeOf(value);
  if (leading == 1)
    return value;
  return b.create<ReshapeOp>(
      type.clone(shapeFrom(rows, type.getShape().drop_front(leading))), value);
}

/// The chunk's rows of a value with `leading` dimensions of rows.
Value Chunker::rowsOf(Value value, int64_t leading) {
  Value flat = flatten(value, leading);
  ArrayRef<int64_t> shape = typeOf(flat).getShape();
  SmallVector<int64_t> starts(shape.size(), 0), limits(shape),
      steps(shape.size(), 1);
  starts[0] = start;
  limits[0] = start + size;
  return b.create<SliceOp>(
      typeOf(flat).clone(shapeFrom(size, shape.drop_front())), flat, starts,
      limits, steps);
}

/// The chunk's part of a value [rows..., vocab]. What costs nothing to make is
/// recomputed.
Value Chunker::partOf(Value value) {
  if (Value known = parts.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  RankedTensorType type = typeOf(value),
                   partType = type.clone({size, type.getShape().back()});
  int64_t last = type.getRank() - 1;
  Value part;
  auto constant = dyn_cast_if_present<ConstantOp>(op);
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  auto iota = dyn_cast_if_present<IotaOp>(op);
  auto broadcast = dyn_cast_if_present<BroadcastOp>(op);
  if (splat) {
    part = b.create<ConstantOp>(splat.resizeSplat(partType));
  } else if (iota && int64_t(iota.getDim()) == last) {
    part = b.create<IotaOp>(partType, uint64_t(1));
  } else if (broadcast && (broadcast.getDims().empty() ||
                           broadcast.getDims() == ArrayRef<int64_t>(last))) {
    ArrayRef<int64_t> dims = broadcast.getDims();
    part = b.create<BroadcastOp>(partType, broadcast.getOperand(),
                                 dims.empty() ? dims : ArrayRef<int64_t>(1));
  } else if (op && op->hasTrait<OpTrait::Elementwise>() && isFreeValue(op)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(partOf(operand));
    Operation *copy = cloneFor(op, operands);
    copy->getResult(0).setType(partType);
    part = copy->getResult(0);
  } else {
    part = rowsOf(value, last);
  }
  parts.map(value, part);
  return part;
}

/// The result of `op`, whose `leading` dimensions are the rows, from its parts.
Value Chunker::wholeOf(Operation *op, int64_t leading, ArrayRef<Value> all) {
  RankedTensorType type = typeOf(op->getResult(0));
  Value whole = b.create<ConcatOp>(
      type.clone(shapeFrom(rows, type.getShape().drop_front(leading))), all, 0);
  return leading == 1 ? whole : Value(b.create<ReshapeOp>(type, whole));
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

/// A copy of `op` that reads `operands`; the caller sets what differs.
Operation *Chunker::cloneFor(Operation *op, ArrayRef<Value> operands) {
  Operation *copy = b.insert(op->clone());
  copy->setOperands(operands);
  return copy;
}

/// How many targets are not ignored, in the loss's type.
Value Chunker::countTargets() {
  CrossEntropyOp loss = head.loss;
  Type element = typeOf(loss.getLoss()).getElementType();
  auto scalar = RankedTensorType::get({}, element);
  RankedTensorType targets = typeOf(loss.getTargets());
  unsigned width = targets.getElementTypeBitWidth();
  if (!llvm::isIntN(width, loss.getIgnoreIndex())) // no target can be ignored
    return b.create<ConstantOp>(
        SplatElementsAttr::get(scalar, b.getFloatAttr(element, double(rows))));
  auto ignored = SplatElementsAttr::get(
      targets, APInt(width, loss.getIgnoreIndex(), /*isSigned=*/true));
  Value valid =
      b.create<CmpOp>(targets.clone(b.getI1Type()), CmpPredicate::ne,
                      loss.getTargets(), b.create<ConstantOp>(ignored));
  Value ones = b.create<CastOp>(targets.clone(element), valid);
  return b.create<ReduceOp>(
      ReduceKind::sum, ones,
      llvm::to_vector(llvm::seq<int64_t>(0, targets.getRank())));
}

/// A product that keeps the rows of `left` first, for the chunk's rows of it.
Value Chunker::emitRowProduct(DotGeneralOp dot, Value left, int64_t leading) {
  SmallVector<int64_t> contract;
  for (int64_t dim : dot.getLhsContract())
    contract.push_back(dim - leading + 1);
  RankedTensorType type = typeOf(dot);
  auto part = cast<DotGeneralOp>(cloneFor(dot, {left, dot.getRhs()}));
  part.setLhsContract(contract);
  part.getResult().setType(
      type.clone(shapeFrom(size, type.getShape().drop_front(leading))));
  return part.getResult();
}

/// The chunk's contribution to a contraction over the rows.
Value Chunker::emitWeightSum(DotGeneralOp dot) {
  int64_t leading = dot.getLhsContract().size();
  auto side = [&](Value value) {
    Value part = parts.lookupOrNull(value);
    return part ? part : rowsOf(value, leading);
  };
  auto part = cast<DotGeneralOp>(
      cloneFor(dot, {side(dot.getLhs()), side(dot.getRhs())}));
  part.setLhsContract({0});
  part.setRhsContract({0});
  part.getResult().setType(chunkSumType(typeOf(dot)));
  return part.getResult();
}

/// Adds `part` to what the chunks before have given `sum`.
Value Chunker::accumulate(Operation *sum, Value part) {
  Value &total = sums[sum];
  total = total ? Value(b.create<AddOp>(part, total)) : part;
  return total;
}

void Chunker::emitMap(Operation *op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(partOf(operand));
  if (isa<ReshapeOp>(op)) { // every part is [rows, vocab]
    parts.map(op->getResult(0), operands.front());
    return;
  }
  Operation *copy = cloneFor(op, operands);
  RankedTensorType type = typeOf(op->getResult(0));
  copy->getResult(0).setType(type.clone({size, type.getShape().back()}));
  parts.map(op->getResult(0), copy->getResult(0));
}

void Chunker::emitChunk() {
  parts.clear();
  CrossEntropyOp loss = head.loss;
  CrossEntropyBwdOp gradient = head.gradient;
  DotGeneralOp product = head.product;
  int64_t leading = product.getLhsFree().size();
  parts.map(
      product.getResult(),
      emitRowProduct(product, rowsOf(product.getLhs(), leading), leading));
  auto isForward = [&](Operation *op) { return op->isBeforeInBlock(loss); };
  for (Operation *op : llvm::make_filter_range(head.maps, isForward))
    emitMap(op);
  Value logits = partOf(loss.getLogits());
  Value targets =
      rowsOf(loss.getTargets(), typeOf(loss.getTargets()).getRank());
  auto lossPart = cast<CrossEntropyOp>(cloneFor(loss, {logits, targets}));
  lossPart.setReduction(LossReduction::none);
  for (Value result : lossPart->getResults())
    result.setType(typeOf(result).clone({size}));
  losses.push_back(lossPart.getLoss());
  if (!gradient)
    return;
  auto gradientPart = cast<CrossEntropyBwdOp>(
      cloneFor(gradient, {cotangent, logits, targets, lossPart.getLse()}));
  gradientPart.setReduction(LossReduction::sum);
  gradientPart.getResult().setType(typeOf(logits));
  parts.map(gradient.getResult(), gradientPart.getResult());
  for (Operation *op : head.maps)
    if (!isForward(op))
      emitMap(op);
  for (DotGeneralOp dot : head.rowProducts)
    rowParts[dot].push_back(emitRowProduct(dot, parts.lookup(dot.getLhs()),
                                           typeOf(dot.getLhs()).getRank() - 1));
  for (DotGeneralOp dot : head.weightSums)
    accumulate(dot, emitWeightSum(dot));
  for (ReduceOp reduce : head.biasSums) {
    Value part = parts.lookup(reduce.getOperand());
    if (RankedTensorType type = chunkSumType(typeOf(part));
        type != part.getType())
      part = b.create<CastOp>(type, part);
    accumulate(reduce,
               b.create<ReduceOp>(ReduceKind::sum, part, ArrayRef<int64_t>(0)));
  }
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void Chunker::replaceResults() {
  CrossEntropyOp loss = head.loss;
  auto perRow =
      RankedTensorType::get({rows}, typeOf(loss.getLoss()).getElementType());
  Value total = b.create<ConcatOp>(perRow, losses, 0);
  total = b.create<ReduceOp>(ReduceKind::sum, total, ArrayRef<int64_t>(0));
  if (lossCount)
    total = b.create<DivOp>(total, lossCount);
  loss.getLoss().replaceAllUsesWith(total);
  for (DotGeneralOp dot : head.rowProducts)
    dot.replaceAllUsesWith(
        wholeOf(dot, typeOf(dot.getLhs()).getRank() - 1, rowParts[dot]));
  for (auto [sum, total] : sums) {
    Value result = sum->getResult(0), value = total;
    if (value.getType() != result.getType())
      value = b.create<CastOp>(result.getType(), value);
    result.replaceAllUsesWith(value);
  }
  SmallVector<Operation *> old = head.ops();
  llvm::sort(old,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *op : old)
    op->erase();
}

void Chunker::run() {
  hoistOperands();
  bool isMean = head.loss.getReduction() == LossReduction::mean;
  if (isMean)
    lossCount = countTargets();
  if (head.gradient) {
    cotangent = head.gradient.getGrad();
    if (isMean)
      cotangent = b.create<DivOp>(cotangent, lossCount);
  }
  // Gradients so far: the first chunk adds to them, so that all are in place.
  for (DotGeneralOp dot : head.weightSums) {
    auto [add, argument] = gradientSoFar(dot.getResult());
    if (!add || chunkSumType(typeOf(argument)) != argument.getType())
      continue;
    sums[dot] = argument;
    add.replaceAllUsesWith(add.getLhs() == argument ? add.getRhs()
                                                    : add.getLhs());
    add->erase();
  }
  for (; start < rows; start += size) {
    size = std::min(chunkRows, rows - start);
    emitChunk();
  }
  replaceResults();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ChunkLoss : hone::impl::ChunkLossBase<ChunkLoss> {
  using ChunkLossBase::ChunkLossBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (chunk == "auto" || chunk == "off" ||
        (!StringRef(chunk).getAsInteger(10, fixedRows) && fixedRows > 0))
      return success();
    return emitError(UnknownLoc::get(context))
           << "chunk is '" << chunk << "', expected auto, off or rows > 0";
  }

  void runOnOperation() override {
    if (chunk == "off")
      return;
    FailureOr<TargetDescription> target =
        getTarget(getOperation()->getParentOfType<ModuleOp>());
    if (failed(target))
      return signalPassFailure();
    SmallVector<CrossEntropyOp> losses(
        getOperation().getBody().front().getOps<CrossEntropyOp>());
    for (CrossEntropyOp loss : losses)
      visit(loss, *target);
  }

  void visit(CrossEntropyOp loss, const TargetDescription &target) {
    std::string reason;
    FailureOr<LossHead> head = findLossHead(loss, reason);
    if (failed(head))
      return explain(loss.getLoc(), "the loss stays whole: " + reason);
    if (isMeshInvariant(loss))
      return explain(loss.getLoc(), "the loss stays whole: chunks of a rank's "
                                    "rows would add in another order");
    int64_t rows = head->rows();
    int64_t chunkRows = fixedRows ? fixedRows : rowsPerLossChunk(*head, target);
    if (chunkRows >= rows)
      return explain(loss.getLoc(),
                     "the loss stays whole: one chunk holds its " +
                         Twine(rows) + " rows");
    if (!fixedRows && !chunksSaveMemory(*head, chunkRows))
      return explain(loss.getLoc(),
                     "the loss stays whole: chunks of " + Twine(chunkRows) +
                         " of its " + Twine(rows) +
                         " rows would take more memory, for sums in f32 of "
                         "gradients that are narrower");
    explain(loss.getLoc(), "the loss is computed in " +
                               Twine(llvm::divideCeil(rows, chunkRows)) +
                               " chunks of " + Twine(chunkRows) + " of its " +
                               Twine(rows) + " rows");
    Chunker(*head, chunkRows).run();
  }

  void explain(Location loc, const Twine &text) {
    if (report)
      emitRemark(loc) << text;
  }

  int64_t fixedRows = 0;
};
} // namespace
