//===- Instructions.cpp - What device code calls --------------------------===//

#include "base/Fp8.h"
#include "emulation/kernels/Emulator.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

using namespace honert::emulator;

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

int32_t honemu_read_ptx_sreg_tid_x() { return Emulator::active().threadId(); }
int32_t honemu_read_ptx_sreg_ntid_x() {
  return Emulator::active().threadCount();
}
int32_t honemu_read_ptx_sreg_ctaid_x() { return Emulator::active().blockId(); }
int32_t honemu_read_ptx_sreg_nctaid_x() {
  return Emulator::active().blockCount();
}
int32_t honemu_read_ptx_sreg_laneid() {
  return Emulator::active().threadId() % 32;
}
int32_t honemu_read_ptx_sreg_warpsize() { return 32; }

void honemu_barrier0() { Emulator::active().waitAtBarrier(); }
void honemu_membar_cta() {}
void honemu_membar_gl() {}
void honemu_membar_sys() {}

void honemu_access(void *address, int64_t bytes, int64_t alignment,
                   int64_t kind) {
  Emulator::active().access(reinterpret_cast<uintptr_t>(address),
                            static_cast<size_t>(bytes),
                            static_cast<size_t>(alignment), kind);
}

//===----------------------------------------------------------------------===//
// Shuffles and votes
//===----------------------------------------------------------------------===//

template <typename T>
static T exchange(ShuffleKind kind, int32_t members, T value, int32_t lane,
                  int32_t clamp) {
  static_assert(sizeof(T) == sizeof(uint32_t));
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = Emulator::active().exchange({kind, static_cast<uint32_t>(members),
                                      bits, static_cast<uint32_t>(lane),
                                      static_cast<uint32_t>(clamp)});
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

#define SHUFFLE(name, kind)                                                    \
  int32_t honemu_shfl_sync_##name##_i32(int32_t members, int32_t value,        \
                                        int32_t lane, int32_t clamp) {         \
    return exchange(ShuffleKind::kind, members, value, lane, clamp);           \
  }                                                                            \
  float honemu_shfl_sync_##name##_f32(int32_t members, float value,            \
                                      int32_t lane, int32_t clamp) {           \
    return exchange(ShuffleKind::kind, members, value, lane, clamp);           \
  }
SHUFFLE(bfly, Bfly)
SHUFFLE(down, Down)
SHUFFLE(up, Up)
SHUFFLE(idx, Idx)
#undef SHUFFLE

int32_t honemu_vote_ballot_sync(int32_t members, int32_t predicate) {
  return exchange(ShuffleKind::Ballot, members, predicate & 1, 0, 0);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Subnormal numbers as zero of their sign.
static float flush(float x) {
  return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x;
}

/// `x`, or a number that is up to `units` in the last place off: which, its
/// bits decide, so that equal operands give equal results.
static float approximate(float x, int units) {
  if (!Emulator::mayErr() || !std::isnormal(x))
    return x;
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  uint32_t hash = (bits ^ bits >> 15) * 0x9E3779B1u >> 16;
  auto distance = static_cast<int>(hash % (2u * units + 1)) - units;
  bits += static_cast<uint32_t>(distance);
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Exact results by way of f64, whose error vanishes in the rounding. The errors
// allowed are those of the PTX manual, relative ones as units in the last
// place.
static float nearestExp2(float x) {
  return approximate(static_cast<float>(std::exp2(static_cast<double>(x))), 2);
}
static float nearestLog2(float x) {
  return approximate(static_cast<float>(std::log2(static_cast<double>(x))), 2);
}
static float reciprocalRoot(float x) {
  double root = std::sqrt(static_cast<double>(x));
  return approximate(static_cast<float>(1.0 / root), 2);
}
static float reciprocal(float x) { return approximate(1.0f / x, 1); }
static float root(float x) { return approximate(std::sqrt(x), 1); }
static float quotient(float x, float y) { return approximate(x / y, 2); }

float honemu_ex2_approx_f(float x) { return nearestExp2(x); }
float honemu_ex2_approx_ftz_f(float x) { return flush(nearestExp2(flush(x))); }
float honemu_lg2_approx_f(float x) { return nearestLog2(x); }
float honemu_lg2_approx_ftz_f(float x) { return flush(nearestLog2(flush(x))); }
float honemu_rcp_approx_ftz_f(float x) { return flush(reciprocal(flush(x))); }
float honemu_rcp_rn_f(float x) { return 1.0f / x; }
float honemu_rsqrt_approx_f(float x) { return reciprocalRoot(x); }
float honemu_rsqrt_approx_ftz_f(float x) { return reciprocalRoot(flush(x)); }
float honemu_sqrt_approx_f(float x) { return root(x); }
float honemu_sqrt_approx_ftz_f(float x) { return root(flush(x)); }
float honemu_sqrt_rn_f(float x) { return std::sqrt(x); }
double honemu_sqrt_rn_d(double x) { return std::sqrt(x); }
float honemu_div_approx_f(float x, float y) { return quotient(x, y); }
float honemu_div_approx_ftz_f(float x, float y) {
  return flush(quotient(flush(x), flush(y)));
}
float honemu_div_rn_f(float x, float y) { return x / y; }
float honemu_fma_rn_f(float x, float y, float z) { return std::fma(x, y, z); }
float honemu_fma_rn_ftz_f(float x, float y, float z) {
  return flush(std::fma(flush(x), flush(y), flush(z)));
}
double honemu_fma_rn_d(double x, double y, double z) {
  return std::fma(x, y, z);
}

/// The lesser number; -0 is less than 0.
static float least(float x, float y) {
  if (x == y)
    return std::signbit(x) ? x : y;
  return std::fmin(x, y);
}
static float greatest(float x, float y) { return -least(-x, -y); }
static float orNaN(float x, float y, float result) {
  return std::isnan(x) || std::isnan(y)
             ? std::numeric_limits<float>::quiet_NaN()
             : result;
}

float honemu_fmin_f(float x, float y) { return least(x, y); }
float honemu_fmax_f(float x, float y) { return greatest(x, y); }
float honemu_fmin_ftz_f(float x, float y) { return least(flush(x), flush(y)); }
float honemu_fmax_ftz_f(float x, float y) {
  return greatest(flush(x), flush(y));
}
float honemu_fmin_nan_f(float x, float y) { return orNaN(x, y, least(x, y)); }
float honemu_fmax_nan_f(float x, float y) {
  return orNaN(x, y, greatest(x, y));
}
float honemu_fmin_ftz_nan_f(float x, float y) {
  return orNaN(x, y, least(flush(x), flush(y)));
}
float honemu_fmax_ftz_nan_f(float x, float y) {
  return orNaN(x, y, greatest(flush(x), flush(y)));
}

int32_t honemu_mulhi_i(int32_t x, int32_t y) {
  return static_cast<int32_t>(static_cast<int64_t>(x) * y >> 32);
}
int32_t honemu_mulhi_ui(int32_t x, int32_t y) {
  auto product = static_cast<uint64_t>(static_cast<uint32_t>(x)) *
                 static_cast<uint32_t>(y);
  return static_cast<int32_t>(product >> 32);
}
int64_t honemu_mulhi_ll(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<__int128>(x) * y >> 64);
}
int64_t honemu_mulhi_ull(int64_t x, int64_t y) {
  auto product = static_cast<unsigned __int128>(static_cast<uint64_t>(x)) *
                 static_cast<uint64_t>(y);
  return static_cast<int64_t>(product >> 64);
}

//===----------------------------------------------------------------------===//
// Codes of fp8
//===----------------------------------------------------------------------===//

static int16_t encodePair(honert::Fp8Format format, float high, float low) {
  return static_cast<int16_t>(honert::encodeFp8(format, high) << 8 |
                              honert::encodeFp8(format, low));
}

int16_t honemu_cvt_rn_satfinite_e4m3x2_f32(float high, float low) {
  return encodePair(honert::Fp8Format::e4m3, high, low);
}
int16_t honemu_cvt_rn_satfinite_e5m2x2_f32(float high, float low) {
  return encodePair(honert::Fp8Format::e5m2, high, low);
}
