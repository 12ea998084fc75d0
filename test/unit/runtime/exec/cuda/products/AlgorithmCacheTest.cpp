//===- AlgorithmCacheTest.cpp - Which algorithms were the fastest ---------===//

#include "exec/cuda/products/AlgorithmCache.h"
#include "support/CudaFixture.h"
#include "train/MakeExecutor.h"

#include <filesystem>

using namespace honert;
using namespace test;

namespace {

class CudaCache : public Cuda {
protected:
  CudaCache() {
    fake().settings.algorithmTimes = {3, 1, 2};
    honert_program *p = program.get();
    honert_meta(p, "target", "cuda sm_90");
    honert_arena(p, 1 << 16);
    honert_function(p, "step");
    for (int64_t k : {16, 16, 32}) { // two problems
      const int64_t strides[12] = {0, k, 1, 0, 32, 1, 0, 32, 1, 0, 32, 1};
      honert_matmul(p, "fc", "", 0, 0, 1, 8, 32, k, strides, 0, 4096, 16384, -1,
                    -1);
    }
  }

  /// Starts and runs the program once; everything is counted from here on.
  void start(bool deterministic = false) {
    fake().calls.clear();
    ThreadPool pool(1);
    std::unique_ptr<Executor> executor =
        makeExecutor(*program, pool, deterministic);
    Status status = executor->start();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(executor->run(program->functions[0]).ok());
    ASSERT_TRUE(executor->wait().ok());
  }
  int heuristics() { return calls("cublasLtMatmulAlgoGetHeuristic"); }

  ProgramPtr program = makeProgram();
};

/// Three candidates run once, and once to be timed: two are much slower. The
/// first one runs 63 times until clocks are up.
TEST_F(CudaCache, times_each_problem_once) {
  start();
  EXPECT_EQ(heuristics(), 2);
  EXPECT_EQ(calls("cublasLtMatmul"), 63 + 2 * 3 * 2 + 3);
}

TEST_F(CudaCache, keeps_the_fastest) {
  start();
  std::string text = readFile(cacheFile());
  EXPECT_EQ(text.rfind("hone matmul algorithms 2\n", 0), 0u) << text;
  // The fake's second algorithm is the fastest; it is number 2.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_NE(text.find("cuBLASLt 13.0.0 | emulated GPU | 1 x (f32 32x16 by 32 "
                      "batch 0) (f32 16x8 by 16 batch 0) to (f32 32x8 by 32 "
                      "batch 0) epilogue 1 aligned 256 256 256 256 256 256"
                      "\t0000000000000002"),
            std::string::npos)
      << text;
  // One sample, of a millisecond.
  EXPECT_NE(text.find("\t1\t1000.000\n"), std::string::npos) << text;
}

TEST_F(CudaCache, is_read_by_the_next_run) {
  start();
  start();
  EXPECT_EQ(heuristics(), 0);
  EXPECT_EQ(calls("cublasLtMatmul"), 3);
}

TEST_F(CudaCache, is_of_one_library_and_one_gpu) {
  start();
  fake().settings.cublasVersion = 130100;
  start();
  EXPECT_EQ(heuristics(), 2);
  fake().settings.name = "another GPU";
  start();
  EXPECT_EQ(heuristics(), 2);
  start();
  EXPECT_EQ(heuristics(), 0);
}

TEST_F(CudaCache, that_is_damaged_or_foreign_is_replaced) {
  for (const char *text : {"", "not a cache\n", "hone matmul algorithms 2",
                           "hone matmul algorithms 2\nkey\tabc\nkey\n\t\n"}) {
    std::filesystem::create_directories(folder / "cache/hone");
    writeFile(cacheFile(), text);
    start();
    EXPECT_EQ(heuristics(), 2) << text;
    start();
    EXPECT_EQ(heuristics(), 0) << text;
  }
}

/// Version 1 was measured on memory of zeros.
TEST_F(CudaCache, of_version_1_is_not_read) {
  start();
  std::string text = readFile(cacheFile());
  text[text.find('\n') - 1] = '1';
  writeFile(cacheFile(), text);
  start();
  EXPECT_EQ(heuristics(), 2);
  EXPECT_EQ(readFile(cacheFile()).find("hone matmul algorithms 2\n"), 0u);
}

TEST_F(CudaCache, leaves_out_entries_without_samples) {
  start();
  std::string text = readFile(cacheFile());
  text.replace(text.rfind("\t1\t1000.000"), 2, "\t0");
  text.erase(text.find("\t1\t1000.000"), 11);
  writeFile(cacheFile(), text);
  start();
  EXPECT_EQ(heuristics(), 2);
}

TEST_F(CudaCache, of_algorithms_the_library_refuses_is_not_used) {
  start();
  fake().settings.algorithmTimes = {5}; // number 2 is gone
  start();
  EXPECT_EQ(heuristics(), 2);
}

TEST_F(CudaCache, that_cannot_be_written_costs_nothing_but_time) {
  writeFile(folder / "cache", "a file where the folder should be");
  start();
  start();
  EXPECT_EQ(heuristics(), 2);
}

TEST_F(CudaCache, keeps_what_other_runs_add_meanwhile) {
  AlgorithmCache one(cacheFile()), other(cacheFile());
  one.add("a", {{{1, 2, 3, 4, 5, 6, 7, 8}}, 5, 2e-3});
  other.add("b", {{{9}}, 1, 1});
  one.save();
  other.save();
  AlgorithmCache both(cacheFile());
  ASSERT_TRUE(both.find("a") && both.find("b"));
  EXPECT_EQ(both.find("a")->algorithm.data[7], 8u);
  EXPECT_EQ(both.find("a")->samples, 5);
  EXPECT_DOUBLE_EQ(both.find("a")->seconds, 2e-3);
  EXPECT_EQ(both.find("b")->algorithm.data[0], 9u);
  EXPECT_FALSE(both.find("c"));
}

TEST_F(CudaCache, a_single_candidate_is_neither_timed_nor_kept) {
  fake().settings.algorithmTimes = {1};
  start();
  EXPECT_EQ(calls("cublasLtMatmul"), 3);
  EXPECT_FALSE(exists(cacheFile()));
}

TEST_F(CudaCache, deterministic_runs_take_the_first_and_time_nothing) {
  start(/*deterministic=*/true);
  EXPECT_EQ(heuristics(), 2);
  EXPECT_EQ(calls("cublasLtMatmul"), 3);
  EXPECT_FALSE(exists(cacheFile()));
}

/// A sum may be split, if its parts are not added up in the order of arrival.
TEST_F(CudaCache, deterministic_runs_split_sums_in_the_workspace) {
  std::set<int> ran;
  fake().settings.timeOf = [&](const fake::ProductRun &run) {
    ran.insert(run.algorithm);
    return 1.0;
  };
  fake().settings.splitAlgorithms = {
      {1, CUBLASLT_REDUCTION_SCHEME_INPLACE},
      {2, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}};
  start(/*deterministic=*/true);
  EXPECT_EQ(ran, std::set<int>{2});
  start();
  EXPECT_TRUE(ran.count(1));
}

/// Where a candidate does not run, another is taken.
TEST_F(CudaCache, a_candidate_that_fails_is_left_out) {
  fake().failCall("cublasLtMatmul", 2, CUBLAS_STATUS_EXECUTION_FAILED);
  start();
  // The second, which fails, is number 2; the third is next.
  EXPECT_NE(readFile(cacheFile()).find("\t0000000000000003"),
            std::string::npos);
}

} // namespace
