//===- Threads.cpp - What the threads of a block do together --------------===//

#include "Threads.h"

#include "Codegen/Common/ElementwiseArith.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

gpu::GPUFuncOp DeviceThreads::begin(StringRef name, TypeRange arguments,
                                    int64_t blockThreads) {
  func = builder.create<gpu::GPUFuncOp>(loc, name,
                                        builder.getFunctionType(arguments, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                builder.getUnitAttr());
  func->setAttr("nvvm.maxntid",
                builder.getDenseI32ArrayAttr({int32_t(blockThreads)}));
  // Large blocks: two on a multiprocessor are enough. For a third, ptxas would
  // keep values of long rows in memory.
  constexpr int64_t largeBlock = 512;
  if (blockThreads >= largeBlock)
    func->setAttr("nvvm.minctasm", builder.getI32IntegerAttr(std::max<int64_t>(
                                       1, 1024 / blockThreads)));
  builder.setInsertionPointToEnd(&func.getBody().front());
  auto end = builder.create<gpu::ReturnOp>(loc);
  builder.setInsertionPoint(end);
  return func;
}

Value DeviceThreads::index(int64_t value) {
  return builder.create<arith::ConstantIndexOp>(loc, value);
}

Value DeviceThreads::threadNumber() {
  return builder.create<gpu::ThreadIdOp>(loc, gpu::Dimension::x);
}

Value DeviceThreads::blockNumber() {
  return builder.create<gpu::BlockIdOp>(loc, gpu::Dimension::x);
}

void DeviceThreads::barrier() { builder.create<gpu::BarrierOp>(loc); }

/// The type in which a shuffle or shared memory carries an element.
static Type carrierOf(Type element) {
  bool isNarrow = element.isInteger(1) || element.isInteger(8);
  return isNarrow ? IntegerType::get(element.getContext(), 32) : element;
}

static Value widen(OpBuilder &builder, Location loc, Value value) {
  Type type = carrierOf(value.getType());
  if (type == value.getType())
    return value;
  if (value.getType().isInteger(1))
    return builder.create<arith::ExtUIOp>(loc, type, value);
  return builder.create<arith::ExtSIOp>(loc, type, value);
}

static Value narrow(OpBuilder &builder, Location loc, Value value, Type type) {
  if (type == value.getType())
    return value;
  return builder.create<arith::TruncIOp>(loc, type, value);
}

/// Joins groups of `lanes` neighbouring lanes, a power of two.
Value DeviceThreads::reduceWarp(ReduceKind kind, Value value, int64_t lanes) {
  Type type = value.getType();
  for (int64_t offset = lanes / 2; offset > 0; offset /= 2) {
    auto shuffle =
        builder.create<gpu::ShuffleOp>(loc, widen(builder, loc, value), offset,
                                       warpSize, gpu::ShuffleMode::XOR);
    value = elementwise::combine(
        builder, loc, kind, value,
        narrow(builder, loc, shuffle.getShuffleResult(), type));
  }
  return value;
}

Value DeviceThreads::broadcast(Value value, int64_t lane) {
  Value from = builder.create<arith::ConstantOp>(
      loc, builder.getI32IntegerAttr(int32_t(lane)));
  Value lanes = builder.create<arith::ConstantOp>(
      loc, builder.getI32IntegerAttr(warpSize));
  auto shuffle = builder.create<gpu::ShuffleOp>(
      loc, widen(builder, loc, value), from, lanes, gpu::ShuffleMode::IDX);
  return narrow(builder, loc, shuffle.getShuffleResult(), value.getType());
}

DeviceThreads::Table DeviceThreads::table(int64_t rows, Type element) {
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({rows, warpSize}, carrierOf(element),
                              MemRefLayoutAttrInterface(), space);
  return func.addWorkgroupAttribution(type, loc);
}

void DeviceThreads::store(Value value, Table table, Value row, Value lane) {
  builder.create<memref::StoreOp>(loc, widen(builder, loc, value), table,
                                  ValueRange{row, lane});
}

Value DeviceThreads::load(Table table, Value row, Value lane) {
  return builder.create<memref::LoadOp>(loc, table, ValueRange{row, lane});
}

SmallVector<Value> DeviceThreads::reduce(ArrayRef<Partial> partials,
                                         int64_t warps) {
  SmallVector<Value> totals;
  for (const Partial &partial : partials)
    totals.push_back(reduceWarp(partial.kind, partial.value, warpSize));
  if (warps == 1)
    return totals;

  Value size = index(warpSize), zero = index(0), number = threadNumber();
  Value lane = builder.create<arith::RemUIOp>(loc, number, size);
  Value warp = builder.create<arith::DivUIOp>(loc, number, size);
  SmallVector<Table> tables; // an element per warp
  for (Value total : totals)
    tables.push_back(table(1, total.getType()));
  Value isFirst =
      builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, lane, zero);
  builder.create<scf::IfOp>(loc, isFirst, [&](OpBuilder &, Location) {
    for (auto [total, shared] : llvm::zip(totals, tables))
      store(total, shared, zero, warp);
    builder.create<scf::YieldOp>(loc);
  });
  barrier();
  // Each group of as many lanes as there are warps, or more, joins all of them.
  int64_t group = llvm::PowerOf2Ceil(warps);
  Value mine = builder.create<arith::RemUIOp>(loc, lane, index(group));
  Value isWarp = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult,
                                               mine, index(warps));
  Value from = builder.create<arith::SelectOp>(loc, isWarp, mine, zero);
  for (size_t i = 0; i < totals.size(); ++i) {
    Type type = totals[i].getType();
    ReduceKind kind = partials[i].kind;
    Value loaded = narrow(builder, loc, load(tables[i], zero, from), type);
    Value part = builder.create<arith::SelectOp>(
        loc, isWarp, loaded, elementwise::identity(builder, loc, kind, type));
    totals[i] = reduceWarp(kind, part, group);
  }
  return totals;
}
