//===- TokensFuzz.cpp - Token files of all formats ------------------------===//

#include "Fuzz.h"
#include "io/data/TokenFile.h"

#include <cstring>

static std::string npy(const std::string &type, const std::string &shape,
                       size_t bytes) {
  std::string header = "{'descr': '" + type +
                       "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  auto length = static_cast<uint16_t>(header.size());
  std::string text("\x93NUMPY\x01\x00", 8);
  text.append(reinterpret_cast<const char *>(&length), 2);
  return text + header + std::string(bytes, '\0');
}

static std::string llmc(int32_t magic, int32_t version, int32_t count,
                        size_t bytes) {
  int32_t header[256] = {magic, version, count};
  return std::string(reinterpret_cast<const char *>(header), sizeof header) +
         std::string(bytes, '\0');
}

std::vector<std::string> fuzzSeeds(const std::vector<std::string> &) {
  return {std::string(80, '\0'),     npy("<u2", "(8,)", 16),
          npy("<i4", "(8,)", 32),    npy("<i8", "(4,)", 32),
          llmc(20240520, 1, 16, 32), llmc(20240801, 7, 8, 32)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static honert::ThreadPool pool(1);
  honert::TokenFile tokens;
  if (!tokens.open("f", honert::MappedFile::ofMemory(view(data, size))).ok())
    return -1;
  // What is accepted can be read, all of it.
  std::vector<int64_t> ids(static_cast<size_t>(tokens.size()));
  tokens.read(0, tokens.size(), ids.data());
  return tokens.checkIds(50257, pool).ok() ? 0 : -1;
}
