//===- GroupedBench.cpp - Rates of products of groups of rows -------------===//
//
// GFLOP/s of honert_grouped_matmul at the shapes of a Mixtral-like model, by
// how many rows each group has, beside honert_matmul with as many rows in all.
// One thread is timed by the processor's clock, as in MatmulBench.cpp.
// honert-grouped-bench [THREADS [ROWS OF A GROUP...]]
//
//===----------------------------------------------------------------------===//

#include "exec/cpu/Executor.h"
#include "support/Describe.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

using namespace honert;

namespace {
struct Layer {
  const char *name;
  GroupedProduct product;
  int64_t n, k;
};
constexpr int64_t groups = 4;
} // namespace

static double now(const ThreadPool &pool) {
  timespec time;
  clock_gettime(pool.size() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC,
                &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// GFLOP/s of the best of several runs.
static double rateOf(const Layer &layer, bool grouped, int64_t rowsOfGroup,
                     DType dtype, const ThreadPool &pool) {
  int64_t rows = groups * rowsOfGroup, n = layer.n, k = layer.k;
  bool sums = layer.product == GroupedProduct::weights;
  bool transposed = layer.product == GroupedProduct::transposed;
  DType result = sums ? DType::f32 : dtype;
  test::Layout layout;
  int64_t width = byteWidth(dtype);
  int64_t a = layout.take(rows * k * width);
  int64_t b = layout.take((sums ? rows : groups * k) * n * width);
  int64_t c = layout.take((sums ? groups * k : rows) * n * byteWidth(result));
  int64_t ends = layout.take(groups * 4);
  test::ProgramPtr program = test::makeProgram();
  honert_arena(program.get(), layout.bytes());
  honert_function(program.get(), "step");
  if (grouped) {
    honert_grouped_matmul(program.get(), layer.name, "", int64_t(layer.product),
                          int64_t(dtype), int64_t(result), int64_t(DType::i32),
                          groups, rows, n, k, a, b, ends, c);
  } else if (sums) {
    const int64_t strides[12] = {0, 1, k, 0, n, 1, 0, n, 1, 0, n, 1};
    honert_matmul(program.get(), layer.name, "", int64_t(dtype),
                  int64_t(result), 1, k, n, rows, strides, a, b, c, -1, -1);
  } else {
    const int64_t strides[12] = {
        0, k, 1, 0, transposed ? 1 : n, transposed ? k : 1, 0, n, 1, 0, n, 1};
    honert_matmul(program.get(), layer.name, "", int64_t(dtype),
                  int64_t(result), 1, rows, n, k, strides, a, b, c, -1, -1);
  }
  CpuExecutor executor(*program, pool);
  if (Status status = executor.start(); !status.ok()) {
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
    std::exit(1);
  }
  for (int64_t group = 0; group < groups; ++group)
    reinterpret_cast<int32_t *>(executor.arena().at(ends))[group] =
        static_cast<int32_t>((group + 1) * rowsOfGroup);
  double best = 1e9, total = 0;
  for (int run = 0; run < 3 || total < 0.2; ++run) {
    double begin = now(pool);
    if (!executor.run(program->functions[0]).ok())
      std::exit(1);
    double seconds = now(pool) - begin;
    total += seconds;
    best = std::min(best, seconds);
  }
  return 2.0 * double(rows) * double(n) * double(k) / best * 1e-9;
}

int main(int argc, char **argv) {
  ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 1);
  std::vector<int64_t> sizes;
  for (int i = 2; i < argc; ++i)
    sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty())
    sizes = {16, 64, 256, 512};
  constexpr GroupedProduct plain = GroupedProduct::plain,
                           transposed = GroupedProduct::transposed,
                           weights = GroupedProduct::weights;
  const Layer layers[] = {{"gate and up", transposed, 4096, 768},
                          {"down", transposed, 768, 2048},
                          {"gradient of rows, up", plain, 768, 4096},
                          {"gradient of rows, down", plain, 2048, 768},
                          {"gradient of gate and up", weights, 768, 4096},
                          {"gradient of down", weights, 2048, 768}};
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const Layer &layer : layers) {
      std::printf("%-4s %-24s", name(dtype), layer.name);
      for (int64_t rows : sizes) {
        double dense = rateOf(layer, false, rows, dtype, pool);
        double grouped = rateOf(layer, true, rows, dtype, pool);
        std::printf("  %lld: %.0f of %.0f, %.0f %%", (long long)rows, grouped,
                    dense, 100 * grouped / dense);
        std::fflush(stdout);
      }
      std::printf("\n");
    }
}
