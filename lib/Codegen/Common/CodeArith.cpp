//===- CodeArith.cpp - Codes of fp8 and their scales as arithmetic --------===//

#include "CodeArith.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t exponentBits = 23; ///< below the exponent of an f32
static constexpr int64_t infinityBits = 0x7f800000, nanBits = 0x7fc00000;

namespace {
/// Integer arithmetic on scalars or vectors with the shape of `like`.
class Arith {
public:
  Arith(ImplicitLocOpBuilder &b, Value like) : b(b), like(like.getType()) {}

  Type withElement(Type element) const {
    if (auto vector = dyn_cast<VectorType>(like))
      return vector.clone(element);
    return element;
  }
  Value integer(int64_t value) {
    TypedAttr scalar = b.getI32IntegerAttr(static_cast<int32_t>(value));
    if (auto vector = dyn_cast<VectorType>(withElement(b.getI32Type())))
      scalar = DenseElementsAttr::get(vector, scalar);
    return b.create<arith::ConstantOp>(scalar);
  }
  Value bits(Value x) {
    return b.create<arith::BitcastOp>(withElement(b.getI32Type()), x);
  }
  Value number(Value bits) {
    return b.create<arith::BitcastOp>(withElement(b.getF32Type()), bits);
  }
  Value truncate(Value x) {
    return b.create<arith::TruncIOp>(withElement(b.getI8Type()), x);
  }
  template <typename Op> Value make(Value x, Value y) {
    return b.create<Op>(x, y);
  }
  template <typename Op> Value make(Value x, int64_t y) {
    return b.create<Op>(x, integer(y));
  }
  Value isAtLeast(Value x, int64_t y) {
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::uge, x, integer(y));
  }
  Value select(Value condition, Value x, Value y) {
    return b.create<arith::SelectOp>(condition, x, y);
  }

  ImplicitLocOpBuilder &b;
  Type like;
};
} // namespace

Value hone::magnitudeBits(ImplicitLocOpBuilder &b, Value x) {
  Arith a(b, x);
  return a.make<arith::AndIOp>(a.bits(x), 0x7fffffff);
}

Value hone::scaleExponent(ImplicitLocOpBuilder &b, Value amax,
                          honert::Fp8Format format) {
  Arith a(b, amax);
  constexpr int64_t fraction = (1 << exponentBits) - 1,
                    threeQuarters = 3 << (exponentBits - 2);
  Value exponent = a.make<arith::ShRUIOp>(amax, exponentBits);
  // One more where the fraction is above 0.75.
  Value carry = a.make<arith::ShRUIOp>(
      a.make<arith::AddIOp>(a.make<arith::AndIOp>(amax, fraction),
                            fraction - threeQuarters),
      exponentBits);
  Value shifted =
      a.make<arith::AddIOp>(a.make<arith::AddIOp>(exponent, carry),
                            -int64_t(honert::factsOf(format).topExponent));
  Value clamped = a.make<arith::MaxSIOp>(shifted, 1);
  Value isOrdinary = a.make<arith::AndIOp>(
      a.isAtLeast(amax, 1),
      Value(b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, amax,
                                    a.integer(infinityBits))));
  return a.select(isOrdinary, clamped, a.integer(127));
}

Value hone::scaleOfExponent(ImplicitLocOpBuilder &b, Value exponent, Value amax,
                            Type element) {
  Arith a(b, exponent);
  Value isFinite = b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, amax,
                                           a.integer(infinityBits));
  if (element.isInteger(8))
    return a.truncate(a.select(isFinite, exponent, a.integer(0xff)));
  Value scale = a.make<arith::ShLIOp>(exponent, exponentBits);
  return a.number(a.select(isFinite, scale, a.integer(nanBits)));
}

Value hone::inverseScale(ImplicitLocOpBuilder &b, Value exponent) {
  Arith a(b, exponent);
  return a.number(a.make<arith::ShLIOp>(
      a.make<arith::SubIOp>(a.integer(254), exponent), exponentBits));
}

Value hone::encodeFp8(ImplicitLocOpBuilder &b, Value scaled,
                      honert::Fp8Format format) {
  Arith a(b, scaled);
  honert::Fp8Facts facts = honert::factsOf(format);
  int64_t shift = exponentBits - facts.mantissaBits;
  int64_t half = (int64_t(1) << (shift - 1)) - 1;
  Value bits = a.bits(scaled);
  Value magnitude = a.make<arith::AndIOp>(bits, 0x7fffffff);
  // To nearest even: half a unit more, of an even code one bit less than that.
  Value isOdd =
      a.make<arith::AndIOp>(a.make<arith::ShRUIOp>(magnitude, shift), 1);
  Value rounded = a.make<arith::ShRUIOp>(
      a.make<arith::AddIOp>(a.make<arith::AddIOp>(magnitude, half), isOdd),
      shift);
  int64_t bias = int64_t(127 - facts.bias) << facts.mantissaBits;
  Value normal = a.make<arith::SubIOp>(rounded, a.integer(bias));
  // Below the normal numbers, the sum with a number whose last bit is the unit
  // of subnormal ones rounds to it.
  int64_t magic =
      int64_t(127 + facts.smallest - facts.mantissaBits + exponentBits)
      << exponentBits;
  Value sum =
      b.create<arith::AddFOp>(a.number(magnitude), a.number(a.integer(magic)));
  Value subnormal = a.make<arith::SubIOp>(a.bits(sum), a.integer(magic));
  Value isNormal =
      a.isAtLeast(magnitude, int64_t(127 + facts.smallest) << exponentBits);
  Value code = a.make<arith::MinUIOp>(a.select(isNormal, normal, subnormal),
                                      facts.largest);
  Value sign = a.make<arith::AndIOp>(a.make<arith::ShRUIOp>(bits, 24), 0x80);
  Value signedCode = a.make<arith::OrIOp>(code, sign);
  return a.truncate(a.select(a.isAtLeast(magnitude, infinityBits + 1),
                             a.integer(honert::fp8Nan), signedCode));
}
