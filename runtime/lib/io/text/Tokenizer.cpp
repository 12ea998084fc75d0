//===- Tokenizer.cpp - Text to token ids and back -------------------------===//

#include "io/text/Tokenizer.h"

using namespace honert;

Status ByteTokenizer::encode(const std::string &text,
                             std::vector<int64_t> &ids) const {
  for (char byte : text)
    ids.push_back(static_cast<unsigned char>(byte));
  return Status();
}

std::string ByteTokenizer::bytesOf(int64_t id) const {
  return id >= 0 && id < 256 ? std::string(1, static_cast<char>(id)) : "";
}
