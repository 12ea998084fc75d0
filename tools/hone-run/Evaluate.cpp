//===- Evaluate.cpp - hone-run --eval -------------------------------------===//

#include "HoneRun.h"

#include "hone/Support/ParseFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
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
