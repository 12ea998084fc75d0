//===- Partition.cpp - From global functions to what a rank runs ----------===//

#include "hone/Sharding/Passes.h"

#include "DeferredReductions.h"
#include "LocalOps.h"
#include "SplitChoice.h"
#include "hone/IR/ForwardOps.h"
#include "hone/IR/SearchBound.h"

namespace hone {
#define GEN_PASS_DEF_DISTPARTITION
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
/// The parts of one value under one sharding.
struct Parts {
  Sharding sharding;
  Value value;
  bool isAgain = false; ///< made a second time, for the backward part
};

/// Operands that an op reads as partial sums along some axes, so that its
/// result is one too.
struct Waiting {
  Axes axes;
  SmallVector<unsigned, 2> operands;
};

/// Ops with more ways to be divided than are tried.
struct Unsearched {
  int64_t ops = 0, mostWays = 0;
};

/// Rewrites one function, into a second block of its body that replaces the
/// first.
class Partitioner {
public:
  Partitioner(func::FuncOp func, const Mesh &mesh, RecordedShardings shardings,
              int64_t warnBytes, int64_t maxSplits)
      : func(func), mesh(mesh), shardings(std::move(shardings)),
        flow(func, mesh), forward(forwardOps(func)), warnBytes(warnBytes),
        maxSplits(maxSplits), b(func.getLoc(), func.getContext()) {}

  LogicalResult run();
  const Unsearched &unsearched() const { return stopped; }

private:
  void takeArguments(Block &global, Block &local);
  LogicalResult place(Operation *op);
  void placeAnySharding(Operation *op);
  void placeSource(Operation *op);
  LogicalResult placeReturn(Operation *op);
  void warnOfCopies(Operation *op, const Split &split);

  Waiting waitingOperands(Operation *op) const;
  Axes waitingAxes(Operation *op, ArrayRef<unsigned> set,
                   ArrayRef<unsigned> expected) const;
  bool gathersAgain(Value value) const {
    return isBackward && regathered.contains(value);
  }
  const Parts *find(Value value, const Sharding &sharding) const;
  /// Whether the parts of an operand cost nothing more.
  bool isThere(Value value, const Sharding &sharding) const {
    return sharding == shardings.of(value) || find(value, sharding);
  }
  /// The parts of a value of the global function; made where they are not
  /// there.
  Value parts(Value value, const Sharding &sharding);
  Parts own(Value value);
  Value move(Value value, const Parts &from, const Sharding &to);
  Value asTerms(Value value, const Sharding &sharding);

  func::FuncOp func;
  const Mesh &mesh;
  RecordedShardings shardings;
  DeferredReductions flow;
  llvm::DenseSet<Operation *> forward;
  int64_t warnBytes, maxSplits;
  Unsearched stopped;
  ImplicitLocOpBuilder b;
  /// Of each value, as its op made it first: perhaps partial.
  llvm::DenseMap<Value, SmallVector<Parts, 1>> made;
  /// Values that nothing but parameters with dist.regather is in, and keys and
  /// values of attention whose positions are divided.
  llvm::DenseSet<Value> regathered;
  bool isBackward = false; ///< the op that is placed is behind the loss
};
} // namespace

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

const Parts *Partitioner::find(Value value, const Sharding &sharding) const {
  const SmallVector<Parts, 1> &all = made.find(value)->second;
  for (const Parts &parts : all)
    if (parts.sharding == sharding &&
        (&parts == &all.front() || parts.isAgain == gathersAgain(value)))
      return &parts;
  return nullptr;
}

/// Terms are summed right behind what made them, so that they need not stay;
/// what only moves does so where it is read.
Value Partitioner::move(Value value, const Parts &from, const Sharding &to) {
  OpBuilder::InsertionGuard guard(b);
  Location loc = b.getLoc();
  if (!from.sharding.partial.empty()) {
    b.setInsertionPointAfterValue(from.value);
    loc = from.value.getLoc();
  }
  bool isAgain = gathersAgain(value);
  Value moved =
      emitReshard(b, loc, from.value, planReshard(from.sharding, to, mesh),
                  from.sharding.kind, mesh);
  SmallVector<Parts, 1> &all = made[value];
  bool wasMade = llvm::any_of(
      all, [&](const Parts &parts) { return parts.sharding == to; });
  if (isAgain && wasMade)
    for (Value step = moved; step != from.value;
         step = step.getDefiningOp()->getOperand(0))
      if (auto gather = step.getDefiningOp<AllGatherOp>())
        gather.setAgain(true);
  all.push_back({to, moved, isAgain});
  return moved;
}

/// The parts under the value's own sharding.
Parts Partitioner::own(Value value) {
  const Sharding &expected = shardings.of(value);
  if (const Parts *there = find(value, expected))
    return *there;
  Parts raw = made[value].front();
  return {expected, move(value, raw, expected)};
}

Value Partitioner::parts(Value value, const Sharding &sharding) {
  if (const Parts *there = find(value, sharding))
    return there->value;
  Parts raw = made[value].front();
  // Terms with one reader go straight to what it takes.
  bool isDirect = !raw.sharding.partial.empty() &&
                  (value.hasOneUse() || !sharding.partial.empty());
  Parts from = isDirect ? raw : own(value);
  return from.sharding == sharding ? from.value : move(value, from, sharding);
}

/// Terms along axes that the value is not partial along: all of it on the first
/// rank, zeros on the others.
Value Partitioner::asTerms(Value value, const Sharding &sharding) {
  const Sharding raw = made[value].front().sharding;
  Sharding there = sharding;
  Axes missing;
  llvm::erase_if(there.partial, [&](unsigned axis) {
    bool isTerm =
        raw.kind == sharding.kind && llvm::is_contained(raw.partial, axis);
    if (!isTerm)
      missing.push_back(axis);
    return !isTerm;
  });
  Value terms = parts(value, there);
  if (missing.empty())
    return terms;
  auto type = cast<RankedTensorType>(terms.getType());
  auto index = RankedTensorType::get({}, b.getI64Type());
  Value isFirst = b.create<CmpOp>(
      index.clone(b.getI1Type()), CmpPredicate::eq,
      b.create<CoordinateOp>(index, namesOf(missing, mesh, b.getContext())),
      splat(b, index, 0));
  if (type.getRank() != 0)
    isFirst = b.create<BroadcastOp>(type.clone(b.getI1Type()), isFirst,
                                    ArrayRef<int64_t>());
  return b.create<SelectOp>(isFirst, terms, splat(b, type, 0));
}

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

/// The axes along which the operands of `set`, in which `op` is linear, are all
/// partial sums that no other op reads, or along which one of them is a partial
/// sum and so may the result be (`expected`). No other operand is sharded
/// there. A sum that waits along one axis waits along those too that some of
/// the operands lack: one reduction instead of one per set of axes.
Axes Partitioner::waitingAxes(Operation *op, ArrayRef<unsigned> set,
                              ArrayRef<unsigned> expected) const {
  Axes axes, ofSome;
  bool isReduced = false;
  for (unsigned axis = 0; axis != mesh.numAxes(); ++axis) {
    bool isAll = true, isAny = false, isDivided = false;
    for (unsigned index = 0; index != op->getNumOperands(); ++index) {
      Value value = op->getOperand(index);
      const Sharding &raw = made.find(value)->second.front().sharding;
      bool isTerm = llvm::is_contained(set, index) && value.hasOneUse() &&
                    raw.kind == ReduceKind::sum &&
                    llvm::is_contained(raw.partial, axis);
      isAny |= isTerm;
      isAll &= isTerm || !llvm::is_contained(set, index);
      isDivided |= !isTerm && shardings.of(value).uses(axis);
    }
    if (isDivided || !isAny)
      continue;
    isReduced |= isAll && !llvm::is_contained(expected, axis);
    (isAll || llvm::is_contained(expected, axis) ? axes : ofSome)
        .push_back(axis);
  }
  if (isReduced)
    llvm::append_range(axes, ofSome);
  llvm::sort(axes);
  return axes;
}

/// A reduction is deferred if the result may be a partial sum, or if there are
/// fewer or smaller values to reduce afterwards, and none larger.
Waiting Partitioner::waitingOperands(Operation *op) const {
  auto facts = dyn_cast<HoneOpInterface>(op);
  if (!facts || op->getNumResults() != 1)
    return {};
  Value result = op->getResult(0);
  Axes expected = flow.requestedAs(result);
  for (ArrayRef<unsigned> set : facts.getLinearOperands()) {
    Axes axes = waitingAxes(op, set, expected);
    int64_t bytes = 0;
    for (unsigned index : set)
      bytes += byteSize(op->getOperand(index).getType());
    if (byteSize(result.getType()) > bytes ||
        !flow.isMergedLater(op->getOperand(set.front())))
      llvm::erase_if(axes, [&](unsigned axis) {
        return !llvm::is_contained(expected, axis);
      });
    if (!axes.empty())
      return {axes, {set.begin(), set.end()}};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Reads each operand with the sharding that it has; the results are
/// replicated.
void Partitioner::placeAnySharding(Operation *op) {
  SmallVector<Value> operands;
  SmallVector<Sharding> has;
  for (Value operand : op->getOperands()) {
    has.push_back(shardings.of(operand));
    operands.push_back(parts(operand, has.back()));
  }
  SmallVector<Value> results = emitAnySharding(b, op, operands, has, mesh);
  for (auto [result, local] : llvm::zip_equal(op->getResults(), results)) {
    int64_t rank = cast<RankedTensorType>(result.getType()).getRank();
    made[result].push_back({Sharding::whole(rank), local});
  }
}

/// Every rank makes what depends on nothing, and takes its part of it; of one
/// number it makes its part.
void Partitioner::placeSource(Operation *op) {
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  const Sharding &expected = shardings.of(result);
  auto constant = dyn_cast<ConstantOp>(op);
  auto number = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                         : SplatElementsAttr();
  if (number) {
    made[result].push_back({expected, b.create<ConstantOp>(number.resizeSplat(
                                          localType(type, expected, mesh)))});
    return;
  }
  Operation *whole = b.clone(*op);
  whole->removeAttr(shardingsAttr);
  made[result].push_back(
      {Sharding::whole(type.getRank()), whole->getResult(0)});
}

/// Operands that are gathered over an axis by which nothing of the op is
/// divided; in a mesh-invariant module that is what was asked for.
void Partitioner::warnOfCopies(Operation *op, const Split &split) {
  if (isMeshInvariant(op))
    return;
  auto dividesOp = [&](unsigned axis) {
    return llvm::any_of(split.factors, [&](const DimShards &factor) {
      return llvm::is_contained(factor.axes, axis);
    });
  };
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    const Sharding &expected = split.tensors[index];
    if (byteSize(operand.getType()) < warnBytes || isThere(operand, expected))
      continue;
    for (auto [dim, shards] : llvm::enumerate(shardings.of(operand).dims))
      for (unsigned axis : shards.axes)
        if (!expected.uses(axis) && !dividesOp(axis))
          op->emitWarning()
              << "gathers operand " << index << ", "
              << byteSize(operand.getType()) << " bytes, over axis \""
              << mesh[axis].name << "\", by which "
              << shardings.sourceOf(operand, dim)
              << " divides it and the op cannot: all ranks along the axis "
                 "compute the same";
  }
}

LogicalResult Partitioner::place(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::forPartsOf(op);
  if (failed(rule))
    return failure();
  b.setLoc(op->getLoc());
  isBackward = !forward.empty() && !forward.contains(op);
  if (op->getNumOperands() != 0 &&
      llvm::all_of(op->getOperands(),
                   [&](Value operand) { return regathered.contains(operand); }))
    regathered.insert(op->result_begin(), op->result_end());
  if (auto attention = dyn_cast<AttentionOp>(op))
    for (Value value : {attention.getKey(), attention.getValue()})
      if (!shardings.of(value).dims[1].isWhole())
        regathered.insert(value);
  if (isa<ConstrainOp>(op)) {
    Value result = op->getResult(0), operand = op->getOperand(0);
    const Sharding &expected = shardings.of(result);
    made[result].push_back({expected, parts(operand, expected)});
    return success();
  }
  if (acceptsAnySharding(op) && !isMeshInvariant(op)) {
    placeAnySharding(op);
    return success();
  }
  if (op->getNumOperands() == 0) {
    placeSource(op);
    return success();
  }
  Waiting waiting = waitingOperands(op);
  Split split = chooseSplit(
      op, *rule, shardings, mesh, waiting.axes,
      [&](unsigned operand, const Sharding &sharding) {
        return isThere(op->getOperand(operand), sharding);
      },
      maxSplits);
  stopped.ops += !split.isBest;
  if (!split.isBest)
    stopped.mostWays = std::max(stopped.mostWays, split.ways);
  for (unsigned operand : waiting.operands)
    split.tensors[operand].partial = waiting.axes;
  warnOfCopies(op, split);
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    operands.push_back(asTerms(operand, split.tensors[index]));
  SmallVector<Value> results =
      emitLocal(b, {op, *rule, split.factors, mesh}, operands);
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    Sharding &has = split.tensors[rule->numOperands() + index];
    llvm::append_range(has.partial, waiting.axes);
    llvm::sort(has.partial);
    made[result].push_back({std::move(has), results[index]});
  }
  return success();
}

LogicalResult Partitioner::placeReturn(Operation *op) {
  b.setLoc(op->getLoc());
  SmallVector<Value> results;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    unsigned index = operand.getOperandNumber();
    auto attr = func.getResultAttrOfType<ShardingAttr>(index, shardingAttr);
    if (!attr)
      return func.emitError() << "result " << index
                              << " has no sharding, expected dist-propagate "
                                 "before";
    if (failed(verifySharding(
            attr, cast<RankedTensorType>(value.getType()), mesh,
            [&] { return func.emitError() << "result " << index << " "; })))
      return failure();
    results.push_back(asTerms(value, toSharding(attr, mesh)));
  }
  b.create<func::ReturnOp>(results);
  func.setFunctionType(b.getFunctionType(
      func.getBody().back().getArgumentTypes(), TypeRange(results)));
  return success();
}

void Partitioner::takeArguments(Block &global, Block &local) {
  for (BlockArgument arg : global.getArguments()) {
    unsigned index = arg.getArgNumber();
    Sharding sharding = toSharding(
        func.getArgAttrOfType<ShardingAttr>(index, shardingAttr), mesh);
    Value part = local.addArgument(
        localType(cast<RankedTensorType>(arg.getType()), sharding, mesh),
        arg.getLoc());
    made[arg].push_back({std::move(sharding), part});
    if (func.removeArgAttr(index, regatherAttr))
      regathered.insert(arg);
  }
}

LogicalResult Partitioner::run() {
  Block &global = func.getBody().front();
  Block *local = b.createBlock(&func.getBody(), func.getBody().end());
  takeArguments(global, *local);
  b.setInsertionPointToEnd(local);
  for (Operation &op : global.without_terminator())
    if (failed(place(&op)))
      return failure();
  if (failed(placeReturn(global.getTerminator())))
    return failure();
  global.dropAllReferences();
  global.erase();
  return success();
}

namespace {
struct DistPartition : hone::impl::DistPartitionBase<DistPartition> {
  using DistPartitionBase::DistPartitionBase;

  void explain(func::FuncOp func, const Unsearched &stopped) {
    if (stopped.ops != 0)
      emitRemark(func.getLoc())
          << searchStopped << "@" << func.getName() << ": " << stopped.ops
          << (stopped.ops == 1 ? " op has" : " ops have") << " more than "
          << int64_t(maxSplits)
          << " ways to be divided along the mesh (max-splits of "
             "dist-partition), the most "
          << stopped.mostWays << ": their axes are decided one by one";
  }

  LogicalResult partition(func::FuncOp func, const Mesh &mesh) {
    FailureOr<RecordedShardings> shardings =
        RecordedShardings::read(func, mesh);
    if (failed(shardings))
      return failure();
    Partitioner partitioner(func, mesh, std::move(*shardings), warnBytes,
                            maxSplits);
    if (failed(partitioner.run()))
      return failure();
    if (report)
      explain(func, partitioner.unsearched());
    return success();
  }

  void runOnOperation() override {
    if (failed(checkBounds(getOperation().getLoc(), maxSplits)))
      return signalPassFailure();
    FailureOr<Mesh> mesh = Mesh::of(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(partition(func, *mesh)))
        return signalPassFailure();
  }
};
} // namespace
