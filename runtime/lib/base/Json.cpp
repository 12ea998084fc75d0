//===- Json.cpp - A small strict JSON reader ------------------------------===//

#include "base/Json.h"
#include "base/Status.h"

#include <cctype>
#include <cmath>
#include <cstdlib>

using namespace honert;

constexpr int maxDepth = 32;

bool JsonReader::fail(const std::string &what) {
  if (error.empty())
    error = what;
  return false;
}

void JsonReader::skipSpace() {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' ||
                              text[at] == '\n' || text[at] == '\r'))
    ++at;
}

bool JsonReader::accept(char c) {
  skipSpace();
  if (at >= text.size() || text[at] != c)
    return false;
  ++at;
  return true;
}

bool JsonReader::isNext(char first) {
  skipSpace();
  return at < text.size() && text[at] == first;
}

bool JsonReader::readBool(bool &value) {
  skipSpace();
  for (std::string_view word : {"false", "true"})
    if (text.substr(at, word.size()) == word) {
      at += word.size();
      value = word == "true";
      return true;
    }
  return fail("expected true or false");
}

bool JsonReader::readObject(
    const std::function<bool(const std::string &key)> &member) {
  if (!accept('{'))
    return fail("expected '{'");
  if (++depth > maxDepth)
    return fail("nested too deeply");
  std::set<std::string> keys;
  if (!accept('}')) {
    do {
      std::string key;
      if (!readString(key))
        return false;
      if (!keys.insert(key).second)
        return fail("key '" + key + "' appears twice");
      if (!accept(':'))
        return fail("expected ':'");
      if (!member(key))
        return fail("value of '" + key + "' is wrong");
    } while (accept(','));
    if (!accept('}'))
      return fail("expected ',' or '}'");
  }
  --depth;
  return true;
}

bool JsonReader::readArray(const std::function<bool()> &element) {
  if (!accept('['))
    return fail("expected '['");
  if (++depth > maxDepth)
    return fail("nested too deeply");
  if (!accept(']')) {
    do {
      if (!element())
        return fail("element of an array is wrong");
    } while (accept(','));
    if (!accept(']'))
      return fail("expected ',' or ']'");
  }
  --depth;
  return true;
}

bool JsonReader::readHex(uint32_t &value) {
  value = 0;
  for (int i = 0; i < 4; ++i, ++at) {
    if (at >= text.size() ||
        !std::isxdigit(static_cast<unsigned char>(text[at])))
      return fail("expected four hexadecimal digits");
    char c = text[at];
    uint32_t digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    value = value * 16 + digit;
  }
  return true;
}

static void appendUtf8(std::string &text, uint32_t code) {
  auto byte = [&](uint32_t bits) { text += static_cast<char>(bits); };
  if (code < 0x80)
    return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      byte(0xe0 | code >> 12);
    } else {
      byte(0xf0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3f));
    }
    byte(0x80 | (code >> 6 & 0x3f));
  }
  byte(0x80 | (code & 0x3f));
}

bool JsonReader::readEscape(std::string &value) {
  if (at >= text.size())
    return fail("text ends in a string");
  static constexpr std::string_view letters = "\"\\/bfnrt";
  static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  char c = text[at++];
  if (size_t index = letters.find(c); index != std::string_view::npos) {
    value += meanings[index];
    return true;
  }
  if (c != 'u')
    return fail("unknown escape in a string");
  uint32_t code;
  if (!readHex(code))
    return false;
  if (code >= 0xd800 && code < 0xdc00) {
    uint32_t low;
    if (text.substr(at, 2) != "\\u")
      return fail("half of a surrogate pair in a string");
    at += 2;
    if (!readHex(low))
      return false;
    if (low < 0xdc00 || low > 0xdfff)
      return fail("half of a surrogate pair in a string");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code < 0xe000) {
    return fail("half of a surrogate pair in a string");
  }
  appendUtf8(value, code);
  return true;
}

bool JsonReader::readString(std::string &value) {
  value.clear();
  if (!accept('"'))
    return fail("expected a string");
  while (at < text.size()) {
    char c = text[at++];
    if (c == '"')
      return true;
    if (static_cast<unsigned char>(c) < 0x20)
      return fail("control character in a string");
    if (c != '\\')
      value += c;
    else if (!readEscape(value))
      return false;
  }
  return fail("text ends in a string");
}

bool JsonReader::readUnsigned(uint64_t &value) {
  skipSpace();
  size_t begin = at;
  value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    if (__builtin_mul_overflow(value, uint64_t{10}, &value) ||
        __builtin_add_overflow(value, uint64_t(text[at] - '0'), &value))
      return fail("number exceeds 64 bits");
  if (at == begin)
    return fail("expected a whole number >= 0");
  if (text[begin] == '0' && at - begin > 1)
    return fail("number starts with 0");
  if (at < text.size() && (text[at] == '.' || (text[at] | 0x20) == 'e'))
    return fail("expected a whole number");
  return true;
}

bool JsonReader::skipNumber() {
  auto digits = [&] {
    size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9')
      ++at;
    return at > begin;
  };
  auto next = [&](char c) { return at < text.size() && text[at] == c; };
  if (next('-'))
    ++at;
  if (next('0'))
    ++at;
  else if (!digits())
    return fail("expected a value");
  if (next('.')) {
    ++at;
    if (!digits())
      return fail("expected digits");
  }
  if (next('e') || next('E')) {
    ++at;
    if (next('+') || next('-'))
      ++at;
    if (!digits())
      return fail("expected digits");
  }
  return true;
}

bool JsonReader::skipValue() {
  skipSpace();
  char first = at < text.size() ? text[at] : '\0';
  if (first == '{')
    return readObject([&](const std::string &) { return skipValue(); });
  if (first == '[')
    return readArray([&] { return skipValue(); });
  if (first == '"') {
    std::string ignored;
    return readString(ignored);
  }
  for (std::string_view word : {"true", "false", "null"})
    if (text.substr(at, word.size()) == word) {
      at += word.size();
      return true;
    }
  return skipNumber();
}

bool JsonReader::readEnd() {
  skipSpace();
  return at == text.size() || fail("text continues after its end");
}

std::string honert::quoteJson(const std::string &text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20)
      quoted += format("\\u%04x", c);
    else
      quoted += c;
  }
  return quoted + "\"";
}

static std::string shortest(double value,
                            const std::function<bool(const char *)> &isSame) {
  constexpr double mostDigits = 1e15; // beyond, a power of ten is shorter
  if (value == std::trunc(value) && std::fabs(value) < mostDigits)
    return format("%.0f", value);
  std::string text = "null";
  for (int digits = 1; std::isfinite(value) && digits <= 17; ++digits)
    if (text = format("%.*g", digits, value); isSame(text.c_str()))
      break;
  return text;
}

std::string honert::jsonNumber(double value) {
  return shortest(value, [=](const char *text) {
    return std::strtod(text, nullptr) == value;
  });
}

std::string honert::jsonNumber(float value) {
  return shortest(double(value), [=](const char *text) {
    return std::strtof(text, nullptr) == value;
  });
}
