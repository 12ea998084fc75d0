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
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

using namespace honert;

using Clock = std::chrono::steady_clock;

Trainer::Trainer(const Program &program, const Options &options,
                 const ThreadPool &pool, ProcessGroup &world)
    : program(program), options(options), pool(pool), world(world),
      executor(makeExecutor(program, pool, options.deterministic, &world)),
      report(program, options, world), seed(options.seed) {}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

void Trainer::writeScalars(int64_t step) {
  double clip =
      options.clip > 0 ? options.clip : std::numeric_limits<double>::infinity();
  const std::pair<const char *, double> values[] = {
      {"lr", learningRateAt(options, step)},
      {"weight_decay", options.weightDecay},
      {"clip", clip},
      {"step", static_cast<double>(step)}};
  for (auto [fqn, value] : values)
    if (const Argument *scalar = program.argument(Kind::scalar, fqn))
      storeElement(scalar->dtype, executor->arena().at(scalar->offset), value);
}

void Trainer::writeKey(int64_t step, int64_t micro) {
  for (const Argument &argument : program.arguments) {
    if (argument.kind != Kind::rng)
      continue;
    auto *key =
        reinterpret_cast<int64_t *>(executor->arena().at(argument.offset));
    key[0] = static_cast<int64_t>(seed);
    key[1] = step;
    key[2] = micro;
  }
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
    writeKey(step, 0);
    HONERT_TRY(executor->run(*function));
    return executor->endStep();
  }
  for (const Argument &argument : program.arguments)
    if (argument.kind == Kind::grad || program.isRunning(argument))
      HONERT_TRY(executor->zero(argument.offset, argument.bytes));
  int64_t count = program.microBatches();
  for (int64_t micro = 0; micro < count; ++micro) {
    writeKey(step, micro);
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

/// What the latest step that was collected has left.
void Trainer::readFacts(StepFacts &facts) {
  const Function *last = program.function("step");
  if (last) {
    const Result *loss = last->result("loss");
    facts.loss = readScalar(loss->dtype, loss->offset);
  } else {
    last = program.function("update");
    const Argument *loss = program.argument(Kind::scalar, "loss");
    facts.loss = readScalar(loss->dtype, loss->offset);
  }
  if (const Result *norm = last->result("grad_norm"))
    facts.gradNorm = readScalar(norm->dtype, norm->offset);
}

/// No check of ids has found one outside its table: in what `function` left, or
/// the micro-batches of a step.
Status Trainer::checkIds(const Function &function, const char *when,
                         int64_t step, const std::string &ending) {
  for (const IdCheck &check : program.idChecks) {
    const Result *result = function.result(check.name);
    const Argument *running = program.argument(Kind::scalar, check.name);
    if (!result && !running)
      continue;
    int64_t id;
    std::memcpy(&id,
                executor->arena().at(result ? result->offset : running->offset),
                sizeof id);
    if (id != 0)
      return Status::error(
          format("%s %lld: %s%s%s reads id %lld, expected 0 to %lld; %s", when,
                 static_cast<long long>(step), check.op.c_str(),
                 check.location.empty() ? "" : " at ", check.location.c_str(),
                 static_cast<long long>(id),
                 static_cast<long long>(check.size - 1), ending.c_str()));
  }
  return Status();
}

/// What a step that was made must satisfy. With a loss scale, one whose
/// gradients overflow is skipped by the program, which shrinks the scale; below
/// the smallest one that was of use no step will come.
Status Trainer::checkStep(StepFacts &facts) {
  const Argument *scale = program.argument(Kind::opt, "loss_scale");
  if (!scale)
    return checkFinite(facts);
  constexpr double smallestScale = 0x1p-24;
  facts.lossScale = readScalar(scale->dtype, scale->offset);
  facts.skipped = facts.gradNorm && !std::isfinite(*facts.gradNorm);
  if (*facts.lossScale >= smallestScale)
    return Status();
  return Status::error(format(
      "step %lld: the loss scale is %g, expected at least %g: every step "
      "overflows; the run ends, nothing is saved%s",
      static_cast<long long>(facts.step), *facts.lossScale, smallestScale,
      savedStep < 0 ? "" : ", earlier checkpoints stand"));
}

/// Without a loss scale, a loss or gradients that are no numbers end the run.
/// Such gradients have changed nothing: the program's updates are conditional.
Status Trainer::checkFinite(const StepFacts &facts) const {
  bool lossIsBad = !std::isfinite(facts.loss);
  if (!lossIsBad && (!facts.gradNorm || std::isfinite(*facts.gradNorm)))
    return Status();
  double seen = lossIsBad ? facts.loss : *facts.gradNorm;
  return Status::error(format(
      "step %lld: %s is %g, expected a finite value; the run ends, nothing is "
      "saved%s",
      static_cast<long long>(facts.step),
      lossIsBad ? "the loss" : "the gradient norm",
      std::isnan(seen) ? std::fabs(seen) : seen, // A NaN's sign says nothing.
      savedStep < 0 ? "" : ", earlier checkpoints stand"));
}

/// Tells once that the machine is busy, before the first step or later.
void Trainer::noticeLoad(Clock::time_point now) {
  constexpr auto pause = std::chrono::seconds(10);
  if (toldLoad || program.isForCuda() || now - loadSeen < pause)
    return;
  loadSeen = now;
  std::string note = loadNote();
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
  lastEnd = now;
  if (program.argument(Kind::scalar, "lr"))
    facts.learningRate = learningRateAt(options, step);
  const Function *last = program.function("step");
  std::string ending = "the run ends, nothing is saved";
  if (savedStep >= 0)
    ending += ", earlier checkpoints stand";
  HONERT_TRY(checkIds(last ? *last : *program.function("update"), "step", step,
                      ending));
  readFacts(facts);
  HONERT_TRY(checkStep(facts));
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
    // By all: what GPUs do together is launched or replayed by all alike. The
    // first step is for a run that a signal ends early.
    std::vector<FunctionTimes> recorded;
    if (!options.profile.empty())
      executor->record(&recorded, step == firstStep || step == options.steps);
    HONERT_TRY(executor->compareLaunches(step == options.compareLaunches));
    inFlight.push_back({step, Clock::now()});
    Status launched = launchStep(step);
    executor->record(nullptr);
    HONERT_TRY(launched);
    if (!recorded.empty())
      times = std::move(recorded);
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
  HONERT_TRY(world.agree(executor->start()));
  HONERT_TRY(executor->compareLaunches(options.compareLaunches > 0));
  HONERT_TRY(startOrResume());
  HONERT_TRY(world.agree(openInputs()));
  HONERT_TRY(world.agree(mapped_ranges::check()));
  firstStep = doneSteps + 1;
  HONERT_TRY(world.agree(report.open(doneSteps, actualOptions())));
  printHeader();
  noticeLoad(Clock::now());
  catchStopSignals();
  if (!options.data.empty() && doneSteps < options.steps)
    batches.prefetchFrom(doneSteps * program.microBatches());
  HONERT_TRY(train());
  HONERT_TRY(finish());
  if (stoppedBy == badInputs)
    return world.agree(dataStatus);
  if (hadTrouble || !report.logIsComplete())
    return Status::reported();
  return stoppedBy ? Status::stopped(stoppedBy) : Status();
}
