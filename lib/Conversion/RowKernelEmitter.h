//===- RowKernelEmitter.h - Emitter of one row kernel -----------*- C++ -*-===//
//
// A row is visited in sweeps: a sweep can use every row reduction of the
// sweeps before it, and the last one writes all results, so that a result may
// lie on an operand. Cheap values are recomputed in each sweep that reads
// them, from a row that is in cache after the first; costly ones are kept.
// Sums use four accumulators per lane, one tree and one reassociated lane sum,
// whatever the target (docs/design.md, Kernels).
//
// RowValues.cpp makes values at a point, RowSweeps.cpp the sweeps of a row,
// RowKernels.cpp the loops around.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CONVERSION_ROWKERNELEMITTER_H
#define HONE_LIB_CONVERSION_ROWKERNELEMITTER_H

#include "hone/Analysis/RowSpace.h"
#include "hone/Conversion/Kernel.h"
#include "hone/Plan/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace hone {

/// Where the code being emitted stands.
struct Point {
  mlir::Value row;  // index; the only row of a flat map is null
  mlir::Value col;  // index of the first lane
  mlir::Value mask; // lanes inside the row, null when all are
  mlir::DenseMap<mlir::Value, mlir::Value> cache; // vectors made at this point
};

class RowKernelEmitter {
public:
  RowKernelEmitter(mlir::OpBuilder &builder, plan::LaunchOp launch)
      : builder(builder), launch(launch), loc(launch.getLoc()) {}

  mlir::LogicalResult prepare(mlir::StringRef name);
  Kernel emitMain();
  Kernel emitSums();

private:
  // Types and constants.
  static constexpr int64_t lanes = kernelLanes;
  static constexpr int64_t unroll = 4;

  mlir::Value index(int64_t value) {
    return builder.create<mlir::arith::ConstantIndexOp>(loc, value);
  }
  mlir::Type elementOf(mlir::Value value) {
    return mlir::getElementTypeOrSelf(value.getType());
  }
  mlir::VectorType vectorOf(mlir::Type element) {
    return mlir::VectorType::get(lanes, element);
  }
  mlir::Value add(mlir::Value a, int64_t b) {
    return b == 0 ? a : builder.create<mlir::arith::AddIOp>(loc, a, index(b));
  }
  mlir::Value broadcast(mlir::Value scalar) {
    return builder.create<mlir::vector::BroadcastOp>(
        loc, vectorOf(scalar.getType()), scalar);
  }

  // Memory.
  mlir::Value bufferOf(mlir::Value value) { return buffers.lookup(value); }
  mlir::Value loadVector(mlir::Value value, Point &at, mlir::Value offset);
  mlir::Value loadScalar(mlir::Value value, mlir::Value offset);
  void storeVector(mlir::Value data, mlir::Value buffer, mlir::Value offset,
                   mlir::Value mask);
  void storeScalar(mlir::Value data, mlir::Value buffer, mlir::Value offset);
  mlir::Value flatIndex(mlir::Value row, mlir::Value col);
  mlir::Value offsetIn(mlir::Value buffer, mlir::Value row, mlir::Value col);
  mlir::Value rowOffsetIn(mlir::Value buffer, mlir::Value row);
  int64_t rowStride(mlir::Value buffer) {
    auto found = strided.find(buffer);
    return found == strided.end() ? space->cols() : found->second.stride;
  }

  // Values.
  Role role(mlir::Value value) { return space->role(value); }
  bool isSplat(mlir::Value value);
  mlir::Value splatVector(mlir::Value value);
  mlir::Value splatScalar(mlir::Value value);
  mlir::Value vectorAt(mlir::Value value, Point &at);
  mlir::Value computeVector(mlir::Operation *op, Point &at);
  mlir::Value iotaVector(IotaOp op, Point &at);
  mlir::Value rowValue(mlir::Value value, mlir::Value row);
  mlir::Value computeScalar(mlir::Operation *op, mlir::Value row);
  mlir::Value iotaScalar(IotaOp op, mlir::Value row);
  mlir::Value laneCounter(mlir::Value first);
  mlir::Value maskOfFirst(int64_t count);
  mlir::Value dimIndex(mlir::RankedTensorType type, int64_t dim,
                       mlir::Value row);

  // Sweeps.
  int64_t level(mlir::Value value);
  void makeRowValues(mlir::Value row, int64_t sweep);
  void planRowCache();
  void collectCostly(mlir::Value value,
                     llvm::SmallPtrSetImpl<mlir::Operation *> &seen);
  void endSweep();
  void prefetchNextRow(Point &at);
  void emitColumns(mlir::ArrayRef<mlir::Value> inits,
                   mlir::function_ref<mlir::SmallVector<mlir::Value>(
                       Point &, mlir::ValueRange, int64_t)>
                       body,
                   mlir::Value row,
                   mlir::SmallVectorImpl<mlir::Value> &results);
  void accumulate(ReduceOp op, Point &at, mlir::Value &accumulator);
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
  mlir::Value identity(ReduceOp op);

  // Kernels.
  void emitWhere(mlir::Value at, int64_t value,
                 mlir::function_ref<void()> emit);
  void sumColumns(mlir::Value col, mlir::Value mask);
  void sumTotals();
  Kernel emitFlat();
  Kernel emitRows();
  Kernel emitChunks();

  struct Sum {
    ReduceOp op;
    mlir::Value output, scratch; // buffers
  };

  mlir::OpBuilder &builder;
  plan::LaunchOp launch;
  mlir::Location loc;
  std::optional<RowSpace> space;
  mlir::func::FuncOp func;
  mlir::Value lo, hi;
  mlir::DenseMap<mlir::Value, mlir::Value> buffers; // block argument -> memref
  /// Buffers that are parts of wider ones: rows of `width` elements lie
  /// `stride` elements apart.
  struct RowLayout {
    int64_t width, stride;
  };
  mlir::DenseMap<mlir::Value, RowLayout> strided;
  static std::optional<RowLayout> layoutOf(mlir::MemRefType type);
  mlir::SmallVector<std::pair<mlir::Value, mlir::Value>>
      outputs; // yielded, memref
  mlir::SmallVector<Sum> columnSums, totalSums;
  mlir::DenseMap<mlir::Value, int64_t> levels;
  mlir::DenseMap<mlir::Value, mlir::Value>
      scalars; // made outside of the row loop
  mlir::DenseMap<mlir::Value, mlir::Value> rowCache; // made in the current row
  mlir::DenseMap<mlir::Value, mlir::Value> keys;     // Philox keys
  /// Costly values that several sweeps read: a row of each on the stack,
  /// which the first of them fills.
  struct CachedRow {
    mlir::Value memory;
    bool made = false;   // in the sweep being emitted
    bool filled = false; // by a sweep before it
  };
  mlir::DenseMap<mlir::Value, CachedRow> cachedRows;
  bool hasScalarOutput = false;
};

} // namespace hone

#endif // HONE_LIB_CONVERSION_ROWKERNELEMITTER_H
