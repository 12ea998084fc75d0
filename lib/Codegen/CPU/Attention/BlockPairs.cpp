//===- BlockPairs.cpp - Pairs of bf16 as operands of products -------------===//

#include "BlockBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;
using namespace hone::detail;

Value BlockBuilder::loadPair(const Matrix &matrix, Value row, Value k) {
  Value pair = loadAs(matrix, row, mul(k, 2), 2, Value());
  auto type = VectorType::get({1}, getF32Type());
  return create<vector::ExtractOp>(create<vector::BitCastOp>(type, pair), 0);
}

/// Adds both products of each pair of bf16. Where a CPU lacks the instruction,
/// the target replaces it (lib/Target/CPU/MachineCode.cpp).
Value BlockBuilder::dotPairs(Value left, Value right, Value sum) {
  auto numbers = VectorType::get({2 * kernelLanes}, getBF16Type());
  Value operands[] = {sum, create<vector::BitCastOp>(numbers, left),
                      create<vector::BitCastOp>(numbers, right)};
  return create<LLVM::CallIntrinsicOp>(
             TypeRange(vectorType),
             getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
             ValueRange(operands),
             LLVM::FastmathFlagsAttr::get(getContext(),
                                          LLVM::FastmathFlags::none))
      .getResult(0);
}

/// bf16 as integers: some CPUs can do no more with bf16 than move it.
Value BlockBuilder::bitsOf(Value narrow) {
  auto type = cast<VectorType>(narrow.getType());
  return create<arith::BitcastOp>(
      VectorType::get(type.getShape(), getI16Type()), narrow);
}

/// Integers of two vectors in turn, as the bits of a vector of fp32.
Value BlockBuilder::interleaved(Value even, Value odd) {
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < kernelLanes; ++lane)
    order.append({lane, lane + kernelLanes});
  Value numbers = create<vector::ShuffleOp>(even, odd, order);
  return create<vector::BitCastOp>(vectorType, numbers);
}

Value BlockBuilder::pairsOf(Value even, Value odd) {
  return interleaved(bitsOf(convert(even, getBF16Type())),
                     bitsOf(convert(odd, getBF16Type())));
}

void BlockBuilder::packPairs(const Matrix &result, const Matrix &source,
                             Value rows) {
  std::optional<int64_t> count = getConstantIntValue(rows);
  bool allExist = count && *count % 2 == 0;
  Value last = add(rows, -1);
  forVectors(result, div(add(rows, 1), 2), [&](Value r, Value c, Value valid) {
    auto bitsAt = [&](Value row) {
      return bitsOf(loadAs(source, row, c, kernelLanes, valid));
    };
    Value first = mul(r, 2), second = add(first, 1);
    Value even = bitsAt(first), odd;
    if (allExist) {
      odd = bitsAt(second);
    } else {
      odd = bitsAt(min(second, last));
      Value exists =
          create<arith::CmpIOp>(arith::CmpIPredicate::sle, second, last);
      Value zeros = create<arith::ConstantOp>(getZeroAttr(odd.getType()));
      odd = create<arith::SelectOp>(exists, odd, zeros);
    }
    store(interleaved(even, odd), result, r, c, valid);
  });
}

void BlockBuilder::packTransposedPairs(const Matrix &result,
                                       const Matrix &source, Value rows) {
  packTiles(result, source.width / 2, rows,
            [&](Value row, Value column, int64_t count) -> Value {
              Value pairs = loadAs(source, row, mul(column, 2), 2 * kernelLanes,
                                   constantMask(2 * kernelLanes, 2 * count));
              return create<vector::BitCastOp>(vectorType, pairs);
            });
}
