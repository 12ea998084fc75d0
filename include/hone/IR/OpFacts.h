//===- OpFacts.h - Values that the op interface answers with ----*- C++ -*-===//
//
// Plain data behind HoneOpInterface (HoneInterfaces.td): cost, dimension
// mapping, aliasing. Nothing here rewrites IR.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_OPFACTS_H
#define HONE_IR_OPFACTS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace hone {

/// What an op costs when each operand is read and each result written once.
struct OpCost {
  int64_t flops = 0;
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
};

/// How the iterations along a factor relate to each other.
enum class FactorKind {
  Parallel,  ///< independent; the factor appears in operands and results
  Reduce,    ///< summed (or max/min) away: in operands only
  Replicate, ///< every result needs the whole extent
  Gather     ///< indexed by data: rows of a table
};

struct Factor {
  int64_t size;
  FactorKind kind;
};

/// One factor index per dimension of each operand and result; -1 marks a
/// dimension that no factor describes (it must stay whole).
struct DimensionMapping {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<llvm::SmallVector<int>> operands;
  llvm::SmallVector<llvm::SmallVector<int>> results;
};

/// `result` may be written over the storage of `operand`.
struct AliasPair {
  unsigned operand;
  unsigned result;
};

/// Bytes of a tensor of static shape; i1 counts one byte per element.
int64_t byteSize(mlir::Type type);
/// Bytes of one element; i1 counts one.
int64_t elementByteWidth(mlir::Type elementType);

namespace detail {
OpCost elementwiseCost(mlir::Operation *op, int64_t flopsPerElement);
DimensionMapping elementwiseMapping(mlir::Operation *op);
/// Operands and results share every dimension but the last, which is whole
/// (row ops: norms, softmax). `vectors` run along the last dimension.
DimensionMapping rowMapping(mlir::Operation *op, mlir::ValueRange vectors = {});
/// No dimension corresponds to another: nothing may be split.
DimensionMapping opaqueMapping(mlir::Operation *op);
llvm::SmallVector<AliasPair> elementwiseAliases(mlir::Operation *op);
} // namespace detail

} // namespace hone

#endif // HONE_IR_OPFACTS_H
