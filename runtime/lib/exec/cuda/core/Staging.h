//===- Staging.h - What goes up and comes down with every run -------------===//

#ifndef HONERT_EXEC_CUDA_CORE_STAGING_H
#define HONERT_EXEC_CUDA_CORE_STAGING_H

#include "base/Arena.h"
#include "exec/cuda/core/Device.h"
#include "program/Program.h"

#include <deque>
#include <vector>

namespace honert {

/// Copies between the host's view of the arena and the arena on the device, by
/// way of pinned memory, so that neither side waits for the other.
///
/// Up go inputs, random key and scalars before a run: the copy stream brings
/// them to a slot on the device while the run before still reads its own, and
/// the main stream moves them into the arena. Down come, per step, the few
/// numbers that the training loop reads: loss, gradient norm, loss scale. There
/// are two slots of each: a step may run while the host reads the numbers of
/// the step before.
class Staging {
public:
  Staging(const Device &device, const Program &program);

  Status start();
  /// Whether inputs arrive that follow each other as fast as they may: `view`
  /// holds none that count.
  Status check(Arena &view, const DeviceMemory &arena);
  /// Puts the copies of all inputs in `view` on the streams.
  Status upload(const Arena &view, const DeviceMemory &arena);
  /// Puts the copies of the scalars that `function` leaves on the main stream.
  Status download(const Function &function, const DeviceMemory &arena);
  /// What was downloaded since the last call belongs together: one collect().
  /// At most two are not collected.
  Status endStep();
  /// Waits for the oldest step that has ended; its scalars are in `view`.
  /// `what` names what ran, in the error of a launch that failed.
  Status collect(Arena &view, const std::string &what);

private:
  /// Bytes of the arena and their place in a slot.
  struct Piece {
    int64_t offset, bytes, place;
  };
  struct InputSlot {
    DeviceEvent uploaded; ///< the host may write its pinned memory again
    DeviceEvent consumed; ///< its memory on the device may be written again
    bool wasUsed = false;
  };
  struct OutputSlot {
    DeviceEvent downloaded;
    std::vector<size_t> pieces; ///< outputs on their way
  };

  char *pinnedInputs(int slot) const { return pinned.at(slot * inputBytes); }
  char *pinnedOutputs(int slot) const {
    return pinned.at(2 * inputBytes + slot * outputBytes);
  }

  void placeInputs();

  const Device &device;
  std::vector<Piece> inputs;  ///< by offset
  std::vector<Piece> moves;   ///< the same, those side by side as one
  int64_t inputBytes = 0;     ///< of a slot
  std::vector<Piece> outputs; ///< by offset, each once
  std::map<const Function *, std::vector<size_t>> outputsOf;
  int64_t outputBytes = 0; ///< of a slot
  PinnedMemory pinned;     ///< slots of inputs, then of outputs
  DeviceMemory onDevice;   ///< slots of inputs
  InputSlot inputSlots[2];
  OutputSlot outputSlots[2];
  int inputSlot = 0, outputSlot = 0; ///< the latest, the one being filled
  std::deque<int> ended;             ///< output slots to collect
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_CORE_STAGING_H
