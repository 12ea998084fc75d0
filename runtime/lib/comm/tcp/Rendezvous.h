//===- Rendezvous.h - How processes find each other over TCP --------------===//

#ifndef HONERT_COMM_TCP_RENDEZVOUS_H
#define HONERT_COMM_TCP_RENDEZVOUS_H

#include "comm/group/LauncherEnvironment.h"
#include "comm/tcp/Admission.h"

#include <vector>

namespace honert {

/// Connects every pair of the processes of a launch. Rank 0 listens; the others
/// send it the ports at which they listen, and receive those of all others.
/// Every connection begins with a handshake, so that other programs that
/// connect do no harm.
class Rendezvous {
public:
  /// Ranks may arrive until `deadline`.
  Rendezvous(const LauncherEnvironment &place, const RunKey &key,
             const Deadline &deadline)
      : place(place), key(key), deadline(deadline),
        peers(static_cast<size_t>(place.size)) {}

  /// For rank 0, with its listening sockets; `isEverywhere`: at all addresses
  /// of the machine.
  Status lead(const std::vector<Socket> &listeners, bool isEverywhere);
  /// For the others, with the addresses at which rank 0 may listen, the
  /// likeliest first. `isThere`: rank 0 was reached; otherwise it may still
  /// start. Errors: another program listens there, or ranks are missing at the
  /// deadline.
  Status follow(const std::vector<SocketAddress> &addresses, bool &isThere);
  /// The connections by rank, after lead() or follow(); none to the own rank.
  std::vector<Socket> takePeers() { return std::move(peers); }

private:
  Status gather(Admission &admission, const std::vector<Socket> &listeners,
                std::vector<SocketAddress> *places);
  Verdict judge(const Hello &hello) const;
  std::string missing() const;
  Status callFirst(const SocketAddress &address, Call &call, Reply &reply,
                   Socket &listener);
  Status meet(int64_t rank, const SocketAddress &address);
  Status meetOthers(const SocketAddress &first,
                    const std::vector<Socket> &listeners, bool isEverywhere);
  Status sayTo(int64_t rank, const Socket &socket, const void *data,
               size_t bytes) const;
  Status hearFrom(int64_t rank, const Socket &socket, void *data,
                  size_t bytes) const;

  const LauncherEnvironment place;
  const RunKey key;
  const Deadline deadline;
  std::vector<Socket> peers;
  int64_t lowest = 1; ///< the first rank that may call this one
  /// Until when rank 0 may close connections before it sends a challenge.
  std::optional<Deadline> patience;
};

/// Where a rank listens, as rank 0 sends it to the others.
struct WirePlace {
  uint8_t address[16]; ///< of IPv4 the first four
  uint32_t scope;      ///< of an address of IPv6 that holds for a link
  uint16_t port;
  uint8_t family;        ///< 4 or 6; 0: it is rank 0 itself
  uint8_t isBesideFirst; ///< on the machine of rank 0
};

WirePlace toWire(const SocketAddress &address);
/// False if `wire` is no address.
bool fromWire(const WirePlace &wire, SocketAddress &address);

} // namespace honert

#endif // HONERT_COMM_TCP_RENDEZVOUS_H
