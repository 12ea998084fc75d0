//===- Initialize.h - Values of a fresh run -------------------------------===//

#ifndef HONERT_PROGRAM_INITIALIZE_H
#define HONERT_PROGRAM_INITIALIZE_H

#include "base/Parallel.h"
#include "program/Parts.h"

namespace honert {

/// Fills those elements of `part` of `argument` that `layout` places in the
/// storage at `data`, as its init says. Element i of the part depends on (seed,
/// name of the part, i) only: neither on the thread count, nor on other
/// arguments, nor on padding around the part, nor on which rank has it, nor on
/// the element type beyond rounding (values are made in fp32), so the fp64
/// interpreter starts where the compiled program does.
void initialize(const Argument &argument, const Part &part,
                const PartLayout &layout, uint64_t seed, void *data,
                const ThreadPool &pool);

} // namespace honert

#endif // HONERT_PROGRAM_INITIALIZE_H
