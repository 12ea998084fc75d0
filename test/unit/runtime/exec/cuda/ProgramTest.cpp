//===- ProgramTest.cpp - What a program for CUDA must satisfy -------------===//

#include "exec/cuda/core/Image.h"
#include "support/CudaFixture.h"
#include "train/MakeExecutor.h"

using namespace honert;
using namespace test;

namespace {

/// A program with one device launch, right in everything.
class CudaDescription : public testing::Test {
protected:
  CudaDescription() {
    honert_meta(p, "target", "cuda sm_90");
    honert_arena(p, 4096);
  }
  void code(int64_t kind = 0, int64_t arch = 90) {
    honert_device_code(p, kind, arch, "text", 4);
  }
  void launch(const char *kernel = "k", int64_t blocks = 1,
              int64_t threads = 128, int64_t offset = 64) {
    honert_device_launch(p, "gelu", "model.py:3", kernel, blocks, threads, 1,
                         &offset);
  }
  void product(DType result = DType::f32) {
    const int64_t strides[12] = {0, 16, 1, 0, 8, 1, 0, 8, 1, 0, 8, 1};
    honert_matmul(p, "fc", "", 2, int64_t(result), 1, 4, 8, 16, strides, 0, 512,
                  1024, -1, -1);
  }
  void step() { honert_function(p, "step"); }
  std::string mistake() {
    if (!p->functions.empty())
      honert_result(p, "loss", 0, 0, nullptr, 0);
    return p->check().message();
  }

  ProgramPtr program = makeProgram();
  honert_program *p = program.get();
};

TEST_F(CudaDescription, may_have_kernels_products_and_zeros) {
  code(), code(1), step(), launch(), product();
  honert_matmul_epilogue(p, 3, 2048, 8, 3072);
  honert_zero(p, 0, 64);
  EXPECT_EQ(mistake(), "");
}

TEST_F(CudaDescription, has_no_kernels_of_the_host) {
  step();
  honert_launch(
      p, "host", "", [](void *const *, int64_t, int64_t) {}, 1, 1, 0, nullptr);
  EXPECT_EQ(mistake(), "program: launch host of step runs on the host, but the "
                       "target is 'cuda sm_90'");
}

TEST_F(CudaDescription, launches_of_a_device_need_its_target) {
  honert_meta(p, "target", "cpu");
  step(), launch();
  EXPECT_EQ(mistake(), "program: launch gelu of step runs on the GPU, but the "
                       "target is 'cpu'");
}

TEST_F(CudaDescription, epilogues_need_its_target) {
  honert_meta(p, "target", "cpu");
  step(), product();
  honert_matmul_epilogue(p, 4, -1, 0, 3072);
  EXPECT_EQ(mistake(), "program: launch fc of step runs on the GPU, but the "
                       "target is 'cpu'");
}

TEST_F(CudaDescription, code_needs_its_target) {
  honert_meta(p, "target", "cpu");
  code(), step();
  EXPECT_EQ(mistake(), "program: has device code, but the target is 'cpu'");
}

TEST_F(CudaDescription, launches_need_code) {
  step(), launch();
  EXPECT_EQ(mistake(), "program: launch gelu of step has no device code");
}

TEST_F(CudaDescription, code_is_of_one_kind_once) {
  code(), code(0, 80), code(0, 80), step();
  EXPECT_EQ(mistake(), "program: device code of one kind twice for sm_80");
}

TEST_F(CudaDescription, code_has_bytes_and_a_known_kind) {
  honert_device_code(p, 0, 90, "", 0);
  step();
  EXPECT_EQ(mistake(),
            "program: device code of 0 bytes for sm_90 (expected some "
            "bytes and an architecture)");
  code(2);
  EXPECT_EQ(mistake(), "program: code kind 2 is not known");
}

TEST_F(CudaDescription, a_launch_names_a_kernel_and_a_row_of_blocks) {
  code(), step(), launch("k", 0);
  EXPECT_EQ(mistake(),
            "program: launch gelu: kernel 'k', 0 blocks, 128 threads "
            "(expected a name, 1 to 2^31 - 1 and 1 to 1024)");
}

TEST_F(CudaDescription, a_block_has_1024_threads_at_most) {
  code(), step(), launch("k", 1, 1025);
  EXPECT_NE(mistake().find("1025 threads"), std::string::npos);
}

TEST_F(CudaDescription, buffers_lie_in_the_arena) {
  code(), step(), launch("k", 1, 128, 8192);
  EXPECT_NE(mistake().find("at 8192"), std::string::npos);
}

TEST_F(CudaDescription, what_a_launch_writes_lies_in_the_arena) {
  code(), step(), launch();
  const int64_t tensors[] = {0, 64, 16, 2, 4032, 32};
  honert_device_writes(p, 2, tensors);
  EXPECT_EQ(mistake(), "");
  const int64_t outside[] = {2, 4032, 33};
  honert_device_writes(p, 1, outside);
  EXPECT_EQ(mistake(), "program: launch gelu writes 33 elements of bf16 at "
                       "4032, outside the arena");
}

TEST_F(CudaDescription, what_a_launch_reads_lies_in_the_arena) {
  code(), step(), launch();
  const int64_t outside[] = {0, 4064, 16};
  honert_device_reads(p, 1, outside);
  EXPECT_EQ(mistake(), "program: launch gelu reads 16 elements of f32 at 4064, "
                       "outside the arena");
}

TEST_F(CudaDescription, what_is_written_follows_a_launch) {
  step();
  honert_device_writes(p, 0, nullptr);
  EXPECT_EQ(mistake(), "program: honert_device_writes follows no "
                       "honert_device_launch");
}

TEST_F(CudaDescription, an_epilogue_follows_a_product) {
  step();
  honert_matmul_epilogue(p, 0, -1, 0, -1);
  EXPECT_EQ(mistake(),
            "program: honert_matmul_epilogue follows no honert_matmul");
}

/// A cost is that of the launches since the one before.
TEST_F(CudaDescription, a_cost_is_of_the_launches_before_it) {
  code(), step(), launch(), launch();
  honert_launch_cost(p, "row", 4096, 12);
  product();
  honert_launch_cost(p, "contraction", 100, 200);
  honert_launch_cost(p, "map", 7, 7); // of none
  launch();
  EXPECT_EQ(mistake(), "");
  std::string seen;
  for (const Launch &each : p->functions[0].launches)
    seen += format("%s %lld %lld %zu/%zu of %zu, ", each.cost.family.c_str(),
                   static_cast<long long>(each.cost.bytes),
                   static_cast<long long>(each.cost.flops), each.cost.part,
                   each.cost.parts, each.cost.group);
  EXPECT_EQ(seen, "row 4096 12 0/2 of 0, row 4096 12 1/2 of 0, "
                  "contraction 100 200 0/1 of 1,  0 0 0/1 of 0, ");
  honert_launch_cost(p, "map", 8, 8);
  EXPECT_EQ(p->functions[0].launches.back().cost.group, 3u);
}

TEST_F(CudaDescription, a_cost_is_not_negative) {
  code(), step(), launch();
  honert_launch_cost(p, "row", -1, 0);
  EXPECT_EQ(mistake(), "program: launch gelu costs less than nothing");
}

TEST_F(CudaDescription, a_product_has_one_activation) {
  step(), product();
  honert_matmul_epilogue(p, 0, -1, 0, -1);
  honert_matmul_epilogue(p, 2, 2048, 8, -1);
  EXPECT_EQ(mistake(), "program: a matmul has two epilogues of one kind");
}

/// What checkEpilogue() refuses, each by the words that tell.
TEST_F(CudaDescription, epilogues_are_complete) {
  struct Wrong {
    int64_t number, aux, stride, sums;
    const char *words;
  };
  for (Wrong wrong : {Wrong{1, -1, 0, -1, "no place for the argument"},
                      Wrong{0, 2048, 8, -1, "an argument it does not store"},
                      Wrong{3, 2048, 8, -1, "sums without a place"},
                      Wrong{2, 2048, 8, 3072, "a place without sums"},
                      Wrong{2, 2056, 8, -1, "rows of aux"},
                      Wrong{2, 2048, 12, -1, "rows of aux"},
                      Wrong{2, 2048, 0, -1, "rows of aux"},
                      Wrong{2, 4080, 8, -1, "aux outside the arena"},
                      Wrong{5, -1, 0, 4092, "sums outside the arena"},
                      Wrong{5, -1, 0, 3074, "not at a multiple of 4"}}) {
    ProgramPtr fresh = makeProgram();
    p = fresh.get();
    honert_meta(p, "target", "cuda");
    honert_arena(p, 4096);
    step(), product();
    honert_matmul_epilogue(p, wrong.number, wrong.aux, wrong.stride,
                           wrong.sums);
    EXPECT_NE(mistake().find(wrong.words), std::string::npos)
        << wrong.words << ": " << p->check().message();
  }
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

TEST(CudaImage, machine_code_of_the_very_architecture_comes_first) {
  std::vector<DeviceCode> images = {{CodeKind::ptx, 80, "", 1},
                                    {CodeKind::machine, 90, "", 1},
                                    {CodeKind::machine, 80, "", 1},
                                    {CodeKind::ptx, 90, "", 1}};
  using Chosen = std::vector<const DeviceCode *>;
  EXPECT_EQ(chooseImages(images, 80), (Chosen{&images[2], &images[0]}));
  EXPECT_EQ(chooseImages(images, 86), (Chosen{&images[0]}));
  EXPECT_EQ(chooseImages(images, 90), (Chosen{&images[1], &images[3]}));
  EXPECT_EQ(chooseImages(images, 100), (Chosen{&images[3]}));
  EXPECT_EQ(chooseImages(images, 75), Chosen());
}

TEST(CudaImage, machine_code_of_another_architecture_is_none) {
  std::vector<DeviceCode> images = {{CodeKind::machine, 90, "", 1}};
  EXPECT_TRUE(chooseImages(images, 100).empty());
}

/// A program of one kernel, with PTX of sm_80 and machine code of sm_90.
class CudaImages : public Cuda {
protected:
  CudaImages() {
    fake().settings.arch = 90;
    honert_program *p = program.get();
    honert_meta(p, "target", "cuda sm_90");
    honert_arena(p, 64);
    honert_device_code(p, 0, 80, text.data(), int64_t(text.size()));
    honert_device_code(p, 1, 90, machine.data(), int64_t(machine.size()));
    honert_function(p, "step");
    honert_device_launch(p, "a", "", "k", 1, 1, 0, nullptr);
    fake().settings.kernels["k"] = {
        0, [&](void *const *, int64_t, int64_t) { hasRun = true; }};
  }
  Status run() {
    ThreadPool pool(1);
    std::unique_ptr<Executor> executor = makeExecutor(*program, pool);
    HONERT_TRY(executor->start());
    return executor->run(program->functions[0]);
  }

  ProgramPtr program = makeProgram();
  std::string text = ptx(80, {"k"}), machine = "\x7f"
                                               "ELF" +
                                               ptx(90, {"k"});
  bool hasRun = false;
};

TEST_F(CudaImages, machine_code_is_loaded_on_its_gpu) {
  EXPECT_EQ(run().message(), "");
  EXPECT_TRUE(hasRun);
  EXPECT_EQ(calls("cuModuleLoadDataEx"), 1);
}

TEST_F(CudaImages, ptx_is_for_a_driver_that_refuses_machine_code) {
  fake().failCall("cuModuleLoadDataEx", 1, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(run().message(), "");
  EXPECT_TRUE(hasRun);
  EXPECT_EQ(calls("cuModuleLoadDataEx"), 2);
}

TEST_F(Cuda, what_the_translator_says_is_told) {
  ProgramPtr program = makeProgram();
  honert_meta(program.get(), "target", "cuda");
  honert_arena(program.get(), 64);
  honert_device_code(program.get(), 0, 80, "no ptx", 6);
  ThreadPool pool(1);
  EXPECT_EQ(makeExecutor(*program, pool)->start().message(),
            "device code (PTX of sm_80) on GPU emulated GPU (sm_999), driver "
            "for CUDA 13.0: ptxas fatal : no .target: CUDA_ERROR_INVALID_PTX "
            "(as told to fail)");
}

} // namespace
