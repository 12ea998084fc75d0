//===- Items.cpp - Kernels of work items on a GPU -------------------------===//

#include "Items.h"

#include "Threads.h"
#include "hone/Analysis/Layout/Strides.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t itemThreads = 128;

static Value indexConstant(OpBuilder &builder, Location loc, int64_t value) {
  return builder.create<arith::ConstantIndexOp>(loc, value);
}

/// block * threads + thread
static Value globalThread(OpBuilder &builder, Location loc,
                          DeviceThreads &threads) {
  Value first = builder.create<arith::MulIOp>(
      loc, threads.blockNumber(), indexConstant(builder, loc, itemThreads));
  return builder.create<arith::AddIOp>(loc, first, threads.threadNumber());
}

/// Copies the body of `from` to the builder, with its arguments replaced.
static void inlineBody(OpBuilder &builder, func::FuncOp from,
                       ValueRange arguments) {
  IRMapping mapping;
  mapping.map(from.getArguments(), arguments);
  for (Operation &op : from.getBody().front().without_terminator())
    builder.clone(op, mapping);
}

GridKernel hone::emitItems(OpBuilder &builder, Kernel kernel) {
  OpBuilder::InsertionGuard guard(builder);
  func::FuncOp from = kernel.func;
  Location loc = from.getLoc();
  builder.setInsertionPoint(from);
  DeviceThreads threads(builder, loc);
  gpu::GPUFuncOp func = threads.begin(
      from.getName(), from.getArgumentTypes().drop_back(2), itemThreads);
  Value item = globalThread(builder, loc, threads);
  Value next =
      builder.create<arith::AddIOp>(loc, item, indexConstant(builder, loc, 1));
  Value exists =
      builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, item,
                                    indexConstant(builder, loc, kernel.items));
  builder.create<scf::IfOp>(loc, exists, [&](OpBuilder &nested, Location) {
    SmallVector<Value> arguments(func.getArguments());
    arguments.append({item, next});
    inlineBody(nested, from, arguments);
    nested.create<scf::YieldOp>(loc);
  });
  from.erase();
  return {func, int64_t(llvm::divideCeil(kernel.items, itemThreads)),
          itemThreads};
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

DeviceTable::DeviceTable(OpBuilder &builder, gpu::GPUFuncOp func,
                         const TensorTable &table, int64_t perBlock,
                         ArrayRef<int64_t> offsets)
    : builder(builder), func(func), loc(func.getLoc()),
      arguments(table.tensors.front().buffers.size()), firsts({0}) {
  SmallVector<int64_t> sizes, tags, places;
  for (const TensorTable::Tensor &tensor : table.tensors) {
    firsts.push_back(firsts.back() + llvm::divideCeil(tensor.size, perBlock));
    sizes.push_back(tensor.size);
    tags.push_back(tensor.tag);
    for (int32_t buffer : tensor.buffers)
      places.push_back(offsets[buffer]);
  }
  firstArray = array("first", firsts);
  sizeArray = array("sizes", sizes);
  tagArray = array("tags", tags);
  offsetArray = array("offsets", places);
}

/// A constant of the module, and its address.
Value DeviceTable::array(StringRef name, ArrayRef<int64_t> values) {
  Type i64 = builder.getI64Type();
  auto shape = RankedTensorType::get({int64_t(values.size())}, i64);
  std::string symbol = (func.getName() + "_" + name).str();
  // Global memory of the device; what is constant there has 64 KiB.
  constexpr unsigned globalSpace = 1;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(func);
    builder.create<LLVM::GlobalOp>(
        loc, LLVM::LLVMArrayType::get(i64, values.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, symbol,
        DenseElementsAttr::get(shape, values), /*alignment=*/16, globalSpace);
  }
  MLIRContext *context = builder.getContext();
  Value address = builder.create<LLVM::AddressOfOp>(
      loc, LLVM::LLVMPointerType::get(context, globalSpace), symbol);
  return builder.create<LLVM::AddrSpaceCastOp>(
      loc, LLVM::LLVMPointerType::get(context), address);
}

Value DeviceTable::element(Value array, Value number) {
  Type i64 = builder.getI64Type();
  Value at = builder.create<arith::IndexCastOp>(loc, i64, number);
  Value slot = builder.create<LLVM::GEPOp>(loc, array.getType(), i64, array,
                                           ArrayRef<LLVM::GEPArg>{at});
  Value value = builder.create<LLVM::LoadOp>(loc, i64, slot, /*alignment=*/8);
  return builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), value);
}

/// The last tensor whose first block is not after `block`, by bisection.
Value DeviceTable::findTensor(Value block) {
  int64_t count = firsts.size() - 1;
  Value found = indexConstant(builder, loc, 0);
  for (int64_t step = llvm::PowerOf2Ceil(count) / 2; step > 0; step /= 2) {
    Value next = builder.create<arith::AddIOp>(
        loc, found, indexConstant(builder, loc, step));
    // Beyond the last tensor stands the number of all blocks.
    Value bounded = builder.create<arith::MinUIOp>(
        loc, next, indexConstant(builder, loc, count));
    Value isBefore = builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ule, element(firstArray, bounded), block);
    found = builder.create<arith::SelectOp>(loc, isBefore, bounded, found);
  }
  return found;
}

Value DeviceTable::blockOfTensor(Value block, Value tensor) {
  return builder.create<arith::SubIOp>(loc, block, element(firstArray, tensor));
}

Value DeviceTable::size(Value tensor) { return element(sizeArray, tensor); }

Value DeviceTable::tag(Value tensor) { return element(tagArray, tensor); }

Value DeviceTable::address(Value arena, Value tensor, int64_t argument) {
  Value row = builder.create<arith::MulIOp>(
      loc, tensor, indexConstant(builder, loc, arguments));
  Value slot = builder.create<arith::AddIOp>(
      loc, row, indexConstant(builder, loc, argument));
  Value offset = builder.create<arith::IndexCastOp>(loc, builder.getI64Type(),
                                                    element(offsetArray, slot));
  return builder.create<LLVM::GEPOp>(loc, arena.getType(), builder.getI8Type(),
                                     arena, ArrayRef<LLVM::GEPArg>{offset});
}

SmallVector<int64_t> hone::arenaOffsets(plan::LaunchOp launch) {
  return llvm::map_to_vector(launch->getOperands(), plan::arenaOffset);
}

/// A memref in the form that it has in the llvm dialect: the cast goes away
/// when everything is in that dialect.
Value hone::bufferAt(OpBuilder &builder, Location loc, Value address,
                     MemRefType type) {
  MLIRContext *context = builder.getContext();
  Type i64 = builder.getI64Type(), pointer = address.getType();
  SmallVector<Type> fields = {pointer, pointer, i64};
  int64_t rank = type.getRank();
  if (rank > 0)
    fields.append(2, LLVM::LLVMArrayType::get(i64, rank));
  Value descriptor = builder.create<LLVM::UndefOp>(
      loc, LLVM::LLVMStructType::getLiteral(context, fields));
  auto insert = [&](Value value, ArrayRef<int64_t> position) {
    descriptor =
        builder.create<LLVM::InsertValueOp>(loc, descriptor, value, position);
  };
  auto number = [&](int64_t value) -> Value {
    return builder.create<LLVM::ConstantOp>(loc, i64,
                                            builder.getI64IntegerAttr(value));
  };
  insert(address, {0});
  insert(address, {1});
  insert(number(0), {2});
  SmallVector<int64_t> strides = getStridesAndOffset(type).first;
  for (int64_t dim = 0; dim < rank; ++dim) {
    insert(number(type.getDimSize(dim)), {3, dim});
    insert(number(strides[dim]), {4, dim});
  }
  return builder.create<UnrealizedConversionCastOp>(loc, type, descriptor)
      .getResult(0);
}

/// A kernel whose blocks have chunks of `perBlock` elements. `rangeOf` gives
/// the first and the end of those that a thread computes, given the chunk's
/// first.
static GridKernel emitTable(
    OpBuilder &builder, const Kernel &kernel, ArrayRef<int64_t> offsets,
    int64_t blockThreads, int64_t perBlock,
    function_ref<std::pair<Value, Value>(DeviceThreads &, Value)> rangeOf) {
  OpBuilder::InsertionGuard guard(builder);
  func::FuncOp from = kernel.func;
  Location loc = from.getLoc();
  builder.setInsertionPoint(from);
  DeviceThreads threads(builder, loc);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  gpu::GPUFuncOp func = threads.begin(from.getName(), pointer, blockThreads);
  DeviceTable table(builder, func, kernel.table, perBlock, offsets);
  Value block = threads.blockNumber(), tensor = table.findTensor(block);
  Value first =
      builder.create<arith::MulIOp>(loc, table.blockOfTensor(block, tensor),
                                    indexConstant(builder, loc, perBlock));
  auto [lo, end] = rangeOf(threads, first);
  Value size = table.size(tensor);
  Value hi = builder.create<arith::MinUIOp>(loc, end, size);
  Value exists =
      builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, lo, size);
  Value arena = func.getArgument(0), begin = lo;
  builder.create<scf::IfOp>(loc, exists, [&](OpBuilder &, Location) {
    SmallVector<Value> arguments;
    for (auto [index, type] :
         llvm::enumerate(from.getArgumentTypes().drop_back(3))) {
      Value address = table.address(arena, tensor, index);
      auto buffer = dyn_cast<MemRefType>(type);
      arguments.push_back(buffer ? bufferAt(builder, loc, address, buffer)
                                 : address);
    }
    arguments.append({table.tag(tensor), begin, hi});
    inlineBody(builder, from, arguments);
    builder.create<scf::YieldOp>(loc);
  });
  from.erase();
  return {func, table.blocks(), blockThreads};
}

GridKernel hone::emitTableItems(OpBuilder &builder, Kernel kernel,
                                ArrayRef<int64_t> offsets) {
  Location loc = kernel.func.getLoc();
  int64_t slice = kernel.table.slice;
  return emitTable(
      builder, kernel, offsets, itemThreads, itemThreads * slice,
      [&](DeviceThreads &threads, Value first) -> std::pair<Value, Value> {
        Value length = indexConstant(builder, loc, slice);
        Value lo = builder.create<arith::AddIOp>(
            loc, first,
            builder.create<arith::MulIOp>(loc, threads.threadNumber(), length));
        return {lo, builder.create<arith::AddIOp>(loc, lo, length)};
      });
}

GridKernel hone::emitTableBlocks(OpBuilder &builder, Kernel kernel,
                                 ArrayRef<int64_t> offsets, int64_t threads) {
  Location loc = kernel.func.getLoc();
  int64_t chunk = kernel.table.chunk;
  return emitTable(
      builder, kernel, offsets, threads, chunk,
      [&](DeviceThreads &, Value first) -> std::pair<Value, Value> {
        Value length = indexConstant(builder, loc, chunk);
        return {first, builder.create<arith::AddIOp>(loc, first, length)};
      });
}
