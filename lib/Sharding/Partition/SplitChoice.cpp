//===- SplitChoice.cpp - Which axes divide which factors of an op ---------===//

#include "SplitChoice.h"

#include "Sharding/Propagate/Propagation.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace hone;
using namespace hone::dist;

FailureOr<RecordedShardings> RecordedShardings::read(func::FuncOp func,
                                                     const Mesh &mesh) {
  RecordedShardings all;
  auto add = [&](Value value, ShardingAttr attr,
                 llvm::function_ref<InFlightDiagnostic()> emit) {
    if (!attr)
      return LogicalResult(emit() << "has no sharding, expected "
                                     "dist-propagate before");
    auto type = cast<RankedTensorType>(value.getType());
    if (failed(verifySharding(attr, type, mesh, emit)))
      return failure();
    all.records[value] = {attr, toSharding(attr, mesh)};
    all.records[value].sharding.partial.clear();
    return success();
  };
  Block &block = func.getBody().front();
  for (BlockArgument arg : block.getArguments()) {
    unsigned index = arg.getArgNumber();
    if (failed(add(
            arg, func.getArgAttrOfType<ShardingAttr>(index, shardingAttr),
            [&] { return func.emitError() << "argument " << index << " "; })))
      return failure();
  }
  for (Operation &op : block.without_terminator()) {
    auto attrs = op.getAttrOfType<ArrayAttr>(shardingsAttr);
    for (auto [index, result] : llvm::enumerate(op.getResults()))
      if (failed(add(result,
                     attrs ? cast<ShardingAttr>(attrs[index]) : ShardingAttr(),
                     [&] { return op.emitOpError(); })))
        return failure();
  }
  return all;
}

std::string RecordedShardings::sourceOf(Value value, unsigned dim) const {
  StringAttr source =
      records.find(value)->second.attr.getDims()[dim].getSource();
  return source ? source.str() : describeAnnotation(value);
}

namespace {
/// A factor that an axis may divide, and the first priority it has there.
struct Candidate {
  unsigned factor;
  int64_t priority;
};

class Chooser {
public:
  Chooser(Operation *op, const ShardingRule &rule,
          const RecordedShardings &shardings, const Mesh &mesh,
          ArrayRef<unsigned> apart, IsThere isThere)
      : op(op), rule(rule), shardings(shardings), mesh(mesh), apart(apart),
        isThere(isThere), candidates(mesh.numAxes()),
        expected(rule.factors().size()) {}

  Split choose(int64_t maxSplits);

private:
  Value tensorOf(unsigned tensor) const {
    return tensor < rule.numOperands()
               ? op->getOperand(tensor)
               : op->getResult(tensor - rule.numOperands());
  }
  void collect();
  void note(unsigned axis, unsigned factor, int64_t priority);
  FactorShards assemble(ArrayRef<int> chosen) const;
  std::optional<Split> make(ArrayRef<int> chosen) const;
  int64_t violations(ArrayRef<int> chosen) const;
  double seconds(const Split &split) const;
  bool consider(ArrayRef<int> chosen);
  int64_t countWays() const;
  void chooseOfAll();
  void chooseByAxis(SmallVector<int> chosen);
  SmallVector<int> firstCandidates() const;

  Operation *op;
  const ShardingRule &rule;
  const RecordedShardings &shardings;
  const Mesh &mesh;
  ArrayRef<unsigned> apart;
  IsThere isThere;
  std::vector<SmallVector<Candidate>> candidates; ///< of each axis
  /// The longest division that tensors have of each factor.
  FactorShards expected;
  std::optional<Split> best; ///< of those considered
  std::pair<int64_t, double> bestScore;
};
} // namespace

void Chooser::note(unsigned axis, unsigned factor, int64_t priority) {
  for (Candidate &candidate : candidates[axis])
    if (candidate.factor == factor) {
      candidate.priority = std::min(candidate.priority, priority);
      return;
    }
  candidates[axis].push_back({factor, priority});
}

void Chooser::collect() {
  for (unsigned tensor = 0; tensor != rule.numTensors(); ++tensor) {
    Value value = tensorOf(tensor);
    for (auto [dim, shards] : llvm::enumerate(shardings.of(value).dims)) {
      auto divided = rule.factorDivided(tensor, dim, shards, mesh);
      if (!divided || !rule.canSplit(divided->first))
        continue;
      for (unsigned axis : shards.axes)
        if (!llvm::is_contained(apart, axis))
          note(axis, divided->first, shardings.priorityOf(value, dim));
      DimShards &best = expected[divided->first];
      if (std::optional<DimShards> both = unite(best, divided->second))
        best = std::move(*both);
      else if (divided->second.axes.size() > best.axes.size())
        best = divided->second;
    }
  }
}

/// The factors' shards where axis i divides candidate `chosen[i]`, -1 for none:
/// in the order that a tensor has them in, others behind.
FactorShards Chooser::assemble(ArrayRef<int> chosen) const {
  FactorShards factors(rule.factors().size());
  auto isOn = [&](unsigned axis, unsigned factor) {
    return chosen[axis] >= 0 && candidates[axis][chosen[axis]].factor == factor;
  };
  for (unsigned factor = 0; factor != factors.size(); ++factor) {
    DimShards &shards = factors[factor];
    for (unsigned axis : expected[factor].axes)
      if (isOn(axis, factor))
        shards.axes.push_back(axis);
    for (unsigned axis = 0; axis != mesh.numAxes(); ++axis)
      if (isOn(axis, factor) && !llvm::is_contained(shards.axes, axis))
        shards.axes.push_back(axis);
    if (!shards.isWhole()) {
      shards.cuts = expected[factor].cuts;
      shards.snake = expected[factor].snake;
    }
    shards = rule.closed(factor, std::move(shards));
  }
  return factors;
}

std::optional<Split> Chooser::make(ArrayRef<int> chosen) const {
  Split split;
  split.factors = assemble(chosen);
  for (unsigned tensor = 0; tensor != rule.numTensors(); ++tensor) {
    std::optional<Sharding> sharding =
        rule.shardingOf(tensor, split.factors, mesh);
    if (!sharding)
      return std::nullopt;
    split.tensors.push_back(std::move(*sharding));
  }
  return split;
}

/// Axes that go to a factor of later priority than another could have had, or
/// to none.
int64_t Chooser::violations(ArrayRef<int> chosen) const {
  int64_t count = 0;
  for (auto [axis, options] : llvm::enumerate(candidates)) {
    if (options.empty())
      continue;
    int64_t first = options.front().priority;
    for (const Candidate &candidate : options)
      first = std::min(first, candidate.priority);
    count += chosen[axis] < 0 || options[chosen[axis]].priority > first;
  }
  return count;
}

static double partBytes(Value value, const Sharding &sharding,
                        const Mesh &mesh) {
  double bytes = double(byteSize(value.getType()));
  for (const DimShards &dim : sharding.dims)
    bytes /= double(mesh.count(dim.axes));
  return bytes;
}

/// Of the collectives around the op and of a rank's share of it. The rates of
/// the latter are a GPU's; they only rank splits that exchange alike.
double Chooser::seconds(const Split &split) const {
  constexpr double flopsPerSecond = 1e14, bytesPerSecond = 1e12;
  double total = 0, bytes = 0;
  for (unsigned tensor = 0; tensor != rule.numTensors(); ++tensor) {
    Value value = tensorOf(tensor);
    const Sharding &has = shardings.of(value), &takes = split.tensors[tensor];
    bool isOperand = tensor < rule.numOperands();
    bytes += partBytes(value, takes, mesh);
    if (isOperand && isThere(tensor, takes))
      continue;
    const Sharding &from = isOperand ? has : takes;
    const Sharding &to = isOperand ? takes : has;
    total +=
        costOf(planReshard(from, to, mesh), partBytes(value, from, mesh), mesh)
            .seconds;
  }
  double flops = 0;
  if (auto facts = dyn_cast<HoneOpInterface>(op))
    flops = double(facts.getCost().flops);
  for (const DimShards &factor : split.factors)
    flops /= double(mesh.count(factor.axes));
  return total + flops / flopsPerSecond + bytes / bytesPerSecond;
}

/// Prices a way to divide the op; whether it is better than those before.
bool Chooser::consider(ArrayRef<int> chosen) {
  std::optional<Split> split = make(chosen);
  if (!split)
    return false;
  std::pair<int64_t, double> score = {violations(chosen), seconds(*split)};
  if (best && score >= bestScore)
    return false;
  best = std::move(split);
  bestScore = score;
  return true;
}

int64_t Chooser::countWays() const {
  int64_t ways = 1;
  for (const SmallVector<Candidate> &options : candidates)
    if (llvm::MulOverflow(ways, int64_t(options.size() + 1), ways))
      return std::numeric_limits<int64_t>::max();
  return ways;
}

void Chooser::chooseOfAll() {
  SmallVector<int> chosen(mesh.numAxes(), -1);
  while (true) {
    consider(chosen);
    // The next combination; the first axis counts slowest.
    unsigned axis = mesh.numAxes();
    while (axis != 0 && ++chosen[axis - 1] == int(candidates[axis - 1].size()))
      chosen[--axis] = -1;
    if (axis == 0)
      return;
  }
}

/// Moves one axis at a time, from `chosen` on, for as long as that is better.
void Chooser::chooseByAxis(SmallVector<int> chosen) {
  constexpr int maxSweeps = 4;
  consider(chosen);
  bool isBetter = true;
  for (int sweep = 0; isBetter && sweep != maxSweeps; ++sweep) {
    isBetter = false;
    for (unsigned axis = 0; axis != mesh.numAxes(); ++axis) {
      int kept = chosen[axis];
      for (int next = -1; next != int(candidates[axis].size()); ++next) {
        chosen[axis] = next;
        if (next != kept && consider(chosen)) {
          kept = next;
          isBetter = true;
        }
      }
      chosen[axis] = kept;
    }
  }
}

/// For each axis the first factor of its first priority.
SmallVector<int> Chooser::firstCandidates() const {
  SmallVector<int> chosen;
  for (const SmallVector<Candidate> &options : candidates) {
    const auto *first = llvm::min_element(options, [](auto &left, auto &right) {
      return left.priority < right.priority;
    });
    chosen.push_back(options.empty() ? -1 : int(first - options.begin()));
  }
  return chosen;
}

Split Chooser::choose(int64_t maxSplits) {
  collect();
  int64_t ways = countWays();
  if (ways <= maxSplits) {
    chooseOfAll();
  } else {
    chooseByAxis(SmallVector<int>(mesh.numAxes(), -1));
    chooseByAxis(firstCandidates());
  }
  Split split = std::move(*best); // dividing nothing is always possible
  split.ways = ways;
  split.isBest = ways <= maxSplits;
  return split;
}

Split dist::chooseSplit(Operation *op, const ShardingRule &rule,
                        const RecordedShardings &shardings, const Mesh &mesh,
                        ArrayRef<unsigned> apart, IsThere isThere,
                        int64_t maxSplits) {
  return Chooser(op, rule, shardings, mesh, apart, isThere).choose(maxSplits);
}
