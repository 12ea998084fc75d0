//===- MathFunctions.cpp - Functions of computed elements -----------------===//

#include "MathFunctions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::elementwise;

Value elementwise::splat(OpBuilder &builder, Location loc, Type type,
                         double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute;
  if (isa<FloatType>(element))
    attribute = builder.getFloatAttr(element, value);
  else
    attribute = builder.getIntegerAttr(element, int64_t(value));
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return builder.create<arith::ConstantOp>(loc, attribute);
}

/// tanh in f64, which has no polynomial: Lambert's continued fraction near 0,
/// where 1 - 2 / (e^2x + 1) would cancel.
static Value tanhF64(Math m, Value x) {
  Value square = m.mul(x, x), fraction = m.c(x, 25.0);
  for (int odd = 23; odd >= 1; odd -= 2)
    fraction = m.add(m.c(x, odd), m.div(square, fraction));
  Value small = m.div(x, fraction);
  Value abs = m.builder.create<math::AbsFOp>(m.loc, x), two = m.c(x, 2.0);
  Value one = m.c(x, 1.0), e = m.exp(m.mul(two, abs));
  Value large = m.sub(one, m.div(two, m.add(e, one)));
  large = m.builder.create<math::CopySignOp>(m.loc, large, x);
  Value isSmall = m.builder.create<arith::CmpFOp>(
      m.loc, arith::CmpFPredicate::OLT, abs, m.c(x, 0.75));
  return m.builder.create<arith::SelectOp>(m.loc, isSmall, small, large);
}

/// e^x - 1 near 0, where the difference cancels: the rounding error of u = e^x
/// is that of log u, too (Kahan).
Value elementwise::expm1Of(Math m, Value x) {
  Value u = m.exp(x), less = m.sub(u, m.c(x, 1.0));
  Value exact = m.mul(less, m.div(x, m.log(u)));
  Value result = m.select(m.isEqual(less, -1.0), less, exact);
  result = m.select(m.isEqual(u, 1.0), x, result);
  return m.select(m.isEqual(u, INFINITY), u, result);
}

/// ln(1 + x) near 0, where u = 1 + x rounds: what u lost of x, the quotient
/// gives back (Kahan).
Value elementwise::log1pOf(Math m, Value x) {
  Value one = m.c(x, 1.0), u = m.add(one, x);
  Value exact = m.mul(m.log(u), m.div(x, m.sub(u, one)));
  Value result = m.select(m.isEqual(u, 1.0), x, exact);
  return m.select(m.isEqual(u, INFINITY), u, result);
}

/// arctan by a rational function of |x| <= 0.66, to which larger numbers are
/// turned by pi/4 or pi/2 (coefficients: Moshier, Cephes).
Value elementwise::atanOf(Math m, Value x) {
  constexpr double tan3Pi8 = 2.41421356237309504880, pi = 3.14159265358979324;
  Value abs = m.builder.create<math::AbsFOp>(m.loc, x), one = m.c(x, 1.0);
  Value isLarge = m.isAbove(abs, tan3Pi8), isMiddle = m.isAbove(abs, 0.66);
  Value turned = m.div(m.sub(abs, one), m.add(abs, one));
  Value small = m.select(isLarge, m.div(m.c(x, -1.0), abs),
                         m.select(isMiddle, turned, abs));
  Value start = m.select(isLarge, m.c(x, pi / 2),
                         m.select(isMiddle, m.c(x, pi / 4), m.c(x, 0.0)));
  Value square = m.mul(small, small);
  auto polynomial = [&](ArrayRef<double> coefficients) {
    Value sum = m.c(x, coefficients.front());
    for (double next : coefficients.drop_front())
      sum = m.add(m.mul(sum, square), m.c(x, next));
    return sum;
  };
  Value above =
      polynomial({-8.750608600031904122785e-1, -1.615753718733365076637e1,
                  -7.500855792314704667340e1, -1.228866684490136173410e2,
                  -6.485021904942025371773e1});
  Value below =
      polynomial({1.0, 2.485846490142306297962e1, 1.650270098316988542046e2,
                  4.328810604912902668951e2, 4.853903996359136964868e2,
                  1.945506571482613964425e2});
  Value rest = m.mul(m.mul(small, square), m.div(above, below));
  Value result = m.add(start, m.add(small, rest));
  return m.builder.create<math::CopySignOp>(m.loc, result, x);
}

/// erf in f64: 2/sqrt(pi) e^-x^2 sum_n 2^n x^(2n+1) / (2n+1)!!, whose terms
/// have one sign, so that nothing cancels; 1 beyond 6 to all digits.
static Value erfF64(Math m, Value x) {
  constexpr int64_t terms = 170; // the last is below 1e-17 of the sum at 6
  OpBuilder &b = m.builder;
  Value limit = m.c(x, 6.0), abs = b.create<math::AbsFOp>(m.loc, x);
  Value bounded = b.create<arith::MinimumFOp>(m.loc, abs, limit);
  Value square = m.mul(bounded, bounded), twice = m.add(square, square);
  Value first = b.create<arith::ConstantIndexOp>(m.loc, 1);
  Value last = b.create<arith::ConstantIndexOp>(m.loc, terms);
  auto series = b.create<scf::ForOp>(
      m.loc, first, last, first, ValueRange{bounded, bounded, m.c(x, 3.0)},
      [&](OpBuilder &nested, Location loc, Value, ValueRange carried) {
        Math inner{nested, loc};
        Value term = inner.mul(carried[0], inner.div(twice, carried[2]));
        Value sum = inner.add(carried[1], term);
        Value odd = inner.add(carried[2], inner.c(x, 2.0));
        nested.create<scf::YieldOp>(loc, ValueRange{term, sum, odd});
      });
  Value gauss = m.exp(m.neg(square));
  Value scale = m.c(x, 1.1283791670955126); // 2 / sqrt(pi)
  Value magnitude = m.mul(scale, m.mul(gauss, series.getResult(1)));
  Value beyond =
      b.create<arith::CmpFOp>(m.loc, arith::CmpFPredicate::OGE, abs, limit);
  magnitude = b.create<arith::SelectOp>(m.loc, beyond, m.c(x, 1.0), magnitude);
  return b.create<math::CopySignOp>(m.loc, magnitude, x);
}

Value elementwise::tanhOf(Math m, Value x) {
  if (getElementTypeOrSelf(x).isF64())
    return tanhF64(m, x);
  return m.builder.create<math::TanhOp>(m.loc, x);
}

Value elementwise::erfOf(Math m, Value x) {
  if (getElementTypeOrSelf(x).isF64())
    return erfF64(m, x);
  return m.builder.create<math::ErfOp>(m.loc, x);
}

// The polynomials of f32 lose digits with the
// size of x (1e-5 at 1000, a position like others): they get what is left of x
// after k quarter turns, subtracted in three parts (Cody and Waite, 1980).
Value elementwise::sine(Math m, Value x, int64_t quarterTurns) {
  OpBuilder &builder = m.builder;
  Location loc = m.loc;
  if (!getElementTypeOrSelf(x).isF32()) {
    if (quarterTurns == 0)
      return builder.create<math::SinOp>(loc, x);
    return builder.create<math::CosOp>(loc, x);
  }
  Value k = builder.create<math::RoundEvenOp>(
      loc, m.mul(x, m.c(x, 0.63661977236758134308))); // 2 / pi
  Value rest = m.fma(k, m.c(x, -1.5707963705062866), x);
  rest = m.fma(k, m.c(x, 4.371138828673793e-08), rest);
  rest = m.fma(k, m.c(x, 1.7151245100058819e-15), rest);
  // sin, cos, -sin, -cos of the rest, by k modulo 4; in floats, where infinity
  // and NaN give NaN.
  k = m.add(k, m.c(x, quarterTurns));
  auto modulo = [&](double base) {
    Value whole =
        builder.create<math::FloorOp>(loc, m.mul(k, m.c(x, 1 / base)));
    return m.fma(whole, m.c(x, -base), k);
  };
  Value isOdd = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ,
                                              modulo(2), m.c(x, 1));
  Value isNegative = builder.create<arith::CmpFOp>(
      loc, arith::CmpFPredicate::OGE, modulo(4), m.c(x, 2));
  Value value = builder.create<arith::SelectOp>(
      loc, isOdd, builder.create<math::CosOp>(loc, rest),
      builder.create<math::SinOp>(loc, rest));
  return builder.create<arith::SelectOp>(loc, isNegative, m.neg(value), value);
}

static constexpr double sqrt2OverPi = 0.79788456080286535588;
static constexpr double geluCubic = 0.044715;
static constexpr double invSqrt2 = 0.70710678118654752440;
static constexpr double invSqrt2Pi = 0.39894228040143267794;

/// Twice the argument of tanh in GELU, from x and x^2.
static Value geluInner(Math m, Value x, Value square) {
  Value slope = m.fma(square, m.c(x, 2 * sqrt2OverPi * geluCubic),
                      m.c(x, 2 * sqrt2OverPi));
  return m.mul(x, slope);
}

// x/2 (1 + tanh u) = x logistic(2u)
Value elementwise::gelu(Math m, Value x, GeluApproximation form) {
  if (form == GeluApproximation::tanh)
    return m.mul(x, m.logistic(geluInner(m, x, m.mul(x, x))));
  Value erf = erfOf(m, m.mul(x, m.c(x, invSqrt2)));
  Value half = m.mul(x, m.c(x, 0.5));
  return m.fma(half, erf, half);
}

Value elementwise::geluBwd(Math m, Value grad, Value x,
                           GeluApproximation form) {
  Value square = m.mul(x, x);
  if (form == GeluApproximation::tanh) {
    // s + x s (1 - s) (2u)', with s = logistic(2u)
    Value s = m.logistic(geluInner(m, x, square));
    Value slope = m.fma(square, m.c(x, 6 * sqrt2OverPi * geluCubic),
                        m.c(x, 2 * sqrt2OverPi));
    Value bell = m.mul(m.mul(x, s), m.sub(m.c(x, 1.0), s));
    return m.mul(grad, m.fma(bell, slope, s));
  }
  // (1 + erf(x / sqrt 2)) / 2 + x exp(-x^2 / 2) / sqrt(2 pi)
  Value erf = erfOf(m, m.mul(x, m.c(x, invSqrt2)));
  Value half = m.c(x, 0.5);
  Value cdf = m.fma(half, erf, half);
  Value pdf = m.mul(m.exp(m.mul(square, m.c(x, -0.5))), m.c(x, invSqrt2Pi));
  return m.mul(grad, m.fma(x, pdf, cdf));
}
