//===- MatmulBench.cpp - Rates of matrix products -------------------------===//
//
// GFLOP/s of honert_matmul at the shapes of GPT-2 124M, in fp32, bf16, f16 and
// codes of fp8 with scales per block, and as a share of the processor's peak.
// One thread is timed by the processor's clock, of which another process on the
// core takes nothing; several by the wall clock, on a quiet machine.
// honert-matmul-bench [THREADS [TOKENS...]]
//
//===----------------------------------------------------------------------===//

#include "exec/cpu/Executor.h"
#include "exec/cpu/PeakProbe.h"
#include "support/Describe.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

using namespace honert;

namespace {
/// c[m, n] (+)= sum over k; a transposed operand is stored the other way round.
struct Problem {
  const char *name;
  int64_t m, n, k;
  bool transposedA, transposedB, accumulates;
};
} // namespace

static double now(const ThreadPool &pool) {
  timespec time;
  clock_gettime(pool.size() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC,
                &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// The best of several runs.
static double secondsOf(const Problem &problem, DType operand, DType result,
                        const ThreadPool &pool) {
  test::Layout layout;
  int64_t a = layout.take(problem.m * problem.k * byteWidth(operand));
  int64_t b = layout.take(problem.k * problem.n * byteWidth(operand));
  int64_t c = layout.take(problem.m * problem.n * byteWidth(result));
  ScaleMode modeA = ScaleMode::vector128,
            modeB = problem.transposedA ? modeA : ScaleMode::block128;
  auto takeScales = [&](ScaleMode mode, int64_t rows) {
    ScaleLayout scales = {scaleTileOf(mode), rows, problem.k};
    return layout.take(4 * scales.size());
  };
  int64_t scalesA = takeScales(modeA, problem.m),
          scalesB = takeScales(modeB, problem.n);
  // Codes lie with the terms last.
  bool transposedA = problem.transposedA && !isFp8(operand),
       transposedB = problem.transposedB || isFp8(operand);
  test::ProgramPtr program = test::makeProgram();
  honert_arena(program.get(), layout.bytes());
  honert_function(program.get(), "step");
  const int64_t strides[12] = {0,
                               transposedA ? 1 : problem.k,
                               transposedA ? problem.m : 1,
                               0,
                               transposedB ? 1 : problem.n,
                               transposedB ? problem.k : 1,
                               0,
                               problem.n,
                               1,
                               0,
                               problem.n,
                               1};
  honert_matmul(program.get(), problem.name, "", int64_t(operand),
                int64_t(result), 1, problem.m, problem.n, problem.k, strides, a,
                b, c, -1, problem.accumulates ? c : -1);
  if (isFp8(operand))
    honert_matmul_scales(program.get(), int64_t(operand), int64_t(modeA),
                         scalesA, int64_t(modeB), scalesB, 0);
  CpuExecutor executor(*program, pool);
  if (Status status = executor.start(); !status.ok()) {
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
    std::exit(1);
  }
  double best = 1e9, total = 0;
  for (int run = 0; run < 3 || total < 0.2; ++run) {
    double begin = now(pool);
    if (!executor.run(program->functions[0]).ok())
      std::exit(1);
    double seconds = now(pool) - begin;
    total += seconds;
    best = std::min(best, seconds);
  }
  return best;
}

static void printRates(const Problem &problem, const ThreadPool &pool,
                       double peak, double narrowPeak) {
  std::printf("%5ld x %5ld x %5ld  %-22s", long(problem.m), long(problem.n),
              long(problem.k), problem.name);
  for (DType operand : {DType::f32, DType::bf16, DType::f16, DType::f8e4m3}) {
    // Gradients of weights are f32, whatever they are made of.
    DType result = problem.transposedA ? DType::f32
                   : isFp8(operand)    ? DType::bf16
                                       : operand;
    double flops =
        2.0 * double(problem.m) * double(problem.n) * double(problem.k);
    double rate = flops / secondsOf(problem, operand, result, pool);
    std::printf(
        " %8.0f %3.0f %%", rate * 1e-9,
        100 * rate /
            (operand == DType::bf16 || isFp8(operand) ? narrowPeak : peak));
    std::fflush(stdout);
  }
  std::printf("\n");
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : availableCores();
  std::vector<int64_t> tokens;
  for (int i = 2; i < argc; ++i)
    tokens.push_back(std::atoll(argv[i]));
  if (tokens.empty())
    tokens = {256, 1024};
  ThreadPool pool(threads);
  double peak = probePeakFlops(pool), narrowPeak = probePeakFlops(pool, true);
  std::printf("%d threads, peak %.0f GFLOP/s in fp32, %.0f in bf16\n", threads,
              peak * 1e-9, narrowPeak * 1e-9);
  std::printf("%22s  %22s %14s %14s %14s %14s\n", "m x n x k", "", "fp32",
              "bf16", "f16", "fp8");
  const std::pair<int64_t, int64_t> weights[] = {
      {768, 2304}, {768, 768}, {768, 3072}, {3072, 768}, {768, 50304}};
  for (int64_t count : tokens)
    for (auto [in, out] : weights)
      for (const Problem &problem :
           {Problem{"forward", count, out, in, false, true, false},
            Problem{"data gradient", count, in, out, false, false, false},
            Problem{"weight gradient", out, in, count, true, false, false},
            Problem{"weight gradient, added", out, in, count, true, false,
                    true}})
        printRates(problem, pool, peak, narrowPeak);
}
