//===- LaunchLabel.cpp - What a launch is called --------------------------===//

#include "hone/Plan/LaunchLabel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace hone;
using plan::LaunchOp;

Operation *hone::mainOp(LaunchOp launch) {
  for (Operation &op : launch.getBodyBlock().without_terminator())
    if (cast<HoneOpInterface>(op).getKernelFamily() == launch.getFamily())
      return &op;
  return &launch.getBodyBlock().front();
}

/// The names that a location carries: modules of the user's model, and marks of
/// passes such as "bwd"; innermost last.
static SmallVector<StringRef> namesOf(Location loc) {
  SmallVector<StringRef> names;
  loc->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part))
      names.push_back(name.getName().getValue());
    return WalkResult::advance();
  });
  return names;
}

/// That of a collective of many in place of each names the first.
static std::string nameOfCollective(Location loc) {
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused || fused.getLocations().size() < 2)
    return llvm::join(namesOf(loc), "/");
  std::string first = llvm::join(namesOf(fused.getLocations().front()), "/");
  size_t others = fused.getLocations().size() - 1;
  return first.empty() ? first
                       : first + " and " + std::to_string(others) + " more";
}

std::string hone::labelOf(LaunchOp launch) {
  Operation *main = mainOp(launch);
  std::string label =
      isa<plan::YieldOp>(main) ? "copy" : main->getName().stripDialect().str();
  std::string name = isa<dist::DistDialect>(main->getDialect())
                         ? nameOfCollective(launch.getLoc())
                         : llvm::join(namesOf(launch.getLoc()), "/");
  return name.empty() ? label : label + " " + name;
}

std::string hone::modulePathOf(LaunchOp launch) {
  // What passes write into locations beside the names of modules.
  constexpr llvm::StringLiteral marks[] = {"bwd", "seed", "update", "pad",
                                           "id check"};
  std::optional<SmallVector<StringRef>> common;
  for (StringRef name : namesOf(launch.getLoc())) {
    if (llvm::is_contained(marks, name))
      continue;
    SmallVector<StringRef> path;
    name.split(path, '.');
    if (!common)
      common = path;
    size_t equal = 0;
    while (equal < std::min(common->size(), path.size()) &&
           (*common)[equal] == path[equal])
      ++equal;
    common->truncate(equal);
  }
  return common ? llvm::join(*common, ".") : "";
}
