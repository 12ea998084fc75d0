//===- UpdateGroups.cpp - Which updates share a kernel --------------------===//

#include "hone/Analysis/Fusion/UpdateGroups.h"

#include "hone/Analysis/Layout/RandomPart.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace hone;

/// How a part of a parameter numbers its elements, but for how many there are.
static Attribute numberingOf(RandomOpInterface op) {
  RandomPart part = RandomPart::of(op);
  SmallVector<int64_t> numbers = {part.keepsCounters(),
                                  part.dims.front().stride};
  for (RandomPart::Dim dim : ArrayRef(part.dims).drop_front())
    numbers.append({dim.size, dim.stride});
  return DenseI64ArrayAttr::get(op->getContext(), numbers);
}

Attribute hone::updateKey(Operation *op) {
  MLIRContext *context = op->getContext();
  SmallVector<Attribute> parts = {op->getName().getIdentifier()};
  for (NamedAttribute attribute : op->getAttrDictionary())
    if (attribute.getName() != "salt" && attribute.getName() != "whole") {
      parts.push_back(attribute.getName());
      parts.push_back(attribute.getValue());
    }
  if (auto random = dyn_cast<RandomOpInterface>(op);
      random && random.getOrigin())
    parts.push_back(numberingOf(random));
  for (Type type : op->getOperandTypes())
    parts.push_back(TypeAttr::get(getElementTypeOrSelf(type)));
  for (OpResult result : op->getResults())
    parts.push_back(result.use_empty()
                        ? Attribute(UnitAttr::get(context))
                        : TypeAttr::get(getElementTypeOrSelf(result)));
  return ArrayAttr::get(context, parts);
}

SmallVector<SmallVector<Operation *>> hone::planUpdates(Block &block) {
  llvm::MapVector<Attribute, SmallVector<Operation *>> shared;
  SmallVector<SmallVector<Operation *>> groups;
  Operation *end = block.getTerminator();
  for (Operation &op : block.without_terminator()) {
    if (!isa<UpdateOpInterface>(op))
      continue;
    if (llvm::all_of(op.getUsers(),
                     [&](Operation *user) { return user == end; }))
      shared[updateKey(&op)].push_back(&op);
    else
      groups.push_back({&op});
  }
  for (auto &[key, ops] : shared)
    groups.push_back(std::move(ops));
  return groups;
}
