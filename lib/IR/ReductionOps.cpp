//===- ReductionOps.cpp - Verifiers and facts of reductions and products --===//

#include "ShapeChecks.h"

#include "hone/IR/Fp8.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> without(ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> dims) {
  SmallVector<int64_t> rest;
  for (auto [index, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, int64_t(index)))
      rest.push_back(size);
  return rest;
}

void ReduceOp::build(OpBuilder &builder, OperationState &state, ReduceKind kind,
                     Value operand, ArrayRef<int64_t> dims) {
  build(builder, state,
        RankedTensorType::get(without(shapeOf(operand), dims),
                              elementOf(operand)),
        kind, operand, builder.getDenseI64ArrayAttr(dims));
}

LogicalResult ReduceOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  if (failed(expectDims(*this, "dims", getDims(), shape.size(),
                        /*sorted=*/true))) // reduce_c1
    return failure();
  if (failed(expectShape(*this, "result", getResult(),
                         without(shape, getDims())))) // reduce_c2
    return failure();
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

bool ReduceOp::isRowReduction() {
  return getDims().size() == 1 &&
         getDims()[0] == int64_t(shapeOf(getOperand()).size()) - 1;
}

KernelFamily ReduceOp::getKernelFamily() {
  return isRowReduction() ? KernelFamily::row : KernelFamily::column;
}

OpCost ReduceOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  cost.flops = cast<ShapedType>(getOperand().getType()).getNumElements();
  return cost;
}

/// Every dimension of operand 0 is a factor; those in `dims` get `kind` and are
/// absent from the results.
static DimensionMapping reductionMapping(Operation *op, ArrayRef<int64_t> dims,
                                         FactorKind kind, bool keep) {
  DimensionMapping mapping;
  TensorFactors operand, result;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op->getOperand(0)))) {
    bool reduced = llvm::is_contained(dims, int64_t(dim));
    mapping.factors.push_back({size, reduced ? kind : FactorKind::Parallel});
    operand.push_back(dim);
    if (!reduced || keep)
      result.push_back(dim);
  }
  mapping.operands.push_back(operand);
  mapping.results.push_back(result);
  return mapping;
}

DimensionMapping ReduceOp::getDimensionMapping() {
  DimensionMapping mapping =
      reductionMapping(*this, getDims(), FactorKind::Reduce, false);
  mapping.combiner = getKind();
  return mapping;
}

LogicalResult ArgmaxOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  if (failed(expectDim(*this, getDim(), shape.size()))) // argmax_c1
    return failure();
  if (shape[getDim()] == 0) // argmax_c1
    return emitOpError("dimension is empty, expected at least one element");
  return expectShape(*this, "result", getResult(),
                     without(shape, {int64_t(getDim())})); // argmax_c2
}

DimensionMapping ArgmaxOp::getDimensionMapping() {
  return reductionMapping(*this, {int64_t(getDim())}, FactorKind::Replicate,
                          false);
}

LogicalResult CumsumOp::verify() {
  return expectDim(*this, getDim(), shapeOf(getOperand()).size()); // cumsum_c2
}

DimensionMapping CumsumOp::getDimensionMapping() {
  return reductionMapping(*this, {int64_t(getDim())}, FactorKind::Replicate,
                          true);
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> freeDims(Value operand, ArrayRef<int64_t> batch,
                                     ArrayRef<int64_t> contract) {
  SmallVector<int64_t> dims;
  for (int64_t dim : llvm::seq<int64_t>(0, shapeOf(operand).size()))
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      dims.push_back(dim);
  return dims;
}

static SmallVector<int64_t> pick(ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> dims) {
  SmallVector<int64_t> sizes;
  for (int64_t dim : dims)
    sizes.push_back(shape[dim]);
  return sizes;
}

SmallVector<int64_t> DotGeneralOp::getLhsFree() {
  return freeDims(getLhs(), getLhsBatch(), getLhsContract());
}

SmallVector<int64_t> DotGeneralOp::getRhsFree() {
  return freeDims(getRhs(), getRhsBatch(), getRhsContract());
}

static SmallVector<int64_t> dotShape(Value lhs, Value rhs,
                                     ArrayRef<int64_t> lhsBatch,
                                     ArrayRef<int64_t> rhsBatch,
                                     ArrayRef<int64_t> lhsContract,
                                     ArrayRef<int64_t> rhsContract) {
  SmallVector<int64_t> shape = pick(shapeOf(lhs), lhsBatch);
  shape.append(pick(shapeOf(lhs), freeDims(lhs, lhsBatch, lhsContract)));
  shape.append(pick(shapeOf(rhs), freeDims(rhs, rhsBatch, rhsContract)));
  return shape;
}

void DotGeneralOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                         Value rhs, ArrayRef<int64_t> lhsBatch,
                         ArrayRef<int64_t> rhsBatch,
                         ArrayRef<int64_t> lhsContract,
                         ArrayRef<int64_t> rhsContract) {
  auto type = RankedTensorType::get(
      dotShape(lhs, rhs, lhsBatch, rhsBatch, lhsContract, rhsContract),
      elementOf(lhs));
  build(builder, state, type, lhs, rhs, lhsBatch, rhsBatch, lhsContract,
        rhsContract);
}

void DotGeneralOp::build(OpBuilder &builder, OperationState &state, Type result,
                         Value lhs, Value rhs, ArrayRef<int64_t> lhsBatch,
                         ArrayRef<int64_t> rhsBatch,
                         ArrayRef<int64_t> lhsContract,
                         ArrayRef<int64_t> rhsContract) {
  auto dims = [&](ArrayRef<int64_t> list) {
    return builder.getDenseI64ArrayAttr(list);
  };
  build(builder, state, result, lhs, rhs, /*scales=*/ValueRange(),
        dims(lhsBatch), dims(rhsBatch), dims(lhsContract), dims(rhsContract),
        /*lhs_tile=*/nullptr, /*rhs_tile=*/nullptr,
        /*fast_accumulation=*/nullptr, /*quantized=*/nullptr);
}

static honert::ScaleLayout layoutOf(Value codes, ArrayRef<int64_t> tile) {
  ArrayRef<int64_t> shape = shapeOf(codes);
  return {*scaleTileOf(tile), shape[0], shape[1]};
}

honert::ScaleLayout DotGeneralOp::getLhsScaleLayout() {
  return layoutOf(getLhs(), *getLhsTile());
}

honert::ScaleLayout DotGeneralOp::getRhsScaleLayout() {
  return layoutOf(getRhs(), *getRhsTile());
}

/// Checks operands that are codes of fp8, and their scales.
static LogicalResult verifyCodes(DotGeneralOp op) {
  if (isa<Float8E5M2Type>(elementOf(op.getLhs())) &&
      isa<Float8E5M2Type>(elementOf(op.getRhs()))) // dot_general_c4
    return op.emitOpError(
        "multiplies f8E5M2 by f8E5M2, expected at most one such operand");
  for (Value codes : {op.getLhs(), op.getRhs()})
    if (shapeOf(codes).size() != 2) // dot_general_c5
      return op.emitOpError()
             << "codes have rank " << shapeOf(codes).size() << ", expected 2";
  if (op.getLhsContract() != ArrayRef<int64_t>{1} ||
      op.getRhsContract() != ArrayRef<int64_t>{1}) // dot_general_c5
    return op.emitOpError("sums codes over another dimension, expected "
                          "contract [1] x [1]");
  if (op.getScales().size() != 2 || !op.getLhsTile() || !op.getRhsTile())
    return op.emitOpError() // dot_general_c6
           << "has " << op.getScales().size()
           << " tensors of scales, expected 2 with tiles, as operands are "
              "codes";
  for (ArrayRef<int64_t> tile : {*op.getLhsTile(), *op.getRhsTile()})
    if (failed(expectScaleTile(op, tile))) // dot_general_c6
      return failure();
  honert::ScaleLayout lhs = op.getLhsScaleLayout(),
                      rhs = op.getRhsScaleLayout();
  if (!honert::canMultiply(lhs.tile, rhs.tile)) { // dot_general_c6
    InFlightDiagnostic diag = op.emitOpError() << "multiplies tiles ";
    appendShape(diag, *op.getLhsTile()) << " by ";
    return appendShape(diag, *op.getRhsTile())
           << ", expected equal ones, or [128, 128] with [1, 128]";
  }
  if (failed(expectScales(op, "lhs scales", op.getLhsScales(), lhs)))
    return failure(); // dot_general_c7
  return expectScales(op, "rhs scales", op.getRhsScales(), rhs);
}

/// Checks operands that are no codes.
static LogicalResult verifyFactors(DotGeneralOp op) {
  if (!op.getScales().empty() || op.getLhsTile() ||
      op.getRhsTile()) // dot_general_c6
    return op.emitOpError("has scales, expected none: operands are no codes");
  if (op.getFastAccumulation()) // dot_general_c8
    return op.emitOpError("is fast, expected operands that are codes");
  if (op.getQuantized() && !op.getLhsBatch().empty()) // dot_general_c8
    return op.emitOpError()
           << "is quantized and has " << op.getLhsBatch().size()
           << " batch dimensions, expected none";
  return expectElement(op, "rhs", op.getRhs(),
                       elementOf(op.getLhs())); // dot_general_c4
}

LogicalResult DotGeneralOp::verify() {
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  SmallVector<int64_t> lhsDims(getLhsBatch()), rhsDims(getRhsBatch());
  llvm::append_range(lhsDims, getLhsContract());
  llvm::append_range(rhsDims, getRhsContract());
  if (failed(expectDims(*this, "lhs batch and contracting list", lhsDims,
                        lhs.size(), false)) ||
      failed(expectDims(*this, "rhs batch and contracting list", rhsDims,
                        rhs.size(), false))) // dot_general_c1
    return failure();
  if (getLhsBatch().size() != getRhsBatch().size() ||
      getLhsContract().size() != getRhsContract().size()) // dot_general_c2
    return emitOpError() << "pairs " << getLhsBatch().size() << " with "
                         << getRhsBatch().size() << " batch and "
                         << getLhsContract().size() << " with "
                         << getRhsContract().size()
                         << " contracting dimensions, expected equal numbers";
  for (auto [left, right] : llvm::zip(lhsDims, rhsDims))
    if (lhs[left] != rhs[right]) // dot_general_c2
      return emitOpError() << "dimension " << left << " of lhs has size "
                           << lhs[left] << ", expected " << rhs[right]
                           << ", the size of dimension " << right << " of rhs";
  bool hasCodes = isFp8(elementOf(getLhs())) && isFp8(elementOf(getRhs()));
  if (hasCodes && getQuantized()) // dot_general_c8
    return emitOpError("is quantized, expected operands that are no codes");
  if (failed(hasCodes ? verifyCodes(*this) : verifyFactors(*this)))
    return failure();
  return expectShape(*this, "result", getResult(),
                     dotShape(getLhs(), getRhs(), getLhsBatch(), getRhsBatch(),
                              getLhsContract(),
                              getRhsContract())); // dot_general_c3
}

OpCost DotGeneralOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  int64_t flops = 2 * cast<ShapedType>(getType()).getNumElements();
  for (int64_t dim : getLhsContract())
    flops *= shapeOf(getLhs())[dim];
  cost.flops = flops;
  return cost;
}

/// Rows of codes can be divided where a part has the scales of its own rows:
/// with one scale, or with scales per row.
static bool hasScalesPerRow(honert::ScaleTile tile) {
  return tile == honert::ScaleTile::tensor || tile == honert::ScaleTile::row128;
}

/// The scales of operands that are codes; what cannot be divided with them is
/// not divided.
static void addScales(DotGeneralOp op, DimensionMapping &mapping) {
  auto addOf = [&](unsigned operand, const honert::ScaleLayout &layout) {
    DimensionFactors rows = mapping.operands[operand][0];
    TensorFactors scales(layout.shape().size(), -1);
    if (layout.tile == honert::ScaleTile::row128)
      scales[1] = rows;
    if (!hasScalesPerRow(layout.tile)) {
      mapping.operands[operand][0] = -1;
      mapping.results[0][operand] = -1;
    }
    mapping.operands.push_back(scales);
  };
  honert::ScaleLayout lhs = op.getLhsScaleLayout();
  addOf(0, lhs);
  addOf(1, op.getRhsScaleLayout());
  if (lhs.tile != honert::ScaleTile::tensor)
    mapping.operands[0][1] = mapping.operands[1][1] = -1;
}

DimensionMapping DotGeneralOp::getDimensionMapping() {
  DimensionMapping mapping;
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  TensorFactors left(lhs.size(), -1), right(rhs.size(), -1), result;
  auto add = [&](int64_t size, FactorKind kind) {
    mapping.factors.push_back({size, kind});
    return int(mapping.factors.size()) - 1;
  };
  for (auto [l, r] : llvm::zip(getLhsBatch(), getRhsBatch())) {
    left[l] = right[r] = add(lhs[l], FactorKind::Parallel);
    result.push_back(left[l]);
  }
  for (int64_t dim : getLhsFree())
    result.push_back(left[dim] = add(lhs[dim], FactorKind::Parallel));
  for (int64_t dim : getRhsFree())
    result.push_back(right[dim] = add(rhs[dim], FactorKind::Parallel));
  for (auto [l, r] : llvm::zip(getLhsContract(), getRhsContract()))
    left[l] = right[r] = add(lhs[l], FactorKind::Reduce);
  mapping.operands = {left, right};
  mapping.results = {result};
  if (hasCodes())
    addScales(*this, mapping);
  return mapping;
}

//===----------------------------------------------------------------------===//
// Index
//===----------------------------------------------------------------------===//

/// Shape of `ids` followed by `width`.
static SmallVector<int64_t> rowsShape(Value ids, int64_t width) {
  SmallVector<int64_t> shape(shapeOf(ids));
  shape.push_back(width);
  return shape;
}

static LogicalResult expectRank(Operation *op, StringRef what, Value value,
                                size_t rank) {
  if (shapeOf(value).size() == rank)
    return success();
  return op->emitOpError() << what << " has rank " << shapeOf(value).size()
                           << ", expected " << rank;
}

LogicalResult EmbeddingOp::verify() {
  if (failed(expectRank(*this, "table", getTable(), 2))) // embedding_c1
    return failure();
  if (failed(expectShape(*this, "result", getResult(),
                         rowsShape(getIds(), shapeOf(getTable())[1]))))
    return failure(); // embedding_c2
  return expectElement(*this, "result", getResult(), elementOf(getTable()));
}

OpCost EmbeddingOp::getCost() {
  int64_t moved = byteSize(getType());
  return {0, moved + byteSize(getIds().getType()), moved};
}

/// Factors: the dimensions of ids, the rows of the table (gathered), its width.
static DimensionMapping tableMapping(Value table, Value ids,
                                     bool tableIsResult) {
  DimensionMapping mapping;
  TensorFactors idDims;
  for (int64_t size : shapeOf(ids)) {
    idDims.push_back(mapping.factors.size());
    mapping.factors.push_back(
        {size, tableIsResult ? FactorKind::Reduce : FactorKind::Parallel});
  }
  int rows = mapping.factors.size();
  mapping.factors.push_back({shapeOf(table)[0], FactorKind::Gather});
  mapping.factors.push_back({shapeOf(table)[1], FactorKind::Parallel});
  TensorFactors tableDims = {rows, rows + 1}, valueDims = idDims;
  valueDims.push_back(rows + 1);
  if (tableIsResult) {
    mapping.operands = {valueDims, idDims};
    mapping.results = {tableDims};
  } else {
    mapping.operands = {tableDims, idDims};
    mapping.results = {valueDims};
  }
  return mapping;
}

DimensionMapping EmbeddingOp::getDimensionMapping() {
  return tableMapping(getTable(), getIds(), /*tableIsResult=*/false);
}

LogicalResult EmbeddingBwdOp::verify() {
  if (failed(expectRank(*this, "result", getResult(), 2))) // embedding_bwd_c1
    return failure();
  if (failed(expectShape(*this, "grad", getGrad(),
                         rowsShape(getIds(), shapeOf(getResult())[1]))))
    return failure(); // embedding_bwd_c2
  return expectElement(*this, "grad", getGrad(), elementOf(getResult()));
}

DimensionMapping EmbeddingBwdOp::getDimensionMapping() {
  return tableMapping(getResult(), getIds(), /*tableIsResult=*/true);
}
