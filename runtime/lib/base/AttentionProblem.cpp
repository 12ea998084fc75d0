//===- AttentionProblem.cpp - What a call of fused attention computes -----===//

#include "base/AttentionProblem.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

using namespace honert;

using Operand = AttentionOperand;

/// Whether the line gives strides of it.
static bool hasStrides(Operand operand) {
  return operand != Operand::lse && operand != Operand::seed &&
         operand != Operand::lengths;
}

static const char *nameOf(Operand operand) {
  static const char *const names[] = {
      "query",      "key",      "value",      "result", "lse",    "result_grad",
      "query_grad", "key_grad", "value_grad", "seed",   "lengths"};
  return names[static_cast<int>(operand)];
}

std::vector<Operand> AttentionProblem::operands() const {
  std::vector<Operand> operands = {Operand::query, Operand::key, Operand::value,
                                   Operand::result, Operand::lse};
  if (isBackward)
    operands.insert(operands.end(), {Operand::resultGrad, Operand::queryGrad,
                                     Operand::keyGrad, Operand::valueGrad});
  if (dropout > 0)
    operands.push_back(Operand::seed);
  if (readsLengths)
    operands.push_back(Operand::lengths);
  return operands;
}

AttentionTensor AttentionProblem::tensor(Operand operand) const {
  AttentionTensor tensor = {nameOf(operand), dtype, {}, {}, false};
  if (operand == Operand::seed)
    return {nameOf(operand), DType::i64, {1, 1, 1, 2}, {2, 2, 2, 1}, false};
  if (operand == Operand::lengths)
    return {nameOf(operand),
            DType::i32,
            {1, 1, 2, batch},
            {2 * batch, 2 * batch, batch, 1},
            false};
  if (operand == Operand::lse)
    return {nameOf(operand),
            DType::f32,
            {batch, queryHeads, queries, 1},
            {queryHeads * queries, queries, 1, 1},
            !isBackward};
  bool isOfKeys = operand == Operand::key || operand == Operand::value ||
                  operand == Operand::keyGrad || operand == Operand::valueGrad;
  bool isOfValues = operand == Operand::value || operand == Operand::result ||
                    operand == Operand::resultGrad ||
                    operand == Operand::valueGrad;
  const Strides &each = strides[static_cast<size_t>(operand)];
  tensor.dims = {batch, isOfKeys ? keyHeads : queryHeads,
                 isOfKeys ? keys : queries, isOfValues ? valueWidth : width};
  tensor.strides = {each.batch, each.head, each.position, 1};
  tensor.isWritten =
      isBackward ? operand >= Operand::queryGrad : operand == Operand::result;
  return tensor;
}

int64_t AttentionTensor::extentBytes() const {
  int64_t last = 0, step = 0;
  for (size_t i = 0; i != dims.size(); ++i)
    if (__builtin_mul_overflow(strides[i], dims[i] - 1, &step) ||
        __builtin_add_overflow(last, step, &last))
      return -1;
  int64_t elementBytes = byteWidth(dtype);
  return last > INT64_MAX / elementBytes - 1 ? -1 : (last + 1) * elementBytes;
}

/// No element lies on another: from the smallest stride on, each is past what
/// the dimensions before it cover.
static bool liesApart(const AttentionTensor &tensor) {
  std::array<size_t, 4> order = {0, 1, 2, 3};
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tensor.strides[a] < tensor.strides[b];
  });
  int64_t covered = 1;
  for (size_t i : order) {
    if (tensor.dims[i] == 1)
      continue;
    if (tensor.strides[i] < covered)
      return false;
    covered = tensor.strides[i] * (tensor.dims[i] - 1) + covered;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
/// Reads the words of a line in order; the first that is wrong is the error.
class Words {
public:
  explicit Words(const std::string &line) : line(line) {}

  std::string next() {
    size_t end = std::min(line.find(' ', at), line.size());
    std::string word = at < line.size() ? line.substr(at, end - at) : "";
    at = end + 1;
    return word;
  }
  bool isAtEnd() const { return at >= line.size(); }

  /// One of some words: its number.
  size_t choice(const std::vector<std::string> &words) {
    std::string word = next();
    for (size_t i = 0; i != words.size(); ++i)
      if (word == words[i])
        return i;
    std::string expected = "'" + words[0] + "'";
    for (size_t i = 1; i != words.size(); ++i)
      expected += (i + 1 == words.size() ? " or '" : ", '") + words[i] + "'";
    blame(word, expected);
    return 0;
  }
  void key(const char *expected) {
    std::string word = next();
    if (word != expected)
      blame(word, format("'%s'", expected));
  }
  int64_t size() { return integer(next(), 1, INT32_MAX); }
  double real() {
    std::string word = next();
    char *end = nullptr;
    double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end || !std::isfinite(value))
      blame(word, "a finite number");
    return value;
  }
  AttentionProblem::Strides strides() {
    std::string word = next();
    size_t first = word.find(','), second = word.find(',', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      blame(word, "three strides");
      return {};
    }
    auto read = [&](size_t begin, size_t end) {
      return integer(word.substr(begin, end - begin), 0, int64_t(1) << 40);
    };
    return {read(0, first), read(first + 1, second),
            read(second + 1, word.size())};
  }
  void blame(const std::string &seen, const std::string &expected) {
    if (error.ok())
      error = Status::error(format("attention problem: got '%s', expected %s",
                                   seen.c_str(), expected.c_str()));
  }

  Status error;

private:
  int64_t integer(const std::string &word, int64_t least, int64_t most) {
    char *end = nullptr;
    errno = 0;
    int64_t value = std::strtoll(word.c_str(), &end, 10);
    if (word.empty() || *end || errno != 0 || value < least || value > most)
      blame(word, format("a whole number from %lld to %lld",
                         static_cast<long long>(least),
                         static_cast<long long>(most)));
    return value;
  }

  const std::string &line;
  size_t at = 0;
};
} // namespace

static DType readType(Words &words) {
  std::string word = words.next();
  for (DType dtype : {DType::bf16, DType::f16, DType::f32})
    if (word == name(dtype))
      return dtype;
  words.blame(word, "'bf16', 'f16' or 'f32'");
  return DType::bf16;
}

Status AttentionProblem::parse(const std::string &line,
                               AttentionProblem &problem) {
  Words words(line);
  problem = AttentionProblem();
  problem.isBackward = words.choice({"forward", "backward"}) == 1;
  problem.dtype = readType(words);
  auto size = [&](const char *key, int64_t &value) {
    words.key(key);
    value = words.size();
  };
  size("batch", problem.batch);
  size("heads", problem.queryHeads);
  problem.keyHeads = words.size();
  size("positions", problem.queries);
  problem.keys = words.size();
  size("width", problem.width);
  problem.valueWidth = words.size();
  words.key("scale");
  problem.scale = words.real();
  words.key("causal");
  size_t causal = words.choice({"0", "1", "lengths"});
  problem.causal = causal > 0;
  problem.readsLengths = causal > 1;
  words.key("dropout");
  problem.dropout = words.real();
  words.key("deterministic");
  problem.deterministic = words.choice({"0", "1"}) == 1;
  for (Operand operand : problem.operands())
    if (hasStrides(operand)) {
      words.key(nameOf(operand));
      problem.strides[static_cast<size_t>(operand)] = words.strides();
    }
  if (!words.isAtEnd())
    words.blame(words.next(), "the end of the line");
  HONERT_TRY(words.error);
  if (problem.queryHeads % problem.keyHeads != 0)
    words.blame(std::to_string(problem.keyHeads),
                "a number of key heads that divides that of query heads");
  if (!(problem.dropout >= 0 && problem.dropout < 1))
    words.blame(format("dropout %g", problem.dropout), "0 <= dropout < 1");
  HONERT_TRY(words.error);
  for (Operand operand : problem.operands())
    if (AttentionTensor tensor = problem.tensor(operand);
        tensor.isWritten && !liesApart(tensor))
      words.blame(tensor.name, "a result whose elements lie apart");
  return words.error;
}

std::string AttentionProblem::text() const {
  auto number = [](int64_t value) { return std::to_string(value); };
  std::string line = isBackward ? "backward " : "forward ";
  line += name(dtype);
  line += " batch " + number(batch) + " heads " + number(queryHeads) + " " +
          number(keyHeads) + " positions " + number(queries) + " " +
          number(keys) + " width " + number(width) + " " + number(valueWidth);
  line += format(" scale %.17g causal %s dropout %.17g deterministic %d", scale,
                 readsLengths ? "lengths"
                 : causal     ? "1"
                              : "0",
                 dropout, deterministic);
  for (Operand operand : operands())
    if (hasStrides(operand)) {
      const Strides &each = strides[static_cast<size_t>(operand)];
      line += std::string(" ") + nameOf(operand) + " " + number(each.batch) +
              "," + number(each.position) + "," + number(each.head);
    }
  return line;
}
