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

#include <optional>

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

/// What is known of an element.
enum class ElementState {
  Zero,    ///< 0 of either sign
  Nonzero, ///< certainly no 0
  Copy,    ///< what other elements of the tensor are too
  Finite,  ///< any number
  Singular ///< perhaps not finite, or with a derivative that is not
};

/// What is known of an element that is one of `a` and `b`.
ElementState join(ElementState a, ElementState b);

/// `result` may be written over the storage of `operand`.
struct AliasPair {
  unsigned operand;
  unsigned result;
};

/// Bytes of a tensor of static shape; i1 counts one byte per element.
int64_t byteSize(mlir::Type type);
/// Bytes of one element; i1 counts one.
int64_t elementByteWidth(mlir::Type elementType);

/// What every element of a constant is, if that is one number; integers beyond
/// 2^53 are rounded to it.
std::optional<double> splatOf(mlir::Attribute constant);

namespace detail {
OpCost elementwiseCost(mlir::Operation *op, int64_t flopsPerElement);
DimensionMapping elementwiseMapping(mlir::Operation *op);
/// Operands and results share every dimension but the last, which is whole
/// (row ops: norms, softmax). `vectors` run along the last dimension.
DimensionMapping rowMapping(mlir::Operation *op, mlir::ValueRange vectors = {});
/// No dimension corresponds to another: nothing may be split.
DimensionMapping opaqueMapping(mlir::Operation *op);
llvm::SmallVector<AliasPair> elementwiseAliases(mlir::Operation *op);

// Rules of inferElementState, where not all operands are copies.

/// As far from 0 as the operands, or one of them: `neg`, moves.
ElementState keepState(llvm::ArrayRef<ElementState> operands);
/// 0 from zeros, any number from others: `sin`, `max`.
ElementState keepZero(llvm::ArrayRef<ElementState> operands);
/// No 0 from 0, but perhaps from others: `exp`, which underflows.
ElementState leaveZero(llvm::ArrayRef<ElementState> operands);
/// Any number from any: comparisons.
ElementState anyNumber(llvm::ArrayRef<ElementState> operands);
ElementState sumState(llvm::ArrayRef<ElementState> operands);
ElementState productState(llvm::ArrayRef<ElementState> operands);
/// x / y, and roots of y: what is defined for copies is defined.
ElementState quotientState(llvm::ArrayRef<ElementState> operands);
ElementState logState(llvm::ArrayRef<ElementState> operands);
/// `pow`: at 0 some exponents have no derivative.
ElementState powerState(llvm::ArrayRef<ElementState> operands);
} // namespace detail

} // namespace hone

#endif // HONE_IR_OPFACTS_H
