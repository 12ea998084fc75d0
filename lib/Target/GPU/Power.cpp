//===- Power.cpp - pow of f32 in instructions -----------------------------===//

#include "Power.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace {
using arith::CmpFPredicate;

/// Elementwise arithmetic on scalars or vectors of one shape.
class PowerEmitter {
public:
  PowerEmitter(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), f32(type),
        f64(withElement(builder.getF64Type())),
        i64(withElement(builder.getI64Type())) {}

  Value emit(Value base, Value exponent);

private:
  template <typename Op, typename... Args> Value create(Args... args) {
    return builder.create<Op>(loc, args...).getResult();
  }
  Type withElement(Type element) {
    auto vector = dyn_cast<VectorType>(f32);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value number(Type type, double value) {
    return constant(type,
                    builder.getFloatAttr(getElementTypeOrSelf(type), value));
  }
  Value integer(int64_t value) {
    return constant(i64, builder.getI64IntegerAttr(value));
  }
  Value constant(Type type, TypedAttr element);
  Value compare(CmpFPredicate predicate, Value a, Value b) {
    return create<arith::CmpFOp>(predicate, a, b);
  }
  Value select(Value condition, Value yes, Value no) {
    return create<arith::SelectOp>(condition, yes, no);
  }
  Value mul(Value a, Value b) { return create<arith::MulFOp>(a, b); }
  /// sum of factors[i] * x^i.
  Value polynomial(Value x, ArrayRef<double> factors);
  Value log2(Value x);
  Value exp2(Value x);

  OpBuilder &builder;
  Location loc;
  Type f32, f64, i64;
};
} // namespace

Value PowerEmitter::constant(Type type, TypedAttr element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return create<arith::ConstantOp>(
        TypedAttr(DenseElementsAttr::get(vector, element)));
  return create<arith::ConstantOp>(element);
}

Value PowerEmitter::polynomial(Value x, ArrayRef<double> factors) {
  Value sum = number(f64, factors.back());
  for (double factor : llvm::reverse(factors.drop_back()))
    sum = create<math::FmaOp>(sum, x, number(f64, factor));
  return sum;
}

/// Of a positive, normal f64 to about 50 bits: x = 2^k m with m near 1, and
/// log m = 2 artanh s, s = (m - 1) / (m + 1), |s| < 0.172.
Value PowerEmitter::log2(Value x) {
  constexpr int64_t rootOfHalf = 0x3fe6a09e667f3bcd; // the bits of sqrt(1/2)
  Value bits = create<arith::BitcastOp>(i64, x);
  Value k = create<arith::ShRSIOp>(
      create<arith::SubIOp>(bits, integer(rootOfHalf)), integer(52));
  Value m = create<arith::BitcastOp>(
      f64, create<arith::SubIOp>(bits, create<arith::ShLIOp>(k, integer(52))));
  Value s = create<arith::DivFOp>(create<arith::SubFOp>(m, number(f64, 1.0)),
                                  create<arith::AddFOp>(m, number(f64, 1.0)));
  // artanh s = s (1 + s^2 / 3 + s^4 / 5 + ...)
  Value series =
      polynomial(mul(s, s), {1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11,
                             1.0 / 13, 1.0 / 15, 1.0 / 17});
  constexpr double twoLog2E = 2.8853900817779268;
  return create<math::FmaOp>(mul(s, number(f64, twoLog2E)), series,
                             create<arith::SIToFPOp>(f64, k));
}

/// Of any f64; beyond the range of f32 anything that is out of it, too.
Value PowerEmitter::exp2(Value x) {
  x = create<arith::MaximumFOp>(create<arith::MinimumFOp>(x, number(f64, 300)),
                                number(f64, -300));
  Value nearest = create<math::RoundEvenOp>(x);
  Value r =
      mul(create<arith::SubFOp>(x, nearest), number(f64, 0.69314718055994531));
  // e^r, |r| < 0.35: the next term is below 1e-12.
  Value power =
      polynomial(r, {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720,
                     1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800});
  // NaN is no integer; r carries it on.
  Value k = create<arith::FPToSIOp>(
      i64, select(compare(CmpFPredicate::ORD, x, x), nearest, number(f64, 0)));
  Value scale = create<arith::BitcastOp>(
      f64, create<arith::ShLIOp>(create<arith::AddIOp>(k, integer(1023)),
                                 integer(52)));
  return mul(power, scale);
}

Value PowerEmitter::emit(Value base, Value exponent) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value zero = number(f32, 0), one = number(f32, 1);
  Value size = create<math::AbsFOp>(base);
  Value isFinite = compare(CmpFPredicate::OLT, size, number(f32, infinity));
  Value isZero = compare(CmpFPredicate::OEQ, size, zero);
  Value wide = create<arith::ExtFOp>(f64, size);
  // The logarithms of infinity and NaN are themselves.
  Value logarithm = select(isFinite, log2(wide), wide);
  logarithm = select(isZero, number(f64, -infinity), logarithm);
  Value power = create<arith::TruncFOp>(
      f32, exp2(mul(create<arith::ExtFOp>(f64, exponent), logarithm)));
  // 1 to any power, and anything to the power of 0, even where log is not.
  Value isOne =
      create<arith::OrIOp>(compare(CmpFPredicate::OEQ, size, one),
                           compare(CmpFPredicate::OEQ, exponent, zero));
  power = select(isOne, one, power);
  // Infinity counts as even, as do all numbers above 2^24.
  Value isWhole =
      compare(CmpFPredicate::OEQ, exponent, create<math::FloorOp>(exponent));
  Value half = mul(exponent, number(f32, 0.5));
  Value isOdd = create<arith::AndIOp>(
      isWhole, compare(CmpFPredicate::ONE, half, create<math::FloorOp>(half)));
  Value isNegative =
      compare(CmpFPredicate::OLT, create<math::CopySignOp>(one, base), zero);
  power = select(create<arith::AndIOp>(isOdd, isNegative),
                 create<arith::NegFOp>(power), power);
  // (-1)^NaN, and negative numbers to a power that is no integer.
  Value isReal =
      create<arith::OrIOp>(isWhole, compare(CmpFPredicate::UGE, base, zero));
  isReal = create<arith::OrIOp>(
      isReal, compare(CmpFPredicate::OEQ, base, number(f32, -infinity)));
  return select(isReal, power,
                number(f32, std::numeric_limits<double>::quiet_NaN()));
}

Value hone::emitPower(OpBuilder &builder, Location loc, Value base,
                      Value exponent) {
  return PowerEmitter(builder, loc, base.getType()).emit(base, exponent);
}
