//===- GatherExperts.cpp - Experts of gathered tokens ---------------------===//

#include "MixtureBuilder.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
class GatherBuilder : public MixtureBuilder {
public:
  GatherBuilder(const Mixture &mixture, MixtureParts parts)
      : MixtureBuilder(mixture, parts, mostRows(mixture, parts)),
        slots(mixture.slots() / parts.blocks) {}

private:
  /// As many as the tokens of a block may choose.
  static int64_t mostRows(const Mixture &mixture, MixtureParts parts) {
    int64_t tokens = mixture.slots() / parts.blocks / mixture.slotsPerToken;
    return tokens *
           std::min(mixture.slotsPerToken, mixture.experts / parts.groups);
  }

  void route() override;
  Value pick(EmbeddingOp op) override;
  Value combine() override;

  int64_t slots; ///< of a block
  Value own;     ///< [groups, blocks, slots], whether the group has the expert
  Value order;   ///< [groups, blocks, rows], slots in the order of experts
  Value places;  ///< [groups, blocks, slots], where they went
};
} // namespace

/// Sorts the slots of each block for each group: those of its own experts
/// first.
void GatherBuilder::route() {
  SmallVector<int64_t> shape = {groups, blocks, slots};
  Value key = broadcast(expertsOfSlots({blocks, slots}), shape, {1, 2});
  int64_t classes = groupSize();
  if (groups != 1) {
    Value first = b.create<MulOp>(b.create<IotaOp>(index({groups}), 0),
                                  splat(index({groups}), classes));
    key = b.create<SubOp>(key, broadcast(first, shape, {0}));
    Value size = splat(index(shape), classes);
    auto flags = index(shape).clone(b.getI1Type());
    own = b.create<AndOp>(
        b.create<CmpOp>(flags, CmpPredicate::ge, key, splat(index(shape), 0)),
        b.create<CmpOp>(flags, CmpPredicate::lt, key, size));
    key = b.create<SelectOp>(own, key, size);
    ++classes;
  }
  Value sorted = argsort(key);
  places = argsort(sorted);
  order = slice(sorted, rows);
  Value counts = slice(countEach(key, classes), groupSize());
  ends = cumsum(cast(counts, b.getI32Type()));
}

/// Neighbouring rows of a table make up those of a block's parts.
Value GatherBuilder::pick(EmbeddingOp op) {
  ArrayRef<int64_t> table = shapeOf(op.getTable());
  int64_t parts = groups * blocks;
  int64_t divisor = mixture.slots() / table[0];
  Value ids = order;
  if (divisor != 1)
    ids = b.create<DivOp>(order, splat(index(shapeOf(order)), divisor));
  return b.create<BlockEmbeddingOp>(
      blocked(op.getResult()),
      reshape(op.getTable(), {parts, table[0] / parts, table[1]}), ids);
}

/// A group adds the results that its own experts have for a token, and groups
/// are added. In a mesh-invariant module, first each slot gets the result of
/// the one group that has it, so that results are added in the order of slots.
Value GatherBuilder::combine() {
  auto out = llvm::cast<EmbeddingOp>(mixture.tail.front());
  SmallVector<int64_t> shape = {groups, blocks, slots,
                                shapeOf(out.getResult())[1]};
  Value ids = places;
  if (rows != slots)
    ids = b.create<MinOp>(places, splat(index(shapeOf(places)), rows - 1));
  auto type = llvm::cast<RankedTensorType>(out.getType());
  Value results = b.create<BlockEmbeddingOp>(type.clone(shape),
                                             made.lookup(out.getTable()), ids);
  if (own) {
    Value zero = b.create<ConstantOp>(DenseElementsAttr::get(
        type.clone(shape), b.getFloatAttr(type.getElementType(), 0)));
    results =
        b.create<SelectOp>(broadcast(own, shape, {0, 1, 2}), results, zero);
  }
  int64_t perToken = mixture.slotsPerToken, parts = groups * blocks;
  int64_t tokens = mixture.slots() / perToken / parts;
  results = reshape(results, {groups, parts, tokens, perToken, shape.back()});
  auto sum = llvm::cast<ReduceOp>(mixture.tail.back());
  auto add = [&](ArrayRef<int64_t> dims) {
    results = b.create<ReduceOp>(ReduceKind::sum, results, dims);
  };
  results = widened(results);
  if (isMeshInvariant(sum)) {
    add({0});
    add({2});
  } else {
    add({0, 3});
  }
  return reshape(results, shapeOf(sum.getResult()));
}

Value dist::buildGathered(const Mixture &mixture, MixtureParts parts) {
  return GatherBuilder(mixture, parts).build();
}
