//===- RowSweeps.cpp - Rows that are too long for registers ---------------===//
//
// Each sweep reads such a row again, the later ones from the L2 cache. What
// bounds them is instructions, unless each vector of 16 bytes costs few. So two
// vectors are read before either is used; vectors in which no element differs
// from its neighbours (by a mask of columns, or a label) have code without the
// tests; a sum of one label's element reads it alone; and a maximum and the sum
// of exponentials below it take one sweep (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018).
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/MathFunctions.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace hone;

/// The value of each row that `value` repeats along it; null: it varies.
Value DeviceRowEmitter::repeatedInRow(Value value) {
  if (auto repeated = value.getDefiningOp<BroadcastOp>())
    value = repeated.getOperand();
  bool isSame =
      isSplat(value) || role(value) == Role::Row || role(value) == Role::Scalar;
  return isSame ? value : Value();
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// Whether `value` is made of numbers of 16 bits and constants alone.
static bool isOfNarrowNumbers(Value value, int64_t depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || !op->hasTrait<OpTrait::Elementwise>())
    return false;
  if (auto cast = dyn_cast<CastOp>(op)) {
    auto from = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getOperand()));
    return from && from.getWidth() == 16;
  }
  auto isNumber = [](Value operand) {
    return isa<FloatType>(getElementTypeOrSelf(operand)) &&
           !operand.getDefiningOp<ConstantOp>();
  };
  SmallVector<Value> numbers =
      llvm::to_vector(llvm::make_filter_range(op->getOperands(), isNumber));
  return !numbers.empty() && llvm::all_of(numbers, [&](Value operand) {
    return isOfNarrowNumbers(operand, depth - 1);
  });
}

/// Whether exp(x - shift) may take the error of its instruction, 2^-24 |x|
/// relative: x has one of 2^-9 |x| or 2^-12 |x| already, where it is made of
/// numbers of 16 bits.
bool DeviceRowEmitter::mayApproximate(ExpOp exp) {
  constexpr int64_t depth = 8;
  auto sub = exp.getOperand().getDefiningOp<SubOp>();
  return sub && repeatedInRow(sub.getRhs()) &&
         isOfNarrowNumbers(sub.getLhs(), depth);
}

/// Marks the exponentials that `value` is, if they may be.
Value DeviceRowEmitter::approximated(ExpOp exp, Value value) {
  auto made = value.getDefiningOp<math::ExpOp>();
  if (made && mayApproximate(exp))
    made.setFastmath(arith::FastMathFlags::afn);
  return value;
}

Value DeviceRowEmitter::vectorAt(Value value, Point &at) {
  Value vector = RowValues::vectorAt(value, at);
  auto exp = value.getDefiningOp<ExpOp>();
  return exp ? approximated(exp, vector) : vector;
}

//===----------------------------------------------------------------------===//
// Vectors without tests
//===----------------------------------------------------------------------===//

/// Whether `value` is the number of the column, at each point.
bool DeviceRowEmitter::isColumnNumber(Value value) {
  auto iota = value.getDefiningOp<IotaOp>();
  return iota && role(value) != Role::Row && role(value) != Role::Scalar &&
         int64_t(iota.getDim()) ==
             cast<RankedTensorType>(iota.getType()).getRank() - 1;
}

/// What a comparison is for all elements of a vector that starts at `col`, if
/// the condition holds that is returned; null where it is not known.
Value DeviceRowEmitter::uniformCondition(CmpOp cmp, Value col, bool &answer) {
  Value bound = repeatedInRow(cmp.getRhs());
  if (!isColumnNumber(cmp.getLhs()) || !bound ||
      !isa<IntegerType>(getElementTypeOrSelf(bound)))
    return Value();
  // A reduction of a later sweep may make it.
  if (!isSplat(bound) && role(bound) == Role::Row && !rowCache.lookup(bound))
    return Value();
  Value number = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(),
                                                    rowValue(bound, Value()));
  answer = cmp.getPredicate() == CmpPredicate::lt;
  if (answer)
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sle,
                                         add(col, lanes), number);
  if (cmp.getPredicate() != CmpPredicate::eq)
    return Value();
  Value distance = builder.create<arith::SubIOp>(loc, number, col);
  return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, distance,
                                       index(lanes));
}

/// Notes, at `at`, what comparisons are there if the condition holds that is
/// returned; null: there is nothing to test.
Value DeviceRowEmitter::assumeUniform(Point &at) {
  Value all;
  for (auto cmp : launch.getBodyBlock().getOps<CmpOp>()) {
    bool answer = false;
    Value condition = isSplat(cmp.getResult())
                          ? Value()
                          : uniformCondition(cmp, at.col, answer);
    if (!condition)
      continue;
    at.cache[cmp.getResult()] = broadcast(
        builder.create<arith::ConstantOp>(loc, builder.getBoolAttr(answer)));
    all = all ? builder.create<arith::AndIOp>(loc, all, condition) : condition;
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Loops over a row
//===----------------------------------------------------------------------===//

/// Reads what the vectors of `at` are made from.
void DeviceRowEmitter::readAhead(Point &at) {
  for (BlockArgument argument : launch.getBodyBlock().getArguments())
    if (!argument.use_empty() && role(argument) == Role::Full)
      vectorAt(argument, at);
}

/// `body` at several points: without tests where that is right for all.
void DeviceRowEmitter::visit(MutableArrayRef<Point> points, Values &carried,
                             PointBody body) {
  Value isPlain;
  SmallVector<Point> plain(points.begin(), points.end());
  for (Point &at : plain)
    if (Value condition = assumeUniform(at))
      isPlain = isPlain ? builder.create<arith::AndIOp>(loc, isPlain, condition)
                        : condition;
  auto run = [&](MutableArrayRef<Point> at, Values &values) {
    for (Point &point : at)
      body(point, values, 0);
  };
  if (!isPlain)
    return run(points, carried);
  auto branch = [&](MutableArrayRef<Point> at) {
    return [&, at](OpBuilder &, Location) {
      Values values(carried);
      run(at, values);
      builder.create<scf::YieldOp>(loc, values);
    };
  };
  SmallVector<Point> tested(points.begin(), points.end());
  auto choice =
      builder.create<scf::IfOp>(loc, isPlain, branch(plain), branch(tested));
  carried.assign(choice.getResults().begin(), choice.getResults().end());
}

/// A loop over the thread's vectors from `from` on, `step` apart, each with
/// those `distances` behind it.
void DeviceRowEmitter::loopOver(Value row, Value from, Value to, int64_t step,
                                ArrayRef<int64_t> distances, Values &carried,
                                PointBody body) {
  auto loop = builder.create<scf::ForOp>(
      loc, from, to, index(step), carried,
      [&](OpBuilder &, Location, Value vector, ValueRange values) {
        SmallVector<Point> points;
        for (int64_t distance : distances)
          points.push_back(pointAt(row, add(vector, distance), Value()));
        for (Point &at : points)
          readAhead(at);
        Values next(values);
        visit(points, next, body);
        builder.create<scf::YieldOp>(loc, next);
      });
  carried.assign(loop.getResults().begin(), loop.getResults().end());
}

void DeviceRowEmitter::sweep(Value row, Values &carried, PointBody body) {
  int64_t width = shape.rowThreads, pairs = shape.vectors / (2 * width);
  // Every thread has that many pairs of vectors; of what is left of the row,
  // some have a vector or two.
  int64_t rest = 2 * width * pairs;
  if (pairs > 0)
    loopOver(row, thread, index(rest), 2 * width, {0, width}, carried, body);
  if (rest < shape.vectors)
    loopOver(row, add(thread, rest), index(shape.vectors), width, {0}, carried,
             body);
}

//===----------------------------------------------------------------------===//
// A sum of one element
//===----------------------------------------------------------------------===//

/// sum(select(column == label, x, 0)) is x at the label's column, or 0.
bool DeviceRowEmitter::readLabel(ReduceOp reduce, Value row) {
  auto select = reduce.getOperand().getDefiningOp<SelectOp>();
  auto cmp = select ? select.getPred().getDefiningOp<CmpOp>() : CmpOp();
  Value label = cmp ? repeatedInRow(cmp.getRhs()) : Value();
  if (!label || reduce.getKind() != ReduceKind::sum ||
      cmp.getPredicate() != CmpPredicate::eq || !isColumnNumber(cmp.getLhs()) ||
      !matchPattern(select.getOnFalse(), m_AnyZeroFloat()))
    return false;
  Value column = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(),
                                                    rowValue(label, row));
  Value exists = less(column, space->cols());
  column = builder.create<arith::SelectOp>(loc, exists, column, index(0));
  Value lane = builder.create<arith::RemUIOp>(loc, column, index(lanes));
  Point at;
  at.row = row;
  at.col = builder.create<arith::SubIOp>(loc, column, lane);
  Value vector = vectorAt(select.getOnTrue(), at);
  Value element = builder.create<vector::ExtractOp>(loc, vector, 0);
  for (int64_t i = 1; i < lanes; ++i)
    element = builder.create<arith::SelectOp>(
        loc,
        builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, lane,
                                      index(i)),
        builder.create<vector::ExtractOp>(loc, vector, i), element);
  rowCache[reduce.getResult()] =
      builder.create<arith::SelectOp>(loc, exists, element, identity(reduce));
  return true;
}

//===----------------------------------------------------------------------===//
// A maximum and the sum of exponentials below it
//===----------------------------------------------------------------------===//

/// Whether `sum` adds exp(x - max), where `max` is that of x.
static bool isNormalizer(ReduceOp max, ReduceOp sum) {
  auto exp = sum.getOperand().getDefiningOp<ExpOp>();
  auto sub = exp ? exp.getOperand().getDefiningOp<SubOp>() : SubOp();
  auto shift = sub ? sub.getRhs().getDefiningOp<BroadcastOp>() : BroadcastOp();
  return shift && max.getKind() == ReduceKind::max &&
         sum.getKind() == ReduceKind::sum &&
         getElementTypeOrSelf(sum.getType()).isF32() &&
         getElementTypeOrSelf(max.getType()).isF32() &&
         shift.getOperand() == max.getResult() &&
         sub.getLhs() == max.getOperand();
}

/// exp(x - shift), as `sum` has it.
Value DeviceRowEmitter::expBelow(ReduceOp sum, Value x, Value shift) {
  elementwise::Math m{builder, loc};
  return approximated(sum.getOperand().getDefiningOp<ExpOp>(),
                      m.exp(m.sub(x, shift)));
}

/// 0 in place of the maximum of nothing but -inf, so that exp(-inf - it) is 0.
Value DeviceRowEmitter::finiteShift(Value max) {
  elementwise::Math m{builder, loc};
  Value lowest = m.c(max, -std::numeric_limits<double>::infinity());
  Value isLowest = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ,
                                                 max, lowest);
  return m.select(isLowest, m.c(max, 0.0), max);
}

/// carried[0] and carried[1]: the maximum so far, and the sum below it.
void DeviceRowEmitter::addToNormalizer(ReduceOp max, ReduceOp sum, Point &at,
                                       MutableArrayRef<Value> carried) {
  elementwise::Math m{builder, loc};
  Value x = vectorAt(max.getOperand(), at);
  Value most = elementwise::combine(
      builder, loc, ReduceKind::max, carried[0],
      elementwise::reduceLanes(builder, loc, ReduceKind::max, x));
  Value shift = finiteShift(most);
  Value scale = expBelow(sum, carried[0], shift);
  Value below = elementwise::reduceLanes(builder, loc, ReduceKind::sum,
                                         expBelow(sum, x, broadcast(shift)));
  carried[1] = m.fma(carried[1], scale, below);
  carried[0] = most;
}

void DeviceRowEmitter::emitNormalizer(ReduceOp max, ReduceOp sum, Value row) {
  elementwise::Math m{builder, loc};
  Values own = {identity(max), identity(sum)};
  sweep(row, own, [&](Point &at, Values &carried, int64_t) {
    addToNormalizer(max, sum, at, carried);
  });
  auto join = [&](ReduceKind kind, Value value) {
    DeviceThreads::Partial partial = {kind, value};
    return threads.reduce(partial, shape.rowWarps()).front();
  };
  Value most = join(ReduceKind::max, own[0]);
  // Of a row of nothing but -inf the sum is NaN, as exp(-inf - -inf) is.
  Value scaled = m.mul(own[1], expBelow(sum, own[0], most));
  rowCache[max.getResult()] = most;
  rowCache[sum.getResult()] = join(ReduceKind::sum, scaled);
}

/// Makes what needs no sweep of its own, and leaves the rest in `sweeps`.
void DeviceRowEmitter::takeNormalizer(
    MutableArrayRef<SmallVector<ReduceOp>> sweeps, size_t number, Value row) {
  size_t before = sweeps[number].size();
  llvm::erase_if(sweeps[number],
                 [&](ReduceOp reduce) { return readLabel(reduce, row); });
  // All threads read it, and one may write a result there next.
  if (sweeps[number].size() != before)
    threads.barrier();
  if (number + 1 == sweeps.size())
    return;
  for (ReduceOp max : SmallVector<ReduceOp>(sweeps[number]))
    for (ReduceOp sum : SmallVector<ReduceOp>(sweeps[number + 1]))
      if (isNormalizer(max, sum)) {
        emitNormalizer(max, sum, row);
        llvm::erase(sweeps[number], max);
        llvm::erase(sweeps[number + 1], sum);
        return;
      }
}
