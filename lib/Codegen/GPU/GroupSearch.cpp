//===- GroupSearch.cpp - Which rows a block multiplies --------------------===//

#include "GroupSearch.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;

GroupSearch::GroupSearch(DeviceBuilder &b, Value ends, Type type,
                         int64_t groups, int64_t rows)
    : b(b), ends(ends), type(type), groups(groups), rows(rows),
      lane(b.create<arith::IndexCastUIOp>(b.getI32Type(), b.lane())) {}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// End number `number`, in [0, rows]; 0 behind the last.
Value GroupSearch::endOf(Value number) {
  Value raw = b.loadIf(b.less(number, groups), ends, type, number);
  Value clamped = b.create<arith::MaxSIOp>(raw, b.number(raw, 0));
  clamped = b.create<arith::MinSIOp>(clamped, b.number(raw, rows));
  if (type.isInteger(32))
    return clamped;
  return b.create<arith::TruncIOp>(b.getI32Type(), clamped);
}

Value GroupSearch::largest(Value a, Value other) {
  return b.create<arith::MaxUIOp>(a, other);
}

Value GroupSearch::shuffle(gpu::ShuffleMode mode, Value value, Value lane) {
  return b.create<gpu::ShuffleOp>(value, lane, b.i32(warpSize), mode)
      .getShuffleResult();
}

Value GroupSearch::scan(Value value, Combine combine) {
  for (int64_t distance = 1; distance < warpSize; distance *= 2) {
    Value other = shuffle(gpu::ShuffleMode::UP, value, b.i32(distance));
    value = b.create<arith::SelectOp>(b.less(lane, distance), value,
                                      combine(other, value));
  }
  return value;
}

Value GroupSearch::largestOfWarp(Value value) {
  for (int64_t distance = warpSize / 2; distance > 0; distance /= 2)
    value =
        largest(value, shuffle(gpu::ShuffleMode::XOR, value, b.i32(distance)));
  return value;
}

//===----------------------------------------------------------------------===//
// Searches
//===----------------------------------------------------------------------===//

GroupRows GroupSearch::rowsOf(Value group) {
  Value zero = b.i32(0);
  auto loop = b.create<scf::ForOp>(
      zero, b.i32(groups), b.i32(warpSize), ValueRange{zero, zero},
      [&](OpBuilder &, Location, Value base, ValueRange before) {
        Value number = b.add(base, lane), own = endOf(number);
        auto upTo = [&](Value isCounted, Value most) {
          return largest(most, b.create<arith::SelectOp>(isCounted, own, zero));
        };
        Value isBefore = b.less(number, group);
        Value isUpTo = b.create<arith::OrIOp>(isBefore, b.equal(number, group));
        b.create<scf::YieldOp>(
            ValueRange{upTo(isBefore, before[0]), upTo(isUpTo, before[1])});
      });
  return {group, largestOfWarp(loop.getResult(0)),
          largestOfWarp(loop.getResult(1))};
}

/// Looks among the 32 groups from `base` on. `before` are values of Carried,
/// and so are the results.
SmallVector<Value> GroupSearch::searchOn(Value base, Value tile,
                                         int64_t tileRows, ValueRange before) {
  auto sum = [&](Value a, Value other) { return b.add(a, other); };
  auto most = [&](Value a, Value other) { return largest(a, other); };
  Value stops = most(scan(endOf(b.add(base, lane)), most), before[endBefore]);
  Value starts =
      b.create<arith::SelectOp>(b.equal(lane, 0), before[endBefore],
                                shuffle(gpu::ShuffleMode::UP, stops, b.i32(1)));
  Value counts = b.create<arith::DivUIOp>(
      b.add(b.create<arith::SubIOp>(stops, starts), tileRows - 1),
      b.i32(tileRows));
  Value totals = b.add(scan(counts, sum), before[tilesBefore]);
  // The first lane whose group has the tile, or one before it.
  Value found = b.ballot(b.less(tile, totals));
  Value isHere =
      b.both(b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, found, b.i32(0)),
             b.create<arith::CmpIOp>(arith::CmpIPredicate::uge, tile,
                                     before[tilesBefore]));
  Value where = b.create<math::CountTrailingZerosOp>(found);
  where = b.create<arith::AndIOp>(where, b.i32(warpSize - 1));
  auto at = [&](Value value) {
    return shuffle(gpu::ShuffleMode::IDX, value, where);
  };
  auto take = [&](Value value, Carried kept) -> Value {
    return b.create<arith::SelectOp>(isHere, value, before[kept]);
  };
  SmallVector<Value> next(carriedCount);
  next[group] = take(b.add(base, where), group);
  next[begin] = take(at(starts), begin);
  next[end] = take(at(stops), end);
  next[first] = take(at(b.create<arith::SubIOp>(totals, counts)), first);
  Value last = b.i32(warpSize - 1);
  next[endBefore] = shuffle(gpu::ShuffleMode::IDX, stops, last);
  next[tilesBefore] = shuffle(gpu::ShuffleMode::IDX, totals, last);
  return next;
}

GroupRows GroupSearch::rowsFrom(Value tile, int64_t tileRows) {
  SmallVector<Value> start(carriedCount, b.i32(0));
  start[group] = b.i32(groups);
  auto loop = b.create<scf::ForOp>(
      b.i32(0), b.i32(groups), b.i32(warpSize), start,
      [&](OpBuilder &, Location, Value base, ValueRange carried) {
        b.create<scf::YieldOp>(searchOn(base, tile, tileRows, carried));
      });
  ValueRange found = loop.getResults();
  Value isGroup = b.less(found[group], groups);
  auto choose = [&](Carried ofGroup, Value behind) {
    return b.create<arith::SelectOp>(isGroup, found[ofGroup], behind);
  };
  Value number =
      b.create<arith::SubIOp>(tile, choose(first, found[tilesBefore]));
  Value from = b.add(choose(begin, found[endBefore]), b.mul(number, tileRows));
  Value to = choose(end, b.i32(rows));
  return {found[group], b.create<arith::MinUIOp>(from, to), to};
}
