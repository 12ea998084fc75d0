//===- RowSums.cpp - Sums over rows on a GPU ------------------------------===//

#include "RowEmitter.h"

#include "Codegen/Common/ElementwiseArith.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;

/// Threads of a block of the second stage: a warp of columns by groups of
/// chunks, or all of them for the totals.
static constexpr int64_t sumThreads = 1024;

//===----------------------------------------------------------------------===//
// The first stage
//===----------------------------------------------------------------------===//

/// Accumulators of a chunk: those of columns that are held, by sum and tile,
/// then one per total, a vector of sums of elements or a sum of rows, then the
/// largest magnitudes.
DeviceRowEmitter::Values DeviceRowEmitter::startSums() {
  Values sums;
  if (shape.isHeld)
    for (RowSum &sum : columnSums)
      sums.append(shape.tiles, broadcast(identity(sum.op)));
  for (RowSum &sum : totalSums)
    sums.push_back(isFull(sum.op.getOperand()) ? broadcast(identity(sum.op))
                                               : identity(sum.op));
  llvm::append_range(sums, startMagnitudes());
  return sums;
}

/// Sets the chunk's sums of columns that are not held to zero.
void DeviceRowEmitter::clearColumns() {
  auto clear = [&](OpBuilder &, Location, Value vector, ValueRange) {
    Point at = pointAt(chunk, vector, Value());
    for (RowSum &sum : columnSums)
      storeVector(broadcast(identity(sum.op)), sum.scratch,
                  builder.getF32Type(), flatIndex(chunk, at.col));
    builder.create<scf::YieldOp>(loc);
  };
  builder.create<scf::ForOp>(loc, thread, index(shape.vectors),
                             index(shape.rowThreads), ValueRange(), clear);
}

/// Adds the elements at a point to the sums that take elements.
void DeviceRowEmitter::addToSums(Point &at, Values &sums, int64_t tile) {
  for (auto [position, sum] : llvm::enumerate(columnSums)) {
    if (shape.isHeld) {
      accumulate(sum.op, at, sums[position * shape.tiles + tile]);
      continue;
    }
    Value offset = flatIndex(chunk, at.col);
    Value total = loadVector(sum.op.getResult(), at, offset);
    accumulate(sum.op, at, total);
    storeVector(total, sum.scratch, builder.getF32Type(), offset);
  }
  for (auto [position, sum] : llvm::enumerate(totalSums))
    if (isFull(sum.op.getOperand()))
      accumulate(sum.op, at, sums[firstTotal() + position]);
  addMagnitudes(at, MutableArrayRef(sums).drop_front(firstMagnitude()));
}

/// One row of a chunk.
void DeviceRowEmitter::emitChunkRow(Value row, Values &sums) {
  emitSweeps(row);
  forTiles(row, sums, [&](Point &at, Values &carried, int64_t tile) {
    addToSums(at, carried, tile);
    storeFull(at);
  });
  for (auto [position, sum] : llvm::enumerate(totalSums)) {
    Value &total = sums[firstTotal() + position];
    if (!isFull(sum.op.getOperand()))
      total = elementwise::combine(builder, loc, sum.op.getKind(), total,
                                   rowValue(sum.op.getOperand(), row));
  }
  Value isFirst = isZero(thread);
  if (firstVector)
    isFirst = builder.create<arith::AndIOp>(loc, isFirst, isZero(firstVector));
  storeRowResults(row, isFirst);
  // The next row joins in the same shared memory.
  if (shape.rowWarps() > 1 && !reductionsBySweep().empty())
    threads.barrier();
}

/// Writes a chunk's sums to scratch.
void DeviceRowEmitter::storeSums(ArrayRef<Value> sums) {
  if (shape.isHeld && !columnSums.empty()) {
    startRow(chunk);
    for (size_t tile = 0; tile < tiles.size(); ++tile)
      emitIf(tiles[tile].mask, [&] {
        Value offset = flatIndex(chunk, tiles[tile].col);
        for (size_t i = 0; i < columnSums.size(); ++i)
          storeVector(sums[i * shape.tiles + tile], columnSums[i].scratch,
                      builder.getF32Type(), offset);
      });
  }
  SmallVector<ReduceKind> kinds;
  SmallVector<Value> wide, totals(sums.drop_front(firstTotal()));
  for (auto [sum, total] : llvm::zip(totalSums, totals))
    if (isFull(sum.op.getOperand())) {
      kinds.push_back(sum.op.getKind());
      wide.push_back(total);
    }
  if (totals.empty())
    return;
  SmallVector<Value> joined;
  if (!wide.empty())
    joined = joinThreads(kinds, wide);
  emitIf(isZero(thread), [&] {
    size_t next = 0;
    for (auto [sum, total] : llvm::zip(totalSums, totals))
      storeScalar(isFull(sum.op.getOperand()) ? joined[next++] : total,
                  sum.scratch, builder.getF32Type(), chunk);
  });
}

void DeviceRowEmitter::emitChunks() {
  thread = threads.threadNumber();
  chunk = threads.blockNumber();
  if (shape.columnTiles > 1) {
    Value count = index(shape.columnTiles);
    Value tile = builder.create<arith::RemUIOp>(loc, chunk, count);
    firstVector =
        builder.create<arith::MulIOp>(loc, tile, index(shape.rowThreads));
    chunk = builder.create<arith::DivUIOp>(loc, chunk, count);
  }
  if (!shape.isHeld)
    clearColumns();
  int64_t rows = space->rows(),
          perChunk = llvm::divideCeil(rows, std::max<int64_t>(chunkCount(), 1));
  Value first = builder.create<arith::MulIOp>(loc, chunk, index(perChunk));
  Value last =
      builder.create<arith::MinUIOp>(loc, add(first, perChunk), index(rows));
  auto loop = builder.create<scf::ForOp>(
      loc, first, last, index(1), startSums(),
      [&](OpBuilder &, Location, Value row, ValueRange carried) {
        Values sums(carried);
        emitChunkRow(row, sums);
        builder.create<scf::YieldOp>(loc, sums);
      });
  Values sums(loop.getResults());
  storeSums(ArrayRef(sums).take_front(firstMagnitude()));
  storeMagnitudes(ArrayRef(sums).drop_front(firstMagnitude()));
}

//===----------------------------------------------------------------------===//
// The second stage
//===----------------------------------------------------------------------===//

/// Sums, in order, what `load` gives for every `step`th chunk from `first` on.
Value DeviceRowEmitter::sumChunks(RowSum &sum, Value first, int64_t step,
                                  function_ref<Value(Value)> load) {
  auto loop = builder.create<scf::ForOp>(
      loc, first, index(chunkCount()), index(step), identity(sum.op),
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        Value next = elementwise::combine(builder, loc, sum.op.getKind(),
                                          carried.front(), load(number));
        builder.create<scf::YieldOp>(loc, next);
      });
  return loop.getResult(0);
}

/// A block adds the chunks of 32 columns: each warp every eighth of them, then
/// the first warp what all have.
void DeviceRowEmitter::sumColumns(Value block) {
  Value size = index(warpSize), number = threads.threadNumber();
  Value lane = builder.create<arith::RemUIOp>(loc, number, size);
  Value warp = builder.create<arith::DivUIOp>(loc, number, size);
  Value col = builder.create<arith::AddIOp>(
      loc, builder.create<arith::MulIOp>(loc, block, size), lane);
  Value isColumn =
      space->cols() % warpSize == 0 ? Value() : less(col, space->cols());
  constexpr int64_t warps = sumThreads / warpSize;
  SmallVector<DeviceThreads::Table> tables;
  while (tables.size() < columnSums.size())
    tables.push_back(threads.table(warps, builder.getF32Type()));
  emitIf(isColumn, [&] {
    for (size_t i = 0; i < columnSums.size(); ++i) {
      RowSum &sum = columnSums[i];
      Value part = sumChunks(sum, warp, warps, [&](Value number) {
        return loadScalar(sum.op.getResult(), flatIndex(number, col));
      });
      threads.store(part, tables[i], warp, lane);
    }
  });
  threads.barrier();
  Value isFirst = isZero(warp);
  if (isColumn)
    isFirst = builder.create<arith::AndIOp>(loc, isFirst, isColumn);
  emitIf(isFirst, [&] {
    for (auto [sum, table] : llvm::zip(columnSums, tables)) {
      Value total = identity(sum.op);
      for (int64_t part = 0; part < warps; ++part)
        total = elementwise::combine(builder, loc, sum.op.getKind(), total,
                                     threads.load(table, index(part), lane));
      storeScalar(total, sum.output, builder.getF32Type(), col);
    }
  });
}

/// The whole block adds the chunks of the totals.
void DeviceRowEmitter::sumTotals() {
  Value number = threads.threadNumber();
  SmallVector<DeviceThreads::Partial> partials;
  for (RowSum &sum : totalSums)
    partials.push_back(
        {sum.op.getKind(), sumChunks(sum, number, sumThreads, [&](Value at) {
           return loadScalar(sum.op.getResult(), at);
         })});
  SmallVector<Value> totals = threads.reduce(partials, sumThreads / warpSize);
  emitIf(isZero(number), [&] {
    for (auto [sum, total] : llvm::zip(totalSums, totals))
      storeScalar(total, sum.output, builder.getF32Type(), index(0));
  });
}

FailureOr<GridKernel> DeviceRowEmitter::emitSums(StringRef name) {
  gpu::GPUFuncOp func = threads.begin(name, addressTypes(), sumThreads);
  if (failed(bind(func.getArguments())))
    return failure();
  int64_t columnBlocks =
      columnSums.empty() ? 0 : llvm::divideCeil(space->cols(), warpSize);
  int64_t blocks = columnBlocks + !totalSums.empty();
  if (totalSums.empty()) {
    sumColumns(threads.blockNumber());
  } else if (columnBlocks == 0) {
    sumTotals();
  } else {
    Value block = threads.blockNumber();
    builder.create<scf::IfOp>(
        loc, less(block, columnBlocks),
        [&](OpBuilder &, Location) {
          sumColumns(block);
          builder.create<scf::YieldOp>(loc);
        },
        [&](OpBuilder &, Location) {
          sumTotals();
          builder.create<scf::YieldOp>(loc);
        });
  }
  if (failed(checkBuffers()))
    return failure();
  return GridKernel{func, blocks, sumThreads};
}
