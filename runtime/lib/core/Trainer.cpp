//===- Trainer.cpp - The training loop ------------------------------------===//

#include "core/Trainer.h"
#include "core/Info.h"
#include "core/ResidentMemory.h"
#include "core/Shadow.h"
#include "core/Signals.h"

#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>

using namespace honert;

using Clock = std::chrono::steady_clock;

Trainer::Trainer(const Program &program, const Options &options,
                 const ThreadPool &pool)
    : program(program), options(options), pool(pool),
      executor(makeExecutor(program, pool, options.deterministic)),
      report(program, options), seed(options.seed) {}

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

/// No output lies where an input, another output or this program lies.
static Status checkOverwriting(const Options &options) {
  std::vector<std::pair<const char *, std::string>> files = {
      {"save", options.save},
      {"log", options.log},
      {"profile", options.profile},
      {"data", options.data},
      {"val-data", options.validation}};
  for (const auto &input : options.inputs)
    files.emplace_back("input", input.second);
  for (size_t i = 0; i < 3; ++i) {
    const std::string &output = files[i].second;
    if (isRegularFile(output) && isSameFile(output, "/proc/self/exe"))
      return Status::usage(format("--%s: %s is this program, wanted another "
                                  "file",
                                  files[i].first, output.c_str()));
    for (size_t j = i + 1; j < files.size(); ++j) {
      const std::string &other = files[j].second;
      if (!output.empty() && !other.empty() &&
          (output == other ||
           (isRegularFile(output) && isSameFile(output, other))))
        return Status::usage(format("--%s: %s is the file of --%s",
                                    files[i].first, output.c_str(),
                                    files[j].first));
    }
  }
  return Status();
}

Status Trainer::checkOutputs() {
  HONERT_TRY(checkOverwriting(options));
  for (const std::string *path : {&options.save, &options.profile})
    if (!path->empty())
      HONERT_TRY(checkReplaceable(*path));
  if (!options.log.empty())
    HONERT_TRY(checkAppendable(options.log));
  if (!options.dump.empty()) {
    HONERT_TRY(makeFolder(options.dump));
    HONERT_TRY(checkReplaceable(options.dump + "/step1.safetensors"));
  }
  if (options.checkpoints.empty())
    return Status();
  checkpoints.emplace(options.checkpoints, program);
  return checkpoints->open(options.resume);
}

Status Trainer::openInputs() {
  bool trains = options.steps > 0;
  if (!options.data.empty())
    HONERT_TRY(
        batches.open(options.data, program, options.shuffle, seed, pool));
  if (!options.validation.empty())
    HONERT_TRY(validationBatches.open(options.validation, program,
                                      /*shuffle=*/false, 0, pool));
  if (trains || !options.inputs.empty())
    HONERT_TRY(named.open(options.inputs, program, !options.data.empty()));
  return Status();
}

Status Trainer::startOrResume() {
  std::optional<RunPosition> position;
  if (options.resume) {
    HONERT_TRY(checkpoints->restore(executor->arena(), position));
    if (!position)
      report.line(format("resume: no checkpoint in %s, starting fresh",
                         options.checkpoints.c_str()));
  }
  if (!position) {
    HONERT_TRY(
        startState(options.init, program, seed, pool, executor->arena()));
    fillShadows(program, pool, executor->arena());
    return publishState();
  }
  const char *folder = options.checkpoints.c_str();
  if (options.seedGiven && options.seed != position->seed)
    return Status::error(
        format("--seed: %llu, wanted that of the run in %s (%llu)",
               static_cast<unsigned long long>(options.seed), folder,
               static_cast<unsigned long long>(position->seed)));
  if (options.shuffle != position->shuffle)
    return Status::error(format("--shuffle: the run in %s was started %s it",
                                folder,
                                position->shuffle ? "with" : "without"));
  fillShadows(program, pool, executor->arena());
  HONERT_TRY(publishState());
  seed = position->seed;
  doneSteps = savedStep = position->step;
  report.line(format("resume: after step %lld from %s",
                     static_cast<long long>(doneSteps), folder));
  return Status();
}

/// What the host has written once, before the first step.
Status Trainer::publishState() {
  for (const Argument &argument : program.arguments)
    if (argument.isState() || argument.kind == Kind::shadow)
      HONERT_TRY(executor->publish(argument.offset, argument.bytes));
  return Status();
}

/// What files hold.
Status Trainer::fetchState() {
  for (const Argument &argument : program.arguments)
    if (argument.isState())
      HONERT_TRY(executor->fetch(argument.offset, argument.bytes));
  return Status();
}

void Trainer::forgetState() {
  for (const Argument &argument : program.arguments)
    if (argument.isState())
      executor->forget(argument.offset, argument.bytes);
}

void Trainer::printHeader() {
  const Argument *tokens = program.input(Role::tokens);
  int64_t perBatch = tokens ? *elementCount(tokens->dims) : 0;
  bool knowsFlops = program.number("flops_per_step", 0) > 0 ||
                    program.number("model_flops_per_token", 0) > 0;
  if (knowsFlops && options.steps > 0) {
    PeakRate peak = executor->peakRate();
    report.setPeak(peak.flops, peak.origin);
  }
  report.setTokens(perBatch * program.microBatches());
  std::string text = "hone: " + program.text("model", "program");
  if (double count = program.number("parameters", 0); count > 0)
    text += format(", %.4g M parameters", count * 1e-6);
  text += format(", arena %s, library workspace %s, %s",
                 formatBytes(executor->arena().bytes()).c_str(),
                 formatBytes(executor->workspaceBytes().value_or(0)).c_str(),
                 executor->machineText().c_str());
  report.line(text);
  if (std::string note = executor->libraryNote(); !note.empty())
    report.line("matrix products: " + note);
  if (!options.data.empty())
    report.line(format(
        "data: %s, %lld tokens, %lld batches of %s per epoch, %lld per step",
        options.data.c_str(), static_cast<long long>(batches.stream().size()),
        static_cast<long long>(batches.batchesPerEpoch()),
        toString(tokens->dims).c_str(),
        static_cast<long long>(program.microBatches())));
  if (std::string formula = report.mfuFormula(); !formula.empty())
    report.line(formula);
}

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
  if (!options.data.empty())
    batches.load(microStep, executor->arena().at(0));
  named.load(microStep, executor->arena().at(0));
  return Status();
}

Status Trainer::runStep(int64_t step, StepFacts &facts) {
  const Function *function = program.function("step");
  writeKey(step, 0);
  HONERT_TRY(loadInputs(step - 1));
  HONERT_TRY(executor->run(*function));
  HONERT_TRY(executor->wait());
  const Result *loss = function->result("loss");
  facts.loss = readScalar(loss->dtype, loss->offset);
  if (const Result *norm = function->result("grad_norm"))
    facts.gradNorm = readScalar(norm->dtype, norm->offset);
  return checkStep(facts);
}

Status Trainer::runAccumulated(int64_t step, StepFacts &facts) {
  const Function *accumulate = program.function("accumulate");
  const Function *update = program.function("update");
  const Argument *loss = program.argument(Kind::scalar, "loss");
  for (const Argument &argument : program.arguments)
    if (argument.kind == Kind::grad || &argument == loss)
      HONERT_TRY(executor->zero(argument.offset, argument.bytes));
  int64_t count = program.microBatches();
  for (int64_t micro = 0; micro < count; ++micro) {
    writeKey(step, micro);
    HONERT_TRY(loadInputs((step - 1) * count + micro));
    HONERT_TRY(executor->run(*accumulate));
  }
  HONERT_TRY(executor->wait());
  facts.loss = readScalar(loss->dtype, loss->offset);
  if (!program.argument(Kind::opt, "loss_scale"))
    HONERT_TRY(checkFinite(facts));
  HONERT_TRY(executor->run(*update));
  HONERT_TRY(executor->wait());
  if (const Result *norm = update->result("grad_norm"))
    facts.gradNorm = readScalar(norm->dtype, norm->offset);
  return checkStep(facts);
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
      "step %lld: the loss scale is %g, wanted at least %g: every step "
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
      "step %lld: %s is %g, wanted a finite value; the run ends, nothing is "
      "saved%s",
      static_cast<long long>(facts.step),
      lossIsBad ? "the loss" : "the gradient norm",
      std::isnan(seen) ? std::fabs(seen) : seen, // A NaN's sign says nothing.
      savedStep < 0 ? "" : ", earlier checkpoints stand"));
}

Status Trainer::train() {
  bool isFused = program.function("step") != nullptr;
  const Argument *rate = program.argument(Kind::scalar, "lr");
  while (doneSteps < options.steps && !stopSignal()) {
    int64_t step = doneSteps + 1;
    if (!options.profile.empty()) {
      times.clear();
      executor->record(&times);
    }
    StepFacts facts;
    facts.step = step;
    if (rate)
      facts.learningRate = learningRateAt(options, step);
    Clock::time_point start = Clock::now();
    writeScalars(step);
    HONERT_TRY(isFused ? runStep(step, facts) : runAccumulated(step, facts));
    facts.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    executor->record(nullptr);
    doneSteps = step;
    lastLoss = facts.loss;
    report.step(facts);
    if (step == firstStep && !options.dump.empty())
      HONERT_TRY(dump(step));
    if (options.validateEvery > 0 && step % options.validateEvery == 0)
      HONERT_TRY(validate(step));
    if (options.checkpointEvery > 0 && step % options.checkpointEvery == 0)
      if (Status status = checkpoint(step); !status.ok()) {
        // Training is worth more than this checkpoint; the one before stands.
        report.line("");
        std::fprintf(stderr, "warning: %s; the run goes on\n",
                     status.message().c_str());
        hadTrouble = true;
      }
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Beside steps
//===----------------------------------------------------------------------===//

Status Trainer::validate(int64_t step) {
  const Function *evaluate = program.function("evaluate");
  const Result *loss = evaluate->result("loss");
  int64_t count =
      std::min(options.validationBatches, validationBatches.batchesPerEpoch());
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (stopSignal())
      return Status(); // saving comes first
    named.load(i, executor->arena().at(0));
    validationBatches.load(i, executor->arena().at(0));
    HONERT_TRY(executor->run(*evaluate));
    HONERT_TRY(executor->wait());
    sum += readScalar(loss->dtype, loss->offset);
  }
  lastValidation = sum / static_cast<double>(count);
  validatedStep = step;
  report.validation(step, *lastValidation);
  return Status();
}

Status Trainer::checkpoint(int64_t step) {
  RunPosition position;
  position.step = step;
  position.microStep = step * program.microBatches();
  position.seed = seed;
  position.shuffle = options.shuffle;
  position.dataTokens = options.data.empty() ? 0 : batches.stream().size();
  HONERT_TRY(fetchState());
  Status saved = checkpoints->save(position, executor->arena());
  forgetState();
  HONERT_TRY(saved);
  savedStep = step;
  return Status();
}

Status Trainer::dump(int64_t step) {
  std::vector<TensorSource> tensors;
  std::set<std::string> names;
  auto add = [&](const std::string &name, DType dtype, const Shape &dims,
                 int64_t offset) {
    if (names.insert(name).second)
      tensors.push_back(
          {name, dtype, dtype, dims, executor->arena().at(offset)});
  };
  // The gradient at `offset` of the parameter `like`, part by part.
  auto addGradient = [&](const Argument &like, DType dtype, int64_t offset) {
    for (const Part &part : like.parts) {
      size_t before = tensors.size();
      add("grad." + part.name, dtype, part.shape, offset);
      if (tensors.size() != before && !like.isWhole) {
        tensors.back().storage = like.dims;
        tensors.back().offset = part.offset;
      }
    }
  };
  for (const char *name : {"step", "update"}) {
    const Function *function = program.function(name);
    for (size_t i = 0; function && i < function->results.size(); ++i) {
      const Result &result = function->results[i];
      if (result.name.rfind("grad.", 0) == 0) {
        const Argument *param =
            program.argument(Kind::param, result.name.substr(5));
        if (param && param->dims == result.dims)
          addGradient(*param, result.dtype, result.offset);
        else
          add(result.name, result.dtype, result.dims, result.offset);
      } else if (result.name == "loss" || result.name == "grad_norm") {
        add(result.name, result.dtype, result.dims, result.offset);
      }
    }
  }
  if (!program.function("step"))
    for (const Argument &argument : program.arguments) {
      if (argument.kind == Kind::grad)
        addGradient(argument, argument.dtype, argument.offset);
      else if (argument.kind == Kind::scalar && argument.fqn == "loss")
        add("loss", argument.dtype, argument.dims, argument.offset);
    }
  for (const TensorSource &tensor : tensors) {
    const Shape &whole = tensor.storage.empty() ? tensor.shape : tensor.storage;
    HONERT_TRY(executor->fetch(tensor.data - executor->arena().at(0),
                               *byteCount(tensor.dtype, whole)));
  }
  return writeSafeTensors(format("%s/step%lld.safetensors",
                                 options.dump.c_str(),
                                 static_cast<long long>(step)),
                          tensors, {{"format", "pt"}});
}

Status Trainer::writeProfile() {
  std::string trace = chromeTrace(times);
  AtomicFile file;
  HONERT_TRY(file.create(options.profile));
  HONERT_TRY(file.write(trace.data(), static_cast<int64_t>(trace.size())));
  HONERT_TRY(file.commit());
  std::string table = profileTable(times);
  table.pop_back(); // summary() ends the line
  report.summary(table);
  return Status();
}

Status Trainer::finish() {
  if (!options.validation.empty() && validatedStep != doneSteps)
    HONERT_TRY(validate(doneSteps));
  std::string saved;
  if (!options.save.empty()) {
    HONERT_TRY(fetchState());
    HONERT_TRY(saveWeights(options.save, program, executor->arena(),
                           {{"step", std::to_string(doneSteps)},
                            {"seed", std::to_string(seed)},
                            {"fingerprint", program.text("fingerprint")}}));
    saved = " | saved " + options.save;
  }
  if (checkpoints && savedStep != doneSteps) {
    HONERT_TRY(checkpoint(doneSteps));
    saved += " | checkpoint in " + options.checkpoints;
  }
  if (!options.profile.empty() && !times.empty())
    HONERT_TRY(writeProfile());
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  int64_t made = doneSteps - firstStep + 1;
  std::string text;
  if (int signal = stopSignal())
    text = format("stopped by %s after step %lld: ", signalName(signal),
                  static_cast<long long>(doneSteps));
  text += format("%lld step%s in %.1f s", static_cast<long long>(made),
                 made == 1 ? "" : "s", seconds);
  if (lastLoss)
    text += format(" | loss %.4f", *lastLoss);
  if (lastValidation)
    text += format(" | val %.4f", *lastValidation);
  if (double median = report.medianSeconds(); median > 0) {
    text += format(" | median %.1f ms", median * 1e3);
    if (double rate = report.tokensPerSecond(median); rate > 0)
      text += format(", %.0f tok/s", rate);
  }
  if (int64_t resident = peakResidentBytes(); resident > 0)
    text += format(" | at most %s resident", formatBytes(resident).c_str());
  report.summary(text + saved);
  return Status();
}

Status Trainer::run() {
  begin = Clock::now();
  HONERT_TRY(checkOutputs());
  HONERT_TRY(executor->start());
  HONERT_TRY(startOrResume());
  HONERT_TRY(openInputs());
  firstStep = doneSteps + 1;
  HONERT_TRY(report.open(options.resume, doneSteps));
  printHeader();
  catchStopSignals();
  if (!options.data.empty() && doneSteps < options.steps)
    batches.prefetchFrom(doneSteps * program.microBatches());
  HONERT_TRY(train());
  HONERT_TRY(finish());
  return hadTrouble || !report.logIsComplete() ? Status::reported() : Status();
}
