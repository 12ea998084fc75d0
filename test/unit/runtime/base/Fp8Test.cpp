//===- Fp8Test.cpp - Codes of eight bits, their scales and layouts --------===//

#include "base/Fp8.h"
#include "base/ScaleLayout.h"

#include <gtest/gtest.h>

#include <set>

using namespace honert;

namespace {

constexpr Fp8Format e4m3 = Fp8Format::e4m3, e5m2 = Fp8Format::e5m2;

TEST(Fp8, codes_keep_their_values) {
  for (Fp8Format format : {e4m3, e5m2})
    for (int code = 0; code != 256; ++code) {
      float value = decodeFp8(format, uint8_t(code));
      if (std::isnan(value))
        EXPECT_EQ(encodeFp8(format, value), fp8Nan);
      else if (std::isinf(value)) // is read, but never made
        EXPECT_EQ(encodeFp8(format, value), code == 0x7c ? 0x7b : 0xfb);
      else
        EXPECT_EQ(encodeFp8(format, value), code) << code;
    }
}

TEST(Fp8, known_values) {
  EXPECT_EQ(decodeFp8(e4m3, 0x7e), 448);
  EXPECT_EQ(decodeFp8(e4m3, 0x38), 1);
  EXPECT_EQ(decodeFp8(e4m3, 0x01), 0x1p-9);
  EXPECT_EQ(decodeFp8(e4m3, 0x08), 0x1p-6);
  EXPECT_TRUE(std::isnan(decodeFp8(e4m3, 0x7f)));
  EXPECT_TRUE(std::isnan(decodeFp8(e4m3, 0xff)));
  EXPECT_EQ(decodeFp8(e5m2, 0x7b), 57344);
  EXPECT_EQ(decodeFp8(e5m2, 0x3c), 1);
  EXPECT_EQ(decodeFp8(e5m2, 0x01), 0x1p-16);
  EXPECT_EQ(decodeFp8(e5m2, 0xfc), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(decodeFp8(e5m2, 0x7d)));
}

// The number between two codes goes to the even one; a little beyond it to the
// nearer one.
TEST(Fp8, ties_go_to_even_codes) {
  for (Fp8Format format : {e4m3, e5m2})
    for (int code = 0; code < factsOf(format).largest; ++code) {
      double below = decodeFp8(format, uint8_t(code));
      double above = decodeFp8(format, uint8_t(code + 1));
      double middle = (below + above) / 2;
      EXPECT_EQ(encodeFp8(format, middle), code + code % 2);
      EXPECT_EQ(encodeFp8(format, std::nextafter(middle, 0)), code);
      EXPECT_EQ(encodeFp8(format, std::nextafter(middle, 1e9)), code + 1);
      EXPECT_EQ(encodeFp8(format, -middle), 0x80 + code + code % 2);
    }
}

TEST(Fp8, large_numbers_saturate) {
  float infinity = std::numeric_limits<float>::infinity();
  for (double value : {448.0, 464.0, 480.0, 1e30, double(infinity)}) {
    EXPECT_EQ(encodeFp8(e4m3, value), 0x7e);
    EXPECT_EQ(encodeFp8(e4m3, -value), 0xfe);
  }
  EXPECT_EQ(encodeFp8(e4m3, 432.0), 0x7e); // a tie: 416 or 448
  EXPECT_EQ(encodeFp8(e4m3, 431.0), 0x7d);
  EXPECT_EQ(encodeFp8(e5m2, 61440.0), 0x7b);
  EXPECT_EQ(encodeFp8(e5m2, infinity), 0x7b);
  EXPECT_EQ(encodeFp8(e4m3, -0.0), 0x80);
}

TEST(Fp8, scales_are_the_smallest_without_saturation) {
  for (Fp8Format format : {e4m3, e5m2}) {
    double top = std::ldexp(1.75, factsOf(format).topExponent);
    for (double amax : {1.0, 1.75, std::nextafter(1.75, 2), 1.99, 448.0, 449.0,
                        1e-20, 3e38, 0x1p-100}) {
      double scale = fp8Scale(format, amax);
      EXPECT_LE(amax / scale, top);
      EXPECT_GT(amax / scale, top / 2);
      EXPECT_EQ(decodeMxScale(fp8MxScale(format, amax)), scale);
    }
  }
  EXPECT_EQ(fp8ScaleExponent(e4m3, 1.0), -8);
  EXPECT_EQ(fp8ScaleExponent(e4m3, 448.0), 0);
  EXPECT_EQ(fp8ScaleExponent(e4m3, 449.0), 1);
  EXPECT_EQ(fp8ScaleExponent(e5m2, 57344.0), 0);
}

TEST(Fp8, scales_at_the_ends) {
  float infinity = std::numeric_limits<float>::infinity();
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (Fp8Format format : {e4m3, e5m2}) {
    EXPECT_EQ(fp8Scale(format, 0), 1.0f);
    EXPECT_EQ(fp8MxScale(format, 0), 127);
    EXPECT_EQ(fp8ScaleExponent(format, 0x1p-133), -126); // the last of bf16
    for (float amax : {infinity, nan}) {
      EXPECT_EQ(fp8ScaleExponent(format, amax), 0);
      EXPECT_TRUE(std::isnan(fp8Scale(format, amax)));
      EXPECT_EQ(fp8MxScale(format, amax), 0xff);
    }
  }
  EXPECT_TRUE(std::isnan(decodeMxScale(0xff)));
  EXPECT_TRUE(std::isnan(largerMagnitude(1, nan)));
  EXPECT_TRUE(std::isnan(largerMagnitude(nan, 1)));
  EXPECT_EQ(largerMagnitude(1, -2), 2);
}

// No carry of the code, the scale and the number are multiplied exactly.
TEST(Fp8, codes_times_scales_are_numbers_of_bf16) {
  for (Fp8Format format : {e4m3, e5m2})
    for (double value : {0.3, -1.7, 3e-5, 117.0, 2.9e20}) {
      int exponent = fp8ScaleExponent(format, std::fabs(value));
      uint8_t code = encodeFp8(format, value, exponent);
      double again = std::ldexp(decodeFp8(format, code), exponent);
      EXPECT_LE(std::fabs(again - value),
                std::fabs(value) / (2 << factsOf(format).mantissaBits));
      EXPECT_EQ(std::fmod(std::ldexp(again, 7 - std::ilogb(again)), 1), 0);
    }
}

TEST(ScaleLayout, shapes) {
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ((ScaleLayout{ScaleTile::tensor, 40, 1600}.shape()), Sizes());
  EXPECT_EQ((ScaleLayout{ScaleTile::row128, 40, 1600}.shape()),
            (Sizes{13, 40}));
  EXPECT_EQ((ScaleLayout{ScaleTile::block128, 300, 1600}.shape()),
            (Sizes{3, 16}));
  EXPECT_EQ((ScaleLayout{ScaleTile::row32, 40, 1600}.shape()), Sizes{13 * 512});
}

TEST(ScaleLayout, every_tile_has_its_own_scale) {
  for (ScaleTile tile : {ScaleTile::tensor, ScaleTile::row128,
                         ScaleTile::block128, ScaleTile::row32}) {
    ScaleLayout layout{tile, 300, 200};
    std::set<int64_t> seen;
    for (int64_t row = 0; row != layout.tileRows(); ++row)
      for (int64_t column = 0; column != layout.tileColumns(); ++column) {
        int64_t index = layout.index(row, column);
        EXPECT_TRUE(index >= 0 && index < layout.size());
        EXPECT_TRUE(seen.insert(index).second);
      }
    int64_t size = 1;
    for (int64_t dim : layout.shape())
      size *= dim;
    EXPECT_EQ(layout.size(), size);
  }
}

// Of the manual of cuBLASLt: "(outer % 32) * 16 + (outer / 32) * 4 + inner".
TEST(ScaleLayout, known_places) {
  ScaleLayout mx{ScaleTile::row32, 256, 32 * 8};
  EXPECT_EQ(mx.index(0, 0), 0);
  EXPECT_EQ(mx.index(1, 0), 16);
  EXPECT_EQ(mx.index(32, 1), 5);
  EXPECT_EQ(mx.index(127, 3), 511);
  EXPECT_EQ(mx.index(0, 4), 512);
  EXPECT_EQ(mx.index(128, 0), 1024);
  EXPECT_EQ(mx.indexOfCode(1, 31), 16);
  ScaleLayout rows{ScaleTile::row128, 40, 256};
  EXPECT_EQ(rows.indexOfCode(7, 130), 47);
  ScaleLayout blocks{ScaleTile::block128, 256, 640};
  EXPECT_EQ(blocks.indexOfCode(130, 300), 10);
}

TEST(ScaleLayout, which_products_exist) {
  EXPECT_TRUE(canMultiply(ScaleTile::row128, ScaleTile::block128));
  EXPECT_TRUE(canMultiply(ScaleTile::row128, ScaleTile::row128));
  EXPECT_TRUE(canMultiply(ScaleTile::tensor, ScaleTile::tensor));
  EXPECT_FALSE(canMultiply(ScaleTile::block128, ScaleTile::block128));
  EXPECT_FALSE(canMultiply(ScaleTile::row32, ScaleTile::row128));
  EXPECT_FALSE(canMultiply(ScaleTile::tensor, ScaleTile::block128));
  EXPECT_EQ(scaleTileOf(1, 32), ScaleTile::row32);
  EXPECT_EQ(scaleTileOf(32, 1), std::nullopt);
}

} // namespace
