//===- PositionAnalysis.h - Which dimensions run along tokens ---*- C++ -*-===//
//
// The forward graph computes all positions of all sequences of a batch at once.
// This analysis says along which dimensions of each value sequences and
// positions lie, and rejects ops that combine several of either.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_TRANSFORMS_STEP_POSITIONANALYSIS_H
#define HONE_LIB_TRANSFORMS_STEP_POSITIONANALYSIS_H

#include "hone/IR/Hone.h"

#include "llvm/ADT/MapVector.h"

#include <optional>

namespace hone {

/// What an index counts: sequences of the batch, positions of a sequence, or
/// anything else.
enum class Axis { Other, Batch, Position };

/// Indices of one axis, `size` of them.
struct Run {
  Axis axis;
  int64_t size;

  bool operator==(const Run &other) const {
    return axis == other.axis && size == other.size;
  }
};

/// The runs that a dimension merges, the slowest first; those of size 1 are
/// left out. All other elements of a dimension are one run.
using DimRuns = llvm::SmallVector<Run, 2>;
using TensorRuns = llvm::SmallVector<DimRuns>;

/// Whether the dimension counts neither sequences nor positions.
bool isPlain(llvm::ArrayRef<Run> runs);
/// Elements along the dimension for one position of one sequence.
int64_t sizeOfOne(llvm::ArrayRef<Run> runs);
/// The runs of a tensor that counts neither.
TensorRuns plainRuns(mlir::Value value);

/// The runs of each factor of an op; no runs: a factor that counts neither.
using FactorRuns = llvm::SmallVector<DimRuns>;

/// Assigns the runs of a dimension to its factors, and adds them to `found`.
/// Fails where a factor would have a part of a run, already has others, is cut,
/// or its iterations are not independent.
mlir::LogicalResult addRuns(const DimensionMapping &mapping,
                            const DimensionFactors &factors,
                            llvm::ArrayRef<Run> runs, FactorRuns &found);

/// The runs of a dimension of a tensor that has `size` elements along
/// `factors`; nothing where it has a part of a run, other than its beginning.
std::optional<DimRuns> runsOf(const DimensionFactors &factors, int64_t size,
                              const FactorRuns &found);

/// The input of role tokens, [batch, position]. Reports that there is none, or
/// that it has another shape.
mlir::FailureOr<mlir::BlockArgument> findTokenInput(mlir::func::FuncOp func);

class PositionAnalysis {
public:
  /// Analyses what `value` is computed from. `tokens`, `[batch, position]`, are
  /// the ids of the input. Reports the first op that combines positions or
  /// sequences and is no causal attention: it cannot do what `purpose` says.
  /// What counts documents (`hone.of_document`) is taken as it is.
  static mlir::FailureOr<PositionAnalysis>
  run(mlir::Value value, mlir::BlockArgument tokens, llvm::StringRef purpose);

  /// The runs of a value that depends on the tokens; null of one that does not.
  const TensorRuns *find(mlir::Value value) const {
    auto it = runs.find(value);
    return it == runs.end() ? nullptr : &it->second;
  }
  /// The runs of the factors of an op that depends on the tokens.
  FactorRuns factorsOf(mlir::Operation *op,
                       const DimensionMapping &mapping) const;
  /// The ops that compute the value, in order.
  llvm::ArrayRef<mlir::Operation *> ops() const { return needed; }

private:
  bool dependsOnTokens(mlir::Operation *op) const;
  mlir::InFlightDiagnostic reject(mlir::Operation *op) const;
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitAttention(AttentionOp op);

  llvm::StringRef purpose;
  int64_t batch = 0, positions = 0;
  llvm::DenseMap<mlir::Value, TensorRuns> runs;
  llvm::SmallVector<mlir::Operation *> needed;
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_STEP_POSITIONANALYSIS_H
