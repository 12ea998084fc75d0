//===- SharedBodies.h - Bodies that kernels share ---------------*- C++ -*-===//
//
// Dropout gives each layer a salt of its own (hone.dropout). Kernels that
// differ in nothing else are calls of one body, which takes the salts as
// arguments, so that the time to compile them does not grow with the layers.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_COMMON_SHAREDBODIES_H
#define HONE_LIB_CODEGEN_COMMON_SHAREDBODIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace hone {

/// A salt as an i64 constant that SharedBodies finds.
mlir::Value createSalt(mlir::OpBuilder &builder, mlir::Location loc,
                       int64_t salt);

class SharedBodies {
public:
  /// Moves the code of `func`, with the attributes of its arguments, to a
  /// function that has the salts before its last two arguments, or calls one
  /// with the same code. Returns the function that replaces `func`.
  mlir::func::FuncOp share(mlir::OpBuilder &builder, mlir::func::FuncOp func);

private:
  llvm::StringMap<mlir::func::FuncOp> bodies; // by their code
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_SHAREDBODIES_H
