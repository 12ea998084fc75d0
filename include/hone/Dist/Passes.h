//===- Passes.h - Passes on shardings ---------------------------*- C++ -*-===//

#ifndef HONE_DIST_PASSES_H
#define HONE_DIST_PASSES_H

#include "hone/Dist/Dist.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "hone/Dist/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "hone/Dist/Passes.h.inc"

} // namespace hone

#endif // HONE_DIST_PASSES_H
