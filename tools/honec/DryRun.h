//===- DryRun.h - Does it fit, and how fast may it be ---------*- C++ -*-===//

#ifndef HONEC_DRYRUN_H
#define HONEC_DRYRUN_H

#include "Machine.h"

namespace honec {

/// Prints memory, FLOPs and the estimated time of a step.
void printDryRun(const Summary &summary, const MachineModel &machine);

} // namespace honec

#endif // HONEC_DRYRUN_H
