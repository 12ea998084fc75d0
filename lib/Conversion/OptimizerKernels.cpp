//===- OptimizerKernels.cpp - Kernels of updates --------------------------===//

#include "hone/Conversion/OptimizerKernels.h"

#include "hone/Analysis/UpdateGroups.h"
#include "hone/Conversion/Philox.h"

#include "KernelBuilder.h"
#include "PointOps.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

/// Operands of an update that have an element per element of the parameter.
static SmallVector<unsigned> tensorOperands(Operation *op) {
  if (isa<AdamwOp>(op))
    return {0, 1, 2, 3};
  auto sgd = cast<SgdOp>(op);
  if (!sgd.getBuffer())
    return {0, 1};
  return {0, 1, sgd.getBufferMutable().begin()->getOperandNumber()};
}

static int64_t saltOf(Operation *op) {
  if (auto adamw = dyn_cast<AdamwOp>(op))
    return adamw.getSalt();
  return cast<SgdOp>(op).getSalt();
}

namespace {
/// How the updates of a launch use its buffers.
struct UpdateTable {
  /// Reads the launch; reports what is no group of equal updates.
  static FailureOr<UpdateTable> of(plan::LaunchOp launch);

  /// The argument of the kernel for an operand or result of the op; results
  /// that nobody wants have none.
  unsigned argumentOf(unsigned operand) const { return operand; }
  std::optional<unsigned> argumentOf(OpResult result) const {
    return results[result.getResultNumber()];
  }

  Operation *op; ///< the first, which stands for all
  TensorTable tensors;
  SmallVector<Type> types; ///< of the kernel's arguments
  SmallVector<std::optional<unsigned>> results;
  /// Numbers of the results that lie, in every update, where their operand
  /// does.
  SmallVector<unsigned> inPlace;
};
} // namespace

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
  table.tensors.chunk = updateChunk;
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
    table.tensors.tensors.push_back({size, saltOf(op), buffers});
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

namespace {
/// Builds the kernel of a table of updates.
struct UpdateEmitter : KernelBuilder {
  UpdateEmitter(OpBuilder &builder, StringRef name, plan::LaunchOp launch,
                const UpdateTable &table)
      : KernelBuilder(builder, launch.getLoc(), name, argumentTypes(table)),
        table(table), op(table.op),
        compute(pointops::computeType(
            getElementTypeOrSelf(op->getOperand(0).getType()))),
        vectorType(VectorType::get({kernelLanes}, compute)) {}

  static SmallVector<Type> argumentTypes(const UpdateTable &table) {
    SmallVector<Type> types(table.types);
    types.push_back(IndexType::get(table.op->getContext())); // the tag
    return types;
  }
  /// The buffer of an operand of the op.
  Value memory(OpOperand &operand) {
    return buffer(table.argumentOf(operand.getOperandNumber()));
  }
  Value input(OpOperand &operand, Value at, Value mask) {
    return loadVector(memory(operand), at, compute, mask);
  }

  Value add(Value x, Value y) { return create<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return create<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return create<arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return create<arith::DivFOp>(x, y); }
  Value neg(Value x) { return create<arith::NegFOp>(x); }
  Value fma(Value x, Value y, Value z) { return create<math::FmaOp>(x, y, z); }
  Value f64(double value) { return constant(getF64Type(), value); }

  /// A scalar operand in f64; an integer as it is.
  Value scalar(OpOperand &operand) {
    Value value = create<memref::LoadOp>(memory(operand), ValueRange());
    return isa<FloatType>(value.getType()) ? convertFloat(value, getF64Type())
                                           : value;
  }
  /// A scalar in f64, rounded to the compute type, in all lanes.
  Value splat(Value value) {
    return create<vector::BroadcastOp>(vectorType,
                                       convertFloat(value, compute));
  }
  Value splat(double value) { return constant(vectorType, value); }
  Value power(double base, Value exponent);

  /// The new values of `results` at the 16 elements from `at` on, before they
  /// are rounded; a shadow has none.
  using Body = function_ref<SmallVector<Value>(Value at, Value mask)>;
  void emit(Body body, Value applyOperand, Value keyOperand);

private:
  void forBlocks(function_ref<void(Value, ArrayRef<Value>)> body);
  void store(OpResult result, Value value, Value at, Value mask, Value word);
  void keepAll();
  Value roundStochastically(Value value, Value word, int64_t shift);

  const UpdateTable &table;
  Operation *op;
  Type compute;
  VectorType vectorType;
};
} // namespace

/// base^exponent in f64 by repeated squaring, for an exponent of at least 0.
Value UpdateEmitter::power(double base, Value exponent) {
  Type i64 = getI64Type();
  return loop(index(0), index(63), 1, {f64(1.0), f64(base)},
              [&](Value bit, ValueRange carried) -> SmallVector<Value> {
                Value shift = create<arith::IndexCastOp>(i64, bit);
                Value set = create<arith::TruncIOp>(
                    getI1Type(), create<arith::ShRUIOp>(exponent, shift));
                Value product = mul(carried[0], carried[1]);
                return {create<arith::SelectOp>(set, product, carried[0]),
                        mul(carried[1], carried[1])};
              })[0];
}

/// Calls `body(first, masks)` for blocks of four vectors from element lo to hi;
/// masks are null but for the last, partial block.
void UpdateEmitter::forBlocks(function_ref<void(Value, ArrayRef<Value>)> body) {
  Value count = create<arith::SubIOp>(hi(), lo());
  Value rest = create<arith::RemUIOp>(count, index(blockElements));
  Value end = create<arith::SubIOp>(hi(), rest);
  loop(lo(), end, blockElements,
       [&](Value at) { body(at, SmallVector<Value>(unroll)); });
  loop(end, hi(), blockElements, [&](Value at) {
    SmallVector<Value> masks;
    for (int64_t part = 0; part < unroll; ++part) // a negative number masks all
      masks.push_back(maskOfFirst(
          Value(create<arith::SubIOp>(rest, index(part * kernelLanes)))));
    body(at, masks);
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

/// Words of a result are 16 bits of its element's, by the number of the result
/// among those of parameter and state.
static int64_t shiftOf(OpResult result) {
  constexpr int64_t adamw[] = {16, 8, 0}, sgd[] = {16, 0};
  unsigned number = result.getResultNumber();
  return isa<AdamwOp>(result.getOwner()) ? adamw[number] : sgd[number];
}

void UpdateEmitter::store(OpResult result, Value value, Value at, Value mask,
                          Value word) {
  std::optional<unsigned> argument = table.argumentOf(result);
  if (!argument)
    return;
  if (word && getElementTypeOrSelf(result.getType()).isBF16())
    value = roundStochastically(value, word, shiftOf(result));
  storeVector(value, buffer(*argument), at, mask);
}

/// Copies what an update that is not applied leaves as it is, but for results
/// that lie where their operands are; the shadow is made anew.
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
  forBlocks([&](Value first, ArrayRef<Value> masks) {
    for (auto [part, mask] : llvm::enumerate(masks))
      for (auto [from, to] : copies) {
        Value at = create<arith::AddIOp>(first, index(part * kernelLanes));
        // Between buffers of one type, the very bits.
        Type element = getElementTypeOrSelf(buffer(from).getType());
        storeVector(loadVector(buffer(from), at, element, mask), buffer(to), at,
                    mask);
      }
  });
}

void UpdateEmitter::emit(Body body, Value applyOperand, Value keyOperand) {
  auto operandBuffer = [&](Value operand) {
    return buffer(llvm::find(op->getOperands(), operand) -
                  op->getOperands().begin());
  };
  Value key, salt;
  if (keyOperand) {
    key = emitPhiloxKey(*this, getLoc(), operandBuffer(keyOperand));
    Value tag = buffer(table.types.size());
    salt = create<arith::IndexCastOp>(getI64Type(), tag);
  }
  auto updateAll = [&] {
    forBlocks([&](Value first, ArrayRef<Value> masks) {
      std::array<Value, unroll> words = {};
      if (key)
        words = emitPhiloxRun(*this, getLoc(),
                              create<arith::IndexCastOp>(getI64Type(), first),
                              salt, key);
      for (auto [part, mask] : llvm::enumerate(masks)) {
        Value at = create<arith::AddIOp>(first, index(part * kernelLanes));
        SmallVector<Value> values = body(at, mask);
        if (values.size() < op->getNumResults()) { // the shadow
          Type param = getElementTypeOrSelf(op->getResult(0).getType());
          values.push_back(convertFloat(values.front(), param));
        }
        for (auto [result, value] : llvm::zip(op->getResults(), values))
          store(result, value, at, mask, words[part]);
      }
    });
  };
  if (!applyOperand)
    return updateAll();
  Value flag = create<memref::LoadOp>(operandBuffer(applyOperand));
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
  create<scf::IfOp>(isApplied, inRegion(updateAll),
                    inRegion([&] { keepAll(); }));
}

//===----------------------------------------------------------------------===//
// AdamW and SGD
//===----------------------------------------------------------------------===//

static void emitAdamw(UpdateEmitter &b, AdamwOp op) {
  double beta1 = op.getBeta1().convertToDouble();
  double beta2 = op.getBeta2().convertToDouble();

  // a = lr lr_scale; corrections 1 - beta^t.
  Value one = b.f64(1.0), step = b.scalar(op.getStepMutable());
  Value rate = b.mul(b.scalar(op.getLrMutable()),
                     b.f64(op.getLrScale().convertToDouble()));
  Value decayRate = b.mul(b.scalar(op.getWeightDecayMutable()),
                          b.f64(op.getDecayScale().convertToDouble()));
  Value keep = b.splat(b.sub(one, b.mul(rate, decayRate)));
  Value correction1 = b.sub(one, b.power(beta1, step));
  Value correction2 = b.sub(one, b.power(beta2, step));
  Value stepSize = b.splat(b.neg(b.div(rate, correction1)));
  // sqrt(v) times this is sqrt(v) / sqrt(1 - beta2^t), to half an ulp more.
  Value rootScale = b.splat(b.div(one, b.create<math::SqrtOp>(correction2)));
  Value gradScale = b.scalar(op.getGradScaleMutable());
  gradScale = b.splat(op.getMaximize() ? b.neg(gradScale) : gradScale);
  Value rest1 = b.splat(1.0 - beta1), rest2 = b.splat(1.0 - beta2);
  Value decay2 = b.splat(beta2), eps = b.splat(op.getEps().convertToDouble());

  auto body = [&](Value at, Value mask) -> SmallVector<Value> {
    Value p = b.input(op.getParamMutable(), at, mask);
    Value g = b.mul(b.input(op.getGradMutable(), at, mask), gradScale);
    Value m = b.input(op.getExpAvgMutable(), at, mask);
    Value v = b.input(op.getExpAvgSqMutable(), at, mask);
    // PyTorch's lerp: m + (1 - beta1) (g - m).
    m = b.fma(rest1, b.sub(g, m), m);
    v = b.fma(b.mul(rest2, g), g, b.mul(decay2, v));
    Value root = b.create<math::SqrtOp>(v);
    Value quotient = b.div(m, b.fma(root, rootScale, eps));
    p = b.fma(stepSize, quotient, b.mul(p, keep));
    return {p, m, v};
  };
  b.emit(body, op.getApply(), op.getRng());
}

static void emitSgd(UpdateEmitter &b, SgdOp op) {
  Value rate = b.neg(b.mul(b.scalar(op.getLrMutable()),
                           b.f64(op.getLrScale().convertToDouble())));
  Value decay = b.mul(b.scalar(op.getWeightDecayMutable()),
                      b.f64(op.getDecayScale().convertToDouble()));
  Value gradScale = b.scalar(op.getGradScaleMutable());
  gradScale = b.splat(op.getMaximize() ? b.neg(gradScale) : gradScale);
  Value rates = b.splat(rate), decays = b.splat(decay);
  Value momentum = b.splat(op.getMomentum().convertToDouble());

  auto body = [&](Value at, Value mask) -> SmallVector<Value> {
    Value p = b.input(op.getParamMutable(), at, mask);
    Value g = b.mul(b.input(op.getGradMutable(), at, mask), gradScale);
    g = b.fma(decays, p, g);
    if (!op.getBuffer())
      return {b.fma(rates, g, p)};
    Value old = b.input(*op.getBufferMutable().begin(), at, mask);
    Value velocity = b.fma(momentum, old, g);
    g = op.getNesterov() ? b.fma(momentum, velocity, g) : velocity;
    return {b.fma(rates, g, p), velocity};
  };
  b.emit(body, op.getApply(), op.getRng());
}

FailureOr<Kernel> hone::emitUpdates(OpBuilder &builder, StringRef name,
                                    plan::LaunchOp launch) {
  FailureOr<UpdateTable> table = UpdateTable::of(launch);
  if (failed(table))
    return failure();
  UpdateEmitter b(builder, name, launch, *table);
  if (auto adamw = dyn_cast<AdamwOp>(table->op))
    emitAdamw(b, adamw);
  else
    emitSgd(b, cast<SgdOp>(table->op));
  return Kernel{b.func, table->tensors.items(), 1, table->tensors};
}
