//===- QuantizePairTest.cpp - Codes in both orders by one kernel ----------===//

#include "KernelCase.h"

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

std::string typeOf(std::vector<int64_t> shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

/// One op of the function: its text, and the types of its results.
std::string quantize(int64_t number, ScaleTile tile, int64_t rows, int64_t cols,
                     bool transposed, std::string &types) {
  honert::TileSize size = honert::sizeOf(tile);
  std::string x = typeOf({rows, cols}, "bf16");
  if (transposed)
    std::swap(rows, cols);
  std::string codes = typeOf({rows, cols}, "f8E4M3FN"),
              scales = typeOf(honert::ScaleLayout{tile, rows, cols}.shape(),
                              tile == ScaleTile::row32 ? "i8" : "f32"),
              name = std::to_string(number);
  types += (types.empty() ? "" : ", ") + codes + ", " + scales;
  return "  %c" + name + ", %s" + name + " = hone.quantize %x" +
         (tile == ScaleTile::tensor ? " amax %a" : "") + " tile [" +
         std::to_string(size.rows) + ", " + std::to_string(size.columns) + "]" +
         (transposed ? " transposed : " : " : ") + x + " -> " + codes + ", " +
         scales + "\n";
}

/// Both orders, with bits of codes and scales equal to the interpreter's.
void expectPair(ScaleTile along, ScaleTile across, int64_t rows, int64_t cols) {
  std::string types, body = quantize(0, along, rows, cols, false, types);
  body += quantize(1, across, rows, cols, true, types);
  bool isTensor = along == ScaleTile::tensor;
  std::string text = "func.func @f(%x: " + typeOf({rows, cols}, "bf16") +
                     (isTensor ? ", %a: tensor<f32>" : "") + ") -> (" + types +
                     ") {\n" + body + "  return %c0, %s0, %c1, %s1 : " + types +
                     "\n}";
  CaseOptions options{KernelFamily::dataMovement, 0};
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (int64_t i = 0; i != rows * cols; ++i)
    values.push_back(normal(random) * std::exp(2 * normal(random)));
  options.data = {{0, values}};
  if (isTensor)
    options.data.push_back({1, {7}});
  expectLikeInterpreter(emitCodes, text, options);
}

} // namespace

TEST(QuantizePair, ReadsItsMatrixOnce) {
  for (auto [rows, cols] : {std::pair(144, 272), {40, 203}}) {
    expectPair(ScaleTile::tensor, ScaleTile::tensor, rows, cols);
    expectPair(ScaleTile::row128, ScaleTile::row128, rows, cols);
    expectPair(ScaleTile::block128, ScaleTile::block128, rows, cols);
    expectPair(ScaleTile::row32, ScaleTile::row32, rows, cols);
  }
}
