//===- Scratch.h - Memory that a kernel needs for itself --------*- C++ -*-===//

#ifndef HONE_ANALYSIS_MEMORY_SCRATCH_H
#define HONE_ANALYSIS_MEMORY_SCRATCH_H

#include "hone/Analysis/Cost/TargetDescription.h"

namespace hone {

/// Elements of a tensor whose squares one partial sum of a global norm holds.
constexpr int64_t normChunk = 16384;
/// Number of those for a tensor or buffer.
int64_t normPartials(mlir::Type input);

/// Whether a CPU kernel on vectors of channels computes the convolution: each
/// channel is convolved apart. Programs whose bits no mesh decides have the
/// generic kernel.
bool hasVectorKernel(ConvolutionOpInterface op);
/// Chunks of the rows of positions over which that kernel sums the gradient by
/// the weight; each has partial sums of its own, which are added in order.
int64_t weightChunks(ConvolutionOpInterface op);

/// Of the backward pass of attention on types narrower than fp32: the sums of
/// the gradients of keys and of values, which are rounded at the end only.
/// Otherwise empty: such sums stand in their results.
llvm::SmallVector<mlir::MemRefType> gradientSumTypes(AttentionBwdOp op);

/// Scratch of a library's attention, the block's only such op, which is marked
/// with its workspace.
struct LibraryScratch {
  /// Bytes of the workspace, from an offset that alignedWorkspace() makes of
  /// the buffer's; none: the call needs no memory.
  mlir::MemRefType workspace;
  /// With dropout the library's generator is started from these two numbers,
  /// {seed, offset}; else none.
  mlir::MemRefType seed;
  /// Where queries begin at a position, the lengths of sequences for the call:
  /// i32 [2, batch], of queries and of the keys up to the last query. Else
  /// none.
  mlir::MemRefType lengths;
  /// Results that the call writes though nobody asks for them, with types.
  llvm::SmallVector<std::pair<mlir::Value, mlir::MemRefType>> unread;

  /// In the order of the launch's `scratch` operands.
  llvm::SmallVector<mlir::MemRefType> types() const;
  static LibraryScratch of(mlir::Block &body);
};
/// Libraries expect memory as allocators hand it out, at multiples of 256
/// bytes; the arena's buffers lie at multiples of 64.
int64_t alignedWorkspace(int64_t offset);

/// How a GPU sorts tokens by their ids, for the sums of `hone.embedding_bwd`.
/// Row v of the table is place v / buckets of bucket v % buckets, so that
/// frequent ids, which often are neighbours, are in different buckets. Slots
/// are places in the order of buckets; some have no row.
struct TokenSort {
  int64_t tokens;
  int64_t buckets; ///< a power of two
  int64_t places;  ///< of a bucket

  static TokenSort of(EmbeddingBwdOp op);
  int64_t slots() const { return buckets * places; }
  /// The scratch buffers, of i32:
  /// - [2, tokens]: tokens by bucket, and for each the place of its row;
  /// - [tokens]: tokens by slot, in increasing order in each;
  /// - [slots, 2]: where the tokens of a slot begin and end in the former.
  llvm::SmallVector<mlir::MemRefType> scratch(mlir::MLIRContext *context) const;
};

/// How a GPU sorts each line of the operand of an argsort or topk, or of the
/// ids of a put_along: blocks sort tiles of it, then each element counts those
/// before it in all tiles. Lines that a thread passes over for each element
/// instead, or whose places are no i32, are not sorted.
struct LineSort {
  /// Elements of a line that a thread passes over.
  static constexpr int64_t shortLine = 64;
  /// Updates of a place, on average, from which on a block combines them.
  static constexpr int64_t manyUpdates = 32;

  int64_t lines, size;
  int64_t tile;     ///< elements of one, a power of two
  mlir::Type key;   ///< i32 or i64, whose order is that of the elements
  bool keepsSorted; ///< put_along: the next kernel needs keys in order

  static std::optional<LineSort> of(mlir::Operation *op);
  /// The operand of an argsort, topk or put_along whose elements are compared;
  /// null of other ops. And its `key`.
  static mlir::Value compared(mlir::Operation *op);
  static mlir::Type keyType(mlir::Value compared);
  /// The dimension of such an op along which lines are.
  static int64_t dimOf(mlir::Operation *op);
  /// Warps that share the tiles in which an element's rank is searched.
  int64_t rankWarps() const { return std::min<int64_t>(8, tiles()); }
  /// Of the sort, and of the updates of a put_along.
  int64_t kernels() const { return 1 + (tiles() > 1) + keepsSorted; }
  int64_t tiles() const { return llvm::divideCeil(size, tile); }
  /// Elements of a line's tiles, with those of the last one beyond its end.
  int64_t padded() const { return tiles() * tile; }
  /// The scratch buffers:
  /// - of several tiles: their sorted keys [lines, padded], and the places
  ///   these have in the line, i32;
  /// - of a put_along: sorted keys [lines, size], and their places, i32.
  llvm::SmallVector<mlir::MemRefType> scratch() const;
};

/// Rows of the squares that a GPU's kernel of codes has, and adds columns of.
constexpr int64_t codesRows = 128;
/// Of a sum of columns in such a kernel, the sums of each square.
mlir::MemRefType codeSums(ReduceOp sum);

/// Types of the scratch buffers of a group, in the order of its launch's
/// `scratch` operands:
/// - a row group: per yielded sum over rows, its partial sums [chunks, cols]
///   (or [chunks] for a sum over everything);
/// - on a CPU, a gradient by a weight that hasVectorKernel: partial sums
///   [chunks, elements];
/// - attention of a library: its LibraryScratch;
/// - attention backward otherwise: its gradientSumTypes;
/// - a global norm: all partial sums of squares;
/// - on a GPU, the gradient of an embedding: its TokenSort;
/// - on a GPU, an argsort, topk or put_along of long lines: its LineSort;
/// - on a GPU, codes: per sum of columns, those of each codesRows rows.
llvm::SmallVector<mlir::MemRefType>
scratchTypes(FusedOp group, const TargetDescription &target);

} // namespace hone

#endif // HONE_ANALYSIS_MEMORY_SCRATCH_H
