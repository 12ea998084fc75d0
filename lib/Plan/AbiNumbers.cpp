//===- AbiNumbers.cpp - Numbers that abi.def gives to facts ---------------===//

#include "hone/Plan/AbiNumbers.h"

#include "hone/IR/Hone.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace hone;

int64_t abi::dtype(Type element) {
  if (element.isF32())
    return 0;
  if (element.isF64())
    return 1;
  if (element.isBF16())
    return 2;
  if (element.isF16())
    return 3;
  if (element.isInteger(64))
    return 4;
  if (element.isInteger(32))
    return 5;
  if (element.isInteger(8))
    return 6;
  assert(element.isInteger(1) && "no element type of the dialect");
  return 7;
}

int64_t abi::kind(StringRef kind) {
  int64_t number = llvm::StringSwitch<int64_t>(kind)
                       .Case(kind::param, 0)
                       .Case(kind::buffer, 1)
                       .Case(kind::opt, 2)
                       .Case(kind::grad, 3)
                       .Case(kind::input, 4)
                       .Case(kind::rng, 5)
                       .Case(kind::scalar, 6)
                       .Case(kind::shadow, 7)
                       .Default(-1);
  assert(number >= 0 && "the dialect verifies kinds");
  return number;
}

int64_t abi::role(StringRef role) {
  return llvm::StringSwitch<int64_t>(role)
      .Case("tokens", 1)
      .Case("targets", 2)
      .Default(0);
}

abi::Init abi::init(DictionaryAttr init) {
  if (!init)
    return {0, 0, 0};
  auto number = [&](StringRef name) {
    return init.getAs<FloatAttr>(name).getValueAsDouble();
  };
  StringRef dist = init.getAs<StringAttr>("dist").getValue();
  if (dist == "constant")
    return {1, number("value"), 0};
  if (dist == "normal")
    return {2, number("mean"), number("std")};
  if (dist == "uniform")
    return {3, number("low"), number("high")};
  return {4, 0, 0}; // file
}

std::string abi::aliases(ArrayAttr names) {
  if (!names)
    return "";
  return llvm::join(names.getAsValueRange<StringAttr>(), "\n");
}
