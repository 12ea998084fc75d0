//===- SameData.h - All ranks read the same files ---------------*- C++ -*-===//

#ifndef HONERT_TRAIN_SAMEDATA_H
#define HONERT_TRAIN_SAMEDATA_H

#include "program/ProcessGroup.h"
#include "train/options/Options.h"

namespace honert {

/// What the files of --data, --val-data, --input and --init begin and end with
/// (1 MiB each) and their sizes are the same on all ranks. The error, on every
/// rank, names the first that differs. Called by all.
Status checkSameData(const Options &options, ProcessGroup &world);

} // namespace honert

#endif // HONERT_TRAIN_SAMEDATA_H
