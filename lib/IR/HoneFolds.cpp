//===- HoneFolds.cpp - Folds and canonicalisations ------------------------===//
//
// Only rewrites that keep every bit of the result (IEEE: x + 0 is not x for
// x = -0, so it is not folded), and that never duplicate work.
//
//===----------------------------------------------------------------------===//

#include "hone/IR/Hone.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace hone;

static bool isSplat(Attribute attribute, double value) {
  std::optional<double> splat = splatOf(attribute);
  return splat && *splat == value &&
         std::signbit(*splat) == std::signbit(value);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

// -(-x) = x
OpFoldResult NegOp::fold(FoldAdaptor) {
  if (auto inner = getOperand().getDefiningOp<NegOp>())
    return inner.getOperand();
  return {};
}

/// Converts a splat between element types with the rounding of hone.cast.
static Attribute convertSplat(DenseElementsAttr dense, ShapedType type) {
  Type to = type.getElementType();
  std::optional<double> value = splatOf(dense);
  if (!value)
    return {};
  if (isa<IntegerType>(dense.getElementType()) &&
      std::abs(*value) > std::ldexp(1.0, 53))
    return {}; // may have been rounded on its way to a double
  if (auto floatType = dyn_cast<FloatType>(to)) {
    APFloat converted(*value);
    bool lost;
    converted.convert(floatType.getFloatSemantics(),
                      APFloat::rmNearestTiesToEven, &lost);
    return DenseElementsAttr::get(type, converted);
  }
  if (to.isInteger(1))
    return DenseElementsAttr::get(type, *value != 0.0);
  unsigned width = to.getIntOrFloatBitWidth();
  if (!(std::abs(*value) < std::ldexp(1.0, std::min(width - 1, 53u))))
    return {}; // out of range, or not exact as a double
  return DenseElementsAttr::get(type,
                                APInt(width, int64_t(*value), /*signed=*/true));
}

/// Whether the cast is to a wider float, which holds every value of its
/// operand.
static bool widensFloat(CastOp cast) {
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getOperand()));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getType()));
  return from && to && to.getWidth() > from.getWidth();
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  // A cast of a widened value is one of the value itself, or undoes it.
  auto inner = getOperand().getDefiningOp<CastOp>();
  if (inner && widensFloat(inner) &&
      isa<FloatType>(getElementTypeOrSelf(getType()))) {
    if (inner.getOperand().getType() == getType())
      return inner.getOperand();
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  auto dense = dyn_cast_if_present<DenseElementsAttr>(adaptor.getOperand());
  if (dense && dense.isSplat())
    return convertSplat(dense, cast<ShapedType>(getType()));
  return {};
}

// x + (-0.0) = x, and x + 0 = x for integers.
OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(getType()));
  if (isSplat(adaptor.getRhs(), isFloat ? -0.0 : 0.0))
    return getLhs();
  return {};
}

// x - 0 = x
OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  return isSplat(adaptor.getRhs(), 0.0) ? getLhs() : OpFoldResult();
}

// x * 1 = x
OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  return isSplat(adaptor.getRhs(), 1.0) ? getLhs() : OpFoldResult();
}

// x / 1 = x
OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  return isSplat(adaptor.getRhs(), 1.0) ? getLhs() : OpFoldResult();
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getP().isZero() ? getInput() : Value();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool whole = getOperand().getType() == getType() &&
               llvm::all_of(getStrides(), [](int64_t s) { return s == 1; });
  return whole ? getOperand() : Value();
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : Value();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? getInputs().front() : Value();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return getDims().empty() ? getOperand() : Value();
}

//===----------------------------------------------------------------------===//
// Reshape, transpose, broadcast
//===----------------------------------------------------------------------===//

/// A splat constant keeps its value under any change of shape.
static OpFoldResult reshapeSplat(Attribute operand, Type type) {
  auto dense = dyn_cast_if_present<DenseElementsAttr>(operand);
  if (dense && dense.isSplat())
    return dense.resizeSplat(cast<ShapedType>(type));
  return {};
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return reshapeSplat(adaptor.getOperand(), getType());
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getPermutation(),
                  llvm::seq<int64_t>(0, getPermutation().size())))
    return getOperand();
  return reshapeSplat(adaptor.getOperand(), getType());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return reshapeSplat(adaptor.getOperand(), getType());
}

namespace {
/// reshape(reshape(x)) = reshape(x)
struct ComposeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is no reshape");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(),
                                           inner.getOperand());
    return success();
  }
};

/// transpose(transpose(x)) = transpose(x)
struct ComposeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<TransposeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is no transpose");
    SmallVector<int64_t> permutation;
    for (int64_t dim : op.getPermutation())
      permutation.push_back(inner.getPermutation()[dim]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner.getOperand(),
                                             permutation);
    return success();
  }
};

/// A transpose that moves only dimensions of size 1 is a reshape.
struct TransposeToReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(op.getOperand().getType()).getShape();
    int64_t last = -1;
    for (int64_t dim : op.getPermutation()) {
      if (shape[dim] == 1)
        continue;
      if (dim < last)
        return rewriter.notifyMatchFailure(op, "order of elements changes");
      last = dim;
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
    return success();
  }
};

/// broadcast(broadcast(x)) = broadcast(x)
struct ComposeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<BroadcastOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is no broadcast");
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getDims())
      dims.push_back(op.getDims()[dim]);
    rewriter.replaceOpWithNewOp<BroadcastOp>(
        op, op.getType(), inner.getOperand(),
        rewriter.getDenseI64ArrayAttr(dims));
    return success();
  }
};

/// A broadcast that only adds dimensions of size 1 is a reshape.
struct BroadcastToReshape : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    if (cast<ShapedType>(op.getOperand().getType()).getNumElements() !=
        cast<ShapedType>(op.getType()).getNumElements())
      return rewriter.notifyMatchFailure(op, "elements repeat");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
    return success();
  }
};

/// pow with exponent 1, 2 or 3 as products.
struct PowByConstant : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    Attribute exponent;
    if (!matchPattern(op.getRhs(), m_Constant(&exponent)))
      return rewriter.notifyMatchFailure(op, "exponent is no constant");
    if (isSplat(exponent, 1.0)) {
      rewriter.replaceOp(op, op.getLhs());
      return success();
    }
    if (isSplat(exponent, 2.0)) {
      rewriter.replaceOpWithNewOp<MulOp>(op, op.getLhs(), op.getLhs());
      return success();
    }
    if (isSplat(exponent, 3.0)) {
      Value square =
          rewriter.create<MulOp>(op.getLoc(), op.getLhs(), op.getLhs());
      rewriter.replaceOpWithNewOp<MulOp>(op, square, op.getLhs());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "exponent is not 1, 2 or 3");
  }
};
} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<ComposeReshapes>(context);
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<ComposeTransposes, TransposeToReshape>(context);
}

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<ComposeBroadcasts, BroadcastToReshape>(context);
}

void PowOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<PowByConstant>(context);
}

//===----------------------------------------------------------------------===//
// Weights in codes
//===----------------------------------------------------------------------===//

namespace {
/// Values in fp32 that are only rounded are computed with that rounding.
struct DequantizeNarrow : OpRewritePattern<DequantizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DequantizeOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32() || !op->hasOneUse())
      return failure();
    auto cast = dyn_cast<CastOp>(*op->user_begin());
    auto to = cast ? dyn_cast<FloatType>(getElementTypeOrSelf(cast.getType()))
                   : FloatType();
    if (!to || to.getWidth() >= 32)
      return failure();
    rewriter.replaceOpWithNewOp<DequantizeOp>(cast, cast.getType(),
                                              op.getCode(), op.getCodes(),
                                              op.getScales(), op.getBlock());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void DequantizeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<DequantizeNarrow>(context);
}
