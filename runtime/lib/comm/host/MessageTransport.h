//===- MessageTransport.h - Collectives on host memory by messages --------===//
//
// Every rank of a group sends each other rank the blocks that it needs, and
// combines what it receives in the order of the ranks. So sums depend neither
// on the order of arrival nor on the network: they are equal on all ranks and,
// bit for bit, those of hone-run. As many bytes are sent as by a ring; on
// shared cores it takes as long as MPI_Allreduce (docs/rationale/sharding.md).
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_COMM_HOST_MESSAGETRANSPORT_H
#define HONERT_COMM_HOST_MESSAGETRANSPORT_H

#include "comm/host/PendingMessages.h"
#include "program/Transport.h"

#include <map>

namespace honert {

class MessageOperation;

/// Memory for received data that is not kept: one piece for each operation that
/// is running.
class ScratchPool {
public:
  /// Pieces have at least `bytes` bytes; to be called before the first take().
  void reserve(int64_t bytes);
  char *take();
  void give(char *piece) { unused.push_back(piece); }

private:
  int64_t pieceBytes = 0;
  std::vector<std::unique_ptr<char[]>> pieces;
  std::vector<char *> unused;
};

class MessageTransport final : public Transport {
public:
  /// `peers` reaches all ranks of `mesh`; all three outlive the transport.
  MessageTransport(PointToPoint &peers, CollectiveLog &log, const Mesh &mesh);
  ~MessageTransport() override;

  Status prepare(const Launch &launch) override;
  Status run(const Launch &launch, char *memory) override;
  Status wait(int64_t token) override;

private:
  PointToPoint &peers;
  CollectiveLog &log;
  const Mesh &mesh;
  ScratchPool scratch;
  /// Ranks run the collectives within their stage in one order, and those
  /// between stages, but not one order of both: they have even and odd tags.
  int64_t nextTags[2] = {0, 1};
  std::map<const Launch *, std::unique_ptr<MessageOperation>> operations;
  std::map<int64_t, MessageOperation *> begun; // by token
};

} // namespace honert

#endif // HONERT_COMM_HOST_MESSAGETRANSPORT_H
