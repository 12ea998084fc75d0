//===- TrainerStart.cpp - What a run does before its first step -----------===//

#include "base/Json.h"
#include "base/Printable.h"
#include "io/FileIdentity.h"
#include "io/SharedFiles.h"
#include "io/data/PackedDocuments.h"
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
Status Trainer::openStream(Batches &stream,
                           const std::vector<TokenSource> &sources,
                           bool shuffle) {
  constexpr double longStream = 1 << 28;
  double bytes = 0;
  for (const TokenSource &source : sources)
    for (const std::string &path : source.files)
      if (ReadFile file; file.open(path).ok())
        bytes += static_cast<double>(file.size());
  std::string what = "checking the ids of " + sources.front().name();
  if (sources.size() > 1)
    what += format(" and %zu more sources", sources.size() - 1);
  ReadProgress progress;
  if (bytes >= longStream) {
    report.line(
        what +
        format(" (%s)", formatBytes(static_cast<int64_t>(bytes)).c_str()));
    progress = [&](double fraction) { report.progress(what, fraction); };
  }
  return stream.open(sources, program, world, shuffle, shuffle ? seed : 0, pool,
                     progress);
}

Status Trainer::openInputs() {
  bool trains = options.steps > 0;
  if (!options.data.empty())
    HONERT_TRY(openStream(batches, options.sources, options.shuffle));
  if (checkpoints)
    HONERT_TRY(checkpoints->checkTokens(dataTokens()));
  if (!options.validation.empty())
    HONERT_TRY(openStream(validationBatches, options.validationSources,
                          /*shuffle=*/false));
  if (trains || !options.inputs.empty())
    HONERT_TRY(
        named.open(options.inputs, program, world, !options.data.empty()));
  if (options.shuffle || options.mixesSources())
    HONERT_TRY(named.checkReordering(options.shuffle ? "--shuffle"
                                                     : "weights of --data"));
  HONERT_TRY(named.checkStream(batches.batchesPerEpoch(), options.steps,
                               program.microBatches()));
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
  auto note = [&](const std::string &flag,
                  const std::vector<std::string> &paths) {
    return world.isFirst() ? identify(flag, paths, facts.files.emplace_back())
                           : Status();
  };
  for (size_t i = 0; i != options.sources.size(); ++i) {
    const TokenSource &source = options.sources[i];
    std::string flag =
        source.slots ? format("--data source %zu", i + 1) : "--data";
    HONERT_TRY(note(flag, source.files));
    if (world.isFirst())
      facts.files.back().slots = source.slots;
  }
  for (const TokenSource &source : options.validationSources)
    HONERT_TRY(note("--val-data", source.files));
  for (const auto &input : options.inputs)
    HONERT_TRY(note("--input " + input.first, {input.second}));
  for (const auto &input : options.validationInputs)
    HONERT_TRY(note("--val-input " + input.first, {input.second}));
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
  checkpoints->setFlags(options.given);
  return Status();
}

/// Names the flags whose values differ from those of the run before.
void Trainer::reportChanges() {
  auto isTold = [&](const std::string &flag) {
    return std::any_of(
        options.changes.begin(), options.changes.end(),
        [&](const auto &change) { return flag == "--" + change.first; });
  };
  std::string text;
  for (const auto &change : options.changes)
    report.line("resume: " + printable(change.second));
  for (const auto &[flag, value] : checkpoints->restored().facts.settings)
    for (const auto &[now, set] : settings)
      if (flag == now && value != set && !isTold(flag))
        text += format("%s %s (before: %s)", text.empty() ? "" : ",",
                       (flag + " " + set).c_str(), value.c_str());
  if (!text.empty())
    report.line("resume: changed:" + printable(text));
}

/// The run goes on with its seed and order.
Status Trainer::checkPosition(const RunPosition &position) const {
  const char *folder = options.checkpoints.c_str();
  if (options.seedGiven && options.seed != position.seed)
    return Status::error(
        format("--seed: %llu, expected that of the run in %s (%llu)",
               static_cast<unsigned long long>(options.seed), folder,
               static_cast<unsigned long long>(position.seed)));
  if (options.shuffle != position.shuffle)
    return Status::error(format("--shuffle: the run in %s was started %s it",
                                folder, position.shuffle ? "with" : "without"));
  return Status();
}

/// Goes on where a run stood, whose state is in the arena.
Status Trainer::continueFrom(const RunPosition &position) {
  const char *folder = options.checkpoints.c_str();
  HONERT_TRY(checkPosition(position));
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

Status Trainer::check() {
  HONERT_TRY(checkOutputs());
  std::optional<RunPosition> position;
  if (options.resume) {
    HONERT_TRY(noteFacts());
    HONERT_TRY(checkpoints->check(position));
  }
  if (position)
    HONERT_TRY(checkPosition(*position));
  report.summary(position
                     ? format("check: the run goes on after step %lld of %s",
                              static_cast<long long>(position->step),
                              options.checkpoints.c_str())
                     : "check: the run starts at step 1");
  return Status();
}

/// How often the whole run passes over a source of --data.
double Trainer::passesOver(size_t source) const {
  return batches.passesOver(source, options.steps * program.microBatches());
}

static double shareOf(const TokenSource &source) {
  return source.slots ? double(source.slots) / double(Mixture::slots) : 1;
}

void Trainer::printData() {
  const std::vector<TokenSource> &sources = options.sources;
  if (sources.empty())
    return;
  std::string shape = toString(program.input(Role::tokens)->whole);
  auto perStep = static_cast<long long>(program.microBatches());
  auto passesText = [&](size_t source) {
    return format("read %.3g times by step %lld", passesOver(source),
                  static_cast<long long>(options.steps));
  };
  if (!options.mixesSources())
    return report.line(format(
        "data: %s, %lld tokens, %lld batches of %s per epoch, %lld per step, "
        "%s",
        sources.front().name().c_str(),
        static_cast<long long>(batches.tokens()),
        static_cast<long long>(batches.batchesPerEpoch()), shape.c_str(),
        perStep, passesText(0).c_str()));
  report.line(format("data: %zu sources, %lld tokens, batches of %s, %lld per "
                     "step",
                     sources.size(), static_cast<long long>(batches.tokens()),
                     shape.c_str(), perStep));
  for (size_t i = 0; i != sources.size(); ++i)
    report.line(format("  %s, %lld tokens, %.4g %% of the windows, %s",
                       sources[i].name().c_str(),
                       static_cast<long long>(batches.tokensOf(i)),
                       shareOf(sources[i]) * 100, passesText(i).c_str()));
}

/// Says that documents of a row see one another, which no number of the run
/// shows.
void Trainer::noteCrossedDocuments() {
  if (program.number("crossing_attentions", 0) == 0)
    return;
  for (const TokenSource &source : options.sources) {
    PackedDocuments documents = findPackedDocuments(source.files.front());
    if (documents.count < 2)
      continue;
    std::string end =
        documents.end
            ? format("%llu", static_cast<unsigned long long>(*documents.end))
            : "ID";
    return report.line(format(
        "note: attention crosses documents: %s holds %llu, and a token sees "
        "those before its own in the row; --documents=%s of honec (in run.toml "
        "documents = \"eos\") keeps them apart",
        source.name().c_str(), static_cast<unsigned long long>(documents.count),
        end.c_str()));
  }
}

/// What the log says of the sources of --data.
std::string Trainer::dataJson() const {
  std::string text;
  for (size_t i = 0; i != options.sources.size(); ++i) {
    std::string files;
    for (const std::string &path : options.sources[i].files)
      files += (files.empty() ? "" : ",") + quoteJson(path);
    text +=
        format("%s{\"files\":[%s],\"tokens\":%lld,\"share\":%s,"
               "\"passes\":%.6g}",
               i ? "," : "", files.c_str(),
               static_cast<long long>(batches.tokensOf(i)),
               jsonNumber(shareOf(options.sources[i])).c_str(), passesOver(i));
  }
  return text.empty() ? "" : "[" + text + "]";
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
  text += format(", arena %s", formatBytes(executor->arena().bytes()).c_str());
  if (program.hostBytes > 0)
    text += format(", second arena %s", formatBytes(program.hostBytes).c_str());
  text += format(", library workspace %s, %s",
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
  if (std::string note = executor->launchNote(); !note.empty())
    report.line("launches: " + note);
  printData();
  noteCrossedDocuments();
  if (std::string formula = report.mfuFormula(); !formula.empty())
    report.line(formula);
}
