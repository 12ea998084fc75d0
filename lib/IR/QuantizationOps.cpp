//===- QuantizationOps.cpp - Verifier and facts of dequantize -------------===//

#include "ShapeChecks.h"
#include "hone/IR/WeightCode.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

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
