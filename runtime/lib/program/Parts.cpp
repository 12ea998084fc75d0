//===- Parts.cpp - Where the elements of a part lie -----------------------===//

#include "program/Parts.h"

#include <cstring>

using namespace honert;

PartLayout::PartLayout(const Shape &storage, const Part &part) {
  std::vector<std::vector<DimRun>> runs;
  for (int64_t size : storage)
    runs.push_back({{0, 0, size}});
  build(storage, part, runs);
}

PartLayout::PartLayout(const Argument &argument, const Part &part,
                       const Mesh &mesh, int64_t rank) {
  std::vector<std::vector<DimRun>> runs;
  for (size_t dim = 0; dim != argument.whole.size(); ++dim)
    runs.push_back(
        runsOf(argument.divisions[dim], argument.whole[dim], mesh, rank));
  build(argument.dims, part, runs);
}

PartLayout PartLayout::ofTensor(const Shape &shape) {
  return PartLayout(shape, {"", Shape(shape.size()), shape});
}

/// What lies in [begin, begin + size), with positions counted from there.
static std::vector<DimRun> within(const std::vector<DimRun> &runs,
                                  int64_t begin, int64_t size) {
  std::vector<DimRun> inside;
  for (const DimRun &run : runs) {
    int64_t from = std::max(run.whole, begin);
    int64_t to = std::min(run.whole + run.length, begin + size);
    if (from < to)
      inside.push_back({from - begin, run.local + from - run.whole, to - from});
  }
  return inside;
}

void PartLayout::build(const Shape &storage, const Part &part,
                       const std::vector<std::vector<DimRun>> &runsOfWhole) {
  int64_t elements = 1, places = 1; // of the dimensions so far
  bool isBlock = true;              // they lie in one run
  for (size_t dim = storage.size(); dim-- > 0;) {
    int64_t size = part.shape[dim];
    std::vector<DimRun> runs = within(runsOfWhole[dim], part.offset[dim], size);
    bool isFull =
        size == storage[dim] && runs.size() == 1 && runs.front().length == size;
    int64_t positions = 0;
    for (DimRun &run : runs) {
      positions += run.length;
      if (isBlock)
        run = {run.whole * elements, run.local * places, run.length * elements};
    }
    count *= positions;
    if (isBlock)
      dims = {{std::move(runs), positions * elements}};
    else
      dims.push_back({std::move(runs), positions, elements, places});
    isBlock &= isFull;
    elements *= size;
    places *= storage[dim];
  }
  if (dims.empty())
    dims = {{{{0, 0, 1}}, 1}};
}

PartLayout::Run PartLayout::runFrom(int64_t index) const {
  Run result = {0, 0, 0};
  for (size_t i = 0; i != dims.size(); ++i) {
    const Dim &dim = dims[i];
    int64_t position = index % dim.count;
    index /= dim.count;
    auto run = dim.runs.begin();
    for (; position >= run->length; ++run)
      position -= run->length;
    result.element += (run->whole + position) * dim.elements;
    result.place += (run->local + position) * dim.places;
    if (i == 0)
      result.length = run->length - position;
  }
  return result;
}

void honert::gatherPart(const PartLayout &layout, int64_t lo, int64_t hi,
                        DType dtype, const char *storage, char *packed) {
  int64_t width = byteWidth(dtype);
  layout.forEachRun(lo, hi, [&](int64_t, int64_t place, int64_t length) {
    std::memcpy(packed, storage + place * width,
                static_cast<size_t>(length * width));
    packed += length * width;
  });
}

void honert::scatterPart(const PartLayout &layout, int64_t lo, int64_t hi,
                         DType dtype, const char *packed, char *storage) {
  int64_t width = byteWidth(dtype);
  layout.forEachRun(lo, hi, [&](int64_t, int64_t place, int64_t length) {
    std::memcpy(storage + place * width, packed,
                static_cast<size_t>(length * width));
    packed += length * width;
  });
}
