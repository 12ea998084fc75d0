//===- Process.h - What a process owes its surroundings -------------------===//

#ifndef HONERT_TRAIN_PROCESS_H
#define HONERT_TRAIN_PROCESS_H

#include "base/Status.h"

namespace honert {

/// The first thing a process does: it may have as many open files as the system
/// lets it, of which each file that is mapped is one; standard input, output
/// and error are open from now on, so that no file of the run is taken for one
/// of them, and what cannot be written (a pipe without a reader, a file beyond
/// its limit) is an error of the write and no signal.
void prepareProcess();

/// Writes to standard output at once. The first failure is remembered; after it
/// nothing is written.
void print(const std::string &text);
/// Whether the reader of standard output, a pipe, has closed it.
bool isReaderGone();
/// Whether all that was printed has reached its file. Text that is the whole
/// purpose of a process (`isAll`) and finds no reader any more ends it as
/// SIGPIPE would, without a line.
Status checkPrinted(bool isAll);

} // namespace honert

#endif // HONERT_TRAIN_PROCESS_H
