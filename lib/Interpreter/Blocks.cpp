//===- Blocks.cpp - Ops on blocks of rows of experts ----------------------===//

#include "hone/Interpreter/Ops.h"

using namespace mlir;
using namespace hone;
using namespace hone::interp;

//===----------------------------------------------------------------------===//
// Rows by index
//===----------------------------------------------------------------------===//

/// Calls `body(row of ids, row of the table)`, rows counted over all blocks, in
/// increasing order of the former. Fails at an id outside of its table.
static llvm::Error forEachRow(const Tensor &ids, Dims table,
                              llvm::function_ref<void(int64_t, int64_t)> body) {
  Dims picked = ids.shape();
  bool isOfGroup = table.size() == 4;
  int64_t tables = table[table.size() - 3] / picked[1]; // of a block
  int64_t size = tables * table[table.size() - 2];
  for (auto [row, id] : llvm::enumerate(ids.ints())) {
    int64_t block = int64_t(row) / picked[2]; // of all groups
    if (id < 0 || id >= size)
      return llvm::createStringError("id " + Twine(row) + " is " + Twine(id) +
                                     ", expected 0 <= id < " + Twine(size));
    body(row, (isOfGroup ? block : block % picked[1]) * size + id);
  }
  return llvm::Error::success();
}

llvm::Expected<Tensor> interp::blockEmbedding(const ResultSpec &result,
                                              const Tensor &table,
                                              const Tensor &ids) {
  int64_t width = table.shape().back();
  std::vector<double> values(elementCount(result.shape));
  auto pick = [&](int64_t row, int64_t from) {
    llvm::copy(table.floats().slice(from * width, width),
               values.begin() + row * width);
  };
  if (llvm::Error error = forEachRow(ids, table.shape(), pick))
    return error;
  return result.floats(std::move(values));
}

llvm::Expected<Tensor> interp::blockEmbeddingBwd(const ResultSpec &result,
                                                 const Tensor &grad,
                                                 const Tensor &ids) {
  int64_t width = result.shape.back();
  std::vector<double> values(elementCount(result.shape));
  auto add = [&](int64_t row, int64_t to) {
    for (int64_t column = 0; column != width; ++column)
      values[to * width + column] += grad.floats()[row * width + column];
  };
  if (llvm::Error error = forEachRow(ids, result.shape, add))
    return error;
  return result.floats(std::move(values));
}

//===----------------------------------------------------------------------===//
// Rows in another order, blocks on another rank
//===----------------------------------------------------------------------===//

/// Fails at an id that is neither -1 nor of a row, and, of a `total` op, at -1.
llvm::Expected<Tensor> interp::blockPermute(const ResultSpec &result,
                                            const Tensor &rows,
                                            const Tensor &ids, int64_t perRow,
                                            bool isTotal) {
  int64_t width = rows.shape()[3], size = rows.shape()[2] * perRow;
  std::vector<double> values(elementCount(result.shape));
  for (auto [row, id] : llvm::enumerate(ids.ints())) {
    if (id < (isTotal ? 0 : -1) || id >= size)
      return llvm::createStringError("id " + Twine(row) + " is " + Twine(id) +
                                     ", expected " + (isTotal ? "0" : "-1") +
                                     " <= id < " + Twine(size));
    if (id < 0)
      continue;
    int64_t block = int64_t(row) / ids.shape()[2];
    int64_t from = block * rows.shape()[2] + id / perRow;
    llvm::copy(rows.floats().slice(from * width, width),
               values.begin() + row * width);
  }
  return result.floats(std::move(values));
}

/// Where each row of the side of experts is on the side of tokens.
static int64_t rowOfTokens(Dims tokens, Dims experts, int64_t row) {
  int64_t rows = tokens[2] / experts[0]; // of a source for a group
  int64_t sources = tokens[1] / experts[1];
  int64_t within = row % rows, source = row / rows % sources;
  int64_t block = row / experts[2] % experts[1];
  int64_t group = row / experts[2] / experts[1];
  return (block * sources + source) * tokens[2] + group * rows + within;
}

Tensor interp::blockExchange(const ResultSpec &result, const Tensor &operand,
                             bool isReverse) {
  Dims tokens = isReverse ? Dims(result.shape) : operand.shape();
  Dims experts = isReverse ? operand.shape() : Dims(result.shape);
  int64_t width = 1;
  for (int64_t size : tokens.drop_front(3))
    width *= size;
  auto move = [&](auto from) {
    std::vector<std::decay_t<decltype(from[0])>> values(from.size());
    for (int64_t row = 0; row != experts[0] * experts[1] * experts[2]; ++row) {
      int64_t other = rowOfTokens(tokens, experts, row);
      llvm::copy(from.slice((isReverse ? row : other) * width, width),
                 values.begin() + (isReverse ? other : row) * width);
    }
    return values;
  };
  return operand.isFloat() ? result.floats(move(operand.floats()))
                           : result.ints(move(operand.ints()));
}

//===----------------------------------------------------------------------===//
// Products of groups of rows
//===----------------------------------------------------------------------===//

/// Calls `body(row, expert)` for the rows of `rows` [G, N, R, _] that an expert
/// has, in increasing order of the row among all.
static void forEachExpert(Dims rows, const Tensor &ends,
                          llvm::function_ref<void(int64_t, int64_t)> body) {
  int64_t experts = ends.shape()[2];
  for (int64_t block = 0; block != rows[0] * rows[1]; ++block) {
    int64_t expert = 0;
    for (int64_t row = 0; row != rows[2]; ++row) {
      while (expert != experts && ends.ints()[block * experts + expert] <= row)
        ++expert;
      if (expert != experts)
        body(block * rows[2] + row, block / rows[1] * experts + expert);
    }
  }
}

Tensor interp::blockGroupedDot(const ResultSpec &result, const Tensor &input,
                               const Tensor &weight, const Tensor &ends,
                               int64_t contract) {
  int64_t width = input.shape()[3], made = result.shape[3];
  int64_t alongWidth = contract == 1 ? made : 1;
  int64_t alongMade = contract == 1 ? 1 : width;
  std::vector<double> values(elementCount(result.shape));
  forEachExpert(input.shape(), ends, [&](int64_t row, int64_t expert) {
    for (int64_t f = 0; f != made; ++f)
      for (int64_t h = 0; h != width; ++h)
        values[row * made + f] +=
            input.floats()[row * width + h] *
            weight.floats()[expert * width * made + h * alongWidth +
                            f * alongMade];
  });
  return result.floats(std::move(values));
}

Tensor interp::blockGroupedDotBwdWeight(const ResultSpec &result,
                                        const Tensor &lhs, const Tensor &rhs,
                                        const Tensor &ends) {
  int64_t a = lhs.shape()[3], b = rhs.shape()[3];
  std::vector<double> values(elementCount(result.shape));
  forEachExpert(lhs.shape(), ends, [&](int64_t row, int64_t expert) {
    for (int64_t i = 0; i != a; ++i)
      for (int64_t j = 0; j != b; ++j)
        values[(expert * a + i) * b + j] +=
            lhs.floats()[row * a + i] * rhs.floats()[row * b + j];
  });
  return result.floats(std::move(values));
}
