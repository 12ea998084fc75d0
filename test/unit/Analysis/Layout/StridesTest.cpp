//===- StridesTest.cpp - Dimensions that share a stride -------------------===//

#include "hone/Analysis/Layout/Strides.h"

#include "gtest/gtest.h"

using namespace hone;

namespace {
using Sizes = llvm::SmallVector<int64_t>;

void expectIndex(Sizes shape, Sizes strides, Sizes dims, int64_t size,
                 int64_t stride) {
  std::optional<CollapsedDims> index = collapseDims(shape, strides, dims);
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->size, size);
  EXPECT_EQ(index->stride, stride);
}

TEST(Strides, RowMajor) {
  EXPECT_EQ(rowMajorStrides({}), (Sizes{}));
  EXPECT_EQ(rowMajorStrides({4}), (Sizes{1}));
  EXPECT_EQ(rowMajorStrides({2, 3, 5}), (Sizes{15, 5, 1}));
  EXPECT_EQ(rowMajorStrides({2, 1, 5}), (Sizes{5, 5, 1}));
  EXPECT_EQ(rowMajorStrides({2, 0, 5}), (Sizes{0, 5, 1}));
}

TEST(Strides, NeighboursAreOneIndex) {
  expectIndex({2, 3, 5}, {15, 5, 1}, {0, 1}, 6, 5);
  expectIndex({2, 3, 5}, {15, 5, 1}, {0, 1, 2}, 30, 1);
}

TEST(Strides, NoDimensionIsOneElement) {
  expectIndex({2, 3}, {3, 1}, {}, 1, 0);
}

TEST(Strides, DimensionsOfOneElementAreNeverWalked) {
  expectIndex({2, 1, 3}, {3, 77, 1}, {0, 1, 2}, 6, 1);
  expectIndex({1, 1}, {5, 9}, {0, 1}, 1, 0);
}

TEST(Strides, OutermostFirst) {
  EXPECT_FALSE(collapseDims({2, 3}, {3, 1}, {1, 0}).has_value());
}

TEST(Strides, AGapNeedsTwoStrides) {
  // The middle dimension is another index's.
  EXPECT_FALSE(collapseDims({2, 3, 5}, {15, 5, 1}, {0, 2}).has_value());
  // Rows of 5 in a buffer with rows of 8.
  EXPECT_FALSE(collapseDims({3, 5}, {8, 1}, {0, 1}).has_value());
}

TEST(Strides, EmptyTensorsCollapse) {
  expectIndex({2, 0, 5}, {0, 5, 1}, {0, 1, 2}, 0, 1);
}
} // namespace
