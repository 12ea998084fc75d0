//===- RowValues.h - Values of a row kernel at a point ----------*- C++ -*-===//
//
// What the emitters of row kernels share, whatever the target: a vector of
// elements of any value of the launch's body, from its role in the row space
// (Analysis/RowSpace.h). A target says how it reads memory.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_COMMON_ROWVALUES_H
#define HONE_LIB_CODEGEN_COMMON_ROWVALUES_H

#include "hone/Analysis/Fusion/RowSpace.h"
#include "hone/Analysis/Layout/Strides.h"
#include "hone/Plan/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace hone {

/// Where the code being emitted stands.
struct Point {
  mlir::Value row;  // index; the only row of a flat map is null
  mlir::Value col;  // index of the first lane
  mlir::Value mask; // what is inside the row, null when all is: of the lanes a
                    // vector, or one bit for all of them
  mlir::DenseMap<mlir::Value, mlir::Value> cache; // vectors made at this point
};

/// A result of the launch that is summed over rows.
struct RowSum {
  ReduceOp op;
  mlir::Value output, scratch; // buffers
};

/// A result of the launch that is the largest magnitude of all points. Its
/// buffer holds 0 when the kernel begins, and then the bits of the largest so
/// far, which are ordered as magnitudes are: the same in any order.
struct RowLargest {
  AmaxOp op;
  mlir::Value output; ///< buffer
};

/// Whether the launch is a map in which every value has one element per point
/// of whole buffers, or one for all: rows and columns do not matter.
bool isFlatMap(plan::LaunchOp launch, const RowSpace &space);

class RowValues {
protected:
  RowValues(mlir::OpBuilder &builder, plan::LaunchOp launch, int64_t lanes)
      : builder(builder), launch(launch), loc(launch.getLoc()), lanes(lanes) {}
  ~RowValues() = default;

  // Memory: what a target does in its own way.

  /// The vector of elements of `value`, an argument or a sum, from number
  /// `offset` on, as they are computed with; where the mask of the point is
  /// off, anything.
  virtual mlir::Value loadVector(mlir::Value value, Point &at,
                                 mlir::Value offset) = 0;
  virtual mlir::Value loadScalar(mlir::Value value, mlir::Value offset) = 0;
  /// Seed, step and micro-step of a key, as `vector<3xi64>`.
  virtual mlir::Value loadKey(mlir::Value argument) = 0;
  /// Random words of the elements from number `first` (an index) on, as i32;
  /// a multiple of 4 if the lanes are too and `inCounters`.
  virtual mlir::Value loadWords(mlir::Value first, mlir::Value salt,
                                mlir::Value key, bool inCounters);
  /// A vector of `value` at a point, made once per point.
  virtual mlir::Value vectorAt(mlir::Value value, Point &at);

  /// Finds the row space and what each of `arguments` is, those of the kernel
  /// for the launch's inputs, outputs and scratch. Without a space, an error at
  /// the launch.
  mlir::LogicalResult bind(mlir::ValueRange arguments);

  mlir::Value index(int64_t value) {
    return builder.create<mlir::arith::ConstantIndexOp>(loc, value);
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

  Role role(mlir::Value value) { return space->role(value); }
  bool isSplat(mlir::Value value);
  /// Whether one element serves all points, and no constant makes it.
  bool isMadeScalar(mlir::Value value) {
    return !isSplat(value) && role(value) == Role::Scalar;
  }
  /// A value of role Row (at `row`) or Scalar.
  mlir::Value rowValue(mlir::Value value, mlir::Value row);
  /// Number of the element at a point, of a value with one per point.
  mlir::Value flatIndex(mlir::Value row, mlir::Value col);
  /// The same in a buffer, whose rows may be parts of wider ones.
  mlir::Value offsetIn(mlir::Value buffer, mlir::Value row, mlir::Value col);
  /// The element of a buffer with one per row, whose own last dimension may be
  /// part of a wider one.
  mlir::Value rowOffsetIn(mlir::Value buffer, mlir::Value row);
  /// Where an argument or a sum lies. What a kernel makes lies nowhere: asking
  /// for it is an error at the value, and `checkBuffers` fails.
  mlir::Value bufferOf(mlir::Value value);
  /// Whether all that was read lies somewhere, once everything is emitted.
  mlir::LogicalResult checkBuffers() const {
    return mlir::failure(lacksBuffer);
  }
  /// first, first + 1, ... as i64.
  mlir::Value laneCounter(mlir::Value first);

  /// Number of sweeps that must have ended before `value` can be made: row
  /// reductions on the longest path to it.
  int64_t level(mlir::Value value);
  /// The row reductions, by the sweep that makes them.
  llvm::SmallVector<llvm::SmallVector<ReduceOp>> reductionsBySweep();
  /// Makes every value per row that `sweep` may use, before its loops: what is
  /// made inside a loop is not visible after it.
  void makeRowValues(mlir::Value row, int64_t sweep);
  /// Makes scalars and keys of random ops, before any loop.
  void makeScalars();
  mlir::Value identity(ReduceOp op);
  /// Chunks of rows whose sums lie in scratch.
  int64_t chunkCount() {
    auto type = launch.getScratch().front().getType();
    return mlir::cast<mlir::MemRefType>(type).getDimSize(0);
  }
  /// Adds the element of `op` at a point to an accumulator. What is outside of
  /// the row adds nothing.
  void accumulate(ReduceOp op, Point &at, mlir::Value &accumulator);
  /// Likewise the magnitude, as bits, of what `op` reads there.
  void accumulate(AmaxOp op, Point &at, mlir::Value &bits);
  mlir::Value zeroBits();
  /// The largest of the lanes.
  mlir::Value largestLane(mlir::Value bits);

  mlir::OpBuilder &builder;
  plan::LaunchOp launch;
  mlir::Location loc;
  const int64_t lanes; ///< elements of a vector
  std::optional<RowSpace> space;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers; // argument or sum -> memory
  llvm::DenseMap<mlir::Value, RowLayout>
      strided; // buffers: parts of wider ones
  /// Results but sums and largest magnitudes, and their buffers.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> outputs;
  llvm::SmallVector<RowSum> columnSums, totalSums;
  llvm::SmallVector<RowLargest> magnitudes;
  llvm::DenseMap<mlir::Value, mlir::Value> rowCache; // made in the current row
  llvm::DenseMap<mlir::Value, mlir::Value> keys;     // of random ops
  llvm::DenseMap<mlir::Value, int64_t> levels;       // asked for so far

private:
  mlir::Value splatScalar(mlir::Value value);
  mlir::Value offsetAt(mlir::Value argument, Point &at);
  mlir::Value computeVector(mlir::Operation *op, Point &at);
  mlir::Value iotaVector(IotaOp op, Point &at);
  mlir::Value dropoutVector(DropoutOp op, Point &at);
  mlir::Value firstNumber(DropoutOp op, const Point &at);
  mlir::Value computeScalar(mlir::Operation *op, mlir::Value row);
  mlir::Value iotaScalar(IotaOp op, mlir::Value row);
  mlir::Value dimIndex(mlir::RankedTensorType type, int64_t dim,
                       mlir::Value row);

  llvm::DenseMap<mlir::Value, mlir::Value> scalars; // made outside of rows
  mlir::Value launchBuffer; ///< any: what the target addresses memory by
  bool lacksBuffer = false;
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_ROWVALUES_H
