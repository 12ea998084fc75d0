//===- DataSheetTest.cpp - What NVIDIA publishes of its GPUs --------------===//

#include "base/DataSheet.h"

#include <gtest/gtest.h>

using namespace honert;

namespace {

/// Names as the driver gives them.
TEST(DataSheet, tells_variants_from_their_family) {
  EXPECT_EQ(findDataSheet("NVIDIA A100-SXM4-80GB")->bandwidth, 2.039e12);
  EXPECT_EQ(findDataSheet("NVIDIA A100-SXM4-40GB")->bandwidth, 1.555e12);
  EXPECT_EQ(findDataSheet("NVIDIA H100 PCIe")->narrow, 756e12);
  EXPECT_EQ(findDataSheet("NVIDIA H100 80GB HBM3")->narrow, 989e12);
  EXPECT_EQ(findDataSheet("NVIDIA H200")->bandwidth, 4.8e12);
  EXPECT_EQ(findDataSheet("NVIDIA GB200")->narrow, 2500e12);
  EXPECT_EQ(findDataSheet("NVIDIA B200")->narrow, 2250e12);
  EXPECT_EQ(findDataSheet("NVIDIA T4"), nullptr);
}

} // namespace
