//===- Reshard.cpp - From one sharding to another -------------------------===//

#include "Reshard.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
class Planner {
public:
  Planner(const Sharding &from, const Sharding &to, const Mesh &mesh)
      : current(from), to(to), mesh(mesh) {}

  SmallVector<ReshardStep> plan() {
    reduce();
    for (unsigned dim = 0; dim != to.dims.size(); ++dim)
      collect(dim);
    for (unsigned dim = 0; dim != to.dims.size(); ++dim)
      divide(dim);
    return std::move(steps);
  }

private:
  /// Whether the next axis that `dim` needs is `axis`, and parts can be made
  /// of the parts that are there.
  bool isNext(unsigned dim, unsigned axis) const {
    const DimShards &now = current.dims[dim], &expected = to.dims[dim];
    size_t have = now.axes.size();
    return have < expected.axes.size() && expected.axes[have] == axis &&
           ArrayRef(expected.axes).take_front(have) == ArrayRef(now.axes) &&
           (have == 0 ||
            (now.cuts == expected.cuts && now.snake == expected.snake));
  }

  std::optional<unsigned> dimWaitingFor(unsigned axis) const {
    for (unsigned dim = 0; dim != to.dims.size(); ++dim)
      if (isNext(dim, axis))
        return dim;
    return std::nullopt;
  }

  /// The cuts of the dimension when only the first `taken` axes shard it.
  SmallVector<int64_t> cutsOf(const DimShards &shards, size_t taken) const {
    return scaledCuts(shards.cuts,
                      mesh.count(ArrayRef(shards.axes).take_front(taken)));
  }

  void append(unsigned dim, unsigned axis) {
    current.dims[dim].axes.push_back(axis);
    current.dims[dim].cuts = to.dims[dim].cuts;
    current.dims[dim].snake = to.dims[dim].snake;
  }

  /// The axes along which values are partial and the result is not to be.
  Axes summed() const {
    Axes axes = current.partial;
    llvm::erase_if(axes, [&](unsigned axis) {
      return llvm::is_contained(to.partial, axis);
    });
    return axes;
  }

  /// Discharges partial axes.
  void reduce() {
    for (bool changed = true; changed;) {
      changed = false;
      for (unsigned axis : summed())
        if (std::optional<unsigned> dim = dimWaitingFor(axis)) {
          steps.push_back(
              {StepKind::ReduceScatter,
               {axis},
               *dim,
               0,
               cutsOf(to.dims[*dim], current.dims[*dim].axes.size()),
               {},
               to.dims[*dim].snake});
          append(*dim, axis);
          llvm::erase(current.partial, axis);
          changed = true;
          break;
        }
    }
    if (Axes left = summed(); !left.empty())
      steps.push_back({StepKind::AllReduce, left, 0, 0, {}, {}});
    current.partial = to.partial;
  }

  /// How many axes of `dim` may stay.
  size_t axesKept(unsigned dim) const {
    const DimShards &now = current.dims[dim], &expected = to.dims[dim];
    if (now.cuts != expected.cuts || now.snake != expected.snake)
      return 0;
    size_t kept = 0;
    while (kept < now.axes.size() && kept < expected.axes.size() &&
           now.axes[kept] == expected.axes[kept])
      ++kept;
    return kept;
  }

  /// Takes away the axes of `dim` that it does not keep.
  void collect(unsigned dim) {
    DimShards &now = current.dims[dim];
    size_t kept = axesKept(dim);
    while (now.axes.size() > kept) {
      unsigned axis = now.axes.back();
      DimShards before = now;
      now.axes.pop_back();
      std::optional<unsigned> target = dimWaitingFor(axis);
      if (target && *target != dim) {
        steps.push_back(
            {StepKind::AllToAll,
             {axis},
             dim,
             *target,
             cutsOf(before, now.axes.size()),
             cutsOf(to.dims[*target], current.dims[*target].axes.size()),
             before.snake,
             to.dims[*target].snake});
        append(*target, axis);
        continue;
      }
      // All that follow up to the next that can move elsewhere.
      Axes gathered = {axis};
      while (now.axes.size() > kept && !dimWaitingFor(now.axes.back()))
        gathered.insert(gathered.begin(), now.axes.pop_back_val());
      steps.push_back({StepKind::AllGather,
                       gathered,
                       dim,
                       0,
                       cutsOf(before, now.axes.size()),
                       {},
                       before.snake});
    }
    if (now.axes.empty())
      now = {};
  }

  /// Adds the axes of `dim` that are missing.
  void divide(unsigned dim) {
    const DimShards &expected = to.dims[dim];
    size_t have = current.dims[dim].axes.size();
    if (have == expected.axes.size())
      return;
    steps.push_back({StepKind::Shard,
                     Axes(ArrayRef(expected.axes).drop_front(have)),
                     dim,
                     0,
                     cutsOf(expected, have),
                     {},
                     expected.snake});
    current.dims[dim] = expected;
  }

  Sharding current;
  const Sharding &to;
  const Mesh &mesh;
  SmallVector<ReshardStep> steps;
};
} // namespace

SmallVector<ReshardStep>
dist::planReshard(const Sharding &from, const Sharding &to, const Mesh &mesh) {
  assert(llvm::all_of(to.partial,
                      [&](unsigned axis) {
                        return llvm::is_contained(from.partial, axis);
                      }) &&
         "terms are made by ops alone");
  return Planner(from, to, mesh).plan();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

static std::optional<CollectiveKind> collectiveOf(StepKind kind) {
  switch (kind) {
  case StepKind::AllReduce:
    return CollectiveKind::allReduce;
  case StepKind::ReduceScatter:
    return CollectiveKind::reduceScatter;
  case StepKind::AllGather:
    return CollectiveKind::allGather;
  case StepKind::AllToAll:
    return CollectiveKind::allToAll;
  case StepKind::Shard:
    return std::nullopt;
  }
  llvm_unreachable("unknown step");
}

ReshardCost dist::costOf(ArrayRef<ReshardStep> steps, double bytes,
                         const Mesh &mesh) {
  ReshardCost cost;
  for (const ReshardStep &step : steps) {
    int64_t ranks = mesh.count(step.axes);
    if (std::optional<CollectiveKind> collective = collectiveOf(step.kind)) {
      cost.bytes += bytesSent(*collective, ranks, bytes);
      cost.seconds += secondsOf(*collective, mesh.group(step.axes), bytes);
    }
    if (step.kind == StepKind::AllGather)
      bytes *= double(ranks);
    else if (step.kind == StepKind::ReduceScatter ||
             step.kind == StepKind::Shard)
      bytes /= double(ranks);
  }
  return cost;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static Value emitStep(OpBuilder &builder, Location loc, Value value,
                      const ReshardStep &step, ReduceKind kind,
                      const Mesh &mesh) {
  auto type = cast<RankedTensorType>(value.getType());
  ArrayAttr axes = namesOf(step.axes, mesh, builder.getContext());
  int64_t parts = mesh.count(step.axes);
  SmallVector<int64_t> shape(type.getShape());
  switch (step.kind) {
  case StepKind::AllReduce:
    return builder.create<AllReduceOp>(loc, type, kind, value, axes);
  case StepKind::ReduceScatter:
    shape[step.dim] /= parts;
    return builder.create<ReduceScatterOp>(loc, type.clone(shape), kind, value,
                                           step.dim, axes, step.cuts,
                                           step.snake);
  case StepKind::AllGather:
    shape[step.dim] *= parts;
    return builder.create<AllGatherOp>(loc, type.clone(shape), value, step.dim,
                                       axes, step.cuts, step.snake);
  case StepKind::AllToAll:
    shape[step.dim] *= parts;
    shape[step.to] /= parts;
    return builder.create<AllToAllOp>(loc, type.clone(shape), value, step.dim,
                                      step.to, axes, step.cuts, step.snake,
                                      step.toCuts, step.toSnake);
  case StepKind::Shard:
    shape[step.dim] /= parts;
    return builder.create<ShardOp>(loc, type.clone(shape), value, step.dim,
                                   axes, step.cuts, step.snake);
  }
  llvm_unreachable("unknown step");
}

Value dist::emitReshard(OpBuilder &builder, Location loc, Value value,
                        ArrayRef<ReshardStep> steps, ReduceKind kind,
                        const Mesh &mesh) {
  for (const ReshardStep &step : steps)
    value = emitStep(builder, loc, value, step, kind, mesh);
  return value;
}
