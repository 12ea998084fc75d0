//===- ProcessGroup.h - The processes of a run ----------------------------===//
//
// One process per rank. ProcessGroup is the control plane: small messages in
// host memory between all processes, before and between steps. What the
// program's collectives move goes through a Transport.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_PROGRAM_PROCESSGROUP_H
#define HONERT_PROGRAM_PROCESSGROUP_H

#include "base/Status.h"
#include "program/CollectiveLog.h"
#include "program/Mesh.h"

#include <cstdint>
#include <memory>

namespace honert {

class Channels;
class Transport;

class ProcessGroup {
public:
  virtual ~ProcessGroup();

  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  bool isFirst() const { return rank() == 0; }

  /// Every process gets `bytes` bytes of `root`.
  virtual Status broadcast(void *data, int64_t bytes, int64_t root) = 0;
  /// `all` holds `bytes` bytes of each process, by rank.
  virtual Status allGather(const void *own, int64_t bytes, void *all) = 0;
  /// Returns when all have called it.
  Status barrier();

  /// Combines the results of all processes. Success if all succeeded; a process
  /// that failed returns its own error, the others an error that names the
  /// first rank that failed. Called by all.
  Status agree(const Status &own);

  /// Makes the transport for collectives on host memory of a program on `mesh`,
  /// which has as many ranks as there are processes. Null: there is none.
  virtual std::unique_ptr<Transport> makeTransport(const Mesh &mesh);
  /// Makes what moves bytes of an arena in host memory between stages. Null:
  /// there is none.
  virtual std::unique_ptr<Channels> makeChannels(char *arena);
  /// The latest collectives of this process, for messages about failures.
  CollectiveLog &log() { return collectives; }
  /// How many seconds a wait for other ranks may take; 0: no limit.
  double timeout() const { return patience; }
  void setTimeout(double seconds) { patience = seconds; }

  /// An error if another rank is known to have ended, by its connection. May be
  /// called by any thread.
  virtual Status findLost() { return Status(); }
  /// The last call of a process, with the result of its run. An error that the
  /// other processes do not know ends them too.
  virtual void leave(const Status &ended) {}

protected:
  /// Whether all processes know of a failure, from the latest agree().
  bool failureIsKnown = false;

private:
  CollectiveLog collectives;
  double patience = 600;
};

} // namespace honert

#endif // HONERT_PROGRAM_PROCESSGROUP_H
