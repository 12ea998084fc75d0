//===- AttentionCase.cpp - One attention, forward and backward, for tests -===//

#include "support/AttentionCase.h"
#include "emulation/cudnn/FakeCudnn.h"
#include "train/MakeExecutor.h"

#include <cmath>

using namespace honert;
using namespace test;

using Operand = AttentionOperand;

std::ostream &test::operator<<(std::ostream &out, const AttentionCase &c) {
  return out << name(c.dtype) << " " << c.batch << "x" << c.queryHeads << ":"
             << c.keyHeads << "x" << c.queries << ":" << c.keys << "x"
             << c.width << ":" << c.valueWidth << (c.causal ? " causal" : "")
             << (c.isPacked ? " packed" : "")
             << (c.first < 0 ? "" : " from " + std::to_string(c.first))
             << (c.deterministic ? " deterministic" : "") << " dropout "
             << c.dropout;
}

double test::relativeError(const std::vector<double> &got,
                           const std::vector<double> &expected) {
  double error = 0, size = 0;
  for (size_t i = 0; i != expected.size(); ++i) {
    error += (got[i] - expected[i]) * (got[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(error / size);
}

Tensors test::randomInputs(const AttentionCase &c) {
  Tensors inputs;
  uint32_t state = 1;
  auto fill = [&](Operand operand, int64_t heads, int64_t positions,
                  int64_t width) {
    std::vector<double> &values = inputs[operand];
    for (int64_t i = 0; i != c.batch * heads * positions * width; ++i) {
      state = state * 1664525 + 1013904223;
      char rounded[8];
      storeElement(c.dtype, rounded, (state >> 8) / double(1 << 23) - 1);
      values.push_back(loadElement(c.dtype, rounded));
    }
  };
  fill(Operand::query, c.queryHeads, c.queries, c.width);
  fill(Operand::key, c.keyHeads, c.keys, c.width);
  fill(Operand::value, c.keyHeads, c.keys, c.valueWidth);
  fill(Operand::resultGrad, c.queryHeads, c.queries, c.valueWidth);
  return inputs;
}

/// Large enough that the softmax has something to tell apart.
static double scaleOf(const AttentionCase &c) {
  return 3 / std::sqrt(static_cast<double>(c.width));
}

//===----------------------------------------------------------------------===//
// In double
//===----------------------------------------------------------------------===//

PlainAttention::PlainAttention(const AttentionCase &c, const Tensors &inputs,
                               std::vector<double> kept)
    : c(c), in(inputs), kept(std::move(kept)) {}

double PlainAttention::factor(int64_t b, int64_t h, int64_t t,
                              int64_t u) const {
  if (kept.empty())
    return 1;
  auto at = ((b * c.queryHeads + h) * c.queries + t) * c.keys + u;
  return kept[static_cast<size_t>(at)] / (1 - c.dropout);
}

double PlainAttention::score(int64_t b, int64_t h, int64_t t, int64_t u) const {
  if (c.causal && u > c.firstOf(b) + t)
    return -INFINITY;
  int64_t g = h / (c.queryHeads / c.keyHeads);
  const double *q = &in.at(Operand::query)[static_cast<size_t>(
      ((b * c.queryHeads + h) * c.queries + t) * c.width)];
  const double *k = &in.at(Operand::key)[static_cast<size_t>(
      ((b * c.keyHeads + g) * c.keys + u) * c.width)];
  double sum = 0;
  for (int64_t d = 0; d != c.width; ++d)
    sum += q[d] * k[d];
  return scaleOf(c) * sum;
}

double PlainAttention::weights(int64_t b, int64_t h, int64_t t,
                               std::vector<double> &p) const {
  double max = -INFINITY, sum = 0;
  p.resize(static_cast<size_t>(c.keys));
  for (int64_t u = 0; u != c.keys; ++u) {
    p[static_cast<size_t>(u)] = score(b, h, t, u);
    max = std::fmax(max, p[static_cast<size_t>(u)]);
  }
  for (double &each : p)
    sum += each = std::exp(each - max);
  for (double &each : p)
    each /= sum;
  return max + std::log(sum);
}

Tensors PlainAttention::forward() const {
  Tensors out;
  std::vector<double> p;
  for (int64_t b = 0; b != c.batch; ++b)
    for (int64_t h = 0; h != c.queryHeads; ++h)
      for (int64_t t = 0; t != c.queries; ++t) {
        out[Operand::lse].push_back(weights(b, h, t, p));
        int64_t g = h / (c.queryHeads / c.keyHeads);
        const double *v = &in.at(Operand::value)[static_cast<size_t>(
            (b * c.keyHeads + g) * c.keys * c.valueWidth)];
        for (int64_t e = 0; e != c.valueWidth; ++e) {
          double sum = 0;
          for (int64_t u = 0; u != c.keys; ++u)
            sum += p[static_cast<size_t>(u)] * factor(b, h, t, u) *
                   v[u * c.valueWidth + e];
          out[Operand::result].push_back(sum);
        }
      }
  return out;
}

Tensors PlainAttention::backward() const {
  Tensors grads;
  std::vector<double> &dq = grads[Operand::queryGrad],
                      &dk = grads[Operand::keyGrad],
                      &dv = grads[Operand::valueGrad];
  dq.resize(in.at(Operand::query).size());
  dk.resize(in.at(Operand::key).size());
  dv.resize(in.at(Operand::value).size());
  const std::vector<double> &grad = in.at(Operand::resultGrad);
  std::vector<double> result = forward()[Operand::result], p;
  for (int64_t b = 0; b != c.batch; ++b)
    for (int64_t h = 0; h != c.queryHeads; ++h)
      for (int64_t t = 0; t != c.queries; ++t) {
        int64_t g = h / (c.queryHeads / c.keyHeads);
        int64_t row = (b * c.queryHeads + h) * c.queries + t;
        int64_t keys = (b * c.keyHeads + g) * c.keys;
        weights(b, h, t, p);
        double delta = 0;
        for (int64_t e = 0; e != c.valueWidth; ++e)
          delta += grad[static_cast<size_t>(row * c.valueWidth + e)] *
                   result[static_cast<size_t>(row * c.valueWidth + e)];
        for (int64_t u = 0; u != c.keys; ++u) {
          double z = factor(b, h, t, u), weight = p[static_cast<size_t>(u)];
          double dp = 0;
          for (int64_t e = 0; e != c.valueWidth; ++e) {
            auto from = static_cast<size_t>(row * c.valueWidth + e);
            auto to = static_cast<size_t>((keys + u) * c.valueWidth + e);
            dp += grad[from] * in.at(Operand::value)[to] * z;
            dv[to] += weight * z * grad[from];
          }
          double ds = scaleOf(c) * weight * (dp - delta);
          for (int64_t d = 0; d != c.width; ++d) {
            auto query = static_cast<size_t>(row * c.width + d);
            auto key = static_cast<size_t>((keys + u) * c.width + d);
            dq[query] += ds * in.at(Operand::key)[key];
            dk[key] += ds * in.at(Operand::query)[query];
          }
        }
      }
  return grads;
}

//===----------------------------------------------------------------------===//
// As a program
//===----------------------------------------------------------------------===//

AttentionProblem AttentionProgram::problem(bool isBackward) const {
  AttentionProblem problem;
  problem.isBackward = isBackward;
  problem.dtype = c.dtype;
  problem.batch = c.batch;
  problem.queryHeads = c.queryHeads;
  problem.keyHeads = c.keyHeads;
  problem.queries = c.queries;
  problem.keys = c.keys;
  problem.width = c.width;
  problem.valueWidth = c.valueWidth;
  problem.scale = scaleOf(c);
  problem.causal = c.causal;
  problem.readsLengths = c.first >= 0;
  problem.dropout = c.dropout;
  problem.deterministic = c.deterministic;
  for (Operand operand : problem.operands()) {
    AttentionTensor tensor = problem.tensor(operand);
    bool isPart = operand != Operand::result && operand != Operand::resultGrad;
    int64_t row = c.isPacked && isPart
                      ? (c.queryHeads + 2 * c.keyHeads) * c.width
                      : tensor.dims[1] * tensor.dims[3];
    problem.strides[static_cast<size_t>(operand)] = {tensor.dims[2] * row, row,
                                                     tensor.dims[3]};
  }
  return problem;
}

void AttentionProgram::place() {
  Layout layout;
  AttentionProblem both = problem(/*isBackward=*/true);
  for (Operand operand : both.operands())
    offsets[operand] = layout.take(both.tensor(operand).extentBytes());
  int64_t queries = c.queryHeads * c.width * byteWidth(c.dtype);
  int64_t keys = c.keyHeads * c.width * byteWidth(c.dtype);
  if (c.isPacked) {
    offsets[Operand::key] = offsets[Operand::query] + queries;
    offsets[Operand::value] = offsets[Operand::key] + keys;
    offsets[Operand::keyGrad] = offsets[Operand::queryGrad] + queries;
    offsets[Operand::valueGrad] = offsets[Operand::keyGrad] + keys;
  }
  honert_arena(program.get(), layout.bytes());
}

void AttentionProgram::describe(bool isBackward, int arch) {
  AttentionProblem what = problem(isBackward);
  std::vector<int64_t> operands;
  for (Operand operand : what.operands())
    operands.push_back(offsets[operand]);
  CudnnFunctions cudnn;
  EXPECT_TRUE(cudnn.take("cudnn", fake::findCudnn).ok());
  AttentionPlan plan(cudnn, what);
  Status built = plan.build(90);
  EXPECT_TRUE(built.ok()) << built.message();
  EXPECT_TRUE(plan.text(plans.emplace_back()).ok());
  int64_t workspace = (program->arenaBytes + attentionAlignment - 1) /
                      attentionAlignment * attentionAlignment;
  int64_t bytes = plan.workspaceBytes();
  honert_arena(program.get(), workspace + alignUp(bytes));
  honert_attention(program.get(), isBackward ? "backward" : "forward",
                   "model.py:3", what.text().c_str(),
                   static_cast<int64_t>(operands.size()), operands.data(),
                   workspace, bytes);
  if (arch != 0)
    honert_attention_plan(program.get(), arch, plans.back().data(),
                          static_cast<int64_t>(plans.back().size()));
}

AttentionProgram::AttentionProgram(const AttentionCase &c, int arch) : c(c) {
  plans.reserve(2); // the program refers to them
  honert_meta(program.get(), "target", "cuda sm_90");
  place();
  honert_function(program.get(), "step");
  describe(/*isBackward=*/false, arch);
  describe(/*isBackward=*/true, arch);
}

AttentionLaunch &AttentionProgram::launch(bool isBackward) {
  return std::get<AttentionLaunch>(
      program->functions[0].launches[isBackward].action);
}

Status AttentionProgram::start(bool deterministic) {
  executor = makeExecutor(*program, pool, deterministic);
  return executor->start();
}

/// The place in the arena of each element of a tensor, in order.
template <typename Body>
static void forEachElement(const AttentionTensor &tensor, int64_t offset,
                           Body body) {
  const auto &n = tensor.dims, &s = tensor.strides;
  for (int64_t i = 0; i != n[0] * n[1] * n[2] * n[3]; ++i)
    body(offset +
         byteWidth(tensor.dtype) * (i / (n[1] * n[2] * n[3]) * s[0] +
                                    i / (n[2] * n[3]) % n[1] * s[1] +
                                    i / n[3] % n[2] * s[2] + i % n[3] * s[3]));
}

Status AttentionProgram::run(const Tensors &inputs, int64_t seed,
                             int64_t offset) {
  AttentionProblem both = problem(/*isBackward=*/true);
  for (const auto &[operand, values] : inputs) {
    const double *next = values.data();
    forEachElement(both.tensor(operand), offsets[operand], [&](int64_t at) {
      storeElement(c.dtype, executor->arena().at(at), *next++);
    });
  }
  if (c.dropout > 0) {
    auto *key = reinterpret_cast<int64_t *>(
        executor->arena().at(offsets[Operand::seed]));
    key[0] = seed;
    key[1] = offset;
  }
  if (c.first >= 0) {
    auto *lengths = reinterpret_cast<int32_t *>(
        executor->arena().at(offsets[Operand::lengths]));
    for (int64_t b = 0; b != c.batch; ++b) {
      lengths[b] = static_cast<int32_t>(c.queries);
      lengths[c.batch + b] = static_cast<int32_t>(c.keysOf(b));
    }
  }
  HONERT_TRY(executor->publish(0, program->arenaBytes));
  HONERT_TRY(executor->run(program->functions[0]));
  HONERT_TRY(executor->wait());
  return executor->fetch(0, program->arenaBytes);
}

std::vector<double> AttentionProgram::read(Operand operand) {
  std::vector<double> values;
  AttentionTensor tensor = problem(/*isBackward=*/true).tensor(operand);
  forEachElement(tensor, offsets[operand], [&](int64_t at) {
    values.push_back(loadElement(tensor.dtype, executor->arena().at(at)));
  });
  return values;
}
