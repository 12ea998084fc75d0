//===- TokenStream.h - Token files joined to one stream ---------*- C++ -*-===//

#ifndef HONERT_IO_DATA_TOKENSTREAM_H
#define HONERT_IO_DATA_TOKENSTREAM_H

#include "io/data/TokenFile.h"

namespace honert {

/// Tokens that the files of a run may hold together.
constexpr int64_t mostTokens = INT64_MAX / 4;
/// The error for more of them, with `path`.
Status tooManyTokens(const std::string &path);

/// The ids of several files, one file after the other. Their formats may
/// differ.
class TokenStream {
public:
  Status open(const std::vector<std::string> &paths);

  /// Checks that every id of the share `part` of `parts` is one of `ids`.
  Status checkIds(const IdBounds &ids, const ThreadPool &pool, int64_t part = 0,
                  int64_t parts = 1, const ReadProgress &progress = {}) const;
  /// The error for an id outside `ids`, with the position in its file.
  Status refuseId(const IdBounds &ids, int64_t position, int64_t id) const;

  int64_t size() const { return ends.empty() ? 0 : ends.back(); }
  /// ids[begin, begin + n), which must lie in the stream.
  void read(int64_t begin, int64_t n, int64_t *ids) const;
  /// Releases the resident pages of these ids, since a stream may be long.
  void release(int64_t begin, int64_t n) const;

private:
  size_t fileAt(int64_t position) const;
  int64_t beginOf(size_t file) const { return file ? ends[file - 1] : 0; }
  /// Calls piece(file, begin in it, n) for each file that holds some of [begin,
  /// end).
  template <typename Piece>
  Status forEachPiece(int64_t begin, int64_t end, Piece piece) const;

  std::vector<TokenFile> files;
  std::vector<int64_t> ends; // of each file in the stream
};

} // namespace honert

#endif // HONERT_IO_DATA_TOKENSTREAM_H
