//===- ComparisonTest.cpp - Launches of a GPU beside the host's -----------===//

#include "exec/cuda/compare/Comparison.h"
#include "exec/cuda/compare/ReferenceProduct.h"
#include "support/CudaFixture.h"
#include "train/MakeExecutor.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace honert;
using namespace test;

namespace {

constexpr int64_t aAt = 0, bAt = 4096, cAt = 8192, biasAt = 12288,
                  auxAt = 13312, sumsAt = 17408, arenaBytes = 20480;

/// A program of one product with an epilogue, on random numbers.
class ComparedProduct : public test::Cuda {
protected:
  void describe(DType operand, DType result, int64_t epilogue,
                bool hasBias = true) {
    honert_meta(p, "target", "cuda sm_90");
    honert_arena(p, arenaBytes);
    honert_function(p, "step");
    const int64_t strides[12] = {0, 32, 1, 0, 24, 1, 0, 24, 1, 0, 24, 1};
    honert_matmul(p, "fc", "model.py:3", int64_t(operand), int64_t(result), 1,
                  16, 24, 32, strides, aAt, bAt, cAt, hasBias ? biasAt : -1,
                  -1);
    bool hasAux = epilogue >= 1 && epilogue <= 3, hasSums = epilogue >= 3;
    if (epilogue >= 0)
      honert_matmul_epilogue(p, epilogue, hasAux ? auxAt : -1, hasAux ? 24 : 0,
                             hasSums ? sumsAt : -1);
    honert_result(p, "loss", 0, 0, nullptr, cAt);
  }
  /// The message of a run, or what was compared.
  std::string run() {
    std::unique_ptr<Executor> executor =
        makeExecutor(*p, pool, /*deterministic=*/true);
    EXPECT_EQ(executor->start().message(), "");
    std::mt19937 random(1);
    std::normal_distribution<double> numbers;
    const auto &matmul =
        std::get<MatmulLaunch>(p->functions[0].launches[0].action);
    for (int64_t at = 0; at != arenaBytes; at += 2) {
      DType type = at < cAt ? matmul.operand : matmul.result;
      if (at % byteWidth(type) == 0)
        storeElement(type, executor->arena().at(at), numbers(random));
    }
    EXPECT_EQ(executor->publish(0, arenaBytes).message(), "");
    EXPECT_EQ(executor->compareLaunches(true).message(), "");
    Status status = executor->run(p->functions[0]);
    return status.ok() ? executor->comparedText() : status.message();
  }

  ThreadPool pool{2};
  ProgramPtr program = makeProgram();
  honert_program *p = program.get();
};

struct Epilogues : ComparedProduct,
                   testing::WithParamInterface<std::tuple<int, int>> {
protected:
  void describe() {
    auto [types, epilogue] = GetParam();
    const std::pair<DType, DType> pairs[] = {{DType::f32, DType::f32},
                                             {DType::bf16, DType::bf16},
                                             {DType::bf16, DType::f32},
                                             {DType::f16, DType::f16}};
    ComparedProduct::describe(pairs[types].first, pairs[types].second, epilogue,
                              /*hasBias=*/epilogue <= 1);
  }
};
struct MissingEpilogues : Epilogues {};

} // namespace

/// Every type and epilogue is what the library computes.
TEST_P(Epilogues, are_equal) {
  describe();
  EXPECT_EQ(run().substr(0, 25), "launches as the host's: 1");
}

/// So are biases and sums that the library lacks, which are products of their
/// own and round once more.
TEST_P(MissingEpilogues, are_equal) {
  describe();
  fake().settings.missingEpilogues = {4, 256, 512};
  EXPECT_EQ(run().substr(0, 25), "launches as the host's: 1");
}

INSTANTIATE_TEST_SUITE_P(All, Epilogues,
                         testing::Combine(testing::Range(0, 4),
                                          testing::Range(-1, 6)));
INSTANTIATE_TEST_SUITE_P(All, MissingEpilogues,
                         testing::Combine(testing::Range(0, 4),
                                          testing::Values(-1, 4, 5)));

TEST_F(ComparedProduct, a_wrong_epilogue_is_named) {
  describe(DType::bf16, DType::bf16, -1);
  fake().settings.fault = honert::fake::Fault::epilogue;
  std::string text = run();
  EXPECT_EQ(text.substr(0, 96),
            "launch 1 of 'step', fc at model.py:3: element 0 of output 1 "
            "(bf16, 384 elements at byte 8192) is");
  EXPECT_NE(text.find("of 384 elements differ)"), std::string::npos) << text;
}

TEST_F(ComparedProduct, a_wrong_stride_is_named) {
  describe(DType::f32, DType::f32, 0);
  fake().settings.fault = honert::fake::Fault::stride;
  EXPECT_EQ(run().substr(0, 35), "launch 1 of 'step', fc at model.py:");
}

/// Without a description of what runs on the host there is nothing to compare.
TEST_F(ComparedProduct, kernels_need_code_for_the_host) {
  describe(DType::f32, DType::f32, -1);
  std::string text = ptx(90, {"k"});
  honert_device_code(p, 0, 90, text.data(), static_cast<int64_t>(text.size()));
  std::unique_ptr<Executor> executor =
      makeExecutor(*p, pool, /*deterministic=*/true);
  EXPECT_EQ(executor->start().message(), "");
  EXPECT_EQ(executor->compareLaunches(true).message(),
            "--compare-launches: the program holds no code of its kernels for "
            "the host; compile it with honec --host-kernels");
}

//===----------------------------------------------------------------------===//
// The arena
//===----------------------------------------------------------------------===//

namespace {

/// One launch, which sets 64 bytes to zero; the test does what the GPU does.
class ComparedArena : public test::Cuda {
protected:
  ComparedArena() {
    honert_meta(p, "target", "cuda sm_90");
    honert_arena(p, arenaBytes);
    int64_t dims[] = {16};
    honert_argument(p, 0, "w", 0, 1, dims, 1024);
    honert_function(p, "step");
    honert_zero(p, 64, 64);
    EXPECT_TRUE(device.open().ok() && device.choose().ok() &&
                device.start().ok() &&
                arena.allocate(device, arenaBytes, "the arena").ok());
    set(0, arenaBytes, 7);
    EXPECT_EQ(comparison.start().message(), "");
  }
  void set(int64_t at, int64_t bytes, unsigned char value) {
    EXPECT_EQ(device.functions().cuMemsetD8Async(arena.at(at), value,
                                                 static_cast<size_t>(bytes),
                                                 device.stream()),
              CUDA_SUCCESS);
    EXPECT_EQ(device.synchronize("set").message(), "");
  }
  std::string compare(const std::function<void()> &work) {
    const Launch &launch = p->functions[0].launches[0];
    EXPECT_EQ(comparison.begin(p->functions[0]).message(), "");
    EXPECT_EQ(comparison.expect(launch).message(), "");
    work();
    return comparison.check(launch).message();
  }

  ThreadPool pool{1};
  ProgramPtr program = makeProgram();
  honert_program *p = program.get();
  Device device;
  DeviceMemory arena;
  LaunchComparison comparison{*p, device, arena, nullptr, false, pool, nullptr};
};

} // namespace

TEST_F(ComparedArena, is_equal) {
  EXPECT_EQ(compare([&] { set(64, 64, 0); }), "");
  EXPECT_EQ(comparison.summary(),
            "launches as the host's: 1, of these bit for bit: 1");
}

TEST_F(ComparedArena, a_byte_too_few_is_found) {
  EXPECT_EQ(compare([&] { set(64, 63, 0); }),
            "launch 1 of 'step', zero: element 63 of output 1 (i8, 64 elements "
            "at byte 64) is 7 on the GPU, expected 0 exactly (1 of 64 elements "
            "differ)");
}

TEST_F(ComparedArena, a_byte_too_many_is_found) {
  EXPECT_EQ(compare([&] {
              set(64, 64, 0);
              set(1030, 1, 8);
            }),
            "launch 1 of 'step', zero: byte 1030 of the arena (param w) has "
            "changed, which no launch writes here");
}
