//===- EpilogueTest.cpp - Epilogues against their formulas ----------------===//

#include "support/CudaFixture.h"
#include "train/MakeExecutor.h"

#include <cmath>

using namespace honert;
using namespace test;

namespace {

/// One product [m,k] x [k,n] and an epilogue of abi.def, or two.
struct Epilogues {
  const char *name;
  std::vector<int64_t> numbers;
  DType operand = DType::f32, result = DType::f32;
  bool bias = false, addend = false;
};

std::ostream &operator<<(std::ostream &out, const Epilogues &each) {
  return out << each.name;
}

constexpr DType f32 = DType::f32, bf16 = DType::bf16, f16 = DType::f16;
constexpr double sumError = 1e-4; ///< 16 roundings of sums below 64 in f32
constexpr int64_t m = 24, n = 40, k = 16, auxStride = 48;

class CudaEpilogues : public Cuda,
                      public testing::WithParamInterface<Epilogues> {
protected:
  CudaEpilogues() : c(GetParam()) {
    // To time them leaves everything as it was, the ones of sums too.
    fake().settings.algorithmTimes = {2, 1};
    int64_t in = byteWidth(c.operand), to = byteWidth(c.result);
    atA = layout.take(m * k * in);
    atB = layout.take(k * n * in);
    atC = layout.take(m * n * to);
    atBias = layout.take(n * to);
    atAddend = layout.take(m * n * to);
    atAux = layout.take(m * auxStride * to);
    atSums = layout.take((m + n) * 4);
  }

  bool has(int64_t number) const {
    return std::count(c.numbers.begin(), c.numbers.end(), number) > 0;
  }

  void describe() {
    honert_program *p = program.get();
    honert_meta(p, "target", "cuda sm_90");
    honert_arena(p, layout.bytes());
    honert_function(p, "step");
    const int64_t strides[12] = {0, k, 1, 0, n, 1, 0, n, 1, 0, n, 1};
    honert_matmul(p, "fc", "", int64_t(c.operand), int64_t(c.result), 1, m, n,
                  k, strides, atA, atB, atC, c.bias ? atBias : -1,
                  c.addend ? atAddend : -1);
    for (int64_t number : c.numbers) {
      bool hasAux = number >= 1 && number <= 3, hasSums = number >= 3;
      honert_matmul_epilogue(p, number, hasAux ? atAux : -1,
                             hasAux ? auxStride : 0, hasSums ? atSums : -1);
    }
    honert_result(p, "loss", 0, 0, nullptr, 0);
    Status status = p->check();
    ASSERT_TRUE(status.ok()) << status.message();
  }

  void run() {
    ThreadPool pool(1);
    executor = makeExecutor(*program, pool);
    Status status = executor->start();
    ASSERT_TRUE(status.ok()) << status.message();
    uint32_t state = 3;
    auto fill = [&](int64_t at, int64_t count, DType dtype) {
      for (int64_t i = 0; i < count; ++i) {
        state = state * 1664525 + 1013904223;
        double value = static_cast<int32_t>(state) * 0x1p-30;
        storeElement(dtype, executor->arena().at(at + i * byteWidth(dtype)),
                     value);
      }
    };
    fill(atA, m * k, c.operand);
    fill(atB, k * n, c.operand);
    fill(atBias, n, c.result);
    fill(atAddend, m * n, c.result);
    fill(atAux, m * auxStride, c.result);
    const char *begin = executor->arena().at(0);
    before.assign(begin, begin + layout.bytes());
    ASSERT_TRUE(executor->publish(0, layout.bytes()).ok());
    ASSERT_TRUE(executor->run(program->functions[0]).ok());
    ASSERT_TRUE(executor->wait().ok());
    ASSERT_TRUE(executor->fetch(0, layout.bytes()).ok());
  }

  double input(int64_t at, int64_t i, DType dtype) const {
    return loadElement(dtype, &before[at + i * byteWidth(dtype)]);
  }
  double output(int64_t at, int64_t i, DType dtype) const {
    return loadElement(dtype, executor->arena().at(at + i * byteWidth(dtype)));
  }
  double product(int64_t row, int64_t col) const {
    double sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += input(atA, row * k + i, c.operand) *
             input(atB, i * n + col, c.operand);
    if (c.bias)
      sum += input(atBias, col, c.result);
    if (c.addend)
      sum += input(atAddend, row * n + col, c.result);
    return sum;
  }

  /// All that the product and its epilogues write; `last` and `some`: relative
  /// and absolute errors of elements of the result.
  void checkAll(double last, double some);
  fake::HostKernel activation() const;

  Epilogues c;
  Layout layout;
  ProgramPtr program = makeProgram();
  std::unique_ptr<Executor> executor;
  std::vector<char> before;
  int64_t atA, atB, atC, atBias, atAddend, atAux, atSums;
};

double gelu(double x) {
  return x / 2 *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
/// By a central difference: the error is some 1e-10.
double geluSlope(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

void CudaEpilogues::checkAll(double last, double some) {
  for (int64_t row = 0; row < m; ++row)
    for (int64_t col = 0; col < n; ++col) {
      double p = product(row, col), value = p;
      int64_t aux = row * auxStride + col;
      if (has(1))
        ASSERT_NEAR(output(atAux, aux, c.result), p,
                    some + last * std::fabs(p));
      if (has(0) || has(1))
        value = gelu(p);
      if (has(2) || has(3))
        value = p * geluSlope(input(atAux, aux, c.result));
      ASSERT_NEAR(output(atC, row * n + col, c.result), value,
                  some + last * std::fabs(value));
    }
  // 24 roundings of sums of 24 terms below 72, of c as memory holds it.
  for (int64_t i = 0; has(3) && i < n; ++i) {
    double sum = 0;
    for (int64_t row = 0; row < m; ++row)
      sum += output(atC, row * n + i, c.result);
    ASSERT_NEAR(output(atSums, i, DType::f32), sum, 3e-3);
  }
  for (int64_t i = 0; has(4) && i < m; ++i) {
    double sum = 0;
    for (int64_t term = 0; term < k; ++term)
      sum += input(atA, i * k + term, c.operand);
    ASSERT_NEAR(output(atSums, i, DType::f32), sum, sumError);
  }
  for (int64_t i = 0; has(5) && i < n; ++i) {
    double sum = 0;
    for (int64_t term = 0; term < k; ++term)
      sum += input(atB, term * n + i, c.operand);
    ASSERT_NEAR(output(atSums, i, DType::f32), sum, sumError);
  }
}

TEST_P(CudaEpilogues, equal_their_formulas) {
  describe();
  run();
  if (!HasFatalFailure())
    checkAll(c.result == f32 ? 0 : 0x1p-8, sumError);
}

/// Where the library has no epilogue for sums, they are right all the same.
TEST_P(CudaEpilogues, do_not_need_one_for_sums) {
  describe();
  run();
  if (HasFatalFailure())
    return;
  int64_t count = has(4) ? m : has(3) || has(5) ? n : 0;
  std::vector<double> expected;
  for (int64_t i = 0; i < count; ++i)
    expected.push_back(output(atSums, i, DType::f32));
  fake().settings.missingEpilogues = {208, 256, 512};
  for (bool isInvalid : {false, true}) {
    fake().settings.missingIsInvalid = isInvalid;
    executor.reset();
    run();
    if (HasFatalFailure())
      return;
    for (int64_t i = 0; i < count; ++i)
      ASSERT_NEAR(output(atSums, i, DType::f32), expected[i], 6e-3);
  }
}

/// Nor do they need one for a bias: it is another product.
TEST_P(CudaEpilogues, do_not_need_one_for_a_bias) {
  fake().settings.missingEpilogues = {4};
  describe();
  testing::internal::CaptureStderr();
  run();
  bool needsBias = c.bias && !has(0) && !has(1);
  std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_EQ(warning.find("warning: matmul fc: cuBLASLt 13.0.0 has no") == 0,
            needsBias)
      << warning;
  if (HasFatalFailure() || !needsBias)
    return;
  // The product is rounded before the bias is added, and after it.
  double last = c.result == DType::f32 ? 1e-4 : 0x1p-7;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t col = 0; col < n; ++col) {
      double p = product(row, col), bias = input(atBias, col, c.result);
      ASSERT_NEAR(output(atC, row * n + col, c.result), p,
                  1e-4 + last * (std::fabs(p) + std::fabs(bias)));
    }
}

/// The activation of the parameter's product, as a kernel of a program is.
fake::HostKernel CudaEpilogues::activation() const {
  return {3, [this](void *const *buffers, int64_t, int64_t) {
            auto *result = static_cast<char *>(buffers[0]);
            auto *bias = static_cast<const char *>(buffers[1]);
            auto *aux = static_cast<char *>(buffers[2]);
            int64_t width = byteWidth(c.result);
            for (int64_t row = 0; row < m; ++row)
              for (int64_t col = 0; col < n; ++col) {
                char *at = result + (row * n + col) * width;
                char *auxAt = aux + (row * auxStride + col) * width;
                double p = loadElement(c.result, at);
                if (c.bias)
                  p += loadElement(c.result, bias + col * width);
                if (has(1))
                  storeElement(c.result, auxAt, p);
                double value = has(2) || has(3)
                                   ? p * geluSlope(loadElement(c.result, auxAt))
                                   : gelu(p);
                storeElement(c.result, at, value);
              }
          }};
}

/// Nor does an activation, where the program has a kernel for it.
TEST_P(CudaEpilogues, do_not_need_one_for_an_activation) {
  if (!has(0) && !has(1) && !has(2) && !has(3))
    return;
  fake().settings.missingEpilogues = {32, 36, 160, 164, 192, 208};
  fake().settings.kernels["activation"] = activation();
  std::string code = ptx(80, {"activation"});
  describe();
  const int64_t offsets[] = {atC, atBias, atAux};
  honert_matmul_activation(program.get(), "activation", 1, 32, 3, offsets);
  EXPECT_NE(program->check().message(), ""); // there is no device code yet
  honert_device_code(program.get(), 0, 80, code.data(), int64_t(code.size()));
  ASSERT_EQ(program->check().message(), "");
  run();
  if (!HasFatalFailure())
    // A narrow product, of 4 on average, is rounded before its bias is added.
    checkAll(c.result == f32 ? 0 : 0x1p-6, c.result == f32 ? sumError : 0.05);
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaEpilogues,
    testing::Values(Epilogues{"gelu", {0}},
                    Epilogues{"bias_gelu", {0}, f32, f32, true},
                    Epilogues{"narrow_bias_gelu", {0}, bf16, bf16, true},
                    Epilogues{"gelu_aux", {1}},
                    Epilogues{"bias_gelu_aux", {1}, f32, f32, true},
                    Epilogues{"narrow_bias_gelu_aux", {1}, bf16, bf16, true},
                    Epilogues{"gelu_bwd", {2}},
                    Epilogues{"narrow_gelu_bwd", {2}, bf16, bf16},
                    Epilogues{"gelu_bwd_sums", {3}},
                    Epilogues{"narrow_gelu_bwd_sums", {3}, bf16, bf16},
                    Epilogues{"half_gelu_bwd_sums", {3}, f16, f16},
                    Epilogues{"sums_a", {4}},
                    Epilogues{"sums_a_of_a_sum", {4}, bf16, f32, false, true},
                    Epilogues{"sums_b", {5}},
                    Epilogues{"sums_b_wide", {5}, bf16, f32},
                    Epilogues{"narrow_sums_a", {4}, bf16, bf16},
                    Epilogues{"narrow_sums_b", {5}, bf16, bf16},
                    Epilogues{"bias", {}, f32, f32, true},
                    Epilogues{"bias_and_addend", {}, f32, f32, true, true},
                    Epilogues{"narrow_bias", {}, bf16, bf16, true},
                    Epilogues{"widened_bias", {}, bf16, f32, true, true},
                    Epilogues{"half_bias", {}, f16, f16, true},
                    Epilogues{"bias_and_sums_b", {5}, f32, f32, true},
                    Epilogues{"gelu_and_sums_a", {1, 4}, bf16, bf16, true},
                    Epilogues{"gelu_bwd_and_sums_b", {2, 5}}),
    [](const auto &info) { return info.param.name; });

class CudaSums : public Cuda {
protected:
  /// Runs a product of bf16 with the epilogue `sums` and a result of `result`s.
  void run(Epilogue sums, DType result) {
    bool hasAux = sums == Epilogue::geluBwdSums;
    honert_meta(program.get(), "target", "cuda sm_90");
    honert_arena(program.get(), 1 << 16);
    honert_function(program.get(), "step");
    const int64_t strides[12] = {0, k, 1, 0, n, 1, 0, n, 1, 0, n, 1};
    honert_matmul(program.get(), "fc", "", int64_t(bf16), int64_t(result), 1, m,
                  n, k, strides, 0, 4096, 8192, -1, -1);
    honert_matmul_epilogue(program.get(), int64_t(sums), hasAux ? 16384 : -1,
                           hasAux ? 40 : 0, 32768);
    honert_result(program.get(), "loss", 0, 0, nullptr, 0);
    ASSERT_TRUE(program->check().ok());
    ThreadPool pool(1);
    executor = makeExecutor(*program, pool);
    ASSERT_TRUE(executor->start().ok());
    fake().calls.clear();
    ASSERT_TRUE(executor->run(program->functions[0]).ok());
  }

  ProgramPtr program = makeProgram();
  std::unique_ptr<Executor> executor;
};

/// A sum of another type than the result is a product with ones.
TEST_F(CudaSums, of_narrow_results_are_calls_of_their_own) {
  run(Epilogue::geluBwdSums, bf16);
  EXPECT_EQ(calls("cublasLtMatmul"), 2);
  // 32 MiB for algorithms, and 24 ones of bf16.
  EXPECT_EQ(executor->workspaceBytes(), (32 << 20) + 256);
}

TEST_F(CudaSums, of_operands_beside_narrow_results_are_calls_of_their_own) {
  run(Epilogue::sumsA, bf16);
  EXPECT_EQ(calls("cublasLtMatmul"), 2);
}

TEST_F(CudaSums, of_operands_beside_results_of_f32_take_no_call) {
  run(Epilogue::sumsA, f32);
  EXPECT_EQ(calls("cublasLtMatmul"), 1);
}

TEST_F(Cuda, an_epilogue_the_library_lacks_is_named_at_start) {
  fake().settings.missingEpilogues = {32};
  ProgramPtr program = makeProgram();
  honert_meta(program.get(), "target", "cuda sm_90");
  honert_arena(program.get(), 1 << 16);
  honert_function(program.get(), "step");
  const int64_t strides[12] = {0, k, 1, 0, n, 1, 0, n, 1, 0, n, 1};
  honert_matmul(program.get(), "fc", "", 0, 0, 1, m, n, k, strides, 0, 4096,
                8192, -1, -1);
  honert_matmul_epilogue(program.get(), 0, -1, 0, -1);
  ThreadPool pool(1);
  for (bool isInvalid : {false, true}) {
    fake().settings.missingIsInvalid = isInvalid;
    EXPECT_EQ(makeExecutor(*program, pool)->start().message(),
              "matmul fc: cuBLASLt 13.0.0 has no algorithm on GPU emulated GPU "
              "for 1 x (f32 40x16 by 40 batch 0) (f32 16x24 by 16 batch 0) to "
              "(f32 40x24 by 40 batch 0) epilogue 32");
  }
}

} // namespace
