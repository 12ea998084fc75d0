//===- Handshake.h - Two processes prove that they are of one run ---------===//
//
// Three messages of fixed size on a new connection. Rank 0, which accepted it,
// sends a challenge; the other rank sends a hello, with a proof that it knows
// the run's secret; the answer has a proof in turn. A proof is an HMAC of all
// earlier messages, with the random numbers of both ends, so that it cannot be
// replayed on another connection. What follows on the connection is neither
// encrypted nor signed.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_COMM_TCP_HANDSHAKE_H
#define HONERT_COMM_TCP_HANDSHAKE_H

#include "comm/tcp/Secret.h"
#include "comm/tcp/Sockets.h"

namespace honert {

/// How long the accepting process serves a connection without a valid hello.
static constexpr double serviceSeconds = 1;
/// How long the connecting process waits for an answer. Longer, since the other
/// process may serve other connections first.
static constexpr double answerSeconds = 5;

using Nonce = std::array<uint8_t, 32>;

struct Challenge {
  uint64_t magic;
  Nonce nonce;
};

struct Hello {
  uint64_t magic;
  Nonce nonce;
  uint64_t run;
  int64_t rank, size;
  Digest proof;
};

enum class Verdict : int64_t {
  welcome = 1,
  otherSecret,
  otherRun,
  otherSize,
  twice, ///< that rank is there already
  noSuchRank
};

struct Answer {
  uint64_t magic;
  Verdict verdict;
  int64_t size; ///< how many ranks rank 0 expects
  Digest proof;
};

/// What Challenge, Hello and Answer begin with.
extern const uint64_t handshakeMagic;

Status makeChallenge(Challenge &challenge);
/// Fills in magic, random number, run and proof of a hello.
Status completeHello(const RunKey &key, const Challenge &challenge,
                     Hello &hello);
/// Whether the sender of a hello knows the secret.
bool knowsSecret(const RunKey &key, const Challenge &challenge,
                 const Hello &hello);
Answer makeAnswer(const RunKey &key, int64_t size, Verdict verdict,
                  const Challenge &challenge, const Hello &hello);

/// How a call ended.
enum class Reply {
  welcome,
  absent,   ///< no process listens
  silent,   ///< closed or timed out before the challenge
  busy,     ///< closed or timed out after it: the process serves many
  stranger, ///< another program, or another run
  refused   ///< of this run, but it does not expect this process
};

/// The end that connects.
class Call {
public:
  /// A process of rank `rank` of `size` that calls rank 0.
  Call(const RunKey &key, int64_t rank, int64_t size)
      : key(key), rank(rank), size(size) {}

  /// Connects, and reads the challenge.
  Reply open(const SocketAddress &address, const Deadline &deadline);
  /// The same on a connection that is there.
  Reply open(Socket connection, const Deadline &deadline);
  /// After open() was welcome. Says hello.
  Reply introduce(const Deadline &deadline);

  /// Why it was not welcome, as the end of a sentence about the called one.
  const std::string &reason() const { return why; }
  Socket &connection() { return socket; }

private:
  Reply end(Reply reply, const std::string &reason);
  Reply explain(const Answer &answer);

  const RunKey &key;
  const int64_t rank, size;
  Socket socket;
  Challenge challenge = {};
  std::string why;
};

} // namespace honert

#endif // HONERT_COMM_TCP_HANDSHAKE_H
