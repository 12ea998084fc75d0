//===- ParameterUpdates.cpp - State and optimizer ops of a step -----------===//

#include "ParameterUpdates.h"

#include "hone/IR/StateCode.h"

#include <cmath>

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// The parts of the scales of state with `parts`.
static ArrayAttr scaleParts(ArrayAttr parts) {
  if (!parts)
    return parts;
  SmallVector<Attribute> boxes;
  for (PartAttr part : parts.getAsRange<PartAttr>()) {
    SmallVector<int64_t> offset(part.getOffset().asArrayRef());
    offset.back() /= stateBlock;
    boxes.push_back(
        PartAttr::get(parts.getContext(), part.getName().getValue(), offset,
                      stateScaleShape(part.getShape().asArrayRef())));
  }
  return ArrayAttr::get(parts.getContext(), boxes);
}

/// Whether the state of a parameter is kept in codes: each of its parts is
/// large enough, and its blocks are blocks of the whole, so that files do not
/// depend on what was packed or padded.
static bool isCoded(RankedTensorType type, ArrayAttr parts) {
  if (!parts)
    return type.getRank() != 0 && type.getNumElements() >= leastCodedElements;
  return llvm::all_of(parts.getAsRange<PartAttr>(), [&](PartAttr part) {
    ArrayRef<int64_t> offset = part.getOffset().asArrayRef();
    return part.getNumElements() >= leastCodedElements &&
           offset.back() % stateBlock == 0;
  });
}

SmallVector<StateTensor> hone::stateOf(const OptimizerRule &rule,
                                       StringRef name, RankedTensorType type,
                                       ArrayAttr parts) {
  SmallVector<StateTensor> state;
  auto add = [&](const Twine &prefix, RankedTensorType type, ArrayAttr parts) {
    state.push_back({(prefix + "." + name).str(), type,
                     parts ? prefixParts(parts, prefix + ".") : parts});
  };
  MLIRContext *context = type.getContext();
  RankedTensorType moment = type;
  if (rule.moments == Moments::BF16)
    moment = RankedTensorType::get(type.getShape(), BFloat16Type::get(context));
  switch (rule.kind) {
  case OptimizerKind::AdamW:
    for (StringRef prefix : {"exp_avg", "exp_avg_sq"}) {
      if (rule.moments != Moments::Coded || !isCoded(type, parts)) {
        add(prefix, moment, parts);
        continue;
      }
      add(prefix,
          RankedTensorType::get(type.getShape(), IntegerType::get(context, 8)),
          parts);
      add(prefix + "_scale",
          RankedTensorType::get(stateScaleShape(type.getShape()),
                                Float32Type::get(context)),
          scaleParts(parts));
    }
    return state;
  case OptimizerKind::Sgd:
    if (rule.momentum != 0.0)
      add("momentum", moment, parts);
    return state;
  case OptimizerKind::Lion:
    add("exp_avg", moment, parts);
    return state;
  case OptimizerKind::Muon:
    add("momentum", type, parts);
    return state;
  case OptimizerKind::Adafactor: {
    if (type.getRank() < 2) {
      add("variance", type, nullptr);
      return state;
    }
    SmallVector<int64_t> rows(type.getShape()), columns(type.getShape());
    rows.pop_back();
    columns.erase(columns.end() - 2);
    add("row_var", RankedTensorType::get(rows, type.getElementType()), nullptr);
    add("col_var", RankedTensorType::get(columns, type.getElementType()),
        nullptr);
    return state;
  }
  }
  llvm_unreachable("unknown optimizer");
}

LogicalResult hone::verifyForm(func::FuncOp gradient, unsigned index,
                               const OptimizerRule &rule) {
  auto parts = gradient.getArgAttrOfType<ArrayAttr>(index, attr::parts);
  auto error = [&] {
    return gradient.emitError("parameter '")
           << argString(gradient, index, attr::fqn) << "' ";
  };
  if (rule.kind == OptimizerKind::Adafactor && parts)
    return error() << "is padded or packed, but adafactor takes means over the "
                      "parameters of files";
  if (rule.kind != OptimizerKind::Muon)
    return success();
  auto type = cast<RankedTensorType>(gradient.getArgumentTypes()[index]);
  if (type.getRank() != 2)
    return error() << "has rank " << type.getRank()
                   << ", but muon updates matrices, expected it in the group "
                      "of another optimizer";
  if (parts && parts.size() != 1)
    return error() << "is packed from " << parts.size()
                   << ", but muon takes each matrix as a whole";
  return success();
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

namespace {
/// Makes the optimizer ops, whose results are the new parameter and the new
/// state.
class Updater {
public:
  Updater(ImplicitLocOpBuilder &b, const OptimizerSettings &settings,
          const SharedOperands &shared)
      : b(b), settings(settings), shared(shared) {}

  Operation *update(const Trained &t);

private:
  Operation *updateByAdamw(const Trained &t, const OptimizerRule &rule);
  Operation *updateBySgd(const Trained &t, const OptimizerRule &rule);
  Operation *updateByLion(const Trained &t, const OptimizerRule &rule);
  Operation *updateByAdafactor(const Trained &t, const OptimizerRule &rule);
  Operation *updateByMuon(const Trained &t, const OptimizerRule &rule);

  FloatAttr number(double value) { return b.getF64FloatAttr(value); }
  UnitAttr flag(bool set) { return set ? b.getUnitAttr() : UnitAttr(); }
  FloatAttr lrScale(const Trained &t) {
    return number(settings.groups[t.group].lrScale);
  }
  FloatAttr decayScale(const Trained &t) {
    return number(settings.groups[t.group].decayScale);
  }
  /// Null where nothing is rounded at random.
  Value key(const OptimizerRule &rule) {
    return rule.moments == Moments::BF16 ? shared.key : Value();
  }
  IntegerAttr salt(const OptimizerRule &rule) {
    return b.getI64IntegerAttr(key(rule) ? nextSalt++ : 0);
  }

  ImplicitLocOpBuilder &b;
  const OptimizerSettings &settings;
  const SharedOperands &shared;
  int64_t nextSalt = firstUpdateSalt;
};
} // namespace

Operation *Updater::updateByAdamw(const Trained &t, const OptimizerRule &rule) {
  Type type = t.param.getType();
  const Scalars &scalars = shared.scalars;
  if (t.state.size() == 2)
    return b.create<AdamwOp>(
        type, t.state[0].getType(), t.state[1].getType(),
        /*new_working_copy=*/Type(), t.param, t.gradient, t.state[0],
        t.state[1], scalars.lr, scalars.weightDecay, shared.count,
        shared.factor, shared.apply, key(rule), /*origin=*/Value(),
        number(rule.beta1), number(rule.beta2), number(rule.eps), lrScale(t),
        decayScale(t), flag(rule.maximize), salt(rule),
        /*whole=*/DenseI64ArrayAttr());
  return b.create<Adamw8bitOp>(
      type, t.state[0].getType(), t.state[1].getType(), t.state[2].getType(),
      t.state[3].getType(), /*new_working_copy=*/Type(), t.param, t.gradient,
      t.state[0], t.state[1], t.state[2], t.state[3], scalars.lr,
      scalars.weightDecay, shared.count, shared.factor, shared.apply,
      number(rule.beta1), number(rule.beta2), number(rule.eps), lrScale(t),
      decayScale(t), flag(rule.maximize));
}

Operation *Updater::updateBySgd(const Trained &t, const OptimizerRule &rule) {
  bool hasMomentum = !t.state.empty();
  SmallVector<Type> buffer;
  if (hasMomentum)
    buffer.push_back(t.state[0].getType());
  // Without momentum there is nothing in bf16 to round.
  return b.create<SgdOp>(
      t.param.getType(), buffer, t.param, t.gradient, shared.scalars.lr,
      shared.scalars.weightDecay, shared.factor,
      hasMomentum ? Value(t.state[0]) : Value(), shared.apply,
      hasMomentum ? key(rule) : Value(), /*origin=*/Value(),
      number(rule.momentum), lrScale(t), decayScale(t), flag(rule.nesterov),
      flag(rule.maximize), salt(rule),
      /*whole=*/DenseI64ArrayAttr());
}

Operation *Updater::updateByLion(const Trained &t, const OptimizerRule &rule) {
  return b.create<LionOp>(
      t.param.getType(), t.state[0].getType(), /*new_working_copy=*/Type(),
      t.param, t.gradient, t.state[0], shared.scalars.lr,
      shared.scalars.weightDecay, shared.factor, shared.apply, key(rule),
      /*origin=*/Value(), number(rule.beta1), number(rule.beta2), lrScale(t),
      decayScale(t), flag(rule.maximize), salt(rule),
      /*whole=*/DenseI64ArrayAttr());
}

Operation *Updater::updateByAdafactor(const Trained &t,
                                      const OptimizerRule &rule) {
  SmallVector<Value> state(t.state.begin(), t.state.end());
  SmallVector<Type> types(ValueRange(state).getTypes());
  return b.create<AdafactorOp>(
      t.param.getType(), types, t.param, t.gradient, state, shared.scalars.lr,
      shared.scalars.weightDecay, shared.count, shared.factor, shared.apply,
      number(rule.beta2Decay), number(rule.eps1), number(rule.eps2),
      number(rule.clipThreshold), lrScale(t), decayScale(t),
      flag(rule.maximize));
}

/// What Muon multiplies the rate of a matrix of files by.
static double muonScale(const Trained &t, bool matchRms) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(t.param.getType()).getShape();
  if (t.parts)
    shape = cast<PartAttr>(t.parts[0]).getShape().asArrayRef();
  double rows = shape[0], columns = shape[1];
  if (matchRms)
    return 0.2 * std::sqrt(std::max(rows, columns));
  // Of an empty matrix no element is moved.
  return rows > columns && columns != 0 ? std::sqrt(rows / columns) : 1.0;
}

Operation *Updater::updateByMuon(const Trained &t, const OptimizerRule &rule) {
  return b.create<MuonOp>(
      t.param.getType(), t.state[0].getType(), /*new_working_copy=*/Type(),
      t.param, t.gradient, t.state[0], shared.scalars.lr,
      shared.scalars.weightDecay, shared.factor, shared.apply,
      number(rule.momentum), number(rule.eps),
      number(muonScale(t, rule.matchRms)), lrScale(t), decayScale(t),
      flag(rule.nesterov), flag(rule.maximize));
}

Operation *Updater::update(const Trained &t) {
  Location loc = NameLoc::get(b.getStringAttr("update"), t.param.getLoc());
  Location before = b.getLoc();
  b.setLoc(loc);
  const OptimizerRule &rule = settings.ruleOf(t.group);
  auto make = [&] {
    switch (rule.kind) {
    case OptimizerKind::AdamW:
      return updateByAdamw(t, rule);
    case OptimizerKind::Sgd:
      return updateBySgd(t, rule);
    case OptimizerKind::Lion:
      return updateByLion(t, rule);
    case OptimizerKind::Adafactor:
      return updateByAdafactor(t, rule);
    case OptimizerKind::Muon:
      return updateByMuon(t, rule);
    }
    llvm_unreachable("unknown optimizer");
  };
  Operation *op = make();
  b.setLoc(before);
  return op;
}

SmallVector<Operation *> hone::updateParameters(
    ImplicitLocOpBuilder &builder, const OptimizerSettings &settings,
    const SharedOperands &shared, ArrayRef<Trained> trained) {
  Updater updater(builder, settings, shared);
  SmallVector<Operation *> updates;
  for (const Trained &t : trained)
    updates.push_back(updater.update(t));
  return updates;
}
