//===- TrainerStart.cpp - What a run does before its first step -----------===//

#include "base/Printable.h"
#include "io/FileIdentity.h"
#include "io/SharedFiles.h"
#include "train/Dump.h"
#include "train/FillState.h"
#include "train/OutputFiles.h"
#include "train/PublishState.h"
#include "train/SameData.h"
#include "train/Trainer.h"
#include "train/WorkingCopies.h"
#include "train/options/RunLength.h"

using namespace honert;

/// What the first rank writes alone or creates for all.
Status Trainer::checkFiles() {
  HONERT_TRY(checkOverwriting(program, options));
  for (const std::string *path : {&options.save, &options.profile})
    if (!path->empty())
      HONERT_TRY(checkReplaceable(*path));
  if (!options.log.empty())
    HONERT_TRY(checkAppendable(options.log));
  if (!options.tensorboard.empty())
    HONERT_TRY(EventFile::prepare(options.tensorboard, options.resume));
  if (options.dump.empty())
    return Status();
  HONERT_TRY(makeFolder(options.dump));
  return checkReplaceable(options.dump + "/step1.safetensors");
}

Status Trainer::checkOutputs() {
  HONERT_TRY(world.agree(world.isFirst() ? checkFiles() : Status()));
  if (!options.save.empty())
    HONERT_TRY(checkShared(world, options.save));
  if (!options.dump.empty()) {
    HONERT_TRY(world.agree(checkDump(program)));
    HONERT_TRY(checkShared(world, options.dump + "/step1.safetensors"));
  }
  if (options.checkpoints.empty())
    return Status();
  checkpoints.emplace(options.checkpoints, program, world);
  return checkpoints->open(options.resume);
}

/// Opens a token stream, whose ids are all read: says so where that takes long.
Status Trainer::openStream(Batches &stream, const std::string &path,
                           bool shuffle) {
  constexpr int64_t longFile = 1 << 28;
  std::string what = "checking the ids of " + path;
  ReadProgress progress;
  if (ReadFile file; file.open(path).ok() && file.size() >= longFile) {
    report.line(what + format(" (%s)", formatBytes(file.size()).c_str()));
    progress = [&](double fraction) { report.progress(what, fraction); };
  }
  return stream.open(path, program, world, shuffle, shuffle ? seed : 0, pool,
                     progress);
}

Status Trainer::openInputs() {
  bool trains = options.steps > 0;
  if (!options.data.empty())
    HONERT_TRY(openStream(batches, options.data, options.shuffle));
  if (checkpoints)
    HONERT_TRY(checkpoints->checkTokens(dataTokens()));
  if (!options.validation.empty())
    HONERT_TRY(openStream(validationBatches, options.validation,
                          /*shuffle=*/false));
  if (trains || !options.inputs.empty())
    HONERT_TRY(
        named.open(options.inputs, program, world, !options.data.empty()));
  HONERT_TRY(named.checkStream(options.shuffle, batches.batchesPerEpoch(),
                               options.steps, program.microBatches()));
  if (!options.validationInputs.empty())
    return validationNamed.open(options.validationInputs, program, world,
                                !options.validation.empty(), "val-input",
                                "val-data");
  // What goes with the tokens of training does not go with others.
  if (!options.validation.empty())
    return named.checkRepeats("val-input");
  return Status();
}

Status Trainer::startFresh() {
  return fillState({options.init, options.fresh}, program, world, seed, pool,
                   *executor, origin);
}

/// What checkpoints note of this run.
Status Trainer::noteFacts() {
  RunFacts facts;
  std::vector<std::pair<std::string, std::string>> files;
  if (!options.data.empty())
    files.emplace_back("--data", options.data);
  if (!options.validation.empty())
    files.emplace_back("--val-data", options.validation);
  for (const auto &input : options.inputs)
    files.emplace_back("--input " + input.first, input.second);
  for (const auto &input : options.validationInputs)
    files.emplace_back("--val-input " + input.first, input.second);
  if (world.isFirst())
    for (const auto &[flag, path] : files)
      HONERT_TRY(identify(flag, path, facts.files.emplace_back()));
  auto number = [](double value) { return format("%.9g", value); };
  facts.settings = {{"--steps", std::to_string(options.steps)},
                    {"--lr", number(options.learningRate)},
                    {"--warmup", std::to_string(options.warmup)},
                    {"--schedule", name(options.schedule)},
                    {"--decay-steps", std::to_string(options.decaySteps)},
                    {"--min-lr", number(options.minLearningRate)},
                    {"--weight-decay", number(options.weightDecay)},
                    {"--clip", number(options.clip)}};
  settings = facts.settings;
  checkpoints->setFacts(std::move(facts), options.newData);
  return Status();
}

/// Names the flags whose values differ from those of the run before.
void Trainer::reportChanges() {
  std::string text;
  for (const auto &[flag, value] : checkpoints->restored().facts.settings)
    for (const auto &[now, set] : settings)
      if (flag == now && value != set)
        text += format("%s %s (was %s)", text.empty() ? "" : ",",
                       (flag + " " + set).c_str(), value.c_str());
  if (!text.empty())
    report.line("resume: changed:" + printable(text));
}

/// Goes on where a run stood, whose state is in the arena.
Status Trainer::continueFrom(const RunPosition &position) {
  const char *folder = options.checkpoints.c_str();
  if (options.seedGiven && options.seed != position.seed)
    return Status::error(
        format("--seed: %llu, expected that of the run in %s (%llu)",
               static_cast<unsigned long long>(options.seed), folder,
               static_cast<unsigned long long>(position.seed)));
  if (options.shuffle != position.shuffle)
    return Status::error(format("--shuffle: the run in %s was started %s it",
                                folder, position.shuffle ? "with" : "without"));
  fillWorkingCopies(program, pool, executor->arena());
  HONERT_TRY(publishState(program, *executor));
  seed = position.seed;
  doneSteps = savedStep = position.step;
  HONERT_TRY(checkpoints->readBest(bestValidation));
  origin = format("resumed, step %lld of %s", static_cast<long long>(doneSteps),
                  folder);
  report.line(format("resume: after step %lld from %s",
                     static_cast<long long>(doneSteps), folder));
  reportChanges();
  return Status();
}

Status Trainer::startOrResume() {
  std::optional<RunPosition> position;
  if (checkpoints)
    HONERT_TRY(world.agree(noteFacts()));
  if (options.resume) {
    HONERT_TRY(checkpoints->restore(executor->arena(), position));
    if (!position)
      report.line(format("resume: no checkpoint in %s, starting at step 1",
                         options.checkpoints.c_str()));
  }
  return world.agree(position ? continueFrom(*position) : startFresh());
}

void Trainer::printHeader() {
  const Argument *tokens = program.input(Role::tokens);
  int64_t perBatch = tokens ? *elementCount(tokens->whole) : 0;
  bool knowsFlops = program.number("flops_per_step", 0) > 0 ||
                    program.number("model_flops_per_token", 0) > 0;
  if (knowsFlops && options.steps > 0 && world.isFirst()) {
    PeakRate peak = executor->peakRate();
    report.setPeak(peak.flops, peak.origin);
  }
  report.setTokens(tokensPerStep(program),
                   perBatch * batches.batchesPerEpoch());
  std::string text = "hone: " + program.text("model", "program");
  if (double count = program.number("parameters", 0); count > 0)
    text += format(", %.4g M parameters", count * 1e-6);
  text += format(", arena %s, library workspace %s, %s",
                 formatBytes(executor->arena().bytes()).c_str(),
                 formatBytes(executor->workspaceBytes().value_or(0)).c_str(),
                 executor->machineText().c_str());
  if (world.size() > 1)
    text += format(" per rank, %lld ranks (%s)",
                   static_cast<long long>(world.size()),
                   program.mesh.text().c_str());
  report.line(text);
  report.line("weights: " + origin);
  if (std::string note = executor->libraryNote(); !note.empty())
    report.line("matrix products: " + note);
  if (!options.data.empty())
    report.line(format(
        "data: %s, %lld tokens, %lld batches of %s per epoch, %lld per step",
        options.data.c_str(), static_cast<long long>(batches.stream().size()),
        static_cast<long long>(batches.batchesPerEpoch()),
        toString(tokens->whole).c_str(),
        static_cast<long long>(program.microBatches())));
  if (std::string formula = report.mfuFormula(); !formula.empty())
    report.line(formula);
}
