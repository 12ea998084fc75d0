//===- Json.h - A small strict JSON reader --------------------------------===//

#ifndef HONERT_BASE_JSON_H
#define HONERT_BASE_JSON_H

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace honert {

/// Reads one JSON text from front to back, as RFC 8259 has it and no wider.
/// Every function returns false at the first thing that is wrong; `mistake`
/// and `position` then say what and where. Duplicate keys are wrong.
class JsonReader {
public:
  explicit JsonReader(std::string_view text) : text(text) {}

  /// Calls member(key) for each member; it must consume the value.
  bool readObject(const std::function<bool(const std::string &key)> &member);
  /// Calls element() for each element; it must consume the value.
  bool readArray(const std::function<bool()> &element);
  bool readString(std::string &value);
  /// A whole number without sign, fraction or exponent that fits.
  bool readUnsigned(uint64_t &value);
  bool readBool(bool &value);
  /// Whether a value that begins with `first` is next.
  bool isNext(char first);
  /// Consumes any value.
  bool skipValue();
  /// Nothing but white space is left.
  bool readEnd();

  /// Records a mistake found by the caller, at the current position.
  bool fail(const std::string &what);
  const std::string &mistake() const { return error; }
  size_t position() const { return at; }

private:
  void skipSpace();
  bool accept(char c);
  bool readEscape(std::string &value);
  bool readHex(uint32_t &value);
  bool skipNumber();

  std::string_view text;
  size_t at = 0;
  int depth = 0;
  std::string error;
};

/// `text` as a JSON string, quotes included.
std::string quoteJson(const std::string &text);
/// The shortest decimals that read back as the same number; null for what is
/// not finite, which JSON has no name for.
std::string jsonNumber(double value);
std::string jsonNumber(float value);

} // namespace honert

#endif // HONERT_BASE_JSON_H
