//===- OverlapCollectives.cpp - Collectives beside computation ------------===//
//
// On the final order of kernels: each collective begins so early, and is waited
// for so late, that kernels hide it. Those along the same axes share links and
// run one after the other: what is needed first goes first.
//
//===----------------------------------------------------------------------===//

#include "FunctionPlanner.h"
#include "MovedValues.h"

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
  /// With as many early results at a time as `together` of the largest have
  /// bytes; one at least.
  Overlap(func::FuncOp func, const dist::Mesh &mesh,
          const TargetDescription &target, int64_t maxSteps, int together)
      : block(func.getBody().front()), mesh(mesh), target(target),
        most(together * largestCollectiveResult(func)), maxSteps(maxSteps) {}

  /// With `queues`, those that would be late behind others begin earlier.
  void run(bool queues = true);
  /// Collectives that were not moved as far as they could be, as the steps did
  /// not do; and all there are.
  int64_t numLeft() const { return left; }
  int64_t numAll() const { return all; }

private:
  /// A collective to move, and its place in the queue of its axes.
  struct Transfer {
    FusedOp group;
    Attribute axes;
    Operation *reader; ///< null: it stays where it stands
    double seconds;
    double needed; ///< seconds of kernels before the reader, from its begin
    double begin = 0, end = 0; ///< in its queue, in seconds of kernels
    bool isEarly = false;
  };

  void collect();
  bool hoist(Transfer &transfer);
  bool hoistLate();
  double queueUp();
  bool delayReaders();
  SmallVector<Operation *> viewsBefore(Value value, Operation *place);
  void waitLate(const Transfer &transfer);
  bool mayPass(FusedOp group, Operation *reader, Operation *before) const;
  void split(FusedOp group, Operation *wait);
  Operation *firstReader(Value value) const;
  Operation *lastMaker(FusedOp group) const;
  double secondsOf(Operation &op);
  double secondsBetween(Operation *from, Operation *to, double enough);
  bool areKernelsBetween(Operation *from, Operation *to) {
    return secondsBetween(from, to, std::numeric_limits<double>::min()) > 0;
  }
  /// Counts a step; false where none is left.
  bool step(int64_t count = 1) { return (steps += count) <= maxSteps; }

  Block &block;
  const dist::Mesh &mesh;
  const TargetDescription &target;
  SmallVector<Transfer> transfers; ///< in their order
  /// Bytes of results that are there early while an op runs.
  DenseMap<Operation *, int64_t> early;
  DenseMap<Operation *, double> times;   ///< when ops begin, but for waits
  int64_t most;                          ///< bytes of them at a time
  DenseMap<Operation *, double> seconds; ///< of kernels that were asked for
  int64_t steps = 0, maxSteps;           ///< ops looked at
  int64_t left = 0, all = 0;
};
} // namespace

/// Seconds of a kernel; none of a view, of a reload, or of another collective.
double Overlap::secondsOf(Operation &op) {
  auto group = dyn_cast<FusedOp>(op);
  if (!group || collectiveIn(group) || isReload(group))
    return 0;
  auto [entry, isNew] = seconds.try_emplace(group, 0);
  if (isNew)
    entry->second = kernelSeconds(group, target);
  return entry->second;
}

/// The first kernel that reads `value`, also through views and concatenations
/// that it is written into; null where it is part of what is returned.
Operation *Overlap::firstReader(Value value) const {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *reader = user;
    if (isStorageView(user))
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
  int64_t others = early.lookup(before);
  return others == 0 || others + byteSize(group.getResult(0).getType()) <= most;
}

/// Moves the collective up, with the views that it reads, until as many seconds
/// of kernels as it needs stand behind it, or it is where its operands are
/// made. Whether it moved.
bool Overlap::hoist(Transfer &transfer) {
  FusedOp group = transfer.group;
  Operation *maker = lastMaker(group), *place = group;
  double covered = secondsBetween(group, transfer.reader, transfer.needed);
  SmallVector<Operation *> passed;
  while (covered < transfer.needed) {
    Operation *before = place->getPrevNode();
    if (!before || before == maker || !step() ||
        !mayPass(group, transfer.reader, before))
      break;
    covered += secondsOf(*before);
    place = before;
    passed.push_back(before);
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
    return false;
  if (!std::exchange(transfer.isEarly, true))
    passed.push_back(transfer.reader);
  for (Operation *op : passed)
    early[op] += byteSize(group.getResult(0).getType());
  for (Operation *op : llvm::reverse(chain))
    op->moveBefore(place);
  return true;
}

/// The views of `value`, also through others, that stand before `place`, in
/// their order.
SmallVector<Operation *> Overlap::viewsBefore(Value value, Operation *place) {
  llvm::SmallSetVector<Operation *, 8> views;
  for (SmallVector<Value> viewed = {value}; !viewed.empty();)
    for (Operation *user : viewed.pop_back_val().getUsers()) {
      step();
      if (!user->isBeforeInBlock(place))
        continue;
      assert(isStorageView(user) && "expected a place before all readers");
      if (views.insert(user))
        viewed.push_back(user->getResult(0));
    }
  SmallVector<Operation *> sorted = views.takeVector();
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
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
  for (Operation *view : viewsBefore(end.getResult(0), wait))
    view->moveBefore(wait);
}

/// Waits for a collective when kernels have hidden it and what is before it in
/// its queue, at the latest before what reads it. No later: its operands live
/// that long.
void Overlap::waitLate(const Transfer &transfer) {
  FusedOp group = transfer.group;
  double needed = transfer.end - times[group];
  Operation *wait = group->getNextNode();
  for (double covered = 0;
       wait != transfer.reader && covered < needed && step();
       wait = wait->getNextNode())
    covered += secondsOf(*wait);
  if (areKernelsBetween(group, wait))
    split(group, wait);
}

void Overlap::collect() {
  for (auto group : block.getOps<FusedOp>())
    if (Operation *op = collectiveIn(group); op && !dist::isAsync(op))
      if (auto transfer = dist::transferOf(op, mesh)) {
        transfers.push_back({group, op->getAttr("axes"),
                             firstReader(group.getResult(0)), transfer->seconds,
                             transfer->seconds});
      }
}

/// Begin and end of each collective where all stand now: those along the same
/// axes run one after the other, as the runtime begins them; those along other
/// axes are taken to have links of their own. Returns by how much readers come
/// too early.
double Overlap::queueUp() {
  double now = 0, late = 0;
  for (Operation &op : block) {
    times[&op] = now;
    now += secondsOf(op);
    step();
  }
  llvm::sort(transfers, [](const Transfer &a, const Transfer &b) {
    return a.group->isBeforeInBlock(b.group);
  });
  DenseMap<Attribute, double> free; // when the links are, by axes
  for (Transfer &transfer : transfers) {
    if (transfer.reader) // of several, another one may have become the first
      transfer.reader = firstReader(transfer.group.getResult(0));
    double &end = free[transfer.axes];
    transfer.begin = std::max(end, times[transfer.group]);
    end = transfer.end = transfer.begin + transfer.seconds;
    if (transfer.reader)
      late += std::max(end - times[transfer.reader], 0.0);
  }
  return late;
}

/// Moves up, in their order, what is there too late, and what is before it in
/// a queue without a gap. Whether something moved.
bool Overlap::hoistLate() {
  struct Behind {
    double begin, late;
  };
  DenseMap<Attribute, Behind> queues;
  for (Transfer &transfer : llvm::reverse(transfers)) {
    auto [behind, isLast] = queues.try_emplace(transfer.axes);
    double late = 0;
    if (transfer.reader)
      late = std::max(transfer.end - times[transfer.reader], 0.0);
    if (!isLast && behind->second.begin <= transfer.end)
      late = std::max(late, behind->second.late);
    behind->second = {transfer.begin, late};
    transfer.needed += late;
  }
  bool moved = false;
  for (Transfer &transfer : transfers)
    if (transfer.reader && step())
      moved |= hoist(transfer);
  return moved;
}

/// A collective that reads what others have not sent yet comes later, at the
/// latest before its own first reader: sums along two axes. Whether one was
/// moved.
bool Overlap::delayReaders() {
  llvm::MapVector<FusedOp, double> sent; // when all that it reads is there
  for (const Transfer &transfer : transfers)
    if (collectiveIn(transfer.reader)) {
      double &last = sent[cast<FusedOp>(transfer.reader)];
      last = std::max(last, transfer.end);
    }
  bool moved = false;
  for (auto [group, seconds] : sent) {
    Operation *reader = firstReader(group.getResult(0));
    if (!reader || times[group] >= seconds)
      continue;
    Operation *place = group->getNextNode();
    while (place != reader && times[place] < seconds && step())
      place = place->getNextNode();
    if (!areKernelsBetween(group, place))
      continue;
    SmallVector<Operation *> views = viewsBefore(group.getResult(0), place);
    group->moveBefore(place);
    for (Operation *view : views)
      view->moveBefore(place);
    moved = true;
  }
  return moved;
}

void Overlap::run(bool queues) {
  collect();
  all = left = transfers.size();
  for (Transfer &transfer : transfers)
    if (transfer.reader && step())
      hoist(transfer);
  double late = queueUp();
  // Until that gains no hundredth.
  for (double before = 2 * late; queues && late > 0 && late < 0.99 * before;) {
    before = late;
    while (delayReaders() && step())
      late = queueUp();
    if (!hoistLate())
      break;
    late = queueUp();
  }
  for (const Transfer &transfer : transfers) {
    if (!step())
      return;
    if (transfer.reader)
      waitLate(transfer);
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

  /// Tries fewer early results where many take more memory than `room`.
  LogicalResult overlapWithin(func::FuncOp func, const dist::Mesh &mesh,
                              const TargetDescription &target, StateMap &state,
                              int64_t room) {
    for (auto [together, queues] : {std::pair(mostEarlyResults, true),
                                    {mostEarlyResults, false},
                                    {1, false}}) {
      OwningOpRef<func::FuncOp> trial = func.clone();
      Overlap overlap(*trial, mesh, target, maxSteps, together);
      overlap.run(queues);
      FunctionPlanner planner(*trial, state, target);
      if (failed(planner.plan()))
        return failure();
      if (planner.temporaryBytes() > room)
        continue;
      func.getBody().takeBody(trial->getBody());
      explain(func, overlap);
      break;
    }
    return success();
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
        Overlap overlap(func, *mesh, *target, maxSteps, mostEarlyResults);
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
    for (func::FuncOp func : funcs)
      if (failed(overlapWithin(func, *mesh, *target, state,
                               budget - persistent.arena)))
        return signalPassFailure();
  }
};
} // namespace
