//===- OverlapTurns.cpp - Two parts of a stage as one function ------------===//
//
// The ops of a forward function and of the backward function of another
// micro-batch in one list: while one of them waits for a collective, the other
// computes.
//
//===----------------------------------------------------------------------===//

#include "OverlapTurns.h"

#include "FunctionPlanner.h"

#include "hone/Analysis/Cost/KernelCost.h"
#include "hone/Analysis/Fusion/CollectiveGroups.h"
#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/Analysis/Pipeline/StageSchedule.h"
#include "hone/Sharding/IR/Dist.h"
#include "hone/Sharding/Model/Traffic.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace hone {
#define GEN_PASS_DEF_OVERLAPTURNS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Which part goes on
//===----------------------------------------------------------------------===//

namespace {
/// An op of a part with its estimated seconds: of a kernel, or of a collective
/// on its links.
struct TimedOp {
  Operation *op;
  double seconds = 0;
  Attribute links = {}; ///< the axes of a collective; null: a kernel, or none
};

/// One of the two functions, and how much of it has been placed.
struct Part {
  Part(func::FuncOp func, const dist::Mesh &mesh,
       const TargetDescription &target);

  const TimedOp *next() const {
    return position == ops.size() ? nullptr : &ops[position];
  }

  std::vector<TimedOp> ops;
  size_t position = 0;
  double left = 0; ///< seconds of what has not been placed, one by one
};

/// Replays both parts on one queue of kernels, and one of collectives for each
/// set of axes.
class Weave {
public:
  /// Whether a kernel can read what others make of this value; it is called for
  /// values of the parts.
  using IsMade = function_ref<bool(Value)>;

  /// The part whose next op is placed. One of them has one, whose operands are
  /// made.
  Part &choose(Part &forward, Part &backward, IsMade isMade);
  /// Places the next op of `part`, and returns it.
  Operation *place(Part &part);

private:
  double readyAt(const TimedOp &op) const;

  double now = 0;
  DenseMap<Attribute, double> free; ///< of links, when their last one ends
  DenseMap<Value, double> arrival;  ///< of what collectives make
};
} // namespace

Part::Part(func::FuncOp func, const dist::Mesh &mesh,
           const TargetDescription &target) {
  for (Operation &op : func.front().without_terminator()) {
    TimedOp timed = {&op};
    auto group = dyn_cast<FusedOp>(op);
    if (Operation *collective = group ? collectiveIn(group) : nullptr) {
      if (auto transfer = dist::transferOf(collective, mesh)) {
        timed.seconds = transfer->seconds;
        timed.links = collective->getAttr("axes");
      }
    } else if (group) {
      timed.seconds = kernelSeconds(group, target);
    }
    left += timed.seconds;
    ops.push_back(timed);
  }
}

/// When the collectives that `op` reads have ended.
double Weave::readyAt(const TimedOp &op) const {
  double ready = 0;
  for (Value operand : op.op->getOperands())
    ready = std::max(ready, arrival.lookup(operand));
  return ready;
}

Part &Weave::choose(Part &forward, Part &backward, IsMade isMade) {
  auto canRun = [&](const Part &part) {
    return part.next() && llvm::all_of(part.next()->op->getOperands(), isMade);
  };
  if (!canRun(forward) || !canRun(backward))
    return canRun(forward) ? forward : backward;
  // A collective begins, and its part goes on when it must wait.
  for (Part *part : {&forward, &backward})
    if (part->next()->links)
      return *part;
  double ahead = readyAt(*forward.next()), back = readyAt(*backward.next());
  if (std::max(ahead, back) > now)
    return ahead < back ? forward : backward;
  return forward.left > backward.left ? forward : backward;
}

Operation *Weave::place(Part &part) {
  const TimedOp &timed = *part.next();
  double begin = std::max(now, readyAt(timed));
  double end = begin + timed.seconds;
  if (timed.links) {
    double &last = free[timed.links];
    last = end = std::max(begin, last) + timed.seconds;
  } else if (isa<FusedOp>(timed.op)) {
    now = end;
  }
  // Views pass on when their operand arrives.
  if (timed.links || !isa<FusedOp>(timed.op))
    for (Value result : timed.op->getResults())
      arrival[result] = end;
  part.left -= timed.seconds;
  ++part.position;
  return timed.op;
}

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

namespace {
class Merger {
public:
  Merger(func::FuncOp forward, func::FuncOp backward, StringRef name)
      : forward(forward), backward(backward), builder(forward.getContext()),
        func(func::FuncOp::create(forward.getLoc(), name,
                                  builder.getFunctionType({}, {}))) {
    builder.setInsertionPointToStart(func.addEntryBlock());
  }

  func::FuncOp run(const dist::Mesh &mesh, const TargetDescription &target);

private:
  static StateKey keyOf(func::FuncOp func, unsigned argument) {
    return {argString(func, argument, attr::kind),
            argString(func, argument, attr::fqn)};
  }
  Value addArgument(Value of, DictionaryAttr attrs);
  void addForwardArguments();
  void addBackwardArguments();
  Value valueOf(Value value) const;
  void addResults(func::FuncOp part);
  void finish();

  func::FuncOp forward, backward;
  OpBuilder builder;
  func::FuncOp func;
  IRMapping mapping;
  /// What the backward part reads in place of its argument: what the forward
  /// part replaces it with.
  DenseMap<Value, Value> replaced;
  DenseMap<StateKey, unsigned> shared; ///< arguments of both, by number
  SmallVector<DictionaryAttr> argAttrs, resultAttrs;
  SmallVector<Value> results;
  DenseMap<int64_t, size_t> donated; ///< results by the argument they replace
};
} // namespace

Value Merger::addArgument(Value of, DictionaryAttr attrs) {
  argAttrs.push_back(attrs);
  Value own = func.front().addArgument(of.getType(), of.getLoc());
  mapping.map(of, own);
  return own;
}

void Merger::addForwardArguments() {
  for (BlockArgument argument : forward.getArguments()) {
    unsigned number = argument.getArgNumber();
    addArgument(argument, forward.getArgAttrDict(number));
    if (!isWindow(keyOf(forward, number).first))
      shared[keyOf(forward, number)] = number;
  }
}

void Merger::addBackwardArguments() {
  DenseMap<int64_t, Value> updates; // by argument of the forward part
  for (OpOperand &result : forward.front().getTerminator()->getOpOperands())
    if (auto donor = forward.getResultAttrOfType<IntegerAttr>(
            result.getOperandNumber(), attr::donates))
      updates[donor.getInt()] = result.get();
  for (BlockArgument argument : backward.getArguments()) {
    unsigned number = argument.getArgNumber();
    StateKey key = keyOf(backward, number);
    DictionaryAttr attrs = backward.getArgAttrDict(number);
    auto known = shared.find(key);
    if (isWindow(key.first)) {
      NamedAttrList marked(attrs);
      marked.set(plan::besideAttr, builder.getUnitAttr());
      addArgument(argument, marked.getDictionary(func.getContext()));
    } else if (known == shared.end()) {
      addArgument(argument, attrs);
    } else if (Value update = updates.lookup(known->second)) {
      replaced[argument] = update;
    } else {
      mapping.map(argument, func.getArgument(known->second));
    }
  }
}

/// In the merged function; null while it is not made.
Value Merger::valueOf(Value value) const {
  Value other = replaced.lookup(value);
  return mapping.lookupOrNull(other ? other : value);
}

/// Of two results that replace one argument, the later one does.
void Merger::addResults(func::FuncOp part) {
  for (OpOperand &operand : part.front().getTerminator()->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    DictionaryAttr attrs = part.getResultAttrDict(number);
    Value value = valueOf(operand.get());
    if (auto donor = attrs.getAs<IntegerAttr>(attr::donates)) {
      BlockArgument argument = part.getArgument(unsigned(donor.getInt()));
      auto known = shared.find(keyOf(part, argument.getArgNumber()));
      int64_t index =
          known != shared.end()
              ? int64_t(known->second)
              : cast<BlockArgument>(mapping.lookup(argument)).getArgNumber();
      NamedAttrList own(attrs);
      own.set(attr::donates, builder.getI64IntegerAttr(index));
      attrs = own.getDictionary(func.getContext());
      auto [entry, isNew] = donated.try_emplace(index, results.size());
      if (!isNew) {
        results[entry->second] = value;
        continue;
      }
    }
    results.push_back(value);
    resultAttrs.push_back(attrs);
  }
}

void Merger::finish() {
  addResults(forward);
  addResults(backward);
  builder.create<func::ReturnOp>(func.getLoc(), results);
  func.setFunctionType(builder.getFunctionType(func.front().getArgumentTypes(),
                                               ValueRange(results).getTypes()));
  func.setAllArgAttrs(argAttrs);
  func.setAllResultAttrs(resultAttrs);
}

func::FuncOp Merger::run(const dist::Mesh &mesh,
                         const TargetDescription &target) {
  addForwardArguments();
  addBackwardArguments();
  Part ahead(forward, mesh, target), back(backward, mesh, target);
  Weave weave;
  auto isMade = [&](Value value) { return bool(valueOf(value)); };
  while (ahead.next() || back.next()) {
    Operation *op = weave.place(weave.choose(ahead, back, isMade));
    for (Value operand : op->getOperands())
      if (Value other = replaced.lookup(operand))
        mapping.map(operand, mapping.lookup(other));
    builder.clone(*op, mapping);
  }
  finish();
  return func;
}

func::FuncOp hone::overlapTurns(func::FuncOp forward, func::FuncOp backward,
                                StringRef name, const dist::Mesh &mesh,
                                const TargetDescription &target) {
  return Merger(forward, backward, name).run(mesh, target);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct OverlapTurns : hone::impl::OverlapTurnsBase<OverlapTurns> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(dist::stageAttr))
      return markAllAnalysesPreserved();
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run();
  LogicalResult refuse(int64_t number, const pipeline::ChunkTurns *chunk);
  FailureOr<func::FuncOp> find(const std::string &name);
};
} // namespace

FailureOr<func::FuncOp> OverlapTurns::find(const std::string &name) {
  if (auto func = getOperation().lookupSymbol<func::FuncOp>(name))
    return func;
  return getOperation().emitError("has no function @")
         << name << ", expected those that hone-split-turns makes";
}

/// Chunk `number`, which is `chunk`, or is not of the stage.
LogicalResult OverlapTurns::refuse(int64_t number,
                                   const pipeline::ChunkTurns *chunk) {
  return getOperation().emitError("overlaps chunk ")
         << number << ", "
         << (chunk ? "which turns at once, expected a backward part"
                   : "which the stage does not have");
}

LogicalResult OverlapTurns::run() {
  ModuleOp module = getOperation();
  FailureOr<pipeline::StageTurns> turns = pipeline::StageTurns::read(module);
  if (failed(turns))
    return failure();
  for (const pipeline::ChunkTurns &own : turns->chunks)
    for (int64_t number : own.overlaps) {
      FailureOr<dist::Mesh> mesh = dist::Mesh::of(module);
      FailureOr<TargetDescription> target = getTarget(module);
      const pipeline::ChunkTurns *other = turns->find(number);
      if (failed(mesh) || failed(target))
        return failure();
      if (!other || other->turnsAtOnce)
        return refuse(number, other);
      auto forward = find(own.chunk.function("forward"));
      auto backward = find(other->chunk.function(other->functions()[1]));
      if (failed(forward) || failed(backward))
        return failure();
      module.insert(
          module.getBody()->end(),
          overlapTurns(*forward, *backward,
                       pipeline::overlapFunction(own.chunk, other->chunk),
                       *mesh, *target));
    }
  return success();
}
