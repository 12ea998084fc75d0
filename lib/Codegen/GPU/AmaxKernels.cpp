//===- AmaxKernels.cpp - Largest magnitudes on a GPU ----------------------===//

#include "Builder.h"
#include "Codegen/Common/CodeArith.h"
#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/KernelBuilder.h"
#include "Items.h"
#include "Magnitudes.h"
#include "QuantizeKernels.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t blockThreads = 256;

/// Bits of magnitudes are ordered as these are, whatever the order of blocks.
FailureOr<GridKernel> hone::emitDeviceAmax(OpBuilder &builder, StringRef name,
                                           plan::LaunchOp launch) {
  auto op = dyn_cast<AmaxOp>(&launch.getBodyBlock().front());
  if (!op || !isa<BlockArgument>(op.getOperand()) ||
      !llvm::all_of(launch->getOperandTypes(), isContiguous))
    return launch.emitOpError("is no largest magnitude of a contiguous input");
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  auto type = cast<ShapedType>(op.getOperand().getType());
  Type element = type.getElementType();
  int64_t count = type.getNumElements();
  int64_t width =
      DeviceBuilder::lanesOf(element, count, arenaOffsets(launch).front());
  // Enough blocks for a large GPU; each thread reads several vectors.
  constexpr int64_t mostBlocks = 1056, vectors = 8;
  int64_t blocks = std::min<int64_t>(
      mostBlocks, llvm::divideCeil(count, blockThreads * width * vectors));
  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), blockThreads);
  Type loadType =
      width == 1 ? element : Type(VectorType::get({width}, element));
  Value step = b.index(blocks * blockThreads * width);
  Value zero = b.i32(0);
  auto loop = b.create<scf::ForOp>(
      b.mul(b.globalThread(blockThreads), width), b.index(count), step, zero,
      [&](OpBuilder &, Location, Value at, ValueRange carried) {
        Value loaded = elementwise::fromMemory(
            b, b.getLoc(), b.load(func.getArgument(0), loadType, at), element);
        Value bits = magnitudeBits(b, loaded);
        if (width > 1)
          bits =
              b.create<vector::ReductionOp>(vector::CombiningKind::MAXUI, bits);
        b.create<scf::YieldOp>(magnitude::larger(b, carried.front(), bits));
      });
  magnitude::raiseByWarp(b, loop.getResult(0), func.getArgument(1));
  return GridKernel{func, blocks, blockThreads};
}
