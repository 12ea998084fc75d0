//===- FileKind.cpp - What a file is that is not what was expected --------===//

#include "io/FileKind.h"

#include <cstdint>
#include <cstring>

using namespace honert;
using namespace std::string_view_literals;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Shorter files may look like anything. Where ids are wrong anyway, fewer
/// bytes are enough to guess why.
constexpr size_t leastTextBytes = 64, leastGuessBytes = 16;
constexpr size_t sampleBytes = 1 << 16;

static uint8_t byteAt(std::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]);
}

/// Whether `bytes` are UTF-8, but for a character that their end cuts.
static bool isUtf8(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    uint8_t lead = byteAt(bytes, at++);
    int more = lead < 0x80                   ? 0
               : lead >= 0xc2 && lead < 0xe0 ? 1
               : lead >= 0xe0 && lead < 0xf0 ? 2
               : lead >= 0xf0 && lead < 0xf5 ? 3
                                             : -1;
    if (more < 0)
      return false;
    for (; more > 0 && at < bytes.size(); --more)
      if ((byteAt(bytes, at++) & 0xc0) != 0x80)
        return false;
  }
  return true;
}

/// ASCII in UTF-16 with a byte order mark, as some shells write it.
static bool isUtf16(std::string_view bytes) {
  if (bytes.size() < 4 || bytes.substr(0, 2) != "\xff\xfe")
    return false;
  for (size_t at = 3; at < bytes.size(); at += 2)
    if (bytes[at] != 0)
      return false;
  return true;
}

bool honert::looksLikeText(std::string_view bytes) {
  std::string_view sample = bytes.substr(0, sampleBytes);
  if (isUtf16(sample))
    return true;
  size_t notAscii = 0;
  for (char c : sample) {
    auto code = static_cast<uint8_t>(c);
    bool isControl = code < 0x20 || code == 0x7f;
    if (isControl && "\t\n\v\f\r\x1b"sv.find(c) == std::string_view::npos)
      return false;
    notAscii += code >= 0x80;
  }
  return sample.size() >= leastGuessBytes &&
         (notAscii <= sample.size() / 4 || isUtf8(sample));
}

static std::string recogniseText(std::string_view bytes) {
  constexpr std::string_view pointer = "version https://git-lfs.";
  if (bytes.substr(0, pointer.size()) == pointer)
    return "a Git LFS pointer (the file itself was not fetched)";
  size_t first = bytes.find_first_not_of(" \t\r\n");
  bool isJson = first != std::string_view::npos &&
                (bytes[first] == '{' || bytes[first] == '[');
  return isJson ? "JSON" : "text";
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

/// The length of the header, then JSON of that length.
static bool isSafeTensors(std::string_view bytes) {
  uint64_t length;
  if (bytes.size() < sizeof length + 2)
    return false;
  std::memcpy(&length, bytes.data(), sizeof length);
  std::string_view rest = bytes.substr(sizeof length);
  if (length < 2 || length > rest.size() || rest[0] != '{')
    return false;
  char last = rest[length - 1];
  return (last == '}' || last == ' ') && looksLikeText(rest.substr(0, length));
}

/// Protocol 4 and later: a frame that fills the file, and a stop at its end.
static bool isPickle(std::string_view bytes) {
  uint64_t frame;
  if (bytes.size() < 11 + 1 || bytes[0] != '\x80' || byteAt(bytes, 1) < 4 ||
      byteAt(bytes, 1) > 5 || bytes[2] != '\x95' || bytes.back() != '.')
    return false;
  std::memcpy(&frame, bytes.data() + 3, sizeof frame);
  return frame <= bytes.size() - 11;
}

/// Compressed by deflate, with a level and a system that exist.
static bool isGzip(std::string_view bytes) {
  return bytes.size() >= 18 && bytes.substr(0, 3) == "\x1f\x8b\x08"sv &&
         byteAt(bytes, 3) < 0x20 && byteAt(bytes, 8) <= 4 &&
         (byteAt(bytes, 9) <= 13 || byteAt(bytes, 9) == 255);
}

namespace {
struct Magic {
  std::string_view bytes;
  const char *what;
};
} // namespace

static constexpr Magic magics[] = {
    {"PK\x03\x04"sv, "a zip archive (.zip, .npz, .pt)"},
    {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20"sv, "a file of torch.save"},
    {"\x93NUMPY"sv, "an .npy file"},
    {"ARROW1\0\0"sv, "an Arrow file"},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    {"\x28\xb5\x2f\xfd"sv, "a file compressed by zstd"},
    {"\xfd"
     "7zXZ\0"sv,
     "a file compressed by xz"},
    {"\x7f"
     "ELF"sv,
     "an executable"},
};

std::string honert::recogniseFile(std::string_view bytes) {
  for (const Magic &magic : magics)
    if (bytes.substr(0, magic.bytes.size()) == magic.bytes)
      return magic.what;
  constexpr std::string_view parquet = "PAR1";
  if (bytes.size() >= 12 && bytes.substr(0, 4) == parquet &&
      bytes.substr(bytes.size() - 4) == parquet)
    return "a Parquet file";
  if (isSafeTensors(bytes))
    return safeTensorsKind;
  if (isGzip(bytes))
    return "a file compressed by gzip";
  if (isPickle(bytes))
    return "a pickle of Python";
  if (bytes.size() >= leastTextBytes && looksLikeText(bytes))
    return recogniseText(bytes);
  return "";
}
