//===- RunLength.h - How many steps a run has -----------------------------===//

#ifndef HONERT_TRAIN_OPTIONS_RUNLENGTH_H
#define HONERT_TRAIN_OPTIONS_RUNLENGTH_H

#include "train/options/Options.h"

namespace honert {

/// Tokens of one step of `program`, of all ranks and micro-batches; 0 if it
/// reads no token stream.
int64_t tokensPerStep(const Program &program);

/// Sets `options.steps` from a length in epochs of --data or in tokens.
Status resolveSteps(const Program &program, Options &options);

} // namespace honert

#endif // HONERT_TRAIN_OPTIONS_RUNLENGTH_H
