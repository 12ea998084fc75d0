//===- DistOps.cpp - Meshes and constraints -------------------------------===//

#include "MeshOf.h"

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

#include "hone/Sharding/IR/DistInterfaces.cpp.inc"

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

FailureOr<Mesh> dist::meshOf(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (module && !module.getOps<MeshOp>().empty())
    return Mesh(*module.getOps<MeshOp>().begin());
  return op->emitOpError("is in a module without dist.mesh, expected one");
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

LogicalResult BoundaryOp::verify() {
  if (getFrom() != getTo() && int64_t(getFrom()) >= 0 && int64_t(getTo()) >= 0)
    return success(); // boundary_c1
  return emitOpError("is from chunk ")
         << int64_t(getFrom()) << " to chunk " << int64_t(getTo())
         << ", expected two different chunks, numbered from 0";
}
