//===- Types.cpp - Element types and shapes -------------------------------===//

#include "base/Types.h"
#include "base/Status.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>

using namespace honert;

namespace {
struct DTypeFacts {
  const char *safetensors;
  int64_t width;
  bool isFloat;
};
// By number.
constexpr DTypeFacts facts[] = {
    {"F32", 4, true},     {"F64", 8, true},   {"BF16", 2, true},
    {"F16", 2, true},     {"I64", 8, false},  {"I32", 4, false},
    {"I8", 1, false},     {"BOOL", 1, false}, {"F8_E4M3", 1, true},
    {"F8_E5M2", 1, true},
};
static_assert(sizeof facts / sizeof facts[0] == countOf<DType>);
} // namespace

static const DTypeFacts &factsOf(DType dtype) {
  return facts[static_cast<int64_t>(dtype)];
}

int64_t honert::byteWidth(DType dtype) { return factsOf(dtype).width; }
const char *honert::safetensorsName(DType dtype) {
  return factsOf(dtype).safetensors;
}
bool honert::isFloat(DType dtype) { return factsOf(dtype).isFloat; }

std::optional<DType> honert::dtypeFromSafetensors(const std::string &name) {
  for (int64_t i = 0; i < countOf<DType>; ++i)
    if (name == facts[i].safetensors)
      return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<int64_t> honert::elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      return std::nullopt;
  return count;
}

std::optional<int64_t> honert::byteCount(DType dtype, const Shape &shape) {
  std::optional<int64_t> count = elementCount(shape);
  int64_t bytes;
  if (!count || __builtin_mul_overflow(*count, byteWidth(dtype), &bytes))
    return std::nullopt;
  return bytes;
}

std::string honert::toString(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------===//

/// Rounds to `mantissaBits` bits after the leading one, to nearest even, with
/// exponents no smaller than `minExponent` (below it the grid is that of the
/// subnormals).
static double roundToGrid(double value, int mantissaBits, int minExponent) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = std::max(std::ilogb(value), minExponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, mantissaBits - exponent)),
                    exponent - mantissaBits);
}

static uint16_t encodeHalf(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | 0x7e00;
  double magnitude = std::fabs(roundToGrid(value, 10, -14));
  if (magnitude >= 65536)
    return sign | 0x7c00;
  if (magnitude < 0x1p-14)
    return sign | static_cast<uint16_t>(magnitude * 0x1p24);
  int exponent = std::ilogb(magnitude);
  auto mantissa =
      static_cast<uint16_t>(std::ldexp(magnitude, 10 - exponent)) & 0x3ff;
  return sign | static_cast<uint16_t>((exponent + 15) << 10) | mantissa;
}

static double decodeHalf(uint16_t bits) {
  int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  double magnitude;
  if (exponent == 31)
    magnitude = mantissa ? NAN : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, -24);
  else
    magnitude = std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// e4m3 has no infinity: what is larger than its largest number by half a step
/// or more is no number.
static uint8_t encodeE4M3(double value) {
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  double magnitude = std::fabs(roundToGrid(value, 3, -6));
  if (!(magnitude <= 448))
    return sign | 0x7f;
  if (magnitude < 0x1p-6)
    return sign | static_cast<uint8_t>(magnitude * 0x1p9);
  int exponent = std::ilogb(magnitude);
  auto mantissa = static_cast<uint8_t>(std::ldexp(magnitude, 3 - exponent)) & 7;
  return sign | static_cast<uint8_t>((exponent + 7) << 3) |
         static_cast<uint8_t>(mantissa);
}

static double decodeE4M3(uint8_t bits) {
  int exponent = bits >> 3 & 15, mantissa = bits & 7;
  double magnitude = exponent == 15 && mantissa == 7 ? NAN
                     : exponent == 0                 ? std::ldexp(mantissa, -9)
                                     : std::ldexp(8 + mantissa, exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

/// e5m2 is the upper half of an f16.
static uint8_t encodeE5M2(double value) {
  if (std::isnan(value))
    return std::signbit(value) ? 0xfe : 0x7e;
  return static_cast<uint8_t>(encodeHalf(roundToGrid(value, 2, -14)) >> 8);
}

static double decodeE5M2(uint8_t bits) {
  return decodeHalf(static_cast<uint16_t>(bits << 8));
}

static uint16_t encodeBFloat(double value) {
  if (std::isnan(value))
    return 0x7fc0;
  auto rounded = static_cast<float>(roundToGrid(value, 7, -126));
  uint32_t bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

static double decodeBFloat(uint16_t stored) {
  uint32_t bits = static_cast<uint32_t>(stored) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T> static T loadAs(const void *address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}
template <typename T> static void storeAs(void *address, T value) {
  std::memcpy(address, &value, sizeof value);
}

double honert::loadElement(DType dtype, const void *address) {
  switch (dtype) {
  case DType::f32:
    return loadAs<float>(address);
  case DType::f64:
    return loadAs<double>(address);
  case DType::bf16:
    return decodeBFloat(loadAs<uint16_t>(address));
  case DType::f16:
    return decodeHalf(loadAs<uint16_t>(address));
  case DType::i64:
    return static_cast<double>(loadAs<int64_t>(address));
  case DType::i32:
    return loadAs<int32_t>(address);
  case DType::i8:
    return loadAs<int8_t>(address);
  case DType::i1:
    return loadAs<uint8_t>(address) != 0;
  case DType::f8e4m3:
    return decodeE4M3(loadAs<uint8_t>(address));
  case DType::f8e5m2:
    return decodeE5M2(loadAs<uint8_t>(address));
  }
  return 0;
}

void honert::storeElement(DType dtype, void *address, double value) {
  switch (dtype) {
  case DType::f32:
    return storeAs(address, static_cast<float>(value));
  case DType::f64:
    return storeAs(address, value);
  case DType::bf16:
    return storeAs(address, encodeBFloat(value));
  case DType::f16:
    return storeAs(address, encodeHalf(value));
  case DType::i64:
    return storeAs(address, static_cast<int64_t>(value));
  case DType::i32:
    return storeAs(address, static_cast<int32_t>(value));
  case DType::i8:
    return storeAs(address, static_cast<int8_t>(value));
  case DType::i1:
    return storeAs(address, static_cast<uint8_t>(value != 0));
  case DType::f8e4m3:
    return storeAs(address, encodeE4M3(value));
  case DType::f8e5m2:
    return storeAs(address, encodeE5M2(value));
  }
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::pair<double, const char *> honert::scaleBytes(int64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  int unit = 0;
  while (amount >= 1024 && unit < 4) {
    amount /= 1024;
    ++unit;
  }
  return {amount, units[unit]};
}

std::string honert::formatBytes(int64_t bytes) {
  auto [amount, unit] = scaleBytes(bytes);
  return format(bytes < 1024 ? "%.0f %s" : "%.2f %s", amount, unit);
}

std::string honert::format(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(length < 0 ? 0 : static_cast<size_t>(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}
