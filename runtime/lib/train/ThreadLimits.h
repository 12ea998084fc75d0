//===- ThreadLimits.h - Whether the system starts enough threads ----------===//

#ifndef HONERT_TRAIN_THREADLIMITS_H
#define HONERT_TRAIN_THREADLIMITS_H

#include "base/Status.h"

#include <cstdint>

namespace honert {

/// Addresses that a thread's stack takes unless it is told otherwise.
int64_t stackBytes();
/// An error if the system does not start a team of `threads`, and `helpers`
/// more: where it does not, libgomp and the standard library end the process.
Status checkThreads(int threads, int helpers);

} // namespace honert

#endif // HONERT_TRAIN_THREADLIMITS_H
