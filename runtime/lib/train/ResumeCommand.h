//===- ResumeCommand.h - What goes on with a run ----------------*- C++ -*-===//

#ifndef HONERT_TRAIN_RESUMECOMMAND_H
#define HONERT_TRAIN_RESUMECOMMAND_H

#include "train/options/Options.h"

namespace honert {

/// The command that goes on with the checkpoints of a run, as a user types it:
/// that of HONE_RESUME, which hone train sets, or this program's own, which
/// `ranks` processes run. `steps`: up to that step; 0: up to that of the run.
std::string resumeCommand(const Options &options, int64_t ranks,
                          int64_t steps = 0);

} // namespace honert

#endif // HONERT_TRAIN_RESUMECOMMAND_H
