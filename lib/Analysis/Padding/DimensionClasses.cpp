//===- DimensionClasses.cpp - Dimensions that share a size ----------------===//

#include "hone/Analysis/Padding/DimensionClasses.h"

using namespace mlir;
using namespace hone;

static unsigned rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

DimensionClasses::DimensionClasses(Block &block) {
  for (BlockArgument argument : block.getArguments())
    number(argument);
  for (Operation &op : block)
    llvm::for_each(op.getResults(), [&](Value result) { number(result); });
  classes.grow(dimensions.size());
  for (Operation &op : block)
    if (auto facts = dyn_cast<HoneOpInterface>(op))
      join(facts);
  classes.compress();

  all.resize(classes.getNumClasses());
  ops.resize(classes.getNumClasses());
  fixed.resize(classes.getNumClasses());
  for (auto [index, dimension] : llvm::enumerate(dimensions))
    all[classes[index]].push_back(dimension);
  for (auto [index, op] : wholes)
    if (!fixed[classes[index]])
      fixed[classes[index]] = op;
  for (Operation &op : block) {
    auto note = [&](Value value) {
      for (unsigned dim = 0, rank = rankOf(value); dim != rank; ++dim) {
        auto &users = ops[find(value, dim)];
        if (users.empty() || users.back() != &op)
          users.push_back(&op);
      }
    };
    llvm::for_each(op.getOperands(), note);
    llvm::for_each(op.getResults(), note);
  }
}

void DimensionClasses::number(Value value) {
  first[value] = dimensions.size();
  for (unsigned dim = 0, rank = rankOf(value); dim != rank; ++dim)
    dimensions.push_back({value, dim});
}

/// One class per factor of the op. Dimensions of no factor stay whole, and so
/// do those of factors that are merged or cut somewhere: their elements would
/// move apart if they grew.
void DimensionClasses::join(HoneOpInterface op) {
  DimensionMapping mapping = op.getDimensionMapping();
  llvm::SmallDenseSet<int> fixed;
  for (const auto &tensors : {mapping.operands, mapping.results})
    for (const TensorFactors &dims : tensors)
      for (const DimensionFactors &factors : dims)
        if (factors.size() > 1 || factors.offset())
          fixed.insert(factors.begin(), factors.end());
  SmallVector<int64_t> leader(mapping.factors.size(), -1);
  auto visit = [&](Value value, const TensorFactors &dims) {
    for (auto [dim, factors] : llvm::enumerate(dims)) {
      unsigned index = first.lookup(value) + dim;
      if (factors.size() != 1 || fixed.contains(factors[0]))
        wholes.emplace_back(index, op);
      else if (leader[factors[0]] < 0)
        leader[factors[0]] = index;
      else
        classes.join(leader[factors[0]], index);
    }
  };
  for (auto [operand, factors] : llvm::zip(op->getOperands(), mapping.operands))
    visit(operand, factors);
  for (auto [result, factors] : llvm::zip(op->getResults(), mapping.results))
    visit(result, factors);
}

unsigned DimensionClasses::find(Value value, unsigned dim) const {
  auto it = first.find(value);
  assert(it != first.end() && "not a value of the block");
  return classes[it->second + dim];
}

SmallVector<unsigned> DimensionClasses::dimsIn(Value value, unsigned id) const {
  SmallVector<unsigned> dims;
  for (unsigned dim = 0, rank = rankOf(value); dim != rank; ++dim)
    if (find(value, dim) == id)
      dims.push_back(dim);
  return dims;
}
