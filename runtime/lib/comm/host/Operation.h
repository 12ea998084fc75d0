//===- Operation.h - One collective by messages ---------------------------===//

#ifndef HONERT_COMM_HOST_OPERATION_H
#define HONERT_COMM_HOST_OPERATION_H

#include "comm/host/MessageTransport.h"

namespace honert {

/// A collective prepared for this rank. It runs in rounds, each of which sends
/// and receives, and then combines. Large sums run slice by slice to bound the
/// memory for received data: in each round every rank receives and combines one
/// block of a slice, while it sends its block of the slice before to all.
class MessageOperation {
public:
  /// Each run takes `nextTag` and leaves the second one after it.
  MessageOperation(PointToPoint &peers, CollectiveLog &log,
                   ScratchPool &scratch, int64_t &nextTag, const Mesh &mesh,
                   const Launch &launch);

  /// Bytes that a piece of the pool must have.
  int64_t scratchBytes() const;
  /// Sends what the first round sends.
  Status begin(char *memory);
  /// Returns when `out` is complete and `in` is no longer read.
  Status finish();

private:
  bool reduces() const;
  int64_t ranks() const { return static_cast<int64_t>(group.size()); }
  int64_t slices() const;
  int64_t partBegin(int64_t slice, int64_t part) const;
  int64_t receivedBytes() const;

  void copyOwn();
  Status post();
  Status postMove();
  Status postTerms();
  Status postSums();
  void combineTerms();

  template <typename Place> Status sendAll(Place place);
  template <typename Place> Status receiveAll(Place place);

  const CollectiveLaunch &launch;
  const std::string text; ///< for the log
  CollectiveLog &log;
  ScratchPool &scratch;
  int64_t &nextTag;
  PendingMessages pending;
  std::vector<int64_t> group; ///< its ranks
  int64_t own;                ///< number in it
  bool isDirect = false;      ///< a small sum: every rank computes all of it
  int64_t sliceLength = 0;    ///< elements; of all blocks together

  std::vector<const char *> terms; ///< of a round, by rank

  // While it runs.
  int64_t number = 0; ///< of the log's entry
  int64_t tag = 0;
  int64_t round = 0;
  const char *in = nullptr;
  char *out = nullptr, *received = nullptr;
};

} // namespace honert

#endif // HONERT_COMM_HOST_OPERATION_H
