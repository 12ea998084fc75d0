//===- BuildStep.cpp - From @gradient to the training step ----------------===//

#include "BufferUpdates.h"
#include "GradientSums.h"
#include "LossScaling.h"
#include "ParameterUpdates.h"
#include "StepFunction.h"
#include "Transforms/Autodiff/GradientContract.h"
#include "hone/IR/Documents.h"
#include "hone/IR/DroppedRows.h"
#include "hone/IR/IndexedOps.h"
#include "hone/IR/SelectionBias.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace hone {
#define GEN_PASS_DEF_BUILDSTEP
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
/// What is made besides the updates of the optimizer.
struct StepSettings {
  bool keepGradients;
  double lossScale;
  int64_t growthInterval;
  SmallVector<SelectionBias> biases;
  /// Squares of gradients are added by gradient, and gradients by reader of a
  /// parameter, so that stages of a pipeline can add theirs in the same order.
  bool isMeshInvariant;
};

/// State of loss scaling, where gradients are scaled.
struct Scaling {
  BlockArgument scale, goodSteps, updates;
};
} // namespace

static Value constant(ImplicitLocOpBuilder &b, RankedTensorType type,
                      double number) {
  Attribute value = b.getFloatAttr(type.getElementType(), number);
  return b.create<ConstantOp>(DenseElementsAttr::get(type, value));
}

static bool isKind(func::FuncOp func, unsigned index, StringRef kind) {
  return argString(func, index, attr::kind) == kind;
}

/// Whether @gradient multiplies the cotangent of the loss by an argument.
static bool takesScale(func::FuncOp gradient) {
  unsigned last = gradient.getNumArguments() - 1;
  return gradient.getNumArguments() != 0 &&
         argString(gradient, last, attr::fqn) == lossscaling::cotangent;
}

/// Appends argument `index` of `from`, as it is.
static BlockArgument copyArgument(func::FuncOp from, unsigned index,
                                  StepFunction &to) {
  return to.addArgument(from.getArgumentTypes()[index],
                        from.getArgAttrDict(index),
                        from.getArgument(index).getLoc());
}

/// Appends the arguments of `from` that have `kind`, as they are.
static SmallVector<BlockArgument>
copyArguments(func::FuncOp from, StringRef kind, StepFunction &to) {
  SmallVector<BlockArgument> copies;
  for (BlockArgument arg : from.getArguments())
    if (isKind(from, arg.getArgNumber(), kind))
      copies.push_back(copyArgument(from, arg.getArgNumber(), to));
  return copies;
}

/// The parameters of `gradient` that are trained, as arguments of the step.
static SmallVector<Trained> findTrained(func::FuncOp gradient,
                                        ArrayRef<BlockArgument> params) {
  SmallVector<Trained> trained;
  unsigned position = 0;
  for (unsigned index = 0; index != gradient.getNumArguments(); ++index) {
    if (!isKind(gradient, index, kind::param))
      continue;
    BlockArgument param = params[position++];
    if (!gradient.getArgAttr(index, attr::requiresGrad))
      continue;
    auto group =
        gradient.getArgAttrOfType<IntegerAttr>(index, attr::paramGroup);
    trained.push_back(
        {param,
         {},
         {},
         group ? group.getInt() : 0,
         argString(gradient, index, attr::fqn),
         gradient.getArgAttrOfType<ArrayAttr>(index, attr::parts)});
  }
  return trained;
}

static void addState(const OptimizerSettings &settings, StepFunction &step,
                     MutableArrayRef<Trained> trained) {
  Builder &b = step.builder;
  auto zero =
      b.getDictionaryAttr({b.getNamedAttr("dist", b.getStringAttr("constant")),
                           b.getNamedAttr("value", b.getF64FloatAttr(0.0))});
  for (Trained &t : trained)
    for (const StateTensor &tensor :
         stateOf(settings.ruleOf(t.group), t.name,
                 cast<RankedTensorType>(t.param.getType()), t.parts)) {
      NamedAttrList attrs(step.describe(kind::opt, tensor.name));
      attrs.append(attr::init, zero);
      if (tensor.parts)
        attrs.append(attr::parts, tensor.parts);
      t.state.push_back(step.addArgument(
          tensor.type, attrs.getDictionary(b.getContext()), t.param.getLoc()));
    }
}

/// The generator's key, where updates round at random: that of the model, in
/// `keys`, or an argument of its own.
static Value addKey(const OptimizerSettings &settings, StepFunction &step,
                    ArrayRef<Trained> trained, ArrayRef<BlockArgument> keys) {
  auto rounds = [&](const Trained &t) {
    return settings.ruleOf(t.group).moments == Moments::BF16;
  };
  if (llvm::none_of(trained, rounds))
    return {};
  if (!keys.empty())
    return keys.front();
  auto type = RankedTensorType::get({3}, step.builder.getI64Type());
  return step.addArgument(type, kind::rng, "rng");
}

/// Appends state of rank 0 that begins as `value`.
static BlockArgument addCounter(StepFunction &step, StringRef name,
                                Type element, double value) {
  Builder &b = step.builder;
  NamedAttrList attrs(step.describe(kind::opt, name));
  attrs.append(
      attr::init,
      b.getDictionaryAttr({b.getNamedAttr("dist", b.getStringAttr("constant")),
                           b.getNamedAttr("value", b.getF64FloatAttr(value))}));
  return step.addArgument(RankedTensorType::get({}, element),
                          attrs.getDictionary(b.getContext()),
                          step.builder.getLoc());
}

static BlockArgument addLossScale(StepFunction &step,
                                  const StepSettings &settings) {
  return addCounter(step, lossscaling::scale, step.builder.getF32Type(),
                    settings.lossScale);
}

static std::optional<Scaling> addScaling(StepFunction &step,
                                         func::FuncOp gradient,
                                         const StepSettings &settings) {
  if (!takesScale(gradient))
    return std::nullopt;
  Type count = step.builder.getI64Type();
  return Scaling{addLossScale(step, settings),
                 addCounter(step, lossscaling::goodSteps, count, 0),
                 addCounter(step, lossscaling::updates, count, 0)};
}

static Scalars addScalars(StepFunction &step) {
  Builder &b = step.builder;
  auto number = RankedTensorType::get({}, b.getF32Type());
  auto count = RankedTensorType::get({}, b.getI64Type());
  Scalars scalars;
  scalars.lr = step.addArgument(number, kind::scalar, "lr");
  scalars.weightDecay = step.addArgument(number, kind::scalar, "weight_decay");
  scalars.clip = step.addArgument(number, kind::scalar, "clip");
  scalars.step = step.addArgument(count, kind::scalar, "step");
  return scalars;
}

/// Copies the body of @gradient, whose arguments are `args` by kind, and
/// returns its results.
static SmallVector<Value>
inlineGradient(func::FuncOp gradient, StepFunction &step,
               llvm::StringMap<SmallVector<BlockArgument>> &args) {
  IRMapping mapping;
  llvm::StringMap<unsigned> next;
  for (BlockArgument arg : gradient.getArguments()) {
    StringRef kind = argString(gradient, arg.getArgNumber(), attr::kind);
    mapping.map(arg, args[kind][next[kind]++]);
  }
  for (Operation &op : gradient.front().without_terminator())
    step.builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value result : gradient.front().getTerminator()->getOperands())
    results.push_back(mapping.lookup(result));
  return results;
}

/// min(1, clip / (norm + 1e-6)), and 1 without a bound: inf / inf is no number.
static Value clipFactor(ImplicitLocOpBuilder &b, Value clip, Value norm) {
  auto type = cast<RankedTensorType>(clip.getType());
  Value one = constant(b, type, 1.0);
  Value shifted = b.create<AddOp>(norm, constant(b, type, 1e-6));
  Value factor = b.create<MinOp>(b.create<DivOp>(clip, shifted), one);
  Value unbounded = b.create<CmpOp>(
      type.clone(b.getI1Type()), CmpPredicate::eq, clip,
      constant(b, type, std::numeric_limits<double>::infinity()));
  return b.create<SelectOp>(type, unbounded, one, factor);
}

/// Whether all gradients are finite numbers: their norm is one exactly then,
/// but for squares that overflow, which are no gradients to train with either.
static Value isFinite(ImplicitLocOpBuilder &b, Value norm) {
  auto type = cast<RankedTensorType>(norm.getType());
  return b.create<CmpOp>(
      type.clone(b.getI1Type()), CmpPredicate::lt, norm,
      constant(b, type, std::numeric_limits<double>::infinity()));
}

/// The norm of all gradients.
static Value normOf(ImplicitLocOpBuilder &b, Type type,
                    ArrayRef<Value> gradients, bool addsInOrder) {
  if (!addsInOrder)
    return b.create<GlobalNormOp>(type, gradients);
  Value sum;
  for (Value gradient : gradients) {
    Value norm = b.create<GlobalNormOp>(type, gradient);
    Value square = b.create<MulOp>(norm, norm);
    sum = sum ? b.create<AddOp>(sum, square).getResult() : square;
  }
  return b.create<SqrtOp>(sum);
}

/// Norm, clipping and the updates, which become the first results: parameters,
/// then their state. Returns the norm.
static Value updateAll(StepFunction &step, const OptimizerSettings &settings,
                       ArrayRef<Trained> trained, const Scalars &scalars,
                       Value key, const std::optional<Scaling> &scaling,
                       const StepSettings &more) {
  ImplicitLocOpBuilder &b = step.builder;
  SmallVector<Value> gradients;
  for (const Trained &t : trained)
    gradients.push_back(t.gradient);
  Value norm =
      normOf(b, scalars.clip.getType(), gradients, more.isMeshInvariant);
  Value apply = isFinite(b, norm), count = scalars.step;
  // Gradients stay scaled: norm and factor are two numbers, they are millions.
  if (scaling)
    norm = b.create<DivOp>(norm, scaling->scale);
  Value factor = clipFactor(b, scalars.clip, norm);
  LossScale next;
  if (scaling) {
    factor = b.create<DivOp>(factor, scaling->scale);
    next = advance(b, {scaling->scale, scaling->goodSteps, scaling->updates},
                   apply, more.growthInterval);
    count = next.updates;
  }
  SmallVector<Operation *> updates = updateParameters(
      b, settings, {scalars, key, count, factor, apply}, trained);
  for (auto [t, update] : llvm::zip(trained, updates))
    step.addUpdate(update->getResult(0), t.param);
  for (auto [t, update] : llvm::zip(trained, updates))
    for (auto [index, state] : llvm::enumerate(t.state))
      step.addUpdate(update->getResult(index + 1), state);
  if (scaling) {
    step.addUpdate(next.scale, scaling->scale);
    step.addUpdate(next.goodSteps, scaling->goodSteps);
    step.addUpdate(next.updates, scaling->updates);
  }
  return norm;
}

static func::FuncOp buildStep(func::FuncOp gradient,
                              const OptimizerSettings &settings,
                              const StepSettings &more) {
  StepFunction step(gradient.getContext(), gradient.getLoc(), "step");
  llvm::StringMap<SmallVector<BlockArgument>> args;
  args[kind::param] = copyArguments(gradient, kind::param, step);
  SmallVector<Trained> trained = findTrained(gradient, args[kind::param]);
  addState(settings, step, trained);
  std::optional<Scaling> scaling = addScaling(step, gradient, more);
  if (scaling)
    args[kind::scalar] = {scaling->scale};
  for (StringRef kind : {kind::buffer, kind::input, kind::rng})
    args[kind] = copyArguments(gradient, kind, step);
  Value key = addKey(settings, step, trained, args[kind::rng]);
  Scalars scalars = addScalars(step);

  SmallVector<Value> results = inlineGradient(gradient, step, args);
  for (auto [t, value] : llvm::zip(trained, llvm::drop_begin(results)))
    t.gradient = value;
  Value norm = updateAll(step, settings, trained, scalars, key, scaling, more);
  updateBuffers(gradient, results, args[kind::buffer], more.biases, step);
  step.addResult(results.front(), step.describe(kind::loss));
  step.addResult(norm, step.describe(kind::gradNorm));
  for (const Trained &t : trained) {
    if (!more.keepGradients)
      break;
    Value kept = t.gradient;
    if (scaling) {
      Value scale = step.builder.create<BroadcastOp>(
          kept.getType(), scaling->scale, ArrayRef<int64_t>());
      kept = step.builder.create<DivOp>(kept, scale);
    }
    step.addResult(kept, describeGradient(step, t, t.name));
  }
  for (StringRef kind : {kind::idCheck, kind::dropped})
    for (unsigned index : findResults(gradient, kind))
      step.addResult(results[index], gradient.getResultAttrDict(index));
  return step.finish();
}

/// A scalar of what earlier micro-batches left of a result with these `attrs`.
static BlockArgument addRunning(StepFunction &step, Type type,
                                DictionaryAttr attrs) {
  ImplicitLocOpBuilder &b = step.builder;
  NamedAttrList described(attrs);
  described.set(attr::kind, b.getStringAttr(kind::scalar));
  return step.addArgument(type, described.getDictionary(b.getContext()),
                          b.getLoc());
}

/// Adds a check of ids to what earlier micro-batches left: the first id outside
/// its table stays until the step is done.
static void addIdCheck(StepFunction &step, Value found, DictionaryAttr attrs) {
  ImplicitLocOpBuilder &b = step.builder;
  auto type = cast<RankedTensorType>(found.getType());
  BlockArgument before = addRunning(step, type, attrs);
  Value none = b.create<ConstantOp>(
      DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), 0)));
  Value isFirst = b.create<CmpOp>(type.clone(b.getI1Type()), CmpPredicate::eq,
                                  before, none);
  step.addUpdate(b.create<SelectOp>(type, isFirst, found, before), before);
}

/// Adds gradients and loss, each over `count`, to what earlier micro-batches
/// left. @gradient has seeded its gradients with `hone.seed`.
static func::FuncOp buildAccumulate(func::FuncOp gradient, int64_t count,
                                    const StepSettings &more) {
  StepFunction step(gradient.getContext(), gradient.getLoc(), "accumulate");
  ImplicitLocOpBuilder &b = step.builder;
  llvm::StringMap<SmallVector<BlockArgument>> args;
  for (StringRef kind : {kind::param, kind::buffer, kind::input, kind::rng})
    args[kind] = copyArguments(gradient, kind, step);
  // The scale stays as it is until the update: the sums have one scale.
  if (takesScale(gradient))
    args[kind::scalar] = {addLossScale(step, more)};
  SmallVector<SmallVector<BlockArgument, 2>> sums;
  for (auto [t, value] : llvm::zip(findTrained(gradient, args[kind::param]),
                                   gradientsOf(gradient)))
    sums.push_back(addGradients(step, t, value, more.isMeshInvariant));
  BlockArgument lossSum =
      step.addArgument(gradient.getResultTypes()[0], kind::scalar, "loss");

  SmallVector<Value> results = inlineGradient(gradient, step, args);
  auto seed = gradient->getAttrOfType<FloatAttr>(attr::seed);
  double expected = 1.0 / double(count);
  double scale = expected / (seed ? seed.getValueAsDouble() : 1.0);
  for (auto [own, value] : llvm::zip(sums, llvm::drop_begin(results)))
    for (auto [sum, term] :
         llvm::zip_equal(own, termsOf(value, more.isMeshInvariant))) {
      Value share = term;
      if (scale != 1.0)
        share = b.create<MulOp>(
            share, constant(b, cast<RankedTensorType>(sum.getType()), scale));
      step.addUpdate(b.create<AddOp>(sum, share), sum);
    }
  auto lossType = cast<RankedTensorType>(lossSum.getType());
  Value share =
      b.create<DivOp>(results.front(), constant(b, lossType, double(count)));
  step.addUpdate(b.create<AddOp>(lossSum, share), lossSum);
  updateBuffers(gradient, results, args[kind::buffer], {}, step);
  for (unsigned index : findResults(gradient, kind::idCheck))
    addIdCheck(step, results[index], gradient.getResultAttrDict(index));
  for (unsigned index : findResults(gradient, kind::dropped)) {
    BlockArgument before = addRunning(step, results[index].getType(),
                                      gradient.getResultAttrDict(index));
    step.addUpdate(b.create<AddOp>(results[index], before), before);
  }
  return step.finish();
}

static func::FuncOp buildUpdate(func::FuncOp gradient,
                                const OptimizerSettings &settings,
                                const StepSettings &more) {
  StepFunction step(gradient.getContext(), gradient.getLoc(), "update");
  SmallVector<Trained> trained =
      findTrained(gradient, copyArguments(gradient, kind::param, step));
  addState(settings, step, trained);
  std::optional<Scaling> scaling = addScaling(step, gradient, more);
  SmallVector<std::pair<BlockArgument, BlockArgument>> buffers;
  for (const SelectionBias &bias : more.biases) {
    BlockArgument held = copyArgument(gradient, bias.bias, step);
    buffers.emplace_back(held, copyArgument(gradient, bias.counts, step));
  }
  for (auto [t, value] : llvm::zip(trained, gradientsOf(gradient))) {
    SmallVector<BlockArgument, 2> sums =
        addGradients(step, t, value, more.isMeshInvariant);
    t.gradient = sums.front();
    for (BlockArgument sum : llvm::drop_begin(sums))
      t.gradient = step.builder.create<AddOp>(t.gradient, sum);
  }
  Value key = addKey(settings, step, trained, {});
  Scalars scalars = addScalars(step);
  Value norm = updateAll(step, settings, trained, scalars, key, scaling, more);
  for (auto [bias, pair] : llvm::zip(more.biases, buffers))
    updateBias(step, pair.first, pair.second, pair.second, bias.rate);
  step.addResult(norm, step.describe(kind::gradNorm));
  return step.finish();
}

namespace {
struct BuildStep : hone::impl::BuildStepBase<BuildStep> {
  using BuildStepBase::BuildStepBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    auto gradient = module.lookupSymbol<func::FuncOp>("gradient");
    if (!gradient)
      return module.emitError("has no function @gradient: run hone-autodiff "
                              "before hone-build-step");
    if (microBatches < 1)
      return module.emitError("micro-batches is ")
             << int64_t(microBatches) << ", expected at least 1";
    OptimizerOptions options{
        optimizer,
        moments,
        nesterov,
#define HONE_OPTIMIZER_NUMBER(field, key, range) field,
#include "hone/Transforms/Step/Optimizers.def"
    };
    FailureOr<OptimizerSettings> settings =
        OptimizerSettings::read(module, options);
    if (failed(settings) || failed(verifyArguments(gradient, *settings)))
      return failure();

    FailureOr<SmallVector<SelectionBias>> biases =
        findSelectionBiases(gradient);
    if (failed(biases))
      return failure();
    StepSettings more = {keepGradients, lossScale, growthInterval, *biases,
                         isMeshInvariant(module)};
    // Stages of a pipeline meet between the two, also with one micro-batch.
    if (microBatches == 1 && !module->hasAttr(dist::stagesAttr)) {
      module.push_back(buildStep(gradient, *settings, more));
    } else {
      module.push_back(buildAccumulate(gradient, microBatches, more));
      module.push_back(buildUpdate(gradient, *settings, more));
    }
    gradient.erase();
    if (auto forward = module.lookupSymbol<func::FuncOp>("forward"))
      forward.erase();
    module->setAttr(attr::optimizer, settings->write(&getContext()));
    noteCrossingAttentions(module);
    module->setAttr(attr::microBatches,
                    Builder(&getContext()).getI64IntegerAttr(microBatches));
    return success();
  }

  /// For a run on packed documents, which shows nothing of it otherwise.
  static void noteCrossingAttentions(ModuleOp module) {
    int64_t count = 0;
    for (StringRef name : {"step", "accumulate"})
      if (auto func = module.lookupSymbol<func::FuncOp>(name))
        func.walk([&](AttentionOp op) {
          count += op.getCausal() && !op.getSegments();
        });
    if (count > 0)
      module->setAttr(attr::crossingAttentions,
                      Builder(module).getI64IntegerAttr(count));
  }

  /// What the functions below rely on.
  LogicalResult verifyArguments(func::FuncOp gradient,
                                const OptimizerSettings &settings) {
    if (failed(checkGradientContract(gradient)))
      return failure();
    auto seed = gradient->getAttrOfType<FloatAttr>(attr::seed);
    double expected = microBatches == 1 ? 1.0 : 0.0;
    if (seed && (seed.getValueAsDouble() == 0.0 ||
                 (expected != 0.0 && seed.getValueAsDouble() != expected)))
      return gradient.emitError("gradients are seeded with ")
             << seed.getValueAsDouble()
             << ", expected 1 for one micro-batch and 1/K for K";
    auto scalar =
        RankedTensorType::get({}, Builder(&getContext()).getF32Type());
    unsigned count = gradient.getNumArguments();
    if (takesScale(gradient) && gradient.getArgumentTypes()[--count] != scalar)
      return gradient.emitError("loss_cotangent has type ")
             << gradient.getArgumentTypes()[count] << ", expected " << scalar;
    if (!(lossScale > 0) || !std::isfinite(lossScale) || growthInterval < 1)
      return gradient.emitError("loss-scale is ")
             << double(lossScale) << " and growth-interval "
             << int64_t(growthInterval)
             << ", expected a finite number above 0 and at least 1";
    for (unsigned index = 0; index != count; ++index) {
      StringRef kind = argString(gradient, index, attr::kind);
      if (kind != kind::param && kind != kind::buffer && kind != kind::input &&
          kind != kind::rng)
        return gradient.emitError("argument ")
               << index << " has kind '" << kind
               << "', expected param, buffer, input or rng";
      if (argString(gradient, index, attr::fqn).empty())
        return gradient.emitError("argument ") << index << " has no name";
      auto group =
          gradient.getArgAttrOfType<IntegerAttr>(index, attr::paramGroup);
      if (group && group.getInt() >= int64_t(settings.groups.size()) &&
          gradient.getArgAttr(index, attr::requiresGrad))
        return gradient.emitError("parameter '")
               << argString(gradient, index, attr::fqn) << "' is in group "
               << group.getInt() << ", but hone.optimizer has "
               << settings.groups.size();
      if (gradient.getArgAttr(index, attr::requiresGrad) &&
          failed(verifyForm(gradient, index,
                            settings.ruleOf(group ? group.getInt() : 0))))
        return failure();
    }
    return success();
  }
};
} // namespace
