//===- HoneOps.cpp - Verifiers, builders and facts of the basic ops -------===//

#include "ShapeChecks.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace hone;

#define GET_OP_CLASSES
#include "hone/IR/HoneOps.cpp.inc"

static Type elementOf(Value value) {
  return getElementTypeOrSelf(value.getType());
}

static LogicalResult expectElement(Operation *op, StringRef what, Value value,
                                   Type wanted) {
  if (elementOf(value) == wanted)
    return success();
  return op->emitOpError() << what << " has element type " << elementOf(value)
                           << ", expected " << wanted;
}

static LogicalResult expectDim(Operation *op, int64_t dim, size_t rank) {
  if (dim >= 0 && dim < int64_t(rank))
    return success();
  return op->emitOpError() << "dim is " << dim
                           << ", expected a dimension of a tensor of rank "
                           << rank;
}

static LogicalResult expectKey(Operation *op, Value key) {
  return expectShape(op, "key", key, {3});
}

/// `dims` must be distinct dimensions in [0, rank), increasing if `sorted`.
static LogicalResult expectDims(Operation *op, StringRef what,
                                ArrayRef<int64_t> dims, size_t rank,
                                bool sorted) {
  llvm::SmallBitVector seen(rank);
  int64_t last = -1;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= int64_t(rank) || seen.test(dim) ||
        (sorted && dim <= last)) {
      InFlightDiagnostic diag = op->emitOpError() << what << " is ";
      appendShape(diag, dims) << ", expected distinct dimensions below " << rank
                              << (sorted ? " in increasing order" : "");
      return diag;
    }
    seen.set(dim);
    last = dim;
  }
  return success();
}

static SmallVector<int64_t> without(ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> dims) {
  SmallVector<int64_t> rest;
  for (auto [index, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, int64_t(index)))
      rest.push_back(size);
  return rest;
}

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

LogicalResult RandomOp::verify() {
  if (failed(expectKey(*this, getKey()))) // random_c1
    return failure();
  int64_t count = cast<ShapedType>(getType()).getNumElements();
  if (count >= int64_t(1) << 34) // random_c2
    return emitOpError() << "result has " << count
                         << " elements, expected fewer than 2^34";
  return success();
}

DimensionMapping RandomOp::getDimensionMapping() {
  return hone::detail::opaqueMapping(*this);
}

LogicalResult SelectOp::verify() {
  return expectShape(*this, "pred", getPred(),
                     shapeOf(getResult())); // select_c2
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  auto from = cast<ShapedType>(getOperand().getType());
  auto to = cast<ShapedType>(getType());
  if (from.getNumElements() != to.getNumElements()) // reshape_c1
    return emitOpError() << "operand has " << from.getNumElements()
                         << " elements, expected the result's "
                         << to.getNumElements();
  return expectElement(*this, "operand", getOperand(), elementOf(getResult()));
}

DimensionMapping ReshapeOp::getDimensionMapping() {
  // In row-major order a dimension keeps its meaning where as many elements lie
  // before it in both shapes and its size is the same; others merge or split.
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  DimensionMapping mapping;
  mapping.operands.emplace_back(from.size(), -1);
  mapping.results.emplace_back(to.size(), -1);
  int64_t before = 1, beforeTo = 1; // products of the sizes passed
  for (size_t i = 0, j = 0; i != from.size() && j != to.size();) {
    if (before < beforeTo) {
      before *= from[i++];
    } else if (beforeTo < before) {
      beforeTo *= to[j++];
    } else if (from[i] == to[j]) {
      mapping.operands[0][i] = mapping.results[0][j] = mapping.factors.size();
      mapping.factors.push_back({from[i], FactorKind::Parallel});
      before *= from[i++];
      beforeTo *= to[j++];
    } else if (from[i] == 1) {
      ++i;
    } else if (to[j] == 1) {
      ++j;
    } else {
      before *= from[i++];
      beforeTo *= to[j++];
    }
  }
  return mapping;
}

void TransposeOp::build(OpBuilder &builder, OperationState &state,
                        Value operand, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(operand)[dim]);
  build(builder, state, RankedTensorType::get(shape, elementOf(operand)),
        operand, builder.getDenseI64ArrayAttr(permutation));
}

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  ArrayRef<int64_t> permutation = getPermutation();
  if (permutation.size() != shape.size()) // transpose_c1
    return emitOpError() << "permutation has " << permutation.size()
                         << " entries, expected " << shape.size();
  if (failed(expectDims(*this, "permutation", permutation, shape.size(),
                        /*sorted=*/false))) // transpose_c1
    return failure();
  SmallVector<int64_t> wanted;
  for (int64_t dim : permutation)
    wanted.push_back(shape[dim]);
  if (failed(expectShape(*this, "result", getResult(), wanted)))
    return failure(); // transpose_c2
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

DimensionMapping TransposeOp::getDimensionMapping() {
  DimensionMapping mapping;
  for (int64_t size : shapeOf(getOperand()))
    mapping.factors.push_back({size, FactorKind::Parallel});
  mapping.operands.push_back(
      llvm::to_vector(llvm::seq<int>(0, mapping.factors.size())));
  mapping.results.emplace_back(getPermutation().begin(),
                               getPermutation().end());
  return mapping;
}

LogicalResult BroadcastOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  if (getDims().size() != from.size()) // broadcast_c1
    return emitOpError() << "dims has " << getDims().size()
                         << " entries, expected " << from.size();
  if (failed(expectDims(*this, "dims", getDims(), to.size(), /*sorted=*/true)))
    return failure(); // broadcast_c1
  for (auto [dim, size] : llvm::zip(getDims(), from))
    if (to[dim] != size) // broadcast_c2
      return emitOpError() << "dimension " << dim << " of the result has size "
                           << to[dim] << ", expected the operand's " << size;
  return expectElement(*this, "operand", getOperand(),
                       elementOf(getResult())); // broadcast_c3
}

DimensionMapping BroadcastOp::getDimensionMapping() {
  DimensionMapping mapping;
  for (int64_t size : shapeOf(getResult()))
    mapping.factors.push_back({size, FactorKind::Parallel});
  mapping.results.push_back(
      llvm::to_vector(llvm::seq<int>(0, mapping.factors.size())));
  mapping.operands.emplace_back(getDims().begin(), getDims().end());
  return mapping;
}

LogicalResult SliceOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  size_t rank = shape.size();
  if (getStarts().size() != rank || getLimits().size() != rank ||
      getStrides().size() != rank) // slice_c1
    return emitOpError() << "starts, limits and strides have "
                         << getStarts().size() << ", " << getLimits().size()
                         << " and " << getStrides().size()
                         << " entries, expected " << rank << " each";
  SmallVector<int64_t> wanted;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t start = getStarts()[dim], limit = getLimits()[dim],
            stride = getStrides()[dim];
    if (start < 0 || start > limit || limit > size || stride < 1) // slice_c2
      return emitOpError() << "dimension " << dim << " is sliced " << start
                           << " to " << limit << " by " << stride
                           << ", expected a range inside [0, " << size
                           << "] and a positive stride";
    wanted.push_back((limit - start + stride - 1) / stride);
  }
  if (failed(expectShape(*this, "result", getResult(), wanted)))
    return failure(); // slice_c3
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

/// Dimensions of equal size in operand 0 and the result correspond; the others
/// must stay whole.
static DimensionMapping boxMapping(Operation *op) {
  DimensionMapping mapping;
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0)),
                    to = shapeOf(op->getResult(0));
  mapping.operands.emplace_back(from.size(), -1);
  mapping.results.emplace_back(to.size(), -1);
  for (size_t dim = 0; dim != from.size(); ++dim) {
    if (from[dim] != to[dim])
      continue;
    mapping.operands[0][dim] = mapping.results[0][dim] = mapping.factors.size();
    mapping.factors.push_back({from[dim], FactorKind::Parallel});
  }
  return mapping;
}

DimensionMapping SliceOp::getDimensionMapping() { return boxMapping(*this); }

LogicalResult PadOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  size_t rank = shape.size();
  if (getLow().size() != rank || getHigh().size() != rank ||
      getInterior().size() != rank) // pad_c1
    return emitOpError() << "low, high and interior have " << getLow().size()
                         << ", " << getHigh().size() << " and "
                         << getInterior().size() << " entries, expected "
                         << rank << " each";
  SmallVector<int64_t> wanted;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t low = getLow()[dim], high = getHigh()[dim],
            interior = getInterior()[dim];
    if (low < 0 || high < 0 || interior < 0) // pad_c1
      return emitOpError() << "dimension " << dim << " is padded by " << low
                           << ", " << high << " and " << interior
                           << ", expected nothing negative";
    wanted.push_back(low + high + size +
                     std::max<int64_t>(size - 1, 0) * interior);
  }
  if (failed(expectShape(*this, "result", getResult(), wanted)))
    return failure(); // pad_c2
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

DimensionMapping PadOp::getDimensionMapping() { return boxMapping(*this); }

LogicalResult ConcatOp::verify() {
  if (getInputs().empty()) // concat_c1
    return emitOpError("has no operand, expected at least one");
  ArrayRef<int64_t> to = shapeOf(getResult());
  if (failed(expectDim(*this, getDim(), to.size()))) // concat_c1
    return failure();
  int64_t total = 0;
  for (Value input : getInputs()) {
    if (failed(expectElement(*this, "operand", input, elementOf(getResult()))))
      return failure(); // concat_c2
    SmallVector<int64_t> wanted(to);
    if (shapeOf(input).size() == to.size())
      wanted[getDim()] = shapeOf(input)[getDim()];
    if (failed(expectShape(*this, "operand", input, wanted)))
      return failure(); // concat_c2
    total += shapeOf(input)[getDim()];
  }
  if (total != to[getDim()]) // concat_c3
    return emitOpError() << "sizes along dimension " << getDim()
                         << " add up to " << total << ", expected "
                         << to[getDim()];
  return success();
}

DimensionMapping ConcatOp::getDimensionMapping() {
  DimensionMapping mapping;
  ArrayRef<int64_t> to = shapeOf(getResult());
  SmallVector<int> dims;
  for (auto [dim, size] : llvm::enumerate(to)) {
    bool whole = dim == getDim();
    dims.push_back(whole ? -1 : int(mapping.factors.size()));
    if (!whole)
      mapping.factors.push_back({size, FactorKind::Parallel});
  }
  mapping.operands.assign(getInputs().size(), dims);
  mapping.results.push_back(dims);
  return mapping;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void ReduceOp::build(OpBuilder &builder, OperationState &state, ReduceKind kind,
                     Value operand, ArrayRef<int64_t> dims) {
  build(builder, state,
        RankedTensorType::get(without(shapeOf(operand), dims),
                              elementOf(operand)),
        kind, operand, builder.getDenseI64ArrayAttr(dims));
}

LogicalResult ReduceOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  if (failed(expectDims(*this, "dims", getDims(), shape.size(),
                        /*sorted=*/true))) // reduce_c1
    return failure();
  if (failed(expectShape(*this, "result", getResult(),
                         without(shape, getDims())))) // reduce_c2
    return failure();
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

bool ReduceOp::isRowReduction() {
  return getDims().size() == 1 &&
         getDims()[0] == int64_t(shapeOf(getOperand()).size()) - 1;
}

KernelFamily ReduceOp::getKernelFamily() {
  return isRowReduction() ? KernelFamily::row : KernelFamily::column;
}

OpCost ReduceOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  cost.flops = cast<ShapedType>(getOperand().getType()).getNumElements();
  return cost;
}

/// Every dimension of operand 0 is a factor; those in `dims` get `kind` and are
/// absent from the results.
static DimensionMapping reductionMapping(Operation *op, ArrayRef<int64_t> dims,
                                         FactorKind kind, bool keep) {
  DimensionMapping mapping;
  SmallVector<int> operand, result;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op->getOperand(0)))) {
    bool reduced = llvm::is_contained(dims, int64_t(dim));
    mapping.factors.push_back({size, reduced ? kind : FactorKind::Parallel});
    operand.push_back(dim);
    if (!reduced || keep)
      result.push_back(dim);
  }
  mapping.operands.push_back(operand);
  mapping.results.push_back(result);
  return mapping;
}

DimensionMapping ReduceOp::getDimensionMapping() {
  return reductionMapping(*this, getDims(), FactorKind::Reduce, false);
}

LogicalResult ArgmaxOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  if (failed(expectDim(*this, getDim(), shape.size()))) // argmax_c1
    return failure();
  if (shape[getDim()] == 0) // argmax_c1
    return emitOpError("dimension is empty, expected at least one element");
  return expectShape(*this, "result", getResult(),
                     without(shape, {int64_t(getDim())})); // argmax_c2
}

DimensionMapping ArgmaxOp::getDimensionMapping() {
  return reductionMapping(*this, {int64_t(getDim())}, FactorKind::Replicate,
                          false);
}

LogicalResult CumsumOp::verify() {
  return expectDim(*this, getDim(), shapeOf(getOperand()).size()); // cumsum_c2
}

DimensionMapping CumsumOp::getDimensionMapping() {
  return reductionMapping(*this, {int64_t(getDim())}, FactorKind::Replicate,
                          true);
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> freeDims(Value operand, ArrayRef<int64_t> batch,
                                     ArrayRef<int64_t> contract) {
  SmallVector<int64_t> dims;
  for (int64_t dim : llvm::seq<int64_t>(0, shapeOf(operand).size()))
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      dims.push_back(dim);
  return dims;
}

static SmallVector<int64_t> pick(ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> dims) {
  SmallVector<int64_t> sizes;
  for (int64_t dim : dims)
    sizes.push_back(shape[dim]);
  return sizes;
}

SmallVector<int64_t> DotGeneralOp::getLhsFree() {
  return freeDims(getLhs(), getLhsBatch(), getLhsContract());
}

SmallVector<int64_t> DotGeneralOp::getRhsFree() {
  return freeDims(getRhs(), getRhsBatch(), getRhsContract());
}

static SmallVector<int64_t> dotShape(Value lhs, Value rhs,
                                     ArrayRef<int64_t> lhsBatch,
                                     ArrayRef<int64_t> rhsBatch,
                                     ArrayRef<int64_t> lhsContract,
                                     ArrayRef<int64_t> rhsContract) {
  SmallVector<int64_t> shape = pick(shapeOf(lhs), lhsBatch);
  shape.append(pick(shapeOf(lhs), freeDims(lhs, lhsBatch, lhsContract)));
  shape.append(pick(shapeOf(rhs), freeDims(rhs, rhsBatch, rhsContract)));
  return shape;
}

void DotGeneralOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                         Value rhs, ArrayRef<int64_t> lhsBatch,
                         ArrayRef<int64_t> rhsBatch,
                         ArrayRef<int64_t> lhsContract,
                         ArrayRef<int64_t> rhsContract) {
  auto type = RankedTensorType::get(
      dotShape(lhs, rhs, lhsBatch, rhsBatch, lhsContract, rhsContract),
      elementOf(lhs));
  build(builder, state, type, lhs, rhs, builder.getDenseI64ArrayAttr(lhsBatch),
        builder.getDenseI64ArrayAttr(rhsBatch),
        builder.getDenseI64ArrayAttr(lhsContract),
        builder.getDenseI64ArrayAttr(rhsContract));
}

LogicalResult DotGeneralOp::verify() {
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  SmallVector<int64_t> lhsDims(getLhsBatch()), rhsDims(getRhsBatch());
  llvm::append_range(lhsDims, getLhsContract());
  llvm::append_range(rhsDims, getRhsContract());
  if (failed(expectDims(*this, "lhs batch and contracting list", lhsDims,
                        lhs.size(), false)) ||
      failed(expectDims(*this, "rhs batch and contracting list", rhsDims,
                        rhs.size(), false))) // dot_general_c1
    return failure();
  if (getLhsBatch().size() != getRhsBatch().size() ||
      getLhsContract().size() != getRhsContract().size()) // dot_general_c2
    return emitOpError() << "pairs " << getLhsBatch().size() << " with "
                         << getRhsBatch().size() << " batch and "
                         << getLhsContract().size() << " with "
                         << getRhsContract().size()
                         << " contracting dimensions, expected equal numbers";
  for (auto [left, right] : llvm::zip(lhsDims, rhsDims))
    if (lhs[left] != rhs[right]) // dot_general_c2
      return emitOpError() << "dimension " << left << " of lhs has size "
                           << lhs[left] << ", expected " << rhs[right]
                           << ", the size of dimension " << right << " of rhs";
  if (failed(expectElement(*this, "rhs", getRhs(),
                           elementOf(getLhs())))) // dot_general_c4
    return failure();
  return expectShape(*this, "result", getResult(),
                     dotShape(getLhs(), getRhs(), getLhsBatch(), getRhsBatch(),
                              getLhsContract(),
                              getRhsContract())); // dot_general_c3
}

OpCost DotGeneralOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  int64_t flops = 2 * cast<ShapedType>(getType()).getNumElements();
  for (int64_t dim : getLhsContract())
    flops *= shapeOf(getLhs())[dim];
  cost.flops = flops;
  return cost;
}

DimensionMapping DotGeneralOp::getDimensionMapping() {
  DimensionMapping mapping;
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  SmallVector<int> left(lhs.size(), -1), right(rhs.size(), -1), result;
  auto add = [&](int64_t size, FactorKind kind) {
    mapping.factors.push_back({size, kind});
    return int(mapping.factors.size()) - 1;
  };
  for (auto [l, r] : llvm::zip(getLhsBatch(), getRhsBatch())) {
    left[l] = right[r] = add(lhs[l], FactorKind::Parallel);
    result.push_back(left[l]);
  }
  for (int64_t dim : getLhsFree())
    result.push_back(left[dim] = add(lhs[dim], FactorKind::Parallel));
  for (int64_t dim : getRhsFree())
    result.push_back(right[dim] = add(rhs[dim], FactorKind::Parallel));
  for (auto [l, r] : llvm::zip(getLhsContract(), getRhsContract()))
    left[l] = right[r] = add(lhs[l], FactorKind::Reduce);
  mapping.operands = {left, right};
  mapping.results = {result};
  return mapping;
}

//===----------------------------------------------------------------------===//
// Index
//===----------------------------------------------------------------------===//

/// Shape of `ids` followed by `width`.
static SmallVector<int64_t> rowsShape(Value ids, int64_t width) {
  SmallVector<int64_t> shape(shapeOf(ids));
  shape.push_back(width);
  return shape;
}

static LogicalResult expectRank(Operation *op, StringRef what, Value value,
                                size_t rank) {
  if (shapeOf(value).size() == rank)
    return success();
  return op->emitOpError() << what << " has rank " << shapeOf(value).size()
                           << ", expected " << rank;
}

LogicalResult EmbeddingOp::verify() {
  if (failed(expectRank(*this, "table", getTable(), 2))) // embedding_c1
    return failure();
  if (failed(expectShape(*this, "result", getResult(),
                         rowsShape(getIds(), shapeOf(getTable())[1]))))
    return failure(); // embedding_c2
  return expectElement(*this, "result", getResult(), elementOf(getTable()));
}

OpCost EmbeddingOp::getCost() {
  int64_t moved = byteSize(getType());
  return {0, moved + byteSize(getIds().getType()), moved};
}

/// Factors: the dimensions of ids, the rows of the table (gathered), its width.
static DimensionMapping tableMapping(Value table, Value ids,
                                     bool tableIsResult) {
  DimensionMapping mapping;
  SmallVector<int> idDims;
  for (int64_t size : shapeOf(ids)) {
    idDims.push_back(mapping.factors.size());
    mapping.factors.push_back(
        {size, tableIsResult ? FactorKind::Reduce : FactorKind::Parallel});
  }
  int rows = mapping.factors.size();
  mapping.factors.push_back({shapeOf(table)[0], FactorKind::Gather});
  mapping.factors.push_back({shapeOf(table)[1], FactorKind::Parallel});
  SmallVector<int> tableDims = {rows, rows + 1}, valueDims = idDims;
  valueDims.push_back(rows + 1);
  if (tableIsResult) {
    mapping.operands = {valueDims, idDims};
    mapping.results = {tableDims};
  } else {
    mapping.operands = {tableDims, idDims};
    mapping.results = {valueDims};
  }
  return mapping;
}

DimensionMapping EmbeddingOp::getDimensionMapping() {
  return tableMapping(getTable(), getIds(), /*tableIsResult=*/false);
}

LogicalResult EmbeddingBwdOp::verify() {
  if (failed(expectRank(*this, "result", getResult(), 2))) // embedding_bwd_c1
    return failure();
  if (failed(expectShape(*this, "grad", getGrad(),
                         rowsShape(getIds(), shapeOf(getResult())[1]))))
    return failure(); // embedding_bwd_c2
  return expectElement(*this, "grad", getGrad(), elementOf(getResult()));
}

DimensionMapping EmbeddingBwdOp::getDimensionMapping() {
  return tableMapping(getResult(), getIds(), /*tableIsResult=*/true);
}

//===----------------------------------------------------------------------===//
// Group
//===----------------------------------------------------------------------===//

// hone.group map (%a = %x : type, ...) -> type, ... attr-dict { body }
ParseResult GroupOp::parse(OpAsmParser &parser, OperationState &result) {
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
  Region *body = result.addRegion();
  return failure(
      parser.resolveOperands(operands, types, operandLoc, result.operands) ||
      parser.parseRegion(*body, arguments));
}

void GroupOp::print(OpAsmPrinter &printer) {
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

LogicalResult GroupOp::verify() {
  Block &body = getBodyBlock();
  if (body.getArgumentTypes() != getInputs().getTypes()) // group_c1
    return emitOpError("block arguments differ from the operands' types");
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().getTypes() != getResultTypes()) // group_c1
    return emitOpError("yields other types than its results have");
  for (Operation &op : body.without_terminator())
    if (!isa<HoneDialect>(op.getDialect()) || isa<GroupOp>(op)) // group_c2
      return emitOpError() << "holds '" << op.getName()
                           << "', expected hone ops other than groups";
  return success();
}

OpCost GroupOp::getCost() {
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
/// there: maps do by definition, row kernels write in their last sweep.
static bool readsInPlace(OpOperand &use) {
  auto user = dyn_cast<HoneOpInterface>(use.getOwner());
  if (!user)
    return isa<YieldOp>(use.getOwner());
  if (user.getKernelFamily() == KernelFamily::row)
    return true;
  return llvm::any_of(user.getReusableOperands(), [&](AliasPair pair) {
    return pair.operand == use.getOperandNumber();
  });
}

SmallVector<AliasPair> GroupOp::getReusableOperands() {
  SmallVector<AliasPair> pairs;
  if (getFamily() == KernelFamily::map || getFamily() == KernelFamily::row) {
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
