//===- QuantizationGainTest.cpp - Which products gain by 8-bit codes ------===//

#include "hone/Analysis/Cost/QuantizationGain.h"

#include "gtest/gtest.h"

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
  EXPECT_NEAR(leastQuantizedSize(gpu("sm_90"), true), 410, 1);
  EXPECT_NEAR(leastQuantizedSize(gpu("sm_90"), false), 421, 1);
  EXPECT_NEAR(leastQuantizedSize(gpu("sm_100"), true), 421, 1);
  EXPECT_NEAR(leastQuantizedSize(gpu("sm_100"), false), 595, 1);
}

// Square weights of 124M's and of 1.5B's layers, and the gate of Llama-8B.
TEST(QuantizationGain, SmallWeightsLose) {
  TargetDescription h200 = gpu("sm_90");
  EXPECT_LT(quantizationGain(h200, 512, 512, true), 0);
  EXPECT_GT(quantizationGain(h200, 768, 3072, false), 0);
  EXPECT_GT(quantizationGain(h200, 1600, 1600, true), 0);
  EXPECT_GT(quantizationGain(h200, 4096, 14336, false), 0);
}

TEST(QuantizationGain, IsNoneWithoutALibrary) {
  EXPECT_LT(quantizationGain(gpu("sm_80"), 4096, 4096, false), 0);
  EXPECT_LT(quantizationGain(gpu("sm_89"), 4096, 4096, true), 0);
  EXPECT_EQ(leastQuantizedSize(gpu("sm_89"), true),
            std::numeric_limits<double>::infinity());
  EXPECT_LT(quantizationGain(TargetDescription(), 4096, 4096, false), 0);
}

} // namespace
