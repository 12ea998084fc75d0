//===- DataMovementKernels.cpp - Moves of elements on a GPU ---------------===//

#include "DataMovementKernels.h"

#include "Codegen/CPU/GenericKernels.h"
#include "Codegen/Common/DataMovement.h"
#include "Copies.h"
#include "Items.h"
#include "Reductions.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hone;

static int64_t elementBytes(Operation *op) {
  return elementByteWidth(getElementTypeOrSelf(op->getResult(0)));
}

static int64_t argumentNumber(Value value) {
  return cast<BlockArgument>(value).getArgNumber();
}

/// The largest offset from which the move reads.
static int64_t lastOffset(const StridedMove &move) {
  int64_t last = move.base;
  for (MoveDim dim : move.dims)
    last += (dim.size - 1) * dim.stride;
  return last;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// The last dimension is contiguous.
static GridKernel emitRuns(DeviceBuilder &b, StringRef name,
                           plan::LaunchOp launch, int64_t bytes,
                           const StridedMove &move) {
  SmallVector<int64_t> sizes = move.sizes(), strides, numbers = {move.base};
  for (MoveDim dim : move.dims)
    strides.push_back(dim.stride);
  numbers.push_back(sizes.back());
  numbers.append(strides.begin(), std::prev(strides.end()));
  CopyUnit unit = CopyUnit::widest(bytes, numbers, arenaOffsets(launch));
  sizes.back() /= unit.lanes;
  strides.back() = unit.lanes;
  return emitUnitCopies(b, name, launch, unit, lastOffset(move),
                        [&](gpu::GPUFuncOp func, Value number) -> CopySource {
                          SmallVector<Value> at = b.delinearize(number, sizes);
                          return {func.getArgument(0),
                                  b.linearize(at, strides, move.base)};
                        });
}

/// The result as rows of everything from the op's dimension on; operands are
/// parts of each row.
static GridKernel emitConcat(DeviceBuilder &b, StringRef name,
                             plan::LaunchOp launch, ConcatOp op) {
  int64_t dim = op.getDim();
  auto widthOf = [&](Value value) {
    return ShapedType::getNumElements(shapeOf(value).drop_front(dim));
  };
  int64_t rows = ShapedType::getNumElements(shapeOf(op).take_front(dim));
  SmallVector<int64_t> widths = llvm::map_to_vector(op.getInputs(), widthOf);
  CopyUnit unit =
      CopyUnit::widest(elementBytes(op), widths, arenaOffsets(launch));
  int64_t rowUnits = widthOf(op.getResult()) / unit.lanes;
  int64_t largest = ShapedType::getNumElements(shapeOf(op));
  return emitUnitCopies(
      b, name, launch, unit, largest,
      [&](gpu::GPUFuncOp func, Value number) -> CopySource {
        SmallVector<Value> at = b.delinearize(number, {rows, rowUnits});
        CopySource source;
        // From the last operand on: each takes what is before its end.
        int64_t end = widthOf(op.getResult());
        for (int64_t i = int64_t(widths.size()) - 1; i >= 0; --i) {
          if (widths[i] == 0)
            continue;
          int64_t begin = end - widths[i];
          Value address = func.getArgument(argumentNumber(op.getInputs()[i]));
          Value column = b.add(at[1], -begin / unit.lanes);
          Value offset = b.linearize({at[0], column}, {widths[i], unit.lanes});
          Value isHere = b.less(at[1], end / unit.lanes);
          auto choose = [&](Value yes, Value no) -> Value {
            return no ? b.create<arith::SelectOp>(isHere, yes, no) : yes;
          };
          source = {choose(address, source.address),
                    choose(offset, source.offset)};
          end = begin;
        }
        return source;
      });
}

/// Zeros around the operand, and between its elements along all dimensions but
/// the last.
static GridKernel emitPad(DeviceBuilder &b, StringRef name,
                          plan::LaunchOp launch, PadOp op) {
  ArrayRef<int64_t> shape = shapeOf(op), inside = shapeOf(op.getOperand());
  SmallVector<int64_t> strides = denseStrides(inside), sizes(shape);
  CopyUnit unit =
      CopyUnit::widest(elementBytes(op),
                       {shape.back(), inside.back(), op.getLow().back(),
                        op.getInterior().back() == 0 ? 0 : 1},
                       arenaOffsets(launch));
  sizes.back() /= unit.lanes;
  auto sourceOf = [&](gpu::GPUFuncOp func, Value number) -> CopySource {
    SmallVector<Value> at = b.delinearize(number, sizes);
    at.back() = b.mul(at.back(), unit.lanes);
    Value isInside;
    auto require = [&](Value holds) {
      isInside = isInside ? b.create<arith::AndIOp>(isInside, holds) : holds;
    };
    for (auto [position, low, interior, size] :
         llvm::zip_equal(at, op.getLow(), op.getInterior(), inside)) {
      position = b.add(position, -low);
      int64_t step = interior + 1;
      // Negative offsets are large without sign.
      require(b.less(position, size == 0 ? 0 : (size - 1) * step + 1));
      if (step == 1)
        continue;
      Value by = b.number(position, step);
      require(b.less(b.create<arith::RemUIOp>(position, by), 1));
      position = b.create<arith::DivUIOp>(position, by);
    }
    return {func.getArgument(0), b.linearize(at, strides), isInside};
  };
  return emitUnitCopies(b, name, launch, unit,
                        ShapedType::getNumElements(shape), sourceOf);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

namespace {
/// Transposes tiles of the result's last dimension and of the one along which
/// the source is contiguous.
class TileEmitter {
public:
  TileEmitter(DeviceBuilder &b, plan::LaunchOp launch, int64_t bytes,
              const StridedMove &move, unsigned inner);
  GridKernel emit(StringRef name, int64_t arguments);

private:
  static constexpr int64_t threads = 256;

  /// A place in a tile: a row, and the unit that begins at a column; and
  /// whether it is one of the tensor's (null: always).
  struct Place {
    Value row, column, exists;
  };
  Place placeOf(int64_t part, unsigned rowDim, unsigned columnDim);
  Value inTile(Value row, Value column);
  int64_t unitsPerThread() { return side * side / unit.lanes / threads; }
  void load(Value from, Value base);
  void store(Value to, Value base);

  DeviceBuilder &b;
  const StridedMove &move;
  unsigned inner, last;
  SmallVector<int64_t> sizes, toStrides;
  CopyUnit unit;
  int64_t side, pitch;       ///< elements along a tile, and between its rows
  SmallVector<Value> starts; ///< of the tile, by dimension
  Value thread, tile;
};
} // namespace

TileEmitter::TileEmitter(DeviceBuilder &b, plan::LaunchOp launch, int64_t bytes,
                         const StridedMove &move, unsigned inner)
    : b(b), move(move), inner(inner), last(move.dims.size() - 1),
      sizes(move.sizes()), toStrides(denseStrides(sizes)) {
  SmallVector<int64_t> numbers = {sizes[inner], sizes[last], move.base};
  for (auto [number, dim] : llvm::enumerate(move.dims)) {
    if (number != inner)
      numbers.push_back(dim.stride);
    if (number != last)
      numbers.push_back(toStrides[number]);
  }
  unit = CopyUnit::widest(bytes, numbers, arenaOffsets(launch));
  // The code generator takes vectors of more bytes that a thread puts together
  // apart again.
  if (bytes == 1)
    unit.lanes = std::min<int64_t>(unit.lanes, 4);
  side = std::max<int64_t>(warpSize, 8 * unit.lanes);
  // An odd number of words, so that a column's elements lie in all banks.
  pitch = side + std::max<int64_t>(1, 4 / bytes);
}

/// The thread's unit number `part` of the tile.
TileEmitter::Place TileEmitter::placeOf(int64_t part, unsigned rowDim,
                                        unsigned columnDim) {
  Value number = b.add(thread, part * threads);
  Value perRow = b.number(number, side / unit.lanes);
  Value row = b.create<arith::DivUIOp>(number, perRow);
  Value column = b.mul(b.create<arith::RemUIOp>(number, perRow), unit.lanes);
  Value exists;
  for (auto [offset, dim] : {std::pair(row, rowDim), {column, columnDim}}) {
    if (sizes[dim] % side == 0)
      continue;
    Value holds = b.less(b.add(starts[dim], offset), sizes[dim]);
    exists = exists ? b.create<arith::AndIOp>(exists, holds) : holds;
  }
  return {row, column, exists};
}

/// The address of an element of the tile in shared memory.
Value TileEmitter::inTile(Value row, Value column) {
  return b.linearize({row, column}, {pitch, 1});
}

void TileEmitter::load(Value from, Value base) {
  SmallVector<std::pair<Place, Value>> loaded;
  for (int64_t part = 0; part < unitsPerThread(); ++part) {
    Place place = placeOf(part, last, inner);
    Value offset = b.linearize({base, place.row, place.column},
                               {1, move.dims[last].stride, 1});
    loaded.emplace_back(place, unit.load(b, from, offset, place.exists));
  }
  for (auto &[place, value] : loaded) {
    Value first = inTile(place.row, place.column);
    for (auto [lane, element] : llvm::enumerate(unit.split(b, value))) {
      Value at = b.create<arith::IndexCastUIOp>(b.getIndexType(),
                                                b.add(first, int64_t(lane)));
      b.create<memref::StoreOp>(element, tile, at);
    }
  }
}

void TileEmitter::store(Value to, Value base) {
  for (int64_t part = 0; part < unitsPerThread(); ++part) {
    Place place = placeOf(part, inner, last);
    auto write = [&] {
      SmallVector<Value> elements;
      for (int64_t lane = 0; lane < unit.lanes; ++lane) {
        Value at = b.create<arith::IndexCastUIOp>(
            b.getIndexType(), inTile(b.add(place.column, lane), place.row));
        elements.push_back(b.create<memref::LoadOp>(tile, at));
      }
      Value offset = b.linearize({base, place.row, place.column},
                                 {1, toStrides[inner], 1});
      unit.store(b, unit.join(b, elements), to, offset);
    };
    if (place.exists)
      b.emitIf(place.exists, write);
    else
      write();
  }
}

GridKernel TileEmitter::emit(StringRef name, int64_t arguments) {
  SmallVector<int64_t> tiles = sizes;
  for (unsigned dim : {inner, last})
    tiles[dim] = llvm::divideCeil(sizes[dim], side);
  int64_t blocks = ShapedType::getNumElements(tiles);
  // Tiles at the edges reach beyond both tensors.
  int64_t largest = std::max(lastOffset(move), toStrides[0] * sizes[0]) +
                    side * (move.dims[last].stride + toStrides[inner] + 1);

  gpu::GPUFuncOp func = b.begin(name, arguments, threads);
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  tile = func.addWorkgroupAttribution(
      MemRefType::get({side * pitch}, unit.element(b.getContext()),
                      MemRefLayoutAttrInterface(), space),
      b.getLoc());
  thread = b.threadFor(largest);
  starts = b.delinearize(b.blockFor(largest), tiles);
  for (unsigned dim : {inner, last})
    starts[dim] = b.mul(starts[dim], side);
  SmallVector<int64_t> strides;
  for (MoveDim dim : move.dims)
    strides.push_back(dim.stride);
  load(func.getArgument(0), b.linearize(starts, strides, move.base));
  b.threads.barrier();
  store(func.getArgument(1), b.linearize(starts, toStrides));
  if (unit.isWide())
    markVectorised(func, /*accesses=*/2);
  return {func, blocks, threads};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The kernel of a launch of one move; none where that keeps no elements
/// together.
static std::optional<GridKernel> emitMove(DeviceBuilder &b, StringRef name,
                                          plan::LaunchOp launch) {
  Operation *op = movedBy(launch);
  if (!op)
    return std::nullopt;
  if (auto concat = dyn_cast<ConcatOp>(op))
    return emitConcat(b, name, launch, concat);
  if (launch.getInputs().size() != 1)
    return std::nullopt;
  if (auto pad = dyn_cast<PadOp>(op))
    return emitPad(b, name, launch, pad);
  StridedMove move = stridedMove(op);
  if (move.dims.back().stride == 1)
    return emitRuns(b, name, launch, elementBytes(op), move);
  if (std::optional<unsigned> inner = move.innerDim())
    return TileEmitter(b, launch, elementBytes(op), move, *inner)
        .emit(name, launch->getNumOperands());
  return std::nullopt;
}

FailureOr<GridKernel> hone::emitDevicePoint(OpBuilder &builder, StringRef name,
                                            plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  // What only moves or reduces elements lies on none of its operands.
  bool isApart = llvm::none_of(launch.getInputs(), [&](Value input) {
    return llvm::any_of(launch.getOutputs(), [&](Value output) {
      return plan::overlap(input, output);
    });
  });
  if (isApart) {
    if (std::optional<GridKernel> kernel = emitMove(b, name, launch))
      return *kernel;
    if (std::optional<GridKernel> kernel = emitColumnReduction(b, name, launch))
      return *kernel;
  }
  if (std::optional<GridKernel> kernel = emitRunningSums(b, name, launch))
    return *kernel;
  FailureOr<Kernel> kernel = emitPoint(builder, name, launch);
  if (failed(kernel))
    return failure();
  return emitItems(builder, *kernel);
}
