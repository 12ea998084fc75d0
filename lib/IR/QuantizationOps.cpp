//===- QuantizationOps.cpp - Verifiers and facts of codes -----------------===//

#include "ShapeChecks.h"
#include "hone/IR/Fp8.h"
#include "hone/IR/WeightCode.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Stored weights
//===----------------------------------------------------------------------===//

LogicalResult DequantizeOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getResult());
  if (shape.empty()) // dequantize_c1
    return emitOpError("result has rank 0, expected at least 1");
  if (int64_t(getBlock()) < 1) // dequantize_c3
    return emitOpError() << "block is " << int64_t(getBlock())
                         << ", expected at least 1";
  SmallVector<int64_t> codes(shape), scales(shape);
  if (getCode() == WeightCode::nf4)
    codes.back() = nf4Bytes(shape.back());
  scales.back() = llvm::divideCeil(shape.back(), getBlock());
  if (failed(expectShape(*this, "codes", getCodes(), codes))) // dequantize_c2
    return failure();
  return expectShape(*this, "scales", getScales(), scales); // dequantize_c4
}

/// A choice among 16 values takes 15 selections.
OpCost DequantizeOp::getCost() {
  bool isChoice = getCode() == WeightCode::nf4;
  OpCost cost = hone::detail::elementwiseCost(*this, isChoice ? 20 : 2);
  cost.bytesRead =
      byteSize(getCodes().getType()) + byteSize(getScales().getType());
  return cost;
}

/// Blocks are independent. Rows that are no whole number of blocks are not
/// divided.
DimensionMapping DequantizeOp::getDimensionMapping() {
  ArrayRef<int64_t> shape = shapeOf(getResult());
  DimensionMapping mapping;
  TensorFactors leading;
  for (int64_t size : shape.drop_back()) {
    leading.push_back(int(mapping.factors.size()));
    mapping.factors.push_back({size, FactorKind::Parallel});
  }
  TensorFactors codes = leading, scales = leading, values = leading;
  int64_t width = shape.back(), block = getBlock();
  bool isNf4 = getCode() == WeightCode::nf4;
  if (width % block == 0 && !(isNf4 && block % 2 != 0)) {
    int blocks = mapping.factors.size();
    mapping.factors.push_back({width / block, FactorKind::Parallel});
    mapping.factors.push_back({block, FactorKind::Replicate});
    values.push_back(ArrayRef<int>{blocks, blocks + 1});
    scales.push_back(blocks);
    if (isNf4)
      mapping.factors.push_back({block / 2, FactorKind::Replicate});
    codes.push_back(ArrayRef<int>{blocks, isNf4 ? blocks + 2 : blocks + 1});
  } else {
    codes.push_back(-1);
    scales.push_back(-1);
    values.push_back(-1);
  }
  mapping.operands = {codes, scales};
  mapping.results = {values};
  return mapping;
}

//===----------------------------------------------------------------------===//
// Codes of fp8
//===----------------------------------------------------------------------===//

LogicalResult hone::expectScaleTile(Operation *op, ArrayRef<int64_t> tile) {
  if (scaleTileOf(tile))
    return success();
  InFlightDiagnostic diag = op->emitOpError() << "tile is ";
  return appendShape(diag, tile)
         << ", expected [0, 0], [1, 128], [128, 128] or [1, 32]";
}

LogicalResult hone::expectScales(Operation *op, StringRef what, Value scales,
                                 const honert::ScaleLayout &layout) {
  return expectType(op, what, scales, scaleType(op->getContext(), layout));
}

DimensionMapping AmaxOp::getDimensionMapping() {
  DimensionMapping mapping;
  TensorFactors operand;
  for (auto [dim, size] : llvm::enumerate(shapeOf(getOperand()))) {
    mapping.factors.push_back({size, FactorKind::Reduce});
    operand.push_back(int(dim));
  }
  mapping.operands = {operand};
  mapping.results = {TensorFactors()};
  mapping.combiner = ReduceKind::max;
  return mapping;
}

void QuantizeOp::build(OpBuilder &builder, OperationState &state, Value operand,
                       Value amax, honert::ScaleTile tile, Type code,
                       bool transposed) {
  SmallVector<int64_t> shape(shapeOf(operand));
  if (transposed)
    std::swap(shape[0], shape[1]);
  honert::TileSize size = honert::sizeOf(tile);
  build(builder, state, RankedTensorType::get(shape, code),
        scaleType(builder.getContext(), {tile, shape[0], shape[1]}), operand,
        amax, builder.getDenseI64ArrayAttr({size.rows, size.columns}),
        transposed ? builder.getUnitAttr() : nullptr);
}

honert::ScaleLayout QuantizeOp::getScaleLayout() {
  ArrayRef<int64_t> shape = shapeOf(getCodes());
  return {*scaleTileOf(getTile()), shape[0], shape[1]};
}

honert::Fp8Format QuantizeOp::getFormat() {
  return fp8FormatOf(elementOf(getCodes()));
}

LogicalResult QuantizeOp::verify() {
  SmallVector<int64_t> shape(shapeOf(getOperand()));
  if (shape.size() != 2) // quantize_c1
    return emitOpError() << "operand has rank " << shape.size()
                         << ", expected 2";
  if (failed(expectScaleTile(*this, getTile()))) // quantize_c2
    return failure();
  bool isTensor = *scaleTileOf(getTile()) == honert::ScaleTile::tensor;
  if (isTensor != bool(getAmax())) // quantize_c3
    return emitOpError() << "has " << (getAmax() ? "an" : "no")
                         << " amax, expected "
                         << (isTensor ? "one for tile [0, 0]"
                                      : "none: each tile has its own");
  if (getTransposed())
    std::swap(shape[0], shape[1]);
  if (failed(expectShape(*this, "codes", getCodes(), shape))) // quantize_c4
    return failure();
  return expectScales(*this, "scales", getScales(),
                      getScaleLayout()); // quantize_c5
}

/// Of each element its magnitude, exponent and code.
OpCost QuantizeOp::getCost() { return hone::detail::elementwiseCost(*this, 8); }

/// Rows are independent where each has its own scales, all of them with one
/// scale. Columns are divided with one scale only.
DimensionMapping QuantizeOp::getDimensionMapping() {
  honert::ScaleLayout layout = getScaleLayout();
  bool isTensor = layout.tile == honert::ScaleTile::tensor;
  DimensionMapping mapping;
  mapping.factors = {{layout.rows, FactorKind::Parallel},
                     {layout.columns, FactorKind::Parallel}};
  bool areRowsFree = isTensor || layout.tile == honert::ScaleTile::row128;
  TensorFactors codes = {areRowsFree ? 0 : -1, isTensor ? 1 : -1};
  TensorFactors operand = codes, scales(layout.shape().size(), -1);
  if (getTransposed())
    std::swap(operand[0], operand[1]);
  if (layout.tile == honert::ScaleTile::row128)
    scales[1] = codes[0];
  mapping.operands = {operand};
  if (getAmax())
    mapping.operands.push_back(TensorFactors());
  mapping.results = {codes, scales};
  return mapping;
}
