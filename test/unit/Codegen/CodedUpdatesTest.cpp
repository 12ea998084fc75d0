//===- CodedUpdatesTest.cpp - Kernels of updates with 8-bit state ---------===//

#include "KernelCase.h"

#include "Codegen/CPU/OptimizerKernels.h"
#include "hone/IR/StateCode.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace hone;
using namespace hone::test;
using interp::Tensors;

namespace {

/// Updates of parameters [2, width], as a function: the tensors of each update
/// in turn, then the scalars.
struct CodedUpdates {
  std::vector<int64_t> widths = {300};
  std::string attrs = "beta1 = 0.5, beta2 = 0.5, eps = 1.0e-08";
  std::string param = "f32", grad = "f32", workingCopy = "";
  std::optional<bool> apply = {};
  std::optional<double> gradValue = {};
  bool inPlace = true;
  bool fresh = false; ///< moments are zero
  double tolerance = 0, lr = 0.25, step = 1000;

  unsigned results() const { return 5 + !workingCopy.empty(); }
  std::string text() const;
  CaseOptions options() const;
  void check() const { expectLikeInterpreter(emitUpdates, text(), options()); }
  Tensors run() const { return runKernel(emitUpdates, text(), options()); }
};

std::string typeOf(int64_t width, const std::string &element) {
  return "tensor<2x" + std::to_string(width) + "x" + element + ">";
}

std::string CodedUpdates::text() const {
  std::string arguments, body, values, types;
  auto append = [](std::string &list, const std::string &word) {
    list += (list.empty() ? "" : ", ") + word;
  };
  for (size_t i = 0; i < widths.size(); ++i) {
    std::string n = std::to_string(i), p = typeOf(widths[i], param),
                g = typeOf(widths[i], grad), c = typeOf(widths[i], "i8"),
                s = typeOf(stateBlocks(widths[i]), "f32"), in, out;
    for (const auto &[name, type] : {std::pair("%p", p),
                                     {"%g", g},
                                     {"%m", c},
                                     {"%a", s},
                                     {"%v", c},
                                     {"%b", s}}) {
      append(arguments, name + n + ": " + type);
      append(in, type);
    }
    append(in, "tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>");
    if (apply)
      append(in, "tensor<i1>");
    std::vector<std::pair<std::string, std::string>> made = {
        {"%np", p}, {"%nm", c}, {"%na", s}, {"%nv", c}, {"%nb", s}};
    if (!workingCopy.empty())
      made.emplace_back("%ns", typeOf(widths[i], workingCopy));
    std::string names;
    for (auto &[name, type] : made) {
      append(names, name + n);
      append(out, type);
    }
    append(values, names);
    append(types, out);
    body += "  " + names + " = hone.adamw_8bit %p" + n + ", %g" + n + ", %m" +
            n + " scale %a" + n + ", %v" + n + " scale %b" + n +
            " lr %lr weight_decay %wd step %t grad_scale %c" +
            (apply ? " apply %apply" : "") + " {" + attrs + "} : (" + in +
            ") -> (" + out + ")\n";
  }
  append(arguments, "%lr: tensor<f32>, %wd: tensor<f32>, %t: tensor<i64>, "
                    "%c: tensor<f32>");
  if (apply)
    append(arguments, "%apply: tensor<i1>");
  return "func.func @f(" + arguments + ") -> (" + types + ") {\n" + body +
         "  return " + values + " : " + types + "\n}";
}

CaseOptions CodedUpdates::options() const {
  CaseOptions options{KernelFamily::multiTensor, tolerance};
  std::mt19937 random(7);
  for (unsigned i = 0; i < widths.size(); ++i) {
    int64_t size = 2 * widths[i], blocks = stateBlocks(widths[i]);
    std::vector<double> grad(size), codes[2], scales(2 * blocks, 0.75);
    // Of a block the first is greatest, and prime: no other lies, divided by
    // it, in the middle between two codes, where rounding would decide.
    for (int64_t at = 0; at < size; ++at)
      grad[at] =
          at % widths[i] % stateBlock == 0
              ? 251
              : std::ldexp(int(random() % 501) - 250, -int(random() % 12));
    for (auto &list : codes)
      for (int64_t at = 0; at < size; ++at)
        list.push_back(int(random() % 256) - 128);
    if (gradValue)
      grad.assign(size, *gradValue);
    if (fresh)
      for (auto *list : {&codes[0], &codes[1], &scales})
        list->assign(list->size(), 0);
    // The greatest code at the head of each block.
    for (int64_t at = 0; at < size; ++at)
      if (!fresh && at % widths[i] % stateBlock == 0) {
        codes[0][at] = -128;
        codes[1][at] = -1;
      }
    for (unsigned j = 0; j < 2; ++j) {
      options.data.push_back({6 * i + 2 + 2 * j, codes[j]});
      options.data.push_back({6 * i + 3 + 2 * j, scales});
    }
    options.data.push_back({6 * i + 1, grad});
    if (!inPlace)
      continue;
    options.inPlace.push_back({6 * i, results() * i});
    for (unsigned j = 1; j < 5; ++j)
      options.inPlace.push_back({6 * i + 1 + j, results() * i + j});
  }
  unsigned next = 6 * widths.size();
  for (double value : {lr, 0.0, step, 1.0})
    options.data.push_back({next++, {value}});
  if (apply)
    options.data.push_back({next++, {double(*apply)}});
  return options;
}

/// Less and more than a vector, a block and a work item.
const std::vector<int64_t> manyWidths = {1,   15,  16,  17,   255, 256,
                                         257, 300, 512, 1000, 9000};

} // namespace

TEST(StateCode, HasTheValuesOfDynamicTreeQuantization) {
  // A first bit, that ends the zeros of the exponent, and a fraction.
  EXPECT_DOUBLE_EQ(firstMomentCode.decode(1), 1e-6 * 0.55);
  EXPECT_DOUBLE_EQ(firstMomentCode.decode(-2), -1e-5 * (0.1 + 0.9 * 0.25));
  EXPECT_DOUBLE_EQ(firstMomentCode.decode(127), 0.1 + 0.9 * 127.0 / 128);
  EXPECT_DOUBLE_EQ(firstMomentCode.decode(-128), 1.0);
  EXPECT_DOUBLE_EQ(secondMomentCode.decode(1), 1e-6 * (0.1 + 0.9 * 0.25));
  EXPECT_DOUBLE_EQ(secondMomentCode.decode(-2), 0.1 + 0.9 * 255.0 / 256);
  EXPECT_DOUBLE_EQ(secondMomentCode.decode(-1), 1.0);
  for (StateCode code : {firstMomentCode, secondMomentCode})
    EXPECT_EQ(code.decode(0), 0.0);
}

TEST(StateCode, EncodesToTheNearestValue) {
  for (StateCode code : {firstMomentCode, secondMomentCode}) {
    std::vector<double> values;
    for (int byte = -128; byte < 128; ++byte) {
      EXPECT_EQ(code.encode(code.decode(byte)), byte);
      values.push_back(code.decode(byte));
    }
    std::mt19937 random(3);
    std::uniform_real_distribution<double> exponent(-8, 0);
    for (int i = 0; i < 20000; ++i) {
      double x = std::pow(10.0, exponent(random));
      if (code.isSigned && i % 2)
        x = -x;
      double error = std::abs(code.decode(code.encode(x)) - x), least = error;
      for (double value : values)
        if (code.isSigned || value > 0) // no positive number becomes zero
          least = std::min(least, std::abs(value - x));
      EXPECT_LE(error, least * (1 + 1e-9) + 1e-15) << x;
    }
  }
}

TEST(CodedAdamw, CodesOfGradientsAreTheInterpreters) {
  // m' = g and v' = g^2, both exact: what differs would be the codes alone.
  for (bool inPlace : {false, true}) {
    CodedUpdates updates;
    updates.widths = manyWidths;
    updates.attrs = "beta1 = 0.0, beta2 = 0.0, eps = 1.0";
    updates.inPlace = inPlace;
    updates.fresh = true;
    updates.lr = 0;
    updates.check();
  }
}

TEST(CodedAdamw, HalvingAMomentHalvesItsScaleAlone) {
  CodedUpdates updates;
  updates.widths = manyWidths;
  updates.gradValue = 0;
  updates.lr = 0;
  updates.check();
  Tensors out = updates.run();
  CaseOptions options = updates.options();
  for (size_t i = 0; i < manyWidths.size(); ++i)
    for (unsigned j = 0; j < 2; ++j) {
      const std::vector<double> &before = options.data[5 * i + 2 * j].second;
      const interp::Tensor &codes = out[5 * i + 1 + 2 * j];
      for (int64_t at = 0; at < codes.size(); ++at)
        ASSERT_EQ(codes.number(at), before[at]) << i << " " << at;
      for (double scale : out[5 * i + 2 + 2 * j].floats())
        EXPECT_EQ(scale, 0.375);
    }
}

TEST(CodedAdamw, ParametersAndWorkingCopies) {
  CodedUpdates updates;
  updates.widths = {40, 300, 9000};
  // Codes stay as they are (see above): parameters alone are rounded.
  updates.attrs = "beta1 = 0.5, beta2 = 0.5, eps = 1.0e-03, lr_scale = 0.5";
  updates.gradValue = 0;
  updates.tolerance = 4e-6;
  updates.apply = true;
  updates.check();
  updates.workingCopy = "bf16";
  updates.tolerance = std::ldexp(1, -8);
  updates.check();
}

TEST(CodedAdamw, ZeroStaysZero) {
  CodedUpdates updates;
  updates.widths = {300};
  updates.gradValue = 0;
  updates.fresh = true;
  Tensors out = updates.run();
  for (unsigned j = 1; j < 5; ++j)
    for (int64_t at = 0; at < out[j].size(); ++at)
      EXPECT_EQ(out[j].number(at), 0);
}

TEST(CodedAdamw, SkippedLeavesEveryBit) {
  for (bool inPlace : {false, true})
    for (const char *workingCopy : {"", "f16"}) {
      CodedUpdates updates;
      updates.widths = manyWidths;
      updates.gradValue = NAN;
      updates.apply = false;
      updates.inPlace = inPlace;
      updates.workingCopy = workingCopy;
      updates.check();
    }
}

TEST(CodedAdamw, AdafactorHasNoKernel) {
  EXPECT_EQ(refusalOf(emitUpdates, R"(
    func.func @f(%p: tensor<8xf32>, %x: tensor<f32>, %t: tensor<i64>) -> (tensor<8xf32>, tensor<8xf32>) {
      %p1, %v1 = hone.adafactor %p, %p variances (%p) lr %x weight_decay %x step %t grad_scale %x
          {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
          : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>)
          -> (tensor<8xf32>, tensor<8xf32>)
      return %p1, %v1 : tensor<8xf32>, tensor<8xf32>
    })"),
            "'plan.launch' op holds an update that has no kernel, "
            "hone.adafactor: expected hone-decompose-updates before");
}
