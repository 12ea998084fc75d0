//===- UpdatesCase.cpp - Updates of parameters as kernel cases ------------===//

#include "UpdatesCase.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <random>

using namespace hone;
using namespace hone::test;

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

namespace {

/// Values and their types.
struct Values {
  std::vector<std::string> names, types;

  void add(const std::string &name, const std::string &type) {
    names.push_back(name);
    types.push_back(type);
  }
  void add(const Values &more) {
    names.insert(names.end(), more.names.begin(), more.names.end());
    types.insert(types.end(), more.types.begin(), more.types.end());
  }
  /// As arguments of a function.
  std::string declared() const {
    std::vector<std::string> arguments;
    for (size_t i = 0; i < names.size(); ++i)
      arguments.push_back(names[i] + ": " + types[i]);
    return llvm::join(arguments, ", ");
  }
};

/// What follows the tensors in an update: words, each with a value.
struct Words {
  std::string text;
  Values values;

  void add(const std::string &word, const std::string &name,
           const std::string &type) {
    text += " " + word + " " + name;
    values.add(name, type);
  }
  void add(const Words &more) {
    text += more.text;
    values.add(more.values);
  }
};

/// An update as an op, and what its function gets from it.
struct Update {
  Values arguments, origin, results;
  std::string text;
};

std::string tensorType(int64_t size, const std::string &element,
                       int64_t width) {
  std::string rows = std::to_string(width ? size / width : size) + "x";
  if (width)
    rows += std::to_string(width) + "x";
  return "tensor<" + rows + element + ">";
}

/// The scalars that every update has.
Words usualScalars(const Updates &updates) {
  std::string scalar = updates.param == "f64" ? "tensor<f64>" : "tensor<f32>";
  Words words;
  words.add("lr", "%lr", scalar);
  words.add("weight_decay", "%wd", scalar);
  if (updates.rule == Updates::adamw)
    words.add("step", "%t", "tensor<i64>");
  words.add("grad_scale", "%c", scalar);
  return words;
}

Words optionalScalars(const Updates &updates) {
  Words words;
  if (updates.apply)
    words.add("apply", "%apply", "tensor<i1>");
  if (updates.random)
    words.add("rng", "%key", "tensor<3xi64>");
  return words;
}

/// Where the i-th parameter lies in that of which it is a part.
Words originOf(const Updates &updates, size_t i) {
  int64_t size = updates.sizes[i], width = updates.width;
  Words words;
  words.add("origin", "%o" + std::to_string(i), "tensor<i64>");
  words.text +=
      " of [" +
      (width ? std::to_string(size / width) + ", " + std::to_string(3 * width)
             : std::to_string(3 * size)) +
      "]";
  return words;
}

std::string nameOf(Updates::Rule rule) {
  return rule == Updates::adamw  ? "adamw"
         : rule == Updates::lion ? "lion"
                                 : "sgd";
}

Update updateOf(const Updates &updates, size_t i) {
  std::string n = std::to_string(i);
  auto typeOf = [&](const std::string &element) {
    return tensorType(updates.sizes[i], element, updates.width);
  };
  std::string state = typeOf(updates.state);
  bool isMomentum = updates.rule == Updates::momentum;
  Update update;
  Values &arguments = update.arguments, operands;
  arguments.add("%p" + n, typeOf(updates.param));
  arguments.add("%g" + n, typeOf(updates.grad));
  operands = arguments;
  update.results.add("%np" + n, typeOf(updates.param));
  for (unsigned j = 0; j < updates.states(); ++j) {
    std::string name = "s" + std::to_string(j) + "_" + n;
    arguments.add("%" + name, state);
    update.results.add("%n" + name, state);
    if (!isMomentum)
      operands.add("%" + name, state);
  }
  if (!updates.workingCopy.empty())
    update.results.add("%working_copy" + n, typeOf(updates.workingCopy));

  Words words = usualScalars(updates);
  if (isMomentum)
    words.add("buffer", "%s0_" + n, state);
  words.add(optionalScalars(updates));
  if (updates.random)
    words.text += " salt " + std::to_string(1000003 * (i + 1));
  if (updates.isPart) {
    Words origin = originOf(updates, i);
    update.origin = origin.values;
    words.add(origin);
  }
  update.text = llvm::join(update.results.names, ", ") + " = hone." +
                nameOf(updates.rule) + " " + llvm::join(operands.names, ", ") +
                words.text + " {" + updates.attrs + "} : (";
  operands.add(words.values);
  update.text += llvm::join(operands.types, ", ") + ") -> (" +
                 llvm::join(update.results.types, ", ") + ")";
  return update;
}

} // namespace

std::string Updates::text() const {
  Values arguments, origins, results;
  std::string body;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Update update = updateOf(*this, i);
    arguments.add(update.arguments);
    origins.add(update.origin);
    results.add(update.results);
    body += "  " + update.text + "\n";
  }
  arguments.add(usualScalars(*this).values);
  arguments.add(optionalScalars(*this).values);
  arguments.add(origins);
  std::string types = llvm::join(results.types, ", ");
  return "func.func @f(" + arguments.declared() + ") -> (" + types + ") {\n" +
         body + "  return " + llvm::join(results.names, ", ") + " : " + types +
         "\n}";
}

//===----------------------------------------------------------------------===//
// Its data
//===----------------------------------------------------------------------===//

CaseOptions Updates::options() const {
  CaseOptions options{KernelFamily::multiTensor, tolerance};
  options.shift = shift;
  // But for the bits of NaNs.
  options.equalOnDevice = !gradValue || std::isfinite(*gradValue);
  for (size_t i = 0; i < sizes.size(); ++i) {
    unsigned first = tensors() * i, firstResult = results() * i;
    if (rule == adamw) { // second moments are no negative numbers
      std::mt19937 random(sizes[i]);
      std::normal_distribution<double> normal;
      std::vector<double> squares(sizes[i]);
      for (double &value : squares)
        value = std::pow(normal(random), 2);
      options.data.push_back({first + 3, squares});
    }
    if (paramValue)
      options.data.push_back(
          {first, std::vector<double>(sizes[i], *paramValue)});
    if (gradValue)
      options.data.push_back(
          {first + 1, std::vector<double>(sizes[i], *gradValue)});
    if (!inPlace)
      continue;
    options.inPlace.push_back({first, firstResult});
    for (unsigned j = 0; j < states(); ++j)
      options.inPlace.push_back({first + 2 + j, firstResult + 1 + j});
  }
  unsigned next = firstScalar();
  for (double value : {lr, decay})
    options.data.push_back({next++, {value}});
  if (rule == adamw)
    options.data.push_back({next++, {step}});
  options.data.push_back({next++, {gradScale}});
  if (apply)
    options.data.push_back({next++, {double(*apply)}});
  if (random)
    options.data.push_back({next++, {1234567890123.0, 17, 2}});
  if (isPart)
    for (int64_t size : sizes)
      options.data.push_back({next++, {double(width ? width : size)}});
  return options;
}
