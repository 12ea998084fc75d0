//===- SingleProcess.h - A process that is alone ----------------*- C++ -*-===//

#ifndef HONERT_COMM_HOST_SINGLEPROCESS_H
#define HONERT_COMM_HOST_SINGLEPROCESS_H

#include "program/ProcessGroup.h"

namespace honert {

/// The process group of a run of one rank.
std::unique_ptr<ProcessGroup> makeSingleProcess();

} // namespace honert

#endif // HONERT_COMM_HOST_SINGLEPROCESS_H
