//===- KernelCostTest.cpp - Seconds that a kernel takes -------------------===//

#include "hone/Analysis/Cost/KernelCost.h"

#include "ParsedFunction.h"

using namespace mlir;
using namespace hone;

namespace {

constexpr double flops = 2.0 * 32 * 64 * 16;

/// y = gelu(x w + b)
ParsedFunction projection() {
  return ParsedFunction("%x: tensor<32x64xbf16>, %w: tensor<64x16xbf16>, "
                        "%b: tensor<16xbf16>",
                        R"(
    %d = hone.dot_general %x, %w batch [] x [] contract [1] x [0]
        : tensor<32x64xbf16>, tensor<64x16xbf16> -> tensor<32x16xbf16>
    %r = hone.broadcast %b dims [1] : tensor<16xbf16> -> tensor<32x16xbf16>
    %a = hone.add %d, %r : tensor<32x16xbf16>
    %y = hone.gelu tanh %a : tensor<32x16xbf16>)");
}

TargetDescription gpu(StringRef arch) {
  TargetDescription target;
  target.kind = TargetKind::CUDA;
  target.arch = arch.str();
  return target;
}

TEST(KernelCost, EpilogueOfAGpuSlowsTheCall) {
  ParsedFunction f = projection();
  KernelTime time = kernelTime(f.ops(), 3800, gpu("sm_90"));
  EXPECT_DOUBLE_EQ(time.computing, flops / 720e12 * 1.03);
  EXPECT_DOUBLE_EQ(time.moving, 1e-9);
  EXPECT_DOUBLE_EQ(time.launching, 0.9e-6);
}

TEST(KernelCost, EpilogueOfACpuIsAMap) {
  ParsedFunction f = projection();
  double elements = 32 * 16;
  KernelTime time = kernelTime(f.ops(), 0, TargetDescription());
  // The bias is repeated and added; GELU counts 12.
  EXPECT_DOUBLE_EQ(time.computing, flops / 450e9 + 14 * elements / 100e9);
}

TEST(KernelCost, DevicesHaveTheirOwnRates) {
  ParsedFunction f = projection();
  Operation *dot = f.ops().front();
  EXPECT_DOUBLE_EQ(kernelTime(dot, 0, gpu("sm_80")).computing, flops / 271e12);
  EXPECT_DOUBLE_EQ(kernelTime(dot, 0, gpu("sm_100")).computing,
                   flops / 1800e12);
  // An architecture without figures.
  EXPECT_DOUBLE_EQ(kernelTime(dot, 0, gpu("sm_86")).computing, flops / 720e12);
}

/// An op along a line, which makes %y.
KernelTime lineTime(const std::string &arguments, const std::string &op,
                    const TargetDescription &target) {
  ParsedFunction f(arguments, "\n    %y = hone." + op);
  return kernelTime(f.ops(), 0, target);
}

/// A thread waits in each step of a walk along a line, for which the rate of
/// arithmetic stands nowhere.
TEST(KernelCost, LinesOfAGpuWait) {
  TargetDescription h100 = gpu("sm_90");
  auto argsort = [&](const std::string &size) {
    return lineTime("%x: tensor<" + size + "xi64>",
                    "argsort %x dim 0 : tensor<" + size + "xi64> -> tensor<" +
                        size + "xi64>",
                    h100);
  };
  KernelTime one = argsort("1024"), four = argsort("4096"),
             many = argsort("131072"), few = argsort("8");
  EXPECT_NEAR(one.computing, 5.5e-6, 1e-7); // 55 passes with a barrier
  EXPECT_DOUBLE_EQ(one.launching, 0.9e-6);
  EXPECT_NEAR(four.computing, one.computing + 1.1e-6, 1e-6); // and 11 loads
  EXPECT_DOUBLE_EQ(four.launching, 1.8e-6);
  EXPECT_GT(many.computing, 20e-6);
  EXPECT_LT(many.computing, 2e-3);
  EXPECT_NEAR(few.computing, 0.8e-6, 1e-7);
  // Four places of 1024 floats each, one after the other; of integers at once.
  auto put = [&](const std::string &element) {
    return lineTime("%u: tensor<4096x" + element + ">, %i: tensor<4096xi64>",
                    "put_along sum %u, %i dim 0 : tensor<4096x" + element +
                        ">, tensor<4096xi64> -> tensor<4x" + element + ">",
                    h100);
  };
  EXPECT_NEAR(put("f32").computing - put("i64").computing, 6e-6, 1e-6);
  EXPECT_DOUBLE_EQ(put("f32").launching, 2.7e-6);
}

TEST(KernelCost, LinesOfAGpuThatOneThreadWalks) {
  auto serial = [&](const std::string &size) {
    return lineTime("%x: tensor<2x" + size + "xf32>",
                    "cumsum %x dim 1 : tensor<2x" + size + "xf32>",
                    gpu("sm_90"))
        .computing;
  };
  EXPECT_NEAR(serial("64"), 6.4e-6, 1e-7);
  EXPECT_NEAR(serial("4096"), 25.6e-6, 1e-6); // 128 elements are loaded at once
}

/// Rows of 256 numbers of T, 4 groups, matrices of 256 x 512.
ParsedFunction grouped(int64_t rows, const std::string &element) {
  std::string count = std::to_string(rows);
  std::string x = "tensor<" + count + "x256x" + element + ">";
  std::string w = "tensor<4x256x512x" + element + ">";
  std::string y = "tensor<" + count + "x512x" + element + ">";
  return ParsedFunction("%x: " + x + ", %w: " + w + ", %e: tensor<4xi32>",
                        "%y = hone.grouped_dot %x, %w, %e contract 1 : " + x +
                            ", " + w + ", tensor<4xi32> -> " + y);
}

TEST(KernelCost, GroupsOfRowsPayForTheirTiles) {
  double rate = 989e12 * 0.63 * 0.56;
  for (auto [each, tile] : {std::pair(64, 64), {512, 128}}) {
    ParsedFunction f = grouped(4 * each, "bf16");
    double flops = 2.0 * 4 * each * 256 * 512;
    double half = 1 + tile / 2.0 / each; // tile behind the end of each group
    EXPECT_DOUBLE_EQ(kernelTime(f.ops(), 0, gpu("sm_90")).computing,
                     flops * half / rate);
  }
  // Its peak is that of the instruction.
  ParsedFunction f = grouped(2048, "f16");
  EXPECT_NEAR(kernelTime(f.ops(), 0, gpu("sm_80")).computing,
              2.0 * 2048 * 256 * 512 * 1.125 / (312e12 * 0.56), 1e-12);
}

TEST(KernelCost, GroupsOfF32HaveNoTensorCores) {
  ParsedFunction f = grouped(2048, "f32");
  double flops = 2.0 * 2048 * 256 * 512;
  EXPECT_DOUBLE_EQ(kernelTime(f.ops(), 0, gpu("sm_90")).computing,
                   flops * 5 / 30e12);
  EXPECT_DOUBLE_EQ(kernelTime(f.ops(), 0, TargetDescription()).computing,
                   flops / 240e9);
}

} // namespace
