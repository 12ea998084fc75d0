//===- StageFunction.cpp - The functions of one stage ---------------------===//

#include "Sharding/Stages/StageFunction.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

//===----------------------------------------------------------------------===//
// Who computes what
//===----------------------------------------------------------------------===//

FailureOr<CutFunction> CutFunction::find(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return func.emitError("has no body of one block");
  CutFunction cut(func);
  for (Operation &op : func.front().without_terminator()) {
    std::optional<int64_t> stage;
    if (auto boundary = dyn_cast<BoundaryOp>(op)) {
      std::optional<int64_t> from = cut.stageOf(boundary.getOperand());
      if (from && *from != int64_t(boundary.getFrom()))
        return boundary.emitOpError("is from stage ")
               << int64_t(boundary.getFrom()) << ", but stage " << *from
               << " computes its operand";
      stage = boundary.getTo();
    } else {
      for (Value operand : op.getOperands()) {
        std::optional<int64_t> other = cut.stageOf(operand);
        if (other && stage && *other != *stage)
          return op.emitOpError("reads values of the stages ")
                 << *stage << " and " << *other
                 << ", expected a dist.boundary between them";
        if (other)
          stage = other;
      }
    }
    if (stage)
      for (Value result : op.getResults())
        cut.stages[result] = *stage;
  }
  return cut;
}

std::optional<int64_t> CutFunction::stageOf(Value value) const {
  auto entry = stages.find(value);
  if (entry != stages.end())
    return entry->second;
  // No boundary is before it.
  if (origins.of(value) == Origin::Activation && origins.readsInput(value))
    return 0;
  return std::nullopt;
}

/// The first stage that computes something from `value`, which any may compute.
static std::optional<int64_t> firstReader(const CutFunction &cut, Value value) {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  std::optional<int64_t> first;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (Operation *user : next.getUsers())
      for (Value result : user->getResults()) {
        std::optional<int64_t> stage = cut.stageOf(result);
        if (!stage)
          work.push_back(result);
        else if (!first || *stage < *first)
          first = stage;
      }
  }
  return first;
}

int64_t CutFunction::stageOfResult(unsigned index) const {
  func::FuncOp whole = func;
  Value value = whole.front().getTerminator()->getOperand(index);
  if (std::optional<int64_t> stage = stageOf(value))
    return *stage;
  // A check of ids: who reads the ids has them.
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  std::optional<int64_t> first;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (Operation *op = next.getDefiningOp()) {
      work.append(op->operand_begin(), op->operand_end());
      continue;
    }
    unsigned argument = cast<BlockArgument>(next).getArgNumber();
    if (argString(func, argument, attr::kind) != kind::input)
      continue;
    std::optional<int64_t> reader = firstReader(*this, next);
    if (reader && (!first || *reader < *first))
      first = reader;
  }
  return first.value_or(0);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

namespace {
/// What the results of a stage need of a function.
struct Slice {
  DenseSet<Operation *> ops;
  DenseSet<Value> arguments;

  /// Adds `value` and what it needs, up to what other stages hand over.
  LogicalResult add(const CutFunction &part, Value value, int64_t stage);
};
} // namespace

/// Whether `boundary` hands back the gradient of a weight.
static bool handsGradient(const CutFunction &part, BoundaryOp boundary) {
  return boundary.getParameter() &&
         part.origins.of(boundary.getOperand()) != Origin::Weight;
}

LogicalResult Slice::add(const CutFunction &part, Value value, int64_t stage) {
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op) {
      arguments.insert(next);
      continue;
    }
    std::optional<int64_t> where = part.stageOf(next);
    if (where && *where != stage)
      return op->emitOpError("is of stage ")
             << *where << " and read by stage " << stage
             << ", expected a dist.boundary between them";
    if (!ops.insert(op).second)
      continue;
    auto boundary = dyn_cast<BoundaryOp>(op);
    bool isHanded =
        boundary && (!boundary.getParameter() || handsGradient(part, boundary));
    if (!isHanded)
      work.append(op->operand_begin(), op->operand_end());
  }
  return success();
}

/// The ops of `part` that hand something from `stage` to others, or back.
static SmallVector<BoundaryOp> boundariesFrom(const CutFunction &part,
                                              int64_t stage) {
  SmallVector<BoundaryOp> found;
  func::FuncOp func = part.func;
  for (auto boundary : func.front().getOps<BoundaryOp>())
    if (int64_t(boundary.getFrom()) == stage &&
        (!boundary.getParameter() || handsGradient(part, boundary)))
      found.push_back(boundary);
  return found;
}

static FailureOr<Slice> findSlice(const CutFunction &part, int64_t stage) {
  Slice slice;
  func::FuncOp func = part.func;
  for (BoundaryOp boundary : boundariesFrom(part, stage))
    if (failed(slice.add(part, boundary.getOperand(), stage)))
      return failure();
  Operation *end = func.front().getTerminator();
  for (unsigned index = 0; index != end->getNumOperands(); ++index) {
    if (part.stageOfResult(index) != stage)
      continue;
    if (failed(slice.add(part, end->getOperand(index), stage)))
      return failure();
    if (auto donor =
            func.getResultAttrOfType<IntegerAttr>(index, attr::donates))
      slice.arguments.insert(func.getArgument(donor.getInt()));
  }
  return slice;
}

//===----------------------------------------------------------------------===//
// Owners
//===----------------------------------------------------------------------===//

FailureOr<Owners> Owners::find(const CutFunction &accumulate, int64_t stages) {
  Owners found;
  found.count = stages;
  func::FuncOp func = accumulate.func;
  for (auto boundary : func.front().getOps<BoundaryOp>()) {
    if (!boundary.getParameter() || handsGradient(accumulate, boundary))
      continue;
    StringRef name = *boundary.getParameter();
    found.owners[name] = boundary.getFrom();
    found.borrowers[name].push_back(boundary.getTo());
  }
  for (auto &entry : found.borrowers) {
    llvm::sort(entry.second);
    entry.second.erase(llvm::unique(entry.second), entry.second.end());
  }
  for (int64_t stage = 0; stage != stages; ++stage) {
    FailureOr<Slice> slice = findSlice(accumulate, stage);
    if (failed(slice))
      return failure();
    for (BlockArgument argument : func.getArguments()) {
      unsigned index = argument.getArgNumber();
      StringRef kind = argString(func, index, attr::kind);
      StringRef name = argString(func, index, attr::fqn);
      if (!slice->arguments.contains(argument) ||
          !llvm::is_contained({kind::param, kind::workingCopy, kind::buffer},
                              kind))
        continue;
      auto [owner, isNew] = found.owners.try_emplace(name, stage);
      if (kind != kind::buffer && owner->second != stage &&
          !llvm::is_contained(found.borrowersOf(name), stage))
        return func.emitError("parameter '")
               << name << "' is read by the stages " << owner->second << " and "
               << stage << ", expected a dist.boundary between them";
    }
  }
  return found;
}

std::optional<int64_t> Owners::ownerOf(StringRef name) const {
  auto entry = owners.find(name);
  if (entry == owners.end())
    return std::nullopt;
  return entry->second;
}

ArrayRef<int64_t> Owners::borrowersOf(StringRef name) const {
  auto entry = borrowers.find(name);
  return entry == borrowers.end() ? ArrayRef<int64_t>()
                                  : ArrayRef<int64_t>(entry->second);
}

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
  BlockArgument addArgument(Type type, StringRef kind, const Twine &name) {
    argAttrs.push_back(describe(kind, name));
    return body->addArgument(type, builder.getLoc());
  }
  /// Takes over result `index`, whose value is mapped.
  void addResult(unsigned index);
  void addResult(Value value, StringRef kind, const Twine &name) {
    results.push_back(value);
    resultAttrs.push_back(describe(kind, name));
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
  DictionaryAttr describe(StringRef kind, const Twine &name) {
    return builder.getDictionaryAttr(
        {builder.getNamedAttr(attr::kind, builder.getStringAttr(kind)),
         builder.getNamedAttr(attr::fqn, builder.getStringAttr(name))});
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
  argAttrs.push_back(isBorrowed ? describe(kind::workingCopy, name)
                                : whole.getArgAttrDict(index));
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
  for (BlockArgument argument : whole.getArguments())
    if (argString(whole, argument.getArgNumber(), attr::kind) == kind::grad &&
        argString(whole, argument.getArgNumber(), attr::fqn) == name)
      type = argument.getType();
  BlockArgument sum = addArgument(type, kind::grad, name);
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
                                        const Owners &owners, int64_t stage) {
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
        made.builder.clone(op, made.mapping);
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
      output = made.mapping.lookup(operand);
    } else if (to == stage && from < to) {
      made.mapping.map(
          result,
          made.addArgument(result.getType(), kind::boundary, stageName(stage)));
    } else if (to == stage) {
      made.mapping.map(result, made.builder.create<TurnOp>(output, from));
      turns = true;
    }
  }
  made.builder.setLoc(func.getLoc());
  for (unsigned index = 0; index != func.getNumResults(); ++index)
    if (part.stageOfResult(index) == stage)
      made.addResult(index);
  for (BoundaryOp boundary : boundariesFrom(part, stage)) {
    Value operand = made.mapping.lookup(boundary.getOperand());
    if (std::optional<StringRef> name = boundary.getParameter())
      made.addGradient(operand, *name);
    else if (boundary.getTo() < boundary.getFrom())
      made.addResult(operand, kind::boundary, stageName(stage));
    else if (!turns)
      made.addResult(operand, kind::boundary, stageName(stage + 1));
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

/// sqrt(sum over the stages of the square of the norm of their gradients).
static Value normOfStages(StageFunction &made, GlobalNormOp norm) {
  ImplicitLocOpBuilder &b = made.builder;
  SmallVector<Value> gradients;
  for (Value gradient : norm.getInputs())
    if (stageOfState(made.whole, made.owners, gradient) == made.stage)
      gradients.push_back(made.mapping.lookup(gradient));
  Type type = norm.getType();
  Value squares;
  if (gradients.empty()) {
    squares = zeros(b, type);
  } else {
    Value own = b.create<GlobalNormOp>(type, gradients);
    squares = b.create<MulOp>(own, own);
  }
  return b.create<SqrtOp>(b.create<StageSumOp>(squares));
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
                                    stageName(borrower) + "." + name);
      sum = made.builder.create<AddOp>(sum, term);
    }
    made.mapping.map(argument, sum);
  }
  BlockArgument loss =
      made.addArgument(RankedTensorType::get({}, made.builder.getF32Type()),
                       kind::scalar, "loss");
  for (Operation &op : update.front().without_terminator()) {
    if (!ops.contains(&op))
      continue;
    made.builder.setLoc(op.getLoc());
    if (auto norm = dyn_cast<GlobalNormOp>(op))
      made.mapping.map(norm.getResult(), normOfStages(made, norm));
    else
      made.builder.clone(op, made.mapping);
  }
  made.builder.setLoc(update.getLoc());
  for (unsigned index : own)
    made.addResult(index);
  made.addUpdate(made.builder.create<StageSumOp>(loss), loss);
  return made.finish();
}
