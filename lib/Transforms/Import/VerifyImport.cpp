//===- VerifyImport.cpp - Border check after import -----------------------===//

#include "hone/IR/IndexedOps.h"
#include "hone/IR/PackageFunction.h"
#include "hone/IR/SelectionBias.h"
#include "hone/Sharding/IR/Sharding.h"
#include "hone/Transforms/Passes.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYIMPORT
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Every argument says what it is and, if it is state, how it starts.
static LogicalResult verifyArguments(func::FuncOp func, bool isStep) {
  llvm::StringSet<> names;
  unsigned keys = 0;
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    StringRef kind = argString(func, index, attr::kind);
    StringRef name = argString(func, index, attr::fqn);
    auto error = [&]() -> InFlightDiagnostic {
      return func.emitError() << "argument " << index << " ('" << name << "') ";
    };
    if (kind.empty() || name.empty())
      return error() << "has kind '" << kind << "' and name '" << name
                     << "', expected both";
    if (!names.insert(name).second)
      return error() << "has the name of an earlier argument, expected "
                        "distinct names";
    bool isState = kind == kind::param || kind == kind::buffer ||
                   (isStep && kind == kind::opt);
    if (isState && !func.getArgAttr(index, attr::init))
      return error() << "has no " << attr::init
                     << ", expected one on all state";
    if (!isState && kind != kind::input && kind != kind::rng)
      return error() << "has kind '" << kind << "', expected param, "
                     << (isStep ? "opt, " : "") << "buffer, input or rng";
    if (isStep && func.getArgAttr(index, attr::requiresGrad))
      return error() << "requires a gradient, expected none: @step holds the "
                        "updates already";
    if (isStep && func.getArgAttr(index, attr::balance))
      return error() << "has " << attr::balance
                     << ", expected none: @step holds the updates already";
    if (kind == kind::rng && ++keys > 1)
      return error() << "is a second rng, expected at most one";
  }
  return success();
}

/// Annotations of a user, where there are any: arguments that ranks can divide
/// so, constraints that something reads.
static LogicalResult verifyAnnotations(func::FuncOp func) {
  std::optional<dist::Mesh> mesh;
  for (auto op : func->getParentOfType<ModuleOp>().getOps<dist::MeshOp>())
    mesh.emplace(op);
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    auto sharding =
        func.getArgAttrOfType<dist::ShardingAttr>(index, attr::sharding);
    if (!sharding)
      continue;
    auto error = [&]() -> InFlightDiagnostic {
      return func.emitError() << "argument " << index << " ('"
                              << argString(func, index, attr::fqn) << "') ";
    };
    if (!sharding.getPartial().empty())
      return error() << "has a partial sharding, expected one of parts or "
                        "copies: only gradients are partial";
    auto type = cast<RankedTensorType>(func.getArgumentTypes()[index]);
    if (failed(dist::verifySharding(sharding, type, *mesh, error)))
      return failure();
  }
  WalkResult walk = func.walk([](dist::ConstrainOp op) -> WalkResult {
    if (!op->use_empty())
      return WalkResult::advance();
    return op.emitOpError("has a result that nothing reads, expected a reader: "
                          "it holds for the result alone");
  });
  return failure(walk.wasInterrupted());
}

/// No tensor is larger than `maxTensorBytes`: sums of sizes cannot overflow. A
/// package's batch is that of all ranks: logits of 7,680 sequences of 4,096
/// positions have 2^44 bytes.
static LogicalResult verifySize(Operation *op, Type type) {
  constexpr int64_t maxTensorBytes = int64_t(1) << 44;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return success();
  int64_t bytes = elementByteWidth(tensor.getElementType());
  for (int64_t size : tensor.getShape())
    if (llvm::MulOverflow(bytes, size, bytes) || bytes > maxTensorBytes)
      return op->emitError() << "makes a tensor of type " << type
                             << ", expected at most 2^44 bytes";
  return success();
}

/// A result of kind buffer is the new value of the buffer of its name.
static LogicalResult verifyBuffers(func::FuncOp func) {
  llvm::StringMap<Type> buffers;
  for (unsigned index = 0; index != func.getNumArguments(); ++index)
    if (argString(func, index, attr::kind) == kind::buffer)
      buffers[argString(func, index, attr::fqn)] =
          func.getArgumentTypes()[index];
  for (unsigned index : findResults(func, kind::buffer)) {
    StringRef name = resultString(func, index, attr::fqn);
    auto error = [&]() -> InFlightDiagnostic {
      return func.emitError()
             << "result " << index << " (buffer '" << name << "') ";
    };
    auto buffer = buffers.find(name);
    if (buffer == buffers.end())
      return error() << "replaces no buffer, expected the name of an argument "
                        "of kind buffer that no earlier result replaces";
    Type type = func.getResultTypes()[index];
    if (type != buffer->second)
      return error() << "has type " << type << ", expected " << buffer->second
                     << " as its argument";
    buffers.erase(buffer);
  }
  return success();
}

/// Tensors are of fair sizes, ops are those of a graph.
static LogicalResult verifyBody(func::FuncOp func) {
  for (Type type : func.getArgumentTypes())
    if (failed(verifySize(func, type)))
      return failure();
  WalkResult walk = func.walk([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (failed(verifySize(op, type)))
        return WalkResult::interrupt();
    if (op == func || isa<func::ReturnOp>(op) || isGraphOp(op))
      return WalkResult::advance();
    return op->emitOpError("is not an op of the hone dialect");
  });
  return failure(walk.wasInterrupted());
}

static LogicalResult verifyForward(func::FuncOp func) {
  auto isScalarLoss = [&] {
    if (func.getNumResults() == 0 ||
        resultString(func, 0, attr::kind) != kind::loss)
      return false;
    for (unsigned index = 1; index != func.getNumResults(); ++index)
      if (!llvm::is_contained({kind::buffer, kind::idCheck},
                              resultString(func, index, attr::kind)))
        return false;
    auto type = dyn_cast<RankedTensorType>(func.getResultTypes()[0]);
    return type && type.getRank() == 0 && isa<FloatType>(type.getElementType());
  };
  if (!isScalarLoss())
    return func.emitError("returns something else than one loss, expected one "
                          "result of kind loss, floating-point and of rank 0");
  return success(succeeded(verifyBuffers(func)) &&
                 succeeded(findSelectionBiases(func)) &&
                 succeeded(verifyBody(func)));
}

namespace {
struct VerifyImport : hone::impl::VerifyImportBase<VerifyImport> {
  void runOnOperation() override {
    bool isStep = holdsWholeStep(getOperation());
    func::FuncOp func = findPackageFunction(getOperation());
    if (!func) {
      getOperation().emitError("has no function @")
          << (isStep ? "step" : "forward");
      return signalPassFailure();
    }
    // What a whole step returns: the step phase checks it.
    if (failed(verifyArguments(func, isStep)) ||
        failed(isStep ? verifyBody(func) : verifyForward(func)) ||
        failed(verifyAnnotations(func)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
