//===- CopyKernels.cpp - Kernels that only move elements ------------------===//
//
// Runs of elements (Codegen/Common/DataMovement.h) are copied. Where there are
// none, but one dimension of the source is contiguous, tiles of 16 x 16 are
// transposed in registers.
//
//===----------------------------------------------------------------------===//

#include "CopyKernels.h"
#include "Codegen/Common/DataMovement.h"
#include "Codegen/Common/KernelBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

/// Elements that one item moves, at most, and that are worth a thread, at
/// least.
static constexpr int64_t runElements = 4096;
static constexpr int64_t grainElements = 16384;

static int64_t grainFor(int64_t elementsPerItem) {
  return std::max<int64_t>(1, grainElements /
                                  std::max<int64_t>(1, elementsPerItem));
}

static int64_t ceilDiv(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

/// Elements of 16 bits as integers: CPUs without instructions for bf16 and f16
/// have none to shuffle them either.
static SmallVector<Type> integerBuffers(TypeRange buffers) {
  SmallVector<Type> types;
  for (Type buffer : buffers) {
    auto type = cast<MemRefType>(buffer);
    if (type.getElementType().getIntOrFloatBitWidth() == 16)
      type = MemRefType::Builder(type).setElementType(
          IntegerType::get(type.getContext(), 16));
    types.push_back(type);
  }
  return types;
}

namespace {
struct CopyEmitter : KernelBuilder {
  CopyEmitter(OpBuilder &builder, StringRef name, plan::LaunchOp launch)
      : KernelBuilder(builder, launch.getLoc(), name,
                      integerBuffers(launch->getOperandTypes())) {}

  Value add(Value lhs, Value rhs) { return create<arith::AddIOp>(lhs, rhs); }
  Value add(Value lhs, int64_t rhs) {
    return rhs == 0 ? lhs : add(lhs, index(rhs));
  }
  Value mul(Value lhs, int64_t rhs) {
    return create<arith::MulIOp>(lhs, index(rhs));
  }
  Value min(Value lhs, Value rhs) { return create<arith::MinSIOp>(lhs, rhs); }
  Value max(Value lhs, Value rhs) { return create<arith::MaxSIOp>(lhs, rhs); }

  Type element(Value memory) {
    return cast<MemRefType>(memory.getType()).getElementType();
  }

  /// Writes to[toStart ...] by vectors; `vectorAt` gives what to write at an
  /// offset into the run, under a mask (null: all lanes).
  template <typename Length>
  void writeRun(Value to, Value toStart, Length length,
                function_ref<Value(Value, Value)> vectorAt) {
    auto write = [&](Value at, Value mask) {
      storeVector(vectorAt(at, mask), to, add(toStart, at), mask);
    };
    if constexpr (std::is_same_v<Length, int64_t>) {
      int64_t whole = length - length % kernelLanes;
      if (whole > 4 * kernelLanes)
        loop(index(0), index(whole), kernelLanes,
             [&](Value at) { write(at, {}); });
      else
        for (int64_t at = 0; at < whole; at += kernelLanes)
          write(index(at), {});
      if (whole != length)
        write(index(whole), maskOfFirst(length - whole));
    } else {
      Value rest = create<arith::RemUIOp>(length, index(kernelLanes));
      Value whole = create<arith::SubIOp>(length, rest);
      loop(index(0), whole, kernelLanes, [&](Value at) { write(at, {}); });
      // With no lane left, the mask keeps it from touching memory.
      write(whole, maskOfFirst(rest));
    }
  }

  template <typename Length>
  void copyRun(Value from, Value fromStart, Value to, Value toStart,
               Length length) {
    writeRun(to, toStart, length, [&](Value at, Value mask) {
      return loadVector(from, add(fromStart, at), element(from), mask);
    });
  }

  template <typename Length>
  void zeroRun(Value to, Value toStart, Length length) {
    writeRun(to, toStart, length, [&](Value, Value) -> Value {
      return create<arith::ConstantOp>(
          getZeroAttr(VectorType::get({kernelLanes}, element(to))));
    });
  }

  Kernel copyRuns(const StridedMove &move);
  Kernel copyTransposed(const StridedMove &move, unsigned inner);
  void transposeTile(Value from, Value fromStart, int64_t fromStride, Value to,
                     Value toStart, int64_t toStride, Value rows, Value cols);
  Kernel padRows(PadOp op);
  Kernel concatRows(ConcatOp op);
};
} // namespace

//===----------------------------------------------------------------------===//
// Transpose and slice
//===----------------------------------------------------------------------===//

/// The last dimension is contiguous: rows of it, in parts where they are long.
Kernel CopyEmitter::copyRuns(const StridedMove &move) {
  ArrayRef<MoveDim> dims = move.dims;
  Value from = flat(buffer(0)), to = flat(buffer(1));
  int64_t width = dims.back().size;
  int64_t parts = ceilDiv(width, runElements);
  SmallVector<int64_t> shape = move.sizes();
  shape.pop_back();
  int64_t rows = ShapedType::getNumElements(shape);
  shape.push_back(parts);
  loop(lo(), hi(), 1, [&](Value item) {
    SmallVector<Value> at = delinearize(item, shape);
    Value row = parts == 1 ? item : create<arith::DivUIOp>(item, index(parts));
    Value fromStart = index(move.base);
    for (auto [position, dim] : llvm::zip(at, dims.drop_back()))
      fromStart = add(fromStart, mul(position, dim.stride));
    Value toStart = mul(row, width);
    if (parts == 1)
      return copyRun(from, fromStart, to, toStart, width);
    Value first = mul(at.back(), runElements);
    Value length =
        min(create<arith::SubIOp>(index(width), first), index(runElements));
    copyRun(from, add(fromStart, first), to, add(toStart, first), length);
  });
  return {func, rows * parts, grainFor(std::min(width, runElements))};
}

/// to[c * toStride + r] = from[r * fromStride + c] for r < rows, c < cols, both
/// at most 16, or whole tiles where they are null. Four rounds of interleaving
/// row i with row i + 8 transpose.
void CopyEmitter::transposeTile(Value from, Value fromStart, int64_t fromStride,
                                Value to, Value toStart, int64_t toStride,
                                Value rows, Value cols) {
  SmallVector<Value> tile;
  // Vectors beyond the last row or column are masked off entirely.
  auto maskAt = [&](int64_t vector, Value vectors, Value lanes) -> Value {
    if (!vectors)
      return {};
    Value exists = create<arith::CmpIOp>(arith::CmpIPredicate::slt,
                                         index(vector), vectors);
    return maskOfFirst(create<arith::SelectOp>(exists, lanes, index(0)));
  };
  for (int64_t r = 0; r < kernelLanes; ++r)
    tile.push_back(loadVector(from, add(fromStart, r * fromStride),
                              element(from), maskAt(r, rows, cols)));
  SmallVector<int64_t> low, high;
  for (int64_t lane = 0; lane < kernelLanes / 2; ++lane) {
    low.append({lane, lane + kernelLanes});
    high.append({lane + kernelLanes / 2, lane + kernelLanes * 3 / 2});
  }
  for (int round = 0; round < 4; ++round) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < kernelLanes / 2; ++i) {
      Value other = tile[i + kernelLanes / 2];
      next.push_back(create<vector::ShuffleOp>(tile[i], other, low));
      next.push_back(create<vector::ShuffleOp>(tile[i], other, high));
    }
    tile = next;
  }
  for (int64_t c = 0; c < kernelLanes; ++c)
    storeVector(tile[c], to, add(toStart, c * toStride), maskAt(c, cols, rows));
}

/// Dimension `inner` of the result is the contiguous one of the source: an item
/// is a tile of it and the last dimension.
Kernel CopyEmitter::copyTransposed(const StridedMove &move, unsigned inner) {
  ArrayRef<MoveDim> dims = move.dims;
  Value from = flat(buffer(0)), to = flat(buffer(1));
  SmallVector<int64_t> sizes = move.sizes(), tiles = sizes;
  SmallVector<int64_t> toStrides = denseStrides(sizes);
  unsigned last = dims.size() - 1;
  for (unsigned dim : {inner, last})
    tiles[dim] = ceilDiv(sizes[dim], kernelLanes);
  loop(lo(), hi(), 1, [&](Value item) {
    SmallVector<Value> at = delinearize(item, tiles);
    // Elements left along a dimension from its tile on.
    auto left = [&](unsigned dim) {
      at[dim] = mul(at[dim], kernelLanes);
      return min(create<arith::SubIOp>(index(sizes[dim]), at[dim]),
                 index(kernelLanes));
    };
    Value cols = left(inner), rows = left(last);
    Value fromStart = index(move.base), toStart = index(0);
    for (auto [position, dim, toStride] : llvm::zip(at, dims, toStrides)) {
      fromStart = add(fromStart, mul(position, dim.stride));
      toStart = add(toStart, mul(position, toStride));
    }
    auto emitTile = [&](Value rows, Value cols) {
      transposeTile(from, fromStart, dims[last].stride, to, toStart,
                    toStrides[inner], rows, cols);
    };
    if (sizes[inner] % kernelLanes == 0 && sizes[last] % kernelLanes == 0)
      return emitTile({}, {});
    Value smaller = min(rows, cols);
    Value isWhole = create<arith::CmpIOp>(arith::CmpIPredicate::eq, smaller,
                                          index(kernelLanes));
    auto branch = create<scf::IfOp>(isWhole, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    emitTile({}, {});
    setInsertionPointToStart(branch.elseBlock());
    emitTile(rows, cols);
  });
  return {func, ShapedType::getNumElements(tiles),
          grainFor(kernelLanes * kernelLanes)};
}

//===----------------------------------------------------------------------===//
// Pad and concat
//===----------------------------------------------------------------------===//

/// An item is a row of the result: zeros, or zeros around a row of the operand.
Kernel CopyEmitter::padRows(PadOp op) {
  Value from = flat(buffer(0)), to = flat(buffer(1));
  ArrayRef<int64_t> shape = shapeOf(op), inside = shapeOf(op.getOperand());
  SmallVector<int64_t> strides = denseStrides(inside);
  int64_t last = int64_t(shape.size()) - 1, width = shape[last];
  int64_t before = op.getLow()[last];
  ArrayRef<int64_t> outer = shape.drop_back();
  loop(lo(), hi(), 1, [&](Value row) {
    SmallVector<Value> at = delinearize(row, outer);
    Value toStart = mul(row, width), fromStart = index(0), isInside;
    for (int64_t dim = 0; dim < last; ++dim) {
      int64_t step = op.getInterior()[dim] + 1;
      int64_t extent = (inside[dim] - 1) * step + 1;
      Value offset = add(at[dim], -op.getLow()[dim]);
      // Negative offsets are large without sign.
      Value hit = create<arith::CmpIOp>(arith::CmpIPredicate::ult, offset,
                                        index(extent));
      if (step != 1) {
        Value rest = create<arith::RemUIOp>(offset, index(step));
        Value on =
            create<arith::CmpIOp>(arith::CmpIPredicate::eq, rest, index(0));
        hit = create<arith::AndIOp>(hit, on);
        offset = create<arith::DivUIOp>(offset, index(step));
      }
      isInside = isInside ? create<arith::AndIOp>(isInside, hit) : hit;
      fromStart = add(fromStart, mul(offset, strides[dim]));
    }
    auto copyRow = [&] {
      zeroRun(to, toStart, before);
      copyRun(from, fromStart, to, add(toStart, before), inside[last]);
      int64_t after = before + inside[last];
      zeroRun(to, add(toStart, after), width - after);
    };
    if (!isInside)
      return copyRow();
    auto branch = create<scf::IfOp>(isInside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    copyRow();
    setInsertionPointToStart(branch.elseBlock());
    zeroRun(to, toStart, width);
  });
  return {func, ShapedType::getNumElements(outer), grainFor(width)};
}

/// The result as rows of everything from `dim` on; operands are parts of each
/// row. An item is a part of a row, so that a single row has many.
Kernel CopyEmitter::concatRows(ConcatOp op) {
  int64_t dim = op.getDim();
  ArrayRef<int64_t> shape = shapeOf(op);
  int64_t rows = ShapedType::getNumElements(shape.take_front(dim));
  int64_t width = ShapedType::getNumElements(shape.drop_front(dim));
  int64_t parts = ceilDiv(width, runElements);
  unsigned output = func.getNumArguments() - 3;
  Value to = flat(buffer(output));
  SmallVector<Value> sources;
  for (Value input : op.getInputs())
    sources.push_back(flat(buffer(cast<BlockArgument>(input).getArgNumber())));
  loop(lo(), hi(), 1, [&](Value item) {
    SmallVector<Value> at = delinearize(item, {rows, parts});
    Value toStart = mul(at[0], width);
    Value first = mul(at[1], runElements);
    Value end = min(add(first, runElements), index(width));
    int64_t offset = 0;
    for (auto [input, from] : llvm::zip(op.getInputs(), sources)) {
      int64_t size = ShapedType::getNumElements(shapeOf(input).drop_front(dim));
      int64_t begin = offset;
      offset += size;
      if (size == 0)
        continue;
      Value fromStart = mul(at[0], size);
      if (parts == 1) {
        copyRun(from, fromStart, to, add(toStart, begin), size);
        continue;
      }
      Value start = max(first, index(begin));
      Value length =
          max(create<arith::SubIOp>(min(end, index(offset)), start), index(0));
      copyRun(from, add(fromStart, add(start, -begin)), to, add(toStart, start),
              length);
    }
  });
  return {func, rows * parts, grainFor(std::min(width, runElements))};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

std::optional<Kernel> hone::emitCopy(OpBuilder &builder, StringRef name,
                                     plan::LaunchOp launch) {
  Operation *op = movedBy(launch);
  if (!op)
    return std::nullopt;
  if (auto concat = dyn_cast<ConcatOp>(op))
    return CopyEmitter(builder, name, launch).concatRows(concat);
  if (launch.getInputs().size() != 1)
    return std::nullopt;
  if (auto pad = dyn_cast<PadOp>(op)) {
    bool hasRuns = pad.getInterior().back() == 0 &&
                   !llvm::is_contained(shapeOf(pad.getOperand()), 0);
    if (!hasRuns)
      return std::nullopt;
    return CopyEmitter(builder, name, launch).padRows(pad);
  }
  StridedMove move = stridedMove(op);
  if (move.dims.back().stride == 1)
    return CopyEmitter(builder, name, launch).copyRuns(move);
  if (std::optional<unsigned> inner = move.innerDim())
    return CopyEmitter(builder, name, launch).copyTransposed(move, *inner);
  return std::nullopt;
}
