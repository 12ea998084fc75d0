//===- Words.h - The words that byte pairs are merged in --------*- C++ -*-===//

#ifndef HONERT_IO_TEXT_WORDS_H
#define HONERT_IO_TEXT_WORDS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace honert {

/// Which regular expression of tokenizers cuts a text into words.
struct WordPattern {
  /// GPT-2's; else that of GPT-4, Llama 3 and Qwen.
  bool isFirst = true;
  /// Digits of a number, of the latter.
  int digits = 3;
};

/// The words of `text`, UTF-8, in order; they make up the text. A byte that
/// belongs to no code point is a word, or part of one, as punctuation is.
std::vector<std::string_view> cutWords(std::string_view text,
                                       const WordPattern &pattern);

/// Appends `code` as UTF-8.
void appendUtf8(std::string &text, uint32_t code);
/// The code point at `at`, which is moved behind it. A byte that begins none is
/// one above those of Unicode.
uint32_t readUtf8(std::string_view text, size_t &at);

} // namespace honert

#endif // HONERT_IO_TEXT_WORDS_H
