//===- FunctionPlanner.cpp - Where the values of a function lie -----------===//
//
// Views share a storage, donated results take their argument's, a launch may
// write over an operand that dies. The storages are packed by lifetime.
//
//===----------------------------------------------------------------------===//

#include "FunctionPlanner.h"
#include "MovedValues.h"

#include "hone/Analysis/Fusion/CollectiveGroups.h"
#include "hone/Analysis/Fusion/RowSpace.h"
#include "hone/Analysis/Layout/Strides.h"
#include "hone/Analysis/Layout/Views.h"
#include "hone/Analysis/Memory/Scratch.h"
#include "hone/Plan/Plan.h"
#include "hone/Sharding/IR/Dist.h"

using namespace mlir;
using namespace hone;

int FunctionPlanner::newStorage(Type type, int64_t position) {
  Storage storage;
  storage.bytes = byteSize(type);
  storage.first = storage.last = position;
  storages.push_back(storage);
  return storages.size() - 1;
}

void FunctionPlanner::placeContiguous(Value value, int storage) {
  places[value] = {storage, 0, rowMajorStrides(typeOf(value).getShape())};
}

void FunctionPlanner::use(Value value, int64_t position) {
  Storage &storage = storages[places[value].storage];
  storage.last = std::max(storage.last, position);
}

/// Strides of `from` (of type `type`) seen with the shape of `to`: dimensions
/// of `to` split or merge runs of equal stride.
bool FunctionPlanner::restride(const Place &from, RankedTensorType type,
                               RankedTensorType to,
                               SmallVectorImpl<int64_t> &strides) {
  ArrayRef<int64_t> shape = type.getShape(), target = to.getShape();
  if (type.getNumElements() == 0) {
    strides = rowMajorStrides(target);
    return true;
  }
  strides.assign(target.size(), 0);
  size_t dim = shape.size(), out = target.size();
  while (out > 0) {
    // Take source dimensions until they hold a whole number of target ones.
    if (target[out - 1] == 1) {
      strides[--out] = 1;
      continue;
    }
    while (dim > 0 && shape[dim - 1] == 1)
      --dim;
    if (dim == 0)
      return false;
    int64_t run = shape[dim - 1], stride = from.strides[dim - 1];
    --dim;
    int64_t covered = 1;
    while (covered < run) {
      if (out == 0)
        return false;
      int64_t size = target[out - 1];
      strides[out - 1] = stride * covered;
      covered *= size;
      --out;
      while (covered > run) { // the target dimension spans more of the source
        while (dim > 0 && shape[dim - 1] == 1)
          --dim;
        if (dim == 0 || from.strides[dim - 1] != stride * run)
          return false;
        run *= shape[--dim];
      }
    }
    if (covered != run)
      return false;
  }
  return true;
}

LogicalResult FunctionPlanner::placeView(Operation *op) {
  Value result = op->getResult(0);
  if (places.contains(result))
    return success(); // a placement, decided before
  const Place from = places.lookup(op->getOperand(0));
  Place place = from;
  if (auto slice = dyn_cast<SliceOp>(op)) {
    int64_t width = elementByteWidth(typeOf(result).getElementType());
    for (auto [start, stride] : llvm::zip(slice.getStarts(), from.strides))
      place.byteOffset += start * stride * width;
    // A run of a contiguous tensor is one, whatever its single indices skip.
    if (isContiguous(slice) && ArrayRef<int64_t>(from.strides) ==
                                   ArrayRef<int64_t>(rowMajorStrides(
                                       typeOf(slice.getOperand()).getShape())))
      place.strides = rowMajorStrides(typeOf(result).getShape());
  } else if (isa<ReshapeOp>(op)) {
    if (!restride(from, typeOf(op->getOperand(0)), typeOf(result),
                  place.strides))
      return op->emitOpError("cannot be a view of its strided operand");
  } else {
    return op->emitOpError("is no view that the plan knows");
  }
  places[result] = place;
  return success();
}

ArrayRef<unsigned> FunctionPlanner::reusableOperands(FusedOp group,
                                                     unsigned result) {
  auto [entry, isNew] = reusable.try_emplace(group);
  if (isNew) {
    entry->second.resize(group.getNumResults());
    for (AliasPair pair : group.getReusableOperands())
      entry->second[pair.result].push_back(pair.operand);
  }
  return entry->second[result];
}

/// Whether nothing after `group` reads `value`, also through views, and the
/// group itself only by operands for which `mayOverwrite` holds.
bool FunctionPlanner::diesAt(Value value, FusedOp group,
                             function_ref<bool(OpOperand &)> mayOverwrite) {
  int64_t when = position[group];
  SmallVector<Value> aliases = {value};
  while (!aliases.empty()) {
    Value alias = aliases.pop_back_val();
    for (OpOperand &use : alias.getUses()) {
      Operation *reader = use.getOwner();
      if (isStorageView(reader)) {
        aliases.push_back(reader->getResult(0));
        continue;
      }
      if (isa<func::ReturnOp>(reader))
        return false;
      // A collective reads until it is waited for.
      auto begin = dyn_cast<FusedOp>(reader);
      FusedOp wait = begin ? waitFor(begin) : FusedOp();
      if (position[wait ? wait.getOperation() : reader] < when)
        continue;
      if (reader != group || !mayOverwrite(use))
        return false;
    }
  }
  return true;
}

/// Whether the group that makes `result` may write it over `argument`, which
/// dies there.
bool FunctionPlanner::mayTakeOver(Value result, BlockArgument argument) {
  auto group = result.getDefiningOp<FusedOp>();
  if (!group || result.getType() != argument.getType() ||
      places.contains(result))
    return false;
  ArrayRef<unsigned> operands =
      reusableOperands(group, cast<OpResult>(result).getResultNumber());
  return diesAt(argument, group, [&](OpOperand &use) {
    return llvm::is_contained(operands, use.getOperandNumber());
  });
}

void FunctionPlanner::planDonations() {
  Operation *ret = block.getTerminator();
  for (OpOperand &operand : ret->getOpOperands()) {
    auto index = func.getResultAttrOfType<IntegerAttr>(
        operand.getOperandNumber(), attr::donates);
    if (!index)
      continue;
    BlockArgument argument = block.getArgument(index.getInt());
    Value result = operand.get();
    if (result == argument)
      continue;
    if (!takesOver.contains(result) && mayTakeOver(result, argument))
      takeOver(result, argument);
    else
      copies.emplace_back(result, argument);
  }
}

/// Writes `result` over `argument`, and with it the values that only the next
/// one is made from in place: partial sums of an accumulated gradient.
void FunctionPlanner::takeOver(Value result, BlockArgument argument) {
  while (result) {
    takesOver[result] = argument;
    auto group = result.getDefiningOp<FusedOp>();
    Value before;
    unsigned number = cast<OpResult>(result).getResultNumber();
    for (unsigned index : reusableOperands(group, number)) {
      Value operand = group.getOperand(index);
      if (operand.hasOneUse() && !takesOver.contains(operand) &&
          mayTakeOver(operand, argument))
        before = operand;
    }
    result = before;
  }
}

void FunctionPlanner::planSaves() {
  llvm::SmallDenseSet<Value> overwritten;
  for (auto [result, argument] : copies)
    overwritten.insert(argument);
  for (Value result : block.getTerminator()->getOperands())
    if (overwritten.contains(stripViews(result)) && !saved.contains(result))
      saved[result] = newStorage(result.getType(), end);
}

/// Columns [start, limit) of `slice`, if it takes all rows.
static std::optional<std::pair<int64_t, int64_t>> columnsOf(SliceOp slice) {
  auto from = cast<RankedTensorType>(slice.getOperand().getType());
  auto type = cast<RankedTensorType>(slice.getType());
  if (type.getRank() == 0 ||
      type.getShape().drop_back() != from.getShape().drop_back() ||
      slice.getStrides().back() != 1)
    return std::nullopt;
  return std::make_pair(slice.getStarts().back(), slice.getLimits().back());
}

/// Whether the kernel of `group` can walk operand `index` where it lies at
/// `strides`, with gaps.
static bool canWalk(FusedOp group, unsigned index, ArrayRef<int64_t> strides) {
  Block &body = group.getBody().front();
  Value operand = body.getArgument(index);
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(operand.getType()).getShape();
  if (shape.empty())
    return true;
  auto leading = llvm::to_vector(llvm::seq<int64_t>(0, shape.size() - 1));
  switch (group.getFamily()) {
  case KernelFamily::dataMovement:
  case KernelFamily::line:
    return true;
  case KernelFamily::attention:
  case KernelFamily::rope: // both walk heads
    return strides.back() == 1;
  case KernelFamily::contraction:
    return strides.back() == 1 && collapseDims(shape, strides, leading);
  case KernelFamily::map:
  case KernelFamily::row:
  case KernelFamily::column: {
    std::optional<RowSpace> space = RowSpace::of(body);
    return space && space->canWalk(operand, strides);
  }
  default:
    return false;
  }
}

/// Whether all that read `value`, also through views, can do so at `place`,
/// where it has gaps between its rows.
bool FunctionPlanner::isReadableAt(Value value, const Place &place) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *reader = use.getOwner();
    if (auto group = dyn_cast<FusedOp>(reader))
      return canWalk(group, use.getOperandNumber(), place.strides);
    if (!isViewOfOperand(reader))
      return false;
    Value view = reader->getResult(0);
    Place seen = place;
    return (isa<SliceOp>(reader) ||
            restride(place, typeOf(value), typeOf(view), seen.strides)) &&
           isReadableAt(view, seen);
  });
}

/// An operand that the group may write `result` over although it is only a part
/// of a value: columns that nothing else reads, beside others that may live,
/// and that no other result (`taken`) is written over.
Value FunctionPlanner::deadPart(FusedOp group, unsigned result,
                                const llvm::SmallDenseSet<Value> &taken) {
  for (unsigned index : reusableOperands(group, result)) {
    Value operand = group.getOperand(index), part = operand;
    if (taken.contains(operand) || underParts.contains(operand))
      continue;
    for (; part.hasOneUse(); part = part.getDefiningOp()->getOperand(0))
      if (!part.getDefiningOp<ReshapeOp>())
        break;
    auto slice = part.getDefiningOp<SliceOp>();
    if (!slice || !part.hasOneUse() || !columnsOf(slice))
      continue;
    Value whole = slice.getOperand();
    if (!whole.getDefiningOp<FusedOp>() ||
        storages[places[whole].storage].persistent)
      continue;
    auto isApart = [&, own = *columnsOf(slice)](Operation *user) {
      auto other = dyn_cast<SliceOp>(user);
      if (other == slice)
        return true;
      auto columns = other ? columnsOf(other) : std::nullopt;
      return columns &&
             (columns->second <= own.first || own.second <= columns->first);
    };
    if (llvm::all_of(whole.getUsers(), isApart) &&
        isReadableAt(group.getResult(result), places[operand]))
      return operand;
  }
  return {};
}

void FunctionPlanner::placeResults(FusedOp group, int64_t when) {
  llvm::SmallDenseSet<int> taken;
  llvm::SmallDenseSet<Value> takenParts;
  for (auto [index, result] : llvm::enumerate(group.getResults())) {
    if (places.contains(result))
      continue;                  // part of a concatenation
    if (endsCollective(group)) { // which has put it there
      const Place place = places.lookup(group.getOperand(0));
      places[result] = place;
      continue;
    }
    if (auto found = takesOver.find(result); found != takesOver.end()) {
      placeContiguous(result, places[found->second].storage);
      continue;
    }
    if (isReload(group) || moved.contains(result)) { // apart from others
      placeContiguous(result, newStorage(result.getType(), when));
      continue;
    }
    if (Value part = deadPart(group, index, takenParts)) {
      takenParts.insert(part);
      overParts[result] = part;
      Place place = places[part];
      places[result] = place;
      continue;
    }
    int storage = -1;
    for (unsigned operand : reusableOperands(group, index)) {
      const Place &place = places[group.getOperand(operand)];
      const Storage &candidate = storages[place.storage];
      bool dies = !candidate.persistent && !candidate.isStaged &&
                  candidate.last == when &&
                  candidate.bytes == byteSize(result.getType()) &&
                  place.byteOffset == 0 && !taken.contains(place.storage);
      // The same storage under two operands: only one of them may be written.
      unsigned readers = llvm::count_if(group.getOperands(), [&](Value other) {
        return places[other].storage == place.storage;
      });
      if (dies && readers == 1) {
        storage = place.storage;
        break;
      }
    }
    if (storage < 0)
      storage = newStorage(result.getType(), when);
    taken.insert(storage);
    placeContiguous(result, storage);
  }
}

const StateArgument &FunctionPlanner::stateOf(BlockArgument argument) const {
  unsigned index = argument.getArgNumber();
  return state
      .find({argString(func, index, attr::kind),
             argString(func, index, attr::fqn)})
      ->second;
}

/// Of two micro-batches, the second has instance 1, where there are several.
int64_t FunctionPlanner::offsetInWindow(BlockArgument argument) {
  DictionaryAttr attrs = func.getArgAttrDict(argument.getArgNumber());
  auto window = attrs.getAs<IntegerAttr>(dist::windowAttr);
  if (!attrs.contains(plan::besideAttr) || !window || window.getInt() == 1)
    return 0;
  return int64_t(llvm::alignTo(byteSize(argument.getType()), plan::alignment));
}

void FunctionPlanner::placeArguments() {
  for (BlockArgument argument : block.getArguments()) {
    int storage = newStorage(argument.getType(), 0);
    const StateArgument &known = stateOf(argument);
    storages[storage].isStaged = known.isOnHost();
    storages[storage].persistent = !known.isOnHost();
    storages[storage].last = end;
    if (!known.isOnHost())
      storages[storage].offset = known.offset + offsetInWindow(argument);
    placeContiguous(argument, storage);
  }
}

/// The position of the last reader of each value, through views: in-place
/// decisions need it before storages are final. The copy down of a moved value
/// reads it, not the reload.
DenseMap<Value, int64_t> FunctionPlanner::lastReaders() {
  DenseMap<Value, int64_t> lastRead;
  for (const MovedValue &move : moves)
    if (!move.isState())
      lastRead[move.value()] = move.downEnd;
  for (Operation &op : llvm::reverse(block)) {
    if (isReload(&op))
      continue;
    for (Value operand : op.getOperands()) {
      int64_t when = isStorageView(&op)
                         ? lastRead.lookup(op.getResult(0))
                         : (isa<func::ReturnOp>(op) ? end : position[&op]);
      int64_t &last = lastRead[operand];
      last = std::max(last, when);
    }
  }
  return lastRead;
}

void FunctionPlanner::packTemporaries(const PackingLimits &limits) {
  SmallVector<BufferRequest> requests;
  for (auto [index, storage] : llvm::enumerate(storages)) {
    if (storage.persistent || (storage.isStaged && storage.first < 0))
      continue;
    requests.push_back({storage.bytes, storage.first, storage.last});
    packed.push_back(index);
  }
  packing = packBuffers(requests, plan::alignment, limits);
  for (auto [index, offset] : llvm::zip(packed, packing.offsets))
    storages[index].offset = offset;
}

LogicalResult FunctionPlanner::plan(const PackingLimits &limits) {
  for (Operation &op : block)
    position[&op] = end++;
  placeArguments();
  planPlacements();
  planDonations();
  planSaves();
  if (failed(planStages()) || failed(planMoves(limits)))
    return failure();
  DenseMap<Value, int64_t> lastRead = lastReaders();
  for (Operation &op : block.without_terminator()) {
    int64_t when = position[&op];
    if (auto group = dyn_cast<FusedOp>(op)) {
      placeResults(group, when);
      SmallVector<int> &own = scratch[&op];
      for (MemRefType type : scratchTypes(group, target))
        own.push_back(newStorage(type, when));
      // Until it is done, a collective reads.
      if (FusedOp wait = waitFor(group))
        for (Value operand : group.getOperands())
          use(operand, position[wait]);
    } else if (failed(placeView(&op))) {
      return failure();
    }
    for (Value result : op.getResults()) {
      use(result, when);
      use(result, lastRead.lookup(result));
    }
  }
  for (auto [result, argument] : copies)
    use(result, end);
  findStageLives();
  for (const MovedValue &move : moves)
    storages[places[move.reload->getResult(0)].storage].first = move.upBegin;
  packTemporaries(limits);
  return success();
}
