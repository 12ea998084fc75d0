//===- Selection.cpp - Orders, and elements picked by index ---------------===//

#include "Lines.h"
#include "hone/Interpreter/Ops.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// x before y in increasing order; a NaN is greater than any number.
template <typename T> static bool isLess(T x, T y) {
  bool isNan = x != x;
  return !isNan && (y != y || x < y);
}

/// The first `count` indices of each line in the order of its elements.
template <typename T>
static std::vector<int64_t> sortLines(Lines lines, ArrayRef<T> from,
                                      int64_t count, bool descending) {
  std::vector<int64_t> values(lines.outer * count * lines.inner);
  std::vector<int64_t> order(lines.size);
  Lines to = lines;
  to.size = count;
  for (int64_t o = 0; o != lines.outer; ++o)
    for (int64_t i = 0; i != lines.inner; ++i) {
      std::iota(order.begin(), order.end(), 0);
      llvm::sort(order, [&](int64_t a, int64_t b) {
        T x = from[lines.at(o, a, i)], y = from[lines.at(o, b, i)];
        if (descending)
          std::swap(x, y);
        return isLess(x, y) || (!isLess(y, x) && a < b);
      });
      for (int64_t place = 0; place != count; ++place)
        values[to.at(o, place, i)] = order[place];
    }
  return values;
}

Tensor interp::firstInOrder(const ResultSpec &result, const Tensor &operand,
                            int64_t dim, bool descending) {
  Lines lines(operand.shape(), dim);
  int64_t count = result.shape[dim];
  return result.ints(operand.isFloat()
                         ? sortLines(lines, operand.floats(), count, descending)
                         : sortLines(lines, operand.ints(), count, descending));
}

//===----------------------------------------------------------------------===//
// Elements picked by index
//===----------------------------------------------------------------------===//

/// Calls `body(place in ids, place in the line)` for all ids, line by line.
/// Fails at an id outside of its line.
static llvm::Error forEachId(const Tensor &ids, Dims lineShape, int64_t dim,
                             llvm::function_ref<void(int64_t, int64_t)> body) {
  Lines from(ids.shape(), dim), to(lineShape, dim);
  for (int64_t o = 0; o != from.outer; ++o)
    for (int64_t i = 0; i != from.inner; ++i)
      for (int64_t index = 0; index != from.size; ++index) {
        int64_t place = from.at(o, index, i), id = ids.ints()[place];
        if (id < 0 || id >= to.size)
          return llvm::createStringError("id " + Twine(place) + " is " +
                                         Twine(id) + ", expected 0 <= id < " +
                                         Twine(to.size));
        body(place, to.at(o, id, i));
      }
  return llvm::Error::success();
}

llvm::Expected<Tensor> interp::takeAlong(const ResultSpec &result,
                                         const Tensor &operand,
                                         const Tensor &ids, int64_t dim) {
  auto pick = [&](auto from, auto &values) {
    return forEachId(ids, operand.shape(), dim, [&](int64_t place, int64_t at) {
      values[place] = from[at];
    });
  };
  size_t count = elementCount(result.shape);
  if (operand.isFloat()) {
    std::vector<double> values(count);
    if (llvm::Error error = pick(ArrayRef<double>(operand.floats()), values))
      return error;
    return result.floats(std::move(values));
  }
  std::vector<int64_t> values(count);
  if (llvm::Error error = pick(ArrayRef<int64_t>(operand.ints()), values))
    return error;
  return result.ints(std::move(values));
}

/// `values` are what the combination of nothing gives.
template <typename T, typename Combine>
static llvm::Error place(const Tensor &ids, Dims lineShape, int64_t dim,
                         ArrayRef<T> updates, std::vector<T> &values,
                         Combine combine) {
  return forEachId(ids, lineShape, dim, [&](int64_t from, int64_t at) {
    values[at] = combine(values[at], updates[from]);
  });
}

static llvm::Expected<Tensor> putFloats(const ResultSpec &result,
                                        ReduceKind kind, const Tensor &updates,
                                        const Tensor &ids, int64_t dim) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double start = kind == ReduceKind::sum   ? 0
                 : kind == ReduceKind::max ? -infinity
                                           : infinity;
  auto combine = [kind](double x, double y) {
    return kind == ReduceKind::sum   ? x + y
           : kind == ReduceKind::max ? maximum(x, y)
                                     : minimum(x, y);
  };
  std::vector<double> values(elementCount(result.shape), start);
  if (llvm::Error error = place<double>(ids, result.shape, dim,
                                        updates.floats(), values, combine))
    return error;
  return result.floats(std::move(values));
}

llvm::Expected<Tensor> interp::putAlong(const ResultSpec &result,
                                        ReduceKind kind, const Tensor &updates,
                                        const Tensor &ids, int64_t dim) {
  if (updates.isFloat())
    return putFloats(result, kind, updates, ids, dim);
  int64_t least = leastOf(updates.element());
  int64_t start = kind == ReduceKind::sum   ? 0
                  : kind == ReduceKind::max ? least
                                            : ~least;
  auto combine = [kind](int64_t x, int64_t y) {
    return kind == ReduceKind::sum   ? wrappingAdd(x, y)
           : kind == ReduceKind::max ? std::max(x, y)
                                     : std::min(x, y);
  };
  std::vector<int64_t> values(elementCount(result.shape), start);
  if (llvm::Error error = place<int64_t>(ids, result.shape, dim, updates.ints(),
                                         values, combine))
    return error;
  return result.ints(std::move(values));
}

//===----------------------------------------------------------------------===//
// Parts replaced
//===----------------------------------------------------------------------===//

llvm::Expected<Tensor> interp::updateSlice(const ResultSpec &result,
                                           const Tensor &operand,
                                           const Tensor &update, int64_t at,
                                           int64_t dim) {
  Lines from(update.shape(), dim), to(operand.shape(), dim);
  if (at < 0 || at + from.size > to.size)
    return llvm::createStringError(
        "the update of " + Twine(from.size) + " begins at " + Twine(at) +
        ", expected 0 <= at <= " + Twine(to.size - from.size));
  auto replaced = [&](auto values, auto updates) {
    for (int64_t o = 0; o != from.outer; ++o)
      for (int64_t index = 0; index != from.size; ++index)
        for (int64_t i = 0; i != from.inner; ++i)
          values[to.at(o, at + index, i)] = updates[from.at(o, index, i)];
    return values;
  };
  if (operand.isFloat())
    return result.floats(
        replaced(ArrayRef<double>(operand.floats()).vec(), update.floats()));
  return result.ints(
      replaced(ArrayRef<int64_t>(operand.ints()).vec(), update.ints()));
}
