//===- WorkingCopies.h - Low-precision copies of parameters -----*- C++ -*-===//

#ifndef HONERT_TRAIN_WORKINGCOPIES_H
#define HONERT_TRAIN_WORKINGCOPIES_H

#include "base/Arena.h"
#include "base/Parallel.h"
#include "program/Program.h"

namespace honert {

/// Whether `argument` is a working copy that is a parameter in a low type.
/// Other working copies are codes and scales of parameters.
bool isRounded(const Program &program, const Argument &argument);

/// Fills working copies that are parameters in a low type. Fills each from the
/// parameter of its name, rounded to nearest even, if the rank has the same
/// elements of both; others are filled where parameters are
/// (io/checkpoint/State.h). Afterwards the program keeps them up to date.
void fillWorkingCopies(const Program &program, const ThreadPool &pool,
                       Arena &arena);

/// Fills and returns that of `param`, which ranks have the same elements of;
/// null: there is none.
const Argument *fillWorkingCopy(const Program &program, const Argument &param,
                                const ThreadPool &pool, Arena &arena);

} // namespace honert

#endif // HONERT_TRAIN_WORKINGCOPIES_H
