//===- ApproximateDeviceMath.cpp - Functions without instructions on a GPU ===//

#include "Power.h"
#include "Target/CPU/ApproximateMath.h"

#include "hone/Target/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_APPROXIMATEDEVICEMATH
#include "hone/Target/Passes.h.inc"
} // namespace hone

using namespace mlir;

/// Whether `type` is f32 or a vector of it with one dimension of known size.
static bool isScalarOrRow(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return getElementTypeOrSelf(type).isF32() &&
         (!vector || (vector.getRank() == 1 && !vector.isScalable()));
}

/// An instruction of one f32, on each element of `x`.
static Value callPerElement(PatternRewriter &rewriter, Location loc,
                            StringRef instruction, Value x) {
  auto call = [&](Value element) -> Value {
    return rewriter
        .create<LLVM::CallIntrinsicOp>(loc, element.getType(), instruction,
                                       ValueRange(element))
        ->getResult(0);
  };
  auto type = dyn_cast<VectorType>(x.getType());
  if (!type)
    return call(x);
  Value result = x;
  for (int64_t i = 0; i < type.getDimSize(0); ++i) {
    Value element = rewriter.create<vector::ExtractOp>(loc, x, i);
    result = rewriter.create<vector::InsertOp>(loc, call(element), result, i);
  }
  return result;
}

static Value constant(PatternRewriter &rewriter, Location loc, Type type,
                      double value) {
  TypedAttr element = rewriter.getF32FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    element = DenseElementsAttr::get(vector, element);
  return rewriter.create<arith::ConstantOp>(loc, element);
}

namespace {
constexpr StringLiteral exp2Instruction = "llvm.nvvm.ex2.approx.ftz.f";
constexpr StringLiteral reciprocalInstruction = "llvm.nvvm.rcp.approx.ftz.f";
constexpr StringLiteral rsqrtInstruction = "llvm.nvvm.rsqrt.approx.f";
constexpr unsigned precedence = 2; // over polynomials

/// exp(x) = 2^(h + l) = 2^h * (1 + l ln 2), h + l = x log2 e.
struct ExpByInstruction : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!isScalarOrRow(type))
      return rewriter.notifyMatchFailure(op, "is not f32 in one dimension");
    Location loc = op.getLoc();
    auto number = [&](double value) {
      return constant(rewriter, loc, type, value);
    };
    // log2 e in f32, and what that leaves.
    constexpr float log2e = 1.4426950408889634f;
    constexpr double rest = 1.4426950408889634 - double(log2e);
    // At infinity l would be NaN. Beyond these bounds results are 0 and
    // infinite anyway; NaN passes.
    Value x =
        rewriter.create<arith::MinimumFOp>(loc, op.getOperand(), number(130.0));
    x = rewriter.create<arith::MaximumFOp>(loc, x, number(-150.0));
    Value high = rewriter.create<arith::MulFOp>(loc, x, number(log2e));
    Value low = rewriter.create<math::FmaOp>(
        loc, x, number(log2e), rewriter.create<arith::NegFOp>(loc, high));
    low = rewriter.create<math::FmaOp>(loc, x, number(rest), low);
    Value power = callPerElement(rewriter, loc, exp2Instruction, high);
    Value factor = rewriter.create<math::FmaOp>(
        loc, low, number(0.6931471805599453), number(1.0));
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, power, factor);
    return success();
  }
};

/// exp(x) where `afn` allows it the error of its argument: 2^(x log2 e). NaN
/// and infinities are those of exp.
struct ApproximateExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!isScalarOrRow(op.getType()) ||
        !arith::bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn))
      return rewriter.notifyMatchFailure(op, "is exact, or no f32");
    Location loc = op.getLoc();
    Value log2e = constant(rewriter, loc, op.getType(), 1.4426950408889634);
    Value power = rewriter.create<arith::MulFOp>(loc, op.getOperand(), log2e);
    rewriter.replaceOp(op,
                       callPerElement(rewriter, loc, exp2Instruction, power));
    return success();
  }
};

/// 1 / x where `afn` allows a unit in the last place. Results below the normal
/// numbers are 0. The correctly rounded quotient takes ten instructions, with a
/// branch around a call.
struct ApproximateReciprocal : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isScalarOrRow(op.getType()) ||
        !arith::bitEnumContainsAny(op.getFastmath(),
                                   arith::FastMathFlags::afn) ||
        !matchPattern(op.getLhs(), m_OneFloat()))
      return rewriter.notifyMatchFailure(op, "is exact, or no 1 / x of f32");
    rewriter.replaceOp(op, callPerElement(rewriter, op.getLoc(),
                                          reciprocalInstruction, op.getRhs()));
    return success();
  }
};

/// erf(x) = x + x P(x^2) up to 0.9, and 1 - 2^Q(|x|) with the sign of x beyond,
/// where 2^Q approximates 1 - erf: within 1.3 ulp. The polynomials are minimax,
/// of relative error 2^-26. MLIR's polynomial chooses each of its coefficients
/// among several by x, which takes more instructions than the arithmetic.
struct ErfByInstruction : OpRewritePattern<math::ErfOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ErfOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!isScalarOrRow(type))
      return rewriter.notifyMatchFailure(op, "is not f32 in one dimension");
    Location loc = op.getLoc();
    Value x = op.getOperand();
    auto number = [&](double value) {
      return constant(rewriter, loc, type, value);
    };
    auto polynomial = [&](Value at, ArrayRef<double> highestFirst) {
      Value sum = number(highestFirst.front());
      for (double coefficient : highestFirst.drop_front())
        sum = rewriter.create<math::FmaOp>(loc, sum, at, number(coefficient));
      return sum;
    };
    Value square = rewriter.create<arith::MulFOp>(loc, x, x);
    Value factor =
        polynomial(square, {-6.09036186e-4, 5.01196319e-3, -2.67789084e-2,
                            1.12821408e-1, -3.76125246e-1, 1.28379151e-1});
    Value small = rewriter.create<math::FmaOp>(loc, factor, x, x);
    // 1 - erf(4) is below half a unit of 1; beyond, Q turns upwards.
    Value abs = rewriter.create<math::AbsFOp>(loc, x);
    Value bounded = rewriter.create<arith::MinimumFOp>(loc, abs, number(4.0));
    Value exponent = polynomial(
        bounded, {2.85970309e-4, -4.42256546e-3, 3.21940407e-2, -1.50204271e-1,
                  -9.18962240e-1, -1.62706745, -2.40135530e-4});
    Value rest = callPerElement(rewriter, loc, exp2Instruction, exponent);
    Value large = rewriter.create<arith::SubFOp>(loc, number(1.0), rest);
    large = rewriter.create<math::CopySignOp>(loc, large, x);
    Value isLarge = rewriter.create<arith::CmpFOp>(
        loc, arith::CmpFPredicate::OGT, abs, number(0.9)); // NaN is not
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isLarge, large, small);
    return success();
  }
};

/// A function that is one instruction.
template <typename Op> struct ToInstruction : OpRewritePattern<Op> {
  ToInstruction(MLIRContext *context, StringRef instruction)
      : OpRewritePattern<Op>(context, precedence), instruction(instruction) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isScalarOrRow(op.getType()))
      return rewriter.notifyMatchFailure(op, "is not f32 in one dimension");
    rewriter.replaceOp(op, callPerElement(rewriter, op.getLoc(), instruction,
                                          op.getOperand()));
    return success();
  }

  StringRef instruction;
};

struct PowerByArithmetic : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isScalarOrRow(op.getType()))
      return rewriter.notifyMatchFailure(op, "is not f32 in one dimension");
    rewriter.replaceOp(
        op, hone::emitPower(rewriter, op.getLoc(), op.getLhs(), op.getRhs()));
    return success();
  }
};

struct ApproximateDeviceMath
    : hone::impl::ApproximateDeviceMathBase<ApproximateDeviceMath> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    hone::populateApproximateMath(patterns);
    patterns.add<ErfByInstruction, ExpByInstruction, PowerByArithmetic>(
        context, precedence);
    patterns.add<ApproximateExp, ApproximateReciprocal>(context,
                                                        precedence + 1);
    patterns.add<ToInstruction<math::Exp2Op>>(context, exp2Instruction);
    patterns.add<ToInstruction<math::RsqrtOp>>(context, rsqrtInstruction);
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
