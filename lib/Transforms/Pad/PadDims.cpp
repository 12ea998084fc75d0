//===- PadDims.cpp - Parameters of sizes that the target likes ------------===//

#include "Transforms/Common/Masks.h"
#include "Transforms/Precision/ElementTypes.h"
#include "Transforms/Step/OptimizerSettings.h"
#include "hone/Analysis/Padding/Plan.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_PADDIMS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
/// Gives the dimensions of padded classes their new sizes.
class Padder {
public:
  Padder(func::FuncOp func, const DimensionClasses &classes)
      : func(func), classes(classes), builder(func.getContext()) {}

  void pad(ArrayRef<PaddedClass> padded);

private:
  void resize(Value value, unsigned id, int64_t size);
  void describeParts(BlockArgument argument);
  void hide(const PaddedClass &padded);

  func::FuncOp func;
  const DimensionClasses &classes;
  OpBuilder builder;
};
} // namespace

/// Files keep the argument's present shape.
void Padder::describeParts(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  if (func.getArgAttr(index, attr::parts))
    return;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(argument.getType()).getShape();
  SmallVector<int64_t> offset(shape.size(), 0);
  auto part = PartAttr::get(func.getContext(),
                            argString(func, index, attr::fqn), offset, shape);
  func.setArgAttr(index, attr::parts, builder.getArrayAttr({Attribute(part)}));
}

/// Grows `value` along its dimensions of the class, with what its op says of
/// its shape in attributes.
void Padder::resize(Value value, unsigned id, int64_t size) {
  SmallVector<unsigned> dims = classes.dimsIn(value, id);
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (unsigned dim : dims)
    shape[dim] = size;
  if (auto argument = dyn_cast<BlockArgument>(value))
    describeParts(argument);
  value.setType(type.clone(shape));
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    auto splat = cast<DenseElementsAttr>(constant.getValue());
    constant.setValueAttr(splat.resizeSplat(type.clone(shape)));
  } else if (auto slice = value.getDefiningOp<SliceOp>()) {
    SmallVector<int64_t> limits(slice.getLimits());
    for (unsigned dim : dims)
      limits[dim] = size;
    slice.setLimits(limits);
  }
}

/// Widths and masks; a value that several ops need masked alike is masked once.
void Padder::hide(const PaddedClass &padded) {
  for (WidthOpInterface op : padded.effects.widths)
    op.setWidth(padded.from);
  DenseMap<std::tuple<Value, unsigned, int64_t>, Value> made;
  for (const PadMask &mask : padded.effects.masks) {
    Value value = mask.use->get();
    int64_t key = llvm::bit_cast<int64_t>(mask.fill);
    Value &masked = made[{value, mask.dim, key}];
    if (!masked) {
      builder.setInsertionPointAfterValue(value);
      Location loc = NameLoc::get(builder.getStringAttr("pad"), value.getLoc());
      masked = keepFirst(builder, loc, value, mask.dim, padded.from, mask.fill);
    }
    mask.use->set(masked);
  }
}

void Padder::pad(ArrayRef<PaddedClass> all) {
  for (const PaddedClass &padded : all) {
    Value last;
    for (const Dimension &member : classes.members(padded.id)) {
      if (member.value != last)
        resize(member.value, padded.id, padded.to);
      last = member.value;
    }
  }
  // Masks have the types that all classes have left.
  llvm::for_each(all, [&](const PaddedClass &padded) { hide(padded); });
  func.setFunctionType(builder.getFunctionType(func.front().getArgumentTypes(),
                                               func.getResultTypes()));
}

namespace {
struct PadDims : hone::impl::PadDimsBase<PadDims> {
  using PadDimsBase::PadDimsBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  FailureOr<PaddingOptions> readOptions() {
    ModuleOp module = getOperation();
    PaddingOptions options;
    FailureOr<FloatType> low = lowTypeOf(precision, &getContext());
    if (failed(low))
      return module.emitError("precision is '")
             << precision << "', expected " << listPrecisionPolicies();
    options.element = *low ? *low : FloatType::getF32(&getContext());
    if (findPrecisionPolicy(precision)->codes)
      options.codeMultiple = fp8Multiple;
    if (multiple != "auto" &&
        (StringRef(multiple).getAsInteger(10, options.multiple) ||
         options.multiple < 1))
      return module.emitError("multiple of padding is '")
             << multiple << "', expected auto, off or a positive number";
    return options;
  }

  /// The optimizers leave zero parameters with zero gradients as they are.
  bool keepsZeros() {
    auto hasZeroEps = [](Attribute rule) {
      auto dict = dyn_cast_if_present<DictionaryAttr>(rule);
      auto eps = dict ? dict.getAs<FloatAttr>("eps") : FloatAttr();
      return eps && eps.getValue().isZero();
    };
    Attribute given = getOperation()->getAttr(attr::optimizer);
    auto dict = dyn_cast_if_present<DictionaryAttr>(given);
    auto groups = dict ? dict.getAs<ArrayAttr>("groups") : ArrayAttr();
    return !hasZeroEps(given) && !(groups && llvm::any_of(groups, hasZeroEps));
  }

  LogicalResult run() {
    if (multiple == "off")
      return success();
    FailureOr<PaddingOptions> options = readOptions();
    FailureOr<TargetDescription> target = getTarget(getOperation());
    if (failed(options) || failed(target))
      return failure();
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!forward || !forward.getBody().hasOneBlock())
      return getOperation().emitError("has no function @forward of one block");
    if (parameterForm(getOperation(), optimizer) == ParameterForm::AsInFiles) {
      if (report)
        getOperation().emitRemark(
            "nothing is padded: the means of Adafactor would count padding");
      return success();
    }
    if (!keepsZeros()) {
      if (report)
        getOperation().emitRemark(
            "nothing is padded: AdamW with eps 0 divides zero by zero where a "
            "gradient is zero");
      return success();
    }
    DimensionClasses classes(forward.front());
    PaddingPlan plan = planPadding(forward, classes, *target, *options);
    if (report)
      for (const PaddingNote &note : plan.notes)
        note.where->emitRemark(note.text);
    Padder(forward, classes).pad(plan.classes);
    return success();
  }
};
} // namespace
