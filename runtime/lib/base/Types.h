//===- Types.h - Element types and shapes ---------------------------------===//

#ifndef HONERT_BASE_TYPES_H
#define HONERT_BASE_TYPES_H

#include "base/Enumerations.h"

#include <string>
#include <vector>

namespace honert {

/// Bytes of one element.
int64_t byteWidth(DType dtype);
/// Name in a safetensors header: "F32".
const char *safetensorsName(DType dtype);
std::optional<DType> dtypeFromSafetensors(const std::string &name);
bool isFloat(DType dtype);
/// f8E4M3FN or f8E5M2: codes of a scaled product.
inline bool isFp8(DType dtype) {
  return dtype == DType::f8e4m3 || dtype == DType::f8e5m2;
}

using Shape = std::vector<int64_t>;

/// Product of the sizes; nothing if a size is negative or the product exceeds
/// int64.
std::optional<int64_t> elementCount(const Shape &shape);
/// Bytes of a tensor; nothing under the same conditions.
std::optional<int64_t> byteCount(DType dtype, const Shape &shape);
/// "[2, 16]"
std::string toString(const Shape &shape);

/// One element at `address`, converted from or to double (rounding to nearest
/// even).
double loadElement(DType dtype, const void *address);
void storeElement(DType dtype, void *address, double value);

/// `bytes` in the largest unit of which there is one at least: 1.2 and "GiB".
std::pair<double, const char *> scaleBytes(int64_t bytes);
/// "1.20 GiB"
std::string formatBytes(int64_t bytes);

} // namespace honert

#endif // HONERT_BASE_TYPES_H
