//===- WeightKernels.cpp - Kernels that expand weights in codes -----------===//

#include "WeightKernels.h"

#include "Codegen/Common/WeightValues.h"
#include "GenericKernels.h"
#include "PoolKernels.h"
#include "QuantizeKernels.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

/// Elements worth a thread.
static constexpr int64_t grainElements = 16384;

/// The op of a launch that this kernel can compute, or null.
static DequantizeOp dequantizedBy(plan::LaunchOp launch) {
  Block &body = launch.getBodyBlock();
  auto op = dyn_cast<DequantizeOp>(body.front());
  if (!op || op->getNextNode() != body.getTerminator() ||
      !llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>) ||
      !llvm::equal(body.getTerminator()->getOperands(), op->getResults()) ||
      !llvm::all_of(launch->getOperandTypes(), isContiguous) ||
      !launch.getScratch().empty())
    return {};
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t width = shape.back(), block = op.getBlock();
  bool isWhole = ShapedType::getNumElements(shape) != 0 &&
                 width % kernelLanes == 0 &&
                 (block >= width || block % kernelLanes == 0);
  return isWhole && !op.getType().getElementType().isF64() ? op
                                                           : DequantizeOp();
}

/// kernelLanes codes from element `at` on, which is even, as i32.
static Value loadCodes(KernelBuilder &b, WeightCode code, Value codes,
                       Value at) {
  auto wide = VectorType::get({kernelLanes}, b.getI32Type());
  if (code == WeightCode::int8)
    return b.create<arith::ExtSIOp>(wide,
                                    b.loadVector(codes, at, b.getF32Type()));
  Value byte = b.create<arith::DivUIOp>(at, b.index(2));
  Value pairs = b.loadVector(codes, byte, b.getF32Type(), {}, kernelLanes / 2);
  Value high = b.create<arith::ShRUIOp>(pairs, b.integer(pairs.getType(), 4));
  SmallVector<int64_t> order; // the high bits of a byte, then the low ones
  for (int64_t pair = 0; pair != kernelLanes / 2; ++pair)
    order.append({pair, pair + kernelLanes / 2});
  Value mixed = b.create<vector::ShuffleOp>(high, pairs, order);
  return b.create<arith::ExtUIOp>(wide, mixed);
}

FailureOr<Kernel> hone::emitMovement(OpBuilder &builder, StringRef name,
                                     plan::LaunchOp launch) {
  if (std::optional<Kernel> kernel = emitPool(builder, name, launch))
    return *kernel;
  if (std::optional<FailureOr<Kernel>> kernel =
          emitQuantize(builder, name, launch))
    return *kernel;
  if (std::optional<FailureOr<Kernel>> kernel = emitAmax(builder, name, launch))
    return *kernel;
  DequantizeOp op = dequantizedBy(launch);
  if (!op)
    return emitPoint(builder, name, launch);
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t width = shape.back();
  int64_t block = std::min<int64_t>(op.getBlock(), width);
  int64_t blocks = llvm::divideCeil(width, block);
  KernelBuilder b(builder, name, launch);
  auto bufferOf = [&](Value operand) {
    return b.flat(b.buffer(cast<BlockArgument>(operand).getArgNumber()));
  };
  Value codes = bufferOf(op.getCodes()), scales = bufferOf(op.getScales());
  Value output = b.flat(b.buffer(launch.getInputs().size()));
  auto vector = VectorType::get({kernelLanes}, b.getF32Type());
  // An item is a block; the last of a row may be shorter.
  b.loop(b.lo(), b.hi(), 1, [&](Value item) {
    Value row = b.create<arith::DivUIOp>(item, b.index(blocks));
    Value first = b.create<arith::MulIOp>(
        b.create<arith::RemUIOp>(item, b.index(blocks)), b.index(block));
    Value end = b.create<arith::MinUIOp>(
        b.create<arith::AddIOp>(first, b.index(block)), b.index(width));
    Value start = b.create<arith::MulIOp>(row, b.index(width));
    Value scale = b.create<vector::BroadcastOp>(
        vector, b.create<memref::LoadOp>(scales, item));
    b.loop(first, end, kernelLanes, [&](Value column) {
      Value at = b.create<arith::AddIOp>(start, column);
      Value values = emitCodeValues(b, op.getCode(),
                                    loadCodes(b, op.getCode(), codes, at));
      b.storeVector(b.create<arith::MulFOp>(values, scale), output, at);
    });
  });
  int64_t items = ShapedType::getNumElements(shape) / width * blocks;
  return Kernel{b.func, items, std::max<int64_t>(1, grainElements / block)};
}
