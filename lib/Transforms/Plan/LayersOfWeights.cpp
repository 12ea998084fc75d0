//===- LayersOfWeights.cpp - Weights that may be streamed -----------------===//

#include "LayersOfWeights.h"
#include "StreamedWeights.h"

#include "hone/Analysis/Recompute/StepStages.h"
#include "hone/IR/CodeNames.h"
#include "hone/IR/IndexedOps.h"

using namespace mlir;
using namespace hone;

StateKey hone::keyOf(BlockArgument argument) {
  auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned index = argument.getArgNumber();
  return {argString(func, index, attr::kind),
          argString(func, index, attr::fqn)};
}

StringRef hone::copiedParameter(StringRef name) {
  StringRef weight = weightOfCodes(name);
  return weight.empty() ? name : weight;
}

//===----------------------------------------------------------------------===//
// Which may lie in the second arena
//===----------------------------------------------------------------------===//

/// Whether a kernel picks rows of what it reads by `use`.
static bool isTable(OpOperand &use) {
  Value inside = cast<FusedOp>(use.getOwner())
                     .getBodyBlock()
                     .getArgument(use.getOperandNumber());
  return llvm::any_of(inside.getUsers(), [](Operation *user) {
    return isa<IndexedOpInterface>(user);
  });
}

/// Whether one kernel makes `result`, the new value of `argument`, and all that
/// read the old one come before; or the kernel may itself write over it.
static bool isReplacedLast(BlockArgument argument, OpResult result,
                           ArrayRef<OpOperand *> readers) {
  auto maker = dyn_cast_or_null<FusedOp>(
      result ? result.getOwner() : static_cast<Operation *>(nullptr));
  if (!maker || maker.getFamily() == KernelFamily::collective ||
      !result.hasOneUse() || result.getType() != argument.getType())
    return false;
  int64_t own = 0;
  for (OpOperand *use : readers) {
    if (use->getOwner() != maker) {
      if (!use->getOwner()->isBeforeInBlock(maker))
        return false;
      continue;
    }
    bool mayWrite =
        llvm::any_of(maker.getReusableOperands(), [&](AliasPair pair) {
          return pair.result == result.getResultNumber() &&
                 pair.operand == use->getOperandNumber();
        });
    if (++own > 1 || use->get() != argument || !mayWrite)
      return false;
  }
  return true;
}

static bool mayStream(BlockArgument argument) {
  auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  Readings readings = readingsOf(argument);
  if (!readings.others.empty() ||
      llvm::any_of(readings.kernels,
                   [](OpOperand *use) { return isTable(*use); }))
    return false;
  Operation *ret = func.front().getTerminator();
  for (OpOperand &returned : ret->getOpOperands()) {
    auto donor = func.getResultAttrOfType<IntegerAttr>(
        returned.getOperandNumber(), attr::donates);
    if (donor && donor.getInt() == argument.getArgNumber() &&
        !isReplacedLast(argument, dyn_cast<OpResult>(returned.get()),
                        readings.kernels))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// The stage of a training step that a kernel runs in first; the last one of a
/// kernel that is of none.
static int64_t stageOfFirstKernel(const StepStages &cut, Operation *kernel) {
  for (unsigned result = 0; result != kernel->getNumResults(); ++result)
    if (int stage = cut.stageOf(kernel, result); stage >= 0)
      return stage;
  return int64_t(cut.stages().size()) - 1;
}

/// Gives weights that kernels of `func` read the layers of its stages. Where it
/// has no stages, each weight is a layer.
static void findLayers(func::FuncOp func, const TargetDescription &target,
                       llvm::MapVector<StateKey, LayerWeight> &weights) {
  StepStages cut(func, target);
  int64_t next = 0;
  for (BlockArgument argument : func.getArguments()) {
    auto found = weights.find(keyOf(argument));
    SmallVector<OpOperand *> uses = readingsOf(argument).kernels;
    if (found == weights.end() || uses.empty())
      continue;
    auto first = llvm::min_element(uses, [](OpOperand *a, OpOperand *b) {
      return a->getOwner()->isBeforeInBlock(b->getOwner());
    });
    found->second.layer = cut.stages().size() < 2
                              ? next++
                              : stageOfFirstKernel(cut, (*first)->getOwner());
  }
}

SmallVector<LayerWeight> hone::findWeights(ModuleOp module, int64_t least,
                                           const TargetDescription &target) {
  llvm::MapVector<StateKey, LayerWeight> weights;
  llvm::DenseSet<StateKey> staying;
  SmallVector<func::FuncOp> funcs = programFunctions(module);
  for (func::FuncOp func : funcs)
    for (BlockArgument argument : func.getArguments()) {
      StateKey key = keyOf(argument);
      int64_t bytes = byteSize(argument.getType());
      if (key.first == kind::workingCopy) {
        staying.insert({kind::param, copiedParameter(key.second)});
      } else if (key.first != kind::param) {
        continue;
      }
      if (bytes < least || !mayStream(argument))
        staying.insert(key);
      weights.insert({key, {key, bytes}});
    }
  weights.remove_if([&](auto &entry) { return staying.contains(entry.first); });
  for (func::FuncOp func : funcs)
    if (func.getName() == "step" || func.getName() == "accumulate")
      findLayers(func, target, weights);
  return llvm::map_to_vector(weights, [](auto &entry) { return entry.second; });
}

void hone::markWeights(ModuleOp module, ArrayRef<LayerWeight> weights) {
  llvm::DenseMap<StateKey, int64_t> layers;
  for (const LayerWeight &weight : weights)
    layers[weight.key] = weight.layer;
  Builder builder(module.getContext());
  for (func::FuncOp func : programFunctions(module))
    for (BlockArgument argument : func.getArguments()) {
      auto found = layers.find(keyOf(argument));
      if (found == layers.end())
        continue;
      unsigned index = argument.getArgNumber();
      func.setArgAttr(index, plan::hostAttr, builder.getUnitAttr());
      func.setArgAttr(index, layerAttr,
                      builder.getI64IntegerAttr(found->second));
    }
}
