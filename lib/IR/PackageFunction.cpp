//===- PackageFunction.cpp - The function that a package holds ------------===//

#include "hone/IR/PackageFunction.h"

using namespace mlir;
using namespace hone;

bool hone::holdsWholeStep(ModuleOp module) {
  return module->hasAttr(attr::wholeStep);
}

func::FuncOp hone::findPackageFunction(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>(holdsWholeStep(module) ? "step"
                                                                  : "forward");
}
