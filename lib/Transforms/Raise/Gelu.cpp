//===- Gelu.cpp - Finds GELU in either formula ----------------------------===//
//
// Programs order the factors of x/2 * (1 + t), t = tanh(..) or erf(..), in many
// ways. All are one polynomial in x and t, so that is what is compared.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "llvm/Support/MathExtras.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace hone;

namespace {
/// sum of c[i][j] x^i t^j, for i <= 3 and j <= 1.
struct Polynomial {
  std::array<std::array<double, 2>, 4> c = {};

  static Polynomial monomial(double number, int i, int j) {
    Polynomial p;
    p.c[i][j] = number;
    return p;
  }
  Polynomial scaled(double factor) const {
    Polynomial p = *this;
    for (auto &row : p.c)
      for (double &number : row)
        number *= factor;
    return p;
  }
  Polynomial plus(const Polynomial &other) const {
    Polynomial p = *this;
    for (int i = 0; i != 4; ++i)
      for (int j = 0; j != 2; ++j)
        p.c[i][j] += other.c[i][j];
    return p;
  }
  /// Nothing when a degree grows too large.
  std::optional<Polynomial> times(const Polynomial &other) const {
    Polynomial p;
    for (int i = 0; i != 4; ++i)
      for (int j = 0; j != 2; ++j)
        for (int k = 0; k != 4; ++k)
          for (int l = 0; l != 2; ++l) {
            double product = c[i][j] * other.c[k][l];
            if (product == 0.0)
              continue;
            if (i + k > 3 || j + l > 1)
              return std::nullopt;
            p.c[i + k][j + l] += product;
          }
    return p;
  }
  /// Equal but for the rounding of constants.
  bool isNear(const Polynomial &other) const {
    for (int i = 0; i != 4; ++i)
      for (int j = 0; j != 2; ++j)
        if (!hone::isNear(c[i][j], other.c[i][j]))
          return false;
    return true;
  }
};
} // namespace

/// `value` as a polynomial in `x` and `t` (which may be null).
static std::optional<Polynomial> polynomialOf(Value value, Value x, Value t,
                                              unsigned depth = 8) {
  if (value == x)
    return Polynomial::monomial(1.0, 1, 0);
  if (value == t)
    return Polynomial::monomial(1.0, 0, 1);
  if (std::optional<double> number = constantOf(value))
    return Polynomial::monomial(*number, 0, 0);
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  auto operand = [&](unsigned index) {
    return polynomialOf(op->getOperand(index), x, t, depth - 1);
  };
  if (isa<NegOp>(op)) {
    std::optional<Polynomial> p = operand(0);
    return p ? std::optional(p->scaled(-1.0)) : std::nullopt;
  }
  if (isa<DivOp, PowOp>(op)) {
    std::optional<double> number = constantOf(op->getOperand(1));
    std::optional<Polynomial> p = operand(0);
    if (!number || !p)
      return std::nullopt;
    if (isa<DivOp>(op))
      return *number != 0.0 ? std::optional(p->scaled(1.0 / *number))
                            : std::nullopt;
    if (*number != 2.0 && *number != 3.0)
      return std::nullopt;
    std::optional<Polynomial> square = p->times(*p);
    return *number == 2.0 || !square ? square : square->times(*p);
  }
  if (!isa<AddOp, SubOp, MulOp>(op))
    return std::nullopt;
  std::optional<Polynomial> lhs = operand(0), rhs = operand(1);
  if (!lhs || !rhs)
    return std::nullopt;
  if (isa<MulOp>(op))
    return lhs->times(*rhs);
  return lhs->plus(isa<SubOp>(op) ? rhs->scaled(-1.0) : *rhs);
}

/// The first tanh or erf below `value`, through sums and products.
static Operation *findFunction(Value value, unsigned depth = 4) {
  Operation *op = value.getDefiningOp();
  if (isa_and_present<TanhOp, ErfOp>(op))
    return op;
  if (depth == 0 || !isa_and_present<AddOp, MulOp, DivOp>(op))
    return nullptr;
  for (Value operand : op->getOperands())
    if (Operation *found = findFunction(operand, depth - 1))
      return found;
  return nullptr;
}

/// The values below `value`, through arithmetic: one of them may be x.
static void collectCandidates(Value value, llvm::SetVector<Value> &candidates,
                              unsigned depth = 6) {
  if (constantOf(value) || candidates.size() > 32)
    return;
  candidates.insert(value);
  Operation *op = value.getDefiningOp();
  if (depth == 0 || !isa_and_present<AddOp, SubOp, MulOp, DivOp, PowOp>(op))
    return;
  for (Value operand : op->getOperands())
    collectCandidates(operand, candidates, depth - 1);
}

/// The argument of the function, for GELU.
static Polynomial argumentOf(Operation *function) {
  if (isa<ErfOp>(function))
    return Polynomial::monomial(llvm::numbers::sqrt2 / 2.0, 1, 0);
  double factor = std::sqrt(2.0 * llvm::numbers::inv_pi);
  return Polynomial::monomial(factor, 1, 0)
      .plus(Polynomial::monomial(0.044715 * factor, 3, 0));
}

namespace {
/// x/2 * (1 + t), as a product, a sum or a quotient.
template <typename RootOp> struct GeluOfFunction : OpRewritePattern<RootOp> {
  using OpRewritePattern<RootOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(RootOp op,
                                PatternRewriter &rewriter) const override {
    Operation *function = findFunction(op.getResult());
    if (!function)
      return rewriter.notifyMatchFailure(op,
                                         "no tanh or erf among its factors");
    Value t = function->getResult(0);
    if (!t.hasOneUse())
      return rewriter.notifyMatchFailure(op, "tanh or erf has another reader");
    llvm::SetVector<Value> candidates;
    collectCandidates(function->getOperand(0), candidates);
    Polynomial argument = argumentOf(function);
    Polynomial gelu =
        Polynomial::monomial(0.5, 1, 0).plus(Polynomial::monomial(0.5, 1, 1));
    for (Value x : candidates) {
      std::optional<Polynomial> inner =
          polynomialOf(function->getOperand(0), x, Value());
      if (!inner || !inner->isNear(argument))
        continue;
      std::optional<Polynomial> outer = polynomialOf(op.getResult(), x, t);
      if (!outer || !outer->isNear(gelu))
        return rewriter.notifyMatchFailure(op, "is not x/2 * (1 + t)");
      rewriter.replaceOpWithNewOp<GeluOp>(op, x.getType(),
                                          isa<ErfOp>(function)
                                              ? GeluApproximation::erf
                                              : GeluApproximation::tanh,
                                          x);
      return success();
    }
    return rewriter.notifyMatchFailure(
        op, "argument of tanh or erf is not that of GELU");
  }
};
} // namespace

void hone::populateRaiseGeluPatterns(RewritePatternSet &patterns) {
  patterns
      .add<GeluOfFunction<MulOp>, GeluOfFunction<AddOp>, GeluOfFunction<DivOp>>(
          patterns.getContext());
}
