//===- Connect.h - Joins the processes of a run ---------------------------===//

#ifndef HONERT_TRAIN_CONNECT_H
#define HONERT_TRAIN_CONNECT_H

#include "comm/group/LauncherEnvironment.h"
#include "program/ProcessGroup.h"
#include "train/options/Options.h"

namespace honert {

/// Joins the processes that run `program`, as the launcher's environment
/// `place` describes them. A program of one rank opens no library for that.
/// Errors: the number of processes is not the program's number of ranks; MPI is
/// missing; the processes do not connect.
Status connect(const Program &program, const Options &options,
               const LauncherEnvironment &place,
               std::unique_ptr<ProcessGroup> &world);

} // namespace honert

#endif // HONERT_TRAIN_CONNECT_H
