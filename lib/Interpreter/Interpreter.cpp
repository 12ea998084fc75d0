//===- Interpreter.cpp - Walks a function and runs its ops ----------------===//

#include "hone/Interpreter/Interpreter.h"

#include "hone/Sharding/IR/Dist.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

namespace {
/// Values of one block that are alive.
class Frame {
public:
  explicit Frame(Mode mode) : mode(mode) {}

  const Tensor &operator[](Value value) const {
    return values.find(value)->second;
  }
  /// The tensor of an optional operand, or null.
  const Tensor *optional(Value value) const {
    return value ? &(*this)[value] : nullptr;
  }
  Tensors all(ValueRange range) const {
    Tensors tensors;
    for (Value value : range)
      tensors.push_back((*this)[value]);
    return tensors;
  }
  /// The one element of a rank-0 operand.
  double scalar(Value value) const { return (*this)[value].number(0); }

  void set(Value value, Tensor tensor) { values[value] = std::move(tensor); }
  void erase(Value value) { values.erase(value); }

  ResultSpec spec(Value value) const {
    auto type = cast<RankedTensorType>(value.getType());
    return {*elementOf(type.getElementType()), Shape(type.getShape()), mode};
  }
  SmallVector<ResultSpec, 4> specs(Operation *op) const {
    SmallVector<ResultSpec, 4> all;
    for (Value result : op->getResults())
      all.push_back(spec(result));
    return all;
  }

  const Mode mode;

private:
  llvm::DenseMap<Value, Tensor> values;
};
} // namespace

/// Where the tensor lies whose elements draw.
static RandomPlace placeOf(RandomOpInterface op, const Frame &frame) {
  if (!op.getOrigin())
    return {};
  return {frame[op.getOrigin()].ints()[0], op.getRandomShape(),
          llvm::to_vector(*op.getWhole())};
}

/// An error where an op has an origin at which no part begins.
static llvm::Error checkPlace(Operation *op, const Frame &frame) {
  auto random = dyn_cast<RandomOpInterface>(op);
  if (!random || placeOf(random, frame).isPart())
    return llvm::Error::success();
  return llvm::createStringError(
      "origin is " + Twine(placeOf(random, frame).origin) +
      ", expected the index of a part's first element in the whole");
}

namespace {
using Handler =
    std::function<llvm::Expected<Tensors>(Operation *, const Frame &)>;

/// One handler per op.
class HandlerTable {
public:
  HandlerTable();

  const Handler *find(OperationName name) const {
    auto it = handlers.find(name.getStringRef());
    return it == handlers.end() ? nullptr : &it->second;
  }

private:
  /// `run(op, frame)` returns a Tensor, Tensors, or an Expected of either.
  template <typename OpTy, typename Run> void on(Run run) {
    handlers[OpTy::getOperationName()] =
        [run](Operation *op, const Frame &frame) -> llvm::Expected<Tensors> {
      if (llvm::Error error = checkPlace(op, frame))
        return error;
      return toTensors(run(cast<OpTy>(op), frame));
    };
  }
  template <typename OpTy>
  void onUnary(double (*onFloats)(double), int64_t (*onInts)(int64_t)) {
    on<OpTy>([=](OpTy op, const Frame &frame) {
      return mapUnary(frame.spec(op), frame[op->getOperand(0)], onFloats,
                      onInts);
    });
  }
  template <typename OpTy>
  void onBinary(double (*onFloats)(double, double),
                int64_t (*onInts)(int64_t, int64_t)) {
    on<OpTy>([=](OpTy op, const Frame &frame) {
      return mapBinary(frame.spec(op), frame[op.getLhs()], frame[op.getRhs()],
                       onFloats, onInts);
    });
  }

  static llvm::Expected<Tensors> toTensors(Tensor tensor) {
    return Tensors{std::move(tensor)};
  }
  static llvm::Expected<Tensors> toTensors(Tensors tensors) { return tensors; }
  static llvm::Expected<Tensors> toTensors(llvm::Expected<Tensors> tensors) {
    return tensors;
  }
  static llvm::Expected<Tensors> toTensors(llvm::Expected<Tensor> tensor) {
    if (!tensor)
      return tensor.takeError();
    return Tensors{std::move(*tensor)};
  }

  void addElementwise();
  void addShape();
  void addReductions();
  void addNamed();
  void addBackward();
  void addState();

  llvm::StringMap<Handler> handlers;
};
} // namespace

/// Runs the ops of `block`, whose arguments are set in `frame`, and returns the
/// operands of its terminator. Values die after their last use.
static FailureOr<Tensors> runBlock(Block &block, Frame &frame,
                                   const Options &options);

static const HandlerTable &handlerTable() {
  static const HandlerTable table;
  return table;
}

HandlerTable::HandlerTable() {
  addElementwise();
  addShape();
  addReductions();
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
  onUnary<SqrtOp>([](double x) { return std::sqrt(x); }, nullptr);
  onUnary<RsqrtOp>([](double x) { return 1 / std::sqrt(x); }, nullptr);
  onUnary<SinOp>([](double x) { return std::sin(x); }, nullptr);
  onUnary<CosOp>([](double x) { return std::cos(x); }, nullptr);
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
  on<StopGradientOp>([](StopGradientOp op, const Frame &frame) {
    return frame[op.getOperand()];
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
    return dotGeneral(frame.spec(op), frame[op.getLhs()],
                      {op.getLhsBatch(), lhsFree, op.getLhsContract()},
                      frame[op.getRhs()],
                      {op.getRhsBatch(), rhsFree, op.getRhsContract()});
  });
  on<EmbeddingOp>([](EmbeddingOp op, const Frame &frame) {
    return embedding(frame.spec(op), frame[op.getTable()], frame[op.getIds()]);
  });
}

template <typename OpTy>
static CrossEntropyOptions crossEntropyOptions(OpTy op) {
  return {op.getReduction(), int64_t(op.getIgnoreIndex()),
          op.getLabelSmoothing().convertToDouble(), int64_t(op.getWidth())};
}

template <typename OpTy>
static AttentionInputs attentionInputs(OpTy op, const Frame &frame) {
  return {frame[op.getQuery()],
          frame[op.getKey()],
          frame[op.getValue()],
          frame.optional(op.getMask()),
          frame.optional(op.getRng()),
          op.getCausal(),
          op.getScale().convertToDouble(),
          op.getDropout().convertToDouble(),
          int64_t(op.getSalt()),
          placeOf(op, frame)};
}

void HandlerTable::addNamed() {
  on<LayerNormOp>([](LayerNormOp op, const Frame &frame) {
    return layerNorm(frame.specs(op), frame[op.getInput()],
                     frame.optional(op.getScale()),
                     frame.optional(op.getBias()),
                     op.getEps().convertToDouble(), op.getWidth());
  });
  on<RmsNormOp>([](RmsNormOp op, const Frame &frame) {
    return rmsNorm(frame.specs(op), frame[op.getInput()],
                   frame.optional(op.getScale()), op.getEps().convertToDouble(),
                   op.getWidth());
  });
  on<SoftmaxOp>([](SoftmaxOp op, const Frame &frame) {
    return softmax(frame.spec(op), frame[op.getInput()], op.getWidth());
  });
  on<CrossEntropyOp>([](CrossEntropyOp op, const Frame &frame) {
    return crossEntropy(frame.specs(op), frame[op.getLogits()],
                        frame[op.getTargets()], crossEntropyOptions(op));
  });
  on<AttentionOp>([](AttentionOp op, const Frame &frame) {
    return attention(frame.specs(op), attentionInputs(op, frame));
  });
  on<GeluOp>([](GeluOp op, const Frame &frame) {
    std::vector<double> values(frame[op.getInput()].floats());
    for (double &value : values)
      value = gelu(op.getApproximate(), value);
    return frame.spec(op).floats(std::move(values));
  });
}

void HandlerTable::addBackward() {
  on<EmbeddingBwdOp>([](EmbeddingBwdOp op, const Frame &frame) {
    return embeddingBwd(frame.spec(op), frame[op.getGrad()],
                        frame[op.getIds()]);
  });
  on<LayerNormBwdOp>([](LayerNormBwdOp op, const Frame &frame) {
    return layerNormBwd(frame.spec(op), frame[op.getGrad()],
                        frame[op.getInput()], frame[op.getMean()],
                        frame[op.getRstd()], frame.optional(op.getScale()),
                        op.getWidth());
  });
  on<RmsNormBwdOp>([](RmsNormBwdOp op, const Frame &frame) {
    return rmsNormBwd(frame.spec(op), frame[op.getGrad()], frame[op.getInput()],
                      frame[op.getRstd()], frame.optional(op.getScale()),
                      op.getWidth());
  });
  on<SoftmaxBwdOp>([](SoftmaxBwdOp op, const Frame &frame) {
    return softmaxBwd(frame.spec(op), frame[op.getGrad()],
                      frame[op.getOutput()], op.getWidth());
  });
  on<CrossEntropyBwdOp>([](CrossEntropyBwdOp op, const Frame &frame) {
    return crossEntropyBwd(frame.spec(op), frame[op.getGrad()],
                           frame[op.getLogits()], frame[op.getTargets()],
                           frame[op.getLse()], crossEntropyOptions(op));
  });
  on<AttentionBwdOp>([](AttentionBwdOp op, const Frame &frame) {
    return attentionBwd(frame.specs(op), frame[op.getGrad()],
                        attentionInputs(op, frame), frame[op.getOutput()],
                        frame[op.getLse()]);
  });
  on<GeluBwdOp>([](GeluBwdOp op, const Frame &frame) {
    std::vector<double> values(frame[op.getInput()].floats());
    for (auto [value, grad] : llvm::zip(values, frame[op.getGrad()].floats()))
      value = grad * geluSlope(op.getApproximate(), value);
    return frame.spec(op).floats(std::move(values));
  });
}

template <typename OpTy> static bool isApplied(OpTy op, const Frame &frame) {
  return !op.getApply() || frame[op.getApply()].ints()[0] != 0;
}

template <typename OpTy>
static UpdateOptions updateOptions(OpTy op, const Frame &frame) {
  return {isApplied(op, frame), frame.optional(op.getRng()),
          int64_t(op.getSalt()), placeOf(op, frame)};
}

template <typename OpTy>
static AdamwOptions adamwOptions(OpTy op, const Frame &frame,
                                 UpdateOptions update) {
  return {frame.scalar(op.getLr()),
          frame.scalar(op.getWeightDecay()),
          frame.scalar(op.getGradScale()),
          frame[op.getStep()].ints()[0],
          op.getBeta1().convertToDouble(),
          op.getBeta2().convertToDouble(),
          op.getEps().convertToDouble(),
          op.getLrScale().convertToDouble(),
          op.getDecayScale().convertToDouble(),
          op.getMaximize(),
          update};
}

void HandlerTable::addState() {
  on<GlobalNormOp>([](GlobalNormOp op, const Frame &frame) {
    return globalNorm(frame.spec(op), frame.all(op.getInputs()));
  });
  on<AdamwOp>([](AdamwOp op, const Frame &frame) {
    return adamw(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
                 frame[op.getExpAvg()], frame[op.getExpAvgSq()],
                 adamwOptions(op, frame, updateOptions(op, frame)));
  });
  on<Adamw8bitOp>([](Adamw8bitOp op, const Frame &frame) {
    return adamw8bit(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
                     {frame[op.getExpAvg()], frame[op.getExpAvgScale()]},
                     {frame[op.getExpAvgSq()], frame[op.getExpAvgSqScale()]},
                     adamwOptions(op, frame, {isApplied(op, frame)}));
  });
  on<SgdOp>([](SgdOp op, const Frame &frame) {
    SgdOptions options{frame.scalar(op.getLr()),
                       frame.scalar(op.getWeightDecay()),
                       frame.scalar(op.getGradScale()),
                       op.getMomentum().convertToDouble(),
                       op.getLrScale().convertToDouble(),
                       op.getDecayScale().convertToDouble(),
                       op.getNesterov(),
                       op.getMaximize(),
                       updateOptions(op, frame)};
    return sgd(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
               frame.optional(op.getBuffer()), options);
  });
  on<LionOp>([](LionOp op, const Frame &frame) {
    LionOptions options{frame.scalar(op.getLr()),
                        frame.scalar(op.getWeightDecay()),
                        frame.scalar(op.getGradScale()),
                        op.getBeta1().convertToDouble(),
                        op.getBeta2().convertToDouble(),
                        op.getLrScale().convertToDouble(),
                        op.getDecayScale().convertToDouble(),
                        op.getMaximize(),
                        updateOptions(op, frame)};
    return lion(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
                frame[op.getExpAvg()], options);
  });
  on<AdafactorOp>([](AdafactorOp op, const Frame &frame) {
    AdafactorOptions options{frame.scalar(op.getLr()),
                             frame.scalar(op.getWeightDecay()),
                             frame.scalar(op.getGradScale()),
                             frame[op.getStep()].ints()[0],
                             op.getBeta2Decay().convertToDouble(),
                             op.getEps1().convertToDouble(),
                             op.getEps2().convertToDouble(),
                             op.getClipThreshold().convertToDouble(),
                             op.getLrScale().convertToDouble(),
                             op.getDecayScale().convertToDouble(),
                             op.getMaximize(),
                             isApplied(op, frame)};
    return adafactor(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
                     frame.all(op.getVariances()), options);
  });
}

//===----------------------------------------------------------------------===//
// Walk
//===----------------------------------------------------------------------===//

/// For each op of `block`, the values whose last use it is (or whose only
/// appearance, for results never used).
static llvm::DenseMap<Operation *, SmallVector<Value>> lastUses(Block &block) {
  llvm::DenseMap<Operation *, SmallVector<Value>> deaths;
  llvm::DenseSet<Value> seen;
  for (Operation &op : llvm::reverse(block)) {
    for (Value operand : op.getOperands())
      if (seen.insert(operand).second)
        deaths[&op].push_back(operand);
    for (Value result : op.getResults())
      if (seen.insert(result).second)
        deaths[&op].push_back(result);
  }
  return deaths;
}

/// Results of one op; groups are run like a function.
static FailureOr<Tensors> runOp(Operation *op, const Frame &frame,
                                const Options &options) {
  if (auto group = dyn_cast<GroupOp>(op)) {
    Frame inner(options.mode);
    for (auto [argument, operand] :
         llvm::zip(group.getBodyBlock().getArguments(), group.getInputs()))
      inner.set(argument, frame[operand]);
    return runBlock(group.getBodyBlock(), inner, {options.mode, nullptr});
  }
  const Handler *handler = handlerTable().find(op->getName());
  if (!handler)
    return op->emitOpError("has no meaning to the interpreter, expected a "
                           "tensor op of the hone dialect");
  llvm::Expected<Tensors> results = (*handler)(op, frame);
  if (!results)
    return op->emitOpError() << llvm::toString(results.takeError());
  return std::move(*results);
}

/// Runs each op of `block` by `run`, which sets its results in the frames of
/// all ranks.
static LogicalResult
walkBlock(Block &block, MutableArrayRef<Frame> ranks,
          llvm::function_ref<LogicalResult(Operation *)> run) {
  auto deaths = lastUses(block);
  auto erase = [&](Value value) {
    for (Frame &frame : ranks)
      frame.erase(value);
  };
  for (BlockArgument argument : block.getArguments())
    if (argument.use_empty())
      erase(argument);
  for (Operation &op : block.without_terminator()) {
    if (failed(run(&op)))
      return failure();
    llvm::for_each(deaths[&op], erase);
  }
  return success();
}

static FailureOr<Tensors> runBlock(Block &block, Frame &frame,
                                   const Options &options) {
  auto run = [&](Operation *op) -> LogicalResult {
    FailureOr<Tensors> results = runOp(op, frame, options);
    if (failed(results))
      return failure();
    if (options.hook)
      options.hook(op, *results);
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), *results))
      frame.set(result, std::move(tensor));
    return success();
  };
  if (failed(walkBlock(block, frame, run)))
    return failure();
  return frame.all(block.getTerminator()->getOperands());
}

static std::string describe(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Gives the arguments of `func` their tensors.
static LogicalResult bindArguments(func::FuncOp func, Tensors &arguments,
                                   Frame &frame) {
  if (func.isExternal() || !func.getBody().hasOneBlock())
    return func.emitError("has no body of one block, expected one to run");
  if (arguments.size() != func.getNumArguments())
    return func.emitError() << "takes " << func.getNumArguments()
                            << " arguments, got " << arguments.size();
  for (auto [index, argument] : llvm::enumerate(func.getArguments())) {
    Tensor &tensor = arguments[index];
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || tensor.typeName() != describe(type))
      return func.emitError()
             << "argument " << index << " has type " << argument.getType()
             << ", got " << tensor.typeName();
    frame.set(argument, std::move(tensor));
  }
  arguments.clear();
  return success();
}

FailureOr<Tensors> interp::interpret(func::FuncOp func, Tensors arguments,
                                     const Options &options) {
  Frame frame(options.mode);
  if (failed(bindArguments(func, arguments, frame)))
    return failure();
  return runBlock(func.getBody().front(), frame, options);
}

namespace {
/// Runs blocks on all ranks in lock step, groups too: they may hold what ranks
/// exchange.
class RankRunner {
public:
  RankRunner(Mode mode, const Exchange &exchange)
      : mode(mode), exchange(exchange) {}

  /// What the block returns on each rank.
  FailureOr<std::vector<Tensors>> run(Block &block,
                                      MutableArrayRef<Frame> ranks) const;

private:
  FailureOr<std::vector<Tensors>> run(Operation *op,
                                      ArrayRef<Frame> ranks) const;
  FailureOr<std::vector<Tensors>> runGroup(GroupOp group,
                                           ArrayRef<Frame> ranks) const;
  FailureOr<std::vector<Tensors>> runExchange(Operation *op,
                                              ArrayRef<Frame> ranks) const;

  Mode mode;
  const Exchange &exchange;
};
} // namespace

FailureOr<std::vector<Tensors>>
RankRunner::runGroup(GroupOp group, ArrayRef<Frame> ranks) const {
  std::vector<Frame> inner(ranks.size(), Frame(mode));
  for (auto [frame, outer] : llvm::zip_equal(inner, ranks))
    for (auto [argument, operand] : llvm::zip_equal(
             group.getBodyBlock().getArguments(), group.getInputs()))
      frame.set(argument, outer[operand]);
  return run(group.getBodyBlock(), inner);
}

FailureOr<std::vector<Tensors>>
RankRunner::runExchange(Operation *op, ArrayRef<Frame> ranks) const {
  std::vector<Tensors> operands;
  for (const Frame &frame : ranks)
    operands.push_back(frame.all(op->getOperands()));
  FailureOr<std::vector<Tensor>> made = exchange(op, operands);
  if (failed(made))
    return failure();
  std::vector<Tensors> results(ranks.size());
  for (auto [tensors, tensor] : llvm::zip_equal(results, *made))
    tensors.push_back(std::move(tensor));
  return results;
}

FailureOr<std::vector<Tensors>> RankRunner::run(Operation *op,
                                                ArrayRef<Frame> ranks) const {
  if (auto group = dyn_cast<GroupOp>(op))
    return runGroup(group, ranks);
  if (isa<dist::DistDialect>(op->getDialect()))
    return runExchange(op, ranks);
  std::vector<Tensors> results;
  for (const Frame &frame : ranks) {
    FailureOr<Tensors> own = runOp(op, frame, {mode, nullptr});
    if (failed(own))
      return failure();
    results.push_back(std::move(*own));
  }
  return results;
}

FailureOr<std::vector<Tensors>>
RankRunner::run(Block &block, MutableArrayRef<Frame> ranks) const {
  auto runAll = [&](Operation *op) -> LogicalResult {
    FailureOr<std::vector<Tensors>> results = run(op, ranks);
    if (failed(results))
      return failure();
    for (auto [frame, own] : llvm::zip_equal(ranks, *results))
      for (auto [result, tensor] : llvm::zip_equal(op->getResults(), own))
        frame.set(result, std::move(tensor));
    return success();
  };
  if (failed(walkBlock(block, ranks, runAll)))
    return failure();
  std::vector<Tensors> results;
  for (Frame &frame : ranks)
    results.push_back(frame.all(block.getTerminator()->getOperands()));
  return results;
}

FailureOr<std::vector<Tensors>>
interp::interpretRanks(func::FuncOp func, std::vector<Tensors> arguments,
                       Mode mode, const Exchange &exchange) {
  std::vector<Frame> ranks(arguments.size(), Frame(mode));
  for (auto [frame, tensors] : llvm::zip(ranks, arguments))
    if (failed(bindArguments(func, tensors, frame)))
      return failure();
  return RankRunner(mode, exchange).run(func.getBody().front(), ranks);
}

bool interp::isInterpreted(OperationName name) {
  return name.getStringRef() == GroupOp::getOperationName() ||
         handlerTable().find(name);
}

//===----------------------------------------------------------------------===//
// Random arguments
//===----------------------------------------------------------------------===//

/// Normal numbers, or what `init` says.
static Tensor randomFloats(const ResultSpec &spec, const Tensor &key,
                           int64_t salt, DictionaryAttr init) {
  auto number = [&](StringRef name, double otherwise) {
    auto attr = init ? init.getAs<FloatAttr>(name) : FloatAttr();
    return attr ? attr.getValueAsDouble() : otherwise;
  };
  auto distAttr = init ? init.getAs<StringAttr>("dist") : StringAttr();
  StringRef dist = distAttr ? distAttr.getValue() : "normal";
  if (dist == "constant")
    return spec.floats(
        std::vector<double>(elementCount(spec.shape), number("value", 0)));
  bool uniform = dist == "uniform";
  double low = uniform ? number("low", 0) : number("mean", 0);
  double scale = uniform ? number("high", 1) - low : number("std", 1);
  ResultSpec exact{Element::F64, spec.shape, Mode::F64};
  Tensor unit = random(
      exact, key, uniform ? Distribution::uniform : Distribution::normal, salt);
  std::vector<double> values(unit.floats());
  for (double &value : values)
    value = low + scale * value;
  return spec.floats(std::move(values));
}

static Tensor randomInts(const ResultSpec &spec, const Tensor &key,
                         int64_t salt, int64_t first, int64_t bound) {
  ResultSpec exact{Element::F64, spec.shape, Mode::F64};
  Tensor unit = random(exact, key, Distribution::uniform, salt);
  std::vector<int64_t> values;
  for (double value : unit.floats())
    values.push_back(first + int64_t(value * bound));
  return spec.ints(std::move(values));
}

FailureOr<Tensors> interp::randomArguments(func::FuncOp func, int64_t seed,
                                           Mode mode) {
  Tensor key = Tensor::ints(Element::I64, {3}, {seed, 1, 0});
  Tensors arguments;
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[index]);
    std::optional<Element> element =
        type ? elementOf(type.getElementType()) : std::nullopt;
    if (!element || !type.hasStaticShape())
      return func.emitError() << "argument " << index << " has type "
                              << func.getArgumentTypes()[index]
                              << ", expected a tensor of static shape";
    ResultSpec spec{*element, Shape(type.getShape()), mode};
    auto vocab = func.getArgAttrOfType<IntegerAttr>(index, attr::vocab);
    if (argString(func, index, attr::kind) == kind::rng)
      arguments.push_back(key);
    else if (isFloat(*element))
      arguments.push_back(randomFloats(
          spec, key, index,
          func.getArgAttrOfType<DictionaryAttr>(index, attr::init)));
    else
      // Scalars count steps, from 1.
      arguments.push_back(
          randomInts(spec, key, index,
                     argString(func, index, attr::kind) == kind::scalar ? 1 : 0,
                     vocab ? vocab.getInt() : 4));
  }
  return arguments;
}
