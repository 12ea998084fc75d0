//===- WindowTaps.cpp - Taps of windows, in vectors of channels -----------===//

#include "WindowTaps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;

std::optional<int64_t> TapDim::read(int64_t at, int64_t k) const {
  int64_t place = at * step + k * dilation - low;
  if (place < 0 || place % gap != 0 || place / gap >= size)
    return std::nullopt;
  return place / gap;
}

TapDims hone::tapsOfInput(const Window &window, ArrayRef<int64_t> sizes) {
  TapDims dims;
  for (unsigned dim = 0; dim != window.rank(); ++dim)
    dims.push_back({window.sizes[dim], window.strides[dim],
                    window.dilations[dim], window.low[dim], /*gap=*/1,
                    sizes[dim]});
  return dims;
}

TapDims hone::tapsOfOutput(const Window &window, ArrayRef<int64_t> sizes) {
  TapDims dims;
  for (unsigned dim = 0; dim != window.rank(); ++dim)
    dims.push_back({window.sizes[dim], /*step=*/1, window.dilations[dim],
                    window.extent(dim) - 1 - window.low[dim],
                    window.strides[dim], sizes[dim]});
  return dims;
}

ChannelVector hone::channelVector(KernelBuilder &b, Value number,
                                  int64_t channels) {
  Value first = affine(b, number, kernelLanes);
  if (channels % kernelLanes == 0)
    return {first, {}};
  Value left = b.create<arith::SubIOp>(b.index(channels), first);
  return {first, b.maskOfFirst(left)};
}

Value hone::affine(KernelBuilder &b, Value x, int64_t scale, int64_t offset) {
  if (scale != 1)
    x = b.create<arith::MulIOp>(x, b.index(scale));
  return offset == 0 ? x : b.create<arith::AddIOp>(x, b.index(offset));
}

/// The first k of [0, taps] whose `at * step + k * dilation - low` is at least
/// `bound`.
static Value firstTap(KernelBuilder &b, const TapDim &dim, Value at,
                      int64_t bound) {
  // ceil((bound + low - at * step) / dilation), of a dividend that is not
  // negative.
  Value zero = b.index(0);
  Value missing = affine(b, at, -dim.step, bound + dim.low);
  Value first = b.create<arith::MaxSIOp>(missing, zero);
  if (dim.dilation != 1)
    first = b.create<arith::DivUIOp>(affine(b, first, 1, dim.dilation - 1),
                                     b.index(dim.dilation));
  return b.create<arith::MinSIOp>(first, b.index(dim.taps));
}

namespace {
struct TapNest {
  KernelBuilder &b;
  ArrayRef<TapDim> dims;
  ArrayRef<Value> at;
  TapBody body;
  bool down;

  SmallVector<Value> loopFrom(unsigned index, Value tap, Value read,
                              ValueRange carried);
};
} // namespace

SmallVector<Value> TapNest::loopFrom(unsigned index, Value tap, Value read,
                                     ValueRange carried) {
  if (index == dims.size())
    return body(tap, read, carried);
  const TapDim &dim = dims[index];
  Value first = firstTap(b, dim, at[index], 0);
  Value last = firstTap(b, dim, at[index], (dim.size - 1) * dim.gap + 1);
  Value base = affine(b, at[index], dim.step, -dim.low);
  return b.loop(
      first, last, 1, carried,
      [&](Value k, ValueRange inner) -> SmallVector<Value> {
        if (down)
          k = b.create<arith::SubIOp>(
              affine(b, b.create<arith::AddIOp>(first, last), 1, -1), k);
        Value place = b.create<arith::AddIOp>(base, affine(b, k, dim.dilation));
        Value nextTap = b.create<arith::AddIOp>(affine(b, tap, dim.taps), k);
        auto goOn = [&](Value position) {
          Value nextRead =
              b.create<arith::AddIOp>(affine(b, read, dim.size), position);
          return loopFrom(index + 1, nextTap, nextRead, inner);
        };
        if (dim.gap == 1)
          return goOn(place);
        Value gap = b.index(dim.gap);
        Value exists = b.create<arith::CmpIOp>(
            arith::CmpIPredicate::eq, b.create<arith::RemUIOp>(place, gap),
            b.index(0));
        auto branch = b.create<scf::IfOp>(inner.getTypes(), exists,
                                          /*withElseRegion=*/true);
        OpBuilder::InsertionGuard guard(b);
        auto yield = [&](Region &region, ValueRange values) {
          if (values.empty())
            return; // the builder has made an empty terminator
          b.setInsertionPointToEnd(&region.front());
          b.create<scf::YieldOp>(values);
        };
        b.setInsertionPointToStart(&branch.getThenRegion().front());
        SmallVector<Value> next = goOn(b.create<arith::DivUIOp>(place, gap));
        yield(branch.getThenRegion(), next);
        yield(branch.getElseRegion(), inner);
        return SmallVector<Value>(branch.getResults());
      });
}

SmallVector<Value> hone::loopOverTaps(KernelBuilder &b, ArrayRef<TapDim> dims,
                                      ArrayRef<Value> at, ValueRange carried,
                                      TapBody body, bool down) {
  Value zero = b.index(0);
  return TapNest{b, dims, at, body, down}.loopFrom(0, zero, zero, carried);
}

bool hone::isVectorLaunch(plan::LaunchOp launch) {
  Block &body = launch.getBodyBlock();
  Operation &op = body.front();
  return op.getNextNode() == body.getTerminator() &&
         llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>) &&
         llvm::equal(body.getTerminator()->getOperands(), op.getResults()) &&
         llvm::all_of(launch->getOperandTypes(), [](Type type) {
           auto buffer = cast<MemRefType>(type);
           return isContiguous(buffer) && buffer.getNumElements() != 0 &&
                  !buffer.getElementType().isF64();
         });
}
