//===- StageSlices.cpp - Which chunk computes what ------------------------===//

#include "Sharding/Stages/StageSlices.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

//===----------------------------------------------------------------------===//
// Who computes what
//===----------------------------------------------------------------------===//

FailureOr<CutFunction> CutFunction::find(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return func.emitError("has no body of one block");
  CutFunction cut(func);
  for (Operation &op : func.front().without_terminator()) {
    std::optional<int64_t> chunk;
    if (auto boundary = dyn_cast<BoundaryOp>(op)) {
      std::optional<int64_t> from = cut.chunkOf(boundary.getOperand());
      if (from && *from != int64_t(boundary.getFrom()))
        return boundary.emitOpError("is from chunk ")
               << int64_t(boundary.getFrom()) << ", but chunk " << *from
               << " computes its operand";
      chunk = boundary.getTo();
    } else {
      for (Value operand : op.getOperands()) {
        std::optional<int64_t> other = cut.chunkOf(operand);
        if (other && chunk && *other != *chunk)
          return op.emitOpError("reads values of the chunks ")
                 << *chunk << " and " << *other
                 << ", expected a dist.boundary between them";
        if (other)
          chunk = other;
      }
    }
    if (chunk)
      for (Value result : op.getResults())
        cut.chunks[result] = *chunk;
  }
  return cut;
}

std::optional<int64_t> CutFunction::chunkOf(Value value) const {
  auto entry = chunks.find(value);
  if (entry != chunks.end())
    return entry->second;
  // No boundary is before it.
  if (origins.of(value) == Origin::Activation && origins.readsInput(value))
    return 0;
  return std::nullopt;
}

/// The first chunk that computes something from `value`, which any may compute.
static std::optional<int64_t> firstReader(const CutFunction &cut, Value value) {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  std::optional<int64_t> first;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (Operation *user : next.getUsers())
      for (Value result : user->getResults()) {
        std::optional<int64_t> chunk = cut.chunkOf(result);
        if (!chunk)
          work.push_back(result);
        else if (!first || *chunk < *first)
          first = chunk;
      }
  }
  return first;
}

int64_t CutFunction::chunkOfResult(unsigned index) const {
  func::FuncOp whole = func;
  Value value = whole.front().getTerminator()->getOperand(index);
  if (std::optional<int64_t> chunk = chunkOf(value))
    return *chunk;
  // A check of ids: who reads the ids has them.
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  std::optional<int64_t> first;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (Operation *op = next.getDefiningOp()) {
      work.append(op->operand_begin(), op->operand_end());
      continue;
    }
    unsigned argument = cast<BlockArgument>(next).getArgNumber();
    if (argString(func, argument, attr::kind) != kind::input)
      continue;
    std::optional<int64_t> reader = firstReader(*this, next);
    if (reader && (!first || *reader < *first))
      first = reader;
  }
  return first.value_or(0);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

bool dist::handsGradient(const CutFunction &part, BoundaryOp boundary) {
  return boundary.getParameter() &&
         part.origins.of(boundary.getOperand()) != Origin::Weight;
}

LogicalResult Slice::add(const CutFunction &part, Value value, int64_t chunk) {
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op) {
      arguments.insert(next);
      continue;
    }
    std::optional<int64_t> where = part.chunkOf(next);
    if (where && *where != chunk)
      return op->emitOpError("is of chunk ")
             << *where << " and read by chunk " << chunk
             << ", expected a dist.boundary between them";
    if (!ops.insert(op).second)
      continue;
    auto boundary = dyn_cast<BoundaryOp>(op);
    bool isHanded =
        boundary && (!boundary.getParameter() || handsGradient(part, boundary));
    if (!isHanded)
      work.append(op->operand_begin(), op->operand_end());
  }
  return success();
}

SmallVector<BoundaryOp> dist::boundariesFrom(const CutFunction &part,
                                             int64_t chunk) {
  SmallVector<BoundaryOp> found;
  func::FuncOp func = part.func;
  for (auto boundary : func.front().getOps<BoundaryOp>())
    if (int64_t(boundary.getFrom()) == chunk &&
        (!boundary.getParameter() || handsGradient(part, boundary)))
      found.push_back(boundary);
  return found;
}

FailureOr<Slice> dist::findSlice(const CutFunction &part, int64_t chunk) {
  Slice slice;
  func::FuncOp func = part.func;
  for (BoundaryOp boundary : boundariesFrom(part, chunk))
    if (failed(slice.add(part, boundary.getOperand(), chunk)))
      return failure();
  Operation *end = func.front().getTerminator();
  for (unsigned index = 0; index != end->getNumOperands(); ++index) {
    if (part.chunkOfResult(index) != chunk)
      continue;
    if (failed(slice.add(part, end->getOperand(index), chunk)))
      return failure();
    if (auto donor =
            func.getResultAttrOfType<IntegerAttr>(index, attr::donates))
      slice.arguments.insert(func.getArgument(donor.getInt()));
  }
  return slice;
}

BoundaryShardings dist::findBoundaryShardings(const CutFunction &accumulate) {
  BoundaryShardings found;
  func::FuncOp func = accumulate.func;
  for (auto boundary : func.front().getOps<BoundaryOp>()) {
    auto shardings = boundary->getAttrOfType<ArrayAttr>(shardingsAttr);
    if (!shardings || boundary.getParameter() ||
        boundary.getTo() < boundary.getFrom())
      continue;
    // As a request, without the annotation that it comes from. Its priority
    // stays: else positions, divided at the first level, would win over
    // weights.
    SmallVector<DimAttr> dims;
    for (DimAttr dim : cast<ShardingAttr>(shardings[0]).getDims())
      dims.push_back(DimAttr::get(
          func.getContext(), dim.getAxes(), dim.getCuts(), dim.getSnake(),
          /*isOpen=*/false, dim.getPriority(), /*source=*/{}));
    found[boundary.getTo()] =
        ShardingAttr::get(func.getContext(), dims, {}, ReduceKind::sum);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Owners
//===----------------------------------------------------------------------===//

FailureOr<Owners> Owners::find(const CutFunction &accumulate,
                               const pipeline::Shape &shape) {
  Owners found;
  found.shape = shape;
  func::FuncOp func = accumulate.func;
  for (auto boundary : func.front().getOps<BoundaryOp>()) {
    if (!boundary.getParameter() || handsGradient(accumulate, boundary))
      continue;
    StringRef name = *boundary.getParameter();
    found.owners[name] = boundary.getFrom();
    found.borrowers[name].push_back(boundary.getTo());
  }
  for (auto &entry : found.borrowers) {
    llvm::sort(entry.second);
    entry.second.erase(llvm::unique(entry.second), entry.second.end());
  }
  for (int64_t chunk = 0; chunk != shape.chunks(); ++chunk) {
    FailureOr<Slice> slice = findSlice(accumulate, chunk);
    if (failed(slice))
      return failure();
    for (BlockArgument argument : func.getArguments()) {
      unsigned index = argument.getArgNumber();
      StringRef kind = argString(func, index, attr::kind);
      StringRef name = argString(func, index, attr::fqn);
      if (!slice->arguments.contains(argument) ||
          !llvm::is_contained({kind::param, kind::workingCopy, kind::buffer},
                              kind))
        continue;
      auto [owner, isNew] = found.owners.try_emplace(name, chunk);
      if (kind != kind::buffer && owner->second != chunk &&
          !llvm::is_contained(found.borrowersOf(name), chunk))
        return func.emitError("parameter '")
               << name << "' is read by the chunks " << owner->second << " and "
               << chunk << ", expected a dist.boundary between them";
    }
  }
  return found;
}

std::optional<int64_t> Owners::ownerOf(StringRef name) const {
  auto entry = owners.find(name);
  if (entry == owners.end())
    return std::nullopt;
  return stageOf(entry->second);
}

ArrayRef<int64_t> Owners::borrowersOf(StringRef name) const {
  auto entry = borrowers.find(name);
  return entry == borrowers.end() ? ArrayRef<int64_t>()
                                  : ArrayRef<int64_t>(entry->second);
}
