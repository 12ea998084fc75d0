//===- UpdateEmitter.cpp - What kernels of updates share ------------------===//

#include "UpdateEmitter.h"

#include "Philox.h"
#include "hone/Analysis/Fusion/UpdateGroups.h"
#include "hone/IR/StateCode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace hone;

/// Vectors that one step of a loop works on, to keep their latencies apart.
static constexpr int64_t unroll = 4;
static constexpr int64_t blockElements = unroll * kernelLanes;
/// Elements of a work item of an update: enough that the scalars of a tensor,
/// which each call computes anew, cost nothing beside.
static constexpr int64_t updateChunk = 16384;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Operands of an update that are no scalars: parameter and state, which are
/// written anew, and the gradient.
static SmallVector<unsigned> tensorOperands(Operation *op) {
  SmallVector<unsigned> operands = {1};
  for (AliasPair pair : cast<HoneOpInterface>(op).getReusableOperands())
    operands.push_back(pair.operand);
  return operands;
}

/// Work items of the update of a tensor, and what its kernel is told of it:
/// chunks of elements and the salt; or, with state in codes, of blocks of rows
/// and the width of a row.
static TensorTable::Tensor describeTensor(Operation *op) {
  auto type = cast<ShapedType>(op->getOperand(0).getType());
  if (isa<Adamw8bitOp>(op)) {
    auto scales = cast<ShapedType>(op->getOperand(3).getType());
    return {scales.getNumElements(), type.getShape().back(), {}};
  }
  auto update = dyn_cast<StochasticUpdateOpInterface>(op);
  return {type.getNumElements(), update ? int64_t(update.getSalt()) : 0, {}};
}

/// The updates of a launch, or failure if it holds something else.
static FailureOr<SmallVector<Operation *>> updatesOf(plan::LaunchOp launch) {
  SmallVector<Operation *> ops;
  for (Operation &op : launch.getBodyBlock().without_terminator()) {
    if (!isUpdate(&op) ||
        !llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>) ||
        (!ops.empty() && updateKey(&op) != updateKey(ops.front())))
      return failure();
    ops.push_back(&op);
  }
  bool yieldsResults = llvm::all_of(
      launch.getBodyBlock().getTerminator()->getOperands(),
      [](Value value) { return value.getDefiningOp() != nullptr; });
  if (ops.empty() || !yieldsResults ||
      !llvm::all_of(launch->getOperandTypes(), isContiguous))
    return failure();
  return ops;
}

FailureOr<UpdateTable> UpdateTable::of(plan::LaunchOp launch) {
  FailureOr<SmallVector<Operation *>> ops = updatesOf(launch);
  if (failed(ops))
    return launch.emitOpError(
        "is no group of equal updates of contiguous inputs");
  UpdateTable table;
  table.op = ops->front();
  bool isCoded = isa<Adamw8bitOp>(table.op); // elements are blocks of codes
  table.tensors.chunk = isCoded ? updateChunk / stateBlock : updateChunk;
  table.tensors.slice = isCoded ? 1 : blockElements;
  DenseMap<Value, int32_t> outputs;
  Operation *yield = launch.getBodyBlock().getTerminator();
  for (OpOperand &yielded : yield->getOpOperands())
    outputs[yielded.get()] =
        launch.getInputs().size() + yielded.getOperandNumber();

  int64_t largest = 0;
  table.results.resize(table.op->getNumResults());
  for (Operation *op : *ops) {
    SmallVector<int32_t> buffers;
    for (Value operand : op->getOperands())
      buffers.push_back(cast<BlockArgument>(operand).getArgNumber());
    for (OpResult result : op->getResults())
      if (auto found = outputs.find(result); found != outputs.end()) {
        table.results[result.getResultNumber()] = buffers.size();
        buffers.push_back(found->second);
      }
    int64_t size =
        cast<ShapedType>(op->getOperand(0).getType()).getNumElements();
    largest = std::max(largest, size);
    table.tensors.tensors.push_back(describeTensor(op));
    table.tensors.tensors.back().buffers = std::move(buffers);
  }

  llvm::append_range(table.types, table.op->getOperandTypes());
  for (OpResult result : table.op->getResults())
    if (table.argumentOf(result))
      table.types.push_back(result.getType());
  SmallVector<unsigned> tensors = tensorOperands(table.op);
  for (auto [index, type] : llvm::enumerate(table.types)) {
    bool isScalar = index < table.op->getNumOperands() &&
                    !llvm::is_contained(tensors, index);
    auto shaped = cast<ShapedType>(type);
    if (!isScalar)
      table.perElement.push_back(index);
    type = isScalar
               ? MemRefType::get(shaped.getShape(), shaped.getElementType())
               : tensorInTurn(shaped.getElementType(), largest);
  }
  auto address = [&](int32_t buffer) {
    return plan::arenaOffset(launch->getOperand(buffer));
  };
  for (AliasPair pair : cast<HoneOpInterface>(table.op).getReusableOperands())
    if (std::optional<unsigned> result = table.results[pair.result])
      if (llvm::all_of(table.tensors.tensors, [&](const auto &tensor) {
            return address(tensor.buffers[pair.operand]) ==
                   address(tensor.buffers[*result]);
          }))
        table.inPlace.push_back(pair.result);
  return table;
}

//===----------------------------------------------------------------------===//
// Loops and values
//===----------------------------------------------------------------------===//

/// base^exponent in f64 by repeated squaring, for an exponent of at least 0.
Value UpdateEmitter::power(double base, Value exponent) {
  Type i64 = getI64Type();
  Value zeros = create<math::CountLeadingZerosOp>(exponent);
  Value bits = create<arith::SubIOp>(
      index(64), create<arith::IndexCastOp>(getIndexType(), zeros));
  return loop(index(0), bits, 1, {f64(1.0), f64(base)},
              [&](Value bit, ValueRange carried) -> SmallVector<Value> {
                Value shift = create<arith::IndexCastOp>(i64, bit);
                Value set = create<arith::TruncIOp>(
                    getI1Type(), create<arith::ShRUIOp>(exponent, shift));
                Value product = mul(carried[0], carried[1]);
                return {create<arith::SelectOp>(set, product, carried[0]),
                        mul(carried[1], carried[1])};
              })[0];
}

Value UpdateEmitter::loadElements(unsigned argument, Value at, Value mask) {
  Value from = buffer(argument);
  return loadVector(from, at, getElementTypeOrSelf(from.getType()), mask);
}

void UpdateEmitter::storeElements(Value value, unsigned argument, Value at,
                                  Value mask) {
  storeVector(value, buffer(argument), at, mask);
}

Value UpdateEmitter::loadScalar(unsigned argument) {
  return create<memref::LoadOp>(buffer(argument), ValueRange());
}

Value UpdateEmitter::loadKey(unsigned argument) {
  return emitPhiloxKey(*this, getLoc(), buffer(argument));
}

Value UpdateEmitter::numbersFrom(Value first, int64_t step, int64_t count,
                                 const RandomSource &random) {
  auto type = VectorType::get({count}, getI64Type());
  SmallVector<int64_t> steps;
  for (int64_t lane = 0; lane < count; ++lane)
    steps.push_back(lane * step);
  Value number = create<vector::BroadcastOp>(
      type, create<arith::IndexCastOp>(getI64Type(), first));
  number = create<arith::AddIOp>(
      number, create<arith::ConstantOp>(
                  DenseElementsAttr::get(type, ArrayRef<int64_t>(steps))));
  return emitRandomNumber(*this, getLoc(), random.part, random.origin, number);
}

/// Words of a block of elements, four vectors.
std::array<Value, unroll>
UpdateEmitter::blockWords(Value first, const RandomSource &random) {
  if (random.part.keepsCounters()) {
    Value number = create<arith::IndexCastOp>(getI64Type(), first);
    if (random.part.isRun())
      number =
          emitRandomNumber(*this, getLoc(), random.part, random.origin, number);
    else
      number = numbersFrom(first, 4, kernelLanes, random);
    return emitPhiloxRun(*this, getLoc(), number, random.salt, random.key);
  }
  std::array<Value, unroll> words;
  for (auto [part, word] : llvm::enumerate(words)) {
    Value at = create<arith::AddIOp>(first, index(part * kernelLanes));
    word =
        emitPhiloxWord(*this, getLoc(), numbersFrom(at, 1, kernelLanes, random),
                       random.salt, random.key);
  }
  return words;
}

/// Blocks of four vectors from element lo to hi; masks are null but for the
/// last, partial block.
void UpdateEmitter::forVectors(const RandomSource &random, VectorBody body) {
  auto emitBlock = [&](Value first, ArrayRef<Value> masks) {
    std::array<Value, unroll> words = {};
    if (random.key)
      words = blockWords(first, random);
    for (auto [part, mask] : llvm::enumerate(masks)) {
      Value at = create<arith::AddIOp>(first, index(part * kernelLanes));
      body(at, mask, words[part]);
    }
  };
  Value count = create<arith::SubIOp>(hi(), lo());
  Value rest = create<arith::RemUIOp>(count, index(blockElements));
  Value end = create<arith::SubIOp>(hi(), rest);
  loop(lo(), end, blockElements,
       [&](Value at) { emitBlock(at, SmallVector<Value>(unroll)); });
  loop(end, hi(), blockElements, [&](Value at) {
    SmallVector<Value> masks;
    for (int64_t part = 0; part < unroll; ++part) // a negative number masks all
      masks.push_back(maskOfFirst(
          Value(create<arith::SubIOp>(rest, index(part * kernelLanes)))));
    emitBlock(at, masks);
  });
}

/// Random bits, of which `shift` says which, are added below those that a bf16
/// keeps; see hone.adamw.
Value UpdateEmitter::roundStochastically(Value value, Value word,
                                         int64_t shift) {
  auto words = cast<VectorType>(word.getType());
  Value single = convertFloat(value, getF32Type());
  Value bits = create<arith::BitcastOp>(words, single);
  Value random =
      create<arith::AndIOp>(create<arith::ShRUIOp>(word, integer(words, shift)),
                            integer(words, 0xFFFF));
  Value rounded = create<arith::AndIOp>(create<arith::AddIOp>(bits, random),
                                        integer(words, 0xFFFF0000));
  Value magnitude = create<math::AbsFOp>(single);
  Value finite = create<arith::CmpFOp>(
      arith::CmpFPredicate::OLT, magnitude,
      constant(magnitude.getType(), std::numeric_limits<float>::infinity()));
  // What is not finite has no bits below, and a NaN must stay one.
  return create<arith::SelectOp>(
      finite, create<arith::BitcastOp>(single.getType(), rounded), single);
}

/// Words of a result are 16 bits of its element's: evenly spread over the
/// parameter, which has the highest, and its state.
static int64_t shiftOf(OpResult result) {
  auto update = cast<HoneOpInterface>(result.getOwner());
  int64_t last = update.getReusableOperands().size() - 1;
  return last == 0 ? 16 : 16 - 16 * result.getResultNumber() / last;
}

void UpdateEmitter::store(OpResult result, Value value, Value at, Value mask,
                          Value word) {
  std::optional<unsigned> argument = table.argumentOf(result);
  if (!argument)
    return;
  if (word && getElementTypeOrSelf(result.getType()).isBF16())
    value = roundStochastically(value, word, shiftOf(result));
  storeElements(value, *argument, at, mask);
}

/// Copies what an update that is not applied leaves as it is, but for results
/// that lie where their operands are; the working copy is made anew.
void UpdateEmitter::keepAll() {
  SmallVector<std::pair<unsigned, unsigned>> copies; // argument, argument
  auto reusable = cast<HoneOpInterface>(op).getReusableOperands();
  for (AliasPair pair : reusable)
    if (std::optional<unsigned> to = table.results[pair.result];
        to && !llvm::is_contained(table.inPlace, pair.result))
      copies.emplace_back(pair.operand, *to);
  for (OpResult result : op->getResults())
    if (std::optional<unsigned> to = table.argumentOf(result);
        to && result.getResultNumber() >= reusable.size())
      copies.emplace_back(0, *to);
  if (copies.empty())
    return;
  forVectors({}, [&](Value at, Value mask, Value) {
    for (auto [from, to] : copies) // between buffers of one type, the very bits
      storeElements(loadElements(from, at, mask), to, at, mask);
  });
}

void UpdateEmitter::emitIf(Value applyOperand, function_ref<void()> update,
                           function_ref<void()> keep) {
  if (!applyOperand)
    return update();
  Value flag = loadScalar(argumentOf(applyOperand));
  Value isApplied = create<arith::CmpIOp>(arith::CmpIPredicate::ne, flag,
                                          integer(flag.getType(), 0));
  auto inRegion = [&](function_ref<void()> emitBody) {
    return [this, emitBody](OpBuilder &nested, Location) {
      OpBuilder::InsertionGuard guard(*this);
      setInsertionPointToEnd(nested.getInsertionBlock());
      emitBody();
      create<scf::YieldOp>();
    };
  };
  create<scf::IfOp>(isApplied, inRegion(update), inRegion(keep));
}

void UpdateEmitter::emit(Body body, Value applyOperand, Value keyOperand) {
  RandomSource source;
  if (keyOperand) {
    auto random = cast<RandomOpInterface>(op);
    source.key = loadKey(argumentOf(keyOperand));
    Value tag = buffer(table.types.size());
    source.salt = create<arith::IndexCastOp>(getI64Type(), tag);
    source.part = RandomPart::of(random);
    if (random.getOrigin())
      source.origin = loadScalar(argumentOf(random.getOrigin()));
  }
  auto updateAll = [&] {
    forVectors(source, [&](Value at, Value mask, Value word) {
      SmallVector<Value> values = body(at, mask);
      if (values.size() < op->getNumResults()) { // the working copy
        Type param = getElementTypeOrSelf(op->getResult(0).getType());
        values.push_back(convertFloat(values.front(), param));
      }
      for (auto [result, value] : llvm::zip(op->getResults(), values))
        store(result, value, at, mask, word);
    });
  };
  emitIf(applyOperand, updateAll, [&] { keepAll(); });
}

//===----------------------------------------------------------------------===//
// AdamW
//===----------------------------------------------------------------------===//

void AdamwFormula::makeScalars(Value lr, Value weightDecay, Value step,
                               Value gradScale, double lrScale,
                               double decayScale, bool maximize) {
  // a = lr lr_scale; corrections 1 - beta^t.
  Value one = b.f64(1.0), rate = b.mul(lr, b.f64(lrScale));
  Value decayRate = b.mul(weightDecay, b.f64(decayScale));
  keep = b.splat(b.sub(one, b.mul(rate, decayRate)));
  Value correction1 = b.sub(one, b.power(beta1, step));
  Value correction2 = b.sub(one, b.power(beta2, step));
  stepSize = b.splat(b.neg(b.div(rate, correction1)));
  // sqrt(v) times this is sqrt(v) / sqrt(1 - beta2^t), to half an ulp more.
  rootScale = b.splat(b.div(one, b.create<math::SqrtOp>(correction2)));
  scale = b.splat(maximize ? b.neg(gradScale) : gradScale);
}

AdamwFormula::Elements AdamwFormula::update(const Elements &old) {
  Value g = b.mul(old.grad, scale);
  // PyTorch's lerp: m + (1 - beta1) (g - m).
  Value m = b.fma(b.splat(1.0 - beta1), b.sub(g, old.expAvg), old.expAvg);
  Value v = b.fma(b.mul(b.splat(1.0 - beta2), g), g,
                  b.mul(b.splat(beta2), old.expAvgSq));
  Value root = b.create<math::SqrtOp>(v);
  Value quotient = b.div(m, b.fma(root, rootScale, b.splat(eps)));
  Value p = b.fma(stepSize, quotient, b.mul(old.param, keep));
  return {p, old.grad, m, v};
}
