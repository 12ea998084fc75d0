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
/// Whether others use the cores: `load` is the average number of threads that
/// run or wait for one, `threads` those of this process.
bool isBusy(double load, int64_t cores, int64_t threads);
/// What to tell a user whose machine is busy. Empty: nothing.
std::string loadNote(double load, int64_t cores, int64_t threads);
/// The same for this machine now.
std::string loadNote(int64_t threads);
/// What to tell a user of a busy machine whose text is made by one thread in
/// place of `threads`. Empty: those make it.
std::string oneThreadNote(double load, int64_t cores, int64_t threads);
/// The same for this machine now.
std::string oneThreadNote(int64_t threads);

} // namespace honert

#endif // HONERT_TRAIN_THREADLIMITS_H
