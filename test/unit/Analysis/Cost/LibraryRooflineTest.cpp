//===- LibraryRooflineTest.cpp - The time of a step made of library calls -===//

#include "hone/Analysis/Cost/LibraryRoofline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hone;

namespace {

/// The limit of a module on an H200, with three micro-batches.
LibraryRoofline limitOf(StringRef functions) {
  MLIRContext context;
  context.loadDialect<HoneDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(functions, &context);
  EXPECT_TRUE(module);
  TargetDescription target;
  target.kind = TargetKind::CUDA;
  target.arch = "sm_90";
  return findLibraryRoofline(*module, 3, target);
}

TEST(LibraryRoofline, CountsProductsByTypeAndMicroBatch) {
  LibraryRoofline limit = limitOf(R"(
    func.func @accumulate(%x: tensor<32x64xbf16>, %w: tensor<64x16xbf16>) {
      %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0]
          : tensor<32x64xbf16>, tensor<64x16xbf16> -> tensor<32x16xbf16>
      return
    }
    func.func @update(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) {
      %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0]
          : tensor<32x64xf32>, tensor<64x16xf32> -> tensor<32x16xf32>
      return
    }
    func.func @evaluate(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) {
      %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0]
          : tensor<32x64xf32>, tensor<64x16xf32> -> tensor<32x16xf32>
      return
    })");
  double flops = 2.0 * 32 * 64 * 16;
  EXPECT_DOUBLE_EQ(limit.products, 3 * flops / 720e12 + flops / 50e12);
  EXPECT_DOUBLE_EQ(limit.seconds(), limit.products);
}

// Marked products, and products of codes.
TEST(LibraryRoofline, CountsProductsOfCodesAtTheirRates) {
  LibraryRoofline limit = limitOf(R"(
    func.func @step(%x: tensor<32x64xbf16>, %w: tensor<64x16xbf16>, %a: tensor<32x64xf8E4M3FN>,
                    %b: tensor<16x64xf8E4M3FN>, %s: tensor<f32>) {
      %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] quantized <block, activation x weight>
          : tensor<32x64xbf16>, tensor<64x16xbf16> -> tensor<32x16xbf16>
      %z = hone.dot_general %a, %b scales %s, %s tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [1]
          : tensor<32x64xf8E4M3FN>, tensor<16x64xf8E4M3FN> scales tensor<f32>, tensor<f32> -> tensor<32x16xbf16>
      return
    })");
  double flops = 2.0 * 32 * 64 * 16;
  EXPECT_DOUBLE_EQ(limit.products, flops / 1166e12 + flops / 1310e12);
}

TEST(LibraryRoofline, CountsHalfOfCausalAttentionAtItsRates) {
  LibraryRoofline limit = limitOf(R"(
    func.func @step(%q: tensor<2x16x4x64xbf16>, %g: tensor<2x16x4x64xbf16>) {
      %o, %l = hone.attention %q, %q, %q causal scale 1.0
          : (tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>)
          -> (tensor<2x16x4x64xbf16>, tensor<2x4x16xf32>)
      %dq, %dk, %dv = hone.attention_bwd %g, %q, %q, %q, %o, %l causal scale 1.0
          : (tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>,
             tensor<2x16x4x64xbf16>, tensor<2x4x16xf32>)
          -> (tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>, tensor<2x16x4x64xbf16>)
      return
    })");
  double product = 2.0 * 2 * 4 * 16 * 16 * 64 / 2;
  EXPECT_DOUBLE_EQ(limit.attention,
                   2 * product / 310e12 + 5 * product / 230e12);
  EXPECT_DOUBLE_EQ(limit.seconds(), limit.attention);
}

// Four tensors in the type that memory holds: casts are part of the kernels.
TEST(LibraryRoofline, CountsPassesOfNorms) {
  LibraryRoofline limit = limitOf(R"(
    func.func @step(%x: tensor<32x64xbf16>, %g: tensor<64xf32>, %w: tensor<64x16xbf16>) -> tensor<32x64xbf16> {
      %wide = hone.cast %x : tensor<32x64xbf16> -> tensor<32x64xf32>
      %y, %rstd = hone.rms_norm %wide scale %g eps 1.0e-05
          : (tensor<32x64xf32>, tensor<64xf32>) -> (tensor<32x64xf32>, tensor<32xf32>)
      %low = hone.cast %y : tensor<32x64xf32> -> tensor<32x64xbf16>
      return %low : tensor<32x64xbf16>
    })");
  EXPECT_DOUBLE_EQ(limit.rows, 4.0 * 32 * 64 * 2 / 3.8e12);
  EXPECT_DOUBLE_EQ(limit.seconds(), limit.rows);
}

TEST(LibraryRoofline, CountsUpdatesOnce) {
  LibraryRoofline limit = limitOf(R"(
    func.func @update(%a: tensor<32x64xf32>, %b: tensor<64xf32>) -> tensor<f32> {
      %n = hone.global_norm %a, %b : (tensor<32x64xf32>, tensor<64xf32>) -> tensor<f32>
      return %n : tensor<f32>
    })");
  EXPECT_DOUBLE_EQ(limit.updates, (32.0 * 64 + 64) * 4 / 3.8e12);
  EXPECT_DOUBLE_EQ(limit.seconds(), limit.updates);
}

} // namespace
