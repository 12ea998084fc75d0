//===- FileChecksum.h - Checksum of a large file ----------------*- C++ -*-===//
//
// A checksum of the checksums of pieces, so that ranks can share the reading.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_IO_FILECHECKSUM_H
#define HONERT_IO_FILECHECKSUM_H

#include "base/Files.h"
#include "program/ProcessGroup.h"

namespace honert {

/// The checksum of a file that is written from its beginning to its end.
class FileChecksum {
public:
  /// Bytes of a piece; the last one may have fewer.
  static constexpr int64_t share = 16 << 20;

  void add(const void *data, int64_t bytes);
  uint64_t value() const;

private:
  Checksum pieces, latest;
  int64_t bytesOfLatest = 0;
};

/// The same checksum of a file that all ranks see; each reads its pieces.
/// Called by all ranks, which get one result.
Status checksumOf(const std::string &path, ProcessGroup &world,
                  uint64_t &value);

} // namespace honert

#endif // HONERT_IO_FILECHECKSUM_H
