//===- CodedUpdates.cpp - Updates with state in codes of 8 bits -----------===//

#include "UpdateEmitter.h"

#include "hone/IR/StateCode.h"
#include "hone/IR/UpdateFormulas.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;

namespace {
/// Emits values of codes and codes of values, 16 at a time. Both are lines,
/// chosen by the decade: comparisons and selects beat gathers from a table.
class CodeEmitter {
public:
  CodeEmitter(UpdateEmitter &b, StateCode code)
      : b(b), code(code),
        integers(VectorType::get({kernelLanes}, b.getI32Type())) {}

  Value decode(Value codes);
  /// `values` are multiples of their block's scale.
  Value encode(Value values);

private:
  Value select(Value pred, Value yes, Value no) {
    return b.create<arith::SelectOp>(pred, yes, no);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, double y) {
    return b.create<arith::CmpFOp>(predicate, x, b.splat(y));
  }
  Value compare(arith::CmpIPredicate predicate, Value x, int64_t y) {
    return b.create<arith::CmpIOp>(predicate, x, b.integer(integers, y));
  }
  Value atLeast(Value x, double y) {
    return compare(arith::CmpFPredicate::OGE, x, y);
  }

  UpdateEmitter &b;
  StateCode code;
  VectorType integers;
};
} // namespace

Value CodeEmitter::decode(Value codes) {
  Value wide = code.isSigned ? b.create<arith::ExtSIOp>(integers, codes)
                             : Value(b.create<arith::ExtUIOp>(integers, codes));
  Value magnitude =
      b.create<math::AbsFOp>(b.create<arith::SIToFPOp>(b.vectorType, wide));
  Value slope = b.splat(0.0), offset = b.splat(0.0);
  for (int decade = 0; decade < StateCode::decades; ++decade) {
    Value reached = atLeast(magnitude, code.first(decade));
    slope = select(reached, b.splat(code.slope(decade)), slope);
    offset = select(reached, b.splat(code.offset(decade)), offset);
  }
  Value value = b.fma(magnitude, slope, offset);
  Value isTop = atLeast(magnitude, code.top());
  if (code.isSigned) {
    Value isNegative = compare(arith::CmpIPredicate::slt, wide, 0);
    value = select(isNegative, b.neg(value), value);
  }
  return select(isTop, b.splat(1.0), value);
}

Value CodeEmitter::encode(Value values) {
  Value magnitude = b.create<math::AbsFOp>(values);
  // Of a decade of n values the one at distance (x - offset) / slope, which is
  // x / slope + first - n / 9 - 1/2; half more to round.
  Value inverse = b.splat(0.0), levels = b.splat(0.0);
  for (int decade = 0; decade < StateCode::decades; ++decade) {
    Value reached = atLeast(magnitude, code.threshold(decade));
    inverse = select(reached, b.splat(1.0 / code.slope(decade)), inverse);
    levels = select(reached, b.splat(code.levels(decade)), levels);
  }
  Value shift = b.splat(code.isSigned ? 0.0 : -1.0);
  Value first = b.add(levels, shift);
  Value place =
      b.fma(magnitude, inverse, b.fma(levels, b.splat(8.0 / 9.0), shift));
  place = b.create<arith::MaxNumFOp>(place, first);
  place = b.create<arith::MinNumFOp>(
      place, b.add(first, b.add(levels, b.splat(-0.5))));
  Value found = b.create<arith::FPToSIOp>(integers, place);
  Value none = b.integer(integers, 0);
  found = select(atLeast(magnitude, code.threshold(0)), found, none);
  Value isTop = atLeast(magnitude, code.threshold(StateCode::decades));
  Value isPositive = compare(arith::CmpFPredicate::OGT, values, 0.0);
  if (code.isSigned) {
    isTop = b.create<arith::AndIOp>(isTop, isPositive);
    Value isNegative = compare(arith::CmpFPredicate::OLT, values, 0.0);
    found = select(isNegative, b.create<arith::SubIOp>(none, found), found);
  } else {
    Value one = b.integer(integers, 1);
    found = select(isPositive, b.create<arith::MaxSIOp>(found, one), none);
  }
  found = select(isTop, b.integer(integers, code.top()), found);
  return b.create<arith::TruncIOp>(
      VectorType::get({kernelLanes}, b.getI8Type()), found);
}

namespace {
/// A moment of the parameter: its buffers, and one block of it in fp32.
struct CodedMoment {
  StateCode code;
  Value codes, scales;
  std::optional<unsigned> newCodes, newScales; ///< arguments of the kernel
  Value block = {};
  Value scale = {}; ///< of the block at hand, in all lanes
};

/// Emits AdamW block by block: the scale of a block is known when its last
/// element is, so new moments wait in a block of fp32 for their codes.
class CodedAdamw {
public:
  CodedAdamw(UpdateEmitter &b, Adamw8bitOp op)
      : b(b), op(op),
        moments{{firstMomentCode, b.memory(op.getExpAvgMutable()),
                 b.memory(op.getExpAvgScaleMutable()),
                 argument(op.getNewExpAvg()), argument(op.getNewExpAvgScale())},
                {secondMomentCode, b.memory(op.getExpAvgSqMutable()),
                 b.memory(op.getExpAvgSqScaleMutable()),
                 argument(op.getNewExpAvgSq()),
                 argument(op.getNewExpAvgSqScale())}} {}

  void emit();

private:
  std::optional<unsigned> argument(Value result) {
    return b.table.argumentOf(cast<OpResult>(result));
  }
  /// Calls `body(block, first, count)` for the blocks of the item: the elements
  /// that begin at `first`.
  void forBlocks(function_ref<void(Value, Value, Value)> body);
  /// Calls `body(at, mask, carried)` for the vectors of `count` elements.
  SmallVector<Value>
  forVectors(Value count, ValueRange carried,
             function_ref<SmallVector<Value>(Value, Value, ValueRange)> body);
  SmallVector<Value> updateVector(AdamwFormula<UpdateEmitter> &formula,
                                  Value first, Value at, Value mask,
                                  ValueRange largest);
  void encodeBlock(CodedMoment &moment, Value largest, Value block, Value first,
                   Value count);
  void updateAll();
  void keepAll();

  UpdateEmitter &b;
  Adamw8bitOp op;
  CodedMoment moments[2];
};
} // namespace

void CodedAdamw::forBlocks(function_ref<void(Value, Value, Value)> body) {
  Value width = b.buffer(b.table.types.size()); // the tag
  Value size = b.index(stateBlock);
  Value perRow = b.create<arith::DivUIOp>(
      b.create<arith::AddIOp>(width, b.index(stateBlock - 1)), size);
  b.loop(b.lo(), b.hi(), 1, [&](Value block) {
    Value row = b.create<arith::DivUIOp>(block, perRow);
    Value column =
        b.create<arith::MulIOp>(b.create<arith::RemUIOp>(block, perRow), size);
    Value first =
        b.create<arith::AddIOp>(b.create<arith::MulIOp>(row, width), column);
    Value rest = b.create<arith::SubIOp>(width, column);
    body(block, first, b.create<arith::MinUIOp>(rest, size));
  });
}

SmallVector<Value> CodedAdamw::forVectors(
    Value count, ValueRange carried,
    function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  Value rest = b.create<arith::RemUIOp>(count, b.index(kernelLanes));
  Value whole = b.create<arith::SubIOp>(count, rest);
  SmallVector<Value> values =
      b.loop(b.index(0), whole, kernelLanes, carried,
             [&](Value at, ValueRange old) { return body(at, {}, old); });
  return b.loop(whole, count, kernelLanes, values,
                [&](Value at, ValueRange old) {
                  return body(at, b.maskOfFirst(rest), old);
                });
}

SmallVector<Value>
CodedAdamw::updateVector(AdamwFormula<UpdateEmitter> &formula, Value first,
                         Value at, Value mask, ValueRange largest) {
  Value place = b.create<arith::AddIOp>(first, at);
  SmallVector<Value> values;
  for (CodedMoment &moment : moments) {
    Value codes = b.loadVector(moment.codes, place, b.compute, mask);
    Value value = CodeEmitter(b, moment.code).decode(codes);
    values.push_back(b.mul(value, moment.scale));
  }
  SmallVector<Value> made = formula.update([&](unsigned index) -> Value {
    return index >= 2 ? values[index - 2]
                      : b.input(op->getOpOperand(index), place, mask);
  });
  if (auto to = argument(op.getNewParam()))
    b.storeVector(made[0], b.buffer(*to), place, mask);
  if (op.getNewWorkingCopy())
    if (auto to = argument(op.getNewWorkingCopy())) {
      Type param = getElementTypeOrSelf(op.getParam().getType());
      b.storeVector(b.convertFloat(made[0], param), b.buffer(*to), place, mask);
    }
  SmallVector<Value> next;
  for (auto [moment, value, old] :
       llvm::zip_equal(moments, ArrayRef(made).drop_front(), largest)) {
    b.storeVector(value, moment.block, at);
    // Lanes that the mask leaves out count as no element.
    Value magnitude = b.create<math::AbsFOp>(value);
    if (mask)
      magnitude = b.create<arith::SelectOp>(mask, magnitude, b.splat(0.0));
    next.push_back(b.create<arith::MaxNumFOp>(old, magnitude));
  }
  return next;
}

/// Writes scale and codes of a block whose magnitudes have `largest`, lane by
/// lane, as their greatest.
void CodedAdamw::encodeBlock(CodedMoment &moment, Value largest, Value block,
                             Value first, Value count) {
  Value scale =
      b.create<vector::ReductionOp>(vector::CombiningKind::MAXNUMF, largest);
  Value zero = b.constant(b.compute, 0.0);
  Value isUsed =
      b.create<arith::CmpFOp>(arith::CmpFPredicate::OGE, scale,
                              b.constant(b.compute, smallestStateScale));
  Value inverse = b.div(b.constant(b.compute, 1.0), scale);
  inverse = b.create<arith::SelectOp>(isUsed, inverse, zero);
  scale = b.create<arith::SelectOp>(isUsed, scale, zero);
  if (moment.newScales)
    b.create<memref::StoreOp>(scale, b.buffer(*moment.newScales), block);
  if (!moment.newCodes)
    return;
  Value factor = b.create<vector::BroadcastOp>(b.vectorType, inverse);
  CodeEmitter coder(b, moment.code);
  forVectors(count, {}, [&](Value at, Value mask, ValueRange) {
    Value value = b.loadVector(moment.block, at, b.compute);
    b.storeVector(coder.encode(b.mul(value, factor)),
                  b.buffer(*moment.newCodes),
                  Value(b.create<arith::AddIOp>(first, at)), mask);
    return SmallVector<Value>();
  });
}

void CodedAdamw::updateAll() {
  AdamwFormula<UpdateEmitter> formula(b, op);
  forBlocks([&](Value block, Value first, Value count) {
    for (CodedMoment &moment : moments) {
      Value scale = b.create<memref::LoadOp>(moment.scales, block);
      moment.scale = b.create<vector::BroadcastOp>(b.vectorType, scale);
    }
    SmallVector<Value> zeros(2, b.splat(0.0));
    SmallVector<Value> largest =
        forVectors(count, zeros, [&](Value at, Value mask, ValueRange carried) {
          return updateVector(formula, first, at, mask, carried);
        });
    for (auto [moment, magnitudes] : llvm::zip_equal(moments, largest))
      encodeBlock(moment, magnitudes, block, first, count);
  });
}

/// Copies what lies elsewhere than its operand, and makes the working copy
/// anew.
void CodedAdamw::keepAll() {
  SmallVector<std::pair<Value, unsigned>> copies, scales; // from, argument
  auto add = [&](auto &list, Value result, Value from) {
    if (!result)
      return;
    unsigned number = cast<OpResult>(result).getResultNumber();
    if (auto to = argument(result);
        to && !llvm::is_contained(b.table.inPlace, number))
      list.emplace_back(from, *to);
  };
  Value param = b.memory(op.getParamMutable());
  add(copies, op.getNewParam(), param);
  add(copies, op.getNewWorkingCopy(), param);
  add(copies, op.getNewExpAvg(), moments[0].codes);
  add(copies, op.getNewExpAvgSq(), moments[1].codes);
  add(scales, op.getNewExpAvgScale(), moments[0].scales);
  add(scales, op.getNewExpAvgSqScale(), moments[1].scales);
  if (copies.empty() && scales.empty())
    return;
  forBlocks([&](Value block, Value first, Value count) {
    for (auto [from, to] : scales)
      b.create<memref::StoreOp>(Value(b.create<memref::LoadOp>(from, block)),
                                b.buffer(to), block);
    forVectors(count, {}, [&](Value at, Value mask, ValueRange) {
      Value place = b.create<arith::AddIOp>(first, at);
      for (auto [from, to] : copies) {
        Type element = getElementTypeOrSelf(from.getType());
        b.storeVector(b.loadVector(from, place, element, mask), b.buffer(to),
                      place, mask);
      }
      return SmallVector<Value>();
    });
  });
}

void CodedAdamw::emit() {
  for (CodedMoment &moment : moments)
    moment.block = b.create<memref::AllocaOp>(
        MemRefType::get({stateBlock}, b.compute), b.getI64IntegerAttr(64));
  b.emitIf(op.getApply(), [&] { updateAll(); }, [&] { keepAll(); });
}

void hone::emitCodedAdamw(UpdateEmitter &b, Adamw8bitOp op) {
  CodedAdamw(b, op).emit();
}
