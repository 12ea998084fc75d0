//===- OverlapCollectives.cpp - Collectives beside computation ------------===//
//
// On the final order of kernels: each collective begins as much earlier as it
// takes, and is waited for as late. Along the same axes, what is needed first
// goes first.
//
//===----------------------------------------------------------------------===//

#include "FunctionPlanner.h"

#include "hone/Analysis/Cost/KernelCost.h"
#include "hone/Analysis/Fusion/CollectiveGroups.h"
#include "hone/Analysis/Layout/Views.h"
#include "hone/IR/SearchBound.h"
#include "hone/Sharding/Model/Traffic.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVES
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
/// Moves the collectives of one function apart from what reads them.
class Overlap {
public:
  Overlap(func::FuncOp func, const dist::Mesh &mesh,
          const TargetDescription &target, int64_t maxSteps)
      : block(func.getBody().front()), mesh(mesh), target(target),
        maxSteps(maxSteps) {}

  void run();
  /// Collectives that were not moved as far as they could be, as the steps did
  /// not do; and all there are.
  int64_t numLeft() const { return left; }
  int64_t numAll() const { return all; }

private:
  void spread(FusedOp group, double needed);
  void hoist(FusedOp group, Operation *reader, double needed);
  bool mayPass(FusedOp group, Operation *reader, Operation *before) const;
  void split(FusedOp group, Operation *wait);
  Operation *firstReader(Value value) const;
  Operation *lastMaker(FusedOp group) const;
  double secondsOf(Operation &op);
  double secondsBetween(Operation *from, Operation *to, double enough);
  /// Counts a step; false where none is left.
  bool step(int64_t count = 1) { return (steps += count) <= maxSteps; }

  Block &block;
  const dist::Mesh &mesh;
  const TargetDescription &target;
  /// Results that are made before they must, and what reads them.
  SmallVector<std::pair<int64_t, Operation *>> early;
  int64_t most = 0; ///< bytes of them at a time: twice those of the largest
  DenseMap<Operation *, double> seconds; ///< of kernels that were asked for
  int64_t steps = 0, maxSteps;           ///< ops looked at
  int64_t left = 0, all = 0;
};
} // namespace

/// Seconds of a kernel; none of a view, or of another collective.
double Overlap::secondsOf(Operation &op) {
  auto group = dyn_cast<FusedOp>(op);
  if (!group || collectiveIn(group))
    return 0;
  auto [entry, isNew] = seconds.try_emplace(group, 0);
  if (isNew)
    entry->second = kernelSeconds(group, target);
  return entry->second;
}

/// The first kernel that reads `value`, also through views; null where it is
/// part of what is returned, or of a concatenation, which decide where it lies.
Operation *Overlap::firstReader(Value value) const {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *reader = user;
    if (isViewOfOperand(user))
      reader = firstReader(user->getResult(0));
    if (!isa_and_present<FusedOp>(reader))
      return nullptr;
    if (!first || reader->isBeforeInBlock(first))
      first = reader;
  }
  return first;
}

/// The kernel that makes the last operand of `group`, through views; null where
/// arguments are all it reads.
Operation *Overlap::lastMaker(FusedOp group) const {
  Operation *last = nullptr;
  for (Value operand : group.getOperands()) {
    Operation *maker = stripViews(operand).getDefiningOp();
    if (maker && (!last || last->isBeforeInBlock(maker)))
      last = maker;
  }
  return last;
}

/// Of the kernels behind `from` and before `to`, or of the first that take
/// `enough`.
double Overlap::secondsBetween(Operation *from, Operation *to, double enough) {
  double sum = 0;
  for (Operation *op = from->getNextNode(); op != to && sum < enough;
       op = op->getNextNode()) {
    sum += secondsOf(*op);
    step();
  }
  return sum;
}

/// Whether `group` may come before `before`, at which others are early too.
bool Overlap::mayPass(FusedOp group, Operation *reader,
                      Operation *before) const {
  Operation *other = collectiveIn(before);
  if (other && other->getAttr("axes") == collectiveIn(group)->getAttr("axes")) {
    // They share links: what is needed first goes first.
    FusedOp wait = waitFor(cast<FusedOp>(before));
    Operation *needed =
        firstReader((wait ? wait.getOperation() : before)->getResult(0));
    if (needed && !reader->isBeforeInBlock(needed))
      return false;
  }
  int64_t others = 0;
  for (auto [bytes, until] : early)
    if (before == until || before->isBeforeInBlock(until))
      others += bytes;
  return others == 0 || others + byteSize(group.getResult(0).getType()) <= most;
}

/// Moves `group` up, with the views that it reads, until `needed` seconds of
/// kernels stand behind it, or it is where its operands are made.
void Overlap::hoist(FusedOp group, Operation *reader, double needed) {
  Operation *maker = lastMaker(group), *place = group;
  double covered = secondsBetween(group, reader, needed);
  while (covered < needed) {
    Operation *before = place->getPrevNode();
    if (!before || before == maker || !step(1 + early.size()) ||
        !mayPass(group, reader, before))
      break;
    covered += secondsOf(*before);
    place = before;
  }
  // With the group go the views that it reads.
  SmallVector<Operation *> chain = {group};
  for (Value operand : group.getOperands())
    for (Operation *view = operand.getDefiningOp();
         isViewOfOperand(view) && !view->isBeforeInBlock(place);
         view = view->getOperand(0).getDefiningOp())
      if (!llvm::is_contained(chain, view))
        chain.push_back(view);
  while (llvm::is_contained(chain, place) && place != group)
    place = place->getNextNode();
  if (place == group)
    return;
  for (Operation *op : llvm::reverse(chain))
    op->moveBefore(place);
  early.emplace_back(byteSize(group.getResult(0).getType()), reader);
}

/// The collective begins where it stands and is waited for before `wait`.
void Overlap::split(FusedOp group, Operation *wait) {
  cast<dist::CollectiveOpInterface>(collectiveIn(group)).setAsync(true);
  OpBuilder builder(wait);
  Value begun = group.getResult(0);
  auto end = builder.create<FusedOp>(group.getLoc(), begun.getType(),
                                     KernelFamily::collective, begun);
  begun.replaceAllUsesExcept(end.getResult(0), end);
  Block *body = builder.createBlock(&end.getBody());
  Value inside = body->addArgument(begun.getType(), group.getLoc());
  builder.create<YieldOp>(
      group.getLoc(),
      ValueRange(builder.create<dist::WaitOp>(group.getLoc(), inside)));
}

/// Begins a collective early and waits for it late, where that hides some of
/// its `needed` seconds.
void Overlap::spread(FusedOp group, double needed) {
  Operation *reader = firstReader(group.getResult(0));
  if (!reader)
    return;
  hoist(group, reader, needed);
  // As late as it must be, and no later: its operands live that long.
  Operation *wait = group->getNextNode();
  for (double covered = 0; wait != reader && covered < needed && step();
       wait = wait->getNextNode())
    covered += secondsOf(*wait);
  // Views of the result come behind the wait.
  for (Operation *user : group.getResult(0).getUsers())
    if (user->isBeforeInBlock(wait))
      wait = user;
  constexpr double any = std::numeric_limits<double>::min();
  if (secondsBetween(group, wait, any) > 0)
    split(group, wait);
}

void Overlap::run() {
  SmallVector<std::pair<FusedOp, double>> collectives;
  for (auto group : block.getOps<FusedOp>())
    if (Operation *op = collectiveIn(group); op && !dist::isAsync(op))
      if (auto transfer = dist::transferOf(op, mesh)) {
        collectives.emplace_back(group, transfer->seconds);
        most = std::max(most, 2 * byteSize(group.getResult(0).getType()));
      }
  all = left = collectives.size();
  for (auto [group, needed] : collectives) {
    if (!step())
      return;
    spread(group, needed);
    left -= steps <= maxSteps;
  }
}

namespace {
struct OverlapCollectives
    : hone::impl::OverlapCollectivesBase<OverlapCollectives> {
  using OverlapCollectivesBase::OverlapCollectivesBase;

  /// Of a function that keeps what was done.
  void explain(func::FuncOp func, const Overlap &overlap) {
    if (report && overlap.numLeft() != 0)
      emitRemark(func.getLoc())
          << searchStopped << "@" << func.getName() << ": after "
          << int64_t(maxSteps)
          << " steps (max-steps of hone-overlap-collectives) "
          << overlap.numLeft() << " of " << overlap.numAll()
          << " collectives stay where they stand, or are moved less far";
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkBounds(module.getLoc(), maxSteps)))
      return signalPassFailure();
    if (module.getOps<dist::MeshOp>().empty())
      return;
    FailureOr<dist::Mesh> mesh = dist::Mesh::of(module);
    FailureOr<TargetDescription> target = getTarget(module);
    if (failed(mesh) || failed(target))
      return signalPassFailure();
    if (target->kind != TargetKind::CUDA && !always)
      return;
    SmallVector<func::FuncOp> funcs = programFunctions(module);
    if (budget == 0) {
      for (func::FuncOp func : funcs) {
        Overlap overlap(func, *mesh, *target, maxSteps);
        overlap.run();
        explain(func, overlap);
      }
      return;
    }
    StateMap state;
    StateBytes persistent;
    for (func::FuncOp func : funcs)
      if (failed(collectState(func, state, persistent)))
        return signalPassFailure();
    for (func::FuncOp func : funcs) {
      OwningOpRef<func::FuncOp> trial = func.clone();
      Overlap overlap(*trial, *mesh, *target, maxSteps);
      overlap.run();
      FunctionPlanner planner(*trial, state, *target);
      if (failed(planner.plan()))
        return signalPassFailure();
      if (persistent.arena + planner.temporaryBytes() > budget)
        continue;
      func.getBody().takeBody(trial->getBody());
      explain(func, overlap);
    }
  }
};
} // namespace
