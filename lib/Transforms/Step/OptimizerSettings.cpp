//===- OptimizerSettings.cpp - The hone.optimizer attribute ---------------===//

#include "OptimizerSettings.h"

#include "hone/IR/Hone.h"
#include "hone/Transforms/Step/OptimizerNames.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

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
  double OptimizerRule::*setting;
  std::string OptimizerOptions::*option;
  NumberRange range;
};

struct Default {
  OptimizerKind kind;
  double OptimizerRule::*setting;
  double value;
};

struct Optimizer {
  StringLiteral name;
  OptimizerKind kind;
  Moments narrowest;
  ParameterForm form;
};

/// Decodes one rule of the attribute; the first error stops it.
class Reader {
public:
  /// `where` begins messages: "", or the group whose own rule it is.
  Reader(ModuleOp module, OptimizerRule &rule, const Twine &where = "")
      : module(module), rule(rule), where(where.str()) {}

  LogicalResult readName(StringRef name);
  /// All entries but the name and `besides`.
  LogicalResult readEntries(DictionaryAttr dict, ArrayRef<StringRef> besides);
  LogicalResult readMoments(StringRef name);
  LogicalResult readNumber(const Number &number, StringRef text);
  LogicalResult validate();

private:
  InFlightDiagnostic error(const Twine &entry) {
    return module.emitError()
           << attr::optimizer << ": " << where << entry << " ";
  }
  LogicalResult readEntry(StringRef key, Attribute value);
  LogicalResult readFlag(StringRef key, Attribute value, bool &flag);

  ModuleOp module;
  OptimizerRule &rule;
  std::string where;
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
  {key, &OptimizerRule::field, &OptimizerOptions::field, range},
#include "hone/Transforms/Step/Optimizers.def"
};

static constexpr Default defaults[] = {
#define HONE_OPTIMIZER_DEFAULT(kind, field, value)                             \
  {OptimizerKind::kind, &OptimizerRule::field, value},
#include "hone/Transforms/Step/Optimizers.def"
};

/// By the number of the kind.
static constexpr Optimizer optimizers[] = {
#define HONE_OPTIMIZER(kind, name, narrowest, form)                            \
  {name, OptimizerKind::kind, Moments::narrowest, ParameterForm::form},
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

static bool hasNumber(OptimizerKind kind, double OptimizerRule::*setting) {
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

/// Whether an optimizer has Nesterov's momentum, by choice.
static bool hasNesterov(OptimizerKind kind) {
  return kind == OptimizerKind::Sgd || kind == OptimizerKind::Muon;
}

OptimizerRule::OptimizerRule(OptimizerKind kind)
    : kind(kind), nesterov(kind == OptimizerKind::Muon) {
  for (const Default &number : defaults)
    if (number.kind == kind)
      this->*number.setting = number.value;
}

static bool has(const OptimizerRule &rule, const Number &number) {
  return hasNumber(rule.kind, number.setting);
}

LogicalResult Reader::readName(StringRef name) {
  const Optimizer *found = findOptimizer(name);
  if (!found)
    return error("name") << "is '" << name << "', expected "
                         << listOptimizers();
  rule = OptimizerRule(found->kind);
  return success();
}

LogicalResult Reader::readMoments(StringRef name) {
  const auto *found = llvm::find(momentNames, name);
  if (found == std::end(momentNames))
    return error("moments")
           << "is '" << name << "', expected " << listMomentFormats();
  rule.moments = Moments(found - std::begin(momentNames));
  return success();
}

LogicalResult Reader::readNumber(const Number &number, StringRef text) {
  if (StringRef(text).getAsDouble(rule.*number.setting))
    return error(number.key)
           << "is '" << text << "', expected " << number.range.expected;
  return success();
}

LogicalResult Reader::readFlag(StringRef key, Attribute value, bool &flag) {
  auto given = dyn_cast<BoolAttr>(value);
  if (!given && !isa<UnitAttr>(value))
    return error(key) << "is " << value << ", expected a flag";
  flag = !given || given.getValue();
  return success();
}

LogicalResult Reader::readEntry(StringRef key, Attribute value) {
  const Number *number = llvm::find_if(
      numbers, [&](const Number &n) { return n.key == key && has(rule, n); });
  if (number != std::end(numbers)) {
    auto given = dyn_cast<FloatAttr>(value);
    if (!given)
      return error(key) << "is " << value << ", expected "
                        << number->range.expected;
    rule.*number->setting = given.getValueAsDouble();
    return success();
  }
  if (key == "maximize")
    return readFlag(key, value, rule.maximize);
  if (key == "nesterov" && hasNesterov(rule.kind))
    return readFlag(key, value, rule.nesterov);
  if (key == "match_rms_adamw" && rule.kind == OptimizerKind::Muon)
    return readFlag(key, value, rule.matchRms);
  if (key != "moments")
    return error(key) << "is no setting of " << optimizerOf(rule.kind).name;
  auto name = dyn_cast<StringAttr>(value);
  if (!name)
    return error(key) << "is " << value << ", expected " << listMomentFormats();
  return readMoments(name.getValue());
}

LogicalResult Reader::readEntries(DictionaryAttr dict,
                                  ArrayRef<StringRef> besides) {
  rule.nesterov = false; // a flag is set where it is written
  for (NamedAttribute named : dict) {
    StringRef key = named.getName();
    if (key == "name" || llvm::is_contained(besides, key))
      continue;
    if (failed(readEntry(key, named.getValue())))
      return failure();
  }
  return success();
}

LogicalResult Reader::validate() {
  for (const Number &number : numbers)
    if (double value = rule.*number.setting;
        has(rule, number) && !number.range.isValid(value))
      return error(number.key)
             << "is " << value << ", expected " << number.range.expected;
  if (rule.nesterov && rule.momentum == 0.0)
    return error("nesterov") << "is set with momentum 0, expected a momentum";
  if (rule.kind == OptimizerKind::Muon && rule.momentum >= 1)
    return error("momentum")
           << "is " << rule.momentum << ", expected " << decay.expected;
  const Optimizer &optimizer = optimizerOf(rule.kind);
  if (rule.moments > optimizer.narrowest)
    return error("moments")
           << "is '" << momentNames[unsigned(rule.moments)] << "', but "
           << optimizer.name << " has them in "
           << alternatives(ArrayRef(momentNames)
                               .take_front(unsigned(optimizer.narrowest) + 1))
           << " only";
  return success();
}

/// Begins the messages about a group.
static std::string groupPrefix(size_t index) {
  return "group " + std::to_string(index) + ": ";
}

/// Reads the own rule of a group. Its rate, decay and clip are those of the
/// settings, so that one schedule and one bound hold for all.
static LogicalResult readOwnRule(ModuleOp module, DictionaryAttr dict,
                                 size_t index, OptimizerGroup &group) {
  auto name = dict.getAs<StringAttr>("name");
  for (StringRef key : {"lr", "weight_decay", "clip"})
    if (dict.get(key))
      return module.emitError()
             << attr::optimizer << ": " << groupPrefix(index) << key
             << " is one for all groups, expected lr_scale and decay_scale";
  if (!name) {
    if (dict.size() == 2)
      return success();
    return module.emitError()
           << attr::optimizer << ": " << groupPrefix(index)
           << "has settings and no name, expected the name of their optimizer";
  }
  group.own.emplace(OptimizerKind::AdamW);
  Reader reader(module, *group.own, groupPrefix(index));
  return success(
      succeeded(reader.readName(name.getValue())) &&
      succeeded(reader.readEntries(dict, {"lr_scale", "decay_scale"})));
}

/// Reads the groups: only their scales unless `withRules`.
static LogicalResult readGroups(ModuleOp module, Attribute attribute,
                                bool withRules, OptimizerSettings &settings) {
  auto array = dyn_cast<ArrayAttr>(attribute);
  if (!array || array.empty())
    return module.emitError() << attr::optimizer << ": groups is " << attribute
                              << ", expected an array of dictionaries";
  settings.groups.clear();
  for (auto [index, element] : llvm::enumerate(array)) {
    auto dict = dyn_cast<DictionaryAttr>(element);
    auto lr = dict ? dict.getAs<FloatAttr>("lr_scale") : FloatAttr();
    auto decay = dict ? dict.getAs<FloatAttr>("decay_scale") : FloatAttr();
    if (!lr || !decay || !isNonNegative(lr.getValueAsDouble()) ||
        !isNonNegative(decay.getValueAsDouble()))
      return module.emitError()
             << attr::optimizer << ": group " << index << " is " << element
             << ", expected {lr_scale, decay_scale} with numbers >= 0";
    OptimizerGroup &group = settings.groups.emplace_back();
    group.lrScale = lr.getValueAsDouble();
    group.decayScale = decay.getValueAsDouble();
    if (withRules && failed(readOwnRule(module, dict, index, group)))
      return failure();
  }
  return success();
}

/// The rules of all parameters: that of the settings, then those of groups.
static SmallVector<OptimizerRule *> rulesOf(OptimizerSettings &settings) {
  SmallVector<OptimizerRule *> rules = {&settings};
  for (OptimizerGroup &group : settings.groups)
    if (group.own)
      rules.push_back(&*group.own);
  return rules;
}

/// Sets what the options give in every rule that has such a setting.
static LogicalResult applyOptions(ModuleOp module,
                                  const OptimizerOptions &options,
                                  OptimizerSettings &settings) {
  SmallVector<OptimizerRule *> rules = rulesOf(settings);
  llvm::SetVector<StringRef> names;
  for (OptimizerRule *rule : rules)
    names.insert(optimizerOf(rule->kind).name);
  auto nobodyHas = [&](StringRef key, StringRef value) {
    return module.emitError()
           << attr::optimizer << ": " << key << " is " << value << ", but "
           << llvm::join(names, " and ")
           << (names.size() == 1 ? " has" : " have") << " no such setting";
  };
  for (const Number &number : numbers) {
    const std::string &text = options.*number.option;
    if (text.empty())
      continue;
    auto haveIt = llvm::make_filter_range(
        rules, [&](OptimizerRule *rule) { return has(*rule, number); });
    if (haveIt.empty())
      return nobodyHas(number.key, text);
    for (OptimizerRule *rule : haveIt)
      if (failed(Reader(module, *rule).readNumber(number, text)))
        return failure();
  }
  bool isTaken = !options.nesterov;
  for (OptimizerRule *rule : rules) {
    isTaken |= hasNesterov(rule->kind);
    rule->nesterov |= options.nesterov && hasNesterov(rule->kind);
    if (!options.moments.empty() &&
        failed(Reader(module, *rule).readMoments(options.moments)))
      return failure();
  }
  return isTaken ? success() : LogicalResult(nobodyHas("nesterov", "set"));
}

/// Reads what the attribute says about the optimizer that the options leave.
static LogicalResult readAttribute(ModuleOp module, DictionaryAttr dict,
                                   const OptimizerOptions &options,
                                   OptimizerSettings &settings) {
  StringRef name = dict.getAs<StringAttr>("name").getValue();
  Attribute groups = dict.get("groups");
  if (groups &&
      failed(readGroups(module, groups,
                        /*withRules=*/options.name.empty(), settings)))
    return failure();
  if (options.name.empty() || name == options.name)
    return Reader(module, settings).readEntries(dict, {"groups"});
  // What does not depend on the optimizer holds for another one, too.
  if (auto clip = dict.getAs<FloatAttr>("clip"))
    settings.clip = clip.getValueAsDouble();
  return success();
}

FailureOr<OptimizerSettings>
OptimizerSettings::read(ModuleOp module, const OptimizerOptions &options) {
  OptimizerSettings settings(OptimizerKind::AdamW);
  Attribute attribute = module->getAttr(attr::optimizer);
  auto dict = dyn_cast_if_present<DictionaryAttr>(attribute);
  auto given = dict ? dict.getAs<StringAttr>("name") : StringAttr();
  if (attribute && !given) {
    module.emitError() << attr::optimizer << ": is " << attribute
                       << ", expected a dictionary with a name";
    return failure();
  }
  StringRef name = options.name;
  if (name.empty() && given)
    name = given.getValue();
  if (!name.empty() && failed(Reader(module, settings).readName(name)))
    return failure();
  if (dict && failed(readAttribute(module, dict, options, settings)))
    return failure();
  if (failed(applyOptions(module, options, settings)) ||
      failed(Reader(module, settings).validate()))
    return failure();
  for (auto [index, group] : llvm::enumerate(settings.groups))
    if (group.own &&
        failed(Reader(module, *group.own, groupPrefix(index)).validate()))
      return failure();
  return settings;
}

/// Appends the name and the settings of a rule; `isGroup`: without those that
/// are one for all groups.
static void appendRule(Builder &b, const OptimizerRule &rule, bool isGroup,
                       NamedAttrList &attrs) {
  attrs.append("name", b.getStringAttr(optimizerOf(rule.kind).name));
  for (const Number &number : numbers) {
    bool isShared =
        llvm::is_contained({"lr", "weight_decay", "clip"}, number.key);
    if (has(rule, number) && !(isGroup && isShared))
      attrs.append(number.key, b.getF64FloatAttr(rule.*number.setting));
  }
  if (rule.moments != Moments::Full)
    attrs.append("moments",
                 b.getStringAttr(momentNames[unsigned(rule.moments)]));
  if (rule.nesterov)
    attrs.append("nesterov", b.getUnitAttr());
  if (rule.maximize)
    attrs.append("maximize", b.getUnitAttr());
  if (rule.matchRms)
    attrs.append("match_rms_adamw", b.getUnitAttr());
}

DictionaryAttr OptimizerSettings::write(MLIRContext *context) const {
  Builder b(context);
  SmallVector<Attribute> entries;
  for (const OptimizerGroup &group : groups) {
    NamedAttrList attrs;
    attrs.append("lr_scale", b.getF64FloatAttr(group.lrScale));
    attrs.append("decay_scale", b.getF64FloatAttr(group.decayScale));
    if (group.own)
      appendRule(b, *group.own, /*isGroup=*/true, attrs);
    entries.push_back(attrs.getDictionary(context));
  }
  NamedAttrList attrs;
  appendRule(b, *this, /*isGroup=*/false, attrs);
  attrs.append("groups", b.getArrayAttr(entries));
  return attrs.getDictionary(context);
}

/// The names in the attribute: of every group.
static SmallVector<StringRef> namesOf(ModuleOp module) {
  auto dict = module->getAttrOfType<DictionaryAttr>(attr::optimizer);
  auto nameIn = [](Attribute rule) -> StringRef {
    auto dict = dyn_cast_if_present<DictionaryAttr>(rule);
    auto name = dict ? dict.getAs<StringAttr>("name") : StringAttr();
    return name ? name.getValue() : StringRef();
  };
  auto groups = dict ? dict.getAs<ArrayAttr>("groups") : ArrayAttr();
  if (!groups)
    return {nameIn(dict)};
  SmallVector<StringRef> names;
  for (Attribute group : groups)
    names.push_back(nameIn(group).empty() ? nameIn(dict) : nameIn(group));
  return names;
}

ParameterForm hone::parameterForm(ModuleOp module, StringRef option,
                                  std::optional<int64_t> group) {
  SmallVector<StringRef> names = {option};
  if (option.empty())
    names = namesOf(module);
  if (option.empty() && group && *group < int64_t(names.size()))
    names = {names[*group]};
  ParameterForm form = ParameterForm::Any;
  for (StringRef name : names)
    if (const Optimizer *found = findOptimizer(name))
      form = std::max(form, found->form);
  return form;
}
