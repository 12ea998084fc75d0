//===- Tokenizer.h - Text to token ids and back -----------------*- C++ -*-===//

#ifndef HONERT_IO_TEXT_TOKENIZER_H
#define HONERT_IO_TEXT_TOKENIZER_H

#include "base/Status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace honert {

/// How a program's token ids stand for text.
class Tokenizer {
public:
  virtual ~Tokenizer() = default;
  virtual Status encode(const std::string &text,
                        std::vector<int64_t> &ids) const = 0;
  /// The bytes of one token; of several, one after the other, they are text.
  /// Nothing for an id that stands for none.
  virtual std::string bytesOf(int64_t id) const = 0;
  /// The token that ends a text; -1: none.
  virtual int64_t end() const { return -1; }
};

/// A token is a byte; 0 ends a text.
class ByteTokenizer : public Tokenizer {
public:
  Status encode(const std::string &text,
                std::vector<int64_t> &ids) const override;
  std::string bytesOf(int64_t id) const override;
  int64_t end() const override { return 0; }
};

} // namespace honert

#endif // HONERT_IO_TEXT_TOKENIZER_H
