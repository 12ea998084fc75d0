//===- Partition.h - Equal parts of a chain ---------------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_STAGES_PARTITION_H
#define HONE_LIB_SHARDING_STAGES_PARTITION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace hone::dist {

/// Cuts a chain of units, which take `seconds` each, into `parts` parts, of at
/// least one unit, so that the longest takes as little as possible: a step of a
/// pipeline takes all parts once and the longest of them once more per further
/// micro-batch (Zheng et al., Alpa, 2022, section 5.2). Between unit i and unit
/// i + 1, `bytes[i]` are handed on: among equally long ones, the cuts that hand
/// on the fewest. Returns the cuts, ascending, by the unit before them.
llvm::SmallVector<size_t> partitionChain(llvm::ArrayRef<double> seconds,
                                         llvm::ArrayRef<int64_t> bytes,
                                         int64_t parts);

/// Moves the cuts of such a chain until no cut alone shortens the longest
/// stage, the sum of its parts; among equally long ones the longest part.
/// `stageOf` says which of `stages` stages a part is of.
void balanceStages(llvm::MutableArrayRef<size_t> cuts,
                   llvm::ArrayRef<double> seconds, int64_t stages,
                   llvm::function_ref<int64_t(int64_t)> stageOf);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_STAGES_PARTITION_H
