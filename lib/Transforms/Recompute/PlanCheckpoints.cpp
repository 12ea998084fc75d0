//===- PlanCheckpoints.cpp - Chooses what is kept and what is recomputed --===//
//
// The chain planner works on a model: lifetimes of storages in a chain of
// stages. What counts is the arena, so each schedule that is considered is
// applied to a copy and its memory planned; the model only proposes.
//
//===----------------------------------------------------------------------===//

#include "StepChain.h"

#include "hone/Analysis/Cost/KernelCost.h"
#include "hone/Analysis/Recompute/ForwardPart.h"
#include "hone/Analysis/Recompute/StageMerge.h"
#include "hone/IR/SearchBound.h"
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
// The search
//===----------------------------------------------------------------------===//

namespace {
/// A schedule and the bytes of temporaries that it takes.
struct Measured {
  ChainSchedule schedule;
  int64_t bytes;
};

/// Looks for the fastest schedule whose temporaries fit into `limit` bytes.
class Search {
public:
  /// Notes in `bounds` whether it met that of trials.
  Search(StepChain &chain, int64_t limit, CheckpointSearch &bounds);

  /// The fastest that fits, of those that were measured; none where no plan
  /// fits. A plan that cannot be made is a reported error.
  FailureOr<std::optional<Measured>> run();
  /// The least temporaries that any of the schedules takes which `run` falls
  /// back to.
  int64_t smallest() const { return least; }
  const ChainPlanner &planner() const { return table; }

private:
  using Found = FailureOr<std::optional<Measured>>;
  /// What the chain may take if the arena's temporaries take `bytes`.
  int64_t inChain(int64_t bytes) const {
    return std::max<int64_t>(int64_t(double(bytes) * scale) - outside, 0);
  }
  Found searchTable(const ChainPlanner &planner);
  Found fallBack(ArrayRef<ChainSchedule> schedules);

  StepChain &chain;
  int64_t limit;
  CheckpointSearch &bounds;
  /// Bytes of the chain for one of the arena: less than 1 where several
  /// micro-batches have what the chain has once.
  double scale;
  int64_t outside; ///< temporaries that the chain does not see
  ChainPlanner table;
  int64_t least = 0;
};
} // namespace

/// A table may take about half a second; its work is counted, not timed.
static ChainLimits tableLimits() {
  ChainLimits limits;
  limits.work /= 2;
  return limits;
}

/// The chain with stages that are saved whole, or not at all.
static Chain withoutOptions(Chain chain) {
  for (ChainStage &stage : chain.stages)
    stage.options.truncate(1);
  return chain;
}

static bool isFaster(const ChainSchedule &schedule,
                     const std::optional<Measured> &than) {
  return !than || schedule.seconds < than->schedule.seconds;
}

Search::Search(StepChain &chain, int64_t limit, CheckpointSearch &bounds)
    : chain(chain), limit(limit), bounds(bounds),
      scale(chain.isOfStage()
                ? double(keepAll(chain.get()).bytes) /
                      double(std::max<int64_t>(chain.keptBytes(), 1))
                : 1),
      outside(scale == 1 ? chain.keptBytes() - keepAll(chain.get()).bytes : 0),
      table(chain.get(), keepAll(chain.get()).bytes, tableLimits()) {}

/// The fastest of `schedules` that fits; else the least memory is searched for.
Search::Found Search::fallBack(ArrayRef<ChainSchedule> schedules) {
  std::optional<Measured> best, smallest;
  for (const ChainSchedule &schedule : schedules) {
    int64_t bytes = chain.measure(schedule, limit);
    if (bytes < 0)
      return failure();
    if (bytes <= limit && isFaster(schedule, best))
      best = {schedule, bytes};
    if (!smallest || bytes < smallest->bytes)
      smallest = {schedule, bytes};
  }
  least = chain.keptBytes();
  if (best || !smallest)
    return best;
  int64_t bytes = chain.measureFully(smallest->schedule);
  if (bytes < 0)
    return failure();
  least = std::min(least, bytes);
  if (bytes > limit)
    return best;
  return std::optional(Measured{smallest->schedule, bytes});
}

/// The model is off by what packing loses: asks for less until it fits, then
/// for as much as still does.
Search::Found Search::searchTable(const ChainPlanner &planner) {
  std::optional<Measured> best;
  int64_t asked = inChain(limit);
  int64_t fits = -1, exceeds = std::numeric_limits<int64_t>::max();
  for (int trial = 0;; ++trial) {
    if (trial == bounds.maxTrials) {
      bounds.metTrials = true;
      break;
    }
    std::optional<ChainSchedule> schedule = planner.schedule(asked);
    if (!schedule)
      break;
    int64_t bytes = chain.measure(*schedule, limit);
    if (bytes < 0)
      return failure();
    auto slack = int64_t(double(limit - bytes) * scale);
    if (bytes <= limit) {
      if (isFaster(*schedule, best))
        best = {*schedule, bytes};
      fits = asked;
      asked += std::max<int64_t>(slack, plan::alignment);
    } else {
      exceeds = std::min(asked, schedule->bytes);
      asked = std::min(asked, schedule->bytes) + std::min<int64_t>(slack, -1);
    }
    if (fits >= 0 && (asked <= fits || asked >= exceeds)) {
      asked = fits + (exceeds - fits) / 2;
      if (asked <= fits || exceeds - fits < limit / 256)
        break;
    }
  }
  return best;
}

/// Schedules of least memory by the model; the arena of one may be smaller than
/// the model says of another.
static void addSmallest(const ChainPlanner &planner,
                        SmallVectorImpl<ChainSchedule> &schedules) {
  constexpr int tried = 6;
  auto curve = planner.curve();
  for (ChainPoint point : llvm::ArrayRef(curve).take_front(tried))
    if (std::optional<ChainSchedule> schedule = planner.schedule(point.bytes))
      schedules.push_back(*schedule);
}

Search::Found Search::run() {
  Found found = searchTable(table);
  if (failed(found))
    return failure();
  // What a backward visit makes again lies between what it reads; stages that
  // are run again whole pack more tightly.
  ChainPlanner whole(withoutOptions(chain.get()), keepAll(chain.get()).bytes,
                     tableLimits());
  std::optional<ChainSchedule> promised = whole.schedule(inChain(limit));
  if (!*found || (promised && isFaster(*promised, *found))) {
    Found other = searchTable(whole);
    if (failed(other))
      return failure();
    if (*other && isFaster((*other)->schedule, *found))
      found = other;
  }
  if (*found)
    return found;
  SmallVector<ChainSchedule> schedules = {recomputeAll(chain.get()),
                                          squareRoot(chain.get())};
  addSmallest(table, schedules);
  addSmallest(whole, schedules);
  return fallBack(schedules);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// The functions of the module and what they take whatever is chosen.
struct Program {
  StateMap state;
  int64_t persistent = 0;
  int64_t others = 0; ///< temporaries of functions without a backward part
  func::FuncOp step;  ///< the one with a backward part, or null
  std::optional<pipeline::StageTurns> turns; ///< of a stage
};

struct PlanCheckpoints : hone::impl::PlanCheckpointsBase<PlanCheckpoints> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult read(Program &program, const TargetDescription &target);
  LogicalResult choose(Program &program, const TargetDescription &target);
  LogicalResult chooseWithin(Program &program, StepChain &chain);
  LogicalResult tooSmall(const Program &program, int64_t least);
  void writeCurve(const Program &program, StepChain &chain,
                  const ChainPlanner &table);
  void explain(const StepChain &chain, const ChainSchedule &schedule);

  CheckpointSearch bounds;
};
} // namespace

LogicalResult PlanCheckpoints::read(Program &program,
                                    const TargetDescription &target) {
  SmallVector<func::FuncOp> funcs = programFunctions(getOperation());
  for (func::FuncOp func : funcs) {
    if (failed(collectState(func, program.state, program.persistent)))
      return failure();
    if (!ForwardPart(func).empty() && func.getName() != "evaluate")
      program.step = func;
  }
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
    if (func == program.step)
      continue;
    FunctionPlanner planner(func, program.state, target);
    if (failed(planner.plan()))
      return failure();
    program.others = std::max(program.others, planner.temporaryBytes());
  }
  return success();
}

LogicalResult PlanCheckpoints::tooSmall(const Program &program, int64_t least) {
  int64_t needed = program.persistent + std::max(least, program.others);
  auto stage = getOperation()->getAttrOfType<IntegerAttr>(dist::stageAttr);
  InFlightDiagnostic error = getOperation().emitError();
  if (stage)
    error << "stage " << stage.getInt() << ": ";
  return error << "memory budget of " << formatBytes(budget) << " ("
               << int64_t(budget)
               << " bytes) is too small: the smallest that works is " << needed
               << " bytes (" << formatBytesToType(needed) << ")";
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
  double rest =
      times * (secondsOf(program.step, target) - keepAll(chain.get()).seconds);
  if (auto update = getOperation().lookupSymbol<func::FuncOp>("update"))
    rest += secondsOf(update, target);

  SmallVector<std::pair<int64_t, double>> points;
  auto add = [&](int64_t temporaries, double seconds) {
    if (temporaries >= 0)
      points.push_back(
          {program.persistent + std::max(temporaries, program.others),
           rest + times * seconds});
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
        << (again.empty() ? "nothing" : llvm::join(again, ", "));
  }
}

LogicalResult PlanCheckpoints::chooseWithin(Program &program,
                                            StepChain &chain) {
  int64_t limit = budget ? budget - program.persistent
                         : std::numeric_limits<int64_t>::max();
  bool fits = std::max(chain.keptBytes(), program.others) <= limit;
  if (fits && !report)
    return success(); // everything can be kept
  Search search(chain, std::max<int64_t>(limit, 0), bounds);
  std::optional<Measured> found;
  if (!fits) {
    FailureOr<std::optional<Measured>> searched = search.run();
    if (failed(searched))
      return failure();
    found = *searched;
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
    dropSchedule(program.step);
  return success();
}

LogicalResult PlanCheckpoints::choose(Program &program,
                                      const TargetDescription &target) {
  bounds = CheckpointSearch();
  bounds.stage.searched = stageUnits;
  bounds.stage.steps = stageSteps;
  bounds.stage.cutSteps = cutSteps;
  bounds.maxTrials = maxTrials;
  StepChain chain(program.step, target, program.state, program.turns, bounds);
  if (chain.keptBytes() < 0)
    return failure();
  if (policy == "auto")
    return chooseWithin(program, chain);
  ChainSchedule schedule = policy == "full"   ? recomputeAll(chain.get())
                           : policy == "sqrt" ? squareRoot(chain.get())
                                              : keepAll(chain.get());
  int64_t bytes =
      policy == "none" ? chain.keptBytes() : chain.measureFully(schedule);
  if (bytes < 0)
    return failure();
  int64_t most = std::max(bytes, program.others);
  if (budget && program.persistent + most > budget)
    return tooSmall(program, most);
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
  bool keepsAll = policy == "none" || (policy == "auto" && !report);
  if (!budget && keepsAll)
    return;
  FailureOr<TargetDescription> target = getTarget(getOperation());
  Program program;
  if (failed(target) || failed(read(program, *target)))
    return signalPassFailure();
  if (budget)
    getOperation()->setAttr(attr::memoryBudget,
                            Builder(&getContext()).getI64IntegerAttr(budget));
  bool fits = program.persistent + program.others <= budget;
  LogicalResult done = success();
  if (program.step)
    done = choose(program, *target);
  else if (budget && !fits)
    done = tooSmall(program, 0);
  if (failed(done))
    signalPassFailure();
}
