//===- ConsistencyCheck.h - Ranks run the same thing ----------------------===//

#ifndef HONERT_COMM_GROUP_CONSISTENCYCHECK_H
#define HONERT_COMM_GROUP_CONSISTENCYCHECK_H

#include "program/ProcessGroup.h"

#include <string>
#include <vector>

namespace honert {

/// Something that must be the same on all ranks.
struct SharedFact {
  std::string name; ///< "--seed"
  std::string value;
};

/// Compares the facts of all ranks, which name the same ones in the same order.
/// The error, on every rank, names the first rank that differs from rank 0, the
/// fact and both values. Called by all.
Status checkConsistency(const std::vector<SharedFact> &facts,
                        ProcessGroup &world);

} // namespace honert

#endif // HONERT_COMM_GROUP_CONSISTENCYCHECK_H
