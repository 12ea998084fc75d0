//===- CheckMachine.h - Whether this machine can run a program --*- C++ -*-===//

#ifndef HONERT_TRAIN_CHECKMACHINE_H
#define HONERT_TRAIN_CHECKMACHINE_H

#include "comm/group/LauncherEnvironment.h"
#include "program/Program.h"

namespace honert {

/// What a program that runs on this machine's CPU needs of it: instructions,
/// memory beside `mappedBytes` of files, `threads` in each process of `place`;
/// where it does not train, no memory of the optimizer.
/// A program that fits but will be slow is a warning on stderr.
Status checkMachine(const Program &program, const LauncherEnvironment &place,
                    int threads, int64_t mappedBytes, bool trains = true);

} // namespace honert

#endif // HONERT_TRAIN_CHECKMACHINE_H
