//===- Evaluate.cpp - hone-run --eval and --compare -----------------------===//

#include "HoneRun.h"

#include "hone/Support/ParseFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

OwningOpRef<ModuleOp> run::load(MLIRContext &context, StringRef path) {
  if (path != "-")
    return parseGraphFile(path, &context);
  auto buffer = llvm::MemoryBuffer::getSTDIN();
  if (!buffer) {
    printError("standard input: " + buffer.getError().message());
    return {};
  }
  return parseGraph(std::move(*buffer), &context);
}

SmallVector<func::FuncOp> run::entries(ModuleOp module, StringRef entry) {
  SmallVector<func::FuncOp> functions;
  if (entry.empty()) {
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isExternal())
        functions.push_back(func);
    if (functions.empty())
      module.emitError("holds no function, expected one to run");
  } else if (auto func = module.lookupSymbol<func::FuncOp>(entry)) {
    functions.push_back(func);
  } else {
    module.emitError() << "has no function @" << entry;
  }
  return functions;
}

LogicalResult run::runPasses(ModuleOp module, StringRef pipeline) {
  PassManager manager(module.getContext());
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (mlir::failed(parsePassPipeline(pipeline, manager, stream)))
    return module.emitError()
           << "pass pipeline '" << pipeline << "': " << message;
  return manager.run(module);
}

static void printSums(llvm::raw_ostream &os, const Tensor &tensor) {
  double sum = 0, squares = 0;
  for (int64_t index = 0; index != tensor.size(); ++index) {
    double value = tensor.number(index);
    sum += value;
    squares += value * value;
  }
  os << llvm::format("sum %.9g norm %.9g", sum, std::sqrt(squares));
}

/// Prints where an op comes from, its name, and sums of its results.
static void printTrace(Operation *op, ArrayRef<Tensor> results) {
  for (const Tensor &result : results) {
    llvm::outs() << describeLocation(op->getLoc()) << ": " << op->getName()
                 << " " << result.typeName() << " ";
    printSums(llvm::outs(), result);
    llvm::outs() << "\n";
  }
}

int run::evaluate(MLIRContext &context, StringRef path,
                  const EvaluateOptions &options) {
  OwningOpRef<ModuleOp> module = load(context, path);
  if (!module)
    return run::failed;
  SmallVector<func::FuncOp> functions = entries(*module, options.entry);
  if (functions.empty())
    return run::failed;
  for (func::FuncOp func : functions) {
    Tensors arguments;
    if (options.seed) {
      FailureOr<Tensors> made =
          randomArguments(func, *options.seed, options.mode);
      if (mlir::failed(made))
        return run::failed;
      arguments = std::move(*made);
    } else if (func.getNumArguments() != 0) {
      func.emitError() << "takes " << func.getNumArguments()
                       << " arguments, expected --args SEED to make them";
      return run::failed;
    }
    if (options.entry.empty())
      llvm::outs() << "@" << func.getSymName() << "\n";
    Options interpreter{options.mode, nullptr};
    if (options.trace)
      interpreter.hook = printTrace;
    FailureOr<Tensors> results =
        interpret(func, std::move(arguments), interpreter);
    if (mlir::failed(results))
      return run::failed;
    for (auto [index, result] : llvm::enumerate(*results)) {
      llvm::outs() << "result " << index << ": " << result.typeName() << " = ";
      if (options.sums)
        printSums(llvm::outs(), result);
      else
        result.printElements(llvm::outs());
      llvm::outs() << "\n";
    }
    llvm::outs().flush();
  }
  return run::ok;
}

//===----------------------------------------------------------------------===//
// Compare
//===----------------------------------------------------------------------===//

namespace {
/// The element at which two results differ most, measured against the bound.
struct Difference {
  double excess = 0; ///< error over bound; above 1 it fails
  double error = 0;  ///< absolute
  int64_t result = 0, index = 0;
  double first = 0, second = 0;
};
} // namespace

/// |first - second| over what is allowed. NaN agrees with NaN, and an infinity
/// with itself.
static double excessOf(double first, double second,
                       const run::CompareOptions &options) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (std::isnan(first) && std::isnan(second))
    return 0;
  if (options.bitwise)
    return llvm::bit_cast<uint64_t>(first) == llvm::bit_cast<uint64_t>(second)
               ? 0
               : infinity;
  if (first == second)
    return 0;
  double error = std::abs(first - second);
  double bound = options.atol + options.rtol * std::abs(second);
  // A NaN or an infinity on one side only is beyond any bound.
  return std::isfinite(error) && bound > 0 ? error / bound : infinity;
}

static Difference worstOf(ArrayRef<Tensor> first, ArrayRef<Tensor> second,
                          const run::CompareOptions &options) {
  Difference worst;
  for (size_t result = 0; result != first.size(); ++result)
    for (int64_t index = 0; index != first[result].size(); ++index) {
      double a = first[result].number(index), b = second[result].number(index);
      double excess = excessOf(a, b, options);
      if (excess > worst.excess)
        worst = {excess, std::abs(a - b), int64_t(result), index, a, b};
    }
  return worst;
}

int run::compare(MLIRContext &context, StringRef firstPath,
                 StringRef secondPath, const CompareOptions &options) {
  OwningOpRef<ModuleOp> first = load(context, firstPath);
  OwningOpRef<ModuleOp> second = first ? load(context, secondPath) : nullptr;
  if (!second)
    return run::failed;
  SmallVector<func::FuncOp> functions = entries(*first, options.entry);
  if (functions.empty())
    return run::failed;
  int code = run::ok;
  for (func::FuncOp func : functions) {
    auto other = second->lookupSymbol<func::FuncOp>(func.getSymName());
    if (!other) {
      second->emitError() << "has no function @" << func.getSymName()
                          << " to compare with";
      return run::failed;
    }
    if (func.getFunctionType() != other.getFunctionType()) {
      other.emitError() << "@" << func.getSymName() << " has type "
                        << other.getFunctionType() << ", expected "
                        << func.getFunctionType();
      return run::failed;
    }
    FailureOr<Tensors> arguments =
        randomArguments(func, options.seed, options.mode);
    if (mlir::failed(arguments))
      return run::failed;
    FailureOr<Tensors> before =
        interpret(func, *arguments, {options.mode, nullptr});
    FailureOr<Tensors> after =
        interpret(other, std::move(*arguments), {options.mode, nullptr});
    if (mlir::failed(before) || mlir::failed(after))
      return run::failed;
    Difference worst = worstOf(*before, *after, options);
    bool agree = worst.excess <= 1;
    llvm::outs() << "@" << func.getSymName() << ": "
                 << (agree ? "equal" : "different");
    if (worst.excess > 0)
      llvm::outs() << llvm::format(
          ", max error %.3g at result %lld element %lld: %.9g and %.9g",
          worst.error, (long long)worst.result, (long long)worst.index,
          worst.first, worst.second);
    llvm::outs() << "\n";
    if (!agree)
      code = run::failed;
  }
  llvm::outs().flush();
  return code;
}
