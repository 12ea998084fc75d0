//===- Passes.h - Passes on the way to LLVM ---------------------*- C++ -*-===//

#ifndef HONE_TARGET_PASSES_H
#define HONE_TARGET_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "hone/Target/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "hone/Target/Passes.h.inc"

} // namespace hone

#endif // HONE_TARGET_PASSES_H
