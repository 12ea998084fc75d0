//===- WindowTest.cpp - Convolutions and pooling --------------------------===//

#include "KernelCase.h"
#include "KernelText.h"

#include "Codegen/CPU/DepthwiseKernels.h"
#include "Codegen/CPU/GenericKernels.h"
#include "Codegen/CPU/WeightKernels.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

namespace {

/// The three tensors of a convolution, and its attributes.
struct Shapes {
  const char *input, *weight, *output, *attributes;
};

// Plain, strided and padded, dilated, grouped, depthwise; one to three
// dimensions; no batch.
const Shapes convolutions[] = {
    {"2x9x4", "3x4x6", "2x7x6", "strides [1] low [0] high [0] dilations [1]"},
    {"2x9x4", "4x1x4", "2x9x4", "strides [1] low [3] high [0] dilations [1]"},
    {"2x6x7x4", "3x3x4x5", "2x3x4x5",
     "strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]"},
    {"1x7x7x4", "3x2x2x6", "1x3x3x6",
     "strides [1, 2] low [0, 1] high [0, 1] dilations [2, 3]"},
    {"1x6x6x6", "2x2x2x3", "1x5x3x3",
     "strides [1, 2] low [0, 0] high [0, 1] dilations [1, 1]"},
    {"1x3x4x3x2", "2x2x2x2x3", "1x2x3x2x3",
     "strides [1, 1, 1] low [0, 0, 0] high [0, 0, 0] dilations [1, 1, 1]"},
    {"0x9x4", "3x4x6", "0x7x6", "strides [1] low [0] high [0] dilations [1]"},
};

/// `op` of two tensors, as the third.
std::string convolution(const std::string &op, const std::string &first,
                        const std::string &second, const std::string &result,
                        const Shapes &shapes, const std::string &element) {
  return with("func.func @f(%a: tensor<AxT>, %b: tensor<BxT>) -> tensor<CxT> {"
              "\n  %y = hone.OP %a, %b WINDOW : tensor<AxT>, tensor<BxT> -> "
              "tensor<CxT>\n  return %y : tensor<CxT>\n}",
              {{"OP", op},
               {"WINDOW", shapes.attributes},
               {"AxT", first + "x" + element},
               {"BxT", second + "x" + element},
               {"CxT", result + "x" + element}});
}

CaseOptions options(const std::string &element) {
  // A sum of up to some hundred products, rounded once to narrow types.
  return {KernelFamily::convolution, element == "bf16"  ? 0x1p-8
                                     : element == "f16" ? 0x1p-10
                                     : element == "f64" ? 1e-14
                                                        : 4e-6};
}

/// A depthwise convolution, and how many partial sums its weight's gradient
/// has: chunks of rows times elements.
struct Depthwise {
  Shapes shapes;
  int64_t partials;
};

// Causal, strided, dilated and padded unevenly; rows of one block and of many,
// wider and narrower than the window; channels that fill vectors or not.
const Depthwise depthwise[] = {
    {{"2x37x35", "4x1x35", "2x37x35",
      "strides [1] low [3] high [0] dilations [1]"},
     2 * 4 * 35},
    {{"1x100x16", "3x1x16", "1x34x16",
      "strides [3] low [1] high [2] dilations [1]"},
     1 * 3 * 16},
    {{"2x9x60x5", "3x5x1x5", "2x5x52x5",
      "strides [2, 1] low [1, 0] high [1, 0] dilations [1, 2]"},
     8 * 15 * 5},
    {{"2x7x7x48", "7x7x1x48", "2x7x7x48",
      "strides [1, 1] low [3, 3] high [3, 3] dilations [1, 1]"},
     8 * 49 * 48},
    {{"1x2x3x20", "7x7x1x20", "1x2x3x20",
      "strides [1, 1] low [3, 3] high [3, 3] dilations [1, 1]"},
     2 * 49 * 20},
    {{"1x9x33x17", "3x3x1x17", "1x5x17x17",
      "strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]"},
     5 * 9 * 17},
    {{"1x4x5x6x3", "2x3x2x1x3", "1x3x5x3x3",
      "strides [1, 1, 2] low [0, 1, 0] high [0, 1, 0] dilations [1, 1, 1]"},
     8 * 12 * 3},
    {{"2x5x3", "1x1x3", "2x9x3", "strides [1] low [2] high [2] dilations [1]"},
     2 * 1 * 3},
};
} // namespace

TEST(Window, DepthwiseConvolutions) {
  for (const char *element : {"f32", "bf16", "f16"})
    for (const auto &[s, partials] : depthwise) {
      expectLikeInterpreter(emitConvolution,
                            convolution("conv depthwise", s.input, s.weight,
                                        s.output, s, element),
                            options(element));
      expectLikeInterpreter(emitConvolution,
                            convolution("conv_bwd_input depthwise", s.output,
                                        s.weight, s.input, s, element),
                            options(element));
      CaseOptions sums = options(element);
      sums.tolerance *= 2; // of up to 520 products
      sums.scratch = partials;
      sums.laterStages = {emitWeightSums};
      expectLikeInterpreter(emitConvolution,
                            convolution("conv_bwd_weight depthwise", s.input,
                                        s.output, s.weight, s, element),
                            sums);
    }
}

TEST(Window, Convolutions) {
  for (const char *element : {"f32", "f64", "bf16", "f16"})
    for (const Shapes &s : convolutions) {
      expectLikeInterpreter(
          emitPoint,
          convolution("conv", s.input, s.weight, s.output, s, element),
          options(element));
      expectLikeInterpreter(emitPoint,
                            convolution("conv_bwd_input", s.output, s.weight,
                                        s.input, s, element),
                            options(element));
      expectLikeInterpreter(emitPoint,
                            convolution("conv_bwd_weight", s.input, s.output,
                                        s.weight, s, element),
                            options(element));
    }
}

TEST(Window, LongSumsStayAccurate) {
  // Chains of f32 additions of equal numbers, of 4096 positions: in one chain
  // they would be off by 4e-5 of the sum.
  std::string sum = convolution(
      "conv_bwd_weight", "4x4096x1", "4x4096x1", "1x1x1",
      {"", "", "", "strides [1] low [0] high [0] dilations [1]"}, "f32");
  CaseOptions options = {KernelFamily::convolution,
                         1e-5,
                         {},
                         {{0, std::vector<double>(4 * 4096, 0.1)},
                          {1, std::vector<double>(4 * 4096, 0.7)}}};
  expectLikeInterpreter(emitPoint, sum, options);
  options.scratch = 4;
  options.laterStages = {emitWeightSums};
  expectLikeInterpreter(emitConvolution, sum, options);
}

TEST(Window, MaxPool) {
  const Shapes pools[] = {
      {"2x9x4", "[3]", "2x4x4", "strides [2] low [0] high [0] dilations [1]"},
      {"2x5x6x3", "[2, 3]", "2x4x3x3",
       "strides [1, 2] low [0, 1] high [1, 0] dilations [2, 1]"},
      {"1x3x4x3x2", "[2, 2, 1]", "1x2x2x3x2",
       "strides [1, 2, 1] low [0, 0, 0] high [0, 0, 0] dilations [1, 1, 1]"},
      {"2x9x8x21", "[3, 3]", "2x5x4x21",
       "strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]"}};
  for (const char *element : {"f32", "f64", "bf16"})
    for (const Shapes &pool : pools)
      expectLikeInterpreter(
          emitMovement,
          with("func.func @f(%x: tensor<XxT>) -> (tensor<YxT>, tensor<Yxi32>) "
               "{\n  %y, %t = hone.max_pool %x sizes SIZES WINDOW : "
               "tensor<XxT> -> tensor<YxT>, tensor<Yxi32>\n"
               "  return %y, %t : tensor<YxT>, tensor<Yxi32>\n}",
               {{"SIZES", pool.weight},
                {"WINDOW", pool.attributes},
                {"XxT", std::string(pool.input) + "x" + element},
                {"YxT", std::string(pool.output) + "x" + element},
                {"Yxi32", std::string(pool.output) + "xi32"}}),
          {KernelFamily::dataMovement, 0});
  // The first of equals, and the first NaN.
  expectLikeInterpreter(emitMovement, R"(
    func.func @f(%x: tensor<1x12x1xf32>) -> (tensor<1x10x1xf32>, tensor<1x10x1xi32>) {
      %y, %t = hone.max_pool %x sizes [3] strides [1] low [0] high [0] dilations [1]
          : tensor<1x12x1xf32> -> tensor<1x10x1xf32>, tensor<1x10x1xi32>
      return %y, %t : tensor<1x10x1xf32>, tensor<1x10x1xi32>
    })",
                        {KernelFamily::dataMovement, 0, {}, {{0, special}}});
}

TEST(Window, MaxPoolGradient) {
  for (const char *element : {"f32", "f64", "bf16"})
    expectLikeInterpreter(
        emitMovement,
        with("func.func @f(%g: tensor<2x4x3x3xT>, %t: tensor<2x4x3x3xi32>) -> "
             "tensor<2x5x6x3xT> {\n"
             "  %y = hone.max_pool_bwd %g, %t sizes [2, 3] strides [1, 2] "
             "low [0, 1] high [1, 0] dilations [2, 1] : tensor<2x4x3x3xT>, "
             "tensor<2x4x3x3xi32> -> tensor<2x5x6x3xT>\n"
             "  return %y : tensor<2x5x6x3xT>\n}",
             {{"3xT", std::string("3x") + element}}),
        {KernelFamily::dataMovement,
         element == std::string("bf16") ? 0x1p-8 : 1e-6,
         {},
         {},
         6});
}
