//===- HoneOps.cpp - Verifiers and facts of the basic ops -----------------===//

#include "ShapeChecks.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace hone;

#define GET_OP_CLASSES
#include "hone/IR/HoneOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Creation, selection
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (getValue().getType() != getType()) // constant_c1
    return emitOpError() << "value has type " << getValue().getType()
                         << ", expected " << getType();
  return success();
}

LogicalResult IotaOp::verify() {
  return expectDim(*this, getDim(), shapeOf(getResult()).size()); // iota_c1
}

// random_c3, dropout_c4, attention_c7, attention_bwd_c1, adamw_c5, sgd_c6,
// lion_c5
LogicalResult hone::verifyRandomPart(RandomOpInterface op) {
  bool hasOrigin = bool(op.getOrigin()), hasWhole = op.getWhole().has_value();
  if (hasOrigin != hasWhole)
    return op->emitOpError()
           << "has " << (hasOrigin ? "origin" : "whole") << " without "
           << (hasOrigin ? "whole" : "origin") << ", expected both or neither";
  if (!hasOrigin)
    return success();
  if (!op.getRandomKey())
    return op->emitOpError("has origin without rng, expected rng too");
  SmallVector<int64_t> part = op.getRandomShape();
  ArrayRef<int64_t> whole = *op.getWhole();
  bool isMultiple = whole.size() == part.size() &&
                    llvm::all_of(llvm::zip(whole, part), [](auto sizes) {
                      auto [all, own] = sizes;
                      return own == 0 ? all == 0 : all > 0 && all % own == 0;
                    });
  if (isMultiple)
    return success();
  InFlightDiagnostic diag = op->emitOpError() << "whole is ";
  appendShape(diag, whole) << ", expected multiples of ";
  return appendShape(diag, part);
}

LogicalResult RandomOp::verify() {
  if (failed(expectShape(*this, "key", getKey(), {3})) || // random_c1
      failed(verifyRandomPart(*this)))                    // random_c3
    return failure();
  int64_t count =
      ShapedType::getNumElements(getWhole().value_or(shapeOf(getResult())));
  if (count >= int64_t(1) << 34) // random_c2
    return emitOpError() << (getWhole() ? "whole" : "result") << " has "
                         << count << " elements, expected fewer than 2^34";
  return success();
}

DimensionMapping RandomOp::getDimensionMapping() {
  DimensionMapping mapping;
  TensorFactors dims;
  for (auto [dim, size] : llvm::enumerate(shapeOf(getResult()))) {
    mapping.factors.push_back({size, FactorKind::Parallel});
    dims.push_back(int(dim));
  }
  mapping.operands.push_back({-1}); // the key
  if (getOrigin())
    mapping.operands.push_back({});
  mapping.results = {dims};
  return mapping;
}

LogicalResult SelectOp::verify() {
  return expectShape(*this, "pred", getPred(),
                     shapeOf(getResult())); // select_c2
}

//===----------------------------------------------------------------------===//
// Custom gradient
//===----------------------------------------------------------------------===//

LogicalResult CustomGradientOp::inferReturnTypes(MLIRContext *,
                                                 std::optional<Location>,
                                                 Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getValues().getTypes());
  return success();
}

SmallVector<Value> CustomGradientOp::getDifferentiableResults() {
  SmallVector<Value> results;
  for (Value result : getResults())
    if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
      results.push_back(result);
  return results;
}

LogicalResult CustomGradientOp::verify() {
  if (getResultTypes() != getValues().getTypes()) // custom_gradient_c1
    return emitOpError("results differ from the types of its values");
  Block &body = getBodyBlock();
  SmallVector<Type> types;
  for (Value result : getDifferentiableResults())
    types.push_back(result.getType());
  llvm::append_range(types, getSaved().getTypes());
  if (body.getArgumentTypes() != TypeRange(types)) // custom_gradient_c2
    return emitOpError("block arguments differ from the types of the results "
                       "of floating point and of saved values");
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().getTypes() !=
                    getInputs().getTypes()) // custom_gradient_c3
    return emitOpError("yields other types than its inputs have");
  for (Operation &op : body.without_terminator())
    if (!isGraphOp(&op) || op.getNumRegions() != 0 ||
        isa<RandomOpInterface>(op)) // custom_gradient_c4
      return emitOpError() << "holds '" << op.getName()
                           << "', expected ops of the graph without a body "
                              "that draw no random numbers";
  return success();
}

//===----------------------------------------------------------------------===//
// Group
//===----------------------------------------------------------------------===//

// hone.fused map (%a = %x : type, ...) -> type, ... attr-dict { body }
ParseResult FusedOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef family;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&family))
    return failure();
  std::optional<KernelFamily> symbol = symbolizeKernelFamily(family);
  if (!symbol)
    return parser.emitError(loc) << "'" << family << "' is no kernel family";
  result.addAttribute("family",
                      KernelFamilyAttr::get(parser.getContext(), *symbol));
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SMLoc operandLoc = parser.getCurrentLocation();
  auto parseBinding = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()) ||
                   parser.parseColonType(arguments.back().type));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parseBinding) ||
      parser.parseArrowTypeList(result.types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  SmallVector<Type> types;
  for (const OpAsmParser::Argument &argument : arguments)
    types.push_back(argument.type);
  // The body first: a name that is an operand and defined in the body would
  // otherwise leave the operand at a placeholder that the parser has freed.
  Region *body = result.addRegion();
  return failure(
      parser.parseRegion(*body, arguments) ||
      parser.resolveOperands(operands, types, operandLoc, result.operands));
}

void FusedOp::print(OpAsmPrinter &printer) {
  printer << " " << stringifyKernelFamily(getFamily()) << " (";
  llvm::interleaveComma(llvm::zip(getBodyBlock().getArguments(), getInputs()),
                        printer, [&](auto pair) {
                          auto [argument, operand] = pair;
                          printer << argument << " = " << operand << " : "
                                  << operand.getType();
                        });
  printer << ")";
  printer.printArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"family"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult FusedOp::verify() {
  Block &body = getBodyBlock();
  if (body.getArgumentTypes() != getInputs().getTypes()) // fused_c1
    return emitOpError("block arguments differ from the operands' types");
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().getTypes() != getResultTypes()) // fused_c1
    return emitOpError("yields other types than its results have");
  for (Operation &op : body.without_terminator())
    if (!isa<HoneOpInterface>(op) || isa<FusedOp>(op)) // fused_c2
      return emitOpError() << "holds '" << op.getName()
                           << "', expected ops that a kernel computes, other "
                              "than groups";
  return success();
}

OpCost FusedOp::getCost() {
  OpCost cost;
  for (Operation &op : getBodyBlock().without_terminator())
    if (auto hone = dyn_cast<HoneOpInterface>(op))
      cost.flops += hone.getCost().flops;
  for (Value input : getInputs())
    cost.bytesRead += byteSize(input.getType());
  for (Value output : getOutputs())
    cost.bytesWritten += byteSize(output.getType());
  return cost;
}

/// Whether the kernel reads `use` at an element before it writes any result
/// there. Elementwise ops make element i from elements i, of whatever width: a
/// row kernel widens bf16 logits and narrows their gradient. Ops along rows
/// read elements of their row alone, before the last sweep writes it.
static bool readsInPlace(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<YieldOp>(user) || user->hasTrait<OpTrait::Elementwise>())
    return true;
  auto op = dyn_cast<HoneOpInterface>(user);
  if (!op)
    return false;
  if (op.getKernelFamily() == KernelFamily::row)
    return true;
  return llvm::any_of(op.getReusableOperands(), [&](AliasPair pair) {
    return pair.operand == use.getOperandNumber();
  });
}

SmallVector<AliasPair> hone::updatedOperands(Block &body) {
  SmallVector<AliasPair> pairs;
  for (OpOperand &yielded : body.getTerminator()->getOpOperands()) {
    auto producer = yielded.get().getDefiningOp<HoneOpInterface>();
    if (!producer)
      continue;
    for (AliasPair pair : producer.getUpdatedOperands())
      if (auto argument =
              dyn_cast<BlockArgument>(producer->getOperand(pair.operand));
          argument && producer->getResult(pair.result) == yielded.get())
        pairs.push_back({argument.getArgNumber(), yielded.getOperandNumber()});
  }
  return pairs;
}

bool FusedOp::endsForwardPart() {
  return llvm::any_of(getBodyBlock(), [](Operation &op) {
    auto ending = dyn_cast<HoneOpInterface>(op);
    return ending && ending.endsForwardPart();
  });
}

SmallVector<AliasPair> FusedOp::getReusableOperands() {
  SmallVector<AliasPair> pairs;
  if (llvm::is_contained(
          {KernelFamily::map, KernelFamily::row, KernelFamily::rope},
          getFamily())) {
    // Of the largest values, element i is read and written at point i. Smaller
    // ones (a scalar, a vector along rows or columns) are read at many points,
    // by several threads.
    int64_t points = 0;
    auto count = [&](Value value) {
      int64_t elements = cast<ShapedType>(value.getType()).getNumElements();
      points = std::max(points, elements);
      return elements;
    };
    llvm::for_each(getBodyBlock().getArguments(), count);
    for (Operation &op : getBodyBlock())
      llvm::for_each(op.getResults(), count);
    for (BlockArgument argument : getBodyBlock().getArguments()) {
      if (count(argument) != points ||
          !llvm::all_of(argument.getUses(), readsInPlace))
        continue;
      for (auto [index, type] : llvm::enumerate(getResultTypes()))
        if (type == argument.getType())
          pairs.push_back({argument.getArgNumber(), unsigned(index)});
    }
    return pairs;
  }
  // A library call or single op: what the op that makes the result allows, of
  // an operand that nothing else in the group reads.
  for (OpOperand &yielded : getBodyBlock().getTerminator()->getOpOperands()) {
    auto producer = yielded.get().getDefiningOp<HoneOpInterface>();
    if (!producer)
      continue;
    // A library writes over the matrix that it adds, but not over the argument
    // that the gradient of an activation reads.
    if (getFamily() == KernelFamily::contraction && !isa<AddOp>(*producer))
      continue;
    for (AliasPair pair : producer.getReusableOperands()) {
      auto argument =
          dyn_cast<BlockArgument>(producer->getOperand(pair.operand));
      if (argument && argument.hasOneUse() &&
          producer->getResult(pair.result) == yielded.get())
        pairs.push_back({argument.getArgNumber(), yielded.getOperandNumber()});
    }
  }
  return pairs;
}
