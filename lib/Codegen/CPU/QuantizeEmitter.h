//===- QuantizeEmitter.h - Emitter of codes of fp8 --------------*- C++ -*-===//
//
// QuantizeKernels.cpp makes codes of rows of the operand, QuantizeColumns.cpp
// those of its columns, QuantizeSquares.cpp both of squares of an operand that
// is read once, or computed.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_CPU_QUANTIZEEMITTER_H
#define HONE_LIB_CODEGEN_CPU_QUANTIZEEMITTER_H

#include "Codegen/Common/CodeArith.h"
#include "Codegen/Common/KernelBuilder.h"
#include "QuantizeSource.h"
#include "base/ScaleLayout.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace hone {

/// Work items worth a thread, of so many elements each.
inline int64_t quantizeGrain(int64_t elements) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, elements));
}

/// What quantize and amax share: elements of an operand as vectors of f32.
class MagnitudeEmitter : public KernelBuilder {
public:
  using KernelBuilder::KernelBuilder;

protected:
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::AddIOp>(x, y);
  }
  mlir::Value add(mlir::Value x, int64_t y) {
    return y == 0 ? x : add(x, index(y));
  }
  mlir::Value times(mlir::Value x, int64_t y) {
    return create<mlir::arith::MulIOp>(x, index(y));
  }
  mlir::Value least(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::MinUIOp>(x, y);
  }
  mlir::Value maximum(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::MaxUIOp>(x, y);
  }
  mlir::Value lanesOf(mlir::Value scalar) {
    return create<mlir::vector::BroadcastOp>(
        mlir::VectorType::get({kernelLanes}, scalar.getType()), scalar);
  }
  mlir::Value zeroBits() {
    return integer(mlir::VectorType::get({kernelLanes}, getI32Type()), 0);
  }
  mlir::Value largestLane(mlir::Value bits) {
    return create<mlir::vector::ReductionOp>(mlir::vector::CombiningKind::MAXUI,
                                             bits);
  }
  void where(mlir::arith::CmpIPredicate predicate, mlir::Value x, int64_t y,
             llvm::function_ref<void()> body) {
    auto branch = create<mlir::scf::IfOp>(
        mlir::Value(create<mlir::arith::CmpIOp>(predicate, x, index(y))),
        /*withElseRegion=*/false);
    mlir::OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    body();
  }
};

class QuantizeEmitter : public MagnitudeEmitter {
public:
  QuantizeEmitter(mlir::OpBuilder &builder, llvm::StringRef name,
                  plan::LaunchOp launch)
      : MagnitudeEmitter(builder, name, launch), launch(launch) {}

  /// Codes of the launch's only op, of an input.
  Kernel emit(QuantizeOp op);
  /// Codes of one matrix by several ops, or of one that is computed.
  Kernel emitSquares(llvm::ArrayRef<QuantizeOp> ops);

private:
  void select(QuantizeOp op);
  mlir::Value result(mlir::Value value);
  mlir::Value bufferOf(mlir::Value operand) {
    return buffer(mlir::cast<mlir::BlockArgument>(operand).getArgNumber());
  }
  bool isTensor() const { return layout.tile == honert::ScaleTile::tensor; }
  mlir::Type scaleType() const {
    return layout.tile == honert::ScaleTile::row32
               ? mlir::Type(mlir::IntegerType::get(getContext(), 8))
               : mlir::Type(mlir::Float32Type::get(getContext()));
  }
  mlir::Value loadOperand(llvm::ArrayRef<mlir::Value> at, mlir::Value mask);

  // Scales.
  mlir::Value scaleIndex(mlir::Value row, mlir::Value tileCol);
  void storeScale(mlir::Value scale, mlir::Value row, mlir::Value tileCol);
  mlir::Value finishTile(mlir::Value bits, mlir::Value row,
                         mlir::Value tileCol);
  mlir::Value wholeInverse();
  void zeroScalesBehind(mlir::Value row, mlir::Value isReal);

  // Codes of rows of the operand.
  void forColumns(
      mlir::Value row, mlir::Value first, int64_t count,
      llvm::function_ref<void(mlir::Value data, llvm::ArrayRef<mlir::Value> at,
                              mlir::Value mask)>
          body);
  void storeCodes(mlir::Value scaled, llvm::ArrayRef<mlir::Value> at,
                  mlir::Value mask);
  void rowTile(mlir::Value row, mlir::Value tileCol, int64_t count);
  void blockTile(mlir::Value row, mlir::Value end, mlir::Value tileCol,
                 int64_t count);
  void forTileColumns(mlir::Value tileCol,
                      llvm::function_ref<void(int64_t)> body);
  Kernel emitRows();
  Kernel emitBlocks();
  Kernel emitWhole();

  // Codes of columns of the operand.
  void forGroups(mlir::Value firstRow, int64_t rows,
                 llvm::function_ref<void(mlir::Value row, int64_t count)> body);
  mlir::Value columnMagnitudes(mlir::Value begin, mlir::Value end,
                               mlir::Value row, mlir::Value mask);
  mlir::Value columnInverses(mlir::Value bits, mlir::Value row, int64_t count,
                             mlir::Value tile);
  void transposeCodes(mlir::Value begin, mlir::Value end, mlir::Value row,
                      int64_t count, mlir::Value inverse);
  llvm::SmallVector<mlir::Value> transposed(llvm::ArrayRef<mlir::Value> rows);
  mlir::Value maskOfCount(int64_t count);
  void columnTiles(mlir::Value tile, mlir::Value row, int64_t count);
  void blockColumns(mlir::Value firstRow, int64_t rows, mlir::Value begin,
                    mlir::Value end, mlir::Value tile);
  void zeroScalesOfNone(mlir::Value firstRow, int64_t count,
                        mlir::Value firstTile);
  Kernel emitColumns();
  Kernel emitColumnBlocks();
  Kernel emitWholeColumns();

  // Squares.
  void rowsOfSquare(mlir::Value begin, mlir::Value end, mlir::Value squareCol,
                    int64_t count);
  void squareOfRows(mlir::Value squareRow, mlir::Value squareCol);
  void squareOfColumns(mlir::Value squareRow, mlir::Value squareCol);
  void zeroBlockScalesBehind(mlir::Value row, mlir::Value tileCol);

  plan::LaunchOp launch;
  // Of the op whose codes are emitted.
  honert::ScaleLayout layout;
  honert::Fp8Format format;
  mlir::Value x, codes, scales, amax; ///< without scales nobody reads them
  mlir::Value inverse;                ///< of the scale of all, in squares
  int64_t tileRows, tileCols;
  /// Where `x` is a square on the stack: row and column of its first element.
  mlir::Value firstRow, firstCol;
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_QUANTIZEEMITTER_H
