//===- CheckRanks.h - What ranks demand of a description ------------------===//

#ifndef HONERT_PROGRAM_CHECKRANKS_H
#define HONERT_PROGRAM_CHECKRANKS_H

#include "program/Program.h"

namespace honert {

/// What honert_argument_whole, _division and _partial demand: the rank has as
/// much of each dimension as its divisions say.
Status checkDivision(const Argument &argument, const Mesh &mesh);

/// What honert_collective, honert_wait, honert_shard and honert_coordinate
/// demand of the launches of a function, in their order. Launches of other
/// kinds are skipped.
Status checkRanks(const Program &program, const Function &function);

} // namespace honert

#endif // HONERT_PROGRAM_CHECKRANKS_H
