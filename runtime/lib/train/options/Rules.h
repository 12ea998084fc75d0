//===- Rules.h - Flags that depend on each other ----------------*- C++ -*-===//

#ifndef HONERT_TRAIN_OPTIONS_RULES_H
#define HONERT_TRAIN_OPTIONS_RULES_H

#include "train/options/Options.h"

#include <set>

namespace honert {

/// The flags `given` go together, and `program` has what they are for; what is
/// needed is there. `options` has the steps of the run.
Status checkRules(const std::set<std::string> &given, const Program &program,
                  const Options &options);

} // namespace honert

#endif // HONERT_TRAIN_OPTIONS_RULES_H
