//===- Passes.h - Passes from the plan to LLVM ------------------*- C++ -*-===//

#ifndef HONE_CODEGEN_PASSES_H
#define HONE_CODEGEN_PASSES_H

#include "hone/IR/Hone.h"
#include "hone/Plan/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "hone/Codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "hone/Codegen/Passes.h.inc"

} // namespace hone

#endif // HONE_CODEGEN_PASSES_H
