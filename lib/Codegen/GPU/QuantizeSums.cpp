//===- QuantizeSums.cpp - Column sums of what codes are made of -----------===//
//
// A square adds up its columns: eight rows in a thread, then the row groups in
// order. A second kernel adds the squares of a column. So the order depends on
// the shape alone.
//
//===----------------------------------------------------------------------===//

#include "QuantizeKernels.h"
#include "SquareQuantizer.h"

using namespace mlir;
using namespace hone;
using namespace hone::square;

/// Leaves the sums of the square's columns in scratch. What lies outside of the
/// matrix is zero.
void QuantizeEmitter::emitSums() {
  if (sums.empty())
    return;
  Value columns = values.front();
  for (Value row : ArrayRef(values).drop_front())
    columns = b.create<arith::AddFOp>(columns, row);
  Value warp = b.create<arith::DivUIOp>(thread, b.number(thread, warpSize));
  // Both halves of a warp have the same 128 columns; the first stores them.
  SmallVector<Value> halves;
  for (Value each : elementsOf(b, columns)) {
    auto other = b.create<gpu::ShuffleOp>(
        each, b.i32(rowThreads), b.i32(warpSize), gpu::ShuffleMode::XOR);
    halves.push_back(b.create<arith::AddFOp>(each, other.getShuffleResult()));
  }
  b.emitIf(b.less(b.lane(), rowThreads), [&] {
    for (auto [lane, sum] : llvm::enumerate(halves))
      sharedStore(b.create<arith::BitcastOp>(b.getI32Type(), sum), table,
                  b.linearize({warp, column}, {side, lanes}, lane));
  });
  b.threads.barrier();
  Value col = b.add(b.mul(squareCol, side), thread);
  b.emitIf(both(b.less(thread, side), inside(col, cols, side)), [&] {
    Value total;
    for (int64_t each = 0; each < warps; ++each) {
      Value loaded = b.create<arith::BitcastOp>(
          b.getF32Type(), sharedLoad(table, b.add(thread, each * side)));
      total =
          total ? b.create<arith::AddFOp>(total, loaded).getResult() : loaded;
    }
    for (Value address : sums)
      b.store(total, address, b.linearize({squareRow, col}, {cols, 1}));
  });
  b.threads.barrier(); // codes use the table next
}

/// Threads of a block of the second stage: a warp of columns, of which each
/// warp adds some squares.
static constexpr int64_t sumThreads = 256;

FailureOr<GridKernel> hone::emitDeviceCodeSums(OpBuilder &builder,
                                               StringRef name,
                                               plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  auto scratch = cast<MemRefType>(launch.getScratch().front().getType());
  int64_t down = scratch.getDimSize(0), cols = scratch.getDimSize(1);
  constexpr int64_t groups = sumThreads / warpSize;
  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), sumThreads);
  unsigned inputs = launch.getInputs().size(),
           parts = inputs + launch.getOutputs().size();
  int64_t largest = std::max((down + groups) * cols, cols + sumThreads);
  Value thread = b.threadFor(largest), block = b.blockFor(largest);
  Value size = b.number(thread, warpSize);
  Value lane = b.create<arith::RemUIOp>(thread, size),
        group = b.create<arith::DivUIOp>(thread, size);
  Value col = b.add(b.mul(block, warpSize), lane);
  Value isColumn = b.less(col, cols);
  DeviceThreads::Table table = b.threads.table(groups, b.getF32Type());
  Value zero = b.create<arith::ConstantOp>(b.getF32FloatAttr(0));
  Value first = func.getArgument(parts); // all sums are the same
  b.emitIf(isColumn, [&] {
    Value sum =
        b.sum(group, b.number(group, down), groups, zero,
              [&](Value at, Value before) {
                Value next = b.load(first, b.getF32Type(),
                                    b.linearize({at, col}, {cols, 1}));
                return b.create<arith::AddFOp>(before, next).getResult();
              });
    b.threads.store(sum, table, b.asIndex(group), b.asIndex(lane));
  });
  b.threads.barrier();
  b.emitIf(b.both(isColumn, b.equal(group, 0)), [&] {
    Value total = zero;
    for (int64_t each = 0; each < groups; ++each)
      total = b.create<arith::AddFOp>(
          total, b.threads.load(table, b.index(each), b.asIndex(lane)));
    Operation *yield = launch.getBodyBlock().getTerminator();
    for (auto [at, yielded] : llvm::enumerate(yield->getOperands()))
      if (!yielded.getDefiningOp<QuantizeOp>())
        b.store(total, func.getArgument(inputs + at), col);
  });
  return GridKernel{func, int64_t(llvm::divideCeil(cols, warpSize)),
                    sumThreads};
}
