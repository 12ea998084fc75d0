//===- SocketProcessGroup.cpp - Processes that meet without MPI -----------===//

#include "comm/tcp/SocketProcessGroup.h"
#include "comm/group/Watchdog.h"
#include "comm/host/MessageProcessGroup.h"
#include "comm/tcp/Listening.h"
#include "comm/tcp/Rendezvous.h"
#include "comm/tcp/RendezvousFile.h"
#include "comm/tcp/SocketPointToPoint.h"

#include <algorithm>
#include <cstdio>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace honert;

namespace {
class SocketProcessGroup final : public MessageProcessGroup {
public:
  SocketProcessGroup(std::unique_ptr<SocketPointToPoint> peers, double timeout)
      : MessageProcessGroup(std::move(peers)),
        watchdog(log(), rank(), timeout) {
    setTimeout(timeout);
  }

  Status findLost() const override {
    return static_cast<const SocketPointToPoint &>(*peers).findLost();
  }
  /// A rank that closes its connections ends the others: after an error at
  /// once, else when all have come here.
  void leave(const Status &ended) override {
    if (ended.ok())
      (void)barrier();
  }

private:
  Watchdog watchdog;
};
} // namespace

/// Files that may be open: every connection is one, of strangers too.
static void raiseLimit(int64_t ranks) {
  rlimit limit = {};
  rlim_t enough = static_cast<rlim_t>(ranks) + 8192;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= enough)
    return;
  limit.rlim_cur = std::min(limit.rlim_max, enough);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

namespace {
/// The ranks of a launch, until they have met.
struct Start {
  const LauncherEnvironment &place;
  RunKey key;
  Deadline deadline;
  std::vector<Socket> peers; ///< of those who have met
};
} // namespace

static Status lead(Start &start, const Listening &listening) {
  Rendezvous rendezvous(start.place, start.key, start.deadline);
  Status met = rendezvous.lead(listening.sockets, listening.isEverywhere);
  start.peers = rendezvous.takePeers();
  return met;
}

/// Waits a moment before rank 0 is asked again.
static Status rest(const Start &start) {
  if (start.deadline.isOver())
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

static Status leadAtMaster(Start &start, int64_t port) {
  const LauncherEnvironment &place = start.place;
  Listening listening;
  HONERT_TRY(listening.atMaster(place, port));
  warn(listening, place.masterAddress, start.key.isSecret);
  Status met = lead(start, listening);
  if (met.ok() || !listening.isLoopback || place.localSize == place.size)
    return met;
  return Status::error(met.message() + "; rank 0 listens at " + listening.text +
                       ", which other machines do not reach");
}

static Status followMaster(Start &start, int64_t port) {
  Rendezvous rendezvous(start.place, start.key, start.deadline);
  std::vector<SocketAddress> addresses;
  HONERT_TRY(SocketAddress::find(start.place.masterAddress, port, addresses));
  for (bool isThere = false; !isThere;) {
    HONERT_TRY(rendezvous.follow(addresses, isThere));
    if (!isThere)
      HONERT_TRY(rest(start));
  }
  start.peers = rendezvous.takePeers();
  return Status();
}

static Status meetAtMaster(Start &start) {
  const LauncherEnvironment &place = start.place;
  int64_t port = place.masterPort + 1;
  if (port > 65535)
    return Status::error("MASTER_PORT is 65535, expected at most 65534: ranks "
                         "meet one port above it");
  Status met =
      place.rank == 0 ? leadAtMaster(start, port) : followMaster(start, port);
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

static Status leadByFile(Start &start, const std::string &path) {
  char name[256] = "";
  (void)gethostname(name, sizeof name - 1);
  Listening listening;
  HONERT_TRY(listening.atFreePort(start.place));
  RendezvousFile file;
  file.hasOtherSecret = start.key.isSecret;
  file.host = listening.isLoopback ? "127.0.0.1" : name;
  file.port = listening.port, file.run = start.key.run;
  HONERT_TRY(fillRandom(file.secret.data(), file.secret.size()));
  HONERT_TRY(file.write(path));
  addSecret(file.secret, start.key);
  Status met = lead(start, listening);
  file.remove(path);
  return met;
}

/// A file may be of an earlier run, and its port another's by now: what is
/// there then may be gone soon.
static Status followFile(Start &start, const std::string &path) {
  std::string earlier; // what was wrong
  RendezvousFile file;
  file.hasOtherSecret = start.key.isSecret;
  for (bool isThere = false; !isThere;) {
    bool isWritten = false;
    HONERT_TRY(file.read(path, isWritten));
    if (isWritten && file.run == start.key.run) {
      RunKey key = start.key;
      addSecret(file.secret, key);
      Rendezvous rendezvous(start.place, key, start.deadline);
      std::vector<SocketAddress> addresses;
      Status met = SocketAddress::find(file.host, file.port, addresses);
      if (met.ok())
        met = rendezvous.follow(addresses, isThere);
      if (isThere)
        HONERT_TRY(met);
      if (!met.ok())
        earlier = "; " + met.message();
      start.peers = rendezvous.takePeers();
    }
    if (Status rested = isThere ? Status() : rest(start); !rested.ok())
      return Status::error(rested.message() + earlier);
  }
  return Status();
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
  Start start = {place, {}, Deadline(timeout), {}};
  HONERT_TRY(readRunKey(place, start.key));
  raiseLimit(place.size);
  if (hasFile) {
    std::string path = bootstrap.substr(prefix.size());
    Status met =
        place.rank == 0 ? leadByFile(start, path) : followFile(start, path);
    if (!met.ok())
      return Status::error("the ranks do not meet at " + path + ": " +
                           met.message());
  } else {
    HONERT_TRY(meetAtMaster(start));
  }
  world = std::make_unique<SocketProcessGroup>(
      std::make_unique<SocketPointToPoint>(place, std::move(start.peers)),
      timeout);
  return Status();
}
