//===- Initialize.cpp - Values of a fresh run -----------------------------===//

#include "program/Initialize.h"
#include "base/Fnv.h"
#include "base/Philox.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace honert;

/// 24 random bits as a number in (0, 1).
static float unitInterval(uint32_t word) {
  return (static_cast<float>(word >> 8) + 0.5f) * 0x1p-24f;
}

/// Four values from one Philox block: uniform ones, or normal ones by Box and
/// Muller's transform.
static std::array<float, 4> drawFour(const Argument &argument,
                                     const PhiloxCounter &counter,
                                     const PhiloxKey &key) {
  PhiloxCounter words = philox(counter, key);
  std::array<float, 4> values;
  if (argument.init == InitKind::uniform) {
    for (int i = 0; i < 4; ++i)
      values[i] = static_cast<float>(argument.a + (argument.b - argument.a) *
                                                      unitInterval(words[i]));
    return values;
  }
  for (int i = 0; i < 4; i += 2) {
    float radius = std::sqrt(-2.0f * std::log(unitInterval(words[i])));
    float angle = 6.2831853f * unitInterval(words[i + 1]);
    values[i] = static_cast<float>(argument.a +
                                   argument.b * (radius * std::cos(angle)));
    values[i + 1] = static_cast<float>(argument.a +
                                       argument.b * (radius * std::sin(angle)));
  }
  return values;
}

static void fill(DType dtype, char *data, int64_t count, double value) {
  int64_t width = byteWidth(dtype);
  if (value == 0) {
    std::memset(data, 0, static_cast<size_t>(count * width));
    return;
  }
  if (dtype == DType::f32) {
    std::fill_n(reinterpret_cast<float *>(data), count,
                static_cast<float>(value));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    storeElement(dtype, data + i * width, value);
}

/// Makes elements [lo, hi) of a part at `target`.
static void make(const Argument &argument, uint64_t stream,
                 const PhiloxKey &key, int64_t lo, int64_t hi, char *target) {
  int64_t width = byteWidth(argument.dtype);
  if (argument.init != InitKind::normal && argument.init != InitKind::uniform) {
    double constant = argument.init == InitKind::constant ? argument.a : 0;
    if (isFloat(argument.dtype))
      constant = static_cast<float>(constant);
    fill(argument.dtype, target, hi - lo, constant);
    return;
  }
  auto store = [&](int64_t i, float value) {
    if (argument.dtype == DType::f32)
      reinterpret_cast<float *>(target)[i] = value;
    else
      storeElement(argument.dtype, target + i * width, value);
  };
  // Four elements at a time, from the block that holds the first one on.
  for (int64_t i = lo / 4 * 4; i < hi; i += 4) {
    auto block = static_cast<uint64_t>(i / 4);
    std::array<float, 4> values = drawFour(
        argument,
        {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
         static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
        key);
    for (int64_t j = std::max(i, lo); j < std::min(i + 4, hi); ++j)
      store(j - lo, values[j - i]);
  }
}

void honert::initialize(const Argument &argument, const Part &part,
                        const PartLayout &layout, uint64_t seed, void *data,
                        const ThreadPool &pool) {
  int64_t width = byteWidth(argument.dtype);
  auto *storage = static_cast<char *>(data);
  uint64_t stream = fnv1a(part.name); // of random numbers
  PhiloxKey key = philoxKey(seed);
  pool.run(layout.size(), 4096, [&](int64_t lo, int64_t hi) {
    layout.forEachRun(lo, hi,
                      [&](int64_t element, int64_t place, int64_t length) {
                        make(argument, stream, key, element, element + length,
                             storage + place * width);
                      });
  });
}
