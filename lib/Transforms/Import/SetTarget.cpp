//===- SetTarget.cpp - Names the machine to compile for -------------------===//

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_SETTARGET
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
struct SetTarget : hone::impl::SetTargetBase<SetTarget> {
  using SetTargetBase::SetTargetBase;
  void runOnOperation() override {
    std::string name = target;
    if (!arch.empty())
      name += " " + arch;
    getOperation()->setAttr(attr::target, StringAttr::get(&getContext(), name));
    if (failed(getTarget(getOperation())))
      signalPassFailure();
  }
};
} // namespace
