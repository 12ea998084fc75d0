//===- WindowElements.cpp - Elements of convolutions and pooling ----------===//

#include "ElementwiseArith.h"
#include "ScalarEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;

/// The type in which sums of products of `element` are computed.
static Type sumType(Type element) { return elementwise::computeType(element); }

Value ScalarEmitter::product(Value x, ArrayRef<Value> xIndices, Value y,
                             ArrayRef<Value> yIndices) {
  Value lhs = emit(x, xIndices), rhs = emit(y, yIndices);
  return b.create<arith::MulFOp>(lhs, rhs);
}

Value ScalarEmitter::zeroOf(Type element) {
  return b.constant(sumType(element), 0.0);
}

/// The position of the input that tap `tap` of output position `at` reads, per
/// spatial dimension, and whether it is one of the input's.
ScalarEmitter::Place ScalarEmitter::inputPlace(const Window &window,
                                               ArrayRef<Value> at,
                                               ArrayRef<Value> tap,
                                               ArrayRef<int64_t> sizes) {
  Place place;
  for (unsigned dim = 0; dim != window.rank(); ++dim) {
    Value position =
        addIndex(addIndex(mulIndex(at[dim], window.strides[dim]),
                          mulIndex(tap[dim], window.dilations[dim])),
                 index(-window.low[dim]));
    place.indices.push_back(position);
    place.require(b, isWithin(position, 0, sizes[dim]));
  }
  return place;
}

/// The output position whose tap `tap` reads input position `at`, per spatial
/// dimension, and whether there is one. Its indices hold only where it is.
ScalarEmitter::Place ScalarEmitter::outputPlace(const Window &window,
                                                ArrayRef<Value> at,
                                                ArrayRef<Value> tap,
                                                ArrayRef<int64_t> sizes) {
  Place place;
  for (unsigned dim = 0; dim != window.rank(); ++dim) {
    Value offset =
        b.create<arith::SubIOp>(addIndex(at[dim], index(window.low[dim])),
                                mulIndex(tap[dim], window.dilations[dim]));
    int64_t stride = window.strides[dim];
    place.require(b, isWithin(offset, 0, (sizes[dim] - 1) * stride + 1));
    if (stride != 1)
      place.require(b, b.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                               remIndex(offset, stride),
                                               index(0)));
    place.indices.push_back(divIndex(offset, stride));
  }
  return place;
}

void ScalarEmitter::Place::require(KernelBuilder &b, Value holds) {
  exists = exists ? b.create<arith::AndIOp>(exists, holds) : holds;
}

/// The indices of an element: batch, spatial position, channel.
static Indices at(Value batch, ArrayRef<Value> place, Value channel) {
  Indices indices = {batch};
  indices.append(place.begin(), place.end());
  indices.push_back(channel);
  return indices;
}

/// The indices of an element of a kernel: tap, channel, output channel.
static Indices atTap(ArrayRef<Value> tap, Value channel, Value output) {
  Indices indices(tap);
  indices.append({channel, output});
  return indices;
}

static ArrayRef<int64_t> spatial(Value value) {
  return shapeOf(value).drop_front().drop_back();
}

Value ScalarEmitter::conv(ConvOp op, ArrayRef<Value> indices) {
  Window window = op.getWindow();
  Value x = op.getInput(), w = op.getWeight();
  Type element = elementOf(op);
  ArrayRef<Value> position = indices.drop_front().drop_back();
  int64_t perGroup = shapeOf(w).drop_back().back();
  int64_t groups = shapeOf(x).back() / perGroup;
  Value group = divIndex(indices.back(), shapeOf(op).back() / groups);
  Value first = mulIndex(group, perGroup);
  Value sum = combineOver(
      ReduceKind::sum, element, window.sizes, [&](ArrayRef<Value> tap) {
        Place place = inputPlace(window, position, tap, spatial(x));
        auto overChannels = [&] {
          return combineOver(
              ReduceKind::sum, element, perGroup, [&](ArrayRef<Value> c) {
                return product(
                    x,
                    at(indices.front(), place.indices, addIndex(first, c[0])),
                    w, atTap(tap, c[0], indices.back()));
              });
        };
        return ifElse(place.exists, overChannels,
                      [&] { return zeroOf(element); });
      });
  return elementwise::cast(b, b.getLoc(), sum, element);
}

Value ScalarEmitter::convBwdInput(ConvBwdInputOp op, ArrayRef<Value> indices) {
  Window window = op.getWindow();
  Value dy = op.getGrad(), w = op.getWeight();
  Type element = elementOf(op);
  ArrayRef<Value> position = indices.drop_front().drop_back();
  int64_t perGroup = shapeOf(w).drop_back().back();
  int64_t madePerGroup = shapeOf(dy).back() / (shapeOf(op).back() / perGroup);
  Value group = divIndex(indices.back(), perGroup);
  Value channel = remIndex(indices.back(), perGroup);
  Value first = mulIndex(group, madePerGroup);
  Value sum = combineOver(
      ReduceKind::sum, element, window.sizes, [&](ArrayRef<Value> tap) {
        Place place = outputPlace(window, position, tap, spatial(dy));
        auto overChannels = [&] {
          return combineOver(
              ReduceKind::sum, element, madePerGroup, [&](ArrayRef<Value> o) {
                Value made = addIndex(first, o[0]);
                return product(dy, at(indices.front(), place.indices, made), w,
                               atTap(tap, channel, made));
              });
        };
        return ifElse(place.exists, overChannels,
                      [&] { return zeroOf(element); });
      });
  return elementwise::cast(b, b.getLoc(), sum, element);
}

Value ScalarEmitter::convBwdWeight(ConvBwdWeightOp op,
                                   ArrayRef<Value> indices) {
  Window window = op.getWindow();
  Value x = op.getInput(), dy = op.getGrad();
  Type element = elementOf(op);
  ArrayRef<Value> tap = indices.drop_back(2);
  Value made = indices.back();
  int64_t perGroup = shapeOf(op).drop_back().back();
  int64_t groups = shapeOf(x).back() / perGroup;
  Value group = divIndex(made, shapeOf(dy).back() / groups);
  Value channel =
      addIndex(mulIndex(group, perGroup), indices.drop_back().back());
  Value sum = combineOver(
      ReduceKind::sum, element, shapeOf(dy).drop_back(),
      [&](ArrayRef<Value> from) {
        ArrayRef<Value> position = from.drop_front();
        Place place = inputPlace(window, position, tap, spatial(x));
        auto term = [&] {
          return product(x, at(from.front(), place.indices, channel), dy,
                         at(from.front(), position, made));
        };
        return ifElse(place.exists, term, [&] { return zeroOf(element); });
      });
  return elementwise::cast(b, b.getLoc(), sum, element);
}

/// The number of a tap, row-major over the window.
Value ScalarEmitter::tapNumber(const Window &window, ArrayRef<Value> tap) {
  return b.create<arith::IndexCastOp>(b.getI32Type(),
                                      linearize(tap, window.sizes));
}

/// Both results of a max_pool, at these indices: a loop over all taps.
std::pair<Value, Value> ScalarEmitter::maxPool(MaxPoolOp op,
                                               ArrayRef<Value> indices) {
  Window window = op.getWindow();
  Value x = op.getInput();
  Type element = elementOf(x);
  Value none = b.integer(b.getI32Type(), -1);
  ArrayRef<Value> position = indices.drop_front().drop_back();
  SmallVector<Value> best = loop(
      0, window.taps(), {zeroOf(element), none},
      [&](Value number, ValueRange carried) -> SmallVector<Value> {
        Indices tap = b.delinearize(number, window.sizes);
        Place place = inputPlace(window, position, tap, spatial(x));
        auto challenge = [&](OpBuilder &, Location) {
          ScopeGuard scope(*this);
          Value value =
              emit(x, at(indices.front(), place.indices, indices.back()));
          Value isFirst =
              b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, carried[1],
                                      b.integer(b.getI32Type(), 0));
          Value wins =
              b.create<arith::OrIOp>(isFirst, exceeds(value, carried[0]));
          Value tapOf = b.create<arith::IndexCastOp>(b.getI32Type(), number);
          b.create<scf::YieldOp>(
              ValueRange{b.create<arith::SelectOp>(wins, value, carried[0]),
                         b.create<arith::SelectOp>(wins, tapOf, carried[1])});
        };
        auto keep = [&](OpBuilder &, Location) {
          b.create<scf::YieldOp>(carried);
        };
        return b.create<scf::IfOp>(place.exists, challenge, keep).getResults();
      });
  return {best[0], best[1]};
}

Value ScalarEmitter::maxPoolBwd(MaxPoolBwdOp op, ArrayRef<Value> indices) {
  Window window = op.getWindow();
  Value dy = op.getGrad();
  Type element = elementOf(op);
  ArrayRef<Value> position = indices.drop_front().drop_back();
  Value sum = combineOver(
      ReduceKind::sum, element, window.sizes, [&](ArrayRef<Value> tap) {
        Place place = outputPlace(window, position, tap, spatial(dy));
        auto taken = [&]() -> Value {
          Indices from = at(indices.front(), place.indices, indices.back());
          Value isTaken = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                  emit(op.getTaps(), from),
                                                  tapNumber(window, tap));
          return b.create<arith::SelectOp>(isTaken, emit(dy, from),
                                           zeroOf(element));
        };
        return ifElse(place.exists, taken, [&] { return zeroOf(element); });
      });
  return elementwise::cast(b, b.getLoc(), sum, element);
}
