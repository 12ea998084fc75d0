//===- TokenFile.h - Streams of token ids ---------------------------------===//
//
// Formats, told apart by how the file starts:
//   llm.c   256 int32 (magic 20240520, version 1, count) then uint16 ids, or
//           (magic 20240801, version 7, count) then uint32 ids
//   .npy    one dimension of uint16, uint32, int32 or int64
//   else    headerless uint16 ids (nanoGPT), unless it looks like text or
//           a file of another known format
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_IO_DATA_TOKENFILE_H
#define HONERT_IO_DATA_TOKENFILE_H

#include "base/Files.h"
#include "base/Parallel.h"
#include "io/data/IdBounds.h"

#include <functional>

namespace honert {

/// Called now and then, by the calling thread, with the fraction of a file that
/// has been read; at last with 1.
using ReadProgress = std::function<void(double fraction)>;

/// A mapped stream of token ids.
class TokenFile {
public:
  Status open(const std::string &path);
  /// Reads `content`, which is the file `path`, mapped.
  Status open(const std::string &path, MappedFile content);

  /// Checks that each of the `n` ids from `begin` on is one of `ids`.
  Status checkIds(const IdBounds &ids, const ThreadPool &pool, int64_t begin,
                  int64_t n, const ReadProgress &progress = {}) const;
  /// Of the whole file.
  Status checkIds(const IdBounds &ids, const ThreadPool &pool) const {
    return checkIds(ids, pool, 0, count);
  }
  /// The error for an id outside `ids`.
  Status refuseId(const IdBounds &ids, int64_t position, int64_t id) const;

  const std::string &path() const { return name; }
  int64_t size() const { return count; }
  /// ids[begin, begin + n), which must lie in the file.
  void read(int64_t begin, int64_t n, int64_t *ids) const;
  /// Releases the resident pages of these ids, since a stream may be long.
  void release(int64_t begin, int64_t n) const;

private:
  enum class Width { u16, u32, i32, i64 };

  Status locate();
  Status locateLlmc(uint32_t magic);
  Status mistakenFor(const std::string &kind) const;
  int64_t bytesOfId() const;

  std::string name;
  MappedFile file;
  Width width = Width::u16;
  const char *first = nullptr;
  int64_t count = 0;
};

} // namespace honert

#endif // HONERT_IO_DATA_TOKENFILE_H
