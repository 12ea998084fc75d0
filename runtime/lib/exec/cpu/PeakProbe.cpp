//===- PeakProbe.cpp - The most this machine's cores can do ---------------===//

#include "exec/cpu/PeakProbe.h"

#include <algorithm>
#include <chrono>
#include <immintrin.h>
#include <utility>
#include <vector>

using namespace honert;

// Sixteen independent chains of multiply-adds hide the latency of two units;
// each loop returns its FLOPs per round. The sum is written where the compiler
// cannot see that nobody reads it.

constexpr int chains = 16;
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

__attribute__((target("avx512f"))) static void fma512(int64_t rounds,
                                                      float *sink) {
  __m512 sums[chains], factor = _mm512_set1_ps(0.5f);
  UNROLL
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round)
    UNROLL
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm512_fmadd_ps(sums[i], factor, factor);
  for (int i = 0; i < chains; ++i)
    *sink += _mm512_cvtss_f32(sums[i]);
}

__attribute__((target("avx512f,avx512bf16"))) static void
bfloat512(int64_t rounds, float *sink) {
  __m512 sums[chains];
  auto half = (__m512bh)_mm512_set1_epi32(0x3f003f00); // 0.5, 0.5
  UNROLL
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round)
    UNROLL
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm512_dpbf16_ps(sums[i], half, half);
  for (int i = 0; i < chains; ++i)
    *sink += _mm512_cvtss_f32(sums[i]);
}

__attribute__((target("avx2,fma"))) static void fma256(int64_t rounds,
                                                       float *sink) {
  // Sixteen registers hold fifteen chains at most: twelve leave some room.
  constexpr int chains = 12;
  __m256 sums[chains], factor = _mm256_set1_ps(0.5f);
  UNROLL
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm256_set1_ps(static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round)
    UNROLL
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm256_fmadd_ps(sums[i], factor, factor);
  for (int i = 0; i < chains; ++i)
    *sink += _mm256_cvtss_f32(sums[i]);
}

static void mulAdd128(int64_t rounds, float *sink) {
  constexpr int chains = 12;
  __m128 sums[chains], factor = _mm_set1_ps(0.5f);
  UNROLL
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm_set1_ps(static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round)
    UNROLL
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm_add_ps(_mm_mul_ps(sums[i], factor), factor);
  for (int i = 0; i < chains; ++i)
    *sink += _mm_cvtss_f32(sums[i]);
}

double honert::probePeakFlops(const ThreadPool &pool, bool bfloat) {
  using Clock = std::chrono::steady_clock;
  void (*loop)(int64_t, float *) = mulAdd128;
  double flopsPerRound = 2 * 12 * 4;
  if (bfloat && __builtin_cpu_supports("avx512bf16")) {
    loop = bfloat512;
    flopsPerRound = 2 * 16 * 32;
  } else if (__builtin_cpu_supports("avx512f")) {
    loop = fma512;
    flopsPerRound = 2 * 16 * 16;
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    loop = fma256;
    flopsPerRound = 2 * 12 * 8;
  }
  constexpr int64_t rounds = 4096; // about 0.1 ms
  struct alignas(64) Result {
    float sink;
    double rate;
  };
  std::vector<Result> results(static_cast<size_t>(pool.size()));
  // Each thread keeps its best round: when another process takes its core for
  // a while, the rounds before and after still show what the core can do.
  pool.runInside(pool.size(), [&](int64_t lo, int64_t hi) {
    for (int64_t thread = lo; thread < hi; ++thread) {
      Result &result = results[static_cast<size_t>(thread)];
      Clock::time_point end = Clock::now() + std::chrono::milliseconds(20);
      for (Clock::time_point now = Clock::now(); now < end;) {
        loop(rounds, &result.sink);
        Clock::time_point then = std::exchange(now, Clock::now());
        std::chrono::duration<double> seconds = now - then;
        result.rate = std::max(result.rate, flopsPerRound * double(rounds) /
                                                seconds.count());
      }
    }
  });
  double sum = 0;
  for (const Result &result : results)
    sum += result.rate;
  return sum;
}
