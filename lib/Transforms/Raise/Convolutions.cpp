//===- Convolutions.cpp - Convolutions that are matrix products -----------===//

#include "Patterns.h"

using namespace mlir;
using namespace hone;

namespace {
/// A weight [K..., C, O] as a matrix, and the order of its rows.
struct WeightMatrix {
  Value matrix; ///< rows by O, or O by rows
  int64_t rowsDim;
  /// The dimensions of [K..., C] in the order in which they make the rows.
  SmallVector<int64_t> order;
};
} // namespace

static Value reshaped(OpBuilder &b, Location loc, Value value,
                      ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return b.create<ReshapeOp>(loc, withShape(value, shape), value);
}

/// Reads `weight` through the transpose that the front end put before it, so
/// that no element moves.
static WeightMatrix matrixOf(OpBuilder &b, Value weight) {
  int64_t last = shapeOf(weight).size() - 1;
  int64_t outputs = shapeOf(weight).back();
  int64_t rows = ShapedType::getNumElements(shapeOf(weight)) / outputs;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, last));
  auto transpose = weight.getDefiningOp<TransposeOp>();
  if (transpose && transpose.getPermutation().back() == 0) {
    llvm::sort(order, [&](int64_t x, int64_t y) {
      return transpose.getPermutation()[x] < transpose.getPermutation()[y];
    });
    Value matrix = reshaped(b, transpose.getLoc(), transpose.getOperand(),
                            {outputs, rows});
    return {matrix, 1, order};
  }
  return {reshaped(b, weight.getLoc(), weight, {rows, outputs}), 0, order};
}

/// Whether windows neither overlap nor leave gaps, nor read padding.
static bool tilesInput(const Window &window) {
  for (unsigned dim = 0; dim != window.rank(); ++dim)
    if (window.low[dim] != 0 || window.high[dim] != 0 ||
        window.sizes[dim] != window.strides[dim] ||
        (window.sizes[dim] != 1 && window.dilations[dim] != 1))
      return false;
  return true;
}

/// Whether windows are single positions, some perhaps skipped, of the input.
static bool isPointwise(const Window &window) {
  auto isZero = [](int64_t size) { return size == 0; };
  return window.taps() == 1 && llvm::all_of(window.low, isZero) &&
         llvm::all_of(window.high, isZero);
}

/// The shape [N, R_0, K_0, R_1, K_1, ..., C] of `output` windows.
static SmallVector<int64_t>
splitShape(const Window &window, ArrayRef<int64_t> output, int64_t channels) {
  SmallVector<int64_t> shape = {output.front()};
  for (unsigned dim = 0; dim != window.rank(); ++dim)
    shape.append({output[dim + 1], window.sizes[dim]});
  shape.push_back(channels);
  return shape;
}

/// From [N, R_0, K_0, ..., C] to [N, R..., rows], the rows being dimensions of
/// [K..., C] in `order`.
static SmallVector<int64_t> patchOrder(unsigned rank, ArrayRef<int64_t> order) {
  SmallVector<int64_t> permutation = {0};
  for (unsigned dim = 0; dim != rank; ++dim)
    permutation.push_back(1 + 2 * dim);
  for (int64_t dim : order)
    permutation.push_back(dim == rank ? 2 * rank + 1 : 2 + 2 * dim);
  return permutation;
}

/// The windows of `image` [N, S..., C], which tile it, one per row. A transpose
/// of the image becomes part of the transpose to rows.
static Value makePatches(OpBuilder &b, Location loc, const Window &window,
                         Value image, ArrayRef<int64_t> output,
                         ArrayRef<int64_t> order) {
  unsigned rank = window.rank();
  ArrayRef<int64_t> shape = shapeOf(image);
  SmallVector<int64_t> starts(rank + 2, 0), strides(rank + 2, 1), limits(shape);
  for (unsigned dim = 0; dim != rank; ++dim)
    limits[dim + 1] = output[dim + 1] * window.sizes[dim];
  SmallVector<int64_t> split = splitShape(window, output, shape.back());
  SmallVector<int64_t> permutation = patchOrder(rank, order);
  auto transpose = image.getDefiningOp<TransposeOp>();
  if (shape != ArrayRef<int64_t>(limits)) {
    image = b.create<SliceOp>(loc, withShape(image, limits), image, starts,
                              limits, strides);
  } else if (transpose) {
    // Where the dimensions of `split` are, in the order of the source.
    SmallVector<int64_t> place(split.size()), shapeBefore;
    ArrayRef<int64_t> outer = transpose.getPermutation();
    for (int64_t from = 0; from != int64_t(rank + 2); ++from) {
      int64_t dim = llvm::find(outer, from) - outer.begin();
      bool isSpatial = dim != 0 && dim != rank + 1;
      int64_t first = dim == 0 ? 0 : 2 * dim - 1;
      for (int64_t part = first; part <= first + isSpatial; ++part) {
        place[part] = shapeBefore.size();
        shapeBefore.push_back(split[part]);
      }
    }
    image = transpose.getOperand();
    split = shapeBefore;
    for (int64_t &dim : permutation)
      dim = place[dim];
  }
  Value parts = reshaped(b, loc, image, split);
  Value rows = b.createOrFold<TransposeOp>(loc, parts, permutation);
  SmallVector<int64_t> flat(output.drop_back());
  flat.push_back(window.taps() * shape.back());
  return reshaped(b, loc, rows, flat);
}

/// The inverse of makePatches, into `image`; positions in no window are zeros.
static Value placePatches(OpBuilder &b, Location loc, const Window &window,
                          Value rows, ArrayRef<int64_t> output,
                          ArrayRef<int64_t> order, RankedTensorType image) {
  unsigned rank = window.rank();
  ArrayRef<int64_t> shape = image.getShape();
  SmallVector<int64_t> split = splitShape(window, output, shape.back());
  SmallVector<int64_t> permutation = patchOrder(rank, order),
                       back(split.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    back[from] = to;
  SmallVector<int64_t> ordered =
      llvm::map_to_vector(permutation, [&](int64_t dim) { return split[dim]; });
  Value parts =
      b.createOrFold<TransposeOp>(loc, reshaped(b, loc, rows, ordered), back);
  SmallVector<int64_t> low(rank + 2, 0), high(rank + 2, 0), joined(shape);
  for (unsigned dim = 0; dim != rank; ++dim) {
    joined[dim + 1] = output[dim + 1] * window.sizes[dim];
    high[dim + 1] = shape[dim + 1] - joined[dim + 1];
  }
  Value made = reshaped(b, loc, parts, joined);
  if (made.getType() == image)
    return made;
  return b.create<PadOp>(loc, image, made, low, high, low);
}

static LogicalResult expectPlain(ConvolutionOpInterface op,
                                 PatternRewriter &rewriter) {
  ArrayRef<int64_t> kernel = shapeOf(op.getKernel());
  if (kernel[kernel.size() - 2] != shapeOf(op.getImage()).back() ||
      llvm::is_contained(kernel, 0))
    return rewriter.notifyMatchFailure(op, "channels are in groups");
  return success();
}

namespace {
/// conv(x, w) with windows that tile x, as patch embeddings have, or that are
/// single positions -> dot(windows of x as rows, w).
struct ConvToProduct : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvOp op,
                                PatternRewriter &rewriter) const override {
    if (failed(expectPlain(op, rewriter)))
      return failure();
    Window window = op.getWindow();
    Value image = op.getInput();
    if (!tilesInput(window)) {
      if (!isPointwise(window))
        return rewriter.notifyMatchFailure(op, "windows overlap");
      SmallVector<int64_t> starts(window.rank() + 2, 0), steps = {1};
      llvm::append_range(steps, window.strides);
      steps.push_back(1);
      SmallVector<int64_t> shape(shapeOf(op.getResult()));
      shape.back() = shapeOf(image).back();
      SmallVector<int64_t> limits(shape);
      for (auto [limit, step] : llvm::zip(limits, steps))
        limit = (limit - 1) * step + 1;
      image = rewriter.create<SliceOp>(op.getLoc(), withShape(image, shape),
                                       image, starts, limits, steps);
      window.strides.assign(window.rank(), 1);
    }
    WeightMatrix weight = matrixOf(rewriter, op.getWeight());
    Value rows = makePatches(rewriter, op.getLoc(), window, image,
                             shapeOf(op.getResult()), weight.order);
    int64_t last = shapeOf(rows).size() - 1;
    rewriter.replaceOpWithNewOp<DotGeneralOp>(
        op, op.getType(), rows, weight.matrix, ArrayRef<int64_t>{},
        ArrayRef<int64_t>{}, ArrayRef<int64_t>{last},
        ArrayRef<int64_t>{weight.rowsDim});
    return success();
  }
};

/// A transposed convolution whose windows do not meet -> the windows as rows of
/// dot(y, w), put in their places.
struct TransposedConvToProduct : OpRewritePattern<ConvBwdInputOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvBwdInputOp op,
                                PatternRewriter &rewriter) const override {
    if (failed(expectPlain(op, rewriter)))
      return failure();
    Window window = op.getWindow();
    if (!tilesInput(window))
      return rewriter.notifyMatchFailure(op, "windows overlap");
    WeightMatrix weight = matrixOf(rewriter, op.getWeight());
    ArrayRef<int64_t> output = shapeOf(op.getGrad());
    int64_t last = output.size() - 1;
    SmallVector<int64_t> shape(output);
    shape.back() = shapeOf(weight.matrix)[weight.rowsDim];
    Value rows = rewriter.create<DotGeneralOp>(
        op.getLoc(), withShape(op.getGrad(), shape), op.getGrad(),
        weight.matrix, ArrayRef<int64_t>{}, ArrayRef<int64_t>{},
        ArrayRef<int64_t>{last}, ArrayRef<int64_t>{1 - weight.rowsDim});
    rewriter.replaceOp(op, placePatches(rewriter, op.getLoc(), window, rows,
                                        output, weight.order,
                                        cast<RankedTensorType>(op.getType())));
    return success();
  }
};
} // namespace

void hone::populateRaiseConvolutionPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvToProduct, TransposedConvToProduct>(patterns.getContext());
}
