//===- Folder.h - Runs that survive their process -------------------------===//
//
// DIR/step-00000100/{state.safetensors, manifest.json}, DIR/latest, DIR/best,
// and DIR/flags.json (RunFlags.h). A folder appears complete (written under
// another name, synced, renamed); the manifest holds size and checksum of the
// state and its own checksum. One run at a time writes DIR (Lease.h).
// docs/rationale/checkpoint-files.md has the rules.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_IO_CHECKPOINT_FOLDER_H
#define HONERT_IO_CHECKPOINT_FOLDER_H

#include "io/checkpoint/Lease.h"
#include "io/checkpoint/Manifest.h"
#include "io/checkpoint/RunFlags.h"
#include "io/checkpoint/State.h"

#include <optional>

namespace honert {

/// The folder of a run's checkpoints; the newest two are kept, and the best.
/// All ranks call the functions below and return what they agree on; the first
/// one cares for folders and manifests, all read and write tensors. A
/// checkpoint does not say how many ranks wrote it.
class CheckpointFolder {
public:
  CheckpointFolder(std::string path, const Program &program,
                   ProcessGroup &world)
      : path(std::move(path)), program(program), world(world) {}

  /// Makes the folder, takes it for this run, finds out whether it can be
  /// written, and removes what an interrupted save left. Without `resume` it
  /// must hold no checkpoint.
  Status open(bool resume);

  /// What the checkpoints of this run will say. A checkpoint that was trained
  /// on other files is refused by restore(), unless `acceptsOtherFiles`.
  void setFacts(RunFacts facts, bool acceptsOtherFiles) {
    own = std::move(facts);
    acceptsOther = acceptsOtherFiles;
  }
  /// What the first save() of this process notes for who goes on with the run.
  void setFlags(RunFlags given) { flags = std::move(given); }

  /// Commits a checkpoint: after success it survives a power failure.
  Status save(const RunPosition &position, const Arena &arena);
  /// Where the checkpoint of that step is.
  std::string pathOf(int64_t step) const;
  /// `best` leads to the checkpoint of that step, which save() has committed,
  /// and which stays while it does; `loss` is kept in it.
  Status markBest(int64_t step, double loss);
  /// The loss of what `best` leads to; nothing if there is none, or if it is
  /// of a step that this run has not done.
  Status readBest(std::optional<double> &loss) const;
  /// Whether save() failed because another run has the folder now: nothing can
  /// be saved any more.
  bool isLost() const { return lost; }

  /// Restores the newest good checkpoint; nothing in `position` if there is no
  /// checkpoint at all. A damaged one is named in a warning and the one before
  /// it is taken. An error: only damaged ones, one of another program, or one
  /// that cannot be read now (it may be good).
  Status restore(Arena &arena, std::optional<RunPosition> &position);
  /// What restore() would say of the newest good checkpoint, as far as its
  /// manifest and the header of its state tell. By one process alone.
  Status check(std::optional<RunPosition> &position) const;
  /// What restore() took was trained on a stream of `tokens` (0: none), as this
  /// run is. Of checkpoints of format 2 nothing else of the data is known.
  Status checkTokens(int64_t tokens) const;
  /// The manifest of what restore() took.
  const Manifest &restored() const { return manifest; }

private:
  using Committed = std::vector<std::pair<int64_t, std::string>>;

  Status prepare(bool resume);
  Status findCommitted(Committed &found) const;
  Status checkLease();
  Status makeTemporary(const RunPosition &position, std::string &folder) const;
  Status commit(const std::string &temporary, const RunPosition &position,
                uint64_t checksum);
  Status giveName(const std::string &temporary, int64_t step);
  Status finishSave();
  bool isSaved(int64_t step) const;
  void removeOld(int64_t newest) const;
  void removeDamaged();
  std::string bestName() const;
  Status replaceBest(int64_t step, double loss);
  Status readManifest(const std::string &folder, int64_t step,
                      std::string &text) const;
  Status verify(const std::string &folder, int64_t step);
  void skipDamaged(const Status &status, Committed &names);

  std::string path;
  const Program &program;
  ProcessGroup &world;
  std::unique_ptr<Lease> lease; // of the first rank
  RunFacts own;
  bool acceptsOther = false;
  std::optional<RunFlags> flags; // until they are written
  Manifest manifest;
  bool lost = false;
  int64_t ownNewest = -1; // the step that was restored or saved last
  /// Names of checkpoints that restore() found damaged. Every other one later
  /// than `ownNewest` is another run's.
  std::set<std::string> damaged;
};

} // namespace honert

#endif // HONERT_IO_CHECKPOINT_FOLDER_H
