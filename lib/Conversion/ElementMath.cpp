//===- ElementMath.cpp - Elementwise ops on scalars -----------------------===//

#include "ElementMath.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

static bool isFloat(Value value) { return isa<FloatType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// tanh in f64, which has no polynomial: Lambert's continued fraction near 0,
/// where 1 - 2 / (e^2x + 1) would cancel.
static Value tanhF64(KernelBuilder &b, Value x) {
  Type type = x.getType();
  Value square = b.create<arith::MulFOp>(x, x);
  Value fraction = b.constant(type, 25.0);
  for (int odd = 23; odd >= 1; odd -= 2)
    fraction = b.create<arith::AddFOp>(
        b.constant(type, odd), b.create<arith::DivFOp>(square, fraction));
  Value small = b.create<arith::DivFOp>(x, fraction);

  Value one = b.constant(type, 1.0), two = b.constant(type, 2.0);
  Value abs = b.create<math::AbsFOp>(x);
  Value e = b.create<math::ExpOp>(b.create<arith::MulFOp>(two, abs));
  Value large = b.create<arith::SubFOp>(
      one, b.create<arith::DivFOp>(two, b.create<arith::AddFOp>(e, one)));
  large = b.create<math::CopySignOp>(large, x);
  Value isSmall = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, abs,
                                          b.constant(type, 0.75));
  return b.create<arith::SelectOp>(isSmall, small, large);
}

/// erf in f64: 2/sqrt(pi) e^-x^2 sum_n 2^n x^(2n+1) / (2n+1)!!, whose terms
/// have one sign, so that nothing cancels; 1 beyond 6 to all digits.
static Value erfF64(KernelBuilder &b, Value x) {
  constexpr int64_t terms =
      170; // the last is below 1e-17 of the sum at |x| = 6
  Type type = x.getType();
  Value limit = b.constant(type, 6.0);
  Value abs = b.create<math::AbsFOp>(x);
  Value bounded = b.create<arith::MinimumFOp>(abs, limit);
  Value square = b.create<arith::MulFOp>(bounded, bounded);
  Value twice = b.create<arith::AddFOp>(square, square);
  SmallVector<Value> sums = b.loop(
      b.index(1), b.index(terms), 1, {bounded, bounded},
      [&](Value n, ValueRange carried) -> SmallVector<Value> {
        Value count = b.create<arith::SIToFPOp>(
            type, b.create<arith::IndexCastOp>(b.getI64Type(), n));
        Value odd = b.create<arith::AddFOp>(
            b.create<arith::AddFOp>(count, count), b.constant(type, 1.0));
        Value term = b.create<arith::MulFOp>(
            carried[0], b.create<arith::DivFOp>(twice, odd));
        return {term, b.create<arith::AddFOp>(carried[1], term)};
      });
  Value gauss = b.create<math::ExpOp>(b.create<arith::NegFOp>(square));
  Value scaled = b.create<arith::MulFOp>(
      b.constant(type, 1.1283791670955126), // 2 / sqrt(pi)
      b.create<arith::MulFOp>(gauss, sums[1]));
  Value beyond = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGE, abs, limit);
  Value magnitude =
      b.create<arith::SelectOp>(beyond, b.constant(type, 1.0), scaled);
  return b.create<math::CopySignOp>(magnitude, x);
}

static Value tanhOf(KernelBuilder &b, Value x) {
  return x.getType().isF64() ? tanhF64(b, x) : b.create<math::TanhOp>(x);
}

static Value erfOf(KernelBuilder &b, Value x) {
  return x.getType().isF64() ? erfF64(b, x) : b.create<math::ErfOp>(x);
}

/// 1 / (1 + e^-x)
static Value logisticOf(KernelBuilder &b, Value x) {
  Value one = b.constant(x.getType(), 1.0);
  Value e = b.create<math::ExpOp>(b.create<arith::NegFOp>(x));
  return b.create<arith::DivFOp>(one, b.create<arith::AddFOp>(one, e));
}

static Value signOf(KernelBuilder &b, Value x) {
  Type type = x.getType();
  if (isFloat(x)) {
    Value zero = b.constant(type, 0.0);
    Value above = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, x, zero);
    Value below = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, zero);
    Value rest = b.create<arith::SelectOp>(below, b.constant(type, -1.0), x);
    return b.create<arith::SelectOp>(above, b.constant(type, 1.0), rest);
  }
  Value zero = b.integer(type, 0);
  Value above = b.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, x, zero);
  Value below = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, x, zero);
  Value rest = b.create<arith::SelectOp>(below, b.integer(type, -1), zero);
  return b.create<arith::SelectOp>(above, b.integer(type, 1), rest);
}

// sqrt(2/pi) and the cubic coefficient of the tanh form.
static constexpr double geluScale = 0.7978845608028654;
static constexpr double geluCubic = 0.044715;

/// sigmoid(2 u) = (1 + tanh u) / 2 with u = sqrt(2/pi) (x + 0.044715 x^3)
static Value geluGate(KernelBuilder &b, Value x, Value square) {
  Type type = x.getType();
  Value inner =
      b.create<math::FmaOp>(square, b.constant(type, 2 * geluScale * geluCubic),
                            b.constant(type, 2 * geluScale));
  return logisticOf(b, b.create<arith::MulFOp>(x, inner));
}

/// (1 + erf(x / sqrt 2)) / 2
static Value normalCdf(KernelBuilder &b, Value x) {
  Type type = x.getType();
  Value scaled =
      b.create<arith::MulFOp>(x, b.constant(type, 0.7071067811865476));
  return b.create<arith::MulFOp>(
      b.constant(type, 0.5),
      b.create<arith::AddFOp>(b.constant(type, 1.0), erfOf(b, scaled)));
}

static Value geluOf(KernelBuilder &b, GeluApproximation form, Value x) {
  Value gate = form == GeluApproximation::erf
                   ? normalCdf(b, x)
                   : geluGate(b, x, b.create<arith::MulFOp>(x, x));
  return b.create<arith::MulFOp>(x, gate);
}

static Value geluSlope(KernelBuilder &b, GeluApproximation form, Value x) {
  Type type = x.getType();
  Value square = b.create<arith::MulFOp>(x, x);
  if (form == GeluApproximation::erf) {
    Value half = b.create<arith::MulFOp>(square, b.constant(type, -0.5));
    Value density = b.create<arith::MulFOp>(
        b.create<math::ExpOp>(half),
        b.constant(type, 0.3989422804014327)); // 1 / sqrt(2 pi)
    return b.create<math::FmaOp>(x, density, normalCdf(b, x));
  }
  Value gate = geluGate(b, x, square);
  Value slope =
      b.create<math::FmaOp>(square, b.constant(type, 6 * geluScale * geluCubic),
                            b.constant(type, 2 * geluScale));
  Value rest = b.create<arith::SubFOp>(b.constant(type, 1.0), gate);
  Value curve = b.create<arith::MulFOp>(b.create<arith::MulFOp>(x, gate),
                                        b.create<arith::MulFOp>(rest, slope));
  return b.create<arith::AddFOp>(gate, curve);
}

/// Quotient toward zero. What the graph leaves undefined (0 as divisor, the
/// smallest number over -1) gives some number and never traps.
static Value divideInts(KernelBuilder &b, Value lhs, Value rhs) {
  Type type = lhs.getType();
  Value one = b.integer(type, 1), minusOne = b.integer(type, -1);
  Value negates =
      b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, rhs, minusOne);
  Value isZero = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, rhs,
                                         b.integer(type, 0));
  Value special = b.create<arith::OrIOp>(negates, isZero);
  Value divisor = b.create<arith::SelectOp>(special, one, rhs);
  Value quotient = b.create<arith::DivSIOp>(lhs, divisor);
  Value negated = b.create<arith::SubIOp>(b.integer(type, 0), lhs);
  return b.create<arith::SelectOp>(negates, negated, quotient);
}

static Value compare(KernelBuilder &b, CmpPredicate predicate, Value lhs,
                     Value rhs) {
  // In the order of CmpPredicate; i1 compares as 0 < 1.
  static constexpr arith::CmpFPredicate floats[] = {
      arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
      arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
      arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
  static constexpr arith::CmpIPredicate ints[] = {
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
      arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
      arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  static constexpr arith::CmpIPredicate bools[] = {
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
      arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
      arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
  auto which = static_cast<unsigned>(predicate);
  if (isFloat(lhs))
    return b.create<arith::CmpFOp>(floats[which], lhs, rhs);
  bool isBool = lhs.getType().isInteger(1);
  return b.create<arith::CmpIOp>(isBool ? bools[which] : ints[which], lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// `F` on floats, `I` on integers.
template <typename F, typename I>
static Value byType(KernelBuilder &b, Value lhs, Value rhs) {
  if (isFloat(lhs))
    return b.create<F>(lhs, rhs);
  return b.create<I>(lhs, rhs);
}

bool hone::isElementOp(Operation *op) {
  return isa<NegOp, AbsOp, ExpOp, LogOp, SqrtOp, RsqrtOp, SinOp, CosOp, TanhOp,
             ErfOp, LogisticOp, SignOp, NotOp, CastOp, AddOp, SubOp, MulOp,
             DivOp, MaxOp, MinOp, PowOp, AndOp, OrOp, CmpOp, SelectOp, GeluOp,
             GeluBwdOp, StopGradientOp>(op);
}

/// The op on operands in their compute types.
static Value emitWide(KernelBuilder &b, Operation *op, ArrayRef<Value> x) {
  Type type = x[0].getType();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](NegOp) -> Value {
        if (isFloat(x[0]))
          return b.create<arith::NegFOp>(x[0]);
        return b.create<arith::SubIOp>(b.integer(type, 0), x[0]);
      })
      .Case([&](AbsOp) -> Value {
        if (isFloat(x[0]))
          return b.create<math::AbsFOp>(x[0]);
        return b.create<math::AbsIOp>(x[0]);
      })
      .Case([&](ExpOp) { return b.create<math::ExpOp>(x[0]); })
      .Case([&](LogOp) { return b.create<math::LogOp>(x[0]); })
      .Case([&](SqrtOp) { return b.create<math::SqrtOp>(x[0]); })
      .Case([&](RsqrtOp) {
        return b.create<arith::DivFOp>(b.constant(type, 1.0),
                                       b.create<math::SqrtOp>(x[0]));
      })
      .Case([&](SinOp) { return b.create<math::SinOp>(x[0]); })
      .Case([&](CosOp) { return b.create<math::CosOp>(x[0]); })
      .Case([&](TanhOp) { return tanhOf(b, x[0]); })
      .Case([&](ErfOp) { return erfOf(b, x[0]); })
      .Case([&](LogisticOp) { return logisticOf(b, x[0]); })
      .Case([&](SignOp) { return signOf(b, x[0]); })
      .Case([&](NotOp) {
        return b.create<arith::XOrIOp>(x[0], b.integer(type, -1));
      })
      .Case([&](AddOp) {
        return byType<arith::AddFOp, arith::AddIOp>(b, x[0], x[1]);
      })
      .Case([&](SubOp) {
        return byType<arith::SubFOp, arith::SubIOp>(b, x[0], x[1]);
      })
      .Case([&](MulOp) {
        return byType<arith::MulFOp, arith::MulIOp>(b, x[0], x[1]);
      })
      .Case([&](DivOp) -> Value {
        if (isFloat(x[0]))
          return b.create<arith::DivFOp>(x[0], x[1]);
        return divideInts(b, x[0], x[1]);
      })
      .Case([&](MaxOp) {
        return byType<arith::MaximumFOp, arith::MaxSIOp>(b, x[0], x[1]);
      })
      .Case([&](MinOp) {
        return byType<arith::MinimumFOp, arith::MinSIOp>(b, x[0], x[1]);
      })
      .Case([&](PowOp) { return b.create<math::PowFOp>(x[0], x[1]); })
      .Case([&](AndOp) { return b.create<arith::AndIOp>(x[0], x[1]); })
      .Case([&](OrOp) { return b.create<arith::OrIOp>(x[0], x[1]); })
      .Case(
          [&](CmpOp cmp) { return compare(b, cmp.getPredicate(), x[0], x[1]); })
      .Case(
          [&](SelectOp) { return b.create<arith::SelectOp>(x[0], x[1], x[2]); })
      .Case([&](GeluOp gelu) { return geluOf(b, gelu.getApproximate(), x[0]); })
      .Case([&](GeluBwdOp gelu) {
        Value slope = geluSlope(b, gelu.getApproximate(), x[1]);
        return b.create<arith::MulFOp>(x[0], slope);
      })
      .Case([&](StopGradientOp) { return x[0]; });
}

Value hone::emitElement(KernelBuilder &b, Operation *op,
                        ArrayRef<Value> operands) {
  Type to = getElementTypeOrSelf(op->getResult(0));
  if (isa<CastOp>(op))
    return castElement(b, operands[0], to);
  SmallVector<Value> wide;
  for (Value operand : operands)
    wide.push_back(
        isFloat(operand)
            ? b.convertFloat(operand, computeTypeOf(operand.getType()))
            : operand);
  Value result = emitWide(b, op, wide);
  return isFloat(result) ? b.convertFloat(result, to) : result;
}

Value hone::castElement(KernelBuilder &b, Value value, Type to) {
  Type from = value.getType();
  if (from == to)
    return value;
  bool toFloat = isa<FloatType>(to);
  if (isFloat(value)) {
    if (toFloat)
      return b.convertFloat(value, to);
    value = b.convertFloat(value, computeTypeOf(from));
    if (to.isInteger(1))
      return b.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, value,
                                     b.constant(value.getType(), 0.0));
    return b.create<arith::FPToSIOp>(to, value);
  }
  bool fromBool = from.isInteger(1);
  if (toFloat) {
    // i64 to f32 rounds once, and so does what f64 holds of an i32 or less.
    bool exactInF64 = from.getIntOrFloatBitWidth() < 64;
    Type wide = to.isF64() || to.isF32() ? to
                : exactInF64             ? Type(b.getF64Type())
                                         : Type(b.getF32Type());
    value = fromBool ? Value(b.create<arith::UIToFPOp>(wide, value))
                     : Value(b.create<arith::SIToFPOp>(wide, value));
    return b.convertFloat(value, to);
  }
  if (to.isInteger(1))
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, value,
                                   b.integer(from, 0));
  if (fromBool)
    return b.create<arith::ExtUIOp>(to, value);
  if (to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth())
    return b.create<arith::ExtSIOp>(to, value);
  return b.create<arith::TruncIOp>(to, value);
}

Value hone::combine(KernelBuilder &b, ReduceKind kind, Value lhs, Value rhs) {
  switch (kind) {
  case ReduceKind::sum:
    return byType<arith::AddFOp, arith::AddIOp>(b, lhs, rhs);
  case ReduceKind::max:
    return byType<arith::MaximumFOp, arith::MaxSIOp>(b, lhs, rhs);
  case ReduceKind::min:
    return byType<arith::MinimumFOp, arith::MinSIOp>(b, lhs, rhs);
  }
  llvm_unreachable("all kinds are listed");
}

Value hone::identityOf(KernelBuilder &b, ReduceKind kind, Type type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (isa<FloatType>(type))
    return b.constant(type, kind == ReduceKind::sum   ? 0.0
                            : kind == ReduceKind::max ? -infinity
                                                      : infinity);
  if (kind == ReduceKind::sum)
    return b.integer(type, 0);
  unsigned bits = type.getIntOrFloatBitWidth();
  return b.integer(type, kind == ReduceKind::max ? llvm::minIntN(bits)
                                                 : llvm::maxIntN(bits));
}
