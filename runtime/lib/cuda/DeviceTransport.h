//===- DeviceTransport.h - Collectives of GPUs, without a program ---------===//

#ifndef HONERT_CUDA_DEVICETRANSPORT_H
#define HONERT_CUDA_DEVICETRANSPORT_H

#include "comm/Transport.h"
#include "comm/World.h"

namespace honert {

/// Runs collectives among the GPUs of a program for CUDA, in memory
/// of its own of `bytes` bytes: what run() is given is not looked at. Called by
/// all ranks of `world`, which both outlive the transport.
Status makeDeviceTransport(const Program &program, World &world, int64_t bytes,
                           std::unique_ptr<Transport> &transport);

} // namespace honert

#endif // HONERT_CUDA_DEVICETRANSPORT_H
