//===- HoneDialect.cpp - Dialect registration and its attributes ----------===//

#include "hone/IR/DialectMarker.h"
#include "hone/IR/DroppedRows.h"
#include "hone/IR/IndexedOps.h"
#include "hone/IR/MergeOps.h"
#include "hone/IR/PackageFunction.h"
#include "hone/IR/ResultNames.h"
#include "hone/IR/SelectionBias.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

#include "hone/IR/HoneDialect.cpp.inc"
#include "hone/IR/HoneEnums.cpp.inc"
#include "hone/IR/HoneInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "hone/IR/HoneAttrs.cpp.inc"

// Kept by linkers that leave out what nothing refers to.
[[gnu::used, gnu::retain]] static const char marker[] =
    "the hone dialect is linked into this file";

StringRef hone::dialectMarker() { return marker; }

void HoneDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "hone/IR/HoneAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "hone/IR/HoneOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "hone/IR/HoneMergeOps.cpp.inc"
      >();
  attachIndexedOps(getContext());
}

void *HoneDialect::getRegisteredInterfaceForOp(TypeID interface,
                                               OperationName) {
  return findResultNames(interface);
}

Operation *HoneDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return builder.create<ConstantOp>(loc, type, elements);
}

/// Whether `value` is one of the kinds an argument, or else a result, can have.
static bool isKind(StringRef value, bool isResult) {
  return llvm::StringSwitch<bool>(value)
      .Cases(kind::param, kind::buffer, kind::opt, kind::grad, kind::scalar,
             kind::workingCopy, true)
      .Cases(kind::cache, kind::boundary, kind::saved, true)
      .Cases(kind::input, kind::rng, !isResult)
      .Cases(kind::loss, kind::gradNorm, kind::logits, kind::idCheck,
             kind::dropped, isResult)
      .Default(false);
}

LogicalResult PartAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringAttr name, DenseI64ArrayAttr offset,
                               DenseI64ArrayAttr shape) {
  if (name.empty())
    return emitError() << "a part has no name";
  if (offset.size() != shape.size())
    return emitError() << "part '" << name.getValue() << "' has "
                       << offset.size() << " offsets and " << shape.size()
                       << " sizes, expected as many";
  auto isNegative = [](int64_t value) { return value < 0; };
  if (llvm::any_of(offset.asArrayRef(), isNegative) ||
      llvm::any_of(shape.asArrayRef(), isNegative))
    return emitError() << "part '" << name.getValue()
                       << "' has a negative offset or size";
  return success();
}

int64_t PartAttr::getNumElements() {
  return ShapedType::getNumElements(getShape().asArrayRef());
}

PartAttr PartAttr::withPrefix(const Twine &prefix) {
  return get(getContext(),
             StringAttr::get(getContext(), prefix + getName().getValue()),
             getOffset(), getShape());
}

ArrayAttr hone::prefixParts(ArrayAttr parts, const Twine &prefix) {
  if (!parts)
    return {};
  SmallVector<Attribute> prefixed;
  for (auto part : parts.getAsRange<PartAttr>())
    prefixed.push_back(part.withPrefix(prefix));
  return ArrayAttr::get(parts.getContext(), prefixed);
}

int64_t hone::countElements(ArrayAttr parts, Type type) {
  if (!parts)
    return cast<ShapedType>(type).getNumElements();
  int64_t count = 0;
  for (auto part : parts.getAsRange<PartAttr>())
    count += part.getNumElements();
  return count;
}

/// Whether two boxes have an element in common.
static bool overlap(PartAttr a, PartAttr b) {
  for (auto [aBegin, aSize, bBegin, bSize] :
       llvm::zip(a.getOffset().asArrayRef(), a.getShape().asArrayRef(),
                 b.getOffset().asArrayRef(), b.getShape().asArrayRef()))
    if (aBegin + aSize <= bBegin || bBegin + bSize <= aBegin)
      return false;
  return true;
}

/// Whether `part` lies in a tensor of `type`.
static bool isInside(PartAttr part, RankedTensorType type) {
  if (part.getShape().size() != type.getRank())
    return false;
  for (auto [begin, size, whole] :
       llvm::zip(part.getOffset().asArrayRef(), part.getShape().asArrayRef(),
                 type.getShape()))
    if (begin > whole || size > whole - begin)
      return false;
  return true;
}

/// Checks `hone.parts` of an argument or result of `type`, of which a rank has
/// all, or perhaps only its share: boxes are of the whole then.
static LogicalResult verifyParts(Operation *op, Attribute attribute, Type type,
                                 bool isWhole) {
  auto array = dyn_cast<ArrayAttr>(attribute);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!array || array.empty() || !llvm::all_of(array, llvm::IsaPred<PartAttr>))
    return op->emitError() << "attribute '" << attr::parts << "' is "
                           << attribute
                           << ", expected a non-empty array of #hone.part";
  SmallVector<PartAttr> parts(array.getAsRange<PartAttr>());
  for (auto [index, part] : llvm::enumerate(parts)) {
    if (!tensor || (isWhole && !isInside(part, tensor)))
      return op->emitError() << "part '" << part.getName().getValue()
                             << "' lies outside its argument of type " << type;
    for (PartAttr before : ArrayRef(parts).take_front(index)) {
      if (before.getName() == part.getName())
        return op->emitError()
               << "two parts are named '" << part.getName().getValue() << "'";
      if (overlap(before, part))
        return op->emitError()
               << "parts '" << before.getName().getValue() << "' and '"
               << part.getName().getValue() << "' overlap";
    }
  }
  return success();
}

/// Whether tensors of `kind` have values that files and dumps hold.
static bool mayHaveParts(Attribute kind) {
  auto string = dyn_cast_if_present<StringAttr>(kind);
  return string &&
         llvm::is_contained({kind::param, kind::buffer, kind::opt, kind::grad},
                            string.getValue());
}

/// Checks `hone.parts` together with the attributes beside it.
static LogicalResult verifyPartsOwner(Operation *op, DictionaryAttr owner,
                                      Attribute parts, Type type) {
  if (failed(verifyParts(op, parts, type, !owner.get(attr::sharding))))
    return failure();
  if (!mayHaveParts(owner.get(attr::kind)))
    return op->emitError() << "attribute '" << attr::parts
                           << "' stands on kind " << owner.get(attr::kind)
                           << ", expected param, buffer, opt or grad";
  if (owner.get(attr::aliases) && cast<ArrayAttr>(parts).size() > 1)
    return op->emitError() << "attribute '" << attr::aliases
                           << "' stands beside several parts, expected one";
  return success();
}

/// Checks one attribute of an argument or result.
static LogicalResult verifyStateAttr(Operation *op, NamedAttribute attribute,
                                     bool isResult) {
  StringRef name = attribute.getName();
  auto expect = [&](bool ok, const Twine &expected) -> LogicalResult {
    if (ok)
      return success();
    return op->emitError() << "attribute '" << name << "' is "
                           << attribute.getValue() << ", expected " << expected;
  };
  Attribute value = attribute.getValue();
  if (name == attr::kind) {
    auto string = dyn_cast<StringAttr>(value);
    return expect(
        string && isKind(string.getValue(), isResult),
        isResult ? "a result kind (param, buffer, opt, grad, scalar, "
                   "working_copy, cache, loss, grad_norm, logits, id_check, "
                   "dropped)"
                 : "an argument kind (param, buffer, opt, grad, "
                   "input, rng, scalar, working_copy, cache)");
  }
  if (name == attr::fqn)
    return expect(isa<StringAttr>(value), "a string");
  if (name == attr::role) {
    auto string = dyn_cast<StringAttr>(value);
    return expect(string && (string == "tokens" || string == "targets"),
                  "\"tokens\" or \"targets\"");
  }
  if (name == attr::aliases) {
    auto array = dyn_cast<ArrayAttr>(value);
    return expect(array && llvm::all_of(array, llvm::IsaPred<StringAttr>),
                  "an array of strings");
  }
  if (name == attr::requiresGrad)
    return expect(isa<UnitAttr>(value), "a unit attribute");
  if (name == attr::paramGroup || name == attr::donates) {
    auto integer = dyn_cast<IntegerAttr>(value);
    return expect(integer && integer.getInt() >= 0, "a non-negative integer");
  }
  if (name == attr::vocab || name == attr::ignore) {
    auto integer = dyn_cast<IntegerAttr>(value);
    bool isWide = integer && integer.getType().isInteger(64);
    return name == attr::ignore ? expect(isWide, "an integer of 64 bits")
                                : expect(isWide && integer.getInt() > 0,
                                         "a positive integer of 64 bits");
  }
  if (name == attr::balance)
    return expect(!isResult && isBalance(value),
                  "{counts = \"...\", rate} with a finite rate above 0, on an "
                  "argument");
  if (name == attr::ids) {
    auto dict = dyn_cast<DictionaryAttr>(value);
    return expect(dict && dict.getAs<StringAttr>("op") &&
                      dict.getAs<IntegerAttr>("size") &&
                      dict.getAs<StringAttr>("source"),
                  "{op, size, source}");
  }
  if (name == attr::dropped) {
    auto dict = dyn_cast<DictionaryAttr>(value);
    return expect(dict && dict.getAs<StringAttr>("source") &&
                      dict.getAs<IntegerAttr>("rows") &&
                      dict.getAs<FloatAttr>("factor") &&
                      dict.getAs<FloatAttr>("enough") &&
                      dict.getAs<BoolAttr>("stops"),
                  "{source, rows, factor, enough, stops}");
  }
  if (name == attr::init) {
    auto dict = dyn_cast<DictionaryAttr>(value);
    auto dist = dict ? dict.getAs<StringAttr>("dist") : StringAttr();
    auto has = [&](StringRef key) { return bool(dict.getAs<FloatAttr>(key)); };
    bool ok = dist && llvm::StringSwitch<bool>(dist.getValue())
                          .Case("normal", has("mean") && has("std"))
                          .Case("uniform", has("low") && has("high"))
                          .Case("constant", has("value"))
                          .Case("file", true)
                          .Default(false);
    return expect(ok, "{dist = \"normal\", mean, std}, {dist = \"uniform\", "
                      "low, high}, {dist = \"constant\", value} or {dist = "
                      "\"file\"} with float entries");
  }
  return op->emitError() << "unknown attribute '" << name << "' on "
                         << (isResult ? "a result" : "an argument");
}

LogicalResult HoneDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned index,
                                                    NamedAttribute attribute) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (func && attribute.getName() == attr::parts)
    return verifyPartsOwner(
        op, mlir::function_interface_impl::getArgAttrDict(func, index),
        attribute.getValue(), func.getArgumentTypes()[index]);
  return verifyStateAttr(op, attribute, /*isResult=*/false);
}

LogicalResult HoneDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (func && attribute.getName() == attr::parts)
    return verifyPartsOwner(
        op, mlir::function_interface_impl::getResultAttrDict(func, index),
        attribute.getValue(), func.getResultTypes()[index]);
  return verifyStateAttr(op, attribute, /*isResult=*/true);
}

LogicalResult HoneDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  bool isOfModule = attribute.getName() == attr::meshInvariant ||
                    attribute.getName() == attr::wholeStep;
  if (isOfModule && !(isa<ModuleOp>(op) && isa<UnitAttr>(attribute.getValue())))
    return op->emitError() << attribute.getName().getValue() << " is "
                           << (isa<ModuleOp>(op) ? "no unit attribute"
                                                 : "on no module")
                           << ", expected a unit attribute on a module";
  if (attribute.getName() != attr::version)
    return success();
  auto version = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!version || version.getInt() != dialectVersion)
    return op->emitError() << "dialect version is " << attribute.getValue()
                           << ", expected " << dialectVersion
                           << ": export the model again with this version";
  return success();
}

bool hone::isMeshInvariant(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  return module && module->hasAttr(attr::meshInvariant);
}

bool hone::isGraphOp(Operation *op) {
  if (isa_and_present<HoneDialect>(op->getDialect()))
    return true;
  auto facts = dyn_cast<HoneOpInterface>(op);
  return facts && facts.getKernelFamily() != KernelFamily::collective;
}

StringRef hone::argString(func::FuncOp func, unsigned index, StringRef name) {
  auto string = func.getArgAttrOfType<StringAttr>(index, name);
  return string ? string.getValue() : StringRef();
}

StringRef hone::resultString(func::FuncOp func, unsigned index,
                             StringRef name) {
  auto string = func.getResultAttrOfType<StringAttr>(index, name);
  return string ? string.getValue() : StringRef();
}

SmallVector<unsigned> hone::findResults(func::FuncOp func, StringRef kind) {
  SmallVector<unsigned> found;
  for (unsigned index = 0; index != func.getNumResults(); ++index)
    if (resultString(func, index, attr::kind) == kind)
      found.push_back(index);
  return found;
}
