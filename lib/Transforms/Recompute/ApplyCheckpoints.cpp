//===- ApplyCheckpoints.cpp - Makes values again where planned ------------===//

#include "Checkpoints.h"

#include "Transforms/Plan/MovedValues.h"

#include "hone/Analysis/Layout/Views.h"
#include "hone/Analysis/Recompute/GroupSlices.h"
#include "hone/Analysis/Recompute/StepStages.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace hone {
#define GEN_PASS_DEF_APPLYCHECKPOINTS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Schedules as text
//===----------------------------------------------------------------------===//

std::string hone::printVisits(ArrayRef<ChainVisit> visits) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (size_t first = 0, next; first != visits.size(); first = next) {
    ChainVisit visit = visits[first];
    int step = visit.isForward ? 1 : -1;
    for (next = first + 1; next != visits.size(); ++next)
      if (visits[next].isForward != visit.isForward ||
          visits[next].stage != visits[next - 1].stage + step)
        break;
    out << (first ? " " : "") << (visit.isForward ? 'f' : 'b') << visit.stage;
    if (next - first > 1)
      out << ':' << visits[next - 1].stage;
  }
  return text;
}

FailureOr<SmallVector<ChainVisit>> hone::parseVisits(StringRef text,
                                                     std::string &problem) {
  SmallVector<ChainVisit> visits;
  SmallVector<StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    auto [from, to] = word.drop_front().split(':');
    int first, last;
    bool isForward = word.front() == 'f';
    bool isWord = (isForward || word.front() == 'b') &&
                  !from.getAsInteger(10, first) && first >= 0;
    last = isWord ? first : 0;
    if (word.contains(':'))
      isWord &= !to.getAsInteger(10, last) && last >= 0;
    int step = isForward ? 1 : -1;
    if (!isWord || (last - first) * step < 0) {
      problem =
          ("'" + word + "' is no visit, expected f2, f0:3, b3 or b3:0").str();
      return failure();
    }
    for (int stage = first; stage != last + step; stage += step)
      visits.push_back({isForward, stage});
  }
  return visits;
}

bool hone::hasSchedule(func::FuncOp func) {
  return func->hasAttr(attr::schedule);
}

void hone::dropSchedule(func::FuncOp func) {
  for (Operation &op : func.getBody().front())
    for (StringRef name :
         {attr::forward, attr::backward, attr::recompute, awayAttr})
      op.removeAttr(name);
  func->removeAttr(attr::schedule);
}

//===----------------------------------------------------------------------===//
// Application
//===----------------------------------------------------------------------===//

namespace {
/// Rewrites one function. Kernels move to the end of the block in the order in
/// which they are to run; *now* is what has been moved.
class Application {
public:
  explicit Application(func::FuncOp func)
      : func(func), block(func.getBody().front()),
        builder(block.getTerminator()) {}

  LogicalResult run();

private:
  LogicalResult readAttributes();
  LogicalResult checkVisits();
  void sortLoose();
  LogicalResult visitForward(int stage, bool isFirst);
  LogicalResult visitBackward(int stage);

  LogicalResult moveHere(Operation *op);
  void moveViews(Value original);
  Value valueNow(Value original);
  void addClone(Operation *clone);
  void recompute(Value root, int stage);
  void bringBack(Value root);
  LogicalResult readAway(Operation &op);
  SmallVector<unsigned> recomputedWith(FusedOp group, unsigned result,
                                       int stage);
  void build(const GroupSlice &slice);
  void build(ConcatOp concat, int stage);
  void buildResult(Value root, int stage);
  void dropUnread();

  bool isDropped(Value root) const { return dropped.contains(root); }
  int stageOf(Operation *op, unsigned result) const {
    return op->getAttrOfType<DenseI64ArrayAttr>(attr::forward)[result];
  }

  func::FuncOp func;
  Block &block;
  OpBuilder builder;
  SmallVector<ChainVisit> visits;
  int count = 0; ///< of stages
  // Original ops in program order.
  SmallVector<SmallVector<Operation *>> forward, backward; // by stage
  SmallVector<Operation *> before, after;                  // in no stage
  llvm::DenseSet<Value> dropped;    ///< storages that backward visits recompute
  llvm::DenseSet<Value> away;       ///< those in the second arena until then
  llvm::DenseSet<Value> recomputed; ///< those that one has recomputed
  llvm::DenseSet<Operation *> moved;              ///< where they are to run
  DenseMap<Value, Value> latest;                  ///< storage -> its clone
  DenseMap<std::pair<Value, Value>, Value> views; ///< (view, storage now)
  SmallVector<Operation *> clones;
};
} // namespace

LogicalResult Application::readAttributes() {
  std::string problem;
  auto text = func->getAttrOfType<StringAttr>(attr::schedule);
  if (!text)
    return func.emitOpError()
           << "has a " << attr::schedule << " that is no string";
  FailureOr<SmallVector<ChainVisit>> parsed =
      parseVisits(text.getValue(), problem);
  if (failed(parsed))
    return func.emitOpError() << "has the " << attr::schedule << " '"
                              << text.getValue() << "', in which " << problem;
  visits = std::move(*parsed);
  for (ChainVisit visit : visits)
    count = std::max(count, visit.stage + 1);
  forward.resize(count);
  backward.resize(count);
  auto outside = [&](Operation &op, StringRef name, int64_t stage) {
    return op.emitOpError() << "has " << name << " stage " << stage
                            << ", which the schedule does not visit";
  };
  for (Operation &op : block.without_terminator()) {
    if (auto stage = op.getAttrOfType<IntegerAttr>(attr::backward)) {
      if (stage.getInt() < 0 || stage.getInt() >= count)
        return outside(op, attr::backward, stage.getInt());
      backward[stage.getInt()].push_back(&op);
      continue;
    }
    auto stages = op.getAttrOfType<DenseI64ArrayAttr>(attr::forward);
    if (!stages)
      continue;
    if (stages.size() != op.getNumResults())
      return op.emitOpError() << "has " << stages.size() << " stages in "
                              << attr::forward << ", expected one per result";
    for (int64_t stage : stages.asArrayRef())
      if (stage < 0 || stage >= count)
        return outside(op, attr::forward, stage);
    llvm::SmallDenseSet<int64_t> own(stages.asArrayRef().begin(),
                                     stages.asArrayRef().end());
    for (int64_t stage : own)
      forward[stage].push_back(&op);
    if (failed(readAway(op)))
      return failure();
    auto again = op.getAttrOfType<DenseI64ArrayAttr>(attr::recompute);
    if (!again)
      continue;
    for (int64_t result : again.asArrayRef()) {
      if (result < 0 || result >= op.getNumResults() ||
          !isa<FusedOp, ConcatOp>(op))
        return op.emitOpError() << "has no result " << result
                                << " of a group or a concatenation, as "
                                << attr::recompute << " says";
      dropped.insert(op.getResult(result));
    }
  }
  return checkVisits();
}

LogicalResult Application::readAway(Operation &op) {
  auto results = op.getAttrOfType<DenseI64ArrayAttr>(awayAttr);
  if (!results)
    return success();
  for (int64_t result : results.asArrayRef()) {
    if (result < 0 || result >= op.getNumResults() ||
        !mayMove(op.getResult(result)))
      return op.emitOpError()
             << "has no result " << result << " that may lie "
             << "in the second arena, as " << awayAttr << " says";
    away.insert(op.getResult(result));
  }
  return success();
}

/// Each stage runs forward before the stage after it, and backward once, when
/// it has run forward and the stage after it backward.
LogicalResult Application::checkVisits() {
  SmallVector<bool> hasRun(count), isDone(count);
  auto wrong = [&](ChainVisit visit, StringRef why) {
    return func.emitOpError()
           << "has a " << attr::schedule << " that visits stage " << visit.stage
           << (visit.isForward ? " forward " : " backward ") << why;
  };
  for (ChainVisit visit : visits) {
    int stage = visit.stage;
    if (isDone[stage])
      return wrong(visit, "after its backward visit");
    if (visit.isForward) {
      if (stage > 0 && !hasRun[stage - 1])
        return wrong(visit, "before the stage that it continues");
      hasRun[stage] = true;
      continue;
    }
    if (!hasRun[stage])
      return wrong(visit, "before it has run forward");
    if (stage + 1 < count && !isDone[stage + 1])
      return wrong(visit, "before the stage after it");
    isDone[stage] = true;
  }
  if (count > 0 && !isDone[0])
    return func.emitOpError() << "has a " << attr::schedule
                              << " without a backward visit of stage 0";
  return success();
}

/// Ops of no stage run first, unless they wait for one that is in a stage.
void Application::sortLoose() {
  llvm::DenseSet<Operation *> late;
  for (Operation &op : block.without_terminator()) {
    bool isStaged = op.hasAttr(attr::forward) || op.hasAttr(attr::backward);
    bool waits = isStaged || llvm::any_of(op.getOperands(), [&](Value operand) {
                   return operand.getDefiningOp() &&
                          late.contains(operand.getDefiningOp());
                 });
    if (waits)
      late.insert(&op);
    if (!isStaged && !isViewOfOperand(&op))
      (waits ? after : before).push_back(&op);
  }
}

/// Moves the views between a value of the original and its storage.
void Application::moveViews(Value original) {
  Operation *view = original.getDefiningOp();
  if (!isViewOfOperand(view) || !moved.insert(view).second)
    return;
  moveViews(view->getOperand(0));
  view->moveBefore(block.getTerminator());
}

/// What holds the value of `original` now.
Value Application::valueNow(Value original) {
  Value root = stripViews(original);
  Value now = latest.lookup(root);
  Operation *view = original.getDefiningOp();
  if (!now) {
    moveViews(original);
    return original;
  }
  if (!isViewOfOperand(view))
    return now;
  Value known = views.lookup({original, now});
  if (known)
    return known;
  Value operand = valueNow(view->getOperand(0));
  IRMapping mapping;
  mapping.map(view->getOperand(0), operand);
  Operation *copy = builder.clone(*view, mapping);
  clones.push_back(copy);
  views[{original, now}] = copy->getResult(0);
  return copy->getResult(0);
}

/// Moves an op of the original to the end of what runs, with what it reads now.
LogicalResult Application::moveHere(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    operand.set(valueNow(operand.get()));
    Operation *maker = stripViews(operand.get()).getDefiningOp();
    if (!maker || moved.contains(maker))
      continue;
    InFlightDiagnostic diag =
        op->emitOpError("would run before what it reads is made");
    diag.attachNote(maker->getLoc()) << "by this, in a later visit";
    return diag;
  }
  moved.insert(op);
  op->moveBefore(block.getTerminator());
  return success();
}

/// Takes note of a copy, and gives it a number: equal clones are not one value.
void Application::addClone(Operation *clone) {
  clone->setAttr(attr::clone, builder.getI64IntegerAttr(clones.size()));
  clones.push_back(clone);
  moved.insert(clone);
}

/// Makes the results of a slice again, here.
void Application::build(const GroupSlice &slice) {
  FusedOp group = slice.group;
  FusedOp clone =
      buildSlice(builder, slice, [&](Value value) { return valueNow(value); });
  addClone(clone);
  for (auto [result, made] : llvm::zip_equal(slice.needed, clone.getResults()))
    latest[group.getResult(result)] = made;
}

/// Makes a concatenation again. Its operands lie in it, so each must be made
/// for the copy alone: those made before for others (zeros that all stages
/// share) are made once more.
void Application::build(ConcatOp concat, int stage) {
  IRMapping mapping;
  for (Value operand : concat->getOperands()) {
    Value root = stripViews(operand);
    Value now = latest.lookup(root);
    if (!now || !now.use_empty())
      buildResult(root, stage);
    mapping.map(operand, valueNow(operand));
  }
  Operation *clone = builder.clone(*concat, mapping);
  addClone(clone);
  latest[concat.getResult()] = clone->getResult(0);
}

LogicalResult Application::visitForward(int stage, bool isFirst) {
  for (Operation *op : forward[stage]) {
    if (isFirst) {
      if (!moved.contains(op) && failed(moveHere(op)))
        return failure();
      continue;
    }
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      build(concat, stage);
      continue;
    }
    auto group = cast<FusedOp>(op);
    SmallVector<unsigned> own;
    for (unsigned result = 0; result != group.getNumResults(); ++result)
      if (stageOf(op, result) == stage)
        own.push_back(result);
    auto slice = sliceGroup(group, own, [&](unsigned result) {
      return stageOf(op, result) < stage;
    });
    build(slice ? *slice : wholeGroup(group));
  }
  return success();
}

/// Results of `group` to make again together with `result`: those that the
/// backward visit of the stage reads too, and that are cheap to hold until
/// then.
SmallVector<unsigned> Application::recomputedWith(FusedOp group,
                                                  unsigned result, int stage) {
  SmallVector<unsigned> needed;
  int64_t bytes = byteSize(group.getResult(result).getType());
  for (unsigned other = 0; other != group.getNumResults(); ++other) {
    Value value = group.getResult(other);
    bool isNarrow = 8 * byteSize(value.getType()) <= bytes;
    if (other == result ||
        (isNarrow && isDropped(value) && !recomputed.contains(value) &&
         stageOf(group, other) == stage))
      needed.push_back(other);
  }
  return needed;
}

/// Makes a result of a group again, and before it what its kernel reads that
/// has to be recomputed.
void Application::buildResult(Value root, int stage) {
  auto group = cast<FusedOp>(root.getDefiningOp());
  unsigned result = cast<OpResult>(root).getResultNumber();
  auto isThere = [&](unsigned other) {
    Value value = group.getResult(other);
    return !isDropped(value) || recomputed.contains(value);
  };
  auto slice = sliceGroup(group, recomputedWith(group, result, stage), isThere);
  GroupSlice made = slice ? *slice : wholeGroup(group);
  for (unsigned input : made.inputs)
    recompute(stripViews(group.getOperand(input)), stage);
  for (unsigned needed : made.needed)
    recomputed.insert(group.getResult(needed));
  build(made);
}

/// Has a storage in the arena again, for the first backward kernel that reads
/// it and all that follow.
void Application::bringBack(Value root) {
  if (!away.erase(root))
    return;
  FusedOp reload = createReload(builder, valueNow(root));
  addClone(reload);
  latest[root] = reload.getResult(0);
}

/// Makes a storage again for the backward visit of `stage`.
void Application::recompute(Value root, int stage) {
  bringBack(root);
  if (!isDropped(root) || !recomputed.insert(root).second)
    return;
  if (auto concat = root.getDefiningOp<ConcatOp>())
    build(concat, stage);
  else
    buildResult(root, stage);
}

LogicalResult Application::visitBackward(int stage) {
  for (Operation *op : backward[stage]) {
    for (Value operand : op->getOperands())
      recompute(stripViews(operand), stage);
    if (failed(moveHere(op)))
      return failure();
  }
  return success();
}

/// Erases what was cloned for readers that there are none of, from the last
/// clone on, and views of the original whose readers all read clones.
void Application::dropUnread() {
  for (Operation *clone : llvm::reverse(clones)) {
    if (auto group = dyn_cast<FusedOp>(clone))
      hone::dropUnread(group);
    else if (clone->use_empty())
      clone->erase();
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isViewOfOperand(&op) && op.use_empty())
      op.erase();
}

LogicalResult Application::run() {
  if (failed(readAttributes()))
    return failure();
  sortLoose();
  for (Operation *op : before)
    if (failed(moveHere(op)))
      return failure();
  SmallVector<bool> hasRun(count);
  for (ChainVisit visit : visits) {
    LogicalResult done = visit.isForward
                             ? visitForward(visit.stage, !hasRun[visit.stage])
                             : visitBackward(visit.stage);
    if (failed(done))
      return failure();
    hasRun[visit.stage] = true;
  }
  for (Operation *op : after)
    if (failed(moveHere(op)))
      return failure();
  for (Value operand : block.getTerminator()->getOperands())
    moveViews(operand); // the return reads the first version
  dropUnread();
  dropSchedule(func);
  return success();
}

LogicalResult hone::applyCheckpoints(func::FuncOp func) {
  return Application(func).run();
}

namespace {
struct ApplyCheckpoints : hone::impl::ApplyCheckpointsBase<ApplyCheckpoints> {
  void runOnOperation() override {
    if (hasSchedule(getOperation()) && failed(applyCheckpoints(getOperation())))
      signalPassFailure();
  }
};
} // namespace
