//===- RowEmitter.h - Emitter of one row kernel -----------------*- C++ -*-===//
//
// A row is visited in sweeps: a sweep can use every row reduction of the
// sweeps before it, and the last one writes all results, so that a result may
// lie on an operand. Cheap values are recomputed in each sweep that reads
// them, from a row that is in cache after the first; costly ones are kept.
// Sums use four accumulators per lane, one tree and one reassociated lane sum,
// whatever the target (docs/design.md, Kernels).
//
// RowValues.cpp makes values at a point, RowMemory.cpp reads and writes them,
// RowSweeps.cpp makes the sweeps of a row, RowKernels.cpp the loops around.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_CPU_ROWEMITTER_H
#define HONE_LIB_CODEGEN_CPU_ROWEMITTER_H

#include "Codegen/Common/RowValues.h"

#include "Codegen/Common/Kernel.h"

namespace hone {

class RowKernelEmitter : RowValues {
public:
  RowKernelEmitter(mlir::OpBuilder &builder, plan::LaunchOp launch)
      : RowValues(builder, launch, kernelLanes) {}

  mlir::LogicalResult prepare(mlir::StringRef name);
  mlir::FailureOr<Kernel> emitMain();
  mlir::FailureOr<Kernel> emitSums();

private:
  static constexpr int64_t unroll = 4;

  // Memory.
  mlir::Value loadVector(mlir::Value value, Point &at,
                         mlir::Value offset) override;
  mlir::Value loadScalar(mlir::Value value, mlir::Value offset) override;
  void storeVector(mlir::Value data, mlir::Value buffer, mlir::Value offset,
                   mlir::Value mask);
  void storeScalar(mlir::Value data, mlir::Value buffer, mlir::Value offset);
  mlir::Value loadKey(mlir::Value argument) override;
  mlir::Value vectorAt(mlir::Value value, Point &at) override;
  mlir::Value maskOfFirst(int64_t count);

  // Sweeps.
  void planRowCache();
  void collectFull(mlir::Value value,
                   llvm::SmallPtrSetImpl<mlir::Operation *> &seen);
  void endSweep();
  void prefetchNextRow(Point &at);
  void emitColumns(mlir::ArrayRef<mlir::Value> inits,
                   mlir::function_ref<mlir::SmallVector<mlir::Value>(
                       Point &, mlir::ValueRange, int64_t)>
                       body,
                   mlir::Value row,
                   mlir::SmallVectorImpl<mlir::Value> &results);
  mlir::Value foldSlots(ReduceOp op, mlir::ArrayRef<mlir::Value> slots);
  void emitReductions(mlir::ArrayRef<ReduceOp> reductions, mlir::Value row);
  void addToColumnSums(Point &at, mlir::Value chunk);
  void emitLastSweep(mlir::ArrayRef<std::pair<mlir::Value, mlir::Value>> full,
                     mlir::ArrayRef<size_t> wideTotals, mlir::Value row,
                     mlir::Value chunk,
                     mlir::SmallVectorImpl<mlir::Value> &totals);
  void emitOutputs(mlir::Value row, mlir::Value chunk,
                   mlir::SmallVectorImpl<mlir::Value> &totals);
  void emitRow(mlir::Value row, mlir::Value chunk,
               mlir::SmallVectorImpl<mlir::Value> &totals);

  // Largest magnitudes: behind the totals of sums, as bits.
  llvm::SmallVector<mlir::Value> startTotals();
  void storeMagnitudes(mlir::ValueRange totals);

  // Kernels.
  mlir::FailureOr<Kernel> finish(Kernel kernel);
  void emitWhere(mlir::Value at, int64_t value,
                 mlir::function_ref<void()> emit);
  void sumColumns(mlir::Value col, mlir::Value mask);
  void sumTotals();
  Kernel emitFlat();
  Kernel emitRows();
  Kernel emitChunks();

  mlir::func::FuncOp func;
  mlir::Value lo, hi;
  /// Costly values that several sweeps read: a row of each on the stack,
  /// which the first of them fills.
  struct CachedRow {
    mlir::Value memory;
    bool made = false;   // in the sweep being emitted
    bool filled = false; // by a sweep before it
  };
  mlir::DenseMap<mlir::Value, CachedRow> cachedRows;
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_ROWEMITTER_H
