//===- RowShape.cpp - How threads share a row kernel ----------------------===//

#include "RowShape.h"

#include "Codegen/Common/RowValues.h"

#include "GridKernel.h"
#include "hone/Analysis/Layout/Strides.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t maxLanes = 8;
/// Threads of a block of a map, and the most that share a row.
static constexpr int64_t mapThreads = 256, wideThreads = 512;
/// Vectors that a thread holds of each value of a row: 32 registers.
static constexpr int64_t maxTiles = 4;

int64_t DeviceRowShape::rowWarps() const { return rowThreads / warpSize; }

namespace {
/// A buffer with elements per column, and the value whose they are.
struct ColumnBuffer {
  Value value;
  MemRefType type;
  int64_t offset; ///< of its first byte in the arena
};
} // namespace

static bool hasColumns(Role role) {
  return role == Role::Full || role == Role::Col || role == Role::Cyclic ||
         role == Role::Table || role == Role::ColumnSum;
}

static bool isSplat(Value value) {
  return value.getDefiningOp<ConstantOp>() != nullptr;
}

static SmallVector<ColumnBuffer> columnBuffers(plan::LaunchOp launch,
                                               const RowSpace &space) {
  SmallVector<ColumnBuffer> found;
  Block &body = launch.getBodyBlock();
  SmallVector<Value> values(body.getArguments());
  llvm::append_range(values, body.getTerminator()->getOperands());
  for (auto [value, buffer] : llvm::zip(values, launch->getOperands()))
    if (isSplat(value) || hasColumns(space.role(value)))
      found.push_back({value, cast<MemRefType>(buffer.getType()),
                       plan::arenaOffset(buffer)});
  return found;
}

/// Elements of the widest vector, at most `lanes`, that divides rows of `cols`
/// elements and is aligned, whatever buffer they lie in: parts of wider rows
/// may begin anywhere.
static int64_t alignedLanes(ArrayRef<ColumnBuffer> buffers, int64_t cols,
                            int64_t lanes) {
  auto divides = [&](int64_t lanes) {
    return cols % lanes == 0 &&
           llvm::all_of(buffers, [&](const ColumnBuffer &buffer) {
             auto layout = rowLayout(buffer.type);
             int64_t bytes =
                 lanes * elementByteWidth(buffer.type.getElementType());
             return (!layout || layout->stride % lanes == 0) &&
                    buffer.offset % std::min(bytes, accessBytes) == 0;
           });
  };
  while (!divides(lanes))
    lanes /= 2;
  return lanes;
}

/// Elements that 16 bytes of the narrowest buffer hold.
static int64_t narrowLanes(ArrayRef<ColumnBuffer> buffers) {
  int64_t narrowest = accessBytes;
  for (const ColumnBuffer &buffer : buffers)
    narrowest =
        std::min(narrowest, elementByteWidth(buffer.type.getElementType()));
  return std::min(maxLanes, accessBytes / narrowest);
}

/// Whether an output with one element per row lies on an input that has.
static bool writesRowInput(plan::LaunchOp launch, const RowSpace &space) {
  Block &body = launch.getBodyBlock();
  for (auto [yielded, output] :
       llvm::zip(body.getTerminator()->getOperands(), launch.getOutputs()))
    if (!isSplat(yielded) && (space.role(yielded) == Role::Row ||
                              space.role(yielded) == Role::Scalar))
      for (auto [argument, input] :
           llvm::zip(body.getArguments(), launch.getInputs()))
        if (plan::overlap(output, input) && !argument.use_empty())
          return true;
  return false;
}

static int64_t roundUp(int64_t value, int64_t multiple) {
  return llvm::divideCeil(value, multiple) * multiple;
}

/// Threads that share a row, and what each has of it.
static void shareRow(DeviceRowShape &shape) {
  int64_t threads = roundUp(std::max<int64_t>(shape.vectors, 1), warpSize);
  shape.rowThreads = std::min(threads, mapThreads);
  if (shape.vectors > maxTiles * mapThreads)
    shape.rowThreads = wideThreads;
  shape.tiles = llvm::divideCeil(shape.vectors, shape.rowThreads);
  shape.isHeld = shape.tiles <= maxTiles;
  shape.threads = shape.rowThreads;
}

static void shareMap(DeviceRowShape &shape, int64_t rows) {
  shape.tiles = 1;
  shape.threads = shape.rowThreads = mapThreads;
  shape.blocks = llvm::divideCeil(rows * shape.vectors, mapThreads);
}

/// Rows that are held have as few threads as can hold them: each has more loads
/// on their way at once, and fewer wait for each other. A warp needs no
/// barrier: it has a row alone, four to a block.
static void shareRows(DeviceRowShape &shape, int64_t rows) {
  shareRow(shape);
  constexpr int64_t warpRows = 4;
  int64_t warps = llvm::divideCeil(std::max<int64_t>(shape.vectors, 1),
                                   maxTiles * warpSize);
  if (shape.isHeld && warps * warpSize < shape.rowThreads) {
    shape.rowThreads = shape.threads = warps * warpSize;
    shape.tiles = llvm::divideCeil(shape.vectors, shape.rowThreads);
  }
  if (shape.rowThreads == warpSize && !shape.writesRowOperand)
    shape.threads = warpSize * std::min(rows, warpRows);
  if (rows > 0)
    shape.blocks = llvm::divideCeil(rows, shape.rowsPerBlock());
}

static void shareChunks(DeviceRowShape &shape, plan::LaunchOp launch,
                        bool sharesColumns) {
  int64_t chunks =
      cast<MemRefType>(launch.getScratch().front().getType()).getDimSize(0);
  shareRow(shape);
  if (sharesColumns) {
    constexpr int64_t tileThreads = 128;
    shape.rowThreads = shape.threads = std::min(
        roundUp(std::max<int64_t>(shape.vectors, 1), warpSize), tileThreads);
    shape.tiles = 1;
    shape.isHeld = true;
    shape.columnTiles =
        std::max<int64_t>(1, llvm::divideCeil(shape.vectors, shape.threads));
  }
  shape.blocks = chunks * shape.columnTiles;
}

DeviceRowShape DeviceRowShape::of(plan::LaunchOp launch,
                                  const RowSpace &space) {
  DeviceRowShape shape;
  SmallVector<ColumnBuffer> buffers = columnBuffers(launch, space);
  int64_t rows = space.rows(), cols = space.cols();
  bool flat = isFlatMap(launch, space);
  if (flat) {
    cols *= rows;
    rows = 1;
  }
  auto isRowReduction = [&](ReduceOp reduce) {
    return space.role(reduce.getResult()) == Role::Row;
  };
  Block &body = launch.getBodyBlock();
  bool hasRowReductions = llvm::any_of(body.getOps<ReduceOp>(), isRowReduction);
  // The order in which a row is added up does not depend on what else a kernel
  // reads and writes: a part of it that runs again has the same bits.
  shape.lanes = alignedLanes(
      buffers, cols, hasRowReductions ? maxLanes : narrowLanes(buffers));
  shape.vectors = cols / shape.lanes;
  shape.writesRowOperand = writesRowInput(launch, space);
  shape.isVectorised =
      cols > 0 && llvm::any_of(buffers, [&](const ColumnBuffer &buffer) {
        return shape.lanes * elementByteWidth(buffer.type.getElementType()) >=
               accessBytes;
      });
  auto isTotal = [&](Value value) {
    return !isSplat(value) && space.role(value) == Role::TotalSum;
  };
  if (space.hasPartialSums()) {
    shape.form = DeviceForm::chunks;
    bool hasTotals = llvm::any_of(body.getTerminator()->getOperands(), isTotal);
    shareChunks(shape, launch, !hasRowReductions && !hasTotals);
  } else if (hasRowReductions || shape.writesRowOperand || cols == 0) {
    shape.form = DeviceForm::rows;
    shareRows(shape, rows);
  } else {
    shape.form = flat ? DeviceForm::flat : DeviceForm::map;
    shareMap(shape, rows);
  }
  return shape;
}
