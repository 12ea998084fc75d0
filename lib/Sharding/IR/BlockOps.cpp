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
// Rows in another order, blocks on another rank
//===----------------------------------------------------------------------===//

int64_t BlockPermuteOp::picksPerRow() {
  return shapeOf(getBack())[2] / std::max<int64_t>(1, shapeOf(getRows())[2]);
}

LogicalResult BlockPermuteOp::verify() {
  if (failed(expectRank(*this, "rows", getRows(), {4})) || // _c1
      failed(expectRank(*this, "ids", getIds(), {3})) ||   // _c1
      failed(expectRank(*this, "back", getBack(), {3})))   // _c1
    return failure();
  ArrayRef<int64_t> rows = shapeOf(getRows()), ids = shapeOf(getIds());
  ArrayRef<int64_t> back = shapeOf(getBack());
  if (failed(expectShape(*this, "ids", getIds(), // block_permute_c1
                         {rows[0], rows[1], ids[2]})) ||
      failed(expectShape(*this, "back", getBack(), // block_permute_c1
                         {rows[0], rows[1], back[2]})))
    return failure();
  if (rows[2] == 0 || back[2] % rows[2] != 0) // block_permute_c2
    return emitOpError() << "back has " << back[2]
                         << " elements for a block, expected a multiple of "
                         << rows[2] << ", its rows";
  if (failed(expectShape(*this, "result", getResult(), // block_permute_c3
                         {rows[0], rows[1], ids[2], rows[3]})))
    return failure();
  return expectElement(*this, "result", getResult(), getRows());
}

OpCost BlockPermuteOp::getCost() {
  int64_t moved = byteSize(getType());
  return {0, moved + byteSize(getIds().getType()), moved};
}

/// Groups and blocks may be divided, and the width. Any row of a block may be
/// picked.
DimensionMapping BlockPermuteOp::getDimensionMapping() {
  ArrayRef<int64_t> rows = shapeOf(getRows());
  DimensionMapping mapping;
  mapping.factors = {{rows[0], FactorKind::Parallel},
                     {rows[1], FactorKind::Parallel},
                     {rows[2], FactorKind::Replicate},
                     {shapeOf(getIds())[2], FactorKind::Parallel},
                     {shapeOf(getBack())[2], FactorKind::Replicate},
                     {rows[3], FactorKind::Parallel}};
  mapping.operands = {{0, 1, 2, 5}, {0, 1, 3}, {0, 1, 4}};
  mapping.results = {{0, 1, 3, 5}};
  return mapping;
}

int64_t BlockExchangeOp::sourcesPerBlock() {
  return shapeOf(tokenSide())[1] / shapeOf(expertSide())[1];
}

LogicalResult BlockExchangeOp::verify() {
  ArrayRef<int64_t> tokens = shapeOf(tokenSide());
  ArrayRef<int64_t> experts = shapeOf(expertSide());
  if (tokens.size() < 3 || tokens.size() != experts.size() ||
      tokens.drop_front(3) != experts.drop_front(3)) // block_exchange_c1
    return emitOpError("has operand and result of ranks ")
           << tokens.size() << " and " << experts.size()
           << ", expected equal ranks from 3 on, and equal dimensions behind "
              "the rows";
  if (tokens[0] != 1) // block_exchange_c2
    return emitOpError("has ")
           << tokens[0] << " groups on the side of tokens, expected 1";
  bool divides = experts[0] != 0 && experts[1] != 0 &&
                 tokens[1] % experts[1] == 0 && tokens[2] % experts[0] == 0;
  if (!divides || tokens[1] / experts[1] * (tokens[2] / experts[0]) !=
                      experts[2]) // block_exchange_c3
    return emitOpError("has ")
           << tokens[1] << " sources of " << tokens[2]
           << " rows, expected a multiple of " << experts[1]
           << " blocks, and as many rows in all as " << experts[0]
           << " groups with " << experts[2] << " in each";
  return expectElement(*this, "result", getResult(), getOperand());
}

OpCost BlockExchangeOp::getCost() {
  int64_t moved = byteSize(getType());
  return {0, moved, moved};
}

/// Factors: groups, blocks, sources of a block, rows, what follows. All are
/// independent: ranks that divide sources, or groups, move nothing within.
DimensionMapping BlockExchangeOp::getDimensionMapping() {
  ArrayRef<int64_t> tokens = shapeOf(tokenSide());
  ArrayRef<int64_t> experts = shapeOf(expertSide());
  int64_t sources = sourcesPerBlock();
  DimensionMapping mapping;
  mapping.factors = {{experts[0], FactorKind::Parallel},
                     {experts[1], FactorKind::Parallel},
                     {sources, FactorKind::Parallel},
                     {experts[2] / sources, FactorKind::Parallel}};
  TensorFactors ofTokens = {-1, DimensionFactors(ArrayRef<int>({1, 2})),
                            DimensionFactors(ArrayRef<int>({0, 3}))};
  TensorFactors ofExperts = {0, 1, DimensionFactors(ArrayRef<int>({2, 3}))};
  for (int64_t size : tokens.drop_front(3)) {
    ofTokens.push_back(int(mapping.factors.size()));
    ofExperts.push_back(int(mapping.factors.size()));
    mapping.factors.push_back({size, FactorKind::Parallel});
  }
  mapping.operands = {getReverse() ? ofExperts : ofTokens};
  mapping.results = {getReverse() ? ofTokens : ofExperts};
  return mapping;
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
