//===- RowKernels.cpp - Kernels for maps and row reductions ---------------===//
//
// A row is visited in sweeps: a sweep can use every row reduction of the
// sweeps before it, and the last one writes all results, so that a result may
// lie on an operand. Values are recomputed in each sweep that needs them; the
// row is in cache after the first. Sums use four accumulators per lane, one
// tree and one reassociated lane sum, whatever the target (docs/design.md).
//
//===----------------------------------------------------------------------===//

#include "hone/Conversion/RowKernels.h"

#include "PointOps.h"
#include "hone/Analysis/RowSpace.h"
#include "hone/Conversion/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t lanes = kernelLanes;
static constexpr int64_t unroll = 4;

namespace {

/// Where the code being emitted stands.
struct Point {
  Value row;           // index; the only row of a flat map is null
  Value col;           // index of the first lane
  Value mask;          // lanes inside the row, null when all are
  DenseMap<Value, Value> cache; // vectors made at this point
};

class RowKernelEmitter {
public:
  RowKernelEmitter(OpBuilder &builder, plan::LaunchOp launch)
      : builder(builder), launch(launch), loc(launch.getLoc()) {}

  LogicalResult prepare(StringRef name);
  Kernel emitMain();
  Kernel emitSums();

private:
  // Types and constants.
  Value index(int64_t value) {
    return builder.create<arith::ConstantIndexOp>(loc, value);
  }
  Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }
  VectorType vectorOf(Type element) { return VectorType::get(lanes, element); }
  Value add(Value a, int64_t b) {
    return b == 0 ? a : builder.create<arith::AddIOp>(loc, a, index(b));
  }
  Value broadcast(Value scalar) {
    return builder.create<vector::BroadcastOp>(
        loc, vectorOf(scalar.getType()), scalar);
  }

  // Memory.
  Value bufferOf(Value value) { return buffers.lookup(value); }
  Value loadVector(Value value, Point &at, Value offset);
  Value loadScalar(Value value, Value offset);
  void storeVector(Value data, Value buffer, Value offset, Value mask);
  void storeScalar(Value data, Value buffer, Value offset);
  Value flatIndex(Value row, Value col);

  // Values.
  Role role(Value value) { return space->role(value); }
  bool isSplat(Value value);
  Value splatVector(Value value);
  Value splatScalar(Value value);
  Value vectorAt(Value value, Point &at);
  Value computeVector(Operation *op, Point &at);
  Value iotaVector(IotaOp op, Point &at);
  Value rowValue(Value value, Value row);
  Value computeScalar(Operation *op, Value row);
  Value iotaScalar(IotaOp op, Value row);
  Value dimIndex(RankedTensorType type, int64_t dim, Value row);

  // Sweeps.
  int64_t level(Value value);
  void makeRowValues(Value row, int64_t sweep);
  void emitColumns(ArrayRef<Value> inits,
                   function_ref<SmallVector<Value>(Point &, ValueRange,
                                                   int64_t)> body,
                   Value row, SmallVectorImpl<Value> &results);
  void emitReductions(ArrayRef<ReduceOp> reductions, Value row);
  void emitOutputs(Value row, Value chunk, SmallVectorImpl<Value> &totals);
  void emitRow(Value row, Value chunk, SmallVectorImpl<Value> &totals);
  Kernel emitFlat();
  Kernel emitRows();
  Kernel emitChunks();
  Value identity(ReduceOp op);

  struct Sum {
    ReduceOp op;
    Value output, scratch; // buffers
  };

  OpBuilder &builder;
  plan::LaunchOp launch;
  Location loc;
  std::optional<RowSpace> space;
  func::FuncOp func;
  Value lo, hi;
  DenseMap<Value, Value> buffers;   // block argument -> memref
  SmallVector<std::pair<Value, Value>> outputs; // yielded value, memref
  SmallVector<Sum> columnSums, totalSums;
  DenseMap<Value, int64_t> levels;
  DenseMap<Value, Value> scalars;   // made outside of the row loop
  DenseMap<Value, Value> rowCache;  // made in the current row
  DenseMap<Value, Value> keys;      // Philox keys
  bool hasScalarOutput = false;
};

} // namespace

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
  func = builder.create<func::FuncOp>(
      loc, name, builder.getFunctionType(types, {}));
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
// Memory
//===----------------------------------------------------------------------===//

Value RowKernelEmitter::loadVector(Value value, Point &at, Value offset) {
  Value buffer = bufferOf(value);
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  VectorType type = vectorOf(element);
  Value loaded;
  if (at.mask) {
    Value zero = builder.create<arith::ConstantOp>(loc,
                                                   builder.getZeroAttr(type));
    loaded = builder.create<vector::MaskedLoadOp>(loc, type, buffer, offset,
                                                  at.mask, zero);
  } else {
    loaded = builder.create<vector::LoadOp>(loc, type, buffer, offset);
  }
  return pointops::fromMemory(builder, loc, loaded, elementOf(value));
}

Value RowKernelEmitter::loadScalar(Value value, Value offset) {
  Value loaded =
      builder.create<memref::LoadOp>(loc, bufferOf(value), offset);
  return pointops::fromMemory(builder, loc, loaded, elementOf(value));
}

void RowKernelEmitter::storeVector(Value data, Value buffer, Value offset,
                                   Value mask) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  data = pointops::toMemory(builder, loc, data, element);
  if (mask)
    builder.create<vector::MaskedStoreOp>(loc, buffer, offset, mask, data);
  else
    builder.create<vector::StoreOp>(loc, data, buffer, offset);
}

void RowKernelEmitter::storeScalar(Value data, Value buffer, Value offset) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  data = pointops::toMemory(builder, loc, data, element);
  builder.create<memref::StoreOp>(loc, data, buffer, offset);
}

Value RowKernelEmitter::flatIndex(Value row, Value col) {
  if (!row)
    return col;
  Value start =
      builder.create<arith::MulIOp>(loc, row, index(space->cols()));
  return builder.create<arith::AddIOp>(loc, start, col);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool RowKernelEmitter::isSplat(Value value) {
  return value.getDefiningOp<ConstantOp>() != nullptr;
}

Value RowKernelEmitter::splatScalar(Value value) {
  auto dense =
      cast<DenseElementsAttr>(value.getDefiningOp<ConstantOp>().getValue());
  return pointops::constant(builder, loc,
                            cast<TypedAttr>(dense.getSplatValue<Attribute>()));
}

Value RowKernelEmitter::splatVector(Value value) {
  return broadcast(splatScalar(value));
}

/// Index along dimension `dim` of a tensor whose rows are its leading
/// dimensions.
Value RowKernelEmitter::dimIndex(RankedTensorType type, int64_t dim,
                                 Value row) {
  int64_t inner = 1;
  for (int64_t size : type.getShape().slice(dim + 1).drop_back())
    inner *= size;
  Value value = row;
  if (inner != 1)
    value = builder.create<arith::DivUIOp>(loc, value, index(inner));
  return builder.create<arith::RemUIOp>(loc, value,
                                        index(type.getDimSize(dim)));
}

static Value indexToElement(OpBuilder &builder, Location loc, Value value,
                            Type element) {
  Value integer =
      builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), value);
  return pointops::cast(builder, loc, integer, element);
}

Value RowKernelEmitter::iotaVector(IotaOp op, Point &at) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  bool last = int64_t(op.getDim()) == type.getRank() - 1;
  if (!last)
    return broadcast(indexToElement(
        builder, loc, dimIndex(type, op.getDim(), at.row), element));
  SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  VectorType i64 = vectorOf(builder.getI64Type());
  Value step = builder.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(i64, ArrayRef<int64_t>(steps)));
  Value first = builder.create<arith::IndexCastOp>(loc, builder.getI64Type(),
                                                   at.col);
  Value counter = builder.create<arith::AddIOp>(loc, broadcast(first), step);
  return pointops::cast(builder, loc, counter, element);
}

Value RowKernelEmitter::vectorAt(Value value, Point &at) {
  if (isSplat(value))
    return splatVector(value);
  if (Value known = at.cache.lookup(value))
    return known;
  Value result;
  Role own = role(value);
  if (own == Role::Row || own == Role::Scalar) {
    result = broadcast(rowValue(value, at.row));
  } else if (isa<BlockArgument>(value)) {
    Value offset;
    if (own == Role::Full) {
      offset = flatIndex(at.row, at.col);
    } else if (own == Role::Col) {
      offset = at.col;
    } else { // Cyclic
      Value row = builder.create<arith::RemUIOp>(loc, at.row,
                                                 index(space->period(value)));
      offset = flatIndex(row, at.col);
    }
    result = loadVector(value, at, offset);
  } else {
    result = computeVector(value.getDefiningOp(), at);
  }
  at.cache[value] = result;
  return result;
}

/// `a * b` of a sum that nothing else reads, for a fused multiply-add.
static MulOp productOf(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  return product && product->hasOneUse() &&
                 isa<FloatType>(getElementTypeOrSelf(value.getType()))
             ? product
             : MulOp();
}

Value RowKernelEmitter::computeVector(Operation *op, Point &at) {
  if (auto iota = dyn_cast<IotaOp>(op))
    return iotaVector(iota, at);
  if (isa<BroadcastOp, ReshapeOp>(op))
    return vectorAt(op->getOperand(0), at);
  if (auto dropout = dyn_cast<DropoutOp>(op)) {
    SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
    Value step = builder.create<arith::ConstantOp>(
        loc, DenseElementsAttr::get(vectorOf(builder.getI64Type()),
                                    ArrayRef<int64_t>(steps)));
    Value first = builder.create<arith::IndexCastOp>(
        loc, builder.getI64Type(), flatIndex(at.row, at.col));
    Value element =
        builder.create<arith::AddIOp>(loc, broadcast(first), step);
    Value salt = builder.create<arith::ConstantOp>(
        loc, builder.getI64IntegerAttr(dropout.getSalt()));
    Value word = emitPhiloxWord(builder, loc, element, salt,
                                keys.lookup(dropout.getRng()));
    return emitDropout(builder, loc, vectorAt(dropout.getInput(), at), word,
                       dropout.getP().convertToDouble());
  }
  if (auto sum = dyn_cast<AddOp>(op)) {
    for (auto [factor, addend] : {std::make_pair(sum.getLhs(), sum.getRhs()),
                                  std::make_pair(sum.getRhs(), sum.getLhs())})
      if (MulOp product = productOf(factor);
          product && role(product.getResult()) != Role::Row &&
          role(product.getResult()) != Role::Scalar) {
        Value a = vectorAt(product.getLhs(), at);
        Value b = vectorAt(product.getRhs(), at);
        return builder.create<math::FmaOp>(loc, a, b, vectorAt(addend, at));
      }
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(vectorAt(operand, at));
  return pointops::compute(builder, loc, op, operands);
}

Value RowKernelEmitter::iotaScalar(IotaOp op, Value row) {
  // A value per row has the rows as its dimensions.
  auto type = cast<RankedTensorType>(op.getType());
  int64_t inner = 1;
  for (int64_t size : type.getShape().drop_front(op.getDim() + 1))
    inner *= size;
  Value value = builder.create<arith::DivUIOp>(loc, row, index(inner));
  value = builder.create<arith::RemUIOp>(
      loc, value, index(type.getDimSize(op.getDim())));
  return indexToElement(builder, loc, value, type.getElementType());
}

/// A value of role Row (at `row`) or Scalar.
Value RowKernelEmitter::rowValue(Value value, Value row) {
  if (isSplat(value))
    return splatScalar(value);
  bool single = role(value) == Role::Scalar;
  DenseMap<Value, Value> &cache = single ? scalars : rowCache;
  if (Value known = cache.lookup(value))
    return known;
  Value result;
  if (isa<BlockArgument>(value))
    result = loadScalar(value, single ? index(0) : row);
  else
    result = computeScalar(value.getDefiningOp(), row);
  cache[value] = result;
  return result;
}

Value RowKernelEmitter::computeScalar(Operation *op, Value row) {
  if (auto iota = dyn_cast<IotaOp>(op))
    return iotaScalar(iota, row);
  if (isa<BroadcastOp, ReshapeOp>(op))
    return rowValue(op->getOperand(0), row);
  assert(!isa<ReduceOp>(op) && "reductions are made by their sweep");
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(rowValue(operand, row));
  return pointops::compute(builder, loc, op, operands);
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
    SmallVector<bool> bits(lanes, false);
    std::fill(bits.begin(), bits.begin() + (cols - full), true);
    at.mask = builder.create<arith::ConstantOp>(
        loc, DenseElementsAttr::get(vectorOf(builder.getI1Type()),
                                    ArrayRef<bool>(bits)));
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
            data = builder.create<arith::SelectOp>(
                loc, at.mask, data, broadcast(identity(reduce)));
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
              term = builder.create<arith::SelectOp>(
                  loc, at.mask, term, broadcast(identity(op)));
            Value &accumulator = next[number * unroll + slot];
            accumulator = pointops::combine(builder, loc, op.getKind(),
                                            accumulator, term);
          }
          Value offset = flatIndex(at.row, at.col);
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
      totals[position] = combine(
          totals[position],
          pointops::reduceLanes(builder, loc, op.getKind(), total));
    }
  }
  for (auto [position, sum] : llvm::enumerate(totalSums))
    if (role(sum.op.getOperand()) == Role::Row)
      totals[position] = pointops::combine(
          builder, loc, sum.op.getKind(), totals[position],
          rowValue(sum.op.getOperand(), row));
  for (auto [value, buffer] : outputs)
    if (!isSplat(value) && role(value) == Role::Row)
      storeScalar(rowValue(value, row), buffer, row);
}

void RowKernelEmitter::emitRow(Value row, Value chunk,
                               SmallVectorImpl<Value> &totals) {
  rowCache.clear();
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
  }
  makeRowValues(row, last);
  emitOutputs(row, chunk, totals);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Items too small to be worth a thread share one: about 8k elements.
static int64_t grainFor(int64_t elementsPerItem) {
  return std::max<int64_t>(
      1, 8192 / std::max<int64_t>(1, elementsPerItem));
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
    Value isLast = builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::eq, hi, index(items));
    builder.create<scf::IfOp>(loc, isLast, [&](OpBuilder &, Location) {
      int64_t first = whole * block;
      for (; first + lanes <= total; first += lanes)
        emitAt(index(first), lanes, Value());
      if (first < total) {
        SmallVector<bool> bits(lanes, false);
        std::fill(bits.begin(), bits.begin() + (total - first), true);
        Value mask = builder.create<arith::ConstantOp>(
            loc, DenseElementsAttr::get(vectorOf(builder.getI1Type()),
                                        ArrayRef<bool>(bits)));
        emitAt(index(first), lanes, mask);
      }
      builder.create<scf::YieldOp>(loc);
    });
  }
  builder.create<func::ReturnOp>(loc);
  return {func, items, grainFor(block)};
}

Kernel RowKernelEmitter::emitRows() {
  builder.create<scf::ForOp>(
      loc, lo, hi, index(1), ValueRange(),
      [&](OpBuilder &, Location, Value row, ValueRange) {
        SmallVector<Value> totals;
        emitRow(row, Value(), totals);
        builder.create<scf::YieldOp>(loc);
      });
  builder.create<func::ReturnOp>(loc);
  return {func, space->rows(), grainFor(space->cols())};
}

Kernel RowKernelEmitter::emitChunks() {
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
        Value last = builder.create<arith::MinUIOp>(
            loc, add(first, perChunk), index(rows));
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
    Value isFirst = builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::eq, lo, index(0));
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
            Value partial = loadVector(sum.op.getResult(), at,
                                       flatIndex(chunk, col));
            Value next = builder.create<arith::AddFOp>(
                loc, carried.front(), partial);
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
        SmallVector<bool> bits(lanes, false);
        std::fill(bits.begin(), bits.begin() + cols % lanes, true);
        Value mask = builder.create<arith::ConstantOp>(
            loc, DenseElementsAttr::get(vectorOf(builder.getI1Type()),
                                        ArrayRef<bool>(bits)));
        sumBlock(index(whole * lanes), mask);
        builder.create<scf::YieldOp>(loc);
      });
    }
  }
  if (!totalSums.empty()) {
    Value isFirst = builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::eq, lo, index(0));
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
