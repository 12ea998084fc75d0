//===- SafeTensors.h - Tensors by name in a file --------------------------===//
//
// The format: 8 bytes little-endian header length, a JSON header that maps
// names to dtype, shape and byte range, then the elements, row-major.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_IO_SAFETENSORS_H
#define HONERT_IO_SAFETENSORS_H

#include "io/FileChecksum.h"
#include "program/Parts.h"

#include <functional>
#include <map>

namespace honert {

/// The cap of the format's reference reader.
constexpr int64_t maxHeaderBytes = 100'000'000;

/// A tensor inside a mapped file; `data` may be unaligned.
struct TensorView {
  DType dtype;
  Shape shape;
  const char *data;
  int64_t bytes;
};

/// A mapped file in which every byte is accounted for: no holes, overlaps,
/// duplicates, or bytes after the end.
class SafeTensors {
public:
  Status open(const std::string &path);
  /// Reads `content`, which is the file `path`, mapped.
  Status open(const std::string &path, MappedFile content);

  const std::string &path() const { return name; }
  const std::map<std::string, TensorView> &tensors() const { return entries; }
  const TensorView *find(const std::string &tensor) const;
  /// Releases the resident pages of these bytes of a tensor.
  void release(const char *from, int64_t bytes) const {
    file.release(from, bytes);
  }

private:
  Status read(const std::string &path);
  Status mistakenFor(const std::string &kind) const;
  Status readHeader(std::string_view header);
  Status checkLayout() const;

  std::string name;
  MappedFile file;
  const char *body = nullptr;
  int64_t bodyBytes = 0;
  std::map<std::string, TensorView> entries;
};

/// A tensor to be written; elements are converted if the types differ.
struct TensorSource {
  std::string name;
  DType dtype;       ///< of `data`
  DType storedDtype; ///< in the file
  Shape shape;
  const char *data;
  /// Where `data` is not the tensor itself: which of its elements `data` holds.
  std::optional<PartLayout> layout = std::nullopt;
  bool isWritten = true; ///< by this rank; if not, another has the same
  /// Called now and then while `data` is written: what was read of it need not
  /// stay in memory.
  std::function<void()> passed = nullptr;
};

/// Writes the tensors in the order given, atomically. `metadata` becomes the
/// header's __metadata__. Called by all ranks for the same tensors; together
/// they write every element. A rank that is alone adds what it writes to
/// `checksum`, if that is given.
Status writeSafeTensors(const std::string &path,
                        const std::vector<TensorSource> &tensors,
                        const std::map<std::string, std::string> &metadata,
                        ProcessGroup &world, FileChecksum *checksum = nullptr);

} // namespace honert

#endif // HONERT_IO_SAFETENSORS_H
