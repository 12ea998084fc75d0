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
    patterns.add<ExpByInstruction, PowerByArithmetic>(context, precedence);
    patterns.add<ApproximateExp>(context, precedence + 1);
    patterns.add<ToInstruction<math::Exp2Op>>(context, exp2Instruction);
    patterns.add<ToInstruction<math::RsqrtOp>>(context, rsqrtInstruction);
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
