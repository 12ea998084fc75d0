//===- AbiNumbers.cpp - Numbers that abi.def gives to facts ---------------===//

#include "hone/Plan/AbiNumbers.h"

#include "hone/IR/Hone.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace hone;

/// The number of the enumerator that abi.def calls `text`.
template <typename Enum> static int64_t numberOf(StringRef text) {
  std::optional<Enum> value = honert::enumeratorNamed<Enum>(text);
  assert(value && "the dialect verifies what it names");
  return static_cast<int64_t>(*value);
}

int64_t abi::dtype(Type element) {
  std::string name;
  llvm::raw_string_ostream(name) << element;
  return numberOf<honert::DType>(name);
}

int64_t abi::kind(StringRef kind) { return numberOf<honert::Kind>(kind); }

int64_t abi::action(StringRef action) {
  return numberOf<honert::ActionKind>(action);
}

int64_t abi::direction(StringRef direction) {
  return numberOf<honert::CopyDirection>(direction);
}

int64_t abi::role(StringRef role) {
  return static_cast<int64_t>(
      honert::enumeratorNamed<honert::Role>(role).value_or(honert::Role::none));
}

abi::Init abi::init(DictionaryAttr init) {
  if (!init)
    return {static_cast<int64_t>(honert::InitKind::none), 0, 0};
  auto number = [&](StringRef name) {
    return init.getAs<FloatAttr>(name).getValueAsDouble();
  };
  StringRef dist = init.getAs<StringAttr>("dist").getValue();
  int64_t kind = numberOf<honert::InitKind>(dist);
  switch (static_cast<honert::InitKind>(kind)) {
  case honert::InitKind::constant:
    return {kind, number("value"), 0};
  case honert::InitKind::normal:
    return {kind, number("mean"), number("std")};
  case honert::InitKind::uniform:
    return {kind, number("low"), number("high")};
  case honert::InitKind::none:
  case honert::InitKind::file:
    return {kind, 0, 0};
  }
  llvm_unreachable("an initialisation");
}

std::string abi::aliases(ArrayAttr names) {
  if (!names)
    return "";
  return llvm::join(names.getAsValueRange<StringAttr>(), "\n");
}
