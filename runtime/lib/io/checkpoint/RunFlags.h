//===- RunFlags.h - With which flags a run goes on --------------*- C++ -*-===//

#ifndef HONERT_IO_CHECKPOINT_RUNFLAGS_H
#define HONERT_IO_CHECKPOINT_RUNFLAGS_H

#include "base/Status.h"

#include <string>
#include <utility>
#include <vector>

namespace honert {

/// The file flags.json in a folder of checkpoints: what a run was given, by the
/// latest process that worked on it.
struct RunFlags {
  static constexpr const char *fileName = "flags.json";

  /// Where that process was started: relative paths are seen from there.
  std::string folder;
  /// Names without dashes, with their values ("" for a flag that takes none). A
  /// name that repeats is a list.
  std::vector<std::pair<std::string, std::string>> flags;

  /// The values of one name.
  std::vector<std::string> valuesOf(const std::string &name) const;

  /// Replaces the file in the folder `checkpoints`.
  Status write(const std::string &checkpoints) const;
  /// Reads it; `isThere` is false where there is none, as in folders of earlier
  /// versions.
  Status read(const std::string &checkpoints, bool &isThere);
};

/// The folder that relative paths are seen from; "" where it has no path.
std::string currentFolder();

} // namespace honert

#endif // HONERT_IO_CHECKPOINT_RUNFLAGS_H
