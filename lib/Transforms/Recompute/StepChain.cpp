//===- StepChain.cpp - A step function as a chain of stages ---------------===//

#include "StepChain.h"

#include "Transforms/Plan/SplitTurns.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace hone;

StepChain::StepChain(func::FuncOp func, const TargetDescription &target,
                     const StateMap &state, const pipeline::ChunkTurns *turns,
                     CheckpointSearch &search)
    : func(func), state(state), turns(turns), target(target),
      cut(func, target) {
  search.merge = cut.stops();
  SmallVector<StageGraph, 0> graphs;
  for (size_t stage = 0; stage != cut.stages().size(); ++stage)
    graphs.push_back(cut.graph(stage));
  kinds = findKinds(graphs);
  for (auto [kind, graph] : llvm::zip_equal(kinds, graphs)) {
    if (kind == int(kindOptions.size())) {
      StageStops stops;
      kindOptions.push_back(planStage(graph, search.stage, &stops));
      search.add(stops);
    }
    chain.stages.push_back(chainStage(graph, kindOptions[kind]));
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

std::optional<StepChain::Planned> StepChain::plan(func::FuncOp whole,
                                                  PackingLimits limits) {
  if (!turns) {
    FunctionPlanner planner(whole, state, target);
    if (failed(planner.plan(limits)))
      return std::nullopt;
    return Planned{{0, planner.temporaryBytes()}, planner.lowerBound()};
  }
  SmallVector<func::FuncOp> parts = splitTurns(whole, *turns);
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

void StepChain::record(const ChainSchedule &schedule) {
  Builder builder(func.getContext());
  DenseMap<Operation *, SmallVector<int64_t>> recomputed;
  for (auto [stage, links] : llvm::enumerate(cut.stages())) {
    for (Operation *op : links.backward)
      op->setAttr(attr::backward, builder.getI64IntegerAttr(stage));
    for (int index : links.units)
      recomputed[cut.units()[index].op];
    for (int unit : options(stage)[schedule.option[stage]].recomputed) {
      const ForwardUnit &again = cut.units()[links.units[unit]];
      llvm::append_range(recomputed[again.op], again.results);
    }
  }
  for (auto &[op, results] : recomputed) {
    SmallVector<int64_t> stages;
    for (unsigned result = 0; result != op->getNumResults(); ++result)
      stages.push_back(cut.stageOf(op, result));
    op->setAttr(attr::forward, builder.getDenseI64ArrayAttr(stages));
    llvm::sort(results);
    if (results.empty())
      op->removeAttr(attr::recompute);
    else
      op->setAttr(attr::recompute, builder.getDenseI64ArrayAttr(results));
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
