//===- GatherKernels.cpp - Kernels that pick or add rows ------------------===//

#include "GatherKernels.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/KernelBuilder.h"
#include "Codegen/Common/ScatterForm.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

namespace {
struct GatherEmitter : KernelBuilder {
  GatherEmitter(OpBuilder &builder, StringRef name, plan::LaunchOp launch)
      : KernelBuilder(builder, name, launch),
        output(flat(buffer(launch.getInputs().size()))) {}

  Value input(Value argument) {
    return flat(buffer(cast<BlockArgument>(argument).getArgNumber()));
  }
  Value row(Value number, int64_t width) {
    return create<arith::MulIOp>(number, index(width));
  }
  Value loadId(Value ids, Value at) {
    return create<arith::IndexCastOp>(getIndexType(),
                                      create<memref::LoadOp>(ids, at));
  }

  /// Calls `body(offset, mask)` for the vectors of a row.
  void forRow(int64_t width, function_ref<void(Value, Value)> body) {
    int64_t whole = width - width % kernelLanes;
    loop(index(0), index(whole), kernelLanes, [&](Value at) { body(at, {}); });
    if (whole != width)
      body(index(whole), maskOfFirst(width - whole));
  }

  /// output[row ...] = the row of `from`, or 0 where there is none.
  void writeRow(Value from, Value start, Value fromStart, int64_t width) {
    Type element = cast<MemRefType>(output.getType()).getElementType();
    forRow(width, [&](Value at, Value mask) {
      Value vector;
      if (from)
        vector = loadVector(from, Value(create<arith::AddIOp>(fromStart, at)),
                            element, mask);
      else
        vector = constant(VectorType::get({kernelLanes}, element), 0.0);
      storeVector(vector, output, Value(create<arith::AddIOp>(start, at)),
                  mask);
    });
  }

  Kernel gather(EmbeddingOp op);
  Kernel scatter(EmbeddingBwdOp op, Value addend);
  void addRows(EmbeddingBwdOp op);
  void sumRows(EmbeddingBwdOp op);
  void sumColumns(EmbeddingBwdOp op, Value sums, Value item, int64_t first,
                  int64_t columns);
  void startRows(Value addend, int64_t width);

  Value output;
};
} // namespace

Kernel GatherEmitter::gather(EmbeddingOp op) {
  int64_t width = shapeOf(op.getTable())[1];
  Value table = input(op.getTable()), ids = input(op.getIds());
  loop(lo(), hi(), 1, [&](Value item) {
    writeRow(table, row(item, width), row(loadId(ids, item), width), width);
  });
  int64_t items = ShapedType::getNumElements(shapeOf(op.getIds()));
  return {func, items,
          std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width))};
}

/// Rows lo to hi start as the addend's or as 0. Whether the addend is the
/// output already is asked at run time: launches with and without share code.
void GatherEmitter::startRows(Value addend, int64_t width) {
  auto start = [&] {
    loop(lo(), hi(), 1, [&](Value item) {
      Value at = row(item, width);
      writeRow(addend, at, at, width);
    });
  };
  if (!addend)
    return start();
  Value from = create<memref::ExtractAlignedPointerAsIndexOp>(addend);
  Value to = create<memref::ExtractAlignedPointerAsIndexOp>(output);
  Value differ = create<arith::CmpIOp>(arith::CmpIPredicate::ne, from, to);
  auto branch = create<scf::IfOp>(differ, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  start();
}

/// One walk over the ids; the rows of others are passed over.
void GatherEmitter::addRows(EmbeddingBwdOp op) {
  int64_t width = shapeOf(op)[1];
  Type element = getElementTypeOrSelf(op);
  Value grad = input(op.getGrad()), ids = input(op.getIds());
  int64_t count = ShapedType::getNumElements(shapeOf(op.getIds()));
  loop(index(0), index(count), 1, [&](Value i) {
    Value id = loadId(ids, i);
    Value above = create<arith::CmpIOp>(arith::CmpIPredicate::sge, id, lo());
    Value below = create<arith::CmpIOp>(arith::CmpIPredicate::slt, id, hi());
    auto branch = create<scf::IfOp>(create<arith::AndIOp>(above, below), false);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    Value to = row(id, width), from = row(i, width);
    forRow(width, [&](Value at, Value mask) {
      Value place = create<arith::AddIOp>(to, at);
      Value sum = create<arith::AddFOp>(
          loadVector(output, place, element, mask),
          loadVector(grad, Value(create<arith::AddIOp>(from, at)), element,
                     mask));
      storeVector(sum, output, place, mask);
    });
  });
}

/// Narrow elements: a row's sum stays in f32, on the stack, until it is
/// complete. Each row walks over the ids, once for so many columns.
void GatherEmitter::sumRows(EmbeddingBwdOp op) {
  constexpr int64_t mostColumns = 4096;
  int64_t width = shapeOf(op)[1];
  int64_t columns = std::min(width, mostColumns);
  int64_t whole = (columns + kernelLanes - 1) / kernelLanes * kernelLanes;
  Value sums;
  {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(&func.front());
    sums = create<memref::AllocaOp>(
        MemRefType::get({std::max<int64_t>(1, whole)}, getF32Type()),
        getI64IntegerAttr(plan::alignment));
  }
  loop(lo(), hi(), 1, [&](Value item) {
    for (int64_t first = 0; first < width; first += columns)
      sumColumns(op, sums, item, first, std::min(columns, width - first));
  });
}

/// Adds `columns` columns of the gradient's rows for `item`, from `first` on.
/// Rows that no id names stay as they are.
void GatherEmitter::sumColumns(EmbeddingBwdOp op, Value sums, Value item,
                               int64_t first, int64_t columns) {
  int64_t width = shapeOf(op)[1];
  Type f32 = getF32Type();
  Value grad = input(op.getGrad()), ids = input(op.getIds()), zero = index(0);
  Value count = index(ShapedType::getNumElements(shapeOf(op.getIds())));
  auto placeOf = [&](Value number, Value at) -> Value {
    Value start = create<arith::AddIOp>(row(number, width), index(first));
    return create<arith::AddIOp>(start, at);
  };
  auto ifThen = [&](Value condition, function_ref<void()> body) {
    auto branch = create<scf::IfOp>(condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    body();
  };
  auto start = [&] {
    forRow(columns, [&](Value at, Value mask) {
      storeVector(loadVector(output, placeOf(item, at), f32, mask), sums, at,
                  mask);
    });
  };
  auto isEqual = [&](Value lhs, Value rhs) -> Value {
    return create<arith::CmpIOp>(arith::CmpIPredicate::eq, lhs, rhs);
  };
  Value one = index(1);
  Value hits =
      loop(zero, count, 1, zero,
           [&](Value i, ValueRange carried) -> SmallVector<Value> {
             Value isItem = isEqual(loadId(ids, i), item);
             ifThen(isItem, [&] {
               ifThen(isEqual(carried[0], zero), start);
               forRow(columns, [&](Value at, Value mask) {
                 Value sum = create<arith::AddFOp>(
                     loadVector(sums, at, f32, mask),
                     loadVector(grad, placeOf(i, at), f32, mask));
                 storeVector(sum, sums, at, mask);
               });
             });
             Value more = create<arith::AddIOp>(carried[0], one);
             return {create<arith::SelectOp>(isItem, more, carried[0])};
           })[0];
  Value isHit = create<arith::CmpIOp>(arith::CmpIPredicate::ne, hits, zero);
  ifThen(isHit, [&] {
    forRow(columns, [&](Value at, Value mask) {
      storeVector(loadVector(sums, at, f32, mask), output, placeOf(item, at),
                  mask);
    });
  });
}

Kernel GatherEmitter::scatter(EmbeddingBwdOp op, Value addend) {
  int64_t rows = shapeOf(op)[0], width = shapeOf(op)[1];
  startRows(addend ? input(addend) : Value(), width);
  Type element = getElementTypeOrSelf(op);
  if (element == elementwise::computeType(element))
    addRows(op);
  else
    sumRows(op);
  // A range walks over all ids: few ranges, each much larger than that.
  return {func, rows, 512};
}

/// The other operand of the add that takes the gradient, if the body is those
/// two ops and that is an input.
static BlockArgument addendOf(AddOp add, EmbeddingBwdOp op) {
  if (add.getLhs() == add.getRhs())
    return {};
  if (add.getLhs() == op.getResult())
    return dyn_cast<BlockArgument>(add.getRhs());
  if (add.getRhs() == op.getResult())
    return dyn_cast<BlockArgument>(add.getLhs());
  return {};
}

/// Whether the launch ends with the results of `last`.
static bool yields(plan::LaunchOp launch, Operation *last) {
  Operation *end = launch.getBodyBlock().getTerminator();
  return last->getNextNode() == end &&
         llvm::equal(end->getOperands(), last->getResults());
}

LogicalResult hone::checkGather(plan::LaunchOp launch) {
  Operation &op = launch.getBodyBlock().front();
  if (llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>) &&
      llvm::all_of(launch->getOperandTypes(), isContiguous))
    return success();
  return launch.emitOpError("gathers from computed or strided values, "
                            "expected contiguous inputs");
}

FailureOr<ScatterForm> ScatterForm::read(plan::LaunchOp launch) {
  if (failed(checkGather(launch)))
    return failure();
  if (auto op = dyn_cast<EmbeddingBwdOp>(launch.getBodyBlock().front())) {
    if (yields(launch, op))
      return ScatterForm{op, {}};
    auto add = dyn_cast<AddOp>(op->getNextNode());
    BlockArgument addend = add ? addendOf(add, op) : BlockArgument();
    if (addend && yields(launch, add))
      return ScatterForm{op, addend};
  }
  return launch.emitOpError(
      "of family gather holds other ops than one embedding, or one "
      "embedding_bwd and an add of an input");
}

FailureOr<Kernel> hone::emitGather(OpBuilder &builder, StringRef name,
                                   plan::LaunchOp launch) {
  if (failed(checkGather(launch)))
    return failure();
  auto gather = dyn_cast<EmbeddingOp>(launch.getBodyBlock().front());
  if (gather && yields(launch, gather))
    return GatherEmitter(builder, name, launch).gather(gather);
  FailureOr<ScatterForm> form = ScatterForm::read(launch);
  if (failed(form))
    return failure();
  return GatherEmitter(builder, name, launch).scatter(form->op, form->addend);
}
