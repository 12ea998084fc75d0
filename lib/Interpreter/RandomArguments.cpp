//===- RandomArguments.cpp - Arguments made from a seed -------------------===//

#include "hone/Interpreter/Interpreter.h"

using namespace mlir;
using namespace hone;
using namespace hone::interp;

/// Normal numbers, or what `init` says.
static Tensor randomFloats(const ResultSpec &spec, const Tensor &key,
                           int64_t salt, DictionaryAttr init) {
  auto number = [&](StringRef name, double otherwise) {
    auto attr = init ? init.getAs<FloatAttr>(name) : FloatAttr();
    return attr ? attr.getValueAsDouble() : otherwise;
  };
  auto distAttr = init ? init.getAs<StringAttr>("dist") : StringAttr();
  StringRef dist = distAttr ? distAttr.getValue() : "normal";
  if (dist == "constant")
    return spec.floats(
        std::vector<double>(elementCount(spec.shape), number("value", 0)));
  bool uniform = dist == "uniform";
  double low = uniform ? number("low", 0) : number("mean", 0);
  double scale = uniform ? number("high", 1) - low : number("std", 1);
  ResultSpec exact{Element::F64, spec.shape, Mode::F64};
  Tensor unit = random(
      exact, key, uniform ? Distribution::uniform : Distribution::normal, salt);
  std::vector<double> values(unit.floats());
  for (double &value : values)
    value = low + scale * value;
  return spec.floats(std::move(values));
}

static Tensor randomInts(const ResultSpec &spec, const Tensor &key,
                         int64_t salt, int64_t first, int64_t bound) {
  ResultSpec exact{Element::F64, spec.shape, Mode::F64};
  Tensor unit = random(exact, key, Distribution::uniform, salt);
  std::vector<int64_t> values;
  for (double value : unit.floats())
    values.push_back(first + int64_t(value * bound));
  return spec.ints(std::move(values));
}

FailureOr<Tensors> interp::randomArguments(func::FuncOp func, int64_t seed,
                                           Mode mode) {
  Tensor key = Tensor::ints(Element::I64, {3}, {seed, 1, 0});
  Tensors arguments;
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[index]);
    std::optional<Element> element =
        type ? elementOf(type.getElementType()) : std::nullopt;
    if (!element || !type.hasStaticShape())
      return func.emitError() << "argument " << index << " has type "
                              << func.getArgumentTypes()[index]
                              << ", expected a tensor of static shape";
    ResultSpec spec{*element, Shape(type.getShape()), mode};
    auto vocab = func.getArgAttrOfType<IntegerAttr>(index, attr::vocab);
    if (argString(func, index, attr::kind) == kind::rng)
      arguments.push_back(key);
    else if (isFloat(*element))
      arguments.push_back(randomFloats(
          spec, key, index,
          func.getArgAttrOfType<DictionaryAttr>(index, attr::init)));
    else
      // Scalars count steps, from 1.
      arguments.push_back(
          randomInts(spec, key, index,
                     argString(func, index, attr::kind) == kind::scalar ? 1 : 0,
                     vocab ? vocab.getInt() : 4));
  }
  return arguments;
}
