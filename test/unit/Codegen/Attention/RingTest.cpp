//===- RingTest.cpp - Attention in a ring, by the kernels -----------------===//
//
// What dist-lower-rings makes of a bf16 attention, on the kernels that compute
// it, against the kernel that has all keys.
//
//===----------------------------------------------------------------------===//

#include "AttentionCase.h"
#include "AttentionReference.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace hone::test;

namespace {

constexpr int64_t ranks = 4, run = 32, positions = 2 * ranks * run, heads = 4,
                  groups = 2, width = 64;

Shape shapeOf(int64_t queries, bool isCausal, bool keepsSums) {
  Shape shape = {1,          queries, queries,      heads,
                 groups,     width,   width,        isCausal,
                 Mask::None, 0.0,     Layout::Rows, Element::BF16};
  shape.keepsSums = keepsSums;
  return shape;
}

/// Copies run number `from` of `source` to run number `to`.
void copyRun(Tensor &source, int64_t from, Tensor &result, int64_t to) {
  for (int64_t t = 0; t < run; ++t)
    for (int64_t h = 0; h < source.shape[2]; ++h)
      for (int64_t d = 0; d < width; ++d)
        result.at(0, to * run + t, h, d) = source.at(0, from * run + t, h, d);
}

/// Results and log-sum-exps of a run of queries over the keys so far.
class Merged {
public:
  /// `rounds`: parts are rounded to bf16 first, as libraries of GPUs do.
  explicit Merged(bool rounds)
      : rounds(rounds), results(run * heads * width),
        lses(run * heads, -infinity) {}

  /// Merges what run number `from` of a kernel's results has.
  void add(AttentionCase &part, int64_t from) {
    for (int64_t t = 0; t < run; ++t)
      for (int64_t h = 0; h < heads; ++h) {
        float &lse = lses[t * heads + h];
        float other = part.lse.at(0, h, from * run + t, 0);
        float top = std::max(lse, other);
        float own = std::exp(lse - top), added = std::exp(other - top);
        for (int64_t d = 0; d < width; ++d) {
          float &value = at(t, h, d);
          float next = part.result.at(0, from * run + t, h, d);
          if (rounds)
            next = float(rounded(next, Element::BF16));
          value = own / (own + added) * value + added / (own + added) * next;
        }
        lse = top + std::log(own + added);
      }
  }
  float &at(int64_t t, int64_t h, int64_t d) {
    return results[(t * heads + h) * width + d];
  }

private:
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  bool rounds;
  std::vector<float> results, lses;
};

/// The error against double of a ring, relative to that of one kernel.
double errorOfRing(bool roundsParts) {
  AttentionCase whole(shapeOf(positions, /*isCausal=*/true, false));
  whole.forward(0, whole.forwardItems);
  Reference expected = computeReference(whole);
  AttentionCase own(shapeOf(2 * run, /*isCausal=*/true, true));
  AttentionCase block(shapeOf(run, /*isCausal=*/false, true));
  auto take = [&](AttentionCase &part, int64_t queries, int64_t keys,
                  int64_t to) {
    copyRun(whole.query, queries, part.query, to);
    copyRun(whole.keyTensor, keys, part.keyTensor, to);
    copyRun(whole.value, keys, part.value, to);
  };
  double ofRing = 0, ofWhole = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t runs[2] = {rank, 2 * ranks - 1 - rank};
    Merged merged[2] = {Merged(roundsParts), Merged(roundsParts)};
    take(own, runs[0], runs[0], 0);
    take(own, runs[1], runs[1], 1);
    own.forward(0, own.forwardItems);
    for (int64_t side = 0; side < 2; ++side)
      merged[side].add(own, side);
    for (int64_t step = 1; step < ranks; ++step) {
      int64_t sender = (rank + ranks - step) % ranks;
      for (int64_t side = 0; side < 2; ++side)
        for (int64_t keys : {sender, 2 * ranks - 1 - sender}) {
          if (keys > runs[side])
            continue;
          take(block, runs[side], keys, 0);
          block.forward(0, block.forwardItems);
          merged[side].add(block, 0);
        }
    }
    for (int64_t side = 0; side < 2; ++side)
      for (int64_t t = 0; t < run; ++t)
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t d = 0; d < width; ++d) {
            int64_t at = runs[side] * run + t;
            double exact = expected.result[(at * heads + h) * width + d];
            ofRing += std::pow(
                rounded(merged[side].at(t, h, d), Element::BF16) - exact, 2);
            ofWhole += std::pow(whole.result.at(0, at, h, d) - exact, 2);
          }
  }
  return std::sqrt(ofRing / ofWhole);
}

TEST(RingKernels, RoundOnce) {
  double ratio = errorOfRing(/*roundsParts=*/false);
  EXPECT_LE(ratio, 1.3);
  RecordProperty("ratio", std::to_string(ratio));
}

// A sum of parts that are rounded to bf16 adds a rounding to the one of the
// result; weights, which one kernel rounds too, err as much.
TEST(RingKernels, MayRoundParts) {
  double ratio = errorOfRing(/*roundsParts=*/true);
  EXPECT_LE(ratio, 1.3);
  RecordProperty("ratio", std::to_string(ratio));
}

} // namespace
