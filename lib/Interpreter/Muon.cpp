//===- Muon.cpp - Updates by orthogonalized momentum ----------------------===//

#include "hone/IR/Hone.h"
#include "hone/Interpreter/Ops.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

namespace {
/// A matrix by rows.
struct Matrix {
  int64_t rows, columns;
  std::vector<double> values;

  double &at(int64_t row, int64_t column) {
    return values[row * columns + column];
  }
  double at(int64_t row, int64_t column) const {
    return values[row * columns + column];
  }
  Matrix transposed() const {
    Matrix result{columns, rows, std::vector<double>(values.size())};
    for (int64_t row = 0; row != rows; ++row)
      for (int64_t column = 0; column != columns; ++column)
        result.at(column, row) = at(row, column);
    return result;
  }
  Matrix operator*(const Matrix &other) const {
    Matrix result{rows, other.columns,
                  std::vector<double>(rows * other.columns)};
    for (int64_t row = 0; row != rows; ++row)
      for (int64_t inner = 0; inner != columns; ++inner)
        for (int64_t column = 0; column != other.columns; ++column)
          result.at(row, column) += at(row, inner) * other.at(inner, column);
    return result;
  }
  /// x * this + y * other.
  Matrix blend(double x, double y, const Matrix &other) const {
    Matrix result = *this;
    for (auto [value, more] : llvm::zip_equal(result.values, other.values))
      value = x * value + y * more;
    return result;
  }
};

/// Rounds to bf16, unless the mode keeps doubles.
struct Rounding {
  Mode mode;

  double operator()(double value) const {
    return roundTo(Element::BF16, value, mode);
  }
  Matrix operator()(Matrix matrix) const {
    for (double &value : matrix.values)
      value = (*this)(value);
    return matrix;
  }
};
} // namespace

/// The iteration on a matrix that has no more rows than columns.
static Matrix orthogonalize(Matrix x, double eps, Rounding round) {
  auto [first, third, fifth] =
      std::tuple(MuonOp::coefficients[0], MuonOp::coefficients[1],
                 MuonOp::coefficients[2]);
  x = round(std::move(x));
  double squares = 0;
  for (double value : x.values)
    squares += value * value;
  double norm = std::max(round(std::sqrt(squares)), round(eps));
  for (double &value : x.values)
    value /= norm;
  x = round(std::move(x));
  for (int step = 0; step != MuonOp::iterations; ++step) {
    Matrix gram = round(x * x.transposed());
    Matrix factor = round(gram.blend(third, fifth, gram * gram));
    x = round(x.blend(first, 1.0, factor * x));
  }
  return x;
}

Tensors interp::muon(ArrayRef<ResultSpec> results, const Tensor &param,
                     const Tensor &grad, const Tensor &buffer,
                     const MuonOptions &options) {
  double gradScale = options.maximize ? -options.gradScale : options.gradScale;
  std::vector<double> p(param.floats()), m(buffer.floats());
  Matrix update{param.shape()[0], param.shape()[1], {}};
  for (auto [average, gradient] : llvm::zip_equal(m, grad.floats())) {
    double seen = gradScale * gradient;
    average += (1 - options.momentum) * (seen - average);
    update.values.push_back(options.nesterov
                                ? seen + options.momentum * (average - seen)
                                : average);
  }
  Rounding round{results[0].mode};
  bool isTall = update.rows > update.columns;
  Matrix move = orthogonalize(isTall ? update.transposed() : std::move(update),
                              options.eps, round);
  if (isTall)
    move = move.transposed();
  double rate = options.lr * options.lrScale;
  double decay = 1 - rate * options.weightDecay * options.decayScale;
  for (auto [value, step] : llvm::zip_equal(p, move.values))
    value = value * decay - rate * options.shapeScale * step;
  return {results[0].floats(std::move(p)), results[1].floats(std::move(m))};
}
