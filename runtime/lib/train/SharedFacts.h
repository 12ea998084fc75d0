//===- SharedFacts.h - What all ranks must be given alike -------*- C++ -*-===//

#ifndef HONERT_TRAIN_SHAREDFACTS_H
#define HONERT_TRAIN_SHAREDFACTS_H

#include "comm/group/ConsistencyCheck.h"
#include "train/Options.h"

namespace honert {

/// The program, with its mesh, its layout and the sequence of its collectives,
/// and the flags that all ranks must be given alike.
std::vector<SharedFact> sharedFacts(const Program &program,
                                    const Options &options);

} // namespace honert

#endif // HONERT_TRAIN_SHAREDFACTS_H
