//===- Operation.h - One collective by messages ---------------------------===//

#ifndef HONERT_COMM_HOST_OPERATION_H
#define HONERT_COMM_HOST_OPERATION_H

#include "comm/host/MessageTransport.h"

namespace honert {

/// A launch prepared for this rank. It runs in rounds: each sends and receives,
/// and then combines. Large sums go slice by slice, so that what is received
/// stays small: in each round a slice's parts are exchanged and combined, every
/// rank one of them, while the parts of the slice before are handed out.
class MessageOperation {
public:
  MessageOperation(PointToPoint &peers, CollectiveLog &log,
                   ScratchPool &scratch, const Mesh &mesh,
                   const Launch &launch);

  /// What take() of the pool must give.
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
  PendingMessages pending;
  std::vector<int64_t> group; ///< its ranks
  int64_t own;                ///< number in it
  bool isDirect = false;      ///< a sum so small that every rank makes it all
  int64_t sliceLength = 0;    ///< elements; of all blocks together

  std::vector<const char *> terms; ///< of a round, by rank

  // While it runs.
  int64_t number = 0; ///< of the log's entry
  int64_t round = 0;
  const char *in = nullptr;
  char *out = nullptr, *received = nullptr;
};

} // namespace honert

#endif // HONERT_COMM_HOST_OPERATION_H
