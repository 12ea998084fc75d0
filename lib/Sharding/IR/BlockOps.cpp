//===- BlockOps.cpp - Verifiers and facts of ops on blocks of rows --------===//

#include "hone/Sharding/IR/Dist.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

static LogicalResult expectRank(Operation *op, StringRef what, Value value,
                                std::initializer_list<size_t> ranks) {
  if (llvm::is_contained(ranks, shapeOf(value).size()))
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << what << " has rank " << shapeOf(value).size()
                            << ", expected ";
  llvm::interleave(ranks, diag, " or ");
  return diag;
}

static LogicalResult expectShape(Operation *op, StringRef what, Value value,
                                 ArrayRef<int64_t> expected) {
  if (shapeOf(value) == expected)
    return success();
  InFlightDiagnostic diag = op->emitOpError() << what << " has shape [";
  llvm::interleaveComma(shapeOf(value), diag);
  diag << "], expected [";
  llvm::interleaveComma(expected, diag);
  return diag << "]";
}

static LogicalResult expectElement(Operation *op, StringRef what, Value value,
                                   Value other) {
  if (elementOf(value) == elementOf(other))
    return success();
  return op->emitOpError() << what << " has element type " << elementOf(value)
                           << ", expected " << elementOf(other);
}

//===----------------------------------------------------------------------===//
// Rows by index
//===----------------------------------------------------------------------===//

/// `table` is an operand or the result, and `rows` the other.
static LogicalResult verifyTable(Operation *op, StringRef tableName,
                                 Value table, Value ids, StringRef rowsName,
                                 Value rows) {
  if (failed(expectRank(op, "ids", ids, {3})) || // _c1
      failed(expectRank(op, tableName, table, {3, 4})))
    return failure();
  ArrayRef<int64_t> picked = shapeOf(ids), own = shapeOf(table);
  int64_t blocks = own[own.size() - 3];
  bool isOfGroup = own.size() == 4;
  if ((isOfGroup && own[0] != picked[0]) || picked[1] == 0 || // _c2
      (isOfGroup ? blocks != picked[1] : blocks % picked[1] != 0))
    return op->emitOpError()
           << tableName << " has " << blocks << " blocks, expected "
           << (isOfGroup ? "" : "a multiple of ") << picked[1]
           << ", those of ids" << (isOfGroup ? ", in as many groups" : "");
  if (failed(expectShape(op, rowsName, rows, // _c3
                         {picked[0], picked[1], picked[2], own.back()})))
    return failure();
  return expectElement(op, rowsName, rows, table);
}

LogicalResult BlockEmbeddingOp::verify() {
  return verifyTable(*this, "table", getTable(), getIds(), "result",
                     getResult());
}

LogicalResult BlockEmbeddingBwdOp::verify() {
  return verifyTable(*this, "result", getResult(), getIds(), "grad", getGrad());
}

OpCost BlockEmbeddingOp::getCost() {
  int64_t moved = byteSize(getType());
  return {0, moved + byteSize(getIds().getType()), moved};
}

OpCost BlockEmbeddingBwdOp::getCost() {
  return hone::detail::elementwiseCost(*this, 1);
}

/// Factors: groups, blocks, ids, tables of a block, rows of a table, width. Any
/// row of a block may be picked, so tables of blocks stay whole.
static DimensionMapping tableMapping(Value table, Value ids,
                                     bool isTableResult) {
  ArrayRef<int64_t> picked = shapeOf(ids), own = shapeOf(table);
  bool isOfGroup = own.size() == 4;
  auto combined = [&](bool isInTable) {
    return isTableResult && !isInTable ? FactorKind::Reduce
                                       : FactorKind::Parallel;
  };
  DimensionMapping mapping;
  mapping.factors = {{picked[0], combined(isOfGroup)},
                     {picked[1], FactorKind::Parallel},
                     {picked[2], combined(false)},
                     {own[own.size() - 3] / picked[1], FactorKind::Replicate},
                     {own[own.size() - 2], FactorKind::Replicate},
                     {own.back(), FactorKind::Parallel}};
  TensorFactors idDims = {0, 1, 2}, rowDims = {0, 1, 2, 5};
  TensorFactors tableDims;
  if (isOfGroup)
    tableDims = {0, 1, 4, 5};
  else
    tableDims = {DimensionFactors(ArrayRef<int>({1, 3})), 4, 5};
  mapping.operands = {isTableResult ? rowDims : tableDims, idDims};
  mapping.results = {isTableResult ? tableDims : rowDims};
  return mapping;
}

DimensionMapping BlockEmbeddingOp::getDimensionMapping() {
  return tableMapping(getTable(), getIds(), /*isTableResult=*/false);
}

DimensionMapping BlockEmbeddingBwdOp::getDimensionMapping() {
  return tableMapping(getResult(), getIds(), /*isTableResult=*/true);
}

//===----------------------------------------------------------------------===//
// Products of groups of rows
//===----------------------------------------------------------------------===//

/// `rows` [G, N, R, _] and `matrices` [E, _, _] have `ends` [G, N, E / G].
static LogicalResult verifyEnds(Operation *op, Value ends, Value rows,
                                Value matrices) {
  ArrayRef<int64_t> own = shapeOf(ends), blocks = shapeOf(rows);
  if (own.take_front(2) == blocks.take_front(2) &&
      own[0] * own[2] == shapeOf(matrices)[0])
    return success();
  InFlightDiagnostic diag = op->emitOpError("ends has shape [");
  llvm::interleaveComma(own, diag);
  return diag << "], expected " << blocks[0] << " groups and " << blocks[1]
              << " blocks with " << shapeOf(matrices)[0]
              << " ends in all groups";
}

LogicalResult BlockGroupedDotOp::verify() {
  if (failed(expectRank(*this, "input", getInput(), {4})) ||   // _c1
      failed(expectRank(*this, "weight", getWeight(), {3})) || // _c1
      failed(expectRank(*this, "ends", getEnds(), {3})) ||     // _c1
      failed(expectRank(*this, "result", getResult(), {4})))   // _c1
    return failure();
  if (getContract() != 1 && getContract() != 2) // block_grouped_dot_c2
    return emitOpError() << "contract is " << int64_t(getContract())
                         << ", expected 1 or 2";
  ArrayRef<int64_t> input = shapeOf(getInput()), weight = shapeOf(getWeight());
  if (weight[getContract()] != input[3]) // block_grouped_dot_c2
    return emitOpError() << "dimension " << getContract()
                         << " of weight has size " << weight[getContract()]
                         << ", expected " << input[3] << ", the width of input";
  if (failed(verifyEnds(*this, getEnds(), getInput(), getWeight())) || // _c3
      failed(expectShape(
          *this, "result", getResult(), // block_grouped_dot_c4
          {input[0], input[1], input[2], weight[3 - getContract()]})))
    return failure();
  return expectElement(*this, "weight", getWeight(), // block_grouped_dot_c5
                       getInput());
}

OpCost BlockGroupedDotOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  cost.flops =
      2 * cast<ShapedType>(getType()).getNumElements() * shapeOf(getInput())[3];
  return cost;
}

/// Groups and blocks may be divided. The rows of a block stay whole, and so do
/// the experts of a group: ends are places among all of its rows.
DimensionMapping BlockGroupedDotOp::getDimensionMapping() {
  ArrayRef<int64_t> ends = shapeOf(getEnds());
  DimensionMapping mapping;
  mapping.factors = {{ends[0], FactorKind::Parallel},
                     {ends[1], FactorKind::Parallel},
                     {ends[2], FactorKind::Replicate},
                     {shapeOf(getInput())[3], FactorKind::Reduce},
                     {shapeOf(getResult())[3], FactorKind::Parallel}};
  DimensionFactors experts(ArrayRef<int>({0, 2}));
  TensorFactors weight = {experts, -1, -1};
  weight[getContract()] = 3;
  weight[3 - getContract()] = 4;
  mapping.operands = {{0, 1, -1, 3}, weight, {0, 1, 2}};
  mapping.results = {{0, 1, -1, 4}};
  return mapping;
}

LogicalResult BlockGroupedDotBwdWeightOp::verify() {
  if (failed(expectRank(*this, "lhs", getLhs(), {4})) || // _c1
      failed(expectRank(*this, "rhs", getRhs(), {4})) ||
      failed(expectRank(*this, "ends", getEnds(), {3})) ||
      failed(expectRank(*this, "result", getResult(), {3})))
    return failure();
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  if (failed(expectShape(*this, "rhs", getRhs(), // _c1
                         {lhs[0], lhs[1], lhs[2], rhs[3]})) ||
      failed(verifyEnds(*this, getEnds(), getLhs(), getResult())) || // _c3
      failed(expectShape(*this, "result", getResult(),               // _c2
                         {shapeOf(getResult())[0], lhs[3], rhs[3]})))
    return failure();
  return expectElement(*this, "rhs", getRhs(), getLhs()); // _c4
}

OpCost BlockGroupedDotBwdWeightOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  cost.flops = 2 * cast<ShapedType>(getLhs().getType()).getNumElements() *
               shapeOf(getRhs())[3];
  return cost;
}

DimensionMapping BlockGroupedDotBwdWeightOp::getDimensionMapping() {
  ArrayRef<int64_t> ends = shapeOf(getEnds());
  DimensionMapping mapping;
  mapping.factors = {{ends[0], FactorKind::Parallel},
                     {ends[1], FactorKind::Reduce},
                     {ends[2], FactorKind::Replicate},
                     {shapeOf(getLhs())[3], FactorKind::Parallel},
                     {shapeOf(getRhs())[3], FactorKind::Parallel}};
  mapping.operands = {{0, 1, -1, 3}, {0, 1, -1, 4}, {0, 1, 2}};
  mapping.results = {{DimensionFactors(ArrayRef<int>({0, 2})), 3, 4}};
  return mapping;
}
