//===- LineSort.cpp - Lines in order on a GPU -----------------------------===//

#include "LineCode.h"
#include "SelectionKernels.h"

#include "hone/Analysis/Memory/Scratch.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hone;

namespace {
/// Code of both kernels that sort.
struct SortCode : LineCode {
  SortCode(OpBuilder &builder, plan::LaunchOp launch)
      : LineCode(builder, launch, &launch.getBodyBlock().front()),
        sort(*LineSort::of(op)) {}

  LineSort sort;

  unsigned sortedScratch() const { return sort.tiles() > 1 ? 2 : 0; }
  void writeRank(Value entryKey, Value place, Value rank);
};

/// A tile in shared memory.
struct SortTile {
  SortTile(SortCode &code, gpu::GPUFuncOp func)
      : code(code), keys(shared(func, code.key)),
        places(shared(func, code.getI32Type())) {}

  SortCode &code;
  Value keys, places;

  Value shared(gpu::GPUFuncOp func, Type element) {
    auto space = gpu::AddressSpaceAttr::get(code.getContext(),
                                            gpu::AddressSpace::Workgroup);
    return func.addWorkgroupAttribution(
        MemRefType::get({code.sort.tile}, element, MemRefLayoutAttrInterface(),
                        space),
        code.getLoc());
  }
  Value load(Value table, Value entry) {
    return code.create<memref::LoadOp>(table, code.asIndex(entry));
  }
  void store(Value key, Value place, Value entry) {
    code.create<memref::StoreOp>(key, keys, code.asIndex(entry));
    code.create<memref::StoreOp>(place, places, code.asIndex(entry));
  }
  void swapUnordered(Value low, Value high);
  void sort(Value thread);
};
} // namespace

/// Writes an element's place to its rank in the line.
void SortCode::writeRank(Value entryKey, Value place, Value rank) {
  if (!sort.keepsSorted)
    return LineCode::writeRank(place, rank);
  Value at = add(mul(lineNumber, size), rank);
  store(entryKey, scratch(sortedScratch()), at);
  store(place, scratch(sortedScratch() + 1), at);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void SortTile::swapUnordered(Value low, Value high) {
  Value lowKey = load(keys, low), highKey = load(keys, high);
  Value lowPlace = load(places, low), highPlace = load(places, high);
  Value isLater = code.create<arith::OrIOp>(
      code.before(highKey, lowKey),
      code.both(code.equal(highKey, lowKey), code.less(highPlace, lowPlace)));
  code.emitIf(isLater, [&] {
    store(highKey, highPlace, low);
    store(lowKey, lowPlace, high);
  });
}

/// Bitonic: runs of `run` entries become ordered, half of one with the other
/// half in reverse; a thread has one pair at a time.
void SortTile::sort(Value thread) {
  auto split = [&](int64_t by) -> std::pair<Value, Value> {
    Value size = code.number(by);
    return {code.create<arith::DivUIOp>(thread, size),
            code.create<arith::RemUIOp>(thread, size)};
  };
  for (int64_t run = 2; run <= code.sort.tile; run *= 2) {
    auto [number, offset] = split(run / 2);
    Value first = code.mul(number, run);
    Value last = code.add(first, run - 1);
    swapUnordered(code.add(first, offset),
                  code.create<arith::SubIOp>(last, offset));
    code.threads.barrier();
    for (int64_t apart = run / 4; apart > 0; apart /= 2) {
      auto [pairs, within] = split(apart);
      Value low = code.add(code.mul(pairs, 2 * apart), within);
      swapUnordered(low, code.add(low, apart));
      code.threads.barrier();
    }
  }
}

FailureOr<GridKernel> hone::emitLineTiles(OpBuilder &builder, StringRef name,
                                          plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  SortCode b(builder, launch);
  const LineSort &sort = b.sort;
  int64_t threads = sort.tile / 2;
  gpu::GPUFuncOp func = b.start(name, threads);
  SortTile tile(b, func);
  Value thread = b.thread();
  SmallVector<Value> at = b.delinearize(b.block(), {sort.lines, sort.tiles()});
  b.setLine(at[0]);
  Value first = b.mul(at[1], sort.tile);
  for (int64_t half : {0, 1}) {
    Value entry = b.add(thread, half * threads), place = b.add(first, entry);
    Value last = b.number(b.size - 1);
    Value key = b.keyAt(b.create<arith::MinUIOp>(place, last));
    // What is beyond the line's end comes behind all of it, by its place.
    key = b.create<arith::SelectOp>(b.less(place, b.size), key, b.lastKey());
    tile.store(key, b.asI32(place), entry);
  }
  b.threads.barrier();
  tile.sort(thread);
  for (int64_t half : {0, 1}) {
    Value entry = b.add(thread, half * threads);
    Value key = tile.load(tile.keys, entry);
    Value place = tile.load(tile.places, entry);
    if (sort.tiles() == 1) {
      b.emitIf(b.less(entry, b.size), [&] { b.writeRank(key, place, entry); });
      continue;
    }
    Value to = b.add(b.add(b.mul(at[0], sort.padded()), first), entry);
    b.store(key, b.scratch(0), to);
    b.store(place, b.scratch(1), to);
  }
  return GridKernel{func, sort.lines * sort.tiles(), threads};
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// How many elements of the tiles that this warp has come before entry `entry`
/// of tile `own`: a number. All lanes of a warp have entries of one tile.
static Value countBefore(SortCode &b, Value key, Value own, Value entry,
                         Value warp, int64_t warps) {
  const LineSort &sort = b.sort;
  Value first = b.mul(b.lineNumber, sort.padded());
  return b.sum(
      warp, b.number(sort.tiles()), warps, b.number(0),
      [&](Value tile, Value sum) {
        Value isEarlier = b.less(tile, own);
        Value count = b.countKeys(
            b.scratch(0), b.add(first, b.mul(tile, sort.tile)), sort.tile,
            [&](Value other) -> Value { // equal keys: in the order of places
              return b.create<arith::SelectOp>(
                  isEarlier, b.notAfter(other, key), b.before(other, key));
            });
        count = b.create<arith::SelectOp>(b.equal(tile, own), entry, count);
        return b.add(sum, count);
      });
}

FailureOr<GridKernel> hone::emitLineRanks(OpBuilder &builder, StringRef name,
                                          plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  SortCode b(builder, launch);
  const LineSort &sort = b.sort;
  int64_t warps = sort.rankWarps();
  int64_t groups = sort.padded() / warpSize;
  gpu::GPUFuncOp func = b.start(name, warps * warpSize);
  DeviceThreads::Table counts = b.threads.table(warps, b.getI32Type());
  Value thread = b.thread(), size = b.number(warpSize);
  Value warp = b.create<arith::DivUIOp>(thread, size);
  Value lane = b.create<arith::RemUIOp>(thread, size);
  SmallVector<Value> at = b.delinearize(b.block(), {sort.lines, groups});
  b.setLine(at[0]);
  Value entry = b.add(b.mul(at[1], warpSize), lane);
  Value from = b.add(b.mul(at[0], sort.padded()), entry);
  Value key = b.load(b.scratch(0), b.key, from);
  SmallVector<Value> inTiles = b.delinearize(entry, {sort.tiles(), sort.tile});
  Value count = countBefore(b, key, inTiles[0], inTiles[1], warp, warps);
  b.threads.store(b.asI32(count), counts, b.asIndex(warp), b.asIndex(lane));
  b.threads.barrier();
  b.emitIf(b.equal(warp, 0), [&] {
    Value rank = b.i32(0);
    for (int64_t other = 0; other < warps; ++other)
      rank =
          b.add(rank, b.threads.load(counts, b.index(other), b.asIndex(lane)));
    Value place = b.load(b.scratch(1), b.getI32Type(), from);
    b.emitIf(b.less(place, b.size),
             [&] { b.writeRank(key, place, b.asNumber(rank)); });
  });
  return GridKernel{func, sort.lines * groups, warps * warpSize};
}
