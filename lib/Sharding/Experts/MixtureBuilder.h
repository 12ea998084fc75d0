//===- MixtureBuilder.h - A mixture of experts in blocks --------*- C++ -*-===//
//
// Writes a mixture again, with the experts in groups and the tokens in blocks
// that a mesh can divide: between the rows picked and the sum of results,
// values have the dimensions [groups, blocks, rows, ...] in place of [slots,
// ...].
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_SHARDING_EXPERTS_MIXTUREBUILDER_H
#define HONE_LIB_SHARDING_EXPERTS_MIXTUREBUILDER_H

#include "Mixture.h"
#include "hone/Sharding/IR/Dist.h"

namespace hone::dist {

/// How ranks along axis ep share a mixture: that many `groups` of experts, and
/// `blocks` of tokens along the other axes of the batch.
struct MixtureParts {
  int64_t groups = 1, blocks = 1;
};

class MixtureBuilder {
public:
  virtual ~MixtureBuilder() = default;
  /// The sum of each token's results.
  mlir::Value build();

protected:
  /// A group of a block has `rows` rows.
  MixtureBuilder(const Mixture &mixture, MixtureParts parts, int64_t rows)
      : mixture(mixture), groups(parts.groups), blocks(parts.blocks),
        rows(rows), b(mixture.tail.back()->getLoc(), mixture.tail.back()) {}

  /// Computes what orders rows, and `ends`.
  virtual void route() = 0;
  /// The rows that `op`, a source, picks.
  virtual mlir::Value pick(EmbeddingOp op) = 0;
  /// Adds the results of each token, in the type of the mixture's sum.
  virtual mlir::Value combine() = 0;

  int64_t groupSize() const { return mixture.experts / groups; }
  mlir::RankedTensorType index(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, b.getI64Type());
  }
  /// [groups, blocks, rows, ...] for [slots, ...].
  mlir::RankedTensorType blocked(mlir::Value value);
  mlir::Value splat(mlir::RankedTensorType type, int64_t number);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims);
  /// The first `size` elements along the last dimension.
  mlir::Value slice(mlir::Value value, int64_t size);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  /// The experts of slots as i64, in this shape.
  mlir::Value expertsOfSlots(llvm::ArrayRef<int64_t> shape);
  mlir::Value argsort(mlir::Value keys);
  /// How often each of 0 to `classes` - 1 is in a line of `keys`.
  mlir::Value countEach(mlir::Value keys, int64_t classes);
  mlir::Value cumsum(mlir::Value counts);
  /// `results` in the type that the sum adds.
  mlir::Value widened(mlir::Value results);

  const Mixture &mixture;
  int64_t groups, blocks, rows;
  mlir::ImplicitLocOpBuilder b;
  mlir::Value ends; ///< [groups, blocks, experts of a group]
  llvm::DenseMap<mlir::Value, mlir::Value> made;

private:
  mlir::Value operandOf(mlir::Value value);
  mlir::Value rebuild(mlir::Operation *op);
};

/// Ranks gather the tokens of all along ep, and scatter the sums. A block is
/// that of all of these ranks, and each group has it.
mlir::Value buildGathered(const Mixture &mixture, MixtureParts parts);

struct ExchangedMixture {
  mlir::Value sums;
  /// How many slots had no place for their row, of rank 0; null where all have.
  mlir::Value dropped;
};
/// Ranks send rows to those that have their experts, and results back: at most
/// `capacity` from one to another. Slots without a place contribute zero.
ExchangedMixture buildExchanged(const Mixture &mixture, MixtureParts parts,
                                int64_t capacity);
/// As many rows as a rank may have for another.
int64_t mostRowsOfPair(const Mixture &mixture, MixtureParts parts);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_EXPERTS_MIXTUREBUILDER_H
