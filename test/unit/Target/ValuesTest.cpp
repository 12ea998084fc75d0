//===- ValuesTest.cpp - What device code computes -------------------------===//

#include "DeviceCase.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace hone::test;

namespace {
/// A kernel of one block per 256 elements, with `op` of %v as %w.
std::string mapOf(const std::string &op, const std::string &from = "f32",
                  const std::string &to = "f32") {
  return "gpu.func @map(%x: memref<65536x" + from + ">, %y: memref<65536x" +
         to +
         R"(>) kernel attributes {nvvm.maxntid = array<i32: 256>} {
  %t = gpu.thread_id x
  %b = gpu.block_id x
  %n = gpu.block_dim x
  %base = arith.muli %b, %n : index
  %i = arith.addi %base, %t : index
  %v = memref.load %x[%i] : memref<65536x)" +
         from + ">\n" + op + "\n  memref.store %w, %y[%i] : memref<65536x" +
         to + ">\n  gpu.return\n}";
}

template <typename To, typename From>
std::vector<To> map(const std::string &kernel, std::vector<From> x) {
  x.resize(65536);
  std::vector<To> y(x.size());
  DeviceCase device(kernel);
  device.jit.launch("map", 256, 256, {bufferOf(x), bufferOf(y)});
  return y;
}

uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
float floatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

std::vector<float> numbersBetween(float low, float high) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> numbers(65536);
  for (float &number : numbers)
    number = uniform(random);
  return numbers;
}

/// Units in the last place of `want` between it and `got`.
double ulps(float got, double want) {
  if (got == static_cast<float>(want))
    return 0;
  double unit = std::ldexp(1.0, std::max(std::ilogb(want), -126) - 23);
  return std::abs(got - want) / unit;
}

double worst(const std::string &op, double (*function)(double), float low,
             float high) {
  std::vector<float> x = numbersBetween(low, high);
  std::vector<float> y =
      map<float>(mapOf("  %w = math." + op + " %v : f32"), x);
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i)
    most = std::max(most, ulps(y[i], function(x[i])));
  return most;
}
} // namespace

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// Half a unit for the emulated instruction, half for the product, and up to one
// for the factor, where the result is just below a power of two. A GPU's
// instruction errs by up to 2 units.
TEST(DeviceMath, ExpIsRightAtAnySize) {
  EXPECT_LE(worst("exp", std::exp, -87.3f, 88.7f), 2);
  EXPECT_LE(worst("exp", std::exp, -1.0f, 1.0f), 2);
  EXPECT_LE(worst("exp", std::exp, -0.01f, 0.01f), 2);
}

TEST(DeviceMath, ExpAtItsEnds) {
  float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> y =
      map<float>(mapOf("  %w = math.exp %v : f32"),
                 std::vector<float>{0, infinity, -infinity, 89.0f, 1e30f,
                                    -89.0f, -1e30f, std::nanf("")});
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], infinity);
  EXPECT_EQ(y[2], 0.0f);
  EXPECT_EQ(y[3], infinity);
  EXPECT_EQ(y[4], infinity);
  EXPECT_EQ(y[5], 0.0f);
  EXPECT_EQ(y[6], 0.0f);
  EXPECT_TRUE(std::isnan(y[7]));
}

// Polynomials of MLIR in f32: a few roundings each.
TEST(DeviceMath, Polynomials) {
  EXPECT_LE(worst("log", std::log, 1e-6f, 0.9f), 4);
  EXPECT_LE(worst("log", std::log, 0.9f, 1.1f), 4);
  EXPECT_LE(worst("log", std::log, 1.1f, 1e6f), 4);
  EXPECT_LE(worst("tanh", std::tanh, -9.0f, 9.0f), 8);
}

// A GPU's instruction errs by 2 units of 1 - erf, which is less.
TEST(DeviceMath, ErfIsRightAtAnySize) {
  EXPECT_LE(worst("erf", std::erf, -6.0f, 6.0f), 1.3);
  EXPECT_LE(worst("erf", std::erf, 0.8f, 1.0f), 1.3);
  EXPECT_LE(worst("erf", std::erf, -1e-3f, 1e-3f), 1.3);
  EXPECT_LE(worst("erf", std::erf, -1e-30f, 1e-30f), 1.3);
}

// The emulated reciprocal is the nearest number.
TEST(DeviceMath, ApproximateReciprocal) {
  float infinity = std::numeric_limits<float>::infinity();
  std::string reciprocal =
      mapOf("  %c = arith.constant 1.0 : f32\n"
            "  %w = arith.divf %c, %v fastmath<afn> : f32");
  std::vector<float> x = numbersBetween(1.0f, 1e6f);
  x[0] = infinity;
  x[1] = std::nanf("");
  x[2] = 3e38f; // whose reciprocal is no normal number
  std::vector<float> y = map<float>(reciprocal, x);
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 0.0f);
  for (size_t i = 3; i < x.size(); ++i)
    EXPECT_LE(ulps(y[i], 1.0 / x[i]), 0.5) << x[i];
}

TEST(DeviceMath, ErfAtItsEnds) {
  float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> y =
      map<float>(mapOf("  %w = math.erf %v : f32"),
                 std::vector<float>{infinity, -infinity, 3.9f, -5.0f, 1e30f,
                                    -0.0f, std::nanf("")});
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], -1.0f);
  EXPECT_LE(ulps(y[2], std::erf(3.9)), 1);
  EXPECT_EQ(y[3], -1.0f);
  EXPECT_EQ(y[4], 1.0f);
  EXPECT_EQ(bitsOf(y[5]), bitsOf(-0.0f));
  EXPECT_TRUE(std::isnan(y[6]));
}

/// The kernel of x^y for each pair.
static const std::string power = R"(
gpu.func @power(%x: memref<4096xf32>, %y: memref<4096xf32>, %z: memref<4096xf32>)
    kernel attributes {nvvm.maxntid = array<i32: 256>} {
  %t = gpu.thread_id x
  %b = gpu.block_id x
  %n = gpu.block_dim x
  %base = arith.muli %b, %n : index
  %i = arith.addi %base, %t : index
  %v = memref.load %x[%i] : memref<4096xf32>
  %e = memref.load %y[%i] : memref<4096xf32>
  %w = math.powf %v, %e : f32
  memref.store %w, %z[%i] : memref<4096xf32>
  gpu.return
})";

// In f64, with one rounding to f32 at the end.
TEST(DeviceMath, Power) {
  std::vector<float> x, y, z(4096);
  float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> special = {
      0.0f,   -0.0f, 1.0f,   -1.0f,       2.0f,         -2.0f,
      0.5f,   -0.5f, 3.0f,   -3.0f,       infinity,     -infinity,
      1e-40f, 1e30f, 1e-30f, 16777217.0f, std::nanf("")};
  for (float base : special)
    for (float exponent : special) {
      x.push_back(base);
      y.push_back(exponent);
    }
  std::mt19937 random(13);
  std::uniform_real_distribution<float> bases(1e-4f, 1e4f), exponents(-9, 9);
  while (x.size() < 4096) {
    x.push_back(bases(random));
    y.push_back(exponents(random));
  }
  DeviceCase device(power);
  device.jit.launch("power", 16, 256, {bufferOf(x), bufferOf(y), bufferOf(z)});
  for (size_t i = 0; i < x.size(); ++i) {
    double want = std::pow(double(x[i]), double(y[i]));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(z[i])) << x[i] << "^" << y[i];
      continue;
    }
    EXPECT_EQ(std::signbit(z[i]), std::signbit(want)) << x[i] << "^" << y[i];
    if (std::isinf(static_cast<float>(want)) || want == 0)
      EXPECT_EQ(z[i], static_cast<float>(want)) << x[i] << "^" << y[i];
    else
      EXPECT_LE(ulps(z[i], want), 0.51) << x[i] << "^" << y[i];
  }
}

// Correctly rounded instructions.
TEST(DeviceMath, RootAndQuotient) {
  EXPECT_LE(worst("sqrt", std::sqrt, 1e-30f, 1e30f), 0.5);
  EXPECT_LE(
      worst(
          "rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-30f, 1e30f),
      0.5001);
  std::vector<float> x = numbersBetween(0.1f, 10.0f);
  std::vector<float> y = map<float>(mapOf("  %c = arith.constant 7.0 : f32\n"
                                          "  %w = arith.divf %c, %v : f32"),
                                    x);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i], 7.0f / x[i]);
}

// A product and a sum stay two roundings unless fma says otherwise.
TEST(DeviceMath, NothingIsContracted) {
  std::vector<float> x = numbersBetween(-2.0f, 2.0f);
  std::vector<float> apart = map<float>(
      mapOf("  %p = arith.mulf %v, %v : f32\n  %w = arith.subf %p, %v : f32"),
      x);
  std::vector<float> fused =
      map<float>(mapOf("  %m = arith.negf %v : f32\n"
                       "  %w = math.fma %v, %v, %m : f32"),
                 x);
  for (size_t i = 0; i < x.size(); ++i) {
    volatile float product = x[i] * x[i];
    ASSERT_EQ(apart[i], product - x[i]);
    ASSERT_EQ(fused[i], std::fma(x[i], x[i], -x[i]));
  }
}

//===----------------------------------------------------------------------===//
// Narrow types
//===----------------------------------------------------------------------===//

/// To nearest even, subnormals too.
static uint16_t nearestBFloat(float x) {
  uint32_t bits = bitsOf(x);
  if (std::isnan(x))
    return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

TEST(DeviceBFloat, RoundsAsPtxDoes) {
  std::vector<float> x;
  std::mt19937 random(11);
  for (int i = 0; i < 65536; ++i)
    x.push_back(floatOf(random()));
  x[0] = floatOf(0x00018000); // halfway between subnormals
  x[1] = floatOf(0x7f7fffff); // rounds to infinity
  x[2] = floatOf(0xffffffff); // NaN
  std::vector<uint16_t> y = map<uint16_t>(
      mapOf("  %w = arith.truncf %v : f32 to bf16", "f32", "bf16"), x);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i], nearestBFloat(x[i])) << std::hex << bitsOf(x[i]);
}

// One rounding, not one to f32 and another: 2^24 + 2^16 + 1 is above the
// middle.
TEST(DeviceBFloat, OfIntegersIsRoundedOnce) {
  std::vector<int32_t> x = {0, 1, -1, 257, 258, 259, 0x1010001, -0x1010001};
  std::mt19937 random(17);
  while (x.size() < 65536)
    x.push_back(static_cast<int32_t>(random()) >> random() % 24);
  std::vector<uint16_t> y = map<uint16_t>(
      mapOf("  %w = arith.sitofp %v : i32 to bf16", "i32", "bf16"), x);
  for (size_t i = 0; i < x.size(); ++i) {
    double unit = x[i] == 0 ? 1 : std::ldexp(1.0, std::ilogb(x[i]) - 7);
    auto want = static_cast<float>(std::nearbyint(x[i] / unit) * unit);
    ASSERT_EQ(y[i], bitsOf(want) >> 16) << x[i];
  }
}

TEST(DeviceBFloat, WidensExactly) {
  std::vector<uint16_t> x;
  for (int i = 0; i < 65536; ++i)
    x.push_back(static_cast<uint16_t>(i));
  std::vector<float> y =
      map<float>(mapOf("  %w = arith.extf %v : bf16 to f32", "bf16", "f32"), x);
  for (size_t i = 0; i < x.size(); ++i)
    if (!std::isnan(y[i])) {
      ASSERT_EQ(bitsOf(y[i]), uint32_t(x[i]) << 16);
    }
}

/// x + x by eight bf16 at a time, the last vector of a row in parts.
TEST(DeviceBFloat, VectorsWithATail) {
  DeviceCase device(R"(
gpu.func @twice(%x: memref<2x20xbf16>, %y: memref<2x20xbf16>) kernel
    attributes {nvvm.maxntid = array<i32: 32>} {
  %t = gpu.thread_id x
  %row = gpu.block_id x
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c20 = arith.constant 20 : index
  %busy = arith.cmpi ult, %t, %c3 : index
  scf.if %busy {
    %i = arith.muli %t, %c8 : index
    %left = arith.subi %c20, %i : index
    %mask = vector.create_mask %left : vector<8xi1>
    %zero = arith.constant dense<0.0> : vector<8xbf16>
    %v = vector.maskedload %x[%row, %i], %mask, %zero
        : memref<2x20xbf16>, vector<8xi1>, vector<8xbf16> into vector<8xbf16>
    %wide = arith.extf %v : vector<8xbf16> to vector<8xf32>
    %sum = arith.addf %wide, %wide : vector<8xf32>
    %w = arith.truncf %sum : vector<8xf32> to vector<8xbf16>
    vector.maskedstore %y[%row, %i], %mask, %w
        : memref<2x20xbf16>, vector<8xi1>, vector<8xbf16>
  }
  gpu.return
})");
  std::vector<uint16_t> x(40), y(40);
  for (int i = 0; i < 40; ++i)
    x[i] = nearestBFloat(float(i));
  device.jit.launch("twice", 2, 32, {bufferOf(x), bufferOf(y)});
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(y[i], nearestBFloat(2.0f * i));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST(DeviceMemory, ConstantsAreKnown) {
  DeviceCase device(R"(
memref.global "private" constant @table : memref<4xf32> = dense<[1.0, 2.0, 4.0, 8.0]>
gpu.func @look(%x: memref<64xi32>, %y: memref<64xf32>) kernel
    attributes {nvvm.maxntid = array<i32: 64>} {
  %t = gpu.thread_id x
  %table = memref.get_global @table : memref<4xf32>
  %i = memref.load %x[%t] : memref<64xi32>
  %at = arith.index_cast %i : i32 to index
  %v = memref.load %table[%at] : memref<4xf32>
  memref.store %v, %y[%t] : memref<64xf32>
  gpu.return
})");
  std::vector<int32_t> x(64);
  std::vector<float> y(64);
  for (int i = 0; i < 64; ++i)
    x[i] = i % 4;
  device.jit.launch("look", 1, 64, {bufferOf(x), bufferOf(y)});
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(y[i], std::ldexp(1.0f, i % 4));
  x[5] = 4;
  expectSays(device.jit.run("look", 1, 64, {bufferOf(x), bufferOf(y)}),
             "thread 5: reads 4 bytes at byte 16 of 16 bytes of global");
}

TEST(DeviceMemory, AtomicSumsAreNoRace) {
  DeviceCase device(R"(
gpu.func @count(%y: memref<1xf32>) kernel attributes {nvvm.maxntid = array<i32: 64>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %old = memref.atomic_rmw addf %one, %y[%c0] : (f32, memref<1xf32>) -> f32
  gpu.return
})");
  std::vector<float> y = {0};
  device.jit.launch("count", 4, 64, {bufferOf(y)});
  EXPECT_EQ(y[0], 256.0f);
}

TEST(DeviceMemory, StackArraysBelongToTheirThread) {
  DeviceCase device(R"(
gpu.func @turn(%x: memref<64x8xf32>, %y: memref<64x8xf32>) kernel
    attributes {nvvm.maxntid = array<i32: 64>} {
  %t = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %own = memref.alloca() : memref<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%t, %i] : memref<64x8xf32>
    %moved = arith.addi %i, %t : index
    %at = arith.andi %moved, %c7 : index
    memref.store %v, %own[%at] : memref<8xf32>
  }
  gpu.barrier
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %own[%i] : memref<8xf32>
    memref.store %v, %y[%t, %i] : memref<64x8xf32>
  }
  gpu.return
})");
  std::vector<float> x(512), y(512);
  for (int i = 0; i < 512; ++i)
    x[i] = float(i);
  device.jit.launch("turn", 1, 64, {bufferOf(x), bufferOf(y)});
  for (int t = 0; t < 64; ++t)
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(y[8 * t + (i + t) % 8], x[8 * t + i]);
}

/// A wide product as Philox has it, and a shuffle of 64 bits.
TEST(DeviceMemory, WideIntegers) {
  DeviceCase device(R"(
gpu.func @wide(%x: memref<32xi32>, %y: memref<32xi32>, %z: memref<32xf64>) kernel
    attributes {nvvm.maxntid = array<i32: 32>} {
  %t = gpu.thread_id x
  %v = memref.load %x[%t] : memref<32xi32>
  %m = arith.constant 0xD2511F53 : i32
  %low, %high = arith.mului_extended %v, %m : i32
  memref.store %high, %y[%t] : memref<32xi32>
  %f = arith.uitofp %v : i32 to f64
  %one = arith.constant 1 : i32
  %width = arith.constant 32 : i32
  %other, %valid = gpu.shuffle xor %f, %one, %width : f64
  memref.store %other, %z[%t] : memref<32xf64>
  gpu.return
})");
  std::vector<int32_t> x(32), y(32);
  std::vector<double> z(32);
  std::mt19937 random(5);
  for (int32_t &one : x)
    one = static_cast<int32_t>(random());
  device.jit.launch("wide", 1, 32, {bufferOf(x), bufferOf(y), bufferOf(z)});
  for (int i = 0; i < 32; ++i) {
    uint64_t product = uint64_t(uint32_t(x[i])) * 0xD2511F53u;
    EXPECT_EQ(uint32_t(y[i]), uint32_t(product >> 32));
    EXPECT_EQ(z[i], double(uint32_t(x[i ^ 1])));
  }
}
