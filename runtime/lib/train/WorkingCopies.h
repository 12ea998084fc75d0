//===- WorkingCopies.h - Low-precision copies of parameters -----*- C++ -*-===//

#ifndef HONERT_TRAIN_WORKINGCOPIES_H
#define HONERT_TRAIN_WORKINGCOPIES_H

#include "base/Arena.h"
#include "base/Parallel.h"
#include "program/Program.h"

namespace honert {

/// Fills every argument of kind shadow with the parameter of its name, rounded
/// to nearest even, where a rank has the same elements of both; others are
/// filled as the parameter is (io/checkpoint/State.h). Afterwards the program
/// keeps them up to date itself.
void fillWorkingCopies(const Program &program, const ThreadPool &pool,
                       Arena &arena);

} // namespace honert

#endif // HONERT_TRAIN_WORKINGCOPIES_H
