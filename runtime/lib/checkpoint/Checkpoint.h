//===- Checkpoint.h - Runs that survive their process ---------------------===//
//
// DIR/step-00000100/{state.safetensors, manifest.json}, DIR/latest. A folder
// appears complete (written under another name, synced, renamed); the manifest
// holds size and checksum of the state and its own checksum.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_CHECKPOINT_CHECKPOINT_H
#define HONERT_CHECKPOINT_CHECKPOINT_H

#include "checkpoint/State.h"

#include <optional>

namespace honert {

/// Where a run stands, beside its tensors.
struct RunPosition {
  int64_t step = 0;      ///< steps done
  int64_t microStep = 0; ///< micro-batches read
  uint64_t seed = 0;
  bool shuffle = false;
  int64_t dataTokens = 0; ///< size of the token stream; 0: none

  bool operator==(const RunPosition &other) const {
    return step == other.step && microStep == other.microStep &&
           seed == other.seed && shuffle == other.shuffle &&
           dataTokens == other.dataTokens;
  }
};

/// What a manifest says of a checkpoint.
struct CommittedState {
  RunPosition position;
  uint64_t checksum = 0;
};

/// The folder of a run's checkpoints; the newest two are kept. All ranks call
/// the functions below and return what they agree on; the first one cares for
/// folders and manifests, all read and write tensors. A checkpoint does not say
/// how many ranks wrote it.
class CheckpointFolder {
public:
  CheckpointFolder(std::string path, const Program &program, World &world)
      : path(std::move(path)), program(program), world(world) {}

  /// Makes the folder, finds out whether it can be written, and removes what
  /// an interrupted save left. Without `resume` it must hold no checkpoint.
  Status open(bool resume);

  /// Commits a checkpoint: after success it survives a power failure.
  Status save(const RunPosition &position, const Arena &arena);

  /// Restores the newest good checkpoint; nothing in `position` if there is no
  /// checkpoint at all. A damaged one is named in a warning and the one before
  /// it is taken; only damaged ones, or one of another program: an error.
  Status restore(Arena &arena, std::optional<RunPosition> &position);

private:
  Status prepare(bool resume) const;
  std::vector<std::string> committed() const;
  Status makeTemporary(const RunPosition &position, std::string &folder) const;
  Status commit(const std::string &temporary, const std::string &name,
                const RunPosition &position, uint64_t checksum) const;
  Status readManifest(const std::string &folder, CommittedState &state) const;
  Status verify(const std::string &folder, RunPosition &position) const;
  Status removeOld(const std::string &newest) const;

  std::string path;
  const Program &program;
  World &world;
};

} // namespace honert

#endif // HONERT_CHECKPOINT_CHECKPOINT_H
