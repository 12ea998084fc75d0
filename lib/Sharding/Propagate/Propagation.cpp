//===- Propagation.cpp - Shardings of values from some of them ------------===//

#include "Propagation.h"

#include "hone/IR/Locations.h"

#include <set>

using namespace mlir;
using namespace hone;
using namespace hone::dist;

//===----------------------------------------------------------------------===//
// What is given
//===----------------------------------------------------------------------===//

void Propagation::number(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  int64_t rank = type ? type.getRank() : 0;
  State &state = states[value];
  state.sharding = Sharding::whole(rank);
  state.dims.resize(rank);
  values.push_back(value);
}

LogicalResult
Propagation::annotate(Value value, ShardingAttr attr,
                      llvm::function_ref<InFlightDiagnostic()> emit) {
  if (failed(verifySharding(attr, cast<RankedTensorType>(value.getType()), mesh,
                            emit)))
    return failure();
  Sharding expected = toSharding(attr, mesh);
  State &state = states[value];
  // Along axes that it is partial along it is not divided.
  for (unsigned axis : expected.partial)
    if (!llvm::is_contained(state.sharding.partial, axis))
      state.sharding.partial.push_back(axis);
  for (auto [index, dim] : llvm::enumerate(attr.getDims())) {
    DimState &own = state.dims[index];
    if (own.expectedAt >= 0 && own.expected != expected.dims[index])
      return emit() << "annotates dimension " << index
                    << " of a value that has another annotation, expected the "
                       "same";
    own.isClosed |= !dim.getIsOpen();
    own.expected = expected.dims[index];
    own.expectedAt = dim.getPriority();
  }
  return success();
}

/// Terms are of gradients, and summed.
static LogicalResult verifyTerms(ShardingAttr attr, StringRef kind,
                                 function_ref<InFlightDiagnostic()> emit) {
  if (attr.getPartial().empty() ||
      (mayBePartial(kind) && attr.getKind() == ReduceKind::sum))
    return success();
  return emit() << "of kind '" << kind
                << "' is annotated with a partial sharding, expected one of a "
                   "gradient, and a sum";
}

LogicalResult Propagation::collect(func::FuncOp func) {
  Block &block = func.getBody().front();
  llvm::for_each(block.getArguments(), [&](Value arg) { number(arg); });
  for (Operation &op : block) {
    llvm::for_each(op.getResults(), [&](Value result) { number(result); });
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    FailureOr<ShardingRule> rule = ShardingRule::forPartsOf(&op);
    if (failed(rule))
      return failure();
    bool isPassThrough = rule->isPassThrough();
    ops.push_back({&op, std::move(*rule), isPassThrough});
  }
  for (BlockArgument arg : block.getArguments())
    if (auto attr = func.getArgAttrOfType<ShardingAttr>(arg.getArgNumber(),
                                                        shardingAttr)) {
      auto emit = [&] {
        return func.emitError() << describeAnnotation(arg) << " ";
      };
      StringRef kind = argString(func, arg.getArgNumber(), attr::kind);
      if (failed(annotate(arg, attr, emit)) ||
          failed(verifyTerms(attr, kind, emit)))
        return failure();
    }
  for (auto constrain : block.getOps<ConstrainOp>())
    if (failed(annotate(constrain, constrain.getSharding(),
                        [&] { return constrain.emitOpError(); })))
      return failure();
  for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    auto attr = func.getResultAttrOfType<ShardingAttr>(index, shardingAttr);
    if (!attr)
      continue;
    auto emit = [&] { return func.emitError() << "result " << index << " "; };
    if (failed(verifyTerms(attr, resultString(func, index, attr::kind), emit)))
      return failure();
    // An argument that is returned keeps its own.
    if (!isa<BlockArgument>(operand.get()) &&
        failed(annotate(operand.get(), attr, emit)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What follows
//===----------------------------------------------------------------------===//

void Propagation::enterLevel(int64_t now) {
  level = now;
  for (Value value : values) {
    State &state = states[value];
    for (auto [dim, own] : llvm::enumerate(state.dims))
      if (own.expectedAt == now) {
        state.sharding.dims[dim] = own.expected;
        own.priority = now;
        own.source = {};
      }
  }
}

std::string dist::describeAnnotation(Value value) {
  auto arg = dyn_cast<BlockArgument>(value);
  if (!arg)
    return (isa<ConstrainOp>(value.getDefiningOp()) ? "the constraint at "
                                                    : "the result at ") +
           describeLocation(value.getLoc());
  auto func = cast<func::FuncOp>(arg.getOwner()->getParentOp());
  StringRef name = argString(func, arg.getArgNumber(), attr::fqn);
  if (name.empty())
    return "argument " + std::to_string(arg.getArgNumber());
  return "argument '" + name.str() + "'";
}

/// The annotation behind the axes of a dimension.
StringAttr Propagation::describe(Value value, unsigned dim) const {
  StringAttr source = sourceOf(value, dim);
  return source
             ? source
             : StringAttr::get(value.getContext(), describeAnnotation(value));
}

Value Propagation::tensorOf(const OpRule &op, unsigned tensor) const {
  unsigned operands = op.rule.numOperands();
  return tensor < operands ? op.op->getOperand(tensor)
                           : op.op->getResult(tensor - operands);
}

/// Whether `axis` may divide `factor`: it divides no other factor of the op.
bool Propagation::isFree(const OpRule &op, unsigned factor,
                         unsigned axis) const {
  for (unsigned tensor = 0; tensor != op.rule.numTensors(); ++tensor) {
    const State &state = states.find(tensorOf(op, tensor))->second;
    for (auto [dim, shards] : llvm::enumerate(state.sharding.dims)) {
      if (!llvm::is_contained(shards.axes, axis))
        continue;
      auto divided = op.rule.factorDivided(tensor, dim, shards, mesh);
      if (!divided || divided->first != factor)
        return false;
    }
  }
  return true;
}

/// Whether dimension `dim` of a tensor may become `shards`, which goes beyond
/// what it has.
bool Propagation::accepts(const OpRule &op, unsigned tensor, unsigned dim,
                          const DimShards &shards) const {
  const State &state = states.find(tensorOf(op, tensor))->second;
  const DimShards &now = state.sharding.dims[dim];
  if (now == shards)
    return true;
  // Axes and cuts are only added: what divides another of a dimension's factors
  // stays, and propagation ends.
  if (state.dims[dim].isClosed || shards.axes.size() < now.axes.size() ||
      ArrayRef(shards.axes).take_front(now.axes.size()) != ArrayRef(now.axes) ||
      !std::includes(shards.cuts.begin(), shards.cuts.end(), now.cuts.begin(),
                     now.cuts.end()) ||
      (!now.isWhole() && now.snake != shards.snake))
    return false;
  for (unsigned axis : shards.axes) {
    if (llvm::is_contained(now.axes, axis))
      continue;
    if (state.sharding.uses(axis))
      return false;
    for (auto [other, own] : llvm::enumerate(state.dims))
      if (other != dim && own.expectedAt > level &&
          llvm::is_contained(own.expected.axes, axis))
        return false;
  }
  return true;
}

bool Propagation::visitFactor(const OpRule &op, unsigned factor) {
  if (!op.rule.canSplit(factor))
    return false;
  DimShards best;
  StringAttr source;                                 // of the longest
  SmallVector<std::pair<unsigned, unsigned>> places; // tensor, dimension
  for (unsigned tensor = 0; tensor != op.rule.numTensors(); ++tensor) {
    const State &state = states.find(tensorOf(op, tensor))->second;
    for (auto [dim, own] : llvm::enumerate(op.rule.factorsOf(tensor))) {
      if (!llvm::is_contained(own, int(factor)))
        continue;
      places.emplace_back(tensor, dim);
      auto divided =
          op.rule.factorDivided(tensor, dim, state.sharding.dims[dim], mesh);
      if (!divided || divided->first != factor)
        continue;
      std::optional<DimShards> merged = unite(best, divided->second);
      if (!merged)
        return false; // partition chooses
      if (divided->second.axes.size() > best.axes.size())
        source = describe(tensorOf(op, tensor), dim);
      best = std::move(*merged);
    }
  }
  // What goes before an axis that divides another factor is shared all the
  // same: positions along cp, where a product's weight has tp.
  const auto *taken = llvm::find_if_not(
      best.axes, [&](unsigned axis) { return isFree(op, factor, axis); });
  best.axes.erase(taken, best.axes.end());
  if (best.isWhole())
    return false;
  FactorShards factors(op.rule.factors().size());
  factors[factor] = best;
  bool changed = false;
  for (auto [tensor, dim] : places) {
    std::optional<DimShards> shards =
        op.rule.dimDivided(tensor, dim, factors, mesh);
    if (!shards || !accepts(op, tensor, dim, *shards))
      continue;
    State &state = states[tensorOf(op, tensor)];
    if (state.sharding.dims[dim] == *shards)
      continue;
    state.sharding.dims[dim] = *shards;
    state.dims[dim].priority = std::max(state.dims[dim].priority, level);
    state.dims[dim].source = source;
    changed = true;
  }
  return changed;
}

bool Propagation::visit(const OpRule &op) {
  bool changed = false;
  for (unsigned factor = 0; factor != op.rule.factors().size(); ++factor)
    changed |= visitFactor(op, factor);
  return changed;
}

/// Forward and backward until nothing changes. Divisions only grow, so this
/// ends.
void Propagation::settle(bool passThroughOnly) {
  auto sweep = [&](auto range) {
    bool changed = false;
    for (const OpRule &op : range)
      if (!passThroughOnly || op.isPassThrough)
        changed |= visit(op);
    return changed;
  };
  for (bool changed = true; changed;) {
    changed = sweep(llvm::make_range(ops.begin(), ops.end()));
    changed |= sweep(llvm::reverse(ops));
  }
}

FailureOr<Propagation> Propagation::run(func::FuncOp func, const Mesh &mesh) {
  Propagation propagation(mesh);
  if (failed(propagation.collect(func)))
    return failure();
  std::set<int64_t> levels;
  for (Value value : propagation.values)
    for (const DimState &dim : propagation.states[value].dims)
      if (dim.expectedAt >= 0)
        levels.insert(dim.expectedAt);
  for (int64_t level : levels) {
    propagation.enterLevel(level);
    propagation.settle(/*passThroughOnly=*/true);
    propagation.settle(/*passThroughOnly=*/false);
  }
  return propagation;
}
