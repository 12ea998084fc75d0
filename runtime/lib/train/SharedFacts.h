//===- SharedFacts.h - What all ranks must be given alike -------*- C++ -*-===//

#ifndef HONERT_TRAIN_SHAREDFACTS_H
#define HONERT_TRAIN_SHAREDFACTS_H

#include "comm/group/ConsistencyCheck.h"
#include "train/options/Options.h"

namespace honert {

/// What checkConsistency() compares: the program with its mesh, its layout and
/// its sequence of collectives, and the flags that must be equal on all ranks.
std::vector<SharedFact> sharedFacts(const Program &program,
                                    const Options &options);

} // namespace honert

#endif // HONERT_TRAIN_SHAREDFACTS_H
