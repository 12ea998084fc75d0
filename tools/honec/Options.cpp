//===- Options.cpp - Command line of honec --------------------------------===//

#include "Options.h"

#include "hone/Support/ParseFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <vector>

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

static Error unsupported(StringRef seen, const Twine &wanted) {
  return makeError("'" + seen + "' is not supported yet, expected " + wanted);
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

static const std::vector<OptionRow> &getRows() {
  static const std::vector<OptionRow> rows = {
      {"-o", "FILE", "what to write; - is standard output, for text",
       [](StringRef value, Options &options) -> Error {
         options.output = value.str();
         return value.empty() ? wrongValue(value, "a file") : Error::success();
       }},
      {"--target", "cpu", "machine to compile for",
       [](StringRef value, Options &options) -> Error {
         options.isCuda = value == "cuda";
         return value == "cpu" || options.isCuda
                    ? Error::success()
                    : wrongValue(value, "cpu or cuda");
       }},
      {"--arch", "CPU", "native (default), x86-64-v3, x86-64-v4, znver4, ...",
       [](StringRef value, Options &options) -> Error {
         if (value.starts_with("sm_")) {
           options.cudaArch = value.str();
           return Error::success();
         }
         llvm::Expected<CpuTarget> cpu = selectCpu(value);
         if (cpu)
           options.cpu = std::move(*cpu);
         return cpu.takeError();
       }},
      {"--precision", "NAME",
       "of contractions: fp32 (default), tf32, bf16, fp16, or bf16-sr",
       [](StringRef value, Options &options) -> Error {
         options.pipeline.precision = value.str();
         bool known = value == "fp32" || value == "tf32" || value == "bf16" ||
                      value == "fp16" || value == "bf16-sr";
         return known ? Error::success()
                      : wrongValue(value, "fp32, tf32, bf16, fp16 or bf16-sr");
       }},
      {"--stream", "f32|low", "type of the residual stream in low precision",
       [](StringRef value, Options &options) -> Error {
         options.pipeline.stream = value.str();
         return value == "f32" || value == "low"
                    ? Error::success()
                    : wrongValue(value, "f32 or low");
       }},
      {"--loss-scale", "X", "first loss scale of fp16 (65536)",
       [](StringRef value, Options &options) -> Error {
         std::string text;
         if (Error error = readNumber(
                 value, "a number > 0",
                 [](double x) { return x > 0 && std::isfinite(x); }, text))
           return error;
         value.getAsDouble(options.pipeline.step.lossScale);
         return Error::success();
       }},
      {"--pad", "auto|off|N",
       "pad sizes of parameters where it pays, never, or to multiples of N",
       [](StringRef value, Options &options) -> Error {
         int64_t multiple;
         options.pipeline.pad = value.str();
         bool isMultiple = !value.getAsInteger(10, multiple) && multiple > 0;
         return value == "auto" || value == "off" || isMultiple
                    ? Error::success()
                    : wrongValue(value, "auto, off or a multiple");
       }},
      {"--chunk-loss", "auto|off|N",
       "rows of logits that are in memory at a time",
       [](StringRef value, Options &options) -> Error {
         int64_t rows;
         options.pipeline.chunkLoss = value.str();
         return value == "auto" || value == "off" ||
                        (!value.getAsInteger(10, rows) && rows > 0)
                    ? Error::success()
                    : wrongValue(value, "auto, off or a number of rows");
       }},
      {"--without", "PASS,...",
       "leave out what only saves time or memory, to measure it",
       [](StringRef value, Options &options) -> Error {
         for (StringRef pass : llvm::split(value, ',')) {
           if (!llvm::is_contained(getDispensables(), pass))
             return wrongValue(pass,
                               "one of " + llvm::join(getDispensables(), ", "));
           options.pipeline.without.push_back(pass.str());
         }
         return Error::success();
       }},
      {"--memory-budget", "SIZE", "not supported yet",
       [](StringRef, Options &) -> Error {
         return makeError("not supported yet");
       }},
      {"--micro-batches", "K", "batches whose gradients one step adds",
       [](StringRef value, Options &options) -> Error {
         return readInteger(value, 1, 1 << 20,
                            options.pipeline.step.microBatches);
       }},
      {"--optimizer", "NAME", "adamw or sgd; default: the package's",
       [](StringRef value, Options &options) -> Error {
         options.pipeline.step.optimizer = value.str();
         if (value == "lion" || value == "adafactor" || value == "adam8bit")
           return unsupported(value, "adamw or sgd");
         return value == "adamw" || value == "sgd"
                    ? Error::success()
                    : wrongValue(value, "adamw or sgd");
       }},
      {"--lr", "X", "default learning rate of the binary",
       [](StringRef value, Options &options) -> Error {
         return readNumber(value, "a number >= 0", isNonNegative,
                           options.pipeline.step.lr);
       }},
      {"--weight-decay", "X", "default weight decay of the binary",
       [](StringRef value, Options &options) -> Error {
         return readNumber(value, "a number >= 0", isNonNegative,
                           options.pipeline.step.weightDecay);
       }},
      {"--clip", "X", "default bound of the gradient norm; inf: none",
       [](StringRef value, Options &options) -> Error {
         return readNumber(
             value, "a number > 0 or inf", [](double x) { return x > 0; },
             options.pipeline.step.clip);
       }},
      {"--keep-gradients", "", "let the binary dump the gradients",
       [](StringRef, Options &options) -> Error {
         options.pipeline.step.keepGradients = true;
         return Error::success();
       }},
      {"--mesh", "AXES", "not supported yet",
       [](StringRef, Options &) -> Error {
         return makeError("not supported yet");
       }},
      {"--recipe", "NAME", "not supported yet",
       [](StringRef, Options &) -> Error {
         return makeError("not supported yet");
       }},
      {"--emit", "WHAT",
       "exe (default), obj, llvm, plan, or mlir: the step before planning",
       [](StringRef value, Options &options) -> Error {
         if (value == "ptx")
           return unsupported(value, "mlir, plan, llvm, obj or exe");
         auto emit = llvm::StringSwitch<std::optional<Emit>>(value)
                         .Case("mlir", Emit::MLIR)
                         .Case("plan", Emit::Plan)
                         .Case("llvm", Emit::LLVM)
                         .Case("obj", Emit::Object)
                         .Case("exe", Emit::Executable)
                         .Default(std::nullopt);
         if (!emit)
           return wrongValue(value, "mlir, plan, llvm, ptx, obj or exe");
         options.emit = *emit;
         return Error::success();
       }},
      {"--report", "DIR", "write the list of launches there, as a page",
       [](StringRef value, Options &options) -> Error {
         options.report = value.str();
         return value.empty() ? wrongValue(value, "a directory")
                              : Error::success();
       }},
      {"--dry-run", "", "say what it needs and how fast it may be; no output",
       [](StringRef, Options &options) -> Error {
         options.dryRun = true;
         return Error::success();
       }},
      {"--time-phases", "", "print the milliseconds of each phase",
       [](StringRef, Options &options) -> Error {
         options.timePhases = true;
         return Error::success();
       }},
  };
  return rows;
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

static void printHelp() {
  llvm::raw_ostream &out = llvm::outs();
  out << "usage: honec PACKAGE.hone -o FILE [options]\n\n"
         "Compiles an exported model into one executable that trains it.\n\n";
  for (const OptionRow &row : getRows()) {
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

static const OptionRow *findRow(StringRef name) {
  for (const OptionRow &row : getRows())
    if (row.name == name)
      return &row;
  return nullptr;
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
      return usageError(name + ": unknown option, see honec --help");
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
  // A GPU's graph can be printed; nothing runs it yet.
  bool isGraph = options.emit == Emit::MLIR && !options.dryRun;
  if (options.isCuda && (!isGraph || !options.report.empty()))
    return usageError("--target: 'cuda' is not supported yet, expected cpu");
  if (!options.isCuda && !options.cudaArch.empty())
    return usageError("--arch: '" + options.cudaArch +
                      "' is not supported yet, expected a CPU");
  if (options.isCuda && given.count("--arch") && options.cudaArch.empty())
    return usageError("--arch: is '" + given.lookup("--arch") +
                      "', expected sm_80, sm_90 or newer for cuda");
  if (!given.count("--arch") || options.isCuda)
    options.cpu = llvm::cantFail(selectCpu("native"));
  return std::nullopt;
}
