//===- SplitTurns.cpp - Forward and backward function of a stage ----------===//
//
// @accumulate of a stage of a pipeline becomes the functions that its schedule
// runs. What one of them reads of another, and what stages hand to each other,
// becomes state between them.
//
//===----------------------------------------------------------------------===//

#include "SplitTurns.h"

#include "SharedValues.h"
#include "SplitSums.h"
#include "hone/Analysis/Layout/Views.h"
#include "hone/IR/ForwardOps.h"
#include "hone/Sharding/IR/Dist.h"
#include "hone/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace hone {
#define GEN_PASS_DEF_SPLITTURNS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using pipeline::WindowClass;

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// The attributes of an argument of which there are `instances`.
static DictionaryAttr describe(MLIRContext *context, StringRef kind,
                               const Twine &name, int64_t instances) {
  Builder builder(context);
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(attr::kind, builder.getStringAttr(kind)),
       builder.getNamedAttr(attr::fqn, builder.getStringAttr(name)),
       builder.getNamedAttr(dist::windowAttr,
                            builder.getI64IntegerAttr(instances))});
}

/// Those of a result that takes the place of argument `index`, which has
/// `argument`.
static DictionaryAttr describeUpdate(DictionaryAttr argument, unsigned index) {
  Builder builder(argument.getContext());
  NamedAttrList attrs;
  for (StringRef name : {attr::kind, attr::fqn, attr::parts, attr::sharding})
    if (Attribute known = argument.get(name))
      attrs.append(name, known);
  attrs.append(attr::donates, builder.getI64IntegerAttr(index));
  return attrs.getDictionary(argument.getContext());
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace {
/// What an op of @accumulate is for.
enum class Role : uint8_t { Forward, BackwardInput, BackwardWeight };

/// One of the functions that @accumulate becomes, while it is built.
class Part {
public:
  Part(func::FuncOp whole, StringRef name)
      : whole(whole), builder(whole.getContext()),
        func(func::FuncOp::create(whole.getLoc(), name,
                                  builder.getFunctionType({}, {}))) {
    builder.setInsertionPointToStart(func.addEntryBlock());
  }

  /// The argument of `whole`, taken over when it is first asked for.
  Value argument(BlockArgument of) {
    Value known = mapping.lookupOrNull(of);
    return known ? known
                 : addArgument(of, whole.getArgAttrDict(of.getArgNumber()));
  }
  /// A new argument, in which `value` of the whole comes.
  Value addArgument(Value value, DictionaryAttr attrs) {
    argAttrs.push_back(attrs);
    Value own = func.front().addArgument(value.getType(), value.getLoc());
    mapping.map(value, own);
    return own;
  }
  bool has(Value value) const { return mapping.contains(value); }
  void clone(Operation &op) { builder.clone(op, mapping); }
  /// A copy of `op` in a group of its own, which copies operands.
  void cloneInGroup(Operation &op);
  void cloneSums(FusedOp group, ArrayRef<unsigned> numbers) {
    hone::cloneSums(builder, group, numbers, mapping);
  }
  /// `value` of the whole as a result that takes the place of `argument`.
  void addUpdate(Value value, Value argument) {
    unsigned index = cast<BlockArgument>(argument).getArgNumber();
    addResult(value, describeUpdate(argAttrs[index], index));
  }
  void addResult(Value value, DictionaryAttr attrs) {
    results.push_back(mapping.lookup(value));
    resultAttrs.push_back(attrs);
  }
  /// `value` as a result, in the place of an argument of its own.
  void addState(Value value, DictionaryAttr attrs) {
    argAttrs.push_back(attrs);
    addUpdate(value, func.front().addArgument(value.getType(), value.getLoc()));
  }
  func::FuncOp finish() {
    builder.create<func::ReturnOp>(func.getLoc(), results);
    func.setFunctionType(builder.getFunctionType(
        func.front().getArgumentTypes(), ValueRange(results).getTypes()));
    func.setAllArgAttrs(argAttrs);
    func.setAllResultAttrs(resultAttrs);
    return func;
  }

private:
  func::FuncOp whole;
  OpBuilder builder;
  func::FuncOp func;
  IRMapping mapping;
  SmallVector<DictionaryAttr> argAttrs, resultAttrs;
  SmallVector<Value> results;
};

} // namespace

void Part::cloneInGroup(Operation &op) {
  llvm::SetVector<Value> inputs;
  for (Value operand : op.getOperands())
    inputs.insert(mapping.lookup(operand));
  auto group =
      builder.create<FusedOp>(op.getLoc(), op.getResultTypes(),
                              KernelFamily::dataMovement, inputs.getArrayRef());
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&group.getBody());
  IRMapping inside;
  for (Value input : inputs)
    inside.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (Value operand : op.getOperands())
    inside.map(operand, inside.lookup(mapping.lookup(operand)));
  Operation *own = builder.clone(op, inside);
  builder.create<YieldOp>(op.getLoc(), own->getResults());
  mapping.map(op.getResults(), group.getOutputs());
}

namespace {
/// Splits @accumulate of one chunk.
class Splitter {
public:
  Splitter(func::FuncOp func, const pipeline::ChunkTurns &turns)
      : func(func), turns(turns), windows(turns.windows) {}

  /// The functions in the order in which they run.
  SmallVector<func::FuncOp> run();

private:
  Role roleOfResult(unsigned index) const;
  void findForwardOps();
  void findWeightOps();
  void findEarlySums();
  void cloneSums(FusedOp group);
  Role roleOf(Operation *op) const {
    auto found = roles.find(op);
    return found == roles.end() ? Role::BackwardInput : found->second;
  }
  Part &partOf(Role role) { return parts[partIndex[size_t(role)]]; }
  bool isKept(BlockArgument argument, Role reader) const;
  DictionaryAttr keep(Value value, Role maker);
  void read(Value value, Role reader);
  bool isMadeIn(const Part &part, ConcatOp concat);
  void addResults();
  int64_t instancesOf(StringRef name) const;
  DictionaryAttr describeState(StringRef kind, const Twine &name,
                               int64_t instances) {
    return describe(func.getContext(), kind, name, instances);
  }
  DictionaryAttr describeBoundary(const std::string &name) {
    // How many there are is known when all have read it.
    return describeState(kind::boundary, name, 1);
  }

  func::FuncOp func;
  const pipeline::ChunkTurns turns;
  const pipeline::ChunkWindows &windows;
  const std::string input = turns.chunk.input(),
                    inputGradient = turns.chunk.inputGradient(),
                    output = turns.chunk.output(),
                    outputGradient = turns.chunk.outputGradient();
  std::vector<Part> parts;
  std::array<size_t, 3> partIndex = {};
  /// Of ops that are not Role::BackwardInput.
  DenseMap<Operation *, Role> roles;
  /// The group that hands the output on; null in the last chunk.
  FusedOp turn;
  /// Values that one part keeps for others, with the state that they are.
  llvm::MapVector<Value, DictionaryAttr> kept;
  /// Of groups of sums of Role::BackwardWeight, those that are of the part
  /// before.
  DenseMap<Operation *, ResultNumbers> earlySums;
  SharedValues shared;
  /// Boundaries that a later role reads than the one they are made for.
  llvm::StringSet<> readLater;
};
} // namespace

/// Gradients are of the backward part, all else is of the forward part. A sum
/// of gradients that a group of the loss adds to is of the part with the group:
/// it goes on from the sum of the micro-batch before.
Role Splitter::roleOfResult(unsigned index) const {
  func::FuncOp whole = func;
  StringRef kind = resultString(whole, index, attr::kind);
  if (kind != kind::grad && kind != kind::boundary)
    return Role::Forward;
  Value value = whole.front().getTerminator()->getOperand(index);
  Operation *op = value.getDefiningOp();
  if (auto found = earlySums.find(op);
      found != earlySums.end() &&
      llvm::is_contained(found->second,
                         cast<OpResult>(value).getResultNumber()))
    return Role::BackwardInput;
  Role role = op ? roleOf(op) : Role::BackwardInput;
  bool isOfLoss = role == Role::Forward && kind == kind::grad;
  return isOfLoss || role == Role::BackwardWeight ? role : Role::BackwardInput;
}

void Splitter::findForwardOps() {
  for (Operation *op : forwardOps(func))
    roles[op] = Role::Forward;
  SmallVector<Value> work;
  for (OpOperand &operand : func.front().getTerminator()->getOpOperands())
    if (roleOfResult(operand.getOperandNumber()) == Role::Forward)
      work.push_back(operand.get());
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp();
        op && roles.try_emplace(op, Role::Forward).second)
      llvm::append_range(work, op->getOperands());
  for (auto group : func.front().getOps<FusedOp>())
    if (group.endsForwardPart())
      turn = group;
}

/// Whether an op takes about as long as a whole layer's part.
static bool isProduct(Operation *op) {
  auto group = dyn_cast<FusedOp>(op);
  return group && llvm::is_contained({KernelFamily::contraction,
                                      KernelFamily::groupedContraction,
                                      KernelFamily::convolution},
                                     group.getFamily());
}

/// Products that only gradients of weights are made of, and what is made of
/// them: from the end, ops all of whose readers are such, or the end of a
/// gradient.
void Splitter::findWeightOps() {
  for (Operation &op : llvm::reverse(func.front().without_terminator())) {
    if (roles.contains(&op) || &op == turn)
      continue;
    bool isOfWeights = llvm::all_of(op.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (user->hasTrait<OpTrait::IsTerminator>())
        return resultString(func, use.getOperandNumber(), attr::kind) ==
               kind::grad;
      // What a product reads is computed before, so that less is kept.
      return roleOf(user) == Role::BackwardWeight && !isProduct(user);
    });
    if (isOfWeights)
      roles[&op] = Role::BackwardWeight;
  }
  // Sums of what the other part has anyway stay there.
  for (Operation &op : func.front().without_terminator()) {
    if (roleOf(&op) != Role::BackwardWeight || isProduct(&op))
      continue;
    bool readsWeights = llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *from = operand.getDefiningOp();
      return from && roleOf(from) == Role::BackwardWeight;
    });
    if (!readsWeights)
      roles.erase(&op);
  }
}

/// Where sums of many gradients are a group, each is made in the part that has
/// its gradient, so that none is kept to be added.
void Splitter::findEarlySums() {
  auto isOfWeights = [&](Value operand) {
    Operation *from = stripViews(operand).getDefiningOp();
    return from && roleOf(from) == Role::BackwardWeight;
  };
  for (auto group : func.front().getOps<FusedOp>()) {
    if (roleOf(group) != Role::BackwardWeight || !isOfSums(group))
      continue;
    ResultNumbers early;
    for (unsigned number = 0; number != group->getNumResults(); ++number)
      if (llvm::none_of(operandsOfSum(group, number), isOfWeights))
        early.push_back(number);
    if (early.size() == group->getNumResults())
      roles.erase(group);
    else if (!early.empty())
      earlySums[group] = early;
  }
}

void Splitter::cloneSums(FusedOp group) {
  const ResultNumbers &early = earlySums[group];
  ResultNumbers late;
  for (unsigned number = 0; number != group->getNumResults(); ++number)
    if (!llvm::is_contained(early, number))
      late.push_back(number);
  for (auto [role, numbers] : {std::pair(Role::BackwardInput, early),
                               std::pair(Role::BackwardWeight, late)}) {
    for (unsigned number : numbers)
      for (Value operand : operandsOfSum(group, number))
        read(operand, role);
    partOf(role).cloneSums(group, numbers);
  }
}

/// Whether the forward part keeps an argument for a later one: where that runs
/// together with another forward part, what is in place of the batch is that
/// one's.
bool Splitter::isKept(BlockArgument argument, Role reader) const {
  StringRef kind = argString(func, argument.getArgNumber(), attr::kind);
  return turns.isOverlapped && reader != Role::Forward &&
         (kind == kind::input || kind == kind::rng);
}

/// The state in which the part of `maker` keeps `value` for others.
DictionaryAttr Splitter::keep(Value value, Role maker) {
  DictionaryAttr &state = kept[value];
  if (!state) {
    WindowClass window =
        maker == Role::Forward ? WindowClass::Saved : WindowClass::Grads;
    state = describeState(kind::saved,
                          turns.chunk.function("saved") + "." +
                              Twine(kept.size() - 1),
                          windows[window]);
    partOf(maker).addState(value, state);
  }
  return state;
}

/// Makes `value` of the whole one that the part of `reader` has. It recomputes
/// views of what is kept, and what all micro-batches share.
void Splitter::read(Value value, Role reader) {
  Part &part = partOf(reader);
  bool isOutput = turn && value == turn.getInputs().front();
  bool isGradient = turn && value == turn.getResult(0);
  if (isOutput && reader != Role::Forward)
    readLater.insert(output);
  if (isGradient && reader == Role::BackwardWeight)
    readLater.insert(outputGradient);
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && reader != Role::Forward &&
      argString(func, argument.getArgNumber(), attr::kind) == kind::boundary)
    readLater.insert(input);
  if (part.has(value))
    return;
  if (argument && isKept(argument, reader)) {
    partOf(Role::Forward).argument(argument);
    part.addArgument(value, keep(value, Role::Forward));
    return;
  }
  if (argument) {
    part.argument(argument);
    return;
  }
  if (isGradient) {
    part.addArgument(value, describeBoundary(outputGradient));
    return;
  }
  // The forward part makes its output, which may be a view.
  if (isOutput && reader != Role::Forward) {
    part.addArgument(value, describeBoundary(output));
    return;
  }
  Operation *op = value.getDefiningOp();
  if (isViewOfOperand(op) || shared.has(value)) {
    for (Value operand : op->getOperands())
      read(operand, reader);
    return part.clone(*op);
  }
  part.addArgument(value, keep(value, roleOf(op)));
}

/// Whether all operands of `concat` are made in `part`, in their place.
bool Splitter::isMadeIn(const Part &part, ConcatOp concat) {
  return llvm::all_of(concat.getInputs(), [&](Value input) {
    Operation *maker = stripViews(input).getDefiningOp();
    return maker && maker != turn && &partOf(roleOf(maker)) == &part;
  });
}

void Splitter::addResults() {
  for (OpOperand &operand : func.front().getTerminator()->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    Role role = roleOfResult(index);
    Part &part = partOf(role);
    read(operand.get(), role);
    DictionaryAttr attrs = func.getResultAttrDict(index);
    if (resultString(func, index, attr::kind) == kind::boundary)
      part.addState(operand.get(), describeBoundary(inputGradient));
    else if (auto donor = attrs.getAs<IntegerAttr>(attr::donates))
      part.addUpdate(operand.get(),
                     part.argument(func.getArgument(donor.getInt())));
    else
      part.addResult(operand.get(), attrs);
  }
  if (!turn)
    return;
  Value handedOn = turn.getInputs().front();
  read(handedOn, Role::Forward);
  partOf(Role::Forward).addState(handedOn, describeBoundary(output));
}

/// What a later part reads of a boundary is not kept besides: its instances
/// stay for as long, while others come and go.
int64_t Splitter::instancesOf(StringRef name) const {
  bool staysLonger = readLater.contains(name);
  if (name == outputGradient)
    return windows[WindowClass::GradientIn] +
           (staysLonger ? windows[WindowClass::Grads] : 0);
  if (name == inputGradient)
    return windows[WindowClass::GradientOut];
  return windows[name == input ? WindowClass::ActivationIn
                               : WindowClass::ActivationOut] +
         (staysLonger ? windows[WindowClass::Saved] : 0);
}

SmallVector<func::FuncOp> Splitter::run() {
  findForwardOps();
  if (turns.splitsBackward) {
    findWeightOps();
    findEarlySums();
  }
  for (StringRef name : turns.functions())
    parts.emplace_back(func, turns.chunk.function(name));
  size_t last = parts.size() - 1;
  partIndex[size_t(Role::BackwardWeight)] = last;
  partIndex[size_t(Role::BackwardInput)] = turns.turnsAtOnce ? 0 : 1;

  for (Operation &op : func.front().without_terminator()) {
    // Each part makes the views that it reads.
    if (&op == turn || isViewOfOperand(&op))
      continue;
    if (earlySums.contains(&op)) {
      cloneSums(cast<FusedOp>(op));
      continue;
    }
    Role role = roleOf(&op);
    for (Value operand : op.getOperands())
      read(operand, role);
    Part &part = partOf(role);
    auto concat = dyn_cast<ConcatOp>(op);
    if (concat && !isMadeIn(part, concat))
      part.cloneInGroup(op);
    else
      part.clone(op);
  }
  addResults();

  SmallVector<func::FuncOp> made;
  for (Part &part : parts) {
    func::FuncOp own = part.finish();
    for (unsigned index = 0; index != own.getNumArguments(); ++index)
      if (argString(own, index, attr::kind) == kind::boundary) {
        std::string name = argString(own, index, attr::fqn).str();
        own.setArgAttrs(index,
                        describeState(kind::boundary, name, instancesOf(name)));
      }
    made.push_back(own);
  }
  return made;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct SplitTurns : hone::impl::SplitTurnsBase<SplitTurns> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(dist::stageAttr))
      return markAllAnalysesPreserved();
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run();
  LogicalResult split(const pipeline::ChunkTurns &turns);
  void splitEvaluate(func::FuncOp func, dist::Chunk chunk);

  /// Those of the boundaries, by name.
  llvm::StringMap<int64_t> instances;
};
} // namespace

/// Calls `body` with the index and the name of each argument of `func` that is
/// a boundary.
static void forEachBoundary(func::FuncOp func,
                            function_ref<void(unsigned, StringRef)> body) {
  for (unsigned index = 0; index != func.getNumArguments(); ++index)
    if (argString(func, index, attr::kind) == kind::boundary)
      body(index, argString(func, index, attr::fqn));
}

/// @evaluate, which runs once at a time, uses the boundaries of the step.
void SplitTurns::splitEvaluate(func::FuncOp func, dist::Chunk chunk) {
  auto describeBoundary = [&](const std::string &name) {
    return describe(func.getContext(), kind::boundary, name,
                    std::max<int64_t>(instances.lookup(name), 1));
  };
  forEachBoundary(func, [&](unsigned index, StringRef) {
    func.setArgAttrs(index, describeBoundary(chunk.input()));
  });
  for (unsigned index = 0; index != func.getNumResults(); ++index)
    if (resultString(func, index, attr::kind) == kind::boundary) {
      DictionaryAttr attrs = describeBoundary(chunk.output());
      unsigned argument = func.getNumArguments();
      func.insertArgument(argument, func.getResultTypes()[index], attrs,
                          func.getLoc());
      func.setResultAttrs(index, describeUpdate(attrs, argument));
    }
}

LogicalResult SplitTurns::split(const pipeline::ChunkTurns &turns) {
  ModuleOp module = getOperation();
  std::string name = turns.chunk.function("accumulate");
  auto whole = module.lookupSymbol<func::FuncOp>(name);
  if (!whole)
    return module.emitError("has no function @") << name;
  llvm::StringMap<int64_t> ofChunk; // all its functions have the same
  for (func::FuncOp func : splitTurns(whole, turns)) {
    module.insert(whole, func);
    forEachBoundary(func, [&](unsigned index, StringRef boundary) {
      ofChunk[boundary] =
          func.getArgAttrOfType<IntegerAttr>(index, dist::windowAttr).getInt();
    });
  }
  for (const auto &[boundary, count] : ofChunk)
    instances[boundary] += count;
  whole.erase();
  return success();
}

LogicalResult SplitTurns::run() {
  ModuleOp module = getOperation();
  instances.clear();
  FailureOr<pipeline::StageTurns> turns = pipeline::StageTurns::read(module);
  if (failed(turns))
    return failure();
  for (const pipeline::ChunkTurns &own : turns->chunks)
    if (failed(split(own)))
      return failure();
  // What one chunk hands another of its stage is of both.
  for (auto func : module.getOps<func::FuncOp>())
    forEachBoundary(func, [&](unsigned index, StringRef boundary) {
      if (func.getArgAttr(index, dist::windowAttr))
        func.setArgAttrs(index, describe(&getContext(), kind::boundary,
                                         boundary, instances.lookup(boundary)));
    });
  for (const pipeline::ChunkTurns &own : turns->chunks)
    if (auto evaluate =
            module.lookupSymbol<func::FuncOp>(own.chunk.function("evaluate")))
      splitEvaluate(evaluate, own.chunk);
  return success();
}

SmallVector<func::FuncOp> hone::splitTurns(func::FuncOp accumulate,
                                           const pipeline::ChunkTurns &turns) {
  return Splitter(accumulate, turns).run();
}
