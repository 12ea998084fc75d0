//===- ReferenceAttention.cpp - Attention on the host ---------------------===//

#include "exec/cuda/compare/ReferenceAttention.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace honert;

using Operand = AttentionOperand;

namespace {
/// One head of an operand as f64: positions, one after the other.
struct Head {
  int64_t length, width;
  std::vector<double> values;

  Head(int64_t length, int64_t width)
      : length(length), width(width),
        values(static_cast<size_t>(length * width)) {}
  double *at(int64_t position) { return values.data() + position * width; }
  const double *at(int64_t position) const {
    return values.data() + position * width;
  }
};

/// A head that is written, and the bounds of its errors.
struct WrittenHead {
  Head value, error;

  WrittenHead(int64_t length, int64_t width)
      : value(length, width), error(length, width) {}
  /// Positions from `length` on may be anything.
  void leaveUndefined(int64_t length) {
    std::fill(error.at(length), error.at(error.length),
              std::numeric_limits<double>::infinity());
  }
  /// Adds `factor * x` to a position; the factor may be off by `off`.
  void add(int64_t position, double factor, double off, const double *x) {
    double *to = value.at(position), *bound = error.at(position);
    for (int64_t i = 0; i != value.width; ++i) {
      to[i] += factor * x[i];
      bound[i] += off * std::fabs(x[i]);
    }
  }
};

class Attention {
public:
  Attention(const AttentionLaunch &launch, char *memory, const ThreadPool &pool)
      : launch(launch), problem(launch.problem), memory(memory), pool(pool),
        unit(epsilon(problem.dtype)) {}

  std::vector<Expected> run();

private:
  int64_t offset(Operand operand) const;
  Expected &expected(Operand operand);
  Head load(Operand operand, int64_t batch, int64_t head) const;
  void store(Operand operand, int64_t batch, int64_t head,
             const WrittenHead &from);
  char *lseAt(int64_t batch, int64_t head, int64_t query) const;
  int64_t lengthOf(bool ofKeys, int64_t batch) const;
  int64_t keysOf(int64_t batch, int64_t query) const;
  std::vector<double> scoresOf(const double *query, int64_t count,
                               const Head &keys) const;
  void forward(int64_t batch, int64_t head);
  void backward(int64_t batch, int64_t keyHead);
  void addGradients(int64_t batch, int64_t head, const Head &keys,
                    const Head &values, WrittenHead &keyGrad,
                    WrittenHead &valueGrad);

  const AttentionLaunch &launch;
  const AttentionProblem &problem;
  char *memory;
  const ThreadPool &pool;
  const double unit;
  std::vector<Expected> written;
};
} // namespace

static double dot(const double *x, const double *y, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i != count; ++i)
    sum += x[i] * y[i];
  return sum;
}

/// The size of a sum's terms, which its error goes by where they cancel.
static double sizeOfTerms(const double *x, const double *y, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i != count; ++i)
    sum += std::fabs(x[i] * y[i]);
  return sum;
}

int64_t Attention::offset(Operand operand) const {
  std::vector<Operand> operands = problem.operands();
  auto at = std::find(operands.begin(), operands.end(), operand);
  return launch.offsets[static_cast<size_t>(at - operands.begin())];
}

Expected &Attention::expected(Operand operand) {
  int64_t at = offset(operand);
  return *std::find_if(
      written.begin(), written.end(),
      [&](const Expected &each) { return each.tensor.offset == at; });
}

Head Attention::load(Operand operand, int64_t batch, int64_t head) const {
  AttentionTensor tensor = problem.tensor(operand);
  Head values(tensor.dims[2], tensor.dims[3]);
  const char *from = memory + offset(operand);
  for (int64_t position = 0; position != values.length; ++position)
    for (int64_t i = 0; i != values.width; ++i) {
      int64_t place = batch * tensor.strides[0] + head * tensor.strides[1] +
                      position * tensor.strides[2] + i;
      values.at(position)[i] =
          loadElement(tensor.dtype, from + place * byteWidth(tensor.dtype));
    }
  return values;
}

void Attention::store(Operand operand, int64_t batch, int64_t head,
                      const WrittenHead &from) {
  AttentionTensor tensor = problem.tensor(operand);
  Expected &target = expected(operand);
  for (int64_t position = 0; position != from.value.length; ++position)
    for (int64_t i = 0; i != from.value.width; ++i) {
      int64_t place = batch * tensor.strides[0] + head * tensor.strides[1] +
                      position * tensor.strides[2] + i;
      storeElement(tensor.dtype,
                   memory + target.tensor.offset +
                       place * byteWidth(tensor.dtype),
                   from.value.at(position)[i]);
      target.each[static_cast<size_t>(place)] =
          static_cast<float>(from.error.at(position)[i]);
    }
}

/// Of the queries or keys of a sequence.
int64_t Attention::lengthOf(bool ofKeys, int64_t batch) const {
  if (!problem.readsLengths)
    return ofKeys ? problem.keys : problem.queries;
  int64_t place = (ofKeys ? problem.batch : 0) + batch;
  return static_cast<int64_t>(
      loadElement(DType::i32, memory + offset(Operand::lengths) + 4 * place));
}

/// How many keys a query sees: the first ones.
int64_t Attention::keysOf(int64_t batch, int64_t query) const {
  int64_t keys = lengthOf(/*ofKeys=*/true, batch);
  if (!problem.causal)
    return keys;
  int64_t first =
      problem.readsLengths ? keys - lengthOf(/*ofKeys=*/false, batch) : 0;
  return std::clamp<int64_t>(first + query + 1, 0, keys);
}

char *Attention::lseAt(int64_t batch, int64_t head, int64_t query) const {
  int64_t place = (batch * problem.queryHeads + head) * problem.queries + query;
  return memory + offset(Operand::lse) + 4 * place;
}

std::vector<double> Attention::scoresOf(const double *query, int64_t count,
                                        const Head &keys) const {
  std::vector<double> scores;
  for (int64_t key = 0; key != count; ++key)
    scores.push_back(problem.scale * dot(query, keys.at(key), keys.width));
  return scores;
}

/// Weights, and gradients of scores, are rounded once, and off by what scores
/// in f32 are: of a score of 30, some 2^-18.
static constexpr double scoreError = 0x1p-16;

void Attention::forward(int64_t batch, int64_t head) {
  int64_t keyHead = head / (problem.queryHeads / problem.keyHeads);
  Head queries = load(Operand::query, batch, head);
  Head keys = load(Operand::key, batch, keyHead);
  Head values = load(Operand::value, batch, keyHead);
  WrittenHead result(problem.queries, problem.valueWidth);
  int64_t length = lengthOf(/*ofKeys=*/false, batch);
  result.leaveUndefined(length);
  for (int64_t query = 0; query != length; ++query) {
    std::vector<double> scores =
        scoresOf(queries.at(query), keysOf(batch, query), keys);
    double most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double score : scores)
      sum += std::exp(score - most);
    double lse = most + std::log(sum);
    storeElement(DType::f32, lseAt(batch, head, query), lse);
    for (size_t key = 0; key != scores.size(); ++key) {
      double weight = std::exp(scores[key] - lse);
      result.add(query, weight, weight * (unit + scoreError),
                 values.at(static_cast<int64_t>(key)));
    }
  }
  store(Operand::result, batch, head, result);
}

/// What one query head adds to the gradients of its key head, and its own.
void Attention::addGradients(int64_t batch, int64_t head, const Head &keys,
                             const Head &values, WrittenHead &keyGrad,
                             WrittenHead &valueGrad) {
  Head queries = load(Operand::query, batch, head);
  Head result = load(Operand::result, batch, head);
  Head resultGrad = load(Operand::resultGrad, batch, head);
  WrittenHead queryGrad(problem.queries, problem.width);
  int64_t length = lengthOf(/*ofKeys=*/false, batch);
  queryGrad.leaveUndefined(length);
  for (int64_t query = 0; query != length; ++query) {
    const double *grad = resultGrad.at(query);
    double lse = loadElement(DType::f32, lseAt(batch, head, query));
    double mean = dot(grad, result.at(query), problem.valueWidth);
    double meanSize = sizeOfTerms(grad, result.at(query), problem.valueWidth);
    std::vector<double> scores =
        scoresOf(queries.at(query), keysOf(batch, query), keys);
    for (int64_t key = 0; key != static_cast<int64_t>(scores.size()); ++key) {
      double weight = std::exp(scores[static_cast<size_t>(key)] - lse);
      valueGrad.add(key, weight, weight * (unit + scoreError), grad);
      double factor = problem.scale * weight *
                      (dot(grad, values.at(key), problem.valueWidth) - mean);
      // What cancels in the difference, and in its sums, does not cancel in
      // their errors: with one key it is zero, and a kernel's is not.
      double size =
          problem.scale * weight *
          (sizeOfTerms(grad, values.at(key), problem.valueWidth) + meanSize);
      double off = std::fabs(factor) * unit + size * scoreError;
      queryGrad.add(query, factor, off, keys.at(key));
      keyGrad.add(key, factor, off, queries.at(query));
    }
  }
  store(Operand::queryGrad, batch, head, queryGrad);
}

void Attention::backward(int64_t batch, int64_t keyHead) {
  Head keys = load(Operand::key, batch, keyHead);
  Head values = load(Operand::value, batch, keyHead);
  WrittenHead keyGrad(problem.keys, problem.width);
  WrittenHead valueGrad(problem.keys, problem.valueWidth);
  for (WrittenHead *each : {&keyGrad, &valueGrad})
    each->leaveUndefined(lengthOf(/*ofKeys=*/true, batch));
  int64_t sharing = problem.queryHeads / problem.keyHeads;
  for (int64_t head = keyHead * sharing; head != (keyHead + 1) * sharing;
       ++head)
    addGradients(batch, head, keys, values, keyGrad, valueGrad);
  store(Operand::keyGrad, batch, keyHead, keyGrad);
  store(Operand::valueGrad, batch, keyHead, valueGrad);
}

std::vector<Expected> Attention::run() {
  std::vector<Operand> operands = problem.operands();
  for (size_t i = 0; i != operands.size(); ++i) {
    AttentionTensor tensor = problem.tensor(operands[i]);
    if (!tensor.isWritten)
      continue;
    Expected each{{tensor.dtype, launch.offsets[i],
                   tensor.extentBytes() / byteWidth(tensor.dtype)}};
    each.isCompared = problem.dropout == 0;
    each.units = 1;
    if (operands[i] == Operand::lse)
      each.most = scoreError, each.units = 16;
    else
      each.each = Expected::none(each.tensor.count);
    written.push_back(std::move(each));
  }
  if (problem.dropout > 0)
    return std::move(written);
  bool isBackward = problem.isBackward;
  int64_t heads = isBackward ? problem.keyHeads : problem.queryHeads;
  pool.run(problem.batch * heads, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i != hi; ++i)
      isBackward ? backward(i / heads, i % heads)
                 : forward(i / heads, i % heads);
  });
  return std::move(written);
}

std::vector<Expected> honert::referenceAttention(const AttentionLaunch &launch,
                                                 char *memory,
                                                 const ThreadPool &pool) {
  return Attention(launch, memory, pool).run();
}
