//===- hone-run.cpp - The reference interpreter's command line ------------===//

#include "HoneRun.h"
#include "Train.h"

#include "hone/Support/NearestName.h"
#include "hone/Support/ParseFile.h"
#include "hone/Transforms/OptimizerNames.h"
#include "hone/Transforms/PrecisionPolicy.h"

using namespace mlir;
using namespace hone;

static constexpr llvm::StringLiteral usage =
    R"(hone-run: the reference interpreter of the hone dialect

  hone-run PACKAGE.hone [flags]   trains in the interpreter; takes the flags of a compiled
                                  program (PACKAGE.hone --help) and:
      --f64                       all floats in double, nothing rounded
      --micro-batches K           batches whose gradients one step adds (default 1)
      --mesh AXES --recipe WORDS  divide the step among ranks as honec does, and run all of
                                  them; copies that differ in a bit are an error
      --exact                     the same bits on any mesh, and on one rank
      --optimizer NAME            adamw, sgd, lion or adafactor (default: the package's)
      --moments fp32|bf16|8bit    how the optimizer keeps its moments (default fp32)
      --precision NAME            policy of contractions, as honec has them (default fp32)
      --stream f32|low, --loss-scale X    those of honec
      --pad auto|off|N            padding of parameters, as honec has it (default off)
      --chunk-loss auto|off|N     rows of logits at a time (default off)
      --no-raise                  the graph as exported, no named op found in it

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
      --ranks                         B is what each rank of its mesh runs: all of them in
                                      one process, their parts put together

  hone-run --gradcheck FILE.mlir  hone-autodiff against finite differences in double
      --entry NAME --seed S       for every argument with hone.requires_grad, or every
      --tolerance X               float argument (relative error, default 1e-7)
      --directions N              random directions per argument (default 4)

FILE may be - for standard input.
)";

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
    "--entry", "--f64",       "--args", "--sum",       "--trace",
    "--rtol",  "--atol",      "--rmse", "--floor",     "--bitwise",
    "--ranks", "--tolerance", "--seed", "--directions"};

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
  } else if (word == "--rmse" && compares) {
    line.compare.rmse = words.numberOf(word);
  } else if (word == "--floor" && compares) {
    line.compare.floor = words.numberOf(word);
  } else if (word == "--ranks" && compares) {
    line.compare.ranks = true;
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
  size_t wanted = line.action == "--compare" ? 2 : 1;
  if (words.good && line.files.size() != wanted)
    words.fail(line.action + ": got " + Twine(line.files.size()) +
               " files, expected " + Twine(wanted));
  return words.good;
}

/// Takes the options of hone-run itself; all others are the runtime's.
static bool readTrainLine(Words &words, char **argv,
                          run::TrainOptions &options) {
  options.package = words.take().str();
  options.pipeline.chunkLoss = "off"; // the plain meaning, unless asked for
  options.pipeline.pad = "off";
  options.arguments = {argv[0]};
  StringRef mesh, recipe;
  for (int index = 2; words.good && !words.empty(); ++index) {
    StringRef word = words.take();
    StringRef name = word.split('=').first;
    auto takeValue = [&]() -> StringRef {
      if (word.contains('='))
        return word.split('=').second;
      ++index;
      return words.valueOf(name);
    };
    auto takeOneOf = [&](std::string &text,
                         llvm::function_ref<bool(StringRef)> accepts,
                         const Twine &wanted) {
      text = takeValue().str();
      if (words.good && !accepts(text))
        words.fail(name + ": '" + text + "', expected " +
                   suggestWord(text, wanted));
    };
    if (word == "--f64") {
      options.mode = interp::Mode::F64;
    } else if (word == "--no-raise") {
      options.raise = false;
    } else if (word == "--exact") {
      options.pipeline.exact = true;
    } else if (name == "--micro-batches") {
      StringRef count = takeValue();
      if (words.good &&
          (count.getAsInteger(10, options.pipeline.step.microBatches) ||
           options.pipeline.step.microBatches < 1))
        words.fail(name + ": '" + count + "', expected an integer >= 1");
    } else if (name == "--mesh" || name == "--recipe") {
      (name == "--mesh" ? mesh : recipe) = takeValue();
    } else if (name == "--chunk-loss") {
      takeOneOf(options.pipeline.chunkLoss, isAutoOffOrCount,
                "auto, off or a number of rows");
    } else if (name == "--pad") {
      takeOneOf(options.pipeline.pad, isAutoOffOrCount,
                "auto, off or a multiple");
    } else if (name == "--optimizer") {
      takeOneOf(options.pipeline.step.optimizer, isOptimizer, listOptimizers());
    } else if (name == "--moments") {
      takeOneOf(options.pipeline.step.moments, isMomentFormat,
                listMomentFormats());
    } else if (name == "--precision") {
      takeOneOf(
          options.pipeline.precision,
          [](StringRef policy) { return findPrecisionPolicy(policy); },
          listPrecisionPolicies());
    } else if (name == "--stream") {
      takeOneOf(
          options.pipeline.stream,
          [](StringRef type) { return type == "f32" || type == "low"; },
          "f32 or low");
    } else if (name == "--loss-scale") {
      StringRef value = takeValue();
      double &scale = options.pipeline.step.lossScale;
      if (words.good && (value.getAsDouble(scale) || !(scale > 0)))
        words.fail(name + ": '" + value + "', expected a number > 0");
    } else {
      // Only what is dumped needs to be kept.
      options.pipeline.step.keepGradients |= name == "--dump";
      options.arguments.push_back(argv[index]);
    }
  }
  if (!words.good)
    return false;
  llvm::Expected<dist::Recipe> ranks = dist::parseRecipe(mesh, recipe);
  if (ranks)
    options.pipeline.recipe = std::move(*ranks);
  else
    words.fail("--mesh, --recipe: " + llvm::toString(ranks.takeError()));
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
    llvm::outs() << usage;
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

int main(int argc, char **argv) {
  // Nothing throws on purpose; the standard library does when memory ends.
  try {
    return runMain(argc, argv);
  } catch (const std::exception &exception) {
    printError(Twine("hone-run: out of memory (") + exception.what() + ")");
    return run::failed;
  }
}
