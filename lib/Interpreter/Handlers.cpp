//===- Handlers.cpp - The table of handlers, and those of primitive ops ---===//

#include "Handlers.h"

#include "hone/IR/Fp8.h"
#include "hone/Sharding/IR/Dist.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

RandomPlace interp::placeOf(RandomOpInterface op, const Frame &frame) {
  if (!op.getOrigin())
    return {};
  return {frame[op.getOrigin()].ints()[0], op.getRandomShape(),
          llvm::to_vector(*op.getWhole())};
}

llvm::Error interp::checkPlace(Operation *op, const Frame &frame) {
  auto random = dyn_cast<RandomOpInterface>(op);
  if (!random || placeOf(random, frame).isPart())
    return llvm::Error::success();
  return llvm::createStringError(
      "origin is " + Twine(placeOf(random, frame).origin) +
      ", expected the index of a part's first element in the whole");
}

const HandlerTable &interp::handlerTable() {
  static const HandlerTable table;
  return table;
}

HandlerTable::HandlerTable() {
  addElementwise();
  addShape();
  addReductions();
  addSelections();
  addContractions();
  addNamed();
  addBackward();
  addState();
}

// Integer arithmetic wraps: it is done on unsigned numbers.
static int64_t wrapping(uint64_t value) { return int64_t(value); }

void HandlerTable::addElementwise() {
  on<ConstantOp>([](ConstantOp op, const Frame &frame) {
    return tensorOf(op.getValue(), frame.mode);
  });
  on<IotaOp>([](IotaOp op, const Frame &frame) {
    return iota(frame.spec(op), op.getDim());
  });
  on<RandomOp>([](RandomOp op, const Frame &frame) {
    return random(frame.spec(op), frame[op.getKey()], op.getDist(),
                  op.getSalt(), placeOf(op, frame));
  });

  onUnary<NegOp>([](double x) { return -x; },
                 [](int64_t x) { return wrapping(0 - uint64_t(x)); });
  onUnary<AbsOp>(
      [](double x) { return std::abs(x); },
      [](int64_t x) { return x < 0 ? wrapping(0 - uint64_t(x)) : x; });
  onUnary<ExpOp>([](double x) { return std::exp(x); }, nullptr);
  onUnary<LogOp>([](double x) { return std::log(x); }, nullptr);
  onUnary<Expm1Op>([](double x) { return std::expm1(x); }, nullptr);
  onUnary<Log1pOp>([](double x) { return std::log1p(x); }, nullptr);
  onUnary<SqrtOp>([](double x) { return std::sqrt(x); }, nullptr);
  onUnary<RsqrtOp>([](double x) { return 1 / std::sqrt(x); }, nullptr);
  onUnary<SinOp>([](double x) { return std::sin(x); }, nullptr);
  onUnary<CosOp>([](double x) { return std::cos(x); }, nullptr);
  onUnary<AtanOp>([](double x) { return std::atan(x); }, nullptr);
  onUnary<FloorOp>([](double x) { return std::floor(x); }, nullptr);
  onUnary<TanhOp>([](double x) { return std::tanh(x); }, nullptr);
  onUnary<ErfOp>([](double x) { return std::erf(x); }, nullptr);
  onUnary<LogisticOp>(logistic, nullptr);
  onUnary<SignOp>(sign, [](int64_t x) { return int64_t((x > 0) - (x < 0)); });
  onUnary<NotOp>(nullptr, [](int64_t x) { return ~x; });

  onBinary<AddOp>(
      [](double x, double y) { return x + y; },
      [](int64_t x, int64_t y) { return wrapping(uint64_t(x) + uint64_t(y)); });
  onBinary<SubOp>(
      [](double x, double y) { return x - y; },
      [](int64_t x, int64_t y) { return wrapping(uint64_t(x) - uint64_t(y)); });
  onBinary<MulOp>(
      [](double x, double y) { return x * y; },
      [](int64_t x, int64_t y) { return wrapping(uint64_t(x) * uint64_t(y)); });
  onBinary<MaxOp>(maximum, [](int64_t x, int64_t y) { return std::max(x, y); });
  onBinary<MinOp>(minimum, [](int64_t x, int64_t y) { return std::min(x, y); });
  onBinary<PowOp>([](double x, double y) { return std::pow(x, y); }, nullptr);
  onBinary<AndOp>(nullptr, [](int64_t x, int64_t y) { return x & y; });
  onBinary<OrOp>(nullptr, [](int64_t x, int64_t y) { return x | y; });

  on<DivOp>([](DivOp op, const Frame &frame) {
    return divide(frame.spec(op), frame[op.getLhs()], frame[op.getRhs()]);
  });
  on<CastOp>([](CastOp op, const Frame &frame) {
    return interp::cast(frame.spec(op), frame[op.getOperand()]);
  });
  on<CmpOp>([](CmpOp op, const Frame &frame) {
    return compare(frame.spec(op), op.getPredicate(), frame[op.getLhs()],
                   frame[op.getRhs()]);
  });
  on<SelectOp>([](SelectOp op, const Frame &frame) {
    return select(frame.spec(op), frame[op.getPred()], frame[op.getOnTrue()],
                  frame[op.getOnFalse()]);
  });
  on<DropoutOp>([](DropoutOp op, const Frame &frame) {
    return dropout(frame.spec(op), frame[op.getInput()], frame[op.getRng()],
                   op.getP().convertToDouble(), op.getSalt(),
                   placeOf(op, frame));
  });
  on<RopeOp>([](RopeOp op, const Frame &frame) {
    return rope(frame.spec(op), op.getStyle(), frame[op.getInput()],
                frame[op.getCos()], frame[op.getSin()], op.getInverse());
  });
}

void HandlerTable::addShape() {
  on<ReshapeOp>([](ReshapeOp op, const Frame &frame) {
    return frame[op.getOperand()].reshaped(frame.spec(op).shape);
  });
  on<dist::ConstrainOp>([](dist::ConstrainOp op, const Frame &frame) {
    return frame[op.getOperand()];
  });
  on<dist::BoundaryOp>([](dist::BoundaryOp op, const Frame &frame) {
    return frame[op.getOperand()];
  });
  on<StopGradientOp>([](StopGradientOp op, const Frame &frame) {
    return frame[op.getOperand()];
  });
  on<CustomGradientOp>([](CustomGradientOp op, const Frame &frame) {
    Tensors values;
    for (Value value : op.getValues())
      values.push_back(frame[value]);
    return values;
  });
  on<SelectModeOp>([](SelectModeOp op, const Frame &frame) {
    return frame[op.getTraining()];
  });
  on<TransposeOp>([](TransposeOp op, const Frame &frame) {
    return transpose(frame.spec(op), frame[op.getOperand()],
                     op.getPermutation());
  });
  on<BroadcastOp>([](BroadcastOp op, const Frame &frame) {
    return broadcast(frame.spec(op), frame[op.getOperand()], op.getDims());
  });
  on<SliceOp>([](SliceOp op, const Frame &frame) {
    return slice(frame.spec(op), frame[op.getOperand()], op.getStarts(),
                 op.getStrides());
  });
  on<PadOp>([](PadOp op, const Frame &frame) {
    return pad(frame.spec(op), frame[op.getOperand()], op.getLow(),
               op.getInterior());
  });
  on<ConcatOp>([](ConcatOp op, const Frame &frame) {
    return concat(frame.spec(op), frame.all(op.getInputs()), op.getDim());
  });
}

void HandlerTable::addReductions() {
  on<ReduceOp>([](ReduceOp op, const Frame &frame) {
    return reduce(frame.spec(op), op.getKind(), frame[op.getOperand()],
                  op.getDims());
  });
  on<ArgmaxOp>([](ArgmaxOp op, const Frame &frame) {
    return argmax(frame.spec(op), frame[op.getOperand()], op.getDim());
  });
  on<CumsumOp>([](CumsumOp op, const Frame &frame) {
    return cumsum(frame.spec(op), frame[op.getOperand()], op.getDim(),
                  op.getReverse());
  });
  on<DotGeneralOp>([](DotGeneralOp op, const Frame &frame) {
    SmallVector<int64_t> lhsFree = op.getLhsFree(), rhsFree = op.getRhsFree();
    Tensor lhs = frame[op.getLhs()], rhs = frame[op.getRhs()];
    if (op.hasCodes()) {
      lhs =
          valuesOfCodes(lhs, frame[op.getLhsScales()], op.getLhsScaleLayout());
      rhs =
          valuesOfCodes(rhs, frame[op.getRhsScales()], op.getRhsScaleLayout());
    }
    return dotGeneral(frame.spec(op), lhs,
                      {op.getLhsBatch(), lhsFree, op.getLhsContract()}, rhs,
                      {op.getRhsBatch(), rhsFree, op.getRhsContract()});
  });
  on<EmbeddingOp>([](EmbeddingOp op, const Frame &frame) {
    return embedding(frame.spec(op), frame[op.getTable()], frame[op.getIds()]);
  });
}

void HandlerTable::addSelections() {
  on<ArgsortOp>([](ArgsortOp op, const Frame &frame) {
    return firstInOrder(frame.spec(op), frame[op.getOperand()], op.getDim(),
                        op.getDescending());
  });
  on<TopkOp>([](TopkOp op, const Frame &frame) {
    return firstInOrder(frame.spec(op), frame[op.getOperand()], op.getDim(),
                        !op.getSmallest());
  });
  on<AmaxOp>([](AmaxOp op, const Frame &frame) {
    return amax(frame.spec(op), frame[op.getOperand()]);
  });
  on<QuantizeOp>([](QuantizeOp op, const Frame &frame) {
    return quantize(frame.specs(op), frame[op.getOperand()],
                    frame.optional(op.getAmax()), op.getScaleLayout(),
                    op.getTransposed());
  });
  on<DequantizeOp>([](DequantizeOp op, const Frame &frame) {
    return dequantize(frame.spec(op), op.getCode(), frame[op.getCodes()],
                      frame[op.getScales()], op.getBlock());
  });
  on<TakeAlongOp>([](TakeAlongOp op, const Frame &frame) {
    return takeAlong(frame.spec(op), frame[op.getOperand()], frame[op.getIds()],
                     op.getDim());
  });
  on<PutAlongOp>([](PutAlongOp op, const Frame &frame) {
    return putAlong(frame.spec(op), op.getKind(), frame[op.getUpdates()],
                    frame[op.getIds()], op.getDim());
  });
  on<UpdateSliceOp>([](UpdateSliceOp op, const Frame &frame) {
    return updateSlice(frame.spec(op), frame[op.getOperand()],
                       frame[op.getUpdate()], frame[op.getAt()].ints()[0],
                       op.getDim());
  });
}

void HandlerTable::addContractions() {
  on<GroupedDotOp>([](GroupedDotOp op, const Frame &frame) {
    return groupedDot(frame.spec(op), frame[op.getInput()],
                      frame[op.getWeight()], frame[op.getEnds()],
                      op.getContract());
  });
  on<dist::BlockEmbeddingOp>([](dist::BlockEmbeddingOp op, const Frame &frame) {
    return blockEmbedding(frame.spec(op), frame[op.getTable()],
                          frame[op.getIds()]);
  });
  on<dist::BlockEmbeddingBwdOp>(
      [](dist::BlockEmbeddingBwdOp op, const Frame &frame) {
        return blockEmbeddingBwd(frame.spec(op), frame[op.getGrad()],
                                 frame[op.getIds()]);
      });
  on<dist::BlockPermuteOp>([](dist::BlockPermuteOp op, const Frame &frame) {
    return blockPermute(frame.spec(op), frame[op.getRows()], frame[op.getIds()],
                        op.picksPerRow(), op.getTotal());
  });
  on<dist::BlockExchangeOp>([](dist::BlockExchangeOp op, const Frame &frame) {
    return blockExchange(frame.spec(op), frame[op.getOperand()],
                         op.getReverse());
  });
  on<dist::BlockGroupedDotOp>(
      [](dist::BlockGroupedDotOp op, const Frame &frame) {
        return blockGroupedDot(frame.spec(op), frame[op.getInput()],
                               frame[op.getWeight()], frame[op.getEnds()],
                               op.getContract());
      });
  on<dist::BlockGroupedDotBwdWeightOp>([](dist::BlockGroupedDotBwdWeightOp op,
                                          const Frame &frame) {
    return blockGroupedDotBwdWeight(frame.spec(op), frame[op.getLhs()],
                                    frame[op.getRhs()], frame[op.getEnds()]);
  });
  on<GroupedDotBwdWeightOp>([](GroupedDotBwdWeightOp op, const Frame &frame) {
    return groupedDotBwdWeight(frame.spec(op), frame[op.getLhs()],
                               frame[op.getRhs()], frame[op.getEnds()]);
  });
  on<ConvOp>([](ConvOp op, const Frame &frame) {
    return conv(frame.spec(op), op.getWindow(), frame[op.getInput()],
                frame[op.getWeight()]);
  });
  on<ConvBwdInputOp>([](ConvBwdInputOp op, const Frame &frame) {
    return convBwdInput(frame.spec(op), op.getWindow(), frame[op.getGrad()],
                        frame[op.getWeight()]);
  });
  on<ConvBwdWeightOp>([](ConvBwdWeightOp op, const Frame &frame) {
    return convBwdWeight(frame.spec(op), op.getWindow(), frame[op.getInput()],
                         frame[op.getGrad()]);
  });
  on<MaxPoolOp>([](MaxPoolOp op, const Frame &frame) {
    return maxPool(frame.specs(op), op.getWindow(), frame[op.getInput()]);
  });
  on<MaxPoolBwdOp>([](MaxPoolBwdOp op, const Frame &frame) {
    return maxPoolBwd(frame.spec(op), op.getWindow(), frame[op.getGrad()],
                      frame[op.getTaps()]);
  });
}
