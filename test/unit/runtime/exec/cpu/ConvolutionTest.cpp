//===- ConvolutionTest.cpp - Convolutions against plain loops -------------===//

#include "exec/cpu/Executor.h"
#include "support/Describe.h"
#include "train/MakeExecutor.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace honert;
using namespace test;

namespace {

using Dim = ConvolutionLaunch::Dim;

constexpr auto output = ConvolutionPart::output, image = ConvolutionPart::image,
               kernel = ConvolutionPart::kernel;

struct Case {
  int64_t batch, channels, outputs, groups;
  std::vector<Dim> dims;
  DType operand = DType::f32, result = DType::f32;
};

/// A spatial dimension, with the size of the output that follows.
Dim dim(int64_t size, int64_t taps, int64_t stride = 1, int64_t low = 0,
        int64_t high = 0, int64_t dilation = 1) {
  int64_t room = size + low + high - (taps - 1) * dilation - 1;
  return {size, taps, room / stride + 1, stride, dilation, low, high};
}

/// A program of one convolution, or of one of its gradients, over random
/// operands.
class OneConvolution {
public:
  OneConvolution(const Case &c, ConvolutionPart computed, int threads = 2)
      : launch{computed, c.operand, c.result, c.batch, c.channels, c.outputs,
               c.groups, c.dims,    0,        0,       0},
        pool(threads) {
    Layout layout;
    launch.image = layout.take(bytesOf(image));
    launch.kernel = layout.take(bytesOf(kernel));
    launch.output = layout.take(bytesOf(output));
    honert_program *p = program.get();
    honert_arena(p, layout.bytes());
    honert_function(p, "step");
    std::vector<int64_t> sizes = {c.batch, c.channels, c.outputs, c.groups};
    for (const Dim &d : c.dims)
      sizes.insert(sizes.end(), {d.image, d.kernel, d.output, d.stride,
                                 d.dilation, d.low, d.high});
    honert_convolution(p, "conv", "", int64_t(computed), int64_t(c.operand),
                       int64_t(c.result), int64_t(c.dims.size()), sizes.data(),
                       launch.image, launch.kernel, launch.output);
    honert_result(p, "loss", 0, 0, nullptr, 0);
    if (Status status = p->check(); !status.ok())
      ADD_FAILURE() << status.message();
    executor = makeExecutor(*p, pool);
    if (Status status = executor->start(); !status.ok())
      ADD_FAILURE() << status.message();
    uint32_t state = 7;
    for (ConvolutionPart part : {image, kernel, output})
      for (int64_t i = 0; i < elementsOf(part); ++i) {
        state = state * 1664525 + 1013904223;
        set(part, i, static_cast<int32_t>(state) * 0x1p-31);
      }
  }

  void run() {
    Status status = executor->run(program->functions[0]);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// The computed tensor is that of plain loops in fp64.
  void check() {
    std::vector<double> sums(size_t(elementsOf(launch.computed))),
        magnitudes(sums.size());
    forProducts([&](int64_t x, int64_t w, int64_t y) {
      size_t to = size_t(launch.computed == output  ? y
                         : launch.computed == image ? x
                                                    : w);
      double term = (launch.computed == image ? 1 : get(image, x)) *
                    (launch.computed == kernel ? 1 : get(kernel, w)) *
                    (launch.computed == output ? 1 : get(output, y));
      sums[to] += term;
      magnitudes[to] += std::fabs(term);
    });
    double last = launch.result == DType::f32    ? 0
                  : launch.result == DType::bf16 ? 0x1p-8
                                                 : 0x1p-11;
    for (size_t i = 0; i < sums.size(); ++i)
      ASSERT_NEAR(get(launch.computed, int64_t(i)), sums[i],
                  2e-6 * magnitudes[i] + last * std::fabs(sums[i]) + 1e-30)
          << "element " << i;
  }

  std::string bits() const {
    const char *begin = executor->arena().at(launch.offsetOf(launch.computed));
    return {begin, begin + bytesOf(launch.computed)};
  }

private:
  int64_t elementsOf(ConvolutionPart part) const {
    int64_t count = 1;
    for (int64_t size : launch.shapeOf(part))
      count *= size;
    return count;
  }
  int64_t bytesOf(ConvolutionPart part) const {
    return elementsOf(part) * byteWidth(launch.typeOf(part));
  }
  char *at(ConvolutionPart part, int64_t i) const {
    return executor->arena().at(launch.offsetOf(part) +
                                i * byteWidth(launch.typeOf(part)));
  }
  double get(ConvolutionPart part, int64_t i) const {
    return loadElement(launch.typeOf(part), at(part, i));
  }
  void set(ConvolutionPart part, int64_t i, double value) {
    storeElement(launch.typeOf(part), at(part, i), value);
  }

  /// Calls body(element of the image, of the kernel, of the output) for every
  /// product of the convolution.
  template <typename Body> void forProducts(Body body) const {
    int64_t positions = 1, taps = 1, pixels = 1;
    for (const Dim &d : launch.dims)
      positions *= d.output, taps *= d.kernel, pixels *= d.image;
    int64_t perGroup = launch.channels / launch.groups,
            madePerGroup = launch.outputs / launch.groups;
    for (int64_t n = 0; n < launch.batch; ++n)
      for (int64_t r = 0; r < positions; ++r)
        for (int64_t k = 0; k < taps; ++k) {
          int64_t pixel = 0, scale = 1, rest = r, tap = k;
          bool exists = true;
          for (size_t i = launch.dims.size(); i-- != 0;) {
            const Dim &d = launch.dims[i];
            int64_t place = rest % d.output * d.stride +
                            tap % d.kernel * d.dilation - d.low;
            exists &= place >= 0 && place < d.image;
            pixel += place * scale;
            scale *= d.image, rest /= d.output, tap /= d.kernel;
          }
          for (int64_t o = 0; exists && o < launch.outputs; ++o)
            for (int64_t c = 0; c < perGroup; ++c)
              body((n * pixels + pixel) * launch.channels +
                       o / madePerGroup * perGroup + c,
                   (k * perGroup + c) * launch.outputs + o,
                   (n * positions + r) * launch.outputs + o);
        }
  }

  ConvolutionLaunch launch;
  ThreadPool pool;
  ProgramPtr program = makeProgram();
  std::unique_ptr<Executor> executor;
};

// Plain, strided and padded unevenly, dilated, grouped, from three channels;
// one to three dimensions; a batch of several parts and of one.
const std::vector<Case> cases = {
    {2, 16, 32, 1, {dim(12, 3, 1, 1, 1), dim(12, 3, 1, 1, 1)}},
    {3, 5, 7, 1, {dim(9, 3, 2, 1, 0), dim(8, 2, 3, 0, 2)}},
    {1, 16, 16, 1, {dim(11, 3, 1, 2, 2, 2), dim(11, 3, 1, 4, 4, 4)}},
    {2, 32, 48, 2, {dim(7, 3, 1, 1, 1), dim(7, 3, 1, 1, 1)}},
    {2, 12, 8, 4, {dim(6, 3, 2, 1, 1), dim(7, 1)}},
    {2, 3, 16, 1, {dim(33, 7, 2, 3, 3), dim(33, 7, 2, 3, 3)}},
    {4, 16, 32, 1, {dim(8, 1, 2), dim(8, 1, 2)}},
    {2, 20, 24, 1, {dim(31, 5, 2, 4, 1)}},
    {1, 1, 8, 1, {dim(40, 10, 5)}},
    {2, 6, 10, 1, {dim(5, 3, 1, 1, 1), dim(6, 2, 2), dim(7, 3, 1, 0, 2)}},
    {8, 16, 16, 1, {dim(20, 3, 1, 1, 1), dim(20, 3, 1, 1, 1)}}};

void expectPlainLoops(Case c) {
  for (ConvolutionPart computed : {output, image, kernel}) {
    SCOPED_TRACE(name(computed));
    OneConvolution program(c, computed);
    program.run();
    program.check();
  }
}

} // namespace

TEST(Convolution, equals_plain_loops) {
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    expectPlainLoops(cases[i]);
  }
}

TEST(Convolution, narrow_elements_have_sums_of_f32) {
  for (auto [operand, result] :
       {std::pair(DType::bf16, DType::bf16), std::pair(DType::bf16, DType::f32),
        std::pair(DType::f16, DType::f16), std::pair(DType::f16, DType::f32)})
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(std::string(name(operand)) + " case " + std::to_string(i));
      Case c = cases[i];
      c.operand = operand;
      c.result = result;
      expectPlainLoops(c);
    }
}

// Sums are divided by the shape alone.
TEST(Convolution, bits_do_not_depend_on_threads) {
  for (DType type : {DType::f32, DType::bf16, DType::f16})
    for (Case c : cases)
      for (ConvolutionPart computed : {output, image, kernel}) {
        c.operand = c.result = type;
        std::vector<std::string> bits;
        for (int threads : {1, 2, 3}) {
          OneConvolution program(c, computed, threads);
          program.run();
          bits.push_back(program.bits());
        }
        EXPECT_EQ(bits[0], bits[1]);
        EXPECT_EQ(bits[0], bits[2]);
      }
}

namespace {
/// The error of a program whose only launch is this convolution of images of 4
/// channels and 5 positions, padded by 1.
std::string errorOf(std::vector<int64_t> sizes, int64_t rank = 1,
                    int64_t computed = 0, int64_t operand = 0,
                    int64_t result = 0, int64_t at = 0) {
  ProgramPtr program = makeProgram();
  honert_arena(program.get(), 1024);
  honert_function(program.get(), "step");
  honert_convolution(program.get(), "conv", "", computed, operand, result, rank,
                     sizes.data(), at, 256, 512);
  honert_result(program.get(), "loss", 0, 0, nullptr, 0);
  return program->check().message();
}
const std::vector<int64_t> right = {1, 4, 4, 1, 5, 3, 5, 1, 1, 1, 1};
std::vector<int64_t> with(size_t index, int64_t value) {
  std::vector<int64_t> sizes = right;
  sizes[index] = value;
  return sizes;
}
} // namespace

TEST(Convolution, wrong_descriptions_are_refused) {
  EXPECT_EQ(errorOf(right), "");
  EXPECT_NE(errorOf(right, 4).find("spatial dimensions"), std::string::npos);
  EXPECT_NE(errorOf(right, 1, 3).find("part of a convolution"),
            std::string::npos);
  EXPECT_NE(errorOf(right, 1, 0, int64_t(DType::f64)).find("other than f32"),
            std::string::npos);
  EXPECT_NE(errorOf(right, 1, 0, 0, int64_t(DType::bf16)).find("another type"),
            std::string::npos);
  for (size_t index : {0, 1, 2, 3, 4, 5, 6, 7, 8})
    EXPECT_NE(errorOf(with(index, 0)), "") << index;
  EXPECT_NE(errorOf(with(3, 3)).find("groups"), std::string::npos);
  EXPECT_NE(errorOf(with(6, 4)).find("do not fit together"), std::string::npos);
  EXPECT_NE(errorOf(with(9, -1)).find("do not fit together"),
            std::string::npos);
  EXPECT_NE(errorOf(right, 1, 0, 0, 0, 1000).find("outside the arena"),
            std::string::npos);
  EXPECT_NE(errorOf(right, 1, 0, 0, 0, -64).find("outside the arena"),
            std::string::npos);
}
