//===- QuantizeTest.cpp - Codes of fp8 and their scales -------------------===//

#include "DeviceRun.h"
#include "KernelCase.h"
#include "KernelText.h"
#include "LaunchCase.h"

#include "Codegen/CPU/QuantizeKernels.h"
#include "base/ScaleLayout.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace hone;
using namespace hone::test;
using honert::ScaleTile;

namespace {

mlir::FailureOr<Kernel> emitCodes(mlir::OpBuilder &builder,
                                  llvm::StringRef name, plan::LaunchOp launch) {
  return *emitQuantize(builder, name, launch);
}

mlir::FailureOr<Kernel> emitLargest(mlir::OpBuilder &builder,
                                    llvm::StringRef name,
                                    plan::LaunchOp launch) {
  return *emitAmax(builder, name, launch);
}

struct Shape {
  int64_t rows, columns; ///< of the operand
};

/// Codes of an operand of `shape`.
std::string quantization(Shape shape, ScaleTile tile, bool transposed,
                         const std::string &element, const std::string &code) {
  honert::TileSize size = honert::sizeOf(tile);
  if (transposed)
    std::swap(shape.rows, shape.columns);
  honert::ScaleLayout layout = {tile, shape.rows, shape.columns};
  std::string scales;
  for (int64_t dim : layout.shape())
    scales += std::to_string(dim) + "x";
  scales += tile == ScaleTile::row32 ? "i8" : "f32";
  auto matrix = [](int64_t rows, int64_t columns, const std::string &type) {
    return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
           "x" + type + ">";
  };
  bool isTensor = tile == ScaleTile::tensor;
  return with("func.func @f(%x: X AMAX) -> (C, S) {\n"
              "  %c, %s = hone.quantize %x WITH tile [TR, TC] T : X -> C, S\n"
              "  return %c, %s : C, S\n}",
              {{"AMAX", isTensor ? ", %a: tensor<f32>" : ""},
               {"WITH", isTensor ? "amax %a" : ""},
               {"TR", std::to_string(size.rows)},
               {"TC", std::to_string(size.columns)},
               {"] T", transposed ? "] transposed" : "]"},
               {"X", transposed ? matrix(shape.columns, shape.rows, element)
                                : matrix(shape.rows, shape.columns, element)},
               {"C", matrix(shape.rows, shape.columns, code)},
               {"S", "tensor<" + scales + ">"}});
}

/// Numbers of all sizes: tiles of zeros, ties, numbers that become subnormal
/// codes or saturate, and one that is none.
std::vector<double> numbers(Shape shape, bool hasSpecials) {
  std::mt19937 random(shape.rows * 1000 + shape.columns);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t column = 0; column < shape.columns; ++column) {
      double value = normal(random);
      switch (random() % 8) {
      case 0:
        value = std::ldexp(double(random() % 33) - 16, int(random() % 20) - 12);
        break;
      case 1:
        value *= std::exp(3 * normal(random));
        break;
      case 2:
        value = 0;
        break;
      }
      values.push_back((row + column) % 41 == 0 ? -value : value);
    }
  auto set = [&](int64_t row, int64_t column, double value) {
    if (hasSpecials && row < shape.rows && column < shape.columns)
      values[row * shape.columns + column] = value;
  };
  set(1, 2, 448), set(2, 3, -464), set(3, 4, 1.75), set(4, 5, 1e30);
  set(5, 6, inf), set(6, 7, notANumber), set(7, 140, -inf), set(33, 1, -0.0);
  return values;
}

double largestOf(const std::vector<double> &values) {
  double largest = 0;
  for (double value : values)
    largest = std::fabs(value) > largest ? std::fabs(value) : largest;
  return largest;
}

void expectCodes(Shape shape, ScaleTile tile, bool transposed,
                 const std::string &element, const std::string &code,
                 bool hasSpecials = true) {
  CaseOptions options{KernelFamily::dataMovement, 0};
  std::vector<double> values = numbers(shape, hasSpecials);
  options.data = {{0, values}};
  if (tile == ScaleTile::tensor)
    options.data.push_back({1, {hasSpecials ? 300.0 : largestOf(values)}});
  expectLikeInterpreter(
      emitCodes, quantization(shape, tile, transposed, element, code), options);
}

constexpr ScaleTile tiles[] = {ScaleTile::tensor, ScaleTile::row128,
                               ScaleTile::block128, ScaleTile::row32};
} // namespace

TEST(Quantize, AllTilesBothOrientations) {
  for (ScaleTile tile : tiles)
    for (bool transposed : {false, true})
      expectCodes({48, 272}, tile, transposed, "bf16", "f8E4M3FN");
}

TEST(Quantize, TilesThatAreNotFull) {
  for (ScaleTile tile : tiles)
    for (bool transposed : {false, true})
      for (Shape shape : {Shape{200, 40}, {7, 5}, {131, 1}})
        expectCodes(shape, tile, transposed, "bf16", "f8E4M3FN");
  expectCodes({40, 1600}, ScaleTile::row128, false, "bf16", "f8E4M3FN");
  expectCodes({1600, 40}, ScaleTile::row32, true, "bf16", "f8E4M3FN");
}

TEST(Quantize, OtherElements) {
  for (ScaleTile tile : tiles)
    for (const char *element : {"f32", "f16"})
      expectCodes({24, 144}, tile, false, element, "f8E5M2",
                  /*hasSpecials=*/element == std::string("f32"));
}

/// A scale whose amax is infinite, NaN, zero, or at the ends of f32.
TEST(Quantize, ScalesOfOneTensor) {
  for (double amax :
       {0.0, inf, notANumber, 0x1p-126, 0x1.fp127, 1.75, 1.7500001}) {
    CaseOptions options{KernelFamily::dataMovement, 0};
    options.data = {{0, numbers({3, 40}, false)}, {1, {amax}}};
    expectLikeInterpreter(emitCodes,
                          quantization({3, 40}, ScaleTile::tensor,
                                       /*transposed=*/amax > 1, "f32",
                                       "f8E4M3FN"),
                          options);
  }
}

/// A part of wider rows.
TEST(Quantize, RowsWithGaps) {
  for (ScaleTile tile : tiles)
    for (bool transposed : {false, true}) {
      CaseOptions options{KernelFamily::dataMovement, 0};
      options.rowPitch = {{0, 300}};
      options.data = {{0, numbers({40, 144}, true)}};
      if (tile == ScaleTile::tensor)
        options.data.push_back({1, {2.0}});
      expectLikeInterpreter(
          emitCodes,
          quantization({40, 144}, tile, transposed, "bf16", "f8E4M3FN"),
          options);
    }
}

/// Of a matrix that the kernel computes: of two parts side by side,
/// each in wider rows, and of rows that fill no square. Of products and maxima,
/// which are exact but for one rounding.
TEST(Quantize, ComputedMatrices) {
  for (Shape shape : {Shape{40, 128}, Shape{200, 256}})
    for (ScaleTile tile : {ScaleTile::row128, ScaleTile::row32}) {
      honert::ScaleLayout layout = {tile, shape.rows, 2 * shape.columns},
                          transposed = {tile, 2 * shape.columns, shape.rows};
      auto scales = [&](const honert::ScaleLayout &of) {
        std::string text = "tensor<";
        for (int64_t dim : of.shape())
          text += std::to_string(dim) + "x";
        return text + (tile == ScaleTile::row32 ? "i8>" : "f32>");
      };
      std::string text = with(
          "func.func @f(%g: tensor<RxCxbf16>, %u: tensor<RxCxbf16>)\n"
          "    -> (tensor<RxWxf8E4M3FN>, S, tensor<WxRxf8E4M3FN>, U) {\n"
          "  %half = hone.constant dense<5.000000e-01> : tensor<RxCxbf16>\n"
          "  %h = hone.add %g, %half : tensor<RxCxbf16>\n"
          "  %s = hone.mul %h, %u : tensor<RxCxbf16>\n"
          "  %m = hone.max %g, %u : tensor<RxCxbf16>\n"
          "  %x = hone.concat %s, %m dim 1 : (tensor<RxCxbf16>, "
          "tensor<RxCxbf16>) -> tensor<RxWxbf16>\n"
          "  %c, %a = hone.quantize %x tile [1, T] : tensor<RxWxbf16> -> "
          "tensor<RxWxf8E4M3FN>, S\n"
          "  %d, %b = hone.quantize %x tile [1, T] transposed : "
          "tensor<RxWxbf16> -> tensor<WxRxf8E4M3FN>, U\n"
          "  return %c, %a, %d, %b : tensor<RxWxf8E4M3FN>, S, "
          "tensor<WxRxf8E4M3FN>, U\n}",
          {{"Rx", std::to_string(shape.rows) + "x"},
           {"Cx", std::to_string(shape.columns) + "x"},
           {"Wx", std::to_string(2 * shape.columns) + "x"},
           {", T]", ", " + std::to_string(sizeOf(tile).columns) + "]"},
           {", S", ", " + scales(layout)},
           {", U", ", " + scales(transposed)}});
      CaseOptions options{KernelFamily::dataMovement, 0};
      options.rowPitch = {{0, 2 * shape.columns}, {1, 2 * shape.columns}};
      options.data = {{0, numbers(shape, true)}, {1, numbers(shape, false)}};
      expectLikeInterpreter(emitCodes, text, options);
    }
}

TEST(Quantize, LargestMagnitude) {
  for (const char *type :
       {"3x5x40xbf16", "7x131xf32", "1xf16", "f32", "0x4xf32"})
    for (double first : {-3.0, inf, notANumber}) {
      std::string text = with("func.func @f(%x: tensor<T>) -> tensor<f32> {\n"
                              "  %a = hone.amax %x : tensor<T>\n"
                              "  return %a : tensor<f32>\n}",
                              {{"T", type}});
      CaseOptions options{KernelFamily::column, 0};
      if (type == std::string("7x131xf32")) {
        std::vector<double> values = numbers({7, 131}, false);
        values[400] = first;
        options.data = {{0, values}};
      }
      expectLikeInterpreter(emitLargest, text, options);
    }
}
