//===- VerifyPlan.cpp - Border check after the memory plan ----------------===//

#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYPLAN
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::plan;

namespace {
/// A root buffer and what the walk knows of its contents.
struct Root {
  int64_t begin, end;      // bytes
  bool written = false;    // holds what its own launches wrote
  Operation *clobber = nullptr; // the launch that wrote over it since
};

/// Runs through the launches of one function.
class PlanChecker {
public:
  explicit PlanChecker(FunctionOp function) : function(function) {}

  LogicalResult run() {
    auto program = function->getParentOfType<ProgramOp>();
    for (auto argument : program.getOps<ArgumentOp>()) {
      int64_t offset = argument.getOffset();
      state.push_back({offset, offset + byteSize(argument.getType())});
    }
    for (Operation &op : function.getBody().front())
      if (failed(visit(&op)))
        return failure();
    return success();
  }

private:
  LogicalResult visit(Operation *op) {
    if (auto buffer = dyn_cast<BufferOp>(op)) {
      int64_t begin = buffer.getOffset();
      Root root = {begin,
                   begin + extentBytes(cast<MemRefType>(buffer.getType()))};
      root.written = llvm::any_of(state, [&](auto span) {
        return span.first <= root.begin && root.end <= span.second;
      });
      roots[buffer] = root;
      return success();
    }
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      for (Value input : launch.getInputs())
        if (failed(read(launch, input)))
          return failure();
      for (auto buffers : {launch.getOutputs(), launch.getScratch()})
        for (Value buffer : buffers)
          if (failed(write(launch, buffer)))
            return failure();
      return success();
    }
    if (auto result = dyn_cast<ResultOp>(op))
      return read(result, result.getBuffer());
    return success();
  }

  LogicalResult read(Operation *op, Value buffer) {
    Root &root = roots[rootBuffer(buffer)];
    if (!root.written)
      return op->emitOpError() << "reads bytes " << root.begin << " to "
                               << root.end << " before they are written";
    if (!root.clobber)
      return success();
    InFlightDiagnostic diag = op->emitOpError()
                              << "reads bytes " << root.begin << " to "
                              << root.end << ", which another launch wrote "
                              << "over";
    diag.attachNote(root.clobber->getLoc()) << "this launch";
    return diag;
  }

  LogicalResult write(LaunchOp launch, Value buffer) {
    BufferOp own = rootBuffer(buffer);
    int64_t begin = arenaOffset(buffer);
    int64_t end = begin + extentBytes(cast<MemRefType>(buffer.getType()));
    Root &target = roots[own];
    target.written = true;
    target.clobber = nullptr;
    if (begin == end)
      return success();
    for (auto &[other, root] : roots)
      if (other != own && root.begin < end && begin < root.end)
        root.clobber = launch;
    return success();
  }

  FunctionOp function;
  SmallVector<std::pair<int64_t, int64_t>> state;
  DenseMap<BufferOp, Root> roots;
};

struct VerifyPlan : hone::impl::VerifyPlanBase<VerifyPlan> {
  void runOnOperation() override {
    auto programs = getOperation().getOps<ProgramOp>();
    if (!llvm::hasSingleElement(programs)) {
      getOperation().emitError()
          << "has " << std::distance(programs.begin(), programs.end())
          << " programs, expected one";
      return signalPassFailure();
    }
    for (auto function : (*programs.begin()).getOps<FunctionOp>())
      if (failed(PlanChecker(function).run()))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
