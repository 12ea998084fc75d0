//===- AttentionReference.cpp - Attention in double precision -------------===//

#include "AttentionReference.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace hone::test;

uint32_t hone::test::philoxWord(uint64_t index, uint64_t salt,
                                const int64_t key[3]) {
  uint32_t c[4] = {uint32_t(index / 4), uint32_t(salt), uint32_t(key[1]),
                   uint32_t(key[2])};
  uint32_t k[2] = {uint32_t(key[0]), uint32_t(uint64_t(key[0]) >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * c[0], p1 = uint64_t(0xCD9E8D57) * c[2];
    uint32_t next[4] = {uint32_t(p1 >> 32) ^ c[1] ^ k[0], uint32_t(p1),
                        uint32_t(p0 >> 32) ^ c[3] ^ k[1], uint32_t(p0)};
    std::copy(next, next + 4, c);
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c[index % 4];
}

namespace {

/// All rows of all heads, one after the other.
class Definition {
public:
  Definition(AttentionCase &c, Element element) : c(c), element(element) {
    r.result.resize(c.result.count());
    r.lse.resize(c.lse.count());
    r.queryGrad.resize(c.query.count());
    r.keyGrad.resize(c.keyTensor.count());
    r.valueGrad.resize(c.value.count());
  }

  Reference compute() {
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t t = 0; t < s.queries; ++t) {
          Row row = scores(b, h, t);
          double delta = addValues(row);
          addQueryAndKeyGrads(row, delta);
        }
    for (auto *grads : {&r.queryGrad, &r.keyGrad, &r.valueGrad})
      for (double &value : *grads)
        value = round(value);
    return std::move(r);
  }

private:
  /// A query of a head, which belongs to a group. For each key, its probability
  /// times `sum`, and what dropout multiplies it by.
  struct Row {
    int64_t b, h, t, group;
    std::vector<double> p, z;
    double sum = 0;
  };

  double round(double value) const {
    return element == Element::F32 ? value : rounded(value, element);
  }
  static int64_t at(const Tensor &x, int64_t b, int64_t t, int64_t h,
                    int64_t d) {
    return ((b * x.shape[1] + t) * x.shape[2] + h) * x.shape[3] + d;
  }

  /// Probabilities, and the logarithm of their sum as a result.
  Row scores(int64_t b, int64_t h, int64_t t) {
    const double infinity = std::numeric_limits<double>::infinity();
    Row row = {b,
               h,
               t,
               h / (s.heads / s.groups),
               std::vector<double>(s.keys),
               std::vector<double>(s.keys, 1.0)};
    double largest = -infinity;
    for (int64_t u = 0; u < s.keys; ++u) {
      double &score = row.p[u];
      for (int64_t d = 0; d < s.width; ++d)
        score +=
            double(c.query.at(b, t, h, d)) * c.keyTensor.at(b, u, row.group, d);
      score *= c.scale;
      if (s.mask != Mask::None)
        score += c.mask.at(c.mask.shape[0] == 1 ? 0 : b,
                           c.mask.shape[1] == 1 ? 0 : h, t, u);
      if (s.causal && u > s.positionOf(t))
        score = -infinity;
      if (s.segments != Segments::None &&
          c.segmentOf(b, s.positionOf(t)) != c.segmentOf(b, u))
        score = -infinity;
      largest = std::max(largest, score);
      if (s.dropout > 0) {
        bool kept = philoxWord(s.numberOf(b, h, t, u), c.salt, c.key) >=
                    std::llround(s.dropout * 0x1p32);
        row.z[u] = kept ? 1.0 / (1.0 - s.dropout) : 0.0;
      }
    }
    double &lse = r.lse[(b * s.heads + h) * s.queries + t];
    if (largest == -infinity) { // sees no key
      lse = infinity;
      row.p.assign(s.keys, 0.0);
      row.sum = 1;
      return row;
    }
    for (double &score : row.p)
      row.sum += score = std::exp(score - largest);
    lse = largest + std::log(row.sum);
    return row;
  }

  /// The result and its share of the gradient of values. Returns the product of
  /// the result and its gradient.
  double addValues(const Row &row) {
    const auto &[b, h, t, g, p, z, sum] = row;
    double delta = 0;
    for (int64_t e = 0; e < s.valueWidth; ++e) {
      double value = 0, grad = c.grad.at(b, t, h, e);
      for (int64_t u = 0; u < s.keys; ++u) {
        value += round(p[u] * z[u]) * c.value.at(b, u, g, e) / sum;
        r.valueGrad[at(c.value, b, u, g, e)] += round(p[u] / sum * z[u]) * grad;
      }
      r.result[at(c.result, b, t, h, e)] = value = round(value);
      delta += grad * value;
    }
    return delta;
  }

  /// The gradients of a query and of its keys.
  void addQueryAndKeyGrads(const Row &row, double delta) {
    const auto &[b, h, t, g, p, z, sum] = row;
    for (int64_t u = 0; u < s.keys; ++u) {
      double dp = 0;
      for (int64_t e = 0; e < s.valueWidth; ++e)
        dp += double(c.grad.at(b, t, h, e)) * c.value.at(b, u, g, e);
      double ds = round(p[u] / sum * (dp * z[u] - delta)) * c.scale;
      for (int64_t d = 0; d < s.width; ++d) {
        r.queryGrad[at(c.query, b, t, h, d)] += ds * c.keyTensor.at(b, u, g, d);
        r.keyGrad[at(c.keyTensor, b, u, g, d)] += ds * c.query.at(b, t, h, d);
      }
    }
  }

  AttentionCase &c;
  const Shape &s = c.shape;
  Element element;
  Reference r;
};

} // namespace

Reference hone::test::computeReference(AttentionCase &c, Element element) {
  return Definition(c, element).compute();
}
