//===- Probe.h - Whether NCCL does on a GPU what the runtime asks of it ---===//

#ifndef HONERT_EXEC_CUDA_COLLECTIVES_PROBE_H
#define HONERT_EXEC_CUDA_COLLECTIVES_PROBE_H

#include "base/Status.h"

#include <string>

namespace honert {

/// Makes the calls of NCCL that a program of several ranks makes, as the only
/// rank on the first GPU: join, split, memory registered as buffer and as
/// window, every kind of collective launched and in a graph that is replayed,
/// and parting. `report` gets a line for each that is done, with the versions
/// first. An error names the first that fails, or gives wrong bytes.
Status probeNccl(std::string &report);

} // namespace honert

#endif // HONERT_EXEC_CUDA_COLLECTIVES_PROBE_H
