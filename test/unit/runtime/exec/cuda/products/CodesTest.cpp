//===- CodesTest.cpp - Products of 8-bit codes by cuBLASLt ----------------===//
//
// The fake takes what the manual of cuBLAS 13 says that the library takes, and
// multiplies codes by the scales that it finds where the manual says they lie:
// the first tests are of the fake, with formulas of the manual written out.
//
//===----------------------------------------------------------------------===//

#include "base/Fp8.h"
#include "exec/cuda/products/LibraryProduct.h"
#include "support/CudaFixture.h"
#include "train/MakeExecutor.h"

#include <cmath>
#include <cstring>

using namespace honert;
using namespace test;

namespace {

/// A scale of one tile, found by the manual's words. `outer` is M of A or N of
/// B, of `rows`; `k` the term, of `terms`.
int64_t placeOfScale(ScaleMode mode, int64_t outer, int64_t k, int64_t rows,
                     int64_t terms) {
  int64_t blocks = (terms + 127) / 128;
  switch (mode) {
  case ScaleMode::vector128: // M-major of M x L
    return k / 128 * rows + outer;
  case ScaleMode::block128: // K-major, L rounded up to 4
    return outer / 128 * ((blocks + 3) / 4 * 4) + k / 128;
  case ScaleMode::vector32: { // tiles of 128 x 4, row after row of tiles
    int64_t inner = k / 32, tile = outer / 128 * blocks + inner / 4;
    outer %= 128;
    return tile * 512 + outer % 32 * 16 + outer / 32 * 4 + inner % 4;
  }
  default:
    return 0;
  }
}

struct Codes {
  const char *name;
  ScaleMode modeA, modeB;
  int64_t m, n, k;
  DType a = DType::f8e4m3, b = DType::f8e4m3, result = DType::bf16;
  bool bias = false, added = false, fast = false;
};

std::ostream &operator<<(std::ostream &out, const Codes &each) {
  return out << each.name;
}

class CudaCodes : public Cuda, public testing::WithParamInterface<Codes> {
protected:
  CudaCodes() : c(GetParam()) {
    atA = layout.take(c.m * c.k);
    atB = layout.take(c.n * c.k);
    atC = layout.take(c.m * c.n * 4);
    atBias = layout.take(c.n * 4);
    atScalesA = layout.take(scaleBytes);
    atScalesB = layout.take(scaleBytes);
    honert_program *p = program.get();
    honert_meta(p, "target", "cuda sm_90");
    honert_arena(p, layout.bytes());
    honert_function(p, "step");
    const int64_t strides[12] = {0, c.k, 1, 0, 1, c.k, 0, c.n, 1, 0, c.n, 1};
    honert_matmul(p, "fc", "", int64_t(c.a), int64_t(c.result), 1, c.m, c.n,
                  c.k, strides, atA, atB, atC, c.bias ? atBias : -1,
                  c.added ? atC : -1);
    honert_matmul_scales(p, int64_t(c.b), int64_t(c.modeA), atScalesA,
                         int64_t(c.modeB), atScalesB, c.fast);
    honert_result(p, "loss", 0, 0, nullptr, 0);
    EXPECT_EQ(p->check().message(), "");
  }

  void fill() {
    uint32_t state = 5;
    auto next = [&] { return state = state * 1664525 + 1013904223; };
    auto number = [&] { return static_cast<int32_t>(next()) * 0x1p-30; };
    char *arena = executor->arena().at(0);
    for (int64_t i = 0; i != c.m * c.k; ++i)
      storeElement(c.a, arena + atA + i, number());
    for (int64_t i = 0; i != c.n * c.k; ++i)
      storeElement(c.b, arena + atB + i, number());
    int64_t width = byteWidth(c.result);
    for (int64_t i = 0; i != c.m * c.n; ++i)
      storeElement(c.result, arena + atC + i * width, number());
    for (int64_t i = 0; i != c.n; ++i)
      storeElement(c.result, arena + atBias + i * width, number());
    // Every scale differs from those beside it.
    for (auto [at, mode] :
         {std::pair(atScalesA, c.modeA), std::pair(atScalesB, c.modeB)})
      for (int64_t i = 0; i != scaleBytes; ++i)
        if (mode == ScaleMode::vector32)
          arena[at + i] = static_cast<char>(120 + next() % 13);
        else if (i % 4 == 0)
          storeElement(DType::f32, arena + at + i,
                       std::ldexp(1, static_cast<int>(next() >> 8) % 7 - 3));
    before.assign(arena, arena + layout.bytes());
  }

  double scale(int64_t at, ScaleMode mode, int64_t outer, int64_t k,
               int64_t rows) const {
    int64_t place = placeOfScale(mode, outer, k, rows, c.k);
    if (mode == ScaleMode::vector32)
      return std::ldexp(1, static_cast<uint8_t>(before[at + place]) - 127);
    return loadElement(DType::f32, &before[at + place * 4]);
  }

  double expected(int64_t row, int64_t col, double &magnitude) const {
    double sum = 0;
    auto add = [&](double term) {
      sum += term;
      magnitude += std::fabs(term);
    };
    for (int64_t k = 0; k != c.k; ++k)
      add(loadElement(c.a, &before[atA + row * c.k + k]) *
          scale(atScalesA, c.modeA, row, k, c.m) *
          loadElement(c.b, &before[atB + col * c.k + k]) *
          scale(atScalesB, c.modeB, col, k, c.n));
    int64_t width = byteWidth(c.result);
    if (c.bias)
      add(loadElement(c.result, &before[atBias + col * width]));
    if (c.added)
      add(loadElement(c.result, &before[atC + (row * c.n + col) * width]));
    return sum;
  }

  static constexpr int64_t scaleBytes = 4096;
  Codes c;
  test::Layout layout;
  ProgramPtr program = makeProgram();
  ThreadPool pool{1};
  std::unique_ptr<Executor> executor;
  std::vector<char> before;
  int64_t atA, atB, atC, atBias, atScalesA, atScalesB;
};

/// Tolerance: sums of k terms in f32, and a rounding of the result or two.
TEST_P(CudaCodes, equal_their_numbers) {
  executor = makeExecutor(*program, pool);
  ASSERT_EQ(executor->start().message(), "");
  fill();
  ASSERT_TRUE(executor->publish(0, layout.bytes()).ok());
  ASSERT_TRUE(executor->run(program->functions[0]).ok());
  ASSERT_TRUE(executor->wait().ok());
  ASSERT_TRUE(executor->fetch(0, layout.bytes()).ok());
  double last = c.result == DType::f32 ? 0 : 0x1p-8;
  for (int64_t row = 0; row != c.m; ++row)
    for (int64_t col = 0; col != c.n; ++col) {
      double magnitude = 0, value = expected(row, col, magnitude);
      int64_t place = (row * c.n + col) * byteWidth(c.result);
      ASSERT_NEAR(loadElement(c.result, executor->arena().at(atC + place)),
                  value, 1e-6 * magnitude + last * std::fabs(value))
          << row << ", " << col;
    }
}

constexpr ScaleMode tensor = ScaleMode::tensor, row = ScaleMode::vector128,
                    block = ScaleMode::block128, mx = ScaleMode::vector32;
constexpr DType e4m3 = DType::f8e4m3, e5m2 = DType::f8e5m2, f32 = DType::f32,
                bf16 = DType::bf16;

// Sizes with whole tiles, more than one, and ends of tiles.
INSTANTIATE_TEST_SUITE_P(
    All, CudaCodes,
    testing::Values(
        Codes{"tensor", tensor, tensor, 32, 48, 64},
        Codes{"tensor_fast", tensor, tensor, 32, 48, 64, e4m3, e4m3, bf16,
              false, false, true},
        Codes{"tensor_e5m2", tensor, tensor, 32, 48, 64, e4m3, e5m2},
        Codes{"tensor_of_e5m2", tensor, tensor, 32, 48, 64, e5m2, e4m3, f32,
              false, true},
        Codes{"bias", tensor, tensor, 32, 48, 64, e4m3, e4m3, bf16, true},
        Codes{"bias_of_f32", tensor, tensor, 32, 48, 64, e4m3, e4m3, f32, true},
        Codes{"blocks_forward", row, block, 144, 160, 272},
        Codes{"blocks_reversed", block, row, 144, 160, 272},
        Codes{"blocks_bias", row, block, 32, 160, 640, e4m3, e4m3, bf16, true},
        Codes{"blocks_weights", row, row, 144, 160, 272, e4m3, e4m3, f32, false,
              true},
        Codes{"mx", mx, mx, 144, 160, 272},
        Codes{"mx_weights", mx, mx, 32, 160, 400, e4m3, e4m3, f32, false,
              true}),
    [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

/// A product of codes as the library is told of it, right but for what a test
/// changes: D[n, m] = w^T x of w [k, n] and x [k, m].
struct Call {
  int64_t m = 64, n = 128, k = 256;
  int types[4] = {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_16BF};
  int modes[2] = {CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F,
                  CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F};
  bool transposes[2] = {true, false};
  int biasType = CUDA_R_16BF; ///< -1: not said
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int8_t fast = 0;
  int compute = CUBLAS_COMPUTE_32F;
  int batch = 1;
};

class CudaCodeRules : public Cuda {
protected:
  CudaCodeRules() {
    expectsMistakes = true;
    fake().isCurrent = true;
  }

  template <typename T>
  void set(cublasLtMatmulDesc_t desc, int attribute, T value) {
    status = std::max(status, fake::cublasLtMatmulDescSetAttribute(
                                  desc, attribute, &value, sizeof value));
  }

  cublasLtMatrixLayout_t layoutOf(const Call &call, int type, int64_t rows,
                                  int64_t cols) {
    cublasLtMatrixLayout_t layout;
    fake::cublasLtMatrixLayoutCreate(&layout, type, uint64_t(rows),
                                     uint64_t(cols), rows);
    int32_t batch = call.batch;
    fake::cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    return layout;
  }

  /// What the heuristic says: "ok", "not supported", or the mistake.
  std::string ask(const Call &call, int arch = 90) {
    fake().settings.arch = arch;
    fake().mistakes.clear();
    status = 0;
    cublasLtMatmulDesc_t desc;
    fake::cublasLtMatmulDescCreate(&desc, call.compute, CUDA_R_32F);
    int32_t ops[2];
    for (int i : {0, 1})
      ops[i] = call.transposes[i] ? CUBLAS_OP_T : CUBLAS_OP_N;
    static float one = 1;
    static const void *scale = &one;
    set(desc, CUBLASLT_MATMUL_DESC_TRANSA, ops[0]);
    set(desc, CUBLASLT_MATMUL_DESC_TRANSB, ops[1]);
    set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, call.epilogue);
    set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, scale);
    if (call.biasType != -1)
      set(desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, call.biasType);
    set(desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale);
    set(desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale);
    set(desc, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, call.modes[0]);
    set(desc, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, call.modes[1]);
    set(desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, call.fast);
    bool ta = call.transposes[0], tb = call.transposes[1];
    cublasLtMatrixLayout_t layouts[] = {
        layoutOf(call, call.types[0], ta ? call.k : call.n,
                 ta ? call.n : call.k),
        layoutOf(call, call.types[1], tb ? call.m : call.k,
                 tb ? call.k : call.m),
        layoutOf(call, call.types[2], call.n, call.m),
        layoutOf(call, call.types[3], call.n, call.m)};
    cublasLtMatmulPreference_t preference;
    fake::cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulHeuristicResult_t results[1];
    int count = 0;
    int answer = fake::cublasLtMatmulAlgoGetHeuristic(
        nullptr, desc, layouts[0], layouts[1], layouts[2], layouts[3],
        preference, 1, results, &count);
    fake::cublasLtMatmulPreferenceDestroy(preference);
    for (cublasLtMatrixLayout_t layout : layouts)
      fake::cublasLtMatrixLayoutDestroy(layout);
    fake::cublasLtMatmulDescDestroy(desc);
    if (!fake().mistakes.empty())
      return fake().mistakes.front();
    return answer == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported"
           : count == 1                          ? "ok"
                                                 : "nothing";
  }

  int status = 0;
};

Call withModes(ScaleMode a, ScaleMode b) {
  Call call;
  call.modes[0] = int(a);
  call.modes[1] = int(b);
  return call;
}

TEST_F(CudaCodeRules, take_what_is_right) {
  EXPECT_EQ(ask(Call()), "ok");
  EXPECT_EQ(ask(withModes(block, row)), "ok");
  EXPECT_EQ(ask(withModes(row, block)), "ok");
  EXPECT_EQ(ask(withModes(row, row)), "ok");
  EXPECT_EQ(ask(withModes(mx, mx), 100), "ok");
}

TEST_F(CudaCodeRules, know_which_modes_an_architecture_has) {
  const struct {
    int arch;
    bool tensor, blocks, mx;
  } all[] = {{80, false, false, false}, {86, false, false, false},
             {89, true, false, false},  {90, true, true, false},
             {100, true, false, true},  {103, true, false, true},
             {120, true, false, true}};
  for (auto each : all) {
    auto answer = [](bool has) { return has ? "ok" : "not supported"; };
    EXPECT_EQ(ask(Call(), each.arch), answer(each.tensor)) << each.arch;
    EXPECT_EQ(ask(withModes(block, row), each.arch), answer(each.blocks))
        << each.arch;
    EXPECT_EQ(ask(withModes(mx, mx), each.arch), answer(each.mx)) << each.arch;
  }
}

TEST_F(CudaCodeRules, refuse_pairs_of_modes) {
  constexpr const char *pair =
      "scale modes that are not multiplied by each other";
  EXPECT_EQ(ask(withModes(block, block)), pair);
  EXPECT_EQ(ask(withModes(tensor, row)), pair);
  EXPECT_EQ(ask(withModes(mx, tensor), 100), pair);
  EXPECT_EQ(ask(withModes(ScaleMode::row, ScaleMode::row)),
            "a scale mode that the runtime does not use");
}

TEST_F(CudaCodeRules, refuse_other_orders_below_sm_100) {
  for (auto [a, b] :
       {std::pair(false, false), std::pair(true, true), std::pair(false, true)})
    for (int arch : {89, 90, 100, 120, emulatedArch}) {
      Call call;
      call.transposes[0] = a;
      call.transposes[1] = b;
      EXPECT_EQ(ask(call, arch),
                arch == 100 ? "ok" : "codes that are not A transposed times B")
          << arch;
    }
}

TEST_F(CudaCodeRules, refuse_types) {
  Call call;
  call.types[0] = call.types[1] = CUDA_R_8F_E5M2;
  EXPECT_EQ(ask(call), "a product of two operands of e5m2");
  call.types[0] = CUDA_R_8F_E4M3;
  EXPECT_EQ(ask(call), "ok");
  call.types[0] = CUDA_R_16BF;
  EXPECT_EQ(ask(call), "a product of codes and numbers");
  call = Call();
  call.types[2] = call.types[3] = CUDA_R_8F_E4M3;
  EXPECT_EQ(ask(call).find("a result of codes"), 0u);
  call.types[2] = CUDA_R_32F;
  call.types[3] = CUDA_R_16BF;
  EXPECT_EQ(ask(call), "an addend of another type than the result");
  call = Call();
  call.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  EXPECT_EQ(ask(call), "a product of codes in TF32");
  call = Call();
  call.types[0] = call.types[1] = CUDA_R_16BF;
  EXPECT_EQ(ask(call), "scales of a product of numbers");
}

TEST_F(CudaCodeRules, refuse_sizes_of_no_16_bytes) {
  constexpr const char *size =
      "a size of codes that is no multiple of 16 bytes";
  Call call;
  call.k = 264;
  EXPECT_EQ(ask(call), size);
  call = Call();
  call.n = 132;
  EXPECT_EQ(ask(call), size);
  call.n = 136; // 272 bytes of bf16
  EXPECT_EQ(ask(call), "ok");
  call = Call();
  call.m = 72;
  EXPECT_EQ(ask(call), size);
}

TEST_F(CudaCodeRules, refuse_a_bias_of_another_type) {
  Call call;
  call.epilogue = CUBLASLT_EPILOGUE_BIAS;
  EXPECT_EQ(ask(call), "ok");
  call.biasType = CUDA_R_32F;
  EXPECT_EQ(ask(call), "a bias that is not of 16 bits beside codes");
  call.biasType = -1; // that of D
  EXPECT_EQ(ask(call), "ok");
  call.types[2] = call.types[3] = CUDA_R_32F;
  EXPECT_EQ(ask(call), "a bias that is not of 16 bits beside codes");
  call.biasType = CUDA_R_16BF;
  EXPECT_EQ(ask(call), "ok");
}

TEST_F(CudaCodeRules, refuse_epilogues_batches_and_fast_blocks) {
  for (uint32_t epilogue : {CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_AUX,
                            CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_BGRADA,
                            CUBLASLT_EPILOGUE_BGRADB}) {
    Call call;
    call.epilogue = epilogue;
    EXPECT_EQ(ask(call), "an epilogue beside codes other than a bias");
  }
  Call call;
  call.batch = 2;
  EXPECT_EQ(ask(call), "a batch of products of codes");
  call = withModes(row, block);
  call.fast = 1;
  EXPECT_EQ(ask(call), "fast accumulation of blocks");
  call = Call();
  call.fast = 1;
  EXPECT_EQ(ask(call), "ok");
}

TEST_F(CudaCodeRules, refuse_modes_before_12_9) {
  fake().settings.cublasVersion = 120803;
  EXPECT_EQ(ask(Call()), "a scale mode, which this version lacks");
}

//===----------------------------------------------------------------------===//
// What the runtime does not ask for
//===----------------------------------------------------------------------===//

/// c = a b^T of codes with one scale each.
MatmulLaunch codes(int64_t m, int64_t n, int64_t k) {
  MatmulLaunch launch{1, m, n, k, {}, 0, 4096, 8192, -1, -1, e4m3, bf16};
  launch.strides = {0, k, 1, 0, 1, k, 0, n, 1, 0, n, 1};
  launch.scales = {{block, 64}, {row, 128}, e4m3, true};
  return launch;
}

std::string refusal(const MatmulLaunch &launch) {
  LibraryProduct product;
  return planProduct("fc", launch, false, product).message();
}

/// The key of the algorithm cache: the operands are swapped, and their scales.
TEST(CudaCodeProduct, is_named_with_its_scales) {
  LibraryProduct product;
  ASSERT_EQ(planProduct("fc", codes(16, 32, 64), false, product).message(), "");
  EXPECT_EQ(product.text(),
            "1 x (f8E4M3FN 64x32 T by 64 batch 0) (f8E4M3FN 64x16 by 64 batch "
            "0) to (bf16 32x16 by 32 batch 0) scales 1x128 by 128x128 fast "
            "epilogue 1");
}

TEST(CudaCodeProduct, is_never_transposed) {
  MatmulLaunch launch = codes(16, 32, 64);
  launch.strides[4] = 32;
  launch.strides[5] = 1;
  EXPECT_EQ(refusal(launch),
            "matmul fc: codes do not lie with what is summed side by side; "
            "cuBLASLt cannot express that");
}

TEST(CudaCodeProduct, has_no_activation) {
  MatmulLaunch launch = codes(16, 32, 64);
  launch.activation = Activation::gelu;
  EXPECT_EQ(refusal(launch),
            "matmul fc: the result of codes has an activation, or sums beside "
            "it; cuBLASLt cannot express that");
}

TEST(CudaCodeProduct, has_sizes_of_16_bytes) {
  EXPECT_EQ(refusal(codes(24, 32, 64)),
            "matmul fc: rows or columns of codes or of their product are no "
            "multiple of 16 bytes; cuBLASLt cannot express that");
}

/// The program of a product of codes with a scale each.
ProgramPtr programOfCodes() {
  ProgramPtr program = makeProgram();
  honert_meta(program.get(), "target", "cuda sm_90");
  honert_arena(program.get(), 1 << 16);
  honert_function(program.get(), "step");
  const int64_t strides[12] = {0, 64, 1, 0, 1, 64, 0, 32, 1, 0, 32, 1};
  honert_matmul(program.get(), "fc", "", int64_t(e4m3), int64_t(bf16), 1, 16,
                32, 64, strides, 0, 4096, 8192, -1, -1);
  honert_matmul_scales(program.get(), int64_t(e4m3), int64_t(row), 16384,
                       int64_t(block), 32768, 0);
  return program;
}

TEST_F(Cuda, codes_need_a_library_of_12_9) {
  fake().settings.cublasVersion = 120803;
  ProgramPtr program = programOfCodes();
  ThreadPool pool(1);
  EXPECT_EQ(makeExecutor(*program, pool)->start().message(),
            "the program multiplies in fp8, for which it needs cuBLAS 12.9 or "
            "later; found cuBLASLt 12.8.3 (compile it with --precision=bf16, "
            "or put a later libcublasLt in LD_LIBRARY_PATH)");
}

TEST_F(Cuda, codes_that_a_gpu_lacks_are_named_at_start) {
  fake().settings.arch = 100;
  ProgramPtr program = programOfCodes();
  ThreadPool pool(1);
  EXPECT_EQ(makeExecutor(*program, pool)->start().message(),
            "matmul fc: cuBLASLt 13.0.0 has no algorithm on GPU emulated GPU "
            "for 1 x (f8E4M3FN 64x32 T by 64 batch 0) (f8E4M3FN 64x16 by 64 "
            "batch 0) to (bf16 32x16 by 32 batch 0) scales 128x128 by 1x128 "
            "epilogue 1");
}

/// Algorithms are timed on codes and scales that are numbers.
TEST_F(Cuda, codes_are_timed) {
  fake().settings.algorithmTimes = {2, 1};
  ProgramPtr program = programOfCodes();
  ThreadPool pool(1);
  EXPECT_EQ(makeExecutor(*program, pool)->start().message(), "");
}

} // namespace
