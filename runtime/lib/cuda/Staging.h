//===- Staging.h - What goes up and comes down with every run -------------===//

#ifndef HONERT_CUDA_STAGING_H
#define HONERT_CUDA_STAGING_H

#include "core/Arena.h"
#include "core/Program.h"
#include "cuda/Device.h"

#include <vector>

namespace honert {

/// Copies between the host's view of the arena and the arena on the device, by
/// way of pinned memory, on the device's stream and without waiting for it.
///
/// Up go inputs, random key and scalars before a run: the host may write the
/// next ones while the device still computes. Down come the few numbers that
/// the training loop reads: loss, gradient norm, loss scale.
class Staging {
public:
  Staging(const Device &device, const Program &program);

  Status start();
  /// Puts the copies of all inputs in `view` on the stream.
  Status upload(const Arena &view, const DeviceMemory &arena);
  /// Puts the copies of the scalars that `function` leaves on the stream.
  Status download(const Function &function, const DeviceMemory &arena);
  /// After the stream is done: what came down is in `view`.
  void deliver(Arena &view);

private:
  /// Bytes of the arena and their place in pinned memory.
  struct Piece {
    int64_t offset, bytes, place;
  };

  const Device &device;
  std::vector<Piece> inputs;
  int64_t inputBytes = 0;
  std::vector<Piece> outputs; ///< by offset, each once
  std::map<std::string, std::vector<size_t>> outputsOf; ///< by function
  int64_t outputBytes = 0;
  std::vector<size_t> pending; ///< outputs on their way
  PinnedMemory pinned;         ///< two slots of inputs, then outputs
  DeviceEvent uploaded[2];     ///< the slot may be written again
  bool isInFlight[2] = {false, false};
  int slot = 0;
};

} // namespace honert

#endif // HONERT_CUDA_STAGING_H
