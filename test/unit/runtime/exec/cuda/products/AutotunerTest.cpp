//===- AutotunerTest.cpp - Which algorithm is called the fastest ----------===//

#include "support/CudaFixture.h"
#include "train/MakeExecutor.h"

#include <cmath>
#include <sstream>

using namespace honert;
using namespace test;

namespace {

constexpr DType f32 = DType::f32, bf16 = DType::bf16, f16 = DType::f16;
constexpr int64_t m = 8, n = 32;

/// Programs of products with an operand of two rows of a KiB each.
class CudaAutotuner : public Cuda {
protected:
  CudaAutotuner() {
    honert_meta(program.get(), "target", "cuda sm_90");
    honert_arena(program.get(), arenaBytes);
    honert_function(program.get(), "step");
    fake().settings.algorithmTimes = {1, 1};
  }

  void addProduct(int64_t k = 16, DType dtype = f32, int64_t bias = -1,
                  int64_t addend = -1) {
    const int64_t strides[12] = {0, k, 1, 0, n, 1, 0, n, 1, 0, n, 1};
    honert_matmul(program.get(), "fc", "", int64_t(dtype), int64_t(dtype), 1, m,
                  n, k, strides, 0, 4096, 16384, bias, addend);
  }

  /// Times the run of each algorithm by `time`, and counts it.
  void timeBy(std::function<double(const fake::ProductRun &)> time) {
    fake().settings.timeOf = [this, time](const fake::ProductRun &run) {
      ++runs[run.algorithm];
      sawConstants |= run.isOfConstants;
      return time(run);
    };
  }

  void start() {
    executor = makeExecutor(*program, pool);
    Status status = executor->start();
    ASSERT_TRUE(status.ok()) << status.message();
    std::istringstream file(readFile(cacheFile()));
    std::string line;
    std::getline(file, line);
    for (entries.clear(); std::getline(file, line);) {
      line.erase(0, line.find('\t') + 1);
      Entry entry;
      std::istringstream(line.substr(0, 16)) >> std::hex >> entry.algorithm;
      std::istringstream(line.substr(129)) >> entry.samples >> entry.time;
      entries.push_back(entry);
    }
  }

  struct Entry {
    int algorithm = 0, samples = 0;
    double time = 0; ///< microseconds
  };

  static constexpr int64_t arenaBytes = 1 << 16;
  ProgramPtr program = makeProgram();
  ThreadPool pool{1};
  std::unique_ptr<Executor> executor;
  std::map<int, int> runs; ///< by algorithm
  bool sawConstants = false;
  std::vector<Entry> entries; ///< of the cache file
};

TEST_F(CudaAutotuner, prefers_what_is_fast_on_numbers_to_what_is_on_zeros) {
  addProduct();
  timeBy([](const fake::ProductRun &run) {
    return run.algorithm == 1 ? 1.0 : run.isOfConstants ? 0.5 : 1.2;
  });
  start();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].algorithm, 1);
  EXPECT_NEAR(entries[0].time, 1000, 1);
}

TEST_F(CudaAutotuner, fills_all_that_a_product_reads) {
  addProduct(16, f32, /*bias=*/32768, /*addend=*/40960);
  addProduct(32, bf16, /*bias=*/32768);
  addProduct(64, f16);
  honert_matmul_epilogue(program.get(), 2, 49152, n, -1); // gelu_bwd
  timeBy([](const fake::ProductRun &) { return 1.0; });
  start();
  EXPECT_EQ(entries.size(), 3u);
  EXPECT_FALSE(sawConstants);
}

/// Operands hold finite numbers of their type, near normal.
TEST_F(CudaAutotuner, fills_with_numbers_of_the_operands_type) {
  for (DType dtype : {f32, bf16, f16}) {
    program = makeProgram();
    honert_meta(program.get(), "target", "cuda sm_90");
    honert_arena(program.get(), arenaBytes);
    honert_function(program.get(), "step");
    addProduct(16, dtype);
    start();
    ASSERT_TRUE(executor->fetch(4096, 16 * n * byteWidth(dtype)).ok());
    double squares = 0;
    for (int64_t i = 0; i != 16 * n; ++i) {
      double value =
          loadElement(dtype, executor->arena().at(4096 + i * byteWidth(dtype)));
      ASSERT_TRUE(std::isfinite(value) && value != 0) << value;
      squares += value * value;
    }
    EXPECT_NEAR(std::sqrt(squares / (16 * n)), std::sqrt(1.0 / 3), 0.1);
  }
}

/// The fake's clocks are up after 100 ms of work.
TEST_F(CudaAutotuner, waits_for_the_clocks) {
  addProduct();
  timeBy([](const fake::ProductRun &run) {
    return (run.milliseconds < 100 ? 3 : 1) * (run.algorithm == 1 ? 1.2 : 1.0);
  });
  start();
  EXPECT_EQ(entries[0].algorithm, 2);
  EXPECT_NEAR(entries[0].time, 1000, 1);
}

TEST_F(CudaAutotuner, warms_up_once) {
  addProduct(16);
  addProduct(32);
  timeBy([](const fake::ProductRun &) { return 1.0; });
  start();
  // 1, 2, 4, ... 128 runs for the clocks; for each product 1 and 9 timed ones.
  EXPECT_EQ(runs[1], 255 + 2 * 10);
  EXPECT_EQ(runs[2], 2 * 10);
}

TEST_F(CudaAutotuner, times_small_products_in_a_cold_cache) {
  addProduct();
  timeBy([](const fake::ProductRun &run) {
    return run.algorithm == 1 ? 1.0 : run.isHot ? 0.5 : 1.2;
  });
  start();
  EXPECT_EQ(entries[0].algorithm, 1);
}

TEST_F(CudaAutotuner, leaves_the_cache_to_products_that_overwrite_it) {
  addProduct();
  start();
  EXPECT_EQ(calls("cuMemsetD8Async"), 2 * 9);
  fake().calls.clear();
  fake().settings.l2Bytes = 1024;
  addProduct(32);
  start();
  EXPECT_EQ(calls("cuMemsetD8Async"), 0);
}

TEST_F(CudaAutotuner, starts_without_room_to_empty_the_cache) {
  fake().settings.memoryBytes = 64 << 20;
  fake().settings.l2Bytes = 32 << 20;
  addProduct();
  start();
  EXPECT_EQ(entries.size(), 1u);
  EXPECT_EQ(calls("cuMemsetD8Async"), 0);
}

/// The fake becomes slower by 2 % with each run: what is timed whole before
/// another would win.
TEST_F(CudaAutotuner, interleaves_candidates) {
  addProduct();
  timeBy([](const fake::ProductRun &run) {
    return (run.algorithm == 1 ? 1.0 : 0.95) * (1 + 0.02 * run.milliseconds);
  });
  start();
  EXPECT_EQ(entries[0].algorithm, 2);
}

TEST_F(CudaAutotuner, ignores_a_run_that_was_interrupted) {
  addProduct();
  timeBy([this](const fake::ProductRun &run) {
    return run.algorithm == 1 ? 1.05 : runs[2] == 4 ? 50.0 : 1.0;
  });
  start();
  EXPECT_EQ(entries[0].algorithm, 2);
  EXPECT_EQ(entries[0].samples, 9);
}

TEST_F(CudaAutotuner, drops_slow_candidates_early) {
  addProduct();
  fake().settings.algorithmTimes = {1.02, 10, 1.3, 1};
  timeBy([&](const fake::ProductRun &run) {
    return fake().settings.algorithmTimes[run.algorithm - 1];
  });
  start();
  EXPECT_EQ(runs[2], 1 + 1);
  EXPECT_EQ(runs[3], 1 + 2);
  EXPECT_EQ(runs[4], 1 + 9);
  EXPECT_EQ(entries[0].algorithm, 4);
}

TEST_F(CudaAutotuner, times_long_products_less_often) {
  addProduct();
  fake().settings.algorithmTimes = {40, 41};
  start();
  EXPECT_EQ(entries[0].samples, 3);
}

/// What a program may spend is gone after the first product.
TEST_F(CudaAutotuner, asks_for_fewer_candidates_when_it_has_taken_long) {
  fake().settings.algorithmTimes = std::vector<double>(20, 50.0);
  addProduct(16);
  addProduct(32);
  timeBy([](const fake::ProductRun &) { return 50.0; });
  start();
  EXPECT_EQ(runs[16], 1 + 3);
  EXPECT_EQ(runs[17], 0);
  EXPECT_EQ(runs[4], 2 * (1 + 3));
  EXPECT_EQ(runs[5], 1 + 3);
}

} // namespace
