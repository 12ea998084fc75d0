//===- GenericKernelsTest.cpp - Kernels that compute element by element ---===//

#include "KernelCase.h"
#include "KernelText.h"

#include "Codegen/CPU/GenericKernels.h"
#include "Codegen/CPU/RowKernels.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

TEST(Point, UnaryFloats) {
  for (const char *op :
       {"neg", "abs", "exp", "sqrt", "rsqrt", "log", "sin", "cos", "tanh",
        "erf", "logistic", "sign", "gelu tanh", "gelu erf", "stop_gradient",
        "floor", "expm1", "atan"}) {
    expectLikeInterpreter(emitPoint, unary(op, "tensor<3x37xf32>"));
    expectLikeInterpreter(emitPoint, unary(op, "tensor<3x37xf64>"),
                          {KernelFamily::map, 1e-14});
  }
}

TEST(Point, FunctionsNearZero) {
  std::vector<double> values;
  for (double power = 1; power > 1e-30; power /= 7)
    values.insert(values.end(), {power, -power * 0.9});
  values.insert(values.end(), {0.0, -0.0, inf, notANumber});
  std::string type = "tensor<" + std::to_string(values.size()) + "xf32>";
  for (const char *op : {"expm1", "log1p", "atan"}) {
    CaseOptions options{KernelFamily::map, 1e-6, {}, {{0, values}}};
    expectLikeInterpreter(emitPoint, unary(op, type), options);
  }
}

TEST(Point, NarrowFloatsRoundLikeOneRounding) {
  // One unit in the last place where the f32 result lies next to a tie.
  for (const char *op : {"exp", "tanh", "gelu tanh", "logistic"}) {
    expectLikeInterpreter(emitPoint, unary(op, "tensor<3x37xbf16>"),
                          {KernelFamily::map, 0x1p-8});
    expectLikeInterpreter(emitPoint, unary(op, "tensor<3x37xf16>"),
                          {KernelFamily::map, 0x1p-11});
  }
  for (const char *type : {"tensor<3x37xbf16>", "tensor<3x37xf16>"}) {
    expectLikeInterpreter(emitPoint, binary("add", type),
                          {KernelFamily::map, 0});
    expectLikeInterpreter(emitPoint, binary("mul", type),
                          {KernelFamily::map, 0});
  }
}

TEST(Point, SpecialValues) {
  for (const char *op :
       {"neg", "abs", "exp", "tanh", "erf", "logistic", "sign", "sqrt"}) {
    expectLikeInterpreter(emitPoint, unary(op, "tensor<12xf32>"),
                          {KernelFamily::map, 1e-6, {}, {{0, special}}});
    expectLikeInterpreter(emitPoint, unary(op, "tensor<12xf64>"),
                          {KernelFamily::map, 1e-14, {}, {{0, special}}});
  }
  std::vector<double> other(special.rbegin(), special.rend());
  for (const char *op : {"max", "min", "add", "sub", "mul", "div"})
    expectLikeInterpreter(
        emitPoint, binary(op, "tensor<12xf32>"),
        {KernelFamily::map, 0, {}, {{0, special}, {1, other}}});
  for (const char *predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
    expectLikeInterpreter(
        emitPoint,
        std::string("func.func @f(%x: tensor<12xf32>, %y: tensor<12xf32>) -> "
                    "tensor<12xi1> {\n  %z = hone.cmp ") +
            predicate +
            ", %x, %y : tensor<12xf32> -> tensor<12xi1>\n  return %z : "
            "tensor<12xi1>\n}",
        {KernelFamily::map, 0, {}, {{0, special}, {1, other}}});
}

TEST(Point, BinaryFloats) {
  for (const char *op : {"add", "sub", "mul", "div", "max", "min"})
    for (const char *type : {"tensor<5x7xf32>", "tensor<5x7xf64>"})
      expectLikeInterpreter(emitPoint, binary(op, type),
                            {KernelFamily::map, 0});
  std::string positive = "func.func @f(%x: tensor<5x7xf32>, %y: "
                         "tensor<5x7xf32>) -> tensor<5x7xf32> {\n"
                         "  %a = hone.abs %x : tensor<5x7xf32>\n"
                         "  %z = hone.pow %a, %y : tensor<5x7xf32>\n"
                         "  return %z : tensor<5x7xf32>\n}";
  expectLikeInterpreter(emitPoint, positive);
  for (const char *form : {"tanh", "erf"})
    expectLikeInterpreter(
        emitPoint, binary(std::string("gelu_bwd ") + form, "tensor<5x7xf32>"));
}

TEST(Point, Integers) {
  for (const char *type :
       {"tensor<5x7xi64>", "tensor<5x7xi32>", "tensor<5x7xi8>"}) {
    std::vector<double> divisors;
    for (int i = 0; i < 35; ++i)
      divisors.push_back(i % 2 ? 1 + i % 5 : -1 - i % 5);
    for (const char *op : {"add", "sub", "mul", "max", "min", "and", "or"})
      expectLikeInterpreter(emitPoint, binary(op, type),
                            {KernelFamily::map, 0, {}, {}, 100});
    expectLikeInterpreter(emitPoint, binary("div", type),
                          {KernelFamily::map, 0, {}, {{1, divisors}}, 100});
    for (const char *op : {"neg", "abs", "sign", "not"})
      expectLikeInterpreter(emitPoint, unary(op, type),
                            {KernelFamily::map, 0, {}, {{0, divisors}}});
  }
  for (const char *op : {"and", "or"})
    expectLikeInterpreter(emitPoint, binary(op, "tensor<5x7xi1>"),
                          {KernelFamily::map, 0, {}, {}, 2});
  expectLikeInterpreter(emitPoint, unary("not", "tensor<5x7xi1>"),
                        {KernelFamily::map, 0, {}, {}, 2});
}

TEST(Point, UndefinedQuotientsDoNotTrap) {
  // 7 / 0 and the smallest number / -1 stop a process on most CPUs. The graph
  // leaves them undefined; the elements beside them must be right.
  std::vector<double> dividends = {7, -2147483648.0, 9, -9},
                      divisors = {0, -1, 4, 4};
  interp::Tensors results =
      runKernel(emitPoint, binary("div", "tensor<4xi32>"),
                {KernelFamily::map, 0, {}, {{0, dividends}, {1, divisors}}});
  EXPECT_EQ(results[0].ints()[2], 2);
  EXPECT_EQ(results[0].ints()[3], -2);
}

TEST(Point, Casts) {
  const char *types[] = {"f64", "f32", "bf16", "f16", "i64", "i32", "i8", "i1"};
  for (const char *from : types)
    for (const char *to : types)
      expectLikeInterpreter(
          emitPoint,
          with("func.func @f(%x: tensor<41xFROM>) -> tensor<41xTO> {\n"
               "  %y = hone.cast %x : tensor<41xFROM> -> tensor<41xTO>\n"
               "  return %y : tensor<41xTO>\n}",
               {{"FROM", from}, {"TO", to}}),
          {KernelFamily::map, 0, {}, {}, from == std::string("i1") ? 2 : 100});
}

TEST(Point, NarrowCastsRoundOnce) {
  // Next to halfway points of bf16 and f16, where a rounding to f32 on the way
  // would land on the tie.
  std::vector<double> values;
  for (double ulp : {0x1p-8, 0x1p-11})
    for (double sign : {1.0, -1.0})
      for (double nudge : {0.0, 0x1p-40, -0x1p-40, 0x1p-30})
        for (double odd : {0.0, 1.0})
          values.push_back(sign * (1 + (2 * odd + 1) * ulp + nudge));
  values.insert(values.end(), {inf, -inf, notANumber, 0.0});
  for (const char *to : {"bf16", "f16"})
    expectLikeInterpreter(
        emitPoint,
        with("func.func @f(%x: tensor<36xf64>) -> tensor<36xTO> {\n"
             "  %y = hone.cast %x : tensor<36xf64> -> tensor<36xTO>\n"
             "  return %y : tensor<36xTO>\n}",
             {{"TO", to}}),
        {KernelFamily::map, 1e-300, {}, {{0, values}}});
}

// Every kind of bf16 and of f16, and what lies next to halfway between two. The
// subnormals of bf16, which are some of f32's, count as zero; f16's are kept.
TEST(Point, NarrowCastsOfEveryKind) {
  std::vector<double> values = {
      0.0,     -0.0,    inf,     -inf,     notANumber, 1e30,  -1e30,
      3.4e38,  65504,   65519,   65520,    -65520,     65536, 0x1p-14,
      0x1p-24, 0x1p-25, 0x3p-26, -0x1p-24, 0x1.8p-24};
  for (double ulp : {0x1p-8, 0x1p-11})
    for (double odd : {0.0, 1.0})
      for (double nudge : {0.0, 0x1p-23, -0x1p-23})
        values.push_back(1 + (2 * odd + 1) * ulp + nudge);
  std::string size = std::to_string(values.size());
  for (Emitter emit : {emitPoint, emitRowKernel})
    for (const char *narrow : {"bf16", "f16"}) {
      std::string text = with(
          "func.func @f(%x: tensor<Nxf32>) -> (tensor<NxTO>, tensor<Nxf32>) {\n"
          "  %y = hone.cast %x : tensor<Nxf32> -> tensor<NxTO>\n"
          "  %z = hone.cast %y : tensor<NxTO> -> tensor<Nxf32>\n"
          "  return %y, %z : tensor<NxTO>, tensor<Nxf32>\n}",
          {{"TO", narrow}, {"N", size}});
      expectLikeInterpreter(emit, text,
                            {KernelFamily::map, 0, {}, {{0, values}}});
    }
}

TEST(Point, SubnormalsOfBF16AreZero) {
  std::string text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xbf16> {\n"
                     "  %y = hone.cast %x : tensor<4xf32> -> tensor<4xbf16>\n"
                     "  return %y : tensor<4xbf16>\n}";
  CaseOptions options{KernelFamily::map, 0x1p-126};
  options.data = {{0, {0x1p-127, -0x1p-130, 0x1p-126, 0x1p-149}}};
  expectLikeInterpreter(emitPoint, text, options);
  interp::Tensor rounded = runKernel(emitPoint, text, options).front();
  EXPECT_EQ(rounded.floats()[0], 0);
  EXPECT_EQ(rounded.floats()[1], 0);
  EXPECT_EQ(rounded.floats()[2], 0x1p-126);
  EXPECT_EQ(rounded.floats()[3], 0);
}

TEST(Point, SelectAndConstants) {
  expectLikeInterpreter(emitPoint, R"(
    func.func @f(%p: tensor<2x3xi1>, %x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %t = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
      %m = hone.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
      %q = hone.and %p, %m : tensor<2x3xi1>
      %y = hone.select %q, %x, %t : tensor<2x3xi1>, tensor<2x3xf32>
      %s = hone.constant dense<0.5> : tensor<2x3xf32>
      %z = hone.mul %y, %s : tensor<2x3xf32>
      return %z : tensor<2x3xf32>
    })",
                        {KernelFamily::map, 0, {}, {}, 2});
}

TEST(Point, RankZero) {
  expectLikeInterpreter(emitPoint, binary("add", "tensor<f32>"));
}

TEST(Point, NothingToWrite) {
  expectLikeInterpreter(emitPoint, unary("exp", "tensor<0x8xf32>"));
  expectLikeInterpreter(emitPoint, unary("exp", "tensor<8x0xf32>"));
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

TEST(Point, Iota) {
  for (const char *element : {"i64", "i32", "i8", "f32", "bf16", "f64"})
    for (const char *dim : {"0", "1", "2"})
      expectLikeInterpreter(emitPoint,
                            with("func.func @f() -> tensor<2x3x5xE> {\n"
                                 "  %y = hone.iota dim D : tensor<2x3x5xE>\n"
                                 "  return %y : tensor<2x3x5xE>\n}",
                                 {{"E", element}, {"D", dim}}),
                            {KernelFamily::map, 0});
}

TEST(Point, Random) {
  for (const char *element : {"f32", "f64", "bf16"})
    for (const char *dist : {"uniform", "normal"})
      expectLikeInterpreter(
          emitPoint,
          with("func.func @f(%k: tensor<3xi64>) -> tensor<5x13xE> {\n"
               "  %y = hone.random D(%k) salt 9 : tensor<3xi64> -> "
               "tensor<5x13xE>\n"
               "  return %y : tensor<5x13xE>\n}",
               {{"E", element}, {"D", dist}}),
          {KernelFamily::map,
           element == std::string("bf16")  ? 0x1p-7
           : element == std::string("f64") ? 1e-13
                                           : 4e-6,
           {},
           {},
           1 << 30});
}

TEST(Point, Dropout) {
  for (const char *p : {"0.1", "0.5", "0.0", "0.999999999999"})
    for (const char *element : {"f32", "f64", "bf16"})
      expectLikeInterpreter(
          emitPoint,
          with("func.func @f(%x: tensor<7x11xE>, %k: tensor<3xi64>) -> "
               "tensor<7x11xE> {\n"
               "  %y = hone.dropout %x, %k p P salt 3 : tensor<7x11xE>, "
               "tensor<3xi64>\n"
               "  return %y : tensor<7x11xE>\n}",
               {{"E", element}, {"P", p}}),
          {KernelFamily::map, 1e-7, {}, {}, 1 << 30});
}

//===----------------------------------------------------------------------===//
// Shape, inside a body that computes too
//===----------------------------------------------------------------------===//

TEST(Point, ShapesInsideOneBody) {
  expectLikeInterpreter(emitPoint, R"(
    func.func @f(%x: tensor<4x6xf32>, %b: tensor<3xf32>) -> (tensor<3x2x4xf32>, tensor<24xf32>) {
      %n = hone.neg %x : tensor<4x6xf32>
      %r = hone.reshape %n : tensor<4x6xf32> -> tensor<4x2x3xf32>
      %t = hone.transpose %r [2, 1, 0] : tensor<4x2x3xf32> -> tensor<3x2x4xf32>
      %bb = hone.broadcast %b dims [0] : tensor<3xf32> -> tensor<3x2x4xf32>
      %s = hone.add %t, %bb : tensor<3x2x4xf32>
      %flat = hone.reshape %n : tensor<4x6xf32> -> tensor<24xf32>
      return %s, %flat : tensor<3x2x4xf32>, tensor<24xf32>
    })",
                        {KernelFamily::map, 0});
}

TEST(Point, PadSliceConcatOfComputedValues) {
  expectLikeInterpreter(emitPoint, R"(
    func.func @f(%x: tensor<4x6xf32>, %y: tensor<4x3xf32>) -> tensor<9x9xf32> {
      %n = hone.exp %x : tensor<4x6xf32>
      %c = hone.concat %n, %y dim 1 : (tensor<4x6xf32>, tensor<4x3xf32>) -> tensor<4x9xf32>
      %s = hone.slice %c [0, 1] to [4, 9] by [1, 2] : tensor<4x9xf32> -> tensor<4x4xf32>
      %p = hone.pad %s low [1, 1] high [1, 1] interior [1, 1] : tensor<4x4xf32> -> tensor<9x9xf32>
      return %p : tensor<9x9xf32>
    })");
}

TEST(Point, ReshapeKeepsAndMixesDimensions) {
  for (const char *to : {"2x3x4x5", "6x20", "1x120x1", "5x4x3x2", "2x12x5"})
    expectLikeInterpreter(
        emitPoint,
        with("func.func @f(%x: tensor<2x3x4x5xf32>) -> tensor<TOxf32> {\n"
             "  %y = hone.reshape %x : tensor<2x3x4x5xf32> -> tensor<TOxf32>\n"
             "  return %y : tensor<TOxf32>\n}",
             {{"TO", to}}),
        {KernelFamily::view, 0});
}

TEST(Point, SharedValuesDoNotBlowUp) {
  // 40 doublings: 2^40 loads if nothing were remembered.
  std::string text = "func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {\n"
                     "  %h = hone.constant dense<0.5> : tensor<8x8xf32>\n";
  std::string last = "%x";
  for (int i = 0; i < 40; ++i) {
    std::string n = std::to_string(i);
    text += "  %s" + n + " = hone.add " + last + ", " + last +
            " : tensor<8x8xf32>\n  %v" + n + " = hone.mul %s" + n +
            ", %h : tensor<8x8xf32>\n";
    last = "%v" + n;
  }
  expectLikeInterpreter(emitPoint,
                        text + "  return " + last + " : tensor<8x8xf32>\n}",
                        {KernelFamily::map, 0});
}

//===----------------------------------------------------------------------===//
// Sharing memory
//===----------------------------------------------------------------------===//

TEST(Point, WritesOverAnInputReadElementwise) {
  expectLikeInterpreter(emitPoint, R"(
    func.func @f(%x: tensor<5x7xf32>, %y: tensor<5x7xf32>) -> (tensor<5x7xf32>, tensor<5x7xf32>) {
      %s = hone.add %x, %y : tensor<5x7xf32>
      %d = hone.sub %x, %y : tensor<5x7xf32>
      return %s, %d : tensor<5x7xf32>, tensor<5x7xf32>
    })",
                        {KernelFamily::map, 0, {{0, 1}, {1, 0}}});
}

TEST(Point, RefusesToWriteOverAnInputReadElsewhere) {
  EXPECT_EQ(refusalOf(emitPoint, R"(
    func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %y = hone.transpose %x [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
      return %y : tensor<8x8xf32>
    })",
                      {KernelFamily::dataMovement, 0, {{0, 0}}}),
            "'plan.launch' op writes over input 0, which other elements of "
            "the outputs read");
}

TEST(Point, RefusesOtherOps) {
  EXPECT_EQ(refusalOf(emitPoint, R"(
    func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %y = hone.softmax %x : tensor<8x8xf32>
      return %y : tensor<8x8xf32>
    })"),
            "'plan.launch' op holds 'hone.softmax', expected primitive ops "
            "that compute element by element");
}
