//===- QuantizeSourcesTest.cpp - What kernels of codes compute first ------===//
//
// The kernel that makes codes computes norms' results and rotations. Numbers
// are chosen so that an interpreter without fused multiply-adds rounds to the
// same bits.
//
//===----------------------------------------------------------------------===//

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

struct Shape {
  int64_t rows, columns;
};

mlir::FailureOr<Kernel> emitNothing(mlir::OpBuilder &, llvm::StringRef,
                                    plan::LaunchOp) {
  return mlir::failure();
}

mlir::FailureOr<Kernel> emitCodes(mlir::OpBuilder &builder,
                                  llvm::StringRef name, plan::LaunchOp launch) {
  return *emitQuantize(builder, name, launch);
}

/// tensor<2x3xf32>
std::string tensor(std::vector<int64_t> shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t dim : shape)
    text += std::to_string(dim) + "x";
  return text + element + ">";
}

/// A function of `arguments` whose `body` makes `%x`, of `shape`, and which
/// returns codes of that along rows and along columns. With one scale of all,
/// `%l` is the largest magnitude.
std::string codesOf(const std::string &arguments, const std::string &body,
                    Shape shape, ScaleTile tile) {
  auto [rows, columns] = shape;
  std::string element = tile == ScaleTile::row32 ? "i8" : "f32";
  auto scales = [&](int64_t outer, int64_t inner) {
    return tensor(honert::ScaleLayout{tile, outer, inner}.shape(), element);
  };
  bool isTensor = tile == ScaleTile::tensor;
  honert::TileSize size = honert::sizeOf(tile);
  return with("func.func @f(ARGUMENTS) -> (C1, S1, C2, S2) {\nBODY"
              "  %c, %a = hone.quantize %x WITH TILE : X -> C1, S1\n"
              "  %d, %b = hone.quantize %x WITH TILE transposed : X -> C2, S2\n"
              "  return %c, %a, %d, %b : C1, S1, C2, S2\n}",
              {{"X", tensor({rows, columns}, "bf16")},
               {"C1", tensor({rows, columns}, "f8E4M3FN")},
               {"C2", tensor({columns, rows}, "f8E4M3FN")},
               {"S1", scales(rows, columns)},
               {"S2", scales(columns, rows)},
               {"WITH", isTensor ? "amax %l" : ""},
               {"TILE", "tile [" + std::to_string(size.rows) + ", " +
                            std::to_string(size.columns) + "]"},
               {"ARGUMENTS", arguments + (isTensor ? ", %l: tensor<f32>" : "")},
               {"BODY", body}});
}

/// Codes by the kernels of both targets.
void expectCodes(const std::string &text, CaseOptions options,
                 unsigned arguments, ScaleTile tile) {
  if (tile == ScaleTile::tensor)
    options.data.push_back({arguments, {7}});
  expectLikeInterpreter(emitCodes, text, options);
}

/// One that returns the largest magnitude of `%x` instead.
std::string largestOf(const std::string &arguments, const std::string &body,
                      Shape shape) {
  return with("func.func @f(ARGUMENTS) -> tensor<f32> {\nBODY"
              "  %l = hone.amax %x : X\n  return %l : tensor<f32>\n}",
              {{"X", tensor({shape.rows, shape.columns}, "bf16")},
               {"ARGUMENTS", arguments},
               {"BODY", body}});
}

/// Multiples of 1/8 below 16, which bf16 has: sums of products of two are exact
/// in f32.
std::vector<double> eighths(int64_t count, int64_t seed) {
  std::mt19937 random(seed);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back((double(random() % 255) - 127) / 8);
  return values;
}

constexpr ScaleTile tiles[] = {ScaleTile::row128, ScaleTile::row32,
                               ScaleTile::tensor};
} // namespace

/// (x - mean) * deviation * gain + bias, with values per row and per column, of
/// rows that fill no square, in wider rows.
TEST(QuantizeSources, Norm) {
  for (Shape shape : {Shape{40, 128}, Shape{200, 320}, Shape{129, 48}})
    for (ScaleTile tile : tiles) {
      Words types = {{"FULL", tensor({shape.rows, shape.columns}, "f32")},
                     {"NARROW", tensor({shape.rows, shape.columns}, "bf16")},
                     {"ROW", tensor({shape.rows}, "f32")},
                     {"COL", tensor({shape.columns}, "f32")}};
      std::string body =
          with("  %f = hone.cast %y : NARROW -> FULL\n"
               "  %mb = hone.broadcast %m dims [0] : ROW -> FULL\n"
               "  %h = hone.sub %f, %mb : FULL\n"
               "  %rb = hone.broadcast %r dims [0] : ROW -> FULL\n"
               "  %n = hone.mul %h, %rb : FULL\n"
               "  %gb = hone.broadcast %g dims [1] : COL -> FULL\n"
               "  %w = hone.mul %n, %gb : FULL\n"
               "  %ob = hone.broadcast %o dims [1] : COL -> FULL\n"
               "  %s = hone.add %w, %ob : FULL\n"
               "  %x = hone.cast %s : FULL -> NARROW\n",
               types);
      std::string arguments =
          with("%y: NARROW, %m: ROW, %r: ROW, %g: COL, %o: COL", types);
      CaseOptions options{KernelFamily::dataMovement, 0};
      options.rowPitch = {{0, shape.columns + 64}};
      options.data = {{0, eighths(shape.rows * shape.columns, 1)},
                      {1, eighths(shape.rows, 2)},
                      {2, std::vector<double>(shape.rows, 0.5)},
                      {3, eighths(shape.columns, 3)},
                      {4, eighths(shape.columns, 4)}};
      expectCodes(codesOf(arguments, body, shape, tile), options, 5, tile);
      expectLikeInterpreterOnDevice(emitNothing,
                                    largestOf(arguments, body, shape), options);
    }
}

/// Sums of columns, beside codes of a product: of integers, whose sums are
/// exact in any order.
TEST(QuantizeSources, ColumnSums) {
  for (Shape shape : {Shape{40, 128}, Shape{300, 192}, Shape{1200, 24}}) {
    ScaleTile tile = shape.rows == 40 ? ScaleTile::row128 : ScaleTile::row32;
    Words types = {{"FULL", tensor({shape.rows, shape.columns}, "f32")},
                   {"NARROW", tensor({shape.rows, shape.columns}, "bf16")},
                   {"COL", tensor({shape.columns}, "f32")}};
    std::string text =
        codesOf(with("%y: NARROW, %z: NARROW", types),
                with("  %x = hone.mul %y, %z : NARROW\n"
                     "  %f = hone.cast %x : NARROW -> FULL\n"
                     "  %sums = hone.reduce sum %f dims [0] : FULL -> COL\n",
                     types),
                shape, tile);
    text.insert(text.find(") {\n"), with(", COL", types));
    text.insert(text.find("%b :") + 2, ", %sums");
    text.insert(text.rfind("\n}"), with(", COL", types));
    CaseOptions options{KernelFamily::dataMovement, 0};
    std::vector<double> factors(shape.rows * shape.columns);
    for (size_t i = 0; i != factors.size(); ++i)
      factors[i] = double(i % 7) - 3;
    options.data = {{0, factors},
                    {1, std::vector<double>(factors.size(), 2.0)}};
    expectLikeInterpreterOnDevice(emitNothing, text, options);
  }
}

/// Heads turned by angles, beside a matrix that is read as it is.
TEST(QuantizeSources, Rotation) {
  constexpr int64_t batch = 3, length = 24, heads = 4;
  for (std::string style : {"half", "half inverse", "interleaved"})
    for (auto [dim, tile] :
         {std::pair<int64_t, ScaleTile>(32, ScaleTile::row32),
          {64, ScaleTile::row128}}) {
      int64_t width = heads * dim;
      Shape shape = {batch * length, width + 128};
      Words types = {{"MATRIX", tensor({shape.rows, width}, "bf16")},
                     {"BESIDE", tensor({shape.rows, 128}, "bf16")},
                     {"WHOLE", tensor({shape.rows, shape.columns}, "bf16")},
                     {"HEADS", tensor({batch, length, heads, dim}, "bf16")},
                     {"TABLE", tensor({length, dim / 2}, "f32")},
                     {"STYLE", style}};
      std::string body =
          with("  %h = hone.reshape %y : MATRIX -> HEADS\n"
               "  %r = hone.rope STYLE %h, %c0, %s0 : HEADS, TABLE\n"
               "  %m = hone.reshape %r : HEADS -> MATRIX\n"
               "  %x = hone.concat %m, %z dim 1 : (MATRIX, BESIDE) -> WHOLE\n",
               types);
      std::string arguments =
          with("%y: MATRIX, %c0: TABLE, %s0: TABLE, %z: BESIDE", types);
      CaseOptions options{KernelFamily::dataMovement, 0};
      options.rowPitch = {{0, width + 128}};
      options.data = {{0, eighths(shape.rows * width, 1)},
                      {1, eighths(length * dim / 2, 2)},
                      {2, eighths(length * dim / 2, 3)},
                      {3, eighths(shape.rows * 128, 4)}};
      expectCodes(codesOf(arguments, body, shape, tile), options, 4, tile);
      expectLikeInterpreterOnDevice(emitNothing,
                                    largestOf(arguments, body, shape), options);
    }
}
