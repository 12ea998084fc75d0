//===- HoneDialect.cpp - Dialect registration and its attributes ----------===//

#include "hone/IR/Hone.h"

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

void HoneDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "hone/IR/HoneAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "hone/IR/HoneOps.cpp.inc"
      >();
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
             true)
      .Cases(kind::input, kind::rng, !isResult)
      .Cases(kind::loss, kind::gradNorm, isResult)
      .Default(false);
}

/// Checks one attribute of an argument or result.
static LogicalResult verifyStateAttr(Operation *op, NamedAttribute attribute,
                                     bool isResult) {
  StringRef name = attribute.getName();
  auto expect = [&](bool ok, const Twine &wanted) -> LogicalResult {
    if (ok)
      return success();
    return op->emitError() << "attribute '" << name << "' is "
                           << attribute.getValue() << ", expected " << wanted;
  };
  Attribute value = attribute.getValue();
  if (name == attr::kind) {
    auto string = dyn_cast<StringAttr>(value);
    return expect(string && isKind(string.getValue(), isResult),
                  isResult ? "a result kind (param, buffer, opt, grad, scalar, "
                             "loss, grad_norm)"
                           : "an argument kind (param, buffer, opt, grad, "
                             "input, rng, scalar)");
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
  if (name == attr::group || name == attr::vocab || name == attr::donates) {
    auto integer = dyn_cast<IntegerAttr>(value);
    return expect(integer && integer.getInt() >= 0, "a non-negative integer");
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
                                                    unsigned,
                                                    NamedAttribute attribute) {
  return verifyStateAttr(op, attribute, /*isResult=*/false);
}

LogicalResult
HoneDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                         NamedAttribute attribute) {
  return verifyStateAttr(op, attribute, /*isResult=*/true);
}

LogicalResult HoneDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() != attr::version)
    return success();
  auto version = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!version || version.getInt() != dialectVersion)
    return op->emitError() << "dialect version is " << attribute.getValue()
                           << ", this compiler reads " << dialectVersion;
  return success();
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
