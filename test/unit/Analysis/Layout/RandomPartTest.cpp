//===- RandomPartTest.cpp - Tests of numbers of parts ---------------------===//

#include "hone/Analysis/Layout/RandomPart.h"

#include "ParsedFunction.h"

using namespace mlir;
using namespace hone;

namespace {
using Dims = std::vector<std::pair<int64_t, int64_t>>; // sizes and strides

/// The part that a dropout of `shape` ("4x3x") has of `whole`.
RandomPart partOf(const std::string &shape, const std::string &whole) {
  std::string type = "tensor<" + shape + "f32>";
  std::string tail = whole.empty() ? "" : " origin %o of [" + whole + "]";
  ParsedFunction f("%x: " + type + ", %k: tensor<3xi64>, %o: tensor<i64>",
                   "%d = hone.dropout %x, %k p 0.5 salt 1" + tail + " : " +
                       type + ", tensor<3xi64>");
  return RandomPart::of(cast<RandomOpInterface>(f.ops().front()));
}

Dims dimsOf(const RandomPart &part) {
  Dims dims;
  for (RandomPart::Dim dim : part.dims)
    dims.emplace_back(dim.size, dim.stride);
  return dims;
}
} // namespace

TEST(RandomPart, AWholeIsARun) {
  RandomPart part = partOf("2x3x5x", "");
  EXPECT_EQ(dimsOf(part), (Dims{{30, 1}}));
  EXPECT_TRUE(part.isRun());
  EXPECT_TRUE(part.keepsCounters());
}

TEST(RandomPart, WholeInnerDimensionsMakeARun) {
  RandomPart part = partOf("2x3x8x", "6, 3, 8");
  EXPECT_EQ(dimsOf(part), (Dims{{48, 1}}));
  EXPECT_TRUE(part.keepsCounters());
  // The second of three parts begins at 15.
  RandomPart odd = partOf("1x3x5x", "3, 3, 5");
  EXPECT_TRUE(odd.isRun());
  EXPECT_FALSE(odd.keepsCounters());
}

TEST(RandomPart, RowsOfARowAreOneDimension) {
  // [2, 4, 8] of [2, 12, 8]: batches that lie 96 apart, of 32 each.
  RandomPart part = partOf("2x4x8x", "2, 12, 8");
  EXPECT_EQ(dimsOf(part), (Dims{{2, 96}, {32, 1}}));
  EXPECT_FALSE(part.isRun());
  EXPECT_TRUE(part.keepsCounters());
}

TEST(RandomPart, ColumnsKeepCountersInFours) {
  EXPECT_EQ(dimsOf(partOf("2x6x4x", "2, 6, 12")), (Dims{{12, 12}, {4, 1}}));
  EXPECT_TRUE(partOf("2x6x4x", "2, 6, 12").keepsCounters());
  EXPECT_FALSE(partOf("2x6x3x", "2, 6, 12").keepsCounters());
  EXPECT_FALSE(partOf("2x6x6x", "2, 6, 12").keepsCounters()); // begins at 6
}

TEST(RandomPart, SizesOfOneAreNoDimensions) {
  EXPECT_EQ(dimsOf(partOf("1x4x1x", "2, 4, 1")), (Dims{{4, 1}}));
  EXPECT_EQ(dimsOf(partOf("5x1x", "5, 4")), (Dims{{5, 4}}));
  EXPECT_FALSE(partOf("5x1x", "5, 4").isRun());
  EXPECT_EQ(dimsOf(partOf("1x1x", "4, 4")), (Dims{{1, 1}}));
}
