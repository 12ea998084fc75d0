//===- Rendezvous.h - Ranks meet at rank 0 without MPI --------------------===//

#ifndef HONERT_COMM_TCP_RENDEZVOUS_H
#define HONERT_COMM_TCP_RENDEZVOUS_H

#include "comm/group/LauncherEnvironment.h"
#include "program/ProcessGroup.h"

namespace honert {

/// Connects each process that torchrun or srun started to rank 0, by TCP
/// (SocketProcessGroup.h). Each connection begins with a handshake in which
/// both ends prove that they know the run's secret (Handshake.h), so that other
/// programs that connect do no harm. What follows is not encrypted; neither is
/// what such launchers send themselves.
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

#endif // HONERT_COMM_TCP_RENDEZVOUS_H
