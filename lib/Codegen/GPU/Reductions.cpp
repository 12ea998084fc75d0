//===- Reductions.cpp - Reductions of columns on a GPU --------------------===//

#include "Reductions.h"

#include "Codegen/Common/DataMovement.h"
#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/ScalarEmitter.h"
#include "Items.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t reduceThreads = 128;

/// The reduction of a launch that is of the kind above, or null.
static ReduceOp readReduction(plan::LaunchOp launch) {
  Block &body = launch.getBodyBlock();
  auto op = dyn_cast<ReduceOp>(body.front());
  if (!op || op->getNextNode() != body.getTerminator() ||
      !llvm::equal(body.getTerminator()->getOperands(), op->getResults()) ||
      !isa<BlockArgument>(op.getOperand()) ||
      !llvm::all_of(launch->getOperandTypes(), isContiguous))
    return {};
  int64_t last = int64_t(shapeOf(op.getOperand()).size()) - 1;
  bool isNarrow = getElementTypeOrSelf(op.getResult()).isInteger(1);
  bool hasColumns = !llvm::is_contained(op.getDims(), last);
  bool isEmpty = ShapedType::getNumElements(shapeOf(op.getOperand())) == 0;
  return hasColumns && !isEmpty && !isNarrow ? op : ReduceOp();
}

namespace {
/// The reduction of one vector of columns.
struct ColumnReduction {
  DeviceBuilder &b;
  ReduceOp op;
  Value address;
  VectorType type; ///< in memory
  SmallVector<int64_t> strides;

  Value identity() {
    Type element = type.getElementType();
    Value one = elementwise::identity(b, b.getLoc(), op.getKind(), element);
    return b.create<vector::BroadcastOp>(type.clone(one.getType()), one);
  }
  Value combine(Value lhs, Value rhs) {
    return elementwise::combine(b, b.getLoc(), op.getKind(), lhs, rhs);
  }
  Value overDims(Value offset, ArrayRef<int64_t> dims);
};
} // namespace

/// As on the CPU, each level of loops has its own accumulator.
Value ColumnReduction::overDims(Value offset, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return elementwise::fromMemory(b, b.getLoc(), b.load(address, type, offset),
                                   type.getElementType());
  int64_t dim = dims.front(), size = shapeOf(op.getOperand())[dim];
  auto step = [&](Value at, Value before) {
    Value from = b.add(offset, b.mul(at, strides[dim]));
    return combine(before, overDims(from, dims.drop_front()));
  };
  Value zero = b.index(0), end = b.index(size);
  if (size <= reduceBlock)
    return b.sum(zero, end, 1, identity(), step);
  return b.sum(
      zero, end, reduceBlock, identity(), [&](Value first, Value before) {
        Value stop = b.create<arith::MinUIOp>(b.add(first, reduceBlock), end);
        Value part = b.sum(first, stop, 1, identity(), step);
        return combine(before, part);
      });
}

std::optional<GridKernel> hone::emitColumnReduction(DeviceBuilder &b,
                                                    StringRef name,
                                                    plan::LaunchOp launch) {
  ReduceOp op = readReduction(launch);
  if (!op)
    return std::nullopt;
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  SmallVector<int64_t> strides = denseStrides(from), sizes, kept;
  for (auto [dim, size] : llvm::enumerate(from))
    if (!llvm::is_contained(op.getDims(), int64_t(dim))) {
      sizes.push_back(size);
      kept.push_back(strides[dim]);
    }
  Type element = getElementTypeOrSelf(op.getResult());
  int64_t lanes = b.lanesOf(element, sizes.back(), arenaOffsets(launch));
  sizes.back() /= lanes;
  kept.back() = lanes;
  int64_t vectors = ShapedType::getNumElements(sizes);
  int64_t blocks = llvm::divideCeil(vectors, reduceThreads);

  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), reduceThreads);
  Value number = b.globalThread(reduceThreads);
  b.emitIf(b.less(number, vectors), [&] {
    unsigned input = cast<BlockArgument>(op.getOperand()).getArgNumber();
    ColumnReduction reduction{b, op, func.getArgument(input),
                              VectorType::get({lanes}, element), strides};
    Value offset = b.linearize(b.delinearize(number, sizes), kept);
    Value result = reduction.overDims(offset, op.getDims());
    b.store(elementwise::toMemory(b, b.getLoc(), result, element),
            func.getArgument(launch.getInputs().size()), b.mul(number, lanes));
  });
  if (lanes * elementByteWidth(element) == accessBytes)
    markVectorised(func, /*accesses=*/2);
  return GridKernel{func, blocks, reduceThreads};
}
