//===- Masks.cpp - Elements that padding hides ----------------------------===//

#include "Masks.h"

using namespace mlir;
using namespace hone;

Value hone::isAmongFirst(OpBuilder &builder, Location loc,
                         RankedTensorType like, int64_t dim, int64_t size) {
  // i32 holds any index and packs as many to a vector as f32.
  RankedTensorType type = like.clone(builder.getI32Type());
  Value index = builder.create<IotaOp>(loc, type, uint64_t(dim));
  Value bound = builder.create<ConstantOp>(
      loc, DenseElementsAttr::get(type, APInt(32, size)));
  return builder.create<CmpOp>(loc, like.clone(builder.getI1Type()),
                               CmpPredicate::lt, index, bound);
}

Value hone::keepFirst(OpBuilder &builder, Location loc, Value value,
                      int64_t dim, int64_t size, double fill) {
  auto type = cast<RankedTensorType>(value.getType());
  Attribute element =
      isa<FloatType>(type.getElementType())
          ? Attribute(builder.getFloatAttr(type.getElementType(), fill))
          : Attribute(
                builder.getIntegerAttr(type.getElementType(), int64_t(fill)));
  Value other =
      builder.create<ConstantOp>(loc, DenseElementsAttr::get(type, element));
  return builder.create<SelectOp>(
      loc, type, isAmongFirst(builder, loc, type, dim, size), value, other);
}
