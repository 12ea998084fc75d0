//===- Copies.cpp - Copies in wide accesses on a GPU ----------------------===//

#include "Copies.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t copyThreads = 256;
/// Units of a thread, all of which are on their way at once, where even then
/// there are blocks for a large GPU.
static constexpr int64_t manyUnits = 4, manyBlocks = 128;

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

CopyUnit CopyUnit::widest(int64_t bytes, ArrayRef<int64_t> numbers,
                          ArrayRef<int64_t> offsets) {
  auto fits = [&](int64_t lanes) {
    auto divides = [&](int64_t number) { return number % lanes == 0; };
    auto isAligned = [&](int64_t offset) {
      return offset % (lanes * bytes) == 0;
    };
    return llvm::all_of(numbers, divides) && llvm::all_of(offsets, isAligned);
  };
  int64_t lanes = accessBytes / bytes;
  while (lanes > 1 && !fits(lanes))
    lanes /= 2;
  return {bytes, lanes};
}

Type CopyUnit::element(MLIRContext *context) const {
  return IntegerType::get(context, 8 * bytes);
}

/// Words of 32 bits, or whole elements where they have more or the unit less.
Type CopyUnit::type(MLIRContext *context) const {
  if (lanes == 1)
    return element(context);
  bool isPacked = bytes < 4 && bytes * lanes > 4;
  if (isPacked)
    return VectorType::get({bytes * lanes / 4}, IntegerType::get(context, 32));
  return VectorType::get({lanes}, element(context));
}

Value CopyUnit::load(DeviceBuilder &b, Value address, Value offset,
                     Value condition) const {
  Type unit = type(b.getContext());
  Value place = b.place(address, element(b.getContext()), offset);
  return condition ? b.loadIf(condition, place, unit) : b.load(place, unit);
}

void CopyUnit::store(DeviceBuilder &b, Value unit, Value address,
                     Value offset) const {
  b.store(unit, b.place(address, element(b.getContext()), offset));
}

SmallVector<Value> CopyUnit::split(DeviceBuilder &b, Value unit) const {
  if (lanes == 1)
    return {unit};
  auto type = VectorType::get({lanes}, element(b.getContext()));
  if (unit.getType() != type)
    unit = b.create<vector::BitCastOp>(type, unit);
  SmallVector<Value> parts;
  for (int64_t lane = 0; lane < lanes; ++lane)
    parts.push_back(b.create<vector::ExtractOp>(unit, lane));
  return parts;
}

Value CopyUnit::join(DeviceBuilder &b, ArrayRef<Value> parts) const {
  if (lanes == 1)
    return parts.front();
  auto elements = VectorType::get({lanes}, element(b.getContext()));
  Value vector = b.create<arith::ConstantOp>(b.getZeroAttr(elements));
  for (auto [lane, part] : llvm::enumerate(parts))
    vector = b.create<vector::InsertOp>(part, vector, int64_t(lane));
  Type packed = type(b.getContext());
  return packed == elements ? vector
                            : b.create<vector::BitCastOp>(packed, vector);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

GridKernel
hone::emitUnitCopies(DeviceBuilder &b, StringRef name, plan::LaunchOp launch,
                     CopyUnit unit, int64_t largest,
                     function_ref<CopySource(gpu::GPUFuncOp, Value)> sourceOf) {
  unsigned output = launch.getInputs().size();
  auto type = cast<ShapedType>(launch->getOperand(output).getType());
  int64_t units = type.getNumElements() / unit.lanes;
  int64_t each = units >= manyUnits * manyBlocks * copyThreads ? manyUnits : 1;
  int64_t blocks = llvm::divideCeil(units, each * copyThreads);
  // Threads beyond the last unit have numbers too.
  largest = std::max(largest, blocks * each * copyThreads * unit.lanes);

  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), copyThreads);
  Value first = b.add(b.mul(b.blockFor(largest), each * copyThreads),
                      b.threadFor(largest));
  bool isWhole = units == blocks * each * copyThreads;
  SmallVector<Value> loaded, offsets, conditions;
  bool loadsAll = true;
  for (int64_t part = 0; part < each; ++part) {
    Value number = b.add(first, part * copyThreads);
    Value exists = isWhole ? Value() : b.less(number, units);
    CopySource source = sourceOf(func, number);
    Value condition = exists;
    loadsAll &= !source.condition;
    if (source.condition)
      condition = exists ? b.create<arith::AndIOp>(exists, source.condition)
                         : source.condition;
    loaded.push_back(unit.load(b, source.address, source.offset, condition));
    offsets.push_back(b.mul(number, unit.lanes));
    conditions.push_back(exists);
  }
  for (auto [value, offset, exists] : llvm::zip(loaded, offsets, conditions)) {
    auto write = [&, value = value, offset = offset] {
      unit.store(b, value, func.getArgument(output), offset);
    };
    if (exists)
      b.emitIf(exists, write);
    else
      write();
  }
  if (unit.isWide() && blocks > 0)
    markVectorised(func, loadsAll ? 2 * each : each);
  return {func, blocks, copyThreads};
}
