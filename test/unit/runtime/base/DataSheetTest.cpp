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
  EXPECT_EQ(findDataSheet("NVIDIA H200")->gib, 141);
  EXPECT_EQ(findDataSheet("NVIDIA GB200")->narrow, 2500e12);
  EXPECT_EQ(findDataSheet("NVIDIA B200")->narrow, 2250e12);
  EXPECT_EQ(findDataSheet("NVIDIA B300 SXM6 AC")->narrow, 2250e12);
  EXPECT_EQ(findDataSheet("NVIDIA GH200 480GB")->bandwidth, 4.0e12);
  EXPECT_EQ(findDataSheet("NVIDIA H20")->narrow, 148e12);
  EXPECT_EQ(findDataSheet("NVIDIA L4")->narrow, 121e12);
  EXPECT_EQ(findDataSheet("NVIDIA L40S")->narrow, 362e12);
  EXPECT_EQ(findDataSheet("NVIDIA A10")->narrow, 125e12);
  EXPECT_EQ(findDataSheet("NVIDIA GeForce RTX 4070 Ti SUPER")->narrow, 88.2e12);
  EXPECT_EQ(findDataSheet("NVIDIA GeForce RTX 4070")->narrow, 58.3e12);
  EXPECT_EQ(findDataSheet("NVIDIA GeForce RTX 5090")->bandwidth, 1.792e12);
}

TEST(DataSheet, knows_no_others) {
  for (const char *name : {"NVIDIA T4", "NVIDIA RTX A4000", "NVIDIA A10G", "",
                           "NVIDIA GeForce RTX 4090 Laptop GPU"})
    EXPECT_FALSE(findDataSheet(name)) << name;
}

TEST(DataSheet, of_a_slice_is_its_share) {
  EXPECT_EQ(findDataSheet("NVIDIA H200 MIG 3g.71gb")->narrow, 989e12 * 3 / 8);
  EXPECT_EQ(findDataSheet("NVIDIA H200 MIG 3g.71gb")->bandwidth, 2.4e12);
  EXPECT_EQ(findDataSheet("NVIDIA H200 MIG 3g.71gb")->gib, 70.5);
  EXPECT_EQ(findDataSheet("NVIDIA A100-SXM4-40GB MIG 1g.5gb")->narrow, 39e12);
  EXPECT_EQ(findDataSheet("NVIDIA H100 80GB HBM3 MIG 7g.80gb")->f32, 67e12);
  EXPECT_FALSE(findDataSheet("NVIDIA H200 MIG 5g.88gb"));
  EXPECT_FALSE(findDataSheet("NVIDIA H200 MIG "));
}

} // namespace
