//===- Reduction.cpp - Reductions, contraction, rows by index -------------===//

#include "Lines.h"

#include "llvm/Support/Parallel.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Adds every element of `from` to the element of `values` that `dims` reduce
/// it to, by `combine`.
template <typename T, typename Combine>
static void accumulate(const Tensor &operand, ArrayRef<T> from, Dims dims,
                       ArrayRef<int64_t> resultShape, std::vector<T> &values,
                       Combine combine) {
  // Stride 0 along reduced dimensions.
  Shape strides, resultStrides = stridesOf(resultShape);
  for (int64_t dim = 0, kept = 0; dim != operand.rank(); ++dim)
    strides.push_back(llvm::is_contained(dims, dim) ? 0
                                                    : resultStrides[kept++]);
  forEachIndex(operand.shape(), [&](ArrayRef<int64_t> index, int64_t position) {
    int64_t target = 0;
    for (auto [i, stride] : llvm::zip_equal(index, strides))
      target += i * stride;
    values[target] = combine(values[target], from[position]);
  });
}

Tensor interp::reduce(const ResultSpec &result, ReduceKind kind,
                      const Tensor &operand, Dims dims) {
  size_t count = elementCount(result.shape);
  if (operand.isFloat()) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    auto run = [&](double start, double (*combine)(double, double)) {
      std::vector<double> values(count, start);
      accumulate(operand, operand.floats(), dims, result.shape, values,
                 combine);
      return result.floats(std::move(values));
    };
    switch (kind) {
    case ReduceKind::sum:
      // -0 is the neutral element: 0 would turn a sum of -0 into 0. Only the
      // empty sum starts from 0.
      return run(operand.size() == 0 ? 0.0 : -0.0,
                 [](double x, double y) { return x + y; });
    case ReduceKind::max:
      return run(-infinity, maximum);
    case ReduceKind::min:
      return run(infinity, minimum);
    }
  }
  auto run = [&](int64_t start, int64_t (*combine)(int64_t, int64_t)) {
    std::vector<int64_t> values(count, start);
    accumulate(operand, operand.ints(), dims, result.shape, values, combine);
    return result.ints(std::move(values));
  };
  int64_t least = leastOf(operand.element());
  switch (kind) {
  case ReduceKind::sum:
    return run(0, wrappingAdd);
  case ReduceKind::max:
    return run(least, [](int64_t x, int64_t y) { return std::max(x, y); });
  case ReduceKind::min:
    return run(~least, [](int64_t x, int64_t y) { return std::min(x, y); });
  }
  llvm_unreachable("all kinds are listed");
}

template <typename T>
static std::vector<int64_t> argmaxLines(Lines lines, ArrayRef<T> from) {
  std::vector<int64_t> values;
  values.reserve(lines.outer * lines.inner);
  for (int64_t o = 0; o != lines.outer; ++o)
    for (int64_t i = 0; i != lines.inner; ++i) {
      int64_t best = 0;
      for (int64_t index = 1; index < lines.size; ++index) {
        T leader = from[lines.at(o, best, i)];
        T value = from[lines.at(o, index, i)];
        bool leaderIsNan = leader != leader, valueIsNan = value != value;
        if (!leaderIsNan && (valueIsNan || value > leader))
          best = index;
      }
      values.push_back(best);
    }
  return values;
}

Tensor interp::argmax(const ResultSpec &result, const Tensor &operand,
                      int64_t dim) {
  Lines lines(operand.shape(), dim);
  return result.ints(operand.isFloat() ? argmaxLines(lines, operand.floats())
                                       : argmaxLines(lines, operand.ints()));
}

template <typename T, typename Add>
static std::vector<T> cumsumLines(Lines lines, std::vector<T> values,
                                  bool reverse, Add add) {
  for (int64_t o = 0; o != lines.outer; ++o)
    for (int64_t i = 0; i != lines.inner; ++i)
      for (int64_t step = 1; step < lines.size; ++step) {
        int64_t index = reverse ? lines.size - 1 - step : step;
        int64_t before = reverse ? index + 1 : index - 1;
        T &value = values[lines.at(o, index, i)];
        value = add(values[lines.at(o, before, i)], value);
      }
  return values;
}

Tensor interp::cumsum(const ResultSpec &result, const Tensor &operand,
                      int64_t dim, bool reverse) {
  Lines lines(operand.shape(), dim);
  if (operand.isFloat())
    return result.floats(cumsumLines<double>(lines, operand.floats(), reverse,
                                             std::plus<double>()));
  return result.ints(
      cumsumLines<int64_t>(lines, operand.ints(), reverse, wrappingAdd));
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

/// Positions of all indices over some dimensions of a tensor, in order.
static std::vector<int64_t> offsetsOver(const Tensor &tensor, Dims dims) {
  Shape strides = stridesOf(tensor.shape()), sizes;
  for (int64_t dim : dims)
    sizes.push_back(tensor.shape()[dim]);
  std::vector<int64_t> offsets(elementCount(sizes));
  forEachIndex(sizes, [&](ArrayRef<int64_t> index, int64_t position) {
    int64_t offset = 0;
    for (auto [i, dim] : llvm::zip_equal(index, dims))
      offset += i * strides[dim];
    offsets[position] = offset;
  });
  return offsets;
}

namespace {
/// One operand of a batched matrix product: element (batch, free, contracted)
/// is `data[batch[..] + free[..] + contract[..]]`.
struct DotOperand {
  DotOperand(const Tensor &tensor, DotDims dims)
      : data(tensor.floats()), batch(offsetsOver(tensor, dims.batch)),
        free(offsetsOver(tensor, dims.free)),
        contract(offsetsOver(tensor, dims.contract)) {}

  ArrayRef<double> data;
  std::vector<int64_t> batch, free, contract;
};
} // namespace

// A tile of the product: `rows` x `columns` sums live in registers while the
// contracted index runs over a block that stays in cache. Each sum still runs
// over the contracted index in order, so the tiling changes no bit.
static constexpr int64_t tileRows = 4, tileColumns = 32, depth = 512;

/// acc[r][c] += sum_k lhs[k][r] * rhs[k][c] over `count` values of k.
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void
multiplyTile(const double *lhs, const double *rhs, int64_t count, double *acc) {
  double sums[tileRows][tileColumns];
  for (int64_t r = 0; r != tileRows; ++r)
    for (int64_t c = 0; c != tileColumns; ++c)
      sums[r][c] = acc[r * tileColumns + c];
  for (int64_t k = 0; k != count; ++k)
    for (int64_t r = 0; r != tileRows; ++r)
      for (int64_t c = 0; c != tileColumns; ++c)
        sums[r][c] += lhs[k * tileRows + r] * rhs[k * tileColumns + c];
  for (int64_t r = 0; r != tileRows; ++r)
    for (int64_t c = 0; c != tileColumns; ++c)
      acc[r * tileColumns + c] = sums[r][c];
}

/// Copies `width` free indices from `first` on, over contracted indices
/// [begin, end), to [end - begin, width]; columns beyond the last are zero.
static void packPanel(const DotOperand &operand, int64_t batch, int64_t first,
                      int64_t begin, int64_t end, int64_t width, double *to) {
  int64_t valid = std::min<int64_t>(width, operand.free.size() - first);
  const double *from = operand.data.data() + operand.batch[batch];
  for (int64_t k = begin; k != end; ++k, to += width)
    for (int64_t column = 0; column != width; ++column)
      to[column] =
          column < valid
              ? from[operand.contract[k] + operand.free[first + column]]
              : 0;
}

Tensor interp::dotGeneral(const ResultSpec &result, const Tensor &lhs,
                          DotDims lhsDims, const Tensor &rhs, DotDims rhsDims) {
  DotOperand left(lhs, lhsDims), right(rhs, rhsDims);
  int64_t rows = left.free.size(), columns = right.free.size();
  int64_t contracted = left.contract.size();
  std::vector<double> values(elementCount(result.shape));
  auto panels = [](int64_t count, int64_t width) {
    return (count + width - 1) / width;
  };
  int64_t rowPanels = panels(rows, tileRows);
  int64_t columnPanels = panels(columns, tileColumns);

  std::vector<double> packedLhs(rowPanels * contracted * tileRows);
  for (int64_t batch = 0, end = left.batch.size(); batch != end; ++batch) {
    for (int64_t panel = 0; panel != rowPanels; ++panel)
      packPanel(left, batch, panel * tileRows, 0, contracted, tileRows,
                packedLhs.data() + panel * contracted * tileRows);
    llvm::parallelFor(0, columnPanels, [&](size_t columnPanel) {
      int64_t firstColumn = int64_t(columnPanel) * tileColumns;
      std::vector<double> packedRhs(std::min(depth, contracted) * tileColumns);
      std::vector<double> sums(rowPanels * tileRows * tileColumns);
      for (int64_t begin = 0; begin < contracted; begin += depth) {
        int64_t stop = std::min(begin + depth, contracted);
        packPanel(right, batch, firstColumn, begin, stop, tileColumns,
                  packedRhs.data());
        for (int64_t panel = 0; panel != rowPanels; ++panel)
          multiplyTile(packedLhs.data() +
                           (panel * contracted + begin) * tileRows,
                       packedRhs.data(), stop - begin,
                       sums.data() + panel * tileRows * tileColumns);
      }
      int64_t valid = std::min(tileColumns, columns - firstColumn);
      for (int64_t row = 0; row != rows; ++row)
        for (int64_t column = 0; column != valid; ++column)
          values[(batch * rows + row) * columns + firstColumn + column] =
              sums[row * tileColumns + column];
    });
  }
  return result.floats(std::move(values));
}

//===----------------------------------------------------------------------===//
// Rows by index
//===----------------------------------------------------------------------===//

/// Fails unless every id is a row of a table of `rows` rows.
static llvm::Error checkIds(const Tensor &ids, int64_t rows) {
  for (auto [index, id] : llvm::enumerate(ids.ints()))
    if (id < 0 || id >= rows)
      return llvm::createStringError("id " + Twine(index) + " is " + Twine(id) +
                                     ", expected 0 <= id < " + Twine(rows));
  return llvm::Error::success();
}

llvm::Expected<Tensor> interp::embedding(const ResultSpec &result,
                                         const Tensor &table,
                                         const Tensor &ids) {
  if (llvm::Error error = checkIds(ids, table.shape()[0]))
    return error;
  int64_t width = table.shape()[1];
  std::vector<double> values;
  values.reserve(elementCount(result.shape));
  for (int64_t id : ids.ints())
    llvm::append_range(values, table.floats().slice(id * width, width));
  return result.floats(std::move(values));
}

llvm::Expected<Tensor> interp::embeddingBwd(const ResultSpec &result,
                                            const Tensor &grad,
                                            const Tensor &ids) {
  if (llvm::Error error = checkIds(ids, result.shape[0]))
    return error;
  int64_t width = result.shape[1];
  std::vector<double> values(elementCount(result.shape));
  for (auto [row, id] : llvm::enumerate(ids.ints()))
    for (int64_t column = 0; column != width; ++column)
      values[id * width + column] += grad.floats()[row * width + column];
  return result.floats(std::move(values));
}
