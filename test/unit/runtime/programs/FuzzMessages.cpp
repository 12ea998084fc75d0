//===- FuzzMessages.cpp - What ranks hear, with bytes changed -------------===//
//
// honert-fuzz-messages [--iterations N] [--seed S] [--seconds S]: each
// iteration feeds bytes that a rank may hear to one of those that read them:
// messages of rank 0 and to it, the handshake from both ends, the file of
// --dist-bootstrap. Most are right but for a few changes. What they answer does
// not matter; a crash, a wait without end, or memory taken for what did not
// come, ends the program. For use with sanitizers too.
//
//===----------------------------------------------------------------------===//

#include "comm/tcp/Admission.h"
#include "comm/tcp/RendezvousFile.h"
#include "comm/tcp/SocketProcessGroup.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

using namespace honert;

/// More than anything here has a reason to take: what comes is a few KiB.
static constexpr size_t mostMemory = 4 << 20;

void *operator new(size_t bytes) {
  if (bytes > mostMemory) {
    std::fprintf(stderr, "%zu bytes are taken for a few that came\n", bytes);
    std::abort();
  }
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  std::abort();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {
class Fuzzer {
public:
  explicit Fuzzer(uint64_t seed) : random(seed) {
    (void)readRunKey(LauncherEnvironment(), key);
  }
  void run(int64_t iteration);
  /// How many of each kind were taken for right.
  int64_t taken[4] = {};

private:
  uint64_t below(uint64_t bound) { return random() % bound; }
  void change(std::string &bytes);
  void makePair(Socket &here, Socket &there);
  static void put(const Socket &socket, const std::string &bytes);
  void feedMessages();
  void feedAdmission();
  void feedCall();
  void feedFile();

  std::mt19937_64 random;
  RunKey key;
  const Deadline past{1e-9};
};
} // namespace

/// Numbers at which checks go wrong.
static const int64_t edges[] = {
    0,     1,     -1,    INT64_MAX,  INT64_MIN, 1 << 30, (1 << 30) + 1,
    32767, 32768, 65536, 40000000000};

void Fuzzer::change(std::string &bytes) {
  for (uint64_t changes = below(4); changes > 0 && !bytes.empty(); --changes) {
    size_t at = below(bytes.size());
    switch (below(4)) {
    case 0:
      bytes[at] = static_cast<char>(random());
      break;
    case 1:
      bytes.resize(at);
      break;
    case 2:
      bytes.insert(at, std::string(below(40), static_cast<char>(random())));
      break;
    case 3:
      at = at / 8 * 8;
      if (at + 8 <= bytes.size())
        std::memcpy(&bytes[at], &edges[below(std::size(edges))], 8);
    }
  }
}

void Fuzzer::makePair(Socket &here, Socket &there) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                 ends) != 0)
    std::abort();
  here = Socket(ends[0]), there = Socket(ends[1]);
}

void Fuzzer::put(const Socket &socket, const std::string &bytes) {
  if (!bytes.empty() &&
      !sendAll(socket, bytes.data(), bytes.size(), Deadline(10)).ok())
    std::abort();
}

template <typename Value> static std::string bytesOf(const Value &value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

/// A rank that expects some messages of the other end, which then closes.
void Fuzzer::feedMessages() {
  std::vector<Socket> peers(2);
  Socket there;
  bool isFirst = below(2) == 0;
  makePair(peers[isFirst ? 1 : 0], there);
  if (!isFirst)
    peers.resize(1);
  int64_t sizes[4];
  std::string bytes;
  for (int64_t &size : sizes) {
    size = int64_t(below(64));
    for (uint64_t notices = isFirst ? 0 : below(3); notices > 0; --notices)
      bytes += bytesOf(Frame{Frame::awaits, int64_t(below(2))});
    bytes += bytesOf(Frame{Frame::data, size}) + std::string(size_t(size), 'x');
  }
  change(bytes);
  put(there, bytes);
  shutdown(there.get(), SHUT_WR);
  SocketProcessGroup world(isFirst ? 0 : 1, 2, std::move(peers), 60);
  char room[64];
  for (int64_t size : sizes) {
    if (below(4) == 0)
      (void)world.findLost();
    taken[0] += world.broadcast(room, size, isFirst ? 1 : 0).ok();
  }
}

/// What is said to a rank that listens.
void Fuzzer::feedAdmission() {
  Socket here, there;
  makePair(here, there);
  Admission admission(key, 4, [](int64_t) { return false; });
  if (!admission.add(std::move(here), SocketAddress::everywhere(1)).ok())
    std::abort();
  Challenge challenge;
  Hello hello = {};
  hello.rank = 1, hello.size = 4;
  if (recv(there.get(), &challenge, sizeof challenge, 0) != sizeof challenge ||
      !completeHello(key, challenge, hello).ok())
    std::abort();
  std::string right = bytesOf(hello), bytes = right;
  change(bytes);
  size_t first = below(bytes.size() + 1);
  put(there, bytes.substr(0, first));
  Guest guest;
  bool isBelieved = admission.serve(guest);
  (void)!send(there.get(), bytes.data() + first, bytes.size() - first,
              MSG_NOSIGNAL); // it may have been sent away
  if (below(8) == 0)
    there = Socket();
  admission.wait({}, past);
  isBelieved |= admission.serve(guest);
  if (isBelieved && bytes.compare(0, right.size(), right) != 0) {
    std::fprintf(stderr, "a hello without a proof is believed\n");
    std::abort();
  }
  taken[1] += isBelieved;
}

/// What is said to a rank that calls. Its own number it draws later: a proof
/// that holds is not among these.
void Fuzzer::feedCall() {
  Socket here, there;
  makePair(here, there);
  Challenge challenge;
  if (!makeChallenge(challenge).ok())
    std::abort();
  Hello hello = {};
  auto verdict = static_cast<Verdict>(below(8));
  std::string bytes = bytesOf(challenge) +
                      bytesOf(makeAnswer(key, 4, verdict, challenge, hello));
  change(bytes);
  put(there, bytes);
  shutdown(there.get(), SHUT_WR);
  Call call(key, 1, 4);
  if (call.open(std::move(here), Deadline(10)) != Reply::welcome)
    return;
  ++taken[2];
  if (call.introduce(Deadline(10)) == Reply::welcome) {
    std::fprintf(stderr, "an answer without a proof is believed\n");
    std::abort();
  }
}

void Fuzzer::feedFile() {
  RendezvousFile file;
  file.host = "node0", file.port = 29501, file.run = key.run;
  std::string text = file.text();
  change(text);
  if (!file.parse(text))
    return;
  ++taken[3];
  if (file.port <= 0 || file.port > 65535)
    std::abort();
}

void Fuzzer::run(int64_t iteration) {
  switch (iteration % 8) {
  case 1:
    return feedFile();
  case 2:
    return feedCall();
  case 3:
    return feedAdmission();
  default:
    return feedMessages();
  }
}

int main(int argc, char **argv) {
  int64_t iterations = 100000, seed = 1, seconds = INT32_MAX;
  for (int i = 1; i < argc; i += 2) {
    std::string flag = argv[i];
    int64_t *number = flag == "--iterations" ? &iterations
                      : flag == "--seed"     ? &seed
                      : flag == "--seconds"  ? &seconds
                                             : nullptr;
    char *end = nullptr;
    int64_t value = i + 1 < argc ? std::strtoll(argv[i + 1], &end, 10) : -1;
    if (!number || !end || *end || value < 0) {
      std::fprintf(
          stderr,
          "error: %s: expected --iterations N, --seed N or --seconds N\n",
          flag.c_str());
      return 2;
    }
    *number = value;
  }
  Fuzzer fuzzer(static_cast<uint64_t>(seed));
  Deadline end(static_cast<double>(seconds));
  int64_t done = 0;
  for (; done != iterations && !end.isOver(); ++done)
    fuzzer.run(done);
  std::printf("%lld inputs: %lld messages, %lld hellos, %lld challenges and "
              "%lld files were right\n",
              static_cast<long long>(done),
              static_cast<long long>(fuzzer.taken[0]),
              static_cast<long long>(fuzzer.taken[1]),
              static_cast<long long>(fuzzer.taken[2]),
              static_cast<long long>(fuzzer.taken[3]));
  for (int64_t count : fuzzer.taken)
    if (count == 0 && done >= 1000) {
      std::fprintf(stderr, "error: of some kind no input was right\n");
      return 1;
    }
  return 0;
}
