//===- OperandTile.h - An operand of a block's product ----------*- C++ -*-===//
//
// `lines` rows (of the left operand) or columns (of the right one), each of 32
// terms. In global memory either the terms of a line or the lines of a term are
// neighbours; shared memory has the same order. There, the 16 bytes that a lane
// names to load matrices change places within a row, so that eight lanes find
// theirs in different banks.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_GPU_OPERANDTILE_H
#define HONE_LIB_CODEGEN_GPU_OPERANDTILE_H

#include "TensorCores.h"

namespace hone {

/// Emits the copies of a block's threads into shared memory, step by step along
/// the terms, and what a warp loads of them.
class OperandTile {
public:
  static constexpr int64_t terms = 32; ///< of a step

  /// How a matrix lies in memory: `pitch` elements from one line to the next
  /// (or from one term), of which `unit` can be copied at once.
  struct Form {
    mlir::Type element;
    bool isLeft;
    bool hasTermsTogether;
    int64_t pitch, unit;
    int64_t lines; ///< of the tile
  };

  OperandTile(DeviceBuilder &b, const Form &form, int64_t threads)
      : b(b), form(form), threads(threads) {}

  int64_t bytes() const { return form.lines * terms * elementBytes; }

  /// From here on, copies are of the matrix whose first element lies at `from`,
  /// with so many lines and terms (index); beyond them are zeros.
  void setSource(mlir::Value from, mlir::Value lineCount,
                 mlir::Value termCount);
  /// Copies the terms from `first` (index) on to `to`.
  void copy(mlir::Value first, mlir::Value to);

  /// The fragments of one warp: `lines` from `begin` (i32) on.
  void setWarpLines(mlir::Value begin, int64_t lines);
  /// Those of 16 terms: of each instruction's lines, four matrices of 16 lines
  /// on the left, two of 8 lines on the right.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> load(mlir::Value from,
                                                         int64_t part);

private:
  static constexpr int64_t elementBytes = 2, chunkBytes = 16, chunk = 8;

  int64_t rowElements() const {
    return form.hasTermsTogether ? terms : form.lines;
  }
  int64_t rows() const { return form.hasTermsTogether ? form.lines : terms; }
  int64_t unitsPerRow() const { return rowElements() / form.unit; }
  int64_t unitRows() const { return threads / unitsPerRow(); }
  /// Where chunk `number` of a row lies (i32, in bytes).
  mlir::Value place(mlir::Value row, mlir::Value number);
  void copyUnit(mlir::Value from, mlir::Value to, mlir::Value exists);

  DeviceBuilder &b;
  const Form form;
  const int64_t threads;

  // Of this thread's units, one in each unitRows()th row.
  mlir::Value row, column; ///< i32, elements
  mlir::Value source;      ///< the first unit's address
  mlir::Value termCount, lineCount;
  // Of this lane: addresses of its row of matrices in a tile.
  llvm::SmallVector<mlir::Value> places;
  int64_t warpLines = 0;
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_OPERANDTILE_H
