//===- PackedDocuments.h - How many documents files hold --------*- C++ -*-===//

#ifndef HONERT_IO_DATA_PACKEDDOCUMENTS_H
#define HONERT_IO_DATA_PACKEDDOCUMENTS_H

#include <cstdint>
#include <optional>
#include <string>

namespace honert {

/// What tokens.json says of the files beside it (hone tokens).
struct PackedDocuments {
  uint64_t count = 0;
  std::optional<uint64_t> end; ///< the id that ends each
};

/// Of a file of tokens; no documents where nothing is known of it: such a file
/// is as good as any other.
PackedDocuments findPackedDocuments(const std::string &file);

} // namespace honert

#endif // HONERT_IO_DATA_PACKEDDOCUMENTS_H
