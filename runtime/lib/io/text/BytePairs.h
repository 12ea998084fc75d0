//===- BytePairs.h - Byte-level BPE of a tokenizer.json ---------*- C++ -*-===//

#ifndef HONERT_IO_TEXT_BYTEPAIRS_H
#define HONERT_IO_TEXT_BYTEPAIRS_H

#include "io/text/Tokenizer.h"
#include "io/text/Words.h"

#include <unordered_map>

namespace honert {

/// Byte pair encoding on bytes (Radford et al., 2019), as files of the library
/// `tokenizers` have it: for GPT-2, Llama 3, Qwen and their kind. Nothing is
/// put before a text, nothing behind it. Text is expected in the normal form
/// that the file names (NFC).
class BytePairTokenizer : public Tokenizer {
public:
  /// Reads the file at `path`, and which token ends a text from
  /// tokenizer_config.json beside it, or by its name.
  Status open(const std::string &path);

  Status encode(const std::string &text,
                std::vector<int64_t> &ids) const override;
  std::string bytesOf(int64_t id) const override;
  int64_t end() const override { return endId; }

private:
  friend class TokenizerFile;

  void encodeWord(std::string_view word, std::vector<int64_t> &ids) const;
  void encodePlain(std::string_view text, std::vector<int64_t> &ids) const;

  struct Merge {
    int64_t rank, result;
  };

  WordPattern pattern;
  bool takesWholeWords = false; ///< words of the vocabulary need no merges
  std::unordered_map<std::string, int64_t> ids; ///< of bytes
  std::map<std::string, int64_t> added; ///< texts that are one token, such as
                                        ///< <|endoftext|>
  std::map<std::pair<int64_t, int64_t>, Merge> merges;
  std::unordered_map<int64_t, std::string> bytes;
  int64_t endId = -1;
};

} // namespace honert

#endif // HONERT_IO_TEXT_BYTEPAIRS_H
