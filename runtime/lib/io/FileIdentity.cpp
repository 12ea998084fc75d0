//===- FileIdentity.cpp - Which file a run reads --------------------------===//

#include "io/FileIdentity.h"
#include "base/Files.h"

#include <algorithm>

using namespace honert;

/// Adds the size of a file and at most `blocks` of its blocks.
static Status addFile(const std::string &path, int64_t blocks,
                      Checksum &checksum, int64_t &bytes) {
  constexpr int64_t block = 64 << 10;
  ReadFile file;
  HONERT_TRY(file.open(path));
  int64_t size = file.size();
  bool isSampled = size > block * blocks;
  int64_t count = isSampled ? blocks : (size + block - 1) / block;
  checksum.add(&size, sizeof size);
  std::vector<char> read(static_cast<size_t>(block));
  for (int64_t i = 0; i < count; ++i) {
    // The distance first: size * i could exceed 63 bits.
    int64_t begin = isSampled
                        ? (size - block) / (blocks - 1) * i +
                              (size - block) % (blocks - 1) * i / (blocks - 1)
                        : i * block;
    int64_t length = std::min(block, size - begin);
    HONERT_TRY(file.readAt(begin, read.data(), length));
    checksum.add(read.data(), length);
  }
  bytes += size;
  return Status();
}

Status honert::identify(const std::string &flag,
                        const std::vector<std::string> &paths,
                        FileIdentity &identity) {
  constexpr int64_t blocks = 1024;
  int64_t ofEach =
      std::max<int64_t>(2, blocks / static_cast<int64_t>(paths.size()));
  Checksum checksum;
  int64_t bytes = 0;
  for (const std::string &path : paths)
    HONERT_TRY(addFile(path, ofEach, checksum, bytes));
  identity = {flag, bytes, checksum.value()};
  return Status();
}
