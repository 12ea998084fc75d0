//===- DistOps.cpp - Verifiers of the ops of the dist dialect -------------===//

#include "hone/Sharding/IR/Sharding.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

/// `[<"dp" = 2>, <"tp" = 4 over "nvlink">]`
static ParseResult parseAxes(OpAsmParser &parser, ArrayAttr &axes) {
  SmallVector<Attribute> all;
  auto parseAxis = [&]() -> ParseResult {
    Attribute axis = AxisAttr::parse(parser, {});
    all.push_back(axis);
    return success(bool(axis));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return failure();
  axes = parser.getBuilder().getArrayAttr(all);
  return success();
}

static void printAxes(OpAsmPrinter &printer, MeshOp, ArrayAttr axes) {
  printer << '[';
  llvm::interleaveComma(axes.getAsRange<AxisAttr>(), printer.getStream(),
                        [&](AxisAttr axis) { axis.print(printer); });
  printer << ']';
}

#define GET_OP_CLASSES
#include "hone/Sharding/IR/DistOps.cpp.inc"

LogicalResult MeshOp::verify() {
  llvm::SmallDenseSet<StringAttr> names;
  int64_t ranks = 1;
  for (auto axis : getAxes().getAsRange<AxisAttr>()) {
    if (!names.insert(axis.getName()).second) // mesh_c1
      return emitOpError() << "has axis " << axis.getName()
                           << " twice, expected distinct names";
    if (axis.getSize() < 1) // mesh_c1
      return emitOpError() << "axis " << axis.getName() << " has size "
                           << axis.getSize() << ", expected at least 1";
    if (__builtin_mul_overflow(ranks, axis.getSize(), &ranks) ||
        ranks >= int64_t(1) << 31) // mesh_c3
      return emitOpError("has more ranks than 2^31 - 1, expected fewer");
  }
  for (Operation *next = (*this)->getNextNode(); next;
       next = next->getNextNode())
    if (isa<MeshOp>(next)) // mesh_c2
      return next->emitOpError("is the module's second, expected one");
  return success();
}

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
SmallVector<AliasPair> CoordinateOp::getReusableOperands() { return {}; }

//===----------------------------------------------------------------------===//
// Shapes of parts
//===----------------------------------------------------------------------===//

/// The mesh of the module of `op`; reported where there is none.
static FailureOr<Mesh> meshOf(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (module && !module.getOps<MeshOp>().empty())
    return Mesh(*module.getOps<MeshOp>().begin());
  return op->emitOpError("is in a module without dist.mesh, expected one");
}

/// Names of axes of the mesh, each once.
static FailureOr<Axes> verifyAxes(Operation *op, ArrayAttr names,
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

/// Checks that dimension `dim` of a tensor is whole in `type` and divided along
/// `names` in `part`; fills in that dimension of `wanted`, the shape `part`
/// should have.
static LogicalResult verifyDivided(Operation *op, int64_t dim, ArrayAttr names,
                                   ArrayRef<int64_t> cuts, int64_t size,
                                   const Mesh &mesh, int64_t &partSize) {
  FailureOr<Axes> axes = verifyAxes(op, names, mesh);
  if (failed(axes))
    return failure();
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

/// Checks that `part` is `whole` with dimension `dim` divided.
static LogicalResult verifyPart(Operation *op, RankedTensorType whole,
                                RankedTensorType part, int64_t dim,
                                ArrayAttr axes, ArrayRef<int64_t> cuts) {
  FailureOr<Mesh> mesh = meshOf(op);
  if (failed(mesh) || failed(verifyDim(op, dim, whole.getRank())))
    return failure();
  SmallVector<int64_t> wanted(whole.getShape());
  if (failed(verifyDivided(op, dim, axes, cuts, whole.getDimSize(dim), *mesh,
                           wanted[dim])))
    return failure();
  if (part.getShape() == ArrayRef(wanted))
    return success();
  return op->emitOpError() << "has parts of type " << part << ", expected "
                           << whole.clone(wanted);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static bool isAsync(Operation *op) { return op && op->hasAttr(asyncAttr); }

/// Checks that nothing but dist.wait reads what is not there yet. What ends the
/// block of a group hands it on.
static LogicalResult verifyReaders(Operation *op) {
  if (!isAsync(op))
    return success();
  for (Operation *user : op->getUsers())
    if (!isa<WaitOp>(user) &&
        (!user->hasTrait<OpTrait::IsTerminator>() || isa<func::ReturnOp>(user)))
      return op->emitOpError() << "is async and read by '" << user->getName()
                               << "', expected 'dist.wait'";
  return success();
}

LogicalResult ConstrainOp::verify() {
  FailureOr<Mesh> mesh = meshOf(*this);
  if (failed(mesh))
    return failure();
  if (!getSharding().getPartial().empty()) // constrain_c1
    return emitOpError("has a partial sharding, expected none");
  return verifySharding(getSharding(), cast<RankedTensorType>(getType()), *mesh,
                        [&] { return emitOpError(); });
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
  if (begin && !isa<GroupOp>(begin) && !isAsync(begin))
    return emitOpError() << "waits for '" << begin->getName()
                         << "', expected an async collective"; // wait_c1
  return success();
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyReaders(*this)))
    return failure();
  return verifyPart(*this, cast<RankedTensorType>(getType()),
                    cast<RankedTensorType>(getOperand().getType()), getDim(),
                    getAxes(), getCuts());
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyReaders(*this)))
    return failure();
  return verifyPart(*this, cast<RankedTensorType>(getOperand().getType()),
                    cast<RankedTensorType>(getType()), getDim(), getAxes(),
                    getCuts());
}

LogicalResult ShardOp::verify() {
  return verifyPart(*this, cast<RankedTensorType>(getOperand().getType()),
                    cast<RankedTensorType>(getType()), getDim(), getAxes(),
                    getCuts());
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
  // The tensor that has both whole.
  SmallVector<int64_t> shape(to.getShape());
  shape[getTo()] = from.getDimSize(getTo());
  RankedTensorType whole = to.clone(shape);
  if (failed(
          verifyPart(*this, whole, from, getFrom(), getAxes(), getFromCuts())))
    return failure();
  return verifyPart(*this, whole, to, getTo(), getAxes(), getToCuts());
}
