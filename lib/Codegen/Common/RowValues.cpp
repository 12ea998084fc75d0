//===- RowValues.cpp - Values of a row kernel at a point ------------------===//

#include "RowValues.h"

#include "CodeArith.h"
#include "ElementwiseArith.h"
#include "Philox.h"
#include "SharedBodies.h"

#include "hone/Analysis/Fusion/FusedProduct.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;

/// A constant whose elements are equal: row spaces hold no other.
static bool isSplat(Value value) {
  return value.getDefiningOp<ConstantOp>() != nullptr;
}

bool hone::isFlatMap(plan::LaunchOp launch, const RowSpace &space) {
  Block &body = launch.getBodyBlock();
  if (space.hasReduction() || !body.getOps<IotaOp>().empty() ||
      llvm::any_of(launch->getOperandTypes(), [](Type type) {
        return rowLayout(cast<MemRefType>(type)).has_value();
      }))
    return false;
  // Vectors cross the ends of rows, where a part's numbers may jump.
  if (llvm::any_of(body.getOps<RandomOpInterface>(), [](RandomOpInterface op) {
        return !RandomPart::of(op).isRun();
      }))
    return false;
  auto fits = [&](Value value) {
    Role role = space.role(value);
    return isSplat(value) || role == Role::Full || role == Role::Scalar ||
           role == Role::Key;
  };
  return llvm::all_of(body.without_terminator(), [&](Operation &op) {
    return llvm::all_of(op.getOperands(), fits) &&
           (isa<AmaxOp>(op) || llvm::all_of(op.getResults(), fits));
  });
}

LogicalResult RowValues::bind(ValueRange arguments) {
  Block &body = launch.getBodyBlock();
  space = RowSpace::of(body);
  if (!space)
    return launch.emitOpError("fits no row space");
  launchBuffer = arguments.front();
  for (auto [argument, buffer] : llvm::zip(arguments, launch->getOperands()))
    if (auto layout = rowLayout(cast<MemRefType>(buffer.getType())))
      strided[argument] = *layout;
  unsigned next = 0;
  for (BlockArgument argument : body.getArguments())
    buffers[argument] = arguments[next++];
  unsigned scratch = launch.getInputs().size() + launch.getOutputs().size();
  for (Value yielded : body.getTerminator()->getOperands()) {
    Value buffer = arguments[next++];
    Role own = role(yielded);
    if (own == Role::TotalMax) {
      magnitudes.push_back({yielded.getDefiningOp<AmaxOp>(), buffer});
      continue;
    }
    if (own != Role::ColumnSum && own != Role::TotalSum) {
      outputs.emplace_back(yielded, buffer);
      continue;
    }
    Value partial = arguments[scratch++];
    buffers[yielded] = partial;
    (own == Role::ColumnSum ? columnSums : totalSums)
        .push_back({yielded.getDefiningOp<ReduceOp>(), buffer, partial});
  }
  return success();
}

bool RowValues::isSplat(Value value) { return ::isSplat(value); }

Value RowValues::bufferOf(Value value) {
  auto found = buffers.find(value);
  if (found != buffers.end())
    return found->second;
  if (!lacksBuffer)
    emitError(value.getLoc())
        << "a kernel reads this value from memory and makes it itself, "
           "expected an argument of its launch";
  lacksBuffer = true;
  // What is emitted goes on, with a buffer of the type that it asks for.
  Type type = launchBuffer.getType();
  if (isa<MemRefType>(type)) {
    auto tensor = cast<RankedTensorType>(value.getType());
    Type element = tensor.getElementType();
    type =
        MemRefType::get({tensor.getNumElements()},
                        element.isInteger(1) ? builder.getI8Type() : element);
  }
  return builder.create<UnrealizedConversionCastOp>(loc, type, ValueRange())
      .getResult(0);
}

Value RowValues::splatScalar(Value value) {
  auto dense =
      cast<DenseElementsAttr>(value.getDefiningOp<ConstantOp>().getValue());
  return elementwise::constant(
      builder, loc, cast<TypedAttr>(dense.getSplatValue<Attribute>()));
}

Value RowValues::flatIndex(Value row, Value col) {
  if (!row)
    return col;
  Value start = builder.create<arith::MulIOp>(loc, row, index(space->cols()));
  return builder.create<arith::AddIOp>(loc, start, col);
}

Value RowValues::offsetIn(Value buffer, Value row, Value col) {
  auto found = strided.find(buffer);
  if (!row || found == strided.end())
    return flatIndex(row, col);
  Value start =
      builder.create<arith::MulIOp>(loc, row, index(found->second.stride));
  return builder.create<arith::AddIOp>(loc, start, col);
}

Value RowValues::rowOffsetIn(Value buffer, Value row) {
  auto found = strided.find(buffer);
  if (found == strided.end())
    return row;
  Value width = index(found->second.width);
  Value start = builder.create<arith::MulIOp>(
      loc, builder.create<arith::DivUIOp>(loc, row, width),
      index(found->second.stride));
  return builder.create<arith::AddIOp>(
      loc, start, builder.create<arith::RemUIOp>(loc, row, width));
}

/// The element of an argument with one per point, column or repeated row.
Value RowValues::offsetAt(Value argument, Point &at) {
  Value row = at.row;
  if (role(argument) == Role::Col)
    return at.col;
  if (role(argument) == Role::Cyclic)
    row = builder.create<arith::RemUIOp>(loc, row,
                                         index(space->period(argument)));
  return offsetIn(bufferOf(argument), row, at.col);
}

Value RowValues::laneCounter(Value first) {
  SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  Value step = builder.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(vectorOf(builder.getI64Type()),
                                  ArrayRef<int64_t>(steps)));
  first = builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), first);
  return builder.create<arith::AddIOp>(loc, broadcast(first), step);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// Index along dimension `dim` of a tensor whose rows are its leading
/// dimensions.
Value RowValues::dimIndex(RankedTensorType type, int64_t dim, Value row) {
  int64_t inner = 1;
  for (int64_t size : type.getShape().slice(dim + 1).drop_back())
    inner *= size;
  Value value = row;
  if (inner != 1)
    value = builder.create<arith::DivUIOp>(loc, value, index(inner));
  return builder.create<arith::RemUIOp>(loc, value,
                                        index(type.getDimSize(dim)));
}

static Value indexToElement(OpBuilder &builder, Location loc, Value value,
                            Type element) {
  Value integer =
      builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), value);
  return elementwise::cast(builder, loc, integer, element);
}

Value RowValues::iotaVector(IotaOp op, Point &at) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  bool last = int64_t(op.getDim()) == type.getRank() - 1;
  if (!last)
    return broadcast(indexToElement(
        builder, loc, dimIndex(type, op.getDim(), at.row), element));
  Value counter = laneCounter(at.col);
  return elementwise::cast(builder, loc, counter, element);
}

Value RowValues::loadWords(Value first, Value salt, Value key, bool) {
  return emitPhiloxWord(builder, loc, laneCounter(first), salt, key);
}

/// The number, in the whole tensor, of the element at a point. Those that
/// follow it in its row have the next ones.
Value RowValues::firstNumber(DropoutOp op, const Point &at) {
  if (!op.getOrigin())
    return flatIndex(at.row, at.col);
  RandomPart part = RandomPart::of(op);
  auto convert = [&](Value value, Type type) -> Value {
    return builder.create<arith::IndexCastOp>(loc, type, value);
  };
  bool isRun = part.isRun();
  Value first = flatIndex(at.row, isRun ? at.col : index(0));
  Value number =
      emitRandomNumber(builder, loc, part, rowValue(op.getOrigin(), at.row),
                       convert(first, builder.getI64Type()));
  number = convert(number, builder.getIndexType());
  return isRun ? number
               : builder.create<arith::AddIOp>(loc, number, at.col).getResult();
}

Value RowValues::dropoutVector(DropoutOp op, Point &at) {
  Value salt = createSalt(builder, loc, op.getSalt());
  Value words = loadWords(firstNumber(op, at), salt, keys.lookup(op.getRng()),
                          RandomPart::of(op).keepsCounters());
  return emitDropout(builder, loc, vectorAt(op.getInput(), at), words,
                     op.getP().convertToDouble());
}

Value RowValues::vectorAt(Value value, Point &at) {
  if (isSplat(value))
    return broadcast(splatScalar(value));
  if (Value known = at.cache.lookup(value))
    return known;
  Value result;
  Role own = role(value);
  if (own == Role::Row || own == Role::Scalar)
    result = broadcast(rowValue(value, at.row));
  else if (isa<BlockArgument>(value))
    result = loadVector(value, at, offsetAt(value, at));
  else
    result = computeVector(value.getDefiningOp(), at);
  at.cache[value] = result;
  return result;
}

Value RowValues::computeVector(Operation *op, Point &at) {
  if (auto iota = dyn_cast<IotaOp>(op))
    return iotaVector(iota, at);
  if (isa<BroadcastOp, ReshapeOp>(op))
    return vectorAt(op->getOperand(0), at);
  if (auto gather = dyn_cast<EmbeddingOp>(op)) {
    if (isSplat(gather.getTable())) // every row of it
      return broadcast(splatScalar(gather.getTable()));
    Value id = builder.create<arith::IndexCastOp>(
        loc, builder.getIndexType(), rowValue(gather.getIds(), at.row));
    return loadVector(gather.getTable(), at, flatIndex(id, at.col));
  }
  if (auto dropout = dyn_cast<DropoutOp>(op))
    return dropoutVector(dropout, at);
  auto hasColumns = [&](MulOp product) {
    Role own = role(product.getResult());
    return own != Role::Row && own != Role::Scalar;
  };
  if (std::optional<FusedProduct> sum = FusedProduct::of(op, hasColumns)) {
    Value lhs = vectorAt(sum->product.getLhs(), at),
          rhs = vectorAt(sum->product.getRhs(), at);
    return builder.create<math::FmaOp>(loc, lhs, rhs,
                                       vectorAt(sum->addend, at));
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(vectorAt(operand, at));
  return elementwise::compute(builder, loc, op, operands);
}

//===----------------------------------------------------------------------===//
// One element per row
//===----------------------------------------------------------------------===//

Value RowValues::iotaScalar(IotaOp op, Value row) {
  // A value per row has the rows as its dimensions.
  auto type = cast<RankedTensorType>(op.getType());
  int64_t inner = 1;
  for (int64_t size : type.getShape().drop_front(op.getDim() + 1))
    inner *= size;
  if (type.getNumElements() == 1) // a Scalar has no row
    return indexToElement(builder, loc, index(0), type.getElementType());
  Value value = builder.create<arith::DivUIOp>(loc, row, index(inner));
  value = builder.create<arith::RemUIOp>(loc, value,
                                         index(type.getDimSize(op.getDim())));
  return indexToElement(builder, loc, value, type.getElementType());
}

Value RowValues::rowValue(Value value, Value row) {
  if (isSplat(value))
    return splatScalar(value);
  bool single = role(value) == Role::Scalar;
  DenseMap<Value, Value> &cache = single ? scalars : rowCache;
  if (Value known = cache.lookup(value))
    return known;
  Value result;
  if (isa<BlockArgument>(value))
    result = loadScalar(value,
                        single ? index(0) : rowOffsetIn(bufferOf(value), row));
  else
    result = computeScalar(value.getDefiningOp(), row);
  cache[value] = result;
  return result;
}

Value RowValues::computeScalar(Operation *op, Value row) {
  if (auto iota = dyn_cast<IotaOp>(op))
    return iotaScalar(iota, row);
  if (isa<BroadcastOp, ReshapeOp>(op))
    return rowValue(op->getOperand(0), row);
  assert(!isa<ReduceOp>(op) && "reductions are made by their sweep");
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(rowValue(operand, row));
  return elementwise::compute(builder, loc, op, operands);
}

void RowValues::makeScalars() {
  Block &body = launch.getBodyBlock();
  for (auto dropout : body.getOps<DropoutOp>()) {
    Value &key = keys[dropout.getRng()];
    if (!key)
      key = loadKey(dropout.getRng());
  }
  auto make = [&](Value value) {
    if (isMadeScalar(value))
      rowValue(value, Value());
  };
  for (Operation &op : body.without_terminator())
    llvm::for_each(op.getResults(), make);
  llvm::for_each(body.getArguments(), make);
}

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

int64_t RowValues::level(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  auto found = levels.find(value);
  if (found != levels.end())
    return found->second;
  int64_t result = 0;
  for (Value operand : op->getOperands())
    result = std::max(result, level(operand));
  if (auto reduce = dyn_cast<ReduceOp>(op); reduce && role(value) == Role::Row)
    ++result;
  levels[value] = result;
  return result;
}

SmallVector<SmallVector<ReduceOp>> RowValues::reductionsBySweep() {
  SmallVector<SmallVector<ReduceOp>> sweeps;
  for (auto reduce : launch.getBodyBlock().getOps<ReduceOp>()) {
    if (role(reduce.getResult()) != Role::Row)
      continue;
    size_t sweep = level(reduce.getOperand());
    if (sweeps.size() <= sweep)
      sweeps.resize(sweep + 1);
    sweeps[sweep].push_back(reduce);
  }
  return sweeps;
}

void RowValues::makeRowValues(Value row, int64_t sweep) {
  Block &body = launch.getBodyBlock();
  auto make = [&](Value value) {
    if (!isSplat(value) && role(value) == Role::Row && level(value) <= sweep)
      rowValue(value, row);
  };
  llvm::for_each(body.getArguments(), make);
  for (Operation &op : body.without_terminator())
    llvm::for_each(op.getResults(), make);
}

Value RowValues::identity(ReduceOp op) {
  return elementwise::identity(builder, loc, op.getKind(), elementOf(op));
}

void RowValues::accumulate(ReduceOp op, Point &at, Value &accumulator) {
  Value term = vectorAt(op.getOperand(), at);
  if (at.mask)
    term = builder.create<arith::SelectOp>(loc, at.mask, term,
                                           broadcast(identity(op)));
  accumulator =
      elementwise::combine(builder, loc, op.getKind(), accumulator, term);
}

Value RowValues::zeroBits() {
  return builder.create<arith::ConstantOp>(
      loc, builder.getZeroAttr(vectorOf(builder.getI32Type())));
}

void RowValues::accumulate(AmaxOp op, Point &at, Value &bits) {
  ImplicitLocOpBuilder b(loc, builder);
  Value own = magnitudeBits(b, vectorAt(op.getOperand(), at));
  if (at.mask)
    own = builder.create<arith::SelectOp>(loc, at.mask, own, zeroBits());
  bits = builder.create<arith::MaxUIOp>(loc, bits, own);
}

Value RowValues::largestLane(Value bits) {
  return builder.create<vector::ReductionOp>(loc, vector::CombiningKind::MAXUI,
                                             bits);
}
