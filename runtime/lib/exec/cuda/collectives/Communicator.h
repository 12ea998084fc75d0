//===- Communicator.h - One communicator of NCCL --------------------------===//

#ifndef HONERT_EXEC_CUDA_COLLECTIVES_COMMUNICATOR_H
#define HONERT_EXEC_CUDA_COLLECTIVES_COMMUNICATOR_H

#include "exec/cuda/collectives/Nccl.h"

#include <mutex>
#include <vector>

namespace honert {

/// The ranks of a group, as NCCL knows them. Not blocking: a call that goes on
/// in the background is waited for here, so that a rank which never comes ends
/// in an error after `timeout` seconds (0: never), and so that abort() may be
/// called at any time, by any thread.
class Communicator {
public:
  /// A collective has `mostCtas` blocks at most; 0: as NCCL likes.
  Communicator(const NcclFunctions &nccl, double timeout, int mostCtas = 0)
      : nccl(nccl), timeout(timeout), mostCtas(mostCtas) {}
  /// Without close(): frees what is local, whatever goes on.
  ~Communicator() { abort(); }
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  /// Joins `ranks` ranks as number `rank`; all call it with the same `ids`, one
  /// or several. `name` is told in NCCL's own messages.
  Status join(std::vector<ncclUniqueId> ids, int64_t ranks, int64_t rank,
              const std::string &name);
  /// As a part of `whole`: the ranks of equal `color`, in the order of `key`.
  /// All ranks of `whole` call it, while nothing runs on that. One of color
  /// ncclSplitNoColor is in no part.
  Status split(Communicator &whole, int64_t color, int64_t key,
               const std::string &name);
  /// Tells NCCL of memory that is sent from and received to; all ranks do. As a
  /// window, where `symmetric`, it must lie alike on all.
  Status registerMemory(void *memory, int64_t bytes, bool symmetric);
  /// Waits for everybody and leaves.
  Status close();
  /// Ends whatever runs on it. Later calls are errors.
  void abort();

  ncclComm_t get() const { return comm; }
  /// What a call for this communicator returned, once it has ended.
  Status finish(ncclResult_t result, const std::string &what);
  /// An error that came by itself, since the last call.
  Status poll();

private:
  ncclConfig_t makeConfig() const;
  Status await(const std::string &what, double seconds);

  const NcclFunctions &nccl;
  const double timeout;
  const int mostCtas;
  std::string label;
  std::mutex mutex; ///< of `comm`: abort() against the rest
  ncclComm_t comm = nullptr;
  ncclComm_t joining = nullptr; ///< a part, filled while the whole is busy
  void *buffer = nullptr;
  ncclWindow_t window = nullptr;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_COLLECTIVES_COMMUNICATOR_H
