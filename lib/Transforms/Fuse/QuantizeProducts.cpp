//===- QuantizeProducts.cpp - Products of codes of fp8 --------------------===//

#include "hone/IR/Fp8.h"
#include "hone/Transforms/Passes.h"
#include "hone/Transforms/Precision/Policy.h"
#include "hone/Transforms/Precision/ProductSizes.h"

#include <map>

namespace hone {
#define GEN_PASS_DEF_QUANTIZEPRODUCTS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using honert::Fp8Format;
using honert::ScaleTile;

namespace {
/// An operand as a matrix [free, contracted], or its transpose.
struct Matrix {
  Value value;
  bool isTransposed;
};

/// What is made of a value once.
using CodesKey = std::tuple<void *, bool, ScaleTile, Fp8Format>;

/// Rewrites the products of one function.
class Quantizer {
public:
  Quantizer(func::FuncOp func, Fp8Format gradients)
      : builder(func.getContext()), loc(func.getLoc()), gradients(gradients) {}

  void rewrite(DotGeneralOp dot);

private:
  Matrix asMatrix(Value value, ArrayRef<int64_t> free,
                  ArrayRef<int64_t> contracted);
  Value reshape(Value value, ArrayRef<int64_t> shape);
  QuantizeOp quantize(Matrix matrix, Fp8Scaling scaling, FactorRole role);
  Value asAddend(Value value, RankedTensorType matrix);
  void sinkReshape(ReshapeOp reshape);

  OpBuilder builder;
  Location loc; ///< of the product that is rewritten
  Fp8Format gradients;
  DenseMap<std::pair<Value, int64_t>, Value> reshaped; // by rows
  DenseMap<Value, Value> amaxes;
  std::map<CodesKey, QuantizeOp> known;
};
} // namespace

static SmallVector<int64_t> joined(ArrayRef<int64_t> first,
                                   ArrayRef<int64_t> second) {
  SmallVector<int64_t> dims(first);
  llvm::append_range(dims, second);
  return dims;
}

/// The tile of an operand. A weight's block holds for both orientations of it;
/// a product of two operands that are no weights has rows of both.
static ScaleTile tileOf(Fp8Scaling scaling, FactorRole role) {
  switch (scaling) {
  case Fp8Scaling::tensor:
    return ScaleTile::tensor;
  case Fp8Scaling::block:
    return role == FactorRole::weight ? ScaleTile::block128 : ScaleTile::row128;
  case Fp8Scaling::mx:
    return ScaleTile::row32;
  }
  llvm_unreachable("unknown scaling");
}

Value Quantizer::reshape(Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  Value &made = reshaped[{value, shape.front()}];
  if (!made)
    made = builder.create<ReshapeOp>(loc, withShape(value, shape), value);
  return made;
}

/// `value` with its dimensions in the order [free, contracted]; what lies in
/// the opposite order is not moved.
Matrix Quantizer::asMatrix(Value value, ArrayRef<int64_t> free,
                           ArrayRef<int64_t> contracted) {
  int64_t rows = countAlong(value, free),
          columns = countAlong(value, contracted);
  if (llvm::is_sorted(joined(contracted, free)))
    return {reshape(value, {columns, rows}), true};
  SmallVector<int64_t> order = joined(free, contracted);
  if (!llvm::is_sorted(order))
    value = builder.create<TransposeOp>(loc, value, order);
  return {reshape(value, {rows, columns}), false};
}

QuantizeOp Quantizer::quantize(Matrix matrix, Fp8Scaling scaling,
                               FactorRole role) {
  bool isGradient = role == FactorRole::gradient;
  Fp8Format format = isGradient ? gradients : Fp8Format::e4m3;
  ScaleTile tile = tileOf(scaling, role);
  QuantizeOp &made = known[{matrix.value.getAsOpaquePointer(),
                            matrix.isTransposed, tile, format}];
  if (made)
    return made;
  Value amax;
  if (tile == ScaleTile::tensor) {
    Value &ofValue = amaxes[matrix.value];
    if (!ofValue)
      ofValue = builder.create<AmaxOp>(loc, matrix.value);
    amax = ofValue;
  }
  made = builder.create<QuantizeOp>(loc, matrix.value, amax, tile,
                                    fp8Type(builder.getContext(), format),
                                    matrix.isTransposed);
  return made;
}

/// `value`, which is added to a matrix in another shape, in the matrix's shape.
Value Quantizer::asAddend(Value value, RankedTensorType matrix) {
  auto repeated = value.getDefiningOp<BroadcastOp>();
  int64_t last = shapeOf(value).size() - 1;
  bool isVector = repeated && repeated.getDims() == ArrayRef<int64_t>{last} &&
                  shapeOf(value).back() == matrix.getDimSize(1);
  if (isVector)
    return builder.create<BroadcastOp>(
        value.getLoc(), matrix, repeated.getOperand(), ArrayRef<int64_t>{1});
  return builder.create<ReshapeOp>(value.getLoc(), matrix, value);
}

/// Moves the reshape of a product behind sums: the library adds in its call
/// what is added to the product itself.
void Quantizer::sinkReshape(ReshapeOp reshape) {
  auto matrix = cast<RankedTensorType>(reshape.getOperand().getType());
  while (reshape->hasOneUse()) {
    OpOperand &use = *reshape->use_begin();
    auto add = dyn_cast<AddOp>(use.getOwner());
    if (!add || add->getBlock() != reshape->getBlock())
      return;
    builder.setInsertionPoint(add);
    Value terms[2] = {reshape.getOperand(), reshape.getOperand()};
    unsigned other = 1 - use.getOperandNumber();
    terms[other] = asAddend(add->getOperand(other), matrix);
    Value sum = builder.create<AddOp>(add.getLoc(), terms[0], terms[1]);
    auto sunk = builder.create<ReshapeOp>(add.getLoc(), reshape.getType(), sum);
    add.replaceAllUsesWith(sunk.getResult());
    add.erase();
    reshape.erase();
    reshape = sunk;
  }
}

void Quantizer::rewrite(DotGeneralOp dot) {
  QuantizedAttr mark = dot.getQuantizedAttr();
  SmallVector<int64_t> lhsFree = dot.getLhsFree(), rhsFree = dot.getRhsFree();
  ProductSizes sizes = sizesOf(dot);
  builder.setInsertionPoint(dot);
  loc = dot.getLoc();
  // Pairs of contracted dimensions in the order of the left operand.
  SmallVector<int64_t> lhsDims(dot.getLhsContract()), rhsDims;
  llvm::sort(lhsDims);
  for (int64_t dim : lhsDims)
    rhsDims.push_back(
        dot.getRhsContract()[llvm::find(dot.getLhsContract(), dim) -
                             dot.getLhsContract().begin()]);
  auto makeCodes = [&](Value value, ArrayRef<int64_t> free,
                       ArrayRef<int64_t> contracted, FactorRole role) {
    return quantize(asMatrix(value, free, contracted), mark.getScaling(), role);
  };
  QuantizeOp lhs = makeCodes(dot.getLhs(), lhsFree, lhsDims, mark.getLhs());
  QuantizeOp rhs = makeCodes(dot.getRhs(), rhsFree, rhsDims, mark.getRhs());
  bool isFast = mark.getScaling() == Fp8Scaling::tensor &&
                mark.getLhs() != FactorRole::gradient &&
                mark.getRhs() != FactorRole::gradient;
  auto last = builder.getDenseI64ArrayAttr({1});
  auto none = builder.getDenseI64ArrayAttr({});
  Value product = builder.create<DotGeneralOp>(
      loc, withShape(dot, {sizes.rows, sizes.columns}), lhs.getCodes(),
      rhs.getCodes(), ValueRange{lhs.getScales(), rhs.getScales()}, none, none,
      last, last, lhs.getTileAttr(), rhs.getTileAttr(),
      isFast ? builder.getUnitAttr() : nullptr, /*quantized=*/nullptr);
  ReshapeOp reshape;
  if (product.getType() != dot.getType())
    product = reshape = builder.create<ReshapeOp>(loc, dot.getType(), product);
  dot.replaceAllUsesWith(product);
  dot.erase();
  if (reshape)
    sinkReshape(reshape);
}

namespace {
struct QuantizeProducts : hone::impl::QuantizeProductsBase<QuantizeProducts> {
  using QuantizeProductsBase::QuantizeProductsBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (gradients != "e4m3" && gradients != "e5m2") {
      func.emitError("format of gradients is '")
          << gradients << "', expected e4m3 or e5m2";
      return signalPassFailure();
    }
    if (gradients != "e4m3" && !mayHaveCodes()) {
      func.emitError("format of gradients is '")
          << gradients << "', and hone.precision is no policy of fp8; expected "
          << "--precision=fp8, fp8-block or mxfp8 with it";
      return signalPassFailure();
    }
    SmallVector<DotGeneralOp> marked;
    for (auto dot : func.getBody().front().getOps<DotGeneralOp>())
      if (dot.getQuantized())
        marked.push_back(dot);
    Quantizer quantizer(func, gradients == "e5m2" ? Fp8Format::e5m2
                                                  : Fp8Format::e4m3);
    for (DotGeneralOp dot : marked)
      if (std::optional<int64_t> size = sizesOf(dot).oddSize())
        unmark(dot, *size);
      else
        quantizer.rewrite(dot);
  }

  /// False if the module names a policy without codes.
  bool mayHaveCodes() {
    auto name =
        getOperation()->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(
            attr::precision);
    const PrecisionPolicy *policy =
        name ? findPrecisionPolicy(name.getValue()) : nullptr;
    return !policy || policy->codes;
  }

  void unmark(DotGeneralOp dot, int64_t size) {
    dot.removeQuantizedAttr();
    if (report)
      dot.emitRemark("stays bf16: a size of a rank's part is ")
          << size << ", no multiple of " << fp8Multiple;
  }
};
} // namespace
