//===- RowTest.cpp - Kernels for maps and row reductions ------------------===//

#include "KernelCase.h"
#include "KernelText.h"

#include "Codegen/CPU/RowKernels.h"

#include "gtest/gtest.h"

#include <cmath>
#include <tuple>

using namespace hone;
using namespace hone::test;

namespace {
constexpr const char *types[] = {"f32", "f64", "bf16", "f16",
                                 "i64", "i32", "i8"};
bool isInteger(const std::string &type) { return type[0] == 'i'; }
/// Half a unit in the last place of one rounding, and a little.
double rounding(const std::string &type) {
  if (type == "bf16")
    return 0x1p-8;
  if (type == "f16")
    return 0x1p-11;
  return type == "f64" ? 1e-14 : 2e-6;
}
} // namespace

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

TEST(Row, MapsOfFloats) {
  for (const char *op : {"neg", "abs", "exp", "tanh", "erf", "logistic", "sin",
                         "cos", "sign", "gelu tanh", "gelu erf"})
    for (const char *type : {"f32", "f64", "bf16", "f16"})
      expectLikeInterpreter(emitRowKernel,
                            unary(op, std::string("tensor<3x37x") + type + ">"),
                            {KernelFamily::map, rounding(type)});
}

TEST(Row, MapsOfIntegers) {
  for (const char *type :
       {"tensor<5x7xi64>", "tensor<5x7xi32>", "tensor<5x7xi8>"}) {
    for (const char *op : {"add", "sub", "mul", "max", "min", "and", "or"})
      expectLikeInterpreter(emitRowKernel, binary(op, type),
                            {KernelFamily::map, 0, {}, {}, 100});
    for (const char *op : {"neg", "abs", "sign", "not"})
      expectLikeInterpreter(emitRowKernel, unary(op, type),
                            {KernelFamily::map, 0, {}, {}, 100});
  }
}

// Lanes past the end of a row hold zeros: as divisors, they must not trap.
TEST(Row, QuotientsInTheRestOfARow) {
  for (const char *type : {"i64", "i32", "i8"})
    expectLikeInterpreter(
        emitRowKernel,
        with("func.func @f(%x: Tx3xE>, %y: Tx3xE>) -> Tx3xE> {\n"
             "  %z = hone.div %x, %y : Tx3xE>\n  return %z : Tx3xE>\n}",
             {{"T", "tensor<2"}, {"E", type}}),
        {KernelFamily::map, 0, {}, {{1, {1, 2, 3, -1, -2, -3}}}, 100});
}

TEST(Row, SpecialValues) {
  for (const char *op :
       {"neg", "abs", "exp", "tanh", "erf", "logistic", "sign", "sqrt"}) {
    expectLikeInterpreter(emitRowKernel, unary(op, "tensor<12xf32>"),
                          {KernelFamily::map, 1e-6, {}, {{0, special}}});
    expectLikeInterpreter(emitRowKernel, unary(op, "tensor<12xf64>"),
                          {KernelFamily::map, 1e-14, {}, {{0, special}}});
  }
}

TEST(Row, MasksAndChoices) {
  expectLikeInterpreter(
      emitRowKernel,
      with("func.func @f(%x: Txf32>, %y: Txf32>, %m: Txi1>) -> (Txf32>, Txi1>)"
           " {\n"
           "  %c = hone.cmp lt, %x, %y : Txf32> -> Txi1>\n"
           "  %n = hone.not %m : Txi1>\n"
           "  %b = hone.and %c, %n : Txi1>\n"
           "  %r = hone.select %b, %x, %y : Txi1>, Txf32>\n"
           "  return %r, %b : Txf32>, Txi1>\n}",
           {{"T", "tensor<3x37"}}),
      {KernelFamily::map, 0, {}, {}, 2});
}

TEST(Row, CastsBetweenTypes) {
  for (std::string from : types)
    for (std::string to : types)
      if (from != to)
        expectLikeInterpreter(
            emitRowKernel,
            with("func.func @f(%x: TxA>) -> TxB> {\n"
                 "  %y = hone.cast %x : TxA> -> TxB>\n  return %y : TxB>\n}",
                 {{"T", "tensor<3x21"}, {"A", from}, {"B", to}}),
            {KernelFamily::map, 0, {}, {}, 100});
}

// A product in a narrow type is rounded before it is added.
TEST(Row, NarrowProductsAreRounded) {
  for (const char *type : {"bf16", "f16"})
    expectLikeInterpreter(
        emitRowKernel,
        with("func.func @f(%x: T, %y: T, %z: T) -> T {\n"
             "  %p = hone.mul %x, %y : T\n  %s = hone.add %p, %z : T\n"
             "  return %s : T\n}",
             {{"T", std::string("tensor<3x37x") + type + ">"}}),
        {KernelFamily::map, 0});
}

TEST(Row, EveryWidth) {
  for (int64_t cols : {0, 1, 2, 15, 16, 17, 63, 64, 65, 79, 80, 130})
    expectLikeInterpreter(
        emitRowKernel,
        unary("tanh", "tensor<3x" + std::to_string(cols) + "xf32>"));
  expectLikeInterpreter(emitRowKernel, unary("tanh", "tensor<0x5xf32>"));
  expectLikeInterpreter(emitRowKernel, unary("tanh", "tensor<f32>"));
}

TEST(Row, OperandsPerRowColumnAndNumber) {
  for (int64_t cols : {1, 5, 16, 67})
    expectLikeInterpreter(
        emitRowKernel,
        with("func.func @f(%x: tensor<2x3xCxf32>, %c: tensor<Cxf32>, "
             "%t: tensor<3xCxf32>, %s: tensor<f32>, %r: tensor<2x3xf32>)"
             " -> tensor<2x3xCxf32> {\n"
             "  %a = hone.broadcast %c dims [2] : tensor<Cxf32> -> M\n"
             "  %b = hone.broadcast %t dims [1, 2] : tensor<3xCxf32> -> M\n"
             "  %d = hone.broadcast %s dims [] : tensor<f32> -> M\n"
             "  %e = hone.broadcast %r dims [0, 1] : tensor<2x3xf32> -> M\n"
             "  %p = hone.mul %x, %a : M\n  %q = hone.add %p, %b : M\n"
             "  %u = hone.mul %q, %d : M\n  %v = hone.sub %u, %e : M\n"
             "  return %v : M\n}",
             {{"M", "tensor<2x3xCxf32>"}, {"C", std::to_string(cols)}}));
}

TEST(Row, CountersAlongEveryDimension) {
  for (const char *dim : {"0", "1", "2"})
    for (std::string type : types)
      expectLikeInterpreter(
          emitRowKernel,
          with("func.func @f() -> T {\n  %i = hone.iota dim D : T\n"
               "  return %i : T\n}",
               {{"D", dim}, {"T", "tensor<3x5x21x" + type + ">"}}),
          {KernelFamily::map, 0});
}

TEST(Row, CountersOfOneElement) {
  expectLikeInterpreter(
      emitRowKernel,
      "func.func @f(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {\n"
      "  %i = hone.iota dim 0 : tensor<1xf32>\n"
      "  %e = hone.exp %i : tensor<1xf32>\n"
      "  %s = hone.reshape %e : tensor<1xf32> -> tensor<f32>\n"
      "  %b = hone.broadcast %s dims [] : tensor<f32> -> tensor<3x5xf32>\n"
      "  %r = hone.add %x, %b : tensor<3x5xf32>\n"
      "  return %r : tensor<3x5xf32>\n}");
}

TEST(Row, DropoutMasksDependOnTheElement) {
  for (const char *shape : {"3x37", "2x2x64", "5"})
    expectLikeInterpreter(
        emitRowKernel,
        with("func.func @f(%x: T, %k: tensor<3xi64>) -> T {\n"
             "  %d = hone.dropout %x, %k p 0.5 salt 7 : T, tensor<3xi64>\n"
             "  return %d : T\n}",
             {{"T", std::string("tensor<") + shape + "xf32>"}}),
        {KernelFamily::map, 0});
}

TEST(Row, ResultsLieOnOperands) {
  expectLikeInterpreter(emitRowKernel, unary("tanh", "tensor<3x37xf32>"),
                        {KernelFamily::map, 2e-6, {{0, 0}}});
  expectLikeInterpreter(
      emitRowKernel,
      "func.func @f(%x: tensor<3x37xf32>, %y: tensor<3x37xf32>)"
      " -> (tensor<3x37xf32>, tensor<3x37xf32>) {\n"
      "  %a = hone.sub %x, %y : tensor<3x37xf32>\n"
      "  %b = hone.mul %x, %y : tensor<3x37xf32>\n"
      "  return %a, %b : tensor<3x37xf32>, tensor<3x37xf32>\n}",
      {KernelFamily::map, 0, {{0, 1}, {1, 0}}});
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

TEST(Row, ReductionsOfEveryType) {
  for (std::string type : types)
    for (const char *kind : {"sum", "max", "min"})
      expectLikeInterpreter(
          emitRowKernel,
          with("func.func @f(%x: tensor<3x37xE>) -> tensor<3xE> {\n"
               "  %s = hone.reduce K %x dims [1] : tensor<3x37xE> -> "
               "tensor<3xE>\n  return %s : tensor<3xE>\n}",
               {{"E", type}, {"K", kind}}),
          {KernelFamily::row, isInteger(type) ? 0 : 8 * rounding(type)});
}

TEST(Row, ReductionsOfEveryWidth) {
  for (int64_t cols : {0, 1, 15, 16, 17, 64, 65, 80, 130})
    for (const char *kind : {"sum", "max", "min"})
      expectLikeInterpreter(
          emitRowKernel,
          with("func.func @f(%x: tensor<3xCxf32>) -> tensor<3xf32> {\n"
               "  %s = hone.reduce K %x dims [1] : tensor<3xCxf32> -> "
               "tensor<3xf32>\n  return %s : tensor<3xf32>\n}",
               {{"C", std::to_string(cols)}, {"K", kind}}),
          {KernelFamily::row, 1e-5});
}

TEST(Row, NaNWinsExtremes) {
  std::vector<double> data = special;
  expectLikeInterpreter(
      emitRowKernel,
      "func.func @f(%x: tensor<2x6xf32>) -> (tensor<2xf32>, tensor<2xf32>) {\n"
      "  %a = hone.reduce max %x dims [1] : tensor<2x6xf32> -> tensor<2xf32>\n"
      "  %b = hone.reduce min %x dims [1] : tensor<2x6xf32> -> tensor<2xf32>\n"
      "  return %a, %b : tensor<2xf32>, tensor<2xf32>\n}",
      {KernelFamily::row, 0, {}, {{0, data}}});
}

// Three sweeps: the maximum, the sum that reads it, the quotient of both.
TEST(Row, SoftmaxInPlace) {
  for (int64_t cols : {1, 16, 37, 200})
    expectLikeInterpreter(
        emitRowKernel,
        with("func.func @f(%x: M) -> (M, tensor<5xf32>) {\n"
             "  %m = hone.reduce max %x dims [1] : M -> tensor<5xf32>\n"
             "  %b = hone.broadcast %m dims [0] : tensor<5xf32> -> M\n"
             "  %s = hone.sub %x, %b : M\n  %e = hone.exp %s : M\n"
             "  %z = hone.reduce sum %e dims [1] : M -> tensor<5xf32>\n"
             "  %d = hone.broadcast %z dims [0] : tensor<5xf32> -> M\n"
             "  %r = hone.div %e, %d : M\n  %l = hone.log %z : tensor<5xf32>\n"
             "  return %r, %l : M, tensor<5xf32>\n}",
             {{"M", "tensor<5x" + std::to_string(cols) + "xf32>"}}),
        {KernelFamily::row, 5e-6, {{0, 0}}});
}
// The loss over a vocabulary, forward and backward: rows of the widths that
// models have, odd ones too, which a GPU does not hold in registers.
TEST(Row, Vocabularies) {
  for (const char *type : {"f32", "bf16", "f16"})
    for (int64_t cols : {12288, 50257, 50304, 128256})
      expectLikeInterpreter(
          emitRowKernel,
          with("func.func @f(%x: tensor<2xCxT>) -> (tensor<2xCxT>, "
               "tensor<2xf32>) {\n"
               "  %w = hone.cast %x : tensor<2xCxT> -> M\n"
               "  %m = hone.reduce max %w dims [1] : M -> tensor<2xf32>\n"
               "  %b = hone.broadcast %m dims [0] : tensor<2xf32> -> M\n"
               "  %s = hone.sub %w, %b : M\n  %e = hone.exp %s : M\n"
               "  %z = hone.reduce sum %e dims [1] : M -> tensor<2xf32>\n"
               "  %d = hone.broadcast %z dims [0] : tensor<2xf32> -> M\n"
               "  %p = hone.div %e, %d : M\n"
               "  %r = hone.cast %p : M -> tensor<2xCxT>\n"
               "  return %r, %z : tensor<2xCxT>, tensor<2xf32>\n}",
               {{"M", "tensor<2xCxf32>"},
                {"C", std::to_string(cols)},
                {"T", type}}),
          {KernelFamily::row, 2e-5});
}

// The loss of labels over a vocabulary whose last columns are padding, and its
// gradient: what a GPU reads for a label alone, or leaves out where no element
// of a vector differs. Labels stand at both sides of a vector and of the
// padding's edge, or are none.
TEST(Row, LossesOfVocabularies) {
  for (const char *type : {"f32", "bf16"})
    for (int64_t cols : {12288, 50304, 20001})
      for (std::vector<double> labels :
           {std::vector<double>{0, 7, 8, -100},
            {double(cols - 48), double(cols - 47), double(cols - 1), 4096}}) {
        CaseOptions options{KernelFamily::row, 2e-5};
        options.data = {{1, labels}};
        expectLikeInterpreter(
            emitRowKernel,
            with("func.func @f(%x: tensor<4xCxT>, %t: tensor<4xi64>) -> "
                 "(tensor<4xf32>, tensor<4xCxT>) {\n"
                 "  %w = hone.cast %x : tensor<4xCxT> -> M\n"
                 "  %low = hone.constant dense<0xFF800000> : M\n"
                 "  %e = hone.constant dense<E> : I\n"
                 "  %n = hone.iota dim 1 : I\n"
                 "  %in = hone.cmp lt, %n, %e : I -> B\n"
                 "  %l = hone.select %in, %w, %low : B, M\n"
                 "  %m = hone.reduce max %l dims [1] : M -> V\n"
                 "  %bm = hone.broadcast %m dims [0] : V -> M\n"
                 "  %s = hone.sub %l, %bm : M\n  %p = hone.exp %s : M\n"
                 "  %z = hone.reduce sum %p dims [1] : M -> V\n"
                 "  %g = hone.log %z : V\n  %lse = hone.add %m, %g : V\n"
                 "  %i = hone.cast %t : tensor<4xi64> -> tensor<4xi32>\n"
                 "  %bi = hone.broadcast %i dims [0] : tensor<4xi32> -> I\n"
                 "  %is = hone.cmp eq, %n, %bi : I -> B\n"
                 "  %zero = hone.constant dense<0.0> : M\n"
                 "  %one = hone.constant dense<1.0> : M\n"
                 "  %at = hone.select %is, %l, %zero : B, M\n"
                 "  %own = hone.reduce sum %at dims [1] : M -> V\n"
                 "  %loss = hone.sub %lse, %own : V\n"
                 "  %bl = hone.broadcast %lse dims [0] : V -> M\n"
                 "  %q = hone.sub %l, %bl : M\n  %prob = hone.exp %q : M\n"
                 "  %hot = hone.select %is, %one, %zero : B, M\n"
                 "  %d = hone.sub %prob, %hot : M\n"
                 "  %r = hone.cast %d : M -> tensor<4xCxT>\n"
                 "  return %loss, %r : tensor<4xf32>, tensor<4xCxT>\n}",
                 {{"M", "tensor<4xCxf32>"},
                  {"I", "tensor<4xCxi32>"},
                  {"B", "tensor<4xCxi1>"},
                  {"V", "tensor<4xf32>"},
                  {"E", std::to_string(cols - 47)},
                  {"C", std::to_string(cols)},
                  {"T", type}}),
            options);
      }
}

// The loss of smoothed labels and the gradient that is written over the
// logits, of which the last three columns are padding: rows that a GPU holds
// and rows that it reads again, of one element or eight to a vector, and blocks
// of several rows. A target may be ignored.
TEST(Row, LossesOverLogits) {
  for (const char *type : {"f32", "bf16", "f16"})
    for (int64_t cols : {5, 61, 1000, 9001, 16400}) {
      CaseOptions options{KernelFamily::row, 2e-5, {{0, 1}}};
      options.data = {{1, {0, double(cols - 4), -100, double(cols / 2), 1}}};
      expectLikeInterpreter(
          emitRowKernel,
          with("func.func @f(%x: N, %t: tensor<5xi64>, %g: tensor<f32>) -> "
               "(V, N) {\n"
               "  %w = hone.cast %x : N -> M\n"
               "  %low = hone.constant dense<0xFF800000> : M\n"
               "  %zero = hone.constant dense<0.0> : M\n"
               "  %e = hone.constant dense<E> : I\n"
               "  %n = hone.iota dim 1 : I\n"
               "  %in = hone.cmp lt, %n, %e : I -> B\n"
               "  %l = hone.select %in, %w, %low : B, M\n"
               "  %m = hone.reduce max %l dims [1] : M -> V\n"
               "  %bm = hone.broadcast %m dims [0] : V -> M\n"
               "  %s = hone.sub %l, %bm : M\n  %p = hone.exp %s : M\n"
               "  %z = hone.reduce sum %p dims [1] : M -> V\n"
               "  %lz = hone.log %z : V\n  %lse = hone.add %m, %lz : V\n"
               "  %i = hone.cast %t : tensor<5xi64> -> tensor<5xi32>\n"
               "  %bi = hone.broadcast %i dims [0] : tensor<5xi32> -> I\n"
               "  %is = hone.cmp eq, %n, %bi : I -> B\n"
               "  %at = hone.select %is, %l, %zero : B, M\n"
               "  %own = hone.reduce sum %at dims [1] : M -> V\n"
               "  %valid = hone.select %in, %w, %zero : B, M\n"
               "  %total = hone.reduce sum %valid dims [1] : M -> V\n"
               "  %share = hone.constant dense<S> : V\n"
               "  %most = hone.constant dense<0.9> : V\n"
               "  %a = hone.mul %own, %most : V\n"
               "  %b = hone.mul %total, %share : V\n"
               "  %c = hone.add %a, %b : V\n  %d = hone.sub %lse, %c : V\n"
               "  %none = hone.constant dense<-100> : tensor<5xi64>\n"
               "  %counts = hone.cmp ne, %t, %none : tensor<5xi64> -> "
               "tensor<5xi1>\n"
               "  %no = hone.constant dense<0.0> : V\n"
               "  %loss = hone.select %counts, %d, %no : tensor<5xi1>, V\n"
               "  %bg = hone.broadcast %g dims [] : tensor<f32> -> V\n"
               "  %u = hone.select %counts, %bg, %no : tensor<5xi1>, V\n"
               "  %bl = hone.broadcast %lse dims [0] : V -> M\n"
               "  %q = hone.sub %w, %bl : M\n  %prob = hone.exp %q : M\n"
               "  %heat = hone.constant dense<0.9> : M\n"
               "  %rest = hone.constant dense<S> : M\n"
               "  %hot = hone.select %is, %heat, %zero : B, M\n"
               "  %f = hone.sub %prob, %hot : M\n"
               "  %h = hone.sub %f, %rest : M\n"
               "  %bu = hone.broadcast %u dims [0] : V -> M\n"
               "  %j = hone.mul %h, %bu : M\n"
               "  %k = hone.select %in, %j, %zero : B, M\n"
               "  %r = hone.cast %k : M -> N\n"
               "  return %loss, %r : V, N\n}",
               {{"M", "tensor<5xCxf32>"},
                {"N", "tensor<5xCxT>"},
                {"I", "tensor<5xCxi32>"},
                {"B", "tensor<5xCxi1>"},
                {"V", "tensor<5xf32>"},
                {"E", std::to_string(cols - 3)},
                {"S", std::to_string(0.1 / double(cols - 3))},
                {"C", std::to_string(cols)},
                {"T", type}}),
          options);
    }
}

// Rows with -inf, infinity, NaN and the lowest number, where a thread sees
// nothing else before it sees the rest of the row.
TEST(Row, SpecialVocabularies) {
  constexpr int64_t cols = 9000;
  constexpr double lowest = -0x1.fep127; // of bf16
  std::vector<double> data;
  for (auto [fill, first, last] : {std::tuple(-inf, -inf, -inf),
                                   {-inf, 0.5, 2.0},
                                   {-inf, -inf, 1.0},
                                   {-inf, inf, 1.0},
                                   {-inf, notANumber, 1.0},
                                   {lowest, lowest, lowest},
                                   {lowest, lowest, 1.0},
                                   {-1e10, -1e10, -1e10}}) {
    std::vector<double> row(cols, fill);
    row.front() = first;
    row.back() = last;
    data.insert(data.end(), row.begin(), row.end());
  }
  for (const char *type : {"f32", "bf16"})
    expectLikeInterpreter(
        emitRowKernel,
        with(
            "func.func @f(%x: tensor<8x9000xT>) -> (V, V) {\n"
            "  %w = hone.cast %x : tensor<8x9000xT> -> M\n"
            "  %m = hone.reduce max %w dims [1] : M -> V\n"
            "  %b = hone.broadcast %m dims [0] : V -> M\n"
            "  %s = hone.sub %w, %b : M\n  %e = hone.exp %s : M\n"
            "  %z = hone.reduce sum %e dims [1] : M -> V\n"
            "  return %m, %z : V, V\n}",
            {{"M", "tensor<8x9000xf32>"}, {"V", "tensor<8xf32>"}, {"T", type}}),
        {KernelFamily::row, 2e-6, {}, {{0, data}}});
}

// One thread may write its part of the row while another has not yet read the
// label's element there.
TEST(Row, LabelsOfRowsInPlace) {
  CaseOptions options{
      KernelFamily::row, 2e-6, {{0, 0}}, {{1, {0, 4095, 12287}}}};
  expectLikeInterpreter(
      emitRowKernel,
      with("func.func @f(%x: M, %t: tensor<3xi32>) -> M {\n"
           "  %n = hone.iota dim 1 : I\n"
           "  %bt = hone.broadcast %t dims [0] : tensor<3xi32> -> I\n"
           "  %is = hone.cmp eq, %n, %bt : I -> tensor<3x12288xi1>\n"
           "  %zero = hone.constant dense<0.0> : M\n"
           "  %at = hone.select %is, %x, %zero : tensor<3x12288xi1>, M\n"
           "  %own = hone.reduce sum %at dims [1] : M -> tensor<3xf32>\n"
           "  %b = hone.broadcast %own dims [0] : tensor<3xf32> -> M\n"
           "  %y = hone.sub %x, %b : M\n  return %y : M\n}",
           {{"M", "tensor<3x12288xf32>"}, {"I", "tensor<3x12288xi32>"}}),
      options);
}

// Masks of rows beside masks of columns, whose bound the row itself gives.
TEST(Row, MasksOfLongRows) {
  expectLikeInterpreter(
      emitRowKernel,
      with("func.func @f(%x: M, %k: I) -> (M, M) {\n"
           "  %r = hone.iota dim 0 : tensor<6xi32>\n"
           "  %five = hone.constant dense<5> : tensor<6xi32>\n"
           "  %is = hone.cmp eq, %r, %five : tensor<6xi32> -> tensor<6xi1>\n"
           "  %b = hone.broadcast %is dims [0] : tensor<6xi1> -> B\n"
           "  %zero = hone.constant dense<0.0> : M\n"
           "  %y = hone.select %b, %x, %zero : B, M\n"
           "  %m = hone.reduce max %y dims [1] : M -> tensor<6xf32>\n"
           "  %bm = hone.broadcast %m dims [0] : tensor<6xf32> -> M\n"
           "  %z = hone.sub %y, %bm : M\n"
           "  %end = hone.reduce max %k dims [1] : I -> tensor<6xi32>\n"
           "  %be = hone.broadcast %end dims [0] : tensor<6xi32> -> I\n"
           "  %n = hone.iota dim 1 : I\n"
           "  %in = hone.cmp lt, %n, %be : I -> B\n"
           "  %c = hone.select %in, %x, %zero : B, M\n"
           "  return %z, %c : M, M\n}",
           {{"M", "tensor<6x9000xf32>"},
            {"I", "tensor<6x9000xi32>"},
            {"B", "tensor<6x9000xi1>"}}),
      {KernelFamily::row, 0});
}

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

namespace {
/// Rows, columns and totals of one matrix at once, and a value per row.
std::string sums(int64_t rows, int64_t cols) {
  return with("func.func @f(%x: M) -> (M, tensor<Cxf32>, tensor<f32>, "
              "tensor<f32>) {\n"
              "  %m = hone.reduce max %x dims [1] : M -> V\n"
              "  %b = hone.broadcast %m dims [0] : V -> M\n"
              "  %y = hone.sub %x, %b : M\n"
              "  %c = hone.reduce sum %y dims [0] : M -> tensor<Cxf32>\n"
              "  %t = hone.reduce sum %y dims [0, 1] : M -> tensor<f32>\n"
              "  %u = hone.reduce sum %m dims [0] : V -> tensor<f32>\n"
              "  return %y, %c, %t, %u : M, tensor<Cxf32>, tensor<f32>, "
              "tensor<f32>\n}",
              {{"M", "tensor<RxCxf32>"},
               {"V", "tensor<Rxf32>"},
               {"R", std::to_string(rows)},
               {"C", std::to_string(cols)}});
}

std::string columnSum(int64_t rows, int64_t cols, const std::string &type) {
  return with(
      "func.func @f(%x: tensor<RxCxT>) -> tensor<Cxf32> {\n"
      "  %y = hone.cast %x : tensor<RxCxT> -> tensor<RxCxf32>\n"
      "  %c = hone.reduce sum %y dims [0] : tensor<RxCxf32> -> "
      "tensor<Cxf32>\n  return %c : tensor<Cxf32>\n}",
      {{"R", std::to_string(rows)}, {"C", std::to_string(cols)}, {"T", type}});
}

CaseOptions sumOptions(int64_t chunks) {
  CaseOptions options{KernelFamily::row, 2e-5};
  options.laterStages = {emitPartialSums};
  options.chunks = chunks;
  return options;
}
} // namespace

TEST(Row, SumsOverRows) {
  for (int64_t rows : {2, 3, 70, 201})
    for (int64_t cols : {5, 16, 67, 300})
      expectLikeInterpreter(emitRowKernel, sums(rows, cols), sumOptions(64));
  expectLikeInterpreter(emitRowKernel, sums(300, 40), sumOptions(264));
}

TEST(Row, SumsOverRowsAlone) {
  for (const char *type : {"f32", "bf16"})
    for (int64_t cols : {2, 33, 512, 5000})
      expectLikeInterpreter(emitRowKernel, columnSum(70, cols, type),
                            sumOptions(64));
}

// Too long for a GPU to hold a row in registers.
TEST(Row, SumsOverLongRows) {
  expectLikeInterpreter(emitRowKernel, sums(5, 20000), sumOptions(64));
  expectLikeInterpreter(emitRowKernel, sums(3, 12289), sumOptions(64));
}

// Positions of a sequence are angles of a rotation table.
TEST(Row, AnglesOfPositions) {
  expectLikeInterpreter(emitRowKernel, unary("cos", "tensor<12xf32>"),
                        {KernelFamily::map,
                         2e-6,
                         {},
                         {{0,
                           {1.5, 10, 50, 100, 300.5, 500, 1000, 1023.5, 2047,
                            4095, 8191, 20000}}}});
  expectLikeInterpreter(emitRowKernel, unary("sin", "tensor<12xf32>"),
                        {KernelFamily::map,
                         2e-6,
                         {},
                         {{0,
                           {1.5, 10, 50, 100, 300.5, 500, 1000, 1023.5, 2047,
                            4095, 8191, 20000}}}});
}
