//===- GatherKernels.cpp - Kernels that pick rows on a GPU ----------------===//

#include "GatherKernels.h"

#include "Codegen/Common/ScatterForm.h"
#include "Copies.h"
#include "Items.h"

using namespace mlir;
using namespace hone;

FailureOr<GridKernel> hone::emitDeviceGather(OpBuilder &builder, StringRef name,
                                             plan::LaunchOp launch) {
  if (failed(checkGather(launch)))
    return failure();
  Block &body = launch.getBodyBlock();
  auto op = dyn_cast<EmbeddingOp>(body.front());
  if (!op || op->getNextNode() != body.getTerminator())
    return launch.emitOpError("of family gather holds other ops than one "
                              "embedding");
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  auto number = [](Value value) {
    return cast<BlockArgument>(value).getArgNumber();
  };
  auto ids = cast<ShapedType>(op.getIds().getType());
  int64_t width = shapeOf(op.getTable())[1], rows = ids.getNumElements();
  CopyUnit unit =
      CopyUnit::widest(elementByteWidth(getElementTypeOrSelf(op.getType())),
                       {width}, arenaOffsets(launch));
  int64_t largest = std::max(rows, shapeOf(op.getTable())[0]) * width;
  return emitUnitCopies(
      b, name, launch, unit, largest,
      [&](gpu::GPUFuncOp func, Value item) -> CopySource {
        SmallVector<Value> at = b.delinearize(item, {rows, width / unit.lanes});
        // Threads beyond the last row read the last id.
        Value row = b.create<arith::MinUIOp>(at[0], b.number(at[0], rows - 1));
        Value id = b.create<arith::IndexCastOp>(
            b.getIndexType(), b.load(func.getArgument(number(op.getIds())),
                                     ids.getElementType(), row));
        Value column = b.create<arith::IndexCastUIOp>(b.getIndexType(), at[1]);
        return {func.getArgument(number(op.getTable())),
                b.linearize({id, column}, {width, unit.lanes})};
      });
}
