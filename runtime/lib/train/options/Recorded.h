//===- Recorded.h - Flags of a run that goes on -----------------*- C++ -*-===//

#ifndef HONERT_TRAIN_OPTIONS_RECORDED_H
#define HONERT_TRAIN_OPTIONS_RECORDED_H

#include "train/options/Flags.h"

namespace honert {

/// A flag with the text of its value.
struct GivenFlag {
  const Flag *flag;
  std::string value;
  bool isOff = false; ///< --FLAG=false, of one that takes no value
};

/// Reads into `record` the flags of the run in `folder`, if it has a record,
/// and adds those to `given` that nothing given replaces. What differs goes to
/// `options.changes`.
Status addRecorded(const std::string &folder, const std::vector<Flag> &flags,
                   std::vector<GivenFlag> &given, RunFlags &record,
                   Options &options);

/// The files that flags of `record` name are there; they may have been named
/// from another folder.
Status checkFound(const RunFlags &record, const Options &options);
/// What to do about those that are not.
std::string startedElsewhere(const RunFlags &record);

} // namespace honert

#endif // HONERT_TRAIN_OPTIONS_RECORDED_H
