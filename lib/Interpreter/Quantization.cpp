//===- Quantization.cpp - Numbers in codes, and their values --------------===//

#include "hone/IR/Fp8.h"
#include "hone/IR/WeightCode.h"
#include "hone/Interpreter/Ops.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;
using namespace hone::interp;

Tensor interp::dequantize(const ResultSpec &result, WeightCode code,
                          const Tensor &codes, const Tensor &scales,
                          int64_t block) {
  int64_t width = result.shape.back();
  int64_t rows =
      width == 0 ? 0 : ShapedType::getNumElements(result.shape) / width;
  int64_t blocks = llvm::divideCeil(width, block);
  int64_t bytes = code == WeightCode::nf4 ? nf4Bytes(width) : width;
  std::vector<double> values(rows * width);
  for (int64_t row = 0; row != rows; ++row) {
    const int64_t *from = codes.ints().data() + row * bytes;
    for (int64_t j = 0; j != width; ++j) {
      float value = code == WeightCode::nf4 ? nf4Values[nf4Code(from, j)]
                                            : float(from[j]);
      float scale = float(scales.floats()[row * blocks + j / block]);
      values[row * width + j] = value * scale;
    }
  }
  return result.floats(std::move(values));
}

Tensor interp::amax(const ResultSpec &result, const Tensor &operand) {
  double largest = 0;
  for (double value : operand.floats())
    largest = honert::largerMagnitude(largest, value);
  return result.floats({largest});
}

namespace {
/// The codes of one matrix.
struct Quantizer {
  const ResultSpec &codes;
  const ResultSpec &scales;
  const Tensor &operand;
  const honert::ScaleLayout &layout;
  bool transposed;

  Tensors run(const Tensor *amax) const;

private:
  honert::Fp8Format format() const {
    return codes.element == Element::E5M2 ? honert::Fp8Format::e5m2
                                          : honert::Fp8Format::e4m3;
  }
  double valueAt(int64_t row, int64_t column) const {
    return operand.floats()[transposed ? column * layout.rows + row
                                       : row * layout.columns + column];
  }
  std::vector<double> tileAmaxes() const;
  Tensor makeScales(llvm::ArrayRef<double> amaxes) const;
};
} // namespace

/// By the number of a tile's scale. What is no tile's is -1.
std::vector<double> Quantizer::tileAmaxes() const {
  std::vector<double> amaxes(layout.size(), -1);
  for (int64_t row = 0; row != layout.rows; ++row)
    for (int64_t column = 0; column != layout.columns; ++column) {
      double &amax = amaxes[layout.indexOfCode(row, column)];
      amax = honert::largerMagnitude(amax, valueAt(row, column));
    }
  return amaxes;
}

Tensor Quantizer::makeScales(llvm::ArrayRef<double> amaxes) const {
  if (!isFloat(scales.element)) {
    std::vector<int64_t> values;
    for (double amax : amaxes)
      values.push_back(amax == -1 ? 0 : honert::fp8MxScale(format(), amax));
    return scales.ints(std::move(values));
  }
  std::vector<double> values;
  for (double amax : amaxes)
    values.push_back(amax == -1 ? 0 : honert::fp8Scale(format(), amax));
  return Tensor::floats(scales.element, scales.shape, std::move(values),
                        Mode::F64); // exact, and no number to be moved
}

Tensors Quantizer::run(const Tensor *amax) const {
  std::vector<double> amaxes =
      amax ? std::vector<double>{amax->floats()[0]} : tileAmaxes();
  std::vector<double> values;
  values.reserve(layout.rows * layout.columns);
  for (int64_t row = 0; row != layout.rows; ++row)
    for (int64_t column = 0; column != layout.columns; ++column) {
      double tileAmax = amaxes[layout.indexOfCode(row, column)];
      int exponent = honert::fp8ScaleExponent(format(), tileAmax);
      values.push_back(std::ldexp(valueAt(row, column), -exponent));
    }
  return {codes.floats(std::move(values)), makeScales(amaxes)};
}

Tensors interp::quantize(ArrayRef<ResultSpec> results, const Tensor &operand,
                         const Tensor *amax, const honert::ScaleLayout &layout,
                         bool transposed) {
  return Quantizer{results[0], results[1], operand, layout, transposed}.run(
      amax);
}

Tensor interp::valuesOfCodes(const Tensor &codes, const Tensor &scales,
                             const honert::ScaleLayout &layout) {
  std::vector<double> values(codes.floats());
  auto scaleAt = [&](int64_t index) -> double {
    if (scales.isFloat())
      return scales.floats()[index];
    return honert::decodeMxScale(uint8_t(scales.ints()[index]));
  };
  for (int64_t row = 0; row != layout.rows; ++row)
    for (int64_t column = 0; column != layout.columns; ++column)
      values[row * layout.columns + column] *=
          scaleAt(layout.indexOfCode(row, column));
  return Tensor::floats(Element::F64, codes.shape(), std::move(values),
                        Mode::F64);
}
