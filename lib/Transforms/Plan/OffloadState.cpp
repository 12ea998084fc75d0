//===- OffloadState.cpp - Which state lies in the second arena ------------===//
//
// State that only the update reads is needed once per step. The pass marks it
// and cuts the update into parts; hone-plan-memory makes copies of that.
// Weights are needed twice per micro-batch, layer by layer (LayersOfWeights.h).
//
//===----------------------------------------------------------------------===//

#include "FunctionPlanner.h"
#include "LayersOfWeights.h"
#include "OffloadPrice.h"
#include "StreamedWeights.h"
#include "UpdateParts.h"

#include "hone/IR/CodeNames.h"
#include "hone/Sharding/IR/Chunk.h"
#include "hone/Support/ByteSize.h"
#include "hone/Transforms/Passes.h"
#include "hone/Transforms/Recompute/CheckpointPolicy.h"

#include <map>

namespace hone {
#define GEN_PASS_DEF_OFFLOADSTATE
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
/// State that one kernel of one function reads and replaces. Besides, kernels
/// of @fill_codes may read it.
struct Candidate {
  StateKey key;
  BlockArgument argument;
  FusedOp group;
  int64_t bytes;
};

struct OffloadState : hone::impl::OffloadStateBase<OffloadState> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult check();
  FailureOr<size_t> howMany(ArrayRef<Candidate> candidates);
  FailureOr<size_t> enough(ArrayRef<Candidate> candidates);
  FailureOr<size_t> fastest(ArrayRef<Candidate> candidates, size_t most);
  FailureOr<bool> fits(ArrayRef<Candidate> away, bool isOfUpdate = false);
  std::optional<double> price(ArrayRef<Candidate> away,
                              const TargetDescription &target);
  LogicalResult apply(ArrayRef<Candidate> away, ModuleOp module);
  FailureOr<size_t> withWeights(ArrayRef<Candidate> candidates, size_t most);
  FailureOr<bool> addWeights(ArrayRef<Candidate> candidates);
  LogicalResult tighten(ArrayRef<Candidate> away);
  void failWithoutCandidates(bool hasState);
  int64_t chunkFor(ArrayRef<Candidate> candidates);
  int64_t bytesOf(ArrayRef<Candidate> away) const;
  void explain(ArrayRef<Candidate> away, size_t all);

  SmallVector<LayerWeight> streamed; ///< weights that go, in all trials too
  int smallBetween = 0;              ///< of the update, in all trials too
  int64_t partBytes = 0;             ///< that a part of an update copies
  /// The smallest budget that a priced trial has worked with or asked for.
  int64_t needed = std::numeric_limits<int64_t>::max();
};
} // namespace

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// The kernel that alone reads `argument` and writes over it the value that its
/// function returns in its place; null if there is none.
static FusedOp replacingGroup(func::FuncOp func, BlockArgument argument) {
  if (!argument.hasOneUse())
    return {};
  OpOperand &use = *argument.use_begin();
  auto group = dyn_cast<FusedOp>(use.getOwner());
  if (!group)
    return {};
  Operation *ret = func.getBody().front().getTerminator();
  for (OpOperand &returned : ret->getOpOperands()) {
    auto donor = func.getResultAttrOfType<IntegerAttr>(
        returned.getOperandNumber(), attr::donates);
    auto result = dyn_cast<OpResult>(returned.get());
    if (!donor || donor.getInt() != argument.getArgNumber() || !result ||
        result.getOwner() != group || !result.hasOneUse() ||
        result.getType() != argument.getType())
      continue;
    for (AliasPair pair : group.getReusableOperands())
      if (pair.result == result.getResultNumber() &&
          pair.operand == use.getOperandNumber())
        return group;
  }
  return {};
}

/// Whether `argument` belongs to the function that makes codes of loaded
/// parameters, and its kernels read it.
static bool isForCodes(BlockArgument argument) {
  auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return dist::functionWithoutChunk(func.getSymName()) == fillCodesName &&
         llvm::all_of(argument.getUsers(),
                      [](Operation *user) { return isa<FusedOp>(user); });
}

/// Whether an update reads `argument` alone.
static bool isForUpdate(BlockArgument argument) {
  if (!argument.hasOneUse())
    return false;
  auto group = dyn_cast<FusedOp>(*argument.user_begin());
  return group && group.getFamily() == KernelFamily::multiTensor;
}

/// State that may lie in the second arena: moments first, then parameters that
/// have a working copy, as functions have them.
static SmallVector<Candidate> findCandidates(ModuleOp module) {
  llvm::MapVector<StateKey, SmallVector<BlockArgument>> readers;
  llvm::DenseSet<StringRef> copied;
  for (func::FuncOp func : programFunctions(module))
    for (BlockArgument argument : func.getArguments()) {
      StateKey key = keyOf(argument);
      if (key.first == kind::workingCopy)
        copied.insert(copiedParameter(key.second));
      if (!argument.use_empty() && !isForCodes(argument))
        readers[key].push_back(argument);
    }
  SmallVector<Candidate> moments, masters;
  for (auto &[key, arguments] : readers) {
    bool isMoment = key.first == kind::opt;
    bool isMaster = key.first == kind::param && copied.contains(key.second);
    BlockArgument argument = arguments.front();
    auto type = cast<RankedTensorType>(argument.getType());
    if (!(isMoment || isMaster) || arguments.size() != 1 || type.getRank() == 0)
      continue;
    auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (FusedOp group = replacingGroup(func, argument))
      (isMoment ? moments : masters)
          .push_back({key, argument, group, byteSize(type)});
  }
  moments.append(masters);
  return moments;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

template <typename T>
static llvm::DenseSet<StateKey> keysOf(ArrayRef<T> moved) {
  llvm::DenseSet<StateKey> keys;
  for (const T &one : moved)
    keys.insert(one.key);
  return keys;
}

/// What a part may copy, if nothing else is said: 256 MiB hide the time that a
/// disk takes to answer, and of less state parts still leave most of it where
/// it is. Counts weights that an update reads, too.
int64_t OffloadState::chunkFor(ArrayRef<Candidate> candidates) {
  if (chunk != 0)
    return chunk;
  int64_t bytes = 0;
  for (const Candidate &one : candidates)
    bytes += one.bytes;
  llvm::DenseSet<StateKey> weights = keysOf(ArrayRef(streamed));
  for (func::FuncOp func : programFunctions(getOperation()))
    for (BlockArgument argument : func.getArguments())
      if (weights.contains(keyOf(argument)) && isForUpdate(argument))
        bytes += byteSize(argument.getType());
  return std::clamp<int64_t>(bytes / 16, 1, int64_t(256) << 20);
}

/// Marks `away` and the weights in all functions, and cuts the updates that
/// read them into parts.
LogicalResult OffloadState::apply(ArrayRef<Candidate> away, ModuleOp module) {
  llvm::DenseSet<StateKey> keys = keysOf(away);
  markWeights(module, streamed);
  // Of the weights, those that the update reads alone are parts of it, too.
  llvm::DenseSet<StateKey> weights = keysOf(ArrayRef(streamed));
  llvm::DenseSet<Value> values;
  llvm::SmallSetVector<FusedOp, 16> groups;
  for (func::FuncOp func : programFunctions(module))
    for (BlockArgument argument : func.getArguments()) {
      StateKey key = keyOf(argument);
      if (weights.contains(key) && isForUpdate(argument)) {
        values.insert(argument);
        groups.insert(cast<FusedOp>(*argument.user_begin()));
      }
      if (!keys.contains(key))
        continue;
      func.setArgAttr(argument.getArgNumber(), plan::hostAttr,
                      UnitAttr::get(&getContext()));
      values.insert(argument);
      for (Operation *user : argument.getUsers())
        if (auto group = dyn_cast<FusedOp>(user))
          groups.insert(group);
    }
  for (FusedOp group : groups)
    divideUpdate(group, values, partBytes);
  for (func::FuncOp func : programFunctions(module))
    orderUpdates(func, values, smallBetween);
  return success();
}

/// Whether the arena of the program is within the budget with `away` in the
/// second one; or that of the functions in which nothing can be recomputed.
FailureOr<bool> OffloadState::fits(ArrayRef<Candidate> away, bool isOfUpdate) {
  OwningOpRef<ModuleOp> trial = getOperation().clone();
  FailureOr<TargetDescription> target = getTarget(*trial);
  if (failed(target) || failed(apply(away, *trial)))
    return failure();
  StateMap state;
  StateBytes bytes;
  SmallVector<func::FuncOp> funcs = programFunctions(*trial);
  for (func::FuncOp func : funcs)
    if (failed(collectState(func, state, bytes)))
      return failure();
  for (func::FuncOp func : funcs) {
    if (isOfUpdate && !ForwardPart(func).empty())
      continue;
    streamWeights(func);
    FunctionPlanner planner(func, state, *target);
    if (failed(planner.plan()))
      return failure();
    if (bytes.arena + planner.temporaryBytes() > budget)
      return false;
  }
  return true;
}

/// The least number of first candidates without which nothing need be
/// recomputed; all, where that is not enough.
FailureOr<size_t> OffloadState::enough(ArrayRef<Candidate> candidates) {
  size_t low = 0, high = candidates.size(); // of what fits, as far as known
  while (low < high) {
    size_t middle = (low + high) / 2;
    FailureOr<bool> fitting = fits(candidates.take_front(middle));
    if (failed(fitting))
      return failure();
    *fitting ? high = middle : low = middle + 1;
  }
  return high;
}

/// Seconds of a step with `away` in the second arena; nothing where it does not
/// fit.
std::optional<double> OffloadState::price(ArrayRef<Candidate> away,
                                          const TargetDescription &target) {
  ModuleOp trial = getOperation().clone();
  // A pipeline runs on what lies inside of the op of the pass.
  getOperation().getBody()->push_back(trial);
  PlanCheckpointsOptions options;
  options.budget = budget;
  options.moves = moves;
  options.hostMemory = hostMemory;
  options.overlap = overlap;
  std::optional<double> seconds;
  if (succeeded(apply(away, trial)))
    seconds = priceOfStep(trial, options, target,
                          [&](OpPassManager &manager, Operation *op) {
                            return runPipeline(manager, op);
                          });
  if (auto least = trial->getAttrOfType<IntegerAttr>(smallestBudgetAttr))
    needed = std::min(needed, least.getInt());
  if (seconds)
    needed = std::min<int64_t>(needed, budget);
  trial.erase();
  return seconds;
}

/// The number of first candidates, at most `most`, with which a step is
/// fastest, of nine: quarters first, then what lies around the best. Fewer
/// where that costs nothing.
FailureOr<size_t> OffloadState::fastest(ArrayRef<Candidate> candidates,
                                        size_t most) {
  FailureOr<TargetDescription> target = getTarget(getOperation());
  if (failed(target))
    return failure();
  std::map<size_t, double> prices;
  constexpr double none = std::numeric_limits<double>::infinity();
  auto tryCount = [&](size_t count) {
    if (auto [at, isNew] = prices.try_emplace(count, none); isNew)
      at->second = price(candidates.take_front(count), *target).value_or(none);
  };
  auto best = [&] {
    return std::min_element(
               prices.begin(), prices.end(),
               [](auto &a, auto &b) { return a.second < b.second; })
        ->first;
  };
  size_t step = llvm::divideCeil(most, 4);
  for (size_t count = 0; count < most; count += step)
    tryCount(count);
  tryCount(most);
  for (int round = 0; round != 2 && step > 1; ++round) {
    size_t middle = best();
    step = llvm::divideCeil(step, 2);
    tryCount(middle - std::min(middle, step));
    tryCount(std::min(most, middle + step));
  }
  size_t count = best();
  if (prices[count] != none)
    return count;
  if (what != "auto" || !streamed.empty())
    return most;
  return withWeights(candidates, most);
}

/// The same with all weights away, too. They stay where the step then needs no
/// smaller budget, which is the one that an error names.
FailureOr<size_t> OffloadState::withWeights(ArrayRef<Candidate> candidates,
                                            size_t most) {
  FailureOr<bool> areMore = addWeights(candidates);
  if (failed(areMore))
    return failure();
  if (!*areMore)
    return most;
  int64_t without = needed;
  FailureOr<size_t> count = fastest(candidates, most);
  if (failed(count) || needed < without)
    return count;
  streamed.clear();
  smallBetween = 0;
  partBytes = chunkFor(candidates);
  return most;
}

/// Without a plan within the budget, has all weights away, too. False where
/// none may be, or the second arena lacks the room.
FailureOr<bool> OffloadState::addWeights(ArrayRef<Candidate> candidates) {
  if (getOperation()->hasAttr(dist::stageAttr))
    return false;
  FailureOr<TargetDescription> target = getTarget(getOperation());
  if (failed(target))
    return failure();
  streamed = findWeights(getOperation(), least, *target);
  if (hostMemory != 0 && bytesOf(candidates) > hostMemory)
    streamed.clear();
  if (streamed.empty())
    return false;
  partBytes = chunkFor(candidates);
  if (failed(tighten(candidates)))
    return failure();
  return true;
}

/// With weights away the arena may be less than what the update takes. Parts
/// come in the fastest order that fits; in the smallest, if none does.
LogicalResult OffloadState::tighten(ArrayRef<Candidate> away) {
  if (budget == 0)
    return success();
  for (smallBetween = 0; smallBetween != mostSmallBetween; ++smallBetween) {
    FailureOr<bool> fitting = fits(away, /*isOfUpdate=*/true);
    if (failed(fitting) || *fitting)
      return fitting;
  }
  return success();
}

/// Bytes of the second arena.
int64_t OffloadState::bytesOf(ArrayRef<Candidate> away) const {
  int64_t bytes = 0;
  for (const Candidate &one : away)
    bytes += llvm::alignTo(one.bytes, plan::alignment);
  for (const LayerWeight &weight : streamed)
    bytes += llvm::alignTo(weight.bytes, plan::alignment);
  return bytes;
}

/// The first candidates of which so many go to the second arena.
FailureOr<size_t> OffloadState::howMany(ArrayRef<Candidate> candidates) {
  if (what == "state" || what == "weights")
    return candidates.size();
  size_t most = 0;
  for (int64_t bytes = 0; most != candidates.size(); ++most) {
    bytes += llvm::alignTo(candidates[most].bytes, plan::alignment);
    if (hostMemory != 0 && bytes > hostMemory)
      break;
  }
  if (getOperation()->hasAttr(dist::stageAttr)) // has windows that fits() lacks
    return fastest(candidates, most);
  FailureOr<size_t> count = enough(candidates.take_front(most));
  // Where none may go, that there is enough is not known.
  if (failed(count) || (*count == 0 && most != 0))
    return count;
  return fastest(candidates, *count);
}

LogicalResult OffloadState::check() {
  auto error = [&] {
    return getOperation().emitError() << "option 'offload' ";
  };
  if (!llvm::is_contained({"state", "weights", "auto", "activations"}, what))
    return error() << "is '" << what
                   << "', expected auto, state, weights, activations or off";
  if (!isOverlapWord(overlap))
    return getOperation().emitError()
           << "overlap is '" << overlap << "', expected " << overlapWordList;
  if (chunk < 0)
    return error() << "moves " << int64_t(chunk)
                   << " bytes at a time (offload-chunk), expected at least 1";
  if (what == "weights" && getOperation()->hasAttr(dist::stageAttr))
    return error() << "is 'weights', which stages of a pipeline divide, "
                      "expected auto, state or off";
  if ((what == "auto" || what == "activations") && budget == 0)
    return error() << "is '" << what
                   << "', which moves what a budget needs, expected "
                      "memory-budget=SIZE or offload=state";
  if (what == "activations" && getOperation()->hasAttr(dist::stageAttr))
    return error() << "is 'activations', which stages of a pipeline keep, "
                      "expected auto, state or off";
  return success();
}

void OffloadState::failWithoutCandidates(bool hasState) {
  InFlightDiagnostic error = getOperation().emitError("option 'offload': ");
  if (what == "weights")
    error << "no weight of at least " << int64_t(least)
          << " bytes (offload-least) is read by kernels alone and made by one, "
             "expected such a weight, no recipe=zero1, whose ranks gather new "
             "weights, or offload="
          << (hasState ? "state" : "off");
  else
    error << "no state is read by the update alone, expected an optimizer with "
             "moments, or offload=off";
  signalPassFailure();
}

void OffloadState::explain(ArrayRef<Candidate> away, size_t all) {
  if (!away.empty())
    emitRemark(getOperation().getLoc())
        << "the second arena holds " << away.size() << " of " << all
        << " tensors of state that the update alone reads, "
        << formatBytes(bytesOf(away) - bytesOf({}));
  if (!streamed.empty())
    emitRemark(getOperation().getLoc())
        << "the second arena holds " << streamed.size()
        << " weights that kernels read layer by layer, "
        << formatBytes(bytesOf({}));
}

void OffloadState::runOnOperation() {
  if (what == "off")
    return;
  if (failed(check()))
    return signalPassFailure();
  if (what == "activations")
    return;
  FailureOr<TargetDescription> target = getTarget(getOperation());
  if (failed(target))
    return signalPassFailure();
  SmallVector<Candidate> candidates = findCandidates(getOperation());
  if (what == "weights")
    streamed = findWeights(getOperation(), least, *target);
  bool isNothing = what == "weights" ? streamed.empty() : candidates.empty();
  if (isNothing && what != "auto")
    return failWithoutCandidates(!candidates.empty());
  partBytes = chunkFor(candidates);
  FailureOr<size_t> count = howMany(candidates);
  if (failed(count) || (what == "weights" && failed(tighten(candidates))))
    return signalPassFailure();
  ArrayRef<Candidate> away = ArrayRef(candidates).take_front(*count);
  if (int64_t bytes = bytesOf(away); hostMemory != 0 && bytes > hostMemory) {
    getOperation().emitError()
        << "the second arena needs " << formatBytes(bytes) << " (" << bytes
        << " bytes), expected at most host-memory of "
        << formatBytes(hostMemory);
    return signalPassFailure();
  }
  if (failed(apply(away, getOperation())))
    return signalPassFailure();
  if (report)
    explain(away, candidates.size());
}
