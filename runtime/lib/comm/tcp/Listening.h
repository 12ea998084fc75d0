//===- Listening.h - Where rank 0 listens ---------------------------------===//

#ifndef HONERT_COMM_TCP_LISTENING_H
#define HONERT_COMM_TCP_LISTENING_H

#include "comm/group/LauncherEnvironment.h"
#include "comm/tcp/Sockets.h"

namespace honert {

/// The sockets at which rank 0 waits for the others.
struct Listening {
  std::vector<Socket> sockets;
  int64_t port = 0;
  bool isLoopback = false; ///< where this machine alone reaches it
  /// Why it listens at all addresses although MASTER_ADDR names one; or empty.
  std::string reason;
  std::string text; ///< "10.0.0.1:29501", "[::]:29501"

  /// Listens at those addresses of MASTER_ADDR that belong to this machine. At
  /// all addresses of the machine if none does (behind a NAT the others use an
  /// address that rank 0 does not have), or if ranks are on other machines and
  /// a name other than "localhost" resolves to the loopback address (as a line
  /// of /etc/hosts for the machine's own name makes it).
  Status atMaster(const LauncherEnvironment &place, int64_t port);
  /// Listens at any free port: of the loopback address if the launcher's
  /// variables say that all ranks are on this machine, else of all addresses.
  Status atFreePort(const LauncherEnvironment &place);

private:
  Status add(SocketAddress address);
};

} // namespace honert

#endif // HONERT_COMM_TCP_LISTENING_H
