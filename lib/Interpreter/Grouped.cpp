//===- Grouped.cpp - Products of groups of rows ---------------------------===//

#include "hone/Interpreter/Ops.h"

using namespace mlir;
using namespace hone;
using namespace hone::interp;

/// The group of each row: the first that ends behind it, or as many as there
/// are groups.
static std::vector<int64_t> groupsOf(const Tensor &ends, int64_t rows) {
  std::vector<int64_t> groups(rows);
  for (int64_t row = 0; row != rows; ++row)
    while (groups[row] != ends.size() && ends.ints()[groups[row]] <= row)
      ++groups[row];
  return groups;
}

Tensor interp::groupedDot(const ResultSpec &result, const Tensor &input,
                          const Tensor &weight, const Tensor &ends,
                          int64_t contract) {
  int64_t rows = input.shape()[0], width = input.shape()[1];
  int64_t made = result.shape[1], count = ends.size();
  int64_t alongWidth = contract == 1 ? made : 1;
  int64_t alongMade = contract == 1 ? 1 : width;
  std::vector<int64_t> groups = groupsOf(ends, rows);
  std::vector<double> values(elementCount(result.shape));
  for (int64_t row = 0; row != rows; ++row)
    for (int64_t f = 0; f != made && groups[row] != count; ++f)
      for (int64_t h = 0; h != width; ++h)
        values[row * made + f] +=
            input.floats()[row * width + h] *
            weight.floats()[groups[row] * width * made + h * alongWidth +
                            f * alongMade];
  return result.floats(std::move(values));
}

Tensor interp::groupedDotBwdWeight(const ResultSpec &result, const Tensor &lhs,
                                   const Tensor &rhs, const Tensor &ends) {
  int64_t rows = lhs.shape()[0], a = lhs.shape()[1], b = rhs.shape()[1];
  std::vector<int64_t> groups = groupsOf(ends, rows);
  std::vector<double> values(elementCount(result.shape));
  for (int64_t row = 0; row != rows; ++row)
    for (int64_t i = 0; i != a && groups[row] != ends.size(); ++i)
      for (int64_t j = 0; j != b; ++j)
        values[(groups[row] * a + i) * b + j] +=
            lhs.floats()[row * a + i] * rhs.floats()[row * b + j];
  return result.floats(std::move(values));
}
