//===- PublishState.h - State between host and program ----------*- C++ -*-===//

#ifndef HONERT_TRAIN_PUBLISHSTATE_H
#define HONERT_TRAIN_PUBLISHSTATE_H

#include "exec/Executor.h"

namespace honert {

/// What the host has written once, before the first step, is the program's;
/// `zeros` it has not written. Makes codes of it.
Status publishState(const Program &program, Executor &executor,
                    const std::vector<const Argument *> &zeros = {});
/// Runs what makes codes of parameters, in a program that keeps such, on all
/// ranks. Its steps keep them up to date.
Status makeCodes(const Program &program, Executor &executor);
Status zeroState(Executor &executor,
                 const std::vector<const Argument *> &zeros);
/// The view holds what files hold.
Status fetchState(const Program &program, Executor &executor);
/// It was fetched before, and is no longer needed.
void forgetState(const Program &program, Executor &executor);

} // namespace honert

#endif // HONERT_TRAIN_PUBLISHSTATE_H
