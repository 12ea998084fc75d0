//===- Combine.cpp - Sums of what ranks have ------------------------------===//

#include "comm/host/Combine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace honert;

/// Elements combined at a time, in the fastest cache.
static constexpr int64_t runLength = 512;

//===----------------------------------------------------------------------===//
// Elements of a run
//===----------------------------------------------------------------------===//

template <typename T, typename Sum>
static void loadAs(const char *from, int64_t count, Sum *values) {
  auto *elements = reinterpret_cast<const T *>(from);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<Sum>(elements[i]);
}

static void load(DType dtype, const char *from, int64_t count, double *values) {
  switch (dtype) {
  case DType::f32:
    return loadAs<float>(from, count, values);
  case DType::f64:
    return loadAs<double>(from, count, values);
  case DType::bf16:
    for (int64_t i = 0; i < count; ++i) {
      uint32_t bits =
          static_cast<uint32_t>(reinterpret_cast<const uint16_t *>(from)[i])
          << 16;
      float value;
      std::memcpy(&value, &bits, sizeof value);
      values[i] = value;
    }
    return;
  default:
    for (int64_t i = 0; i < count; ++i)
      values[i] = loadElement(dtype, from + i * byteWidth(dtype));
  }
}

static void load(DType dtype, const char *from, int64_t count,
                 int64_t *values) {
  dtype == DType::i32 ? loadAs<int32_t>(from, count, values)
                      : loadAs<int64_t>(from, count, values);
}

template <typename T, typename Sum>
static void storeAs(const Sum *values, int64_t count, char *to) {
  auto *elements = reinterpret_cast<T *>(to);
  for (int64_t i = 0; i < count; ++i)
    elements[i] = static_cast<T>(values[i]);
}

static void store(DType dtype, const double *values, int64_t count, char *to) {
  if (dtype == DType::f32)
    return storeAs<float>(values, count, to);
  for (int64_t i = 0; i < count; ++i)
    storeElement(dtype, to + i * byteWidth(dtype), values[i]);
}

static void store(DType dtype, const int64_t *values, int64_t count, char *to) {
  dtype == DType::i32 ? storeAs<int32_t>(values, count, to)
                      : storeAs<int64_t>(values, count, to);
}

//===----------------------------------------------------------------------===//
// Combinations
//===----------------------------------------------------------------------===//

static bool isNan(double value) { return std::isnan(value); }
static bool isNan(int64_t) { return false; }

static double sum(double a, double b) { return a + b; }
static int64_t sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}

template <typename Sum>
static void addTerm(ReduceKind kind, const Sum *term, int64_t count,
                    Sum *values) {
  if (kind == ReduceKind::sum) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = sum(values[i], term[i]);
    return;
  }
  bool wantsMax = kind == ReduceKind::max;
  for (int64_t i = 0; i < count; ++i)
    if (isNan(term[i]) ||
        (!isNan(values[i]) &&
         (wantsMax ? term[i] > values[i] : term[i] < values[i])))
      values[i] = term[i];
}

template <typename Sum>
static void combineAs(ReduceKind kind, DType dtype,
                      const std::vector<const char *> &terms, int64_t count,
                      char *out) {
  Sum values[runLength], term[runLength];
  int64_t width = byteWidth(dtype);
  for (int64_t at = 0; at < count; at += runLength) {
    int64_t length = std::min(runLength, count - at);
    load(dtype, terms.front() + at * width, length, values);
    for (size_t i = 1; i < terms.size(); ++i) {
      load(dtype, terms[i] + at * width, length, term);
      addTerm(kind, term, length, values);
    }
    store(dtype, values, length, out + at * width);
  }
}

void honert::combine(ReduceKind kind, DType dtype,
                     const std::vector<const char *> &terms, int64_t count,
                     char *out) {
  if (!isFloat(dtype))
    return combineAs<int64_t>(kind, dtype, terms, count, out);
  combineAs<double>(kind, dtype, terms, count, out);
}
