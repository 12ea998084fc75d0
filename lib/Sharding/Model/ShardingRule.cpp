//===- ShardingRule.cpp - How a split op divides its tensors --------------===//

#include "ShardingRule.h"

#include "hone/IR/QueryPositions.h"
#include "hone/Sharding/IR/RingOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

FailureOr<ShardingRule> ShardingRule::of(Operation *op) {
  ShardingRule rule;
  if (auto facts = dyn_cast<HoneOpInterface>(op))
    rule.mapping = facts.getDimensionMapping();
  else if (isa<ConstrainOp>(op))
    rule.mapping = hone::detail::elementwiseMapping(op);
  else
    return op->emitOpError("has no sharding rule, expected an op that answers "
                           "HoneOpInterface");
  // Rows and classes found by index are numbered within a shard; the classes of
  // a loss are its last factor. Random numbers are numbered by their place in
  // the global tensor: of updates, which draw for all of a shard at once, it is
  // one run.
  for (auto [index, factor] : llvm::enumerate(rule.mapping.factors))
    rule.needsRuns.push_back(factor.kind == FactorKind::Gather ||
                             (factor.kind == FactorKind::Reconcilable &&
                              index + 1 == rule.mapping.factors.size()));
  rule.isDrawn.resize(rule.needsRuns.size());
  if (auto random = dyn_cast<RandomOpInterface>(op);
      random && random.getRandomKey()) {
    llvm::SmallVector<bool> &drawn =
        isa<DropoutOp, RandomOp>(op) ? rule.isDrawn : rule.needsRuns;
    for (unsigned factor : random.getRandomFactors())
      drawn[factor] = true;
  }
  auto noteRing = [&](auto ring) {
    rule.ringFactor = ring.positionFactor;
    rule.ringAxes = ring.getAxes();
  };
  llvm::TypeSwitch<Operation *>(op).Case<RingAttentionOp, RingAttentionBwdOp>(
      noteRing);
  rule.operands = op->getNumOperands();
  auto note = [&](Value value) {
    rule.shapes.emplace_back(
        cast<RankedTensorType>(value.getType()).getShape());
  };
  llvm::for_each(op->getOperands(), note);
  llvm::for_each(op->getResults(), note);
  return rule;
}

FailureOr<ShardingRule> ShardingRule::forPartsOf(Operation *op) {
  FailureOr<ShardingRule> rule = of(op);
  if (failed(rule))
    return failure();
  rule->isMeshInvariant = hone::isMeshInvariant(op);
  if (std::optional<CountedFactor> counted = countedFactorOf(op)) {
    rule->counted = counted->factor;
    rule->mapping.factors[counted->factor].kind = counted->kind;
    rule->needsRuns[counted->factor] = false;
  }
  return rule;
}

bool ShardingRule::isPassThrough() const {
  for (const Factor &factor : mapping.factors)
    if (factor.kind != FactorKind::Parallel)
      return false;
  for (unsigned tensor = 0; tensor != numTensors(); ++tensor)
    for (const DimensionFactors &dim : factorsOf(tensor))
      if (dim.size() > 1 || dim.offset())
        return false;
  return true;
}

DimShards ShardingRule::closed(unsigned factor, DimShards shards) const {
  if (shards.isWhole())
    return shards;
  for (unsigned tensor = 0; tensor != numTensors(); ++tensor)
    for (auto [dim, factors] : llvm::enumerate(factorsOf(tensor))) {
      if (!factors.offset() || factors[0] != int(factor))
        continue;
      int64_t begin = *factors.offset();
      for (int64_t cut : {begin, begin + shapes[tensor][dim]})
        if (cut > 0 && cut < mapping.factors[factor].size)
          shards.cuts.push_back(cut);
    }
  llvm::sort(shards.cuts);
  shards.cuts.erase(llvm::unique(shards.cuts), shards.cuts.end());
  return shards;
}

/// Whether segments that are repeated begin each time in the same order.
static bool turnsAlike(const DimShards &shards, int64_t repeats) {
  return !shards.snake || repeats == 1 || shards.cuts.size() % 2 == 1;
}

/// The shards of one factor of a merged dimension, if `shards` of the dimension
/// shard it alone: its segments repeat in each of the `repeats` runs of the
/// slower factors, and all cuts are multiples of `stride`. The segments of a
/// snake begin each run in the same order, if they are an even number.
static std::optional<DimShards> takeFactor(const DimShards &shards,
                                           int64_t repeats, int64_t size,
                                           int64_t stride, const Mesh &mesh) {
  int64_t run = size * stride;
  DimShards own = {shards.axes, {}, shards.snake};
  for (int64_t cut : shards.cuts)
    if (cut < run)
      own.cuts.push_back(cut / stride);
  SmallVector<int64_t> expected;
  for (int64_t repeat = 0; repeat != repeats; ++repeat) {
    if (repeat != 0)
      expected.push_back(repeat * run);
    for (int64_t cut : own.cuts)
      expected.push_back(repeat * run + cut * stride);
  }
  if (ArrayRef(expected) != ArrayRef<int64_t>(shards.cuts) ||
      !turnsAlike(own, repeats) || !dividesEvenly(own, size, mesh))
    return std::nullopt;
  return own;
}

std::optional<std::pair<unsigned, DimShards>>
ShardingRule::factorDivided(unsigned tensor, unsigned dim,
                            const DimShards &shards, const Mesh &mesh) const {
  const DimensionFactors &factors = factorsOf(tensor)[dim];
  if (factors.empty() || shards.isWhole())
    return std::nullopt;
  if (factors.offset()) {
    if (shards.snake && *factors.offset() != 0)
      return std::nullopt; // how many segments come before is not known
    DimShards whole = {shards.axes, {}, shards.snake};
    for (int64_t cut : shards.cuts)
      whole.cuts.push_back(cut + *factors.offset());
    return std::make_pair(unsigned(factors[0]),
                          closed(factors[0], std::move(whole)));
  }
  if (factors.size() == 1)
    return std::make_pair(unsigned(factors[0]), closed(factors[0], shards));
  int64_t repeats = 1, left = shapes[tensor][dim];
  for (int factor : factors) {
    int64_t size = mapping.factors[factor].size;
    left /= size;
    if (std::optional<DimShards> own =
            takeFactor(shards, repeats, size, left, mesh))
      return std::make_pair(unsigned(factor), closed(factor, *own));
    repeats *= size;
  }
  return std::nullopt;
}

/// Those of `axes` that divide `size` shared elements where all of them divide
/// the iterations: up to one element, which all parts within its run need.
/// Nothing where a part would need fewer of its elements than its peers hold.
static std::optional<Axes> axesOfShared(ArrayRef<unsigned> axes, int64_t size,
                                        const Mesh &mesh) {
  Axes dividing;
  for (unsigned axis : axes) {
    if (size == 1)
      break;
    if (size % mesh[axis].size != 0)
      return std::nullopt;
    size /= mesh[axis].size;
    dividing.push_back(axis);
  }
  return dividing;
}

bool ShardingRule::keepsCopies(unsigned tensor, unsigned dim,
                               ArrayRef<unsigned> axes,
                               const Mesh &mesh) const {
  if (!factorsOf(tensor)[dim].isShared())
    return false;
  std::optional<Axes> dividing = axesOfShared(axes, shapes[tensor][dim], mesh);
  return dividing && dividing->size() != axes.size();
}

std::optional<DimShards> ShardingRule::dimDivided(unsigned tensor, unsigned dim,
                                                  ArrayRef<DimShards> factors,
                                                  const Mesh &mesh) const {
  const DimensionFactors &own = factorsOf(tensor)[dim];
  int64_t size = shapes[tensor][dim];
  DimShards shards;
  if (llvm::all_of(own, [&](int factor) { return factors[factor].isWhole(); }))
    return shards;
  int64_t repeats = 1, left = size;
  for (int factor : own) {
    const DimShards &divided = factors[factor];
    int64_t factorSize = mapping.factors[factor].size;
    if (divided.isWhole()) {
      left /= factorSize;
      repeats *= factorSize;
      continue;
    }
    if (!shards.isWhole())
      return std::nullopt; // two factors of one dimension
    shards.axes = divided.axes;
    shards.snake = divided.snake;
    if (own.offset()) {
      int64_t before = 0; // segments
      for (int64_t cut : divided.cuts)
        if (cut > *own.offset() && cut < *own.offset() + size)
          shards.cuts.push_back(cut - *own.offset());
        else if (cut <= *own.offset())
          ++before;
      if (shards.snake && before % 2 != 0)
        return std::nullopt;
      shards.snake &= !shards.cuts.empty();
      break;
    }
    if (own.size() == 1) {
      // Fewer elements of the factor: cuts would be others.
      if (size != factorSize && !divided.cuts.empty())
        return std::nullopt;
      shards.cuts = divided.cuts;
      if (size != factorSize && own.isShared()) {
        std::optional<Axes> dividing = axesOfShared(divided.axes, size, mesh);
        if (!dividing)
          return std::nullopt;
        shards.axes = std::move(*dividing);
      }
      break;
    }
    if (!turnsAlike(divided, repeats))
      return std::nullopt;
    left /= factorSize;
    for (int64_t repeat = 0; repeat != repeats; ++repeat) {
      if (repeat != 0)
        shards.cuts.push_back(repeat * factorSize * left);
      for (int64_t cut : divided.cuts)
        shards.cuts.push_back((repeat * factorSize + cut) * left);
    }
    repeats *= factorSize;
  }
  if (!dividesEvenly(shards, size, mesh))
    return std::nullopt;
  return shards;
}

/// Whether ranks have two runs of positions each, in which attention in a ring
/// chooses what a rank computes.
bool ShardingRule::isOfRing(const DimShards &positions,
                            const Mesh &mesh) const {
  DimShards expected = {axesOf(ringAxes, mesh),
                        {mapping.factors[ringFactor].size / 2},
                        /*snake=*/true};
  return positions.isWhole() || positions == expected;
}

/// Whether the op can be told where the runs of factors with cuts begin: of one
/// dimension of random numbers, in runs whose length divides it and their first
/// position, as that of each part does, and of counted positions in runs of one
/// length.
bool ShardingRule::canCut(ArrayRef<DimShards> shards, const Mesh &mesh) const {
  if (ringFactor >= 0 && !isOfRing(shards[ringFactor], mesh))
    return false;
  int64_t drawn = 0;
  for (auto [index, own] : llvm::enumerate(shards)) {
    if (own.cuts.empty())
      continue;
    if (needsRuns[index])
      return false;
    if (!isDrawn[index] && !isCounted(index))
      continue;
    drawn += isDrawn[index];
    int64_t size = mapping.factors[index].size;
    SmallVector<PositionRun> runs = runsOf(own, size, mesh, 0);
    for (PositionRun run : runs)
      if (isCounted(index) ? run.length != runs.front().length
                           : run.length == 0 || size % run.length != 0 ||
                                 run.begin % run.length != 0)
        return false;
  }
  return drawn <= 1;
}

std::optional<Sharding> ShardingRule::shardingOf(unsigned tensor,
                                                 ArrayRef<DimShards> factors,
                                                 const Mesh &mesh) const {
  if (!canCut(factors, mesh))
    return std::nullopt;
  Sharding sharding;
  llvm::SmallDenseSet<int> present;
  for (auto [dim, own] : llvm::enumerate(factorsOf(tensor))) {
    std::optional<DimShards> shards = dimDivided(tensor, dim, factors, mesh);
    if (!shards)
      return std::nullopt;
    if (tensor >= operands && own.isShared())
      llvm::append_range(
          sharding.partial,
          ArrayRef(factors[own[0]].axes).drop_front(shards->axes.size()));
    sharding.dims.push_back(std::move(*shards));
    present.insert(own.begin(), own.end());
  }
  if (tensor < operands)
    return sharding;
  if (isMeshInvariant && !sharding.partial.empty())
    return std::nullopt;
  sharding.kind = mapping.combiner;
  for (auto [index, factor] : llvm::enumerate(mapping.factors))
    if (!present.contains(index) && (factor.kind == FactorKind::Reduce ||
                                     factor.kind == FactorKind::Gather))
      llvm::append_range(sharding.partial, factors[index].axes);
  return sharding;
}
