//===- TinyModel.h - A bigram model in plain loops ------------------------===//
//
// What a compiled object describes, written by hand: loss = mean cross entropy
// of table[token] * scale + bias against the next token, AdamW, clipping, and
// noise keyed by the rng argument. Every kernel owns what it writes, so that
// its bits do not depend on the split.
//
//===----------------------------------------------------------------------===//

#ifndef TEST_UNIT_RUNTIME_TINYMODEL_H
#define TEST_UNIT_RUNTIME_TINYMODEL_H

#include "honert/honert.h"

namespace test {

struct TinyModel {
  static constexpr int64_t vocab = 32;

  int64_t rows = 2, columns = 8;  ///< of the token input
  int64_t microBatches = 1;       ///< more: accumulate and update
  double noise = 0;               ///< scale of noise on the gradients
  bool needsFile = false;         ///< the buffer `scale` has no default
  bool hasMask = false;           ///< one more input, [vocab] x f32
  int64_t crossingAttentions = 0; ///< that it says it has
  const char *fingerprint = "tiny";
  const char *precision = "fp32";
  const char *optimizer = "adamw"; ///< the name alone; it computes AdamW
  honert_kernel before = nullptr;  ///< runs at the start of each step
};

/// Describes `model` into `program`.
void describe(const TinyModel &model, honert_program *program);

} // namespace test

#endif // TEST_UNIT_RUNTIME_TINYMODEL_H
