//===- Handshake.h - Two processes prove that they are of one run ---------===//
//
// Three messages of fixed size on a new connection. The process that accepted
// it sends a challenge; the other one sends a hello, with a proof that it knows
// the run's secret; the answer has a proof in turn. A proof is an HMAC of all
// earlier messages, of both ends' random numbers and of the rank that was
// called, so that it cannot be replayed elsewhere. What follows on the
// connection is neither encrypted nor signed.
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
  int64_t isEverywhere; ///< it listens at all addresses of its machine
};

struct Hello {
  uint64_t magic;
  Nonce nonce;
  uint64_t run;
  int64_t rank, size;
  int64_t port; ///< where it listens itself; 0: nowhere
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
  int64_t size; ///< how many ranks the process that was called knows of
  Digest proof;
};

/// What Challenge, Hello and Answer begin with.
extern const uint64_t handshakeMagic;

Status makeChallenge(bool isEverywhere, Challenge &challenge);
/// Fills in magic, random number, run and proof of a hello to rank `called`.
Status completeHello(const RunKey &key, int64_t called,
                     const Challenge &challenge, Hello &hello);
/// Whether the sender of a hello to rank `called` knows the secret.
bool knowsSecret(const RunKey &key, int64_t called, const Challenge &challenge,
                 const Hello &hello);
Answer makeAnswer(const RunKey &key, int64_t called, int64_t size,
                  Verdict verdict, const Challenge &challenge,
                  const Hello &hello);

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
  /// A process of rank `rank` of `size` that calls rank `called`.
  Call(const RunKey &key, int64_t rank, int64_t size, int64_t called)
      : key(key), rank(rank), size(size), called(called) {}

  /// Connects, and reads the challenge.
  Reply open(const SocketAddress &address, const Deadline &deadline);
  /// The same on a connection that is there.
  Reply open(Socket connection, const Deadline &deadline);
  /// After open() was welcome. Says hello, with the port at which this process
  /// listens.
  Reply introduce(int64_t port, const Deadline &deadline);

  bool calledIsEverywhere() const { return challenge.isEverywhere != 0; }
  /// Why it was not welcome, as the end of a sentence about the called one.
  const std::string &reason() const { return why; }
  Socket &connection() { return socket; }

private:
  Reply end(Reply reply, const std::string &reason);
  Reply explain(const Answer &answer);

  const RunKey &key;
  const int64_t rank, size, called;
  Socket socket;
  Challenge challenge = {};
  std::string why;
};

} // namespace honert

#endif // HONERT_COMM_TCP_HANDSHAKE_H
