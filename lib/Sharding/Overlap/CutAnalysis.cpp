//===- CutAnalysis.cpp - What can run in pieces ---------------------------===//

#include "CutAnalysis.h"

#include "Sharding/Model/ShardingRule.h"
#include "hone/Analysis/Fusion/LossChunks.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Value number `tensor` of an op: operands, then results.
static Value tensorOf(Operation *op, unsigned tensor) {
  unsigned operands = op->getNumOperands();
  return tensor < operands ? op->getOperand(tensor)
                           : op->getResult(tensor - operands);
}

/// Whether the pieces of a collective of `bytes` take little longer on their
/// links, one after the other, than the whole does.
static bool isWorthPieces(CollectiveOpInterface op, const Group &group,
                          int64_t pieces) {
  constexpr double most = 1.5; // what hides behind products is worth more
  CollectiveKind kind = op.getCollectiveKind();
  double given = op.getBytesGiven();
  return double(pieces) * secondsOf(kind, group, given / double(pieces)) <=
         most * secondsOf(kind, group, given);
}

/// Whether `op` is a collective whose pieces may overlap with kernels.
bool CutAnalysis::isCollective(Operation *op) const {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective || collective.getAsync())
    return false;
  bool isOfAxes = llvm::all_of(
      collective.getAxes().getAsValueRange<StringAttr>(), [&](StringRef name) {
        // tp.r is a part of tp.
        return llvm::is_contained(axes, name.split('.').first);
      });
  if (!isOfAxes || isa<BlockArgument>(op->getOperand(0)))
    return false;
  if (bytes != 0)
    return collective.getBytesGiven() >= double(bytes);
  return isWorthPieces(collective,
                       mesh.group(axesOf(collective.getAxes(), mesh)), pieces);
}

/// How a collective is split that nothing else decides about: along the
/// outermost dimension before those that it moves, else within the shards of
/// the dimension that it gathers or scatters.
std::optional<Cut> CutAnalysis::firstCut(CollectiveOpInterface op) const {
  Value operand = op->getOperand(0);
  PlacementChange change = *op.getPlacementChange();
  const AxisPlacement &from = change.consumed, &to = change.produced;
  if (typeOf(operand).getRank() == 0)
    return std::nullopt;
  // The last dimension is what products sum over, and norms.
  unsigned last = typeOf(operand).getRank() - 1;
  unsigned moved = std::min(from.isSharded() ? from.dim : last,
                            to.isSharded() ? to.dim : last);
  Cut cut = {0, {{0}, {}, false}};
  for (; cut.dim < std::min(moved, last); ++cut.dim)
    if (op.keepsPositions(cut.dim) && divides(operand, cut))
      return cut;
  unsigned shard = from.isSharded() ? 0 : 1;
  cut.dim = moved;
  if (from.isSharded() == to.isSharded() || moved == last ||
      !divides(tensorOf(op, shard), cut))
    return std::nullopt;
  std::optional<OpCuts> all = cutsOfCollective(op, shard, cut);
  return all ? all->front() : std::nullopt;
}

/// A head stays whole, so that `hone-chunk-loss` finds it, whose chunks of rows
/// keep the logits out of memory.
void CutAnalysis::leaveHeads(Block &block) {
  for (auto loss : block.getOps<CrossEntropyOp>()) {
    std::string reason;
    FailureOr<LossHead> head = findLossHead(loss, reason);
    if (succeeded(head))
      for (Operation *op : head->ops())
        heads.insert(op);
  }
}

void CutAnalysis::seed(Operation &op) {
  if (ops.contains(&op) || !isCollective(&op))
    return;
  Value operand = op.getOperand(0);
  std::optional<Cut> cut = firstCut(cast<CollectiveOpInterface>(op));
  if (!cut || !agrees(operand, cut) || !cuts.try_emplace(operand, *cut).second)
    return;
  open.push_back(operand);
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Cut own = cuts.at(value);
    if (Operation *maker = value.getDefiningOp())
      visit(maker,
            maker->getNumOperands() + cast<OpResult>(value).getResultNumber(),
            own);
    for (OpOperand &use : value.getUses())
      visit(use.getOwner(), use.getOperandNumber(), own);
  }
}

/// Whether the ops that were taken in split `value` as `own` does, or not.
bool CutAnalysis::agrees(Value value, const std::optional<Cut> &own) const {
  auto known = cuts.find(value);
  if (known != cuts.end())
    return own && known->second == *own;
  return !own || llvm::all_of(value.getUses(), [&](OpOperand &use) {
    auto reader = ops.find(use.getOwner());
    return reader == ops.end() || reader->second[use.getOperandNumber()] == own;
  });
}

/// Takes `op` in, of which a tensor is split, if all that it shares with ops
/// that were taken in is split alike.
void CutAnalysis::visit(Operation *op, unsigned tensor, const Cut &cut) {
  if (ops.contains(op) || heads.contains(op))
    return;
  std::optional<OpCuts> all = cutsFrom(op, tensor, cut);
  if (!all)
    return;
  for (auto [index, own] : llvm::enumerate(*all))
    if (!agrees(tensorOf(op, index), own))
      return;
  for (auto [index, own] : llvm::enumerate(*all)) {
    Value value = tensorOf(op, index);
    if (own && !isa<BlockArgument>(value) &&
        cuts.try_emplace(value, *own).second)
      open.push_back(value);
  }
  ops[op] = std::move(*all);
}

/// The cut that a sharding over the virtual mesh is; nothing where it divides
/// no dimension.
std::optional<Cut> CutAnalysis::cutOf(Value value,
                                      const Sharding &sharding) const {
  for (auto [dim, shards] : llvm::enumerate(sharding.dims))
    if (!shards.isWhole())
      return Cut{unsigned(dim), shards};
  return std::nullopt;
}

/// Attention is not split: its kernel takes all heads and sequences at once.
/// Random numbers count from the first element of a whole.
static bool canSplit(Operation *op) {
  auto facts = dyn_cast<HoneOpInterface>(op);
  if (!facts || op->getNumOperands() == 0 || op->getNumRegions() != 0)
    return false;
  if (auto random = dyn_cast<RandomOpInterface>(op);
      random && random.getRandomKey())
    return false;
  switch (facts.getKernelFamily()) {
  case KernelFamily::view:
  case KernelFamily::map:
  case KernelFamily::row:
  case KernelFamily::dataMovement:
  case KernelFamily::contraction:
  case KernelFamily::groupedContraction:
  case KernelFamily::gather:
  case KernelFamily::rope:
    return facts.getUpdatedOperands().empty();
  default:
    return false;
  }
}

std::optional<OpCuts> CutAnalysis::cutsFrom(Operation *op, unsigned tensor,
                                            const Cut &cut) const {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return isCollective(op) ? cutsOfCollective(collective, tensor, cut)
                            : std::nullopt;
  if (!canSplit(op))
    return std::nullopt;
  ScopedDiagnosticHandler quiet(op->getContext(),
                                [](Diagnostic &) { return success(); });
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return std::nullopt;
  auto divided = rule->factorDivided(tensor, cut.dim, cut.shards, virtualMesh);
  if (!divided || rule->factors()[divided->first].kind != FactorKind::Parallel)
    return std::nullopt;
  // Ops that exchange numbers between parts: losses.
  if (llvm::any_of(rule->factors(), [](const Factor &factor) {
        return factor.kind == FactorKind::Reconcilable;
      }))
    return std::nullopt;
  FactorShards factors(rule->factors().size());
  factors[divided->first] = divided->second;
  OpCuts all;
  for (unsigned index = 0; index != rule->numTensors(); ++index) {
    std::optional<Sharding> sharding =
        rule->shardingOf(index, factors, virtualMesh);
    if (!sharding || !sharding->partial.empty())
      return std::nullopt;
    all.push_back(cutOf(tensorOf(op, index), *sharding));
    bool isResult = index >= rule->numOperands();
    if ((isResult && !all.back()) || (index == tensor && !(all.back() == cut)))
      return std::nullopt;
  }
  return all;
}

bool CutAnalysis::sumsPieces(Operation *op,
                             const SmallPtrSetImpl<Operation *> &split) const {
  if (!isa<HoneOpInterface>(op) || hone::isMeshInvariant(op))
    return false;
  ScopedDiagnosticHandler quiet(op->getContext(),
                                [](Diagnostic &) { return success(); });
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return false;
  auto cutOfOperand = [&](unsigned index) -> const Cut * {
    Operation *maker = op->getOperand(index).getDefiningOp();
    auto found = cuts.find(op->getOperand(index));
    return maker && split.contains(maker) && found != cuts.end()
               ? &found->second
               : nullptr;
  };
  FactorShards factors(rule->factors().size());
  for (unsigned index = 0; index != rule->numOperands(); ++index)
    if (const Cut *cut = cutOfOperand(index))
      if (auto divided =
              rule->factorDivided(index, cut->dim, cut->shards, virtualMesh))
        if (rule->factors()[divided->first].kind == FactorKind::Reduce)
          factors[divided->first] = divided->second;
  if (llvm::all_of(factors, std::mem_fn(&DimShards::isWhole)))
    return false;
  for (unsigned index = 0; index != rule->numTensors(); ++index) {
    std::optional<Sharding> sharding =
        rule->shardingOf(index, factors, virtualMesh);
    if (!sharding)
      return false;
    std::optional<Cut> cut = cutOf(tensorOf(op, index), *sharding);
    const Cut *own =
        index < rule->numOperands() ? cutOfOperand(index) : nullptr;
    if (own ? !(cut == *own) : cut.has_value())
      return false;
  }
  return true;
}

/// `shards` of a dimension of `size` as they are in each of `ranks` blocks.
static DimShards repeated(const DimShards &shards, int64_t size,
                          int64_t ranks) {
  DimShards all = {shards.axes, {}, false};
  for (int64_t rank = 0; rank != ranks; ++rank) {
    if (rank != 0)
      all.cuts.push_back(rank * size);
    for (int64_t cut : shards.cuts)
      all.cuts.push_back(rank * size + cut);
  }
  return all;
}

/// Along a dimension that the op gathers, the pieces of a whole are those of
/// every rank's shard, one rank's after the other's.
std::optional<OpCuts> CutAnalysis::cutsOfCollective(CollectiveOpInterface op,
                                                    unsigned tensor,
                                                    Cut cut) const {
  PlacementChange change = *op.getPlacementChange();
  const AxisPlacement &from = change.consumed, &to = change.produced;
  if (op.keepsPositions(cut.dim))
    return divides(tensorOf(op, tensor), cut) ? std::optional(OpCuts{cut, cut})
                                              : std::nullopt;
  bool isGathered = from.isSharded() && !to.isSharded() && from.dim == cut.dim;
  bool isScattered = to.isSharded() && !from.isSharded() && to.dim == cut.dim;
  const AxisPlacement &sharded = isGathered ? from : to;
  if ((!isGathered && !isScattered) || !sharded.cuts.empty() || sharded.snake ||
      cut.shards.snake)
    return std::nullopt;
  unsigned shard = isGathered ? 0 : 1;
  int64_t size = typeOf(tensorOf(op, shard)).getDimSize(cut.dim);
  Cut own = cut;
  if (tensor != shard) {
    own.shards.cuts.clear();
    for (int64_t at : cut.shards.cuts)
      if (at < size)
        own.shards.cuts.push_back(at);
  }
  Cut whole = own;
  whole.shards =
      repeated(own.shards, size, mesh.count(axesOf(op.getAxes(), mesh)));
  if (!divides(tensorOf(op, shard), own) ||
      (tensor != shard && !(whole == cut)))
    return std::nullopt;
  return isGathered ? OpCuts{own, whole} : OpCuts{whole, own};
}
