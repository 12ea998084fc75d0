//===- SplitClasses.cpp - Dimensions that are divided together ------------===//

#include "SplitClasses.h"

#include "Sharding/Partition/LocalOps.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

static Value tensorOf(Operation *op, const ShardingRule &rule,
                      unsigned tensor) {
  return tensor < rule.numOperands()
             ? op->getOperand(tensor)
             : op->getResult(tensor - rule.numOperands());
}

void SplitClasses::number(Value value) {
  first[value] = sizes.size();
  llvm::append_range(sizes, cast<RankedTensorType>(value.getType()).getShape());
}

void SplitClasses::join(Operation *op, const ShardingRule &rule,
                        ArrayRef<unsigned> axes, const Mesh &mesh) {
  SmallVector<int64_t> leader(rule.factors().size(), -1);
  SmallVector<unsigned> led(rule.factors().size(), 0);
  // Dimensions of which a factor is the slowest.
  for (unsigned tensor = 0; tensor != rule.numTensors(); ++tensor)
    for (auto [dim, factors] : llvm::enumerate(rule.factorsOf(tensor))) {
      unsigned index = first.find(tensorOf(op, rule, tensor))->second + dim;
      if (rule.keepsCopies(tensor, dim, axes, mesh)) {
        // With the features of one element: one key head is no dimension of
        // its weight.
        size_t inner = rule.factorsOf(tensor).size() - dim;
        llvm::append_range(copies, llvm::seq<unsigned>(index, index + inner));
        continue;
      }
      if (factors.empty() || !rule.canSplit(factors[0])) {
        wholes.push_back({index, op});
        continue;
      }
      if (leader[factors[0]] < 0)
        leader[factors[0]] = index;
      else
        classes.join(leader[factors[0]], index);
      ++led[factors[0]];
    }
  // Where another factor is slower, dividing this one would cut the dimension.
  for (unsigned tensor = 0; tensor != rule.numTensors(); ++tensor)
    for (const DimensionFactors &factors : rule.factorsOf(tensor))
      for (size_t place = 1; place < factors.size(); ++place)
        if (leader[factors[place]] >= 0)
          wholes.push_back({leader[factors[place]], op});
}

void SplitClasses::mark(func::FuncOp func, int64_t parts) {
  classes.compress();
  stuck.assign(classes.getNumClasses(), false);
  copied.assign(classes.getNumClasses(), false);
  uneven.assign(classes.getNumClasses(), 0);
  holders.assign(classes.getNumClasses(), nullptr);
  for (auto [index, op] : wholes) {
    stuck[classes[index]] = true;
    if (!holders[classes[index]])
      holders[classes[index]] = op;
  }
  for (unsigned index : copies)
    copied[classes[index]] = true;
  for (auto [index, size] : llvm::enumerate(sizes)) {
    if (size != 0 && size % parts == 0)
      continue;
    unsigned id = classes[index];
    stuck[id] = true;
    uneven[id] = uneven[id] == 0 ? size : std::min(uneven[id], size);
  }
  // The batch and its positions have axes of their own.
  for (BlockArgument arg : func.getArguments())
    if (argString(func, arg.getArgNumber(), attr::kind) == kind::input)
      for (unsigned dim = 0,
                    rank = cast<RankedTensorType>(arg.getType()).getRank();
           dim != rank; ++dim)
        stuck[find(arg, dim)] = true;
}

FailureOr<SplitClasses>
SplitClasses::of(func::FuncOp func, ArrayRef<unsigned> axes, const Mesh &mesh) {
  SplitClasses all;
  Block &block = func.getBody().front();
  llvm::for_each(block.getArguments(), [&](Value arg) { all.number(arg); });
  for (Operation &op : block)
    llvm::for_each(op.getResults(), [&](Value result) { all.number(result); });
  all.classes.grow(all.sizes.size());
  for (Operation &op : block.without_terminator()) {
    auto facts = dyn_cast<HoneOpInterface>(op);
    if (acceptsAnySharding(&op) ||
        (facts && facts.getNumericClass() == NumericClass::state))
      continue;
    FailureOr<ShardingRule> rule = ShardingRule::of(&op);
    if (failed(rule))
      return failure();
    // What nothing is read from is made as its readers want it.
    if (op.getNumOperands() != 0)
      all.join(&op, *rule, axes, mesh);
    all.rules.try_emplace(&op, std::move(*rule));
  }
  all.mark(func, mesh.count(axes));
  return all;
}

bool SplitClasses::combines(Operation *op,
                            const llvm::DenseSet<unsigned> &expected) const {
  auto found = rules.find(op);
  if (found == rules.end())
    return false;
  const ShardingRule &rule = found->second;
  for (unsigned tensor = 0; tensor != rule.numOperands(); ++tensor)
    for (auto [dim, factors] : llvm::enumerate(rule.factorsOf(tensor))) {
      if (factors.empty() ||
          !expected.contains(find(op->getOperand(tensor), dim)))
        continue;
      FactorKind kind = rule.factors()[factors[0]].kind;
      if (kind == FactorKind::Reduce || kind == FactorKind::Gather)
        return true;
    }
  return false;
}
