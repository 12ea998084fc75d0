//===- GroupedKernels.cpp - Products of groups of rows on a GPU -----------===//
//
// A block of four warps computes a tile of the result:
//
//   find      which group and rows the block has; blocks without any end
//   steps     of 32 terms: copies of the next steps go on while the warps, each
//             for a quarter of the tile, multiply those of this one
//   store     what of the tile lies within the group
//
// A sum has one order, that of its terms, whatever the groups: 16 of them are
// one instruction.
//
//===----------------------------------------------------------------------===//

#include "GroupedKernels.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Program/Lowering.h"
#include "Copies.h"
#include "DataMovementKernels.h"
#include "GroupSearch.h"
#include "Items.h"
#include "OperandTile.h"
#include "hone/Analysis/Cost/GroupedTiles.h"

using namespace mlir;
using namespace hone;

namespace {
/// Emits the code of one block.
class GroupedEmitter {
public:
  GroupedEmitter(DeviceBuilder &b, plan::LaunchOp launch,
                 const GroupedTiles &tiles)
      : b(b), launch(launch), op(&launch.getBodyBlock().front()), tiles(tiles),
        element(getElementTypeOrSelf(op->getOperand(0))),
        resultElement(getElementTypeOrSelf(op->getResult(0))) {}

  GridKernel emit(StringRef name);

private:
  static constexpr int64_t warps = 4, threads = warps * warpSize;
  /// Steps in shared memory: one is multiplied, the others are on their way.
  static constexpr int64_t stages = 3;
  /// Lanes that have a row of a fragment.
  static constexpr int64_t quad = 4;
  /// Column tiles that blocks of all rows visit before the next ones, so that
  /// blocks which run together read the same columns of a matrix.
  static constexpr int64_t bandColumns = 16;

  /// A part of the result. Counts are index: of what the result, or the group,
  /// has from the part's begin on.
  struct Tile {
    Value exists; ///< i1
    Value lhs, rhs, result;
    Value rows, columns, terms;
  };

  int64_t bands() const {
    return llvm::divideCeil(tiles.columnTiles(), bandColumns);
  }
  int64_t bandTiles() const {
    return llvm::divideCeil(tiles.columnTiles(), bands());
  }
  int64_t blocks() const;
  Value operandAddress(unsigned operand);
  GroupRows findGroup(Value tileOrGroup);
  Value place(Value address, Type type, ArrayRef<Value> at,
              ArrayRef<int64_t> strides);
  Tile findRows();
  Tile findMatrix();
  OperandTile makeOperand(bool isLeft);

  void compute(const Tile &tile, Value memory);
  void copyStep(Value step, Value to);
  SmallVector<Value> multiplyStep(Value from, ValueRange sums);
  void store(const Tile &tile, ValueRange sums);
  void storeWide(const Tile &tile, Value row, ValueRange pairs);
  void storeNarrow(const Tile &tile, Value row, ValueRange pairs);
  void storePair(const Tile &tile, Value address, Value column,
                 ValueRange pair);
  SmallVector<Value> exchangePairs(ArrayRef<Value> pairs);
  Value roundPair(ValueRange pair);
  void emitWithin(const Tile &tile, Value at, function_ref<void()> emit);
  /// Elements of the result that can be stored at once.
  int64_t storedLanes() {
    int64_t offset = arenaOffsets(launch)[launch.getInputs().size()];
    return b.lanesOf(resultElement, tiles.width, {offset});
  }
  Value minus(int64_t size, Value begin) {
    return b.create<arith::SubIOp>(b.index(size), begin);
  }
  int64_t stageBytes() const { return lhs->bytes() + rhs->bytes(); }
  int64_t warpRows() const { return tiles.tileRows / 2; }
  int64_t warpColumns() const { return tiles.tileColumns / 2; }

  DeviceBuilder &b;
  plan::LaunchOp launch;
  Operation *op;
  const GroupedTiles tiles;
  Type element, resultElement;
  gpu::GPUFuncOp func;
  std::optional<OperandTile> lhs, rhs;
  Value lane, warpRow, warpColumn; ///< i32, the latter two in the tile
};
} // namespace

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

int64_t GroupedEmitter::blocks() const {
  return tiles.sumsRows ? tiles.groups * tiles.rowTiles() * tiles.columnTiles()
                        : bands() * tiles.rowTiles() * bandTiles();
}

static unsigned argumentOf(Operation *op, unsigned operand) {
  return cast<BlockArgument>(op->getOperand(operand)).getArgNumber();
}

Value GroupedEmitter::operandAddress(unsigned operand) {
  return func.getArgument(argumentOf(op, operand));
}

/// The address of an element, by indices that are index or i32.
Value GroupedEmitter::place(Value address, Type type, ArrayRef<Value> at,
                            ArrayRef<int64_t> strides) {
  SmallVector<Value> indices;
  for (Value one : at)
    indices.push_back(one.getType().isIndex() ? one : b.asIndex(one));
  return b.place(address, type, b.linearize(indices, strides));
}

GroupRows GroupedEmitter::findGroup(Value tileOrGroup) {
  GroupSearch search(b, operandAddress(2),
                     getElementTypeOrSelf(op->getOperand(2)), tiles.groups,
                     tiles.rows);
  return tiles.sumsRows ? search.rowsOf(tileOrGroup)
                        : search.rowsFrom(tileOrGroup, tiles.tileRows);
}

GroupedEmitter::Tile GroupedEmitter::findRows() {
  bool isTransposed = cast<GroupedDotOp>(op).getContract() == 2;
  SmallVector<Value> at = b.delinearize(
      b.blockFor(blocks()), {bands(), tiles.rowTiles(), bandTiles()});
  Value column = b.add(b.mul(at[0], bandTiles()), at[2]);
  GroupRows rows = findGroup(at[1]);
  Value first = b.asIndex(b.mul(column, tiles.tileColumns));
  Tile tile;
  tile.exists =
      b.both(b.less(column, tiles.columnTiles()), b.less(rows.begin, rows.end));
  tile.lhs = place(operandAddress(0), element, {rows.begin}, {tiles.depth});
  tile.rhs = place(operandAddress(1), element, {rows.group, first},
                   {tiles.depth * tiles.width, isTransposed ? tiles.depth : 1});
  tile.result = place(func.getArgument(launch.getInputs().size()),
                      resultElement, {rows.begin, first}, {tiles.width, 1});
  tile.rows = b.asIndex(b.create<arith::SubIOp>(rows.end, rows.begin));
  tile.columns = minus(tiles.width, first);
  // Rows behind the last end are sums of nothing.
  tile.terms = b.create<arith::SelectOp>(b.less(rows.group, tiles.groups),
                                         b.index(tiles.depth), b.index(0));
  return tile;
}

GroupedEmitter::Tile GroupedEmitter::findMatrix() {
  SmallVector<Value> at =
      b.delinearize(b.blockFor(blocks()),
                    {tiles.groups, tiles.rowTiles(), tiles.columnTiles()});
  GroupRows rows = findGroup(at[0]);
  Value row = b.asIndex(b.mul(at[1], tiles.tileRows));
  Value column = b.asIndex(b.mul(at[2], tiles.tileColumns));
  Tile tile;
  tile.exists = b.less(at[0], tiles.groups);
  tile.lhs =
      place(operandAddress(0), element, {rows.begin, row}, {tiles.height, 1});
  tile.rhs =
      place(operandAddress(1), element, {rows.begin, column}, {tiles.width, 1});
  tile.result = place(func.getArgument(launch.getInputs().size()),
                      resultElement, {rows.group, row, column},
                      {tiles.height * tiles.width, tiles.width, 1});
  tile.rows = minus(tiles.height, row);
  tile.columns = minus(tiles.width, column);
  tile.terms = b.asIndex(b.create<arith::SubIOp>(rows.end, rows.begin));
  return tile;
}

OperandTile GroupedEmitter::makeOperand(bool isLeft) {
  OperandTile::Form form;
  form.element = element;
  form.isLeft = isLeft;
  auto dot = dyn_cast<GroupedDotOp>(op);
  form.hasTermsTogether = dot && (isLeft || dot.getContract() == 2);
  form.lines = isLeft ? tiles.tileRows : tiles.tileColumns;
  form.pitch = form.hasTermsTogether ? tiles.depth
               : isLeft              ? tiles.height
                                     : tiles.width;
  int64_t offset = arenaOffsets(launch)[argumentOf(op, isLeft ? 0 : 1)];
  form.unit =
      CopyUnit::widest(elementByteWidth(element), {form.pitch}, {offset}).lanes;
  return OperandTile(b, form, threads);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void GroupedEmitter::copyStep(Value step, Value to) {
  Value first = b.asIndex(b.mul(step, OperandTile::terms));
  lhs->copy(first, to);
  rhs->copy(first, b.place(to, b.getI8Type(), b.i32(lhs->bytes())));
  tensorcores::closeCopies(b);
}

SmallVector<Value> GroupedEmitter::multiplyStep(Value from, ValueRange sums) {
  SmallVector<Value> next(sums);
  Value right = b.place(from, b.getI8Type(), b.i32(lhs->bytes()));
  for (int64_t part = 0; part < OperandTile::terms / tensorcores::terms;
       ++part) {
    auto rows = lhs->load(from, part), columns = rhs->load(right, part);
    auto *sum = next.begin();
    for (ArrayRef<Value> row : rows)
      for (ArrayRef<Value> column : columns) {
        SmallVector<Value> made =
            tensorcores::multiply(b, element, row, column,
                                  ArrayRef<Value>(sum, tensorcores::laneSums));
        sum = std::copy(made.begin(), made.end(), sum);
      }
  }
  return next;
}

/// Step s lies in stage s modulo `stages`. All warps have read the stage that
/// the next copies go to before they meet at this step's barrier.
void GroupedEmitter::compute(const Tile &tile, Value memory) {
  lhs->setSource(tile.lhs, tile.rows, tile.terms);
  rhs->setSource(tile.rhs, tile.columns, tile.terms);
  lhs->setWarpLines(warpRow, warpRows());
  rhs->setWarpLines(warpColumn, warpColumns());
  auto stageAt = [&](Value offset) {
    return b.place(memory, b.getI8Type(), offset);
  };
  for (int64_t step = 0; step < stages - 1; ++step)
    copyStep(b.i32(step), stageAt(b.i32(step * stageBytes())));
  int64_t count = warpRows() * warpColumns() / warpSize;
  SmallVector<Value> start(count,
                           b.create<arith::ConstantOp>(b.getF32FloatAttr(0)));
  start.push_back(b.i32(0));
  start.push_back(b.i32((stages - 1) * stageBytes()));
  auto nextStage = [&](Value offset) -> Value {
    Value next = b.add(offset, stageBytes());
    return b.create<arith::SelectOp>(b.equal(next, stages * stageBytes()),
                                     b.i32(0), next);
  };
  Value steps = b.create<arith::DivUIOp>(
      b.add(tile.terms, OperandTile::terms - 1), b.index(OperandTile::terms));
  steps = b.create<arith::IndexCastUIOp>(b.getI32Type(), steps);
  auto loop = b.create<scf::ForOp>(
      b.i32(0), steps, b.i32(1), start,
      [&](OpBuilder &, Location, Value step, ValueRange carried) {
        Value readAt = carried[count], writeAt = carried[count + 1];
        tensorcores::waitForCopies(b, stages - 2);
        b.threads.barrier();
        copyStep(b.add(step, stages - 1), stageAt(writeAt));
        SmallVector<Value> next =
            multiplyStep(stageAt(readAt), carried.take_front(count));
        next.push_back(nextStage(readAt));
        next.push_back(nextStage(writeAt));
        b.create<scf::YieldOp>(next);
      });
  tensorcores::waitForCopies(b, 0);
  store(tile, loop.getResults().take_front(count));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Calls `emit` where the result has column `at`.
void GroupedEmitter::emitWithin(const Tile &tile, Value at,
                                function_ref<void()> emit) {
  if (tiles.width % tiles.tileColumns == 0)
    emit();
  else
    b.emitIf(b.less(at, tile.columns), emit);
}

/// The neighbours of a row in the result's type.
Value GroupedEmitter::roundPair(ValueRange pair) {
  Value both = b.create<vector::FromElementsOp>(
      VectorType::get({2}, b.getF32Type()), pair);
  return elementwise::convertFloat(b, b.getLoc(), both, resultElement);
}

/// Two neighbours of a row, where the result has them.
void GroupedEmitter::storePair(const Tile &tile, Value address, Value column,
                               ValueRange pair) {
  if (storedLanes() >= 2)
    return emitWithin(tile, column, [&] { b.store(roundPair(pair), address); });
  for (int64_t each : {0, 1})
    emitWithin(tile, b.add(column, each), [&] {
      b.store(
          elementwise::convertFloat(b, b.getLoc(), pair[each], resultElement),
          b.place(address, resultElement, b.index(each)));
    });
}

/// Lanes q of four have pair q of the rows of four fragments; then each has all
/// of fragment q.
SmallVector<Value> GroupedEmitter::exchangePairs(ArrayRef<Value> pairs) {
  SmallVector<Value> words;
  for (Value pair : pairs)
    words.push_back(b.create<LLVM::BitcastOp>(b.getI32Type(), pair));
  for (int32_t bit : {1, 2}) {
    Value isOdd = b.create<arith::CmpIOp>(
        arith::CmpIPredicate::ne, b.create<arith::AndIOp>(lane, b.i32(bit)),
        b.i32(0));
    auto choose = [&](Value odd, Value even) -> Value {
      return b.create<arith::SelectOp>(isOdd, odd, even);
    };
    for (int64_t low = 0; low < quad; ++low) {
      if (low & bit)
        continue;
      Value &first = words[low], &second = words[low | bit];
      Value other = b.create<gpu::ShuffleOp>(choose(first, second), bit,
                                             warpSize, gpu::ShuffleMode::XOR)
                        .getShuffleResult();
      first = choose(other, first);
      second = choose(second, other);
    }
  }
  return words;
}

/// A row of fragments, 16 bytes by each lane of four.
void GroupedEmitter::storeWide(const Tile &tile, Value row, ValueRange pairs) {
  SmallVector<Value> rounded;
  for (size_t pair = 0; pair != pairs.size(); pair += 2)
    rounded.push_back(roundPair(pairs.slice(pair, 2)));
  constexpr int64_t columns = tensorcores::columns;
  Value own = b.mul(b.create<arith::RemUIOp>(lane, b.i32(quad)), columns);
  Value first = b.asIndex(b.add(warpColumn, own));
  SmallVector<Value> units;
  for (size_t at = 0; at != rounded.size(); at += quad)
    units.push_back(b.create<vector::FromElementsOp>(
        VectorType::get({quad}, b.getI32Type()),
        exchangePairs(ArrayRef(rounded).slice(at, quad))));
  b.emitIf(b.less(row, tile.rows), [&] {
    for (auto [number, unit] : llvm::enumerate(units)) {
      Value column = b.add(first, int64_t(number) * quad * columns);
      Value address =
          place(tile.result, resultElement, {row, column}, {tiles.width, 1});
      emitWithin(tile, column, [&, unit = unit] { b.store(unit, address); });
    }
  });
}

void GroupedEmitter::storeNarrow(const Tile &tile, Value row,
                                 ValueRange pairs) {
  Value own = b.mul(b.create<arith::RemUIOp>(lane, b.i32(quad)), 2);
  Value first = b.asIndex(b.add(warpColumn, own));
  b.emitIf(b.less(row, tile.rows), [&] {
    for (size_t at = 0; at != pairs.size(); at += 2) {
      Value column = b.add(first, int64_t(at) / 2 * tensorcores::columns);
      Value address =
          place(tile.result, resultElement, {row, column}, {tiles.width, 1});
      storePair(tile, address, column, pairs.slice(at, 2));
    }
  });
}

void GroupedEmitter::store(const Tile &tile, ValueRange sums) {
  Value laneRow = b.create<arith::DivUIOp>(lane, b.i32(quad));
  Value first = b.asIndex(b.add(warpRow, laneRow));
  int64_t across = warpColumns() / tensorcores::columns;
  // Four lanes have 32 bytes of f32 in a row beside each other, of narrower
  // types half a sector of memory.
  bool isWide =
      elementByteWidth(resultElement) * storedLanes() == accessBytes &&
      !resultElement.isF32();
  for (int64_t half = 0; half < warpRows() / 8; ++half) {
    SmallVector<Value> pairs;
    for (int64_t each = 0; each < across; ++each) {
      int64_t fragment = half / 2 * across + each;
      int64_t at = fragment * tensorcores::laneSums + half % 2 * 2;
      llvm::append_range(pairs, sums.slice(at, 2));
    }
    Value row = b.add(first, half * 8);
    if (isWide)
      storeWide(tile, row, pairs);
    else
      storeNarrow(tile, row, pairs);
  }
  if (isWide) // Rows that no result has are left out.
    markVectorised(func, 1);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

GridKernel GroupedEmitter::emit(StringRef name) {
  func = b.begin(name, launch->getNumOperands(), threads);
  lhs.emplace(makeOperand(/*isLeft=*/true));
  rhs.emplace(makeOperand(/*isLeft=*/false));
  Value memory = tensorcores::sharedMemory(b, func, stages * stageBytes());
  Value thread =
      b.create<arith::IndexCastUIOp>(b.getI32Type(), b.threads.threadNumber());
  Value warp = b.create<arith::DivUIOp>(thread, b.i32(warpSize));
  lane = b.create<arith::RemUIOp>(thread, b.i32(warpSize));
  warpRow = b.mul(b.create<arith::DivUIOp>(warp, b.i32(2)), warpRows());
  warpColumn = b.mul(b.create<arith::RemUIOp>(warp, b.i32(2)), warpColumns());
  Tile tile = tiles.sumsRows ? findMatrix() : findRows();
  b.emitIf(tile.exists, [&] { compute(tile, memory); });
  return {func, blocks(), threads};
}

FailureOr<GridKernel> hone::emitDeviceGrouped(OpBuilder &builder,
                                              StringRef name,
                                              plan::LaunchOp launch) {
  Operation *op = &launch.getBodyBlock().front();
  std::optional<GroupedTiles> tiles;
  if (isGroupedProduct(launch))
    tiles = GroupedTiles::of(op);
  if (!tiles)
    return emitDevicePoint(builder, name, launch);
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  return GroupedEmitter(b, launch, *tiles).emit(name);
}
