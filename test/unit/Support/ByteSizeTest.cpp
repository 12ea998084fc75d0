//===- ByteSizeTest.cpp - Bytes as text -----------------------------------===//

#include "hone/Support/ByteSize.h"

#include "gtest/gtest.h"

using namespace hone;

namespace {
TEST(Sizes, WhatIsTypedIsNeverLess) {
  EXPECT_EQ(formatBytesToType(1), "1B");
  EXPECT_EQ(formatBytesToType(1023), "1023B");
  EXPECT_EQ(formatBytesToType(1024), "1.00KiB");
  EXPECT_EQ(formatBytesToType(5696), "5.57KiB");
  EXPECT_EQ(formatBytes(5696), "5.56 KiB");
  uint64_t state = 1;
  for (int i = 0; i < 100000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int64_t bytes = int64_t(state >> (16 + i % 44)) + 1; // up to 256 TiB
    std::optional<int64_t> typed = parseBytes(formatBytesToType(bytes));
    ASSERT_TRUE(typed && *typed >= bytes) << bytes;
    // Within a hundredth of the unit that is shown.
    ASSERT_LE(double(*typed - bytes), double(bytes) * 0.011) << bytes;
  }
}
} // namespace
