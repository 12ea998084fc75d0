//===- StagedModel.h - One model in stages or not -------------------------===//
//
// What a compiled object with stages of a pipeline describes, written by hand:
// an embedding, three layers that scale and add noise by the random key, and a
// squared error. Losses and weights have the same bits in any number of stages:
// what is added, is added in one order.
//
//===----------------------------------------------------------------------===//

#ifndef TEST_UNIT_RUNTIME_STAGEDMODEL_H
#define TEST_UNIT_RUNTIME_STAGEDMODEL_H

#include "support/Describe.h"

#include <string>

namespace test {

struct StagedModel {
  static constexpr int64_t layers = 3, rows = 4, columns = 3, features = 4,
                           vocab = 32;

  int64_t stages = 0; ///< up to `layers`; 0: a program without stages
  int64_t dp = 1;     ///< ranks that share the rows of each stage
  int64_t microBatches = 4;
  bool isGpipe = false;      ///< else 1F1B
  int64_t boundaries = 1;    ///< instances of each
  bool isTied = false;       ///< the loss reads the table too
  int64_t sleepingRank = -1; ///< sleeps in each of its steps, for 60 s
};

/// Describes `model` into `program`; calls joinStages() not.
void describe(const StagedModel &model, honert_program *program);
/// Described and joined.
ProgramPtr makeStaged(const StagedModel &model);

} // namespace test

#endif // TEST_UNIT_RUNTIME_STAGEDMODEL_H
