//===- RunningSums.cpp - Sums of lines up to each element, on a GPU -------===//

#include "Reductions.h"

#include "Codegen/CPU/LineKernels.h"
#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/KernelBuilder.h"
#include "hone/Analysis/Memory/Scratch.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t blockWarps = 4;
/// Loads of a lane that are on their way at once.
static constexpr int64_t loads = 4;

namespace {
/// Code of the warp of a line.
struct SumWarp {
  SumWarp(DeviceBuilder &b, plan::LaunchOp launch, CumsumOp op)
      : b(b), launch(launch), op(op), dim(op.getDim()), size(shapeOf(op)[dim]) {
  }

  DeviceBuilder &b;
  plan::LaunchOp launch;
  CumsumOp op;
  int64_t dim, size;
  gpu::GPUFuncOp func;
  SmallVector<Value> line;
  Value lane; ///< all are indices

  unsigned input() {
    return cast<BlockArgument>(op.getOperand()).getArgNumber();
  }
  Value place(Value address, Value buffer, Value number);
  Type memory(Value buffer);
  Value load(Value number);
  void store(Value sum, Value number);
  Value addGroup(Value first, Value sum);
  void emit();
};
} // namespace

Type SumWarp::memory(Value buffer) {
  return kernelBufferType(cast<MemRefType>(buffer.getType())).getElementType();
}

/// The address of the element that is added as `number` of the line.
Value SumWarp::place(Value address, Value buffer, Value number) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<Value> at(line);
  at[dim] = op.getReverse() ? b.create<arith::SubIOp>(b.index(size - 1), number)
                            : number;
  return b.place(address, memory(buffer),
                 b.linearize(at, getStridesAndOffset(type).first));
}

/// Behind the line's end are zeros, of which no sum is left.
Value SumWarp::load(Value number) {
  Value buffer = launch.getInputs()[input()];
  Value address = place(func.getArgument(input()), buffer, number);
  Value loaded = b.loadIf(b.less(number, size), address, memory(buffer));
  return elementwise::fromMemory(b, b.getLoc(), loaded, elementOf(op));
}

void SumWarp::store(Value sum, Value number) {
  Value buffer = launch.getOutputs().front();
  Value address = func.getArgument(launch.getInputs().size());
  b.emitIf(b.less(number, size), [&] {
    b.store(elementwise::toMemory(b, b.getLoc(), sum, memory(buffer)),
            place(address, buffer, number));
  });
}

/// Adds a group of elements from `first` on to a sum that all lanes have.
/// All are loaded before a sum is stored, which may lie on an element.
Value SumWarp::addGroup(Value first, Value sum) {
  SmallVector<Value> numbers, terms;
  for (int64_t i = 0; i < loads; ++i) {
    numbers.push_back(b.add(b.add(first, i * warpSize), lane));
    terms.push_back(load(numbers.back()));
  }
  for (auto [number, term] : llvm::zip_equal(numbers, terms)) {
    Value mine = sum;
    for (int64_t other = 0; other < warpSize; ++other) {
      sum = elementwise::combine(b, b.getLoc(), ReduceKind::sum, sum,
                                 b.threads.broadcast(term, other));
      mine = b.create<arith::SelectOp>(b.equal(lane, other), sum, mine);
    }
    store(mine, number);
  }
  return sum;
}

void SumWarp::emit() {
  Value none =
      elementwise::identity(b, b.getLoc(), ReduceKind::sum, elementOf(op));
  b.sum(b.index(0), b.index(size), loads * warpSize, none,
        [&](Value first, Value sum) { return addGroup(first, sum); });
}

std::optional<GridKernel>
hone::emitRunningSums(DeviceBuilder &b, StringRef name, plan::LaunchOp launch) {
  auto op = dyn_cast_if_present<CumsumOp>(onlyOpOf(launch));
  if (!op)
    return std::nullopt;
  SumWarp warp(b, launch, op);
  if (warp.size <= LineSort::shortLine)
    return std::nullopt;
  SmallVector<int64_t> lineShape(shapeOf(op));
  lineShape[warp.dim] = 1;
  int64_t lines = ShapedType::getNumElements(lineShape);
  constexpr int64_t threads = blockWarps * warpSize;
  warp.func = b.begin(name, launch->getNumOperands(), threads);
  Value number =
      b.create<arith::DivUIOp>(b.globalThread(threads), b.index(warpSize));
  warp.lane = b.lane();
  b.emitIf(b.less(number, lines), [&] {
    warp.line = b.delinearize(number, lineShape);
    warp.emit();
  });
  return GridKernel{warp.func, int64_t(llvm::divideCeil(lines, blockWarps)),
                    threads};
}
