//===- Mask.cpp - What a mask of attention depends on ---------------------===//

#include "hone/Analysis/Attention/Mask.h"

#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace hone;

namespace {
/// Which dimension of a value runs over queries, which over keys and which over
/// the batch; -1: none.
struct PairDims {
  int64_t query, key, batch = -1;

  /// Each dimension as `dim` maps it; -1 stays.
  PairDims map(llvm::function_ref<int64_t(int64_t)> dim) const {
    auto each = [&](int64_t from) { return from < 0 ? -1 : dim(from); };
    return {each(query), each(key), each(batch)};
  }
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

/// The number that every element of a constant is.
static std::optional<double> numberOf(Value value) {
  Attribute attribute;
  return matchPattern(value, m_Constant(&attribute)) ? splatOf(attribute)
                                                     : std::nullopt;
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

/// The dimensions of the operand of `op` if that repeats, transposes or adds
/// and drops dimensions of size 1; `dims` are those of its result.
static std::optional<PairDims> throughShape(Operation *op, PairDims dims) {
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return dims.map([&](int64_t dim) -> int64_t {
      ArrayRef<int64_t> kept = broadcast.getDims();
      auto found = llvm::find(kept, dim);
      return found == kept.end() ? -1 : found - kept.begin();
    });
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return dims.map(
        [&](int64_t dim) { return transpose.getPermutation()[dim]; });
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape)
    return std::nullopt;
  ArrayRef<int64_t> to = shapeOf(reshape), from = shapeOf(reshape.getOperand());
  SmallVector<int64_t> source(to.size(), -1);
  size_t i = 0;
  for (size_t j = 0; j != to.size(); ++j) {
    if (to[j] == 1)
      continue;
    while (i != from.size() && from[i] == 1)
      ++i;
    if (i == from.size() || from[i] != to[j])
      return std::nullopt;
    source[j] = i++;
  }
  return dims.map([&](int64_t dim) { return source[dim]; });
}

/// Evaluates `value` per pair, as far as it is of one of the known forms.
static std::optional<PairValue> evaluateAlong(Value value, PairDims dims,
                                              unsigned depth = 16) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  if (std::optional<double> number = numberOf(value)) {
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
  if (std::optional<PairDims> inner = throughShape(op, dims))
    return evaluateAlong(op->getOperand(0), *inner, depth - 1);
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

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

namespace {
/// Reads a mask as a conjunction of causality and equal ids.
class ConjunctionReader {
public:
  /// `value`, or its negation, of i1.
  bool readTruth(Value value, bool isNegated, PairDims dims,
                 unsigned depth = 16);
  /// 0 where a pair is visible, and lowest elsewhere.
  bool readAdditive(Value value, PairDims dims, double lowest);

  VisiblePairs visible;

private:
  bool readSelect(SelectOp select, bool isNegated, PairDims dims,
                  unsigned depth);
  bool readEqual(CmpOp cmp, PairDims dims);
};

/// A tensor that is read with one position per query, or per key.
struct Ids {
  Value source;
  int64_t position, batch; ///< its dimensions; batch -1: one for all
};
} // namespace

/// `value` without repetitions, if it depends on one of the positions alone.
static std::optional<Ids> findIds(Value value, PairDims dims, bool ofQueries) {
  while (Operation *op = value.getDefiningOp()) {
    std::optional<PairDims> inner = throughShape(op, dims);
    if (!inner)
      break;
    dims = *inner;
    value = op->getOperand(0);
  }
  Ids ids = {value, ofQueries ? dims.query : dims.key, dims.batch};
  if (ids.position < 0 || (ofQueries ? dims.key : dims.query) >= 0)
    return std::nullopt;
  for (auto [dim, size] : llvm::enumerate(shapeOf(value)))
    if (size != 1 && int64_t(dim) != ids.position && int64_t(dim) != ids.batch)
      return std::nullopt;
  return ids;
}

bool ConjunctionReader::readEqual(CmpOp cmp, PairDims dims) {
  if (!isa<IntegerType>(getElementTypeOrSelf(cmp.getLhs())) ||
      getElementTypeOrSelf(cmp.getLhs()).isInteger(1))
    return false;
  Value queries = cmp.getLhs(), keys = cmp.getRhs();
  std::optional<Ids> ofQueries = findIds(queries, dims, /*ofQueries=*/true);
  if (!ofQueries) {
    std::swap(queries, keys);
    ofQueries = findIds(queries, dims, /*ofQueries=*/true);
  }
  std::optional<Ids> ofKeys = findIds(keys, dims, /*ofQueries=*/false);
  if (!ofQueries || !ofKeys || ofQueries->source != ofKeys->source ||
      ofQueries->position != ofKeys->position ||
      ofQueries->batch != ofKeys->batch)
    return false;
  if (visible.ids &&
      (visible.ids != ofKeys->source || visible.position != ofKeys->position ||
       visible.batch != ofKeys->batch))
    return false;
  visible.ids = ofKeys->source;
  visible.position = ofKeys->position;
  visible.batch = ofKeys->batch;
  return true;
}

/// A choice of which one arm says that the pair is hidden.
bool ConjunctionReader::readSelect(SelectOp select, bool isNegated,
                                   PairDims dims, unsigned depth) {
  auto isHidden = [&](Value arm) {
    std::optional<double> number = numberOf(arm);
    return number && (*number != 0.0) == isNegated;
  };
  bool whenTrue = isHidden(select.getOnFalse());
  if (!whenTrue && !isHidden(select.getOnTrue()))
    return false;
  Value other = whenTrue ? select.getOnTrue() : select.getOnFalse();
  return readTruth(select.getPred(), !whenTrue, dims, depth) &&
         readTruth(other, isNegated, dims, depth);
}

bool ConjunctionReader::readTruth(Value value, bool isNegated, PairDims dims,
                                  unsigned depth) {
  if (std::optional<PairValue> pairs = evaluateAlong(value, dims)) {
    if (!pairs->isSplit && !pairs->isConstant())
      return false;
    double upTo = pairs->isSplit ? pairs->upTo : pairs->offset;
    double after = pairs->isSplit ? pairs->after : pairs->offset;
    if ((upTo != 0.0) == isNegated)
      return false;
    visible.causal |= (after != 0.0) == isNegated;
    return true;
  }
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || !getElementTypeOrSelf(value.getType()).isInteger(1))
    return false;
  if (std::optional<PairDims> inner = throughShape(op, dims))
    return readTruth(op->getOperand(0), isNegated, *inner, depth - 1);
  if (isa<NotOp>(op))
    return readTruth(op->getOperand(0), !isNegated, dims, depth - 1);
  if (isNegated ? isa<OrOp>(op) : isa<AndOp>(op))
    return readTruth(op->getOperand(0), isNegated, dims, depth - 1) &&
           readTruth(op->getOperand(1), isNegated, dims, depth - 1);
  if (auto select = dyn_cast<SelectOp>(op))
    return readSelect(select, isNegated, dims, depth - 1);
  auto cmp = dyn_cast<CmpOp>(op);
  return cmp &&
         cmp.getPredicate() ==
             (isNegated ? CmpPredicate::ne : CmpPredicate::eq) &&
         readEqual(cmp, dims);
}

bool ConjunctionReader::readAdditive(Value value, PairDims dims,
                                     double lowest) {
  while (Operation *op = value.getDefiningOp()) {
    if (std::optional<PairDims> inner = throughShape(op, dims))
      dims = *inner;
    else if (!isa<CastOp, StopGradientOp>(op))
      break;
    value = op->getOperand(0);
  }
  auto select = value.getDefiningOp<SelectOp>();
  if (!select)
    return false;
  std::optional<double> onTrue = numberOf(select.getOnTrue()),
                        onFalse = numberOf(select.getOnFalse());
  if (!onTrue || !onFalse)
    return false;
  if (*onTrue == 0.0 && *onFalse <= lowest)
    return readTruth(select.getPred(), /*isNegated=*/false, dims);
  return *onFalse == 0.0 && *onTrue <= lowest &&
         readTruth(select.getPred(), /*isNegated=*/true, dims);
}

//===----------------------------------------------------------------------===//
// Later keys
//===----------------------------------------------------------------------===//

/// Whether `value`, or its negation, is false for each key after its query,
/// whatever it says of others.
static bool isFalseLater(Value value, bool isNegated, PairDims dims,
                         unsigned depth = 16) {
  if (std::optional<PairValue> pairs = evaluateAlong(value, dims)) {
    double after = pairs->isSplit ? pairs->after : pairs->offset;
    bool isKnown = pairs->isSplit || pairs->isConstant();
    return isKnown && (after != 0.0) == isNegated;
  }
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || !getElementTypeOrSelf(value.getType()).isInteger(1))
    return false;
  if (std::optional<PairDims> inner = throughShape(op, dims))
    return isFalseLater(op->getOperand(0), isNegated, *inner, depth - 1);
  auto operand = [&](unsigned index, bool isNegated) {
    return isFalseLater(op->getOperand(index), isNegated, dims, depth - 1);
  };
  if (isa<NotOp>(op))
    return operand(0, !isNegated);
  if (isNegated ? isa<OrOp>(op) : isa<AndOp>(op))
    return operand(0, isNegated) || operand(1, isNegated);
  if (isNegated ? isa<AndOp>(op) : isa<OrOp>(op))
    return operand(0, isNegated) && operand(1, isNegated);
  if (!isa<SelectOp>(op))
    return false;
  // Where the condition holds the first arm counts, elsewhere the second.
  return (operand(0, false) || operand(1, isNegated)) &&
         (operand(0, true) || operand(2, isNegated));
}

static bool isLowestLater(Value mask, PairDims dims, unsigned depth = 16) {
  Operation *op = mask.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (std::optional<PairDims> inner = throughShape(op, dims))
    return isLowestLater(op->getOperand(0), *inner, depth - 1);
  if (isa<CastOp, StopGradientOp>(op))
    return isLowestLater(op->getOperand(0), dims, depth - 1);
  if (isa<AddOp>(op))
    return isLowestLater(op->getOperand(0), dims, depth - 1) ||
           isLowestLater(op->getOperand(1), dims, depth - 1);
  auto select = dyn_cast<SelectOp>(op);
  auto isLowest = [](Value arm) {
    return numberOf(arm) == -std::numeric_limits<double>::infinity();
  };
  if (!select)
    return false;
  return (isLowest(select.getOnFalse()) &&
          isFalseLater(select.getPred(), /*isNegated=*/false, dims)) ||
         (isLowest(select.getOnTrue()) &&
          isFalseLater(select.getPred(), /*isNegated=*/true, dims));
}

static PairDims lastDims(Value value) {
  int64_t rank = shapeOf(value).size();
  return {rank - 2, rank - 1, rank > 2 ? 0 : -1};
}

std::optional<VisiblePairs> hone::findVisiblePairs(Value keep,
                                                   bool keepWhenTrue) {
  ConjunctionReader reader;
  bool isKnown = reader.readTruth(keep, !keepWhenTrue, lastDims(keep));
  return isKnown && reader.visible.ids ? std::optional(reader.visible)
                                       : std::nullopt;
}

std::optional<VisiblePairs> hone::findVisiblePairs(Value mask, double lowest) {
  ConjunctionReader reader;
  bool isKnown = reader.readAdditive(mask, lastDims(mask), lowest);
  return isKnown && reader.visible.ids ? std::optional(reader.visible)
                                       : std::nullopt;
}

bool hone::hidesLaterKeys(Value mask) {
  return isLowestLater(mask, lastDims(mask));
}

std::optional<PairValue> hone::evaluatePairs(Value value) {
  int64_t rank = shapeOf(value).size();
  return evaluateAlong(value, {rank - 2, rank - 1});
}
