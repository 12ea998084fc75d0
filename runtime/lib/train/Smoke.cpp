//===- Smoke.cpp - Whether a program can run on this GPU ------------------===//

#include "train/Smoke.h"
#include "base/Json.h"
#include "train/FillState.h"
#include "train/MakeExecutor.h"
#include "train/Process.h"
#include "train/StageTransfers.h"
#include "train/StepValues.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

using namespace honert;

using Clock = std::chrono::steady_clock;

namespace {
class Smoke {
public:
  Smoke(const Program &program, const Options &options, const ThreadPool &pool,
        ProcessGroup &world)
      : program(program), options(options), pool(pool), world(world),
        executor(makeExecutor(program, pool, options.deterministic, &world)) {}

  Status run();

private:
  void attempt(const char *name, const std::function<Status()> &trial);
  Status fillState();
  void fillInputs(int64_t micro);
  Status runList(const std::vector<Action> &actions);
  Status runMicroBatches();
  Status runStep(double &loss);
  Status tryLaunches();
  Status tryGraph();
  std::string json() const;

  const Program &program;
  const Options &options;
  const ThreadPool &pool;
  ProcessGroup &world;
  std::unique_ptr<Executor> executor;
  std::optional<StageTransfers> transfers; ///< of a stage
  std::vector<TrialResult> results;
  std::vector<char> before; ///< the arena before the step
  double loss = 0;          ///< of the step, launch by launch
};
} // namespace

void Smoke::attempt(const char *name, const std::function<Status()> &trial) {
  Clock::time_point begin = Clock::now();
  TrialResult result{name, trial()};
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  results.push_back(std::move(result));
}

/// Values by seed, unless a file of weights is given.
Status Smoke::fillState() {
  std::string origin;
  return honert::fillState({options.init, options.init.empty()}, program, world,
                           options.seed, pool, *executor, origin);
}

/// Ids below their bound, other integers 0 or 1, floats around 0.
void Smoke::fillInputs(int64_t micro) {
  std::mt19937 random(static_cast<unsigned>(options.seed + micro));
  std::normal_distribution<double> numbers;
  Arena &arena = executor->arena();
  for (const Argument &argument : program.arguments) {
    if (argument.kind != Kind::input)
      continue;
    char *at = arena.at(argument.offset);
    int64_t bound = argument.vocab > 0 ? argument.vocab : 2;
    for (int64_t i = 0; i != argument.bytes / byteWidth(argument.dtype); ++i)
      storeElement(
          argument.dtype, at + i * byteWidth(argument.dtype),
          isFloat(argument.dtype)
              ? numbers(random)
              : static_cast<double>(random() % static_cast<uint64_t>(bound)));
  }
  writeKey(program, arena, options.seed, /*step=*/1, micro);
  writeScalar(program, arena, "lr", options.learningRate);
  writeScalar(program, arena, "weight_decay", options.weightDecay);
  writeClip(program, arena, options.clip);
  writeScalar(program, arena, "step", 1);
}

/// What a stage does, with messages of other stages.
Status Smoke::runList(const std::vector<Action> &actions) {
  for (const Action &action : actions) {
    if (!action.isRun()) {
      HONERT_TRY(transfers->make(action));
      continue;
    }
    fillInputs(action.micro);
    HONERT_TRY(executor->run(program.functions[action.function]));
    HONERT_TRY(transfers->progress());
  }
  return Status();
}

Status Smoke::runMicroBatches() {
  for (const Argument &argument : program.arguments)
    if (argument.kind == Kind::grad || program.isRunning(argument))
      HONERT_TRY(executor->zero(argument.offset, argument.bytes));
  if (program.isStage())
    return runList(program.stepActions);
  for (int64_t micro = 0; micro != program.microBatches(); ++micro) {
    fillInputs(micro);
    HONERT_TRY(executor->run(*program.function("accumulate")));
  }
  return executor->run(*program.function("update"));
}

/// One step, micro-batches and all.
Status Smoke::runStep(double &found) {
  const Function *step = program.function("step");
  if (!step) {
    HONERT_TRY(runMicroBatches());
  } else {
    fillInputs(0);
    HONERT_TRY(executor->run(*step));
  }
  HONERT_TRY(executor->wait());
  StepFacts facts;
  readFacts(program, executor->arena(), facts);
  found = facts.loss;
  return Status();
}

/// The first run of each function goes launch by launch.
Status Smoke::tryLaunches() {
  HONERT_TRY(fillState());
  HONERT_TRY(executor->fetch(0, program.arenaBytes));
  before.assign(executor->arena().at(0),
                executor->arena().at(program.arenaBytes));
  HONERT_TRY(runStep(loss));
  if (!std::isfinite(loss))
    return Status::error(
        format("the loss is %g, expected a number", std::fabs(loss)));
  if (program.isStage()) {
    HONERT_TRY(runList(program.evaluateActions));
    HONERT_TRY(executor->wait());
  } else if (const Function *evaluate = program.function("evaluate")) {
    fillInputs(0);
    HONERT_TRY(executor->run(*evaluate));
    HONERT_TRY(executor->wait());
  }
  return Status();
}

/// The second run is recorded as a graph.
Status Smoke::tryGraph() {
  std::memcpy(executor->arena().at(0), before.data(), before.size());
  HONERT_TRY(executor->publish(0, program.arenaBytes));
  double again = 0;
  HONERT_TRY(runStep(again));
  if (again == loss)
    return Status();
  return Status::error(format("the loss is %.9g as a graph, %.9g launch by "
                              "launch",
                              std::isnan(again) ? std::fabs(again) : again,
                              loss));
}

std::string Smoke::json() const {
  std::string text = format("{\"machine\": %s, \"library\": %s, \"trials\": [",
                            quoteJson(executor->machineText()).c_str(),
                            quoteJson(executor->libraryVersion()).c_str());
  for (const TrialResult &result : results) {
    text += format("%s\n {\"name\": %s, \"ok\": %s, \"seconds\": %.3f",
                   &result == &results.front() ? "" : ",",
                   quoteJson(result.name).c_str(),
                   result.status.ok() ? "true" : "false", result.seconds);
    if (!result.status.ok())
      text += ", \"error\": " + quoteJson(result.status.message());
    if (!result.rows.empty())
      text += ", \"rows\": {";
    for (const auto &[name, outcome] : result.rows)
      text +=
          format("%s\n  %s: %s", name == result.rows.front().first ? "" : ",",
                 quoteJson(name).c_str(), quoteJson(outcome).c_str());
    text += result.rows.empty() ? "}" : "}}";
  }
  return text + "\n]}\n";
}

Status Smoke::run() {
  attempt("start", [&] {
    HONERT_TRY(executor->start());
    return program.isStage()
               ? transfers.emplace(program, *executor, world).open()
               : Status();
  });
  if (results.back().status.ok()) {
    for (TrialResult &result : executor->tryParts())
      results.push_back(std::move(result));
    attempt("launches", [&] { return tryLaunches(); });
    if (results.back().status.ok())
      attempt("graph", [&] { return tryGraph(); });
  }
  if (world.isFirst())
    print(json());
  for (const TrialResult &result : results)
    if (!result.status.ok())
      return Status::error(result.name + ": " + result.status.message());
  return Status();
}

Status honert::smokeTest(const Program &program, const Options &options,
                         const ThreadPool &pool, ProcessGroup &world) {
  return Smoke(program, options, pool, world).run();
}
