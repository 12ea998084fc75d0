//===- OptimizerSettings.cpp - The hone.optimizer attribute ---------------===//

#include "OptimizerSettings.h"

#include "hone/IR/Hone.h"

#include <cmath>

using namespace mlir;
using namespace hone;

namespace {
/// An entry of the attribute that is a number, and what it may be.
struct Entry {
  StringLiteral key;
  double OptimizerSettings::*setting;
  std::string OptimizerOptions::*option;
  bool adamw, sgd;
  bool (*isValid)(double);
  StringLiteral wanted;
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
    return settings.kind == OptimizerKind::AdamW ? entry.adamw : entry.sgd;
  }

  ModuleOp module;
  OptimizerSettings &settings;
};
} // namespace

static bool isNonNegative(double x) { return x >= 0 && std::isfinite(x); }
static bool isDecay(double x) { return x >= 0 && x < 1; }
static bool isPositive(double x) { return x > 0; }

#define NUMBER(name) &OptimizerSettings::name, &OptimizerOptions::name
static const Entry entries[] = {
    {"lr", NUMBER(lr), true, true, isNonNegative, "a number >= 0"},
    {"weight_decay", NUMBER(weightDecay), true, true, isNonNegative,
     "a number >= 0"},
    {"clip", NUMBER(clip), true, true, isPositive, "a number > 0"},
    {"beta1", NUMBER(beta1), true, false, isDecay, "a number in [0, 1)"},
    {"beta2", NUMBER(beta2), true, false, isDecay, "a number in [0, 1)"},
    {"eps", NUMBER(eps), true, false, isNonNegative, "a number >= 0"},
    {"momentum", NUMBER(momentum), false, true, isNonNegative, "a number >= 0"},
};
#undef NUMBER

LogicalResult Reader::readName(StringRef name) {
  if (name == "adamw") {
    settings.kind = OptimizerKind::AdamW;
  } else if (name == "sgd") {
    settings.kind = OptimizerKind::Sgd;
    settings.weightDecay = 0.0;
  } else {
    return error("name") << "is '" << name << "', expected adamw or sgd";
  }
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
        return error(key) << "is " << value << ", expected " << entry->wanted;
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
    } else if (key != "name") {
      return error(key) << "is no setting of "
                        << dict.getAs<StringAttr>("name").getValue();
    }
  }
  return success();
}

LogicalResult Reader::applyOptions(const OptimizerOptions &options) {
  StringRef name = settings.kind == OptimizerKind::AdamW ? "adamw" : "sgd";
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
             << "is '" << text << "', expected " << entry.wanted;
    settings.*entry.setting = number;
  }
  if (options.nesterov && settings.kind != OptimizerKind::Sgd)
    return error("nesterov")
           << "is set, but " << name << " has no such setting";
  settings.nesterov |= options.nesterov;
  return success();
}

LogicalResult Reader::validate() {
  for (const Entry &entry : entries)
    if (!entry.isValid(settings.*entry.setting))
      return error(entry.key) << "is " << settings.*entry.setting
                              << ", expected " << entry.wanted;
  if (settings.nesterov && settings.momentum == 0.0)
    return error("nesterov") << "is set with momentum 0, expected a momentum";
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
  attrs.append("name",
               b.getStringAttr(kind == OptimizerKind::AdamW ? "adamw" : "sgd"));
  for (const Entry &entry : entries)
    if (kind == OptimizerKind::AdamW ? entry.adamw : entry.sgd)
      attrs.append(entry.key, b.getF64FloatAttr(this->*entry.setting));
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

SmallVector<StringRef> OptimizerSettings::stateNames() const {
  if (kind == OptimizerKind::AdamW)
    return {"exp_avg", "exp_avg_sq"};
  if (momentum != 0.0)
    return {"momentum"};
  return {};
}
