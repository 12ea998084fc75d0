//===- Norms.cpp - Finds rms_norm and layer_norm --------------------------===//
//
//   x * rsqrt(mean(x^2) + eps)                  is rms_norm(x)
//   rms_norm(x - mean(x))                       is layer_norm(x)
//   either * scale, and layer_norm + bias       have them as operands
//
// mean(x^2) of a centred x may be max(mean(y^2) - mean(y)^2, 0).
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace hone;

/// True when `value` is x^2.
static bool isSquareOf(Value value, Value x) {
  if (auto mul = value.getDefiningOp<MulOp>())
    return mul.getLhs() == x && mul.getRhs() == x;
  auto pow = value.getDefiningOp<PowOp>();
  return pow && pow.getLhs() == x && constantOf(pow.getRhs()) == 2.0;
}

/// True when `rows` is max(mean(y^2) - mean(y)^2, 0) and `x` is y - mean(y):
/// the variance in one pass, which is mean(x^2).
static bool isOnePassVariance(Value rows, Value x) {
  auto max = peelReshapes(rows).getDefiningOp<MaxOp>();
  auto centred = x.getDefiningOp<SubOp>();
  if (!max || !centred)
    return false;
  bool zeroFirst = constantOf(max.getLhs()) == 0.0;
  if (!zeroFirst && constantOf(max.getRhs()) != 0.0)
    return false;
  auto variance = peelReshapes(zeroFirst ? max.getRhs() : max.getLhs())
                      .getDefiningOp<SubOp>();
  Value mean = matchPerRow(centred.getRhs());
  if (!variance || !mean || matchRowMean(mean) != centred.getLhs())
    return false;
  auto ofSquares = matchRowMean(variance.getLhs());
  auto square = peelReshapes(variance.getRhs()).getDefiningOp<MulOp>();
  return ofSquares && isSquareOf(ofSquares, centred.getLhs()) && square &&
         square.getLhs() == square.getRhs() &&
         peelReshapes(square.getLhs()) == mean;
}

/// If `rows` is mean(x^2) + eps per row of `x`: eps.
static std::optional<double> matchMeanSquare(Value rows, Value x) {
  auto add = peelReshapes(rows).getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  Value mean = add.getLhs();
  std::optional<double> eps = constantOf(add.getRhs());
  if (!eps) {
    mean = add.getRhs();
    eps = constantOf(add.getLhs());
  }
  if (eps && isOnePassVariance(mean, x))
    return eps;
  // A mean of squares is not negative.
  if (auto max = peelReshapes(mean).getDefiningOp<MaxOp>())
    if (constantOf(max.getRhs()) == 0.0)
      mean = max.getLhs();
  Value square = eps ? matchRowMean(mean) : Value();
  return square && isSquareOf(square, x) ? eps : std::nullopt;
}

/// If `rows` is 1 / sqrt(mean(x^2) + eps): eps.
static std::optional<double> matchInverseRoot(Value rows, Value x) {
  if (auto rsqrt = rows.getDefiningOp<RsqrtOp>())
    return matchMeanSquare(rsqrt.getOperand(), x);
  auto div = rows.getDefiningOp<DivOp>();
  if (!div || constantOf(div.getLhs()) != 1.0)
    return std::nullopt;
  auto sqrt = peelReshapes(div.getRhs()).getDefiningOp<SqrtOp>();
  return sqrt ? matchMeanSquare(sqrt.getOperand(), x) : std::nullopt;
}

/// Statistics are kept in fp32 or wider.
static RankedTensorType statisticsType(Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  Type element = type.getElementType();
  if (element.getIntOrFloatBitWidth() < 32)
    element = Float32Type::get(x.getContext());
  return RankedTensorType::get(type.getShape().drop_back(), element);
}

/// `x`, or y when `x` is y times a vector, and that vector.
static SmallVector<std::pair<Value, Value>> unscaled(Value x) {
  SmallVector<std::pair<Value, Value>> choices = {{x, Value()}};
  if (auto mul = x.getDefiningOp<MulOp>()) {
    if (Value scale = matchPerColumn(mul.getRhs()))
      choices.emplace_back(mul.getLhs(), scale);
    if (Value scale = matchPerColumn(mul.getLhs()))
      choices.emplace_back(mul.getRhs(), scale);
  }
  return choices;
}

static LogicalResult replaceByRmsNorm(Operation *op, Value x, Value scale,
                                      double eps, PatternRewriter &rewriter) {
  if (eps < 0.0)
    return rewriter.notifyMatchFailure(op, "epsilon is negative");
  auto norm = rewriter.create<RmsNormOp>(
      op->getLoc(), TypeRange{x.getType(), statisticsType(x)}, x, scale,
      APFloat(eps));
  rewriter.replaceOp(op, norm.getResult());
  return success();
}

/// The operands of a commutative op, if one is the result of a norm and the
/// other a vector along the last dimension; else nulls.
template <typename NormOp>
static std::pair<NormOp, Value> normAndVector(Operation *op) {
  for (unsigned index : {0, 1}) {
    auto norm = op->getOperand(index).getDefiningOp<NormOp>();
    Value vector = matchPerColumn(op->getOperand(1 - index));
    if (norm && vector && norm.getResult() == op->getOperand(index))
      return {norm, vector};
  }
  return {};
}

namespace {
/// x * rsqrt(mean(x^2) + eps)
struct RmsNormOfProduct : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [x, factor] : {std::pair(op.getLhs(), op.getRhs()),
                             std::pair(op.getRhs(), op.getLhs())})
      if (Value rows = matchPerRow(factor))
        for (auto [y, scale] : unscaled(x))
          if (std::optional<double> eps = matchInverseRoot(rows, y))
            return replaceByRmsNorm(op, y, scale, *eps, rewriter);
    return rewriter.notifyMatchFailure(
        op, "no factor is 1 / sqrt(mean(x^2) + eps) of the other");
  }
};

/// x * (rsqrt(mean(x^2) + eps) * scale)
struct RmsNormOfScaledRoot : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [x, product] : {std::pair(op.getLhs(), op.getRhs()),
                              std::pair(op.getRhs(), op.getLhs())}) {
      auto mul = product.getDefiningOp<MulOp>();
      if (!mul)
        continue;
      for (unsigned index : {0, 1}) {
        Value rows = matchPerRow(mul->getOperand(index));
        Value scale = matchPerColumn(mul->getOperand(1 - index));
        std::optional<double> eps =
            rows && scale ? matchInverseRoot(rows, x) : std::nullopt;
        if (eps)
          return replaceByRmsNorm(op, x, scale, *eps, rewriter);
      }
    }
    return rewriter.notifyMatchFailure(
        op, "no factor is scale / sqrt(mean(x^2) + eps) of the other");
  }
};

/// x / sqrt(mean(x^2) + eps)
struct RmsNormOfQuotient : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    Value rows = matchPerRow(op.getRhs());
    auto sqrt = rows ? rows.getDefiningOp<SqrtOp>() : SqrtOp();
    if (sqrt)
      for (auto [y, scale] : unscaled(op.getLhs()))
        if (std::optional<double> eps = matchMeanSquare(sqrt.getOperand(), y))
          return replaceByRmsNorm(op, y, scale, *eps, rewriter);
    return rewriter.notifyMatchFailure(
        op, "divisor is not sqrt(mean(x^2) + eps) of the dividend");
  }
};

/// rms_norm(x - mean(x))
struct LayerNormOfCentred : OpRewritePattern<RmsNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RmsNormOp op,
                                PatternRewriter &rewriter) const override {
    auto centred = op.getInput().getDefiningOp<SubOp>();
    if (!centred)
      return rewriter.notifyMatchFailure(op, "input is no difference");
    Value x = centred.getLhs();
    Value rows = matchPerRow(centred.getRhs());
    if (!rows || matchRowMean(rows) != x)
      return rewriter.notifyMatchFailure(op, "input is not x - mean(x)");
    Type rstd = op.getRstd().getType();
    auto norm = rewriter.create<LayerNormOp>(
        op.getLoc(), TypeRange{x.getType(), rstd, rstd}, x, op.getScale(),
        Value(), op.getEps(), op.getWidth());
    rewriter.replaceOp(op, {norm.getResult(), norm.getRstd()});
    return success();
  }
};

/// norm(x) * scale
template <typename NormOp> struct FoldScale : OpRewritePattern<MulOp> {
  using OpRewritePattern<MulOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    auto [norm, scale] = normAndVector<NormOp>(op);
    if (!norm)
      return rewriter.notifyMatchFailure(op, "is no norm times a vector");
    if (norm.getScale() || hasBias(norm))
      return rewriter.notifyMatchFailure(op,
                                         "norm has a scale or bias already");
    if (!norm->hasOneUse())
      return rewriter.notifyMatchFailure(op,
                                         "unscaled norm has another reader");
    // The scale may be computed after the norm, so the norm moves here.
    auto scaled = cast<NormOp>(rewriter.clone(*norm));
    scaled.getScaleMutable().assign(scale);
    rewriter.replaceOp(op, scaled.getResult());
    return success();
  }

  static bool hasBias(LayerNormOp op) { return bool(op.getBias()); }
  static bool hasBias(RmsNormOp) { return false; }
};

/// layer_norm(x) + bias
struct FoldBias : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    auto [norm, bias] = normAndVector<LayerNormOp>(op);
    if (!norm)
      return rewriter.notifyMatchFailure(op, "is no layer_norm plus a vector");
    if (norm.getBias())
      return rewriter.notifyMatchFailure(op, "norm has a bias already");
    if (!norm->hasOneUse())
      return rewriter.notifyMatchFailure(op, "norm has another reader");
    auto shifted = cast<LayerNormOp>(rewriter.clone(*norm));
    shifted.getBiasMutable().assign(bias);
    rewriter.replaceOp(op, shifted.getResult());
    return success();
  }
};
} // namespace

void hone::populateRaiseNormPatterns(RewritePatternSet &patterns) {
  patterns.add<RmsNormOfProduct, RmsNormOfScaledRoot, RmsNormOfQuotient,
               LayerNormOfCentred, FoldScale<RmsNormOp>, FoldScale<LayerNormOp>,
               FoldBias>(patterns.getContext());
}
