//===- PeakProbe.cpp - The most this machine's cores can do ---------------===//

#include "cpu/PeakProbe.h"

#include <algorithm>
#include <chrono>
#include <immintrin.h>
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

double honert::probePeakFlops(const ThreadPool &pool) {
  using Clock = std::chrono::steady_clock;
  void (*loop)(int64_t, float *) = mulAdd128;
  double flopsPerRound = 2 * 12 * 4;
  if (__builtin_cpu_supports("avx512f")) {
    loop = fma512;
    flopsPerRound = 2 * 16 * 16;
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    loop = fma256;
    flopsPerRound = 2 * 12 * 8;
  }
  constexpr int64_t rounds = 50000; // about 1-2 ms
  std::vector<float> sinks(static_cast<size_t>(pool.size()) * 16);
  double best = 0;
  Clock::time_point begin = Clock::now();
  // The best of many short rounds: a moment when other work waits suffices.
  while (Clock::now() - begin < std::chrono::milliseconds(20)) {
    Clock::time_point start = Clock::now();
    pool.run(pool.size(), 1, [&](int64_t lo, int64_t hi) {
      for (int64_t thread = lo; thread < hi; ++thread)
        loop(rounds, &sinks[static_cast<size_t>(thread) * 16]);
    });
    std::chrono::duration<double> seconds = Clock::now() - start;
    best = std::max(best, flopsPerRound * static_cast<double>(rounds) *
                              pool.size() / seconds.count());
  }
  return best;
}
