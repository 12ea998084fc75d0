//===- Passes.h - Passes on hone graphs -------------------------*- C++ -*-===//

#ifndef HONE_TRANSFORMS_PASSES_H
#define HONE_TRANSFORMS_PASSES_H

#include "hone/IR/Hone.h"
#include "hone/Plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "hone/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "hone/Transforms/Passes.h.inc"

} // namespace hone

#endif // HONE_TRANSFORMS_PASSES_H
