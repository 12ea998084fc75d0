//===- UpdateEmitter.cpp - What kernels of updates share ------------------===//

#include "UpdateEmitter.h"

#include "Philox.h"
#include "hone/Analysis/Fusion/UpdateGroups.h"
#include "hone/IR/StateCode.h"
#include "hone/IR/UpdateFormulas.h"

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

/// Operands of an update that are no scalars: the parameter, its gradient, and
/// its state.
static SmallVector<unsigned> tensorOperands(Operation *op) {
  SmallVector<unsigned> operands = {0, 1};
  for (AliasPair pair : cast<HoneOpInterface>(op).getReusableOperands())
    if (pair.operand != 0)
      operands.push_back(pair.operand);
  return operands;
}

/// Work items of the update of a tensor, and what its kernel is told of it:
/// chunks of elements and the salt; or, with state in codes, of blocks of rows
/// and the width of a row.
static TensorTable::Tensor describeTensor(UpdateOpInterface op) {
  auto type = cast<ShapedType>(op->getOperand(0).getType());
  if (op.getStateBlock() != 0)
    return {ShapedType::getNumElements(stateScaleShape(type.getShape())),
            type.getShape().back(),
            {}};
  auto random = dyn_cast<StochasticUpdateOpInterface>(op.getOperation());
  return {type.getNumElements(), random ? int64_t(random.getSalt()) : 0, {}};
}

/// The updates of a launch, or failure if it holds something else.
static FailureOr<SmallVector<UpdateOpInterface>>
updatesOf(plan::LaunchOp launch) {
  SmallVector<UpdateOpInterface> ops;
  for (Operation &op : launch.getBodyBlock().without_terminator()) {
    auto update = dyn_cast<UpdateOpInterface>(op);
    if (!update ||
        !llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>) ||
        (!ops.empty() && updateKey(&op) != updateKey(ops.front())))
      return failure();
    ops.push_back(update);
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
  FailureOr<SmallVector<UpdateOpInterface>> ops = updatesOf(launch);
  if (failed(ops))
    return launch.emitOpError(
        "is no group of equal updates of contiguous inputs");
  UpdateTable table;
  table.op = ops->front();
  int64_t block = table.op.getStateBlock(); // items are blocks, not elements
  table.tensors.chunk = block != 0 ? updateChunk / block : updateChunk;
  table.tensors.slice = block != 0 ? 1 : blockElements;
  table.addTensors(launch, *ops);
  table.findTypes();
  table.findInPlace(launch);
  return table;
}

/// Numbers the buffers of each update, and the results that are yielded.
void UpdateTable::addTensors(plan::LaunchOp launch,
                             ArrayRef<UpdateOpInterface> ops) {
  DenseMap<Value, int32_t> outputs;
  Operation *yield = launch.getBodyBlock().getTerminator();
  for (OpOperand &yielded : yield->getOpOperands())
    outputs[yielded.get()] =
        launch.getInputs().size() + yielded.getOperandNumber();
  results.resize(op->getNumResults());
  for (UpdateOpInterface update : ops) {
    SmallVector<int32_t> buffers;
    for (Value operand : update->getOperands())
      buffers.push_back(cast<BlockArgument>(operand).getArgNumber());
    for (OpResult result : update->getResults())
      if (auto found = outputs.find(result); found != outputs.end()) {
        results[result.getResultNumber()] = buffers.size();
        buffers.push_back(found->second);
      }
    auto type = cast<ShapedType>(update->getOperand(0).getType());
    largest = std::max(largest, type.getNumElements());
    tensors.tensors.push_back(describeTensor(update));
    tensors.tensors.back().buffers = std::move(buffers);
  }
}

void UpdateTable::findTypes() {
  llvm::append_range(types, op->getOperandTypes());
  for (OpResult result : op->getResults())
    if (argumentOf(result))
      types.push_back(result.getType());
  SmallVector<unsigned> elements = tensorOperands(op);
  for (auto [index, type] : llvm::enumerate(types)) {
    bool isScalar =
        index < op->getNumOperands() && !llvm::is_contained(elements, index);
    auto shaped = cast<ShapedType>(type);
    if (!isScalar)
      perElement.push_back(index);
    type = isScalar
               ? MemRefType::get(shaped.getShape(), shaped.getElementType())
               : tensorInTurn(shaped.getElementType(), largest);
  }
}

void UpdateTable::findInPlace(plan::LaunchOp launch) {
  auto address = [&](int32_t buffer) {
    return plan::arenaOffset(launch->getOperand(buffer));
  };
  auto reusable = cast<HoneOpInterface>(op.getOperation());
  for (AliasPair pair : reusable.getReusableOperands())
    if (std::optional<unsigned> result = results[pair.result])
      if (llvm::all_of(tensors.tensors, [&](const auto &tensor) {
            return address(tensor.buffers[pair.operand]) ==
                   address(tensor.buffers[*result]);
          }))
        inPlace.push_back(pair.result);
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

void UpdateEmitter::store(OpResult result, Value value, Value at, Value mask,
                          Value word) {
  std::optional<unsigned> argument = table.argumentOf(result);
  if (!argument)
    return;
  if (word && getElementTypeOrSelf(result.getType()).isBF16())
    value = roundStochastically(value, word, firstRandomBit(result));
  storeElements(value, *argument, at, mask);
}

/// Copies what an update that is not applied leaves as it is, but for results
/// that lie where their operands are; the working copy is made anew.
void UpdateEmitter::keepAll() {
  SmallVector<std::pair<unsigned, unsigned>> copies; // argument, argument
  auto reusable =
      cast<HoneOpInterface>(op.getOperation()).getReusableOperands();
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

void UpdateEmitter::emit(Body body) {
  RandomSource source;
  auto random = dyn_cast<RandomOpInterface>(op.getOperation());
  if (Value key = random ? random.getRandomKey() : Value()) {
    source.key = loadKey(argumentOf(key));
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
  emitIf(op.getApply(), updateAll, [&] { keepAll(); });
}

bool hone::emitUpdate(UpdateEmitter &b) {
  SmallVector<unsigned> operands = tensorOperands(b.op);
  return withUpdateFormula(b, b.op, [&](auto &formula) {
    b.emit([&](Value at, Value mask) {
      return formula.update([&](unsigned index) {
        return b.input(b.op->getOpOperand(operands[index]), at, mask);
      });
    });
  });
}
