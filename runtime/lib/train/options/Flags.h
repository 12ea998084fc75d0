//===- Flags.h - The flags of a training program ----------------*- C++ -*-===//

#ifndef HONERT_TRAIN_OPTIONS_FLAGS_H
#define HONERT_TRAIN_OPTIONS_FLAGS_H

#include "train/options/FlagValues.h"

namespace honert {

struct Flag {
  const char *name;
  const char *valueName; ///< in --help; null: takes none
  const char *help;
  Value value;
  bool mayRepeat = false;
  const char *otherwise = nullptr; ///< the value of the flag alone, or null
  /// It also holds for who goes on with the run; else for this process alone.
  bool isOfRun = true;
};

/// All flags, in the order of --help, with their values in `options`.
std::vector<Flag> makeFlags(Options &options);
/// The one of that name (without dashes), or null.
const Flag *findFlag(const std::vector<Flag> &flags, const std::string &name);

} // namespace honert

#endif // HONERT_TRAIN_OPTIONS_FLAGS_H
