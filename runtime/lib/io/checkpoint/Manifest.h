//===- Manifest.h - What a checkpoint says of itself ------------*- C++ -*-===//
//
// manifest.json. Its first line is the checksum of all that follows it, against
// damage; against malice nothing is relied on that is not checked.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_IO_CHECKPOINT_MANIFEST_H
#define HONERT_IO_CHECKPOINT_MANIFEST_H

#include "io/FileIdentity.h"
#include "program/Program.h"

#include <string_view>

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

/// What a run trains on, and how.
struct RunFacts {
  std::vector<FileIdentity> files;
  /// Flags that may change when a run goes on, with their values.
  std::vector<std::pair<std::string, std::string>> settings;
};

struct Manifest {
  /// 1: another checksum of the state; 2: neither facts nor precision,
  /// optimizer and micro-batches; 3: no batch, and no slots of sources. Formats
  /// from 2 on are read.
  static constexpr uint64_t newest = 4;

  uint64_t format = newest;
  std::string fingerprint, model, precision, optimizer;
  std::string batch; ///< of tokens, as "8x128"; empty: reads none
  int64_t microBatches = 0;
  RunPosition position;
  RunFacts facts;
  int64_t stateBytes = 0;
  uint64_t stateChecksum = 0;

  /// The program's part.
  static Manifest of(const Program &program);
};

constexpr const char *stateName = "state.safetensors";

std::string textOf(const Manifest &manifest);

/// Reads what textOf() wrote. Every number is in the range that a run can
/// reach. `name`: for messages. A format that this program does not read is a
/// usage error.
Status parseManifest(const std::string &name, std::string_view text,
                     Manifest &manifest);

/// The checkpoint `folder` of `manifest` continues in `program`. Otherwise a
/// usage error that names the first difference.
Status checkProgram(const std::string &folder, const Manifest &manifest,
                    const Program &program);

/// The files are those of the run, or a usage error names the first that is
/// not. Validation may be added or left out.
Status checkFiles(const std::string &folder, const Manifest &manifest,
                  const std::vector<FileIdentity> &files);

} // namespace honert

#endif // HONERT_IO_CHECKPOINT_MANIFEST_H
