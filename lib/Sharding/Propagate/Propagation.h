//===- Propagation.h - Shardings of values from some of them ----*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_PROPAGATE_PROPAGATION_H
#define HONE_LIB_SHARDING_PROPAGATE_PROPAGATION_H

#include "Sharding/Model/ShardingRule.h"

namespace hone::dist {

/// Spreads the shardings of annotations over the values of one global function:
/// those of its arguments and results, and of `dist.constrain`.
///
/// Level by level of priority, the annotated dimensions of that priority get
/// their axes; then ops that pass everything through, and then all ops, share
/// the division of each factor among the tensors that have it, until nothing
/// changes (GSPMD's and Shardy's order). A factor takes what all its tensors
/// can have: the longest common beginning of their axes. An axis divides one
/// dimension of a tensor and one factor of an op; it never takes a closed
/// dimension, nor one that an annotation of another level reserves it for.
class Propagation {
public:
  /// Reports ops without a rule and annotations that are wrong.
  static mlir::FailureOr<Propagation> run(mlir::func::FuncOp func,
                                          const Mesh &mesh);

  /// Partial only as annotated.
  const Sharding &of(mlir::Value value) const {
    return states.find(value)->second.sharding;
  }
  /// The annotation that a dimension got its axes from, in words; null where it
  /// is the value's own.
  mlir::StringAttr sourceOf(mlir::Value value, unsigned dim) const {
    return states.find(value)->second.dims[dim].source;
  }
  /// The priority at which a dimension got its axes; 0 the first.
  int64_t priorityOf(mlir::Value value, unsigned dim) const {
    return states.find(value)->second.dims[dim].priority;
  }

private:
  /// What an annotation wants of a dimension, and what came of it.
  struct DimState {
    bool isClosed = false;
    DimShards expected;
    int64_t expectedAt = -1; ///< level; -1: there is no annotation
    int64_t priority = 0;
    mlir::StringAttr source;
  };
  struct State {
    Sharding sharding;
    llvm::SmallVector<DimState> dims;
  };
  struct OpRule {
    mlir::Operation *op;
    ShardingRule rule;
    bool isPassThrough;
  };

  explicit Propagation(const Mesh &mesh) : mesh(mesh) {}

  mlir::LogicalResult collect(mlir::func::FuncOp func);
  mlir::LogicalResult annotate(mlir::Value value, ShardingAttr attr,
                               llvm::function_ref<mlir::InFlightDiagnostic()>);
  void number(mlir::Value value);
  void enterLevel(int64_t level);
  void settle(bool passThroughOnly);
  bool visit(const OpRule &op);
  bool visitFactor(const OpRule &op, unsigned factor);
  mlir::StringAttr describe(mlir::Value value, unsigned dim) const;
  bool isFree(const OpRule &op, unsigned factor, unsigned axis) const;
  bool accepts(const OpRule &op, unsigned tensor, unsigned dim,
               const DimShards &shards) const;
  mlir::Value tensorOf(const OpRule &op, unsigned tensor) const;

  const Mesh &mesh;
  int64_t level = 0;
  llvm::DenseMap<mlir::Value, State> states;
  llvm::SmallVector<mlir::Value> values; ///< in order of appearance
  std::vector<OpRule> ops;
};

/// Where a value has an annotation of its own: "argument 'w'", "argument 2",
/// "the constraint at model.py:12:3".
std::string describeAnnotation(mlir::Value value);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_PROPAGATE_PROPAGATION_H
