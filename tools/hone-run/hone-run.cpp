//===- hone-run.cpp - The reference interpreter's command line ------------===//

#include "HoneRun.h"
#include "Tools.h"
#include "Train.h"

#include "hone/Support/NearestName.h"
#include "hone/Support/ParseFile.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace hone;

static constexpr llvm::StringLiteral usageOfTraining =
    R"(hone-run: the reference interpreter of the hone dialect

  hone-run PACKAGE.hone [flags]   trains in the interpreter; takes the flags of a compiled
                                  program (PACKAGE.hone --help) and:
      --f64                       all floats in double, nothing rounded
      --no-raise                  the graph as exported, no named op found in it
)";

static constexpr llvm::StringLiteral usageOfChecks = R"(
  hone-run --eval FILE.mlir       evaluates functions and prints their results
      --entry NAME                this function (default: all, in order)
      --f64                       all floats in double, nothing rounded
      --args SEED                 random arguments (default: none needed)
      --sum                       sum and norm of each result only
      --trace                     also place, name, sum and norm of every op's results

  hone-run --compare A.mlir B.mlir    the same functions of two files on the same
      --entry NAME --f64 --args SEED  arguments; exit 1 if a result differs by more
      --rtol X --atol X --bitwise     than atol + rtol * |b| (1e-5, 1e-6), or in a bit
      --rmse FACTOR --floor X         instead: if its RMSE against the same in double exceeds
                                      FACTOR times A's, or what arguments moved by an ulp make
                                      of it, plus X (1e-7) times its root mean square
      --either                        or FACTOR times what values moved by an ulp make of B
      --ranks                         B is what each rank of its mesh runs: all of them in
                                      one process, their parts put together
      --step                          instead of function by function: what @evaluate and a step
                                      of all micro-batches leave; B may be of ranks, and of the
                                      stages of a pipeline with their schedule

  hone-run --gradcheck FILE.mlir  hone-autodiff against finite differences in double
      --entry NAME --seed S       for every argument with hone.requires_grad, or every
      --tolerance X               float argument (relative error, default 1e-7)
      --directions N              random directions per argument (default 4)

FILE may be - for standard input.
)";

/// The meaning of a graph, nothing done to it unless it is asked for.
static PipelineOptions plainOptions() {
  PipelineOptions options;
  options.chunkLoss = "off";
  options.pad = "off";
  return options;
}

static void printUsage() {
  llvm::raw_ostream &out = llvm::outs();
  out << usageOfTraining;
  for (const PipelineOption &option : getPipelineOptions())
    if (option.reach >= OptionReach::All)
      out << llvm::formatv(
          "      {0,-27} {1}\n",
          ("--" + option.name + (option.isFlag() ? "" : " ") + option.value)
              .str(),
          option.describe(plainOptions()));
  out << usageOfChecks;
}

namespace {
/// The words of a command line, taken one by one.
class Words {
public:
  Words(int argc, char **argv) : words(argv + 1, argv + argc) {}

  bool empty() const { return next == words.size(); }
  StringRef take() { return words[next++]; }

  /// The value of the option just taken; "" after an error.
  StringRef valueOf(StringRef option) {
    if (!empty())
      return take();
    fail(option + ": has no value, expected one");
    return "";
  }
  int64_t integerOf(StringRef option, int64_t least) {
    StringRef text = valueOf(option);
    int64_t value = least;
    if (good && (text.getAsInteger(10, value) || value < least))
      fail(option + ": '" + text + "', expected an integer of at least " +
           Twine(least));
    return value;
  }
  double numberOf(StringRef option) {
    StringRef text = valueOf(option);
    double value = 0;
    if (good && (text.getAsDouble(value) || !(value >= 0)))
      fail(option + ": '" + text + "', expected a number of at least 0");
    return value;
  }
  /// Prints the first error of a command line.
  void fail(const Twine &message) {
    if (std::exchange(good, false))
      printError(message);
  }

  bool good = true;

private:
  SmallVector<StringRef> words;
  size_t next = 0;
};

/// All that can be said for --eval, --compare and --gradcheck.
struct CommandLine {
  StringRef action; // "" until seen
  SmallVector<StringRef> files;
  run::EvaluateOptions evaluate;
  run::CompareOptions compare;
  run::GradcheckOptions gradcheck;
};
} // namespace

/// What readOption knows.
static constexpr StringRef checkOptions[] = {
    "--entry", "--f64",       "--args",  "--sum",       "--trace",  "--rtol",
    "--atol",  "--rmse",      "--floor", "--bitwise",   "--either", "--ranks",
    "--step",  "--tolerance", "--seed",  "--directions"};

/// Reads one word and its value; false for a word that `action` does not know.
static bool readOption(Words &words, StringRef word, CommandLine &line) {
  bool evaluates = line.action == "--eval";
  bool compares = line.action == "--compare";
  bool checks = line.action == "--gradcheck";
  if (word == "--entry") {
    line.evaluate.entry = line.compare.entry = line.gradcheck.entry =
        words.valueOf(word).str();
  } else if (word == "--f64" && !checks) {
    line.evaluate.mode = line.compare.mode = interp::Mode::F64;
  } else if (word == "--args" && !checks) {
    line.evaluate.seed = line.compare.seed = words.integerOf(word, 0);
  } else if (word == "--sum" && evaluates) {
    line.evaluate.sums = true;
  } else if (word == "--trace" && evaluates) {
    line.evaluate.trace = true;
  } else if (word == "--rtol" && compares) {
    line.compare.rtol = words.numberOf(word);
  } else if (word == "--atol" && compares) {
    line.compare.atol = words.numberOf(word);
  } else if (word == "--bitwise" && compares) {
    line.compare.bitwise = true;
  } else if (word == "--either" && compares) {
    line.compare.either = true;
  } else if (word == "--rmse" && compares) {
    line.compare.rmse = words.numberOf(word);
  } else if (word == "--floor" && compares) {
    line.compare.floor = words.numberOf(word);
  } else if (word == "--ranks" && compares) {
    line.compare.ranks = true;
  } else if (word == "--step" && compares) {
    line.compare.steps = true;
  } else if (word == "--seed" && checks) {
    line.gradcheck.seed = words.integerOf(word, 0);
  } else if (word == "--tolerance" && checks) {
    line.gradcheck.tolerance = words.numberOf(word);
  } else if (word == "--directions" && checks) {
    line.gradcheck.directions = words.integerOf(word, 1);
  } else {
    return false;
  }
  return true;
}

/// Reads the command line of --eval, --compare or --gradcheck; false after an
/// error.
static bool readCommandLine(Words &words, CommandLine &line) {
  line.action = words.take();
  while (words.good && !words.empty()) {
    StringRef word = words.take();
    if (!word.starts_with("-") || word == "-")
      line.files.push_back(word);
    else if (!readOption(words, word, line))
      words.fail(word + ": unknown after " + line.action +
                 ", expected an option of hone-run --help" +
                 suggestName(word, checkOptions));
  }
  size_t expected = line.action == "--compare" ? 2 : 1;
  if (words.good && line.files.size() != expected)
    words.fail(line.action + ": got " + Twine(line.files.size()) +
               " files, expected " + Twine(expected));
  return words.good;
}

/// Reads an option of the pipeline, and its value. `takeValue` is asked for one
/// that is not a flag's.
static void readPipelineOption(Words &words, const PipelineOption &option,
                               llvm::function_ref<StringRef()> takeValue,
                               PipelineOptions &options) {
  StringRef value = option.isFlag() ? "" : takeValue();
  if (!words.good)
    return;
  if (std::optional<RefusedValue> refused = option.read(value, options))
    words.fail("--" + option.name + ": '" + refused->value + "', expected " +
               refused->expected);
}

/// Takes the options of hone-run itself; all others are the runtime's.
static bool readTrainLine(Words &words, char **argv,
                          run::TrainOptions &options) {
  options.package = words.take().str();
  options.pipeline = plainOptions();
  options.command = (llvm::Twine(argv[0]) + " " + options.package).str();
  for (int index = 2; words.good && !words.empty(); ++index) {
    int first = index;
    StringRef word = words.take();
    auto [name, attached] = word.split('=');
    auto takeValue = [&, name = name, attached = attached]() -> StringRef {
      if (word.contains('='))
        return attached;
      ++index;
      return words.valueOf(name);
    };
    const PipelineOption *option =
        name.starts_with("--")
            ? findPipelineOption(name.drop_front(2), OptionReach::All)
            : nullptr;
    if (word == "--f64") {
      options.mode = interp::Mode::F64;
    } else if (word == "--no-raise") {
      options.raise = false;
    } else if (option && !(option->isFlag() && word.contains('='))) {
      readPipelineOption(words, *option, takeValue, options.pipeline);
    } else {
      // Only what is dumped needs to be kept.
      options.pipeline.keepGradients |= name == "--dump";
      options.arguments.push_back(argv[index]);
      continue;
    }
    for (; first <= index; ++first)
      options.command += std::string(" ") + argv[first];
  }
  if (!words.good)
    return false;
  if (llvm::Error error = options.pipeline.readRanks())
    words.fail(llvm::toString(std::move(error)));
  else if (options.pipeline.ranks.stages > 1)
    words.fail("--mesh: is '" + options.pipeline.mesh +
               "', expected no axis pp: programs that honec links run stages, "
               "and --compare their functions");
  return words.good;
}

/// --eval, --compare and --gradcheck.
static int runCheck(MLIRContext &context, Words &words) {
  CommandLine line;
  if (!readCommandLine(words, line))
    return run::wrongCommandLine;
  OneLineDiagnostics diagnostics(&context, line.files[0]);
  if (line.action == "--eval")
    return run::evaluate(context, line.files[0], line.evaluate);
  if (line.action == "--compare")
    return run::compare(context, line.files[0], line.files[1], line.compare);
  return run::gradcheck(context, line.files[0], line.gradcheck);
}

static int runMain(int argc, char **argv) {
  StringRef action = argc > 1 ? argv[1] : "--help";
  if (action == "--help" || action == "-h") {
    printUsage();
    return argc > 1 ? run::ok : run::wrongCommandLine;
  }
  bool checks =
      action == "--eval" || action == "--compare" || action == "--gradcheck";
  if (!checks && action.starts_with("-")) {
    printError(action +
               ": unknown, expected PACKAGE.hone, --eval, --compare "
               "or --gradcheck (see hone-run --help)" +
               suggestName(action, {"--eval", "--compare", "--gradcheck"}));
    return run::wrongCommandLine;
  }
  hone::registerAllPasses();
  DialectRegistry registry;
  hone::registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  Words words(argc, argv);
  if (checks)
    return runCheck(context, words);
  run::TrainOptions options;
  if (!readTrainLine(words, argv, options))
    return run::wrongCommandLine;
  return run::train(context, std::move(options));
}

int hone::honeRunMain(int argc, char **argv) {
  // Nothing throws on purpose; the standard library does when memory ends.
  try {
    return runMain(argc, argv);
  } catch (const std::exception &exception) {
    printError(Twine("hone-run: out of memory (") + exception.what() + ")");
    return run::failed;
  }
}
