//===- QuantizationGainTest.cpp - Which products gain by 8-bit codes ------===//

#include "hone/Analysis/Cost/QuantizationGain.h"
#include "hone/Analysis/Cost/CodeProducts.h"

#include "base/DataSheet.h"
#include "base/ScaleLayout.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace hone;

namespace {

TargetDescription gpu(const char *arch) {
  TargetDescription target;
  target.kind = TargetKind::CUDA;
  target.arch = arch;
  return target;
}

// Four bytes at 3.8 TB/s against four FLOP at 1166 and two at 857 TFLOP/s in
// place of six at 720, and so on.
TEST(QuantizationGain, LeastSizesAreThoseOfTheRates) {
  EXPECT_NEAR(leastQuantizedSize(gpu("sm_90"), Fp8Scaling::block), 410, 1);
  EXPECT_NEAR(leastQuantizedSize(gpu("sm_90"), Fp8Scaling::tensor), 281, 1);
  EXPECT_NEAR(leastQuantizedSize(gpu("sm_100"), Fp8Scaling::mx), 421, 1);
  EXPECT_NEAR(leastQuantizedSize(gpu("sm_100"), Fp8Scaling::tensor), 397, 1);
}

// Square weights of 124M's and of 1.5B's layers, and the gate of Llama-8B.
TEST(QuantizationGain, SmallWeightsLose) {
  TargetDescription h200 = gpu("sm_90");
  EXPECT_LT(quantizationGain(h200, {512, 512}, Fp8Scaling::block), 0);
  EXPECT_GT(quantizationGain(h200, {768, 3072}, Fp8Scaling::tensor), 0);
  EXPECT_GT(quantizationGain(h200, {1600, 1600}, Fp8Scaling::block), 0);
  EXPECT_GT(quantizationGain(h200, {4096, 14336}, Fp8Scaling::tensor), 0);
}

// The two weights around 124M's GELU on a B200: calls of bf16 compute GELUs,
// kernels of codes do, at no cost with scales by tiles only.
TEST(QuantizationGain, SeesTheGeluBetweenWeights) {
  TargetDescription b200 = gpu("sm_100");
  QuantizedWeight first = {768, 3072}, second = {3072, 768};
  EXPECT_GT(quantizationGain(b200, first, Fp8Scaling::tensor), 0);
  EXPECT_GT(quantizationGain(b200, second, Fp8Scaling::tensor), 0);
  first.output = second.input = CodeNeighbor::gelu;
  EXPECT_LT(quantizationGain(b200, first, Fp8Scaling::tensor), 0);
  EXPECT_LT(quantizationGain(b200, second, Fp8Scaling::tensor), 0);
  EXPECT_GT(quantizationGain(b200, first, Fp8Scaling::mx), 0);
  EXPECT_GT(quantizationGain(b200, second, Fp8Scaling::mx), 0);
}

// A gate costs no traffic with scales by tiles.
TEST(QuantizationGain, SeesMapsThatKernelsOfCodesCompute) {
  TargetDescription h200 = gpu("sm_90");
  QuantizedWeight weight = {512, 1024};
  EXPECT_LT(quantizationGain(h200, weight, Fp8Scaling::block), 0);
  weight.output = CodeNeighbor::map;
  EXPECT_GT(quantizationGain(h200, weight, Fp8Scaling::block), 0);
}

// The largest magnitude of what attention makes takes a pass over it.
TEST(QuantizationGain, SeesCallsWithoutMagnitudes) {
  TargetDescription h200 = gpu("sm_90");
  QuantizedWeight weight = {512, 640};
  EXPECT_GT(quantizationGain(h200, weight, Fp8Scaling::tensor), 0);
  weight.input = CodeNeighbor::call;
  EXPECT_LT(quantizationGain(h200, weight, Fp8Scaling::tensor), 0);
  weight = {4096, 4096, CodeNeighbor::call};
  EXPECT_GT(quantizationGain(h200, weight, Fp8Scaling::tensor), 0);
}

TEST(QuantizationGain, IsNoneWithoutALibrary) {
  EXPECT_LT(quantizationGain(gpu("sm_80"), {4096, 4096}, Fp8Scaling::tensor),
            0);
  EXPECT_LT(quantizationGain(gpu("sm_89"), {4096, 4096}, Fp8Scaling::block), 0);
  EXPECT_EQ(leastQuantizedSize(gpu("sm_89"), Fp8Scaling::block),
            std::numeric_limits<double>::infinity());
  EXPECT_LT(
      quantizationGain(TargetDescription(), {4096, 4096}, Fp8Scaling::tensor),
      0);
}

// What passes refuse, and what estimates have no rate for, are the same.
TEST(CodeProducts, HaveARateWhereThereAreAny) {
  using honert::ScaleTile;
  constexpr std::pair<Fp8Scaling, ScaleTile> scalings[] = {
      {Fp8Scaling::tensor, ScaleTile::tensor},
      {Fp8Scaling::block, ScaleTile::row128},
      {Fp8Scaling::mx, ScaleTile::row32}};
  for (const char *arch : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a",
                           "sm_100", "sm_103", "sm_120", ""})
    for (auto [scaling, tile] : scalings) {
      TargetDescription target = gpu(arch);
      int number = numberOfArch(*arch ? arch : "sm_90");
      EXPECT_EQ(target.codeFlopsPerSecond(tile, tile) > 0,
                hasCodeProducts(scaling, number))
          << arch << ' ' << size_t(scaling);
      EXPECT_EQ(std::isfinite(leastQuantizedSize(target, scaling)),
                hasCodeProducts(scaling, number))
          << arch << ' ' << size_t(scaling);
    }
}

TEST(CodeProducts, HaveARateOnEachNamedGpu) {
  for (const honert::DataSheet &sheet : honert::dataSheets) {
    TargetDescription target = gpu("");
    target.namedDevice = findDevice({sheet.model.data(), sheet.model.size()});
    target.arch = target.device().arch.str();
    EXPECT_EQ(target.codeFlopsPerSecond(honert::ScaleTile::row32,
                                        honert::ScaleTile::row32) > 0,
              sheet.arch >= 100)
        << std::string(sheet.model);
  }
}

} // namespace
