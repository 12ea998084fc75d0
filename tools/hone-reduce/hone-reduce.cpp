//===- hone-reduce.cpp - Makes a module that fails smaller ----------------===//
//
// Deltas: edits of each kind are tried in halves, quarters, and so on, down to
// single ones. It asks a script as mlir-reduce does, whose own search drops
// ranges of ops and all results of a function or none: a training step has
// hundreds of results, of which a failure needs one.
//
//===----------------------------------------------------------------------===//

#include "Edits.h"
#include "hone/Pipelines/Pipelines.h"
#include "hone/Support/ParseFile.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Reducer/Tester.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace hone;
using mlir::ModuleOp;
namespace cl = llvm::cl;

static cl::OptionCategory category("hone-reduce options");
static cl::opt<std::string> input(cl::Positional, cl::Required,
                                  cl::desc("MODULE.mlir"), cl::cat(category));
static cl::opt<std::string> output("o",
                                   cl::desc("Where the reduced module goes"),
                                   cl::value_desc("file"), cl::init("-"),
                                   cl::cat(category));
static cl::opt<std::string>
    script("test", cl::Required, cl::value_desc("script"), cl::cat(category),
           cl::desc("Is run as `script MODULE.mlir`: exit code 0 says that the "
                    "failure is gone, 1 to 255 that it is there"));
static cl::list<std::string>
    scriptArguments("test-arg", cl::value_desc("word"), cl::cat(category),
                    cl::desc("Comes before MODULE.mlir"));

namespace {
class Reducer {
public:
  Reducer(mlir::OwningOpRef<ModuleOp> module, const mlir::Tester &tester)
      : module(std::move(module)), tester(tester) {}

  /// Whether the script finds the failure in `candidate`.
  bool fails(ModuleOp candidate) {
    ++tests;
    return tester.isInteresting(candidate).first ==
           mlir::Tester::Interestingness::True;
  }

  /// Tries edits until none is left that keeps the failure.
  void reduce() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const EditKind &kind : getEditKinds())
        changed |= reduce(kind);
    }
  }

  ModuleOp getModule() { return *module; }
  unsigned getTests() const { return tests; }

private:
  /// Applies the edits [begin, end) of `kind` if the failure stays.
  bool tryEdits(const EditKind &kind, size_t begin, size_t end) {
    mlir::OwningOpRef<ModuleOp> candidate(module->clone());
    std::vector<Edit> edits = kind.list(*candidate);
    for (size_t index = begin; index < end; ++index)
      edits[index]();
    eraseDeadOps(*candidate);
    // An op whose results nothing can replace stays.
    if (kind.list(*candidate).size() == edits.size())
      return false;
    mlir::ScopedDiagnosticHandler silence(
        candidate->getContext(),
        [](mlir::Diagnostic &) { return mlir::success(); });
    if (failed(verify(*candidate)) || !fails(*candidate))
      return false;
    module = std::move(candidate);
    return true;
  }

  bool reduce(const EditKind &kind) {
    bool changed = false;
    size_t count = kind.list(*module).size();
    for (size_t size = count; size > 0; size /= 2) {
      size_t begin = 0;
      while (begin < count) {
        size_t end = std::min(begin + size, count);
        if (!tryEdits(kind, begin, end)) {
          begin = end;
          continue;
        }
        changed = true;
        // What followed has moved up.
        count = kind.list(*module).size();
      }
    }
    return changed;
  }

  mlir::OwningOpRef<ModuleOp> module;
  const mlir::Tester &tester;
  unsigned tests = 0;
};
} // namespace

static unsigned countOps(ModuleOp module) {
  unsigned count = 0;
  module.walk([&](mlir::Operation *) { ++count; });
  return count;
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialize(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "hone-reduce: makes a module smaller that makes a tool fail\n");
  if (!llvm::sys::fs::can_execute(script)) {
    printError("--test=" + script + ": cannot be run, expected a script");
    return 2;
  }
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<ModuleOp> module;
  {
    OneLineDiagnostics diagnostics(&context, input);
    module = parseGraphFile(input, &context);
  }
  if (!module)
    return 1;
  unsigned before = countOps(*module);

  std::vector<std::string> words(scriptArguments.begin(),
                                 scriptArguments.end());
  mlir::Tester tester(script, words);
  Reducer reducer(std::move(module), tester);
  if (!reducer.fails(reducer.getModule())) {
    printError(input + ": " + script +
               " exits with 0, expected 1 for a module that fails");
    return 1;
  }
  reducer.reduce();

  std::string message;
  auto file = mlir::openOutputFile(output, &message);
  if (!file) {
    printError(message);
    return 1;
  }
  reducer.getModule().print(file->os());
  file->keep();
  llvm::errs() << "hone-reduce: " << before << " ops -> "
               << countOps(reducer.getModule()) << ", " << reducer.getTests()
               << " tests\n";
  return 0;
}
