//===- Rendezvous.cpp - Ranks meet at rank 0 without MPI ------------------===//

#include "comm/tcp/Rendezvous.h"
#include "comm/tcp/Admission.h"
#include "comm/tcp/Listening.h"
#include "comm/tcp/RendezvousFile.h"
#include "comm/tcp/SocketProcessGroup.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace honert;

namespace {
/// A rank, until all have met.
class Rendezvous {
public:
  Rendezvous(const LauncherEnvironment &place, double timeout)
      : place(place), deadline(timeout),
        peers(place.rank == 0 ? static_cast<size_t>(place.size) : 1) {}

  Status readKey() { return readRunKey(place, key); }
  Status meetAtMaster();
  Status meetByFile(const std::string &path);
  /// As SocketProcessGroup has them.
  std::vector<Socket> takePeers() { return std::move(peers); }

private:
  Status lead(const Listening &listening);
  Status leadAtMaster(int64_t port);
  Status leadByFile(const std::string &path);
  void forgetClosed();
  std::string missing() const;
  Status gather(const std::vector<Socket> &listeners);
  Status follow(const RunKey &runKey,
                const std::vector<SocketAddress> &addresses, bool &isReached);
  Status followMaster(int64_t port);
  Status followFile(const std::string &path);
  Status rest() const;

  const LauncherEnvironment &place;
  RunKey key;
  const Deadline deadline;
  std::vector<Socket> peers;
  /// Until when rank 0 may close connections before it sends a challenge.
  std::optional<Deadline> patience;
};
} // namespace

/// What rank 0 sends to each rank when all are connected.
static constexpr char allAreThere = 1;

static Status about(int64_t rank, const Status &status) {
  if (status.ok())
    return status;
  return Status::error(format("rank %lld %s", static_cast<long long>(rank),
                              status.message().c_str()));
}

//===----------------------------------------------------------------------===//
// Rank 0
//===----------------------------------------------------------------------===//

/// A rank whose connection is gone may come again.
void Rendezvous::forgetClosed() {
  for (int64_t gone; (gone = firstClosed(peers)) >= 0;)
    peers[static_cast<size_t>(gone)] = Socket();
}

std::string Rendezvous::missing() const {
  std::string ranks;
  for (int64_t rank = 1; rank != place.size; ++rank)
    if (!peers[static_cast<size_t>(rank)].isOpen())
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  return ranks;
}

/// Until every rank is there.
Status Rendezvous::gather(const std::vector<Socket> &listeners) {
  Admission admission(key, place.size, [this](int64_t rank) {
    forgetClosed();
    return peers[static_cast<size_t>(rank)].isOpen();
  });
  while (true) {
    forgetClosed();
    std::string ranks = missing();
    if (ranks.empty())
      return Status();
    Guest guest;
    HONERT_TRY(admission.next(listeners, deadline, guest));
    if (!guest.socket.isOpen())
      return Status::error(format(
          "the ranks %s have not come in time (--comm-timeout)%s%s",
          ranks.c_str(), admission.lastRefusal().empty() ? "" : "; refused: ",
          admission.lastRefusal().c_str()));
    peers[static_cast<size_t>(guest.rank)] = std::move(guest.socket);
  }
}

/// Files that may be open: every connection is one, of strangers too.
static void raiseLimit(int64_t ranks) {
  rlimit limit = {};
  rlim_t enough = static_cast<rlim_t>(ranks) + 8192;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= enough)
    return;
  limit.rlim_cur = std::min(limit.rlim_max, enough);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

Status Rendezvous::lead(const Listening &listening) {
  raiseLimit(place.size);
  HONERT_TRY(gather(listening.sockets));
  for (int64_t rank = 1; rank != place.size; ++rank)
    HONERT_TRY(about(rank, sendAll(peers[static_cast<size_t>(rank)],
                                   &allAreThere, 1, deadline)));
  return Status();
}

//===----------------------------------------------------------------------===//
// The other ranks
//===----------------------------------------------------------------------===//

/// Calls rank 0 where it may listen, the likeliest address first. `isReached`:
/// it was there; otherwise it may still start. Errors: another program listens
/// there, or ranks are missing at the deadline.
Status Rendezvous::follow(const RunKey &runKey,
                          const std::vector<SocketAddress> &addresses,
                          bool &isReached) {
  for (const SocketAddress &address : addresses) {
    Deadline soon(answerSeconds);
    Call call(runKey, place.rank, place.size);
    Reply reply = call.open(address, Deadline(answerSeconds, deadline));
    if (reply == Reply::welcome)
      reply = call.introduce(deadline);
    if (reply == Reply::absent)
      continue;
    if (reply == Reply::silent && !patience)
      patience = soon;
    bool mayTryAgain =
        reply == Reply::busy || (reply == Reply::silent && !patience->isOver());
    if (mayTryAgain && !deadline.isOver())
      return Status();
    isReached = reply == Reply::welcome || reply == Reply::refused;
    if (reply != Reply::welcome)
      return Status::error("what listens there " + call.reason());
    peers[0] = std::move(call.connection());
    char heard = 0;
    return about(0, receiveAll(peers[0], &heard, 1, deadline));
  }
  return Status();
}

/// Waits a moment before rank 0 is asked again.
Status Rendezvous::rest() const {
  if (deadline.isOver())
    return Status::error("rank 0 has not come in time (--comm-timeout)");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return Status();
}

//===----------------------------------------------------------------------===//
// By MASTER_ADDR
//===----------------------------------------------------------------------===//

/// What a user may not expect of where rank 0 listens. Not an error without a
/// secret: torchrun has none to give, and meets its own processes so.
static void warn(const Listening &listening, const std::string &master,
                 bool isSecret) {
  std::string text;
  if (!listening.reason.empty())
    text = "MASTER_ADDR " + master + " " + listening.reason + ": ";
  if (!listening.reason.empty() || (!isSecret && !listening.isLoopback))
    text += "rank 0 listens at " + listening.text;
  if (!isSecret && !listening.isLoopback)
    text += " without a secret, so that whoever reaches that can take the "
            "place of a rank (HONE_SECRET_FILE, docs/distributed.md)";
  if (!text.empty())
    std::fprintf(stderr, "warning: %s\n", text.c_str());
}

Status Rendezvous::leadAtMaster(int64_t port) {
  Listening listening;
  HONERT_TRY(listening.atMaster(place, port));
  warn(listening, place.masterAddress, key.isSecret);
  Status met = lead(listening);
  if (met.ok() || !listening.isLoopback || place.localSize == place.size)
    return met;
  return Status::error(met.message() + "; rank 0 listens at " + listening.text +
                       ", which other machines do not reach");
}

Status Rendezvous::followMaster(int64_t port) {
  std::vector<SocketAddress> addresses;
  HONERT_TRY(SocketAddress::find(place.masterAddress, port, addresses));
  for (bool isReached = false; !isReached;) {
    HONERT_TRY(follow(key, addresses, isReached));
    if (!isReached)
      HONERT_TRY(rest());
  }
  return Status();
}

Status Rendezvous::meetAtMaster() {
  int64_t port = place.masterPort + 1;
  if (port > 65535)
    return Status::error("MASTER_PORT is 65535, expected at most 65534: ranks "
                         "meet one port above it");
  Status met = place.rank == 0 ? leadAtMaster(port) : followMaster(port);
  if (met.ok())
    return met;
  return Status::error(
      format("the ranks do not meet at %s:%lld (MASTER_PORT + 1): %s",
             place.masterAddress.c_str(), static_cast<long long>(port),
             met.message().c_str()));
}

//===----------------------------------------------------------------------===//
// By a file
//===----------------------------------------------------------------------===//

Status Rendezvous::leadByFile(const std::string &path) {
  char name[256] = "";
  (void)gethostname(name, sizeof name - 1);
  Listening listening;
  HONERT_TRY(listening.atFreePort(place));
  RendezvousFile file;
  file.hasOtherSecret = key.isSecret;
  file.host = listening.isLoopback ? "127.0.0.1" : name;
  file.port = listening.port, file.run = key.run;
  HONERT_TRY(fillRandom(file.secret.data(), file.secret.size()));
  HONERT_TRY(file.write(path));
  addSecret(file.secret, key);
  Status met = lead(listening);
  file.remove(path);
  return met;
}

/// A file may be of an earlier run, and its port another's by now: what is
/// there then may be gone soon.
Status Rendezvous::followFile(const std::string &path) {
  std::string earlier; // what was wrong
  RendezvousFile file;
  file.hasOtherSecret = key.isSecret;
  for (bool isReached = false; !isReached;) {
    bool isWritten = false;
    HONERT_TRY(file.read(path, isWritten));
    if (isWritten && file.run == key.run) {
      RunKey runKey = key;
      addSecret(file.secret, runKey);
      std::vector<SocketAddress> addresses;
      Status met = SocketAddress::find(file.host, file.port, addresses);
      if (met.ok())
        met = follow(runKey, addresses, isReached);
      if (isReached)
        HONERT_TRY(met);
      if (!met.ok())
        earlier = "; " + met.message();
    }
    if (Status rested = isReached ? Status() : rest(); !rested.ok())
      return Status::error(rested.message() + earlier);
  }
  return Status();
}

Status Rendezvous::meetByFile(const std::string &path) {
  Status met = place.rank == 0 ? leadByFile(path) : followFile(path);
  if (met.ok())
    return met;
  return Status::error("the ranks do not meet at " + path + ": " +
                       met.message());
}

Status honert::connectSockets(const LauncherEnvironment &place,
                              const std::string &bootstrap, double timeout,
                              std::unique_ptr<ProcessGroup> &world) {
  const std::string prefix = "file:";
  bool hasFile = bootstrap.rfind(prefix, 0) == 0;
  if (!hasFile && (place.masterAddress.empty() || place.masterPort == 0))
    return Status::error(
        format("%s started %lld ranks, but MASTER_ADDR and MASTER_PORT do not "
               "say where they meet (or --dist-bootstrap=file:PATH)",
               place.launcher.c_str(), static_cast<long long>(place.size)));
  Rendezvous rendezvous(place, timeout);
  HONERT_TRY(rendezvous.readKey());
  HONERT_TRY(hasFile ? rendezvous.meetByFile(bootstrap.substr(prefix.size()))
                     : rendezvous.meetAtMaster());
  world = std::make_unique<SocketProcessGroup>(place.rank, place.size,
                                               rendezvous.takePeers(), timeout);
  return Status();
}
