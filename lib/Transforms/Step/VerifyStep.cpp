//===- VerifyStep.cpp - Border check after the step phase -----------------===//

#include "hone/IR/PackageFunction.h"
#include "hone/IR/SelectionBias.h"
#include "hone/Sharding/IR/Dist.h"
#include "hone/Transforms/Passes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYSTEP
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// A step that ranks divide has their collectives too, one of stages what these
/// hand to each other.
static LogicalResult verifyOps(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return func.emitError("has no body of one block");
  auto module = func->getParentOfType<ModuleOp>();
  bool isDivided = !module.getOps<dist::MeshOp>().empty() ||
                   module->hasAttr(dist::stagesAttr) ||
                   module->hasAttr(dist::stageAttr);
  for (Operation &op : func.front().without_terminator())
    if (!isGraphOp(&op) &&
        !(isDivided && isa<dist::DistDialect>(op.getDialect())))
      return op.emitOpError("is not an op of the hone dialect");
  return success();
}

static LogicalResult verifyScalars(func::FuncOp func) {
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[index]);
    if (argString(func, index, attr::kind) == kind::scalar &&
        (!type || type.getRank() != 0))
      return func.emitError("scalar '")
             << argString(func, index, attr::fqn) << "' has type "
             << func.getArgumentTypes()[index] << ", expected rank 0";
  }
  return success();
}

/// Results that are new state take the place of the old one.
static LogicalResult verifyDonations(func::FuncOp func) {
  bool takesGradients = false;
  for (unsigned index = 0; index != func.getNumArguments(); ++index)
    takesGradients |= argString(func, index, attr::kind) == kind::grad;
  DenseSet<int64_t> donated;
  for (unsigned result = 0; result != func.getNumResults(); ++result) {
    StringRef kind = resultString(func, result, attr::kind);
    StringRef name = resultString(func, result, attr::fqn);
    auto donates = func.getResultAttrOfType<IntegerAttr>(result, attr::donates);
    auto error = [&]() -> InFlightDiagnostic {
      return func.emitError("result ")
             << result << " (" << kind << " '" << name << "') ";
    };
    bool mustDonate = kind == kind::param || kind == kind::buffer ||
                      kind == kind::opt || kind == kind::scalar ||
                      kind == kind::workingCopy || kind == kind::cache ||
                      (kind == kind::grad && takesGradients);
    if (!donates) {
      if (mustDonate)
        return error() << "donates no argument, expected that of its name";
      continue;
    }
    int64_t index = donates.getInt();
    if (index >= func.getNumArguments())
      return error() << "donates argument " << index << " of "
                     << func.getNumArguments();
    if (!donated.insert(index).second)
      return error() << "donates argument " << index
                     << ", which an earlier result donates";
    if (argString(func, index, attr::kind) != kind ||
        argString(func, index, attr::fqn) != name)
      return error() << "donates " << argString(func, index, attr::kind) << " '"
                     << argString(func, index, attr::fqn)
                     << "', expected the argument of its kind and name";
    if (func.getArgumentTypes()[index] != func.getResultTypes()[result])
      return error() << "has type " << func.getResultTypes()[result]
                     << ", but the argument it donates "
                     << func.getArgumentTypes()[index];
  }
  return success();
}

static LogicalResult verifyUpdates(func::FuncOp func) {
  llvm::StringSet<> updated;
  for (unsigned result = 0; result != func.getNumResults(); ++result)
    if (llvm::is_contained({kind::param, kind::buffer},
                           resultString(func, result, attr::kind)))
      updated.insert(resultString(func, result, attr::fqn));
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    if (updated.contains(argString(func, index, attr::fqn)))
      continue;
    if (func.getArgAttr(index, attr::requiresGrad))
      return func.emitError("does not update parameter '")
             << argString(func, index, attr::fqn)
             << "', which requires a gradient";
    if (func.getArgAttr(index, attr::balance))
      return func.emitError("does not update buffer '")
             << argString(func, index, attr::fqn) << "', which has "
             << attr::balance;
  }
  return success();
}

/// Exactly one result of `kind`, named `name` if that is not empty, of rank 0;
/// or none, where it is optional.
static LogicalResult verifyResult(func::FuncOp func, StringRef kind,
                                  StringRef name = "",
                                  bool isOptional = false) {
  unsigned found = 0;
  for (unsigned result = 0; result != func.getNumResults(); ++result) {
    auto type = dyn_cast<RankedTensorType>(func.getResultTypes()[result]);
    found += resultString(func, result, attr::kind) == kind &&
             (name.empty() || resultString(func, result, attr::fqn) == name) &&
             type && type.getRank() == 0;
  }
  if (found == 1 || (found == 0 && isOptional))
    return success();
  InFlightDiagnostic diagnostic = func.emitError("returns ")
                                  << found << " results of kind " << kind;
  if (!name.empty())
    diagnostic << " named '" << name << "'";
  return diagnostic << " and rank 0, expected one";
}

static LogicalResult verifyFunction(func::FuncOp func) {
  if (failed(verifyOps(func)) || failed(verifyScalars(func)) ||
      failed(verifyDonations(func)))
    return failure();
  if (func.getName() == "generate")
    return success();
  // The last stage of a pipeline has the loss.
  auto module = func->getParentOfType<ModuleOp>();
  if (dist::functionWithoutChunk(func.getName()) == "accumulate")
    return verifyResult(func, kind::scalar, "loss",
                        /*isOptional=*/module->hasAttr(dist::stageAttr));
  bool isPackages = holdsWholeStep(module);
  if (failed(verifyUpdates(func)) ||
      failed(verifyResult(func, kind::gradNorm, "", isPackages)))
    return failure();
  return func.getName() == "step" ? verifyResult(func, kind::loss) : success();
}

namespace {
struct VerifyStep : hone::impl::VerifyStepBase<VerifyStep> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    auto find = [&](StringRef name) {
      return module.lookupSymbol<func::FuncOp>(name);
    };
    for (StringRef name : {"forward", "gradient"})
      if (find(name))
        return module.emitError("still has a function @")
               << name << ", the step phase consumes it";
    // A stage of several chunks has one for each.
    auto hasPart = [&](StringRef name) {
      return llvm::any_of(module.getOps<func::FuncOp>(), [&](auto func) {
        return dist::functionWithoutChunk(func.getName()) == name;
      });
    };
    bool accumulates = hasPart("accumulate");
    bool isWhole = find("step") && !accumulates && !find("update");
    bool isSplit = !find("step") && accumulates && find("update");
    if (!isWhole && !isSplit)
      return module.emitError(
          "expected a function @step, or @accumulate and @update");
    if (!hasPart("evaluate") && !holdsWholeStep(module))
      return module.emitError("has no function @evaluate");
    for (StringRef name : {"step", "accumulate", "update", "generate"})
      for (auto func : module.getOps<func::FuncOp>())
        if (dist::functionWithoutChunk(func.getName()) == name &&
            failed(verifyFunction(func)))
          return failure();
    return success();
  }
};
} // namespace
