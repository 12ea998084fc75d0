//===- Attention.cpp - Scaled dot-product attention -----------------------===//

#include "MergeAttention.h"

#include <array>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

namespace {
/// Sizes and element positions; names as in the op's description.
struct AttentionView {
  explicit AttentionView(const AttentionInputs &in)
      : in(in), B(in.query.shape()[0]), T(in.query.shape()[1]),
        H(in.query.shape()[2]), D(in.query.shape()[3]), S(in.key.shape()[1]),
        G(in.key.shape()[2]), E(in.value.shape()[3]) {}

  // Positions of the first element of a row.
  int64_t queryRow(int64_t b, int64_t t, int64_t h) const {
    return ((b * T + t) * H + h) * D;
  }
  int64_t outputRow(int64_t b, int64_t t, int64_t h) const {
    return ((b * T + t) * H + h) * E;
  }
  int64_t keyRow(int64_t b, int64_t u, int64_t h) const {
    return ((b * S + u) * G + h / (H / G)) * D;
  }
  int64_t valueRow(int64_t b, int64_t u, int64_t h) const {
    return ((b * S + u) * G + h / (H / G)) * E;
  }
  int64_t lseAt(int64_t b, int64_t h, int64_t t) const {
    return (b * H + h) * T + t;
  }

  /// Where query `t` stands among the keys.
  int64_t positionOf(int64_t t) const {
    int64_t length = T / int64_t(in.first.size());
    return in.first[t / length] + t % length;
  }

  /// s[t, u] of batch `b` and head `h`.
  double score(int64_t b, int64_t h, int64_t t, int64_t u) const {
    if (in.causal && u > positionOf(t))
      return -std::numeric_limits<double>::infinity();
    if (in.segments && in.segments->ints()[b * S + positionOf(t)] !=
                           in.segments->ints()[b * S + u])
      return -std::numeric_limits<double>::infinity();
    ArrayRef<double> q = in.query.floats().slice(queryRow(b, t, h), D);
    ArrayRef<double> k = in.key.floats().slice(keyRow(b, u, h), D);
    double sum = 0;
    for (int64_t d = 0; d != D; ++d)
      sum += q[d] * k[d];
    sum *= in.scale;
    if (in.mask) {
      ArrayRef<int64_t> shape = in.mask->shape();
      int64_t batch = shape[0] == 1 ? 0 : b, head = shape[1] == 1 ? 0 : h;
      sum += in.mask->floats()[((batch * shape[1] + head) * T + t) * S + u];
    }
    return sum;
  }

  /// The dropout factors of row (b, h, t): 0 or 1 / (1 - p).
  std::vector<double> factors(int64_t b, int64_t h, int64_t t) const {
    std::vector<double> row(S, 1);
    if (!in.rng)
      return row;
    PhiloxStream stream(in.rng->ints(), in.salt, in.place);
    double threshold = std::nearbyint(in.dropout * 0x1p32);
    int64_t rows = in.place.part.empty() ? T : in.place.part[2];
    int64_t element = ((b * H + h) * rows + positionOf(t)) * S;
    for (int64_t u = 0; u != S; ++u)
      row[u] = stream.word(element + u) >= threshold ? 1 / (1 - in.dropout) : 0;
    return row;
  }

  /// Calls `body(b, h, t)` for every row of scores.
  template <typename Body> void forEachRow(Body body) const {
    for (int64_t b = 0; b != B; ++b)
      for (int64_t h = 0; h != H; ++h)
        for (int64_t t = 0; t != T; ++t)
          body(b, h, t);
  }

  const AttentionInputs &in;
  int64_t B, T, H, D, S, G, E;
};
} // namespace

Tensors interp::attention(ArrayRef<ResultSpec> results,
                          const AttentionInputs &inputs) {
  AttentionView view(inputs);
  std::vector<double> output(elementCount(results[0].shape));
  std::vector<double> lses(view.B * view.H * view.T);
  std::vector<double> p(view.S);
  view.forEachRow([&](int64_t b, int64_t h, int64_t t) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double top = -infinity, sum = 0;
    for (int64_t u = 0; u != view.S; ++u) {
      p[u] = view.score(b, h, t, u);
      top = maximum(top, p[u]);
    }
    lses[view.lseAt(b, h, t)] = infinity;
    if (top == -infinity)
      return;
    for (double &value : p)
      sum += value = std::exp(value - top);
    if (top != infinity)
      lses[view.lseAt(b, h, t)] = top + std::log(sum);
    std::vector<double> factors = view.factors(b, h, t);
    double *out = output.data() + view.outputRow(b, t, h);
    for (int64_t u = 0; u != view.S; ++u) {
      ArrayRef<double> v =
          inputs.value.floats().slice(view.valueRow(b, u, h), view.E);
      double weight = p[u] / sum * factors[u];
      for (int64_t e = 0; e != view.E; ++e)
        out[e] += weight * v[e];
    }
  });
  Tensors made = {results[0].floats(std::move(output))};
  if (results.size() > 1)
    made.push_back(results[1].floats(std::move(lses)));
  return made;
}

Tensors interp::mergeAttention(ArrayRef<ResultSpec> results,
                               const AttentionPart &part,
                               const AttentionPart &other) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  ArrayRef<int64_t> shape = part.result.shape();
  int64_t T = shape[1], H = shape[2], E = shape[3];
  std::vector<double> merged(part.result.size()), lses(part.lse.size());
  for (size_t at = 0; at != lses.size(); ++at) {
    std::array<double, 2> own = {part.lse.floats()[at], other.lse.floats()[at]};
    double top = -infinity, sum = 0;
    for (double &lse : own) {
      lse = std::isinf(lse) ? -infinity : lse;
      top = maximum(top, lse);
    }
    for (double &lse : own)
      sum += lse = top == -infinity ? 0 : std::exp(lse - top);
    lses[at] = sum == 0 ? infinity : top + std::log(sum);
    int64_t row = int64_t(at) % T, head = int64_t(at) / T % H,
            batch = int64_t(at) / (T * H);
    for (int64_t e = 0; e != E; ++e) {
      int64_t place = ((batch * T + row) * H + head) * E + e;
      merged[place] = (own[0] * part.result.floats()[place] +
                       own[1] * other.result.floats()[place]) /
                      (sum == 0 ? 1 : sum);
    }
  }
  return {results[0].floats(std::move(merged)),
          results[1].floats(std::move(lses))};
}

Tensors interp::attentionBwd(ArrayRef<ResultSpec> results, const Tensor &grad,
                             const AttentionInputs &inputs,
                             const Tensor &output, const Tensor &lse) {
  AttentionView view(inputs);
  std::vector<double> dq(inputs.query.size()), dk(inputs.key.size()),
      dv(inputs.value.size());
  view.forEachRow([&](int64_t b, int64_t h, int64_t t) {
    ArrayRef<double> g = grad.floats().slice(view.outputRow(b, t, h), view.E);
    ArrayRef<double> o = output.floats().slice(view.outputRow(b, t, h), view.E);
    ArrayRef<double> q =
        inputs.query.floats().slice(view.queryRow(b, t, h), view.D);
    double *dqRow = dq.data() + view.queryRow(b, t, h);
    double delta = 0;
    for (int64_t e = 0; e != view.E; ++e)
      delta += g[e] * o[e];
    std::vector<double> factors = view.factors(b, h, t);
    for (int64_t u = 0; u != view.S; ++u) {
      double p =
          std::exp(view.score(b, h, t, u) - lse.floats()[view.lseAt(b, h, t)]);
      ArrayRef<double> v =
          inputs.value.floats().slice(view.valueRow(b, u, h), view.E);
      ArrayRef<double> k =
          inputs.key.floats().slice(view.keyRow(b, u, h), view.D);
      double *dvRow = dv.data() + view.valueRow(b, u, h);
      double *dkRow = dk.data() + view.keyRow(b, u, h);
      double dp = 0;
      for (int64_t e = 0; e != view.E; ++e) {
        dp += g[e] * v[e] * factors[u];
        dvRow[e] += p * factors[u] * g[e];
      }
      double ds = p * (dp - delta);
      for (int64_t d = 0; d != view.D; ++d) {
        dqRow[d] += inputs.scale * ds * k[d];
        dkRow[d] += inputs.scale * ds * q[d];
      }
    }
  });
  return {results[0].floats(std::move(dq)), results[1].floats(std::move(dk)),
          results[2].floats(std::move(dv))};
}
