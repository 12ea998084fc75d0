//===- PlanMemory.cpp - From tensor functions to a scheduled program ------===//
//
// Three steps per function: find the storage of every value and pack the
// storages (FunctionPlanner.cpp), then write the plan.
//
//===----------------------------------------------------------------------===//

#include "FunctionPlanner.h"
#include "MovedValues.h"

#include "hone/Analysis/Layout/Strides.h"
#include "hone/Analysis/Layout/Views.h"
#include "hone/Analysis/Memory/Scratch.h"
#include "hone/Analysis/Memory/Timeline.h"
#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/IR/CodeNames.h"
#include "hone/IR/DroppedRows.h"
#include "hone/IR/IndexedOps.h"
#include "hone/IR/SearchBound.h"
#include "hone/Plan/LaunchLabel.h"
#include "hone/Sharding/IR/Dist.h"
#include "hone/Support/ByteSize.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace hone {
#define GEN_PASS_DEF_PLANMEMORY
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

void FunctionPlanner::explainLimits(const PackingLimits &limits) {
  auto say = [&](int64_t count, StringRef what, StringRef option) {
    emitRemark(func.getLoc())
        << searchStopped << "@" << func.getName() << ": offsets after " << count
        << ' ' << what << " (" << option
        << " of hone-plan-memory): temporaries take " << packing.bytes
        << " bytes, proved is that they need " << packing.lowerBound;
  };
  if (packing.metScanned)
    say(limits.maxScanned, "neighbours looked at by greedy orders",
        "max-scanned");
  if (packing.metPairs)
    say(limits.maxPairs, "pairs of buffers that live at once, without a search",
        "max-pairs");
  if (packing.metNodes)
    say(limits.maxNodes, "decisions of a search", "max-nodes");
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

/// The buffer of a whole storage, seen as `type`. State has no purpose.
plan::BufferOp FunctionPlanner::createRoot(OpBuilder &builder, Location loc,
                                           MemRefType type,
                                           const Storage &storage,
                                           plan::Purpose purpose) {
  if (storage.persistent)
    return builder.create<plan::BufferOp>(
        loc, type, builder.getI64IntegerAttr(storage.offset),
        plan::PurposeAttr());
  return builder.create<plan::BufferOp>(
      loc, type, builder.getI64IntegerAttr(storage.offset + temporaryBase),
      plan::PurposeAttr::get(builder.getContext(), purpose));
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
  if (Value part = overParts.lookup(value))
    return bufferFor(builder, part);
  const Place place = places.lookup(value);
  const Storage &storage = storages[place.storage];
  MemRefType type = memrefOf(value);
  Value viewed = viewedValue(value);
  Location loc = value.getLoc();
  if (viewed && !isa<ConcatOp>(*value.user_begin())) {
    Value base = bufferFor(builder, viewed);
    int64_t baseOffset = places.lookup(viewed).byteOffset;
    return builder.create<plan::ViewOp>(loc, type, base,
                                        place.byteOffset - baseOffset);
  }
  Operation *maker = value.getDefiningOp();
  bool isReloaded = maker && isReload(maker);
  plan::Purpose purpose =
      purposes.of(isReloaded ? maker->getOperand(0) : value);
  bool whole = byteSize(value.getType()) == storage.bytes;
  if (whole)
    return createRoot(builder, loc, type, storage, purpose);
  // A part of a concatenation: a view of the whole.
  Value &root = roots[place.storage];
  if (!root)
    root = createRoot(builder, loc,
                      MemRefType::get({storage.bytes /
                                       elementByteWidth(type.getElementType())},
                                      type.getElementType()),
                      storage, purpose);
  return builder.create<plan::ViewOp>(loc, type, root, place.byteOffset);
}

/// A launch that copies a whole tensor.
static void emitCopy(OpBuilder &builder, Location loc, Value from, Value to,
                     RankedTensorType type) {
  auto launch = builder.create<plan::LaunchOp>(loc, KernelFamily::dataMovement,
                                               ValueRange(from), ValueRange(to),
                                               ValueRange());
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
    Value buffer = createRoot(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
        storages[storage], plan::Purpose::temporaries);
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
    else if (kind == kind::idCheck || kind == kind::dropped)
      name = resultString(func, index, attr::fqn).str();
    else if (kind != kind::loss && kind != kind::gradNorm &&
             kind != kind::logits)
      continue; // state: the runtime finds it at its argument
    auto op = builder.create<plan::ResultOp>(loc, name, final(operand.get()));
    for (StringRef fact : {attr::ids, attr::dropped})
      if (Attribute value = func.getResultAttr(index, fact))
        op->setAttr(fact, value);
  }
}

void FunctionPlanner::emit(OpBuilder &builder, int64_t base, int64_t behind) {
  temporaryBase = base;
  hostBase = behind;
  auto function =
      builder.create<plan::FunctionOp>(func.getLoc(), func.getSymName());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&function.getBody());
  int64_t flops = 0;
  for (Operation &op : block.without_terminator()) {
    emitBefore(builder, &op);
    // The concatenation's own buffer is the root that its parts are views of.
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      const Place &place = places[concat.getResult()];
      buffers[concat.getResult()] = builder.create<plan::ViewOp>(
          op.getLoc(), memrefOf(concat.getResult()), roots[place.storage], 0);
      continue;
    }
    auto group = dyn_cast<FusedOp>(op);
    if (!group || isReload(group))
      continue;
    SmallVector<Value> inputs, outputs, own;
    for (Value input : group.getInputs())
      inputs.push_back(bufferFor(builder, input));
    for (Value output : group.getOutputs())
      outputs.push_back(bufferFor(builder, output));
    for (AliasPair pair : group.getUpdatedOperands()) {
      Value &input = inputs[pair.operand], output = outputs[pair.result];
      if (input.getType() == output.getType() &&
          plan::arenaOffset(input) == plan::arenaOffset(output))
        continue;
      emitCopy(builder, op.getLoc(), input, output,
               typeOf(group.getInputs()[pair.operand]));
      input = output;
    }
    SmallVector<MemRefType> types = scratchTypes(group, target);
    for (auto [storage, type] : llvm::zip(scratch[&op], types))
      own.push_back(createRoot(builder, op.getLoc(), type, storages[storage],
                               plan::Purpose::workspaces));
    auto launch = builder.create<plan::LaunchOp>(op.getLoc(), group.getFamily(),
                                                 inputs, outputs, own);
    // For the report: why it is a launch, and whether it ran before.
    for (StringRef name : {StringRef(attr::reason), StringRef(attr::clone)})
      if (Attribute value = group->getAttr(name))
        launch->setAttr(name, value);
    flops += group.getCost().flops;
    // The body of the group, ended by the plan's own yield.
    launch.getBody().takeBody(group.getBody());
    Block &body = launch.getBodyBlock();
    Operation *yield = body.getTerminator();
    OpBuilder(yield).create<plan::YieldOp>(yield->getLoc(),
                                           yield->getOperands());
    yield->erase();
    emitAfter(builder, &op);
  }
  emitBefore(builder, block.getTerminator());
  emitEnd(builder);
  function->setAttr("plan.flops", builder.getI64IntegerAttr(flops));
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

SmallVector<func::FuncOp> hone::programFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> funcs;
  // Of a stage with several chunks, there is one for each.
  auto add = [&](ArrayRef<StringRef> names) {
    for (StringRef name : names)
      for (auto func : module.getOps<func::FuncOp>())
        if (dist::functionWithoutChunk(func.getSymName()) == name)
          funcs.push_back(func);
  };
  add({"step", "accumulate"});
  // What @accumulate of a stage became; elsewhere @forward is a package's.
  if (module->hasAttr(dist::stageAttr)) {
    add({"forward", "backward", "backward_input", "backward_weight"});
    for (auto func : module.getOps<func::FuncOp>())
      if (pipeline::isOverlapFunction(func.getSymName()))
        funcs.push_back(func);
  }
  add({"update", "evaluate", "generate", fillCodesName});
  return funcs;
}

/// How many micro-batches have one of their own.
static int64_t instancesOf(const StateArgument &argument) {
  auto window = argument.attributes.getAs<IntegerAttr>(dist::windowAttr);
  return window ? window.getInt() : 1;
}

LogicalResult hone::collectState(func::FuncOp func, StateMap &state,
                                 StateBytes &all) {
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    StateKey key = {argString(func, index, attr::kind),
                    argString(func, index, attr::fqn)};
    if (key.first.empty() || key.second.empty())
      return func.emitError()
             << "argument " << index << " has no kind or no name";
    auto type = cast<RankedTensorType>(argument.getType());
    int64_t &bytes =
        func.getArgAttr(index, plan::hostAttr) ? all.host : all.arena;
    auto [entry, isNew] =
        state.insert({key, {type, bytes, func.getArgAttrDict(index)}});
    if (isNew)
      bytes += llvm::alignTo(
          plan::windowBytes(type, instancesOf(entry->second)), plan::alignment);
    else if (entry->second.type != type)
      return func.emitError() << "argument '" << key.second << "' has type "
                              << type << ", expected " << entry->second.type
                              << " as in the functions before";
    else if (entry->second.attributes.get(attr::sharding) !=
             func.getArgAttr(index, attr::sharding))
      return func.emitError() << "argument '" << key.second
                              << "' is divided in another way than in the "
                                 "functions before";
  }
  for (unsigned result = 0; result != func.getNumResults(); ++result)
    if (auto donor =
            func.getResultAttrOfType<IntegerAttr>(result, attr::donates))
      state
          .find({argString(func, donor.getInt(), attr::kind),
                 argString(func, donor.getInt(), attr::fqn)})
          ->second.isReplaced = true;
  return success();
}

static void emitArgument(OpBuilder &builder, Location loc, StateKey key,
                         const StateArgument &argument) {
  DictionaryAttr attributes = argument.attributes;
  auto op = builder.create<plan::ArgumentOp>(
      loc, builder.getStringAttr(key.second), builder.getStringAttr(key.first),
      builder.getI64IntegerAttr(argument.offset), TypeAttr::get(argument.type),
      attributes.getAs<DictionaryAttr>(attr::init),
      attributes.getAs<StringAttr>(attr::role),
      attributes.getAs<IntegerAttr>(attr::vocab),
      attributes.getAs<ArrayAttr>(attr::aliases),
      attributes.getAs<ArrayAttr>(attr::parts),
      attributes.getAs<dist::ShardingAttr>(attr::sharding),
      argument.isReplaced && key.first == kind::buffer ? builder.getUnitAttr()
                                                       : UnitAttr());
  op.setWindow(instancesOf(argument));
  op.setHost(argument.isOnHost());
  for (StringRef name : {attr::ignore, attr::ids, attr::dropped})
    if (Attribute value = attributes.get(name))
      op->setAttr(name, value);
}

/// Bytes of the arena by category at the fullest point of the program.
static DictionaryAttr categoriesOf(plan::ProgramOp program) {
  MemoryTimeline timeline(program);
  Builder builder(program.getContext());
  SmallVector<NamedAttribute> named;
  auto add = [&](StringRef name, int64_t bytes) {
    if (bytes != 0)
      named.push_back(
          builder.getNamedAttr(name, builder.getI64IntegerAttr(bytes)));
  };
  for (size_t index = 0; index != memoryCategories; ++index) {
    auto category = static_cast<MemoryCategory>(index);
    add(categoryName(category), timeline.peakBytes()[category]);
  }
  add("gaps", timeline.gapBytes());
  return builder.getDictionaryAttr(named);
}

/// Schedules of recomputation count the parts of each chunk; those of two that
/// run together may need more.
static LogicalResult checkBudget(ModuleOp module, int64_t arena) {
  auto budget = module->getAttrOfType<IntegerAttr>(attr::memoryBudget);
  bool hasOverlaps =
      llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp func) {
        return pipeline::isOverlapFunction(func.getSymName());
      });
  if (!budget || budget.getInt() == 0 || !hasOverlaps ||
      arena <= budget.getInt())
    return success();
  return module.emitError()
         << "memory budget of " << formatBytes(budget.getInt())
         << " is too small for parts of two chunks that run together: the "
            "stage takes "
         << arena << " bytes (" << formatBytesToType(arena)
         << "), expected that budget or a schedule without +overlap";
}

namespace {
struct PlanMemory : hone::impl::PlanMemoryBase<PlanMemory> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkBounds(module.getLoc(), maxNodes, maxScanned, maxPairs)))
      return signalPassFailure();
    SmallVector<func::FuncOp> funcs = programFunctions(module);
    if (funcs.empty()) {
      module.emitError("has none of the functions @step, @accumulate, @update "
                       "and @evaluate");
      return signalPassFailure();
    }
    FailureOr<TargetDescription> target = getTarget(module);
    if (failed(target))
      return signalPassFailure();
    StateMap state;
    StateBytes persistent;
    for (func::FuncOp func : funcs)
      if (failed(collectState(func, state, persistent)))
        return signalPassFailure();

    PackingLimits limits;
    limits.maxNodes = maxNodes;
    limits.maxScanned = maxScanned;
    limits.maxPairs = maxPairs;
    std::vector<FunctionPlanner> planners;
    int64_t temporary = 0, host = 0;
    for (func::FuncOp func : funcs) {
      planners.emplace_back(func, state, *target);
      if (failed(planners.back().plan(limits)))
        return signalPassFailure();
      if (report)
        planners.back().explainLimits(limits);
      temporary = std::max(temporary, planners.back().temporaryBytes());
      host = std::max(host, planners.back().temporaryHostBytes());
    }
    host += persistent.host;

    if (failed(checkBudget(module, persistent.arena + temporary)))
      return signalPassFailure();
    OpBuilder builder(module.getContext());
    builder.setInsertionPointToEnd(module.getBody());
    auto program = builder.create<plan::ProgramOp>(
        module.getLoc(), builder.getStringAttr("program"),
        builder.getI64IntegerAttr(persistent.arena + temporary),
        DictionaryAttr(), /*stage=*/IntegerAttr(),
        host ? builder.getI64IntegerAttr(host) : IntegerAttr());
    builder.createBlock(&program.getBody());
    for (auto &[key, argument] : state)
      emitArgument(builder, module.getLoc(), key, argument);
    for (FunctionPlanner &planner : planners)
      planner.emit(builder, persistent.arena, persistent.host);
    program.setCategoriesAttr(categoriesOf(program));
    for (func::FuncOp func : funcs)
      func.erase();
  }
};
} // namespace
