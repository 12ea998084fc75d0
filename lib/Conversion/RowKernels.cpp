//===- RowKernels.cpp - Kernels for maps and row reductions ---------------===//

#include "hone/Conversion/RowKernels.h"

#include "RowKernelEmitter.h"

#include "PointOps.h"
#include "hone/Conversion/Philox.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;

LogicalResult RowKernelEmitter::prepare(StringRef name) {
  Block &body = launch.getBodyBlock();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  space = RowSpace::find(ops);
  if (!space)
    return launch.emitOpError("fits no row space");

  // One-dimensional memrefs of all elements; bools are bytes.
  SmallVector<Type> types;
  auto flat = [&](Value buffer) {
    auto type = cast<MemRefType>(buffer.getType());
    Type element = type.getElementType();
    if (element.isInteger(1))
      element = builder.getI8Type();
    types.push_back(MemRefType::get({type.getNumElements()}, element));
  };
  for (Value buffer : launch.getOperands())
    flat(buffer);
  types.push_back(builder.getIndexType());
  types.push_back(builder.getIndexType());
  func = builder.create<func::FuncOp>(loc, name,
                                      builder.getFunctionType(types, {}));
  Block *entry = func.addEntryBlock();
  unsigned next = 0;
  for (BlockArgument argument : body.getArguments())
    buffers[argument] = entry->getArgument(next++);
  unsigned scratch = launch.getInputs().size() + launch.getOutputs().size();
  for (Value yielded : body.getTerminator()->getOperands()) {
    Value memref = entry->getArgument(next++);
    Role yieldedRole = role(yielded);
    if (yieldedRole == Role::ColumnSum || yieldedRole == Role::TotalSum) {
      Sum sum = {yielded.getDefiningOp<ReduceOp>(), memref,
                 entry->getArgument(scratch++)};
      (yieldedRole == Role::ColumnSum ? columnSums : totalSums).push_back(sum);
      continue;
    }
    hasScalarOutput |= yieldedRole == Role::Scalar;
    outputs.emplace_back(yielded, memref);
  }
  lo = entry->getArgument(types.size() - 2);
  hi = entry->getArgument(types.size() - 1);
  builder.setInsertionPointToStart(entry);
  return success();
}

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

/// Number of sweeps that must have ended before `value` can be made.
int64_t RowKernelEmitter::level(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  auto found = levels.find(value);
  if (found != levels.end())
    return found->second;
  int64_t result = 0;
  for (Value operand : op->getOperands())
    result = std::max(result, level(operand));
  if (auto reduce = dyn_cast<ReduceOp>(op); reduce && role(value) == Role::Row)
    ++result;
  levels[value] = result;
  return result;
}

Value RowKernelEmitter::identity(ReduceOp op) {
  return pointops::identity(builder, loc, op.getKind(), elementOf(op));
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

/// Makes every value per row that `sweep` may use, before its loops: what is
/// made inside a loop is not visible after it.
void RowKernelEmitter::makeRowValues(Value row, int64_t sweep) {
  Block &body = launch.getBodyBlock();
  auto make = [&](Value value) {
    if (!isSplat(value) && role(value) == Role::Row && level(value) <= sweep)
      rowValue(value, row);
  };
  llvm::for_each(body.getArguments(), make);
  for (Operation &op : body.without_terminator())
    llvm::for_each(op.getResults(), make);
}

/// Whether making a value again costs more than reading it from the stack.
static bool isCostly(Operation *op) {
  return isa<DropoutOp, GeluOp, GeluBwdOp, ExpOp, LogOp, TanhOp, ErfOp,
             LogisticOp, SinOp, CosOp, PowOp>(op);
}

/// The costly Full values that making `value` makes.
void RowKernelEmitter::collectCostly(Value value,
                                     llvm::SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || isSplat(value) || role(value) != Role::Full)
    return;
  if (isCostly(op) && !seen.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    collectCostly(operand, seen);
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
      collectCostly(reduce.getOperand(), sweeps[sweep]);
      last = std::max(last, sweep + 1);
    }
  for (Value yielded : launch.getBodyBlock().getTerminator()->getOperands()) {
    Value value = yielded;
    if (auto reduce = value.getDefiningOp<ReduceOp>())
      value = reduce.getOperand();
    collectCostly(value, sweeps[last]);
  }
  DenseMap<Operation *, int64_t> readers;
  for (auto &[sweep, costly] : sweeps)
    for (Operation *op : costly)
      ++readers[op];
  // In program order: the order of a map is not that of the program.
  for (Operation &op : launch.getBodyBlock()) {
    if (readers.lookup(&op) < 2 || int64_t(cachedRows.size()) == maxRows)
      continue;
    Type element = pointops::computeType(elementOf(op.getResult(0)));
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
  int64_t bytes = space->rows() * space->cols() * int64_t(sizeof(float));
  if (!at.row || bytes <= cacheBytes || space->cols() % lanes != 0)
    return;
  Value next = builder.create<arith::AddIOp>(loc, flatIndex(at.row, at.col),
                                             index(space->cols()));
  for (BlockArgument argument : launch.getBodyBlock().getArguments())
    if (role(argument) == Role::Full && !argument.use_empty())
      builder.create<memref::PrefetchOp>(loc, bufferOf(argument), next,
                                         /*isWrite=*/false,
                                         /*localityHint=*/3,
                                         /*isDataCache=*/true);
}

/// One sweep that makes several row reductions of the same level.
void RowKernelEmitter::emitReductions(ArrayRef<ReduceOp> reductions,
                                      Value row) {
  SmallVector<Value> inits;
  for (ReduceOp reduce : reductions)
    inits.append(unroll, broadcast(identity(reduce)));
  SmallVector<Value> sums;
  emitColumns(
      inits,
      [&](Point &at, ValueRange accumulators, int64_t slot) {
        SmallVector<Value> next(accumulators);
        for (size_t position = 0; position != reductions.size(); ++position) {
          ReduceOp reduce = reductions[position];
          Value data = vectorAt(reduce.getOperand(), at);
          if (at.mask)
            data = builder.create<arith::SelectOp>(loc, at.mask, data,
                                                   broadcast(identity(reduce)));
          Value &accumulator = next[position * unroll + slot];
          accumulator = pointops::combine(builder, loc, reduce.getKind(),
                                          accumulator, data);
        }
        return next;
      },
      row, sums);
  for (size_t position = 0; position != reductions.size(); ++position) {
    ReduceOp reduce = reductions[position];
    auto combine = [&](Value a, Value b) {
      return pointops::combine(builder, loc, reduce.getKind(), a, b);
    };
    Value *slots = &sums[position * unroll];
    Value total =
        combine(combine(slots[0], slots[1]), combine(slots[2], slots[3]));
    rowCache[reduce.getResult()] =
        pointops::reduceLanes(builder, loc, reduce.getKind(), total);
  }
}

/// The last sweep: writes results, adds to sums.
void RowKernelEmitter::emitOutputs(Value row, Value chunk,
                                   SmallVectorImpl<Value> &totals) {
  SmallVector<std::pair<Value, Value>> full;
  for (auto [value, buffer] : outputs)
    if (isSplat(value) || role(value) == Role::Full)
      full.emplace_back(value, buffer);
  SmallVector<size_t> wideTotals; // totals of whole rows
  for (auto [position, sum] : llvm::enumerate(totalSums))
    if (role(sum.op.getOperand()) == Role::Full)
      wideTotals.push_back(position);
  if (!full.empty() || !columnSums.empty() || !wideTotals.empty()) {
    SmallVector<Value> inits, sums;
    for (size_t position : wideTotals)
      inits.append(unroll, broadcast(identity(totalSums[position].op)));
    emitColumns(
        inits,
        [&](Point &at, ValueRange accumulators, int64_t slot) {
          SmallVector<Value> next(accumulators);
          // All reads of the row before all writes: a result may lie on an
          // operand.
          SmallVector<Value> data;
          for (auto [value, buffer] : full)
            data.push_back(vectorAt(value, at));
          for (Sum &sum : columnSums)
            vectorAt(sum.op.getOperand(), at);
          for (auto [number, position] : llvm::enumerate(wideTotals)) {
            ReduceOp op = totalSums[position].op;
            Value term = vectorAt(op.getOperand(), at);
            if (at.mask)
              term = builder.create<arith::SelectOp>(loc, at.mask, term,
                                                     broadcast(identity(op)));
            Value &accumulator = next[number * unroll + slot];
            accumulator = pointops::combine(builder, loc, op.getKind(),
                                            accumulator, term);
          }
          Value offset = flatIndex(at.row, at.col);
          if (!levels.empty() && !at.mask)
            prefetchNextRow(at);
          for (auto [pair, vector] : llvm::zip(full, data))
            storeVector(vector, pair.second, offset, at.mask);
          for (Sum &sum : columnSums) {
            Value partial = flatIndex(chunk, at.col);
            buffers[sum.op.getResult()] = sum.scratch;
            Value before = loadVector(sum.op.getResult(), at, partial);
            Value after = builder.create<arith::AddFOp>(
                loc, before, vectorAt(sum.op.getOperand(), at));
            storeVector(after, sum.scratch, partial, at.mask);
          }
          return next;
        },
        row, sums);
    for (auto [number, position] : llvm::enumerate(wideTotals)) {
      ReduceOp op = totalSums[position].op;
      Value *slots = &sums[number * unroll];
      auto combine = [&](Value a, Value b) {
        return pointops::combine(builder, loc, op.getKind(), a, b);
      };
      Value total =
          combine(combine(slots[0], slots[1]), combine(slots[2], slots[3]));
      totals[position] =
          combine(totals[position],
                  pointops::reduceLanes(builder, loc, op.getKind(), total));
    }
  }
  for (auto [position, sum] : llvm::enumerate(totalSums))
    if (role(sum.op.getOperand()) == Role::Row)
      totals[position] =
          pointops::combine(builder, loc, sum.op.getKind(), totals[position],
                            rowValue(sum.op.getOperand(), row));
  for (auto [value, buffer] : outputs)
    if (!isSplat(value) && role(value) == Role::Row)
      storeScalar(rowValue(value, row), buffer, row);
}

void RowKernelEmitter::emitRow(Value row, Value chunk,
                               SmallVectorImpl<Value> &totals) {
  rowCache.clear();
  for (auto &entry : cachedRows)
    entry.second.made = entry.second.filled = false;
  int64_t last = 0;
  SmallVector<SmallVector<ReduceOp>> sweeps;
  for (auto reduce : launch.getBodyBlock().getOps<ReduceOp>()) {
    if (role(reduce.getResult()) != Role::Row)
      continue;
    int64_t sweep = level(reduce.getOperand());
    if (int64_t(sweeps.size()) <= sweep)
      sweeps.resize(sweep + 1);
    sweeps[sweep].push_back(reduce);
    last = std::max(last, sweep + 1);
  }
  for (auto [sweep, reductions] : llvm::enumerate(sweeps)) {
    makeRowValues(row, sweep);
    if (!reductions.empty())
      emitReductions(reductions, row);
    endSweep();
  }
  makeRowValues(row, last);
  emitOutputs(row, chunk, totals);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Items too small to be worth a thread share one: about 8k elements.
static int64_t grainFor(int64_t elementsPerItem) {
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, elementsPerItem));
}

/// A map in which every value is Full or one scalar: blocks of 64 elements,
/// whatever the rows.
Kernel RowKernelEmitter::emitFlat() {
  int64_t total = space->rows() * space->cols();
  int64_t block = lanes * unroll;
  int64_t whole = total / block;
  int64_t items = llvm::divideCeil(total, block);
  auto emitAt = [&](Value first, int64_t width, Value mask) {
    for (int64_t slot = 0; slot * lanes < width; ++slot) {
      Point at;
      at.col = add(first, slot * lanes);
      at.mask = mask;
      SmallVector<Value> data;
      for (auto [value, buffer] : outputs)
        data.push_back(vectorAt(value, at));
      for (auto [pair, vector] : llvm::zip(outputs, data))
        storeVector(vector, pair.second, at.col, mask);
    }
  };
  Value end = builder.create<arith::MinUIOp>(loc, hi, index(whole));
  builder.create<scf::ForOp>(
      loc, lo, end, index(1), ValueRange(),
      [&](OpBuilder &, Location, Value item, ValueRange) {
        emitAt(builder.create<arith::MulIOp>(loc, item, index(block)), block,
               Value());
        builder.create<scf::YieldOp>(loc);
      });
  if (whole != items) {
    // The rest, in the range that holds the last item.
    Value isLast = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                 hi, index(items));
    builder.create<scf::IfOp>(loc, isLast, [&](OpBuilder &, Location) {
      int64_t first = whole * block;
      for (; first + lanes <= total; first += lanes)
        emitAt(index(first), lanes, Value());
      if (first < total) {
        Value mask = maskOfFirst(total - first);
        emitAt(index(first), lanes, mask);
      }
      builder.create<scf::YieldOp>(loc);
    });
  }
  builder.create<func::ReturnOp>(loc);
  return {func, items, grainFor(block)};
}

Kernel RowKernelEmitter::emitRows() {
  planRowCache();
  builder.create<scf::ForOp>(loc, lo, hi, index(1), ValueRange(),
                             [&](OpBuilder &, Location, Value row, ValueRange) {
                               SmallVector<Value> totals;
                               emitRow(row, Value(), totals);
                               builder.create<scf::YieldOp>(loc);
                             });
  builder.create<func::ReturnOp>(loc);
  return {func, space->rows(), grainFor(space->cols())};
}

Kernel RowKernelEmitter::emitChunks() {
  planRowCache();
  int64_t rows = space->rows(), perChunk = rowsPerChunk(rows);
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
                for (Sum &sum : columnSums)
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
        SmallVector<Value> inits;
        for (Sum &sum : totalSums)
          inits.push_back(identity(sum.op));
        auto loop = builder.create<scf::ForOp>(
            loc, first, last, index(1), inits,
            [&](OpBuilder &, Location, Value row, ValueRange carried) {
              SmallVector<Value> totals(carried);
              emitRow(row, chunk, totals);
              builder.create<scf::YieldOp>(loc, totals);
            });
        for (auto [sum, total] : llvm::zip(totalSums, loop.getResults()))
          storeScalar(total, sum.scratch, chunk);
        builder.create<scf::YieldOp>(loc);
      });
  builder.create<func::ReturnOp>(loc);
  return {func, numChunks(rows), grainFor(perChunk * space->cols())};
}

Kernel RowKernelEmitter::emitMain() {
  Block &body = launch.getBodyBlock();
  for (auto dropout : body.getOps<DropoutOp>()) {
    Value &key = keys[dropout.getRng()];
    if (!key)
      key = emitPhiloxKey(builder, loc, bufferOf(dropout.getRng()));
  }
  // Scalars are made once, before any loop; who gets the first item stores
  // those that are results.
  for (Operation &op : body.without_terminator())
    for (Value result : op.getResults())
      if (!isSplat(result) && role(result) == Role::Scalar)
        rowValue(result, Value());
  for (Value argument : body.getArguments())
    if (role(argument) == Role::Scalar)
      rowValue(argument, Value());
  if (hasScalarOutput) {
    Value isFirst = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                  lo, index(0));
    builder.create<scf::IfOp>(loc, isFirst, [&](OpBuilder &, Location) {
      for (auto [value, buffer] : outputs)
        if (!isSplat(value) && role(value) == Role::Scalar)
          storeScalar(rowValue(value, Value()), buffer, index(0));
      builder.create<scf::YieldOp>(loc);
    });
  }
  llvm::erase_if(outputs, [&](auto pair) {
    return !isSplat(pair.first) && role(pair.first) == Role::Scalar;
  });
  if (space->hasPartialSums())
    return emitChunks();
  bool flat = !space->hasReduction() && body.getOps<IotaOp>().empty();
  auto isFlat = [&](Value value) {
    Role own = role(value);
    return isSplat(value) || own == Role::Full || own == Role::Scalar ||
           own == Role::Key;
  };
  for (Operation &op : body.without_terminator())
    flat &= llvm::all_of(op.getOperands(), isFlat) &&
            llvm::all_of(op.getResults(), isFlat);
  return flat ? emitFlat() : emitRows();
}

Kernel RowKernelEmitter::emitSums() {
  int64_t cols = space->cols(), chunks = numChunks(space->rows());
  int64_t items = std::max<int64_t>(1, llvm::divideCeil(cols, lanes));
  if (columnSums.empty())
    items = 1;
  auto sumBlock = [&](Value col, Value mask) {
    for (Sum &sum : columnSums) {
      Point at;
      at.mask = mask;
      buffers[sum.op.getResult()] = sum.scratch;
      auto loop = builder.create<scf::ForOp>(
          loc, index(0), index(chunks), index(1),
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
  };
  if (!columnSums.empty()) {
    int64_t whole = cols / lanes;
    Value end = builder.create<arith::MinUIOp>(loc, hi, index(whole));
    builder.create<scf::ForOp>(
        loc, lo, end, index(1), ValueRange(),
        [&](OpBuilder &, Location, Value item, ValueRange) {
          sumBlock(builder.create<arith::MulIOp>(loc, item, index(lanes)),
                   Value());
          builder.create<scf::YieldOp>(loc);
        });
    if (cols % lanes != 0) {
      Value isLast = builder.create<arith::CmpIOp>(
          loc, arith::CmpIPredicate::eq, hi, index(items));
      builder.create<scf::IfOp>(loc, isLast, [&](OpBuilder &, Location) {
        Value mask = maskOfFirst(cols % lanes);
        sumBlock(index(whole * lanes), mask);
        builder.create<scf::YieldOp>(loc);
      });
    }
  }
  if (!totalSums.empty()) {
    Value isFirst = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                  lo, index(0));
    builder.create<scf::IfOp>(loc, isFirst, [&](OpBuilder &, Location) {
      for (Sum &sum : totalSums) {
        buffers[sum.op.getResult()] = sum.scratch;
        auto loop = builder.create<scf::ForOp>(
            loc, index(0), index(chunks), index(1),
            ValueRange(identity(sum.op)),
            [&](OpBuilder &, Location, Value chunk, ValueRange carried) {
              Value next = pointops::combine(
                  builder, loc, sum.op.getKind(), carried.front(),
                  loadScalar(sum.op.getResult(), chunk));
              builder.create<scf::YieldOp>(loc, next);
            });
        storeScalar(loop.getResult(0), sum.output, index(0));
      }
      builder.create<scf::YieldOp>(loc);
    });
  }
  builder.create<func::ReturnOp>(loc);
  return {func, items, grainFor(chunks * lanes)};
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
