//===- ScatterSort.cpp - Tokens sorted by id on a GPU ---------------------===//
//
// A block makes the list of one bucket's tokens, then sorts it by row:
//
//   count    warps walk over ranges of all ids; counts of a bucket and of those
//            below it give the places of the bucket's tokens in the list
//   collect  the same walk writes them there, and counts those of each row
//   order    a warp per row walks over the bucket's list and writes the row's
//
// All walks go in the order of tokens, so the sort is stable.
//
//===----------------------------------------------------------------------===//

#include "ScatterKernels.h"

#include "Builder.h"
#include "Codegen/Common/ScatterForm.h"
#include "Items.h"
#include "hone/Analysis/Memory/Scratch.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t mostWarps = 32;
/// Loads of a thread that are on their way at once.
static constexpr int64_t mostLoads = 4;

namespace {
/// How the warps of a block share all ids.
struct IdWalk {
  int64_t lanes; ///< ids of a load
  int64_t loads; ///< of a thread in a turn
  int64_t warps;
  int64_t range; ///< ids of a warp

  static IdWalk of(int64_t tokens, Type id, ArrayRef<int64_t> offsets);
  int64_t loadIds() const { return warpSize * lanes; } ///< of a warp
  int64_t turnIds() const { return loads * loadIds(); }
};

/// One element of a load of ids. All are i32.
struct Token {
  Value number, id;
  Value bucket; ///< none: the number of buckets
  Value isOwn;  ///< whether it is the block's (i1)
};

/// Code of the block of one bucket.
struct SortBlock {
  SortBlock(DeviceBuilder &b, EmbeddingBwdOp op, const IdWalk &walk)
      : b(b), sort(TokenSort::of(op)), rows(shapeOf(op)[0]),
        idType(getElementTypeOrSelf(op.getIds())), walk(walk) {}

  DeviceBuilder &b;
  TokenSort sort;
  int64_t rows;
  Type idType;
  IdWalk walk;
  Value ids, unsorted, sorted, spans; ///< addresses
  Value bucket, warp, lane, below;    ///< i32; a bit per lane before this
  DeviceThreads::Table histogram;     ///< tokens of each place
  Value begin, size;                  ///< of the bucket's list

  Value bitCount(Value bits) { return b.create<math::CtPopOp>(bits); }
  Value asNumber(Value bit) {
    return b.create<arith::ExtUIOp>(b.getI32Type(), bit);
  }
  Value tableRow(Value place) {
    return b.asIndex(b.create<arith::DivUIOp>(place, b.i32(warpSize)));
  }
  Value tableLane(Value place) {
    return b.asIndex(b.create<arith::RemUIOp>(place, b.i32(warpSize)));
  }
  int64_t tableRows() const { return llvm::divideCeil(sort.places, warpSize); }

  SmallVector<Value> loop(Value from, Value to, int64_t step, ValueRange start,
                          function_ref<SmallVector<Value>(Value, ValueRange)>);
  Token tokenOf(Value number, Value id, Value exists);
  SmallVector<Token> loadTurn(Value turn);
  Value anyOwn(ArrayRef<Token> tokens);
  void clearHistogram();
  Value count();
  Value collectLoad(ArrayRef<Token> tokens, Value place);
  void collect(Value place);
  Value countBefore(Value place);
  Value writeMatches(Value at, Value place, Value to);
  void writeRow(Value place, Value from, Value to);
  void order();
};
} // namespace

IdWalk IdWalk::of(int64_t tokens, Type id, ArrayRef<int64_t> offsets) {
  IdWalk walk;
  walk.lanes =
      std::min<int64_t>(4, DeviceBuilder::lanesOf(id, tokens, offsets));
  walk.warps = std::clamp<int64_t>(llvm::divideCeil(tokens, walk.loadIds()), 1,
                                   mostWarps);
  int64_t share = llvm::divideCeil(tokens, walk.warps);
  walk.loads = std::clamp<int64_t>(llvm::divideCeil(share, walk.loadIds()), 1,
                                   mostLoads);
  walk.range = llvm::alignTo(share, walk.turnIds());
  return walk;
}

SmallVector<Value> SortBlock::loop(
    Value from, Value to, int64_t step, ValueRange start,
    function_ref<SmallVector<Value>(Value at, ValueRange before)> next) {
  auto loop = b.create<scf::ForOp>(
      from, to, b.i32(step), start,
      [&](OpBuilder &, Location, Value at, ValueRange carried) {
        b.create<scf::YieldOp>(next(at, carried));
      });
  return loop.getResults();
}

//===----------------------------------------------------------------------===//
// All ids
//===----------------------------------------------------------------------===//

/// A token in the block's terms. `exists`: or null, where it always does.
Token SortBlock::tokenOf(Value number, Value id, Value exists) {
  Type i32 = b.getI32Type();
  if (idType.isInteger(8))
    id = b.create<arith::ExtSIOp>(i32, id);
  Value isRow = b.less(id, rows); // without sign
  if (exists)
    isRow = b.both(isRow, exists);
  if (idType.isInteger(64))
    id = b.create<arith::TruncIOp>(i32, id);
  Value own = b.create<arith::SelectOp>(
      isRow, b.both(id, b.i32(sort.buckets - 1)), b.i32(sort.buckets));
  return {number, id, own, b.equal(own, bucket)};
}

/// This thread's ids of a turn of its warp's walk, load by load.
SmallVector<Token> SortBlock::loadTurn(Value turn) {
  auto type = VectorType::get({walk.lanes}, idType);
  bool isWhole = walk.range * walk.warps == sort.tokens;
  Value start =
      b.add(b.add(b.mul(warp, walk.range), turn), b.mul(lane, walk.lanes));
  SmallVector<Value> firsts, loads;
  for (int64_t i = 0; i < walk.loads; ++i) {
    Value first = b.add(start, i * walk.loadIds()), place = first;
    if (!isWhole) // in bounds, whatever is done with it
      place = b.create<arith::MinUIOp>(first, b.i32(sort.tokens - walk.lanes));
    firsts.push_back(first);
    loads.push_back(b.load(ids, type, place));
  }
  SmallVector<Token> tokens;
  for (auto [first, load] : llvm::zip(firsts, loads)) {
    Value exists = isWhole ? Value() : b.less(first, sort.tokens);
    for (int64_t i = 0; i < walk.lanes; ++i) {
      Value id = b.create<vector::ExtractOp>(load, i);
      tokens.push_back(tokenOf(b.add(first, i), id, exists));
    }
  }
  return tokens;
}

/// Sets `begin` and `size`. Returns where this warp's tokens begin in the list.
Value SortBlock::count() {
  Value zero = b.i32(0);
  SmallVector<Value> counts =
      loop(zero, b.i32(walk.range), walk.turnIds(), {zero, zero},
           [&](Value turn, ValueRange before) -> SmallVector<Value> {
             Value lower = before[0], own = before[1];
             for (const Token &token : loadTurn(turn)) {
               lower = b.add(lower, asNumber(b.less(token.bucket, bucket)));
               own = b.add(own, asNumber(token.isOwn));
             }
             return {lower, own};
           });
  auto total = [&](ArrayRef<Value> values) {
    SmallVector<DeviceThreads::Partial> partials;
    for (Value value : values)
      partials.push_back({ReduceKind::sum, value});
    return b.threads.reduce(partials, /*warps=*/1);
  };
  SmallVector<Value> warpTotals = total(counts);
  DeviceThreads::Table lowers = b.threads.table(1, b.getI32Type()),
                       owns = b.threads.table(1, b.getI32Type());
  Value none = b.index(0);
  b.emitIf(b.equal(lane, 0), [&] {
    b.threads.store(warpTotals[0], lowers, none, b.asIndex(warp));
    b.threads.store(warpTotals[1], owns, none, b.asIndex(warp));
  });
  b.threads.barrier();
  Value isWarp = b.less(lane, walk.warps);
  Value from = b.asIndex(b.create<arith::SelectOp>(isWarp, lane, zero));
  auto ofWarp = [&](DeviceThreads::Table table, Value condition) -> Value {
    return b.create<arith::SelectOp>(condition,
                                     b.threads.load(table, none, from), zero);
  };
  SmallVector<Value> totals =
      total({ofWarp(lowers, isWarp), ofWarp(owns, isWarp),
             ofWarp(owns, b.less(lane, warp))});
  begin = totals[0];
  size = totals[1];
  return b.add(begin, totals[2]);
}

/// Writes the block's tokens of one load, from `place` on. Returns their end.
Value SortBlock::collectLoad(ArrayRef<Token> tokens, Value place) {
  SmallVector<Value> votes;
  Value mine = place;
  for (const Token &token : tokens) {
    votes.push_back(b.ballot(token.isOwn));
    mine = b.add(mine, bitCount(b.both(votes.back(), below)));
  }
  for (const Token &token : tokens) {
    b.emitIf(token.isOwn, [&] {
      Value row = b.create<arith::DivUIOp>(token.id, b.i32(sort.buckets));
      b.store(token.number, unsorted, mine);
      b.store(row, unsorted, b.add(mine, sort.tokens));
      b.create<memref::AtomicRMWOp>(arith::AtomicRMWKind::addi, b.i32(1),
                                    histogram,
                                    ValueRange{tableRow(row), tableLane(row)});
    });
    mine = b.add(mine, asNumber(token.isOwn));
  }
  for (Value vote : votes)
    place = b.add(place, bitCount(vote));
  return place;
}

Value SortBlock::anyOwn(ArrayRef<Token> tokens) {
  Value any = tokens.front().isOwn;
  for (const Token &token : tokens.drop_front())
    any = b.create<arith::OrIOp>(any, token.isOwn);
  return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, b.ballot(any),
                                 b.i32(0));
}

/// Writes this warp's tokens of the bucket into the list, from `place` on.
void SortBlock::collect(Value place) {
  loop(b.i32(0), b.i32(walk.range), walk.turnIds(), place,
       [&](Value turn, ValueRange before) -> SmallVector<Value> {
         SmallVector<Token> tokens = loadTurn(turn);
         auto found = b.create<scf::IfOp>(
             anyOwn(tokens),
             [&](OpBuilder &, Location) {
               Value end = before[0];
               ArrayRef<Token> rest = tokens;
               for (; !rest.empty(); rest = rest.drop_front(walk.lanes))
                 end = collectLoad(rest.take_front(walk.lanes), end);
               b.create<scf::YieldOp>(end);
             },
             [&](OpBuilder &, Location) { b.create<scf::YieldOp>(before[0]); });
         return {found.getResult(0)};
       });
}

//===----------------------------------------------------------------------===//
// A bucket's list
//===----------------------------------------------------------------------===//

void SortBlock::clearHistogram() {
  histogram = b.threads.table(tableRows(), b.getI32Type());
  Value thread = b.add(b.mul(warp, warpSize), lane);
  b.loop(thread, b.i32(tableRows() * warpSize), walk.warps * warpSize,
         [&](Value place) {
           b.threads.store(b.i32(0), histogram, tableRow(place),
                           tableLane(place));
         });
}

/// Tokens of the bucket's places before `place`.
Value SortBlock::countBefore(Value place) {
  Value sum = b.i32(0);
  for (int64_t row = 0; row < tableRows(); ++row) {
    Value other = b.add(lane, row * warpSize);
    Value tokens = b.threads.load(histogram, b.index(row), b.asIndex(lane));
    sum = b.add(
        sum, b.create<arith::SelectOp>(b.less(other, place), tokens, b.i32(0)));
  }
  return b.threads.reduce(DeviceThreads::Partial{ReduceKind::sum, sum}, 1)
      .front();
}

/// Writes the tokens of `place` among those of the bucket's list from `at` on,
/// four per lane, to `to`. Returns where they end.
Value SortBlock::writeMatches(Value at, Value place, Value to) {
  SmallVector<Value> entries, matches;
  Value last = b.add(size, -1), any;
  for (int64_t i = 0; i < mostLoads; ++i) {
    Value entry = b.add(b.add(at, i * warpSize), lane);
    Value bounded = b.create<arith::MinUIOp>(entry, last);
    entries.push_back(b.add(begin, bounded));
    Value row =
        b.load(unsorted, b.getI32Type(), b.add(entries.back(), sort.tokens));
    matches.push_back(b.both(b.equal(row, place), b.less(entry, size)));
  }
  for (Value match : matches)
    any = any ? b.create<arith::OrIOp>(any, match) : match;
  Value isFound = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                          b.ballot(any), b.i32(0));
  auto found = b.create<scf::IfOp>(
      isFound,
      [&](OpBuilder &, Location) {
        Value end = to;
        for (auto [entry, match] : llvm::zip(entries, matches)) {
          Value votes = b.ballot(match);
          Value mine = b.add(end, bitCount(b.both(votes, below)));
          b.emitIf(match, [&, entry = entry] {
            b.store(b.load(unsorted, b.getI32Type(), entry), sorted, mine);
          });
          end = b.add(end, bitCount(votes));
        }
        b.create<scf::YieldOp>(end);
      },
      [&](OpBuilder &, Location) { b.create<scf::YieldOp>(to); });
  return found.getResult(0);
}

/// Writes the tokens of `place`, which are [from, to) of the sorted ones.
void SortBlock::writeRow(Value place, Value from, Value to) {
  Type i32 = b.getI32Type();
  b.create<scf::WhileOp>(
      TypeRange{i32, i32}, ValueRange{b.i32(0), from},
      [&](OpBuilder &, Location, ValueRange carried) {
        b.create<scf::ConditionOp>(b.less(carried[1], to), carried);
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        Value end = writeMatches(carried[0], place, carried[1]);
        Value next = b.add(carried[0], mostLoads * warpSize);
        b.create<scf::YieldOp>(ValueRange{next, end});
      });
}

void SortBlock::order() {
  b.loop(warp, b.i32(sort.places), walk.warps, [&](Value place) {
    Value from = b.add(begin, countBefore(place));
    Value tokens = b.threads.load(histogram, tableRow(place), tableLane(place));
    Value to = b.add(from, tokens);
    b.emitIf(b.equal(lane, 0), [&] {
      Value slot = b.add(b.mul(bucket, sort.places), place);
      auto type = VectorType::get({2}, b.getI32Type());
      b.store(b.create<vector::FromElementsOp>(type, ValueRange{from, to}),
              spans, b.mul(slot, 2));
    });
    writeRow(place, from, to);
  });
}

FailureOr<GridKernel> hone::emitDeviceScatterSort(OpBuilder &builder,
                                                  StringRef name,
                                                  plan::LaunchOp launch) {
  FailureOr<ScatterForm> form = ScatterForm::read(launch);
  if (failed(form))
    return failure();
  EmbeddingBwdOp op = form->op;
  TokenSort sort = TokenSort::of(op);
  int64_t rows = shapeOf(op)[0];
  if (std::max(sort.tokens, rows) > std::numeric_limits<int32_t>::max())
    return launch.emitOpError("has more than 2147483647 ids or rows");
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  Type id = getElementTypeOrSelf(op.getIds());
  IdWalk walk = IdWalk::of(sort.tokens, id, arenaOffsets(launch));
  int64_t threads = walk.warps * warpSize;
  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), threads);
  int64_t scratch = launch.getInputs().size() + launch.getOutputs().size();
  SortBlock block(b, op, walk);
  block.ids = func.getArgument(cast<BlockArgument>(op.getIds()).getArgNumber());
  block.unsorted = func.getArgument(scratch);
  block.sorted = func.getArgument(scratch + 1);
  block.spans = func.getArgument(scratch + 2);
  Value thread = b.threadFor(threads), size = block.b.i32(warpSize);
  block.bucket = b.blockFor(sort.buckets);
  block.warp = b.create<arith::DivUIOp>(thread, size);
  block.lane = b.create<arith::RemUIOp>(thread, size);
  block.below = b.add(b.create<arith::ShLIOp>(block.b.i32(1), block.lane), -1);
  block.clearHistogram();
  Value place = block.count();
  block.collect(place);
  b.threads.barrier();
  block.order();
  if (walk.lanes * elementByteWidth(id) == accessBytes && sort.tokens > 0)
    markVectorised(func, walk.loads);
  return GridKernel{func, rows == 0 ? 0 : sort.buckets, threads};
}
