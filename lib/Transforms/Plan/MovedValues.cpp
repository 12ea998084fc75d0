//===- MovedValues.cpp - Values that lie in the second arena --------------===//
//
// A value with a reload is copied down behind its maker and copied up in time
// for the reload. It has memory up to the end of the copy down, the reload's
// result from the begin of the copy up. When these are, the seconds of kernels
// and copies say: each direction copies in order, down as soon as a value is
// there, up as late as the queue meets every reload.
//
//===----------------------------------------------------------------------===//

#include "MovedValues.h"
#include "FunctionPlanner.h"

#include "hone/Analysis/Cost/HostLink.h"
#include "hone/Analysis/Cost/KernelCost.h"
#include "hone/Analysis/Layout/Views.h"

using namespace mlir;
using namespace hone;

FusedOp hone::createReload(OpBuilder &builder, Value value) {
  auto reload = builder.create<FusedOp>(value.getLoc(), value.getType(),
                                        KernelFamily::dataMovement, value);
  reload->setAttr(reloadAttr, builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&reload.getBody());
  builder.create<YieldOp>(
      value.getLoc(),
      ValueRange(body->addArgument(value.getType(), value.getLoc())));
  return reload;
}

static bool isReadByGroups(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<FusedOp>(user) ||
           (isViewOfOperand(user) && isReadByGroups(user->getResult(0)));
  });
}

bool hone::mayMove(Value value) {
  auto group = value.getDefiningOp<FusedOp>();
  return group && group.getFamily() != KernelFamily::collective &&
         isReadByGroups(value);
}

//===----------------------------------------------------------------------===//
// When copies run
//===----------------------------------------------------------------------===//

/// Seconds at which the op of each position begins, and at which all end.
SmallVector<double> FunctionPlanner::beginsOfOps() const {
  SmallVector<double> begins;
  double now = 0;
  for (Operation &op : block) {
    begins.push_back(now);
    if (auto group = dyn_cast<FusedOp>(op); group && !isReload(group))
      now += kernelSeconds(group, target);
  }
  return begins;
}

/// Copies down, in the order in which the values are made.
void FunctionPlanner::timeCopiesDown(ArrayRef<double> begins) {
  HostLink link = hostLinkOf(target);
  double free = 0;
  for (MovedValue &move : moves) {
    int64_t made = position[move.value().getDefiningOp()];
    free = std::max(begins[made + 1], free) +
           secondsDown(link, byteSize(move.value().getType()));
    int64_t at =
        std::lower_bound(begins.begin(), begins.end(), free) - begins.begin();
    move.downEnd = std::clamp(at, made + 1, position[move.reload]);
  }
}

/// Copies up, from the last reload to the first.
void FunctionPlanner::timeCopiesUp(ArrayRef<double> begins) {
  HostLink link = hostLinkOf(target);
  SmallVector<MovedValue *> order;
  for (MovedValue &move : moves)
    order.push_back(&move);
  llvm::sort(order, [&](MovedValue *a, MovedValue *b) {
    return position[a->reload] > position[b->reload];
  });
  double next = std::numeric_limits<double>::infinity();
  for (MovedValue *move : order) {
    int64_t deadline = position[move->reload];
    next = std::min(begins[deadline], next) -
           secondsUp(link, byteSize(move->value().getType()));
    int64_t behind =
        std::upper_bound(begins.begin(), begins.end(), next) - begins.begin();
    move->upBegin = std::clamp(behind - 1, move->downEnd, deadline);
  }
}

/// Finds the reloads, when their copies run, and where the values lie.
LogicalResult FunctionPlanner::planMoves(const PackingLimits &limits) {
  for (auto group : block.getOps<FusedOp>())
    if (isReload(group)) {
      Value value = group.getInputs().front();
      if (!value.getDefiningOp<FusedOp>() || !moved.insert(value).second)
        return group.emitOpError("reloads what no group makes, or what another "
                                 "reload does");
      moves.push_back({group});
    }
  if (moves.empty())
    return success();
  llvm::sort(moves, [&](const MovedValue &a, const MovedValue &b) {
    return position[a.value().getDefiningOp()] <
           position[b.value().getDefiningOp()];
  });
  SmallVector<double> begins = beginsOfOps();
  timeCopiesDown(begins);
  timeCopiesUp(begins);
  SmallVector<BufferRequest> requests;
  for (auto [index, move] : llvm::enumerate(moves)) {
    requests.push_back({byteSize(move.value().getType()),
                        position[move.value().getDefiningOp()],
                        position[move.reload]});
    movesOf[position[move.value().getDefiningOp()]].made.push_back(index);
    movesOf[move.downEnd].downEnds.push_back(index);
    movesOf[move.upBegin].upBegins.push_back(index);
    movesOf[position[move.reload]].reloads.push_back(index);
  }
  // In the order of their reloads.
  for (auto &[at, there] : movesOf)
    llvm::sort(there.upBegins, [&](size_t a, size_t b) {
      return position[moves[a].reload] < position[moves[b].reload];
    });
  Packing host = packBuffers(requests, plan::alignment, limits);
  for (auto [move, offset] : llvm::zip_equal(moves, host.offsets))
    move.hostOffset = offset;
  hostBytes = host.bytes;
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

int64_t FunctionPlanner::tokenOfMove(size_t move, plan::Direction to) const {
  return 2 * int64_t(parts.size() + move) + (to == plan::Direction::down);
}

void FunctionPlanner::emitMove(OpBuilder &builder, size_t index,
                               plan::Direction to) {
  MovedValue &move = moves[index];
  Value copied =
      to == plan::Direction::up ? move.reload->getResult(0) : move.value();
  builder.create<plan::CopyOp>(
      move.reload.getLoc(), to, bufferFor(builder, copied),
      hostBase + move.hostOffset, tokenOfMove(index, to));
}

void FunctionPlanner::emitWaitForMove(OpBuilder &builder, size_t index,
                                      plan::Direction to) {
  builder.create<plan::WaitOp>(moves[index].reload.getLoc(),
                               tokenOfMove(index, to));
}

void FunctionPlanner::emitMovesBefore(OpBuilder &builder, Operation *op) {
  auto found = movesOf.find(position[op]);
  if (found == movesOf.end())
    return;
  for (size_t move : found->second.downEnds)
    emitWaitForMove(builder, move, plan::Direction::down);
  for (size_t move : found->second.upBegins)
    emitMove(builder, move, plan::Direction::up);
  for (size_t move : found->second.reloads)
    emitWaitForMove(builder, move, plan::Direction::up);
}

void FunctionPlanner::emitMovesAfter(OpBuilder &builder, Operation *op) {
  if (auto found = movesOf.find(position[op]); found != movesOf.end())
    for (size_t move : found->second.made)
      emitMove(builder, move, plan::Direction::down);
}
