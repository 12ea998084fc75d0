//===- OptimizerSettings.cpp - The hone.optimizer attribute ---------------===//

#include "OptimizerSettings.h"

#include "hone/IR/Hone.h"
#include "hone/IR/StateCode.h"
#include "hone/Transforms/Step/OptimizerNames.h"

#include <cmath>

using namespace mlir;
using namespace hone;

namespace {
/// Sets of optimizers.
enum Optimizers : unsigned {
  adamw = 1 << unsigned(OptimizerKind::AdamW),
  sgd = 1 << unsigned(OptimizerKind::Sgd),
  lion = 1 << unsigned(OptimizerKind::Lion),
  adafactor = 1 << unsigned(OptimizerKind::Adafactor),
  all = adamw | sgd | lion | adafactor
};

/// An optimizer's name and those defaults that are not AdamW's.
struct Optimizer {
  StringLiteral name;
  OptimizerKind kind;
  double lr, weightDecay, beta2;
};

/// An entry of the attribute that is a number, and what it may be.
struct Entry {
  StringLiteral key;
  double OptimizerSettings::*setting;
  std::string OptimizerOptions::*option;
  unsigned of; ///< which optimizers have it
  bool (*isValid)(double);
  StringLiteral expected;
};

/// Decodes one attribute; the first error stops it.
class Reader {
public:
  Reader(ModuleOp module, OptimizerSettings &settings)
      : module(module), settings(settings) {}

  LogicalResult readName(StringRef name);
  LogicalResult readAttribute(DictionaryAttr dict);
  LogicalResult readGroups(Attribute attribute);
  LogicalResult applyOptions(const OptimizerOptions &options);
  LogicalResult validate();

private:
  InFlightDiagnostic error(const Twine &entry) {
    return module.emitError() << attr::optimizer << ": " << entry << " ";
  }
  bool has(const Entry &entry) const {
    return entry.of & (1u << unsigned(settings.kind));
  }
  LogicalResult readMoments(StringRef name);

  ModuleOp module;
  OptimizerSettings &settings;
};
} // namespace

static bool isNonNegative(double x) { return x >= 0 && std::isfinite(x); }
static bool isDecay(double x) { return x >= 0 && x < 1; }
static bool isPositive(double x) { return x > 0; }
static bool isNotPositive(double x) { return x <= 0 && std::isfinite(x); }
static bool isAtLeastOne(double x) { return x >= 1 && std::isfinite(x); }

static const Optimizer optimizers[] = {
    {"adamw", OptimizerKind::AdamW, 1e-3, 1e-2, 0.999},
    {"sgd", OptimizerKind::Sgd, 1e-3, 0.0, 0.0},
    {"lion", OptimizerKind::Lion, 1e-4, 0.0, 0.99},
    {"adafactor", OptimizerKind::Adafactor, 1e-2, 0.0, 0.0},
};
bool hone::isOptimizer(StringRef name) {
  return llvm::any_of(optimizers,
                      [&](const Optimizer &o) { return o.name == name; });
}

StringRef hone::listOptimizers() { return "adamw, sgd, lion or adafactor"; }

static StringRef nameOf(OptimizerKind kind) {
  return llvm::find_if(optimizers,
                       [&](const Optimizer &o) { return o.kind == kind; })
      ->name;
}

/// By the number of the kind.
static constexpr StringLiteral momentNames[] = {"fp32", "bf16", "8bit"};

bool hone::isMomentFormat(StringRef name) {
  return llvm::is_contained(momentNames, name);
}

StringRef hone::listMomentFormats() { return "fp32, bf16 or 8bit"; }

#define NUMBER(name) &OptimizerSettings::name, &OptimizerOptions::name
static const Entry entries[] = {
    {"lr", NUMBER(lr), all, isNonNegative, "a number >= 0"},
    {"weight_decay", NUMBER(weightDecay), all, isNonNegative, "a number >= 0"},
    {"clip", NUMBER(clip), all, isPositive, "a number > 0"},
    {"beta1", NUMBER(beta1), adamw | lion, isDecay, "a number in [0, 1)"},
    {"beta2", NUMBER(beta2), adamw | lion, isDecay, "a number in [0, 1)"},
    {"eps", NUMBER(eps), adamw, isNonNegative, "a number >= 0"},
    {"momentum", NUMBER(momentum), sgd, isNonNegative, "a number >= 0"},
    {"beta2_decay", NUMBER(beta2Decay), adafactor, isNotPositive,
     "a number <= 0"},
    {"eps1", NUMBER(eps1), adafactor, isNonNegative, "a number >= 0"},
    {"eps2", NUMBER(eps2), adafactor, isNonNegative, "a number >= 0"},
    {"clip_threshold", NUMBER(clipThreshold), adafactor, isAtLeastOne,
     "a number >= 1"},
};
#undef NUMBER

LogicalResult Reader::readName(StringRef name) {
  const auto *found = llvm::find_if(
      optimizers, [&](const Optimizer &o) { return o.name == name; });
  if (found == std::end(optimizers))
    return error("name") << "is '" << name << "', expected "
                         << listOptimizers();
  settings.kind = found->kind;
  settings.lr = found->lr;
  settings.weightDecay = found->weightDecay;
  settings.beta2 = found->beta2;
  return success();
}

LogicalResult Reader::readMoments(StringRef name) {
  const auto *found = llvm::find(momentNames, name);
  if (found == std::end(momentNames))
    return error("moments")
           << "is '" << name << "', expected " << listMomentFormats();
  settings.moments = Moments(found - std::begin(momentNames));
  return success();
}

LogicalResult Reader::readGroups(Attribute attribute) {
  auto array = dyn_cast<ArrayAttr>(attribute);
  if (!array || array.empty())
    return error("groups") << "is " << attribute
                           << ", expected an array of dictionaries";
  settings.groups.clear();
  for (Attribute element : array) {
    auto dict = dyn_cast<DictionaryAttr>(element);
    auto lr = dict ? dict.getAs<FloatAttr>("lr_scale") : FloatAttr();
    auto decay = dict ? dict.getAs<FloatAttr>("decay_scale") : FloatAttr();
    if (!lr || !decay || !isNonNegative(lr.getValueAsDouble()) ||
        !isNonNegative(decay.getValueAsDouble()))
      return error("group " + Twine(settings.groups.size()))
             << "is " << element
             << ", expected {lr_scale, decay_scale} with numbers >= 0";
    settings.groups.push_back(
        {lr.getValueAsDouble(), decay.getValueAsDouble()});
  }
  return success();
}

LogicalResult Reader::readAttribute(DictionaryAttr dict) {
  for (NamedAttribute named : dict) {
    StringRef key = named.getName();
    Attribute value = named.getValue();
    const auto *entry = llvm::find_if(
        entries, [&](const Entry &e) { return e.key == key && has(e); });
    if (entry != std::end(entries)) {
      auto number = dyn_cast<FloatAttr>(value);
      if (!number)
        return error(key) << "is " << value << ", expected " << entry->expected;
      settings.*entry->setting = number.getValueAsDouble();
    } else if (key == "groups") {
      if (failed(readGroups(value)))
        return failure();
    } else if (key == "maximize" ||
               (key == "nesterov" && settings.kind == OptimizerKind::Sgd)) {
      auto flag = dyn_cast<BoolAttr>(value);
      if (!flag && !isa<UnitAttr>(value))
        return error(key) << "is " << value << ", expected a flag";
      bool isSet = !flag || flag.getValue();
      (key == "maximize" ? settings.maximize : settings.nesterov) = isSet;
    } else if (key == "moments") {
      auto name = dyn_cast<StringAttr>(value);
      if (!name)
        return error(key) << "is " << value << ", expected "
                          << listMomentFormats();
      if (failed(readMoments(name.getValue())))
        return failure();
    } else if (key != "name") {
      return error(key) << "is no setting of "
                        << dict.getAs<StringAttr>("name").getValue();
    }
  }
  return success();
}

LogicalResult Reader::applyOptions(const OptimizerOptions &options) {
  StringRef name = nameOf(settings.kind);
  for (const Entry &entry : entries) {
    const std::string &text = options.*entry.option;
    if (text.empty())
      continue;
    if (!has(entry))
      return error(entry.key)
             << "is " << text << ", but " << name << " has no such setting";
    double number;
    if (StringRef(text).getAsDouble(number))
      return error(entry.key)
             << "is '" << text << "', expected " << entry.expected;
    settings.*entry.setting = number;
  }
  if (options.nesterov && settings.kind != OptimizerKind::Sgd)
    return error("nesterov")
           << "is set, but " << name << " has no such setting";
  settings.nesterov |= options.nesterov;
  return options.moments.empty() ? success() : readMoments(options.moments);
}

LogicalResult Reader::validate() {
  for (const Entry &entry : entries)
    if (has(entry) && !entry.isValid(settings.*entry.setting))
      return error(entry.key) << "is " << settings.*entry.setting
                              << ", expected " << entry.expected;
  if (settings.nesterov && settings.momentum == 0.0)
    return error("nesterov") << "is set with momentum 0, expected a momentum";
  StringRef name = nameOf(settings.kind);
  if (settings.moments == Moments::Coded &&
      settings.kind != OptimizerKind::AdamW)
    return error("moments")
           << "is '8bit', but " << name << " has them in fp32 or bf16 only";
  if (settings.moments != Moments::Full &&
      settings.kind == OptimizerKind::Adafactor)
    return error("moments")
           << "is 'bf16', but " << name << " keeps means, in fp32 only";
  return success();
}

FailureOr<OptimizerSettings>
OptimizerSettings::read(ModuleOp module, const OptimizerOptions &options) {
  OptimizerSettings settings;
  Reader reader(module, settings);
  Attribute attribute = module->getAttr(attr::optimizer);
  auto dict = dyn_cast_if_present<DictionaryAttr>(attribute);
  auto name = dict ? dict.getAs<StringAttr>("name") : StringAttr();
  if (attribute && !name) {
    module.emitError() << attr::optimizer << ": is " << attribute
                       << ", expected a dictionary with a name";
    return failure();
  }
  bool sameName =
      name && (options.name.empty() || name.getValue() == options.name);
  if (!options.name.empty() && failed(reader.readName(options.name)))
    return failure();
  if (options.name.empty() && name && failed(reader.readName(name.getValue())))
    return failure();
  if (sameName && failed(reader.readAttribute(dict)))
    return failure();
  // What does not depend on the optimizer holds for another one, too.
  if (dict && !sameName) {
    if (Attribute groups = dict.get("groups"))
      if (failed(reader.readGroups(groups)))
        return failure();
    if (auto clip = dict.getAs<FloatAttr>("clip"))
      settings.clip = clip.getValueAsDouble();
  }
  if (failed(reader.applyOptions(options)) || failed(reader.validate()))
    return failure();
  return settings;
}

DictionaryAttr OptimizerSettings::write(MLIRContext *context) const {
  Builder b(context);
  NamedAttrList attrs;
  attrs.append("name", b.getStringAttr(nameOf(kind)));
  for (const Entry &entry : entries)
    if (entry.of & (1u << unsigned(kind)))
      attrs.append(entry.key, b.getF64FloatAttr(this->*entry.setting));
  if (moments != Moments::Full)
    attrs.append("moments", b.getStringAttr(momentNames[unsigned(moments)]));
  if (nesterov)
    attrs.append("nesterov", b.getUnitAttr());
  if (maximize)
    attrs.append("maximize", b.getUnitAttr());
  SmallVector<Attribute> scales;
  for (const GroupScales &group : groups)
    scales.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("lr_scale", b.getF64FloatAttr(group.lr)),
         b.getNamedAttr("decay_scale", b.getF64FloatAttr(group.decay))}));
  attrs.append("groups", b.getArrayAttr(scales));
  return attrs.getDictionary(context);
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

bool hone::takesMeans(ModuleOp module, StringRef option) {
  auto dict = module->getAttrOfType<DictionaryAttr>(attr::optimizer);
  auto name = dict ? dict.getAs<StringAttr>("name") : StringAttr();
  StringRef used = option.empty() && name ? name.getValue() : option;
  return used == nameOf(OptimizerKind::Adafactor);
}

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

SmallVector<StateTensor> hone::stateOf(const OptimizerSettings &settings,
                                       StringRef name, RankedTensorType type,
                                       ArrayAttr parts) {
  SmallVector<StateTensor> state;
  auto add = [&](const Twine &prefix, RankedTensorType type, ArrayAttr parts) {
    state.push_back({(prefix + "." + name).str(), type,
                     parts ? prefixParts(parts, prefix + ".") : parts});
  };
  MLIRContext *context = type.getContext();
  RankedTensorType moment = type;
  if (settings.moments == Moments::BF16)
    moment = RankedTensorType::get(type.getShape(), BFloat16Type::get(context));
  switch (settings.kind) {
  case OptimizerKind::AdamW:
    for (StringRef prefix : {"exp_avg", "exp_avg_sq"}) {
      if (settings.moments != Moments::Coded || !isCoded(type, parts)) {
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
    if (settings.momentum != 0.0)
      add("momentum", moment, parts);
    return state;
  case OptimizerKind::Lion:
    add("exp_avg", moment, parts);
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
