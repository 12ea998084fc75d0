//===- Elementwise.cpp - Creation and elementwise ops ---------------------===//

#include "hone/Interpreter/Ops.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

Tensor interp::iota(const ResultSpec &result, int64_t dim) {
  std::vector<int64_t> values(elementCount(result.shape));
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index, int64_t position) {
    values[position] = index[dim];
  });
  if (isFloat(result.element))
    return result.floats({values.begin(), values.end()});
  return result.ints(std::move(values));
}

Tensor interp::random(const ResultSpec &result, const Tensor &key,
                      Distribution distribution, int64_t salt,
                      const RandomPlace &place) {
  constexpr double twoPi = 6.283185307179586476925;
  PhiloxStream radius(key.ints(), salt, place);
  PhiloxStream angle(key.ints(), salt + (int64_t(1) << 31), place);
  std::vector<double> values(elementCount(result.shape));
  for (auto [index, value] : llvm::enumerate(values)) {
    value = radius.uniform(index);
    if (distribution == Distribution::normal)
      value = std::sqrt(-2 * std::log1p(-value)) *
              std::cos(twoPi * angle.uniform(index));
  }
  return result.floats(std::move(values));
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

double interp::sign(double value) {
  return std::isnan(value) ? value : double((value > 0) - (value < 0));
}

double interp::logistic(double value) { return 1 / (1 + std::exp(-value)); }

double interp::maximum(double lhs, double rhs) {
  if (std::isnan(lhs) || std::isnan(rhs))
    return std::numeric_limits<double>::quiet_NaN();
  if (lhs == rhs) // tells +0 from -0
    return std::signbit(lhs) ? rhs : lhs;
  return lhs > rhs ? lhs : rhs;
}

double interp::minimum(double lhs, double rhs) { return -maximum(-lhs, -rhs); }

static constexpr double sqrtTwo = 1.41421356237309504880;
static constexpr double sqrtTwoOverPi = 0.79788456080286535588;
static constexpr double geluCubic = 0.044715;

double interp::gelu(GeluApproximation approximate, double x) {
  if (approximate == GeluApproximation::erf)
    return 0.5 * x * (1 + std::erf(x / sqrtTwo));
  return 0.5 * x * (1 + std::tanh(sqrtTwoOverPi * (x + geluCubic * x * x * x)));
}

double interp::geluSlope(GeluApproximation approximate, double x) {
  if (approximate == GeluApproximation::erf) {
    double density = 0.5 * sqrtTwoOverPi * std::exp(-0.5 * x * x);
    return 0.5 * (1 + std::erf(x / sqrtTwo)) + x * density;
  }
  double tanh = std::tanh(sqrtTwoOverPi * (x + geluCubic * x * x * x));
  double innerSlope = sqrtTwoOverPi * (1 + 3 * geluCubic * x * x);
  return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * innerSlope;
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

Tensor interp::mapUnary(const ResultSpec &result, const Tensor &operand,
                        double (*onFloats)(double),
                        int64_t (*onInts)(int64_t)) {
  if (operand.isFloat()) {
    std::vector<double> values(operand.floats());
    llvm::transform(values, values.begin(), onFloats);
    return result.floats(std::move(values));
  }
  std::vector<int64_t> values(operand.ints());
  llvm::transform(values, values.begin(), onInts);
  return result.ints(std::move(values));
}

Tensor interp::mapBinary(const ResultSpec &result, const Tensor &lhs,
                         const Tensor &rhs, double (*onFloats)(double, double),
                         int64_t (*onInts)(int64_t, int64_t)) {
  if (lhs.isFloat()) {
    std::vector<double> values(lhs.floats());
    for (auto [value, other] : llvm::zip(values, rhs.floats()))
      value = onFloats(value, other);
    return result.floats(std::move(values));
  }
  std::vector<int64_t> values(lhs.ints());
  for (auto [value, other] : llvm::zip(values, rhs.ints()))
    value = onInts(value, other);
  return result.ints(std::move(values));
}

llvm::Expected<Tensor> interp::divide(const ResultSpec &result,
                                      const Tensor &lhs, const Tensor &rhs) {
  if (!lhs.isFloat())
    for (auto [index, pair] :
         llvm::enumerate(llvm::zip(lhs.ints(), rhs.ints()))) {
      auto [dividend, divisor] = pair;
      if (divisor == 0)
        return llvm::createStringError("divides element " + Twine(index) +
                                       " by zero");
      // The quotient of the least number and -1 is one above the greatest.
      if (divisor == -1 && dividend != 0 &&
          wrapTo(lhs.element(), int64_t(0 - uint64_t(dividend))) == dividend)
        return llvm::createStringError("quotient of element " + Twine(index) +
                                       " overflows " + nameOf(lhs.element()));
    }
  return mapBinary(
      result, lhs, rhs, [](double x, double y) { return x / y; },
      [](int64_t x, int64_t y) { return x / y; });
}

/// Whether the integer type holds `value`, a whole number.
static bool fits(Element element, double value) {
  int width = element == Element::I64 ? 63 : element == Element::I32 ? 31 : 7;
  return value >= -std::ldexp(1.0, width) && value < std::ldexp(1.0, width);
}

llvm::Expected<Tensor> interp::cast(const ResultSpec &result,
                                    const Tensor &operand) {
  if (isFloat(result.element)) {
    std::vector<double> values;
    if (operand.isFloat()) {
      values = operand.floats();
    } else {
      for (int64_t value : operand.ints())
        // An i64 reaches f32 in one rounding only when asked for directly.
        values.push_back(result.mode == Mode::Typed &&
                                 result.element == Element::F32
                             ? double(float(value))
                             : double(value));
    }
    return result.floats(std::move(values));
  }
  bool toBool = result.element == Element::I1;
  std::vector<int64_t> values;
  values.reserve(operand.size());
  if (!operand.isFloat()) {
    for (int64_t value : operand.ints())
      values.push_back(toBool ? value != 0 : value);
    return result.ints(std::move(values));
  }
  for (auto [index, value] : llvm::enumerate(operand.floats())) {
    double whole = toBool ? value != 0 : std::trunc(value);
    if (!toBool && !fits(result.element, whole))
      return llvm::createStringError(
          llvm::formatv("element {0} is {1}, which {2} cannot hold", index,
                        llvm::format("%g", value), nameOf(result.element)));
    values.push_back(int64_t(whole));
  }
  return result.ints(std::move(values));
}

template <typename T> static bool holds(CmpPredicate predicate, T lhs, T rhs) {
  switch (predicate) {
  case CmpPredicate::eq:
    return lhs == rhs;
  case CmpPredicate::ne:
    return lhs != rhs;
  case CmpPredicate::lt:
    return lhs < rhs;
  case CmpPredicate::le:
    return lhs <= rhs;
  case CmpPredicate::gt:
    return lhs > rhs;
  case CmpPredicate::ge:
    return lhs >= rhs;
  }
  llvm_unreachable("all predicates are listed");
}

Tensor interp::compare(const ResultSpec &result, CmpPredicate predicate,
                       const Tensor &lhs, const Tensor &rhs) {
  std::vector<int64_t> values(lhs.size());
  for (int64_t index : llvm::seq<int64_t>(0, values.size()))
    values[index] =
        lhs.isFloat()
            ? holds(predicate, lhs.floats()[index], rhs.floats()[index])
            : holds(predicate, lhs.ints()[index], rhs.ints()[index]);
  return result.ints(std::move(values));
}

template <typename T>
static std::vector<T> choose(ArrayRef<int64_t> pred, ArrayRef<T> onTrue,
                             ArrayRef<T> onFalse) {
  std::vector<T> values(pred.size());
  for (size_t index = 0; index != pred.size(); ++index)
    values[index] = pred[index] ? onTrue[index] : onFalse[index];
  return values;
}

Tensor interp::select(const ResultSpec &result, const Tensor &pred,
                      const Tensor &onTrue, const Tensor &onFalse) {
  if (onTrue.isFloat())
    return result.floats(
        choose(pred.ints(), onTrue.floats(), onFalse.floats()));
  return result.ints(choose(pred.ints(), onTrue.ints(), onFalse.ints()));
}

Tensor interp::dropout(const ResultSpec &result, const Tensor &input,
                       const Tensor &key, double p, int64_t salt,
                       const RandomPlace &place) {
  PhiloxStream stream(key.ints(), salt, place);
  double threshold = std::nearbyint(p * 0x1p32), factor = 1 / (1 - p);
  std::vector<double> values(input.floats());
  for (auto [index, value] : llvm::enumerate(values))
    value = stream.word(index) >= threshold ? value * factor : 0;
  return result.floats(std::move(values));
}

Tensor interp::rope(const ResultSpec &result, RopeStyle style,
                    const Tensor &input, const Tensor &cos, const Tensor &sin,
                    bool inverse) {
  int64_t heads = input.shape()[2], width = input.shape()[3], half = width / 2;
  int64_t positions = input.shape()[1];
  std::vector<double> values(input.floats());
  for (int64_t row = 0, rows = width ? input.size() / width : 0; row != rows;
       ++row) {
    int64_t t = row / heads % positions;
    for (int64_t j = 0; j != half; ++j) {
      bool paired = style == RopeStyle::interleaved;
      double &a = values[row * width + (paired ? 2 * j : j)];
      double &b = values[row * width + (paired ? 2 * j + 1 : j + half)];
      double c = cos.floats()[t * half + j];
      double s = sin.floats()[t * half + j] * (inverse ? -1 : 1);
      double first = a, second = b;
      a = first * c - second * s;
      b = second * c + first * s;
    }
  }
  return result.floats(std::move(values));
}
