//===- GatherKernels.cpp - Sums of rows by id on a GPU --------------------===//

#include "GatherKernels.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/ScatterForm.h"
#include "Copies.h"
#include "Items.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t startThreads = 256, mostThreads = 256;

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

FailureOr<GridKernel> hone::emitDeviceScatterStart(OpBuilder &builder,
                                                   StringRef name,
                                                   plan::LaunchOp launch) {
  FailureOr<ScatterForm> form = ScatterForm::read(launch);
  if (failed(form))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), startThreads);
  Value output = func.getArgument(launch.getInputs().size());
  Type element = getElementTypeOrSelf(form->op.getType());
  int64_t size = ShapedType::getNumElements(shapeOf(form->op));
  int64_t lanes = b.lanesOf(element, size, arenaOffsets(launch)),
          vectors = size / lanes;
  auto type = VectorType::get({lanes}, element);
  Value item = b.globalThread(startThreads);
  int64_t blocks = llvm::divideCeil(vectors, startThreads);
  b.emitIf(b.less(item, vectors), [&] {
    Value offset = b.mul(item, lanes);
    Value data = b.create<arith::ConstantOp>(b.getZeroAttr(type));
    if (form->addend)
      data =
          b.load(func.getArgument(form->addend.getArgNumber()), type, offset);
    b.store(data, output, offset);
  });
  if (lanes * elementByteWidth(element) == accessBytes && blocks > 0)
    markVectorised(func, form->addend ? 2 : 1);
  return GridKernel{func, blocks, startThreads};
}

namespace {
/// Code of the block of one id.
struct ScatterBlock {
  DeviceBuilder &b;
  Value grad, ids, output; ///< addresses
  Type element;
  int64_t count, width, lanes, blockThreads;

  /// Ids are 64 bits wide.
  Value loadId(Value at) {
    Value id = b.load(ids, b.getI64Type(), at);
    return b.create<arith::IndexCastOp>(b.getIndexType(), id);
  }
  Value isId(Value at, Value id) {
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, loadId(at), id);
  }
  Value countEarlier(Value number, Value id);
  Value matches(Value base, Value number, Value id);
  Value addMatches(Value mask, Value base, Value column, Value exists,
                   Value sum);
  void addTile(Value number, Value id, Value tile);
};
} // namespace

/// Ids before `number` that are equal: this thread's part, joined.
Value ScatterBlock::countEarlier(Value number, Value id) {
  Value zero = b.create<arith::ConstantOp>(b.getI32IntegerAttr(0));
  Value one = b.create<arith::ConstantOp>(b.getI32IntegerAttr(1));
  Value found =
      b.sum(b.threads.threadNumber(), number, blockThreads, zero,
            [&](Value at, Value before) -> Value {
              Value more = b.create<arith::AddIOp>(before, one);
              return b.create<arith::SelectOp>(isId(at, id), more, before);
            });
  DeviceThreads::Partial partial = {ReduceKind::sum, found};
  return b.threads.reduce(partial, blockThreads / warpSize).front();
}

/// A bit per lane: whether the id at `base` + lane, not before `number`, is
/// equal. All lanes get all bits.
Value ScatterBlock::matches(Value base, Value number, Value id) {
  Type i32 = b.getI32Type();
  Value lane = b.lane(), at = b.create<arith::AddIOp>(base, lane);
  Value isLater =
      b.create<arith::CmpIOp>(arith::CmpIPredicate::uge, at, number);
  Value exists = b.create<arith::AndIOp>(isLater, b.less(at, count));
  // In bounds, whatever is done with it.
  Value last = b.index(count - 1);
  Value bounded = b.create<arith::MinUIOp>(at, last);
  Value isEqual = b.create<arith::AndIOp>(exists, isId(bounded, id));
  Value one = b.create<arith::ConstantOp>(b.getI32IntegerAttr(1));
  Value zero = b.create<arith::ConstantOp>(b.getI32IntegerAttr(0));
  Value bit =
      b.create<arith::ShLIOp>(one, b.create<arith::IndexCastOp>(i32, lane));
  Value mine = b.create<arith::SelectOp>(isEqual, bit, zero);
  return b.threads.reduce({DeviceThreads::Partial{ReduceKind::sum, mine}}, 1)
      .front();
}

/// sum + the gradients of the ids whose bit is set, lowest first.
Value ScatterBlock::addMatches(Value mask, Value base, Value column,
                               Value exists, Value sum) {
  Type i32 = b.getI32Type();
  Value zero = b.create<arith::ConstantOp>(b.getI32IntegerAttr(0));
  Value one = b.create<arith::ConstantOp>(b.getI32IntegerAttr(1));
  Type compute = getElementTypeOrSelf(sum);
  auto type = VectorType::get({lanes}, element);
  auto loop = b.create<scf::WhileOp>(
      TypeRange{i32, sum.getType()}, ValueRange{mask, sum},
      [&](OpBuilder &, Location, ValueRange carried) {
        Value isLeft =
            b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, carried[0], zero);
        b.create<scf::ConditionOp>(isLeft, carried);
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        Value bit =
            b.create<math::CountTrailingZerosOp>(carried[0]).getResult();
        Value at = b.create<arith::AddIOp>(
            base, b.create<arith::IndexCastOp>(b.getIndexType(), bit));
        Value term =
            b.loadIf(exists, grad, type,
                     b.create<arith::AddIOp>(b.mul(at, width), column));
        term = elementwise::convertFloat(b, b.getLoc(), term, compute);
        Value rest = b.create<arith::AndIOp>(
            carried[0], b.create<arith::SubIOp>(carried[0], one));
        b.create<scf::YieldOp>(
            ValueRange{rest, b.create<arith::AddFOp>(carried[1], term)});
      });
  return loop.getResult(1);
}

/// The columns of the id's row that this thread has in one tile.
void ScatterBlock::addTile(Value number, Value id, Value tile) {
  int64_t vectors = width / lanes;
  Value vector = b.create<arith::AddIOp>(b.mul(tile, blockThreads),
                                         b.threads.threadNumber());
  Value exists = b.less(vector, vectors), column = b.mul(vector, lanes);
  Value place = b.create<arith::AddIOp>(b.mul(id, width), column);
  auto type = VectorType::get({lanes}, element);
  Type compute = elementwise::computeType(element);
  Value start = elementwise::convertFloat(
      b, b.getLoc(), b.loadIf(exists, output, type, place), compute);
  // Whole warps walk over the ids together, 32 at a time.
  Value first = b.create<arith::SubIOp>(
      number, b.create<arith::RemUIOp>(number, b.index(warpSize)));
  Value sum = b.sum(first, b.index(count), warpSize, start,
                    [&](Value base, Value before) {
                      return addMatches(matches(base, number, id), base, column,
                                        exists, before);
                    });
  b.emitIf(exists, [&] {
    b.store(elementwise::convertFloat(b, b.getLoc(), sum, element), output,
            place);
  });
}

FailureOr<GridKernel> hone::emitDeviceScatter(OpBuilder &builder,
                                              StringRef name,
                                              plan::LaunchOp launch) {
  FailureOr<ScatterForm> form = ScatterForm::read(launch);
  if (failed(form))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  EmbeddingBwdOp op = form->op;
  Type element = getElementTypeOrSelf(op.getType());
  int64_t rows = shapeOf(op)[0], width = shapeOf(op)[1];
  int64_t count = ShapedType::getNumElements(shapeOf(op.getIds()));
  int64_t lanes = b.lanesOf(element, width, arenaOffsets(launch));
  int64_t warps =
      llvm::divideCeil(std::max<int64_t>(width / lanes, 1), warpSize);
  int64_t blockThreads = std::min(warps * warpSize, mostThreads);
  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), blockThreads);
  auto address = [&](Value value) {
    return func.getArgument(cast<BlockArgument>(value).getArgNumber());
  };
  ScatterBlock block = {b,
                        address(op.getGrad()),
                        address(op.getIds()),
                        func.getArgument(launch.getInputs().size()),
                        element,
                        count,
                        width,
                        lanes,
                        blockThreads};
  Value number = b.threads.blockNumber(), id = block.loadId(number);
  Value earlier = block.countEarlier(number, id);
  Value zero = b.create<arith::ConstantOp>(b.getI32IntegerAttr(0));
  Value isFirst =
      b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, earlier, zero);
  isFirst = b.create<arith::AndIOp>(isFirst, b.less(id, rows));
  b.emitIf(isFirst, [&] {
    int64_t tiles = llvm::divideCeil(width / lanes, blockThreads);
    for (int64_t tile = 0; tile < tiles; ++tile)
      block.addTile(number, id, b.index(tile));
  });
  if (lanes * elementByteWidth(element) == accessBytes && count * width > 0)
    markVectorised(func, /*accesses=*/3);
  return GridKernel{func, count, blockThreads};
}
