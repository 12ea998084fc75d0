//===- ExchangeExperts.cpp - Rows sent to their experts -------------------===//
//
// A block is the tokens of one rank. It packs the rows of its slots by group,
// up to `capacity` for each, and sends them; a group sorts the rows of all
// blocks by expert, and sends results back to where their rows came from.
//
//===----------------------------------------------------------------------===//

#include "MixtureBuilder.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
class ExchangeBuilder : public MixtureBuilder {
public:
  ExchangeBuilder(const Mixture &mixture, MixtureParts parts, int64_t capacity)
      : MixtureBuilder(mixture, parts, capacity * parts.groups),
        capacity(capacity), sources(parts.groups * parts.blocks),
        slots(mixture.slots() / sources),
        mayDrop(capacity < mostRowsOfPair(mixture, parts)) {}

  /// How many slots have no place; null where there cannot be any.
  Value dropped() const { return numDropped; }

private:
  void route() override;
  Value pick(EmbeddingOp op) override;
  Value combine() override;

  Value dropLate(Value group);
  void pack(Value sorted, Value group, Value counts);
  void sortReceived(Value counts);
  Value exclusive(Value counts) {
    return b.create<SubOp>(cumsum(counts), counts);
  }
  Value takeAlong(Value line, Value ids) {
    return b.create<TakeAlongOp>(index(shapeOf(ids)), line, ids, 1);
  }
  Value compare(CmpPredicate predicate, Value a, Value other) {
    return b.create<CmpOp>(index(shapeOf(a)).clone(b.getI1Type()), predicate, a,
                           other);
  }
  /// `ids` where `isThere`, else -1.
  Value idsWhere(Value isThere, Value ids) {
    return b.create<SelectOp>(isThere, ids, splat(index(shapeOf(ids)), -1));
  }
  /// 0, 1, ... along dimension `dim` of `shape`.
  Value numbersAlong(int64_t dim, ArrayRef<int64_t> shape) {
    Value line = b.create<IotaOp>(index({shape[dim]}), 0);
    return broadcast(line, shape, {dim});
  }
  Value permute(Value rows, Value ids, Value back, bool isTotal);
  Value exchange(Value value, bool isReverse);

  int64_t capacity; ///< rows of a block for a group
  int64_t sources;  ///< blocks
  int64_t slots;    ///< of a block
  bool mayDrop;
  Value numDropped;
  Value sentSlots;    ///< [1, sources, rows], of packed rows, or -1
  Value sentPlaces;   ///< [1, sources, slots], among packed rows, or -1
  Value order;        ///< [groups, blocks, rows], received rows by expert
  Value sortedPlaces; ///< the same, where received rows are
};
} // namespace

/// Gives the slots of a block places for their groups as they come, and the
/// experts of slots that found one; the others have `experts`, which is none.
Value ExchangeBuilder::dropLate(Value group) {
  Value experts = expertsOfSlots({sources, slots});
  if (!mayDrop)
    return experts;
  Value places = argsort(argsort(group));
  Value first = exclusive(countEach(group, groups));
  Value within = b.create<SubOp>(places, takeAlong(first, group));
  auto type = index({sources, slots});
  Value isLate = compare(CmpPredicate::ge, within, splat(type, capacity));
  numDropped = b.create<CastOp>(type, isLate);
  for (int64_t dim : {1, 0}) // rows first, which kernels share
    numDropped = b.create<ReduceOp>(ReduceKind::sum, numDropped, dim);
  return b.create<SelectOp>(isLate, splat(type, mixture.experts), experts);
}

void ExchangeBuilder::route() {
  auto type = index({sources, slots});
  Value group = b.create<DivOp>(expertsOfSlots({sources, slots}),
                                splat(type, groupSize()));
  Value key = dropLate(group);
  Value counts =
      slice(countEach(key, mixture.experts + mayDrop), mixture.experts);
  pack(argsort(key), group, counts);
  if (mayDrop) {
    Value isSent = compare(CmpPredicate::lt, key, splat(type, mixture.experts));
    sentPlaces = idsWhere(isSent, sentPlaces);
  }
  sentPlaces = reshape(sentPlaces, {1, sources, slots});
  sortReceived(exchange(
      cast(reshape(counts, {1, sources, mixture.experts}), b.getI32Type()),
      /*isReverse=*/false));
}

/// Finds the slots of packed rows, and the places of slots [sources, slots]
/// among these: row c for group g has the slot in place first[g] + c of the
/// order of experts.
void ExchangeBuilder::pack(Value sorted, Value group, Value counts) {
  SmallVector<int64_t> shape = {sources, groups, capacity};
  SmallVector<int64_t> line = {sources, groups * capacity};
  Value ofGroups = b.create<ReduceOp>(
      ReduceKind::sum, reshape(counts, {sources, groups, groupSize()}), 2);
  Value first = exclusive(ofGroups);
  Value number = numbersAlong(2, shape);
  Value place = b.create<AddOp>(broadcast(first, shape, {0, 1}), number);
  place = b.create<MinOp>(place, splat(index(shape), slots - 1));
  Value isSent =
      compare(CmpPredicate::lt, number, broadcast(ofGroups, shape, {0, 1}));
  sentSlots = reshape(
      idsWhere(reshape(isSent, line), takeAlong(sorted, reshape(place, line))),
      {1, sources, groups * capacity});
  Value within = b.create<SubOp>(argsort(sorted), takeAlong(first, group));
  Value begin =
      b.create<MulOp>(group, splat(index({sources, slots}), capacity));
  sentPlaces = b.create<AddOp>(begin, within);
}

/// Of `counts` [groups, blocks, sources of a block x experts of a group].
void ExchangeBuilder::sortReceived(Value counts) {
  int64_t experts = groupSize(), ofBlock = groups;
  Value each = reshape(counts, {groups, blocks, ofBlock, experts});
  Value all = b.create<ReduceOp>(ReduceKind::sum, each, 2);
  ends = cumsum(all);
  // The expert of a row: as many as end before it among those of its source.
  SmallVector<int64_t> shape = {groups, blocks, ofBlock, capacity, experts};
  Value bounds =
      broadcast(cast(cumsum(each), b.getI64Type()), shape, {0, 1, 2, 4});
  Value isBefore = compare(CmpPredicate::le, bounds, numbersAlong(3, shape));
  Value expert = b.create<ReduceOp>(
      ReduceKind::sum, b.create<CastOp>(index(shape), isBefore), 4);
  order = argsort(reshape(expert, {groups, blocks, rows}));
  sortedPlaces = argsort(order);
}

Value ExchangeBuilder::permute(Value rows, Value ids, Value back,
                               bool isTotal) {
  SmallVector<int64_t> shape(shapeOf(rows));
  shape[2] = shapeOf(ids)[2];
  auto type = llvm::cast<RankedTensorType>(rows.getType());
  return b.create<BlockPermuteOp>(type.clone(shape), rows, ids, back, isTotal);
}

Value ExchangeBuilder::exchange(Value value, bool isReverse) {
  SmallVector<int64_t> shape(shapeOf(value));
  int64_t elements = shape[0] * shape[1] * shape[2];
  shape[0] = isReverse ? 1 : groups;
  shape[1] = isReverse ? sources : blocks;
  shape[2] = elements / shape[0] / shape[1];
  auto type = llvm::cast<RankedTensorType>(value.getType());
  return b.create<BlockExchangeOp>(type.clone(shape), value, isReverse);
}

Value ExchangeBuilder::pick(EmbeddingOp op) {
  ArrayRef<int64_t> table = shapeOf(op.getTable());
  Value own =
      reshape(op.getTable(), {1, sources, table[0] / sources, table[1]});
  Value sent = permute(own, sentSlots, sentPlaces, /*isTotal=*/false);
  return permute(exchange(sent, /*isReverse=*/false), order, sortedPlaces,
                 /*isTotal=*/true);
}

Value ExchangeBuilder::combine() {
  auto out = llvm::cast<EmbeddingOp>(mixture.tail.front());
  Value results = permute(made.lookup(out.getTable()), sortedPlaces, order,
                          /*isTotal=*/true);
  results = permute(exchange(results, /*isReverse=*/true), sentPlaces,
                    sentSlots, /*isTotal=*/false);
  int64_t perToken = mixture.slotsPerToken;
  results = reshape(widened(results), {mixture.slots() / perToken, perToken,
                                       shapeOf(results).back()});
  auto sum = llvm::cast<ReduceOp>(mixture.tail.back());
  results = b.create<ReduceOp>(ReduceKind::sum, results, 1);
  return reshape(results, shapeOf(sum.getResult()));
}

int64_t dist::mostRowsOfPair(const Mixture &mixture, MixtureParts parts) {
  int64_t ranks = parts.groups * parts.blocks;
  int64_t tokens = mixture.slots() / ranks / mixture.slotsPerToken;
  return tokens *
         std::min(mixture.slotsPerToken, mixture.experts / parts.groups);
}

ExchangedMixture dist::buildExchanged(const Mixture &mixture,
                                      MixtureParts parts, int64_t capacity) {
  ExchangeBuilder builder(mixture, parts, capacity);
  Value sums = builder.build();
  return {sums, builder.dropped()};
}
