//===- Parts.cpp - Boxes of an argument's storage -------------------------===//

#include "core/Parts.h"

#include <cstring>

using namespace honert;

PartLayout::PartLayout(const Shape &storage, const Part &part) {
  int64_t stride = 1;
  bool isWhole = true; // all dimensions so far
  for (size_t dim = storage.size(); dim-- > 0;) {
    first += part.offset[dim] * stride;
    count *= part.shape[dim];
    if (isWhole)
      run *= part.shape[dim];
    else
      outer.emplace_back(part.shape[dim], stride);
    isWhole &= part.shape[dim] == storage[dim];
    stride *= storage[dim];
  }
}

int64_t PartLayout::runBegin(int64_t index) const {
  int64_t begin = first;
  for (auto [size, stride] : outer) {
    begin += index % size * stride;
    index /= size;
  }
  return begin;
}

void honert::gatherPart(const PartLayout &layout, int64_t lo, int64_t hi,
                        DType dtype, const char *storage, char *packed) {
  int64_t width = byteWidth(dtype);
  layout.forEachRun(
      lo, hi, [&](int64_t element, int64_t place, int64_t length) {
        std::memcpy(packed + (element - lo) * width, storage + place * width,
                    static_cast<size_t>(length * width));
      });
}

void honert::scatterPart(const PartLayout &layout, int64_t lo, int64_t hi,
                         DType dtype, const char *packed, char *storage) {
  int64_t width = byteWidth(dtype);
  layout.forEachRun(
      lo, hi, [&](int64_t element, int64_t place, int64_t length) {
        std::memcpy(storage + place * width, packed + (element - lo) * width,
                    static_cast<size_t>(length * width));
      });
}
