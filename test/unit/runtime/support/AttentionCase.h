//===- AttentionCase.h - One attention, forward and backward, for tests ---===//

#ifndef TEST_UNIT_RUNTIME_ATTENTIONCASE_H
#define TEST_UNIT_RUNTIME_ATTENTIONCASE_H

#include "base/Parallel.h"
#include "exec/Executor.h"
#include "exec/cuda/attention/Plan.h"
#include "support/CudaFixture.h"

#include <map>
#include <ostream>

namespace test {

struct AttentionCase {
  int64_t batch, queryHeads, keyHeads, queries, keys, width, valueWidth;
  bool causal = false;
  honert::DType dtype = honert::DType::bf16;
  double dropout = 0;
  bool deterministic = false;
  /// Queries, keys and values side by side at each position, as a projection
  /// of all three leaves them; their gradients too.
  bool isPacked = false;
  /// Of a causal one: query t of batch b is at key `first` + b + t; -1: at t.
  int64_t first = -1;

  int64_t firstOf(int64_t b) const { return first < 0 ? 0 : first + b; }
  /// Keys of a batch that its last query sees at most.
  int64_t keysOf(int64_t b) const {
    return first < 0 ? keys : firstOf(b) + queries;
  }
};

std::ostream &operator<<(std::ostream &out, const AttentionCase &c);

/// Elements by operand, [batch, head, position, width] in order.
using Tensors = std::map<honert::AttentionOperand, std::vector<double>>;

/// hone.attention and hone.attention_bwd by their formulas, in double. `kept`
/// has 1 or 0 for each [batch, head, query, key]; without it nothing drops out.
class PlainAttention {
public:
  PlainAttention(const AttentionCase &c, const Tensors &inputs,
                 std::vector<double> kept = {});

  /// result and lse.
  Tensors forward() const;
  /// query_grad, key_grad and value_grad.
  Tensors backward() const;

private:
  double score(int64_t b, int64_t h, int64_t t, int64_t u) const;
  /// The softmax of a row of scores; returns its log-sum-exp.
  double weights(int64_t b, int64_t h, int64_t t, std::vector<double> &p) const;
  double factor(int64_t b, int64_t h, int64_t t, int64_t u) const;

  const AttentionCase &c;
  Tensors in;
  std::vector<double> kept;
};

/// The same as a program for a GPU: a forward launch, then a backward one.
class AttentionProgram {
public:
  /// `arch` is that of the plans in the program; 0: it has none.
  explicit AttentionProgram(const AttentionCase &c, int arch = 90);

  honert_program *get() { return program.get(); }
  honert::AttentionLaunch &launch(bool isBackward);

  /// Starts on the fake GPU; `deterministic`: as --deterministic does.
  honert::Status start(bool deterministic = false);
  /// Runs once on `inputs` (query, key, value and result_grad) and, with
  /// dropout, on the key {seed, offset}.
  honert::Status run(const Tensors &inputs, int64_t seed = 1,
                     int64_t offset = 0);
  std::vector<double> read(honert::AttentionOperand operand);

private:
  honert::AttentionProblem problem(bool isBackward) const;
  void place();
  void describe(bool isBackward, int arch);

  AttentionCase c;
  ProgramPtr program = makeProgram();
  std::map<honert::AttentionOperand, int64_t> offsets;
  std::vector<std::string> plans;
  honert::ThreadPool pool{1};
  std::unique_ptr<honert::Executor> executor;
};

/// Inputs of `c`, rounded to its type.
Tensors randomInputs(const AttentionCase &c);

/// sqrt(sum (got - expected)^2 / sum expected^2)
double relativeError(const std::vector<double> &got,
                     const std::vector<double> &expected);

} // namespace test

#endif // TEST_UNIT_RUNTIME_ATTENTIONCASE_H
