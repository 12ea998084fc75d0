//===- Profile.h - The launches of a step and their times -----------------===//

#ifndef HONERT_TRAIN_PROFILE_H
#define HONERT_TRAIN_PROFILE_H

#include "exec/Executor.h"

namespace honert {

/// Launches as a Chrome trace (chrome://tracing, Perfetto). Of a group of ops
/// whose cost the program tells, an event has bytes and FLOPs, the rates that
/// all launches of the group reach together, and, where the executor knows
/// the machine's data sheet, their share of its peaks.
std::string chromeTrace(const std::vector<LaunchTime> &times,
                        const Program &program, const Executor &executor);

/// Time and rates by launch name, the longest first.
std::string profileTable(const std::vector<LaunchTime> &times);

} // namespace honert

#endif // HONERT_TRAIN_PROFILE_H
