//===- Admission.cpp - Handshakes of connections that arrive --------------===//

#include "comm/tcp/Admission.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/resource.h>

using namespace honert;

using Clock = Deadline::Clock;

/// How long the oldest keeps its place when there is no other left: a rank
/// answers sooner.
static constexpr double shortestService = 0.1;

static double secondsSince(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}

/// As many as files may be open, besides those of ranks.
static size_t mostStrangers(int64_t ranks) {
  constexpr int64_t fewest = 16, enough = 4096, others = 64;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return fewest;
  auto files =
      static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, rlim_t(1) << 30));
  return static_cast<size_t>(
      std::clamp(files - ranks - others, fewest, enough));
}

Admission::Admission(const RunKey &key, int64_t size,
                     std::function<bool(int64_t)> isThere)
    : key(key), size(size), isThere(std::move(isThere)),
      most(mostStrangers(size)) {}

/// The oldest of too many makes room once it had a moment.
bool Admission::hasRoom() const {
  return strangers.size() < most ||
         secondsSince(strangers.front().came) > shortestService;
}

Status Admission::add(Socket socket, const SocketAddress &from) {
  Stranger stranger = {std::move(socket), from, Clock::now(), {}};
  HONERT_TRY(makeChallenge(stranger.challenge));
  if (strangers.size() >= most)
    strangers.pop_front();
  // A new connection has room for so few bytes.
  if (send(stranger.socket.get(), &stranger.challenge,
           sizeof stranger.challenge,
           MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof stranger.challenge)
    strangers.push_back(std::move(stranger));
  return Status();
}

/// Fewer files can be open than it seemed.
Status Admission::makeRoom(int error) {
  if (strangers.empty())
    return Status::error(std::string("a connection cannot be taken: ") +
                         std::strerror(error));
  most = strangers.size();
  if (hasRoom())
    strangers.pop_front();
  return Status();
}

Status Admission::acceptAll(const std::vector<Socket> &listeners) {
  constexpr int burst = 256; // those who are there are served in between
  for (const Socket &listener : listeners)
    for (int i = 0; i != burst && hasRoom(); ++i) {
      Socket socket;
      SocketAddress from;
      if (acceptFrom(listener, socket, from)) {
        HONERT_TRY(add(std::move(socket), from));
        continue;
      }
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
          errno == ENOMEM)
        HONERT_TRY(makeRoom(errno));
      if (errno != ECONNABORTED && errno != EINTR)
        break;
    }
  return Status();
}

bool Admission::hear(Stranger &stranger) const {
  auto *bytes = reinterpret_cast<char *>(&stranger.hello);
  ssize_t came = recv(stranger.socket.get(), bytes + stranger.bytes,
                      sizeof stranger.hello - stranger.bytes, MSG_DONTWAIT);
  stranger.isReady = false;
  if (came <= 0)
    return came < 0 && (errno == EAGAIN || errno == EINTR);
  stranger.bytes += static_cast<size_t>(came);
  return std::memcmp(&stranger.hello, &handshakeMagic,
                     std::min(stranger.bytes, sizeof handshakeMagic)) == 0;
}

/// Whether the one who said hello is welcome, and knows it.
bool Admission::answer(Stranger &stranger) {
  const Hello &hello = stranger.hello;
  Verdict verdict = Verdict::welcome;
  const char *why = "";
  if (!knowsSecret(key, stranger.challenge, hello))
    verdict = Verdict::otherSecret, why = "has another secret";
  else if (hello.run != key.run)
    verdict = Verdict::otherRun, why = "is of another run";
  else if (hello.size != size)
    verdict = Verdict::otherSize, why = "is of another number of ranks";
  else if (hello.rank < 1 || hello.rank >= size)
    verdict = Verdict::noSuchRank, why = "is no rank that joins this run";
  else if (isThere(hello.rank))
    verdict = Verdict::twice, why = "is there already";
  if (verdict != Verdict::welcome)
    refusal = format(
        "rank %lld of %lld from %s %s", static_cast<long long>(hello.rank),
        static_cast<long long>(hello.size), stranger.from.text().c_str(), why);
  Answer answer = makeAnswer(key, size, verdict, stranger.challenge, hello);
  bool isSent =
      send(stranger.socket.get(), &answer, sizeof answer,
           MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof answer);
  return isSent && verdict == Verdict::welcome;
}

bool Admission::serve(Guest &guest) {
  for (auto at = strangers.begin(); at != strangers.end();) {
    bool stays =
        (!at->isReady || hear(*at)) && secondsSince(at->came) <= serviceSeconds;
    bool isWhole = at->bytes == sizeof at->hello;
    if (stays && isWhole && answer(*at)) {
      guest = {std::move(at->socket), at->hello.rank};
      strangers.erase(at);
      return true;
    }
    at = stays && !isWhole ? std::next(at) : strangers.erase(at);
  }
  return false;
}

void Admission::wait(const std::vector<Socket> &listeners,
                     const Deadline &deadline) {
  std::vector<pollfd> polled;
  for (const Stranger &stranger : strangers)
    polled.push_back({stranger.socket.get(), POLLIN, 0});
  double left = 1;
  if (!strangers.empty())
    left = serviceSeconds - secondsSince(strangers.front().came);
  if (hasRoom())
    for (const Socket &listener : listeners)
      polled.push_back({listener.get(), POLLIN, 0});
  else
    left = shortestService - secondsSince(strangers.front().came);
  int milliseconds = static_cast<int>(std::clamp(left, 0.0, 1.0) * 1000) + 1;
  (void)poll(polled.data(), polled.size(),
             std::min(milliseconds, deadline.milliseconds()));
  size_t number = 0;
  for (Stranger &stranger : strangers)
    stranger.isReady |= polled[number++].revents != 0;
}

Status Admission::next(const std::vector<Socket> &listeners,
                       const Deadline &deadline, Guest &guest) {
  guest.socket = Socket();
  while (!deadline.isOver()) {
    if (serve(guest))
      return Status();
    wait(listeners, deadline);
    HONERT_TRY(acceptAll(listeners));
  }
  return Status();
}
