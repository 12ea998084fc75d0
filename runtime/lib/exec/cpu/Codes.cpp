//===- Codes.cpp - Numbers that codes and scales stand for ----------------===//

#include "exec/cpu/Codes.h"
#include "base/Fp8.h"
#include "exec/cpu/EachCpu.h"

#include <algorithm>
#include <cstring>

using namespace honert;

float Scales::at(int64_t tileRow, int64_t tileColumn) const {
  int64_t index = layout.index(tileRow, tileColumn);
  if (layout.tile == ScaleTile::row32)
    return decodeMxScale(static_cast<uint8_t>(data[index]));
  float scale;
  std::memcpy(&scale, data + index * 4, sizeof scale);
  return scale;
}

//===----------------------------------------------------------------------===//
// Codes to numbers
//===----------------------------------------------------------------------===//

static float asFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// decodeFp8() without branches or subnormal numbers, so that loops of it
/// become vectors.
template <Fp8Format format> static inline uint32_t numberBits(uint8_t code) {
  constexpr Fp8Facts facts = factsOf(format);
  constexpr int shift = 23 - facts.mantissaBits;
  constexpr uint32_t unit = // of subnormal numbers
      uint32_t(127 + facts.smallest - facts.mantissaBits) << 23;
  uint32_t magnitude = code & 0x7f, sign = uint32_t(code & 0x80) << 24;
  uint32_t normal = (magnitude << shift) + (uint32_t(127 - facts.bias) << 23);
  uint32_t subnormal =
      bitsOf(static_cast<float>(static_cast<int>(magnitude)) * asFloat(unit));
  uint32_t special = format == Fp8Format::e5m2 && magnitude == facts.infinities
                         ? 0x7f800000u
                         : 0x7fc00000u;
  uint32_t bits = magnitude < (1u << facts.mantissaBits) ? subnormal : normal;
  return sign | (magnitude >= facts.infinities ? special : bits);
}

/// As many codes as one scale has, and so many scales.
struct CodeTiles {
  const uint8_t *codes;
  const float *scales;
  int64_t first, size, count; ///< codes of the first tile, of others, of all
};

template <Fp8Format format, typename Number>
static inline __attribute__((always_inline)) void
widenTiles(const CodeTiles &tiles, Number *to) {
  const float *scale = tiles.scales;
  for (int64_t begin = 0, end = tiles.first; begin < tiles.count;
       begin = end, end += tiles.size, ++scale) {
    end = std::min(end, tiles.count);
    for (int64_t i = begin; i < end; ++i) {
      float value = asFloat(numberBits<format>(tiles.codes[i])) * *scale;
      if constexpr (sizeof(Number) == 4)
        to[i] = value;
      else // a bf16 has the digits of all codes
        to[i] = static_cast<uint16_t>(bitsOf(value) >> 16);
    }
  }
}

FOR_EACH_CPU static void widen(const CodeTiles &tiles, DType dtype, float *to) {
  if (dtype == DType::f8e4m3)
    widenTiles<Fp8Format::e4m3>(tiles, to);
  else
    widenTiles<Fp8Format::e5m2>(tiles, to);
}

FOR_EACH_CPU static void widen(const CodeTiles &tiles, DType dtype,
                               uint16_t *to) {
  if (dtype == DType::f8e4m3)
    widenTiles<Fp8Format::e4m3>(tiles, to);
  else
    widenTiles<Fp8Format::e5m2>(tiles, to);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Codes of a run that are widened at a time.
static constexpr int64_t chunkSize = 1024;

namespace {
/// Scales of a chunk.
struct ChunkScales {
  float scales[chunkSize / 32 + 1];
  CodeTiles tiles;

  ChunkScales(const CodeRun &run, int64_t from, int64_t count) {
    const ScaleLayout &layout = run.scales->layout;
    TileSize size = sizeOf(layout.tile);
    int64_t column = run.column + from, end = column + count;
    int64_t width = size.columns ? size.columns : end;
    int64_t tileRow = size.rows ? run.row / size.rows : 0;
    for (int64_t tile = column / width; tile * width < end; ++tile)
      scales[tile - column / width] = run.scales->at(tileRow, tile);
    tiles = {reinterpret_cast<const uint8_t *>(run.codes) + from, scales,
             width - column % width, width, count};
  }
};
} // namespace

template <typename Number>
static void widenRun(const CodeRun &run, Number *to, int64_t step) {
  Number spread[chunkSize];
  for (int64_t from = 0; from < run.count; from += chunkSize) {
    int64_t count = std::min(chunkSize, run.count - from);
    ChunkScales chunk(run, from, count);
    Number *dense = step == 1 ? to + from : spread;
    widen(chunk.tiles, run.dtype, dense);
    if (step != 1)
      for (int64_t i = 0; i < count; ++i)
        to[(from + i) * step] = dense[i];
  }
}

void honert::widenCodes(const CodeRun &run, DType to, char *numbers,
                        int64_t step) {
  if (to == DType::f32)
    widenRun(run, reinterpret_cast<float *>(numbers), step);
  else
    widenRun(run, reinterpret_cast<uint16_t *>(numbers), step);
}
