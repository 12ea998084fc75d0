//===- CollectiveOps.cpp - Ops between ranks ------------------------------===//
//
// Verifiers of the ops of local functions, and what they answer through
// PlacementOpInterface and CollectiveOpInterface.
//
//===----------------------------------------------------------------------===//

#include "MeshOf.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

using Change = std::optional<PlacementChange>;

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

/// What is combined in place needs no second buffer; parts have other sizes.
SmallVector<AliasPair> AllReduceOp::getReusableOperands() { return {{0, 0}}; }
SmallVector<AliasPair> AllGatherOp::getReusableOperands() { return {}; }
SmallVector<AliasPair> ReduceScatterOp::getReusableOperands() { return {}; }
SmallVector<AliasPair> AllToAllOp::getReusableOperands() { return {}; }
SmallVector<AliasPair> ShiftOp::getReusableOperands() { return {}; }
SmallVector<AliasPair> ShardOp::getReusableOperands() { return {}; }
SmallVector<AliasPair> WaitOp::getReusableOperands() { return {{0, 0}}; }
SmallVector<AliasPair> TurnOp::getReusableOperands() { return {}; }
SmallVector<AliasPair> StageSumOp::getReusableOperands() { return {{0, 0}}; }
SmallVector<AliasPair> CoordinateOp::getReusableOperands() { return {}; }

//===----------------------------------------------------------------------===//
// Shapes of parts
//===----------------------------------------------------------------------===//

FailureOr<Axes> dist::verifyAxes(Operation *op, ArrayAttr names,
                                 const Mesh &mesh) {
  Axes axes;
  for (auto name : names.getAsRange<StringAttr>()) {
    std::optional<unsigned> axis = mesh.find(name.getValue());
    if (!axis)
      return op->emitOpError()
             << "names axis " << name << ", expected one of the mesh";
    if (llvm::is_contained(axes, *axis))
      return op->emitOpError()
             << "names axis " << name << " twice, expected once";
    axes.push_back(*axis);
  }
  return axes;
}

/// Checks that dimension `dim` of a tensor is unsharded in `type` and sharded
/// along `names` in `part`; fills in that dimension of `expected`, the shape
/// `part` should have.
static LogicalResult verifyDivided(Operation *op, int64_t dim, ArrayAttr names,
                                   ArrayRef<int64_t> cuts, bool isSnake,
                                   int64_t size, const Mesh &mesh,
                                   int64_t &partSize) {
  FailureOr<Axes> axes = verifyAxes(op, names, mesh);
  if (failed(axes))
    return failure();
  if (isSnake && cuts.empty())
    return op->emitOpError("is a snake without cuts, expected segments that "
                           "take turns");
  int64_t last = 0;
  for (int64_t cut : cuts) {
    if (cut <= last || cut >= size)
      return op->emitOpError()
             << "has a cut at " << cut
             << ", expected ascending positions inside [1, " << size << ")";
    last = cut;
  }
  DimShards shards = {*axes, {cuts.begin(), cuts.end()}};
  if (!dividesEvenly(shards, size, mesh))
    return op->emitOpError()
           << "dimension " << dim << " of size " << size
           << (cuts.empty() ? "" : " has segments that")
           << " cannot be divided into " << mesh.count(*axes) << " equal parts";
  partSize = size / mesh.count(*axes);
  return success();
}

static LogicalResult verifyDim(Operation *op, int64_t dim, int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError() << "has dimension " << dim
                           << ", expected one of [0, " << rank << ")";
}

/// Checks that `part` is `whole` with dimension `dim` sharded.
static LogicalResult verifyPart(Operation *op, RankedTensorType whole,
                                RankedTensorType part, int64_t dim,
                                ArrayAttr axes, ArrayRef<int64_t> cuts,
                                bool isSnake) {
  FailureOr<Mesh> mesh = meshOf(op);
  if (failed(mesh) || failed(verifyDim(op, dim, whole.getRank())))
    return failure();
  SmallVector<int64_t> expected(whole.getShape());
  if (failed(verifyDivided(op, dim, axes, cuts, isSnake, whole.getDimSize(dim),
                           *mesh, expected[dim])))
    return failure();
  if (part.getShape() == ArrayRef(expected))
    return success();
  return op->emitOpError() << "has parts of type " << part << ", expected "
                           << whole.clone(expected);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Checks that nothing but dist.wait reads what is not there yet. What ends the
/// block of a group hands it on.
static LogicalResult verifyReaders(CollectiveOpInterface op) {
  if (!op.getAsync())
    return success();
  for (Operation *user : op->getUsers())
    if (!isa<WaitOp>(user) &&
        (!user->hasTrait<OpTrait::IsTerminator>() || isa<func::ReturnOp>(user)))
      return op->emitOpError() << "is async and read by '" << user->getName()
                               << "', expected 'dist.wait'";
  return success();
}

LogicalResult CoordinateOp::verify() {
  FailureOr<Mesh> mesh = meshOf(*this);
  return failure(failed(mesh) || failed(verifyAxes(*this, getAxes(), *mesh)));
}

LogicalResult AllReduceOp::verify() {
  FailureOr<Mesh> mesh = meshOf(*this);
  return failure(failed(mesh) || failed(verifyAxes(*this, getAxes(), *mesh)) ||
                 failed(verifyReaders(*this)));
}

LogicalResult ShiftOp::verify() {
  FailureOr<Mesh> mesh = meshOf(*this);
  if (failed(mesh))
    return failure();
  FailureOr<Axes> axes = verifyAxes(*this, getAxes(), *mesh);
  if (failed(axes))
    return failure();
  int64_t ranks = mesh->count(*axes);
  if (int64_t(getAmount()) < 1 || int64_t(getAmount()) >= ranks) // shift_c2
    return emitOpError() << "shifts by " << getAmount()
                         << ", expected a number in [1, " << ranks << ")";
  return verifyReaders(*this);
}

LogicalResult WaitOp::verify() {
  // Of a group, or of an operand of one, the collective is not in sight.
  Operation *begin = getOperand().getDefiningOp();
  if (begin && !isa<FusedOp>(begin) && !isAsync(begin))
    return emitOpError() << "waits for '" << begin->getName()
                         << "', expected an async collective"; // wait_c1
  return success();
}

LogicalResult TurnOp::verify() { return success(); }
LogicalResult StageSumOp::verify() { return success(); }

LogicalResult AllGatherOp::verify() {
  if (failed(verifyReaders(*this)))
    return failure();
  return verifyPart(*this, cast<RankedTensorType>(getType()),
                    cast<RankedTensorType>(getOperand().getType()), getDim(),
                    getAxes(), getCuts(), getSnake());
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyReaders(*this)))
    return failure();
  return verifyPart(*this, cast<RankedTensorType>(getOperand().getType()),
                    cast<RankedTensorType>(getType()), getDim(), getAxes(),
                    getCuts(), getSnake());
}

LogicalResult ShardOp::verify() {
  return verifyPart(*this, cast<RankedTensorType>(getOperand().getType()),
                    cast<RankedTensorType>(getType()), getDim(), getAxes(),
                    getCuts(), getSnake());
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyReaders(*this)))
    return failure();
  auto from = cast<RankedTensorType>(getOperand().getType());
  auto to = cast<RankedTensorType>(getType());
  if (from.getRank() != to.getRank())
    return emitOpError() << "has result type " << to << ", expected rank "
                         << from.getRank();
  if (failed(verifyDim(*this, getFrom(), from.getRank())) ||
      failed(verifyDim(*this, getTo(), from.getRank())))
    return failure();
  if (getFrom() == getTo()) // all_to_all_c2
    return emitOpError() << "goes from dimension " << getFrom()
                         << " to itself, expected two dimensions";
  // The tensor with neither dimension sharded.
  SmallVector<int64_t> shape(to.getShape());
  shape[getTo()] = from.getDimSize(getTo());
  RankedTensorType whole = to.clone(shape);
  if (failed(verifyPart(*this, whole, from, getFrom(), getAxes(), getFromCuts(),
                        getFromSnake())))
    return failure();
  return verifyPart(*this, whole, to, getTo(), getAxes(), getToCuts(),
                    getToSnake());
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The type of `blocks` with `count` of them.
static RankedTensorType withBlocks(int64_t count, Value blocks) {
  SmallVector<int64_t> shape(typeOf(blocks).getShape());
  shape.front() = count;
  return typeOf(blocks).clone(shape);
}

/// Whether the shards of dimension `dim` lie one after another in `type`.
static bool isOutermost(Type type, int64_t dim, ArrayRef<int64_t> cuts) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  return cuts.empty() && llvm::all_of(shape.take_front(dim),
                                      [](int64_t size) { return size == 1; });
}

//===----------------------------------------------------------------------===//
// all_reduce
//===----------------------------------------------------------------------===//

Change AllReduceOp::getPlacementChange() {
  return PlacementChange{getAxes(), AxisPlacement::partial(getKind()),
                         AxisPlacement::replicated()};
}

bool AllReduceOp::keepsPositions(unsigned) { return true; }
std::optional<ReduceKind> AllReduceOp::getCombiner() { return getKind(); }
bool AllReduceOp::isBucketable() { return true; }

Value AllReduceOp::createOnBlocks(ImplicitLocOpBuilder &b, Value blocks,
                                  int64_t) {
  return b.create<AllReduceOp>(blocks.getType(), getKind(), blocks, getAxes());
}

//===----------------------------------------------------------------------===//
// all_gather
//===----------------------------------------------------------------------===//

Change AllGatherOp::getPlacementChange() {
  return PlacementChange{
      getAxes(), AxisPlacement::sharded(getDim(), getCuts(), getSnake()),
      AxisPlacement::replicated()};
}

bool AllGatherOp::keepsPositions(unsigned dim) { return dim != getDim(); }
bool AllGatherOp::isBucketable() { return true; }

bool AllGatherOp::isContiguous() {
  return isOutermost(getType(), getDim(), getCuts());
}

Value AllGatherOp::createOnBlocks(ImplicitLocOpBuilder &b, Value blocks,
                                  int64_t ranks) {
  return b.create<AllGatherOp>(withBlocks(ranks, blocks), blocks, 0, getAxes(),
                               ArrayRef<int64_t>(), /*snake=*/false,
                               getAgain());
}

//===----------------------------------------------------------------------===//
// reduce_scatter
//===----------------------------------------------------------------------===//

Change ReduceScatterOp::getPlacementChange() {
  return PlacementChange{
      getAxes(), AxisPlacement::partial(getKind()),
      AxisPlacement::sharded(getDim(), getCuts(), getSnake())};
}

bool ReduceScatterOp::keepsPositions(unsigned dim) { return dim != getDim(); }
std::optional<ReduceKind> ReduceScatterOp::getCombiner() { return getKind(); }
bool ReduceScatterOp::isBucketable() { return true; }

bool ReduceScatterOp::isContiguous() {
  return isOutermost(getType(), getDim(), getCuts());
}

Value ReduceScatterOp::createOnBlocks(ImplicitLocOpBuilder &b, Value blocks,
                                      int64_t) {
  return b.create<ReduceScatterOp>(withBlocks(1, blocks), getKind(), blocks, 0,
                                   getAxes(), ArrayRef<int64_t>());
}

//===----------------------------------------------------------------------===//
// all_to_all
//===----------------------------------------------------------------------===//

Change AllToAllOp::getPlacementChange() {
  return PlacementChange{
      getAxes(),
      AxisPlacement::sharded(getFrom(), getFromCuts(), getFromSnake()),
      AxisPlacement::sharded(getTo(), getToCuts(), getToSnake())};
}

bool AllToAllOp::keepsPositions(unsigned dim) {
  return dim != getFrom() && dim != getTo();
}

/// Of the dimensions up to both, only one may differ from 1 before, and the
/// other after.
bool AllToAllOp::isContiguous() {
  int64_t outer = std::max(getFrom(), getTo());
  RankedTensorType type = typeOf(getOperand());
  for (int64_t dim = 0; dim <= outer; ++dim)
    if (dim != int64_t(getTo()) && type.getDimSize(dim) != 1)
      return false;
  return getFromCuts().empty() && getToCuts().empty() &&
         typeOf(getResult()).getDimSize(getTo()) == 1;
}

/// From [n, 1, ...] to [1, n, ...]: the blocks stay where they are.
Value AllToAllOp::createOnBlocks(ImplicitLocOpBuilder &b, Value blocks,
                                 int64_t) {
  RankedTensorType type = typeOf(blocks);
  SmallVector<int64_t> from(type.getShape());
  from.insert(from.begin() + 1, 1);
  SmallVector<int64_t> to = from;
  std::swap(to[0], to[1]);
  Value sent = b.create<ReshapeOp>(type.clone(from), blocks);
  Value received = b.create<AllToAllOp>(
      type.clone(to), sent, 1, 0, getAxes(), ArrayRef<int64_t>(),
      /*from_snake=*/false, ArrayRef<int64_t>());
  return b.create<ReshapeOp>(type, received);
}

//===----------------------------------------------------------------------===//
// shift
//===----------------------------------------------------------------------===//

Change ShiftOp::getPlacementChange() { return std::nullopt; }

Value ShiftOp::createOnBlocks(ImplicitLocOpBuilder &b, Value blocks, int64_t) {
  return b.create<ShiftOp>(blocks.getType(), blocks, getAmount(), getAxes());
}

//===----------------------------------------------------------------------===//
// Ops that send nothing
//===----------------------------------------------------------------------===//

Change WaitOp::getPlacementChange() { return std::nullopt; }
bool WaitOp::keepsPositions(unsigned) { return true; }

/// The gradient is divided as the value is, and each stage is divided alike.
Change TurnOp::getPlacementChange() { return std::nullopt; }
bool TurnOp::keepsPositions(unsigned) { return true; }
Change StageSumOp::getPlacementChange() { return std::nullopt; }
bool StageSumOp::keepsPositions(unsigned) { return true; }

Change CoordinateOp::getPlacementChange() {
  return PlacementChange{getAxes(), AxisPlacement::replicated(),
                         AxisPlacement::rankLocal()};
}

Change ShardOp::getPlacementChange() {
  return PlacementChange{
      getAxes(), AxisPlacement::replicated(),
      AxisPlacement::sharded(getDim(), getCuts(), getSnake())};
}

bool ShardOp::isContiguous() { return getCuts().empty(); }
