//===- Problem.cpp - Attention as a library is asked ----------------------===//

#include "hone/Analysis/Attention/Problem.h"
#include "hone/IR/QueryPositions.h"
#include "hone/Plan/AbiNumbers.h"

#include "base/AttentionProblem.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

template <typename AttentionLike>
static AttentionParts readCommon(AttentionLike op) {
  AttentionParts parts = {};
  parts.query = op.getQuery();
  parts.key = op.getKey();
  parts.value = op.getValue();
  parts.lse = op.getLse();
  parts.mask = op.getMask();
  parts.segments = op.getSegments();
  parts.first = firstPositions(op.getMasks());
  parts.rng = op.getRng();
  parts.origin = op.getOrigin();
  parts.causal = op.getCausal();
  parts.scale = op.getScale().convertToDouble();
  parts.dropout = op.getDropout().convertToDouble();
  parts.salt = op.getSalt();
  return parts;
}

std::optional<AttentionParts> hone::readAttention(Operation *op) {
  if (auto forward = dyn_cast<AttentionOp>(op)) {
    AttentionParts parts = readCommon(forward);
    parts.result = forward.getResult();
    return parts;
  }
  auto backward = dyn_cast<AttentionBwdOp>(op);
  if (!backward)
    return std::nullopt;
  AttentionParts parts = readCommon(backward);
  parts.isBackward = true;
  parts.result = backward.getOutput();
  parts.resultGrad = backward.getGrad();
  parts.queryGrad = backward.getQueryGrad();
  parts.keyGrad = backward.getKeyGrad();
  parts.valueGrad = backward.getValueGrad();
  return parts;
}

int64_t AttentionParts::runs() const {
  return readsFirst() ? shapeOf(first)[0] : 1;
}

SmallVector<Value> AttentionParts::inCallOrder() const {
  SmallVector<Value> values = {query, key, value, result, lse};
  if (isBackward)
    values.append({resultGrad, queryGrad, keyGrad, valueGrad});
  return values;
}

std::string hone::whyNotAsked(const AttentionParts &parts) {
  std::string why;
  llvm::raw_string_ostream stream(why);
  Type element = getElementTypeOrSelf(parts.query);
  Type statistics = getElementTypeOrSelf(parts.lse);
  if (!element.isBF16() && !element.isF16())
    stream << "has operands of " << element << ", expected bf16 or f16";
  else if (parts.isBackward && (elementOf(parts.result) != element ||
                                elementOf(parts.resultGrad) != element))
    stream << "has a result or its gradient in another type, expected "
           << element;
  else if (!statistics.isF32())
    stream << "has a log-sum-exp of " << statistics << ", expected f32";
  else if (parts.mask)
    stream << "has a mask, expected none but 'causal'";
  else if (parts.segments)
    stream << "has segments of packed documents, expected none";
  else if (parts.origin)
    stream << "has the dropout of a part, expected a whole tensor's";
  return why;
}

//===----------------------------------------------------------------------===//
// The line
//===----------------------------------------------------------------------===//

std::string
hone::describeAttention(const AttentionParts &parts, bool deterministic,
                        llvm::function_ref<HeadStrides(Value)> stridesOf) {
  using Operand = honert::AttentionOperand;
  ArrayRef<int64_t> query = shapeOf(parts.query), value = shapeOf(parts.value);
  honert::AttentionProblem problem;
  problem.isBackward = parts.isBackward;
  problem.dtype =
      static_cast<honert::DType>(abi::dtype(getElementTypeOrSelf(parts.query)));
  problem.batch = query[0];
  problem.queries = query[1] / parts.runs();
  problem.queryHeads = query[2];
  problem.width = query[3];
  problem.keys = value[1];
  problem.keyHeads = value[2];
  problem.valueWidth = value[3];
  problem.scale = parts.scale;
  problem.causal = parts.causal;
  problem.readsLengths = parts.readsFirst();
  problem.dropout = parts.dropout;
  problem.deterministic = deterministic;
  std::pair<Operand, Value> operands[] = {
      {Operand::query, parts.query},
      {Operand::key, parts.key},
      {Operand::value, parts.value},
      {Operand::result, parts.result},
      {Operand::resultGrad, parts.resultGrad},
      {Operand::queryGrad, parts.queryGrad},
      {Operand::keyGrad, parts.keyGrad},
      {Operand::valueGrad, parts.valueGrad}};
  for (auto [operand, tensor] : operands) {
    if (!tensor)
      continue;
    auto [batch, position, head] = stridesOf(tensor);
    problem.strides[static_cast<size_t>(operand)] = {batch, position, head};
  }
  return problem.text();
}

/// Rows of `row` elements, one per position, in which the heads lie side by
/// side.
static HeadStrides inRows(Value value, int64_t row) {
  ArrayRef<int64_t> shape = shapeOf(value); // [batch, position, head, width]
  return {shape[1] * row, row, shape[3]};
}

static int64_t rowOf(Value value) {
  return shapeOf(value)[2] * shapeOf(value)[3];
}

SmallVector<std::string, 2> hone::describeLayouts(const AttentionParts &parts,
                                                  bool deterministic) {
  auto dense = [](Value value) { return inRows(value, rowOf(value)); };
  int64_t keyRow = rowOf(parts.key) + rowOf(parts.value);
  // Queries are beside keys where they are made from the same positions.
  bool isSelf = shapeOf(parts.query)[1] == shapeOf(parts.key)[1];
  int64_t queryRow = rowOf(parts.query) + (isSelf ? keyRow : 0);
  auto packed = [&](Value value) {
    if (value == parts.query || value == parts.queryGrad)
      return inRows(value, queryRow);
    if (value == parts.result || value == parts.resultGrad)
      return dense(value);
    return inRows(value, isSelf ? queryRow : keyRow);
  };
  return {describeAttention(parts, deterministic, dense),
          describeAttention(parts, deterministic, packed)};
}
