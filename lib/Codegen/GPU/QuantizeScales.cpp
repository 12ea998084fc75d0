//===- QuantizeScales.cpp - Scales of codes of fp8 on a GPU ---------------===//

#include "SquareQuantizer.h"

#include "Codegen/Common/CodeArith.h"
#include "Magnitudes.h"

using namespace mlir;
using namespace hone;
using namespace hone::square;
using honert::ScaleLayout;
using honert::ScaleTile;

QuantizeEmitter::Scale QuantizeEmitter::scaleOf(Value amax,
                                                const CodesOutput &out) {
  Value exponent = scaleExponent(b, amax, out.format);
  return {amax, exponent, inverseScale(b, exponent)};
}

/// As ScaleLayout::index, whose strides it takes.
Value QuantizeEmitter::scaleIndex(const ScaleLayout &layout, Value tileRow,
                                  Value tileColumn) {
  if (layout.tile != ScaleTile::row32)
    return b.linearize({tileRow, tileColumn},
                       {layout.index(1, 0), layout.index(0, 1)});
  auto divide = [&](Value number, int64_t by) {
    Value size = b.number(number, by);
    return std::pair(b.create<arith::DivUIOp>(number, size).getResult(),
                     b.create<arith::RemUIOp>(number, size).getResult());
  };
  auto [group, outer] = divide(tileRow, 128);
  auto [high, low] = divide(outer, 32);
  auto [groupColumn, inner] = divide(tileColumn, 4);
  return b.linearize({group, high, low, groupColumn, inner},
                     {layout.index(128, 0), layout.index(32, 0),
                      layout.index(1, 0), layout.index(0, 4),
                      layout.index(0, 1)});
}

/// Of a tile in the square, if there is one; elsewhere MX has zeros.
void QuantizeEmitter::storeScale(const CodesOutput &out, const Scale &scale,
                                 Value tileRow, Value tileColumn) {
  if (!out.scales)
    return;
  bool isMx = out.tile() == ScaleTile::row32;
  Type type = isMx ? Type(b.getI8Type()) : Type(b.getF32Type());
  Value exists =
      both(inside(tileRow, out.layout.tileRows(), isMx ? side : 0),
           inside(tileColumn, out.layout.tileColumns(), isMx ? 4 : 0));
  Value index = scaleIndex(out.layout, tileRow, tileColumn);
  Value stored = scaleOfExponent(b, scale.exponent, scale.amax, type);
  if (isMx && exists) {
    Value zero = b.create<arith::ConstantOp>(b.getZeroAttr(type));
    stored = b.create<arith::SelectOp>(exists, stored, zero);
    exists = Value();
  }
  emitIf(exists, [&] { b.store(stored, out.scales, index); });
}

/// The scale of all: the first block writes it.
void QuantizeEmitter::storeOneScale(const CodesOutput &out,
                                    const Scale &scale) {
  if (!out.scales)
    return;
  Value isFirst =
      b.both(b.equal(b.add(squareRow, squareCol), 0), b.equal(thread, 0));
  b.emitIf(isFirst, [&] {
    b.store(scaleOfExponent(b, scale.exponent, scale.amax, b.getF32Type()),
            out.scales, b.number(thread, 0));
  });
}

/// The scale of the square; the last of a row of scales writes the zeros behind
/// it, too.
void QuantizeEmitter::storeBlockScale(const CodesOutput &out,
                                      const Scale &scale, Value tileRow,
                                      Value tileColumn) {
  if (!out.scales)
    return;
  b.emitIf(b.equal(thread, 0),
           [&] { storeScale(out, scale, tileRow, tileColumn); });
  int64_t count = out.layout.tileColumns(), all = out.layout.blockStride();
  if (count == all)
    return;
  Value isBehind = b.both(b.equal(tileColumn, count - 1),
                          b.less(b.add(thread, -1), all - count));
  b.emitIf(isBehind, [&] {
    Value zero = b.create<arith::ConstantOp>(b.getF32FloatAttr(0));
    b.store(zero, out.scales,
            scaleIndex(out.layout, tileRow, b.add(thread, count - 1)));
  });
}

/// The largest magnitude of all threads, which all get.
Value QuantizeEmitter::amaxOfSquare() {
  Value rowsBits = bits.front();
  for (Value row : ArrayRef(bits).drop_front())
    rowsBits = magnitude::larger(b, rowsBits, row);
  Value amax =
      b.create<vector::ReductionOp>(vector::CombiningKind::MAXUI, rowsBits);
  amax = magnitude::largestOfLanes(b, amax, {16, 8, 4, 2, 1});
  Value warp = b.create<arith::DivUIOp>(thread, b.number(thread, warpSize));
  b.threads.barrier(); // what is there may still be read
  b.emitIf(b.equal(b.lane(), 0), [&] { sharedStore(amax, table, warp); });
  b.threads.barrier();
  amax = sharedLoad(table, b.number(thread, 0));
  for (int64_t each = 1; each < warps; ++each)
    amax =
        magnitude::larger(b, amax, sharedLoad(table, b.number(thread, each)));
  return amax;
}
