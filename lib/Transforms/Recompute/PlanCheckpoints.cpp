//===- PlanCheckpoints.cpp - Chooses what is kept and what is recomputed --===//
//
// The chain planner works on a model: lifetimes of storages in a chain of
// stages. What counts is the arena, so each schedule that is considered is
// applied to a copy and its memory planned; the model only proposes.
//
//===----------------------------------------------------------------------===//

#include "ChunkBudget.h"

#include "Transforms/Plan/StreamedWeights.h"

#include "hone/Analysis/Cost/KernelCost.h"
#include "hone/Analysis/Fusion/CollectiveGroups.h"
#include "hone/Analysis/Recompute/ForwardPart.h"
#include "hone/Analysis/Recompute/StageMerge.h"
#include "hone/IR/SearchBound.h"
#include "hone/Sharding/Model/Traffic.h"
#include "hone/Support/ByteSize.h"
#include "hone/Transforms/Passes.h"
#include "hone/Transforms/Recompute/CheckpointPolicy.h"

#include "llvm/ADT/StringExtras.h"

namespace hone {
#define GEN_PASS_DEF_PLANCHECKPOINTS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Points of the curve that are measured for the report.
constexpr int maxCurvePoints = 32;

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// The functions of the module and what they take whatever is chosen.
struct Program {
  StateMap state;
  int64_t persistent = 0;
  int64_t host = 0;   ///< of the second arena
  int64_t others = 0; ///< temporaries of functions without a backward part
  SmallVector<func::FuncOp> steps; ///< with one; several of chunks of a stage
  std::optional<pipeline::StageTurns> turns; ///< of a stage
  /// What collectives take that begin early, and seconds that they take.
  int64_t early = 0;
  double collectives = 0;
};

struct PlanCheckpoints : hone::impl::PlanCheckpointsBase<PlanCheckpoints> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult read(Program &program, const TargetDescription &target);
  LogicalResult readCollectives(Program &program);
  LogicalResult choose(Program &program, const TargetDescription &target);
  LogicalResult chooseWithin(Program &program, StepChain &chain);
  LogicalResult chooseForChunks(Program &program,
                                ArrayRef<std::unique_ptr<StepChain>> chains);
  LogicalResult tooSmall(const Program &program, int64_t least);
  void writeCurve(const Program &program, StepChain &chain,
                  const ChainPlanner &table);
  bool hasHostRoom(const Program &program, StepChain &chain,
                   const ChainSchedule &schedule);
  void explain(const StepChain &chain, const ChainSchedule &schedule);

  CheckpointSearch bounds;
};
} // namespace

LogicalResult PlanCheckpoints::read(Program &program,
                                    const TargetDescription &target) {
  SmallVector<func::FuncOp> funcs = programFunctions(getOperation());
  StateBytes bytes;
  for (func::FuncOp func : funcs) {
    if (failed(collectState(func, program.state, bytes)))
      return failure();
    if (!ForwardPart(func).empty() &&
        dist::functionWithoutChunk(func.getName()) != "evaluate")
      program.steps.push_back(func);
  }
  program.persistent = bytes.arena;
  program.host = bytes.host;
  if (getOperation()->hasAttr(dist::stageAttr)) {
    FailureOr<pipeline::StageTurns> turns =
        pipeline::StageTurns::read(getOperation());
    if (failed(turns))
      return failure();
    program.turns = *turns;
    // The schedule says how many of them there are.
    for (auto &[key, argument] : program.state)
      if (isWindow(key.first))
        program.persistent -=
            llvm::alignTo(byteSize(argument.type), plan::alignment);
  }
  for (func::FuncOp func : funcs) {
    if (llvm::is_contained(program.steps, func))
      continue;
    OwningOpRef<func::FuncOp> copy;
    FunctionPlanner planner(withReloads(func, copy), program.state, target);
    if (failed(planner.plan()))
      return failure();
    program.others = std::max(program.others, planner.temporaryBytes());
  }
  return success();
}

/// Of the functions whose checkpoints are chosen.
LogicalResult PlanCheckpoints::readCollectives(Program &program) {
  bool isHidden =
      overlap == "on" || (overlap == "auto" &&
                          getTarget(getOperation())->kind == TargetKind::CUDA);
  if (!isHidden || getOperation().getOps<dist::MeshOp>().empty())
    return success();
  FailureOr<dist::Mesh> mesh = dist::Mesh::of(getOperation());
  if (failed(mesh))
    return failure();
  for (func::FuncOp step : program.steps) {
    program.early = std::max(program.early,
                             mostEarlyResults * largestCollectiveResult(step));
    for (auto group : step.getOps<FusedOp>())
      if (Operation *op = collectiveIn(group))
        if (auto transfer = dist::transferOf(op, *mesh))
          program.collectives += transfer->seconds;
  }
  return success();
}

LogicalResult PlanCheckpoints::tooSmall(const Program &program, int64_t least) {
  int64_t needed = program.persistent + std::max(least, program.others);
  getOperation()->setAttr(smallestBudgetAttr,
                          Builder(&getContext()).getI64IntegerAttr(needed));
  auto stage = getOperation()->getAttrOfType<IntegerAttr>(dist::stageAttr);
  InFlightDiagnostic error = getOperation().emitError();
  if (stage)
    error << "stage " << stage.getInt() << ": ";
  error << "memory budget of " << formatBytes(budget) << " (" << int64_t(budget)
        << " bytes) is too small: the smallest that works is " << needed
        << " bytes (" << formatBytesToType(needed) << ")";
  bool isOffloaded = moves || llvm::any_of(program.state, [](const auto &one) {
                       return one.second.isOnHost();
                     });
  if (!isOffloaded)
    error << "; --offload=auto may need less";
  return error;
}

/// Seconds of the kernels of `func`.
static double secondsOf(func::FuncOp func, const TargetDescription &target) {
  double seconds = 0;
  for (auto group : func.getOps<FusedOp>())
    seconds += kernelSeconds(group, target);
  return seconds;
}

/// Puts the trade of memory for time on the module: bytes of the arena and
/// seconds of one step, from the least memory to the most.
void PlanCheckpoints::writeCurve(const Program &program, StepChain &chain,
                                 const ChainPlanner &table) {
  TargetDescription target = *getTarget(getOperation());
  auto count = getOperation()->getAttrOfType<IntegerAttr>(attr::microBatches);
  double times = count ? double(count.getInt()) : 1;
  // What no schedule changes: the rest of the step function, and the update.
  double rest = times * (secondsOf(chain.getFunction(), target) -
                         keepAll(chain.get()).seconds);
  if (auto update = getOperation().lookupSymbol<func::FuncOp>("update"))
    rest += secondsOf(update, target);

  SmallVector<std::pair<int64_t, double>> points;
  auto add = [&](int64_t temporaries, double seconds) {
    if (temporaries >= 0)
      points.push_back(
          {program.persistent + temporaries, rest + times * seconds});
  };
  auto curve = table.curve();
  size_t step = std::max<size_t>(1, curve.size() / maxCurvePoints);
  for (size_t index = 0; index < curve.size(); index += step)
    if (auto schedule = table.schedule(curve[index].bytes))
      add(chain.measure(*schedule, /*limit=*/0), schedule->seconds);
  add(chain.keptBytes(), keepAll(chain.get()).seconds);
  // By memory; what takes more of it and no less time is no choice.
  llvm::sort(points);
  SmallVector<double> values;
  double fastest = std::numeric_limits<double>::infinity();
  for (auto [bytes, seconds] : points)
    if (seconds < fastest) {
      values.append({double(bytes), seconds});
      fastest = seconds;
    }
  getOperation()->setAttr(attr::memoryCurve,
                          Builder(&getContext()).getF64ArrayAttr(values));
}

/// "row 4x1024x768xf32 (12.0 MiB)".
static std::string describe(Value value) {
  auto group = value.getDefiningOp<FusedOp>();
  std::string text;
  llvm::raw_string_ostream out(text);
  out << (group ? stringifyKernelFamily(group.getFamily()) : "concat") << ' ';
  auto type = cast<RankedTensorType>(value.getType());
  for (int64_t size : type.getShape())
    out << size << 'x';
  out << type.getElementType() << " (" << formatBytes(byteSize(type)) << ')';
  return text;
}

/// ", has away row 4x1024x768xf32 (12.0 MiB)"; nothing for none.
static std::string describeAway(ArrayRef<Value> values) {
  SmallVector<std::string> texts;
  for (Value value : values)
    texts.push_back(describe(value));
  return texts.empty() ? "" : ", has away " + llvm::join(texts, ", ");
}

void PlanCheckpoints::explain(const StepChain &chain,
                              const ChainSchedule &schedule) {
  SmallVector<int> runs(chain.get().stages.size(), 0);
  for (ChainVisit visit : schedule.visits)
    runs[visit.stage] += visit.isForward;
  for (auto [stage, links] : llvm::enumerate(chain.stages().stages())) {
    if (links.units.empty())
      continue;
    const StageOption &option = chain.options(stage)[schedule.option[stage]];
    SmallVector<std::string> again;
    for (int unit : option.recomputed) {
      const ForwardUnit &made = chain.stages().units()[links.units[unit]];
      for (unsigned result : made.results)
        again.push_back(describe(made.op->getResult(result)));
    }
    emitRemark(chain.stages().units()[links.units.front()].op->getLoc())
        << "stage " << stage << ": keeps " << formatBytes(option.cost.saved)
        << " for its backward pass, runs forward " << runs[stage]
        << (runs[stage] == 1 ? " time" : " times") << ", makes again "
        << (again.empty() ? "nothing" : llvm::join(again, ", "))
        << describeAway(chain.awayIn(stage, option));
  }
}

/// Whether the second arena has room for what a schedule has away.
bool PlanCheckpoints::hasHostRoom(const Program &program, StepChain &chain,
                                  const ChainSchedule &schedule) {
  if (!moves || !hostMemory)
    return true;
  int64_t limit = std::numeric_limits<int64_t>::max();
  return chain.measure(schedule, limit) >= 0 &&
         program.host + chain.latestHostBytes() <= hostMemory;
}

/// Whether there is a schedule that leaves room for what collectives take that
/// begin early. Where everything could be kept without that room, it must cost
/// less time than they can hide.
static bool isWorthwhile(const Program &program, StepChain &chain,
                         int64_t limit,
                         const std::optional<MeasuredSchedule> &found) {
  if (!found || chain.keptBytes() > limit)
    return bool(found);
  double more = found->schedule.seconds - keepAll(chain.get()).seconds;
  return more < program.collectives;
}

LogicalResult PlanCheckpoints::chooseWithin(Program &program,
                                            StepChain &chain) {
  int64_t limit = budget ? budget - program.persistent
                         : std::numeric_limits<int64_t>::max();
  int64_t room = limit - program.early;
  bool fits = chain.keptBytes() <= room;
  if (fits && !report) { // everything can be kept
    dropSchedule(chain.getFunction());
    return success();
  }
  ScheduleSearch search(chain, std::max<int64_t>(room, 0), bounds);
  std::optional<MeasuredSchedule> found;
  if (!fits) {
    auto searched = search.run();
    if (failed(searched))
      return failure();
    found = *searched;
    if (program.early > 0 && !isWorthwhile(program, chain, limit, found)) {
      program.early = 0; // no room for them
      return chooseWithin(program, chain);
    }
    if (found && !hasHostRoom(program, chain, found->schedule)) {
      TargetDescription target = *getTarget(getOperation());
      StepChain resident(chain.getFunction(), target, program.state, nullptr,
                         bounds);
      resident.setOthers(program.others);
      moves = 0;
      return chooseWithin(program, resident);
    }
    if (!found || program.others > limit)
      return tooSmall(program, search.smallest());
  }
  if (report) {
    writeCurve(program, chain, search.planner());
    explain(chain, found ? found->schedule : keepAll(chain.get()));
    bounds.isRounded = found && !search.planner().isOptimal();
    bounds.explain(getOperation().getLoc());
  }
  if (found)
    chain.record(found->schedule);
  else
    dropSchedule(chain.getFunction());
  return success();
}

/// Keeps everything that cannot lie in the second arena.
static ChainSchedule moveAll(const StepChain &chain) {
  ChainSchedule schedule = keepAll(chain.get());
  for (auto [stage, links] : llvm::enumerate(chain.get().stages))
    for (size_t option = 0; option != links.options.size(); ++option)
      if (chain.options(stage)[option].away.size() >
          chain.options(stage)[schedule.option[stage]].away.size())
        schedule.option[stage] = option;
  return schedule;
}

/// That of `policy`, which is none of auto and none.
static ChainSchedule scheduleOf(StringRef policy, const StepChain &step) {
  const Chain &chain = step.get();
  if (policy == "away")
    return moveAll(step);
  return policy == "full" ? recomputeAll(chain) : squareRoot(chain);
}

LogicalResult
PlanCheckpoints::chooseForChunks(Program &program,
                                 ArrayRef<std::unique_ptr<StepChain>> chains) {
  ChunkBudget chunks(chains, program.others, bounds);
  int64_t limit = budget ? budget - program.persistent
                         : std::numeric_limits<int64_t>::max();
  if (policy == "auto") {
    FailureOr<bool> fits = chunks.fit(limit - program.early);
    if (failed(fits))
      return failure();
    if (!*fits && program.early > 0) {
      program.early = 0; // no room for collectives that begin early
      return chooseForChunks(program, chains);
    }
  } else if (policy != "none") {
    for (auto [index, chain] : llvm::enumerate(chains))
      if (failed(chunks.set(index, scheduleOf(policy, *chain))))
        return failure();
  }
  if (chunks.total() > limit)
    return tooSmall(program, chunks.total());
  for (auto [index, chain] : llvm::enumerate(chains)) {
    const std::optional<ChainSchedule> &schedule = chunks.schedule(index);
    if (report)
      explain(*chain, schedule ? *schedule : keepAll(chain->get()));
    if (schedule)
      chain->record(*schedule);
    else
      dropSchedule(chain->getFunction());
  }
  if (report)
    bounds.explain(getOperation().getLoc());
  return success();
}

LogicalResult PlanCheckpoints::choose(Program &program,
                                      const TargetDescription &target) {
  bounds = CheckpointSearch();
  bounds.stage.searched = stageUnits;
  bounds.stage.steps = stageSteps;
  bounds.stage.cutSteps = cutSteps;
  bounds.maxTrials = maxTrials;
  SmallVector<std::unique_ptr<StepChain>> chains;
  for (func::FuncOp step : program.steps) {
    chains.push_back(std::make_unique<StepChain>(
        step, target, program.state,
        program.turns ? program.turns->find(step.getName()) : nullptr, bounds,
        moves));
    if (chains.back()->keptBytes() < 0)
      return failure();
    chains.back()->setOthers(program.others);
  }
  if (chains.size() > 1)
    return chooseForChunks(program, chains);
  StepChain &chain = *chains.front();
  if (policy == "auto")
    return chooseWithin(program, chain);
  bool keepsAll = policy == "none";
  ChainSchedule schedule =
      keepsAll ? keepAll(chain.get()) : scheduleOf(policy, chain);
  int64_t bytes = keepsAll ? chain.keptBytes() : chain.measureFully(schedule);
  if (bytes < 0)
    return failure();
  if (budget && program.persistent + bytes > budget)
    return tooSmall(program, bytes);
  if (report)
    explain(chain, schedule);
  return success();
}

void PlanCheckpoints::runOnOperation() {
  if (failed(checkBounds(getOperation().getLoc(), stageUnits, stageSteps,
                         cutSteps, maxTrials)))
    return signalPassFailure();
  if (!isCheckpointPolicy(policy)) {
    getOperation().emitError()
        << "policy is '" << policy << "', expected " << checkpointPolicyList;
    return signalPassFailure();
  }
  if (!isOverlapWord(overlap)) {
    getOperation().emitError()
        << "overlap is '" << overlap << "', expected " << overlapWordList;
    return signalPassFailure();
  }
  if (policy == "away" && !moves) {
    getOperation().emitError("policy is 'away', which moves values to the "
                             "second arena, expected offload=activations");
    return signalPassFailure();
  }
  bool keepsAll = policy == "none" || (policy == "auto" && !report);
  if (!budget && keepsAll)
    return;
  FailureOr<TargetDescription> target = getTarget(getOperation());
  Program program;
  if (failed(target) || failed(read(program, *target)) ||
      failed(readCollectives(program)))
    return signalPassFailure();
  if (budget)
    getOperation()->setAttr(attr::memoryBudget,
                            Builder(&getContext()).getI64IntegerAttr(budget));
  bool fits = program.persistent + program.others <= budget;
  LogicalResult done = success();
  if (!program.steps.empty())
    done = choose(program, *target);
  else if (budget && !fits)
    done = tooSmall(program, 0);
  if (failed(done))
    signalPassFailure();
}
