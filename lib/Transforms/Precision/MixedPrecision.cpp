//===- MixedPrecision.cpp - Low-precision contractions, by policy ---------===//

#include "ElementTypes.h"
#include "QuantizedProducts.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_MIXEDPRECISION
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static Type withElement(Value value, Type element) {
  return cast<RankedTensorType>(value.getType()).clone(element);
}

namespace {
/// Rewrites one function, op by op in order: when an op is visited, the types
/// of its operands are final.
class Narrower {
public:
  Narrower(func::FuncOp func, FloatType low, bool lowStream)
      : func(func), low(low), lowStream(lowStream), builder(func.getContext()),
        firstOp(&func.front().front()), weighted(findWeighted(func)) {
    findNeutral();
  }

  void run();

private:
  bool isLow(Value value) const { return elementOf(value) == low; }
  bool isWide(Value value) const { return elementOf(value).isF32(); }
  void findNeutral();
  bool choosesLow(Operation *op, NumericClass numeric,
                  ArrayRef<OpOperand *> tied) const;
  bool joinsWideSum(Operation *op) const;
  bool isParameter(Value value) const;
  bool addsBias(Operation *op) const;
  bool isOfContraction(Value value) const;
  void visit(Operation *op);
  Value narrow(Value value);
  Value widen(Value value);
  Value castAfter(Value value, Type element);

  func::FuncOp func;
  FloatType low;
  bool lowStream;
  OpBuilder builder;
  /// The first op that was there.
  Operation *firstOp;
  /// Values that a parameter influences. All others, tables of positions and
  /// angles, stay as they are.
  DenseSet<Value> weighted;
  /// Constants, parameters and what is made of these alone: no activations.
  DenseSet<Value> neutral;
  DenseMap<Value, Value> narrowed, widened;
};
} // namespace

void Narrower::findNeutral() {
  for (BlockArgument arg : func.getArguments())
    if (argString(func, arg.getArgNumber(), attr::kind) == kind::param)
      neutral.insert(arg);
  for (Operation &op : func.front()) {
    auto facts = dyn_cast<HoneOpInterface>(op);
    if (!facts)
      continue;
    KernelFamily family = facts.getKernelFamily();
    bool keeps = (facts.getNumericClass() == NumericClass::copy ||
                  facts.getNumericClass() == NumericClass::pointwise) &&
                 family != KernelFamily::gather;
    bool isNeutral =
        isa<ConstantOp>(op) || (keeps && op.getNumOperands() != 0 &&
                                llvm::all_of(op.getOperands(), [&](Value v) {
                                  return neutral.contains(v);
                                }));
    if (isNeutral)
      neutral.insert(op.result_begin(), op.result_end());
  }
}

/// Whether parameters alone, one at least, make `value`.
bool Narrower::isParameter(Value value) const {
  return neutral.contains(value) && weighted.contains(value);
}

/// Whether movers and sums with biases lead from a contraction to `value`.
bool Narrower::isOfContraction(Value value) const {
  Operation *op = value.getDefiningOp();
  while (op && isMover(op))
    op = op->getOperand(0).getDefiningOp();
  auto facts = dyn_cast_or_null<HoneOpInterface>(op);
  return facts &&
         (facts.getNumericClass() == NumericClass::contraction || addsBias(op));
}

/// True for a vector, repeated along the other dimensions of what it is added
/// to.
static bool isVector(Value value) {
  while (true) {
    if (llvm::count_if(shapeOf(value), [](int64_t n) { return n != 1; }) <= 1)
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || !isMover(op))
      return false;
    value = op->getOperand(0);
  }
}

/// Whether the op adds a parameter to a contraction as a layer adds its bias,
/// a vector.
bool Narrower::addsBias(Operation *op) const {
  auto add = dyn_cast_or_null<AddOp>(op);
  if (!add)
    return false;
  Value lhs = add.getLhs(), rhs = add.getRhs();
  if (isParameter(lhs))
    std::swap(lhs, rhs);
  return isParameter(rhs) && isVector(rhs) && isOfContraction(lhs);
}

/// Whether the one reader of a contraction, behind moves, biases and sums with
/// constants, is a sum with an f32 value: then the contraction hands over its
/// accumulator, which a library adds to the other operand in one call, instead
/// of a value that is rounded and widened again.
bool Narrower::joinsWideSum(Operation *op) const {
  Value value = op->getResult(0);
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    if (isMover(use.getOwner())) {
      value = use.getOwner()->getResult(0);
      continue;
    }
    auto add = dyn_cast<AddOp>(use.getOwner());
    if (!add)
      return false;
    Value other = add->getOperand(1 - use.getOperandNumber());
    bool isConstant = neutral.contains(other) && !isParameter(other);
    if (isConstant || addsBias(add)) {
      value = add.getResult();
      continue;
    }
    // What comes later has no type yet.
    Operation *producer = other.getDefiningOp();
    return isWide(other) && (!producer || producer->isBeforeInBlock(op));
  }
  return false;
}

/// Whether the op reads (and, unless it is a contraction, writes) low values.
bool Narrower::choosesLow(Operation *op, NumericClass numeric,
                          ArrayRef<OpOperand *> tied) const {
  if (numeric == NumericClass::contraction)
    return true;
  if (numeric == NumericClass::accurate)
    return false;
  bool readsLow = false, readsWide = false;
  for (OpOperand *operand : tied)
    if (isParameter(operand->get()))
      readsWide |= !addsBias(op);
    else if (!neutral.contains(operand->get()))
      (isLow(operand->get()) ? readsLow : readsWide) = true;
  return readsLow && (lowStream || !readsWide);
}

Value Narrower::castAfter(Value value, Type element) {
  // Casts of arguments stand in the order of their first readers.
  if (isa<BlockArgument>(value))
    builder.setInsertionPoint(firstOp);
  else
    builder.setInsertionPointAfterValue(value);
  return builder.create<CastOp>(value.getLoc(), withElement(value, element),
                                value);
}

/// `value` rounded to the low type: one cast per value, made where the value is
/// made, and above the moves that lead to it, so that all of them share it.
Value Narrower::narrow(Value value) {
  if (isLow(value))
    return value;
  if (Value known = narrowed.lookup(value))
    return known;
  Operation *producer = value.getDefiningOp();
  Value result;
  if (auto widening = dyn_cast_or_null<CastOp>(producer);
      widening && isLow(widening.getOperand())) {
    result = widening.getOperand();
  } else if (producer && isMover(producer) &&
             (!isa<SliceOp>(producer) || neutral.contains(value))) {
    Value operand = narrow(producer->getOperand(0));
    builder.setInsertionPointAfter(producer);
    Operation *copy = builder.clone(*producer);
    copy->setOperand(0, operand);
    copy->getResult(0).setType(withElement(value, low));
    result = copy->getResult(0);
  } else {
    result = castAfter(value, low);
  }
  if (isParameter(value)) {
    neutral.insert(result);
    weighted.insert(result);
  }
  return narrowed[value] = result;
}

Value Narrower::widen(Value value) {
  if (!isLow(value))
    return value;
  Value &known = widened[value];
  if (!known)
    known = castAfter(value, builder.getF32Type());
  return known;
}

void Narrower::visit(Operation *op) {
  auto facts = dyn_cast<HoneOpInterface>(op);
  bool hasWeight = llvm::any_of(op->getOperands(),
                                [&](Value v) { return weighted.contains(v); });
  if (!facts || !hasWeight)
    return;
  // What is made of parameters alone stays f32; narrow() copies it on demand.
  bool isNeutral =
      op->getNumResults() == 1 && neutral.contains(op->getResult(0));
  SmallVector<OpOperand *> tied = findTiedOperands(op);
  bool isOurs = llvm::all_of(tied, [&](OpOperand *operand) {
    return isLow(operand->get()) || isWide(operand->get());
  });
  if (tied.empty() || isNeutral || !isOurs)
    return;
  NumericClass numeric = facts.getNumericClass();
  bool toLow = choosesLow(op, numeric, tied);
  for (OpOperand *operand : tied)
    operand->set(toLow ? narrow(operand->get()) : widen(operand->get()));
  if (!toLow)
    return;
  bool isContraction = numeric == NumericClass::contraction;
  if (isContraction && !lowStream &&
      facts.getKernelFamily() == KernelFamily::contraction && joinsWideSum(op))
    return;
  // Second results of a contraction are statistics.
  for (Value result : op->getResults().take_front(isContraction ? 1 : ~0u))
    if (isWide(result))
      result.setType(withElement(result, low));
}

void Narrower::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : func.front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    visit(op);
  for (OpOperand &operand : func.front().getTerminator()->getOpOperands())
    operand.set(widen(operand.get()));
}

namespace {
struct MixedPrecision : hone::impl::MixedPrecisionBase<MixedPrecision> {
  using MixedPrecisionBase::MixedPrecisionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<FloatType> low = lowTypeOf(policy, &getContext());
    if (failed(low)) {
      module.emitError("policy is '")
          << policy << "', expected " << listPrecisionPolicies();
      return signalPassFailure();
    }
    if (stream != "f32" && stream != "low") {
      module.emitError("stream is '") << stream << "', expected f32 or low";
      return signalPassFailure();
    }
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    if (!forward || !forward.getBody().hasOneBlock()) {
      module.emitError("has no function @forward of one block");
      return signalPassFailure();
    }
    module->setAttr(attr::precision, StringAttr::get(&getContext(), policy));
    if (*low)
      Narrower(forward, *low, stream == "low").run();
    if (failed(markCodes(forward)))
      signalPassFailure();
  }

  LogicalResult markCodes(func::FuncOp forward) {
    ModuleOp module = getOperation();
    std::optional<Fp8Scaling> codes = findPrecisionPolicy(policy)->codes;
    if (!codes && !keep.empty())
      return module.emitError("policy is '")
             << policy << "', under which fp8-keep '" << keep
             << "' means nothing; expected fp8, fp8-block or mxfp8";
    if (!codes)
      return success();
    if (failed(checkFp8Target(module, *codes)))
      return failure();
    if (failed(markProducts(forward, *codes, {keep, small, report})))
      return failure();
    if (llvm::none_of(forward.front().getOps<DotGeneralOp>(),
                      [](DotGeneralOp dot) { return dot.getQuantized(); }))
      module.emitWarning("policy is '")
          << policy
          << "', but no product multiplies codes: all are as under bf16; "
             "option report says why";
    return success();
  }
};
} // namespace
