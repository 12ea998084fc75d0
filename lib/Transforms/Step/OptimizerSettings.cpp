//===- OptimizerSettings.cpp - The hone.optimizer attribute ---------------===//

#include "OptimizerSettings.h"

#include "hone/IR/Hone.h"
#include "hone/Transforms/Step/OptimizerNames.h"

#include "llvm/ADT/SmallVectorExtras.h"

#include <cmath>

using namespace mlir;
using namespace hone;

namespace {
/// What a number may be.
struct NumberRange {
  bool (*isValid)(double);
  StringLiteral expected;
};

/// A number of the attribute and its range.
struct Number {
  StringLiteral key;
  double OptimizerSettings::*setting;
  std::string OptimizerOptions::*option;
  NumberRange range;
};

struct Default {
  OptimizerKind kind;
  double OptimizerSettings::*setting;
  double value;
};

struct Optimizer {
  StringLiteral name;
  OptimizerKind kind;
  Moments narrowest;
  bool takesMeans;
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
  bool has(const Number &number) const;
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

static constexpr NumberRange nonNegative = {isNonNegative, "a number >= 0"};
static constexpr NumberRange decay = {isDecay, "a number in [0, 1)"};
static constexpr NumberRange positive = {isPositive, "a number > 0"};
static constexpr NumberRange notPositive = {isNotPositive, "a number <= 0"};
static constexpr NumberRange atLeastOne = {isAtLeastOne, "a number >= 1"};

static constexpr Number numbers[] = {
#define HONE_OPTIMIZER_NUMBER(field, key, range)                               \
  {key, &OptimizerSettings::field, &OptimizerOptions::field, range},
#include "hone/Transforms/Step/Optimizers.def"
};

static constexpr Default defaults[] = {
#define HONE_OPTIMIZER_DEFAULT(kind, field, value)                             \
  {OptimizerKind::kind, &OptimizerSettings::field, value},
#include "hone/Transforms/Step/Optimizers.def"
};

/// By the number of the kind.
static constexpr Optimizer optimizers[] = {
#define HONE_OPTIMIZER(kind, name, narrowest, takesMeans)                      \
  {name, OptimizerKind::kind, Moments::narrowest, takesMeans},
#include "hone/Transforms/Step/Optimizers.def"
};

/// By the number of the format.
static constexpr StringLiteral momentNames[] = {"fp32", "bf16", "8bit"};

/// "a, b or c"
static std::string alternatives(ArrayRef<StringLiteral> names) {
  std::string text(names.front());
  for (StringRef name : names.drop_front())
    text += (name == names.back() ? " or " : ", ") + name.str();
  return text;
}

static const Optimizer *findOptimizer(StringRef name) {
  const Optimizer *found = llvm::find_if(
      optimizers, [&](const Optimizer &o) { return o.name == name; });
  return found == std::end(optimizers) ? nullptr : found;
}

static const Optimizer &optimizerOf(OptimizerKind kind) {
  return optimizers[unsigned(kind)];
}

static bool hasNumber(OptimizerKind kind, double OptimizerSettings::*setting) {
  return llvm::any_of(defaults, [&](const Default &number) {
    return number.kind == kind && number.setting == setting;
  });
}

bool hone::isOptimizer(StringRef name) { return findOptimizer(name); }

StringRef hone::listOptimizers() {
  static const std::string names = alternatives(llvm::map_to_vector(
      optimizers, [](const Optimizer &o) { return o.name; }));
  return names;
}

bool hone::isMomentFormat(StringRef name) {
  return llvm::is_contained(momentNames, name);
}

StringRef hone::listMomentFormats() {
  static const std::string names = alternatives(momentNames);
  return names;
}

OptimizerSettings::OptimizerSettings(OptimizerKind kind) : kind(kind) {
  for (const Default &number : defaults)
    if (number.kind == kind)
      this->*number.setting = number.value;
}

bool Reader::has(const Number &number) const {
  return hasNumber(settings.kind, number.setting);
}

LogicalResult Reader::readName(StringRef name) {
  const Optimizer *found = findOptimizer(name);
  if (!found)
    return error("name") << "is '" << name << "', expected "
                         << listOptimizers();
  settings = OptimizerSettings(found->kind);
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
    const Number *number = llvm::find_if(
        numbers, [&](const Number &n) { return n.key == key && has(n); });
    if (number != std::end(numbers)) {
      auto given = dyn_cast<FloatAttr>(value);
      if (!given)
        return error(key) << "is " << value << ", expected "
                          << number->range.expected;
      settings.*number->setting = given.getValueAsDouble();
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
  StringRef name = optimizerOf(settings.kind).name;
  for (const Number &number : numbers) {
    const std::string &text = options.*number.option;
    if (text.empty())
      continue;
    if (!has(number))
      return error(number.key)
             << "is " << text << ", but " << name << " has no such setting";
    if (StringRef(text).getAsDouble(settings.*number.setting))
      return error(number.key)
             << "is '" << text << "', expected " << number.range.expected;
  }
  if (options.nesterov && settings.kind != OptimizerKind::Sgd)
    return error("nesterov")
           << "is set, but " << name << " has no such setting";
  settings.nesterov |= options.nesterov;
  return options.moments.empty() ? success() : readMoments(options.moments);
}

LogicalResult Reader::validate() {
  for (const Number &number : numbers)
    if (double value = settings.*number.setting;
        has(number) && !number.range.isValid(value))
      return error(number.key)
             << "is " << value << ", expected " << number.range.expected;
  if (settings.nesterov && settings.momentum == 0.0)
    return error("nesterov") << "is set with momentum 0, expected a momentum";
  const Optimizer &optimizer = optimizerOf(settings.kind);
  if (settings.moments > optimizer.narrowest)
    return error("moments")
           << "is '" << momentNames[unsigned(settings.moments)] << "', but "
           << optimizer.name << " has them in "
           << alternatives(ArrayRef(momentNames)
                               .take_front(unsigned(optimizer.narrowest) + 1))
           << " only";
  return success();
}

FailureOr<OptimizerSettings>
OptimizerSettings::read(ModuleOp module, const OptimizerOptions &options) {
  OptimizerSettings settings(OptimizerKind::AdamW);
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
  attrs.append("name", b.getStringAttr(optimizerOf(kind).name));
  for (const Number &number : numbers)
    if (hasNumber(kind, number.setting))
      attrs.append(number.key, b.getF64FloatAttr(this->*number.setting));
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

bool hone::takesMeans(ModuleOp module, StringRef option) {
  auto dict = module->getAttrOfType<DictionaryAttr>(attr::optimizer);
  auto name = dict ? dict.getAs<StringAttr>("name") : StringAttr();
  StringRef used = option.empty() && name ? name.getValue() : option;
  const Optimizer *found = findOptimizer(used);
  return found && found->takesMeans;
}
