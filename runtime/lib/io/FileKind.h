//===- FileKind.h - What a file is that is not what was expected ----------===//

#ifndef HONERT_IO_FILEKIND_H
#define HONERT_IO_FILEKIND_H

#include <string>
#include <string_view>

namespace honert {

/// Whether `bytes` are text in UTF-8, an 8-bit encoding or UTF-16, as far as a
/// sample of their beginning says. Token ids of 16 bits hardly ever look so:
/// common ids are small, and control characters then.
bool looksLikeText(std::string_view bytes);

constexpr const char *safeTensorsKind = "a safetensors file";

/// What a whole file looks like: "text", "JSON", "a Parquet file", ...; "" if
/// like nothing known here, or if it is too short to tell.
std::string recogniseFile(std::string_view bytes);

} // namespace honert

#endif // HONERT_IO_FILEKIND_H
