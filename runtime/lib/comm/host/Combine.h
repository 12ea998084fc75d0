//===- Combine.h - Reductions over the data of ranks ----------------------===//

#ifndef HONERT_COMM_HOST_COMBINE_H
#define HONERT_COMM_HOST_COMBINE_H

#include "program/Program.h"

namespace honert {

/// out[i] = terms[0][i] combined with terms[1][i], ... in this order: floats
/// are added in f64 and rounded once, sums of whole numbers wrap; a NaN makes a
/// maximum or minimum NaN. `out` may be one of the terms.
void combine(ReduceKind kind, DType dtype,
             const std::vector<const char *> &terms, int64_t count, char *out);

} // namespace honert

#endif // HONERT_COMM_HOST_COMBINE_H
