//===- Locations.cpp - Places in the user's source ------------------------===//

#include "hone/IR/Locations.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

std::string hone::describeLocation(Location location) {
  std::string place;
  location->walk([&](Location inner) {
    if (auto name = dyn_cast<NameLoc>(inner); name && place.empty())
      place = name.getName().str();
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    place = file.getFilename().str();
    if (file.getLine() != 0) // 0: unknown, as in bytecode
      place += llvm::formatv(":{0}", file.getLine());
    if (file.getColumn() != 0) // 0: unknown, as in source lines of Python
      place += llvm::formatv(":{0}", file.getColumn());
    return WalkResult::interrupt();
  });
  return place;
}
