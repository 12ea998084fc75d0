//===- ContextChoice.cpp - How attention gets the positions of others -----===//
//
// Three ways are compared by what a rank sends, how long that takes beyond the
// attention that hides it, and what the rank holds beside its shards. The
// figures are of one attention and its gradient, summed over a function.
//
//===----------------------------------------------------------------------===//

#include "ContextParallel.h"

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Support/ByteSize.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

static Axes numbersOf(ArrayRef<StringAttr> names, const Mesh &mesh) {
  Axes axes;
  for (StringAttr name : names)
    axes.push_back(*mesh.find(name.getValue()));
  return axes;
}

namespace {
/// Of a rank.
struct ContextCost {
  double seconds = 0; ///< of exchanges, and of moves in memory around them
  double sent = 0;    ///< bytes
  double held = 0;    ///< bytes beside its shards, of one attention
};

/// The three ways for one attention and its gradient.
class AttentionExchange {
public:
  AttentionExchange(AttentionOp op, const InputAxes &inputs,
                    ArrayRef<StringAttr> tensorAxes, const Mesh &mesh,
                    const TargetDescription &target)
      : op(op), target(target),
        group(mesh.group(numbersOf(inputs.positions, mesh))),
        ranks(double(group.ranks())),
        peers(double(mesh.count(numbersOf(inputs.batch, mesh)) *
                     mesh.count(numbersOf(tensorAxes, mesh))) *
              ranks),
        query(shardBytes(op.getQuery())), key(shardBytes(op.getKey())),
        value(shardBytes(op.getValue())), result(shardBytes(op.getResult())) {
    unsigned bits = elementOf(op.getQuery()).getIntOrFloatBitWidth();
    wide = std::max(32.0 / bits, 1.0);
  }

  ContextCost gather();
  ContextCost heads();
  ContextCost ring();

private:
  double shardBytes(Value tensor) const {
    return double(byteSize(tensor.getType())) / peers;
  }
  /// A collective of `bytes` that each rank gives; its seconds.
  double send(ContextCost &cost, CollectiveKind kind, double bytes,
              double times) {
    cost.sent += times * bytesSent(kind, int64_t(ranks), bytes);
    return times * secondsOf(kind, group, bytes);
  }
  /// Seconds to read so many bytes, or write them.
  double moving(double bytes) const { return bytes / target.bytesPerSecond(); }
  double stepSeconds(bool isBackward);

  AttentionOp op;
  const TargetDescription &target;
  Group group;
  double ranks, peers;
  double query, key, value, result; ///< bytes of a rank's shards
  double wide; ///< f32 bytes of an element, in bytes of an element
};
} // namespace

/// Keys and values are gathered twice, and their gradients scattered.
ContextCost AttentionExchange::gather() {
  ContextCost cost;
  for (double bytes : {key, value}) {
    cost.seconds += send(cost, CollectiveKind::allGather, bytes, 2);
    cost.seconds += send(cost, CollectiveKind::reduceScatter, bytes * ranks, 1);
    // What is gathered is put in order, and so is what is scattered.
    cost.seconds += moving(3 * 2 * bytes * ranks);
    cost.held += 2 * bytes * ranks; // a gradient too
  }
  return cost;
}

/// All that the two ops read and make goes through an all-to-all, and is put in
/// order before and after it.
ContextCost AttentionExchange::heads() {
  ContextCost cost;
  for (double bytes : {query, key, value, result}) {
    cost.seconds += send(cost, CollectiveKind::allToAll, bytes, 2);
    cost.seconds += moving(2 * 4 * bytes);
    cost.held += 2 * bytes;
  }
  return cost;
}

/// Of the attention of one step of the ring: one of as many as there are ranks,
/// about.
double AttentionExchange::stepSeconds(bool isBackward) {
  RankedTensorType type = op.getQuery().getType();
  double rate = target.attentionFlopsPerSecond(
      type.getElementType(), type.getShape().back(), isBackward);
  double products = isBackward ? 2.5 : 1; // five for two
  return products * double(op.getCost().flops) / peers / ranks / rate;
}

/// Keys and values go around twice, and their gradients in f32. Attention hides
/// them where the target overlaps collectives at all.
ContextCost AttentionExchange::ring() {
  ContextCost cost;
  double forward = 0, backward = 0, hops = ranks - 1;
  for (double bytes : {key, value}) {
    forward += send(cost, CollectiveKind::shift, bytes, hops);
    backward += send(cost, CollectiveKind::shift, bytes, hops) +
                send(cost, CollectiveKind::shift, wide * bytes, hops);
  }
  if (target.kind == TargetKind::CUDA) {
    forward = std::max(forward - hops * stepSeconds(/*isBackward=*/false), 0.0);
    backward =
        std::max(backward - hops * stepSeconds(/*isBackward=*/true), 0.0);
  }
  double keys = key + value, outputs = query + result;
  // What a step attends to is chosen; its results are merged and added.
  double chosen = 2 * (2 * keys + 2 * outputs + result);
  double added = wide * (4.5 * result + 3 * query + 4 * keys);
  cost.seconds = forward + backward + hops * moving(chosen + added);
  // Two pairs on their way, a chosen one, and sums in f32.
  cost.held = 3 * keys + outputs + result + wide * (2 * query + 3 * keys);
  return cost;
}

//===----------------------------------------------------------------------===//
// Of a function
//===----------------------------------------------------------------------===//

namespace {
/// A way, its word in a recipe, and why it cannot be taken.
struct Candidate {
  ContextLowering way;
  StringRef word;
  bool isPossible = true;
  ContextCost cost;
};
using Candidates = std::array<Candidate, 3>;
} // namespace

static void add(ContextCost &sum, const ContextCost &cost) {
  sum.seconds += cost.seconds;
  sum.sent += cost.sent;
  sum.held = std::max(sum.held, cost.held);
}

/// The fastest way; of those that take at most a tenth more, which is what
/// these figures are good for, the one that holds the least.
static const Candidate &bestOf(const Candidates &all) {
  const Candidate *best = nullptr;
  double fastest = std::numeric_limits<double>::infinity();
  for (const Candidate &each : all)
    if (each.isPossible)
      fastest = std::min(fastest, each.cost.seconds);
  for (const Candidate &each : all)
    if (each.isPossible && each.cost.seconds <= 1.1 * fastest &&
        (!best || each.cost.held < best->cost.held))
      best = &each;
  return *best;
}

static void explain(func::FuncOp func, const Candidates &all,
                    const Candidate &taken) {
  InFlightDiagnostic remark = emitRemark(func.getLoc());
  remark << "attention along axis cp: takes " << taken.word << " (";
  StringRef separator = "";
  for (const Candidate &each : all) {
    remark << separator << each.word;
    separator = "; ";
    if (each.isPossible)
      remark << llvm::formatv(" {0:F3} ms, sends {1}, holds {2}",
                              1e3 * each.cost.seconds,
                              formatBytes(int64_t(each.cost.sent)),
                              formatBytes(int64_t(each.cost.held)))
                    .str();
    else
      remark << " is not possible";
  }
  remark << ")";
}

/// The first attention of `func` whose key heads `ranks` do not divide; null:
/// they divide all.
static AttentionOp findFewHeads(func::FuncOp func, int64_t ranks) {
  for (auto op : func.getOps<AttentionOp>())
    if (shapeOf(op.getKey())[2] % ranks != 0)
      return op;
  return {};
}

/// The first attention of any function whose keys cannot go around a ring;
/// null: all can. Only the functions that train have dropout.
static AttentionOp findNoRing(func::FuncOp reader) {
  for (auto func : reader->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    for (auto op : func.getOps<AttentionOp>())
      if (!whyNoRing(op).empty())
        return op;
  return {};
}

static FailureOr<ContextLowering> checkHeads(func::FuncOp func, int64_t ranks) {
  AttentionOp few = findFewHeads(func, ranks);
  if (!few)
    return ContextLowering::Heads;
  return few.emitOpError()
         << "has " << shapeOf(few.getKey())[2]
         << " key heads, expected a multiple of " << ranks
         << ", the ranks along cp and tp together: type --recipe=cp-gather, "
            "which needs no heads, or a smaller cp";
}

static FailureOr<ContextLowering> checkRing(func::FuncOp func) {
  if (isMeshInvariant(func))
    return func.emitError("a ring of cp-ring adds in an order of its own on "
                          "each rank, expected --recipe=cp-gather or "
                          "cp-heads with --exact");
  AttentionOp op = findNoRing(func);
  if (!op)
    return ContextLowering::Ring;
  return op.emitOpError() << whyNoRing(op)
                          << ", expected causal attention alone with cp-ring: "
                             "type --recipe=cp-gather or cp-heads";
}

FailureOr<ContextLowering> dist::chooseContext(func::FuncOp func,
                                               StringRef context,
                                               const InputAxes &inputs,
                                               ArrayRef<StringAttr> tensorAxes,
                                               const Mesh &mesh, bool report) {
  int64_t ranks = mesh.count(numbersOf(inputs.positions, mesh)) *
                  mesh.count(numbersOf(tensorAxes, mesh));
  if (context == "heads")
    return checkHeads(func, ranks);
  if (context == "ring")
    return checkRing(func);
  if (context != "gather" && context != "auto")
    return func.emitError() << "context is '" << context
                            << "', expected gather, heads, ring or auto";
  if (context == "gather" || isMeshInvariant(func) ||
      func.getOps<AttentionOp>().empty())
    return ContextLowering::Gather;
  FailureOr<TargetDescription> target =
      getTarget(func->getParentOfType<ModuleOp>());
  if (failed(target))
    return failure();
  Candidates all = {
      Candidate{ContextLowering::Gather, "cp-gather", true, {}},
      Candidate{
          ContextLowering::Heads, "cp-heads", !findFewHeads(func, ranks), {}},
      Candidate{ContextLowering::Ring, "cp-ring", !findNoRing(func), {}}};
  for (auto op : func.getOps<AttentionOp>()) {
    AttentionExchange exchange(op, inputs, tensorAxes, mesh, *target);
    add(all[0].cost, exchange.gather());
    add(all[1].cost, exchange.heads());
    add(all[2].cost, exchange.ring());
  }
  const Candidate &taken = bestOf(all);
  if (report)
    explain(func, all, taken);
  return taken.way;
}
