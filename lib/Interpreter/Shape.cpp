//===- Shape.cpp - Ops that move elements ---------------------------------===//
//
// Each op is an affine map between positions of operand and result: `copyBox`
// walks a box of indices and moves element `from + sum(i * fromStrides)` to
// `to + sum(i * toStrides)`.
//
//===----------------------------------------------------------------------===//

#include "hone/Interpreter/Ops.h"

using namespace mlir;
using namespace hone;
using namespace hone::interp;

namespace {
/// A place in an array for every index of a box.
struct Layout {
  int64_t offset = 0;
  Shape strides;

  int64_t at(ArrayRef<int64_t> index) const {
    int64_t position = offset;
    for (auto [i, stride] : llvm::zip_equal(index, strides))
      position += i * stride;
    return position;
  }
};
} // namespace

template <typename T>
static void copyBox(ArrayRef<int64_t> box, ArrayRef<T> from,
                    const Layout &fromLayout, std::vector<T> &to,
                    const Layout &toLayout) {
  forEachIndex(box, [&](ArrayRef<int64_t> index, int64_t) {
    to[toLayout.at(index)] = from[fromLayout.at(index)];
  });
}

/// One operand's share of the result: its elements over `box`.
namespace {
struct Piece {
  const Tensor &operand;
  Shape box;
  Layout from, to;
};
} // namespace

/// A result of zeros into which the pieces are copied.
static Tensor assemble(const ResultSpec &result, ArrayRef<Piece> pieces) {
  size_t count = elementCount(result.shape);
  if (isFloat(result.element)) {
    std::vector<double> values(count);
    for (const Piece &piece : pieces)
      copyBox(piece.box, piece.operand.floats(), piece.from, values, piece.to);
    return result.floats(std::move(values));
  }
  std::vector<int64_t> values(count);
  for (const Piece &piece : pieces)
    copyBox(piece.box, piece.operand.ints(), piece.from, values, piece.to);
  return result.ints(std::move(values));
}

Tensor interp::transpose(const ResultSpec &result, const Tensor &operand,
                         Dims permutation) {
  Shape strides = stridesOf(operand.shape());
  Layout from;
  for (int64_t dim : permutation)
    from.strides.push_back(strides[dim]);
  return assemble(
      result, Piece{operand, result.shape, from, {0, stridesOf(result.shape)}});
}

Tensor interp::broadcast(const ResultSpec &result, const Tensor &operand,
                         Dims dims) {
  Layout from{0, Shape(result.shape.size(), 0)};
  for (auto [dim, stride] : llvm::zip_equal(dims, stridesOf(operand.shape())))
    from.strides[dim] = stride;
  return assemble(
      result, Piece{operand, result.shape, from, {0, stridesOf(result.shape)}});
}

Tensor interp::slice(const ResultSpec &result, const Tensor &operand,
                     Dims starts, Dims strides) {
  Layout from{0, stridesOf(operand.shape())};
  from.offset = from.at(starts);
  for (auto [stride, step] : llvm::zip_equal(from.strides, strides))
    stride *= step;
  return assemble(
      result, Piece{operand, result.shape, from, {0, stridesOf(result.shape)}});
}

Tensor interp::pad(const ResultSpec &result, const Tensor &operand, Dims low,
                   Dims interior) {
  Layout to{0, stridesOf(result.shape)};
  to.offset = to.at(low);
  for (auto [stride, gap] : llvm::zip_equal(to.strides, interior))
    stride *= gap + 1;
  return assemble(result, Piece{operand,
                                Shape(operand.shape()),
                                {0, stridesOf(operand.shape())},
                                to});
}

Tensor interp::concat(const ResultSpec &result, ArrayRef<Tensor> inputs,
                      int64_t dim) {
  Layout to{0, stridesOf(result.shape)};
  SmallVector<Piece> pieces;
  for (const Tensor &input : inputs) {
    pieces.push_back(
        Piece{input, Shape(input.shape()), {0, stridesOf(input.shape())}, to});
    to.offset += input.shape()[dim] * to.strides[dim];
  }
  return assemble(result, pieces);
}
