//===- Trainer.cpp - The training loop ------------------------------------===//

#include "train/Trainer.h"
#include "base/MappedRanges.h"
#include "base/Signals.h"
#include "exec/nvtx/Range.h"
#include "train/MakeExecutor.h"
#include "train/Process.h"
#include "train/SameData.h"
#include "train/ThreadLimits.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

using namespace honert;

using Clock = std::chrono::steady_clock;

Trainer::Trainer(const Program &program, const Options &options,
                 const ThreadPool &pool, ProcessGroup &world)
    : program(program), options(options), pool(pool), world(world),
      executor(makeExecutor(program, pool, options.deterministic, &world)),
      report(program, options, world), dropped(program, world),
      seed(options.seed) {}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

void Trainer::writeScalars(int64_t step) {
  Arena &arena = executor->arena();
  writeScalar(program, arena, "lr", learningRateAt(options, step));
  writeScalar(program, arena, "weight_decay", options.weightDecay);
  writeClip(program, arena, options.clip);
  writeScalar(program, arena, "step", static_cast<double>(step));
}

Status Trainer::loadInputs(int64_t microStep) {
  NvtxRange range("load inputs");
  Status loaded;
  if (!options.data.empty())
    loaded = batches.load(microStep, executor->arena().at(0));
  if (loaded.ok())
    loaded = named.load(microStep, executor->arena().at(0));
  // That a file has changed says more than which ids it holds now.
  HONERT_TRY(mapped_ranges::check());
  return loaded;
}

/// Puts a step on its way, whose first inputs are in place.
Status Trainer::launchStep(int64_t step) {
  writeScalars(step);
  if (const Function *function = program.function("step")) {
    writeKey(program, executor->arena(), seed, step, 0);
    HONERT_TRY(executor->run(*function));
    return executor->endStep();
  }
  for (const Argument &argument : program.arguments)
    if (argument.kind == Kind::grad || program.isRunning(argument))
      HONERT_TRY(executor->zero(argument.offset, argument.bytes));
  if (program.isStage())
    return launchActions(step);
  int64_t count = program.microBatches();
  for (int64_t micro = 0; micro < count; ++micro) {
    writeKey(program, executor->arena(), seed, step, micro);
    if (micro > 0 && dataStatus.ok())
      dataStatus = loadInputs((step - 1) * count + micro);
    if (!dataStatus.ok() && world.size() == 1)
      return noticeReasonsToStop();
    // Other ranks wait for what this one does with the inputs before.
    HONERT_TRY(executor->run(*program.function("accumulate")));
  }
  if (count > 1 && world.size() > 1)
    HONERT_TRY(noticeReasonsToStop());
  if (stoppedBy == badInputs)
    return Status();
  HONERT_TRY(executor->run(*program.function("update")));
  return executor->endStep();
}

/// Tells once that the machine is busy, before the first step or later.
void Trainer::noticeLoad(Clock::time_point now) {
  constexpr auto pause = std::chrono::seconds(10);
  if (toldLoad || program.isForCuda() || now - loadSeen < pause)
    return;
  loadSeen = now;
  std::string note = loadNote(pool.size());
  toldLoad = !note.empty();
  if (toldLoad)
    report.line(note);
}

/// Waits for the oldest step on its way, and tells what it showed.
Status Trainer::finishStep() {
  auto [step, start] = inFlight.front();
  inFlight.pop_front();
  {
    NvtxRange range([step = step] {
      return format("wait for step %lld", static_cast<long long>(step));
    });
    HONERT_TRY(executor->collect());
  }
  // A step that overlaps the one before lasts from that one's end.
  Clock::time_point now = Clock::now();
  StepFacts facts;
  facts.step = step;
  facts.seconds =
      std::chrono::duration<double>(now - std::max(start, lastEnd)).count();
  if (double seconds = executor->deviceSeconds(); seconds > 0)
    facts.seconds = seconds;
  lastEnd = now;
  if (program.argument(Kind::scalar, "lr"))
    facts.learningRate = learningRateAt(options, step);
  const Function *last = program.function("step");
  std::string ending = "the run ends, nothing is saved";
  if (savedStep >= 0)
    ending += ", earlier checkpoints stand";
  const Arena &arena = executor->arena();
  HONERT_TRY(checkIds(program, arena,
                      last ? *last : *program.function("update"), "step", step,
                      ending));
  readFacts(program, arena, facts);
  HONERT_TRY(checkStep(program, arena, facts, ending));
  HONERT_TRY(dropped.addStep(arena, facts, ending));
  doneSteps = step;
  lastLoss = facts.loss;
  report.step(facts);
  noticeLoad(now);
  return Status();
}

/// Finishes steps until no more than `left` are on their way.
Status Trainer::finishSteps(size_t left) {
  while (inFlight.size() > left)
    HONERT_TRY(finishStep());
  return Status();
}

/// Whether the run leaves nothing but the lines that it prints.
bool Trainer::onlyPrints() const {
  return options.save.empty() && options.checkpoints.empty() &&
         options.log.empty() && options.tensorboard.empty() &&
         options.dump.empty() && options.profile.empty();
}

/// Finds out whether any rank has a reason to stop: then all end after the same
/// step. It costs a byte of each rank per step, and that none runs ahead.
Status Trainer::noticeReasonsToStop() {
  int reason = !dataStatus.ok() ? badInputs : stopSignal();
  if (isReaderGone() && onlyPrints())
    reason = reason ? reason : SIGPIPE;
  else if (isReaderGone() && !std::exchange(toldReaderIsGone, true))
    report.warning(
        "nobody reads standard output any more; the run goes on for its files");
  auto own = static_cast<char>(reason);
  std::vector<char> all(static_cast<size_t>(world.size()), own);
  if (world.size() > 1)
    HONERT_TRY(world.allGather(&own, 1, all.data()));
  for (char each : all)
    if (each && (!stoppedBy || each == badInputs))
      stoppedBy = each;
  return Status();
}

/// Of a run that is profiled: whether launches inside graphs are timed in
/// `step`, which slows the graphs down. By all: what GPUs do together is
/// launched or replayed by all alike. The first step is for a run that a signal
/// ends early.
bool Trainer::timesLaunches(int64_t step) const {
  constexpr int64_t enough = 10;
  int64_t last =
      std::clamp<int64_t>((options.steps - firstStep) / 4, 1, enough);
  return step == firstStep || step > options.steps - last;
}

Status Trainer::train() {
  auto ahead = static_cast<size_t>(executor->stepsInFlight());
  for (int64_t step = firstStep; step <= options.steps && !stoppedBy; ++step) {
    NvtxRange range(
        [&] { return format("step %lld", static_cast<long long>(step)); });
    world.log().setStep(step);
    dataStatus = loadInputs((step - 1) * program.microBatches());
    HONERT_TRY(noticeReasonsToStop());
    if (stoppedBy)
      break;
    std::vector<FunctionTimes> recorded;
    if (!options.profile.empty())
      executor->record(&recorded, timesLaunches(step));
    HONERT_TRY(executor->compareLaunches(step == options.compareLaunches));
    inFlight.push_back({step, Clock::now()});
    Status launched = launchStep(step);
    executor->record(nullptr);
    HONERT_TRY(launched);
    if (!recorded.empty())
      times.add(std::move(recorded));
    if (step == options.compareLaunches)
      report.line(format("step %lld: %s", static_cast<long long>(step),
                         executor->comparedText().c_str()));
    if (stoppedBy == badInputs) { // by all, before they have updated anything
      inFlight.pop_back();
      break;
    }
    HONERT_TRY(finishSteps(pausesAfter(step) ? 0 : ahead));
    if (pausesAfter(step))
      HONERT_TRY(pause(step));
  }
  HONERT_TRY(finishSteps(0));
  return noticeReasonsToStop();
}

/// The flags with what the start of the run has decided.
Options Trainer::actualOptions() const {
  Options actual = options;
  actual.seed = seed;
  actual.threads = pool.size();
  return actual;
}

Status Trainer::run() {
  Status status = runSteps();
  report.end(doneSteps, status.isStop() ? signalName(stoppedBy)
                        : status.message().empty()
                            ? "done"
                            : "error: " + status.message());
  return status;
}

Status Trainer::runSteps() {
  begin = Clock::now();
  HONERT_TRY(checkOutputs());
  HONERT_TRY(checkSameData(options, world));
  executor->setOffloadFolder(options.offloadFolder);
  HONERT_TRY(world.agree(executor->start()));
  if (program.isStage())
    HONERT_TRY(
        world.agree(transfers.emplace(program, *executor, world).open()));
  HONERT_TRY(executor->compareLaunches(options.compareLaunches > 0));
  HONERT_TRY(startOrResume());
  HONERT_TRY(world.agree(openInputs()));
  if (options.sampleEvery > 0)
    HONERT_TRY(generator.emplace(program, *executor, options).open());
  HONERT_TRY(world.agree(mapped_ranges::check()));
  firstStep = doneSteps + 1;
  HONERT_TRY(world.agree(report.open(doneSteps, actualOptions(), dataJson())));
  printHeader();
  noticeLoad(Clock::now());
  catchStopSignals();
  // A stage loads the inputs of a micro-batch again for its backward part.
  if (!options.data.empty() && doneSteps < options.steps && !program.isStage())
    batches.prefetchFrom(doneSteps * program.microBatches());
  HONERT_TRY(train());
  HONERT_TRY(finish());
  if (stoppedBy == badInputs)
    return world.agree(dataStatus);
  if (hadTrouble || !report.logIsComplete())
    return Status::reported();
  return stoppedBy ? Status::stopped(stoppedBy) : Status();
}
