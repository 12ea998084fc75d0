//===- Interpreter.cpp - Walks a function and runs its ops ----------------===//

#include "hone/Interpreter/Interpreter.h"

#include "Handlers.h"

#include "hone/Sharding/IR/Dist.h"

using namespace mlir;
using namespace hone;
using namespace hone::interp;

/// Runs the ops of `block`, whose arguments are set in `frame`, and returns the
/// operands of its terminator. Values die after their last use.
static FailureOr<Tensors> runBlock(Block &block, Frame &frame,
                                   const Options &options);

/// For each op of `block`, the values whose last use it is (or whose only
/// appearance, for results never used).
static llvm::DenseMap<Operation *, SmallVector<Value>> lastUses(Block &block) {
  llvm::DenseMap<Operation *, SmallVector<Value>> deaths;
  llvm::DenseSet<Value> seen;
  for (Operation &op : llvm::reverse(block)) {
    for (Value operand : op.getOperands())
      if (seen.insert(operand).second)
        deaths[&op].push_back(operand);
    for (Value result : op.getResults())
      if (seen.insert(result).second)
        deaths[&op].push_back(result);
  }
  return deaths;
}

/// Results of one op; groups are run like a function.
static FailureOr<Tensors> runOp(Operation *op, const Frame &frame,
                                const Options &options) {
  if (auto group = dyn_cast<FusedOp>(op)) {
    Frame inner(options.mode);
    for (auto [argument, operand] :
         llvm::zip(group.getBodyBlock().getArguments(), group.getInputs()))
      inner.set(argument, frame[operand]);
    return runBlock(group.getBodyBlock(), inner, {options.mode, nullptr});
  }
  const Handler *handler = handlerTable().find(op->getName());
  if (!handler && options.exchange)
    return options.exchange(op, frame.all(op->getOperands()));
  if (!handler)
    return op->emitOpError("has no meaning to the interpreter, expected a "
                           "tensor op of the hone dialect");
  llvm::Expected<Tensors> results = (*handler)(op, frame);
  if (!results)
    return op->emitOpError() << llvm::toString(results.takeError());
  return std::move(*results);
}

/// Runs each op of `block` by `run`, which sets its results in the frames of
/// all ranks.
static LogicalResult
walkBlock(Block &block, MutableArrayRef<Frame> ranks,
          llvm::function_ref<LogicalResult(Operation *)> run) {
  auto deaths = lastUses(block);
  auto erase = [&](Value value) {
    for (Frame &frame : ranks)
      frame.erase(value);
  };
  for (BlockArgument argument : block.getArguments())
    if (argument.use_empty())
      erase(argument);
  for (Operation &op : block.without_terminator()) {
    if (failed(run(&op)))
      return failure();
    llvm::for_each(deaths[&op], erase);
  }
  return success();
}

static FailureOr<Tensors> runBlock(Block &block, Frame &frame,
                                   const Options &options) {
  auto run = [&](Operation *op) -> LogicalResult {
    FailureOr<Tensors> results = runOp(op, frame, options);
    if (failed(results))
      return failure();
    if (options.hook)
      options.hook(op, *results);
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), *results))
      frame.set(result, std::move(tensor));
    return success();
  };
  if (failed(walkBlock(block, frame, run)))
    return failure();
  return frame.all(block.getTerminator()->getOperands());
}

static std::string describe(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Gives the arguments of `func` their tensors.
static LogicalResult bindArguments(func::FuncOp func, Tensors &arguments,
                                   Frame &frame) {
  if (func.isExternal() || !func.getBody().hasOneBlock())
    return func.emitError("has no body of one block, expected one to run");
  if (arguments.size() != func.getNumArguments())
    return func.emitError() << "takes " << func.getNumArguments()
                            << " arguments, got " << arguments.size();
  for (auto [index, argument] : llvm::enumerate(func.getArguments())) {
    Tensor &tensor = arguments[index];
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || tensor.typeName() != describe(type))
      return func.emitError()
             << "argument " << index << " has type " << argument.getType()
             << ", got " << tensor.typeName();
    frame.set(argument, std::move(tensor));
  }
  arguments.clear();
  return success();
}

FailureOr<Tensors> interp::interpret(func::FuncOp func, Tensors arguments,
                                     const Options &options) {
  Frame frame(options.mode);
  if (failed(bindArguments(func, arguments, frame)))
    return failure();
  return runBlock(func.getBody().front(), frame, options);
}

namespace {
/// Runs blocks on all ranks in lock step, groups too: they may hold what ranks
/// exchange.
class RankRunner {
public:
  RankRunner(Mode mode, const CollectiveFunction &collective)
      : mode(mode), collective(collective) {}

  /// What the block returns on each rank.
  FailureOr<std::vector<Tensors>> run(Block &block,
                                      MutableArrayRef<Frame> ranks) const;

private:
  FailureOr<std::vector<Tensors>> run(Operation *op,
                                      ArrayRef<Frame> ranks) const;
  FailureOr<std::vector<Tensors>> runGroup(FusedOp group,
                                           ArrayRef<Frame> ranks) const;
  FailureOr<std::vector<Tensors>> runCollective(Operation *op,
                                                ArrayRef<Frame> ranks) const;

  Mode mode;
  const CollectiveFunction &collective;
};
} // namespace

FailureOr<std::vector<Tensors>>
RankRunner::runGroup(FusedOp group, ArrayRef<Frame> ranks) const {
  std::vector<Frame> inner(ranks.size(), Frame(mode));
  for (auto [frame, outer] : llvm::zip_equal(inner, ranks))
    for (auto [argument, operand] : llvm::zip_equal(
             group.getBodyBlock().getArguments(), group.getInputs()))
      frame.set(argument, outer[operand]);
  return run(group.getBodyBlock(), inner);
}

FailureOr<std::vector<Tensors>>
RankRunner::runCollective(Operation *op, ArrayRef<Frame> ranks) const {
  std::vector<Tensors> operands;
  for (const Frame &frame : ranks)
    operands.push_back(frame.all(op->getOperands()));
  FailureOr<std::vector<Tensor>> made = collective(op, operands);
  if (failed(made))
    return failure();
  std::vector<Tensors> results(ranks.size());
  for (auto [tensors, tensor] : llvm::zip_equal(results, *made))
    tensors.push_back(std::move(tensor));
  return results;
}

FailureOr<std::vector<Tensors>> RankRunner::run(Operation *op,
                                                ArrayRef<Frame> ranks) const {
  if (auto group = dyn_cast<FusedOp>(op))
    return runGroup(group, ranks);
  if (isa<dist::DistDialect>(op->getDialect()))
    return runCollective(op, ranks);
  std::vector<Tensors> results;
  for (const Frame &frame : ranks) {
    FailureOr<Tensors> own = runOp(op, frame, {mode, nullptr});
    if (failed(own))
      return failure();
    results.push_back(std::move(*own));
  }
  return results;
}

FailureOr<std::vector<Tensors>>
RankRunner::run(Block &block, MutableArrayRef<Frame> ranks) const {
  auto runAll = [&](Operation *op) -> LogicalResult {
    FailureOr<std::vector<Tensors>> results = run(op, ranks);
    if (failed(results))
      return failure();
    for (auto [frame, own] : llvm::zip_equal(ranks, *results))
      for (auto [result, tensor] : llvm::zip_equal(op->getResults(), own))
        frame.set(result, std::move(tensor));
    return success();
  };
  if (failed(walkBlock(block, ranks, runAll)))
    return failure();
  std::vector<Tensors> results;
  for (Frame &frame : ranks)
    results.push_back(frame.all(block.getTerminator()->getOperands()));
  return results;
}

FailureOr<std::vector<Tensors>>
interp::interpretRanks(func::FuncOp func, std::vector<Tensors> arguments,
                       Mode mode, const CollectiveFunction &collective) {
  std::vector<Frame> ranks(arguments.size(), Frame(mode));
  for (auto [frame, tensors] : llvm::zip(ranks, arguments))
    if (failed(bindArguments(func, tensors, frame)))
      return failure();
  return RankRunner(mode, collective).run(func.getBody().front(), ranks);
}

bool interp::isInterpreted(OperationName name) {
  return name.getStringRef() == FusedOp::getOperationName() ||
         handlerTable().find(name);
}
