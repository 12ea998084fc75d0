//===- SafeTensorsFuzz.cpp - Files of weights -----------------------------===//

#include "Fuzz.h"
#include "io/SafeTensors.h"

#include <cstring>

static std::string file(const std::string &header, size_t bytes) {
  uint64_t length = header.size();
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return text + header + std::string(bytes, '\1');
}

std::vector<std::string> fuzzSeeds(const std::vector<std::string> &) {
  return {
      file("{}", 0),
      file(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24),
      file(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[4],)"
           R"("data_offsets":[0,8]},"b":{"dtype":"I64","shape":[],)"
           R"("data_offsets":[8,16]},"c\u00e9":{"dtype":"BOOL","shape":[0,7],)"
           R"("data_offsets":[16,16]}}   )",
           16)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  honert::SafeTensors tensors;
  if (!tensors.open("f", honert::MappedFile::ofMemory(view(data, size))).ok())
    return -1;
  // What is accepted can be read, all of it.
  volatile char sum = 0;
  for (const auto &[name, view] : tensors.tensors())
    for (int64_t i = 0; i < view.bytes; ++i)
      sum = static_cast<char>(sum + view.data[i]);
  return 0;
}
