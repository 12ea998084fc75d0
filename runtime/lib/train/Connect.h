//===- Connect.h - Joins the processes of a run ---------------------------===//

#ifndef HONERT_TRAIN_CONNECT_H
#define HONERT_TRAIN_CONNECT_H

#include "comm/group/LauncherEnvironment.h"
#include "program/ProcessGroup.h"
#include "train/Options.h"

namespace honert {

/// The world of a process that was started at `place` to run `program`. A
/// program of one rank stays alone, and no library of ranks is opened. Errors:
/// started in another number than the program has ranks; what joins them is
/// missing or does not start.
Status connect(const Program &program, const Options &options,
               const LauncherEnvironment &place,
               std::unique_ptr<ProcessGroup> &world);

} // namespace honert

#endif // HONERT_TRAIN_CONNECT_H
