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
  bool isEverywhere = false; ///< at all addresses of this machine
  bool isLoopback = false;   ///< where this machine alone reaches it
  /// Why it is everywhere, where MASTER_ADDR says something else; or empty.
  std::string reason;
  std::string text; ///< "10.0.0.1:29501", "[::]:29501"

  /// At the addresses of `place`'s MASTER_ADDR that are this machine's, and no
  /// others. At all of this machine where none is (behind a NAT the others use
  /// an address that rank 0 does not have), and where a name that is not
  /// "localhost" leads rank 0 to itself while ranks are on other machines (a
  /// line of /etc/hosts for the machine's own name).
  Status atMaster(const LauncherEnvironment &place, int64_t port);
  /// At any free port: of this machine alone where the launcher says that all
  /// ranks are here, else everywhere.
  Status atFreePort(const LauncherEnvironment &place);

private:
  Status add(SocketAddress address);
};

} // namespace honert

#endif // HONERT_COMM_TCP_LISTENING_H
