//===- StepChain.cpp - A step function as a chain of stages ---------------===//

#include "StepChain.h"

#include "Transforms/Plan/MovedValues.h"
#include "Transforms/Plan/OverlapTurns.h"
#include "Transforms/Plan/SplitTurns.h"
#include "Transforms/Plan/StreamedWeights.h"

#include "hone/Analysis/Pipeline/StageActions.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace hone;

StepChain::StepChain(func::FuncOp func, const TargetDescription &target,
                     const StateMap &state, const pipeline::ChunkTurns *turns,
                     CheckpointSearch &search, int64_t moves)
    : func(func), state(state), turns(turns), target(target),
      cut(func, target) {
  search.merge = cut.stops();
  for (size_t stage = 0; stage != cut.stages().size(); ++stage)
    graphs.push_back(cut.graph(stage));
  kinds = findKinds(graphs);
  for (auto [stage, kind] : llvm::enumerate(kinds)) {
    if (kind == int(kindOptions.size()))
      kindOptions.push_back(
          planOptions(graphs[stage], stage, search, turns ? 0 : moves));
    // What the last two stages save is read too soon to go away.
    ArrayRef<StageOption> all = kindOptions[kind];
    chain.stages.push_back(chainStage(
        graphs[stage], stage + 2 < kinds.size()
                           ? all
                           : all.take_while([](const StageOption &option) {
                               return option.away.empty();
                             })));
  }
  if (turns && cut.isHandedOn())
    weighTurn();
  if (std::optional<Planned> planned = plan(func, {}))
    kept = planned->bytes;
}

/// Several micro-batches keep what is there at the turn, and one has the peak
/// of a visit. So the turn is the peak of every schedule.
void StepChain::weighTurn() {
  atTurn = keepAll(chain).bytes;
  for (ChainOption &option : chain.stages.back().options)
    option.backwardPeak += atTurn;
}

/// The options of a kind of stage, of which `stage` is the first.
SmallVector<StageOption> StepChain::planOptions(const StageGraph &graph,
                                                int stage,
                                                CheckpointSearch &search,
                                                int64_t moves) {
  StageStops stops;
  auto mayBeAway = [&](int value) {
    Value result = resultOf(stage, graph, value);
    return graph.values[value].bytes >= moves && result && mayMove(result);
  };
  SmallVector<StageOption> options =
      moves ? planStageWithMoves(graph, search.stage, hostLinkOf(target),
                                 mayBeAway, &stops)
            : planStage(graph, search.stage, &stops);
  search.add(stops);
  return options;
}

/// The result of a forward group that a value of a stage is; null where it is
/// none.
Value StepChain::resultOf(int stage, const StageGraph &graph, int value) const {
  ArrayRef<int> units = cut.stages()[stage].units;
  for (auto [unit, index] : llvm::zip_equal(graph.forward, units))
    for (auto [made, result] :
         llvm::zip_equal(unit.makes, cut.units()[index].results))
      if (made == value)
        return cut.units()[index].op->getResult(result);
  return {};
}

SmallVector<Value> StepChain::awayIn(int stage,
                                     const StageOption &option) const {
  SmallVector<Value> values;
  for (int value : option.away)
    if (Value result = resultOf(stage, graphs[stage], value);
        result && mayMove(result))
      values.push_back(result);
  return values;
}

/// The functions that a schedule runs, each once at least.
SmallVector<func::FuncOp> StepChain::split(func::FuncOp whole) {
  SmallVector<func::FuncOp> parts = splitTurns(whole, *turns);
  if (turns->overlaps.empty() && !turns->isOverlapped)
    return parts;
  FailureOr<dist::Mesh> mesh =
      dist::Mesh::of(func->getParentOfType<ModuleOp>());
  if (succeeded(mesh))
    parts.push_back(overlapTurns(
        parts[0], parts[1],
        pipeline::overlapFunction(turns->chunk, turns->chunk), *mesh, target));
  return parts;
}

std::optional<StepChain::Planned> StepChain::plan(func::FuncOp whole,
                                                  PackingLimits limits) {
  if (!turns) {
    OwningOpRef<func::FuncOp> copy;
    FunctionPlanner planner(withReloads(whole, copy), state, target);
    if (failed(planner.plan(limits)))
      return std::nullopt;
    hostBytes = planner.temporaryHostBytes();
    return Planned{{0, planner.temporaryBytes()}, planner.lowerBound()};
  }
  SmallVector<func::FuncOp> parts = split(whole);
  auto erase = llvm::make_scope_exit([&] {
    for (func::FuncOp part : parts)
      part.erase();
  });
  StateMap own = state;
  own.remove_if([](const auto &entry) { return isWindow(entry.first.first); });
  Planned most = {};
  StateBytes windows;
  for (func::FuncOp part : parts)
    if (failed(collectState(part, own, windows)))
      return std::nullopt;
  most.bytes.windows = windows.arena;
  limits.target = std::max<int64_t>(limits.target - most.bytes.windows, 0);
  for (func::FuncOp part : parts) {
    FunctionPlanner planner(part, own, target);
    if (failed(planner.plan(limits)))
      return std::nullopt;
    most.bytes.temporaries =
        std::max(most.bytes.temporaries, planner.temporaryBytes());
    most.atLeast = std::max(most.atLeast, planner.lowerBound());
  }
  return most;
}

/// Numbers of results of `op`; nothing for none.
static void writeResults(Operation *op, StringRef name,
                         SmallVector<int64_t> results) {
  llvm::sort(results);
  if (results.empty())
    op->removeAttr(name);
  else
    op->setAttr(name, Builder(op->getContext()).getDenseI64ArrayAttr(results));
}

void StepChain::record(const ChainSchedule &schedule) {
  Builder builder(func.getContext());
  DenseMap<Operation *, SmallVector<int64_t>> recomputed, away;
  for (auto [stage, links] : llvm::enumerate(cut.stages())) {
    for (Operation *op : links.backward)
      op->setAttr(attr::backward, builder.getI64IntegerAttr(stage));
    for (int index : links.units)
      recomputed[cut.units()[index].op];
    const StageOption &option = options(stage)[schedule.option[stage]];
    for (Value moved : awayIn(stage, option))
      away[moved.getDefiningOp()].push_back(
          cast<OpResult>(moved).getResultNumber());
    for (int unit : option.recomputed) {
      const ForwardUnit &again = cut.units()[links.units[unit]];
      llvm::append_range(recomputed[again.op], again.results);
    }
  }
  for (auto &[op, results] : recomputed) {
    SmallVector<int64_t> stages;
    for (unsigned result = 0; result != op->getNumResults(); ++result)
      stages.push_back(cut.stageOf(op, result));
    op->setAttr(attr::forward, builder.getDenseI64ArrayAttr(stages));
    writeResults(op, attr::recompute, results);
    writeResults(op, awayAttr, away.lookup(op));
  }
  func->setAttr(attr::schedule,
                builder.getStringAttr(printVisits(schedule.visits)));
}

/// A copy of the function that runs the schedule; null after an error.
OwningOpRef<func::FuncOp> StepChain::apply(const ChainSchedule &schedule) {
  record(schedule);
  OwningOpRef<func::FuncOp> trial = func.clone();
  if (failed(applyCheckpoints(*trial)))
    return nullptr;
  return trial;
}

int64_t StepChain::measure(const ChainSchedule &schedule, int64_t limit) {
  OwningOpRef<func::FuncOp> trial = apply(schedule);
  if (!trial)
    return -1;
  std::optional<Planned> planned = plan(*trial, {limit, /*maxNodes=*/0});
  if (planned && total(planned->bytes) > limit &&
      total({planned->bytes.windows, planned->atLeast}) <= limit)
    planned = plan(*trial, {limit});
  if (!planned)
    return -1;
  latest = planned->bytes;
  return total(latest);
}

int64_t StepChain::measureFully(const ChainSchedule &schedule) {
  OwningOpRef<func::FuncOp> trial = apply(schedule);
  if (!trial)
    return -1;
  std::optional<Planned> planned = plan(*trial, {});
  if (!planned)
    return -1;
  latest = planned->bytes;
  return total(latest);
}
