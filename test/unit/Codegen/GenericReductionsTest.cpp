//===- GenericReductionsTest.cpp - Reductions by the generic kernel -------===//

#include "KernelCase.h"
#include "KernelText.h"

#include "Codegen/CPU/GenericKernels.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

//===----------------------------------------------------------------------===//
// Sums and extrema
//===----------------------------------------------------------------------===//

TEST(Point, ReduceOverAnyDimensions) {
  for (const char *element : {"f32", "f64", "i64", "i32", "i8", "bf16"})
    for (const char *kind : {"sum", "max", "min"})
      for (const char *dims :
           {"[0]:5x7", "[1]:3x7", "[2]:3x5", "[0, 2]:5", "[0, 1, 2]:"}) {
        std::string spec = dims, list = spec.substr(0, spec.find(':')),
                    shape = spec.substr(spec.find(':') + 1);
        if (!shape.empty())
          shape += "x";
        std::string text = with(
            "func.func @f(%x: tensor<3x5x7xE>) -> tensor<RE> {\n"
            "  %y = hone.reduce K %x dims D : tensor<3x5x7xE> -> tensor<RE>\n"
            "  return %y : tensor<RE>\n}",
            {{"RE", shape + "E"},
             {"E", element},
             {" K ", std::string(" ") + kind + " "},
             {"D", list}});
        bool isNarrow = element == std::string("bf16");
        expectLikeInterpreter(
            emitPoint, text,
            {KernelFamily::row, isNarrow ? 0x1p-8 : 1e-6, {}, {}, 50});
      }
}

TEST(Point, LongSumsStayAccurate) {
  // Equal addends round alike, the worst case: one chain of f32 additions is
  // off by 6e-4 of the sum, chains of 256 by 4e-6.
  expectLikeInterpreter(
      emitPoint, R"(
    func.func @f(%x: tensor<70001xf32>) -> tensor<f32> {
      %y = hone.reduce sum %x dims [0] : tensor<70001xf32> -> tensor<f32>
      return %y : tensor<f32>
    })",
      {KernelFamily::row, 1e-5, {}, {{0, std::vector<double>(70001, 0.1)}}});
}

TEST(Point, ReductionsOfNaNAndNothing) {
  expectLikeInterpreter(emitPoint, R"(
    func.func @f(%x: tensor<2x6xf32>) -> tensor<2xf32> {
      %y = hone.reduce max %x dims [1] : tensor<2x6xf32> -> tensor<2xf32>
      return %y : tensor<2xf32>
    })",
                        {KernelFamily::row, 0, {}, {{0, special}}});
  for (const char *kind : {"sum", "max", "min"})
    for (const char *element : {"f32", "i32"})
      expectLikeInterpreter(
          emitPoint,
          with("func.func @f(%x: tensor<3x0xE>) -> tensor<3xE> {\n"
               "  %y = hone.reduce K %x dims [1] : tensor<3x0xE> -> "
               "tensor<3xE>\n"
               "  return %y : tensor<3xE>\n}",
               {{"E", element}, {"K", kind}}),
          {KernelFamily::row, 0});
}

TEST(Point, SoftmaxOutOfPlace) {
  expectLikeInterpreter(emitPoint, R"(
    func.func @f(%x: tensor<5x19xf32>) -> tensor<5x19xf32> {
      %m = hone.reduce max %x dims [1] : tensor<5x19xf32> -> tensor<5xf32>
      %mb = hone.broadcast %m dims [0] : tensor<5xf32> -> tensor<5x19xf32>
      %d = hone.sub %x, %mb : tensor<5x19xf32>
      %e = hone.exp %d : tensor<5x19xf32>
      %s = hone.reduce sum %e dims [1] : tensor<5x19xf32> -> tensor<5xf32>
      %sb = hone.broadcast %s dims [0] : tensor<5xf32> -> tensor<5x19xf32>
      %y = hone.div %e, %sb : tensor<5x19xf32>
      return %y : tensor<5x19xf32>
    })",
                        {KernelFamily::row});
}

//===----------------------------------------------------------------------===//
// Argmax and cumsum
//===----------------------------------------------------------------------===//

TEST(Point, Argmax) {
  for (const char *element : {"f32", "f64", "i32", "i8", "bf16"})
    for (const char *dim : {"0:19", "1:5"}) {
      std::string spec = dim;
      std::string text =
          with("func.func @f(%x: tensor<5x19xE>) -> tensor<RxI> {\n"
               "  %y = hone.argmax %x dim D : tensor<5x19xE> -> tensor<RxI>\n"
               "  return %y : tensor<RxI>\n}",
               {{"E", element},
                {"D", spec.substr(0, 1)},
                {"RxI", spec.substr(2) + "xi32"}});
      expectLikeInterpreter(emitPoint, text, {KernelFamily::row, 0, {}, {}, 7});
    }
  // The first of equals, and the first NaN.
  expectLikeInterpreter(emitPoint, R"(
    func.func @f(%x: tensor<3x4xf32>) -> tensor<3xi64> {
      %y = hone.argmax %x dim 1 : tensor<3x4xf32> -> tensor<3xi64>
      return %y : tensor<3xi64>
    })",
                        {KernelFamily::row,
                         0,
                         {},
                         {{0,
                           {1, 2, 2, 0, inf, notANumber, 5, notANumber, -inf,
                            -inf, -inf, -inf}}}});
}

TEST(Point, Cumsum) {
  for (const char *element : {"f32", "f64", "i64", "bf16"})
    for (const char *dim : {"0", "1", "2"})
      for (const char *reverse : {"", " reverse"})
        for (bool inPlace : {false, true}) {
          CaseOptions options{KernelFamily::row,
                              element == std::string("bf16") ? 0x1p-8 : 1e-6};
          if (inPlace)
            options.inPlace = {{0, 0}};
          std::string text =
              with("func.func @f(%x: tensor<3x5x9xE>) -> tensor<3x5x9xE> {\n"
                   "  %y = hone.cumsum %x dim DR : tensor<3x5x9xE>\n"
                   "  return %y : tensor<3x5x9xE>\n}",
                   {{"E", element}, {"DR", std::string(dim) + reverse}});
          expectLikeInterpreter(emitPoint, text, options);
        }
  expectLikeInterpreter(emitPoint, R"(
    func.func @f(%x: tensor<5x9xi64>) -> tensor<5x9xi64> {
      %n = hone.neg %x : tensor<5x9xi64>
      %y = hone.cumsum %n dim 1 : tensor<5x9xi64>
      return %y : tensor<5x9xi64>
    })",
                        {KernelFamily::row, 0});
}

/// Lines that a warp of a GPU sums, in the order of a CPU.
TEST(Point, CumsumOfLongLines) {
  for (const char *element : {"f32", "f64", "i64", "i8", "bf16"})
    for (const char *text : {"129x3 dim 0", "2x300 dim 1 reverse",
                             "2x65x2 dim 1 reverse", "1x128 dim 1"}) {
      bool isNarrow = element == std::string("bf16");
      CaseOptions options{KernelFamily::row, isNarrow ? 0x1p-7 : 1e-4};
      options.equalOnDevice = true;
      auto [shape, flags] = llvm::StringRef(text).split(' ');
      std::string type = "tensor<" + shape.str() + "x" + element + ">";
      if (flags.ends_with("reverse"))
        options.inPlace = {{0, 0}};
      expectLikeInterpreter(
          emitPoint,
          with("func.func @f(%x: T) -> T {\n  %y = hone.cumsum %x D : T\n"
               "  return %y : T\n}",
               {{"T", type}, {"D", flags.str()}}),
          options);
    }
}
