//===- KernelBuilder.h - What the emitters of kernels share -----*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_COMMON_KERNELBUILDER_H
#define HONE_LIB_CODEGEN_COMMON_KERNELBUILDER_H

#include "Kernel.h"
#include "hone/Plan/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {

/// A buffer of a launch as its kernel sees it: i1 elements are bytes, 0 or 1,
/// and codes of fp8 are bytes.
mlir::MemRefType kernelBufferType(mlir::MemRefType type);

/// The buffer that a kernel sees when tensors of `element` of up to `size`
/// elements take turns in it (see TensorTable).
mlir::MemRefType tensorInTurn(mlir::Type element, int64_t size);

/// Whether elements lie in row-major order without gaps.
bool isContiguous(mlir::Type buffer);

/// Builder inside the body of a kernel. Arithmetic works on scalars and on
/// vectors alike; constants take the type they are used with.
class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  /// Receives the induction variable and the carried values, returns the next.
  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value, mlir::ValueRange)>;

  /// Starts `func.func @name(inputs..., outputs..., scratch..., lo, hi)` at the
  /// insertion point of `builder`, and leaves that point behind it. What is no
  /// buffer among these types stays as it is.
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                llvm::StringRef name, mlir::TypeRange buffers);
  KernelBuilder(mlir::OpBuilder &builder, llvm::StringRef name,
                plan::LaunchOp launch);

  mlir::Value buffer(unsigned index) { return func.getArgument(index); }
  mlir::Value lo() { return func.getArgument(func.getNumArguments() - 2); }
  mlir::Value hi() { return func.getArgument(func.getNumArguments() - 1); }

  mlir::Value index(int64_t value);
  /// `value` as a floating-point or integer constant of scalar or vector type.
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value integer(mlir::Type type, int64_t value);

  /// scf.for over [from, to); returns the carried values.
  llvm::SmallVector<mlir::Value> loop(mlir::Value from, mlir::Value to,
                                      int64_t step, mlir::ValueRange carried,
                                      LoopBody body);
  void loop(mlir::Value from, mlir::Value to, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);

  /// Indices of element `linear` of a row-major shape; sizes of 1 give 0.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear,
                                             llvm::ArrayRef<int64_t> shape);

  /// A contiguous buffer as one dimension.
  mlir::Value flat(mlir::Value buffer);

  /// A float of any width as `to`, rounded once to nearest even.
  mlir::Value convertFloat(mlir::Value value, mlir::Type to);

  /// Elements from `indices` on as floats of type `compute`. Lanes outside of
  /// `mask` are 0 and not read.
  mlir::Value loadVector(mlir::Value buffer, mlir::ValueRange indices,
                         mlir::Type compute, mlir::Value mask = {},
                         int64_t lanes = kernelLanes);
  void storeVector(mlir::Value value, mlir::Value buffer,
                   mlir::ValueRange indices, mlir::Value mask = {});
  /// The first `lanes` of kernelLanes, constant or not.
  mlir::Value maskOfFirst(int64_t lanes);
  mlir::Value maskOfFirst(mlir::Value lanes);

  mlir::func::FuncOp func;
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_KERNELBUILDER_H
