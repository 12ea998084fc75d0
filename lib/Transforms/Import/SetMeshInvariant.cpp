//===- SetMeshInvariant.cpp - Asks for bits that no mesh changes ----------===//

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_SETMESHINVARIANT
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
struct SetMeshInvariant : hone::impl::SetMeshInvariantBase<SetMeshInvariant> {
  void runOnOperation() override {
    FailureOr<TargetDescription> target = getTarget(getOperation());
    if (failed(target))
      return signalPassFailure();
    if (target->kind == TargetKind::CUDA) {
      getOperation().emitError(
          "is for a GPU, whose library orders sums by the "
          "shape, expected a CPU of a mesh-invariant module");
      return signalPassFailure();
    }
    getOperation()->setAttr(attr::meshInvariant, UnitAttr::get(&getContext()));
  }
};
} // namespace
