//===- FileIdentity.h - Which file a run reads ------------------*- C++ -*-===//

#ifndef HONERT_IO_FILEIDENTITY_H
#define HONERT_IO_FILEIDENTITY_H

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace honert {

/// What a checkpoint remembers of a file of training data. Names do not count:
/// the same bytes elsewhere are the same data.
struct FileIdentity {
  /// "--data", "--val-data", "--input NAME", or "--data source 2" of a mixture
  std::string flag;
  int64_t bytes = 0; ///< of all files, where they are one stream
  uint64_t hash = 0;
  int64_t slots = 0; ///< of a mixture's source

  bool operator==(const FileIdentity &other) const {
    return flag == other.flag && bytes == other.bytes && hash == other.hash &&
           slots == other.slots;
  }
};

/// Hashes a file of up to 64 MiB whole, of a longer one 1,024 blocks of 64 KiB
/// at equal distances, the first and the last among them: another corpus, order
/// or tokenizer is noticed, and so is every change of size; a change of a few
/// bytes in the middle of a long file may not be. Several files that are one
/// stream share the 1,024 blocks, two for each at least.
Status identify(const std::string &flag, const std::vector<std::string> &paths,
                FileIdentity &identity);

} // namespace honert

#endif // HONERT_IO_FILEIDENTITY_H
