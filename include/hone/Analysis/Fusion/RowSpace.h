//===- RowSpace.h - Ops as one loop over rows and columns -------*- C++ -*-===//
//
// Decides whether a set of primitive ops can run as one kernel over a space of
// `rows` x `cols` elements, and what each value is in that space: an element
// per point, per row, per column, or one. The fusion analysis asks whether a
// set fits; the emitters ask for the roles. Both targets share this file.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_FUSION_ROWSPACE_H
#define HONE_ANALYSIS_FUSION_ROWSPACE_H

#include "hone/IR/Hone.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace hone {

/// What a value is at a point (row, col) of the space.
enum class Role {
  Full,   ///< element row * cols + col
  Row,    ///< element row
  Col,    ///< element col
  Cyclic, ///< element (row mod period) * cols + col: repeats along leading rows
  Scalar, ///< the only element
  Key,    ///< the key of a random op, read whole
  Table,  ///< a matrix of which each row of the space picks one row
  ColumnSum, ///< sum over rows: a result that no op of the set reads
  TotalSum,  ///< sum over everything, of a Full or Row value: likewise
  TotalMax   ///< largest magnitude of a Full value: likewise
};

/// Roles of every value that a set of ops reads or makes.
class RowSpace {
public:
  /// The space in which `op` alone runs, if it can run in one.
  static std::optional<RowSpace> of(mlir::Operation *op);
  /// The set `ops`, in program order, in a space of the given size; fails when
  /// a value would have two roles, or an op has no place in a row space.
  static std::optional<RowSpace> of(llvm::ArrayRef<mlir::Operation *> ops,
                                    int64_t rows, int64_t cols);
  /// The set in the largest space that any of its ops suggests. On failure,
  /// `why` says why none holds it.
  static std::optional<RowSpace> find(llvm::ArrayRef<mlir::Operation *> ops,
                                      llvm::StringRef *why = nullptr);
  /// The body of a group or launch: the one space that fusion, the verifier,
  /// scratch sizes and emitters agree on.
  static std::optional<RowSpace> of(mlir::Block &body);

  int64_t rows() const { return numRows; }
  int64_t cols() const { return numCols; }
  Role role(mlir::Value value) const { return roles.lookup(value); }
  /// Rows after which a Cyclic value repeats.
  int64_t period(mlir::Value value) const;
  /// Whether any op reduces: without one, the set is a flat map.
  bool hasReduction() const { return reduces; }
  /// Whether a result is a ColumnSum or TotalSum: partial sums per chunk of
  /// rows, added in a second stage.
  bool hasPartialSums() const { return partialSums; }

  /// Whether a kernel of the space can walk the buffer of `value`, an argument
  /// or a result of the set, with these strides: rows at one distance, which
  /// are the space's where it has an element per point.
  bool canWalk(mlir::Value value, llvm::ArrayRef<int64_t> strides) const;

  /// Whether a kernel of the space may write element i of `result` over element
  /// i of `argument`. Both must be at point i. Then only the threads that write
  /// a row read it, and only the last sweep over it writes, after the
  /// reductions of the row; it loads a point before it stores there. What has
  /// fewer elements than there are points is read by threads of other rows, at
  /// any time. A sum over rows is at no point: a second kernel writes it, and
  /// reads partial sums alone. A largest magnitude grows while rows are read.
  bool mayOverwrite(mlir::Value result, mlir::Value argument) const;

private:
  RowSpace(int64_t rows, int64_t cols) : numRows(rows), numCols(cols) {}
  bool infer(llvm::ArrayRef<mlir::Operation *> ops);
  bool propagate(llvm::ArrayRef<mlir::Operation *> ops);
  bool assign(mlir::Value value, Role role, bool &changed);
  bool visit(mlir::Operation *op, bool &changed);
  bool visitBroadcast(BroadcastOp op, bool &changed);
  bool visitReduce(ReduceOp op, bool &changed);
  bool visitAmax(AmaxOp op, bool &changed);
  bool unify(mlir::ValueRange values, bool &changed);

  int64_t numRows, numCols;
  bool reduces = false, partialSums = false;
  bool readsSum = false; // an op reads what is complete only after the kernel
  llvm::DenseMap<mlir::Value, Role> roles;
};

/// Whether an op can be part of a row space at all (a primitive map, a sum, a
/// row reduction, a gather of rows, or a reshape).
bool isRowSpaceOp(mlir::Operation *op);

/// Rows per chunk of partial sums, of which there are at most `limit`: a fact
/// of the target. The number of chunks depends on nothing else, so that results
/// do not depend on the number of threads.
inline int64_t rowsPerChunk(int64_t rows, int64_t limit) {
  return std::max<int64_t>(1, (rows + limit - 1) / limit);
}
inline int64_t numChunks(int64_t rows, int64_t limit) {
  int64_t perChunk = rowsPerChunk(rows, limit);
  return (rows + perChunk - 1) / perChunk;
}

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_ROWSPACE_H
