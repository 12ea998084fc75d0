//===- SocketProcessGroup.h - Ranks connected to rank 0 -------------------===//

#ifndef HONERT_COMM_TCP_SOCKETPROCESSGROUP_H
#define HONERT_COMM_TCP_SOCKETPROCESSGROUP_H

#include "comm/group/Watchdog.h"
#include "comm/tcp/Sockets.h"
#include "program/ProcessGroup.h"

#include <functional>
#include <mutex>

namespace honert {

/// What rank 0 and another rank send each other: a frame, and behind one of
/// `data` its bytes.
struct Frame {
  enum Kind : int64_t {
    data = 1, ///< `value` bytes follow
    awaits,   ///< from rank 0, which waits for rank `value` of all
    left      ///< from rank 0: rank `value` has left the run
  };
  int64_t kind, value;
};

/// A star: each rank has one connection, to rank 0, which collects and
/// distributes. This is the control plane of programs on GPUs, whose
/// collectives are NCCL's; it serves up to about a thousand ranks.
///
/// A connection that closes means that its rank has left. Rank 0 looks for that
/// all the time and tells the others which rank it was, so that every error
/// names it. After an error every call returns the same error.
class SocketProcessGroup final : public ProcessGroup {
public:
  /// `peers` of rank 0: the connections by rank; of another rank: that to
  /// rank 0 alone. A wait of more than `timeout` seconds (0: no limit) ends the
  /// process.
  SocketProcessGroup(int64_t rank, int64_t size, std::vector<Socket> peers,
                     double timeout);

  int64_t rank() const override { return ownRank; }
  int64_t size() const override { return ranks; }
  Status broadcast(void *data, int64_t bytes, int64_t root) override;
  Status allGather(const void *own, int64_t bytes, void *all) override;
  Status findLost() override;
  void leave(const Status &ended) override;

private:
  Status run(const std::string &what,
             const std::function<Status(int64_t number)> &body);
  Status send(int64_t number, int64_t to, const void *data, int64_t bytes);
  Status receive(int64_t number, int64_t from, void *data, int64_t bytes);
  Status awaitFrame(int64_t from);
  bool isNotice(const Frame &frame) const;
  void notify(const Frame &frame, const Deadline &deadline);
  Status lost(int64_t gone);
  Status look();

  const int64_t ownRank, ranks;
  const std::vector<Socket> peers;
  std::mutex mutex; ///< of the connections and of what follows
  Status failure;
  bool isEnding = false; ///< connections may close
  Watchdog watchdog;
};

} // namespace honert

#endif // HONERT_COMM_TCP_SOCKETPROCESSGROUP_H
