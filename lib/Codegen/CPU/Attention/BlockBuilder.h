//===- BlockBuilder.h - Products of blocks as vector code -------*- C++ -*-===//
//
// What attention kernels are made of: matrices in memory, products of blocks
// by outer products, transposes. Everything is computed in fp32 on vectors of
// 16 lanes; memory may hold narrower floats.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_CPU_ATTENTION_BLOCKBUILDER_H
#define HONE_LIB_CODEGEN_CPU_ATTENTION_BLOCKBUILDER_H

#include "Codegen/Common/Kernel.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace hone::detail {

/// Rows of the result that a product keeps in registers at a time, beside one
/// or two vectors of columns.
constexpr int64_t panelRows = 8;
constexpr int64_t panelVectors = 2;

/// A matrix inside a buffer of any rank whose last dimension holds the columns
/// with stride 1.
struct Matrix {
  mlir::Value buffer;
  /// Indices of all dimensions but the last, for row 0.
  llvm::SmallVector<mlir::Value, 3> origin;
  /// The dimension along which rows follow each other.
  unsigned rowDim = 0;
  /// Number of columns.
  int64_t width = 0;

  explicit operator bool() const { return buffer != nullptr; }
  mlir::Type elementType() const {
    return mlir::cast<mlir::MemRefType>(buffer.getType()).getElementType();
  }
};

/// `result[r, c] = sum_k left[r, k] * right[k, c]` for the columns of `result`.
///
/// Products of bf16 take pairs of it, which one instruction multiplies and
/// adds: a block of pairs is a matrix of fp32 whose bits are two numbers, and
/// its row k (in `left`, its row or column) holds those of 2k and of 2k + 1. A
/// left operand that is not transposed may as well be a matrix of bf16.
struct Product {
  Matrix result, left, right;
  /// Reads `left[k, r]` in place of `left[r, k]`.
  bool leftTransposed = false;
  /// Operands are pairs of bf16; rows and depths below still count numbers.
  bool pairs = false;
  /// Of the whole sum.
  float factor = 1.0f;
  /// Adds to the result in place of overwriting it.
  bool accumulate = false;
  /// Factors of the columns of the old result, where it accumulates.
  Matrix rescale;
  /// Rows come in panels of 8. When that does not divide their number, rows
  /// past `lastRow` repeat it: they compute and write the same values again.
  mlir::Value lastRow;
  /// Columns to compute where these are fewer than `result` has.
  mlir::Value columnsEnd;
  /// Rows needed by the columns before `columnEnd`.
  std::function<mlir::Value(mlir::Value columnEnd)> rowsEnd;
  /// Range of k for a panel of rows from `row` on and the columns before
  /// `columnEnd`.
  std::function<mlir::Value(mlir::Value row)> depthBegin;
  std::function<mlir::Value(mlir::Value columnEnd)> depthEnd;
};

/// Builds the body of one function; constants go to its entry block.
class BlockBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  using Body = llvm::function_ref<Values(mlir::Value, mlir::ValueRange)>;

  BlockBuilder(mlir::OpBuilder &builder, mlir::func::FuncOp func);

  /// vector<16xf32>
  const mlir::VectorType vectorType;

  mlir::Value constant(int64_t value);
  mlir::Value constantI64(int64_t value);
  mlir::Value splat(float value);
  /// 0, 1, ..., 15 as vector<16xi32> or vector<16xi64>.
  mlir::Value lanes(mlir::Type elementType);
  mlir::Value broadcast(mlir::Value scalar);

  // Arithmetic on index values.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, constant(b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value rem(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);

  // Arithmetic on vectors.
  mlir::Value addf(mlir::Value a, mlir::Value b);
  mlir::Value subf(mlir::Value a, mlir::Value b);
  mlir::Value mulf(mlir::Value a, mlir::Value b);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value exp(mlir::Value a);
  /// The larger of both; `b` where `a` is NaN.
  mlir::Value larger(mlir::Value a, mlir::Value b);
  /// Sum of vectors as a tree.
  mlir::Value sum(mlir::ArrayRef<mlir::Value> values);

  /// for (iv = begin; iv < end; iv += step), with values carried from one
  /// iteration to the next; returns those after the last.
  Values loop(mlir::Value begin, mlir::Value end, int64_t step,
              mlir::ValueRange init, Body body);
  void loop(mlir::Value begin, mlir::Value end, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  /// `body(column, vectors)` for panels of up to two vectors that cover
  /// `columns`, a static number; the last may hold lanes past the end.
  /// `end`, when given, stops earlier.
  void forPanels(int64_t columns, mlir::Value end,
                 llvm::function_ref<void(mlir::Value, int64_t)> body);

  /// A block of the stack, zero rows and columns allowed; of fp32 if not told
  /// otherwise.
  Matrix stackBlock(int64_t rows, int64_t columns, mlir::Type element = {});
  mlir::Value loadScalar(const Matrix &matrix, mlir::Value row,
                         mlir::Value column);
  /// Elements [column, column + 16) of a row, as fp32. Of those, `valid` lanes
  /// exist (a vector<16xi1>, or null for all); the others read as 0.
  mlir::Value load(const Matrix &matrix, mlir::Value row, mlir::Value column,
                   mlir::Value valid = {});
  void store(mlir::Value vector, const Matrix &matrix, mlir::Value row,
             mlir::Value column, mlir::Value valid = {});
  /// Mask of the first `count` lanes; null when `count` is constant 16.
  mlir::Value firstLanes(mlir::Value count);
  mlir::Value firstLanes(int64_t count) { return firstLanes(constant(count)); }
  /// Fills `rows` rows with zeros.
  void clear(const Matrix &matrix, mlir::Value rows);
  /// Copies `rows` rows, rounded where `result` is narrower.
  void copy(const Matrix &result, const Matrix &source, mlir::Value rows);

  void product(const Product &product);
  /// The 16 x 16 transpose in registers.
  Values transpose(Values rows);
  /// `result[c, r] = factor * source[r, c]` for the columns of `source` and the
  /// first `rows` of its rows. Tiles of 16 rows are written whole: rows past
  /// the end repeat the last one.
  void packTransposed(const Matrix &result, const Matrix &source,
                      mlir::Value rows, float factor);
  /// The same of pairs along the rows of `source`, bf16 of even width: row c of
  /// the result holds columns 2c and 2c + 1.
  void packTransposedPairs(const Matrix &result, const Matrix &source,
                           mlir::Value rows);
  /// Pairs along the columns of `source`, of bf16: row r of the result holds
  /// rows 2r and 2r + 1, with zeros past the end.
  void packPairs(const Matrix &result, const Matrix &source, mlir::Value rows);
  /// Pairs of numbers rounded to bf16, the bits of a vector of fp32.
  mlir::Value pairsOf(mlir::Value even, mlir::Value odd);
  /// `result[r, c] = factor[r] * source[c, r]`, the way back. `factor` is one
  /// row, or null for 1. What `source` holds past the end within a tile must
  /// repeat its last column: it is written to the same row.
  void unpackTransposed(const Matrix &result, const Matrix &source,
                        mlir::Value rows, const Matrix &factor);
  /// `row`, or `lastRow` when that is given and smaller.
  mlir::Value clampRow(mlir::Value row, mlir::Value lastRow) {
    return lastRow ? min(row, lastRow) : row;
  }

  /// `rows - 1` if tiles of 16 rows may reach past the end of `rows`, or null.
  mlir::Value lastRowOfTiles(mlir::Value rows);

private:
  mlir::SmallVector<mlir::Value, 4> at(const Matrix &matrix, mlir::Value row,
                                       mlir::Value column);
  void productPanel(const Product &product, mlir::Value column, int64_t vectors,
                    mlir::Value valid);
  /// `body(row, column, valid)` for each vector of `rows` rows.
  void forVectors(
      const Matrix &matrix, mlir::Value rows,
      llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> body);
  mlir::Value convert(mlir::Value value, mlir::Type to);
  /// `lanes` numbers of the matrix's own type, zeros where not `valid`.
  mlir::Value loadAs(const Matrix &matrix, mlir::Value row, mlir::Value column,
                     int64_t lanes, mlir::Value valid);
  /// The pair of columns 2k and 2k + 1.
  mlir::Value loadPair(const Matrix &matrix, mlir::Value row, mlir::Value k);
  mlir::Value dotPairs(mlir::Value left, mlir::Value right, mlir::Value sum);
  mlir::Value bitsOf(mlir::Value narrow);
  mlir::Value interleaved(mlir::Value even, mlir::Value odd);
  mlir::Value constantMask(int64_t lanes, int64_t valid);
  void packTiles(
      const Matrix &result, int64_t width, mlir::Value rows,
      llvm::function_ref<mlir::Value(mlir::Value, mlir::Value, int64_t)> load);

  template <typename Create>
  mlir::Value atEntry(mlir::Attribute key, Create create);
  mlir::Block *entry;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
};

} // namespace hone::detail

#endif // HONE_LIB_CODEGEN_CPU_ATTENTION_BLOCKBUILDER_H
