//===- Words.cpp - The words that byte pairs are merged in ----------------===//

#include "io/text/Words.h"

#include <algorithm>
#include <iterator>

using namespace honert;

//===----------------------------------------------------------------------===//
// Code points
//===----------------------------------------------------------------------===//

static constexpr uint32_t noCode = 0x110000;

uint32_t honert::readUtf8(std::string_view text, size_t &at) {
  auto byte = static_cast<unsigned char>(text[at++]);
  int more = byte < 0x80             ? 0
             : (byte & 0xe0) == 0xc0 ? 1
             : (byte & 0xf0) == 0xe0 ? 2
             : (byte & 0xf8) == 0xf0 ? 3
                                     : -1;
  if (more < 0 || at + static_cast<size_t>(more) > text.size())
    return noCode + byte;
  uint32_t code = more == 0 ? byte : byte & (0x3fU >> more);
  for (int i = 0; i != more; ++i) {
    auto next = static_cast<unsigned char>(text[at + static_cast<size_t>(i)]);
    if ((next & 0xc0) != 0x80)
      return noCode + byte;
    code = code << 6 | (next & 0x3f);
  }
  at += static_cast<size_t>(more);
  return code;
}

void honert::appendUtf8(std::string &text, uint32_t code) {
  auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80)
    return add(code);
  if (code >= 0x10000) {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
  } else if (code >= 0x800) {
    add(0xe0 | code >> 12);
  }
  add(code >= 0x800 ? 0x80 | (code >> 6 & 0x3f) : 0xc0 | code >> 6);
  add(0x80 | (code & 0x3f));
}

namespace {
struct CodeRange {
  uint32_t first, last;
};
} // namespace

static constexpr CodeRange letters[] = {
#define HONERT_LETTERS(first, last) {first, last},
#include "io/text/Categories.def"
};

static constexpr CodeRange numbers[] = {
#define HONERT_NUMBERS(first, last) {first, last},
#include "io/text/Categories.def"
};

template <size_t N>
static bool isIn(const CodeRange (&ranges)[N], uint32_t code) {
  const CodeRange *range = std::partition_point(
      std::begin(ranges), std::end(ranges),
      [&](const CodeRange &each) { return each.last < code; });
  return range != std::end(ranges) && range->first <= code;
}

static bool isSpace(uint32_t code) {
  return (code >= 9 && code <= 13) || code == ' ' || code == 0x85 ||
         code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
         code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
         code == 0x3000;
}

//===----------------------------------------------------------------------===//
// The regular expressions
//===----------------------------------------------------------------------===//

namespace {
enum class Class { letter, number, newline, space, other };

/// The alternatives of both expressions, by position in the code points:
///
///   's|'t|'re|'ve|'m|'ll|'d          upper case too in the second
///   first   ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+
///   second [^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
///   ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+ both   \s+(?!\S)|\s+
class WordCutter {
public:
  WordCutter(std::string_view text, const WordPattern &pattern)
      : pattern(pattern) {
    for (size_t at = 0; at != text.size();) {
      starts.push_back(at);
      codes.push_back(readUtf8(text, at));
      classes.push_back(classOf(codes.back()));
    }
    starts.push_back(text.size());
  }

  size_t count() const { return codes.size(); }
  size_t byteOf(size_t index) const { return starts[index]; }

  /// The end of the word that begins at `at`.
  size_t wordEnd(size_t at) const {
    if (size_t end = contractionEnd(at); end != at)
      return end;
    size_t end = pattern.isFirst ? firstEnd(at) : secondEnd(at);
    return end != at ? end : spaceEnd(at);
  }

private:
  static Class classOf(uint32_t code) {
    return code == '\r' || code == '\n' ? Class::newline
           : isSpace(code)              ? Class::space
           : isIn(letters, code)        ? Class::letter
           : isIn(numbers, code)        ? Class::number
                                        : Class::other;
  }

  bool is(size_t at, Class wanted) const {
    return at < count() && classes[at] == wanted;
  }
  size_t skip(size_t at, Class wanted) const {
    while (is(at, wanted))
      ++at;
    return at;
  }

  size_t contractionEnd(size_t at) const {
    if (codes[at] != '\'')
      return at;
    for (std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
      size_t end = at + 1;
      for (char letter : ending) {
        uint32_t code = end < count() ? codes[end] : 0;
        if (!pattern.isFirst && code >= 'A' && code <= 'Z')
          code += 'a' - 'A';
        if (code != static_cast<unsigned char>(letter))
          break;
        ++end;
      }
      if (end == at + 1 + ending.size())
        return end;
    }
    return at;
  }

  size_t firstEnd(size_t at) const {
    size_t begin = at + (codes[at] == ' ' ? 1 : 0);
    for (Class each : {Class::letter, Class::number, Class::other})
      if (is(begin, each))
        return skip(begin, each);
    return at;
  }

  size_t secondEnd(size_t at) const {
    bool mayPrecede = is(at, Class::space) || is(at, Class::other);
    size_t begin = mayPrecede ? at + 1 : at;
    if (is(begin, Class::letter))
      return skip(begin, Class::letter);
    if (is(at, Class::number))
      return std::min(skip(at, Class::number),
                      at + static_cast<size_t>(pattern.digits));
    begin = at + (codes[at] == ' ' ? 1 : 0);
    if (is(begin, Class::other))
      return skip(skip(begin, Class::other), Class::newline);
    size_t end = at; // behind the last newline among white space
    for (size_t i = at; is(i, Class::space) || is(i, Class::newline); ++i)
      if (is(i, Class::newline))
        end = i + 1;
    return end;
  }

  /// White space, but for the last before something else.
  size_t spaceEnd(size_t at) const {
    size_t end = at;
    while (is(end, Class::space) || is(end, Class::newline))
      ++end;
    return end == count() || end == at + 1 ? end : end - 1;
  }

  WordPattern pattern;
  std::vector<uint32_t> codes;
  std::vector<Class> classes;
  std::vector<size_t> starts; ///< bytes, and the end
};
} // namespace

std::vector<std::string_view> honert::cutWords(std::string_view text,
                                               const WordPattern &pattern) {
  WordCutter cutter(text, pattern);
  std::vector<std::string_view> words;
  for (size_t at = 0; at != cutter.count();) {
    size_t end = cutter.wordEnd(at);
    words.push_back(
        text.substr(cutter.byteOf(at), cutter.byteOf(end) - cutter.byteOf(at)));
    at = end;
  }
  return words;
}
