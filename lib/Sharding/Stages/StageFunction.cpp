//===- StageFunction.cpp - The functions of one stage ---------------------===//

#include "Sharding/Stages/StageSlices.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {
/// A function of a stage that is being built.
class StageFunction {
public:
  StageFunction(func::FuncOp whole, const Owners &owners, int64_t stage)
      : whole(whole), owners(owners), stage(stage),
        builder(whole.getLoc(), whole.getContext()),
        func(func::FuncOp::create(whole.getLoc(), whole.getName(),
                                  builder.getFunctionType({}, {}))),
        body(func.addEntryBlock()) {
    builder.setInsertionPointToStart(body);
  }

  /// Takes `argument` over; a parameter of another stage is a working copy.
  void addArgument(BlockArgument argument);
  BlockArgument addArgument(Type type, StringRef kind, const Twine &name,
                            ShardingAttr sharding = {}) {
    argAttrs.push_back(describe(kind, name, sharding));
    return body->addArgument(type, builder.getLoc());
  }
  /// Takes over result `index`, whose value is mapped.
  void addResult(unsigned index);
  void addResult(Value value, StringRef kind, const Twine &name,
                 ShardingAttr sharding) {
    results.push_back(value);
    resultAttrs.push_back(describe(kind, name, sharding));
  }
  /// Copies `op`. What propagation found for the whole holds no longer.
  void clone(Operation &op) {
    builder.clone(op, mapping)->removeAttr(shardingsAttr);
  }
  /// `value`, divided as both ends of a boundary are.
  Value constrain(Value value, ShardingAttr sharding) {
    return sharding ? builder.create<ConstrainOp>(value, sharding) : value;
  }
  /// Adds `gradient`, of a parameter of another stage, to the sum of those of
  /// the micro-batches before.
  void addGradient(Value gradient, StringRef name);
  /// A result that takes the place of an argument.
  void addUpdate(Value value, BlockArgument old);
  func::FuncOp finish();

  func::FuncOp whole;
  const Owners &owners;
  int64_t stage;
  IRMapping mapping;
  ImplicitLocOpBuilder builder;

private:
  DictionaryAttr describe(StringRef kind, const Twine &name,
                          ShardingAttr sharding) {
    NamedAttrList attrs;
    attrs.set(attr::kind, builder.getStringAttr(kind));
    attrs.set(attr::fqn, builder.getStringAttr(name));
    if (sharding)
      attrs.set(shardingAttr, sharding);
    return attrs.getDictionary(builder.getContext());
  }

  func::FuncOp func;
  Block *body;
  SmallVector<DictionaryAttr> argAttrs, resultAttrs;
  SmallVector<Value> results;
};
} // namespace

void StageFunction::addArgument(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  StringRef kind = argString(whole, index, attr::kind);
  StringRef name = argString(whole, index, attr::fqn);
  bool isBorrowed = (kind == kind::param || kind == kind::workingCopy) &&
                    owners.ownerOf(name) != stage;
  NamedAttrList attrs(whole.getArgAttrDict(index));
  if (isBorrowed) {
    attrs.assign(
        describe(kind::workingCopy, name, annotationOf(argument)).getValue());
    if (Attribute regather = whole.getArgAttr(index, regatherAttr))
      attrs.set(regatherAttr, regather);
  }
  argAttrs.push_back(attrs.getDictionary(builder.getContext()));
  mapping.map(argument,
              body->addArgument(argument.getType(), argument.getLoc()));
}

void StageFunction::addResult(unsigned index) {
  NamedAttrList attrs(whole.getResultAttrDict(index));
  if (auto donor =
          whole.getResultAttrOfType<IntegerAttr>(index, attr::donates)) {
    Value own = mapping.lookup(whole.getArgument(donor.getInt()));
    attrs.set(attr::donates, builder.getI64IntegerAttr(
                                 cast<BlockArgument>(own).getArgNumber()));
  }
  results.push_back(
      mapping.lookup(whole.front().getTerminator()->getOperand(index)));
  resultAttrs.push_back(attrs.getDictionary(builder.getContext()));
}

void StageFunction::addGradient(Value gradient, StringRef name) {
  Type type = gradient.getType();
  ShardingAttr sharding;
  for (BlockArgument argument : whole.getArguments())
    if (argString(whole, argument.getArgNumber(), attr::kind) == kind::grad &&
        argString(whole, argument.getArgNumber(), attr::fqn) == name) {
      type = argument.getType();
      sharding = annotationOf(argument);
    }
  BlockArgument sum = addArgument(type, kind::grad, name, sharding);
  if (gradient.getType() != type)
    gradient = builder.create<CastOp>(type, gradient);
  addUpdate(builder.create<AddOp>(sum, gradient), sum);
}

void StageFunction::addUpdate(Value value, BlockArgument old) {
  NamedAttrList attrs(argAttrs[old.getArgNumber()]);
  attrs.set(attr::donates, builder.getI64IntegerAttr(old.getArgNumber()));
  results.push_back(value);
  resultAttrs.push_back(attrs.getDictionary(builder.getContext()));
}

func::FuncOp StageFunction::finish() {
  builder.create<func::ReturnOp>(results);
  func.setFunctionType(builder.getFunctionType(body->getArgumentTypes(),
                                               ValueRange(results).getTypes()));
  func.setAllArgAttrs(argAttrs);
  func.setAllResultAttrs(resultAttrs);
  return func;
}

static Value zeros(ImplicitLocOpBuilder &builder, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return builder.create<ConstantOp>(DenseElementsAttr::get(
      tensor, builder.getZeroAttr(tensor.getElementType())));
}

/// Whether `op` needs no copy, since an operand of it is absent: of a sum the
/// other operand is left, and a cast or view of what is absent is absent too.
static FailureOr<bool> dropAbsent(Operation &op, DenseSet<Value> &absent,
                                  IRMapping &mapping) {
  auto isAbsent = [&](Value value) { return absent.contains(value); };
  if (llvm::none_of(op.getOperands(), isAbsent))
    return false;
  Value result = op.getResult(0);
  bool isSum = isa<AddOp>(op);
  if (isCastOrView(op) || (isSum && llvm::all_of(op.getOperands(), isAbsent))) {
    absent.insert(result);
    return true;
  }
  if (!isSum)
    return op.emitOpError("reads a gradient that another stage computes, "
                          "expected a sum, a cast or a view");
  Value left = op.getOperand(isAbsent(op.getOperand(0)) ? 1 : 0);
  mapping.map(result, mapping.lookup(left));
  return true;
}

FailureOr<func::FuncOp> dist::slicePart(const CutFunction &part,
                                        const Owners &owners,
                                        const BoundaryShardings &shardings,
                                        int64_t stage) {
  FailureOr<Slice> slice = findSlice(part, stage);
  if (failed(slice))
    return failure();
  func::FuncOp func = part.func;
  StageFunction made(func, owners, stage);
  for (BlockArgument argument : func.getArguments())
    if (slice->arguments.contains(argument))
      made.addArgument(argument);

  Value output; // to the next stage
  bool turns = false;
  // Terms of gradients that other stages have, and sums of nothing else: the
  // owner adds them in its update.
  DenseSet<Value> absent;
  for (Operation &op : func.front().without_terminator()) {
    auto boundary = dyn_cast<BoundaryOp>(op);
    if (!boundary) {
      if (!slice->ops.contains(&op))
        continue;
      FailureOr<bool> isDropped = dropAbsent(op, absent, made.mapping);
      if (failed(isDropped))
        return failure();
      if (!*isDropped)
        made.clone(op);
      continue;
    }
    made.builder.setLoc(boundary.getLoc());
    int64_t from = boundary.getFrom(), to = boundary.getTo();
    Value operand = boundary.getOperand(), result = boundary.getResult();
    if (boundary.getParameter()) {
      if (handsGradient(part, boundary)) {
        if (to == stage)
          absent.insert(result);
      } else if (slice->ops.contains(&op)) {
        made.mapping.map(result, made.mapping.lookup(operand));
      }
    } else if (from == stage && to > from) {
      output =
          made.constrain(made.mapping.lookup(operand), shardings.lookup(to));
    } else if (to == stage && from < to) {
      made.mapping.map(
          result, made.addArgument(result.getType(), kind::boundary,
                                   stageName(stage), shardings.lookup(stage)));
    } else if (to == stage) {
      Value gradient = made.builder.create<TurnOp>(output, from);
      made.mapping.map(result,
                       made.constrain(gradient, shardings.lookup(from)));
      turns = true;
    }
  }
  made.builder.setLoc(func.getLoc());
  for (unsigned index = 0; index != func.getNumResults(); ++index)
    if (part.stageOfResult(index) == stage)
      made.addResult(index);
  for (BoundaryOp boundary : boundariesFrom(part, stage)) {
    if (std::optional<StringRef> name = boundary.getParameter())
      made.addGradient(made.mapping.lookup(boundary.getOperand()), *name);
    else if (boundary.getTo() < boundary.getFrom())
      made.addResult(made.mapping.lookup(boundary.getOperand()), kind::boundary,
                     stageName(stage), shardings.lookup(stage));
    else if (!turns)
      made.addResult(output, kind::boundary, stageName(stage + 1),
                     shardings.lookup(stage + 1));
  }
  return made.finish();
}

//===----------------------------------------------------------------------===//
// The update
//===----------------------------------------------------------------------===//

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

namespace {
/// What the stages add up in their updates: one sum of a vector, so that all of
/// them exchange the same however their updates differ.
class StageSums {
public:
  explicit StageSums(StageFunction &made) : made(made) {}

  /// Adds the loss, of which the last stage alone has a term.
  void addLoss(Value sum) { terms.push_back(sum); }
  /// Adds what a stage has of a norm of gradients, whose inputs are mapped.
  void addNorm(GlobalNormOp norm);
  /// Writes the sum; maps the norms, and returns the loss.
  Value write();

private:
  StageFunction &made;
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
  StageFunction made(update, owners, stage);
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
  // Gradients of a weight that other stages read too.
  for (BlockArgument argument : update.getArguments()) {
    unsigned index = argument.getArgNumber();
    StringRef name = argString(update, index, attr::fqn);
    if (!arguments.contains(argument) ||
        argString(update, index, attr::kind) != kind::grad)
      continue;
    Value sum = made.mapping.lookup(argument);
    for (int64_t borrower : owners.borrowersOf(name)) {
      Value term = made.addArgument(argument.getType(), kind::grad,
                                    stageName(borrower) + "." + name,
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
