//===- SelectionKernels.cpp - Orders, and elements placed by index --------===//

#include "SelectionKernels.h"

#include "Codegen/CPU/LineKernels.h"
#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/KernelBuilder.h"
#include "Items.h"
#include "LineCode.h"
#include "hone/Analysis/Memory/Scratch.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t itemThreads = 128;

FailureOr<SmallVector<LineStage, 3>> hone::lineStages(plan::LaunchOp launch) {
  FailureOr<Operation *> op = lineOpOf(launch);
  if (failed(op))
    return failure();
  auto put = dyn_cast<PutAlongOp>(*op);
  if (!LineSort::compared(*op))
    return SmallVector<LineStage, 3>{{"", emitReplacedElements}};
  std::optional<LineSort> sort = LineSort::of(*op);
  if (!sort)
    return SmallVector<LineStage, 3>{
        {"", put ? emitShortPuts : emitShortOrder}};
  SmallVector<LineStage, 3> stages = {{"tiles", emitLineTiles}};
  if (sort->tiles() > 1)
    stages.push_back({"ranks", emitLineRanks});
  if (put)
    stages.push_back({"puts", emitSortedPuts});
  stages.back().name = "";
  return stages;
}

/// A kernel with a thread for each of `size` places of each line.
static GridKernel emitPlaces(LineCode &b, StringRef name, int64_t size,
                             function_ref<void(Value place)> emit) {
  int64_t items = b.lines * size;
  gpu::GPUFuncOp func = b.start(name, itemThreads);
  Value item = b.item(itemThreads);
  b.emitIf(b.less(item, items), [&] {
    SmallVector<Value> at = b.delinearize(item, {b.lines, size});
    b.setLine(at[0]);
    emit(at[1]);
  });
  return {func, int64_t(llvm::divideCeil(items, itemThreads)), itemThreads};
}

//===----------------------------------------------------------------------===//
// Short lines
//===----------------------------------------------------------------------===//

FailureOr<GridKernel> hone::emitShortOrder(OpBuilder &builder, StringRef name,
                                           plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  LineCode b(builder, launch, &launch.getBodyBlock().front());
  return emitPlaces(b, name, b.size, [&](Value place) {
    Value key = b.keyAt(place), zero = b.number(0), one = b.number(1);
    Value rank =
        b.sum(zero, b.number(b.size), 1, zero, [&](Value other, Value sum) {
          Value otherKey = b.keyAt(other);
          Value isBefore = b.create<arith::SelectOp>(b.less(other, place),
                                                     b.notAfter(otherKey, key),
                                                     b.before(otherKey, key));
          return b.add(sum, b.create<arith::SelectOp>(isBefore, one, zero));
        });
    b.writeRank(place, rank);
  });
}

/// A place as a number that is compared with an id.
static Value asKey(LineCode &b, Value place) {
  if (place.getType() == b.key)
    return place;
  if (b.key.isInteger(64))
    return b.create<arith::ExtUIOp>(b.key, place);
  return b.create<arith::TruncIOp>(b.key, place);
}

FailureOr<GridKernel> hone::emitShortPuts(OpBuilder &builder, StringRef name,
                                          plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  auto put = cast<PutAlongOp>(launch.getBodyBlock().front());
  LineCode b(builder, launch, put);
  Type element = elementOf(put.getResult());
  return emitPlaces(b, name, b.resultSize, [&](Value place) {
    Value own = asKey(b, place);
    Value nothing =
        elementwise::identity(b, b.getLoc(), put.getKind(), element);
    Value sum = b.sum(b.number(0), b.number(b.size), 1, nothing,
                      [&](Value other, Value before) -> Value {
                        Value isHere = b.equal(b.keyAt(other), own);
                        Value more = elementwise::combine(
                            b, b.getLoc(), put.getKind(), before,
                            b.read(put.getUpdates(), other));
                        return b.create<arith::SelectOp>(isHere, more, before);
                      });
    b.write(sum, place);
  });
}

//===----------------------------------------------------------------------===//
// Elements replaced
//===----------------------------------------------------------------------===//

/// The result lies on the operand, so all other elements are there.
FailureOr<GridKernel> hone::emitReplacedElements(OpBuilder &builder,
                                                 StringRef name,
                                                 plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  auto update = dyn_cast<UpdateSliceOp>(launch.getBodyBlock().front());
  if (!update)
    return launch.emitOpError("of family line holds no op along lines");
  KernelBuilder b(builder, name, launch);
  auto bufferOf = [&](Value operand) {
    return b.buffer(cast<BlockArgument>(operand).getArgNumber());
  };
  Value result = b.buffer(launch.getInputs().size());
  ArrayRef<int64_t> shape = shapeOf(update.getUpdate());
  b.loop(b.lo(), b.hi(), 1, [&](Value item) {
    SmallVector<Value> at = b.delinearize(item, shape);
    Value element = b.create<memref::LoadOp>(bufferOf(update.getUpdate()), at);
    Value first = b.create<arith::IndexCastOp>(
        b.getIndexType(),
        b.create<memref::LoadOp>(bufferOf(update.getAt()), ValueRange()));
    Value &place = at[update.getDim()];
    place = b.create<arith::AddIOp>(first, place);
    b.create<memref::StoreOp>(element, result, at);
  });
  return emitItems(builder,
                   Kernel{b.func, ShapedType::getNumElements(shape), 1});
}

//===----------------------------------------------------------------------===//
// Updates by sorted ids
//===----------------------------------------------------------------------===//

namespace {
/// Code of a thread that combines updates of one place.
struct PutCode : LineCode {
  PutCode(OpBuilder &builder, plan::LaunchOp launch)
      : LineCode(builder, launch, &launch.getBodyBlock().front()),
        put(cast<PutAlongOp>(op)), sort(*LineSort::of(op)),
        element(elementOf(put.getResult())) {}

  PutAlongOp put;
  LineSort sort;
  Type element;
  Value first; ///< of the line, among sorted ids

  /// Whether the order of updates changes the result.
  bool isOrdered() {
    return isa<FloatType>(element) && put.getKind() == ReduceKind::sum;
  }
  /// Where the updates of `place` begin and end among the line's.
  std::pair<Value, Value> findUpdates(Value place);
  Value combine(Value from, Value to, int64_t step, Value start, int64_t group);
  Value combineAll(Value from, Value to, int64_t step);
  Value addInOrder(Value from, Value to);
  GridKernel emitBlocks(StringRef name, int64_t threads);
  GridKernel emitThreads(StringRef name);
};
} // namespace

std::pair<Value, Value> PutCode::findUpdates(Value place) {
  unsigned sorted = sort.tiles() > 1 ? 2 : 0;
  Value own = asKey(*this, place);
  Value from = countKeys(scratch(sorted), first, size,
                         [&](Value other) { return before(other, own); });
  Value to = countKeys(scratch(sorted), first, size,
                       [&](Value other) { return notAfter(other, own); });
  return {from, to};
}

/// Every `step`th of [from, to), which are whole groups: the loads of a group
/// are on their way together.
Value PutCode::combine(Value from, Value to, int64_t step, Value start,
                       int64_t group) {
  unsigned sorted = sort.tiles() > 1 ? 3 : 1;
  return sum(from, to, group * step, start, [&](Value at, Value before) {
    SmallVector<Value> places, terms;
    for (int64_t i = 0; i < group; ++i)
      places.push_back(asNumber(
          load(scratch(sorted), getI32Type(), add(add(first, at), i * step))));
    for (Value place : places)
      terms.push_back(read(put.getUpdates(), place));
    for (Value term : terms)
      before =
          elementwise::combine(*this, getLoc(), put.getKind(), before, term);
    return before;
  });
}

/// In groups as far as they go, then one by one.
Value PutCode::combineAll(Value from, Value to, int64_t step) {
  constexpr int64_t group = 8;
  Value nothing =
      elementwise::identity(*this, getLoc(), put.getKind(), element);
  Value isNone = less(to, from);
  Value left = create<arith::SelectOp>(isNone, number(0),
                                       Value(create<arith::SubIOp>(to, from)));
  Value all = number(group * step);
  Value whole =
      create<arith::SubIOp>(left, Value(create<arith::RemUIOp>(left, all)));
  Value middle = add(from, whole);
  Value sum = combine(from, middle, step, nothing, group);
  return combine(middle, to, step, sum, 1);
}

/// The sum of floats of a warp, each of whose lanes loads every 32nd update.
/// All add them one after the other. What stands behind the last changes no
/// sum.
Value PutCode::addInOrder(Value from, Value to) {
  constexpr int64_t loads = 4;
  Type compute = elementwise::computeType(element);
  Value start = elementwise::identity(*this, getLoc(), put.getKind(), element);
  Value none = create<arith::ConstantOp>(FloatAttr::get(compute, -0.0));
  Value i32Places = scratch(sort.tiles() > 1 ? 3 : 1);
  return sum(from, to, loads * warpSize, start, [&](Value at, Value before) {
    SmallVector<Value> exists, places, terms;
    for (int64_t i = 0; i < loads; ++i) {
      Value number = add(add(at, i * warpSize), thread());
      exists.push_back(less(number, to));
      places.push_back(asNumber(
          loadIf(exists.back(), i32Places, getI32Type(), add(first, number))));
    }
    for (auto [isUpdate, place] : llvm::zip_equal(exists, places))
      terms.push_back(create<arith::SelectOp>(
          isUpdate, read(put.getUpdates(), place), none));
    for (Value term : terms)
      for (int64_t lane = 0; lane < warpSize; ++lane)
        before = create<arith::AddFOp>(before, threads.broadcast(term, lane));
    return before;
  });
}

/// A block per place: its threads have every so many of the updates. A sum of
/// floats has one warp.
GridKernel PutCode::emitBlocks(StringRef name, int64_t blockThreads) {
  gpu::GPUFuncOp func = start(name, blockThreads);
  SmallVector<Value> at = delinearize(block(), {lines, resultSize});
  setLine(at[0]);
  first = mul(at[0], size);
  auto [from, to] = findUpdates(at[1]);
  Value total;
  if (isOrdered()) {
    total = addInOrder(from, to);
  } else {
    Value part = combineAll(add(from, thread()), to, blockThreads);
    total = threads.reduce({{put.getKind(), part}}, blockThreads / warpSize)[0];
  }
  emitIf(equal(thread(), 0), [&] { write(total, at[1]); });
  return {func, lines * resultSize, blockThreads};
}

GridKernel PutCode::emitThreads(StringRef name) {
  return emitPlaces(*this, name, resultSize, [&](Value place) {
    first = mul(lineNumber, size);
    auto [from, to] = findUpdates(place);
    write(combineAll(from, to, 1), place);
  });
}

FailureOr<GridKernel> hone::emitSortedPuts(OpBuilder &builder, StringRef name,
                                           plan::LaunchOp launch) {
  constexpr int64_t mostThreads = 512;
  OpBuilder::InsertionGuard guard(builder);
  PutCode b(builder, launch);
  int64_t updates = b.size / std::max<int64_t>(1, b.resultSize);
  if (updates < LineSort::manyUpdates)
    return b.emitThreads(name);
  int64_t most = b.isOrdered() ? warpSize : mostThreads;
  return b.emitBlocks(
      name, std::min<int64_t>(most, llvm::bit_floor(uint64_t(updates))));
}
