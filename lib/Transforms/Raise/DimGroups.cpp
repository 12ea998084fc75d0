//===- DimGroups.cpp - What a reshape joins and splits --------------------===//

#include "DimGroups.h"

using namespace mlir;
using namespace hone;

std::optional<SmallVector<DimGroup>> hone::groupDims(ArrayRef<int64_t> from,
                                                     ArrayRef<int64_t> to) {
  if (llvm::is_contained(from, 0))
    return std::nullopt;
  SmallVector<DimGroup> groups;
  size_t i = 0, j = 0;
  while (i != from.size() || j != to.size()) {
    DimGroup group;
    bool endsFrom = i == from.size(), endsTo = j == to.size();
    if (endsFrom || (!endsTo && to[j] == 1 && from[i] != 1)) {
      group.to.push_back(j++);
    } else if (endsTo || (from[i] == 1 && to[j] != 1)) {
      group.from.push_back(i++);
    } else {
      int64_t held = from[i], made = to[j];
      group.from.push_back(i++);
      group.to.push_back(j++);
      while (held != made)
        if (held < made) {
          held *= from[i];
          group.from.push_back(i++);
        } else {
          made *= to[j];
          group.to.push_back(j++);
        }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}
