//===- SocketWorld.cpp - Processes that meet without MPI ------------------===//

#include "comm/SocketWorld.h"
#include "comm/MessageWorld.h"
#include "comm/SocketMeeting.h"
#include "comm/SocketMessenger.h"
#include "comm/Watchdog.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace honert;

namespace {
class SocketWorld final : public MessageWorld {
public:
  SocketWorld(std::unique_ptr<SocketMessenger> messenger, double timeout)
      : MessageWorld(std::move(messenger)), watchdog(log(), rank(), timeout) {
    setTimeout(timeout);
  }

  Status findLost() const override {
    return static_cast<const SocketMessenger &>(*messenger).findLost();
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

/// Where rank 0 listens, as text: "host port run".
struct Written {
  std::string host;
  int64_t port = 0;
  uint64_t run = 0;
};
} // namespace

/// Of what the launcher gives all processes of a run.
static uint64_t runHash() {
  uint64_t hash = 14695981039346656037u; // FNV-1a
  for (const char *variable :
       {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID"}) {
    const char *value = std::getenv(variable);
    for (const char *at = value ? value : ""; *at; ++at)
      hash = (hash ^ static_cast<unsigned char>(*at)) * 1099511628211u;
    hash = (hash ^ '\n') * 1099511628211u;
  }
  return hash;
}

/// Files that may be open: every connection is one.
static void raiseLimit(int64_t ranks) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
      limit.rlim_cur > static_cast<rlim_t>(ranks) + 256)
    return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/// All of it is there, or nothing.
static Status writePlace(const std::string &path, const Written &place) {
  std::string temporary = path + format(".%d", int(getpid()));
  std::ofstream file(temporary);
  file << place.host << ' ' << place.port << ' ' << place.run << '\n';
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0)
    return Status::error(path + ": cannot be written");
  return Status();
}

static bool readPlace(const std::string &path, Written &place) {
  std::ifstream file(path);
  return bool(file >> place.host >> place.port >> place.run);
}

static Status lead(SocketMeeting &meeting, int64_t port,
                   const std::string &file, uint64_t run, int64_t ranks) {
  Socket listener;
  HONERT_TRY(listenAt(port, ranks, listener));
  if (file.empty())
    return meeting.lead(listener);
  char host[256] = "";
  (void)gethostname(host, sizeof host - 1);
  HONERT_TRY(writePlace(file, {host, port, run}));
  Status met = meeting.lead(listener);
  (void)std::remove(file.c_str());
  return met;
}

/// Asks again until rank 0 is there.
static Status follow(SocketMeeting &meeting, const LaunchPlace &place,
                     int64_t port, const std::string &file, uint64_t run) {
  for (bool isThere = false;;) {
    Written where = {place.masterAddress, port, run};
    SocketAddress address;
    bool isKnown = file.empty() || (readPlace(file, where) && where.run == run);
    if (isKnown) {
      HONERT_TRY(SocketAddress::find(where.host, where.port, address));
      Status met = meeting.follow(address, isThere);
      // A file may be of an earlier run, and its port another's by now.
      if (isThere || (!met.ok() && file.empty()))
        return met;
    }
    if (meeting.end().isOver())
      return Status::error("rank 0 has not come in time (--comm-timeout)");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Status honert::connectSockets(const LaunchPlace &place,
                              const std::string &bootstrap, double timeout,
                              std::unique_ptr<World> &world) {
  const std::string prefix = "file:";
  bool hasFile = bootstrap.rfind(prefix, 0) == 0;
  std::string file = hasFile ? bootstrap.substr(prefix.size()) : "";
  if (!hasFile && (place.masterAddress.empty() || place.masterPort == 0))
    return Status::error(
        format("%s started %lld ranks, but MASTER_ADDR and MASTER_PORT do not "
               "say where they meet (or --dist-bootstrap=file:PATH)",
               place.launcher.c_str(), static_cast<long long>(place.size)));
  raiseLimit(place.size);
  int64_t port = hasFile ? 0 : place.masterPort + 1;
  uint64_t run = runHash();
  SocketMeeting meeting(place, run, timeout);
  Status met = place.rank == 0 ? lead(meeting, port, file, run, place.size)
                               : follow(meeting, place, port, file, run);
  if (!met.ok())
    return Status::error(
        format("the ranks do not meet at %s: %s",
               hasFile ? file.c_str()
                       : (place.masterAddress + ":" + std::to_string(port) +
                          " (MASTER_PORT + 1)")
                             .c_str(),
               met.message().c_str()));
  world = std::make_unique<SocketWorld>(
      std::make_unique<SocketMessenger>(place, meeting.takePeers()), timeout);
  return Status();
}
