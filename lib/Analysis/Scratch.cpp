//===- Scratch.cpp - Memory that a kernel needs for itself ----------------===//

#include "hone/Analysis/Scratch.h"

#include "hone/Analysis/RowSpace.h"

using namespace mlir;
using namespace hone;

int64_t hone::normPartials(Type input) {
  return llvm::divideCeil(cast<ShapedType>(input).getNumElements(), normChunk);
}

SmallVector<MemRefType> hone::gradientSumTypes(AttentionBwdOp op) {
  SmallVector<MemRefType> types;
  if (getElementTypeOrSelf(op.getKey()).getIntOrFloatBitWidth() < 32)
    for (Value operand : {op.getKey(), op.getValue()})
      types.push_back(
          MemRefType::get(cast<ShapedType>(operand.getType()).getShape(),
                          Float32Type::get(op.getContext())));
  return types;
}

SmallVector<MemRefType> hone::scratchTypes(GroupOp group,
                                           const TargetDescription &target) {
  SmallVector<MemRefType> types;
  Type f32 = Float32Type::get(group.getContext());
  Block &body = group.getBodyBlock();
  if (group.getFamily() == KernelFamily::row) {
    std::optional<RowSpace> space = RowSpace::of(body);
    assert(space && "hone-verify-groups accepts only groups with a row space");
    for (Value yielded : body.getTerminator()->getOperands()) {
      int64_t chunks = numChunks(space->rows(), target.partialChunks());
      if (space->role(yielded) == Role::ColumnSum)
        types.push_back(MemRefType::get({chunks, space->cols()}, f32));
      else if (space->role(yielded) == Role::TotalSum)
        types.push_back(MemRefType::get({chunks}, f32));
    }
  }
  for (auto attention : body.getOps<AttentionBwdOp>())
    llvm::append_range(types, gradientSumTypes(attention));
  for (auto norm : body.getOps<GlobalNormOp>()) {
    int64_t partials = 0;
    for (Value input : norm.getInputs())
      partials += normPartials(input.getType());
    types.push_back(MemRefType::get({partials}, f32));
  }
  return types;
}
