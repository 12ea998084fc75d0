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

/// The function of a stage, or of a chunk of it.
struct Part {
  func::FuncOp func;
  dist::Chunk chunk;
};

/// Runs functions of stages and joins what they return.
class StageRunner {
public:
  StageRunner(ModuleOp module, func::FuncOp whole, ArrayRef<Tensor> arguments,
              Mode mode)
      : whole(whole), mode(mode) {
    for (auto stage : module.getOps<ModuleOp>())
      if (auto number = stage->getAttrOfType<IntegerAttr>(dist::stageAttr))
        hasAll &= collect(stage, number.getInt());
    llvm::sort(parts, [](const Part &one, const Part &two) {
      return one.chunk.number < two.chunk.number;
    });
    for (auto [index, argument] : llvm::enumerate(arguments))
      given[keyOf(whole, index)] = argument;
  }

  FailureOr<Tensors> run();

private:
  bool collect(ModuleOp stage, int64_t number);
  static Key keyOf(func::FuncOp func, unsigned argument) {
    return {argString(func, argument, attr::kind).str(),
            argString(func, argument, attr::fqn).str()};
  }
  static Key keyOfResult(func::FuncOp func, unsigned result) {
    return {resultString(func, result, attr::kind).str(),
            resultString(func, result, attr::fqn).str()};
  }
  Key keyOfWhole(const Part &part, Key key) const;
  FailureOr<Tensor> argument(size_t number, unsigned index);
  FailureOr<Tensor> runFrom(size_t number, const Tensor *input);
  FailureOr<Tensors> exchange(Operation *op, ArrayRef<Tensor> operands,
                              size_t &sumsSeen);
  void join(const Part &part, ArrayRef<Tensor> results);
  Tensor zeros(Type type) const;

  func::FuncOp whole;
  Mode mode;
  SmallVector<Part> parts;
  bool hasAll = true; ///< each stage has a part
  std::map<Key, Tensor> given, joined;
  std::map<Key, size_t> owner; // the first part that has taken a gradient
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

/// Adds the functions of a stage; false if it has none.
bool StageRunner::collect(ModuleOp stage, int64_t number) {
  size_t before = parts.size();
  for (auto func : stage.getOps<func::FuncOp>()) {
    StringRef name = func.getName();
    if (dist::functionWithoutChunk(name) != whole.getName())
      continue;
    dist::Chunk chunk = {number, true};
    if (name != whole.getName()) {
      chunk.isStage = false;
      name.drop_front(whole.getName().size() + 1)
          .getAsInteger(10, chunk.number);
    }
    parts.push_back({func, chunk});
  }
  return parts.size() != before;
}

/// A chunk's sum of gradients is a part of that of the whole.
Key StageRunner::keyOfWhole(const Part &part, Key key) const {
  StringRef name = key.second;
  if (key.first == kind::grad && !part.chunk.isStage &&
      name.consume_front(part.chunk.gradientSum("")))
    return {key.first, name.str()};
  return key;
}

FailureOr<Tensor> StageRunner::argument(size_t number, unsigned index) {
  func::FuncOp func = parts[number].func;
  Key key = keyOfWhole(parts[number], keyOf(func, index));
  Type type = func.getArgumentTypes()[index];
  auto found = given.find(key);
  if (key.first == kind::grad) {
    // The first part goes on from what is given, the others from nothing.
    bool isFirst = found != given.end() &&
                   owner.try_emplace(key, number).first->second == number;
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

/// Runs a part on the output of the part before, with the parts behind it.
/// Returns the gradient of that output; nothing of the first part.
FailureOr<Tensor> StageRunner::runFrom(size_t number, const Tensor *input) {
  const Part &part = parts[number];
  func::FuncOp func = part.func;
  Tensors arguments;
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    if (keyOf(func, index).first == kind::boundary) {
      if (!input)
        return func.emitError("takes a boundary, expected a stage before it");
      arguments.push_back(*input);
      continue;
    }
    FailureOr<Tensor> tensor = argument(number, index);
    if (failed(tensor))
      return failure();
    arguments.push_back(std::move(*tensor));
  }
  size_t sumsSeen = 0, next = number + 1;
  Options options{mode, nullptr};
  options.exchange = [&](Operation *op,
                         ArrayRef<Tensor> operands) -> FailureOr<Tensors> {
    if (!isa<dist::TurnOp>(op))
      return exchange(op, operands, sumsSeen);
    if (next == parts.size())
      return op->emitOpError("has no stage behind it");
    FailureOr<Tensor> gradient = runFrom(next++, &operands.front());
    if (failed(gradient))
      return failure();
    return Tensors{std::move(*gradient)};
  };
  FailureOr<Tensors> results = interpret(func, std::move(arguments), options);
  if (failed(results))
    return failure();
  join(part, *results);
  for (auto [index, tensor] : llvm::enumerate(*results)) {
    Key key = keyOfResult(func, index);
    if (key.first != kind::boundary)
      continue;
    if (key.second == part.chunk.input())
      return tensor;
    // Forward only: the next part goes on from it.
    if (failed(runFrom(number + 1, &tensor)))
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

/// Adds the results of a part to those of the whole.
void StageRunner::join(const Part &part, ArrayRef<Tensor> results) {
  func::FuncOp func = part.func;
  for (auto [index, tensor] : llvm::enumerate(results)) {
    Key key = keyOfWhole(part, keyOfResult(func, index));
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
  if (parts.empty() || !hasAll)
    return whole.emitError("has no part in each stage of the other module");
  bool callsNext = false;
  func::FuncOp first = parts.front().func;
  first.walk([&](dist::TurnOp) { callsNext = true; });
  for (unsigned index = 0; index != first.getNumResults(); ++index)
    callsNext |= keyOfResult(first, index).first == kind::boundary;
  do {
    joined.clear();
    owner.clear();
    terms.clear();
    different.reset();
    for (size_t part = 0; part != (callsNext ? 1 : parts.size()); ++part)
      if (failed(runFrom(part, nullptr)))
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
