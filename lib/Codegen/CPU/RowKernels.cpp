//===- RowKernels.cpp - Kernels for maps and row reductions ---------------===//

#include "RowKernels.h"

#include "RowEmitter.h"

#include "Codegen/Common/ElementwiseArith.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;

LogicalResult RowKernelEmitter::prepare(StringRef name) {
  // One-dimensional memrefs of all elements; bools are bytes, and largest
  // magnitudes bits.
  SmallVector<Type> types;
  llvm::SmallDenseSet<Value> bits;
  for (auto [yielded, buffer] :
       llvm::zip(launch.getBodyBlock().getTerminator()->getOperands(),
                 launch.getOutputs()))
    if (yielded.getDefiningOp<AmaxOp>())
      bits.insert(buffer);
  for (Value buffer : launch.getOperands()) {
    auto type = cast<MemRefType>(buffer.getType());
    Type element = type.getElementType();
    if (element.isInteger(1))
      element = builder.getI8Type();
    if (bits.contains(buffer))
      element = builder.getI32Type();
    int64_t elements = type.getNumElements();
    if (auto layout = rowLayout(type))
      elements = elements / layout->width * layout->stride;
    types.push_back(MemRefType::get({elements}, element));
  }
  types.append(2, builder.getIndexType());
  func = builder.create<func::FuncOp>(loc, name,
                                      builder.getFunctionType(types, {}));
  Block *entry = func.addEntryBlock();
  lo = entry->getArgument(types.size() - 2);
  hi = entry->getArgument(types.size() - 1);
  builder.setInsertionPointToStart(entry);
  if (succeeded(bind(entry->getArguments().drop_back(2))))
    return success();
  func.erase();
  return failure();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Items too small to be worth a thread share one: about 8k elements.
static int64_t grainFor(int64_t elementsPerItem) {
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, elementsPerItem));
}

SmallVector<Value> RowKernelEmitter::startTotals() {
  SmallVector<Value> totals;
  for (RowSum &sum : totalSums)
    totals.push_back(identity(sum.op));
  Value zero =
      builder.create<arith::ConstantOp>(loc, builder.getI32IntegerAttr(0));
  totals.append(magnitudes.size(), zero);
  return totals;
}

/// Raises the results to what a thread has found.
void RowKernelEmitter::storeMagnitudes(ValueRange totals) {
  for (auto [largest, bits] :
       llvm::zip_equal(magnitudes, totals.drop_front(totalSums.size())))
    builder.create<memref::AtomicRMWOp>(loc, arith::AtomicRMWKind::maxu, bits,
                                        largest.output, index(0));
}

/// A map in which every value is Full or one scalar: blocks of 64 elements,
/// whatever the rows.
Kernel RowKernelEmitter::emitFlat() {
  int64_t total = space->rows() * space->cols();
  int64_t block = lanes * unroll;
  int64_t whole = total / block;
  int64_t items = llvm::divideCeil(total, block);
  using Values = SmallVector<Value>;
  auto emitAt = [&](Value first, int64_t width, Value mask, Values &largest) {
    for (int64_t slot = 0; slot * lanes < width; ++slot) {
      Point at;
      at.col = add(first, slot * lanes);
      at.mask = mask;
      SmallVector<Value> data;
      for (auto [value, buffer] : outputs)
        data.push_back(vectorAt(value, at));
      for (auto [pair, vector] : llvm::zip(outputs, data))
        storeVector(vector, pair.second, at.col, mask);
      for (auto [own, bits] : llvm::zip_equal(magnitudes, largest))
        accumulate(own.op, at, bits);
    }
  };
  auto store = [&](ValueRange largest) {
    Values bits;
    for (Value own : largest)
      bits.push_back(largestLane(own));
    storeMagnitudes(bits);
  };
  Value end = builder.create<arith::MinUIOp>(loc, hi, index(whole));
  auto loop = builder.create<scf::ForOp>(
      loc, lo, end, index(1), Values(magnitudes.size(), zeroBits()),
      [&](OpBuilder &, Location, Value item, ValueRange carried) {
        Values largest(carried);
        emitAt(builder.create<arith::MulIOp>(loc, item, index(block)), block,
               Value(), largest);
        builder.create<scf::YieldOp>(loc, largest);
      });
  store(loop.getResults());
  if (whole != items) {
    // The rest, in the range that holds the last item.
    emitWhere(hi, items, [&] {
      int64_t first = whole * block;
      Values largest(magnitudes.size(), zeroBits());
      for (; first + lanes <= total; first += lanes)
        emitAt(index(first), lanes, Value(), largest);
      if (first < total) {
        Value mask = maskOfFirst(total - first);
        emitAt(index(first), lanes, mask, largest);
      }
      store(largest);
    });
  }
  builder.create<func::ReturnOp>(loc);
  return {func, items, grainFor(block)};
}

Kernel RowKernelEmitter::emitRows() {
  planRowCache();
  auto loop = builder.create<scf::ForOp>(
      loc, lo, hi, index(1), startTotals(),
      [&](OpBuilder &, Location, Value row, ValueRange carried) {
        SmallVector<Value> totals(carried);
        emitRow(row, Value(), totals);
        builder.create<scf::YieldOp>(loc, totals);
      });
  storeMagnitudes(loop.getResults());
  builder.create<func::ReturnOp>(loc);
  return {func, space->rows(), grainFor(space->cols())};
}

Kernel RowKernelEmitter::emitChunks() {
  planRowCache();
  int64_t rows = space->rows(), chunks = chunkCount();
  int64_t perChunk = llvm::divideCeil(rows, std::max<int64_t>(chunks, 1));
  builder.create<scf::ForOp>(
      loc, lo, hi, index(1), ValueRange(),
      [&](OpBuilder &, Location, Value chunk, ValueRange) {
        // Zero this chunk's row of each column sum.
        if (!columnSums.empty()) {
          SmallVector<Value> none;
          emitColumns(
              {},
              [&](Point &at, ValueRange, int64_t) {
                Value offset = flatIndex(chunk, at.col);
                for (RowSum &sum : columnSums)
                  storeVector(broadcast(identity(sum.op)), sum.scratch, offset,
                              at.mask);
                return SmallVector<Value>();
              },
              chunk, none);
        }
        Value first =
            builder.create<arith::MulIOp>(loc, chunk, index(perChunk));
        Value last = builder.create<arith::MinUIOp>(loc, add(first, perChunk),
                                                    index(rows));
        auto loop = builder.create<scf::ForOp>(
            loc, first, last, index(1), startTotals(),
            [&](OpBuilder &, Location, Value row, ValueRange carried) {
              SmallVector<Value> totals(carried);
              emitRow(row, chunk, totals);
              builder.create<scf::YieldOp>(loc, totals);
            });
        for (auto [sum, total] : llvm::zip(totalSums, loop.getResults()))
          storeScalar(total, sum.scratch, chunk);
        storeMagnitudes(loop.getResults());
        builder.create<scf::YieldOp>(loc);
      });
  builder.create<func::ReturnOp>(loc);
  return {func, chunks, grainFor(perChunk * space->cols())};
}

/// Ends a kernel that is emitted; without what it reads there is none.
FailureOr<Kernel> RowKernelEmitter::finish(Kernel kernel) {
  if (succeeded(checkBuffers()))
    return kernel;
  func.erase();
  return failure();
}

FailureOr<Kernel> RowKernelEmitter::emitMain() {
  // Who gets the first item stores the scalars that are results.
  makeScalars();
  auto isScalarOutput = [&](auto pair) { return isMadeScalar(pair.first); };
  if (llvm::any_of(outputs, isScalarOutput))
    emitWhere(lo, 0, [&] {
      for (auto [value, buffer] : outputs)
        if (isMadeScalar(value))
          storeScalar(rowValue(value, Value()), buffer, index(0));
    });
  llvm::erase_if(outputs, isScalarOutput);
  if (space->hasPartialSums())
    return finish(emitChunks());
  return finish(isFlatMap(launch, *space) ? emitFlat() : emitRows());
}

/// Adds the chunks' rows of each column sum at the columns from `col` on.
void RowKernelEmitter::sumColumns(Value col, Value mask) {
  for (RowSum &sum : columnSums) {
    Point at;
    at.mask = mask;
    auto loop = builder.create<scf::ForOp>(
        loc, index(0), index(chunkCount()), index(1),
        ValueRange(broadcast(identity(sum.op))),
        [&](OpBuilder &, Location, Value chunk, ValueRange carried) {
          Value partial =
              loadVector(sum.op.getResult(), at, flatIndex(chunk, col));
          Value next =
              builder.create<arith::AddFOp>(loc, carried.front(), partial);
          builder.create<scf::YieldOp>(loc, next);
        });
    storeVector(loop.getResult(0), sum.output, col, mask);
  }
}

/// Adds the chunks' numbers of each total.
void RowKernelEmitter::sumTotals() {
  for (RowSum &sum : totalSums) {
    auto loop = builder.create<scf::ForOp>(
        loc, index(0), index(chunkCount()), index(1),
        ValueRange(identity(sum.op)),
        [&](OpBuilder &, Location, Value chunk, ValueRange carried) {
          Value next = elementwise::combine(
              builder, loc, sum.op.getKind(), carried.front(),
              loadScalar(sum.op.getResult(), chunk));
          builder.create<scf::YieldOp>(loc, next);
        });
    storeScalar(loop.getResult(0), sum.output, index(0));
  }
}

/// Runs `emit` where `at` is `value`.
void RowKernelEmitter::emitWhere(Value at, int64_t value,
                                 function_ref<void()> emit) {
  Value isThere = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                at, index(value));
  builder.create<scf::IfOp>(loc, isThere, [&](OpBuilder &, Location) {
    emit();
    builder.create<scf::YieldOp>(loc);
  });
}

FailureOr<Kernel> RowKernelEmitter::emitSums() {
  int64_t cols = space->cols(), whole = cols / lanes;
  int64_t items = std::max<int64_t>(1, llvm::divideCeil(cols, lanes));
  if (columnSums.empty())
    items = 1;
  if (!columnSums.empty()) {
    Value end = builder.create<arith::MinUIOp>(loc, hi, index(whole));
    builder.create<scf::ForOp>(
        loc, lo, end, index(1), ValueRange(),
        [&](OpBuilder &, Location, Value item, ValueRange) {
          sumColumns(builder.create<arith::MulIOp>(loc, item, index(lanes)),
                     Value());
          builder.create<scf::YieldOp>(loc);
        });
    if (cols % lanes != 0)
      emitWhere(hi, items, [&] {
        Value mask = maskOfFirst(cols % lanes);
        sumColumns(index(whole * lanes), mask);
      });
  }
  if (!totalSums.empty())
    emitWhere(lo, 0, [&] { sumTotals(); });
  builder.create<func::ReturnOp>(loc);
  return finish({func, items, grainFor(chunkCount() * lanes)});
}

FailureOr<Kernel> hone::emitRowKernel(OpBuilder &builder, StringRef name,
                                      plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  RowKernelEmitter emitter(builder, launch);
  if (failed(emitter.prepare(name)))
    return failure();
  return emitter.emitMain();
}

FailureOr<Kernel> hone::emitPartialSums(OpBuilder &builder, StringRef name,
                                        plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  RowKernelEmitter emitter(builder, launch);
  if (failed(emitter.prepare(name)))
    return failure();
  return emitter.emitSums();
}
