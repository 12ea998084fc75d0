//===- ElementwiseArith.cpp - Elementwise ops on scalars and vectors ------===//

#include "ElementwiseArith.h"
#include "MathFunctions.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using elementwise::Math;
using elementwise::splat;

/// `element`, or a vector of it with the lanes of `like`.
static Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

static bool isNarrow(Type element) {
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
}

Type elementwise::computeType(Type element) {
  return isNarrow(element) ? Float32Type::get(element.getContext()) : element;
}

//===----------------------------------------------------------------------===//
// Floating-point types
//===----------------------------------------------------------------------===//

/// f64 to f32 such that a second rounding is as good as one: inexact results
/// get an odd last bit (Boldo and Melquiond, 2008).
static Value roundToOdd(OpBuilder &builder, Location loc, Value value) {
  Type f64 = value.getType();
  Type f32 = withElement(f64, builder.getF32Type());
  Type i32 = withElement(f64, builder.getI32Type());
  Value nearest = builder.create<arith::TruncFOp>(loc, f32, value);
  Value back = builder.create<arith::ExtFOp>(loc, f64, nearest);
  Value bits = builder.create<arith::BitcastOp>(loc, i32, nearest);
  Value one = splat(builder, loc, i32, 1);
  // Toward zero first: one step back where rounding went away from it.
  Value away = builder.create<arith::CmpFOp>(
      loc, arith::CmpFPredicate::OGT, builder.create<math::AbsFOp>(loc, back),
      builder.create<math::AbsFOp>(loc, value));
  Value stepped = builder.create<arith::SubIOp>(loc, bits, one);
  Value truncated = builder.create<arith::SelectOp>(loc, away, stepped, bits);
  Value inexact = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ONE,
                                                back, value);
  Value odd = builder.create<arith::OrIOp>(loc, truncated, one);
  Value result = builder.create<arith::SelectOp>(loc, inexact, odd, bits);
  return builder.create<arith::BitcastOp>(loc, f32, result);
}

Value elementwise::convertFloat(OpBuilder &builder, Location loc, Value value,
                                Type to) {
  Type from = getElementTypeOrSelf(value);
  if (from == to)
    return value;
  // By way of f32: every CPU converts between that and the others.
  if (isNarrow(from) && !to.isF32()) {
    Value wide = convertFloat(builder, loc, value, builder.getF32Type());
    return convertFloat(builder, loc, wide, to);
  }
  if (from.isF64() && isNarrow(to))
    return convertFloat(builder, loc, roundToOdd(builder, loc, value), to);
  Type type = withElement(value.getType(), to);
  if (to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth())
    return builder.create<arith::ExtFOp>(loc, type, value);
  return builder.create<arith::TruncFOp>(loc, type, value);
}

//===----------------------------------------------------------------------===//
// Data in memory, constants, casts
//===----------------------------------------------------------------------===//

Value elementwise::constant(OpBuilder &builder, Location loc, TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value);
      number && isNarrow(number.getType()))
    value = builder.getF32FloatAttr(number.getValueAsDouble());
  return builder.create<arith::ConstantOp>(loc, value);
}

Value elementwise::fromMemory(OpBuilder &builder, Location loc, Value loaded,
                              Type element) {
  if (element.isInteger(1))
    return builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ne, loaded,
        splat(builder, loc, loaded.getType(), 0));
  if (isNarrow(element))
    return convertFloat(builder, loc, loaded, builder.getF32Type());
  return loaded;
}

Value elementwise::toMemory(OpBuilder &builder, Location loc, Value value,
                            Type memory) {
  Type element = getElementTypeOrSelf(value);
  Type type = withElement(value.getType(), memory);
  if (element.isInteger(1) && memory.isInteger(8))
    return builder.create<arith::ExtUIOp>(loc, type, value);
  if (isNarrow(memory))
    return convertFloat(builder, loc, value, memory);
  return value;
}

/// Rounds computed data to a narrow type, and back to what is computed with.
static Value roundTo(OpBuilder &builder, Location loc, Value value,
                     Type element) {
  if (!isNarrow(element))
    return value;
  Value narrow = elementwise::convertFloat(builder, loc, value, element);
  return elementwise::convertFloat(builder, loc, narrow, builder.getF32Type());
}

Value elementwise::cast(OpBuilder &builder, Location loc, Value value,
                        Type to) {
  Type from = getElementTypeOrSelf(value);
  Type computed = computeType(to);
  Type type = withElement(value.getType(), computed);
  if (from == computed)
    return roundTo(builder, loc, value, to);
  if (to.isInteger(1)) { // x != 0
    Value zero = splat(builder, loc, value.getType(), 0);
    if (isa<FloatType>(from))
      return builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE,
                                           value, zero);
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, value,
                                         zero);
  }
  if (isa<FloatType>(from) && isNarrow(to)) // one rounding, straight to it
    return roundTo(builder, loc, value, to);
  if (isa<FloatType>(from) && isa<FloatType>(computed))
    return convertFloat(builder, loc, value, computed);
  if (isa<FloatType>(from))
    return builder.create<arith::FPToSIOp>(loc, type, value);
  if (isa<FloatType>(computed)) {
    Value result =
        from.isInteger(1)
            ? builder.create<arith::UIToFPOp>(loc, type, value).getResult()
            : builder.create<arith::SIToFPOp>(loc, type, value).getResult();
    return roundTo(builder, loc, result, to);
  }
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return builder.create<arith::TruncIOp>(loc, type, value);
  if (from.isInteger(1))
    return builder.create<arith::ExtUIOp>(loc, type, value);
  return builder.create<arith::ExtSIOp>(loc, type, value);
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

static arith::CmpFPredicate floatPredicate(CmpPredicate predicate) {
  switch (predicate) {
  case CmpPredicate::eq:
    return arith::CmpFPredicate::OEQ;
  case CmpPredicate::ne:
    return arith::CmpFPredicate::UNE;
  case CmpPredicate::lt:
    return arith::CmpFPredicate::OLT;
  case CmpPredicate::le:
    return arith::CmpFPredicate::OLE;
  case CmpPredicate::gt:
    return arith::CmpFPredicate::OGT;
  case CmpPredicate::ge:
    return arith::CmpFPredicate::OGE;
  }
  llvm_unreachable("unknown predicate");
}

/// Signed, but for i1, where true is greater than false.
static arith::CmpIPredicate intPredicate(CmpPredicate predicate, bool isBool) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case CmpPredicate::eq:
    return P::eq;
  case CmpPredicate::ne:
    return P::ne;
  case CmpPredicate::lt:
    return isBool ? P::ult : P::slt;
  case CmpPredicate::le:
    return isBool ? P::ule : P::sle;
  case CmpPredicate::gt:
    return isBool ? P::ugt : P::sgt;
  case CmpPredicate::ge:
    return isBool ? P::uge : P::sge;
  }
  llvm_unreachable("unknown predicate");
}

/// x > 0 ? 1 : x < 0 ? -1 : x, which keeps NaN and both zeros.
static Value signOf(OpBuilder &builder, Location loc, Value x, bool isFloat) {
  Value zero = splat(builder, loc, x.getType(), 0);
  Value one = splat(builder, loc, x.getType(), 1);
  Value minus = splat(builder, loc, x.getType(), -1);
  Value above, below;
  if (isFloat) {
    above =
        builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, x, zero);
    below =
        builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, x, zero);
  } else {
    above =
        builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, x, zero);
    below =
        builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, zero);
  }
  Value rest = builder.create<arith::SelectOp>(loc, below, minus, x);
  return builder.create<arith::SelectOp>(loc, above, one, rest);
}

/// Quotient toward zero. What the graph leaves undefined (0 as divisor, the
/// smallest number over -1) gives some number and never traps.
static Value divideInts(OpBuilder &builder, Location loc, Value lhs,
                        Value rhs) {
  auto is = [&](double value) -> Value {
    return builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::eq, rhs,
        splat(builder, loc, rhs.getType(), value));
  };
  Value negates = is(-1);
  Value special = builder.create<arith::OrIOp>(loc, negates, is(0));
  Value divisor = builder.create<arith::SelectOp>(
      loc, special, splat(builder, loc, rhs.getType(), 1), rhs);
  Value quotient = builder.create<arith::DivSIOp>(loc, lhs, divisor);
  Value negated = builder.create<arith::SubIOp>(
      loc, splat(builder, loc, lhs.getType(), 0), lhs);
  return builder.create<arith::SelectOp>(loc, negates, negated, quotient);
}

/// An op with one result from float and integer forms of it.
template <typename FloatOp, typename IntOp>
static Value either(OpBuilder &builder, Location loc, bool isFloat,
                    ArrayRef<Value> operands) {
  if (isFloat)
    return builder.create<FloatOp>(loc, operands[0], operands[1]);
  return builder.create<IntOp>(loc, operands[0], operands[1]);
}

Value elementwise::compute(OpBuilder &builder, Location loc, Operation *op,
                           ArrayRef<Value> operands) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(operands[0]));
  Value x = operands[0];
  Math m{builder, loc};
  Value result =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case([&](NegOp) -> Value {
            if (isFloat)
              return m.neg(x);
            return builder.create<arith::SubIOp>(
                loc, splat(builder, loc, x.getType(), 0), x);
          })
          .Case([&](AbsOp) -> Value {
            if (isFloat)
              return builder.create<math::AbsFOp>(loc, x);
            return builder.create<math::AbsIOp>(loc, x);
          })
          .Case([&](ExpOp) { return m.exp(x); })
          .Case([&](LogOp) -> Value {
            return builder.create<math::LogOp>(loc, x);
          })
          .Case([&](Expm1Op) { return expm1Of(m, x); })
          .Case([&](Log1pOp) { return log1pOf(m, x); })
          .Case([&](AtanOp) { return atanOf(m, x); })
          .Case([&](FloorOp) -> Value {
            return builder.create<math::FloorOp>(loc, x);
          })
          .Case([&](SqrtOp) -> Value {
            return builder.create<math::SqrtOp>(loc, x);
          })
          .Case([&](RsqrtOp) -> Value {
            return m.div(m.c(x, 1.0), builder.create<math::SqrtOp>(loc, x));
          })
          .Case([&](SinOp) { return sine(m, x, /*quarterTurns=*/0); })
          .Case([&](CosOp) { return sine(m, x, /*quarterTurns=*/1); })
          .Case([&](TanhOp) { return tanhOf(m, x); })
          .Case([&](ErfOp) { return erfOf(m, x); })
          .Case([&](LogisticOp) { return m.logistic(x); })
          .Case([&](SignOp) { return signOf(builder, loc, x, isFloat); })
          .Case([&](NotOp) -> Value {
            return builder.create<arith::XOrIOp>(
                loc, x, splat(builder, loc, x.getType(), -1));
          })
          .Case([&](CastOp cast) {
            return elementwise::cast(builder, loc, x,
                                     getElementTypeOrSelf(cast.getType()));
          })
          .Case([&](AddOp) {
            return either<arith::AddFOp, arith::AddIOp>(builder, loc, isFloat,
                                                        operands);
          })
          .Case([&](SubOp) {
            return either<arith::SubFOp, arith::SubIOp>(builder, loc, isFloat,
                                                        operands);
          })
          .Case([&](MulOp) {
            return either<arith::MulFOp, arith::MulIOp>(builder, loc, isFloat,
                                                        operands);
          })
          .Case([&](DivOp) {
            return isFloat ? m.div(operands[0], operands[1])
                           : divideInts(builder, loc, operands[0], operands[1]);
          })
          .Case([&](MaxOp) {
            return either<arith::MaximumFOp, arith::MaxSIOp>(builder, loc,
                                                             isFloat, operands);
          })
          .Case([&](MinOp) {
            return either<arith::MinimumFOp, arith::MinSIOp>(builder, loc,
                                                             isFloat, operands);
          })
          .Case([&](PowOp) -> Value {
            return builder.create<math::PowFOp>(loc, operands[0], operands[1]);
          })
          .Case([&](AndOp) -> Value {
            return builder.create<arith::AndIOp>(loc, operands[0], operands[1]);
          })
          .Case([&](OrOp) -> Value {
            return builder.create<arith::OrIOp>(loc, operands[0], operands[1]);
          })
          .Case([&](CmpOp cmp) -> Value {
            if (isFloat)
              return builder.create<arith::CmpFOp>(
                  loc, floatPredicate(cmp.getPredicate()), operands[0],
                  operands[1]);
            bool isBool = getElementTypeOrSelf(x).isInteger(1);
            return builder.create<arith::CmpIOp>(
                loc, intPredicate(cmp.getPredicate(), isBool), operands[0],
                operands[1]);
          })
          .Case([&](SelectOp) -> Value {
            return builder.create<arith::SelectOp>(loc, operands[0],
                                                   operands[1], operands[2]);
          })
          .Case([&](GeluOp op) { return gelu(m, x, op.getApproximate()); })
          .Case([&](GeluBwdOp op) {
            return geluBwd(m, x, operands[1], op.getApproximate());
          })
          .Default([](Operation *) -> Value {
            llvm_unreachable("an elementwise op without a form on elements");
          });
  if (isa<CastOp>(op))
    return result;
  return roundTo(builder, loc, result,
                 getElementTypeOrSelf(op->getResult(0).getType()));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value elementwise::identity(OpBuilder &builder, Location loc, ReduceKind kind,
                            Type element) {
  Type type = computeType(element);
  if (kind == ReduceKind::sum)
    return splat(builder, loc, type, 0);
  bool isMax = kind == ReduceKind::max;
  if (isa<FloatType>(type))
    return splat(builder, loc, type, isMax ? -INFINITY : INFINITY);
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value =
      isMax ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width);
  return builder.create<arith::ConstantOp>(loc,
                                           builder.getIntegerAttr(type, value));
}

Value elementwise::combine(OpBuilder &builder, Location loc, ReduceKind kind,
                           Value a, Value b) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(a));
  Value operands[] = {a, b};
  switch (kind) {
  case ReduceKind::sum:
    return either<arith::AddFOp, arith::AddIOp>(builder, loc, isFloat,
                                                operands);
  case ReduceKind::max:
    return either<arith::MaximumFOp, arith::MaxSIOp>(builder, loc, isFloat,
                                                     operands);
  case ReduceKind::min:
    return either<arith::MinimumFOp, arith::MinSIOp>(builder, loc, isFloat,
                                                     operands);
  }
  llvm_unreachable("unknown reduction");
}

Value elementwise::reduceLanes(OpBuilder &builder, Location loc,
                               ReduceKind kind, Value vector) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(vector));
  using K = vector::CombiningKind;
  K combining = K::ADD;
  if (kind == ReduceKind::max)
    combining = isFloat ? K::MAXIMUMF : K::MAXSI;
  else if (kind == ReduceKind::min)
    combining = isFloat ? K::MINIMUMF : K::MINSI;
  // A sum of lanes may be a tree; without the flag LLVM adds them in a chain.
  auto flags = isFloat && kind == ReduceKind::sum
                   ? arith::FastMathFlags::reassoc
                   : arith::FastMathFlags::none;
  return builder.create<vector::ReductionOp>(loc, combining, vector, flags);
}
