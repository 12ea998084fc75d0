//===- SocketProcessGroup.h - Processes that meet without MPI -------------===//

#ifndef HONERT_COMM_TCP_SOCKETPROCESSGROUP_H
#define HONERT_COMM_TCP_SOCKETPROCESSGROUP_H

#include "comm/group/LauncherEnvironment.h"
#include "program/ProcessGroup.h"

namespace honert {

/// Joins the processes of torchrun or srun by TCP, every pair: for the control
/// plane of programs on GPUs, whose collectives are NCCL's, of up to a thousand
/// ranks or so. Each connection begins with a proof of both ends that they know
/// the run's secret (comm/Secret.h); what follows is not encrypted, like what
/// such launchers use themselves.
///
/// Rank 0 listens at `place`'s master address (comm/Listening.h), one port
/// above the master port, which the launcher may use. With `bootstrap`
/// "file:PATH", it listens at any free port and writes that to the file, with a
/// secret (comm/RendezvousFile.h); others wait for it. A wait of more than
/// `timeout` seconds (0: any) is an error.
Status connectSockets(const LauncherEnvironment &place,
                      const std::string &bootstrap, double timeout,
                      std::unique_ptr<ProcessGroup> &world);

} // namespace honert

#endif // HONERT_COMM_TCP_SOCKETPROCESSGROUP_H
