//===- ByteSize.h - Bytes as text -------------------------------*- C++ -*-===//

#ifndef HONE_SUPPORT_BYTESIZE_H
#define HONE_SUPPORT_BYTESIZE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace hone {

/// "1.50 GiB", "12.0 KiB", "640 B".
std::string formatBytes(int64_t bytes);

/// A size to type where at least `bytes` are needed: "5.57KiB". parseBytes of
/// it is never less.
std::string formatBytesToType(int64_t bytes);

/// Bytes of "640", "12KiB", "1.5 GB" and so on: K, M, G, T are powers of 1024,
/// also with iB behind them; KB, MB, GB, TB powers of 1000. Nothing where the
/// text is no positive size.
std::optional<int64_t> parseBytes(llvm::StringRef text);

} // namespace hone

#endif // HONE_SUPPORT_BYTESIZE_H
