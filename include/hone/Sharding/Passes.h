//===- Passes.h - Passes on shardings ---------------------------*- C++ -*-===//

#ifndef HONE_SHARDING_PASSES_H
#define HONE_SHARDING_PASSES_H

#include "hone/Sharding/IR/Dist.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "hone/Sharding/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "hone/Sharding/Passes.h.inc"

} // namespace hone

#endif // HONE_SHARDING_PASSES_H
