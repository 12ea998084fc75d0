//===- Smoke.h - Whether a program can run on this GPU --------------------===//

#ifndef HONERT_TRAIN_SMOKE_H
#define HONERT_TRAIN_SMOKE_H

#include "base/Parallel.h"
#include "program/ProcessGroup.h"
#include "train/options/Options.h"

namespace honert {

/// Tries, in less than a minute and without data, all that a run on a GPU needs
/// (--smoke), and prints a JSON object of what came of it:
///
///   start     code is loaded, libraries are opened, plans are made
///   products  every kind of product, a row each
///   slots     inputs that follow each other arrive
///   nccl      what the only rank can ask of NCCL, in a graph too
///   launches  each launch of each function, one by one, on random inputs
///   graph     the same step as a graph gives the same loss, bit for bit
///
/// A trial that fails does not keep the next ones from being made, except that
/// a GPU which has failed fails in all. Errors: the first of these failures.
Status smokeTest(const Program &program, const Options &options,
                 const ThreadPool &pool, ProcessGroup &world);

} // namespace honert

#endif // HONERT_TRAIN_SMOKE_H
