//===- Rope.cpp - Finds rotary position embeddings ------------------------===//
//
// With cos and sin per position and pair, a and b the elements of a pair:
//
//   x * [c, c] + concat(-b, a) * [s, s]          tables of full width
//   concat(a c - b s, b c + a s)                 halves
//   both interleaved: a, b = x[::2], x[1::2]     pairs
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
/// A table [T, W] and the dimension of x that its rows run along.
struct Table {
  Value value;
  int64_t position;
};
} // namespace

/// If `value`, of rank 4, repeats a table [T, W] along its dimensions but one
/// of the middle and the last: that table.
static std::optional<Table> matchTable(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || shapeOf(value).size() != 4)
    return std::nullopt;
  SmallVector<int64_t> dims;
  for (auto [from, to] : llvm::enumerate(broadcast.getDims()))
    if (shapeOf(broadcast.getOperand())[from] != 1)
      dims.push_back(to);
  if (dims.size() != 2 || (dims[0] != 1 && dims[0] != 2) || dims[1] != 3)
    return std::nullopt;
  return Table{broadcast.getOperand(), dims[0]};
}

/// `table` as [T, W].
static Value asMatrix(Value table, int64_t rows, PatternRewriter &rewriter) {
  auto type = cast<RankedTensorType>(table.getType());
  if (type.getRank() == 2)
    return table;
  return rewriter.create<ReshapeOp>(
      table.getLoc(), type.clone({rows, type.getShape().back()}), table);
}

/// If `reshape` joins [.., D/2, 2], which repeats each element of [.., D/2]:
/// that. Else null.
static Value repeatedPairs(ReshapeOp reshape) {
  auto pairs = reshape.getOperand().getDefiningOp<BroadcastOp>();
  if (!pairs)
    return {};
  ArrayRef<int64_t> paired = shapeOf(pairs);
  int64_t pair = paired.size() - 1;
  bool repeats = pair >= 1 && paired[pair] == 2 &&
                 2 * paired[pair - 1] == shapeOf(reshape.getResult()).back() &&
                 !llvm::is_contained(pairs.getDims(), pair) &&
                 shapeOf(pairs.getOperand()).size() == size_t(pair);
  return repeats ? pairs.getOperand() : Value();
}

static Value halfOf(Value value, RopeStyle style, PatternRewriter *rewriter);

/// halfOf for the result of an elementwise op: the op on halves.
static Value halfOfMap(Value value, RankedTensorType halfType, RopeStyle style,
                       PatternRewriter *rewriter) {
  Operation *op = value.getDefiningOp();
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1)
    return {};
  SmallVector<Value> halves;
  for (Value operand : op->getOperands()) {
    halves.push_back(halfOf(operand, style, rewriter));
    if (!halves.back())
      return {};
  }
  if (!rewriter)
    return value;
  OperationState state(op->getLoc(), op->getName(), halves, halfType,
                       op->getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return rewriter->create(state)->getResult(0);
}

static bool hasLastSize(Value value, int64_t size) {
  return !shapeOf(value).empty() && shapeOf(value).back() == size;
}

/// halfOf for a reshape: of repeated pairs, or one that keeps the last
/// dimension.
static Value halfOfReshape(ReshapeOp reshape, RankedTensorType halfType,
                           RopeStyle style, PatternRewriter *rewriter) {
  if (Value pairs = repeatedPairs(reshape);
      pairs && style == RopeStyle::interleaved)
    return rewriter
               ? rewriter->create<ReshapeOp>(reshape.getLoc(), halfType, pairs)
               : reshape.getResult();
  if (!hasLastSize(reshape.getOperand(), shapeOf(reshape.getResult()).back()))
    return {};
  Value half = halfOf(reshape.getOperand(), style, rewriter);
  return half && rewriter
             ? rewriter->create<ReshapeOp>(reshape.getLoc(), halfType, half)
             : half;
}

/// One element of each pair of `value` along its last dimension, when both are
/// known to be equal; else null. With no rewriter, only whether they are: then
/// the result is `value` itself.
static Value halfOf(Value value, RopeStyle style, PatternRewriter *rewriter) {
  auto type = cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op || type.getRank() == 0 || type.getShape().back() % 2 != 0)
    return {};
  int64_t last = type.getRank() - 1;
  SmallVector<int64_t> shape(type.getShape());
  shape[last] /= 2;
  RankedTensorType halfType = type.clone(shape);

  if (auto concat = dyn_cast<ConcatOp>(op)) {
    ValueRange inputs = concat.getInputs();
    bool repeats = style == RopeStyle::half &&
                   int64_t(concat.getDim()) == last && inputs.size() == 2 &&
                   inputs[0] == inputs[1];
    return repeats ? (rewriter ? inputs[0] : value) : Value();
  }
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense || !dense.isSplat())
      return {};
    return rewriter ? rewriter->create<ConstantOp>(op->getLoc(),
                                                   dense.resizeSplat(halfType))
                    : value;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return halfOfReshape(reshape, halfType, style, rewriter);
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    if (!llvm::is_contained(broadcast.getDims(), last))
      return {};
    Value half = halfOf(broadcast.getOperand(), style, rewriter);
    return half && rewriter
               ? rewriter->create<BroadcastOp>(op->getLoc(), halfType, half,
                                               broadcast.getDimsAttr())
               : half;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    if (!hasLastSize(slice.getOperand(), type.getShape().back()))
      return {};
    Value half = halfOf(slice.getOperand(), style, rewriter);
    if (!half || !rewriter)
      return half;
    SmallVector<int64_t> limits(slice.getLimits());
    limits[last] /= 2;
    return rewriter->create<SliceOp>(op->getLoc(), halfType, half,
                                     slice.getStarts(), limits,
                                     slice.getStrides());
  }
  return halfOfMap(value, halfType, style, rewriter);
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

namespace {
/// One element of each pair: the value it is taken from, which one, and how
/// pairs lie.
struct PairElement {
  Value x;
  bool isSecond;
  RopeStyle style;
};
} // namespace

/// True when `slice` takes every `stride`-th element of the last dimension from
/// `start` up to `limit` or beyond, and the other dimensions whole.
static bool isLastSlice(SliceOp slice, int64_t start, int64_t limit,
                        int64_t stride) {
  ArrayRef<int64_t> shape = shapeOf(slice.getOperand());
  int64_t last = shape.size() - 1;
  for (int64_t dim = 0; dim != last; ++dim)
    if (slice.getStarts()[dim] != 0 || slice.getLimits()[dim] != shape[dim] ||
        slice.getStrides()[dim] != 1)
      return false;
  return slice.getStarts()[last] == start &&
         slice.getStrides()[last] == stride && slice.getLimits()[last] >= limit;
}

static std::optional<PairElement> matchPairElement(Value value) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (slice && !shapeOf(slice.getOperand()).empty()) {
    Value x = slice.getOperand();
    int64_t width = shapeOf(x).back();
    if (width % 2 != 0 || shapeOf(value).back() != width / 2)
      return std::nullopt;
    for (bool isSecond : {false, true}) {
      if (isLastSlice(slice, isSecond ? width / 2 : 0,
                      isSecond ? width : width / 2, 1))
        return PairElement{x, isSecond, RopeStyle::half};
      if (isLastSlice(slice, isSecond, width - 1 + isSecond, 2))
        return PairElement{x, isSecond, RopeStyle::interleaved};
    }
    return std::nullopt;
  }
  // reshape(slice(reshape(x) to [.., D/2, 2]))
  slice = peelReshapes(value).getDefiningOp<SliceOp>();
  if (!slice)
    return std::nullopt;
  auto pairs = slice.getOperand().getDefiningOp<ReshapeOp>();
  if (!pairs)
    return std::nullopt;
  Value x = pairs.getOperand();
  SmallVector<int64_t> paired(shapeOf(x));
  if (paired.empty() || paired.back() % 2 != 0)
    return std::nullopt;
  paired.back() /= 2;
  if (shapeOf(value) != ArrayRef(paired))
    return std::nullopt;
  paired.push_back(2);
  if (shapeOf(pairs) != ArrayRef(paired))
    return std::nullopt;
  for (bool isSecond : {false, true})
    if (isLastSlice(slice, isSecond, 1 + isSecond, 1) &&
        slice.getLimits().back() == 1 + isSecond)
      return PairElement{x, isSecond, RopeStyle::interleaved};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Replaces `op` by the rotation of `x` [B, T, H, D] or [B, H, T, D] with
/// tables [T, D/2].
static LogicalResult replaceByRope(Operation *op, RopeStyle style, Value x,
                                   Value cos, Value sin, int64_t position,
                                   PatternRewriter &rewriter) {
  const int64_t swapped[] = {0, 2, 1, 3};
  bool swap = position == 2;
  Location loc = op->getLoc();
  Value input = swap ? rewriter.create<TransposeOp>(loc, x, swapped) : x;
  Value result =
      rewriter.create<RopeOp>(loc, input.getType(), style, input, cos, sin,
                              /*inverse=*/false);
  if (swap)
    result = rewriter.create<TransposeOp>(loc, result, swapped);
  rewriter.replaceOp(op, result);
  return success();
}

/// Both orders of the operands of a commutative op.
static std::array<std::pair<Value, Value>, 2> bothOrders(Operation *op) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  return {std::pair(lhs, rhs), std::pair(rhs, lhs)};
}

/// If `value` is concat(-b, a) of the halves of `x`, or of its pairs: which.
static std::optional<RopeStyle> matchRotated(Value value, Value x) {
  auto concat = peelReshapes(value).getDefiningOp<ConcatOp>();
  if (!concat || concat.getInputs().size() != 2 ||
      int64_t(concat.getDim()) + 1 != int64_t(shapeOf(concat).size()))
    return std::nullopt;
  bool isPaired = shapeOf(concat).size() == shapeOf(x).size() + 1;
  auto part = [&](unsigned index) {
    Value input = concat.getInputs()[index];
    return isPaired ? peelReshapes(input) : input;
  };
  auto neg = part(0).getDefiningOp<NegOp>();
  if (!neg || (!isPaired && concat.getResult() != value))
    return std::nullopt;
  std::optional<PairElement> b = matchPairElement(neg.getOperand());
  std::optional<PairElement> a = matchPairElement(part(1));
  RopeStyle style = isPaired ? RopeStyle::interleaved : RopeStyle::half;
  if (!a || !b || a->x != x || b->x != x || a->isSecond || !b->isSecond ||
      a->style != style || b->style != style)
    return std::nullopt;
  return style;
}

namespace {
/// x * cos + concat(-b, a) * sin
struct RopeOfRotatedHalf : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    if (shapeOf(op).size() != 4)
      return rewriter.notifyMatchFailure(op, "is not of rank 4");
    for (auto [first, second] : bothOrders(op)) {
      auto cosMul = first.getDefiningOp<MulOp>();
      auto sinMul = second.getDefiningOp<MulOp>();
      if (!cosMul || !sinMul)
        return rewriter.notifyMatchFailure(op, "is no sum of products");
      for (auto [rotated, sin] : bothOrders(sinMul))
        for (auto [x, cos] : bothOrders(cosMul))
          if (std::optional<RopeStyle> style = matchRotated(rotated, x))
            return rewrite(op, *style, x, cos, sin, rewriter);
    }
    return rewriter.notifyMatchFailure(op, "no factor is concat(-b, a) of the "
                                           "pairs of another");
  }

  static LogicalResult rewrite(AddOp op, RopeStyle style, Value x, Value cos,
                               Value sin, PatternRewriter &rewriter) {
    std::optional<Table> c = matchTable(cos), s = matchTable(sin);
    if (!c || !s || c->position != s->position)
      return rewriter.notifyMatchFailure(op, "cos or sin is no table by "
                                             "position, repeated");
    if (dependsOnTrained(c->value) || dependsOnTrained(s->value))
      return rewriter.notifyMatchFailure(op, "a table is trained");
    if (!halfOf(c->value, style, nullptr) || !halfOf(s->value, style, nullptr))
      return rewriter.notifyMatchFailure(op, "pairs of a table are not known "
                                             "to be equal");
    int64_t rows = shapeOf(x)[c->position];
    Value cosHalf =
        asMatrix(halfOf(c->value, style, &rewriter), rows, rewriter);
    Value sinHalf =
        asMatrix(halfOf(s->value, style, &rewriter), rows, rewriter);
    return replaceByRope(op, style, x, cosHalf, sinHalf, c->position, rewriter);
  }
};
} // namespace

namespace {
/// Both parts of a rotation, u c - v s and v c + u s.
struct Rotation {
  PairElement a, b;
  Value cos, sin; // as they are multiplied, of the parts' shape
};
} // namespace

static bool isSame(const PairElement &p, const PairElement &q) {
  return p.x == q.x && p.isSecond == q.isSecond && p.style == q.style;
}

/// If `value` is element * table: both.
static std::optional<std::pair<PairElement, Value>> matchTerm(Value value) {
  auto mul = value.getDefiningOp<MulOp>();
  if (!mul)
    return std::nullopt;
  for (auto [element, table] : bothOrders(mul))
    if (std::optional<PairElement> pair = matchPairElement(element))
      return std::pair(*pair, table);
  return std::nullopt;
}

/// If `first` is a c - b s and `second` b c + a s.
static std::optional<Rotation> matchRotation(Value first, Value second) {
  auto sub = first.getDefiningOp<SubOp>();
  auto add = second.getDefiningOp<AddOp>();
  if (!sub || !add)
    return std::nullopt;
  auto ac = matchTerm(sub.getLhs()), bs = matchTerm(sub.getRhs());
  if (!ac || !bs || ac->first.isSecond || !bs->first.isSecond ||
      ac->first.x != bs->first.x || ac->first.style != bs->first.style)
    return std::nullopt;
  for (auto [left, right] : bothOrders(add)) {
    auto bc = matchTerm(left), as = matchTerm(right);
    if (bc && as && isSame(bc->first, bs->first) &&
        isSame(as->first, ac->first) && bc->second == ac->second &&
        as->second == bs->second)
      return Rotation{ac->first, bs->first, ac->second, bs->second};
  }
  return std::nullopt;
}

namespace {
/// concat(a c - b s, b c + a s), of halves, or of pairs before a reshape.
struct RopeOfParts : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    ValueRange inputs = op.getInputs();
    if (inputs.size() != 2 ||
        int64_t(op.getDim()) + 1 != int64_t(shapeOf(op).size()))
      return rewriter.notifyMatchFailure(op, "does not join two parts along "
                                             "the last dimension");
    bool isPaired = shapeOf(op).size() == 5;
    std::optional<Rotation> r =
        isPaired
            ? matchRotation(peelReshapes(inputs[0]), peelReshapes(inputs[1]))
            : matchRotation(inputs[0], inputs[1]);
    if (!r)
      return rewriter.notifyMatchFailure(op, "parts are not a c - b s and b c "
                                             "+ a s");
    if ((r->a.style == RopeStyle::interleaved) != isPaired)
      return rewriter.notifyMatchFailure(op, "elements are joined otherwise "
                                             "than they were taken apart");
    Value x = r->a.x;
    std::optional<Table> c = matchTable(r->cos), s = matchTable(r->sin);
    if (!c || !s || c->position != s->position || shapeOf(x).size() != 4)
      return rewriter.notifyMatchFailure(op, "cos or sin is no table by "
                                             "position, repeated");
    if (dependsOnTrained(c->value) || dependsOnTrained(s->value))
      return rewriter.notifyMatchFailure(op, "a table is trained");

    Operation *root = op;
    if (isPaired) {
      // The pairs [.., D/2, 2] flow together to x's shape in one reshape.
      auto flat = op->hasOneUse() ? dyn_cast<ReshapeOp>(*op->getUsers().begin())
                                  : ReshapeOp();
      if (!flat || flat.getType() != x.getType())
        return rewriter.notifyMatchFailure(op, "pairs are not joined to the "
                                               "shape of the input");
      root = flat;
      rewriter.setInsertionPoint(root);
    }
    int64_t rows = shapeOf(x)[c->position];
    return replaceByRope(
        root, r->a.style, x, asMatrix(c->value, rows, rewriter),
        asMatrix(s->value, rows, rewriter), c->position, rewriter);
  }
};
} // namespace

void hone::populateRaiseRopePatterns(RewritePatternSet &patterns) {
  patterns.add<RopeOfRotatedHalf, RopeOfParts>(patterns.getContext());
}
