//===- FlagValues.h - How values of flags are read --------------*- C++ -*-===//

#ifndef HONERT_TRAIN_OPTIONS_FLAGVALUES_H
#define HONERT_TRAIN_OPTIONS_FLAGVALUES_H

#include "train/options/Options.h"

#include <functional>

namespace honert {

/// Reads a flag's value to where it lies, and shows it. What is read must
/// outlive the value.
struct Value {
  /// The error says what was expected; it does not name the flag.
  std::function<Status(const std::string &value)> read;
  /// As JSON; empty for one that asks for nothing.
  std::function<std::string()> show;
};

/// The largest number of steps, tokens and the like.
constexpr int64_t mostOfFlag = INT64_MAX / 4;

Value readInteger(int64_t &target, int64_t low, int64_t high,
                  const char *expected);
/// A finite number >= 0.
Value readNumber(double &target, const char *expected);
Value readText(std::string &target);
/// Each time one more.
Value readTexts(std::vector<std::string> &texts);
Value setFlag(bool &target);
/// NAME=FILE, each time one more.
Value readNamedFile(std::vector<std::pair<std::string, std::string>> &files);
Value readSchedule(ScheduleKind &target);
/// Steps, or epochs.
Value readSteps(Options &options);
/// A number with K, M or B behind it.
Value readTokens(int64_t &target);
Value readSeed(Options &options);
/// Token ids with commas between them.
Value readIds(std::vector<int64_t> &target);
/// A share above 0 and up to 1, which a configuration leaves out where it is 1.
Value readShare(double &target);
/// The folder to go on from, or "".
Value readResume(Options &options);
/// file:PATH
Value readBootstrap(std::string &target);

} // namespace honert

#endif // HONERT_TRAIN_OPTIONS_FLAGVALUES_H
