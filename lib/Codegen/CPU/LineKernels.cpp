//===- LineKernels.cpp - Kernels that walk lines of a tensor --------------===//

#include "LineKernels.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/KernelBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

namespace {
/// The body of a loop over lines: buffers by their values in the launch, with
/// indices that hold the line's place.
class LineEmitter : public KernelBuilder {
public:
  LineEmitter(OpBuilder &builder, StringRef name, plan::LaunchOp launch,
              Operation *op, int64_t dim)
      : KernelBuilder(builder, name, launch), launch(launch), op(op), dim(dim) {
  }

  /// An item per line of result 0.
  Kernel emit(function_ref<void()> emitLine, int64_t costPerLine);

  void argsort(ArgsortOp sort);
  void topk(TopkOp top);
  void put(PutAlongOp put);
  void update(UpdateSliceOp update);

private:
  Value bufferOf(Value operand) {
    return buffer(cast<BlockArgument>(operand).getArgNumber());
  }
  Value result() { return buffer(launch.getInputs().size()); }
  SmallVector<Value> at(Value place) {
    SmallVector<Value> indices(line);
    indices[dim] = place;
    return indices;
  }
  Value read(Value operand, Value place) {
    return elementwise::fromMemory(
        *this, getLoc(), create<memref::LoadOp>(bufferOf(operand), at(place)),
        elementOf(operand));
  }
  Value readId(Value ids, Value place) {
    return create<arith::IndexCastOp>(
        getIndexType(), create<memref::LoadOp>(bufferOf(ids), at(place)));
  }
  Value readResultId(Value place) {
    return create<arith::IndexCastOp>(
        getIndexType(), create<memref::LoadOp>(result(), at(place)));
  }
  Value readResult(Value place, Type element) {
    return elementwise::fromMemory(
        *this, getLoc(), create<memref::LoadOp>(result(), at(place)), element);
  }
  void write(Value element, Value place) {
    Type type = cast<MemRefType>(result().getType()).getElementType();
    create<memref::StoreOp>(
        elementwise::toMemory(*this, getLoc(), element, type), result(),
        at(place));
  }
  void writeId(Value id, Value place) {
    Type type = cast<MemRefType>(result().getType()).getElementType();
    create<memref::StoreOp>(create<arith::IndexCastOp>(type, id), result(),
                            at(place));
  }
  Value sizeOf(Value value) { return index(shapeOf(value)[dim]); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return create<arith::CmpIOp>(predicate, x, y);
  }

  Value isGreater(Value x, Value y);
  Value isBefore(Value x, Value xPlace, Value y, Value yPlace, bool descending);

  void sink(ArgsortOp sort, Value hole, Value id, Value end);
  void putWide(PutAlongOp put);
  void putNarrow(PutAlongOp put);

  plan::LaunchOp launch;
  Operation *op;
  int64_t dim;
  SmallVector<Value> line;
};
} // namespace

/// Element steps worth a thread.
static constexpr int64_t grainSteps = 8192;

Kernel LineEmitter::emit(function_ref<void()> emitLine, int64_t costPerLine) {
  SmallVector<int64_t> lines(shapeOf(op->getResult(0)));
  lines[dim] = 1;
  loop(lo(), hi(), 1, [&](Value item) {
    line = delinearize(item, lines);
    emitLine();
  });
  return {func, ShapedType::getNumElements(lines),
          std::max<int64_t>(1, grainSteps / std::max<int64_t>(1, costPerLine))};
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// x > y; a NaN is greater than any number.
Value LineEmitter::isGreater(Value x, Value y) {
  if (!isa<FloatType>(x.getType()))
    return compare(arith::CmpIPredicate::sgt, x, y);
  Value isNumber = create<arith::CmpFOp>(arith::CmpFPredicate::ORD, y, y);
  Value notLess = create<arith::CmpFOp>(arith::CmpFPredicate::UGT, x, y);
  return create<arith::AndIOp>(isNumber, notLess);
}

/// Whether `x` comes before `y` in the order; equal elements keep theirs.
Value LineEmitter::isBefore(Value x, Value xPlace, Value y, Value yPlace,
                            bool descending) {
  Value first = descending ? isGreater(x, y) : isGreater(y, x);
  Value second = descending ? isGreater(y, x) : isGreater(x, y);
  Value isEarlier = compare(arith::CmpIPredicate::slt, xPlace, yPlace);
  return create<arith::SelectOp>(
      first, first,
      create<arith::SelectOp>(second, integer(getI1Type(), 0), isEarlier));
}

/// Puts `id` into the heap below `hole`, among the first `end` places of the
/// result: where it is a heap, each id comes after its two children's.
void LineEmitter::sink(ArgsortOp sort, Value hole, Value id, Value end) {
  Value x = sort.getOperand(), one = index(1);
  auto comesBefore = [&](Value lhs, Value rhs) {
    return isBefore(read(x, lhs), lhs, read(x, rhs), rhs, sort.getDescending());
  };
  // Moves the last of the children up, where it comes after `id`.
  auto moveUp = [&](Value at, Value left) -> SmallVector<Value> {
    Value right =
        create<arith::MinSIOp>(Value(create<arith::AddIOp>(left, one)),
                               Value(create<arith::SubIOp>(end, one)));
    Value leftId = readResultId(left), rightId = readResultId(right);
    Value isRight = comesBefore(leftId, rightId);
    Value child = create<arith::SelectOp>(isRight, right, left);
    Value childId = create<arith::SelectOp>(isRight, rightId, leftId);
    Value moves = comesBefore(id, childId);
    auto branch = create<scf::IfOp>(moves, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(*this);
      setInsertionPointToStart(branch.thenBlock());
      writeId(childId, at);
    }
    return {moves, create<arith::SelectOp>(moves, child, at)};
  };
  auto step = [&](OpBuilder &, Location, ValueRange carried) {
    Value at = carried[0];
    Value left =
        create<arith::AddIOp>(Value(create<arith::AddIOp>(at, at)), one);
    Value hasChild = compare(arith::CmpIPredicate::slt, left, end);
    auto inside = [&](OpBuilder &, Location) {
      create<scf::YieldOp>(moveUp(at, left));
    };
    auto outside = [&](OpBuilder &, Location) {
      create<scf::YieldOp>(ValueRange{integer(getI1Type(), 0), at});
    };
    auto next = create<scf::IfOp>(hasChild, inside, outside);
    create<scf::ConditionOp>(next.getResult(0), next.getResult(1));
  };
  auto again = [&](OpBuilder &, Location, ValueRange carried) {
    create<scf::YieldOp>(carried);
  };
  Value place = create<scf::WhileOp>(TypeRange{getIndexType()},
                                     ValueRange{hole}, step, again)
                    .getResult(0);
  writeId(id, place);
}

/// Heap sort of ids in the result itself. No two places are equal in the order,
/// so it keeps that of equal elements.
void LineEmitter::argsort(ArgsortOp sort) {
  int64_t size = shapeOf(sort.getResult())[dim];
  Value zero = index(0), all = index(size);
  loop(zero, all, 1, [&](Value place) { writeId(place, place); });
  int64_t parents = size / 2;
  loop(zero, index(parents), 1, [&](Value i) {
    Value parent = create<arith::SubIOp>(index(parents - 1), i);
    sink(sort, parent, readResultId(parent), all);
  });
  loop(zero, index(std::max<int64_t>(0, size - 1)), 1, [&](Value i) {
    Value last = create<arith::SubIOp>(index(size - 1), i);
    Value id = readResultId(last);
    writeId(readResultId(zero), last);
    sink(sort, zero, id, last);
  });
}

void LineEmitter::topk(TopkOp top) {
  Value x = top.getOperand(), zero = index(0), none = index(-1);
  bool descending = !top.getSmallest();
  Value start =
      elementwise::identity(*this, getLoc(), ReduceKind::sum, elementOf(x));
  auto isNone = [&](Value place) {
    return compare(arith::CmpIPredicate::slt, place, zero);
  };
  // Each pass finds the first element, in the order, after the last one found.
  loop(zero, sizeOf(top.getResult()), 1, ValueRange{start, none},
       [&](Value rank, ValueRange last) -> SmallVector<Value> {
         SmallVector<Value> best =
             loop(zero, sizeOf(x), 1, ValueRange{start, none},
                  [&](Value place, ValueRange leader) -> SmallVector<Value> {
                    Value element = read(x, place);
                    Value isLeft = create<arith::OrIOp>(
                        isNone(last[1]),
                        isBefore(last[0], last[1], element, place, descending));
                    Value leads = create<arith::OrIOp>(
                        isNone(leader[1]), isBefore(element, place, leader[0],
                                                    leader[1], descending));
                    Value wins = create<arith::AndIOp>(isLeft, leads);
                    return {create<arith::SelectOp>(wins, element, leader[0]),
                            create<arith::SelectOp>(wins, place, leader[1])};
                  });
         writeId(best[1], rank);
         return best;
       });
}

//===----------------------------------------------------------------------===//
// Elements placed by index
//===----------------------------------------------------------------------===//

/// The result is as wide as what is computed with: it holds what was combined
/// so far.
void LineEmitter::putWide(PutAlongOp put) {
  Type element = elementOf(put);
  Value nothing =
      elementwise::identity(*this, getLoc(), put.getKind(), element);
  loop(index(0), sizeOf(put.getResult()), 1,
       [&](Value place) { write(nothing, place); });
  loop(index(0), sizeOf(put.getIds()), 1, [&](Value i) {
    Value to = readId(put.getIds(), i);
    Value sum = elementwise::combine(*this, getLoc(), put.getKind(),
                                     readResult(to, element),
                                     read(put.getUpdates(), i));
    write(sum, to);
  });
}

/// Narrow elements: each place passes over all ids, so that its sum stays wide
/// until it is complete.
void LineEmitter::putNarrow(PutAlongOp put) {
  Type element = elementOf(put);
  Value nothing =
      elementwise::identity(*this, getLoc(), put.getKind(), element);
  loop(index(0), sizeOf(put.getResult()), 1, [&](Value place) {
    Value sum =
        loop(index(0), sizeOf(put.getIds()), 1, nothing,
             [&](Value i, ValueRange carried) -> SmallVector<Value> {
               Value isHere = compare(arith::CmpIPredicate::eq,
                                      readId(put.getIds(), i), place);
               Value more =
                   elementwise::combine(*this, getLoc(), put.getKind(),
                                        carried[0], read(put.getUpdates(), i));
               return {create<arith::SelectOp>(isHere, more, carried[0])};
             })[0];
    write(elementwise::cast(*this, getLoc(), sum, element), place);
  });
}

void LineEmitter::put(PutAlongOp put) {
  Type element = elementOf(put);
  if (element == elementwise::computeType(element))
    putWide(put);
  else
    putNarrow(put);
}

/// The result lies on the operand, so all other elements are there.
void LineEmitter::update(UpdateSliceOp update) {
  Value first = create<arith::IndexCastOp>(
      getIndexType(),
      create<memref::LoadOp>(bufferOf(update.getAt()), ValueRange()));
  loop(index(0), sizeOf(update.getUpdate()), 1, [&](Value place) {
    write(read(update.getUpdate(), place), create<arith::AddIOp>(first, place));
  });
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

Operation *hone::onlyOpOf(plan::LaunchOp launch) {
  Block &body = launch.getBodyBlock();
  Operation *op = &body.front();
  bool isAlone =
      op->getNextNode() == body.getTerminator() &&
      llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>) &&
      llvm::equal(body.getTerminator()->getOperands(), op->getResults());
  return isAlone ? op : nullptr;
}

FailureOr<Operation *> hone::lineOpOf(plan::LaunchOp launch) {
  Operation *op = onlyOpOf(launch);
  if (!op)
    return launch.emitOpError("of family line holds other ops than one along "
                              "lines, of inputs");
  return op;
}

FailureOr<Kernel> hone::emitLine(OpBuilder &builder, StringRef name,
                                 plan::LaunchOp launch) {
  FailureOr<Operation *> found = lineOpOf(launch);
  if (failed(found))
    return failure();
  Operation *op = *found;
  auto sizeOf = [](Value value, uint64_t dim) { return shapeOf(value)[dim]; };
  return llvm::TypeSwitch<Operation *, FailureOr<Kernel>>(op)
      .Case([&](ArgsortOp sort) -> FailureOr<Kernel> {
        int64_t size = sizeOf(sort.getResult(), sort.getDim());
        LineEmitter emitter(builder, name, launch, op, sort.getDim());
        return emitter.emit([&] { emitter.argsort(sort); },
                            2 * size * llvm::Log2_64_Ceil(size + 1));
      })
      .Case([&](TopkOp top) -> FailureOr<Kernel> {
        int64_t size = sizeOf(top.getOperand(), top.getDim());
        LineEmitter emitter(builder, name, launch, op, top.getDim());
        return emitter.emit([&] { emitter.topk(top); },
                            size * sizeOf(top.getResult(), top.getDim()));
      })
      .Case([&](PutAlongOp put) -> FailureOr<Kernel> {
        int64_t size = sizeOf(put.getIds(), put.getDim());
        LineEmitter emitter(builder, name, launch, op, put.getDim());
        return emitter.emit([&] { emitter.put(put); },
                            size + sizeOf(put.getResult(), put.getDim()));
      })
      .Case([&](UpdateSliceOp update) -> FailureOr<Kernel> {
        LineEmitter emitter(builder, name, launch, op, update.getDim());
        return emitter.emit([&] { emitter.update(update); },
                            sizeOf(update.getUpdate(), update.getDim()));
      })
      .Default([&](Operation *) -> FailureOr<Kernel> {
        return launch.emitOpError("of family line holds no op along lines");
      });
}
