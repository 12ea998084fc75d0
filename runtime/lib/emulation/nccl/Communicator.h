//===- Communicator.h - A communicator of the fake NCCL -------------------===//

#ifndef HONERT_EMULATION_NCCL_COMMUNICATOR_H
#define HONERT_EMULATION_NCCL_COMMUNICATOR_H

#include "emulation/nccl/FakeNccl.h"
#include "emulation/nccl/Rendezvous.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace honert::fake {

/// What ranks do together, as each shows the others: equal on all, but for
/// peers.
struct Operation {
  enum Kind : int64_t { allReduce, allGather, reduceScatter, messages };
  Kind kind;
  int64_t count, type, op; ///< elements of a rank's own block
  int64_t number;          ///< of the communicator's operations
  int64_t registered;      ///< bytes, of all memory so far
  bool isRecorded;         ///< part of a graph

  bool operator==(const Operation &other) const;
  std::string text() const;
};

/// One side of a message; of the other its peer.
struct MessageEnd {
  const char *from; ///< or null
  char *to;         ///< or null
  int64_t bytes;
  int peer;
};

// Communicators are shared: what a stream does may outlive one.
void add(const std::shared_ptr<NcclComm> &comm);
std::shared_ptr<NcclComm> find(ncclComm_t comm);
std::shared_ptr<NcclComm> remove(ncclComm_t comm);

/// The calling thread only waits for messages; it does nothing else of a
/// device.
extern thread_local bool isPassage;

/// Lists a mistake of the calling rank.
ncclResult_t ncclMistake(ncclResult_t result, const std::string &text);
/// `shared` is the communicator, for a call of `function`, or the call fails:
/// there is none, or another call of it goes on.
ncclResult_t use(ncclComm_t comm, const char *function,
                 std::shared_ptr<NcclComm> &shared);
/// From now on a call goes on in the background, until `pending` is done.
ncclResult_t goOn(NcclComm &comm, std::function<bool()> pending = {});

/// Runs an operation with the other ranks; the work of a stream.
CUresult meet(NcclComm &comm, const Operation &operation, const char *in,
              char *out, const std::vector<MessageEnd> &ends);

} // namespace honert::fake

/// Returns from a fake function that has to fail.
#define FAKE_NCCL_ENTER(...)                                                   \
  if (honert::ncclResult_t failed = honert::fake::state().enter(__VA_ARGS__))  \
  return failed

struct honert::NcclComm {
  honert::fake::State *owner;
  std::shared_ptr<honert::fake::Rendezvous> rendezvous;
  int64_t issued = 0, executed = 0; ///< operations
  int64_t operations = 0;           ///< issued or recorded
  int64_t registered = 0;
  std::atomic<bool> isAborted{false};

  std::mutex mutex; ///< of the state below, which any thread may ask for
  honert::ncclResult_t state = honert::ncclSuccess;
  int polls = 0; ///< how often it still says that the call goes on
  /// What else goes on: true once it is done.
  std::function<bool()> pending;

  /// Waits until all ranks have come `times` times. Not so: the communicator
  /// was aborted, or a rank stays away, which is a mistake in `what`.
  bool await(int64_t times, const std::string &what);
};

#endif // HONERT_EMULATION_NCCL_COMMUNICATOR_H
