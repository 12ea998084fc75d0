//===- RoutingAnalysis.h - What indices of routed rows mean -----*- C++ -*-===//
//
// A mixture of experts sorts its slots, one for each expert of each token, by
// expert. Front ends spell out how with many ops on integers. The analysis says
// what the elements of each of these values are.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_SHARDING_EXPERTS_ROUTINGANALYSIS_H
#define HONE_LIB_SHARDING_EXPERTS_ROUTINGANALYSIS_H

#include "hone/Analysis/Values/IntegerRanges.h"

namespace hone::dist {

/// What the elements of a value are: all are in [low, high].
struct RoutedValue {
  enum Kind {
    Number, ///< nothing more is known
    Slot,   ///< numbers of slots, over `divisor`
    Place,  ///< of each slot, its place in the order of experts
    Expert, ///< what `table` has for the expert of the slot
    Counts, ///< how many slots each expert has
    Ends    ///< running sums of these
  };
  Kind kind = Number;
  double low = 0, high = 0;
  /// The experts of all slots, by which they are sorted; null for slots in
  /// their own order, of any routing.
  mlir::Value ids;
  bool isSorted = false; ///< elements are in the order of experts
  int64_t divisor = 1;
  llvm::SmallVector<double> table;

  bool isConstant() const { return low == high; }
};

class RoutingAnalysis {
public:
  explicit RoutingAnalysis(mlir::func::FuncOp func);

  /// Nothing where the elements are not integers, and not made of them.
  std::optional<RoutedValue> lookup(mlir::Value value) const;
  /// Whether `value` is of a kind and of a routing, in the order of experts if
  /// it has an element for each slot.
  bool is(mlir::Value value, RoutedValue::Kind kind, mlir::Value ids) const;
  /// As many as the largest number in `ids` says.
  int64_t expertsOf(mlir::Value ids) const;

private:
  bool isExpert(mlir::Value ids) const;
  void visit(mlir::Operation *op);
  std::optional<RoutedValue> infer(mlir::Operation *op) const;
  std::optional<RoutedValue> inferOrder(mlir::Operation *op) const;
  std::optional<RoutedValue>
  inferElements(mlir::Operation *op,
                llvm::ArrayRef<RoutedValue> operands) const;

  IntegerRanges ranges;
  llvm::DenseMap<mlir::Value, RoutedValue> values;
};

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_EXPERTS_ROUTINGANALYSIS_H
