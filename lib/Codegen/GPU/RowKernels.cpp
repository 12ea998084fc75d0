//===- RowKernels.cpp - Maps and row reductions on a GPU ------------------===//

#include "RowKernels.h"

#include "Magnitudes.h"
#include "RowEmitter.h"

#include "Codegen/Common/ElementwiseArith.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// A row
//===----------------------------------------------------------------------===//

Point DeviceRowEmitter::pointAt(Value row, Value vector, Value mask) {
  Point at;
  at.row = row;
  at.col = builder.create<arith::MulIOp>(loc, vector, index(lanes));
  at.mask = mask;
  return at;
}

/// Runs `body(point, carried, number)` at each vector of the row that this
/// thread has.
void DeviceRowEmitter::forTiles(Value row, Values &carried, PointBody body) {
  if (shape.isHeld) {
    for (auto [number, at] : llvm::enumerate(tiles))
      body(at, carried, number);
    return;
  }
  sweep(row, carried, body);
}

/// The vectors of a row that is held, with nothing made yet.
void DeviceRowEmitter::startRow(Value row) {
  rowCache.clear();
  tiles.clear();
  if (!shape.isHeld)
    return;
  int64_t width = shape.rowThreads * shape.columnTiles;
  for (int64_t tile = 0; tile < shape.tiles; ++tile) {
    Value vector = thread;
    if (firstVector)
      vector = builder.create<arith::AddIOp>(loc, vector, firstVector);
    vector = add(vector, tile * shape.rowThreads);
    bool isInside = (tile + 1) * width <= shape.vectors;
    tiles.push_back(
        pointAt(row, vector, isInside ? Value() : less(vector, shape.vectors)));
  }
}

/// Joins the lanes of each thread's accumulators, then the threads of a row.
SmallVector<Value> DeviceRowEmitter::joinThreads(ArrayRef<ReduceKind> kinds,
                                                 ArrayRef<Value> accumulators) {
  SmallVector<DeviceThreads::Partial> partials;
  for (auto [kind, vector] : llvm::zip(kinds, accumulators))
    partials.push_back(
        {kind, elementwise::reduceLanes(builder, loc, kind, vector)});
  return threads.reduce(partials, shape.rowWarps());
}

/// One sweep that makes several row reductions of the same level.
void DeviceRowEmitter::emitReductions(ArrayRef<ReduceOp> reductions,
                                      Value row) {
  Values sums;
  SmallVector<ReduceKind> kinds;
  for (ReduceOp reduce : reductions) {
    sums.push_back(broadcast(identity(reduce)));
    kinds.push_back(reduce.getKind());
  }
  forTiles(row, sums, [&](Point &at, Values &carried, int64_t) {
    for (auto [position, reduce] : llvm::enumerate(reductions))
      accumulate(reduce, at, carried[position]);
  });
  SmallVector<Value> totals = joinThreads(kinds, sums);
  for (auto [reduce, total] : llvm::zip(reductions, totals)) {
    Value result = ReduceOp(reduce).getResult();
    rowCache[result] =
        elementwise::cast(builder, loc, total, elementOf(result));
  }
}

/// Every row reduction, and every value per row.
void DeviceRowEmitter::emitSweeps(Value row) {
  startRow(row);
  SmallVector<SmallVector<ReduceOp>> sweeps = reductionsBySweep();
  for (auto [sweep, reductions] : llvm::enumerate(sweeps)) {
    makeRowValues(row, sweep);
    if (!shape.isHeld)
      takeNormalizer(sweeps, sweep, row);
    if (!reductions.empty())
      emitReductions(reductions, row);
  }
  makeRowValues(row, sweeps.size());
}

/// Writes the results with an element per point.
void DeviceRowEmitter::storeFull(Point &at) {
  // All reads before all writes: a result may lie on an operand.
  SmallVector<Value> data;
  for (auto [value, buffer] : outputs)
    data.push_back(isFull(value) ? vectorAt(value, at) : Value());
  emitIf(at.mask, [&] {
    for (auto [pair, vector] : llvm::zip(outputs, data))
      if (vector)
        storeVector(vector, pair.second, elementOf(pair.first),
                    offsetIn(pair.second, at.row, at.col));
  });
}

/// Writes the results with an element per row, by the thread for which
/// `isFirst` holds.
void DeviceRowEmitter::storeRowResults(Value row, Value isFirst) {
  auto isRow = [&](auto pair) {
    return !isSplat(pair.first) && role(pair.first) == Role::Row;
  };
  if (llvm::none_of(outputs, isRow))
    return;
  if (shape.writesRowOperand)
    threads.barrier(); // all have read
  emitIf(isFirst, [&] {
    for (auto pair : outputs)
      if (isRow(pair))
        storeScalar(rowValue(pair.first, row), pair.second,
                    elementOf(pair.first), rowOffsetIn(pair.second, row));
  });
}

void DeviceRowEmitter::addMagnitudes(Point &at, MutableArrayRef<Value> bits) {
  for (auto [own, largest] : llvm::zip_equal(bits, magnitudes))
    accumulate(largest.op, at, own);
}

/// Raises the results to what the threads of a warp have found, all of which
/// are here.
void DeviceRowEmitter::storeMagnitudes(ArrayRef<Value> bits) {
  DeviceBuilder b(builder, loc);
  for (auto [own, largest] : llvm::zip_equal(bits, magnitudes))
    magnitude::raiseByWarp(b, largestLane(own), largest.output);
}

//===----------------------------------------------------------------------===//
// Maps and rows
//===----------------------------------------------------------------------===//

/// Makes a vector of all rows; returns its magnitudes.
DeviceRowEmitter::Values DeviceRowEmitter::emitItem(Value item) {
  Values largest = startMagnitudes();
  if (shape.form == DeviceForm::flat) {
    Point at = pointAt(Value(), item, Value());
    storeFull(at);
    addMagnitudes(at, largest);
    return largest;
  }
  Value count = index(shape.vectors);
  Value row = builder.create<arith::DivUIOp>(loc, item, count);
  Value vector = builder.create<arith::RemUIOp>(loc, item, count);
  makeRowValues(row, 0);
  Point at = pointAt(row, vector, Value());
  storeFull(at);
  addMagnitudes(at, largest);
  storeRowResults(row, isZero(vector));
  return largest;
}

void DeviceRowEmitter::emitMap() {
  Value block = threads.blockNumber(), number = threads.threadNumber();
  Value first = builder.create<arith::MulIOp>(loc, block, index(shape.threads));
  Value item = builder.create<arith::AddIOp>(loc, first, number);
  bool isFlat = shape.form == DeviceForm::flat;
  int64_t items = shape.vectors * (isFlat ? 1 : space->rows());
  bool isWhole = items == shape.blocks * shape.threads;
  if (isWhole)
    return storeMagnitudes(emitItem(item));
  Values none = startMagnitudes();
  auto branch = builder.create<scf::IfOp>(
      loc, less(item, items),
      [&](OpBuilder &, Location) {
        builder.create<scf::YieldOp>(loc, emitItem(item));
      },
      [&](OpBuilder &, Location) { builder.create<scf::YieldOp>(loc, none); });
  storeMagnitudes(Values(branch.getResults()));
}

void DeviceRowEmitter::emitRows() {
  Value row = threads.blockNumber();
  thread = threads.threadNumber();
  int64_t perBlock = shape.rowsPerBlock();
  if (perBlock > 1) {
    Value size = index(warpSize);
    Value first = builder.create<arith::MulIOp>(loc, row, index(perBlock));
    Value warp = builder.create<arith::DivUIOp>(loc, thread, size);
    row = builder.create<arith::AddIOp>(loc, first, warp);
    thread = builder.create<arith::RemUIOp>(loc, thread, size);
  }
  bool isWhole = space->rows() == shape.blocks * perBlock;
  emitIf(isWhole ? Value() : less(row, space->rows()), [&] {
    emitSweeps(row);
    Values largest = startMagnitudes();
    forTiles(row, largest, [&](Point &at, Values &carried, int64_t) {
      storeFull(at);
      addMagnitudes(at, carried);
    });
    storeMagnitudes(largest);
    storeRowResults(row, isZero(thread));
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Scalars that are results: one thread of all writes them.
LogicalResult DeviceRowEmitter::storeScalars() {
  auto isScalar = [&](auto pair) { return isMadeScalar(pair.first); };
  if (llvm::none_of(outputs, isScalar))
    return success();
  if (shape.writesRowOperand) {
    if (shape.blocks > 1)
      return launch.emitOpError(
          "writes a scalar over an operand that other blocks read");
    threads.barrier(); // all have read
  }
  Value isFirst = builder.create<arith::AndIOp>(
      loc, isZero(threads.blockNumber()), isZero(threads.threadNumber()));
  emitIf(isFirst, [&] {
    for (auto pair : outputs)
      if (isScalar(pair))
        storeScalar(rowValue(pair.first, Value()), pair.second,
                    elementOf(pair.first), index(0));
  });
  return success();
}

SmallVector<Type> DeviceRowEmitter::addressTypes() {
  return SmallVector<Type>(launch->getNumOperands(),
                           LLVM::LLVMPointerType::get(builder.getContext()));
}

FailureOr<GridKernel> DeviceRowEmitter::emitMain(StringRef name) {
  gpu::GPUFuncOp func = threads.begin(name, addressTypes(), shape.threads);
  if (failed(bind(func.getArguments())))
    return failure();
  makeScalars();
  switch (shape.form) {
  case DeviceForm::flat:
  case DeviceForm::map:
    emitMap();
    break;
  case DeviceForm::rows:
    emitRows();
    break;
  case DeviceForm::chunks:
    emitChunks();
    break;
  }
  if (failed(storeScalars()) || failed(checkBuffers()))
    return failure();
  if (shape.isVectorised)
    func->setAttr(attr::vectorised, builder.getUnitAttr());
  return GridKernel{func, shape.blocks, shape.threads};
}

/// How threads share the launch, or an error at it.
static FailureOr<DeviceRowShape> rowShapeOf(plan::LaunchOp launch) {
  std::optional<RowSpace> space = RowSpace::of(launch.getBodyBlock());
  if (!space)
    return launch.emitOpError("fits no row space");
  return DeviceRowShape::of(launch, *space);
}

FailureOr<GridKernel> hone::emitDeviceRowKernel(OpBuilder &builder,
                                                StringRef name,
                                                plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  FailureOr<DeviceRowShape> shape = rowShapeOf(launch);
  if (failed(shape))
    return failure();
  return DeviceRowEmitter(builder, launch, *shape).emitMain(name);
}

FailureOr<GridKernel> hone::emitDevicePartialSums(OpBuilder &builder,
                                                  StringRef name,
                                                  plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  FailureOr<DeviceRowShape> shape = rowShapeOf(launch);
  if (failed(shape))
    return failure();
  return DeviceRowEmitter(builder, launch, *shape).emitSums(name);
}
