//===- MovedValues.cpp - Values that lie in the second arena --------------===//
//
// A value with a reload is copied down behind its maker and copied up in time
// for the reload; state is copied up alone, for as many reloads as it has. It
// has memory up to the end of the copy down, the reload's result from the begin
// of the copy up. When these are, the seconds of kernels and copies say: each
// direction copies in order, down as soon as a value is there, up as late as
// the queue meets every reload.
//
//===----------------------------------------------------------------------===//

#include "MovedValues.h"
#include "FunctionPlanner.h"
#include "StreamedWeights.h"

#include "hone/Analysis/Cost/HostLink.h"
#include "hone/Analysis/Cost/KernelCost.h"
#include "hone/Analysis/Layout/Views.h"

#include <map>

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

namespace {
/// How early copies of weights may begin: weights that are on their way or have
/// readers left are at most twice the bytes of the largest visit of a layer. So
/// equal layers come one ahead, and a large one has the time of several small
/// ones before it.
class WeightWindow {
public:
  void addVisit(int64_t bytes) { most = std::max(most, 2 * bytes); }
  /// The first second at which there is room for `bytes` more. `ends` has those
  /// at which the ops so far end; what later ones read stays.
  double whenFits(int64_t bytes, ArrayRef<double> ends) {
    for (; total + bytes > most && !held.empty() &&
           held.begin()->first < int64_t(ends.size());
         held.erase(held.begin())) {
      room = ends[held.begin()->first];
      total -= held.begin()->second;
    }
    return room;
  }
  void add(int64_t lastReader, int64_t bytes) {
    held.insert({lastReader, bytes});
    total += bytes;
  }

private:
  int64_t most = 0, total = 0;
  double room = 0;
  std::multimap<int64_t, int64_t> held; ///< last readers and bytes
};
} // namespace

/// Finds when ops run if copies up begin as early as they may: of a value once
/// it is away, of a weight as soon as there is room for it. A reload waits for
/// its copy, which waits for those of reloads before it.
void FunctionPlanner::timeOps() {
  HostLink link = hostLinkOf(target);
  DenseMap<Operation *, MovedValue *> moveOf;
  WeightWindow window;
  Attribute layer; // of the latest visit
  int64_t visit = 0;
  for (MovedValue &move : moves) {
    moveOf[move.reload] = &move;
    if (!move.isState())
      continue;
    Attribute own =
        stateOf(cast<BlockArgument>(move.value())).attributes.get(layerAttr);
    if (own != layer)
      window.addVisit(std::exchange(visit, 0));
    layer = own;
    visit += byteSize(move.value().getType());
  }
  window.addVisit(visit);
  double now = 0, up = 0, down = 0;
  for (Operation &op : block) {
    if (MovedValue *move = moveOf.lookup(&op)) {
      int64_t bytes = byteSize(move->value().getType());
      double earliest = move->downDone;
      if (move->isState()) {
        earliest = window.whenFits(bytes, ends);
        window.add(lastReaderOf(*move), bytes);
      }
      up = std::max(up, earliest) + secondsUp(link, bytes);
      now = std::max(now, up);
    }
    begins.push_back(now);
    waits.push_back(moveOf.contains(&op));
    if (auto group = dyn_cast<FusedOp>(op); group && !isReload(group))
      now += kernelSeconds(group, target);
    ends.push_back(now);
    if (auto found = movesOf.find(position[&op]); found != movesOf.end())
      for (size_t index : found->second.made)
        moves[index].downDone = down =
            std::max(now, down) +
            secondsDown(link, byteSize(moves[index].value().getType()));
  }
}

/// The position of the last kernel that reads what a reload brings.
int64_t FunctionPlanner::lastReaderOf(const MovedValue &move) const {
  int64_t last = position.lookup(move.reload);
  for (OpOperand *use : readingsOf(FusedOp(move.reload).getResult(0)).kernels)
    last = std::max(last, position.lookup(use->getOwner()));
  return last;
}

/// Where copies down end.
void FunctionPlanner::timeCopiesDown() {
  for (MovedValue &move : moves) {
    if (move.isState())
      continue;
    int64_t made = position[move.value().getDefiningOp()];
    int64_t at = llvm::lower_bound(begins, move.downDone) - begins.begin();
    move.downEnd = std::clamp(at, made + 1, position[move.reload]);
  }
}

/// Where copies up begin, from the last reload to the first.
void FunctionPlanner::timeCopiesUp() {
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
    // The op that runs or waits then. Copies follow each other without a gap:
    // the next one begins before the wait for the one before.
    int64_t at = llvm::upper_bound(ends, next) - ends.begin();
    while (at > 0 && waits[at - 1] && ends[at - 1] > next - link.latency)
      --at;
    move->upBegin = std::clamp(at, move->downEnd, deadline);
  }
}

/// Finds the reloads, when their copies run, and where the values lie.
LogicalResult FunctionPlanner::planMoves(const PackingLimits &limits) {
  for (auto group : block.getOps<FusedOp>())
    if (isReload(group)) {
      Value value = group.getInputs().front();
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument
              ? !stateOf(argument).isOnHost()
              : !value.getDefiningOp<FusedOp>() || !moved.insert(value).second)
        return group.emitOpError("reloads what no group makes, what another "
                                 "reload does, or state of the arena");
      moves.push_back({group});
    }
  if (moves.empty())
    return success();
  auto order = [&](const MovedValue &move) {
    return move.isState()
               ? std::make_pair(int64_t(-1), position[move.reload])
               : std::make_pair(position[move.value().getDefiningOp()],
                                position[move.reload]);
  };
  llvm::sort(moves, [&](const MovedValue &a, const MovedValue &b) {
    return order(a) < order(b);
  });
  for (auto [index, move] : llvm::enumerate(moves))
    if (!move.isState())
      movesOf[position[move.value().getDefiningOp()]].made.push_back(index);
  timeOps();
  timeCopiesDown();
  timeCopiesUp();
  for (auto [index, move] : llvm::enumerate(moves)) {
    if (!move.isState())
      movesOf[move.downEnd].downEnds.push_back(index);
    movesOf[move.upBegin].upBegins.push_back(index);
    movesOf[position[move.reload]].reloads.push_back(index);
  }
  // In the order of their reloads.
  for (auto &[at, there] : movesOf)
    llvm::sort(there.upBegins, [&](size_t a, size_t b) {
      return position[moves[a].reload] < position[moves[b].reload];
    });
  packMoves(limits);
  return success();
}

/// Where values lie in the second arena, behind state.
void FunctionPlanner::packMoves(const PackingLimits &limits) {
  SmallVector<BufferRequest> requests;
  SmallVector<MovedValue *> values;
  for (MovedValue &move : moves)
    if (move.isState()) {
      move.hostOffset = stateOf(cast<BlockArgument>(move.value())).offset;
    } else {
      values.push_back(&move);
      requests.push_back({byteSize(move.value().getType()),
                          position[move.value().getDefiningOp()],
                          position[move.reload]});
    }
  Packing host = packBuffers(requests, plan::alignment, limits);
  for (auto [move, offset] : llvm::zip_equal(values, host.offsets))
    move->hostOffset = offset;
  hostBytes = host.bytes;
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
      (move.isState() ? 0 : hostBase) + move.hostOffset,
      tokenOfMove(index, to));
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
