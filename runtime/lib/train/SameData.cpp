//===- SameData.cpp - All ranks read the same files -----------------------===//

#include "train/SameData.h"
#include "base/Files.h"

#include <algorithm>
#include <array>

using namespace honert;

namespace {
enum Source { data, validation, inputs, validationInputs, init, numSources };
const char *const flags[] = {"data", "val-data", "input", "val-input", "init"};
using Hashes = std::array<uint64_t, numSources>;
} // namespace

/// Adds size, first and last MiB of a file.
static Status addSample(Checksum &checksum, const std::string &path) {
  MappedFile file;
  HONERT_TRY(file.open(path));
  int64_t size = file.size(), most = std::min(size, pieceBytes);
  checksum.add(&size, sizeof size);
  for (const char *from : {file.data(), file.data() + size - most}) {
    checksum.add(from, most);
    file.release(from, most);
  }
  return Status();
}

static Status
sampleNamed(const std::vector<std::pair<std::string, std::string>> &files,
            uint64_t &hash) {
  Checksum checksum;
  for (const auto &[name, path] : files) {
    checksum.add(name.data(), static_cast<int64_t>(name.size()));
    HONERT_TRY(addSample(checksum, path));
  }
  hash = checksum.value();
  return Status();
}

/// Which files are one source, and the shares of sources, count too.
static Status sampleSources(const std::vector<TokenSource> &sources,
                            uint64_t &hash) {
  Checksum checksum;
  for (const TokenSource &source : sources) {
    const int64_t facts[] = {source.slots, int64_t(source.files.size())};
    checksum.add(facts, sizeof facts);
    for (const std::string &path : source.files)
      HONERT_TRY(addSample(checksum, path));
  }
  hash = checksum.value();
  return Status();
}

static Status sample(const Options &options, Hashes &hashes) {
  HONERT_TRY(sampleSources(options.sources, hashes[data]));
  HONERT_TRY(sampleSources(options.validationSources, hashes[validation]));
  Checksum ofInit;
  if (!options.init.empty())
    HONERT_TRY(addSample(ofInit, options.init));
  hashes[init] = ofInit.value();
  HONERT_TRY(sampleNamed(options.inputs, hashes[inputs]));
  return sampleNamed(options.validationInputs, hashes[validationInputs]);
}

Status honert::checkSameData(const Options &options, ProcessGroup &world) {
  if (world.size() == 1)
    return Status();
  Hashes own;
  HONERT_TRY(world.agree(sample(options, own)));
  std::vector<Hashes> all(static_cast<size_t>(world.size()));
  HONERT_TRY(world.allGather(&own, sizeof own, all.data()));
  for (size_t rank = 1; rank < all.size(); ++rank)
    for (int source = 0; source != numSources; ++source)
      if (all[rank][source] != all[0][source])
        return Status::error(
            format("--%s: rank %zu has another file than the first rank (size, "
                   "first or last MiB differ), expected the same on all ranks",
                   flags[source], rank));
  return Status();
}
