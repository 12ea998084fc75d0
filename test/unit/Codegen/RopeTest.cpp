//===- RopeTest.cpp - Kernels of rotary embeddings ------------------------===//

#include "KernelCase.h"

#include "Codegen/CPU/RopeKernels.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

namespace {

std::string rope(const std::string &style, const std::string &element,
                 int64_t width) {
  std::string type =
                  "tensor<2x5x3x" + std::to_string(width) + "x" + element + ">",
              angles = "tensor<5x" + std::to_string(width / 2) + "x" +
                       (element == "f64" ? "f64" : "f32") + ">";
  return "func.func @f(%x: " + type + ", %c: " + angles + ", %s: " + angles +
         ") -> " + type + " {\n  %y = hone.rope " + style +
         " %x, %c, %s : " + type + ", " + angles + "\n  return %y : " + type +
         "\n}";
}

} // namespace

TEST(Rope, BothStylesAndTheirInverse) {
  for (const char *style :
       {"half", "interleaved", "half inverse", "interleaved inverse"})
    for (int64_t width : {2, 6, 32, 64, 96})
      for (bool inPlace : {false, true}) {
        CaseOptions options{KernelFamily::rope, 1e-6};
        options.equalOnDevice = true;
        if (inPlace)
          options.inPlace = {{0, 0}};
        expectLikeInterpreter(emitRope, rope(style, "f32", width), options);
        options.tolerance = 1e-14;
        expectLikeInterpreter(emitRope, rope(style, "f64", width), options);
        options.tolerance = 0x1p-8;
        expectLikeInterpreter(emitRope, rope(style, "bf16", width), options);
        options.tolerance = 0x1p-10;
        expectLikeInterpreter(emitRope, rope(style, "f16", width), options);
      }
}

TEST(Rope, ReadsAPartOfWiderRows) {
  CaseOptions options{KernelFamily::rope, 1e-6};
  options.rowPitch = {{0, 200}};
  for (const char *style : {"half", "interleaved"})
    for (int64_t width : {6, 64})
      expectLikeInterpreter(emitRope, rope(style, "f32", width), options);
}

TEST(Rope, BuffersOfAGpuBeginAnywhere) {
  for (const char *style : {"half", "interleaved"})
    for (int64_t shift : {1, 2, 4})
      for (int64_t width : {6, 64, 128}) {
        CaseOptions options{KernelFamily::rope, 1e-6};
        options.shift = shift;
        options.equalOnDevice = true;
        expectLikeInterpreter(emitRope, rope(style, "f32", width), options);
        options.tolerance = 0x1p-8;
        expectLikeInterpreter(emitRope, rope(style, "bf16", width), options);
      }
}

TEST(Rope, RefusesOtherBodies) {
  EXPECT_EQ(refusalOf(emitRope, R"(
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %y = hone.neg %x : tensor<8xf32>
      return %y : tensor<8xf32>
    })"),
            "'plan.launch' op is no rope of inputs with contiguous rows");
}
