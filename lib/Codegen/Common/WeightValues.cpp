//===- WeightValues.cpp - Values of weights in codes, in code -------------===//

#include "WeightValues.h"

#include "ElementwiseArith.h"
#include "ScalarEmitter.h"
#include "hone/IR/WeightCode.h"

using namespace mlir;
using namespace hone;

/// A value of the table by selections: one per pair of values for the lowest
/// bit, one per pair of those for the next, and so on.
static Value chooseNf4(KernelBuilder &b, Value codes, Type type) {
  SmallVector<Value> left;
  for (float value : nf4Values)
    left.push_back(b.constant(type, value));
  Value none = b.integer(codes.getType(), 0);
  for (int64_t bit = 1; left.size() != 1; bit *= 2) {
    Value masked =
        b.create<arith::AndIOp>(codes, b.integer(codes.getType(), bit));
    Value isSet =
        b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, masked, none);
    SmallVector<Value> chosen;
    for (size_t pair = 0; pair != left.size(); pair += 2)
      chosen.push_back(
          b.create<arith::SelectOp>(isSet, left[pair + 1], left[pair]));
    left = chosen;
  }
  return left.front();
}

Value hone::emitCodeValues(KernelBuilder &b, WeightCode code, Value codes) {
  Type type = b.getF32Type();
  if (auto vector = dyn_cast<VectorType>(codes.getType()))
    type = vector.clone(type);
  switch (code) {
  case WeightCode::int8:
    return b.create<arith::SIToFPOp>(type, codes);
  case WeightCode::nf4:
    return chooseNf4(b, codes, type);
  }
  llvm_unreachable("unknown code");
}

Value ScalarEmitter::dequantize(DequantizeOp op, ArrayRef<Value> indices) {
  bool isNf4 = op.getCode() == WeightCode::nf4;
  Indices codeAt(indices), scaleAt(indices);
  scaleAt.back() = divIndex(indices.back(), op.getBlock());
  if (isNf4)
    codeAt.back() = divIndex(indices.back(), 2);
  Value code =
      b.create<arith::ExtSIOp>(b.getI32Type(), emit(op.getCodes(), codeAt));
  if (isNf4) {
    // Even elements are in the high bits.
    Value place = b.create<arith::IndexCastOp>(b.getI32Type(),
                                               remIndex(indices.back(), 2));
    Value four = b.integer(b.getI32Type(), 4);
    Value shift =
        b.create<arith::SubIOp>(four, b.create<arith::MulIOp>(place, four));
    code = b.create<arith::ShRUIOp>(code, shift);
  }
  Value value = b.create<arith::MulFOp>(emitCodeValues(b, op.getCode(), code),
                                        emit(op.getScales(), scaleAt));
  return elementwise::cast(b, b.getLoc(), value, getElementTypeOrSelf(op));
}
