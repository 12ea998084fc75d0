//===- StepStages.cpp - A training step as a chain of stages --------------===//

#include "hone/Analysis/Recompute/StepStages.h"

#include "hone/Analysis/Cost/KernelCost.h"
#include "hone/Analysis/Layout/Views.h"
#include "hone/Analysis/Memory/Scratch.h"
#include "hone/Analysis/Recompute/ForwardPart.h"
#include "hone/Analysis/Recompute/GroupSlices.h"
#include "hone/Plan/Plan.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

using Kind = StageValue::Kind;

/// Views have no kernel; the return is none either.
static bool isKernel(Operation *op) { return isa<FusedOp, ConcatOp>(op); }

static SmallVector<Value> storagesOf(ValueRange values) {
  llvm::SetVector<Value> roots;
  for (Value value : values)
    roots.insert(stripViews(value));
  return roots.takeVector();
}

/// Calls `body` for every kernel and the return that read `value` or a view.
static void forEachKernel(Value value, function_ref<void(Operation *)> body) {
  for (Operation *user : value.getUsers()) {
    if (isViewOfOperand(user))
      forEachKernel(user->getResult(0), body);
    else
      body(user);
  }
}

/// Units of a layer, at most: what is read further on is wide.
constexpr int maxLinkLength = 24;

//===----------------------------------------------------------------------===//
// Forward units
//===----------------------------------------------------------------------===//

/// The parts of a kernel over rows that make one result each, in an order in
/// which each reads those before it; one part where that cannot be.
static SmallVector<GroupSlice, 0> slicesOf(FusedOp group) {
  if (!isSliceable(group))
    return {wholeGroup(group)};
  SmallVector<unsigned> order;
  for (unsigned result = 0; result != group.getNumResults(); ++result)
    order.push_back(result);
  auto makerOf = [&](unsigned result) {
    return group.getBodyBlock()
        .getTerminator()
        ->getOperand(result)
        .getDefiningOp();
  };
  if (!llvm::all_of(order, makerOf))
    return {wholeGroup(group)}; // yields an operand
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return makerOf(a) == makerOf(b) ? a < b
                                    : makerOf(a)->isBeforeInBlock(makerOf(b));
  });
  SmallVector<GroupSlice, 0> slices;
  llvm::SmallDenseSet<unsigned> given;
  for (unsigned result : order) {
    auto slice = sliceGroup(
        group, result, [&](unsigned other) { return given.contains(other); });
    if (!slice)
      return {wholeGroup(group)};
    given.insert(result);
    slices.push_back(*slice);
  }
  return slices;
}

void StepStages::addUnits(Operation *op) {
  auto add = [&](ForwardUnit unit) {
    for (unsigned result : unit.results)
      unitOf[op->getResult(result)] = forward.size();
    forward.push_back(std::move(unit));
  };
  auto group = dyn_cast<FusedOp>(op);
  if (!group) // a concatenation that its operands are written into
    return add({op, {0}, storagesOf(op->getOperands()), 0, 0, true});
  size_t first = forward.size();
  double apart = 0;
  for (const GroupSlice &slice : slicesOf(group)) {
    SmallVector<Value> read, made;
    for (unsigned input : slice.inputs)
      read.push_back(group.getOperand(input));
    for (unsigned result : slice.given)
      read.push_back(group.getResult(result));
    for (unsigned result : slice.needed)
      made.push_back(group.getResult(result));
    double alone = kernelSeconds(slice.ops, read, made, target);
    apart += alone;
    add({op, slice.needed, storagesOf(read), alone, alone,
         group.getFamily() != KernelFamily::multiTensor});
  }
  // One kernel makes them all the first time.
  double together = kernelSeconds(group, target);
  for (ForwardUnit &unit : llvm::drop_begin(forward, first))
    unit.seconds *= std::min(1.0, together / apart);
}

/// The readers of a layer's input: some at its begin and one at its end,
/// however many units are between (a ring of attention has some twenty per
/// rank).
static bool surroundOneLayer(ArrayRef<int> readers, size_t units) {
  int span = readers.back() - readers.front(), widest = 0;
  for (auto [one, next] : llvm::zip(readers, readers.drop_front()))
    widest = std::max(widest, next - one);
  return size_t(span) <= units / 2 && widest > span / 2;
}

/// A value that units all over the forward part read is no link of the chain:
/// it is kept (the encoder's output in a decoder, an embedding that all layers
/// add). So is one that takes next to nothing beside the largest (a rank's
/// place in the vocabulary, which embedding and loss read), and such a one that
/// is made of state alone (gathered vectors) wherever it is read.
void StepStages::keepWide(DenseMap<Value, SmallVector<int>> &readers) {
  int64_t largest = 0;
  for (auto &[value, numbers] : readers)
    largest = std::max(largest, byteSize(value.getType()));
  int64_t nothing = largest / 256;
  llvm::DenseSet<Value> ofState;
  for (const ForwardUnit &unit : forward)
    if (llvm::all_of(unit.reads, [&](Value read) {
          auto argument = dyn_cast<BlockArgument>(read);
          return argument ? argString(func, argument.getArgNumber(),
                                      attr::kind) != kind::input
                          : ofState.contains(read);
        }))
      for (unsigned result : unit.results)
        ofState.insert(unit.op->getResult(result));
  int wide = std::max<int>(maxLinkLength, forward.size() / 4);
  for (auto &[value, numbers] : readers) {
    int maker = unitOf.lookup(value);
    bool isSmall = byteSize(value.getType()) <= nothing;
    bool isWide = numbers.back() - maker >= wide &&
                  !surroundOneLayer(numbers, forward.size());
    if (isSmall ? !isWide && !ofState.contains(value)
                : !isWide || numbers.size() < 3)
      continue;
    kept.insert(value);
    forward[maker].canRedo = false;
  }
}

/// Ends a stage after each unit where one storage alone is read later on.
void StepStages::cut() {
  DenseMap<Value, SmallVector<int>> readers;
  for (auto [index, unit] : llvm::enumerate(forward))
    for (Value read : unit.reads)
      if (unitOf.contains(read))
        readers[read].push_back(index);
  for (Value value : handedOn)
    readers[value].push_back(forward.size());
  keepWide(readers);
  unitStage.clear();
  llvm::SmallSetVector<Value, 4> crossing;
  chain.emplace_back();
  Value before;
  for (auto [index, unit] : llvm::enumerate(forward)) {
    chain.back().units.push_back(index);
    unitStage.push_back(chain.size() - 1);
    for (unsigned result : unit.results)
      if (Value made = unit.op->getResult(result);
          readers.contains(made) && !kept.contains(made))
        crossing.insert(made);
    crossing.remove_if([&, here = int(index)](Value value) {
      return readers[value].back() <= here;
    });
    if (crossing.size() != 1 || crossing[0] == before)
      continue;
    before = crossing[0];
    chain.back().output = before;
    chain.emplace_back();
  }
}

//===----------------------------------------------------------------------===//
// Backward kernels
//===----------------------------------------------------------------------===//

/// The first stage, counted from the turn, whose backward visit has everything
/// that `op` reads.
int StepStages::earliestStage(Operation *op) const {
  int earliest = chain.size() - 1;
  for (Value read : storagesOf(op->getOperands())) {
    int stage = earliest;
    if (kept.contains(read))
      continue;
    if (auto unit = unitOf.find(read); unit != unitOf.end()) {
      stage = unitStage[unit->second];
      stage += chain[stage].output == read; // the input of the next one
    } else if (auto made = backwardStage.find(read.getDefiningOp());
               made != backwardStage.end()) {
      stage = made->second;
    }
    earliest = std::min(earliest, stage);
  }
  return earliest;
}

/// Backward kernels that are made of arguments alone, as a weight that is
/// gathered again and brought into another order.
llvm::DenseSet<Operation *> StepStages::backwardOfArguments() const {
  llvm::DenseSet<Operation *> found;
  for (Operation *op : backwardOps)
    if (llvm::all_of(storagesOf(op->getOperands()), [&](Value read) {
          return isa<BlockArgument>(read) ||
                 found.contains(read.getDefiningOp());
        }))
      found.insert(op);
  return found;
}

/// Moves kernels that read arguments alone, or gradients alone each of which
/// something later reads too, to the stage that reads their results: the
/// gradient of a wide layer is then made when it is requested.
void StepStages::delayBackward() {
  llvm::DenseSet<Operation *> ofArguments = backwardOfArguments();
  for (Operation *op : llvm::reverse(backwardOps)) {
    int &stage = backwardStage[op];
    int latest = -1;
    for (Value result : op->getResults())
      forEachKernel(result, [&](Operation *reader) {
        auto found = backwardStage.find(reader);
        latest = std::max(latest,
                          found == backwardStage.end() ? stage : found->second);
      });
    bool isLiveAnyway =
        ofArguments.contains(op) ||
        llvm::all_of(storagesOf(op->getOperands()), [&](Value read) {
          if (unitOf.contains(read))
            return false;
          Operation *maker = read.getDefiningOp();
          if (!maker || !backwardStage.contains(maker))
            return true;
          bool isReadLater = false;
          forEachKernel(read, [&](Operation *reader) {
            auto found = backwardStage.find(reader);
            isReadLater |= reader != op && found != backwardStage.end() &&
                           found->second <= latest;
          });
          return isReadLater;
        });
    if (latest >= 0 && latest < stage && isLiveAnyway)
      stage = latest;
  }
}

void StepStages::assignBackward() {
  backwardStage.clear();
  for (Operation *op : backwardOps)
    backwardStage[op] = earliestStage(op);
  delayBackward();
  for (StepStage &stage : chain)
    stage.backward.clear();
  for (Operation *op : backwardOps)
    chain[backwardStage[op]].backward.push_back(op);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Joins stages: those for which `ends` holds end one.
void StepStages::join(function_ref<bool(int)> ends) {
  SmallVector<StepStage, 0> joined(1);
  for (auto [number, stage] : llvm::enumerate(chain)) {
    llvm::append_range(joined.back().units, stage.units);
    joined.back().output = stage.output;
    if (ends(number) && number + 1 != chain.size())
      joined.emplace_back();
  }
  chain = std::move(joined);
  for (auto [number, stage] : llvm::enumerate(chain))
    for (int unit : stage.units)
      unitStage[unit] = number;
  assignBackward();
}

/// Backward kernels in program order, but for those that read nothing of the
/// backward part: each as if it ran right before its first reader. One that
/// prepares for the backward part what the forward part made, and lies among
/// its kernels, starts no gradient there.
SmallVector<Operation *> StepStages::sunkBackward() const {
  DenseMap<Operation *, int> place;
  for (auto [index, op] : llvm::enumerate(backwardOps))
    place[op] = index;
  SmallVector<std::pair<int, int>> order; // place, index
  for (auto [index, op] : llvm::enumerate(backwardOps)) {
    bool isFirst =
        llvm::none_of(storagesOf(op->getOperands()), [&](Value read) {
          return place.contains(read.getDefiningOp());
        });
    int reader = backwardOps.size();
    for (Value result : op->getResults())
      forEachKernel(result, [&](Operation *user) {
        auto found = place.find(user);
        reader = std::min(reader, found == place.end() ? 0 : found->second);
      });
    bool isRead = reader != int(backwardOps.size());
    order.push_back(
        {isFirst && isRead ? std::max<int>(index, reader) : index, index});
  }
  llvm::sort(order);
  SmallVector<Operation *> sunk;
  for (auto [at, index] : order)
    sunk.push_back(backwardOps[index]);
  return sunk;
}

/// Makes one stage of what comes after the first value that a gradient starts
/// from: there forward and backward kernels take turns. Where the forward part
/// is handed on, they do not: what it keeps waits for the gradient.
void StepStages::joinTurn() {
  if (!handedOn.empty())
    return assignBackward();
  int first = chain.size() - 1;
  for (Operation *op : sunkBackward()) {
    int stage = -1;
    for (Value read : storagesOf(op->getOperands()))
      if (auto unit = unitOf.find(read); unit != unitOf.end())
        stage = std::max(stage, unitStage[unit->second]);
    if (stage < 0)
      continue;
    first = stage;
    break;
  }
  join([&](int stage) { return stage < first; });
}

/// The forward kernels of the turn run among its backward kernels, as they did.
void StepStages::interleaveTurn() {
  int last = chain.size() - 1;
  StepStage &turn = chain.back();
  llvm::SetVector<Operation *> ops(turn.backward.begin(), turn.backward.end());
  SmallVector<int> split; // part of a kernel that the stage before needs
  for (int unit : turn.units) {
    Operation *op = forward[unit].op;
    bool isWhole = llvm::all_of(op->getResults(), [&](OpResult result) {
      return stageOf(op, result.getResultNumber()) == last;
    });
    if (!isWhole) {
      split.push_back(unit);
      continue;
    }
    ops.insert(op);
    backwardStage[op] = last;
  }
  turn.units = split;
  turn.backward.assign(ops.begin(), ops.end());
  llvm::sort(turn.backward,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

StepStages::StepStages(func::FuncOp func, const TargetDescription &target)
    : func(func), target(target) {
  Block &block = func.getBody().front();
  ForwardPart part(func);
  llvm::DenseSet<Operation *> learned, atEnd;
  llvm::SmallSetVector<Value, 2> ends;
  auto isIn = [](Value value, const llvm::DenseSet<Operation *> &ops) {
    return value.getDefiningOp() && ops.contains(value.getDefiningOp());
  };
  for (Operation &op : block.without_terminator()) {
    bool isLearned = llvm::any_of(op.getOperands(), [&](Value operand) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument)
        return isIn(operand, learned);
      StringRef kind = argString(func, argument.getArgNumber(), attr::kind);
      return kind == kind::param || kind == kind::workingCopy;
    });
    if (auto ending = dyn_cast<HoneOpInterface>(op);
        ending && ending.endsForwardPart())
      for (Value storage : storagesOf(op.getOperands()))
        ends.insert(storage);
    if (part.contains(&op)) {
      if (isLearned)
        learned.insert(&op);
      if (isKernel(&op) && isLearned)
        addUnits(&op);
      continue;
    }
    // Updates, and what waits for all gradients.
    auto group = dyn_cast<FusedOp>(op);
    if ((group && group.getFamily() == KernelFamily::multiTensor) ||
        llvm::any_of(op.getOperands(),
                     [&](Value value) { return isIn(value, atEnd); }))
      atEnd.insert(&op);
    else if (isKernel(&op))
      backwardOps.push_back(&op);
  }
  llvm::copy_if(ends, std::back_inserter(handedOn),
                [&](Value value) { return unitOf.contains(value); });
  cut();
  joinTurn();
  SmallVector<StageGraph, 0> graphs;
  for (size_t stage = 0; stage != chain.size(); ++stage)
    graphs.push_back(graph(stage));
  SmallVector<int> cuts = chooseCuts(graphs, &mergeStops);
  join([&](int stage) { return llvm::is_contained(cuts, stage); });
  interleaveTurn();
}

int StepStages::stageOf(Operation *op, unsigned result) const {
  auto unit = unitOf.find(op->getResult(result));
  return unit == unitOf.end() ? -1 : unitStage[unit->second];
}

//===----------------------------------------------------------------------===//
// The graph of a stage
//===----------------------------------------------------------------------===//

namespace {
/// Numbers storages as they appear.
class GraphBuilder {
public:
  GraphBuilder(StageGraph &graph, const TargetDescription &target,
               function_ref<StageValue(Value)> describe)
      : graph(graph), target(target), describe(describe) {}

  int number(Value root) {
    auto [entry, isNew] = numbers.try_emplace(root, graph.values.size());
    if (isNew)
      graph.values.push_back(describe(root));
    return entry->second;
  }

  void fill(StageUnit &unit, ArrayRef<Value> reads, ArrayRef<Value> makes,
            Operation *op) {
    for (Value read : reads)
      unit.reads.push_back(number(read));
    for (Value made : makes)
      unit.makes.push_back(number(made));
    auto group = dyn_cast<FusedOp>(op);
    if (!group)
      return;
    for (MemRefType type : scratchTypes(group, target))
      unit.scratch += llvm::alignTo(type.getNumElements() *
                                        elementByteWidth(type.getElementType()),
                                    plan::alignment);
    for (AliasPair pair : group.getReusableOperands()) {
      Value operand = stripViews(group.getOperand(pair.operand));
      Value result = group.getResult(pair.result);
      if (llvm::is_contained(reads, operand) &&
          llvm::is_contained(makes, result) &&
          byteSize(operand.getType()) == byteSize(result.getType()))
        unit.inPlace.push_back({number(operand), number(result)});
    }
  }

private:
  StageGraph &graph;
  const TargetDescription &target;
  function_ref<StageValue(Value)> describe;
  DenseMap<Value, int> numbers;
};
} // namespace

/// What a storage that the backward part makes is to stage `stage`.
Kind StepStages::gradientKind(Value root, int stage) const {
  int maker = backwardStage.lookup(root.getDefiningOp());
  if (maker != stage)
    return Kind::GradientIn;
  auto kind = Kind::Inner;
  forEachKernel(root, [&](Operation *reader) {
    auto found = backwardStage.find(reader);
    if (found == backwardStage.end())
      kind = Kind::Born;
    else if (found->second != stage && kind != Kind::Born)
      kind = Kind::GradientOut;
  });
  if (kind != Kind::Born)
    return kind;
  // One that is written over an argument takes no memory of its own.
  for (OpOperand &use : root.getUses())
    if (isa<func::ReturnOp>(use.getOwner()) &&
        func::FuncOp(func).getResultAttr(use.getOperandNumber(), attr::donates))
      return Kind::Fixed;
  return kind;
}

StageGraph StepStages::graph(int stage) const {
  auto describe = [&](Value root) {
    StageValue value;
    value.bytes = llvm::alignTo(byteSize(root.getType()), plan::alignment);
    value.kind = Kind::Fixed;
    if (stage > 0 && root == chain[stage - 1].output)
      value.kind = Kind::Input;
    else if (root == chain[stage].output)
      value.kind = Kind::Output;
    else if (root.getDefiningOp() &&
             backwardStage.contains(root.getDefiningOp()))
      value.kind = gradientKind(root, stage);
    else if (auto unit = unitOf.find(root); unit != unitOf.end())
      value.kind = unitStage[unit->second] == stage ? Kind::Inner : Kind::Fixed;
    return value;
  };
  StageGraph graph;
  GraphBuilder builder(graph, target, describe);
  Operation *launch = nullptr;
  int launches = -1;
  for (int index : chain[stage].units) {
    const ForwardUnit &unit = forward[index];
    SmallVector<Value> made;
    for (unsigned result : unit.results)
      made.push_back(unit.op->getResult(result));
    StageUnit &node = graph.forward.emplace_back();
    node.seconds = unit.seconds;
    node.recomputeSeconds = unit.recomputeSeconds;
    node.canRedo = unit.canRedo;
    launches += unit.op != launch;
    launch = unit.op;
    node.launch = launches;
    builder.fill(node, unit.reads, made, unit.op);
  }
  for (Operation *op : chain[stage].backward) {
    SmallVector<Value> made(op->getResults());
    StageUnit &node = graph.backward.emplace_back();
    if (auto group = dyn_cast<FusedOp>(op))
      node.seconds = kernelSeconds(group, target);
    builder.fill(node, storagesOf(op->getOperands()), made, op);
  }
  return graph;
}
