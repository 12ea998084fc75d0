//===- WeightCodes.cpp - Codes of weights, and what they are made of ------===//

#include "WeightCodes.h"

#include "hone/Sharding/IR/Dist.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// What functions make
//===----------------------------------------------------------------------===//

/// Whether `op` finds the largest magnitude of a weight of which each rank has
/// a shard: one number is all that they exchange.
static bool isAmaxOfRanks(Operation *op) {
  auto reduce = dyn_cast<dist::AllReduceOp>(op);
  return reduce && reduce.getKind() == ReduceKind::max &&
         reduce.getOperand().getDefiningOp<AmaxOp>();
}

/// Collects `op` and what it reads, in an order in which each follows its
/// operands, and the arguments that these begin with. Returns false where one
/// of them exchanges more than a magnitude between ranks.
static bool collect(Operation *op, llvm::SetVector<Operation *> &ops,
                    llvm::SetVector<BlockArgument> &arguments) {
  if (ops.contains(op))
    return true;
  if (!isAmaxOfRanks(op) && (!isGraphOp(op) || !isPure(op)))
    return false;
  for (Value operand : op->getOperands()) {
    if (auto argument = dyn_cast<BlockArgument>(operand))
      arguments.insert(argument);
    else if (!collect(operand.getDefiningOp(), ops, arguments))
      return false;
  }
  ops.insert(op);
  return true;
}

/// Names, attributes, types and operands of `ops`, which read each other and
/// one argument.
static std::string describe(ArrayRef<Operation *> ops) {
  llvm::DenseMap<Value, size_t> numbers;
  std::string text;
  llvm::raw_string_ostream out(text);
  for (Operation *op : ops) {
    out << op->getName();
    for (Value operand : op->getOperands())
      out << " %" << numbers.lookup(operand); // 0: the argument
    out << ' ' << op->getAttrDictionary();
    for (Value result : op->getResults()) {
      numbers[result] = numbers.size() + 1;
      out << ' ' << result.getType();
    }
    out << '\n';
  }
  return text;
}

SmallVector<WeightCodes> hone::findWeightCodes(func::FuncOp func) {
  SmallVector<WeightCodes> found;
  for (auto quantize : func.front().getOps<QuantizeOp>()) {
    llvm::SetVector<Operation *> ops;
    llvm::SetVector<BlockArgument> arguments;
    if (!collect(quantize, ops, arguments) || arguments.size() != 1)
      continue;
    BlockArgument copy = arguments.front();
    if (argString(func, copy.getArgNumber(), attr::kind) != kind::workingCopy)
      continue;
    auto name =
        func.getArgAttrOfType<StringAttr>(copy.getArgNumber(), attr::fqn);
    found.push_back({name, copy, ops.takeVector(), ""});
    found.back().recipe = describe(found.back().ops);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// What programs keep
//===----------------------------------------------------------------------===//

CodesForm CodesForm::make(const WeightCodes &example, int same) {
  std::string end = example.isTransposed() ? "_t" : "";
  if (same != 0)
    end += std::to_string(same);
  auto name = [&](const Twine &what) {
    return StringAttr::get(
        example.name.getContext(),
        codeName(example.name.getValue(), (what + end).str()));
  };
  return {example, name("codes"), name("scales")};
}

QuantizeOp CodesForm::clone(OpBuilder &builder, Value copy) const {
  IRMapping mapping;
  mapping.map(example.copy, copy);
  Operation *made = nullptr;
  for (Operation *op : example.ops) {
    made = builder.clone(*op, mapping);
    made->setLoc(NameLoc::get(builder.getStringAttr("update"), op->getLoc()));
  }
  return cast<QuantizeOp>(made);
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

static DictionaryAttr describeCopy(StringAttr name) {
  MLIRContext *context = name.getContext();
  NamedAttrList attrs;
  attrs.append(attr::kind, StringAttr::get(context, kind::workingCopy));
  attrs.append(attr::fqn, name);
  return attrs.getDictionary(context);
}

BlockArgument StateAppender::get(StringAttr name, Type type) {
  for (BlockArgument argument : func.getArguments())
    if (argString(func, argument.getArgNumber(), attr::kind) ==
            kind::workingCopy &&
        func.getArgAttr(argument.getArgNumber(), attr::fqn) == name)
      return argument;
  unsigned index = func.getNumArguments();
  func.insertArgument(index, type, describeCopy(name), func.getLoc());
  return func.getArgument(index);
}

void StateAppender::replace(StringAttr name, Value made) {
  BlockArgument replaced = get(name, made.getType());
  NamedAttrList attrs(describeCopy(name));
  attrs.set(
      attr::donates,
      Builder(func.getContext()).getI64IntegerAttr(replaced.getArgNumber()));
  Operation *end = func.front().getTerminator();
  end->insertOperands(end->getNumOperands(), made);
  func.insertResult(func.getNumResults(), made.getType(),
                    attrs.getDictionary(func.getContext()));
}

void hone::eraseWorkingCopies(func::FuncOp func,
                              function_ref<bool(StringAttr)> isErased) {
  llvm::BitVector arguments(func.getNumArguments()),
      results(func.getNumResults());
  SmallVector<int64_t> moved; // where arguments are then
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    moved.push_back(index - arguments.count());
    if (argString(func, index, attr::kind) == kind::workingCopy &&
        isErased(func.getArgAttrOfType<StringAttr>(index, attr::fqn)))
      arguments.set(index);
  }
  Operation *end = func.front().getTerminator();
  for (unsigned index = func.getNumResults(); index-- != 0;) {
    if (resultString(func, index, attr::kind) == kind::workingCopy &&
        isErased(func.getResultAttrOfType<StringAttr>(index, attr::fqn))) {
      results.set(index);
      end->eraseOperand(index);
    } else if (auto donor = func.getResultAttrOfType<IntegerAttr>(
                   index, attr::donates)) {
      func.setResultAttr(
          index, attr::donates,
          Builder(func.getContext()).getI64IntegerAttr(moved[donor.getInt()]));
    }
  }
  func.eraseArguments(arguments);
  func.eraseResults(results);
}

//===----------------------------------------------------------------------===//
// New copies of parameters
//===----------------------------------------------------------------------===//

/// The result of `update` that is the new parameter `value`, if it is one.
static std::optional<unsigned> parameterOf(func::FuncOp update, Value value) {
  for (OpOperand &use : value.getUses())
    if (use.getOwner() == update.front().getTerminator() &&
        resultString(update, use.getOperandNumber(), attr::kind) == kind::param)
      return use.getOperandNumber();
  return std::nullopt;
}

/// The new parameter that `value` is rounded from by the op that makes both.
static Value unrounded(Value value) {
  auto facts = value.getDefiningOp<HoneOpInterface>();
  if (!facts || facts.getNumericClass() != NumericClass::state ||
      facts->getResults().back() != value)
    return {};
  Value param = facts->getResult(0);
  auto width = [](Value of) {
    return getElementTypeOrSelf(of.getType()).getIntOrFloatBitWidth();
  };
  bool isRounded = param != value &&
                   isa<FloatType>(getElementTypeOrSelf(value.getType())) &&
                   width(value) < width(param);
  return isRounded && cast<ShapedType>(param.getType()).getShape() ==
                          cast<ShapedType>(value.getType()).getShape()
             ? param
             : Value();
}

bool CopyMaker::canMake(func::FuncOp update, Value made) {
  SmallVector<Value> worklist = {made};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second || parameterOf(update, value))
      continue;
    if (Value param = unrounded(value)) {
      worklist.push_back(param);
      continue;
    }
    auto facts = value.getDefiningOp<HoneOpInterface>();
    if (!facts || facts.getNumericClass() == NumericClass::state)
      return false;
    llvm::append_range(worklist, facts->getOperands());
  }
  return true;
}

/// The parameter that result `index` of `func` replaces, or argument `index`.
BlockArgument CopyMaker::parameter(func::FuncOp func, unsigned index) {
  BlockArgument source = func.getArgument(index);
  if (Value known = mapping.lookupOrNull(source))
    return cast<BlockArgument>(known);
  Attribute name = func.getArgAttr(index, attr::fqn);
  BlockArgument found;
  for (BlockArgument argument : into.getArguments())
    if (argString(into, argument.getArgNumber(), attr::kind) == kind::param &&
        into.getArgAttr(argument.getArgNumber(), attr::fqn) == name)
      found = argument;
  if (!found) {
    unsigned end = into.getNumArguments();
    into.insertArgument(end, source.getType(), func.getArgAttrDict(index),
                        source.getLoc());
    found = into.getArgument(end);
  }
  mapping.map(source, found);
  return found;
}

Value CopyMaker::make(func::FuncOp update, Value made) {
  if (Value known = mapping.lookupOrNull(made))
    return known;
  if (std::optional<unsigned> index = parameterOf(update, made)) {
    auto donor = update.getResultAttrOfType<IntegerAttr>(*index, attr::donates);
    Value param = parameter(update, donor.getInt());
    mapping.map(made, param);
    return param;
  }
  if (Value param = unrounded(made)) {
    Value cast = builder.create<CastOp>(made.getLoc(), made.getType(),
                                        make(update, param));
    mapping.map(made, cast);
    return cast;
  }
  for (Value operand : made.getDefiningOp()->getOperands())
    make(update, operand);
  builder.clone(*made.getDefiningOp(), mapping);
  return mapping.lookup(made);
}

Value CopyMaker::round(BlockArgument param, Type type) {
  auto func = cast<func::FuncOp>(param.getOwner()->getParentOp());
  return builder.create<CastOp>(param.getLoc(), type,
                                parameter(func, param.getArgNumber()));
}
