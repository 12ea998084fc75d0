//===- WeightTest.cpp - Frozen weights in codes, expanded -----------------===//

#include "KernelCase.h"
#include "KernelText.h"

#include "Codegen/CPU/GenericKernels.h"
#include "Codegen/CPU/WeightKernels.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

namespace {

/// The expansion of 6 rows of `width` elements in blocks of `block`.
std::string expansion(const std::string &code, int64_t width, int64_t block,
                      const std::string &element) {
  int64_t bytes = code == "nf4" ? (width + 1) / 2 : width;
  int64_t blocks = (width + block - 1) / block;
  return with("func.func @f(%c: tensor<2x3xCxi8>, %s: tensor<2x3xSxf32>) -> "
              "tensor<2x3xWxE> {\n  %w = hone.dequantize CODE %c scales %s "
              "block B : tensor<2x3xCxi8>, tensor<2x3xSxf32> -> "
              "tensor<2x3xWxE>\n  return %w : tensor<2x3xWxE>\n}",
              {{"CODE", code},
               {"3xC", "3x" + std::to_string(bytes)},
               {"3xS", "3x" + std::to_string(blocks)},
               {"3xWxE", "3x" + std::to_string(width) + "x" + element},
               {"block B", "block " + std::to_string(block)}});
}

/// Every byte occurs.
std::vector<double> everyByte(int64_t count) {
  std::vector<double> bytes;
  for (int64_t i = 0; i != count; ++i)
    bytes.push_back(double(int8_t(i * 37)));
  return bytes;
}

void expectExpansions(Emitter emit) {
  for (const char *code : {"int8", "nf4"})
    for (const char *element : {"f32", "bf16", "f16", "f64"})
      for (auto [width, block] : {std::pair<int64_t, int64_t>{128, 64},
                                  {96, 64},
                                  {64, 200},
                                  {48, 24},
                                  {33, 16},
                                  {7, 3},
                                  {1, 1}}) {
        int64_t bytes = code == std::string("nf4") ? (width + 1) / 2 : width;
        CaseOptions options{KernelFamily::dataMovement, 0};
        options.data = {{0, everyByte(6 * bytes)}};
        options.equalOnDevice = true;
        expectLikeInterpreter(emit, expansion(code, width, block, element),
                              options);
      }
}

} // namespace

TEST(Weight, ExpansionsByVectors) { expectExpansions(emitMovement); }

TEST(Weight, ExpansionsByElements) { expectExpansions(emitPoint); }

TEST(Weight, OtherMovesAreThoseOfEmitPoint) {
  expectLikeInterpreter(emitMovement,
                        "func.func @f(%x: tensor<4x3xf32>) -> tensor<3x4xf32> "
                        "{\n  %y = hone.transpose %x [1, 0] : "
                        "tensor<4x3xf32> -> tensor<3x4xf32>\n"
                        "  return %y : tensor<3x4xf32>\n}",
                        {KernelFamily::dataMovement, 0});
}
