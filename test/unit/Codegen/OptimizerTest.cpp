//===- OptimizerTest.cpp - Kernels of updates of parameters ---------------===//

#include "UpdatesCase.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace hone;
using namespace hone::test;
using interp::Tensor;
using interp::Tensors;

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
  for (const std::vector<int64_t> &sizes :
       {std::vector<int64_t>{64, 16384, 40000, 20},
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
