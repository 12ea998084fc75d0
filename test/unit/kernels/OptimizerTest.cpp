//===- OptimizerTest.cpp - Kernels of norms and updates -------------------===//

#include "Jit.h"
#include "KernelCase.h"

#include "hone/Conversion/OptimizerKernels.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace hone;
using namespace hone::test;

namespace {

/// Rates, in order of the scalar operands.
struct Scalars {
  double lr = 3e-4, decay = 0.1, gradScale = 0.7;
  double step = 3;
};

std::string adamw(int64_t count, const std::string &element,
                  const std::string &gradElement, const std::string &attrs) {
  std::string t = "tensor<" + std::to_string(count) + "x" + element + ">",
              g = "tensor<" + std::to_string(count) + "x" + gradElement + ">",
              s = element == "f64" ? "tensor<f64>" : "tensor<f32>";
  std::string results = "(" + t + ", " + t + ", " + t + ")";
  return "func.func @f(%p: " + t + ", %g: " + g + ", %m: " + t + ", %v: " + t +
         ", %lr: " + s + ", %wd: " + s + ", %t: tensor<i64>, %c: " + s +
         ") -> " + results +
         " {\n  %p1, %m1, %v1 = hone.adamw %p, %g, %m, %v lr %lr weight_decay "
         "%wd step %t grad_scale %c {" +
         attrs + "} : (" + t + ", " + g + ", " + t + ", " + t + ", " + s +
         ", " + s + ", tensor<i64>, " + s + ") -> " + results +
         "\n  return %p1, %m1, %v1 : " + t + ", " + t + ", " + t + "\n}";
}

std::vector<double> squares(int64_t count) {
  std::mt19937 random(count);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double &value : values)
    value = std::pow(normal(random), 2);
  return values;
}

CaseOptions adamwOptions(int64_t count, Scalars s, double tolerance,
                         bool inPlace) {
  CaseOptions options{KernelFamily::multi, tolerance};
  options.data = {{3, squares(count)},
                  {4, {s.lr}},
                  {5, {s.decay}},
                  {6, {s.step}},
                  {7, {s.gradScale}}};
  if (inPlace)
    options.inPlace = {{0, 0}, {2, 1}, {3, 2}};
  return options;
}

const std::string usual = "beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08";

} // namespace

//===----------------------------------------------------------------------===//
// AdamW
//===----------------------------------------------------------------------===//

TEST(Adamw, OddSizes) {
  for (int64_t count : {1, 15, 16, 63, 64, 65, 128, 1000})
    for (bool inPlace : {false, true})
      expectLikeInterpreter(emitAdamw, adamw(count, "f32", "f32", usual),
                            adamwOptions(count, {}, 3e-7, inPlace));
}

TEST(Adamw, Types) {
  expectLikeInterpreter(emitAdamw, adamw(100, "f64", "f64", usual),
                        adamwOptions(100, {}, 1e-15, true));
  expectLikeInterpreter(emitAdamw, adamw(100, "f32", "bf16", usual),
                        adamwOptions(100, {}, 3e-7, true));
}

TEST(Adamw, Attributes) {
  for (const char *more :
       {", lr_scale = 0.25", ", decay_scale = 0.0", ", maximize"})
    expectLikeInterpreter(emitAdamw, adamw(100, "f32", "f32", usual + more),
                          adamwOptions(100, {}, 3e-7, false));
  expectLikeInterpreter(
      emitAdamw,
      adamw(100, "f32", "f32", "beta1 = 0.0, beta2 = 0.5, eps = 0.5"),
      adamwOptions(100, {}, 3e-7, false));
}

TEST(Adamw, FirstAndLateSteps) {
  for (double step : {1.0, 2.0, 1000.0, 123456789.0})
    expectLikeInterpreter(
        emitAdamw, adamw(100, "f32", "f32", usual),
        adamwOptions(100, {1e-3, 0.1, 1.0, step}, 3e-7, false));
}

TEST(Adamw, RefusesOtherBodies) {
  EXPECT_EQ(refusalOf(emitAdamw, R"(
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %y = hone.neg %x : tensor<8xf32>
      return %y : tensor<8xf32>
    })"),
            "'plan.launch' op is no optimizer's update of contiguous inputs "
            "alone");
}

//===----------------------------------------------------------------------===//
// SGD
//===----------------------------------------------------------------------===//

static std::string sgd(int64_t count, const std::string &element, bool momentum,
                       const std::string &attrs) {
  std::string t = "tensor<" + std::to_string(count) + "x" + element + ">",
              s = "tensor<f32>";
  std::string buffer = momentum ? ", " + t : "";
  std::string results = "(" + t + buffer + ")";
  return "func.func @f(%p: " + t + ", %g: " + t + ", %lr: " + s +
         ", %wd: " + s + ", %c: " + s + (momentum ? ", %b: " + t : "") +
         ") -> " + results + " {\n  " + (momentum ? "%p1, %b1" : "%p1") +
         " = hone.sgd %p, %g lr %lr weight_decay %wd grad_scale %c" +
         (momentum ? " buffer %b" : "") + " {" + attrs + "} : (" + t + ", " +
         t + ", " + s + ", " + s + ", " + s + buffer + ") -> " + results +
         "\n  return " + (momentum ? "%p1, %b1 : " : "%p1 : ") + t + buffer +
         "\n}";
}

TEST(Sgd, AllForms) {
  for (int64_t count : {1, 65, 1000})
    for (const char *element : {"f32", "f64"}) {
      CaseOptions options{KernelFamily::multi,
                          element == std::string("f64") ? 1e-15 : 3e-7};
      options.data = {{2, {0.1}}, {3, {0.01}}, {4, {0.5}}};
      options.inPlace = {{0, 0}};
      expectLikeInterpreter(emitSgd, sgd(count, element, false, ""), options);
      expectLikeInterpreter(emitSgd, sgd(count, element, false, "maximize"),
                            options);
      options.inPlace.push_back({5, 1});
      for (const char *attrs :
           {"momentum = 0.9", "momentum = 0.9, nesterov",
            "momentum = 0.9, lr_scale = 0.5, decay_scale = 2.0"})
        expectLikeInterpreter(emitSgd, sgd(count, element, true, attrs),
                              options);
    }
}

//===----------------------------------------------------------------------===//
// Global norm
//===----------------------------------------------------------------------===//

namespace {

/// The norm of tensors of these sizes by the kernels of a launch, called over
/// the given pieces of their items.
double normByKernels(const std::vector<int64_t> &sizes,
                     const std::vector<std::vector<float>> &data,
                     int64_t itemsPerCall) {
  auto context = makeContext();
  OpBuilder builder(context.get());
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  std::vector<int64_t> chunks;
  int64_t partials = 0;
  for (auto [index, size] : llvm::enumerate(sizes)) {
    // Of rank 2, as parameters are.
    auto type = MemRefType::get({size, 1}, builder.getF32Type());
    Kernel kernel =
        emitSquareSums(builder, loc, "squares" + std::to_string(index), type);
    EXPECT_EQ(kernel.items, normPartials(type));
    chunks.push_back(kernel.items);
    partials += kernel.items;
  }
  emitNormFinish(builder, loc, "finish", partials, builder.getF32Type());
  Jit jit(*module);
  std::vector<float> scratch(partials, NAN);
  int64_t base = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (int64_t lo = 0; lo < chunks[i]; lo += itemsPerCall)
      jit.call("squares" + std::to_string(i),
               {const_cast<float *>(data[i].data()), scratch.data() + base}, lo,
               std::min(chunks[i], lo + itemsPerCall));
    base += chunks[i];
  }
  float norm = NAN;
  jit.call("finish", {scratch.data(), &norm}, 0, 1);
  return norm;
}

} // namespace

TEST(GlobalNorm, OddSizesAndSplits) {
  std::vector<int64_t> sizes = {1, 63, 64, 65, 16384, 16385, 100003, 0, 40};
  std::vector<std::vector<float>> data;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  double sum = 0;
  for (int64_t size : sizes) {
    data.emplace_back(size);
    for (float &value : data.back()) {
      value = normal(random);
      sum += double(value) * value;
    }
  }
  double norm = normByKernels(sizes, data, 1000);
  EXPECT_NEAR(norm, std::sqrt(sum), 1e-6 * std::sqrt(sum));
  EXPECT_EQ(norm, normByKernels(sizes, data, 1));
  EXPECT_EQ(norm, normByKernels(sizes, data, 3));
}

TEST(GlobalNorm, NaNAndInfinityReachTheResult) {
  std::vector<float> values(40, 1.0f);
  values[17] = INFINITY;
  EXPECT_EQ(normByKernels({40}, {values}, 1), INFINITY);
  values[39] = NAN;
  EXPECT_TRUE(std::isnan(normByKernels({40}, {values}, 1)));
}
