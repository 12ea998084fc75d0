//===- Options.cpp - The command line of a training program ---------------===//

#include "train/Options.h"
#include "base/Json.h"
#include "base/NearestName.h"
#include "train/RunLength.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>

using namespace honert;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Where a flag's value goes; the error says what was expected.
using Reader = std::function<Status(const std::string &value)>;

namespace {
/// Where a flag's value lies.
struct Value {
  Reader read;
  /// As JSON; empty for one that asks for nothing.
  std::function<std::string()> show;
};
} // namespace

static Status wrongValue(const std::string &value,
                         const std::string &expected) {
  return Status::usage("'" + value + "', expected " + expected);
}

/// For a value that is none of `words`.
static Status unknownWord(const std::string &value,
                          const std::vector<std::string> &words) {
  std::string list;
  for (const std::string &word : words)
    list += (list.empty() ? "" : word == words.back() ? " or " : ", ") + word;
  std::string nearest(nearestName(value, {words.begin(), words.end()}));
  return Status::usage(
      "'" + value + "', expected " + list +
      (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

static Value readInteger(int64_t &target, int64_t low, int64_t high,
                         const char *expected) {
  auto read = [=, &target](const std::string &value) {
    char *end;
    errno = 0;
    long long number = std::strtoll(value.c_str(), &end, 10);
    bool isDigits = !value.empty() &&
                    value.find_first_not_of("0123456789") == std::string::npos;
    if (!isDigits || errno != 0 || *end || number < low || number > high)
      return wrongValue(value, expected);
    target = number;
    return Status();
  };
  auto show = [&] { return target ? std::to_string(target) : ""; };
  return {read, show};
}

static Value readNumber(double &target, const char *expected) {
  auto read = [=, &target](const std::string &value) {
    char *end;
    double number = std::strtod(value.c_str(), &end);
    bool startsRight =
        !value.empty() &&
        (std::isdigit(static_cast<unsigned char>(value[0])) || value[0] == '.');
    if (!startsRight || *end || !std::isfinite(number) || number < 0)
      return wrongValue(value, expected);
    target = number;
    return Status();
  };
  return {read, [&] { return jsonNumber(target); }};
}

static std::string showText(const std::string &text) {
  return text.empty() ? "" : quoteJson(text);
}

static Value readText(std::string &target) {
  auto read = [&target](const std::string &value) {
    if (value.empty())
      return wrongValue(value, "a name");
    target = value;
    return Status();
  };
  return {read, [&] { return showText(target); }};
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

namespace {
struct Flag {
  const char *name;
  const char *valueName; ///< in --help; null: takes none
  const char *help;
  Value value;
  bool mayRepeat = false;
  const char *otherwise = nullptr; ///< the value of the flag alone, or null
};
} // namespace

static Value setFlag(bool &target) {
  auto read = [&target](const std::string &) {
    target = true;
    return Status();
  };
  return {read, [&] { return target ? "true" : ""; }};
}

static Value
readNamedFile(std::vector<std::pair<std::string, std::string>> &files) {
  auto read = [&files](const std::string &value) {
    size_t equals = value.find('=');
    if (equals == std::string::npos || equals == 0 ||
        equals + 1 == value.size())
      return wrongValue(value, "NAME=FILE.npy");
    files.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    return Status();
  };
  auto show = [&] {
    std::string list;
    for (const auto &[name, file] : files)
      list += (list.empty() ? "" : ",") + quoteJson(name + "=" + file);
    return list.empty() ? "" : "[" + list + "]";
  };
  return {read, show};
}

static constexpr int64_t many = INT64_MAX / 4;

static Value readSchedule(ScheduleKind &target) {
  auto read = [&target](const std::string &value) {
    std::vector<std::string> names = scheduleNames();
    auto found = std::find(names.begin(), names.end(), value);
    if (found == names.end())
      return unknownWord(value, names);
    target = static_cast<ScheduleKind>(found - names.begin());
    return Status();
  };
  return {read, [&] { return quoteJson(name(target)); }};
}

/// A number before one of `units`, which is handed on as its place. False if
/// the text is something else.
static bool readUnit(const std::string &text,
                     const std::vector<std::string> &units, double &number,
                     size_t &unit) {
  size_t digits = text.find_first_not_of("0123456789.");
  if (digits == 0 || text.empty())
    return false;
  std::string rest = digits == text.npos ? "" : text.substr(digits);
  char *end;
  number = std::strtod(text.substr(0, digits).c_str(), &end);
  auto found = std::find(units.begin(), units.end(), rest);
  unit = static_cast<size_t>(found - units.begin());
  return found != units.end() && *end == '\0' && number > 0;
}

/// Steps, or epochs.
static Value readSteps(Options &o) {
  auto read = [&o](const std::string &value) {
    size_t unit;
    if (readUnit(value, {"epochs", "epoch"}, o.epochs, unit))
      return Status();
    o.epochs = 0;
    return readInteger(o.steps, 0, many,
                       "a whole number, or epochs such as 2epochs")
        .read(value);
  };
  return {read, [&o] { return std::to_string(o.steps); }};
}

static Value readTokens(int64_t &target) {
  auto read = [&target](const std::string &value) {
    static const double factors[] = {1, 1e3, 1e6, 1e9};
    double number;
    size_t unit;
    if (!readUnit(value, {"", "K", "M", "B"}, number, unit) ||
        number * factors[unit] > static_cast<double>(many) ||
        number * factors[unit] < 1)
      return wrongValue(value, "a number such as 5000, 300M or 1.5B");
    target = static_cast<int64_t>(std::llround(number * factors[unit]));
    return Status();
  };
  return {read, [&] { return target ? std::to_string(target) : ""; }};
}

static Value readSeed(Options &o) {
  auto read = [&o](const std::string &value) {
    int64_t seed;
    HONERT_TRY(
        readInteger(seed, 0, INT64_MAX, "a whole number < 2^63").read(value));
    o.seed = static_cast<uint64_t>(seed);
    o.seedGiven = true;
    return Status();
  };
  return {read, [&o] { return std::to_string(o.seed); }};
}

static Value readIds(std::vector<int64_t> &target) {
  auto read = [&target](const std::string &value) {
    for (size_t begin = 0; begin <= value.size();) {
      size_t end = std::min(value.find(',', begin), value.size());
      HONERT_TRY(readInteger(target.emplace_back(), 0, INT32_MAX,
                             "token ids such as 1,2,3")
                     .read(value.substr(begin, end - begin)));
      begin = end + 1;
    }
    return Status();
  };
  auto show = [&target] {
    std::string list;
    for (int64_t id : target)
      list += (list.empty() ? "" : ",") + std::to_string(id);
    return list.empty() ? "" : "[" + list + "]";
  };
  return {read, show};
}

/// A share above 0 and up to 1, which is left out of a configuration.
static Value readShare(double &target) {
  auto read = [&target](const std::string &value) {
    HONERT_TRY(readNumber(target, "a share above 0 and up to 1").read(value));
    if (target == 0 || target > 1)
      return wrongValue(value, "a share above 0 and up to 1");
    return Status();
  };
  return {read, [&target] { return target < 1 ? jsonNumber(target) : ""; }};
}

static Value readBootstrap(std::string &target) {
  auto read = [&target](const std::string &value) {
    if (value.rfind("file:", 0) != 0 || value.size() == 5)
      return wrongValue(value, "file:PATH");
    target = value;
    return Status();
  };
  return {read, [&] { return showText(target); }};
}

static const char *const count = "a whole number";
static const char *const positive = "a whole number >= 1";
static const char *const real = "a number >= 0";

/// What is trained, on what and how.
static std::vector<Flag> makeTrainingFlags(Options &o) {
  return {
      {"data", "FILE", "token stream to train on: llm.c, nanoGPT or .npy",
       readText(o.data)},
      {"input", "NAME=FILE.npy",
       "values of another input: its shape, or [N, its shape] for N "
       "micro-batches in turn",
       readNamedFile(o.inputs), /*mayRepeat=*/true},
      {"steps", "N",
       "train until step N (default 100; 0 trains nothing), or for so many "
       "times through --data: 2epochs",
       readSteps(o)},
      {"tokens", "N",
       "instead: train until so many tokens were read (300M, 1.5B)",
       readTokens(o.tokens)},
      {"lr", "X", "learning rate (default: the optimizer's, when compiled)",
       readNumber(o.learningRate, real)},
      {"warmup", "N", "first raise the rate from lr/N to lr over N steps",
       readInteger(o.warmup, 0, many, count)},
      {"schedule", "KIND",
       "then: constant (default); linear or cosine down to --min-lr at the "
       "last "
       "step; or wsd: constant, and down by 1 - sqrt over --decay-steps",
       readSchedule(o.schedule)},
      {"min-lr", "X", "rate at the end (default: a tenth of --lr)",
       readNumber(o.minLearningRate, real)},
      {"decay-steps", "N",
       "the last steps, over which wsd decays (default: a fifth of all)",
       readInteger(o.decaySteps, 1, many, positive)},
      {"weight-decay", "X", "weight decay (default: as compiled)",
       readNumber(o.weightDecay, real)},
      {"clip", "X",
       "largest global gradient norm; 0: no clipping (default: as compiled)",
       readNumber(o.clip, real)},
      {"seed", "N",
       "seed of initial values, dropout, --shuffle and drawn tokens (default "
       "0)",
       readSeed(o)},
      {"shuffle", nullptr,
       "visit the windows of each epoch in a random order, each once",
       setFlag(o.shuffle)},
      {"threads", "N",
       "threads (default: the cores this process may use, or its share of the "
       "machine where several ranks may use all)",
       readInteger(o.threads, 1, 1024, "a whole number from 1 to 1024")},
      {"deterministic", nullptr,
       "equal runs give equal bits on a GPU too, at some speed (on a CPU they "
       "always do)",
       setFlag(o.deterministic)},
      {"comm-timeout", "SECONDS",
       "end when another rank has not come for so long; 0: wait (default 600)",
       readNumber(o.commTimeout, real)},
      {"dist-bootstrap", "file:PATH",
       "ranks on GPUs without MPI meet by this file, not by MASTER_ADDR: rank "
       "0 makes it where all see it, readable by its user alone",
       readBootstrap(o.bootstrap)},
  };
}

/// What is read and written besides.
static std::vector<Flag> makeFileFlags(Options &o) {
  return {
      {"init", "FILE",
       "start from these weights (safetensors; default: those of the package, "
       "if it holds any)",
       readText(o.init)},
      {"fresh", nullptr,
       "start from values generated by --seed, not from the package's weights",
       setFlag(o.fresh)},
      {"save", "FILE", "write the weights here at the end (safetensors)",
       readText(o.save)},
      {"checkpoint-dir", "DIR",
       "keep the two newest checkpoints here; one is "
       "written at the end in any case",
       readText(o.checkpoints)},
      {"checkpoint-every", "N", "write a checkpoint every N steps",
       readInteger(o.checkpointEvery, 1, many, positive)},
      {"keep-best", nullptr,
       "also keep the checkpoint with the lowest validation loss, as "
       "DIR/best",
       setFlag(o.keepBest)},
      {"resume", nullptr,
       "go on from the newest good checkpoint, bit for bit, if there is one",
       setFlag(o.resume)},
      {"new-data", nullptr,
       "with --resume: go on although --data, --val-data or --input is another "
       "file than before",
       setFlag(o.newData)},
      {"val-data", "FILE", "token stream to validate on, at the end at least",
       readText(o.validation)},
      {"val-input", "NAME=FILE.npy",
       "values of another input to validate on, as --input has them",
       readNamedFile(o.validationInputs), /*mayRepeat=*/true},
      {"val-every", "N", "validate every N steps",
       readInteger(o.validateEvery, 1, many, positive)},
      {"val-batches", "N",
       "batches of a validation, at most one epoch (default 20)",
       readInteger(o.validationBatches, 1, many, positive)},
      {"check-replicas", "N",
       "every N steps compare what ranks hold of the same weights and "
       "optimizer state, bit by bit",
       readInteger(o.checkReplicasEvery, 1, many, positive)},
      {"log", "FILE", "write every step and validation as a line of JSON",
       readText(o.log)},
      {"log-every", "N",
       "print and log every Nth step (default: log each; print each, or where "
       "these are more than 1000, every 10th, 100th, ..)",
       readInteger(o.logEvery, 1, many, positive)},
      {"tensorboard", "DIR",
       "write loss, val_loss, lr, grad_norm and tokens_per_s here for "
       "TensorBoard, a folder for each run",
       readText(o.tensorboard)},
      {"quiet", nullptr, "print the summary only", setFlag(o.quiet)},
      {"dump", "DIR",
       "write gradients, loss and norm of the first step to "
       "DIR/step1.safetensors",
       readText(o.dump)},
      {"profile", "FILE",
       "write the times of launches, the last step's and medians (Chrome "
       "trace), and print their sums; on a GPU also what the graph takes, and "
       "its gaps",
       readText(o.profile)},
      {"compare-launches", "STEP",
       "on a GPU: compare what each launch of this step (alone: 2, where "
       "biases "
       "are no longer zero) writes with what the host computes; the first that "
       "differs is printed, exit code 1",
       readInteger(o.compareLaunches, 1, many, positive),
       /*mayRepeat=*/false, /*otherwise=*/"2"},
      {"smoke", nullptr,
       "try whether all that this program needs works on this GPU, print that "
       "as JSON, and stop; takes no data",
       setFlag(o.smoke)},
      {"bench-collectives", nullptr,
       "measure the links between the ranks, and stop",
       setFlag(o.benchCollectives)},
      {"info", nullptr, "print arguments, memory plan and build, and stop",
       setFlag(o.info)},
      {"version", nullptr, "print the versions, and stop", setFlag(o.version)},
      {"help", nullptr, "print this text, and stop", setFlag(o.help)},
      {"help-json", nullptr, "print the flags as JSON, and stop",
       setFlag(o.helpJson)},
  };
}

/// Of programs with a function "generate".
static std::vector<Flag> makeTextFlags(Options &o) {
  return {
      {"generate", "TEXT",
       "continue this text with the weights, and train nothing (a program of "
       "honec --with=generate)",
       readText(o.generate)},
      {"tokenizer", "FILE",
       "tokenizer.json of that text: byte-level BPE as of GPT-2, Llama 3 or "
       "Qwen (default: tokens are bytes, where the program has 256)",
       readText(o.tokenizer)},
      {"prompt-ids", "ID,...", "the same of tokens, and print tokens",
       readIds(o.promptIds)},
      {"tokens-out", "N",
       "tokens to add, at most up to the last position (default 100)",
       readInteger(o.tokensOut, 1, many, positive)},
      {"temperature", "X",
       "logits are divided by it; 0: the likeliest token (default 1)",
       readNumber(o.temperature, real)},
      {"top-k", "K", "draw among the K likeliest tokens",
       readInteger(o.topK, 1, many, positive)},
      {"top-p", "P", "draw among the likeliest tokens that have P together",
       readShare(o.topP)},
      {"sample-every", "N",
       "train, and continue --generate or --prompt-ids every N steps",
       readInteger(o.sampleEvery, 1, many, positive)},
  };
}

static std::vector<Flag> makeFlags(Options &options) {
  std::vector<Flag> flags = makeTrainingFlags(options);
  for (Flag &flag : makeTextFlags(options))
    flags.push_back(std::move(flag));
  for (Flag &flag : makeFileFlags(options))
    flags.push_back(std::move(flag));
  return flags;
}

std::string honert::configText(Options options) {
  std::string text;
  for (const Flag &flag : makeFlags(options))
    if (std::string value = flag.value.show(); !value.empty())
      text += (text.empty() ? "" : ",") + quoteJson(flag.name) + ":" + value;
  return "{" + text + "}";
}

/// What a run of `program` has to be given.
static std::string neededFlags(const Program &program) {
  std::string text = program.input(Role::tokens) ? " --data FILE" : "";
  for (const Argument &argument : program.arguments)
    if (argument.kind == Kind::input && argument.role == Role::none)
      text += " --input " + argument.fqn + "=FILE.npy";
  return text;
}

std::string honert::helpText(const char *programName, const Program &program) {
  Options ignored;
  std::string text = format("usage: %s%s [flags]\n"
                            "Trains the compiled model. Flags are written "
                            "--flag VALUE or --flag=VALUE.\n\n",
                            programName, neededFlags(program).c_str());
  for (const Flag &flag : makeFlags(ignored)) {
    std::string left = std::string("--") + flag.name;
    if (flag.otherwise)
      left += std::string("[=") + flag.valueName + "]";
    else if (flag.valueName)
      left += std::string(" ") + flag.valueName;
    text += format("  %-24s  %s\n", left.c_str(), flag.help);
  }
  return text +
         "\nStep s trains with rate lr * s / warmup while s <= warmup. Batches "
         "follow the stream in order;\nat its end they start over. A loss or "
         "norm that is not finite ends the run with exit code 1\nand nothing "
         "is saved. SIGINT, SIGTERM, SIGHUP and SIGUSR1 end it after the step, "
         "saving as at the end;\na second SIGINT or SIGTERM ends it at once.\n"
         "Exit codes: 0 when all steps are done, 1 after an error, 2 for a "
         "wrong command line, 128 + N when\nsignal N ended the run after "
         "saving (130 SIGINT, 143 SIGTERM, 129 SIGHUP, 138 SIGUSR1).\n";
}

std::string honert::helpJson() {
  Options ignored;
  std::string text;
  auto orNull = [](const char *value) {
    return value ? quoteJson(value) : "null";
  };
  for (const Flag &flag : makeFlags(ignored))
    text +=
        format("%s\n  {\"name\": %s, \"value\": %s, \"alone\": %s, "
               "\"repeats\": %s, \"help\": %s}",
               text.empty() ? "" : ",", quoteJson(flag.name).c_str(),
               orNull(flag.valueName).c_str(), orNull(flag.otherwise).c_str(),
               flag.mayRepeat ? "true" : "false", quoteJson(flag.help).c_str());
  return "{\"options\": [" + text + "\n]}\n";
}

static Status unknownFlag(const std::string &name,
                          const std::vector<Flag> &flags) {
  std::vector<std::string> names;
  for (const Flag &flag : flags)
    names.push_back(std::string("--") + flag.name);
  std::string nearest(nearestName(name, {names.begin(), names.end()}));
  return Status::usage(
      name + (nearest.empty() ? ": unknown, expected a flag of --help"
                              : ": unknown; did you mean " + nearest + "?"));
}

/// Splits the arguments into flags and values and hands these to the readers.
static Status readFlags(int argc, char **argv, Options &options,
                        std::set<std::string> &given) {
  std::vector<Flag> flags = makeFlags(options);
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], value;
    size_t equals = argument.find('=');
    bool hasValue = equals != std::string::npos;
    std::string name = argument.substr(0, equals);
    auto flag = std::find_if(flags.begin(), flags.end(), [&](const Flag &each) {
      return name == std::string("--") + each.name;
    });
    if (flag == flags.end())
      return unknownFlag(name, flags);
    if (hasValue && !flag->valueName)
      return Status::usage(name + ": takes no value, '" +
                           argument.substr(equals + 1) + "' was given");
    if (hasValue)
      value = argument.substr(equals + 1);
    else if (flag->otherwise)
      value = flag->otherwise;
    else if (flag->valueName) {
      if (i + 1 == argc)
        return Status::usage(name + ": no value, expected " + flag->valueName);
      value = argv[++i];
    }
    if (!given.insert(flag->name).second && !flag->mayRepeat)
      return Status::usage(name + ": given twice, expected once");
    if (Status status = flag->value.read(value); !status.ok())
      return Status::usage(name + ": " + status.message());
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Flags that depend on each other or on the program
//===----------------------------------------------------------------------===//

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
      return Status::usage(format("--%s: this program has no function "
                                  "'generate' (honec --with=generate makes "
                                  "one)",
                                  flag));
  for (const char *flag : {"val-data", "val-input"})
    if (given.count(flag) && !program.function("evaluate"))
      return Status::usage(format("--%s: this program cannot validate (it has "
                                  "no function 'evaluate')",
                                  flag));
  return Status();
}

static Status checkSteps(const std::set<std::string> &given,
                         const Program &program, const Options &options) {
  bool hasRate = given.count("lr") || program.numbers.count("lr") ||
                 !program.argument(Kind::scalar, "lr");
  if (!hasRate && options.steps > 0 && !options.info &&
      !options.benchCollectives && !options.smoke)
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

Status honert::parseOptions(const Program &program, int argc, char **argv,
                            Options &options) {
  options.learningRate = program.number("lr", 0);
  options.weightDecay = program.number("weight_decay", 0);
  options.clip = program.number("clip", 0);
  std::set<std::string> given;
  HONERT_TRY(readFlags(argc, argv, options, given));
  if (options.onlyGenerates() && !given.count("steps"))
    options.steps = 0;
  if (options.help || options.helpJson || options.version)
    return Status();
  if (!options.info && !options.benchCollectives && !options.smoke)
    HONERT_TRY(resolveSteps(program, options));
  HONERT_TRY(checkDependencies(given, options));
  HONERT_TRY(checkProgramHas(given, program));
  HONERT_TRY(checkSteps(given, program, options));
  if (!given.count("min-lr"))
    options.minLearningRate = options.learningRate / 10;
  bool feedsTokens = false;
  for (const auto &input : options.inputs)
    if (const Argument *argument = program.argument(Kind::input, input.first))
      feedsTokens |= argument->role != Role::none;
  if (feedsTokens && given.count("data"))
    return Status::usage("--input: feeds the token stream that --data feeds");
  bool needsData = program.input(Role::tokens) && !feedsTokens;
  bool trains = options.steps > 0 && !options.info &&
                !options.benchCollectives && !options.smoke;
  if (needsData && !given.count("data") && trains)
    return Status::usage("--data: not given, expected --data FILE with tokens");
  return Status();
}
