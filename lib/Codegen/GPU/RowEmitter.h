//===- RowEmitter.h - Emitter of one row kernel on a GPU --------*- C++ -*-===//
//
// As on the CPU, a row is visited in sweeps, each of which can use the row
// reductions of those before; the last writes all results, so that a result may
// lie on an operand. A thread visits only vectors of its own. Where a row's
// vectors are held, every value is made once; longer rows are recomputed by
// each sweep.
//
// Codegen/GPU/RowShape.h says how threads share a row, Codegen/GPU/Threads.h
// joins their partial results. Codegen/GPU/RowMemory.cpp reads and writes,
// Codegen/GPU/RowSweeps.cpp walks over long rows, Codegen/GPU/RowSums.cpp adds
// over rows, Codegen/GPU/RowKernels.cpp does the rest.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_GPU_ROWEMITTER_H
#define HONE_LIB_CODEGEN_GPU_ROWEMITTER_H

#include "Codegen/Common/RowValues.h"
#include "RowShape.h"
#include "Threads.h"

namespace hone {

class DeviceRowEmitter : RowValues {
public:
  DeviceRowEmitter(mlir::OpBuilder &builder, plan::LaunchOp launch,
                   const DeviceRowShape &shape)
      : RowValues(builder, launch, shape.lanes), shape(shape),
        threads(builder, launch.getLoc()) {}

  mlir::FailureOr<GridKernel> emitMain(llvm::StringRef name);
  mlir::FailureOr<GridKernel> emitSums(llvm::StringRef name);

private:
  using Values = llvm::SmallVector<mlir::Value>;
  /// What is done with a vector; values that it changes are carried on.
  using PointBody = llvm::function_ref<void(Point &, Values &, int64_t tile)>;

  llvm::SmallVector<mlir::Type> addressTypes();

  // Memory.
  mlir::Value address(mlir::Value pointer, mlir::Type element,
                      mlir::Value offset);
  mlir::Value loadVector(mlir::Value value, Point &at,
                         mlir::Value offset) override;
  mlir::Value loadScalar(mlir::Value value, mlir::Value offset) override;
  mlir::Value loadKey(mlir::Value argument) override;
  mlir::Value loadWords(mlir::Value first, mlir::Value salt, mlir::Value key,
                        bool inCounters) override;
  void storeVector(mlir::Value data, mlir::Value buffer, mlir::Type element,
                   mlir::Value offset);
  void storeScalar(mlir::Value data, mlir::Value buffer, mlir::Type element,
                   mlir::Value offset);

  // Control flow.
  mlir::Value less(mlir::Value a, int64_t b);
  mlir::Value isZero(mlir::Value value);
  /// Runs `emit` where `condition` holds; without one, everywhere.
  void emitIf(mlir::Value condition, llvm::function_ref<void()> emit);

  // A row.
  bool isFull(mlir::Value value) {
    return isSplat(value) || role(value) == Role::Full;
  }
  Point pointAt(mlir::Value row, mlir::Value vector, mlir::Value mask);
  void forTiles(mlir::Value row, Values &carried, PointBody body);
  void startRow(mlir::Value row);
  Values joinThreads(llvm::ArrayRef<ReduceKind> kinds,
                     llvm::ArrayRef<mlir::Value> accumulators);
  void emitReductions(llvm::ArrayRef<ReduceOp> reductions, mlir::Value row);
  void emitSweeps(mlir::Value row);
  void storeFull(Point &at);
  void storeRowResults(mlir::Value row, mlir::Value isFirst);
  Values startMagnitudes() { return Values(magnitudes.size(), zeroBits()); }
  void addMagnitudes(Point &at, llvm::MutableArrayRef<mlir::Value> bits);
  void storeMagnitudes(llvm::ArrayRef<mlir::Value> bits);

  // Long rows.
  mlir::Value repeatedInRow(mlir::Value value);
  bool mayApproximate(ExpOp exp);
  mlir::Value approximated(ExpOp exp, mlir::Value value);
  mlir::Value vectorAt(mlir::Value value, Point &at) override;
  bool isColumnNumber(mlir::Value value);
  mlir::Value uniformCondition(CmpOp cmp, mlir::Value col, bool &answer);
  mlir::Value assumeUniform(Point &at);
  void readAhead(Point &at);
  void visit(llvm::MutableArrayRef<Point> points, Values &carried,
             PointBody body);
  void loopOver(mlir::Value row, mlir::Value from, mlir::Value to, int64_t step,
                llvm::ArrayRef<int64_t> distances, Values &carried,
                PointBody body);
  void sweep(mlir::Value row, Values &carried, PointBody body);
  bool readLabel(ReduceOp reduce, mlir::Value row);
  mlir::Value expBelow(ReduceOp sum, mlir::Value x, mlir::Value shift);
  mlir::Value finiteShift(mlir::Value max);
  void addToNormalizer(ReduceOp max, ReduceOp sum, Point &at,
                       llvm::MutableArrayRef<mlir::Value> carried);
  void emitNormalizer(ReduceOp max, ReduceOp sum, mlir::Value row);
  void takeNormalizer(llvm::MutableArrayRef<llvm::SmallVector<ReduceOp>> sweeps,
                      size_t number, mlir::Value row);

  // Sums over rows.
  Values startSums();
  size_t firstTotal() const {
    return shape.isHeld ? columnSums.size() * shape.tiles : 0;
  }
  /// Largest magnitudes of a chunk follow its sums.
  size_t firstMagnitude() const { return firstTotal() + totalSums.size(); }
  void clearColumns();
  void addToSums(Point &at, Values &sums, int64_t tile);
  void emitChunkRow(mlir::Value row, Values &sums);
  void storeSums(llvm::ArrayRef<mlir::Value> sums);
  mlir::Value sumChunks(RowSum &sum, mlir::Value first, int64_t step,
                        llvm::function_ref<mlir::Value(mlir::Value)> load);
  void sumColumns(mlir::Value block);
  void sumTotals();

  Values emitItem(mlir::Value item);
  void emitMap();
  void emitRows();
  void emitChunks();
  mlir::LogicalResult storeScalars();

  const DeviceRowShape shape;
  DeviceThreads threads;
  mlir::Value thread;      ///< number among those of its row
  mlir::Value chunk;       ///< where rows come in chunks
  mlir::Value firstVector; ///< of the columns that this block has; null: 0
  llvm::SmallVector<Point> tiles; ///< of the current row, where it is held
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_ROWEMITTER_H
