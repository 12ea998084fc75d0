//===- SafeTensors.h - Tensors by name in a file --------------------------===//
//
// The format: 8 bytes little-endian header length, a JSON header that maps
// names to dtype, shape and byte range, then the elements, row-major.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_CHECKPOINT_SAFETENSORS_H
#define HONERT_CHECKPOINT_SAFETENSORS_H

#include "checkpoint/Files.h"
#include "core/Types.h"

#include <map>

namespace honert {

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

  const std::string &path() const { return name; }
  const std::map<std::string, TensorView> &tensors() const { return entries; }
  const TensorView *find(const std::string &tensor) const;
  /// Lets go of the memory of these bytes of a tensor.
  void release(const char *from, int64_t bytes) const {
    file.release(from, bytes);
  }

private:
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
  /// Where `data` is not contiguous: the storage that `data` begins, of which
  /// the tensor is this box.
  Shape storage = {}, offset = {};
};

/// Writes the tensors in the order given, atomically. `metadata` becomes the
/// header's __metadata__. If `checksum` is given it is fed all bytes.
Status writeSafeTensors(const std::string &path,
                        const std::vector<TensorSource> &tensors,
                        const std::map<std::string, std::string> &metadata,
                        Checksum *checksum = nullptr);

} // namespace honert

#endif // HONERT_CHECKPOINT_SAFETENSORS_H
