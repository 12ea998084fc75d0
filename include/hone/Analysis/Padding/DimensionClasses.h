//===- DimensionClasses.h - Dimensions that share a size --------*- C++ -*-===//
//
// Two dimensions are of one class when an op loops over both together (a factor
// of its DimensionMapping). If one of a class changes its size, all do.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_PADDING_DIMENSIONCLASSES_H
#define HONE_ANALYSIS_PADDING_DIMENSIONCLASSES_H

#include "hone/IR/Hone.h"

#include "llvm/ADT/IntEqClasses.h"

namespace hone {

/// A dimension of a value.
struct Dimension {
  mlir::Value value;
  unsigned dim;
};

class DimensionClasses {
public:
  /// Classes of the values of one block of hone ops.
  explicit DimensionClasses(mlir::Block &block);

  unsigned size() const { return classes.getNumClasses(); }
  /// The class of a dimension of a value of the block.
  unsigned find(mlir::Value value, unsigned dim) const;
  /// The dimensions of `value` that are in class `id`.
  llvm::SmallVector<unsigned> dimsIn(mlir::Value value, unsigned id) const;

  llvm::ArrayRef<Dimension> members(unsigned id) const { return all[id]; }
  /// Ops with an operand or result in the class, in order.
  llvm::ArrayRef<mlir::Operation *> users(unsigned id) const { return ops[id]; }
  /// An op that needs a dimension of the class to stay as it is, or null.
  mlir::Operation *whole(unsigned id) const { return fixed[id]; }

private:
  void number(mlir::Value value);
  void join(HoneOpInterface op);

  llvm::IntEqClasses classes;
  llvm::DenseMap<mlir::Value, unsigned> first; ///< number of dimension 0
  llvm::SmallVector<Dimension> dimensions;     ///< by number
  llvm::SmallVector<std::pair<unsigned, mlir::Operation *>> wholes;
  // By class.
  llvm::SmallVector<llvm::SmallVector<Dimension, 0>, 0> all;
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *, 0>, 0> ops;
  llvm::SmallVector<mlir::Operation *, 0> fixed;
};

} // namespace hone

#endif // HONE_ANALYSIS_PADDING_DIMENSIONCLASSES_H
