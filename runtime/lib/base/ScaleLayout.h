//===- ScaleLayout.h - Where scales of codes lie ----------------*- C++ -*-===//
//
// A matrix of codes [rows, columns] has a scale per tile. This is the only
// place that knows shape and order of scales in memory, for the IR, the
// interpreter, kernels and the runtime. They are those of cuBLASLt 13 on every
// target, so that no product needs them in another order. The columns are what
// a product sums over.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_BASE_SCALELAYOUT_H
#define HONERT_BASE_SCALELAYOUT_H

#include <cstdint>
#include <optional>
#include <vector>

namespace honert {

/// Which codes share a scale.
enum class ScaleTile : int64_t {
  tensor,   ///< all of them: an f32 of rank 0
  row128,   ///< 128 of a row: f32
  block128, ///< blocks of 128 x 128: f32
  row32     ///< 32 of a row (MX): UE8M0, an i8 each
};

struct TileSize {
  int64_t rows, columns; ///< 0: all
};

constexpr TileSize sizeOf(ScaleTile tile) {
  switch (tile) {
  case ScaleTile::tensor:
    break;
  case ScaleTile::row128:
    return {1, 128};
  case ScaleTile::block128:
    return {128, 128};
  case ScaleTile::row32:
    return {1, 32};
  }
  return {0, 0};
}

/// The tile of a size, if there is one.
constexpr std::optional<ScaleTile> scaleTileOf(int64_t rows, int64_t columns) {
  for (ScaleTile tile : {ScaleTile::tensor, ScaleTile::row128,
                         ScaleTile::block128, ScaleTile::row32})
    if (sizeOf(tile).rows == rows && sizeOf(tile).columns == columns)
      return tile;
  return std::nullopt;
}

/// Whether a product takes codes with these tiles: equal ones, but for blocks,
/// which go with rows of 128.
constexpr bool canMultiply(ScaleTile a, ScaleTile b) {
  bool hasBlocks = a == ScaleTile::block128 || b == ScaleTile::block128;
  return hasBlocks ? a == ScaleTile::row128 || b == ScaleTile::row128 : a == b;
}

/// The scales of a matrix of codes. Tiles at its end may be smaller.
struct ScaleLayout {
  ScaleTile tile;
  int64_t rows, columns; ///< of the codes

  constexpr int64_t tileRows() const {
    return tile == ScaleTile::tensor ? 1 : divideUp(rows, sizeOf(tile).rows);
  }
  constexpr int64_t tileColumns() const {
    return tile == ScaleTile::tensor ? 1
                                     : divideUp(columns, sizeOf(tile).columns);
  }

  /// Elements of the tensor of scales. Those of no tile are 0.
  constexpr int64_t size() const {
    switch (tile) {
    case ScaleTile::tensor:
      break;
    case ScaleTile::row128:
      return tileRows() * tileColumns();
    case ScaleTile::block128:
      return tileRows() * blockStride();
    case ScaleTile::row32:
      return groupRows() * groupColumns() * groupSize;
    }
    return 1;
  }

  std::vector<int64_t> shape() const {
    switch (tile) {
    case ScaleTile::tensor:
      break;
    case ScaleTile::row128:
      return {tileColumns(), tileRows()};
    case ScaleTile::block128:
      return {tileRows(), blockStride()};
    case ScaleTile::row32:
      return {size()};
    }
    return {};
  }

  /// Which element is the scale of a tile.
  constexpr int64_t index(int64_t tileRow, int64_t tileColumn) const {
    switch (tile) {
    case ScaleTile::tensor:
      break;
    case ScaleTile::row128:
      return tileColumn * tileRows() + tileRow;
    case ScaleTile::block128:
      return tileRow * blockStride() + tileColumn;
    case ScaleTile::row32: {
      int64_t outer = tileRow % groupHeight, inner = tileColumn % groupWidth;
      int64_t group =
          tileRow / groupHeight * groupColumns() + tileColumn / groupWidth;
      return group * groupSize + outer % 32 * 16 + outer / 32 * 4 + inner;
    }
    }
    return 0;
  }

  /// Which element is the scale of a code.
  constexpr int64_t indexOfCode(int64_t row, int64_t column) const {
    if (tile == ScaleTile::tensor)
      return 0;
    return index(row / sizeOf(tile).rows, column / sizeOf(tile).columns);
  }

  /// Of `block128`: elements from a row of scales to the next.
  constexpr int64_t blockStride() const {
    return divideUp(tileColumns(), 4) * 4;
  }

  /// Of `row32`: groups of 128 x 4 scales lie one behind the other.
  static constexpr int64_t groupHeight = 128, groupWidth = 4;
  static constexpr int64_t groupSize = groupHeight * groupWidth;
  constexpr int64_t groupRows() const { return divideUp(rows, groupHeight); }
  constexpr int64_t groupColumns() const {
    return divideUp(tileColumns(), groupWidth);
  }

private:
  static constexpr int64_t divideUp(int64_t count, int64_t size) {
    return (count + size - 1) / size;
  }
};

} // namespace honert

#endif // HONERT_BASE_SCALELAYOUT_H
