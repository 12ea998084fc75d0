//===- LineTest.cpp - Orders, and elements picked and placed by index -----===//

#include "KernelCase.h"
#include "KernelText.h"

#include "Codegen/CPU/GenericKernels.h"
#include "Codegen/CPU/LineKernels.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

namespace {

/// An order of a tensor 5 x 19 along `dim`, `count` indices per line.
std::string order(const std::string &op, int dim, const std::string &flag,
                  const std::string &element, int64_t count) {
  std::string result =
      dim == 0 ? std::to_string(count) + "x19" : "5x" + std::to_string(count);
  return with("func.func @f(%x: tensor<5x19xE>) -> tensor<RxI> {\n"
              "  %y = hone.OP %x dim D : tensor<5x19xE> -> tensor<RxI>\n"
              "  return %y : tensor<RxI>\n}",
              {{"OP", op},
               {"E", element},
               {" D ", " " + std::to_string(dim) + flag + " "},
               {"RxI", result + "xi64"}});
}

} // namespace

TEST(Line, Orders) {
  for (const char *element : {"f32", "bf16", "i8"})
    for (int dim : {0, 1}) {
      CaseOptions options{KernelFamily::line, 0, {}, {}, 7}; // with ties
      for (const char *flag : {"", " descending"})
        expectLikeInterpreter(
            emitLine, order("argsort", dim, flag, element, dim == 0 ? 5 : 19),
            options);
      for (const char *flag : {"", " smallest"})
        for (int64_t count : {0, 3, 5})
          expectLikeInterpreter(
              emitLine, order("topk", dim, flag, element, count), options);
    }
}

TEST(Line, OrdersOfInfinitiesAndNaN) {
  for (const char *op : {"argsort %x dim 0", "argsort %x dim 0 descending",
                         "topk %x dim 0", "topk %x dim 0 smallest"})
    expectLikeInterpreter(
        emitLine,
        with("func.func @f(%x: tensor<12xf32>) -> tensor<12xi64> {\n"
             "  %y = hone.OP : tensor<12xf32> -> tensor<12xi64>\n"
             "  return %y : tensor<12xi64>\n}",
             {{"OP", op}}),
        {KernelFamily::line, 0, {}, {{0, special}}});
}

TEST(Line, TakeAlong) {
  for (const char *element : {"f32", "bf16", "i64", "i8", "i1"})
    for (const char *ids : {"i64", "i32", "i8"})
      expectLikeInterpreter(
          emitPoint,
          with("func.func @f(%x: tensor<3x7x2xE>, %i: tensor<3x9x2xI>) -> "
               "tensor<3x9x2xE> {\n  %y = hone.take_along %x, %i dim 1 : "
               "tensor<3x7x2xE>, tensor<3x9x2xI> -> tensor<3x9x2xE>\n"
               "  return %y : tensor<3x9x2xE>\n}",
               {{"2xE", std::string("2x") + element},
                {"2xI", std::string("2x") + ids}}),
          {KernelFamily::dataMovement, 0});
}

TEST(Line, PutAlong) {
  for (const char *element : {"f32", "f64", "bf16", "f16", "i64", "i8"})
    for (const char *kind : {"sum", "max", "min"})
      expectLikeInterpreter(
          emitLine,
          with("func.func @f(%u: tensor<3x9x2xE>, %i: tensor<3x9x2xi64>) -> "
               "tensor<3x7x2xE> {\n  %y = hone.put_along K %u, %i dim 1 : "
               "tensor<3x9x2xE>, tensor<3x9x2xi64> -> tensor<3x7x2xE>\n"
               "  return %y : tensor<3x7x2xE>\n}",
               {{"2xE", std::string("2x") + element}, {"K", kind}}),
          {KernelFamily::line, element == std::string("bf16")  ? 0x1p-8
                               : element == std::string("f16") ? 0x1p-10
                                                               : 1e-6});
}

TEST(Line, UpdateSlice) {
  for (const char *element : {"f32", "bf16", "i64", "i8", "i1"})
    for (int dim : {0, 1, 2})
      for (double at : {0.0, 2.0})
        expectLikeInterpreter(
            emitLine,
            with("func.func @f(%x: tensor<4x5x6xE>, %u: tensor<UxE>, "
                 "%at: tensor<i64>) -> tensor<4x5x6xE> {\n"
                 "  %y = hone.update_slice %x, %u at %at dim D : "
                 "tensor<4x5x6xE>, tensor<UxE>\n"
                 "  return %y : tensor<4x5x6xE>\n}",
                 {{"UxE", std::string(dim == 0   ? "2x5x6x"
                                      : dim == 1 ? "4x1x6x"
                                                 : "4x5x3x") +
                              element},
                  {"6xE", std::string("6x") + element},
                  {" D ", " " + std::to_string(dim) + " "}}),
            {KernelFamily::line, 0, {{0, 0}}, {{2, {at}}}});
}

TEST(Line, RefusesOtherBodies) {
  EXPECT_NE(refusalOf(emitLine,
                      "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                      "  %y = hone.neg %x : tensor<4xf32>\n"
                      "  return %y : tensor<4xf32>\n}",
                      {KernelFamily::line})
                .find("of family line holds no op along lines"),
            std::string::npos);
}
