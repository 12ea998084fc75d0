//===- PlanMemory.cpp - From tensor functions to a scheduled program ------===//
//
// Three steps per function: find the storage of every value (views share one,
// donated results take their argument's, a launch may write over an operand
// that dies), pack the storages by lifetime, and write the plan.
//
//===----------------------------------------------------------------------===//

#include "hone/Analysis/MemoryPlan.h"
#include "hone/Analysis/Scratch.h"
#include "hone/Analysis/Strides.h"
#include "hone/Analysis/Views.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace hone {
#define GEN_PASS_DEF_PLANMEMORY
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {

/// Memory of one or more values of a function.
struct Storage {
  int64_t bytes = 0;
  int64_t first = 0, last = 0; // positions of the launches around its life
  int64_t offset = -1;         // in the arena, once known
  bool persistent = false;     // an argument's
};

/// Where a value lies: part of a storage, with strides in elements.
struct Place {
  int storage = -1;
  int64_t byteOffset = 0;
  SmallVector<int64_t> strides;
};

/// An argument of the program: state of one kind and name.
struct StateArgument {
  RankedTensorType type;
  int64_t offset;
  DictionaryAttr attributes;
};

using StateKey = std::pair<StringRef, StringRef>; // kind, fqn
using StateMap = llvm::MapVector<StateKey, StateArgument>;

/// The storage plan of one function.
class FunctionPlanner {
public:
  FunctionPlanner(func::FuncOp func, const StateMap &state)
      : func(func), state(state), block(func.getBody().front()) {}

  /// Finds storages; packs those that are not persistent from byte 0 on.
  LogicalResult plan();
  /// Bytes of the packed storages.
  int64_t temporaryBytes() const { return packing.bytes; }
  /// Writes the function into `program`, temporaries from `base` on.
  void emit(OpBuilder &builder, int64_t base);

private:
  static RankedTensorType typeOf(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  int newStorage(Type type, int64_t position);
  void placeContiguous(Value value, int storage);
  LogicalResult placeView(Operation *op);
  bool restride(const Place &from, RankedTensorType type, RankedTensorType to,
                SmallVectorImpl<int64_t> &strides);
  void planPlacements();
  void planDonations();
  void planSaves();
  ArrayRef<AliasPair> reusableOperands(GroupOp group);
  bool mayTakeOver(Value result, BlockArgument argument);
  void takeOver(Value result, BlockArgument argument);
  void placeResults(GroupOp group, int64_t position);
  void use(Value value, int64_t position);
  Value bufferFor(OpBuilder &builder, Value value);
  Value createBuffer(OpBuilder &builder, Value value);
  void emitEnd(OpBuilder &builder);
  MemRefType memrefOf(Value value);

  func::FuncOp func;
  const StateMap &state;
  Block &block;
  DenseMap<Operation *, int64_t> position;
  int64_t end = 0;
  SmallVector<Storage> storages;
  DenseMap<Value, Place> places;
  /// What groups may write over, which is asked for every result: some groups
  /// have thousands.
  DenseMap<Operation *, std::vector<AliasPair>> reusable;
  /// Result value -> argument that it takes the storage of.
  DenseMap<Value, BlockArgument> takesOver;
  /// Donated results that need a copy at the end, with their argument.
  SmallVector<std::pair<Value, BlockArgument>> copies;
  /// Results that lie in an argument which one of those copies overwrites, with
  /// the storage that saves them before.
  llvm::MapVector<Value, int> saved;
  DenseMap<Operation *, SmallVector<int>> scratch;
  Packing packing;
  SmallVector<int> packed; // storage of each packed request
  int64_t temporaryBase = 0;
  DenseMap<Value, Value> buffers;
  DenseMap<int, Value> roots;
};

} // namespace

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

/// Concatenations written in place: their operands lie in their storage.
void FunctionPlanner::planPlacements() {
  for (auto concat : block.getOps<ConcatOp>()) {
    int storage = newStorage(concat.getType(), position[concat]);
    placeContiguous(concat.getResult(), storage);
    SmallVector<int64_t> strides = places[concat.getResult()].strides;
    int64_t width = elementByteWidth(typeOf(concat).getElementType());
    int64_t dim = concat.getDim(), start = 0;
    for (Value input : concat.getInputs()) {
      ArrayRef<int64_t> shape = typeOf(input).getShape();
      Place place = {storage, start * width,
                     isContiguous(concat) ? rowMajorStrides(shape) : strides};
      start += shape[dim] * strides[dim];
      places[input] = place;
      auto reshape = input.getDefiningOp<ReshapeOp>();
      Value made = reshape ? reshape.getOperand() : input;
      if (reshape) {
        Place inner = place;
        bool split =
            restride(place, typeOf(input), typeOf(made), inner.strides);
        assert(split && "isPlacement accepts only such reshapes");
        (void)split;
        places[made] = inner;
      }
      storages[storage].first =
          std::min(storages[storage].first, position[made.getDefiningOp()]);
    }
  }
}

ArrayRef<AliasPair> FunctionPlanner::reusableOperands(GroupOp group) {
  auto [entry, isNew] = reusable.try_emplace(group);
  if (isNew)
    llvm::append_range(entry->second, group.getReusableOperands());
  return entry->second;
}

/// Whether the group that makes `result` may write it over `argument`: no
/// later reader of the argument, and at the group itself only an operand that
/// the group may overwrite with this result.
bool FunctionPlanner::mayTakeOver(Value result, BlockArgument argument) {
  auto group = result.getDefiningOp<GroupOp>();
  if (!group || result.getType() != argument.getType() ||
      places.contains(result))
    return false;
  int64_t when = position[group];
  ArrayRef<AliasPair> pairs = reusableOperands(group);
  SmallVector<Value> aliases = {argument};
  while (!aliases.empty()) {
    Value alias = aliases.pop_back_val();
    for (OpOperand &use : alias.getUses()) {
      Operation *reader = use.getOwner();
      if (isa<ReshapeOp, SliceOp, ConcatOp>(reader)) {
        aliases.push_back(reader->getResult(0));
        continue;
      }
      if (isa<func::ReturnOp>(reader))
        return false;
      if (position[reader] < when)
        continue;
      bool inPlace =
          reader == group && llvm::any_of(pairs, [&](AliasPair pair) {
            return pair.operand == use.getOperandNumber() &&
                   group.getResult(pair.result) == result;
          });
      if (!inPlace)
        return false;
    }
  }
  return true;
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
    auto group = result.getDefiningOp<GroupOp>();
    Value before;
    for (AliasPair pair : reusableOperands(group)) {
      Value operand = group.getOperand(pair.operand);
      if (group.getResult(pair.result) == result && operand.hasOneUse() &&
          !takesOver.contains(operand) && mayTakeOver(operand, argument))
        before = operand;
    }
    result = before;
  }
}

/// The value that `value` is a part of or sees with another shape.
static Value withoutViews(Value value) {
  while (isa_and_present<ReshapeOp, SliceOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

void FunctionPlanner::planSaves() {
  llvm::SmallDenseSet<Value> overwritten;
  for (auto [result, argument] : copies)
    overwritten.insert(argument);
  for (Value result : block.getTerminator()->getOperands())
    if (overwritten.contains(withoutViews(result)) && !saved.contains(result))
      saved[result] = newStorage(result.getType(), end);
}

void FunctionPlanner::placeResults(GroupOp group, int64_t when) {
  llvm::SmallDenseSet<int> taken;
  ArrayRef<AliasPair> pairs = reusableOperands(group);
  for (auto [index, result] : llvm::enumerate(group.getResults())) {
    if (places.contains(result))
      continue; // part of a concatenation
    if (auto found = takesOver.find(result); found != takesOver.end()) {
      placeContiguous(result, places[found->second].storage);
      continue;
    }
    int storage = -1;
    for (AliasPair pair : pairs) {
      if (pair.result != index)
        continue;
      const Place &place = places[group.getOperand(pair.operand)];
      const Storage &candidate = storages[place.storage];
      bool dies = !candidate.persistent && candidate.last == when &&
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

LogicalResult FunctionPlanner::plan() {
  for (Operation &op : block)
    position[&op] = end++;
  for (BlockArgument argument : block.getArguments()) {
    int storage = newStorage(argument.getType(), 0);
    storages[storage].persistent = true;
    storages[storage].last = end;
    unsigned index = argument.getArgNumber();
    storages[storage].offset = state
                                   .find({argString(func, index, attr::kind),
                                          argString(func, index, attr::fqn)})
                                   ->second.offset;
    placeContiguous(argument, storage);
  }
  planPlacements();
  planDonations();
  planSaves();

  // Last reader of each value, through views: in-place decisions need it
  // before storages are final.
  DenseMap<Value, int64_t> lastRead;
  for (Operation &op : llvm::reverse(block)) {
    bool isView = isa<ReshapeOp, SliceOp, ConcatOp>(op);
    for (Value operand : op.getOperands()) {
      int64_t when = isView ? lastRead.lookup(op.getResult(0))
                            : (isa<func::ReturnOp>(op) ? end : position[&op]);
      int64_t &last = lastRead[operand];
      last = std::max(last, when);
    }
  }
  for (Operation &op : block.without_terminator()) {
    int64_t when = position[&op];
    if (auto group = dyn_cast<GroupOp>(op)) {
      placeResults(group, when);
      SmallVector<int> &own = scratch[&op];
      for (MemRefType type : scratchTypes(group))
        own.push_back(newStorage(type, when));
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

  SmallVector<BufferRequest> requests;
  for (auto [index, storage] : llvm::enumerate(storages)) {
    if (storage.persistent)
      continue;
    requests.push_back({storage.bytes, storage.first, storage.last});
    packed.push_back(index);
  }
  packing = packBuffers(requests, plan::alignment);
  for (auto [index, offset] : llvm::zip(packed, packing.offsets))
    storages[index].offset = offset;
  return success();
}

MemRefType FunctionPlanner::memrefOf(Value value) {
  RankedTensorType type = typeOf(value);
  const Place &place = places[value];
  if (ArrayRef<int64_t>(place.strides) ==
          ArrayRef<int64_t>(rowMajorStrides(type.getShape())) ||
      type.getNumElements() == 0)
    return MemRefType::get(type.getShape(), type.getElementType());
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(value.getContext(), 0, place.strides));
}

/// The plan's buffer for a value: a root for the first value of a storage at a
/// time, views of it for the rest.
Value FunctionPlanner::bufferFor(OpBuilder &builder, Value value) {
  if (Value known = buffers.lookup(value))
    return known;
  // Views ask for the buffers of their bases: no reference into the map may
  // live that long.
  Value buffer = createBuffer(builder, value);
  buffers[value] = buffer;
  return buffer;
}

Value FunctionPlanner::createBuffer(OpBuilder &builder, Value value) {
  const Place place = places.lookup(value);
  const Storage &storage = storages[place.storage];
  MemRefType type = memrefOf(value);
  Operation *producer = value.getDefiningOp();
  bool isView = producer && isa<ReshapeOp, SliceOp>(producer);
  Location loc = value.getLoc();
  if (isView && !isa<ConcatOp>(*value.user_begin())) {
    Value base = bufferFor(builder, producer->getOperand(0));
    int64_t baseOffset = places.lookup(producer->getOperand(0)).byteOffset;
    return builder.create<plan::ViewOp>(loc, type, base,
                                        place.byteOffset - baseOffset);
  }
  int64_t offset = storage.offset + (storage.persistent ? 0 : temporaryBase);
  bool whole = byteSize(value.getType()) == storage.bytes;
  if (whole)
    return builder.create<plan::BufferOp>(loc, type, offset);
  // A part of a concatenation: a view of the whole.
  Value &root = roots[place.storage];
  if (!root)
    root = builder.create<plan::BufferOp>(
        loc,
        MemRefType::get(
            {storage.bytes / elementByteWidth(type.getElementType())},
            type.getElementType()),
        offset);
  return builder.create<plan::ViewOp>(loc, type, root, place.byteOffset);
}

/// A launch that copies a whole tensor.
static void emitCopy(OpBuilder &builder, Location loc, Value from, Value to,
                     RankedTensorType type) {
  auto launch = builder.create<plan::LaunchOp>(
      loc, KernelFamily::move, ValueRange(from), ValueRange(to), ValueRange());
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&launch.getBody());
  builder.create<plan::YieldOp>(loc, ValueRange(body->addArgument(type, loc)));
}

/// Saves, then copies what donated results could not be written over, then
/// names the results that the runtime reads.
void FunctionPlanner::emitEnd(OpBuilder &builder) {
  Location loc = func.getLoc();
  DenseMap<Value, Value> savedBuffers;
  for (auto [result, storage] : saved) {
    RankedTensorType type = typeOf(result);
    Value buffer = builder.create<plan::BufferOp>(
        loc, MemRefType::get(type.getShape(), type.getElementType()),
        storages[storage].offset + temporaryBase);
    emitCopy(builder, loc, bufferFor(builder, result), buffer, type);
    savedBuffers[result] = buffer;
  }
  auto final = [&](Value result) {
    Value buffer = savedBuffers.lookup(result);
    return buffer ? buffer : bufferFor(builder, result);
  };
  for (auto [result, argument] : copies)
    emitCopy(builder, loc, final(result), bufferFor(builder, argument),
             typeOf(argument));
  for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    StringRef kind = resultString(func, index, attr::kind);
    std::string name = kind.str();
    if (kind == kind::grad)
      name = ("grad." + resultString(func, index, attr::fqn)).str();
    else if (kind != kind::loss && kind != kind::gradNorm)
      continue; // state: the runtime finds it at its argument
    builder.create<plan::ResultOp>(loc, name, final(operand.get()));
  }
}

void FunctionPlanner::emit(OpBuilder &builder, int64_t base) {
  temporaryBase = base;
  auto function =
      builder.create<plan::FunctionOp>(func.getLoc(), func.getSymName());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&function.getBody());
  int64_t flops = 0;
  for (Operation &op : block.without_terminator()) {
    // The concatenation's own buffer is the root that its parts are views of.
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      const Place &place = places[concat.getResult()];
      buffers[concat.getResult()] = builder.create<plan::ViewOp>(
          op.getLoc(), memrefOf(concat.getResult()), roots[place.storage], 0);
      continue;
    }
    auto group = dyn_cast<GroupOp>(op);
    if (!group)
      continue;
    SmallVector<Value> inputs, outputs, own;
    for (Value input : group.getInputs())
      inputs.push_back(bufferFor(builder, input));
    for (Value output : group.getOutputs())
      outputs.push_back(bufferFor(builder, output));
    SmallVector<MemRefType> types = scratchTypes(group);
    for (auto [storage, type] : llvm::zip(scratch[&op], types))
      own.push_back(builder.create<plan::BufferOp>(
          op.getLoc(), type, storages[storage].offset + base));
    auto launch = builder.create<plan::LaunchOp>(op.getLoc(), group.getFamily(),
                                                 inputs, outputs, own);
    flops += group.getCost().flops;
    // The body of the group, ended by the plan's own yield.
    launch.getBody().takeBody(group.getBody());
    Block &body = launch.getBodyBlock();
    Operation *yield = body.getTerminator();
    OpBuilder(yield).create<plan::YieldOp>(yield->getLoc(),
                                           yield->getOperands());
    yield->erase();
  }
  emitEnd(builder);
  function->setAttr("plan.flops", builder.getI64IntegerAttr(flops));
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// Collects the arguments of a function into `state`, at offsets from `bytes`.
static LogicalResult collectState(func::FuncOp func, StateMap &state,
                                  int64_t &bytes) {
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    StateKey key = {argString(func, index, attr::kind),
                    argString(func, index, attr::fqn)};
    if (key.first.empty() || key.second.empty())
      return func.emitError()
             << "argument " << index << " has no kind or no name";
    auto type = cast<RankedTensorType>(argument.getType());
    auto [entry, isNew] =
        state.insert({key, {type, bytes, func.getArgAttrDict(index)}});
    if (isNew)
      bytes += llvm::alignTo(byteSize(type), plan::alignment);
    else if (entry->second.type != type)
      return func.emitError() << "argument '" << key.second << "' has type "
                              << type << ", expected " << entry->second.type
                              << " as in the functions before";
  }
  return success();
}

static void emitArgument(OpBuilder &builder, Location loc, StateKey key,
                         const StateArgument &argument) {
  DictionaryAttr attributes = argument.attributes;
  builder.create<plan::ArgumentOp>(
      loc, builder.getStringAttr(key.second), builder.getStringAttr(key.first),
      builder.getI64IntegerAttr(argument.offset), TypeAttr::get(argument.type),
      attributes.getAs<DictionaryAttr>(attr::init),
      attributes.getAs<StringAttr>(attr::role),
      attributes.getAs<IntegerAttr>(attr::vocab),
      attributes.getAs<ArrayAttr>(attr::aliases),
      attributes.getAs<ArrayAttr>(attr::parts));
}

/// The category that the report counts state of `kind` in.
static StringRef categoryOf(StringRef kind) {
  if (kind == kind::param)
    return "parameters";
  if (kind == kind::shadow)
    return "shadows";
  if (kind == kind::opt)
    return "optimizer";
  if (kind == kind::grad)
    return "gradients";
  return "inputs";
}

namespace {
struct PlanMemory : hone::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> funcs;
    for (StringRef name : {"step", "accumulate", "update", "evaluate"})
      if (auto func = module.lookupSymbol<func::FuncOp>(name))
        funcs.push_back(func);
    if (funcs.empty()) {
      module.emitError("has none of the functions @step, @accumulate, @update "
                       "and @evaluate");
      return signalPassFailure();
    }
    StateMap state;
    int64_t persistent = 0;
    for (func::FuncOp func : funcs)
      if (failed(collectState(func, state, persistent)))
        return signalPassFailure();

    std::vector<FunctionPlanner> planners;
    int64_t temporary = 0;
    for (func::FuncOp func : funcs) {
      planners.emplace_back(func, state);
      if (failed(planners.back().plan()))
        return signalPassFailure();
      temporary = std::max(temporary, planners.back().temporaryBytes());
    }

    OpBuilder builder(module.getContext());
    builder.setInsertionPointToEnd(module.getBody());
    llvm::MapVector<StringRef, int64_t> categories;
    for (auto &[key, argument] : state)
      categories[categoryOf(key.first)] +=
          llvm::alignTo(byteSize(argument.type), plan::alignment);
    categories["temporaries"] = temporary;
    SmallVector<NamedAttribute> named;
    for (auto [name, bytes] : categories)
      named.push_back(
          builder.getNamedAttr(name, builder.getI64IntegerAttr(bytes)));
    auto program = builder.create<plan::ProgramOp>(
        module.getLoc(), builder.getStringAttr("program"),
        builder.getI64IntegerAttr(persistent + temporary),
        builder.getDictionaryAttr(named));
    builder.createBlock(&program.getBody());
    for (auto &[key, argument] : state)
      emitArgument(builder, module.getLoc(), key, argument);
    for (FunctionPlanner &planner : planners)
      planner.emit(builder, persistent);
    for (func::FuncOp func : funcs)
      func.erase();
  }
};
} // namespace
