//===- Partition.cpp - From global functions to what a rank runs ----------===//

#include "hone/Dist/Passes.h"

#include "LocalOps.h"
#include "SplitChoice.h"

namespace hone {
#define GEN_PASS_DEF_DISTPARTITION
#include "hone/Dist/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
/// The parts of one value under one sharding.
struct Parts {
  Sharding sharding;
  Value value;
};

/// Rewrites one function, into a second block of its body that replaces the
/// first.
class Partitioner {
public:
  Partitioner(func::FuncOp func, const Mesh &mesh, RecordedShardings shardings,
              int64_t warnBytes)
      : func(func), mesh(mesh), shardings(std::move(shardings)),
        warnBytes(warnBytes), b(func.getLoc(), func.getContext()) {}

  LogicalResult run();

private:
  LogicalResult place(Operation *op);
  void placeAnySharding(Operation *op);
  void placeSource(Operation *op);
  void settle(Value result, const Sharding &has, Value local);
  LogicalResult placeReturn(Operation *op);
  void warnOfCopies(Operation *op, const Split &split);
  bool isThere(Value value, const Sharding &sharding) const;
  /// The parts of a value of the global function; made where they are not
  /// there.
  Value parts(Value value, const Sharding &sharding);

  func::FuncOp func;
  const Mesh &mesh;
  RecordedShardings shardings;
  int64_t warnBytes;
  ImplicitLocOpBuilder b;
  /// Of each value, under its own sharding first.
  llvm::DenseMap<Value, SmallVector<Parts, 1>> made;
};
} // namespace

bool Partitioner::isThere(Value value, const Sharding &sharding) const {
  return llvm::any_of(made.find(value)->second, [&](const Parts &parts) {
    return parts.sharding == sharding;
  });
}

Value Partitioner::parts(Value value, const Sharding &sharding) {
  SmallVector<Parts, 1> &all = made[value];
  for (const Parts &parts : all)
    if (parts.sharding == sharding)
      return parts.value;
  const Parts &own = all.front();
  Value moved = emitReshard(b, b.getLoc(), own.value,
                            planReshard(own.sharding, sharding, mesh),
                            own.sharding.kind, mesh);
  all.push_back({sharding, moved});
  return moved;
}

/// Takes each operand as it is divided; what comes of it is whole.
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
    settle(result, Sharding::whole(rank), local);
  }
}

/// Every rank makes what depends on nothing, and takes its part of it; of one
/// number it makes its part.
void Partitioner::placeSource(Operation *op) {
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  const Sharding &wanted = shardings.of(result);
  auto constant = dyn_cast<ConstantOp>(op);
  auto number = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                         : SplatElementsAttr();
  if (number) {
    made[result].push_back({wanted, b.create<ConstantOp>(number.resizeSplat(
                                        localType(type, wanted, mesh)))});
    return;
  }
  Operation *whole = b.clone(*op);
  whole->removeAttr(shardingsAttr);
  settle(result, Sharding::whole(type.getRank()), whole->getResult(0));
}

/// `local` is what the op made of `result`, under `has`.
void Partitioner::settle(Value result, const Sharding &has, Value local) {
  const Sharding &wanted = shardings.of(result);
  Value moved = emitReshard(b, b.getLoc(), local,
                            planReshard(has, wanted, mesh), has.kind, mesh);
  made[result].push_back({wanted, moved});
  // What was whole before it was divided serves those who need it so.
  if (has.partial.empty() && has != wanted)
    made[result].push_back({has, local});
}

/// Operands that are gathered over an axis by which nothing of the op is
/// divided.
void Partitioner::warnOfCopies(Operation *op, const Split &split) {
  auto dividesOp = [&](unsigned axis) {
    return llvm::any_of(split.factors, [&](const DimShards &factor) {
      return llvm::is_contained(factor.axes, axis);
    });
  };
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    const Sharding &wanted = split.tensors[index];
    if (byteSize(operand.getType()) < warnBytes || isThere(operand, wanted))
      continue;
    for (unsigned axis = 0; axis != mesh.numAxes(); ++axis)
      if (shardings.of(operand).uses(axis) && !wanted.uses(axis) &&
          !dividesOp(axis))
        op->emitWarning() << "gathers operand " << index << ", "
                          << byteSize(operand.getType())
                          << " bytes, over axis \"" << mesh[axis].name
                          << "\", by which it cannot be divided: all ranks "
                             "along the axis compute the same";
  }
}

LogicalResult Partitioner::place(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  b.setLoc(op->getLoc());
  if (isa<ConstrainOp>(op)) {
    Value result = op->getResult(0), operand = op->getOperand(0);
    const Sharding &wanted = shardings.of(result);
    made[result].push_back({wanted, parts(operand, wanted)});
    return success();
  }
  if (takesAnySharding(op)) {
    placeAnySharding(op);
    return success();
  }
  if (op->getNumOperands() == 0) {
    placeSource(op);
    return success();
  }
  Split split = chooseSplit(op, *rule, shardings, mesh,
                            [&](unsigned operand, const Sharding &sharding) {
                              return isThere(op->getOperand(operand), sharding);
                            });
  warnOfCopies(op, split);
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    operands.push_back(parts(operand, split.tensors[index]));
  SmallVector<Value> results =
      emitLocal(b, {op, *rule, split.factors, mesh}, operands);
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    settle(result, split.tensors[rule->numOperands() + index], results[index]);
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
    results.push_back(parts(value, toSharding(attr, mesh)));
  }
  b.create<func::ReturnOp>(results);
  func.setFunctionType(b.getFunctionType(
      func.getBody().back().getArgumentTypes(), TypeRange(results)));
  return success();
}

LogicalResult Partitioner::run() {
  Block &global = func.getBody().front();
  Block *local = b.createBlock(&func.getBody(), func.getBody().end());
  for (BlockArgument arg : global.getArguments()) {
    const Sharding &sharding = shardings.of(arg);
    Value part = local->addArgument(
        localType(cast<RankedTensorType>(arg.getType()), sharding, mesh),
        arg.getLoc());
    made[arg].push_back({sharding, part});
  }
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

  void runOnOperation() override {
    FailureOr<Mesh> mesh = Mesh::of(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      FailureOr<RecordedShardings> shardings =
          RecordedShardings::read(func, *mesh);
      if (failed(shardings) ||
          failed(
              Partitioner(func, *mesh, std::move(*shardings), warnBytes).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
