//===- AccessesTest.cpp - What a launch reads and writes ------------------===//

#include "program/Accesses.h"

#include "gtest/gtest.h"

using namespace honert;

/// c[64,32] at 16384 of codes a[64,256] at 0 and b[32,256] at 32768, with
/// scales of 1 x 128 at 1048576 and 2097152.
static MatmulLaunch productOfCodes() {
  MatmulLaunch launch{
      1, 64,    32,    256, {0, 256, 1, 0, 1, 256, 0, 32, 1, 0, 0, 0},
      0, 32768, 16384, -1,  -1};
  launch.operand = DType::f8e4m3;
  launch.scales = ProductScales{{ScaleMode::vector128, 1 << 20},
                                {ScaleMode::vector128, 2 << 20},
                                DType::f8e4m3,
                                /*isFast=*/false};
  return launch;
}

static bool isBehind(ZeroLaunch writer) {
  return accessesOf(Launch{"product", "", productOfCodes()})
      .conflictsWith(accessesOf(Launch{"zero", "", writer}));
}

TEST(Accesses, a_product_reads_its_codes_and_their_scales) {
  const int64_t scalesOfA = 1 << 20, scalesOfB = 2 << 20;
  EXPECT_TRUE(isBehind({64 * 256 - 4, 4}));
  EXPECT_TRUE(isBehind({32768 + 32 * 256 - 4, 4}));
  EXPECT_TRUE(isBehind({scalesOfA, 4}));
  EXPECT_TRUE(isBehind({scalesOfA + 2 * 64 * 4 - 4, 4}));
  EXPECT_FALSE(isBehind({scalesOfA + 2 * 64 * 4, 4}));
  EXPECT_TRUE(isBehind({scalesOfB + 2 * 32 * 4 - 4, 4}));
  EXPECT_FALSE(isBehind({scalesOfB + 2 * 32 * 4, 4}));
}
