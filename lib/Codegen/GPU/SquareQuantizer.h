//===- SquareQuantizer.h - The kernel that makes codes of fp8 ---*- C++ -*-===//
//
// A block has a square of 128 x 128 elements: a thread has 8 rows of 8 columns
// in registers, 16 threads a row, a warp 16 rows. So a row's largest magnitude
// is found in half a warp, a column's in shared memory, and every tile that
// codes have scales of lies in one block. Codes of the transpose are put
// together in shared memory.
//
// Instead of codes, the largest magnitude of all squares can be found.
//
// The matrix is an input, or what elementwise ops and rotations make of inputs:
// parts side by side, of which a square has elements of one.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_GPU_SQUAREQUANTIZER_H
#define HONE_LIB_CODEGEN_GPU_SQUAREQUANTIZER_H

#include "Builder.h"
#include "Codegen/Common/SourceValues.h"
#include "hone/Analysis/Memory/Scratch.h"
#include "hone/IR/Fp8.h"
#include "hone/Plan/Plan.h"

#include <optional>

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace hone::square {

constexpr int64_t side = codesRows, blockThreads = 256, warps = 8;
/// Elements of a thread along a row, and rows of a thread.
constexpr int64_t lanes = 8, threadRows = 8;
/// Threads that share a row, and groups of `threadRows` rows.
constexpr int64_t rowThreads = side / lanes, rowGroups = side / threadRows;
/// Words between columns of codes in shared memory: an odd number, so that they
/// lie in all banks.
constexpr int64_t wordPitch = side / 4 + 1;

/// Four codes, the first in the lowest byte, of f32 that are divided by their
/// scale already: i32.
mlir::Value encodeWord(DeviceBuilder &b, llvm::ArrayRef<mlir::Value> scaled,
                       honert::Fp8Format format);
/// The elements of a vector of `lanes`.
llvm::SmallVector<mlir::Value> elementsOf(DeviceBuilder &b, mlir::Value vector);

/// One op of the launch: where its results go.
struct CodesOutput {
  QuantizeOp op;
  mlir::Value codes, scales, amax; ///< addresses; scales may be null
  honert::ScaleLayout layout;
  honert::Fp8Format format;
  int64_t codesOffset; ///< in the arena

  bool isTransposed() const { return QuantizeOp(op).getTransposed(); }
  honert::ScaleTile tile() const { return layout.tile; }
};

/// A matrix in memory, or a vector, of which each row of a matrix is a copy.
struct MatrixInput {
  mlir::Value address;
  mlir::Type element;
  int64_t cols, pitch; ///< elements of a row, and from one row to the next
  bool isWide;         ///< rows are read in vectors
};

class QuantizeEmitter : SourceValues {
public:
  QuantizeEmitter(DeviceBuilder &b, plan::LaunchOp launch)
      : SourceValues(b, lanes), b(b), launch(launch) {}
  mlir::FailureOr<GridKernel> emit(llvm::StringRef name);

private:
  /// Of a tile: its largest magnitude as bits, the exponent of its scale, and
  /// what its elements are multiplied by.
  struct Scale {
    mlir::Value amax, exponent, inverse;
  };

  mlir::LogicalResult readOps();
  void readArguments(mlir::gpu::GPUFuncOp func);
  mlir::Value shared(mlir::gpu::GPUFuncOp func, int64_t count);
  MatrixInput readInput(mlir::gpu::GPUFuncOp func, unsigned number);
  mlir::LogicalResult checkSource();
  mlir::LogicalResult checkSums();
  // What the square holds.
  void loadSquare();
  mlir::Value loadRow(const MatrixInput &input, mlir::Value row,
                      mlir::Value col);
  mlir::Value loadInput(mlir::BlockArgument input, Place &at) override;
  mlir::Value loadColumns(mlir::BlockArgument input, Place &at) override;
  mlir::Value loadRowScalar(mlir::BlockArgument argument, Place &at) override;
  mlir::Value computeRotation(RopeOp op, Place &at) override;
  const MatrixInput &inputOf(mlir::Value argument) const {
    return inputs[mlir::cast<mlir::BlockArgument>(argument).getArgNumber()];
  }
  mlir::Value zeroOutside(mlir::Value made, mlir::Value row);
  llvm::SmallVector<mlir::Value> rowsOf(mlir::Value value, mlir::Value col);
  llvm::SmallVector<mlir::Value> rowsOfParts(mlir::ValueRange parts,
                                             int64_t first);
  void emitSums();
  void emitLargest();
  void emitRows(const CodesOutput &out);
  std::optional<Scale> commonScale(const CodesOutput &out);
  Scale scaleOfRow(const CodesOutput &out, int64_t number, mlir::Value row);
  void storeRowCodes(const CodesOutput &out, mlir::Value row, mlir::Value low,
                     mlir::Value high);
  void emitColumns(const CodesOutput &out);
  llvm::SmallVector<mlir::Value> inversesOfColumns(const CodesOutput &out);
  mlir::Value amaxOfSquare();
  void findColumnAmaxes(const CodesOutput &out, int64_t groups);
  void findColumnAmax(const CodesOutput &out, int64_t groups,
                      mlir::Value entry);
  void storeColumnCodes(const CodesOutput &out);

  // Scales.
  Scale scaleOf(mlir::Value amax, const CodesOutput &out);
  mlir::Value scaleIndex(const honert::ScaleLayout &layout, mlir::Value tileRow,
                         mlir::Value tileColumn);
  void storeScale(const CodesOutput &out, const Scale &scale,
                  mlir::Value tileRow, mlir::Value tileColumn);
  void storeOneScale(const CodesOutput &out, const Scale &scale);
  void storeBlockScale(const CodesOutput &out, const Scale &scale,
                       mlir::Value tileRow, mlir::Value tileColumn);

  mlir::Value sharedLoad(mlir::Value memory, mlir::Value at) {
    return b.create<mlir::memref::LoadOp>(memory, b.asIndex(at));
  }
  void sharedStore(mlir::Value value, mlir::Value memory, mlir::Value at) {
    b.create<mlir::memref::StoreOp>(value, memory, b.asIndex(at));
  }
  mlir::Value both(mlir::Value x, mlir::Value y) {
    return x && y ? b.both(x, y) : x ? x : y;
  }
  /// `position < size`, or null where `size` is a multiple of `step` (0: none)
  /// so that it always holds.
  mlir::Value inside(mlir::Value position, int64_t size, int64_t step) {
    bool isAlways = step != 0 && size != 0 && size % step == 0;
    return isAlways ? mlir::Value() : b.less(position, size);
  }
  void emitIf(mlir::Value condition, llvm::function_ref<void()> emit) {
    condition ? b.emitIf(condition, emit) : emit();
  }

  DeviceBuilder &b;
  plan::LaunchOp launch;
  llvm::SmallVector<CodesOutput> outputs;
  /// Where sums of columns of each row of squares go: [down, cols] of f32.
  llvm::SmallVector<mlir::Value> sums;
  llvm::SmallVector<MatrixInput> inputs; ///< by number; of others: no address
  /// Vectors with an element per column: the same for all rows of the thread.
  llvm::DenseMap<mlir::Value, mlir::Value> ofColumns;
  mlir::Value source;     ///< the matrix, in the launch's body
  mlir::Value amaxResult; ///< address of its largest magnitude; null: not asked
  int64_t rows, cols;     ///< of the matrix
  mlir::Value squareRow, squareCol;     ///< number of the block's square
  mlir::Value thread, column, rowGroup; ///< of the thread in the square
  mlir::Value firstRow, firstCol;       ///< of its elements in the matrix
  llvm::SmallVector<mlir::Value> values,
      bits;                         ///< of its rows: vectors of 8, f32 and i32
  mlir::Value table, amaxes, words; ///< in shared memory
};

} // namespace hone::square

#endif // HONE_LIB_CODEGEN_GPU_SQUAREQUANTIZER_H
