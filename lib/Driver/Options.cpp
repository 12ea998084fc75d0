//===- Options.cpp - Command line of honec --------------------------------===//

#include "hone/Driver/Options.h"

#include "hone/Analysis/Sizes.h"
#include "hone/Support/NearestName.h"
#include "hone/Support/ParseFile.h"
#include "hone/Target/Device.h"
#include "hone/Transforms/CheckpointPolicy.h"
#include "hone/Transforms/OptimizerNames.h"
#include "hone/Transforms/PrecisionPolicy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace hone;
using namespace honec;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// "is 'seen', expected wanted"; the option's name is put in front.
static Error wrongValue(StringRef seen, const Twine &wanted) {
  return makeError("is '" + seen + "', expected " + wanted);
}

/// The same where `wanted` lists all words that there are, as "a, b or a
/// number"; the nearest is named.
static Error wrongWord(StringRef seen, const Twine &wanted) {
  return wrongValue(seen, suggestWord(seen, wanted));
}

static Error readInteger(StringRef text, int64_t low, int64_t high,
                         int64_t &value) {
  if (!text.getAsInteger(10, value) && value >= low && value <= high)
    return Error::success();
  return wrongValue(text,
                    "an integer from " + Twine(low) + " to " + Twine(high));
}

static Error readNumber(StringRef text, StringRef wanted,
                        llvm::function_ref<bool(double)> accepts,
                        std::string &result) {
  double value = 0;
  if (text.getAsDouble(value) || !accepts(value))
    return wrongValue(text, wanted);
  result = text.str();
  return Error::success();
}

static bool isNonNegative(double value) {
  return std::isfinite(value) && value >= 0;
}

//===----------------------------------------------------------------------===//
// Options, one function each
//===----------------------------------------------------------------------===//

static Error setOutput(StringRef value, Options &options) {
  options.output = value.str();
  return value.empty() ? wrongValue(value, "a file") : Error::success();
}

static Error setTarget(StringRef value, Options &options) {
  options.isCuda = value == "cuda";
  return value == "cpu" || options.isCuda ? Error::success()
                                          : wrongWord(value, "cpu or cuda");
}

static Error setArch(StringRef value, Options &options) {
  if (value.starts_with("sm_")) {
    options.cudaArch = value.str();
    return selectDevice(value).takeError();
  }
  llvm::Expected<CpuTarget> cpu = selectCpu(value);
  if (cpu)
    options.cpu = std::move(*cpu);
  return cpu.takeError();
}

static Error setPrecision(StringRef value, Options &options) {
  options.pipeline.precision = value.str();
  return findPrecisionPolicy(value) ? Error::success()
                                    : wrongWord(value, listPrecisionPolicies());
}

static Error setStream(StringRef value, Options &options) {
  options.pipeline.stream = value.str();
  return value == "f32" || value == "low" ? Error::success()
                                          : wrongWord(value, "f32 or low");
}

static Error setLossScale(StringRef value, Options &options) {
  std::string text;
  if (Error error = readNumber(
          value, "a number > 0",
          [](double x) { return x > 0 && std::isfinite(x); }, text))
    return error;
  value.getAsDouble(options.pipeline.step.lossScale);
  return Error::success();
}

static Error setPad(StringRef value, Options &options) {
  options.pipeline.pad = value.str();
  return isAutoOffOrCount(value) ? Error::success()
                                 : wrongWord(value, "auto, off or a multiple");
}

static Error setChunkLoss(StringRef value, Options &options) {
  options.pipeline.chunkLoss = value.str();
  return isAutoOffOrCount(value)
             ? Error::success()
             : wrongWord(value, "auto, off or a number of rows");
}

static Error setAttention(StringRef value, Options &options) {
  for (auto [name, kernels] : getAttentionKernels())
    if (name == value) {
      options.pipeline.attention = kernels;
      return Error::success();
    }
  return wrongWord(value, "auto, fused or unfused");
}

static Error setDeterministicAttention(StringRef, Options &options) {
  options.pipeline.library.isDeterministic = true;
  return Error::success();
}

static Error setWithout(StringRef value, Options &options) {
  for (StringRef pass : llvm::split(value, ',')) {
    if (!llvm::is_contained(getDispensables(), pass))
      return wrongWord(pass, "one of " + llvm::join(getDispensables(), ", "));
    options.pipeline.without.push_back(pass.str());
  }
  return Error::success();
}

static Error setMemoryBudget(StringRef value, Options &options) {
  std::optional<int64_t> bytes = parseBytes(value);
  if (!bytes)
    return wrongValue(value, "a size as 800MB, 1.5GiB or a number of bytes");
  options.pipeline.memoryBudget = *bytes;
  return Error::success();
}

static Error setCheckpoint(StringRef value, Options &options) {
  options.pipeline.checkpoint = value.str();
  return isCheckpointPolicy(value) ? Error::success()
                                   : wrongWord(value, checkpointPolicyList);
}

// Read together, when both are known.
static Error setMesh(StringRef value, Options &options) {
  options.mesh = value.str();
  return Error::success();
}

static Error setRecipe(StringRef value, Options &options) {
  options.recipe = value.str();
  return Error::success();
}

static Error setExact(StringRef, Options &options) {
  options.pipeline.exact = true;
  return Error::success();
}

static Error setOverlap(StringRef value, Options &options) {
  options.pipeline.overlap = value.str();
  return llvm::is_contained({"auto", "on", "off"}, value)
             ? Error::success()
             : wrongWord(value, "auto, on or off");
}

static Error setCluster(StringRef value, Options &options) {
  options.cluster = value.str();
  return value.empty() ? wrongValue(value, "a file") : Error::success();
}

static Error setMicroBatches(StringRef value, Options &options) {
  return readInteger(value, 1, 1 << 20, options.pipeline.step.microBatches);
}

static Error setOptimizer(StringRef value, Options &options) {
  options.pipeline.step.optimizer = value.str();
  return isOptimizer(value) ? Error::success()
                            : wrongWord(value, listOptimizers());
}

static Error setMoments(StringRef value, Options &options) {
  options.pipeline.step.moments = value.str();
  return isMomentFormat(value) ? Error::success()
                               : wrongWord(value, listMomentFormats());
}

static Error setLearningRate(StringRef value, Options &options) {
  return readNumber(value, "a number >= 0", isNonNegative,
                    options.pipeline.step.lr);
}

static Error setWeightDecay(StringRef value, Options &options) {
  return readNumber(value, "a number >= 0", isNonNegative,
                    options.pipeline.step.weightDecay);
}

static Error setClip(StringRef value, Options &options) {
  return readNumber(
      value, "a number > 0 or inf", [](double x) { return x > 0; },
      options.pipeline.step.clip);
}

static Error setKeepGradients(StringRef, Options &options) {
  options.pipeline.step.keepGradients = true;
  return Error::success();
}

static Error setEmit(StringRef value, Options &options) {
  auto emit = llvm::StringSwitch<std::optional<Emit>>(value)
                  .Case("mlir", Emit::MLIR)
                  .Case("plan", Emit::Plan)
                  .Case("llvm", Emit::LLVM)
                  .Case("ptx", Emit::PTX)
                  .Case("obj", Emit::Object)
                  .Case("exe", Emit::Executable)
                  .Default(std::nullopt);
  if (!emit)
    return wrongWord(value, "mlir, plan, llvm, ptx, obj or exe");
  options.emit = *emit;
  return Error::success();
}

static Error setEmulate(StringRef, Options &options) {
  options.emulates = true;
  return Error::success();
}

static Error setReport(StringRef value, Options &options) {
  options.report = value.str();
  return value.empty() ? wrongValue(value, "a directory") : Error::success();
}

static Error setDryRun(StringRef, Options &options) {
  options.dryRun = true;
  return Error::success();
}

static Error setTimePhases(StringRef, Options &options) {
  options.timePhases = true;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
struct OptionRow {
  StringRef name;
  StringRef value; ///< what stands for the value in the help, "": a flag
  StringRef help;
  Error (*set)(StringRef value, Options &options);
};
} // namespace

static const std::string precisionHelp =
    "of contractions: " + listPrecisionPolicies();

static const OptionRow rows[] = {
    {"-o", "FILE", "what to write; - is standard output, for text", setOutput},
    {"--target", "cpu", "machine to compile for", setTarget},
    {"--arch", "CPU", "native (default), x86-64-v3, x86-64-v4, znver4, ...",
     setArch},
    {"--precision", "NAME", precisionHelp, setPrecision},
    {"--stream", "f32|low", "type of the residual stream in low precision",
     setStream},
    {"--loss-scale", "X", "first loss scale of fp16 (65536)", setLossScale},
    {"--pad", "auto|off|N",
     "pad sizes of parameters where it pays, never, or to multiples of N",
     setPad},
    {"--chunk-loss", "auto|off|N",
     "rows of logits that are in memory at a time", setChunkLoss},
    {"--attention", "HOW",
     "fused, unfused (products and a softmax), or auto: by the target",
     setAttention},
    {"--deterministic-attention", "",
     "of a GPU's library; backward it takes memory for every score",
     setDeterministicAttention},
    {"--without", "PASS,...",
     "leave out what only saves time or memory, to measure it", setWithout},
    {"--memory-budget", "SIZE",
     "bound on the arena, as 1.5GiB: what does not fit is made again",
     setMemoryBudget},
    {"--checkpoint", "WHAT",
     "auto (default), none, full or sqrt: kept for the backward pass",
     setCheckpoint},
    {"--micro-batches", "K", "batches whose gradients one step adds",
     setMicroBatches},
    {"--optimizer", "NAME",
     "adamw, sgd, lion or adafactor; default: the package's", setOptimizer},
    {"--moments", "fp32|bf16|8bit", "how the optimizer keeps its moments",
     setMoments},
    {"--lr", "X", "default learning rate of the binary", setLearningRate},
    {"--weight-decay", "X", "default weight decay of the binary",
     setWeightDecay},
    {"--clip", "X", "default bound of the gradient norm; inf: none", setClip},
    {"--keep-gradients", "", "let the binary dump the gradients",
     setKeepGradients},
    {"--mesh", "AXES", "ranks, as dp=2,tp=4@nvlink: rep, dp, fs, tp with sizes",
     setMesh},
    {"--recipe", "WORDS",
     "how they share the step: ddp, zero1, zero2, fsdp, zero3-keep, sp",
     setRecipe},
    {"--exact", "",
     "the same bits on any mesh, and on one rank: slow, to find errors",
     setExact},
    {"--overlap", "auto|on|off",
     "exchange beside kernels (auto: on a GPU), or when they are needed",
     setOverlap},
    {"--cluster", "FILE",
     "links of the machines, to divide by; rates, to estimate by", setCluster},
    {"--emit", "WHAT",
     "exe (default), obj, ptx, llvm, plan, or mlir: the step before planning",
     setEmit},
    {"--emulate", "",
     "with --target=cuda: the binary brings a GPU, one thread at a time, for "
     "tests",
     setEmulate},
    {"--report", "DIR", "write report.json there, and index.html, a page of it",
     setReport},
    {"--dry-run", "", "say what it needs and how fast it may be; no output",
     setDryRun},
    {"--time-phases", "", "print the milliseconds of each phase",
     setTimePhases},
};

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

static void printHelp() {
  llvm::raw_ostream &out = llvm::outs();
  out << "usage: honec PACKAGE.hone -o FILE [options]\n\n"
         "Compiles an exported model into one executable that trains it.\n\n";
  for (const OptionRow &row : rows) {
    std::string left = row.name.str();
    if (!row.value.empty())
      left += (row.name == "-o" ? " " : "=") + row.value.str();
    out << "  " << left << std::string(std::max<int>(1, 24 - left.size()), ' ')
        << row.help << '\n';
  }
  out << "  --help                  print this\n"
         "  --version               print the version\n";
}

static int usageError(const Twine &message) {
  printError(message);
  return 2;
}

static llvm::SmallVector<StringRef> optionNames() {
  llvm::SmallVector<StringRef> names = {"--help", "--version"};
  for (const OptionRow &row : rows)
    names.push_back(row.name);
  return names;
}

static const OptionRow *findRow(StringRef name) {
  for (const OptionRow &row : rows)
    if (row.name == name)
      return &row;
  return nullptr;
}

/// What options say together: 2 after one line if they contradict each other.
static std::optional<int>
completeOptions(const llvm::StringMap<std::string> &given, Options &options) {
  bool isText =
      options.emit != Emit::Object && options.emit != Emit::Executable;
  if (options.package.empty())
    return usageError("no package given, expected a directory NAME.hone");
  if (options.dryRun && given.count("--emit"))
    return usageError("--dry-run: writes nothing, expected no --emit");
  if (options.output.empty() && !options.dryRun && !isText)
    return usageError("-o: missing, expected a file to write");
  if (options.output == "-" && !isText)
    return usageError("-o: is '-', expected a file for a binary");
  if (options.output.empty())
    options.output = "-";
  if (!given.count("--target") && !options.cudaArch.empty())
    options.isCuda = true; // only a GPU is called so
  if (options.isCuda && options.pipeline.exact)
    return usageError("--exact: expected --target=cpu with it, whose products "
                      "add in order");
  if (!options.isCuda && options.emit == Emit::PTX)
    return usageError("--emit: is 'ptx', expected --target=cuda with it");
  if (!options.isCuda && options.emulates)
    return usageError("--emulate: expected --target=cuda with it");
  if (!options.isCuda && options.pipeline.library.isDeterministic)
    return usageError("--deterministic-attention: expected --target=cuda with "
                      "it");
  if (!options.isCuda && !options.cudaArch.empty())
    return usageError("--arch: is '" + options.cudaArch +
                      "', expected a CPU with --target=cpu");
  if (options.isCuda && given.count("--arch") && options.cudaArch.empty())
    return usageError("--arch: is '" + given.lookup("--arch") +
                      "', expected sm_80, sm_90 or newer for cuda");
  llvm::Expected<dist::Recipe> recipe =
      dist::parseRecipe(options.mesh, options.recipe);
  if (!recipe)
    return usageError("--mesh, --recipe: " +
                      llvm::toString(recipe.takeError()));
  options.pipeline.recipe = std::move(*recipe);
  if (!given.count("--arch") || options.isCuda)
    options.cpu = llvm::cantFail(selectCpu("native"));
  return std::nullopt;
}

std::optional<int> honec::parseOptions(int argc, char **argv,
                                       Options &options) {
  llvm::StringMap<std::string> given;
  for (int index = 1; index < argc; ++index) {
    StringRef argument = argv[index];
    if (argument == "--help" || argument == "-h") {
      printHelp();
      return 0;
    }
    if (argument == "--version") {
      llvm::outs() << "honec " HONE_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
      return 0;
    }
    if (!argument.starts_with("-") || argument == "-") {
      if (!options.package.empty())
        return usageError("'" + argument + "': unexpected, expected one " +
                          "package, which is '" + options.package + "'");
      options.package = argument.str();
      continue;
    }
    auto [name, value] = argument.split('=');
    const OptionRow *row = findRow(name);
    if (!row)
      return usageError(name + ": unknown option, see honec --help" +
                        suggestName(name, optionNames()));
    bool hasValue = argument.contains('=');
    if (row->value.empty() && hasValue)
      return usageError(name + ": has value '" + value + "', expected none");
    if (!row->value.empty() && !hasValue) {
      if (++index == argc)
        return usageError(name + ": no value, expected " + row->value);
      value = argv[index];
    }
    auto [before, isFirst] = given.try_emplace(name, value.str());
    if (!isFirst && before->second != value)
      return usageError(name + ": given twice, as '" + before->second +
                        "' and '" + value + "'");
    if (Error error = row->set(value, options))
      return usageError(name + ": " + llvm::toString(std::move(error)));
  }
  return completeOptions(given, options);
}
