//===- CheckCopies.h - The second arena of a program ------------*- C++ -*-===//

#ifndef HONERT_PROGRAM_CHECKCOPIES_H
#define HONERT_PROGRAM_CHECKCOPIES_H

#include "program/Program.h"

namespace honert {

/// What lies in the second arena ends in it.
Status checkOnHost(const Program &program, const Argument &argument);

/// Copies are inside both arenas and waited for, each token once.
Status checkCopies(const Program &program, const Function &function);

} // namespace honert

#endif // HONERT_PROGRAM_CHECKCOPIES_H
