//===- StateDims.cpp - How optimizer state is divided ---------------------===//

#include "StateDims.h"

#include "base/GradientSums.h"
#include "hone/IR/StateCode.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

DimAttr dist::dimOf(MLIRContext *context, ArrayRef<StringAttr> axes,
                    int64_t priority) {
  return DimAttr::get(context, axes, {}, /*isOpen=*/false, priority);
}

StringRef dist::parameterOf(StringRef name, StringRef kind) {
  if (kind == kind::grad)
    return honert::parameterOfGradientSum(name);
  return kind == kind::opt ? name.split('.').second : name;
}

bool dist::isStateOf(RankedTensorType type, ArrayRef<int64_t> shape) {
  if (type.getShape() == shape)
    return true;
  if (shape.empty())
    return false;
  SmallVector<int64_t> rows(shape.drop_back());
  SmallVector<int64_t> columns(rows);
  if (!rows.empty())
    columns.back() = shape.back();
  return type.getShape() == ArrayRef<int64_t>(stateScaleShape(shape)) ||
         type.getShape() == ArrayRef<int64_t>(rows) ||
         type.getShape() == ArrayRef<int64_t>(columns);
}

/// The sharding of 8-bit codes, or with `isScale` of their scales, of a
/// parameter with the sharding `dims`. A shard of rows must have complete
/// blocks; if it has not, the outermost dimension that is divisible is sharded
/// instead.
static SmallVector<DimAttr> dimsOfCodes(SmallVector<DimAttr> dims,
                                        ArrayRef<int64_t> shape, bool isScale,
                                        const Mesh &mesh) {
  auto isEven = [&](DimAttr dim, int64_t size) {
    Sharding one = toSharding(
        ShardingAttr::get(dim.getContext(), dim, {}, ReduceKind::sum), mesh);
    return dividesEvenly(one.dims[0], size, mesh);
  };
  DimAttr last = dims.back();
  auto isWhole = [](int64_t cut) { return cut % stateBlock == 0; };
  SmallVector<int64_t> cuts;
  for (int64_t cut : last.getCuts())
    cuts.push_back(cut / stateBlock);
  DimAttr blocks =
      DimAttr::get(last.getContext(), last.getAxes(), cuts, last.getIsOpen(),
                   last.getPriority(), last.getSnake());
  if (last.getAxes().empty() ||
      (isWhole(shape.back()) && llvm::all_of(last.getCuts(), isWhole) &&
       isEven(blocks, shape.back() / stateBlock))) {
    if (isScale)
      dims.back() = blocks;
    return dims;
  }
  dims.back() = dimOf(last.getContext());
  for (auto [dim, size] : llvm::zip(dims, shape.drop_back())) {
    SmallVector<StringAttr> axes(dim.getAxes());
    llvm::append_range(axes, last.getAxes());
    auto both = DimAttr::get(
        dim.getContext(), axes, dim.getCuts(), /*isOpen=*/false,
        std::max(dim.getPriority(), last.getPriority()), dim.getSnake());
    if (!isEven(both, size))
      continue;
    dim = both;
    break;
  }
  return dims;
}

SmallVector<DimAttr> dist::dimsOfState(StringRef name, RankedTensorType type,
                                       SmallVector<DimAttr> dims,
                                       ArrayRef<int64_t> shape,
                                       const Mesh &mesh) {
  if (type.getRank() + 1 == int64_t(shape.size())) { // means of rows, columns
    dims.erase(dims.end() - (name.starts_with("col_var.") ? 2 : 1));
    return dims;
  }
  bool isScale = type.getShape() != shape;
  if (isScale || type.getElementType().isInteger(8))
    return dimsOfCodes(std::move(dims), shape, isScale, mesh);
  return dims;
}
