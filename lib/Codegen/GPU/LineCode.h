//===- LineCode.h - Elements of lines in kernels of a GPU -------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_LINECODE_H
#define HONE_LIB_CODEGEN_GPU_LINECODE_H

#include "Builder.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Code of a thread at a line of an argsort, topk or put_along. Elements are
/// compared as integers with sign, their keys. Places along the line and
/// offsets are numbers of one type, i32 where all of them fit.
class LineCode : public DeviceBuilder {
public:
  LineCode(mlir::OpBuilder &builder, plan::LaunchOp launch,
           mlir::Operation *op);

  /// Starts the kernel.
  mlir::gpu::GPUFuncOp start(llvm::StringRef name, int64_t blockThreads);
  mlir::Value number(int64_t value);
  mlir::Value block();
  mlir::Value thread();
  /// Number of this thread among those of all blocks.
  mlir::Value item(int64_t blockThreads);
  mlir::Value asNumber(mlir::Value i32);
  mlir::Value asI32(mlir::Value number);
  void setLine(mlir::Value number);

  /// An element of an operand, as it is computed with.
  mlir::Value read(mlir::Value operand, mlir::Value place);
  /// Writes one of what is computed with to the result.
  void write(mlir::Value element, mlir::Value place);
  /// Writes `place` as the one of that rank; of a topk, if it is among those.
  void writeRank(mlir::Value place, mlir::Value rank);

  /// Of an element of the operand that is compared.
  mlir::Value keyAt(mlir::Value place);
  mlir::Value lastKey();
  mlir::Value notAfter(mlir::Value a, mlir::Value b);
  mlir::Value before(mlir::Value a, mlir::Value b);
  /// How many of `size` keys in order, from `first` on, `isCounted` holds for:
  /// a number. It holds for none behind one for which it does not.
  mlir::Value
  countKeys(mlir::Value keys, mlir::Value first, int64_t size,
            llvm::function_ref<mlir::Value(mlir::Value key)> isCounted);

  /// Scratch buffer `index` of the launch: an address.
  mlir::Value scratch(unsigned index);

  plan::LaunchOp launch;
  mlir::Operation *op;
  int64_t dim;
  mlir::Value compared; ///< the operand of an argsort or topk, or ids
  mlir::Type key;       ///< i32 or i64
  mlir::Value lineNumber;
  /// Of the operand that is compared, and of the result.
  int64_t lines, size, resultSize;

private:
  bool isDescending = false;
  int64_t largest; ///< of all numbers
  mlir::gpu::GPUFuncOp func;
  llvm::SmallVector<int64_t> lineShape;
  llvm::SmallVector<mlir::Value> line;

  int64_t extent(mlir::Value buffer);
  mlir::Value offset(mlir::Value buffer, mlir::Value place);
  void writeId(mlir::Value element, mlir::Value place);
  mlir::Value keyOfFloat(mlir::Value element);
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_LINECODE_H
