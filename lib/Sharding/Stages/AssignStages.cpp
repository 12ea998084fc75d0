//===- AssignStages.cpp - Cuts the forward part into stages ---------------===//

#include "Sharding/Stages/CutValues.h"
#include "Sharding/Stages/NamedCuts.h"
#include "Sharding/Stages/Partition.h"
#include "Sharding/Stages/SideTerms.h"
#include "hone/Analysis/Cost/KernelCost.h"
#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/IR/Locations.h"
#include "hone/Sharding/IR/Sharding.h"
#include "hone/Sharding/Passes.h"

namespace hone {
#define GEN_PASS_DEF_DISTASSIGNSTAGES
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

/// Seconds of `op` in a step: forward, and twice that backward. Ops between
/// products become parts of few kernels, each of which moves what it makes.
static double stepSeconds(Operation &op, const TargetDescription &target) {
  auto hone = dyn_cast<HoneOpInterface>(op);
  if (!hone || hone.getKernelFamily() == KernelFamily::view)
    return 0;
  int64_t bytes = 0;
  for (Value result : op.getResults())
    bytes += byteSize(result.getType());
  KernelTime time = kernelTime({&op}, bytes, target);
  return 3 * std::max(time.computing, time.moving);
}

namespace {
struct DistAssignStages : hone::impl::DistAssignStagesBase<DistAssignStages> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run();
  LogicalResult cut(func::FuncOp func, const pipeline::Shape &shape,
                    const TargetDescription &target);
  FailureOr<SmallVector<size_t>>
  choose(func::FuncOp func, const Origins &origins, const CutValues &found,
         const pipeline::Shape &shape, const TargetDescription &target);
};
} // namespace

/// Hands weights that several chunks read from the first of them, which owns
/// the parameter, to the others. `chunkOf` is by op.
static void handWeights(func::FuncOp func, const Origins &origins,
                        DenseMap<Operation *, int64_t> &chunkOf) {
  SmallVector<Value> weights;
  for (BlockArgument argument : func.getArguments())
    if (origins.of(argument) == Origin::Weight)
      weights.push_back(argument);
  for (Operation &op : func.front())
    for (Value result : op.getResults())
      if (origins.of(result) == Origin::Weight)
        weights.push_back(result);
  // Casts and views of a weight are where their readers are. Of views, each
  // chunk has its own.
  DenseSet<Operation *> ownViews;
  auto readers = [&](Value weight) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : weight.getUses())
      if (use.getOwner()->getNumResults() == 0 ||
          ownViews.contains(use.getOwner()) ||
          origins.of(use.getOwner()->getResult(0)) != Origin::Weight)
        uses.push_back(&use);
    return uses;
  };
  DenseMap<Value, int64_t> owner; // by parameter
  for (Value weight : weights)
    for (OpOperand *use : readers(weight)) {
      int64_t chunk = chunkOf.lookup(use->getOwner());
      auto [entry, isNew] =
          owner.try_emplace(origins.parameterOf(weight), chunk);
      entry->second = std::min(entry->second, chunk);
    }
  for (Value weight : llvm::reverse(weights)) {
    BlockArgument parameter = origins.parameterOf(weight);
    int64_t from = owner.lookup(parameter);
    Operation *op = weight.getDefiningOp();
    bool isView = op && !isa<CastOp>(op);
    OpBuilder builder(func.getContext());
    if (op)
      builder.setInsertionPointAfter(op);
    else
      builder.setInsertionPointToStart(&func.front());
    DenseMap<int64_t, Value> copies;
    for (OpOperand *use : readers(weight)) {
      int64_t chunk = chunkOf.lookup(use->getOwner());
      if (chunk == from)
        continue;
      Value &copy = copies[chunk];
      if (!copy && isView) {
        Operation *own = builder.clone(*op);
        chunkOf[own] = chunk;
        ownViews.insert(own);
        copy = own->getResult(0);
      } else if (!copy) {
        copy = builder.create<BoundaryOp>(
            weight.getLoc(), weight, from, chunk,
            func.getArgAttrOfType<StringAttr>(parameter.getArgNumber(),
                                              attr::fqn));
      }
      use->set(copy);
    }
    if (isView && op->use_empty())
      op->erase();
  }
}

/// What `side` reads, and what has not the rows of the value that it would
/// travel with.
struct Misfit {
  Value read, handedOn;
};

/// Leaves the places where all that `side` reads can be columns; the first of
/// the others, if any.
static std::optional<Misfit>
keepFitting(CutValues &found, const SideTerms &side, const Origins &origins) {
  std::optional<Misfit> first;
  llvm::erase_if(found.cuts, [&](const CutValue &cut) {
    SmallVector<Value> reads = side.readsUpTo(cut.last, cut.value, origins);
    auto *misfit = llvm::find_if(
        reads, [&](Value read) { return !hasRowsOf(read, cut.value); });
    if (misfit != reads.end() && !first)
      first = Misfit{*misfit, cut.value};
    return misfit != reads.end();
  });
  return first;
}

/// Puts a border behind `cut`, over which `side` reads nothing.
static void addBorder(func::FuncOp func, const CutValue &cut, int64_t from,
                      const SideTerms &side) {
  Value value = cut.value;
  SmallVector<OpOperand *> later;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    bool isOwnResult = isa<func::ReturnOp>(user) && use.getOperandNumber() != 0;
    if (cut.last->isBeforeInBlock(user) && !isOwnResult)
      later.push_back(&use);
  }
  OpBuilder builder(func.getContext());
  builder.setInsertionPointAfter(cut.last);
  SmallVector<Value> sides;
  if (!side.empty())
    sides = side.readsUpTo(cut.last, value, Origins(func));
  Value handed = value;
  if (!sides.empty())
    handed = packColumns(builder, value, sides);
  handed = builder.create<BoundaryOp>(value.getLoc(), handed, from, from + 1,
                                      StringAttr());
  SmallVector<Value> received = {handed};
  if (!sides.empty())
    received = unpackColumns(builder, handed, value, sides);
  for (OpOperand *use : later)
    use->set(received.front());
  for (auto [before, after] :
       llvm::zip_equal(sides, ArrayRef(received).drop_front()))
    side.replaceReads(before, after);
}

/// The cuts of `found` that make stages equally long.
static SmallVector<size_t> balance(func::FuncOp func, const CutValues &found,
                                   const pipeline::Shape &shape,
                                   const TargetDescription &target) {
  // Seconds between cuts, and bytes of each.
  SmallVector<double> seconds(1, 0.0);
  SmallVector<int64_t> bytes;
  auto next = found.cuts.begin();
  for (Operation &op : func.front()) {
    seconds.back() += stepSeconds(op, target);
    if (next != found.cuts.end() && next->last == &op) {
      bytes.push_back(byteSize(next->value.getType()));
      seconds.push_back(0.0);
      ++next;
    }
  }
  SmallVector<size_t> chosen = partitionChain(seconds, bytes, shape.chunks());
  if (shape.chunksPerRank > 1)
    balanceStages(chosen, seconds, shape.ranks, [&](int64_t chunk) {
      return int64_t(shape.rankOf(int(chunk)));
    });
  return chosen;
}

/// Leaves out places that hand on several times the elements of most, as
/// logits, if enough are left: what a stage hands on is sent and kept.
static void dropWide(CutValues &found, size_t needed) {
  if (found.cuts.empty())
    return;
  auto elements = [](const CutValue &cut) {
    return cast<RankedTensorType>(cut.value.getType()).getNumElements();
  };
  SmallVector<int64_t> sizes = llvm::map_to_vector(found.cuts, elements);
  llvm::sort(sizes);
  int64_t most = 4 * sizes[sizes.size() / 2];
  auto isWide = [&](const CutValue &cut) { return elements(cut) > most; };
  if (found.cuts.size() - llvm::count_if(found.cuts, isWide) >= needed)
    llvm::erase_if(found.cuts, isWide);
}

/// Those that the user has named, or else these.
FailureOr<SmallVector<size_t>>
DistAssignStages::choose(func::FuncOp func, const Origins &origins,
                         const CutValues &found, const pipeline::Shape &shape,
                         const TargetDescription &target) {
  SmallVector<StringRef> names;
  StringRef(cuts).split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (names.empty())
    return balance(func, found, shape, target);
  if (int64_t(names.size()) != shape.chunks() - 1)
    return func.emitError("--cuts: names ")
           << names.size() << " places, expected " << shape.chunks() - 1
           << " for " << shape.chunks() << " "
           << (shape.chunksPerRank > 1 ? "chunks" : "stages");
  return findNamedCuts(func, origins, found, names);
}

static LogicalResult reportFewCuts(func::FuncOp func, const CutValues &found,
                                   const std::optional<Misfit> &misfit,
                                   const pipeline::Shape &shape) {
  InFlightDiagnostic error =
      func.emitError("can be cut at ")
      << found.cuts.size() << " of its values, expected at least "
      << shape.chunks() - 1 << " for " << shape.ranks << " stages";
  if (shape.chunksPerRank > 1)
    error << " of " << shape.chunksPerRank << " chunks";
  error << ": a " << (shape.chunksPerRank > 1 ? "chunk" : "stage")
        << " hands one value to the next";
  if (found.longest)
    error.attachNote(found.longest.getLoc())
        << "this value is read by the last of the ops that cannot be cut "
           "apart";
  if (misfit)
    error.attachNote(misfit->read.getLoc())
        << "a term of the loss reads this value of type "
        << misfit->read.getType()
        << " in the last stage, expected one row for each of those of "
        << misfit->handedOn.getType() << ", which a stage would hand on";
  return error;
}

LogicalResult DistAssignStages::cut(func::FuncOp func,
                                    const pipeline::Shape &shape,
                                    const TargetDescription &target) {
  SideTerms side = SideTerms::moveToEnd(func, Origins(func));
  Origins origins(func);
  CutValues found = findCutValues(
      func, origins, [&](Operation *op) { return side.contains(op); });
  std::optional<Misfit> misfit;
  if (!side.empty())
    misfit = keepFitting(found, side, origins);
  int64_t chunks = shape.chunks();
  if (int64_t(found.cuts.size()) < chunks - 1)
    return reportFewCuts(func, found, misfit, shape);
  if (cuts.empty())
    dropWide(found, size_t(chunks - 1));
  FailureOr<SmallVector<size_t>> chosen =
      choose(func, origins, found, shape, target);
  if (failed(chosen))
    return failure();

  DenseMap<Operation *, int64_t> chunkOf;
  int64_t chunk = 0;
  for (Operation &op : func.front()) {
    chunkOf[&op] = chunk;
    if (chunk + 1 < chunks && found.cuts[(*chosen)[chunk]].last == &op)
      ++chunk;
  }
  handWeights(func, origins, chunkOf);
  for (auto [index, choice] : llvm::enumerate(*chosen))
    addBorder(func, found.cuts[choice], index, side);
  return success();
}

LogicalResult DistAssignStages::run() {
  ModuleOp module = getOperation();
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  if (!forward)
    return module.emitError("has no function @forward, which stages are cut "
                            "from: it runs before hone-autodiff");
  if (stages < 2)
    return module.emitError("stages is ")
           << int64_t(stages) << ", expected at least 2";
  if (!forward.getOps<BoundaryOp>().empty())
    return forward.emitError("has stages already, expected none");
  llvm::Expected<pipeline::Shape> shape =
      pipeline::readStageShape(schedule, int(stages));
  if (!shape)
    return module.emitError(llvm::toString(shape.takeError()));
  FailureOr<TargetDescription> target = getTarget(module);
  if (failed(target) || failed(cut(forward, *shape, *target)))
    return failure();
  Builder builder(&getContext());
  module->setAttr(stagesAttr, builder.getI64IntegerAttr(stages));
  if (shape->chunksPerRank > 1)
    module->setAttr(chunksAttr, builder.getI64IntegerAttr(shape->chunks()));
  return success();
}
