//===- Profile.h - The launches of a step and their times -----------------===//

#ifndef HONERT_TRAIN_PROFILE_H
#define HONERT_TRAIN_PROFILE_H

#include "train/StepTimes.h"

namespace honert {

/// The launches of the latest step as a Chrome trace (chrome://tracing,
/// Perfetto), with the median of each over all steps. Of a group of ops whose
/// cost the program tells, an event has the index in `launches` of the
/// compiler's report (docs/report.md), bytes and FLOPs, the rates that all
/// launches of the group reach together, and, where the executor knows the
/// machine's data sheet, their share of its peaks. Of graphs also tracks of
/// collectives and of the gaps between launches, and their sums.
std::string chromeTrace(const StepTimes &times, const Program &program,
                        const Executor &executor);

/// Median times and rates by launch name, the longest first. Of graphs also
/// what they take: as they are replayed, by `graphSeconds` of several steps,
/// and with times inside; and the largest gaps.
std::string profileTable(const StepTimes &times,
                         const std::vector<double> &graphSeconds);

} // namespace honert

#endif // HONERT_TRAIN_PROFILE_H
