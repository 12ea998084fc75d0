//===- Initialize.h - Values of a fresh run -------------------------------===//

#ifndef HONERT_CORE_INITIALIZE_H
#define HONERT_CORE_INITIALIZE_H

#include "core/Program.h"
#include "cpu/Parallel.h"

namespace honert {

/// Fills `part` of `argument`, whose storage begins at `data`, as its init
/// says. Element i of the part depends on (seed, name of the part, i) only:
/// neither on the thread count, nor on other arguments, nor on padding around
/// the part, nor on the element type beyond rounding (values are made in fp32),
/// so the fp64 interpreter starts where the compiled program does.
void initialize(const Argument &argument, const Part &part, uint64_t seed,
                void *data, const ThreadPool &pool);

} // namespace honert

#endif // HONERT_CORE_INITIALIZE_H
