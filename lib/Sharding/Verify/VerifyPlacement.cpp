//===- VerifyPlacement.cpp - Placements along the axes --------------------===//

#include "PlacementRules.h"
#include "hone/Sharding/IR/RingOps.h"
#include "hone/Sharding/Passes.h"

namespace hone {
#define GEN_PASS_DEF_DISTVERIFY
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
class PlacementVerifier {
public:
  PlacementVerifier(func::FuncOp func, const Mesh &mesh)
      : func(func), mesh(mesh) {}

  LogicalResult run();

private:
  LogicalResult visit(Operation *op);
  LogicalResult compute(Operation *op);
  template <typename RingOp>
  LogicalResult checkRing(RingOp op, const PlacedOp &local);
  LogicalResult applyChange(Operation *op, ArrayAttr axes,
                            const OptionalPlacement &expected,
                            const OptionalPlacement &made);
  LogicalResult changeValue(Operation *op, ArrayAttr axes,
                            const OptionalPlacement &expected,
                            const OptionalPlacement &made, ValuePlacement &own);
  bool areShardsOfEqual(const Placement &shards, unsigned dim) const;
  LogicalResult reject(Operation *op, unsigned axis,
                       const OptionalPlacement &expected,
                       const ValuePlacement &own);
  LogicalResult rejectPartial(Operation *op, unsigned axis,
                              ArrayRef<ValuePlacement> operands);
  void join(ConcatOp op);
  bool takePiece(SliceOp op);
  LogicalResult checkResult(unsigned index, Value value);

  func::FuncOp func;
  const Mesh &mesh;
  llvm::DenseMap<Value, ValuePlacement> held;
  /// Of concatenations, and of collectives of them.
  llvm::DenseMap<Value, Pieces> pieces;
};
} // namespace

//===----------------------------------------------------------------------===//
// Ops on a rank
//===----------------------------------------------------------------------===//

LogicalResult
PlacementVerifier::rejectPartial(Operation *op, unsigned axis,
                                 ArrayRef<ValuePlacement> operands) {
  const Placement *partial = nullptr;
  for (const ValuePlacement &operand : operands)
    if (const Placement *own = operand.along(axis);
        own && !partial && own->kind == Placement::Partial)
      partial = own;
  InFlightDiagnostic diag = op->emitOpError()
                            << "takes " << describe(*partial) << " over axis \""
                            << mesh[axis].name << "\" as if they were the "
                            << nounOf(partial->combiner) << ": expected a "
                            << nounOf(partial->combiner)
                            << " over that axis before";
  diag.attachNote(partial->begin->getLoc()) << "ranks begin to differ here";
  return diag;
}

/// Positions of attention in a ring are divided along its axes, and along no
/// others.
template <typename RingOp>
LogicalResult PlacementVerifier::checkRing(RingOp op, const PlacedOp &local) {
  Axes ring = axesOf(op.getAxes(), mesh);
  for (auto [index, own] : llvm::enumerate(local.operands)) {
    const TensorFactors &dims = local.rule.factorsOf(index);
    unsigned positions = llvm::find_if(dims,
                                       [&](const auto &factors) {
                                         return llvm::is_contained(
                                             factors, int(op.positionFactor));
                                       }) -
                         dims.begin();
    Placement sharded = {Placement::Sharded, {positions}, op};
    for (unsigned axis = 0; axis != mesh.numAxes(); ++axis) {
      const Placement *found = own.along(axis);
      bool isOfRing = llvm::is_contained(ring, axis);
      if (isOfRing && !mayBe(own, axis, sharded))
        return reject(op, axis, sharded, own);
      if (!isOfRing && found && found->kind == Placement::Sharded &&
          found->dims.size() == 1 && found->dims.contains(positions))
        return reject(op, axis, std::nullopt, own);
    }
  }
  return success();
}

LogicalResult PlacementVerifier::compute(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  PlacedOp local = {op, *rule, {}};
  for (Value operand : op->getOperands())
    local.operands.push_back(held.lookup(operand));
  if (auto ring = dyn_cast<RingAttentionOp>(op))
    if (failed(checkRing(ring, local)))
      return failure();
  if (auto ring = dyn_cast<RingAttentionBwdOp>(op))
    if (failed(checkRing(ring, local)))
      return failure();
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    held[result] = {{},
                    repeatedDims(local, index),
                    partialAxes(local, mesh),
                    rule->combiner()};
  for (unsigned axis = 0; axis != mesh.numAxes(); ++axis) {
    if (llvm::none_of(local.operands, [&](const ValuePlacement &operand) {
          return operand.along(axis);
        }))
      continue;
    auto found = placementsOf(local, axis);
    if (failed(found))
      return rejectPartial(op, axis, local.operands);
    for (auto [result, own] : llvm::zip_equal(op->getResults(), *found))
      held[result].placements.insert({axis, own});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops between ranks
//===----------------------------------------------------------------------===//

/// Reports the operand's placement along `axis`, and another axis that has the
/// expected one.
LogicalResult PlacementVerifier::reject(Operation *op, unsigned axis,
                                        const OptionalPlacement &expected,
                                        const ValuePlacement &own) {
  const Placement *found = own.along(axis);
  InFlightDiagnostic diag = op->emitOpError();
  diag << "takes " << (found ? describe(*found) : "replicas")
       << " along axis \"" << mesh[axis].name << "\"";
  diag << ", expected " << (expected ? describe(*expected) : "replicas");
  for (auto &[other, there] : own.placements)
    if (expected && there.kind != Placement::RankLocal &&
        mayBe(own, other, expected)) {
      diag << ", as along axis \"" << mesh[other].name << "\"";
      break;
    }
  if (found)
    diag.attachNote(found->begin->getLoc()) << "ranks begin to differ here";
  return diag;
}

/// Whether the shards were cut from a tensor whose elements along `dim` may be
/// equal: then side by side they are equal again.
bool PlacementVerifier::areShardsOfEqual(const Placement &shards,
                                         unsigned dim) const {
  auto shard = dyn_cast_or_null<dist::ShardOp>(shards.begin);
  return shard && held.lookup(shard.getOperand()).isRepeated(dim);
}

/// Checks that `own` is `expected` along `axes`, and makes it `made` there.
LogicalResult PlacementVerifier::changeValue(Operation *op, ArrayAttr axes,
                                             const OptionalPlacement &expected,
                                             const OptionalPlacement &made,
                                             ValuePlacement &own) {
  own.alsoPartial.resize(mesh.numAxes());
  for (unsigned axis : axesOf(axes, mesh)) {
    const Placement *found = own.along(axis);
    if (!mayBe(own, axis, expected))
      return reject(op, axis, expected, own);
    Operation *begin = found ? found->begin : op;
    if (found && expected)
      for (unsigned dim : expected->dims) // shards side by side
        if (!areShardsOfEqual(*found, dim))
          own.repeated.reset(dim);
    own.placements.erase(axis);
    own.alsoPartial.reset(axis);
    if (made)
      own.placements.insert({axis, {made->kind, made->dims, begin}});
  }
  return success();
}

static bool keepsPositions(Operation *op, unsigned dim) {
  auto placed = dyn_cast<PlacementOpInterface>(op);
  return placed && placed.keepsPositions(dim);
}

/// Changes the placement along `axes` from `expected` to `made`: of each piece
/// of a concatenation.
LogicalResult PlacementVerifier::applyChange(Operation *op, ArrayAttr axes,
                                             const OptionalPlacement &expected,
                                             const OptionalPlacement &made) {
  Value operand = op->getNumOperands() != 0 ? op->getOperand(0) : Value();
  ValuePlacement own = held.lookup(operand);
  auto joined = pieces.find(operand);
  if (joined == pieces.end() || !keepsPositions(op, joined->second.dim)) {
    if (failed(changeValue(op, axes, expected, made, own)))
      return failure();
    held[op->getResult(0)] = std::move(own);
    return success();
  }
  Pieces changed = joined->second;
  for (Pieces::Piece &piece : changed.all)
    if (failed(changeValue(op, axes, expected, made, piece.held)))
      return failure();
  own.alsoPartial.resize(mesh.numAxes());
  own.repeated.reset();
  for (unsigned axis : axesOf(axes, mesh)) { // all pieces are alike there
    own.placements.erase(axis);
    own.alsoPartial.reset(axis);
    if (made)
      own.placements.insert({axis, {made->kind, made->dims, op}});
  }
  held[op->getResult(0)] = std::move(own);
  pieces[op->getResult(0)] = std::move(changed);
  return success();
}

void PlacementVerifier::join(ConcatOp op) {
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
bool PlacementVerifier::takePiece(SliceOp op) {
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
      ValuePlacement own = piece.held;
      held[op.getResult()] = std::move(own);
      return true;
    }
  return false;
}

/// Whether ranks add floats, in the order and with the roundings of the mesh.
static bool sumsOverRanks(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && collective.getCombiner() == ReduceKind::sum &&
         isa<FloatType>(getElementTypeOrSelf(op->getResult(0)));
}

static OptionalPlacement placementOf(const AxisPlacement &placement) {
  switch (placement.kind) {
  case AxisPlacement::Replicated:
    return std::nullopt;
  case AxisPlacement::Partial:
    return partialBy(placement.combiner);
  case AxisPlacement::Sharded:
    return shardedOn(placement.dim);
  case AxisPlacement::RankLocal:
    return Placement{Placement::RankLocal, {}, nullptr};
  }
  llvm_unreachable("unknown placement");
}

LogicalResult PlacementVerifier::visit(Operation *op) {
  if (auto slice = dyn_cast<SliceOp>(op); slice && takePiece(slice))
    return success();
  if (auto concat = dyn_cast<ConcatOp>(op))
    join(concat);
  if (!isa<PlacementOpInterface>(op))
    return compute(op);
  if (isMeshInvariant(func) && sumsOverRanks(op))
    return op->emitOpError(
        "sums over ranks, expected none in a mesh-invariant module");
  auto placed = dyn_cast<PlacementOpInterface>(op);
  std::optional<PlacementChange> change;
  if (placed)
    change = placed.getPlacementChange();
  if (!change)
    return applyChange(op, ArrayAttr::get(op->getContext(), {}), {}, {});
  return applyChange(op, change->axes, placementOf(change->consumed),
                     placementOf(change->produced));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult PlacementVerifier::checkResult(unsigned index, Value value) {
  Placements allowed = placementsOf(
      func.getResultAttrOfType<ShardingAttr>(index, shardingAttr), mesh, func);
  const ValuePlacement &own = held[value];
  for (unsigned axis = 0; axis != mesh.numAxes(); ++axis) {
    auto *entry = allowed.find(axis);
    OptionalPlacement expected = entry == allowed.end()
                                     ? OptionalPlacement()
                                     : OptionalPlacement(entry->second);
    if (mayBe(own, axis, expected))
      continue;
    const Placement *found = own.along(axis);
    InFlightDiagnostic diag = func.emitError() << "result " << index;
    diag << " holds " << (found ? describe(*found) : "replicas")
         << " along axis \"" << mesh[axis].name << "\", expected "
         << (expected ? describe(*expected) : "replicas");
    if (!expected)
      diag << ": a sum or a gather over that axis";
    if (found)
      diag.attachNote(found->begin->getLoc()) << "ranks begin to differ here";
    return diag;
  }
  return success();
}

LogicalResult PlacementVerifier::run() {
  Block &block = func.getBody().front();
  for (BlockArgument arg : block.getArguments())
    held[arg].placements = placementsOf(
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
      if (!func.isExternal() && failed(PlacementVerifier(func, *mesh).run()))
        return signalPassFailure();
  }
};
} // namespace
