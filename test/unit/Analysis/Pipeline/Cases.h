//===- Cases.h - Schedules that tests of pipelines share --------*- C++ -*-===//

#ifndef HONE_TEST_UNIT_ANALYSIS_PIPELINE_CASES_H
#define HONE_TEST_UNIT_ANALYSIS_PIPELINE_CASES_H

#include "hone/Analysis/Pipeline/Generate.h"

namespace hone::pipeline::test {

/// Every kind of schedule.
constexpr llvm::StringLiteral choices[] = {
    "gpipe", "1f1b", "interleaved=2", "interleaved=3", "zb-h1", "zb-v"};
/// Every kind that runs forward and backward actions together.
constexpr llvm::StringLiteral overlapped[] = {
    "1f1b+overlap", "interleaved=2+overlap", "interleaved=3+overlap",
    "zb-h1+overlap"};
/// Both.
inline std::vector<llvm::StringRef> allChoices() {
  std::vector<llvm::StringRef> all(std::begin(choices), std::end(choices));
  all.insert(all.end(), std::begin(overlapped), std::end(overlapped));
  return all;
}

inline Schedule make(llvm::StringRef choice, int ranks, int microBatches,
                     int ahead = 1) {
  return placeTransfers(
      generateSchedule(llvm::cantFail(parseScheduleChoice(choice)), ranks,
                       microBatches),
      ahead);
}

/// "zb-v, 4 ranks, 8 micro-batches", for messages.
inline std::string describe(const Schedule &schedule) {
  return schedule.name + ", " + std::to_string(schedule.shape.ranks) +
         " ranks, " + std::to_string(schedule.shape.microBatches) +
         " micro-batches";
}

} // namespace hone::pipeline::test

#endif // HONE_TEST_UNIT_ANALYSIS_PIPELINE_CASES_H
