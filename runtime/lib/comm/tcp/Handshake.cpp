//===- Handshake.cpp - Two processes prove that they are of one run -------===//

#include "comm/tcp/Handshake.h"

#include <cstring>

using namespace honert;

/// Not what another service sends; the last byte in memory is the version.
const uint64_t honert::handshakeMagic = 0x33656e6f486f6e65;

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

namespace {
/// All that a proof is about: no two kinds of proof are of equal bytes.
struct Said {
  int64_t kind;
  Challenge challenge;
  Hello hello;
  Answer answer;
};
enum Kind : int64_t { ofHello = 1, ofAnswer };
} // namespace

static_assert(sizeof(Challenge) == 40 && sizeof(Hello) == 96 &&
                  sizeof(Answer) == 56 && sizeof(Said) == 8 + 40 + 96 + 56,
              "messages without padding");

static Digest prove(const RunKey &key, const Said &said) {
  return hmacSha256(key.key, &said, sizeof said);
}

static Digest proveHello(const RunKey &key, const Challenge &challenge,
                         const Hello &hello) {
  Said said = {ofHello, challenge, hello, {}};
  said.hello.proof = {};
  return prove(key, said);
}

static Digest proveAnswer(const RunKey &key, const Challenge &challenge,
                          const Hello &hello, const Answer &answer) {
  Said said = {ofAnswer, challenge, hello, answer};
  said.answer.proof = {};
  return prove(key, said);
}

Status honert::makeChallenge(Challenge &challenge) {
  challenge.magic = handshakeMagic;
  return fillRandom(challenge.nonce.data(), challenge.nonce.size());
}

Status honert::completeHello(const RunKey &key, const Challenge &challenge,
                             Hello &hello) {
  hello.magic = handshakeMagic;
  hello.run = key.run;
  HONERT_TRY(fillRandom(hello.nonce.data(), hello.nonce.size()));
  hello.proof = proveHello(key, challenge, hello);
  return Status();
}

bool honert::knowsSecret(const RunKey &key, const Challenge &challenge,
                         const Hello &hello) {
  return isEqualInConstantTime(proveHello(key, challenge, hello), hello.proof);
}

Answer honert::makeAnswer(const RunKey &key, int64_t size, Verdict verdict,
                          const Challenge &challenge, const Hello &hello) {
  Answer answer = {handshakeMagic, verdict, size, {}};
  answer.proof = proveAnswer(key, challenge, hello, answer);
  return answer;
}

//===----------------------------------------------------------------------===//
// Calling
//===----------------------------------------------------------------------===//

Reply Call::end(Reply reply, const std::string &reason) {
  why = reason;
  socket = Socket();
  return reply;
}

Reply Call::open(const SocketAddress &address, const Deadline &deadline) {
  Socket connection;
  if (Status status = connectTo(address, deadline, connection); !status.ok())
    return end(Reply::absent, status.message());
  if (!connection.isOpen())
    return end(Reply::absent, "cannot be reached");
  return open(std::move(connection), deadline);
}

Reply Call::open(Socket connection, const Deadline &deadline) {
  socket = std::move(connection);
  Status status = receiveAll(socket, &challenge, sizeof challenge,
                             Deadline(answerSeconds, deadline));
  if (!status.ok())
    return end(Reply::silent, status.message());
  if (challenge.magic != handshakeMagic)
    return end(Reply::stranger, "is no process of Hone");
  return Reply::welcome;
}

Reply Call::introduce(const Deadline &deadline) {
  Deadline soon(answerSeconds, deadline);
  Hello hello = {};
  hello.rank = rank, hello.size = size;
  Answer answer = {};
  Status status = completeHello(key, challenge, hello);
  if (!status.ok())
    return end(Reply::stranger, status.message());
  status = sendAll(socket, &hello, sizeof hello, soon);
  if (status.ok())
    status = receiveAll(socket, &answer, sizeof answer, soon);
  if (!status.ok())
    return end(Reply::busy, status.message());
  if (answer.magic != handshakeMagic)
    return end(Reply::stranger, "is no process of Hone");
  if (answer.verdict == Verdict::otherSecret)
    return end(Reply::stranger,
               format("has another secret than this process%s (HONE_SECRET, "
                      "HONE_SECRET_FILE)",
                      key.isSecret ? "" : ", which has none"));
  Digest proof = proveAnswer(key, challenge, hello, answer);
  if (!isEqualInConstantTime(proof, answer.proof))
    return end(Reply::stranger, "does not know the secret of this run");
  return answer.verdict == Verdict::welcome ? Reply::welcome : explain(answer);
}

/// What one of this run has against this process.
Reply Call::explain(const Answer &answer) {
  auto own = static_cast<long long>(rank);
  switch (answer.verdict) {
  case Verdict::otherRun:
    return end(Reply::stranger, "is of another run");
  case Verdict::otherSize:
    return end(Reply::refused, format("is of %lld ranks, this process of %lld",
                                      static_cast<long long>(answer.size),
                                      static_cast<long long>(size)));
  case Verdict::twice:
    return end(Reply::refused, format("has a rank %lld already", own));
  default:
    return end(Reply::refused, format("does not expect rank %lld", own));
  }
}
