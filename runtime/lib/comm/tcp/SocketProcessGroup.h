//===- SocketProcessGroup.h - Processes that meet without MPI -------------===//

#ifndef HONERT_COMM_TCP_SOCKETPROCESSGROUP_H
#define HONERT_COMM_TCP_SOCKETPROCESSGROUP_H

#include "comm/group/LauncherEnvironment.h"
#include "program/ProcessGroup.h"

namespace honert {

/// Connects every pair of the processes that torchrun or srun started, by TCP.
/// This is the control plane of programs on GPUs, whose collectives are NCCL's;
/// it serves up to about a thousand ranks. Each connection begins with a
/// handshake in which both ends prove that they know the run's secret
/// (Secret.h). What follows is not encrypted; neither is what such launchers
/// send themselves.
///
/// Rank 0 listens at the master address of `place` (Listening.h), one port
/// above the master port, which the launcher may use. With `bootstrap`
/// "file:PATH" it listens at any free port and writes that port to the file,
/// with a secret (RendezvousFile.h); the others wait for the file. A wait of
/// more than `timeout` seconds (0: no limit) is an error.
Status connectSockets(const LauncherEnvironment &place,
                      const std::string &bootstrap, double timeout,
                      std::unique_ptr<ProcessGroup> &world);

} // namespace honert

#endif // HONERT_COMM_TCP_SOCKETPROCESSGROUP_H
