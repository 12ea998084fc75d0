//===- NamedInputs.h - Inputs other than a token stream -------------------===//

#ifndef HONERT_IO_DATA_NAMEDINPUTS_H
#define HONERT_IO_DATA_NAMEDINPUTS_H

#include "io/data/Npy.h"
#include "program/Parts.h"
#include "program/ProcessGroup.h"

#include <utility>

namespace honert {

/// Inputs fed from array files (--input NAME=FILE.npy): one value for every
/// step, or one per micro-batch along a first dimension (repeated from the
/// start when they end). Files hold values of all ranks, of which each takes
/// what it has.
class NamedInputs {
public:
  /// Opens each (name, file), given by `flag`; every input that is not fed with
  /// tokens from `tokensFlag` must be among them, and nothing else.
  Status open(const std::vector<std::pair<std::string, std::string>> &files,
              const Program &program, const ProcessGroup &world,
              bool tokensFromData, const char *flag = "input",
              const char *tokensFlag = "data");

  /// Writes the values of micro-batch `index` into the arena. Fails where ids
  /// are no longer those that open() has checked.
  Status load(int64_t index, char *arena) const;

  /// Values per micro-batch stay with the windows of a token stream that has
  /// `streamBatches` (0: there is none) for `steps` of `perStep` micro-batches.
  Status checkStream(int64_t streamBatches, int64_t steps,
                     int64_t perStep) const;
  /// There are no values per micro-batch: the windows come in another order
  /// than that of one stream, because of `cause`.
  Status checkReordering(const char *cause) const;

  /// Micro-batches until all files have been read once.
  int64_t batchesPerEpoch() const;
  /// No file has values that go with the tokens of each micro-batch: those for
  /// another stream come from `flag`.
  Status checkRepeats(const char *flag) const;

private:
  struct Input {
    const Argument *argument;
    PartLayout layout;
    std::string path;
    MappedFile file;
    DType dtype; ///< of the file: the argument's, or f32 where that is f64
    int64_t offset;
    int64_t values;       ///< along the first dimension; 1: the same each time
    bool isLoaded = true; ///< not those of other stages
  };

  Status openOne(const Argument &argument, const PartLayout &layout,
                 const std::string &path);

  /// Files of several values all have as many, so that they stay together.
  Status checkCounts() const;

  std::vector<Input> inputs;
};

} // namespace honert

#endif // HONERT_IO_DATA_NAMEDINPUTS_H
