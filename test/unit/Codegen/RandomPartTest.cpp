//===- RandomPartTest.cpp - Random numbers of parts of tensors ------------===//
//
// What ranks draw for their parts. The interpreter takes the number of each
// element from the strides of the whole; kernels take four numbers at once
// where they can.
//
//===----------------------------------------------------------------------===//

#include "KernelCase.h"

#include "Codegen/CPU/GenericKernels.h"
#include "Codegen/CPU/RowKernels.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

namespace {
struct Part {
  std::string shape, whole; ///< "4x3x" and "4, 12"
  double origin;
};
// Runs of the whole, rows of all lengths, and sizes of one; with origins that
// are multiples of four and others.
const std::vector<Part> parts = {
    {"3x37x", "9, 37", 111},
    {"2x64x", "6, 64", 256},
    {"4x3x", "4, 12", 6},
    {"3x5x", "6, 10", 35},
    {"3x130x", "3, 260", 130},
    {"4x64x", "8, 128", 512 + 64},
    {"2x3x16x", "2, 6, 16", 48},
    {"2x2x6x", "4, 4, 12", 102},
    {"5x1x", "5, 4", 3},
    {"5x", "10", 5},
    {"", "", 0},
};

/// A function of %x, a key and an origin, which returns %r: T is the type of
/// the part, W the shape of the whole.
std::string text(const std::string &body, const Part &part,
                 const std::string &result = "T") {
  std::string all =
      "func.func @f(%x: T, %k: tensor<3xi64>, %o: tensor<i64>) -> " + result +
      " {\n" + body + "\n  return %r : " + result + "\n}";
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = all.find(from); at != std::string::npos;
         at = all.find(from, at + to.size()))
      all.replace(at, from.size(), to);
  };
  replace("T", "tensor<" + part.shape + "f32>");
  replace("W", "[" + part.whole + "]");
  return all;
}

CaseOptions with(const Part &part, KernelFamily family, double tolerance) {
  return {family, tolerance, {}, {{2, {part.origin}}}, 1 << 30};
}
} // namespace

TEST(RandomPart, OfDropoutInRows) {
  for (const Part &part : parts)
    expectLikeInterpreter(
        emitRowKernel,
        text("  %r = hone.dropout %x, %k p 0.5 salt 7 origin %o of W : T, "
             "tensor<3xi64>",
             part),
        with(part, KernelFamily::map, 0));
}

TEST(RandomPart, WithoutElementsBeginsAnywhere) {
  const Part part = {"2x0x4x", "2, 0, 8", 4};
  expectLikeInterpreter(
      emitRowKernel,
      text("  %r = hone.dropout %x, %k p 0.5 salt 7 origin %o of W : T, "
           "tensor<3xi64>",
           part),
      with(part, KernelFamily::map, 0));
}

TEST(RandomPart, WithAnOriginMadeInTheKernel) {
  for (const Part &part : parts)
    expectLikeInterpreter(
        emitRowKernel,
        text("  %c = hone.constant dense<1> : tensor<i64>\n"
             "  %m = hone.mul %o, %c : tensor<i64>\n"
             "  %r = hone.dropout %x, %k p 0.5 salt 7 origin %m of W : T, "
             "tensor<3xi64>",
             part),
        with(part, KernelFamily::map, 0));
}

TEST(RandomPart, OfDropoutBeforeASum) {
  const Part part = {"4x36x", "8, 72", 4 * 72 + 36};
  expectLikeInterpreter(
      emitRowKernel,
      text("  %d = hone.dropout %x, %k p 0.5 salt 7 origin %o of W : T, "
           "tensor<3xi64>\n"
           "  %r = hone.reduce sum %d dims [1] : T -> tensor<4xf32>",
           part, "tensor<4xf32>"),
      with(part, KernelFamily::row, 2e-6));
}

TEST(RandomPart, OfOpsInAnyOrder) {
  for (const Part &part : parts)
    for (const char *op :
         {"random uniform(%k) salt 9 origin %o of W : tensor<3xi64> -> T",
          "random normal(%k) salt 9 origin %o of W : tensor<3xi64> -> T",
          "dropout %x, %k p 0.5 salt 3 origin %o of W : T, tensor<3xi64>"})
      expectLikeInterpreter(emitPoint,
                            text(std::string("  %r = hone.") + op, part),
                            with(part, KernelFamily::map, 4e-6));
}
