//===- RowSweeps.cpp - Sweeps over one row --------------------------------===//

#include "RowEmitter.h"

#include "Codegen/Common/ElementwiseArith.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;

/// The mask of the first `count` lanes.
Value RowKernelEmitter::maskOfFirst(int64_t count) {
  SmallVector<bool> bits(lanes, false);
  std::fill(bits.begin(), bits.begin() + count, true);
  return builder.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(vectorOf(builder.getI1Type()),
                                  ArrayRef<bool>(bits)));
}

/// Runs `body(point, accumulators, slot)` over the columns of a row: blocks of
/// 4 vectors (slots 0 to 3), then single vectors (slot 0), then the masked
/// rest.
void RowKernelEmitter::emitColumns(
    ArrayRef<Value> inits,
    function_ref<SmallVector<Value>(Point &, ValueRange, int64_t)> body,
    Value row, SmallVectorImpl<Value> &results) {
  int64_t cols = space->cols();
  SmallVector<Value> carried(inits);
  auto loop = [&](int64_t from, int64_t to, int64_t width) {
    if (from >= to)
      return;
    auto forOp = builder.create<scf::ForOp>(
        loc, index(from), index(to), index(width), carried,
        [&](OpBuilder &, Location, Value col, ValueRange accumulators) {
          SmallVector<Value> next(accumulators);
          for (int64_t slot = 0; slot * lanes < width; ++slot) {
            Point at;
            at.row = row;
            at.col = add(col, slot * lanes);
            next = body(at, next, slot);
          }
          builder.create<scf::YieldOp>(loc, next);
        });
    carried.assign(forOp.getResults().begin(), forOp.getResults().end());
  };
  int64_t wide = cols / (lanes * unroll) * (lanes * unroll);
  int64_t full = cols / lanes * lanes;
  loop(0, wide, lanes * unroll);
  loop(wide, full, lanes);
  if (full != cols) {
    Point at;
    at.row = row;
    at.col = index(full);
    at.mask = maskOfFirst(cols - full);
    carried = body(at, carried, 0);
  }
  results.assign(carried.begin(), carried.end());
}

/// Whether making a value again costs more than reading it from the stack.
static bool isCostly(Operation *op) {
  constexpr int64_t flopsPerElement = 4;
  int64_t elements =
      cast<ShapedType>(op->getResult(0).getType()).getNumElements();
  return cast<HoneOpInterface>(op).getCost().flops > flopsPerElement * elements;
}

/// The ops of Full values that making `value` runs.
void RowKernelEmitter::collectFull(Value value,
                                   llvm::SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || isSplat(value) || role(value) != Role::Full ||
      !seen.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    collectFull(operand, seen);
}

/// Gives a stack row to each costly value that more than one sweep reads.
void RowKernelEmitter::planRowCache() {
  // Above this, the rows would push what they save out of the cache.
  constexpr int64_t maxCols = 8192, maxRows = 4;
  int64_t cols = llvm::alignTo(space->cols(), lanes);
  if (cols > maxCols)
    return;
  DenseMap<int64_t, llvm::SmallPtrSet<Operation *, 4>> sweeps;
  int64_t last = 0;
  for (auto reduce : launch.getBodyBlock().getOps<ReduceOp>())
    if (role(reduce.getResult()) == Role::Row) {
      int64_t sweep = level(reduce.getOperand());
      collectFull(reduce.getOperand(), sweeps[sweep]);
      last = std::max(last, sweep + 1);
    }
  for (Value yielded : launch.getBodyBlock().getTerminator()->getOperands()) {
    Value value = yielded;
    if (auto reduce = value.getDefiningOp<ReduceOp>())
      value = reduce.getOperand();
    if (auto amax = value.getDefiningOp<AmaxOp>())
      value = amax.getOperand();
    collectFull(value, sweeps[last]);
  }
  DenseMap<Operation *, int64_t> readers;
  for (auto &[sweep, ops] : sweeps)
    for (Operation *op : ops)
      readers[op] += isCostly(op);
  // In program order: the order of a map is not that of the program.
  for (Operation &op : launch.getBodyBlock()) {
    if (readers.lookup(&op) < 2 || int64_t(cachedRows.size()) == maxRows)
      continue;
    Type element = elementwise::computeType(elementOf(op.getResult(0)));
    auto memory = builder.create<memref::AllocaOp>(
        loc, MemRefType::get({cols}, element),
        builder.getI64IntegerAttr(plan::alignment));
    cachedRows[op.getResult(0)] = {memory};
  }
}

void RowKernelEmitter::endSweep() {
  for (auto &entry : cachedRows)
    entry.second.filled |= entry.second.made;
}

/// Asks for the same columns of the next row, so that its first sweep finds
/// them: rows of one kernel follow each other in memory.
void RowKernelEmitter::prefetchNextRow(Point &at) {
  constexpr int64_t cacheBytes = 1 << 20;
  if (!at.row || space->cols() % lanes != 0)
    return;
  auto isRead = [&](BlockArgument argument) {
    int64_t width = elementByteWidth(elementOf(argument));
    return role(argument) == Role::Full && !argument.use_empty() &&
           space->rows() * space->cols() * width > cacheBytes;
  };
  ArrayRef<BlockArgument> arguments = launch.getBodyBlock().getArguments();
  if (llvm::none_of(arguments, isRead))
    return;
  for (BlockArgument argument : arguments) {
    if (!isRead(argument))
      continue;
    Value buffer = bufferOf(argument);
    auto part = strided.find(buffer);
    int64_t stride =
        part == strided.end() ? space->cols() : part->second.stride;
    Value next = add(offsetIn(buffer, at.row, at.col), stride);
    builder.create<memref::PrefetchOp>(loc, buffer, next, /*isWrite=*/false,
                                       /*localityHint=*/3,
                                       /*isDataCache=*/true);
  }
}

/// The accumulators of all slots as one number: a tree of slots, then of lanes.
Value RowKernelEmitter::foldSlots(ReduceOp op, ArrayRef<Value> slots) {
  auto combine = [&](Value a, Value b) {
    return elementwise::combine(builder, loc, op.getKind(), a, b);
  };
  Value total =
      combine(combine(slots[0], slots[1]), combine(slots[2], slots[3]));
  return elementwise::reduceLanes(builder, loc, op.getKind(), total);
}

/// One sweep that makes several row reductions of the same level.
void RowKernelEmitter::emitReductions(ArrayRef<ReduceOp> reductions,
                                      Value row) {
  SmallVector<Value> inits, sums;
  for (ReduceOp reduce : reductions)
    inits.append(unroll, broadcast(identity(reduce)));
  emitColumns(
      inits,
      [&](Point &at, ValueRange accumulators, int64_t slot) {
        SmallVector<Value> next(accumulators);
        for (auto [position, reduce] : llvm::enumerate(reductions))
          accumulate(reduce, at, next[position * unroll + slot]);
        return next;
      },
      row, sums);
  for (auto [position, reduce] : llvm::enumerate(reductions)) {
    Value sum = foldSlots(
        reduce, ArrayRef<Value>(sums).slice(position * unroll, unroll));
    Value result = ReduceOp(reduce).getResult();
    rowCache[result] = elementwise::cast(builder, loc, sum, elementOf(result));
  }
}

/// Adds the row's elements at a point to the chunk's row of each column sum.
void RowKernelEmitter::addToColumnSums(Point &at, Value chunk) {
  for (RowSum &sum : columnSums) {
    Value partial = flatIndex(chunk, at.col);
    Value before = loadVector(sum.op.getResult(), at, partial);
    Value after = builder.create<arith::AddFOp>(
        loc, before, vectorAt(sum.op.getOperand(), at));
    storeVector(after, sum.scratch, partial, at.mask);
  }
}

/// The sweep that writes `full`, adds to column sums, and to the totals of
/// whole rows (their numbers in totalSums), and finds largest magnitudes.
void RowKernelEmitter::emitLastSweep(ArrayRef<std::pair<Value, Value>> full,
                                     ArrayRef<size_t> wideTotals, Value row,
                                     Value chunk,
                                     SmallVectorImpl<Value> &totals) {
  SmallVector<Value> inits, sums;
  for (size_t position : wideTotals)
    inits.append(unroll, broadcast(identity(totalSums[position].op)));
  size_t firstBits = inits.size();
  inits.append(magnitudes.size(), zeroBits());
  emitColumns(
      inits,
      [&](Point &at, ValueRange accumulators, int64_t slot) {
        SmallVector<Value> next(accumulators);
        // All reads of the row before all writes: a result may lie on an
        // operand.
        SmallVector<Value> data;
        for (auto [value, buffer] : full)
          data.push_back(vectorAt(value, at));
        for (RowSum &sum : columnSums)
          vectorAt(sum.op.getOperand(), at);
        for (auto [number, position] : llvm::enumerate(wideTotals))
          accumulate(totalSums[position].op, at, next[number * unroll + slot]);
        for (auto [number, largest] : llvm::enumerate(magnitudes))
          accumulate(largest.op, at, next[firstBits + number]);
        if (!levels.empty() && !at.mask)
          prefetchNextRow(at);
        for (auto [pair, vector] : llvm::zip(full, data))
          storeVector(vector, pair.second,
                      offsetIn(pair.second, at.row, at.col), at.mask);
        addToColumnSums(at, chunk);
        return next;
      },
      row, sums);
  for (auto [number, position] : llvm::enumerate(wideTotals)) {
    ReduceOp op = totalSums[position].op;
    Value total =
        foldSlots(op, ArrayRef<Value>(sums).slice(number * unroll, unroll));
    totals[position] = elementwise::combine(builder, loc, op.getKind(),
                                            totals[position], total);
  }
  for (size_t number = 0; number != magnitudes.size(); ++number) {
    Value &total = totals[totalSums.size() + number];
    total = builder.create<arith::MaxUIOp>(
        loc, total, largestLane(sums[firstBits + number]));
  }
}

/// Writes results and adds to sums, once every row reduction is known.
void RowKernelEmitter::emitOutputs(Value row, Value chunk,
                                   SmallVectorImpl<Value> &totals) {
  SmallVector<std::pair<Value, Value>> full;
  for (auto [value, buffer] : outputs)
    if (isSplat(value) || role(value) == Role::Full)
      full.emplace_back(value, buffer);
  SmallVector<size_t> wideTotals;
  for (auto [position, sum] : llvm::enumerate(totalSums))
    if (role(sum.op.getOperand()) == Role::Full)
      wideTotals.push_back(position);
  if (!full.empty() || !columnSums.empty() || !wideTotals.empty() ||
      !magnitudes.empty())
    emitLastSweep(full, wideTotals, row, chunk, totals);
  for (auto [position, sum] : llvm::enumerate(totalSums))
    if (role(sum.op.getOperand()) == Role::Row)
      totals[position] =
          elementwise::combine(builder, loc, sum.op.getKind(), totals[position],
                               rowValue(sum.op.getOperand(), row));
  for (auto [value, buffer] : outputs)
    if (!isSplat(value) && role(value) == Role::Row)
      storeScalar(rowValue(value, row), buffer, rowOffsetIn(buffer, row));
}

void RowKernelEmitter::emitRow(Value row, Value chunk,
                               SmallVectorImpl<Value> &totals) {
  rowCache.clear();
  for (auto &entry : cachedRows)
    entry.second.made = entry.second.filled = false;
  SmallVector<SmallVector<ReduceOp>> sweeps = reductionsBySweep();
  for (auto [sweep, reductions] : llvm::enumerate(sweeps)) {
    makeRowValues(row, sweep);
    if (!reductions.empty())
      emitReductions(reductions, row);
    endSweep();
  }
  makeRowValues(row, sweeps.size());
  emitOutputs(row, chunk, totals);
}
