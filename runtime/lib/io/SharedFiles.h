//===- SharedFiles.h - What all ranks see of a file system ------*- C++ -*-===//
//
// The files of a run belong to all of its ranks: one folder, which every rank
// reaches under the same name. All functions are called by all ranks and return
// one result to all.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_IO_SHAREDFILES_H
#define HONERT_IO_SHAREDFILES_H

#include "program/ProcessGroup.h"

#include <string>

namespace honert {

/// Every rank gets the first rank's text, of at most 1 MiB.
Status broadcastText(ProcessGroup &world, std::string &text);

/// An error if a rank does not see a file that rank 0 makes beside `path`.
Status checkShared(ProcessGroup &world, const std::string &path);

} // namespace honert

#endif // HONERT_IO_SHAREDFILES_H
