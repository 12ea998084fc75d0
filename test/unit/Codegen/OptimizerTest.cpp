//===- OptimizerTest.cpp - Kernels of norms and updates -------------------===//

#include "KernelCase.h"

#include "Codegen/CPU/OptimizerKernels.h"
#include "hone/Analysis/Memory/Scratch.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace hone;
using namespace hone::test;
using interp::Tensor;
using interp::Tensors;

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

namespace {

/// Several updates of one kind as a function. Arguments are the tensors of each
/// update in turn, then the scalars, which all share.
struct Updates {
  enum Rule { adamw, sgd, momentum, lion } rule = adamw;
  std::vector<int64_t> sizes = {100};
  std::string param = "f32", grad = "f32", state = "f32", workingCopy = "";
  std::string attrs = "beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08";
  double lr = 3e-4, decay = 0.1, gradScale = 0.7, step = 3;
  std::optional<bool> apply = {};
  bool random = false;
  /// Of parameters that are the second of three parts; with a width, matrices
  /// that are the middle third of the columns.
  bool isPart = false;
  int64_t width = 0;
  bool inPlace = true;
  int64_t shift = 0; ///< of buffers, in elements
  double tolerance = 3e-7;
  /// Gradient of every element, in place of random ones.
  std::optional<double> gradValue = {};
  std::optional<double> paramValue = {};

  unsigned states() const { return rule == adamw ? 2 : rule != sgd; }
  unsigned tensors() const { return 2 + states(); }
  unsigned results() const { return 1 + states() + !workingCopy.empty(); }
  unsigned firstScalar() const { return tensors() * sizes.size(); }

  std::string text() const;
  CaseOptions options() const;
  void check() const { expectLikeInterpreter(emitUpdates, text(), options()); }
  Tensors run() const { return runKernel(emitUpdates, text(), options()); }
};

std::string tensorType(int64_t size, const std::string &element,
                       int64_t width = 0) {
  std::string rows = std::to_string(width ? size / width : size) + "x";
  if (width)
    rows += std::to_string(width) + "x";
  return "tensor<" + rows + element + ">";
}

std::string join(const std::vector<std::string> &parts) {
  std::string all;
  for (const std::string &part : parts)
    all += (all.empty() ? "" : ", ") + part;
  return all;
}

std::string Updates::text() const {
  std::string scalar = param == "f64" ? "tensor<f64>" : "tensor<f32>";
  std::vector<std::string> arguments,
      scalars = {"%lr: " + scalar, "%wd: " + scalar}, results, values;
  std::vector<std::string> scalarTypes = {scalar, scalar};
  std::string words = " lr %lr weight_decay %wd";
  auto addScalar = [&](const std::string &word, const std::string &name,
                       const std::string &type) {
    scalars.push_back(name + ": " + type);
    scalarTypes.push_back(type);
    words += " " + word + " " + name;
  };
  if (rule == adamw)
    addScalar("step", "%t", "tensor<i64>");
  addScalar("grad_scale", "%c", scalar);
  std::string optional;
  std::vector<std::string> optionalTypes;
  if (apply) {
    scalars.push_back("%apply: tensor<i1>");
    optionalTypes.push_back("tensor<i1>");
    optional += " apply %apply";
  }
  if (random) {
    scalars.push_back("%key: tensor<3xi64>");
    optionalTypes.push_back("tensor<3xi64>");
    optional += " rng %key";
  }
  std::string body;
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::string n = std::to_string(i);
    std::string p = tensorType(sizes[i], param, width),
                g = tensorType(sizes[i], grad, width),
                s = tensorType(sizes[i], state, width);
    arguments.insert(arguments.end(),
                     {"%p" + n + ": " + p, "%g" + n + ": " + g});
    std::vector<std::string> operands = {"%p" + n, "%g" + n}, types = {p, g},
                             out = {"%np" + n}, outTypes = {p}, more;
    for (unsigned j = 0; j < states(); ++j) {
      std::string name = "s" + std::to_string(j) + "_" + n;
      arguments.push_back("%" + name + ": " + s);
      out.push_back("%n" + name);
      outTypes.push_back(s);
      if (rule == adamw || rule == lion) {
        operands.push_back("%" + name);
        types.push_back(s);
      }
    }
    types.insert(types.end(), scalarTypes.begin(), scalarTypes.end());
    if (rule == momentum)
      types.push_back(s);
    types.insert(types.end(), optionalTypes.begin(), optionalTypes.end());
    if (!workingCopy.empty()) {
      out.push_back("%working_copy" + n);
      outTypes.push_back(tensorType(sizes[i], workingCopy, width));
    }
    std::string salt =
        random ? " salt " + std::to_string(1000003 * (i + 1)) : "";
    if (isPart) {
      salt += " origin %o" + n + " of [" +
              (width ? std::to_string(sizes[i] / width) + ", " +
                           std::to_string(3 * width)
                     : std::to_string(3 * sizes[i])) +
              "]";
      scalars.push_back("%o" + n + ": tensor<i64>");
      types.push_back("tensor<i64>");
    }
    body += "  " + join(out) + " = hone." +
            (rule == adamw  ? "adamw "
             : rule == lion ? "lion "
                            : "sgd ") +
            join(operands) + words +
            (rule == momentum ? " buffer %s0_" + n : "") + optional + salt +
            " {" + attrs + "} : (" + join(types) + ") -> (" + join(outTypes) +
            ")\n";
    values.insert(values.end(), out.begin(), out.end());
    results.insert(results.end(), outTypes.begin(), outTypes.end());
  }
  arguments.insert(arguments.end(), scalars.begin(), scalars.end());
  return "func.func @f(" + join(arguments) + ") -> (" + join(results) +
         ") {\n" + body + "  return " + join(values) + " : " + join(results) +
         "\n}";
}

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

/// One of the sizes is a chunk, one more than that, and one none at all.
const std::vector<int64_t> manySizes = {1,     0,     63,    64, 65,
                                        16384, 16385, 40000, 3};

} // namespace

//===----------------------------------------------------------------------===//
// AdamW
//===----------------------------------------------------------------------===//

TEST(Adamw, OddSizes) {
  for (int64_t size : {1, 15, 16, 63, 64, 65, 128, 1000})
    for (bool inPlace : {false, true}) {
      Updates updates;
      updates.sizes = {size};
      updates.inPlace = inPlace;
      updates.check();
    }
}

TEST(Adamw, ManyTensors) {
  Updates updates;
  updates.sizes = manySizes;
  updates.check();
  updates.grad = "bf16";
  updates.workingCopy = "bf16";
  updates.tolerance = std::ldexp(1, -8);
  updates.check();
}

TEST(Adamw, SizesAroundABlockOfAGpu) {
  // 8192 elements in vectors of four.
  Updates updates;
  updates.sizes = {8191, 8192, 8193, 12288, 3 * 8192 + 6};
  updates.check();
  updates.workingCopy = "bf16";
  updates.tolerance = std::ldexp(1, -8);
  updates.check();
}

TEST(Adamw, BuffersOfAGpuBeginAnywhere) {
  for (int64_t shift : {1, 2, 3, 4}) {
    Updates updates;
    updates.sizes = {1, 7, 64, 1001};
    updates.shift = shift;
    updates.check();
    updates.param = updates.grad = updates.state = "bf16";
    updates.random = true;
    updates.tolerance = std::ldexp(1, -7);
    updates.check();
  }
}

TEST(Adamw, Types) {
  Updates updates;
  updates.grad = "bf16";
  updates.check();
  updates.grad = "f16";
  updates.check();
  updates.param = updates.grad = updates.state = "f64";
  updates.tolerance = 1e-15;
  updates.check();
  // One unit in the last place of each, where both sides round.
  updates.param = updates.grad = updates.state = "bf16";
  updates.tolerance = std::ldexp(1, -8);
  updates.check();
  updates.param = updates.grad = "f16";
  updates.state = "f32";
  updates.tolerance = std::ldexp(1, -11);
  updates.check();
}

TEST(Adamw, Attributes) {
  Updates updates;
  updates.inPlace = false;
  std::string usual = updates.attrs;
  for (const char *more :
       {", lr_scale = 0.25", ", decay_scale = 0.0", ", maximize"}) {
    updates.attrs = usual + more;
    updates.check();
  }
  updates.attrs = "beta1 = 0.0, beta2 = 0.5, eps = 0.5";
  updates.check();
}

TEST(Adamw, FirstAndLateSteps) {
  for (double step : {1.0, 2.0, 1000.0, 123456789.0}) {
    Updates updates;
    updates.lr = 1e-3;
    updates.gradScale = 1;
    updates.step = step;
    updates.check();
  }
}

TEST(Adamw, RefusesOtherBodies) {
  EXPECT_EQ(refusalOf(emitUpdates, R"(
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %y = hone.neg %x : tensor<8xf32>
      return %y : tensor<8xf32>
    })"),
            "'plan.launch' op is no group of equal updates of contiguous "
            "inputs");
}

TEST(Adamw, RefusesUpdatesThatDiffer) {
  Updates updates;
  updates.sizes = {8, 9};
  std::string text = updates.text();
  size_t at = text.rfind("beta1 = 0.9");
  text.replace(at, 11, "beta1 = 0.8");
  EXPECT_EQ(refusalOf(emitUpdates, text, updates.options()),
            "'plan.launch' op is no group of equal updates of contiguous "
            "inputs");
}

//===----------------------------------------------------------------------===//
// Conditional updates and working copies
//===----------------------------------------------------------------------===//

TEST(Apply, FalseLeavesEveryBit) {
  for (bool inPlace : {false, true})
    for (auto rule : {Updates::adamw, Updates::sgd, Updates::momentum}) {
      Updates updates;
      updates.rule = rule;
      if (rule != Updates::adamw)
        updates.attrs = rule == Updates::momentum ? "momentum = 0.9" : "";
      updates.sizes = manySizes;
      updates.apply = false;
      updates.inPlace = inPlace;
      updates.gradValue = NAN;
      updates.tolerance = 0;
      updates.check();
      updates.workingCopy = "f16"; // the rounding of the old parameter
      updates.check();
    }
}

TEST(Apply, TrueUpdates) {
  for (bool inPlace : {false, true}) {
    Updates updates;
    updates.sizes = manySizes;
    updates.inPlace = inPlace;
    updates.apply = true;
    updates.check();
  }
}

TEST(WorkingCopy, IsTheRoundedParameter) {
  for (const char *type : {"bf16", "f16"})
    for (auto rule : {Updates::adamw, Updates::sgd, Updates::momentum}) {
      Updates updates;
      updates.rule = rule;
      if (rule != Updates::adamw)
        updates.attrs = rule == Updates::momentum ? "momentum = 0.9" : "";
      updates.sizes = {5, 1000};
      updates.workingCopy = type;
      Tensors out = updates.run();
      unsigned results = updates.results();
      for (size_t i = 0; i < updates.sizes.size(); ++i) {
        const Tensor &param = out[i * results],
                     &workingCopy = out[i * results + results - 1];
        Tensor expected = Tensor::floats(
            workingCopy.element(), workingCopy.shape(),
            std::vector<double>(param.floats()), interp::Mode::Typed);
        EXPECT_TRUE(bytesOf(workingCopy) == bytesOf(expected));
      }
    }
}

//===----------------------------------------------------------------------===//
// Stochastic rounding
//===----------------------------------------------------------------------===//

/// Parameter and state in bf16, rounded by Philox.
static Updates stochastic(Updates::Rule rule) {
  Updates updates;
  updates.rule = rule;
  updates.param = updates.grad = updates.state = "bf16";
  updates.random = true;
  updates.sizes = manySizes;
  return updates;
}

TEST(StochasticRounding, HasTheBitsOfTheInterpreter) {
  // Arithmetic that is exact in f32: what differs is the rounding alone.
  Updates updates = stochastic(Updates::momentum);
  updates.attrs = "momentum = 0.5";
  updates.lr = 0.25;
  updates.decay = 0;
  updates.gradScale = 0.5;
  updates.tolerance = 0;
  updates.check();
  updates.apply = true;
  updates.check();
}

// Sizes that are a multiple of four and others, in one launch: kernels that
// have a word of four per counter, and kernels that have one.
TEST(StochasticRounding, OfPartsHasTheBitsOfTheInterpreter) {
  Updates updates = stochastic(Updates::momentum);
  updates.attrs = "momentum = 0.5";
  updates.lr = 0.25;
  updates.decay = 0;
  updates.gradScale = 0.5;
  updates.tolerance = 0;
  updates.isPart = true;
  for (std::vector<int64_t> sizes : {std::vector<int64_t>{64, 16384, 40000, 20},
                                     {1, 3, 63, 65, 16385},
                                     {1000}}) {
    updates.sizes = sizes;
    updates.check();
  }
  for (int64_t width : {1, 3, 4, 20, 64, 130}) {
    updates.width = width;
    updates.sizes = {2 * width, 7 * width, 130 * width};
    updates.check();
  }
}

TEST(StochasticRounding, OfAdamwIsTheInterpretersUpToAnUlp) {
  Updates updates = stochastic(Updates::adamw);
  updates.tolerance = std::ldexp(1, -7);
  updates.check();
}

TEST(StochasticRounding, IsUnbiased) {
  // From 1, an update of a quarter of the distance to the bf16 below.
  Updates updates = stochastic(Updates::sgd);
  updates.sizes = {100000, 100000};
  updates.attrs = "";
  updates.lr = std::ldexp(1, -10);
  updates.decay = 0;
  updates.gradScale = 1;
  updates.gradValue = updates.paramValue = 1;
  updates.tolerance = 0;
  updates.check();
  Tensors out = updates.run();
  std::vector<double> steps;
  for (const Tensor &param : out) {
    int64_t moved = 0;
    for (double value : param.floats()) {
      EXPECT_TRUE(value == 1 || value == 1 - std::ldexp(1, -8)) << value;
      moved += value != 1;
    }
    // 5 standard deviations of a binomial distribution.
    EXPECT_NEAR(moved, 25000, 5 * std::sqrt(100000 * 0.25 * 0.75));
  }
  // The salt of the second tensor is another.
  EXPECT_FALSE(bytesOf(out[0]) == bytesOf(out[1]));
}

TEST(StochasticRounding, KeepsWhatIsNotFinite) {
  for (double gradient : {double(INFINITY), double(NAN)}) {
    Updates updates = stochastic(Updates::sgd);
    updates.attrs = "";
    updates.gradValue = gradient;
    updates.tolerance = 0;
    updates.check();
  }
}

//===----------------------------------------------------------------------===//
// SGD
//===----------------------------------------------------------------------===//

TEST(Sgd, AllForms) {
  for (const char *element : {"f32", "f64"}) {
    Updates updates;
    updates.param = updates.grad = updates.state = element;
    updates.tolerance = element == std::string("f64") ? 1e-15 : 3e-7;
    updates.sizes = {1, 65, 1000};
    updates.lr = 0.1;
    updates.decay = 0.01;
    updates.gradScale = 0.5;
    updates.rule = Updates::sgd;
    for (const char *attrs : {"", "maximize"}) {
      updates.attrs = attrs;
      updates.check();
    }
    updates.rule = Updates::momentum;
    for (const char *attrs :
         {"momentum = 0.9", "momentum = 0.9, nesterov",
          "momentum = 0.9, lr_scale = 0.5, decay_scale = 2.0"}) {
      updates.attrs = attrs;
      updates.check();
    }
  }
}

//===----------------------------------------------------------------------===//
// Lion
//===----------------------------------------------------------------------===//

static Updates lionUpdates() {
  Updates updates;
  updates.rule = Updates::lion;
  updates.attrs = "beta1 = 0.9, beta2 = 0.99";
  updates.sizes = manySizes;
  return updates;
}

TEST(Lion, AllForms) {
  for (bool inPlace : {false, true}) {
    Updates updates = lionUpdates();
    updates.inPlace = inPlace;
    updates.check();
    updates.attrs += ", lr_scale = 0.25, decay_scale = 0.0, maximize";
    updates.apply = true;
    updates.check();
  }
  Updates updates = lionUpdates();
  updates.param = updates.grad = updates.state = "f64";
  updates.tolerance = 1e-15;
  updates.check();
}

TEST(Lion, NoGradientIsNoSign) {
  // With no momentum either, all that happens is decay.
  Updates updates = lionUpdates();
  updates.attrs = "beta1 = 0.0, beta2 = 0.99";
  updates.gradValue = 0;
  updates.paramValue = 2;
  updates.lr = 0.25;
  updates.decay = 0.5;
  updates.tolerance = 0;
  updates.sizes = {1, 100};
  Tensors out = updates.run();
  for (size_t i = 0; i < updates.sizes.size(); ++i)
    for (double value : out[2 * i].floats())
      EXPECT_EQ(value, 1.75);
}

TEST(Lion, SkippedLeavesEveryBit) {
  for (bool inPlace : {false, true}) {
    Updates updates = lionUpdates();
    updates.apply = false;
    updates.inPlace = inPlace;
    updates.gradValue = NAN;
    updates.tolerance = 0;
    updates.workingCopy = "bf16";
    updates.check();
  }
}

TEST(Lion, RoundsMomentumAtRandom) {
  // Exact in f32, so that the random bits alone decide.
  Updates updates = lionUpdates();
  updates.attrs = "beta1 = 0.5, beta2 = 0.5";
  updates.state = updates.grad = "bf16";
  updates.random = true;
  updates.lr = 0.25;
  updates.decay = 0;
  updates.gradScale = 0.5;
  updates.tolerance = 0;
  updates.check();
}

//===----------------------------------------------------------------------===//
// Global norm
//===----------------------------------------------------------------------===//

namespace {

template <typename Element>
FailureOr<Kernel> squares(OpBuilder &builder, StringRef name,
                          plan::LaunchOp launch) {
  return emitSquareSums(builder, name, launch,
                        cast<FloatType>(Element::get(builder.getContext())));
}

std::string norm(const std::vector<int64_t> &sizes,
                 const std::vector<std::string> &elements) {
  std::vector<std::string> arguments, names, types;
  for (size_t i = 0; i < sizes.size(); ++i) {
    // Of rank 2, as parameters are.
    types.push_back("tensor<" + std::to_string(sizes[i]) + "x1x" +
                    elements[i % elements.size()] + ">");
    names.push_back("%x" + std::to_string(i));
    arguments.push_back(names.back() + ": " + types.back());
  }
  return "func.func @f(" + join(arguments) +
         ") -> tensor<f32> {\n  %n = "
         "hone.global_norm " +
         join(names) + " : (" + join(types) +
         ") -> tensor<f32>\n  return %n : tensor<f32>\n}";
}

CaseOptions normOptions(const std::vector<int64_t> &sizes) {
  CaseOptions options{KernelFamily::multiTensor, 1e-6};
  for (int64_t size : sizes)
    options.scratch += llvm::divideCeil(size, normChunk);
  options.laterStages = {emitNormFinish};
  return options;
}

} // namespace

TEST(GlobalNorm, OddSizesAndSplits) {
  std::vector<int64_t> sizes = {1, 63, 64, 65, 16384, 16385, 100003, 0, 40};
  expectLikeInterpreter(squares<Float32Type>, norm(sizes, {"f32"}),
                        normOptions(sizes));
}

TEST(GlobalNorm, MixedTypes) {
  std::vector<int64_t> sizes = {1000, 20000, 1, 70000};
  CaseOptions options = normOptions(sizes);
  options.laterStages = {squares<BFloat16Type>, emitNormFinish};
  expectLikeInterpreter(squares<Float32Type>, norm(sizes, {"f32", "bf16"}),
                        options);
}

TEST(GlobalNorm, NaNAndInfinityReachTheResult) {
  std::vector<int64_t> sizes = {10, 40};
  CaseOptions options = normOptions(sizes);
  std::vector<double> values(40, 1.0);
  values[17] = INFINITY;
  options.data = {{1, values}};
  expectLikeInterpreter(squares<Float32Type>, norm(sizes, {"f32"}), options);
  values[39] = NAN;
  options.data = {{1, values}};
  expectLikeInterpreter(squares<Float32Type>, norm(sizes, {"f32"}), options);
}

TEST(GlobalNorm, OneGradientOfTwoParameters) {
  CaseOptions options = normOptions({500, 500});
  expectLikeInterpreter(squares<Float32Type>, R"(
    func.func @f(%x: tensor<500xf32>) -> tensor<f32> {
      %n = hone.global_norm %x, %x : (tensor<500xf32>, tensor<500xf32>) -> tensor<f32>
      return %n : tensor<f32>
    })",
                        options);
}
