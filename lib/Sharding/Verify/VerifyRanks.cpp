//===- VerifyRanks.cpp - Whether ranks agree where they must --------------===//

#include "RankRules.h"
#include "hone/Sharding/Passes.h"

namespace hone {
#define GEN_PASS_DEF_DISTVERIFY
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
class RankAnalysis {
public:
  RankAnalysis(func::FuncOp func, const Mesh &mesh) : func(func), mesh(mesh) {}

  LogicalResult run();

private:
  LogicalResult visit(Operation *op);
  LogicalResult compute(Operation *op);
  LogicalResult exchange(Operation *op, ArrayAttr axes, const Agreement &wanted,
                         const Agreement &made);
  LogicalResult exchangeHeld(Operation *op, ArrayAttr axes,
                             const Agreement &wanted, const Agreement &made,
                             Held &own);
  LogicalResult refuse(Operation *op, unsigned axis, const Agreement &wanted,
                       const Held &own);
  LogicalResult refuseTerms(Operation *op, unsigned axis,
                            ArrayRef<Held> operands);
  void join(ConcatOp op);
  bool takePiece(SliceOp op);
  LogicalResult checkResult(unsigned index, Value value);

  func::FuncOp func;
  const Mesh &mesh;
  llvm::DenseMap<Value, Held> held;
  /// Of concatenations, and of what ranks exchange of them.
  llvm::DenseMap<Value, Pieces> pieces;
};
} // namespace

//===----------------------------------------------------------------------===//
// Ops on a rank
//===----------------------------------------------------------------------===//

LogicalResult RankAnalysis::refuseTerms(Operation *op, unsigned axis,
                                        ArrayRef<Held> operands) {
  const Difference *terms = nullptr;
  for (const Held &operand : operands)
    if (const Difference *own = operand.along(axis);
        own && !terms && own->kind == Difference::Terms)
      terms = own;
  InFlightDiagnostic diag =
      op->emitOpError() << "takes " << describe(*terms) << " over axis \""
                        << mesh[axis].name << "\" as if they were the "
                        << nounOf(terms->combiner) << ": expected a "
                        << nounOf(terms->combiner) << " over that axis before";
  diag.attachNote(terms->begin->getLoc()) << "ranks begin to differ here";
  return diag;
}

LogicalResult RankAnalysis::compute(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  RankOp local = {op, *rule, {}};
  for (Value operand : op->getOperands())
    local.operands.push_back(held.lookup(operand));
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    held[result] = {{},
                    repeatedDims(local, index),
                    termAxes(local, mesh),
                    rule->combiner()};
  for (unsigned axis = 0; axis != mesh.numAxes(); ++axis) {
    if (llvm::none_of(local.operands,
                      [&](const Held &operand) { return operand.along(axis); }))
      continue;
    auto found = differencesOf(local, axis);
    if (failed(found))
      return refuseTerms(op, axis, local.operands);
    for (auto [result, own] : llvm::zip_equal(op->getResults(), *found))
      held[result].differences.insert({axis, own});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops between ranks
//===----------------------------------------------------------------------===//

/// Says how the operand differs along `axis`, and where it is as it is wanted.
LogicalResult RankAnalysis::refuse(Operation *op, unsigned axis,
                                   const Agreement &wanted, const Held &own) {
  const Difference *found = own.along(axis);
  InFlightDiagnostic diag = op->emitOpError();
  diag << "takes what " << (found ? "differs" : "is the same")
       << " along axis \"" << mesh[axis].name << "\"";
  if (found)
    diag << " as " << describe(*found);
  diag << ", expected "
       << (wanted ? describe(*wanted) : "what is the same on ranks");
  for (auto &[other, there] : own.differences)
    if (wanted && there.kind != Difference::Own &&
        isPerhaps(own, other, wanted)) {
      diag << ", as along axis \"" << mesh[other].name << "\"";
      break;
    }
  if (found)
    diag.attachNote(found->begin->getLoc()) << "ranks begin to differ here";
  return diag;
}

/// `own` is what ranks hold along `axes` as `wanted`, and becomes what they
/// hold then: what is `made`.
LogicalResult RankAnalysis::exchangeHeld(Operation *op, ArrayAttr axes,
                                         const Agreement &wanted,
                                         const Agreement &made, Held &own) {
  own.terms.resize(mesh.numAxes());
  for (unsigned axis : axesOf(axes, mesh)) {
    const Difference *found = own.along(axis);
    if (!isPerhaps(own, axis, wanted))
      return refuse(op, axis, wanted, own);
    Operation *begin = found ? found->begin : op;
    if (found && wanted)
      for (unsigned dim : wanted->dims) // parts side by side
        own.repeated.reset(dim);
    own.differences.erase(axis);
    own.terms.reset(axis);
    if (made)
      own.differences.insert({axis, {made->kind, made->dims, begin}});
  }
  return success();
}

static bool keepsPositions(Operation *op, unsigned dim) {
  auto placed = dyn_cast<PlacementOpInterface>(op);
  return placed && placed.keepsPositions(dim);
}

/// Along `axes` ranks have what is `wanted`, and then what is `made`: each
/// piece of what was joined.
LogicalResult RankAnalysis::exchange(Operation *op, ArrayAttr axes,
                                     const Agreement &wanted,
                                     const Agreement &made) {
  Value operand = op->getNumOperands() != 0 ? op->getOperand(0) : Value();
  Held own = held.lookup(operand);
  auto joined = pieces.find(operand);
  if (joined == pieces.end() || !keepsPositions(op, joined->second.dim)) {
    if (failed(exchangeHeld(op, axes, wanted, made, own)))
      return failure();
    held[op->getResult(0)] = std::move(own);
    return success();
  }
  Pieces exchanged = joined->second;
  for (Pieces::Piece &piece : exchanged.all)
    if (failed(exchangeHeld(op, axes, wanted, made, piece.held)))
      return failure();
  own.terms.resize(mesh.numAxes());
  own.repeated.reset();
  for (unsigned axis : axesOf(axes, mesh)) { // all pieces are alike there
    own.differences.erase(axis);
    own.terms.reset(axis);
    if (made)
      own.differences.insert({axis, {made->kind, made->dims, op}});
  }
  held[op->getResult(0)] = std::move(own);
  pieces[op->getResult(0)] = std::move(exchanged);
  return success();
}

void RankAnalysis::join(ConcatOp op) {
  Pieces joined = {unsigned(op.getDim()), {}};
  int64_t begin = 0;
  for (Value input : op.getInputs()) {
    int64_t end =
        begin + cast<RankedTensorType>(input.getType()).getDimSize(op.getDim());
    joined.all.push_back({begin, end, held.lookup(input)});
    begin = end;
  }
  pieces[op.getResult()] = std::move(joined);
}

/// A slice that is one of the pieces.
bool RankAnalysis::takePiece(SliceOp op) {
  auto joined = pieces.find(op.getOperand());
  if (joined == pieces.end())
    return false;
  auto whole = cast<RankedTensorType>(op.getOperand().getType()).getShape();
  unsigned along = joined->second.dim;
  for (unsigned dim = 0; dim != whole.size(); ++dim)
    if (op.getStrides()[dim] != 1 ||
        (dim != along &&
         (op.getStarts()[dim] != 0 || op.getLimits()[dim] != whole[dim])))
      return false;
  for (const Pieces::Piece &piece : joined->second.all)
    if (piece.begin == op.getStarts()[along] &&
        piece.end == op.getLimits()[along]) {
      Held own = piece.held;
      held[op.getResult()] = std::move(own);
      return true;
    }
  return false;
}

/// Whether ranks add up terms, in the order and with the roundings of the mesh.
static bool sumsOverRanks(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && collective.getCombiner() == ReduceKind::sum &&
         isa<FloatType>(getElementTypeOrSelf(op->getResult(0)));
}

static Agreement agreementOf(const AxisPlacement &placement) {
  switch (placement.kind) {
  case AxisPlacement::Replicated:
    return std::nullopt;
  case AxisPlacement::Partial:
    return combinedBy(placement.combiner);
  case AxisPlacement::Sharded:
    return partsOf(placement.dim);
  case AxisPlacement::RankLocal:
    return Difference{Difference::Own, {}, nullptr};
  }
  llvm_unreachable("unknown placement");
}

LogicalResult RankAnalysis::visit(Operation *op) {
  if (auto slice = dyn_cast<SliceOp>(op); slice && takePiece(slice))
    return success();
  if (auto concat = dyn_cast<ConcatOp>(op))
    join(concat);
  if (!isa<DistDialect>(op->getDialect()))
    return compute(op);
  if (isExact(func) && sumsOverRanks(op))
    return op->emitOpError("sums over ranks, expected none in an exact module");
  auto placed = dyn_cast<PlacementOpInterface>(op);
  std::optional<PlacementChange> change;
  if (placed)
    change = placed.getPlacementChange();
  if (!change)
    return exchange(op, ArrayAttr::get(op->getContext(), {}), {}, {});
  return exchange(op, change->axes, agreementOf(change->consumed),
                  agreementOf(change->produced));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult RankAnalysis::checkResult(unsigned index, Value value) {
  Differences allowed = differencesOf(
      func.getResultAttrOfType<ShardingAttr>(index, shardingAttr), mesh, func);
  const Held &own = held[value];
  for (unsigned axis = 0; axis != mesh.numAxes(); ++axis) {
    auto entry = allowed.find(axis);
    Agreement wanted =
        entry == allowed.end() ? Agreement() : Agreement(entry->second);
    if (isPerhaps(own, axis, wanted))
      continue;
    const Difference *found = own.along(axis);
    InFlightDiagnostic diag = func.emitError() << "result " << index;
    diag << (found ? " differs between ranks" : " is the same on ranks")
         << " along axis \"" << mesh[axis].name << "\"";
    if (!wanted)
      diag << ", which does not divide it: expected a sum or a gather over "
              "that axis";
    else if (found)
      diag << " as " << describe(*found) << ", expected " << describe(*wanted);
    else
      diag << ", expected " << describe(*wanted);
    if (found)
      diag.attachNote(found->begin->getLoc()) << "ranks begin to differ here";
    return diag;
  }
  return success();
}

LogicalResult RankAnalysis::run() {
  Block &block = func.getBody().front();
  for (BlockArgument arg : block.getArguments())
    held[arg].differences = differencesOf(
        func.getArgAttrOfType<ShardingAttr>(arg.getArgNumber(), shardingAttr),
        mesh, func);
  for (Operation &op : block.without_terminator())
    if (failed(visit(&op)))
      return failure();
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands()))
    if (failed(checkResult(index, value)))
      return failure();
  return success();
}

namespace {
struct DistVerify : hone::impl::DistVerifyBase<DistVerify> {
  void runOnOperation() override {
    FailureOr<Mesh> mesh = Mesh::of(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(RankAnalysis(func, *mesh).run()))
        return signalPassFailure();
  }
};
} // namespace
