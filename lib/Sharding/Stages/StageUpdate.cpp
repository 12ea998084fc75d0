//===- StageUpdate.cpp - The update of one stage --------------------------===//

#include "Sharding/Stages/StageBuilder.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

/// The stage whose state `value` is made from; nothing if each stage computes
/// it. A norm of all gradients is of no stage.
static std::optional<int64_t> stageOfState(func::FuncOp update,
                                           const Owners &owners, Value value) {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (Operation *op = next.getDefiningOp()) {
      if (!isa<GlobalNormOp>(op))
        work.append(op->operand_begin(), op->operand_end());
      continue;
    }
    unsigned index = cast<BlockArgument>(next).getArgNumber();
    if (!llvm::is_contained({kind::param, kind::grad, kind::buffer},
                            argString(update, index, attr::kind)))
      continue;
    if (std::optional<int64_t> stage =
            owners.ownerOf(argString(update, index, attr::fqn)))
      return stage;
  }
  return std::nullopt;
}

static Value zeros(ImplicitLocOpBuilder &builder, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return builder.create<ConstantOp>(DenseElementsAttr::get(
      tensor, builder.getZeroAttr(tensor.getElementType())));
}

namespace {
/// What the stages add up in their updates: one sum of a vector, so that all of
/// them exchange the same however their updates differ.
class StageSums {
public:
  explicit StageSums(StageBuilder &made) : made(made) {}

  /// Adds the loss, of which the last stage alone has a term.
  void addLoss(Value sum) { terms.push_back(sum); }
  /// Adds what a stage has of a norm of gradients, whose inputs are mapped.
  void addNorm(GlobalNormOp norm);
  /// Writes the sum; maps the norms, and returns the loss.
  Value write();

private:
  StageBuilder &made;
  SmallVector<Value> terms; // scalars of one type
  /// Whether the term of a norm is its square: gradients of several stages are
  /// in it.
  llvm::MapVector<GlobalNormOp, bool> norms;
};
} // namespace

/// The norm of gradients of one stage is a term as it is, so that all stages
/// have its bits; of several, the square of the norm of those that a stage has.
void StageSums::addNorm(GlobalNormOp norm) {
  ImplicitLocOpBuilder &b = made.builder;
  SmallVector<Value> gradients;
  llvm::SmallDenseSet<int64_t> stages;
  for (Value gradient : norm.getInputs()) {
    int64_t stage =
        stageOfState(made.whole, made.owners, gradient).value_or(made.stage);
    stages.insert(stage);
    if (stage == made.stage)
      gradients.push_back(made.mapping.lookup(gradient));
  }
  Type type = norm.getType();
  bool isSquare = stages.size() > 1;
  norms[norm] = isSquare;
  if (gradients.empty()) {
    terms.push_back(zeros(b, type));
    return;
  }
  Value own = b.create<GlobalNormOp>(type, gradients);
  terms.push_back(isSquare ? b.create<MulOp>(own, own).getResult() : own);
}

Value StageSums::write() {
  ImplicitLocOpBuilder &b = made.builder;
  Type element = getElementTypeOrSelf(terms.front().getType());
  auto one = RankedTensorType::get({1}, element);
  auto all = RankedTensorType::get({int64_t(terms.size())}, element);
  SmallVector<Value> parts;
  for (Value term : terms)
    parts.push_back(b.create<ReshapeOp>(one, term));
  Value vector = parts.size() == 1
                     ? parts.front()
                     : b.create<ConcatOp>(all, parts, /*dim=*/0).getResult();
  Value sum = b.create<StageSumOp>(vector);
  auto take = [&](int64_t index) -> Value {
    Value part = sum;
    if (parts.size() != 1)
      part = b.create<SliceOp>(one, sum, SmallVector<int64_t>{index},
                               SmallVector<int64_t>{index + 1},
                               SmallVector<int64_t>{1});
    return b.create<ReshapeOp>(terms[index].getType(), part);
  };
  int64_t index = 1;
  for (auto [norm, isSquare] : norms) {
    Value total = take(index++);
    made.mapping.map(norm.getResult(),
                     isSquare ? b.create<SqrtOp>(total).getResult() : total);
  }
  return take(0);
}

/// The ops of `ops` that come before `norms`: what their inputs are made of.
static DenseSet<Operation *> opsBefore(ArrayRef<GlobalNormOp> norms,
                                       const DenseSet<Operation *> &ops) {
  DenseSet<Operation *> before;
  SmallVector<Value> work;
  for (GlobalNormOp norm : norms)
    llvm::append_range(work, norm.getInputs());
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp();
        op && ops.contains(op) && before.insert(op).second)
      llvm::append_range(work, op->getOperands());
  return before;
}

func::FuncOp dist::sliceUpdate(func::FuncOp update, const Owners &owners,
                               int64_t stage) {
  StageBuilder made(update, owners, stage, update.getName());
  Operation *end = update.front().getTerminator();
  SmallVector<unsigned> own;
  SmallVector<Value> work;
  DenseSet<Value> arguments;
  for (unsigned index = 0; index != end->getNumOperands(); ++index) {
    Value value = end->getOperand(index);
    if (stageOfState(update, owners, value).value_or(stage) != stage)
      continue;
    own.push_back(index);
    work.push_back(value);
    if (auto donor =
            update.getResultAttrOfType<IntegerAttr>(index, attr::donates))
      arguments.insert(update.getArgument(donor.getInt()));
  }
  DenseSet<Operation *> ops;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op) {
      arguments.insert(next);
      continue;
    }
    if (!ops.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      if (!isa<GlobalNormOp>(op) ||
          stageOfState(update, owners, operand) == stage)
        work.push_back(operand);
  }

  for (BlockArgument argument : update.getArguments())
    if (arguments.contains(argument))
      made.addArgument(argument);
  // Gradients of a weight that other chunks read too.
  for (BlockArgument argument : update.getArguments()) {
    unsigned index = argument.getArgNumber();
    StringRef name = argString(update, index, attr::fqn);
    if (!arguments.contains(argument) ||
        argString(update, index, attr::kind) != kind::grad)
      continue;
    Value sum = made.mapping.lookup(argument);
    for (int64_t borrower : owners.borrowersOf(name)) {
      Value term = made.addArgument(argument.getType(), kind::grad,
                                    owners.nameOf(borrower).gradientSum(name),
                                    annotationOf(argument));
      sum = made.builder.create<AddOp>(sum, term);
    }
    made.mapping.map(argument, sum);
  }
  BlockArgument loss =
      made.addArgument(RankedTensorType::get({}, made.builder.getF32Type()),
                       kind::scalar, "loss");
  SmallVector<GlobalNormOp> norms;
  for (auto norm : update.front().getOps<GlobalNormOp>())
    norms.push_back(norm);
  DenseSet<Operation *> before = opsBefore(norms, ops);
  StageSums sums(made);
  sums.addLoss(loss);
  for (Operation &op : update.front().without_terminator()) {
    made.builder.setLoc(op.getLoc());
    if (auto norm = dyn_cast<GlobalNormOp>(op))
      sums.addNorm(norm);
    else if (before.contains(&op))
      made.clone(op);
  }
  Value totalLoss = sums.write();
  for (Operation &op : update.front().without_terminator()) {
    if (!ops.contains(&op) || before.contains(&op) || isa<GlobalNormOp>(op))
      continue;
    made.builder.setLoc(op.getLoc());
    made.clone(op);
  }
  made.builder.setLoc(update.getLoc());
  for (unsigned index : own)
    made.addResult(index);
  made.addUpdate(totalLoss, loss);
  return made.finish();
}
