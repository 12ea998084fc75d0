//===- SelectionBias.h - Biases that balance experts ------------*- C++ -*-===//
//
// A router may add a bias to its scores before it selects experts, which no
// gradient reaches: the step moves it against the counts of selected experts.
// The attribute `hone.balance` of the bias names their buffer (HoneDialect.td).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_SELECTIONBIAS_H
#define HONE_IR_SELECTIONBIAS_H

#include "hone/IR/Hone.h"

namespace hone {

namespace attr {
/// On a bias: its counts, and by how much a step moves it.
constexpr llvm::StringLiteral balance = "hone.balance";
} // namespace attr

/// A bias and its counts, by the numbers of their arguments.
struct SelectionBias {
  unsigned bias, counts;
  double rate; ///< by how much a step moves an element
};

/// The biases of `func`, @forward or @gradient, in the order of arguments.
/// Reports what their attributes ask for and the function lacks.
mlir::FailureOr<llvm::SmallVector<SelectionBias>>
findSelectionBiases(mlir::func::FuncOp func);

/// Whether `value` is an attribute `hone.balance`: {counts, rate}.
bool isBalance(mlir::Attribute value);

} // namespace hone

#endif // HONE_IR_SELECTIONBIAS_H
