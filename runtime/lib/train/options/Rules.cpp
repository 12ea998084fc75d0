//===- Rules.cpp - Flags that depend on each other ------------------------===//

#include "train/options/Rules.h"

#include <algorithm>
#include <cstring>

using namespace honert;

/// What continues a text trains nothing, unless it does so every few steps.
static Status checkGenerating(const std::set<std::string> &given,
                              const Options &options) {
  if (!given.count("generate") && !given.count("prompt-ids"))
    for (const char *flag :
         {"tokens-out", "temperature", "top-k", "top-p", "sample-every"})
      if (given.count(flag))
        return Status::usage(
            format("--%s: given without --generate or --prompt-ids", flag));
  if (given.count("generate") && given.count("prompt-ids"))
    return Status::usage(
        "--prompt-ids: given with --generate, expected one of them");
  if (options.onlyGenerates())
    for (const char *flag : {"data", "steps", "tokens", "save", "val-data",
                             "checkpoint-dir", "log", "profile"})
      if (given.count(flag))
        return Status::usage(
            format("--%s: given with --%s, which trains "
                   "nothing; --sample-every N trains",
                   flag, given.count("generate") ? "generate" : "prompt-ids"));
  return Status();
}

static Status checkDependencies(const std::set<std::string> &given,
                                const Options &options) {
  static const std::pair<const char *, const char *> needs[] = {
      {"resume", "checkpoint-dir"},
      {"checkpoint-every", "checkpoint-dir"},
      {"keep-best", "checkpoint-dir"},
      {"keep-best", "val-data"},
      {"new-data", "resume"},
      {"val-every", "val-data"},
      {"val-batches", "val-data"},
      {"min-lr", "schedule linear, cosine or wsd"},
      {"decay-steps", "schedule wsd"},
      {"tokenizer", "generate"},
      {"shuffle", "data"}};
  for (auto [flag, needed] : needs) {
    bool isThere = given.count(needed) > 0;
    if (std::strcmp(flag, "min-lr") == 0)
      isThere = options.schedule != ScheduleKind::constant;
    if (std::strcmp(flag, "decay-steps") == 0)
      isThere = options.schedule == ScheduleKind::wsd;
    if (std::strcmp(needed, "val-data") == 0)
      isThere = options.validates();
    if (given.count(flag) && !isThere)
      return Status::usage(format("--%s: given without --%s", flag, needed));
  }
  if (given.count("steps") && given.count("tokens"))
    return Status::usage("--tokens: given with --steps, expected one of them");
  if (given.count("fresh") && given.count("init"))
    return Status::usage("--fresh: given with --init, expected one of them");
  if (given.count("min-lr") && options.minLearningRate > options.learningRate)
    return Status::usage(format("--min-lr: %g, expected at most --lr (%g)",
                                options.minLearningRate, options.learningRate));
  if (given.count("warmup") && options.warmup > options.steps)
    return Status::usage(
        format("--warmup: %lld, expected at most --steps (%lld)",
               static_cast<long long>(options.warmup),
               static_cast<long long>(options.steps)));
  if (options.decaySteps > options.steps - options.warmup)
    return Status::usage(
        format("--decay-steps: %lld, expected at most --steps less --warmup "
               "(%lld)",
               static_cast<long long>(options.decaySteps),
               static_cast<long long>(options.steps - options.warmup)));
  return Status();
}

static bool hasSecondArena(const Program &program) {
  return program.hostBytes > 0 ||
         std::any_of(program.stages.begin(), program.stages.end(),
                     hasSecondArena);
}

static Status checkProgramHas(const std::set<std::string> &given,
                              const Program &program) {
  static const std::pair<const char *, const char *> scalars[] = {
      {"lr", "lr"},
      {"warmup", "lr"},
      {"schedule", "lr"},
      {"decay-steps", "lr"},
      {"weight-decay", "weight_decay"},
      {"clip", "clip"}};
  for (auto [flag, scalar] : scalars)
    if (given.count(flag) && !program.argument(Kind::scalar, scalar))
      return Status::usage(
          format("--%s: this program has no input '%s' that it could set", flag,
                 scalar));
  for (const char *flag : {"data", "val-data"})
    if (given.count(flag) && !program.input(Role::tokens))
      return Status::usage(format(
          "--%s: this program reads no token stream (see --info)", flag));
  for (const char *flag : {"generate", "prompt-ids"})
    if (given.count(flag) && !program.function("generate"))
      return Status::usage(format(
          "--%s: this program cannot generate (it has no function 'generate'); "
          "compile it with honec --with=generate; for a run of hone train, "
          "type hone generate RUN --prompt TEXT",
          flag));
  if (given.count("offload-dir") && program.isForCuda())
    return Status::usage("--offload-dir: the second arena of a program for a "
                         "GPU is memory of the host, expected no folder");
  if (given.count("offload-dir") && !hasSecondArena(program))
    return Status::usage("--offload-dir: this program keeps all state in "
                         "memory; honec --offload=state makes one that does "
                         "not");
  for (const char *flag : {"val-data", "val-input"})
    if (given.count(flag) && !program.evaluates())
      return Status::usage(format("--%s: this program cannot validate (it has "
                                  "no function 'evaluate')",
                                  flag));
  for (const char *flag : {"dump", "bench-collectives", "compare-launches"})
    if (given.count(flag) && !program.stages.empty())
      return Status::usage(format(
          "--%s: this program has stages of a pipeline, expected one without",
          flag));
  return Status();
}

static Status checkSteps(const std::set<std::string> &given,
                         const Program &program, const Options &options) {
  bool hasRate = given.count("lr") || program.numbers.count("lr") ||
                 !program.argument(Kind::scalar, "lr");
  if (!hasRate && options.steps > 0 && !options.onlyInspects())
    return Status::usage("--lr: not given, expected a learning rate (the "
                         "program has no default)");
  if (!options.profile.empty() && options.steps == 0)
    return Status::usage("--profile: given with --steps 0");
  if (!options.dump.empty() && options.steps == 0)
    return Status::usage("--dump: given with --steps 0");
  if (options.compareLaunches > options.steps)
    return Status::usage(
        format("--compare-launches: step %lld, expected one of --steps (%lld)",
               static_cast<long long>(options.compareLaunches),
               static_cast<long long>(options.steps)));
  for (auto [isGiven, flag] :
       {std::pair(options.compareLaunches > 0, "compare-launches"),
        std::pair(options.smoke, "smoke")})
    if (isGiven && !program.isForCuda())
      return Status::usage(format("--%s: this program runs on CPUs (honec "
                                  "--target=cuda makes one for a GPU)",
                                  flag));
  return Status();
}

/// The token stream comes from --data, or by name.
static Status checkTokens(const std::set<std::string> &given,
                          const Program &program, const Options &options) {
  bool feedsTokens = false;
  for (const auto &input : options.inputs)
    if (const Argument *argument = program.argument(Kind::input, input.first))
      feedsTokens |= argument->role != Role::none;
  if (feedsTokens && given.count("data"))
    return Status::usage("--input: feeds the token stream that --data feeds");
  bool needsData = program.input(Role::tokens) && !feedsTokens;
  bool trains = options.steps > 0 && !options.onlyInspects();
  if (needsData && !given.count("data") && trains && options.resume &&
      !options.resumeFrom.empty())
    return Status::usage(format(
        "--data: not given, and %s has no %s with the flags of a run; expected "
        "--data FILE with tokens and the other flags of the run",
        options.resumeFrom.c_str(), RunFlags::fileName));
  if (needsData && !given.count("data") && trains)
    return Status::usage("--data: not given, expected --data FILE with tokens");
  return Status();
}

Status honert::checkRules(const std::set<std::string> &given,
                          const Program &program, const Options &options) {
  HONERT_TRY(checkDependencies(given, options));
  HONERT_TRY(checkGenerating(given, options));
  HONERT_TRY(checkProgramHas(given, program));
  HONERT_TRY(checkSteps(given, program, options));
  return checkTokens(given, program, options);
}
