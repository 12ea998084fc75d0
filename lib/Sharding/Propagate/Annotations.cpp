//===- Annotations.cpp - What annotations say of all arguments ------------===//

#include "Annotations.h"

#include "Propagation.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

bool dist::isOfModel(StringRef kind) {
  return llvm::is_contained(
      {kind::param, kind::workingCopy, kind::buffer, kind::input}, kind);
}

/// A copy of a parameter in another type is divided as the parameter is.
static void annotateWorkingCopies(func::FuncOp func) {
  llvm::StringMap<ShardingAttr> given;
  for (BlockArgument arg : func.getArguments())
    if (ShardingAttr sharding = annotationOf(arg))
      given[argString(func, arg.getArgNumber(), attr::fqn)] = sharding;
  for (unsigned index = 0; index != func.getNumArguments(); ++index)
    if (argString(func, index, attr::kind) == kind::workingCopy)
      if (ShardingAttr sharding =
              given.lookup(argString(func, index, attr::fqn)))
        func.setArgAttr(index, shardingAttr, sharding);
}

/// What was found for `arg`, closed: other functions are to find the same.
static ArgumentShards describe(BlockArgument arg, const Propagation &spread,
                               const Mesh &mesh) {
  MLIRContext *context = arg.getContext();
  ShardingAttr found = toAttr(spread.of(arg), mesh, context);
  auto type = cast<RankedTensorType>(arg.getType());
  ArgumentShards shards = {llvm::to_vector(type.getShape()), {}, false};
  for (auto [index, dim] : llvm::enumerate(found.getDims()))
    shards.dims.push_back(
        DimAttr::get(context, dim.getAxes(), dim.getCuts(), /*isOpen=*/false,
                     dim.getAxes().empty() ? 0 : spread.priorityOf(arg, index),
                     dim.getSnake()));
  return shards;
}

/// The axes that divide inputs, in the order of the mesh.
static SmallVector<StringAttr>
axesOfInputs(func::FuncOp func, const Propagation &spread, const Mesh &mesh) {
  SmallVector<StringAttr> names;
  for (unsigned axis = 0; axis != mesh.numAxes(); ++axis)
    if (llvm::any_of(func.getArguments(), [&](BlockArgument arg) {
          return argString(func, arg.getArgNumber(), attr::kind) ==
                     kind::input &&
                 spread.of(arg).uses(axis);
        }))
      names.push_back(StringAttr::get(func.getContext(), mesh[axis].name));
  return names;
}

FailureOr<Annotations> dist::readAnnotations(func::FuncOp func,
                                             const Mesh &mesh) {
  annotateWorkingCopies(func);
  FailureOr<Propagation> spread = Propagation::run(func, mesh);
  if (failed(spread))
    return failure();
  Annotations all;
  all.inputAxes = axesOfInputs(func, *spread, mesh);
  // Of a parameter and its working copy often one is read: that tells more.
  for (bool isRead : {true, false})
    for (BlockArgument arg : func.getArguments()) {
      unsigned index = arg.getArgNumber();
      if (arg.use_empty() != isRead &&
          isOfModel(argString(func, index, attr::kind)))
        all.arguments.try_emplace(argString(func, index, attr::fqn),
                                  describe(arg, *spread, mesh));
    }
  for (unsigned index = 0; index != func.getNumArguments(); ++index)
    if (func.getArgAttr(index, regatherAttr))
      all.arguments[argString(func, index, attr::fqn)].isRegathered = true;
  return all;
}
