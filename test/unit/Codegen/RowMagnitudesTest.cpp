//===- RowMagnitudesTest.cpp - Largest magnitudes in row kernels ----------===//
//
// A kernel that makes a value also finds the largest magnitude of it: equal
// bits in any order of rows, threads and blocks. Ops round once, so that values
// are the interpreter's.
//
//===----------------------------------------------------------------------===//

#include "KernelCase.h"
#include "KernelText.h"

#include "Codegen/CPU/RowKernels.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

namespace {

/// A value twice as large as the argument, if `isStored`, and what is largest.
std::string mapOf(const std::string &type, bool isStored) {
  return with("func.func @f(%x: T) -> (RESULTS) {\n"
              "  %y = hone.add %x, %x : T\n"
              "  %a = hone.amax %y : T\n"
              "  return VALUES : RESULTS\n}",
              {{"RESULTS", isStored ? "T, tensor<f32>" : "tensor<f32>"},
               {"VALUES", isStored ? "%y, %a" : "%a"},
               {"T", "tensor<" + type + ">"}});
}

/// Rows less their largest element, in another shape, and what is largest of
/// them and of their negatives' halves; with sums of columns, or not.
std::string rowsOf(int64_t rows, int64_t cols, const std::string &element,
                   bool hasSums) {
  return with(
      "func.func @f(%x: X) -> (X, tensor<f32>, tensor<f32>SUMTYPE) {\n"
      "  %m = hone.reduce max %x dims [2] : X -> V\n"
      "  %b = hone.broadcast %m dims [0, 1] : V -> X\n"
      "  %y = hone.sub %x, %b : X\n"
      "  %z = hone.reshape %y : X -> M\n"
      "  %a = hone.amax %z : M\n"
      "  %half = hone.constant dense<-5.000000e-01> : X\n"
      "  %h = hone.mul %y, %half : X\n"
      "  %d = hone.amax %h : X\n"
      "SUM  return %y, %a, %dRESULT : X, tensor<f32>, tensor<f32>SUMTYPE\n}",
      {{"SUMTYPE", hasSums ? ", C" : ""},
       {"RESULT", hasSums ? ", %s" : ""},
       {"SUM",
        hasSums ? "  %s = hone.reduce sum %y dims [0, 1] : X -> C\n" : ""},
       {"X", "tensor<1xRxWxE>"},
       {"V", "tensor<1xRxE>"},
       {"M", "tensor<RxWxE>"},
       {"C", "tensor<WxE>"},
       {"Rx", std::to_string(rows) + "x"},
       {"Wx", std::to_string(cols) + "x"},
       {"E>", element + ">"}});
}

/// Small integers, whose sums are exact in any order.
std::vector<double> integers(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(double(i * 37 % 101) - 50);
  return values;
}
} // namespace

TEST(RowMagnitudes, OfMaps) {
  for (const char *type :
       {"3x5x40xf32", "7x131xbf16", "2x1xf16", "0x4xf32", "130x64xbf16", "f32"})
    for (bool isStored : {true, false})
      expectLikeInterpreter(emitRowKernel, mapOf(type, isStored),
                            {KernelFamily::map, 0});
}

/// NaN is above all, whatever lies behind it.
TEST(RowMagnitudes, OfNoNumbers) {
  for (double number : {-3.0, -inf, notANumber}) {
    CaseOptions options{KernelFamily::map, 0};
    options.data = {{0, integers(9 * 131)}};
    options.data.front().second[400] = number * 100;
    options.data.front().second[401] = inf * (number < 0 ? 0 : 1);
    expectLikeInterpreter(emitRowKernel, mapOf("9x131xf32", true), options);
  }
}

TEST(RowMagnitudes, OfRows) {
  for (const char *element : {"f32", "bf16"})
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>(40, 128),
                              {7, 131},
                              {3, 1},
                              {9, 5000},
                              {2, 20000},
                              {3, 12289}})
      expectLikeInterpreter(emitRowKernel, rowsOf(rows, cols, element, false),
                            {KernelFamily::row, 0});
}

/// A kernel of chunks of rows, whose sums another adds.
TEST(RowMagnitudes, BesideSums) {
  for (auto [rows, cols] :
       {std::pair<int64_t, int64_t>(70, 67), {201, 300}, {5, 20000}}) {
    CaseOptions options{KernelFamily::row, 0};
    options.laterStages = {emitPartialSums};
    options.chunks = 64;
    options.data = {{0, integers(rows * cols)}};
    expectLikeInterpreter(emitRowKernel, rowsOf(rows, cols, "f32", true),
                          options);
  }
}
