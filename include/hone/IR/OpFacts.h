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

enum class ReduceKind : uint32_t; // HoneEnums.td

/// What an op costs when each operand is read and each result written once.
struct OpCost {
  int64_t flops = 0;
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
};

/// How the iterations along a factor relate to each other.
enum class FactorKind {
  Parallel,    ///< independent; the factor appears in operands and results
  Reduce,      ///< combined: results without the factor are partial where it is
               ///< split, those with it are parts
  Replicate,   ///< every result needs the whole extent
  Gather,      ///< indexed by data: rows of a table; otherwise as Reduce
  Reconcilable ///< results need the whole extent, but by a few numbers that the
               ///< parts can exchange: classes of a loss, rows of a mean
};

struct Factor {
  int64_t size;
  FactorKind kind;
};

/// The factors that a dimension runs along, the slowest first: one as a rule,
/// several where a reshape merges them, none (-1) where the dimension must stay
/// whole. It may be a piece of its one factor, what a slice takes of it, or
/// have fewer elements, which iterations share.
class DimensionFactors {
public:
  /// The elements of `factor` from `offset` on, as many as the dimension has.
  static DimensionFactors piece(int factor, int64_t offset) {
    DimensionFactors factors(factor);
    factors.start = offset;
    return factors;
  }
  /// Elements that each serve a run of iterations of `factor`, of equal length
  /// (key heads). Parts within a run hold copies of its element; in a result
  /// they are partial sums.
  static DimensionFactors shared(int factor) {
    DimensionFactors factors(factor);
    factors.serves = true;
    return factors;
  }
  DimensionFactors(int factor) {
    if (factor >= 0)
      indices.push_back(factor);
  }
  DimensionFactors(llvm::ArrayRef<int> factors)
      : indices(factors.begin(), factors.end()) {}

  bool empty() const { return indices.empty(); }
  size_t size() const { return indices.size(); }
  auto begin() const { return indices.begin(); }
  auto end() const { return indices.end(); }
  int operator[](size_t index) const { return indices[index]; }
  /// Where a piece begins; none if it is no piece.
  std::optional<int64_t> offset() const { return start; }
  bool isShared() const { return serves; }
  bool operator==(const DimensionFactors &other) const {
    return indices == other.indices && start == other.start &&
           serves == other.serves;
  }

private:
  llvm::SmallVector<int, 2> indices;
  std::optional<int64_t> start;
  bool serves = false;
};

/// Factors of each dimension of a tensor.
using TensorFactors = llvm::SmallVector<DimensionFactors>;

/// The factors of an op, and where each operand and result has them. A factor
/// may have fewer elements in one tensor than in another: a split is one of all
/// of them, but for what parts share.
struct DimensionMapping {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<TensorFactors> operands;
  llvm::SmallVector<TensorFactors> results;
  /// How parts along Reduce factors combine.
  ReduceKind combiner{}; // sum
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

/// Whether a result may be in the storage of operands, so that no kernel copies
/// it.
enum class StorageView {
  None,
  OfOperand, ///< the result is operand 0 in another shape, or a box of it
  OfOperands ///< the operands are boxes of the result
};

/// `result` may be written over the storage of `operand`.
struct AliasPair {
  unsigned operand;
  unsigned result;
};
/// The pairs (argument, yielded value) of a body where an op that makes the
/// value writes only what changes of the argument (getUpdatedOperands).
llvm::SmallVector<AliasPair> updatedOperands(mlir::Block &body);

/// Sets of operands, by index.
using OperandSets = llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 1>;

/// The window of an op over spatial dimensions (HoneWindowOps.td), with one
/// entry per spatial dimension. Position `s` of the output reads, for tap `k`
/// below the size, position `s * stride + k * dilation - low` of the input.
struct Window {
  llvm::SmallVector<int64_t, 3> sizes, strides, low, high, dilations;

  unsigned rank() const { return sizes.size(); }
  /// Taps of all dimensions together.
  int64_t taps() const;
  /// Positions from the first tap along `dim` to the last.
  int64_t extent(unsigned dim) const {
    return (sizes[dim] - 1) * dilations[dim] + 1;
  }
  /// Positions of the output along `dim`, at most 0 where nothing fits.
  int64_t outputSize(unsigned dim, int64_t inputSize) const;
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
/// Of the operands of `mask` of attention: the floats, which come first, and
/// the integers, which come last; null where there are none.
mlir::Value additiveMask(mlir::ValueRange masks);
mlir::Value segmentsOf(mlir::ValueRange masks);
/// The shape of result 0.
llvm::SmallVector<int64_t> shapeOfResult(mlir::Operation *op);
/// No dimension corresponds to another: nothing may be split.
DimensionMapping opaqueMapping(mlir::Operation *op);
llvm::SmallVector<AliasPair> elementwiseAliases(mlir::Operation *op);
/// The window of an op with ConvolutionOpInterface.
Window windowOfConvolution(mlir::Operation *op);

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
/// Defined at 0, and 0 there.
ElementState log1pState(llvm::ArrayRef<ElementState> operands);
/// `pow`: at 0 some exponents have no derivative.
ElementState powerState(llvm::ArrayRef<ElementState> operands);
} // namespace detail

} // namespace hone

#endif // HONE_IR_OPFACTS_H
