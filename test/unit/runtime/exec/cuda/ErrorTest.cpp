//===- ErrorTest.cpp - One line for everything that can be wrong ----------===//

#include "support/CudaFixture.h"
#include "train/MakeExecutor.h"

#include <cstdlib>

using namespace honert;
using test::CudaProgram;
using test::Outcome;

namespace {

struct Mistake {
  const char *name;
  std::function<void(fake::State &)> plant;
  const char *line; ///< "error: " before it
};

std::ostream &operator<<(std::ostream &out, const Mistake &mistake) {
  return out << mistake.name;
}

class CudaErrors : public test::Cuda,
                   public testing::WithParamInterface<Mistake> {
protected:
  Outcome train(std::vector<std::string> more = {}) {
    test::writeTokens(folder / "t", 400);
    CudaProgram program({});
    GetParam().plant(fake());
    more.insert(more.begin(), {"--data", folder / "t", "--steps", "4"});
    return program.run(more);
  }
};

TEST_P(CudaErrors, are_one_line_and_exit_code_1) {
  expectsMistakes = true;
  Outcome outcome = train();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, std::string("error: ") + GetParam().line + "\n");
}

std::function<void(fake::State &)> failing(const char *function, int number,
                                           int code) {
  return [=](fake::State &state) { state.failCall(function, number, code); };
}

INSTANTIATE_TEST_SUITE_P(
    Machine, CudaErrors,
    testing::Values(
        Mistake{"no_driver",
                [](fake::State &state) {
                  state.settings.missing = {"libcuda.so.1"};
                },
                "libcuda.so.1: cannot be opened (no such library); this "
                "program runs on an NVIDIA GPU and needs its driver"},
        Mistake{"driver_without_a_function",
                [](fake::State &state) {
                  state.settings.missing = {"cuGraphInstantiateWithFlags"};
                },
                "libcuda.so.1: has no cuGraphInstantiateWithFlags; expected a "
                "driver for CUDA 12.0 or later"},
        Mistake{
            "old_driver",
            [](fake::State &state) { state.settings.driverVersion = 11040; },
            "libcuda.so.1: the driver is for CUDA 11.4, expected 12.0 or "
            "later"},
        Mistake{"no_gpu",
                [](fake::State &state) { state.settings.devices = 0; },
                "libcuda.so.1: the driver sees no GPU, expected one (is "
                "CUDA_VISIBLE_DEVICES set?)"},
        Mistake{"driver_that_does_not_start", failing("cuInit", 1, 719),
                "the driver does not start: CUDA_ERROR_LAUNCH_FAILED (as told "
                "to fail)"},
        Mistake{"old_gpu", [](fake::State &state) { state.settings.arch = 75; },
                "GPU emulated GPU is sm_75; the program has PTX of sm_80: "
                "compile it for this architecture"},
        Mistake{"little_memory",
                [](fake::State &state) { state.settings.memoryBytes = 5000; },
                "the arena needs 19.62 KiB; GPU emulated GPU has 4.88 KiB free "
                "of 4.88 KiB; compile with a smaller --memory-budget, which "
                "honec --dry-run --device=NAME finds"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Start, CudaErrors,
    testing::Values(
        Mistake{"context", failing("cuDevicePrimaryCtxRetain", 1, 201),
                "GPU emulated GPU cannot be used: CUDA_ERROR_INVALID_CONTEXT "
                "(as told to fail)"},
        Mistake{"stream", failing("cuStreamCreate", 1, 2),
                "a stream cannot be made: CUDA_ERROR_OUT_OF_MEMORY (as told to "
                "fail)"},
        Mistake{"copy_stream", failing("cuStreamCreate", 2, 2),
                "a stream cannot be made: CUDA_ERROR_OUT_OF_MEMORY (as told to "
                "fail)"},
        Mistake{"slots_of_inputs", failing("cuMemAlloc_v2", 2, 2),
                "the copy of the inputs needs 1.12 KiB; GPU emulated GPU has "
                "64.00 GiB free of 64.00 GiB; compile with a smaller "
                "--memory-budget, which honec --dry-run --device=NAME finds"},
        Mistake{"pinned_memory", failing("cuMemAllocHost_v2", 1, 2),
                "pinned memory of 1.50 KiB cannot be allocated: "
                "CUDA_ERROR_OUT_OF_MEMORY (as told to fail)"},
        Mistake{"image", failing("cuModuleLoadDataEx", 1, 222),
                "device code (PTX of sm_80) on GPU emulated GPU (sm_999), "
                "driver for CUDA 13.0: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (as "
                "told to fail)"},
        Mistake{"kernel", failing("cuModuleGetFunction", 1, 500),
                "kernel kernel0: CUDA_ERROR_NOT_FOUND (as told to fail)"},
        Mistake{"publishing", failing("cuMemcpyHtoDAsync_v2", 1, 700),
                "state cannot be copied to the GPU: CUDA_ERROR_ILLEGAL_ADDRESS "
                "(as told to fail)"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Running, CudaErrors,
    testing::Values(
        Mistake{"inputs", failing("cuMemcpyDtoDAsync_v2", 1, 1),
                "the inputs cannot be copied to the GPU: "
                "CUDA_ERROR_INVALID_VALUE (as told to fail)"},
        Mistake{"waiting_stream", failing("cuStreamWaitEvent", 4, 400),
                "a stream cannot wait for another: CUDA_ERROR_INVALID_HANDLE "
                "(as told to fail)"},
        Mistake{"launch", failing("cuLaunchKernel", 2, 1),
                "launch loss at model.py:1: CUDA_ERROR_INVALID_VALUE (as told "
                "to fail)"},
        Mistake{
            "kernel_that_fails",
            [](fake::State &state) { state.settings.kernels.erase("kernel2"); },
            "launch backward at model.py:1: CUDA_ERROR_LAUNCH_FAILED (no "
            "emulator is linked that runs kernel2)"},
        Mistake{"capture", failing("cuStreamBeginCapture_v2", 1, 900),
                "function 'step' cannot be recorded: "
                "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (as told to fail)"},
        Mistake{"launch_in_a_capture", failing("cuLaunchKernel", 7, 719),
                "launch forward at model.py:1: CUDA_ERROR_LAUNCH_FAILED (as "
                "told to fail)"},
        Mistake{"end_of_capture", failing("cuStreamEndCapture", 1, 900),
                "function 'step' cannot be recorded: "
                "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (as told to fail)"},
        Mistake{"graph", failing("cuGraphInstantiateWithFlags", 1, 2),
                "function 'step' cannot be recorded: CUDA_ERROR_OUT_OF_MEMORY "
                "(as told to fail)"},
        Mistake{"replay", failing("cuGraphLaunch", 2, 719),
                "function 'step': CUDA_ERROR_LAUNCH_FAILED (as told to fail)"}),
    [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// cuBLASLt
//===----------------------------------------------------------------------===//

class CudaLibrary : public test::Cuda {
protected:
  /// A step of one product.
  Outcome multiply() {
    test::ProgramPtr program = test::makeProgram();
    honert_program *p = program.get();
    const int64_t strides[12] = {0, 16, 1, 0, 8, 1, 0, 8, 1, 0, 8, 1};
    honert_meta(p, "target", "cuda sm_80");
    honert_arena(p, 4096);
    honert_function(p, "step");
    honert_zero(p, 0, 1024);
    honert_matmul(p, "fc", "", 2, 0, 1, 4, 8, 16, strides, 0, 512, 1024, -1,
                  -1);
    honert_result(p, "loss", 0, 0, nullptr, 1024);
    return test::run(p, {"--steps", "1"});
  }
  void expectLine(const std::string &line) {
    Outcome outcome = multiply();
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err, "error: " + line + "\n");
  }
};

TEST_F(CudaLibrary, is_missing) {
  fake().settings.missing = {"libcublasLt.so.13", "libcublasLt.so.12"};
  expectLine("libcublasLt.so.13: cannot be opened (no such library; no such "
             "library); matrix products need cuBLAS 12 or 13 (is its folder in "
             "LD_LIBRARY_PATH?)");
}

TEST_F(CudaLibrary, may_be_the_one_before) {
  fake().settings.missing = {"libcublasLt.so.13"};
  Outcome outcome = multiply();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(CudaLibrary, is_too_old) {
  fake().settings.cublasVersion = 110000;
  expectLine("libcublasLt.so.13: is cuBLASLt 11.0.0, expected 12.0 or later");
}

TEST_F(CudaLibrary, lacks_a_function) {
  fake().settings.missing = {"cublasLtMatmulAlgoCheck"};
  expectLine(
      "libcublasLt.so.13: has no cublasLtMatmulAlgoCheck; expected cuBLAS "
      "12 or 13");
}

TEST_F(CudaLibrary, has_no_memory_for_its_workspace) {
  fake().settings.memoryBytes = 5000;
  expectLine("the library workspace needs 32.00 MiB; GPU emulated GPU has 904 "
             "B free of 4.88 KiB; compile with a smaller --memory-budget, "
             "which honec --dry-run --device=NAME finds");
}

//===----------------------------------------------------------------------===//
// Failures while a program runs
//===----------------------------------------------------------------------===//

class CudaFailure : public test::Cuda {};

/// An error on the way of a graph is noticed when the host waits.
TEST_F(CudaFailure, of_a_replayed_function_names_it) {
  expectsMistakes = true;
  test::writeTokens(folder / "t", 400);
  CudaProgram program({});
  auto &kernel = fake().settings.kernels["kernel1"];
  int runs = 0;
  kernel.run = [&, run = kernel.run](void *const *buffers, int64_t blocks,
                                     int64_t threads) {
    run(buffers, blocks, threads);
    if (++runs == 3)
      fake().sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
  };
  Outcome outcome = program.run({"--data", folder / "t", "--steps", "9"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "error: function 'step' on GPU emulated GPU (HONE_CHECK_LAUNCHES=1 "
            "names the launch): CUDA_ERROR_ILLEGAL_ADDRESS (as told to "
            "fail)\n");
}

/// The fake notices what hardware would not: memory that nobody wrote.
TEST_F(CudaFailure, memory_nobody_wrote_is_not_zero) {
  test::ProgramPtr program = test::makeProgram();
  honert_meta(program.get(), "target", "cuda");
  honert_arena(program.get(), 256);
  ThreadPool pool(1);
  std::unique_ptr<Executor> executor = makeExecutor(*program, pool);
  ASSERT_TRUE(executor->start().ok());
  ASSERT_TRUE(executor->fetch(64, 64).ok());
  EXPECT_EQ(*executor->arena().at(64), '\xff');
}

} // namespace
