//===- Tolerance.cpp - How far a GPU's numbers may be off -----------------===//

#include "exec/cuda/compare/Tolerance.h"

#include <cmath>
#include <limits>

using namespace honert;

double honert::epsilon(DType dtype) {
  switch (dtype) {
  case DType::f64:
    return 0x1p-52;
  case DType::f32:
    return 0x1p-23;
  case DType::f16:
    return 0x1p-10;
  case DType::bf16:
    return 0x1p-7;
  default:
    return 0;
  }
}

double honert::sumError(int64_t terms) {
  return (4 + static_cast<double>(terms) / 16) * 0x1p-23;
}

std::vector<float> Expected::none(int64_t count) {
  return std::vector<float>(static_cast<size_t>(count),
                            std::numeric_limits<float>::quiet_NaN());
}

bool Expected::has(int64_t element) const {
  return each.empty() || !std::isnan(each[static_cast<size_t>(element)]);
}

double Expected::allowed(int64_t element, double value) const {
  double last = std::fabs(value) * epsilon(tensor.dtype);
  double own = each.empty() ? 0 : each[static_cast<size_t>(element)];
  return most + units * last + own;
}
