//===- GlobalNormTest.cpp - Kernels of the norm of all gradients ----------===//

#include "KernelCase.h"

#include "Codegen/CPU/OptimizerKernels.h"
#include "hone/Analysis/Memory/Scratch.h"

#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::test;

namespace {

template <typename Element>
FailureOr<Kernel> squares(OpBuilder &builder, StringRef name,
                          plan::LaunchOp launch) {
  return emitSquareSums(builder, name, launch,
                        cast<FloatType>(Element::get(builder.getContext())));
}

std::string norm(const std::vector<int64_t> &sizes,
                 const std::vector<std::string> &elements) {
  std::vector<std::string> arguments, names, types;
  for (size_t i = 0; i < sizes.size(); ++i) {
    // Of rank 2, as parameters are.
    types.push_back("tensor<" + std::to_string(sizes[i]) + "x1x" +
                    elements[i % elements.size()] + ">");
    names.push_back("%x" + std::to_string(i));
    arguments.push_back(names.back() + ": " + types.back());
  }
  return "func.func @f(" + llvm::join(arguments, ", ") +
         ") -> tensor<f32> {\n  %n = "
         "hone.global_norm " +
         llvm::join(names, ", ") + " : (" + llvm::join(types, ", ") +
         ") -> tensor<f32>\n  return %n : tensor<f32>\n}";
}

CaseOptions normOptions(const std::vector<int64_t> &sizes) {
  CaseOptions options{KernelFamily::multiTensor, 1e-6};
  for (int64_t size : sizes)
    options.scratch += llvm::divideCeil(size, normChunk);
  options.laterStages = {emitNormFinish};
  return options;
}

} // namespace

TEST(GlobalNorm, OddSizesAndSplits) {
  std::vector<int64_t> sizes = {1, 63, 64, 65, 16384, 16385, 100003, 0, 40};
  expectLikeInterpreter(squares<Float32Type>, norm(sizes, {"f32"}),
                        normOptions(sizes));
}

TEST(GlobalNorm, MixedTypes) {
  std::vector<int64_t> sizes = {1000, 20000, 1, 70000};
  CaseOptions options = normOptions(sizes);
  options.laterStages = {squares<BFloat16Type>, emitNormFinish};
  expectLikeInterpreter(squares<Float32Type>, norm(sizes, {"f32", "bf16"}),
                        options);
}

TEST(GlobalNorm, NaNAndInfinityReachTheResult) {
  std::vector<int64_t> sizes = {10, 40};
  CaseOptions options = normOptions(sizes);
  std::vector<double> values(40, 1.0);
  values[17] = INFINITY;
  options.data = {{1, values}};
  expectLikeInterpreter(squares<Float32Type>, norm(sizes, {"f32"}), options);
  values[39] = NAN;
  options.data = {{1, values}};
  expectLikeInterpreter(squares<Float32Type>, norm(sizes, {"f32"}), options);
}

TEST(GlobalNorm, OneGradientOfTwoParameters) {
  CaseOptions options = normOptions({500, 500});
  expectLikeInterpreter(squares<Float32Type>, R"(
    func.func @f(%x: tensor<500xf32>) -> tensor<f32> {
      %n = hone.global_norm %x, %x : (tensor<500xf32>, tensor<500xf32>) -> tensor<f32>
      return %n : tensor<f32>
    })",
                        options);
}
