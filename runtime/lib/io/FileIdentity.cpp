//===- FileIdentity.cpp - Which file a run reads --------------------------===//

#include "io/FileIdentity.h"
#include "base/Files.h"

#include <algorithm>

using namespace honert;

Status honert::identify(const std::string &flag, const std::string &path,
                        FileIdentity &identity) {
  constexpr int64_t block = 64 << 10, blocks = 1024;
  ReadFile file;
  HONERT_TRY(file.open(path));
  int64_t size = file.size();
  bool isSampled = size > block * blocks;
  int64_t count = isSampled ? blocks : (size + block - 1) / block;
  Checksum checksum;
  checksum.add(&size, sizeof size);
  std::vector<char> bytes(static_cast<size_t>(block));
  for (int64_t i = 0; i < count; ++i) {
    // The distance first: size * i could exceed 63 bits.
    int64_t begin = isSampled
                        ? (size - block) / (blocks - 1) * i +
                              (size - block) % (blocks - 1) * i / (blocks - 1)
                        : i * block;
    int64_t length = std::min(block, size - begin);
    HONERT_TRY(file.readAt(begin, bytes.data(), length));
    checksum.add(bytes.data(), length);
  }
  identity = {flag, size, checksum.value()};
  return Status();
}
