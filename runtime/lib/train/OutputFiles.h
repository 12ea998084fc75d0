//===- OutputFiles.h - What a run writes over -------------------*- C++ -*-===//

#ifndef HONERT_TRAIN_OUTPUTFILES_H
#define HONERT_TRAIN_OUTPUTFILES_H

#include "train/options/Options.h"

namespace honert {

/// No file that the run writes is one that it reads (flags, weights and text of
/// the package, this executable), another that it writes, or a part of its
/// checkpoints: neither by name nor through links. A usage error names both
/// flags.
Status checkOverwriting(const Program &program, const Options &options);

} // namespace honert

#endif // HONERT_TRAIN_OUTPUTFILES_H
