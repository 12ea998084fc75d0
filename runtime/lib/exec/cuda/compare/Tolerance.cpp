//===- Tolerance.cpp - How far a GPU's numbers may be off -----------------===//

#include "exec/cuda/compare/Tolerance.h"

#include <algorithm>
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
  case DType::f8e4m3:
    return 0x1p-3;
  case DType::f8e5m2:
    return 0x1p-2;
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

/// How far apart two numbers are; 0 for two NaNs or equal infinities.
static double distanceOf(double x, double y) {
  if (x == y || (std::isnan(x) && std::isnan(y)))
    return 0;
  double distance = std::fabs(x - y);
  return std::isnan(distance) ? INFINITY : distance;
}

Difference honert::compare(const Expected &expected, const char *seen,
                           const char *should) {
  const ArenaTensor &tensor = expected.tensor;
  int64_t width = byteWidth(tensor.dtype);
  Difference difference;
  for (int64_t i = 0; i != tensor.count; ++i) {
    if (!expected.has(i))
      continue;
    double wanted = loadElement(tensor.dtype, should + i * width);
    double distance =
        distanceOf(loadElement(tensor.dtype, seen + i * width), wanted);
    if (distance == 0)
      continue;
    double allowed = expected.allowed(i, wanted);
    if (distance <= allowed)
      difference.worst = std::max(difference.worst, distance / allowed);
    else if (++difference.wrong == 1)
      difference.first = i;
  }
  return difference;
}

std::string Difference::text(const Expected &expected, const char *seen,
                             const char *should) const {
  const ArenaTensor &tensor = expected.tensor;
  int64_t at = first * byteWidth(tensor.dtype);
  double value = loadElement(tensor.dtype, seen + at);
  double wanted = loadElement(tensor.dtype, should + at);
  double allowed = expected.allowed(first, wanted);
  std::string within =
      allowed == 0 ? "exactly" : format("within %.2g", allowed);
  return format("%.9g on the GPU, expected %.9g %s (%lld of %lld elements "
                "differ)",
                std::isnan(value) ? std::fabs(value) : value, wanted,
                within.c_str(), static_cast<long long>(wrong),
                static_cast<long long>(tensor.count));
}
