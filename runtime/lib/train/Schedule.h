//===- Schedule.h - Learning rates by step --------------------------------===//

#ifndef HONERT_TRAIN_SCHEDULE_H
#define HONERT_TRAIN_SCHEDULE_H

#include <cstdint>
#include <string>
#include <vector>

namespace honert {

struct Options;

/// What follows the warm-up:
/// - constant: the rate;
/// - linear, cosine: down to the minimum at the last step;
/// - wsd (warm-up, stable, decay; Hu et al. 2024): the rate, and over the last
///   steps down to the minimum by 1 - sqrt (Hägele et al. 2024).
enum class ScheduleKind { constant, linear, cosine, wsd };

const char *name(ScheduleKind kind);
/// The names, in the order of the enumeration.
std::vector<std::string> scheduleNames();

/// Learning rate of `step` (1 is the first): linear from rate / warm-up up to
/// rate over the warm-up steps, then as the schedule says.
double learningRateAt(const Options &options, int64_t step);

/// Steps at the end over which wsd decays: --decay-steps, or a fifth of all,
/// as far as the warm-up leaves them.
int64_t decaySteps(const Options &options);

} // namespace honert

#endif // HONERT_TRAIN_SCHEDULE_H
