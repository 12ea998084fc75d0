//===- StepState.cpp - A step function by function ------------------------===//

#include "StepState.h"

#include "hone/IR/IndexedOps.h"
#include "hone/Interpreter/Ranks.h"

using namespace mlir;
using namespace hone;
using namespace hone::interp;

run::Key run::keyOfArgument(func::FuncOp func, unsigned index) {
  return {argString(func, index, attr::kind).str(),
          argString(func, index, attr::fqn).str()};
}

run::Key run::keyOfResult(func::FuncOp func, unsigned index) {
  return {resultString(func, index, attr::kind).str(),
          resultString(func, index, attr::fqn).str()};
}

std::optional<unsigned> run::donorOf(func::FuncOp func, unsigned index) {
  auto donor = func.getResultAttrOfType<IntegerAttr>(index, attr::donates);
  if (!donor)
    return std::nullopt;
  return unsigned(donor.getInt());
}

const Tensor *run::Step::find(const Key &key, int64_t micro) const {
  const State &batch = batches[micro];
  if (auto found = batch.find(key); found != batch.end())
    return &found->second;
  auto found = state.find(key);
  return found == state.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// What it begins with
//===----------------------------------------------------------------------===//

static Tensor zerosLike(const Tensor &tensor, Mode mode) {
  return tensor.isFloat()
             ? Tensor::floats(tensor.element(), tensor.shape(),
                              std::vector<double>(tensor.size()), mode)
             : Tensor::ints(tensor.element(), tensor.shape(),
                            std::vector<int64_t>(tensor.size()));
}

/// The key of step 1: seed, step, micro-batch.
static Tensor keyOf(int64_t seed, int64_t micro) {
  return Tensor::ints(Element::I64, {3}, {seed, 1, micro});
}

static int64_t microBatchesOf(ModuleOp module) {
  auto count = module->getAttrOfType<IntegerAttr>(attr::microBatches);
  return count ? count.getInt() : 1;
}

FailureOr<run::Step> run::randomStep(ModuleOp module, int64_t seed, Mode mode) {
  Step step;
  step.batches.resize(microBatchesOf(module));
  for (auto func : module.getOps<func::FuncOp>())
    for (auto [micro, batch] : llvm::enumerate(step.batches)) {
      FailureOr<Tensors> tensors = randomArguments(func, seed + micro, mode);
      if (mlir::failed(tensors))
        return failure();
      for (auto [index, tensor] : llvm::enumerate(*tensors)) {
        Key key = keyOfArgument(func, index);
        bool isSum =
            key.first == kind::grad || key == Key(kind::scalar.str(), "loss");
        if (key.first == kind::rng)
          batch.try_emplace(key, keyOf(seed, micro));
        else if (key.first == kind::input)
          batch.try_emplace(key, tensor);
        else if (micro == 0)
          step.state.try_emplace(key, isSum ? zerosLike(tensor, mode) : tensor);
      }
    }
  return step;
}

//===----------------------------------------------------------------------===//
// Function by function
//===----------------------------------------------------------------------===//

namespace {
/// Runs functions on state that they share.
class StepRunner {
public:
  StepRunner(ModuleOp module, const run::Step &step, Mode mode)
      : module(module), step(step), mode(mode),
        isOnRanks(!module.getOps<dist::MeshOp>().empty()) {}

  FailureOr<run::State> run();

private:
  LogicalResult run(StringRef name, int64_t micro, bool keepsResults);
  FailureOr<Tensor> argument(func::FuncOp func, unsigned index, int64_t micro);

  ModuleOp module;
  const run::Step &step;
  Mode mode;
  bool isOnRanks;
  run::State replaced, results;
};
} // namespace

FailureOr<Tensor> StepRunner::argument(func::FuncOp func, unsigned index,
                                       int64_t micro) {
  run::Key key = run::keyOfArgument(func, index);
  if (auto found = replaced.find(key); found != replaced.end())
    return found->second;
  if (const Tensor *tensor = step.find(key, micro))
    return *tensor;
  return func.emitError("takes ")
         << key.first << " '" << key.second << "', which nothing begins with";
}

LogicalResult StepRunner::run(StringRef name, int64_t micro,
                              bool keepsResults) {
  auto func = module.lookupSymbol<func::FuncOp>(name);
  if (!func)
    return success();
  Tensors arguments;
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    FailureOr<Tensor> tensor = argument(func, index, micro);
    if (failed(tensor))
      return failure();
    arguments.push_back(std::move(*tensor));
  }
  FailureOr<Tensors> made =
      isOnRanks ? interpretOnRanks(func, arguments, mode)
                : interpret(func, std::move(arguments), {mode, nullptr});
  if (failed(made))
    return failure();
  for (auto [index, tensor] : llvm::enumerate(*made)) {
    run::Key key = run::keyOfResult(func, index);
    if (std::optional<unsigned> donor = run::donorOf(func, index))
      replaced[run::keyOfArgument(func, *donor)] = tensor;
    else if (name == "step" && key.first == kind::loss)
      replaced[{kind::scalar.str(), "loss"}] = tensor;
    else if (keepsResults && key.first != kind::idCheck)
      results[{(name == "step" ? "update" : name.str()) + " " + key.first,
               key.second}] = tensor;
  }
  return success();
}

FailureOr<run::State> StepRunner::run() {
  if (failed(run("fill_codes", 0, false)) || failed(run("evaluate", 0, true)) ||
      failed(run("step", 0, true)))
    return failure();
  for (size_t micro = 0; micro != step.batches.size(); ++micro)
    if (failed(run("accumulate", micro, false)))
      return failure();
  if (failed(run("update", 0, true)))
    return failure();
  for (auto &[key, tensor] : replaced)
    if (key.first != kind::grad)
      results[key] = tensor;
  return std::move(results);
}

FailureOr<run::State> run::runStep(ModuleOp module, const Step &step,
                                   Mode mode) {
  return StepRunner(module, step, mode).run();
}
