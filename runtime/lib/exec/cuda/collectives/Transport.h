//===- Transport.h - Collectives of GPUs, without a program ---------------===//

#ifndef HONERT_EXEC_CUDA_COLLECTIVES_TRANSPORT_H
#define HONERT_EXEC_CUDA_COLLECTIVES_TRANSPORT_H

#include "program/ProcessGroup.h"
#include "program/Transport.h"

namespace honert {

/// Runs collectives among the GPUs of a program for CUDA, in memory
/// of its own of `bytes` bytes: what run() is given is not looked at. Called by
/// all ranks of `world`, which both outlive the transport.
Status makeGpuTransport(const Program &program, ProcessGroup &world,
                        int64_t bytes, std::unique_ptr<Transport> &transport);

} // namespace honert

#endif // HONERT_EXEC_CUDA_COLLECTIVES_TRANSPORT_H
