//===- Stages.cpp - Stages of a pipeline in one process -------------------===//

#include "hone/Interpreter/Stages.h"

#include "hone/Sharding/IR/Dist.h"

#include <map>
#include <optional>
#include <string>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

namespace {
/// An argument or result by its kind and name.
using Key = std::pair<std::string, std::string>;

/// Runs functions of stages and joins what they return.
class StageRunner {
public:
  StageRunner(ModuleOp module, func::FuncOp whole, ArrayRef<Tensor> arguments,
              Mode mode)
      : whole(whole), mode(mode) {
    for (auto stage : module.getOps<ModuleOp>())
      if (stage->hasAttr(dist::stageAttr))
        stages.push_back(stage.lookupSymbol<func::FuncOp>(whole.getName()));
    for (auto [index, argument] : llvm::enumerate(arguments))
      given[keyOf(whole, index)] = argument;
  }

  FailureOr<Tensors> run();

private:
  static Key keyOf(func::FuncOp func, unsigned argument) {
    return {argString(func, argument, attr::kind).str(),
            argString(func, argument, attr::fqn).str()};
  }
  static Key keyOfResult(func::FuncOp func, unsigned result) {
    return {resultString(func, result, attr::kind).str(),
            resultString(func, result, attr::fqn).str()};
  }
  FailureOr<Tensor> argument(size_t stage, unsigned index);
  FailureOr<Tensor> runFrom(size_t stage, const Tensor *input);
  FailureOr<Tensors> exchange(Operation *op, ArrayRef<Tensor> operands,
                              size_t &sumsSeen);
  void join(size_t stage, ArrayRef<Tensor> results);
  Tensor zeros(Type type) const;

  func::FuncOp whole;
  Mode mode;
  SmallVector<func::FuncOp> stages;
  std::map<Key, Tensor> given, joined;
  std::map<Key, size_t> owner; // the first stage that has taken a gradient
  /// Of dist.stage_sum, in the order of a function: the sums that are known,
  /// and the terms of the next one.
  std::vector<Tensor> sums, terms;
  /// What a stage has returned otherwise than those before it.
  std::optional<std::pair<func::FuncOp, Key>> different;
};
} // namespace

Tensor StageRunner::zeros(Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  Element element = *elementOf(tensor.getElementType());
  int64_t count = tensor.getNumElements();
  return isFloat(element) ? Tensor::floats(element, Shape(tensor.getShape()),
                                           std::vector<double>(count), mode)
                          : Tensor::ints(element, Shape(tensor.getShape()),
                                         std::vector<int64_t>(count));
}

FailureOr<Tensor> StageRunner::argument(size_t stage, unsigned index) {
  func::FuncOp func = stages[stage];
  Key key = keyOf(func, index);
  Type type = func.getArgumentTypes()[index];
  auto found = given.find(key);
  if (key.first == kind::grad) {
    // The first stage goes on from what is given, the others from nothing.
    bool isFirst = found != given.end() &&
                   owner.try_emplace(key, stage).first->second == stage;
    return isFirst ? found->second : zeros(type);
  }
  if (key.first == kind::scalar && found == given.end())
    return zeros(type); // the loss, in the update
  if (key.first == kind::workingCopy && found == given.end())
    found = given.find({kind::param.str(), key.second});
  if (found == given.end())
    return func.emitError("takes ")
           << key.first << " '" << key.second
           << "', which no argument of the whole function is";
  return found->second;
}

/// Runs `stage` on the output of the stage before, with the stages behind it.
/// Returns the gradient of that output; nothing of the first stage.
FailureOr<Tensor> StageRunner::runFrom(size_t stage, const Tensor *input) {
  func::FuncOp func = stages[stage];
  Tensors arguments;
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    if (keyOf(func, index).first == kind::boundary) {
      if (!input)
        return func.emitError("takes a boundary, expected a stage before it");
      arguments.push_back(*input);
      continue;
    }
    FailureOr<Tensor> tensor = argument(stage, index);
    if (failed(tensor))
      return failure();
    arguments.push_back(std::move(*tensor));
  }
  size_t sumsSeen = 0, next = stage + 1;
  Options options{mode, nullptr};
  options.exchange = [&](Operation *op,
                         ArrayRef<Tensor> operands) -> FailureOr<Tensors> {
    if (!isa<dist::TurnOp>(op))
      return exchange(op, operands, sumsSeen);
    if (next == stages.size())
      return op->emitOpError("has no stage behind it");
    FailureOr<Tensor> gradient = runFrom(next++, &operands.front());
    if (failed(gradient))
      return failure();
    return Tensors{std::move(*gradient)};
  };
  FailureOr<Tensors> results = interpret(func, std::move(arguments), options);
  if (failed(results))
    return failure();
  join(stage, *results);
  for (auto [index, tensor] : llvm::enumerate(*results)) {
    Key key = keyOfResult(func, index);
    if (key.first != kind::boundary)
      continue;
    if (key.second == ("stage" + Twine(stage)).str())
      return tensor;
    // Forward only: the next stage goes on from it.
    if (failed(runFrom(stage + 1, &tensor)))
      return failure();
  }
  return Tensor();
}

FailureOr<Tensors> StageRunner::exchange(Operation *op,
                                         ArrayRef<Tensor> operands,
                                         size_t &sumsSeen) {
  if (!isa<dist::StageSumOp>(op))
    return op->emitOpError("is of ranks, expected an op of stages");
  size_t index = sumsSeen++;
  if (index < sums.size())
    return Tensors{sums[index]};
  if (index == sums.size())
    terms.push_back(operands.front());
  return Tensors{operands.front()}; // of a round that is made again
}

/// Adds the results of a stage to those of the whole.
void StageRunner::join(size_t stage, ArrayRef<Tensor> results) {
  func::FuncOp func = stages[stage];
  for (auto [index, tensor] : llvm::enumerate(results)) {
    Key key = keyOfResult(func, index);
    auto [entry, isNew] = joined.try_emplace(key, tensor);
    if (isNew || key.first == kind::boundary)
      continue;
    Tensor &before = entry->second;
    if (key.first == kind::grad) {
      std::vector<double> sum(before.floats());
      for (int64_t i = 0; i != tensor.size(); ++i)
        sum[i] += tensor.floats()[i];
      before = Tensor::floats(before.element(), before.shape(), std::move(sum),
                              mode);
      continue;
    }
    for (int64_t i = 0; i != tensor.size(); ++i)
      if (before.number(i) != tensor.number(i))
        different.emplace(func, key);
  }
}

FailureOr<Tensors> StageRunner::run() {
  if (stages.empty() || llvm::is_contained(stages, func::FuncOp()))
    return whole.emitError("has no part in each stage of the other module");
  bool callsNext = false;
  stages.front().walk([&](dist::TurnOp) { callsNext = true; });
  for (unsigned index = 0; index != stages.front().getNumResults(); ++index)
    callsNext |= keyOfResult(stages.front(), index).first == kind::boundary;
  do {
    joined.clear();
    owner.clear();
    terms.clear();
    different.reset();
    for (size_t stage = 0; stage != (callsNext ? 1 : stages.size()); ++stage)
      if (failed(runFrom(stage, nullptr)))
        return failure();
    if (terms.empty())
      break;
    std::vector<double> sum(terms[0].size(), 0);
    for (const Tensor &term : terms)
      for (int64_t i = 0; i != term.size(); ++i)
        sum[i] += term.number(i);
    sums.push_back(Tensor::floats(terms[0].element(), terms[0].shape(),
                                  std::move(sum), mode));
  } while (true);
  if (different)
    return different->first.emitError("returns another ")
           << different->second.first << " '" << different->second.second
           << "' than the stages before";

  Tensors results;
  for (unsigned index = 0; index != whole.getNumResults(); ++index) {
    Key key = keyOfResult(whole, index);
    auto found = joined.find(key);
    if (found == joined.end())
      return whole.emitError("no stage returns ")
             << key.first << " '" << key.second << "'";
    results.push_back(found->second);
  }
  return results;
}

FailureOr<Tensors> interp::interpretStages(ModuleOp module, func::FuncOp whole,
                                           ArrayRef<Tensor> arguments,
                                           Mode mode) {
  return StageRunner(module, whole, arguments, mode).run();
}
