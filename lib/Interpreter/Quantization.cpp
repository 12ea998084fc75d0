//===- Quantization.cpp - Values of weights in codes ----------------------===//

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
