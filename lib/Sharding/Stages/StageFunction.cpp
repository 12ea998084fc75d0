//===- StageFunction.cpp - The functions of one stage ---------------------===//

#include "Sharding/Stages/StageBuilder.h"
#include "Sharding/Stages/StageSlices.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void StageBuilder::addArgument(BlockArgument argument) {
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

void StageBuilder::addResult(unsigned index) {
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

void StageBuilder::addGradient(Value gradient, StringRef name,
                               const Twine &sumName) {
  Type type = gradient.getType();
  ShardingAttr sharding;
  for (BlockArgument argument : whole.getArguments())
    if (argString(whole, argument.getArgNumber(), attr::kind) == kind::grad &&
        argString(whole, argument.getArgNumber(), attr::fqn) == name) {
      type = argument.getType();
      sharding = annotationOf(argument);
    }
  BlockArgument sum = addArgument(type, kind::grad, sumName, sharding);
  if (gradient.getType() != type)
    gradient = builder.create<CastOp>(type, gradient);
  addUpdate(builder.create<AddOp>(sum, gradient), sum);
}

void StageBuilder::addUpdate(Value value, BlockArgument old) {
  NamedAttrList attrs(argAttrs[old.getArgNumber()]);
  attrs.set(attr::donates, builder.getI64IntegerAttr(old.getArgNumber()));
  results.push_back(value);
  resultAttrs.push_back(attrs.getDictionary(builder.getContext()));
}

func::FuncOp StageBuilder::finish() {
  builder.create<func::ReturnOp>(results);
  func.setFunctionType(builder.getFunctionType(body->getArgumentTypes(),
                                               ValueRange(results).getTypes()));
  func.setAllArgAttrs(argAttrs);
  func.setAllResultAttrs(resultAttrs);
  return func;
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
    return op.emitOpError("reads a gradient that another chunk computes, "
                          "expected a sum, a cast or a view");
  Value left = op.getOperand(isAbsent(op.getOperand(0)) ? 1 : 0);
  mapping.map(result, mapping.lookup(left));
  return true;
}

/// Adds what the part returns of a chunk, and what it hands to others: without
/// a backward part, `output` as well.
static void addResults(StageBuilder &made, const CutFunction &part, Chunk name,
                       const BoundaryShardings &shardings, Value output) {
  int64_t chunk = name.number;
  for (unsigned index = 0; index != made.whole.getNumResults(); ++index)
    if (part.chunkOfResult(index) == chunk)
      made.addResult(index);
  for (BoundaryOp boundary : boundariesFrom(part, chunk)) {
    Value operand = made.mapping.lookupOrNull(boundary.getOperand());
    // Chunks of one stage have a sum each, as stages do: schedules may run them
    // in any order.
    if (std::optional<StringRef> weight = boundary.getParameter())
      made.addGradient(operand, *weight,
                       name.isStage ? weight->str()
                                    : name.gradientSum(*weight));
    else if (boundary.getTo() < boundary.getFrom())
      made.addResult(operand, kind::boundary, name.input(),
                     shardings.lookup(chunk));
    else if (output)
      made.addResult(output, kind::boundary, name.output(),
                     shardings.lookup(chunk + 1));
  }
}

FailureOr<func::FuncOp> dist::slicePart(const CutFunction &part,
                                        const Owners &owners,
                                        const BoundaryShardings &shardings,
                                        int64_t chunk) {
  FailureOr<Slice> slice = findSlice(part, chunk);
  if (failed(slice))
    return failure();
  func::FuncOp func = part.func;
  Chunk name = owners.nameOf(chunk);
  StageBuilder made(func, owners, owners.stageOf(chunk),
                    name.function(func.getName()));
  for (BlockArgument argument : func.getArguments())
    if (slice->arguments.contains(argument))
      made.addArgument(argument);

  Value output; // to the next chunk
  bool turns = false;
  // Terms of gradients that other chunks have, and sums of nothing else: the
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
        if (to == chunk)
          absent.insert(result);
      } else if (slice->ops.contains(&op)) {
        made.mapping.map(result, made.mapping.lookup(operand));
      }
    } else if (from == chunk && to > from) {
      output =
          made.constrain(made.mapping.lookup(operand), shardings.lookup(to));
    } else if (to == chunk && from < to) {
      made.mapping.map(result,
                       made.addArgument(result.getType(), kind::boundary,
                                        name.input(), shardings.lookup(chunk)));
    } else if (to == chunk) {
      Value gradient = made.builder.create<TurnOp>(output, from);
      made.mapping.map(result,
                       made.constrain(gradient, shardings.lookup(from)));
      turns = true;
    }
  }
  made.builder.setLoc(func.getLoc());
  addResults(made, part, name, shardings, turns ? Value() : output);
  return made.finish();
}
