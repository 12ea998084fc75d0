//===- DepthwiseKernels.cpp - Convolutions of each channel apart ----------===//
//
// Lanes are channels. A block of neighbouring positions of the last spatial
// dimension stays in registers while the taps go by; a vector that several taps
// read is loaded once. Which taps of that dimension exist is known when the
// code is made: blocks at the edges have code of their own.
//
//===----------------------------------------------------------------------===//

#include "DepthwiseKernels.h"

#include "GenericKernels.h"
#include "WindowTaps.h"
#include "hone/Analysis/Memory/Scratch.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <map>

using namespace mlir;
using namespace hone;

/// Positions of a block at most: their sums, the taps' weights and what is read
/// fit in 32 registers where a window has up to 7 taps along a dimension.
static constexpr int64_t largestBlock = 14;
/// Vector operations worth a thread.
static constexpr int64_t grainOperations = 1024;

static ArrayRef<int64_t> spatial(Value value) {
  return shapeOf(value).drop_front().drop_back();
}

namespace {
/// `count` blocks of `width` positions that follow each other from `first` on,
/// with the same taps.
struct Segment {
  int64_t first, width, count;
};

/// A tap `k` of the position `place` of a block.
struct BlockTap {
  int64_t place, k;
};

class DepthwiseEmitter : KernelBuilder {
public:
  /// `dims` leads from positions of a tensor of `shape` to what they read.
  DepthwiseEmitter(OpBuilder &builder, StringRef name, plan::LaunchOp launch,
                   TapDims dims, ArrayRef<int64_t> shape)
      : KernelBuilder(builder, name, launch), dims(dims), shape(shape),
        channels(shape.back()),
        vectors(llvm::divideCeil(channels, kernelLanes)),
        width(shape[shape.size() - 2]) {
    for (const TapDim &dim : dims)
      taps *= dim.taps;
    lanes = VectorType::get({kernelLanes}, getF32Type());
    cutRow();
  }

  /// target[p] = sum of source[what tap k of p reads] * weight[k]; tap k has
  /// weight k, or with `flips` the last but k.
  Kernel sumTaps(bool flips);
  /// partial sums[chunk, k] = sum over the chunk's positions p of
  /// source[what tap k of p reads] * grad[p].
  Kernel sumPositions(int64_t chunks);

private:
  void cutRow();
  bool isInside(int64_t first, int64_t count) const;
  std::map<int64_t, SmallVector<BlockTap>> readsOf(const Segment &segment);
  SmallVector<int64_t> rowShape() const {
    return SmallVector<int64_t>(ArrayRef(shape).drop_back(2));
  }
  ArrayRef<TapDim> outer() const { return ArrayRef(dims).drop_back(); }
  int64_t outerSize() const;
  Value fma(Value x, Value y, Value sum) {
    return create<math::FmaOp>(x, y, sum);
  }
  Value load(Value memory, Value start, int64_t step) {
    return loadVector(memory, affine(*this, start, 1, step * channels),
                      getF32Type(), channel.mask);
  }
  Value startOf(Value row, int64_t width, Value place);
  void sumBlock(const Segment &segment, Value first, Value row,
                ArrayRef<Value> at, bool flips);
  SmallVector<Value> sumRow(Value sourceRow, Value gradRow);
  SmallVector<Value> sumProducts(const Segment &segment, Value first,
                                 Value sourceRow, Value gradRow);

  TapDims dims;
  ArrayRef<int64_t> shape;
  int64_t channels, vectors, width, taps = 1;
  VectorType lanes;
  SmallVector<Segment> segments;
  ChannelVector channel; // of the item
};
} // namespace

//===----------------------------------------------------------------------===//
// Blocks of a row
//===----------------------------------------------------------------------===//

/// Whether no position of the block reads beyond the edges.
bool DepthwiseEmitter::isInside(int64_t first, int64_t count) const {
  const TapDim &dim = dims.back();
  int64_t last = first + count - 1;
  return first * dim.step >= dim.low &&
         last * dim.step + (dim.taps - 1) * dim.dilation - dim.low <=
             (dim.size - 1) * dim.gap;
}

void DepthwiseEmitter::cutRow() {
  int64_t gap = dims.back().gap;
  int64_t block =
      llvm::divideCeil(width, llvm::divideCeil(width, largestBlock));
  block = llvm::divideCeil(block, gap) * gap; // all begin at the same tap
  bool wasInside = false;
  for (int64_t first = 0; first < width; first += block) {
    int64_t count = std::min(block, width - first);
    bool inside = count == block && isInside(first, count);
    if (inside && wasInside)
      ++segments.back().count;
    else
      segments.push_back({first, count, 1});
    wasInside = inside;
  }
}

/// What a block reads, relative to where its first position begins, and who
/// reads it.
std::map<int64_t, SmallVector<BlockTap>>
DepthwiseEmitter::readsOf(const Segment &segment) {
  const TapDim &dim = dims.back();
  int64_t base = segment.first * dim.step / dim.gap;
  std::map<int64_t, SmallVector<BlockTap>> reads;
  for (int64_t place = 0; place != segment.width; ++place)
    for (int64_t k = 0; k != dim.taps; ++k)
      if (std::optional<int64_t> read = dim.read(segment.first + place, k))
        reads[*read - base].push_back({place, k});
  return reads;
}

int64_t DepthwiseEmitter::outerSize() const {
  int64_t size = 1;
  for (const TapDim &dim : outer())
    size *= dim.size;
  return size;
}

/// Where the item's channels of position `place` of a row of `width` begin.
Value DepthwiseEmitter::startOf(Value row, int64_t width, Value place) {
  Value position = create<arith::AddIOp>(affine(*this, row, width), place);
  return create<arith::AddIOp>(affine(*this, position, channels),
                               channel.first);
}

//===----------------------------------------------------------------------===//
// Sums over taps
//===----------------------------------------------------------------------===//

void DepthwiseEmitter::sumBlock(const Segment &segment, Value first, Value row,
                                ArrayRef<Value> at, bool flips) {
  const TapDim &dim = dims.back();
  Value source = flat(buffer(0)), weight = flat(buffer(1)),
        target = flat(buffer(2));
  auto reads = readsOf(segment);
  SmallVector<Value> zeros(segment.width, constant(lanes, 0));
  Value base = affine(*this, first, dim.step);
  if (dim.gap != 1)
    base = create<arith::DivUIOp>(base, index(dim.gap));
  SmallVector<Value> sums = loopOverTaps(
      *this, outer(), at.drop_front(), zeros,
      [&](Value tap, Value read, ValueRange carried) {
        SmallVector<Value> next(carried), weights;
        Value sourceRow =
            create<arith::AddIOp>(affine(*this, at.front(), outerSize()), read);
        Value sourceStart = startOf(sourceRow, dim.size, base);
        Value firstTap = affine(*this, tap, dim.taps);
        if (flips)
          firstTap = affine(*this, firstTap, -1, taps - 1);
        Value weightStart = create<arith::AddIOp>(
            affine(*this, firstTap, channels), channel.first);
        for (int64_t k = 0; k != dim.taps; ++k)
          weights.push_back(load(weight, weightStart, flips ? -k : k));
        for (auto &[step, blockTaps] : reads) {
          Value x = load(source, sourceStart, step);
          for (auto [place, k] : blockTaps)
            next[place] = fma(x, weights[k], next[place]);
        }
        return next;
      });
  Value start = startOf(row, width, first);
  for (auto [place, sum] : llvm::enumerate(sums))
    storeVector(sum, target, affine(*this, start, 1, place * channels),
                channel.mask);
}

Kernel DepthwiseEmitter::sumTaps(bool flips) {
  SmallVector<int64_t> items = rowShape();
  items.push_back(vectors);
  loop(lo(), hi(), 1, [&](Value item) {
    SmallVector<Value> at = delinearize(item, items);
    channel = channelVector(*this, at.pop_back_val(), channels);
    Value row = vectors == 1
                    ? item
                    : create<arith::DivUIOp>(item, index(vectors)).getResult();
    for (const Segment &segment : segments) {
      if (segment.count == 1) {
        sumBlock(segment, index(segment.first), row, at, flips);
        continue;
      }
      loop(index(segment.first),
           index(segment.first + segment.count * segment.width), segment.width,
           [&](Value first) { sumBlock(segment, first, row, at, flips); });
    }
  });
  int64_t grain = std::max<int64_t>(1, grainOperations / (width * taps));
  return {func, ShapedType::getNumElements(items), grain};
}

//===----------------------------------------------------------------------===//
// Sums over positions
//===----------------------------------------------------------------------===//

/// The sums of a block, one per tap along the row.
SmallVector<Value> DepthwiseEmitter::sumProducts(const Segment &segment,
                                                 Value first, Value sourceRow,
                                                 Value gradRow) {
  const TapDim &dim = dims.back();
  Value source = flat(buffer(0)), grad = flat(buffer(1));
  Value sourceStart =
      startOf(sourceRow, dim.size, affine(*this, first, dim.step));
  Value gradStart = startOf(gradRow, width, first);
  SmallVector<Value> sums(dim.taps, constant(lanes, 0));
  std::map<int64_t, Value> read;
  for (int64_t place = 0; place != segment.width; ++place) {
    Value y = load(grad, gradStart, place);
    for (int64_t k = 0; k != dim.taps; ++k) {
      std::optional<int64_t> from = dim.read(segment.first + place, k);
      if (!from)
        continue;
      Value &x = read[*from];
      if (!x)
        x = load(source, sourceStart, *from - segment.first * dim.step);
      sums[k] = fma(x, y, sums[k]);
    }
  }
  return sums;
}

/// The sums of a row. Those of a block are added to those of the blocks before,
/// so that no chain of additions is long.
SmallVector<Value> DepthwiseEmitter::sumRow(Value sourceRow, Value gradRow) {
  SmallVector<Value> sums;
  auto add = [&](ValueRange before, ArrayRef<Value> more) {
    SmallVector<Value> next;
    for (auto [x, y] : llvm::zip(before, more))
      next.push_back(create<arith::AddFOp>(x, y));
    return next;
  };
  for (const Segment &segment : segments) {
    if (segment.count == 1) {
      SmallVector<Value> more =
          sumProducts(segment, index(segment.first), sourceRow, gradRow);
      sums = sums.empty() ? more : add(sums, more);
      continue;
    }
    if (sums.empty())
      sums.assign(dims.back().taps, constant(lanes, 0));
    sums = loop(index(segment.first),
                index(segment.first + segment.count * segment.width),
                segment.width, sums, [&](Value first, ValueRange carried) {
                  return add(carried,
                             sumProducts(segment, first, sourceRow, gradRow));
                });
  }
  return sums;
}

Kernel DepthwiseEmitter::sumPositions(int64_t chunks) {
  Value partials = flat(buffer(3));
  SmallVector<int64_t> rowsOf = rowShape();
  int64_t rows = ShapedType::getNumElements(rowsOf);
  int64_t perChunk = llvm::divideCeil(rows, chunks), inner = dims.back().taps;
  loop(lo(), hi(), 1, [&](Value item) {
    SmallVector<Value> at = delinearize(item, {chunks, vectors});
    channel = channelVector(*this, at[1], channels);
    Value chunkStart = startOf(at[0], taps, index(0));
    loop(index(0), index(taps), 1, [&](Value tap) {
      Value place =
          create<arith::AddIOp>(chunkStart, affine(*this, tap, channels));
      storeVector(constant(lanes, 0), partials, place, channel.mask);
    });
    Value first = affine(*this, at[0], perChunk);
    Value last =
        create<arith::MinUIOp>(affine(*this, first, 1, perChunk), index(rows));
    loop(first, last, 1, [&](Value row) {
      SmallVector<Value> place = delinearize(row, rowsOf);
      loopOverTaps(*this, outer(), ArrayRef(place).drop_front(), {},
                   [&](Value tap, Value read, ValueRange) {
                     Value sourceRow = create<arith::AddIOp>(
                         affine(*this, place.front(), outerSize()), read);
                     SmallVector<Value> sums = sumRow(sourceRow, row);
                     Value start = create<arith::AddIOp>(
                         chunkStart, affine(*this, tap, inner * channels));
                     for (auto [k, sum] : llvm::enumerate(sums)) {
                       Value total =
                           create<arith::AddFOp>(load(partials, start, k), sum);
                       storeVector(total, partials,
                                   affine(*this, start, 1, k * channels),
                                   channel.mask);
                     }
                     return SmallVector<Value>();
                   });
    });
  });
  return {func, chunks * vectors,
          std::max<int64_t>(1, grainOperations / (perChunk * width * taps))};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

FailureOr<Kernel> hone::emitConvolution(OpBuilder &builder, StringRef name,
                                        plan::LaunchOp launch) {
  auto op = dyn_cast<ConvolutionOpInterface>(launch.getBodyBlock().front());
  if (!op || !isVectorLaunch(launch) || !hasVectorKernel(op))
    return emitPoint(builder, name, launch);
  Window window = op.getWindow();
  Value image = op.getImage(), output = op.getOutput(), kernel = op.getKernel();
  Value result = op->getResult(0);
  OpBuilder::InsertionGuard guard(builder);
  if (result == image)
    return DepthwiseEmitter(builder, name, launch,
                            tapsOfOutput(window, spatial(output)),
                            shapeOf(image))
        .sumTaps(/*flips=*/true);
  DepthwiseEmitter emitter(builder, name, launch,
                           tapsOfInput(window, spatial(image)),
                           shapeOf(output));
  if (result == kernel)
    return emitter.sumPositions(weightChunks(op));
  return emitter.sumTaps(/*flips=*/false);
}

FailureOr<Kernel> hone::emitWeightSums(OpBuilder &builder, StringRef name,
                                       plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  auto op = cast<ConvolutionOpInterface>(launch.getBodyBlock().front());
  int64_t chunks = weightChunks(op);
  int64_t size = ShapedType::getNumElements(shapeOf(op.getKernel()));
  KernelBuilder b(builder, name, launch);
  Value target = b.flat(b.buffer(2)), partials = b.flat(b.buffer(3));
  b.loop(b.lo(), b.hi(), 1, [&](Value item) {
    ChannelVector at = channelVector(b, item, size);
    Type f32 = b.getF32Type();
    Value sum = b.loadVector(partials, at.first, f32, at.mask);
    SmallVector<Value> sums =
        b.loop(b.index(1), b.index(chunks), 1, sum,
               [&](Value chunk, ValueRange carried) -> SmallVector<Value> {
                 Value place =
                     b.create<arith::AddIOp>(affine(b, chunk, size), at.first);
                 Value more = b.loadVector(partials, place, f32, at.mask);
                 return {b.create<arith::AddFOp>(carried[0], more)};
               });
    b.storeVector(sums[0], target, at.first, at.mask);
  });
  return Kernel{b.func, int64_t(llvm::divideCeil(size, kernelLanes)),
                std::max<int64_t>(1, grainOperations / chunks)};
}
