//===- Mask.cpp - What a mask of attention depends on ---------------------===//

#include "hone/Analysis/Attention/Mask.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace hone;

namespace {
/// Which dimension of a value runs over queries and which over keys; -1: none.
struct PairDims {
  int64_t query, key;
};
} // namespace

PairValue PairValue::split(double upTo, double after) {
  PairValue value;
  value.isSplit = true;
  value.upTo = upTo;
  value.after = after;
  return value;
}

bool PairValue::isConstant() const {
  return isSplit ? upTo == after : query == 0 && key == 0;
}

/// `x predicate y`.
static bool compare(CmpPredicate predicate, double x, double y) {
  switch (predicate) {
  case CmpPredicate::eq:
    return x == y;
  case CmpPredicate::ne:
    return x != y;
  case CmpPredicate::lt:
    return x < y;
  case CmpPredicate::le:
    return x <= y;
  case CmpPredicate::gt:
    return x > y;
  case CmpPredicate::ge:
    return x >= y;
  }
  llvm_unreachable("unknown predicate");
}

/// A comparison of x and y that depends on the sign of s - t alone.
static std::optional<PairValue>
comparePairs(CmpPredicate predicate, const PairValue &x, const PairValue &y) {
  auto asSplit = [](const PairValue &v) {
    return v.isSplit ? v : PairValue::split(v.offset, v.offset);
  };
  if ((x.isSplit || x.isConstant()) && (y.isSplit || y.isConstant())) {
    PairValue a = asSplit(x), b = asSplit(y);
    return PairValue::split(compare(predicate, a.upTo, b.upTo),
                            compare(predicate, a.after, b.after));
  }
  if (x.isSplit || y.isSplit)
    return std::nullopt;
  // Linear forms: x - y = slope * (s - t) + offset.
  int64_t slope = x.key - y.key;
  double offset = x.offset - y.offset;
  if ((slope != 1 && slope != -1) || x.query - y.query != -slope)
    return std::nullopt;
  // The relation must not change from s - t = 0 downwards, nor from 1 upwards:
  // it has its only step between 0 and 1.
  auto at = [&](int64_t distance) {
    return compare(predicate, double(slope * distance) + offset, 0.0);
  };
  if (predicate == CmpPredicate::eq || predicate == CmpPredicate::ne ||
      at(0) == at(1))
    return std::nullopt;
  return PairValue::split(at(0), at(1));
}

/// Evaluates `value` per pair, as far as it is of one of the known forms.
static std::optional<PairValue> evaluateAlong(Value value, PairDims dims,
                                              unsigned depth = 16) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  Attribute attribute;
  if (matchPattern(value, m_Constant(&attribute))) {
    std::optional<double> number = splatOf(attribute);
    if (!number)
      return std::nullopt;
    PairValue constant;
    constant.offset = *number;
    return constant;
  }
  auto operand = [&](unsigned index) {
    return evaluateAlong(op->getOperand(index), dims, depth - 1);
  };
  if (auto iota = dyn_cast<IotaOp>(op)) {
    PairValue index;
    index.query = int64_t(iota.getDim()) == dims.query;
    index.key = int64_t(iota.getDim()) == dims.key;
    if (index.query + index.key != 1)
      return std::nullopt;
    return index;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    PairDims inner = {-1, -1};
    for (auto [from, to] : llvm::enumerate(broadcast.getDims())) {
      if (to == dims.query)
        inner.query = from;
      if (to == dims.key)
        inner.key = from;
    }
    return evaluateAlong(broadcast.getOperand(), inner, depth - 1);
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    // Only dimensions of size 1 may come and go.
    ArrayRef<int64_t> to = shapeOf(value), from = shapeOf(reshape.getOperand());
    PairDims inner = {-1, -1};
    size_t i = 0;
    for (size_t j = 0; j != to.size(); ++j) {
      if (to[j] == 1)
        continue;
      while (i != from.size() && from[i] == 1)
        ++i;
      if (i == from.size() || from[i] != to[j])
        return std::nullopt;
      if (int64_t(j) == dims.query)
        inner.query = i;
      if (int64_t(j) == dims.key)
        inner.key = i;
      ++i;
    }
    return evaluateAlong(reshape.getOperand(), inner, depth - 1);
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    auto from = [&](int64_t dim) {
      return dim < 0 ? -1 : transpose.getPermutation()[dim];
    };
    return evaluateAlong(transpose.getOperand(),
                         {from(dims.query), from(dims.key)}, depth - 1);
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    // From the first row and column on.
    for (int64_t dim : {dims.query, dims.key})
      if (dim >= 0 &&
          (slice.getStarts()[dim] != 0 || slice.getStrides()[dim] != 1))
        return std::nullopt;
    return evaluateAlong(slice.getOperand(), dims, depth - 1);
  }
  if (isa<StopGradientOp>(op))
    return operand(0);
  if (isa<CastOp>(op)) {
    std::optional<PairValue> x = operand(0);
    if (!x)
      return std::nullopt;
    if (getElementTypeOrSelf(value.getType()).isInteger(1)) {
      PairValue zero;
      return comparePairs(CmpPredicate::ne, *x, zero);
    }
    return x;
  }
  if (auto cmp = dyn_cast<CmpOp>(op)) {
    std::optional<PairValue> x = operand(0), y = operand(1);
    return x && y ? comparePairs(cmp.getPredicate(), *x, *y) : std::nullopt;
  }
  if (isa<NotOp>(op) && getElementTypeOrSelf(value.getType()).isInteger(1)) {
    std::optional<PairValue> x = operand(0);
    if (!x || !x->isSplit)
      return std::nullopt;
    return PairValue::split(x->upTo == 0.0, x->after == 0.0);
  }
  auto pointwise = [&](ArrayRef<unsigned> indices,
                       auto &&function) -> std::optional<PairValue> {
    SmallVector<double> upTo, after;
    for (unsigned index : indices) {
      std::optional<PairValue> x = operand(index);
      if (!x || (!x->isSplit && !x->isConstant()))
        return std::nullopt;
      upTo.push_back(x->isSplit ? x->upTo : x->offset);
      after.push_back(x->isSplit ? x->after : x->offset);
    }
    return PairValue::split(function(upTo), function(after));
  };
  if (isa<SelectOp>(op))
    return pointwise({0, 1, 2}, [](ArrayRef<double> v) {
      return v[0] != 0.0 ? v[1] : v[2];
    });
  if (isa<MulOp>(op))
    return pointwise({0, 1}, [](ArrayRef<double> v) { return v[0] * v[1]; });
  if (isa<AndOp>(op) && getElementTypeOrSelf(value.getType()).isInteger(1))
    return pointwise({0, 1}, [](ArrayRef<double> v) {
      return double(v[0] != 0.0 && v[1] != 0.0);
    });
  if (isa<OrOp>(op) && getElementTypeOrSelf(value.getType()).isInteger(1))
    return pointwise({0, 1}, [](ArrayRef<double> v) {
      return double(v[0] != 0.0 || v[1] != 0.0);
    });
  if (!isa<AddOp, SubOp>(op))
    return std::nullopt;
  std::optional<PairValue> x = operand(0), y = operand(1);
  double sign = isa<SubOp>(op) ? -1.0 : 1.0;
  if (!x || !y)
    return std::nullopt;
  if (x->isSplit || y->isSplit)
    return pointwise({0, 1},
                     [&](ArrayRef<double> v) { return v[0] + sign * v[1]; });
  PairValue sum = *x;
  sum.query += int64_t(sign) * y->query;
  sum.key += int64_t(sign) * y->key;
  sum.offset += sign * y->offset;
  return sum;
}

std::optional<PairValue> hone::evaluatePairs(Value value) {
  int64_t rank = shapeOf(value).size();
  return evaluateAlong(value, {rank - 2, rank - 1});
}
