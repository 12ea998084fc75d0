//===- Emitter.h - What attention kernels share -----------------*- C++ -*-===//
//
// Both kernels keep the scores of a block of queries against a block of keys
// transposed: a row per key, a lane per query. Then the softmax needs no sum
// across lanes, keys and values are read in place as scalars, and rows of
// queries past the end are lanes that repeat the last query.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_CPU_ATTENTION_EMITTER_H
#define HONE_LIB_CODEGEN_CPU_ATTENTION_EMITTER_H

#include "BlockBuilder.h"

#include "hone/Analysis/Layout/RandomPart.h"

namespace hone::detail {

/// An attention op, forward or backward, on the arguments of its kernel.
struct Attention {
  int64_t batch, queries, keys, heads, groups, width, valueWidth;
  /// Queries of a run: those whose positions are neighbours.
  int64_t runQueries;
  bool causal;
  double scale, dropout;
  /// The scores, [B, H, T, S], and the numbers by which dropout knows them.
  RandomPart scores;
  std::array<int64_t, 3> scoreStrides; ///< of those numbers, for b, h and t
  int64_t salt;                        ///< of dropout
  // Buffers. Null: mask, segments, rng, origin or first that the op does not
  // have, a result not expected, or an operand of the other direction. `first`
  // is one position, or one per run.
  mlir::Value query, key, value, mask, segments, rng, origin, first;
  mlir::Value result, lse; ///< written forward, read backward
  mlir::Value grad, queryGrad, keyGrad, valueGrad;
  /// Where gradients of keys and values are summed: these results themselves,
  /// or fp32 scratch where they are narrower.
  mlir::Value keySums, valueSums;
  mlir::Value lo, hi; ///< range of work items

  mlir::Type elementType() const {
    return mlir::cast<mlir::MemRefType>(query.getType()).getElementType();
  }
  /// Products of bf16 take pairs of numbers; other operands narrower than fp32
  /// are widened block by block.
  bool isPaired() const { return elementType().isBF16(); }
  bool isWidened() const { return elementType().isF16(); }
};

/// Sizes of the blocks of one kernel.
struct BlockSizes {
  int64_t queries; ///< a multiple of 16
  int64_t keys;    ///< a multiple of 16
};

/// A block of queries of one run and head, and a block of keys that they meet.
struct Tile {
  mlir::Value batch, head, group;
  mlir::Value firstQuery, queries; ///< `queries` of the block exist
  mlir::Value position;            ///< of the first query among the keys
  mlir::Value firstKey, keys;      ///< `keys` of the block are needed
  /// i1: some query and key may be of different segments; null without
  /// segments.
  mlir::Value isMixed;
};

/// One or two vectors of queries of a tile.
struct Panel {
  mlir::Value column;
  int64_t vectors;
  mlir::Value keys; ///< of the tile, that some query of the panel may see
  BlockBuilder::Values columns;
  BlockBuilder::Values positions; ///< of queries, vector<16xi32>
  /// vector<16xi64>: number of a query's score for the first key of the tile.
  BlockBuilder::Values elements;
};

/// A key of a panel, inside of a loop's body over a few of them.
struct KeyStep {
  mlir::Value key;
  int64_t step;                      ///< number among those few
  llvm::ArrayRef<mlir::Value> words; ///< random ones, per vector, or none
  mlir::Value exists; ///< i1, where the key may lie past the panel's last
};

class AttentionEmitter : public BlockBuilder {
public:
  AttentionEmitter(mlir::OpBuilder &builder, mlir::func::FuncOp func,
                   const Attention &op, BlockSizes sizes);

protected:
  const Attention &op;
  const BlockSizes sizes;

  /// Blocks of queries of all runs.
  int64_t countBlocks() const;
  /// Fills in the queries of block number `block`, and where they stand.
  void enterBlock(Tile &tile, mlir::Value block);
  /// Rows of one head of a [batch, position, head, width] buffer.
  Matrix headRows(mlir::Value buffer, mlir::Value batch, mlir::Value head,
                  mlir::Value firstRow);
  // Rows of keys, values and queries become operands of products: of those that
  // sum along the rows ("left"), and of those that sum over the rows
  // ("summed"). Most are read in place; else a block holds a copy.
  Matrix leftBlock(int64_t rows, int64_t width);
  Matrix leftRows(const Matrix &source, mlir::Value rows, const Matrix &block);
  Matrix summedBlock(int64_t rows, int64_t width);
  Matrix summedRows(const Matrix &source, mlir::Value rows,
                    const Matrix &block);
  /// A block of queries as right operand, transposed.
  Matrix operandBlock(int64_t width);
  void packQueries(const Matrix &result, const Matrix &source, mlir::Value rows,
                   const Matrix &block, float factor);
  /// A block of a value per key and query to be summed over keys.
  Matrix weightBlock();
  /// Writes to such a block, keys in turn: pairs wait in `even` for the second.
  void storeWeight(mlir::Value weight, const Matrix &block, const KeyStep &at,
                   mlir::Value column, mlir::Value &even);

  /// The row of one head of `lse`.
  Matrix lseRow(const Tile &tile);
  /// Calls `body` with each block of keys that the queries of `tile` meet, but
  /// for blocks without a key of their segments.
  void forKeyBlocks(Tile tile, llvm::function_ref<void(const Tile &)> body);
  /// Keys of the tile that the queries before column `columnEnd` may see.
  mlir::Value keysBefore(const Tile &tile, mlir::Value columnEnd);
  /// `result = factor left right` where rows are keys and columns are queries,
  /// but for a factor that packQueries has applied.
  void keyProduct(const Tile &tile, const Matrix &result, const Matrix &left,
                  const Matrix &right, float factor);
  /// `result += left^T right`, over keys; columns are queries. The old result
  /// is scaled by `rescale`, when given.
  void queryProduct(const Tile &tile, const Matrix &result, const Matrix &left,
                    const Matrix &right, const Matrix &rescale);
  void forQueryPanels(const Tile &tile,
                      llvm::function_ref<void(const Panel &)> body);
  /// Adds the mask to `scores` and hides keys after their query or of another
  /// segment.
  void maskScores(const Tile &tile, const Matrix &scores);
  /// Calls `body(at, carried)` for each key of a panel. `init` is carried
  /// along.
  Values
  forKeys(const Panel &panel, mlir::ValueRange init,
          llvm::function_ref<Values(const KeyStep &at, mlir::ValueRange)> body);
  mlir::Value dropout(mlir::Value value, mlir::Value word);

private:
  /// The least and the largest of some ids of segments.
  struct IdRange {
    mlir::Value least, largest;
  };
  IdRange idRange(mlir::Value batch, mlir::Value first, mlir::Value count);
  /// Begins the code of a tile whose keys share a segment with its queries.
  void enterTileOfSegments(Tile &tile, IdRange queries);
  Values queryIds(const Tile &tile, const Panel &panel);
  Panel makePanel(const Tile &tile, mlir::Value column, int64_t vectors);
  void packMask(const Tile &tile);

  Matrix maskBlock; ///< of the current tile, transposed
  mlir::Value rngKey, salt, origin;
};

/// Builds the loop over the work items: query blocks of the heads, or key
/// heads.
void emitForward(mlir::OpBuilder &builder, mlir::func::FuncOp func,
                 const Attention &op, BlockSizes sizes);
void emitBackward(mlir::OpBuilder &builder, mlir::func::FuncOp func,
                  const Attention &op, BlockSizes sizes);
/// The forward kernel of one query per head, without dropout: an item is a
/// head of a sequence.
void emitSingleQuery(mlir::OpBuilder &builder, mlir::func::FuncOp func,
                     const Attention &op, BlockSizes sizes);

} // namespace hone::detail

#endif // HONE_LIB_CODEGEN_CPU_ATTENTION_EMITTER_H
