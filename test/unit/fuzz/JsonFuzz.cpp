//===- JsonFuzz.cpp - JSON, and guesses at what a file is -----------------===//

#include "Fuzz.h"
#include "base/Json.h"
#include "io/FileKind.h"

std::vector<std::string> fuzzSeeds(const std::vector<std::string> &) {
  return {
      R"({"a": [1, 2.5e-3, true, null], "b": {"c": "x\u00e9\ud83d\ude00"}})",
      R"([[[[[]]]], "\\\"\/\b\f\n\r\t", -0.0, 12345678901234567890])",
      "\"text\"", "18446744073709551615"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text = view(data, size);
  (void)honert::recogniseFile(text);
  (void)honert::looksLikeText(text);
  honert::JsonReader whole(text);
  bool isGood = whole.skipValue() && whole.readEnd();
  uint64_t number;
  std::string string;
  (void)honert::JsonReader(text).readUnsigned(number);
  if (honert::JsonReader(text).readString(string)) {
    // What is quoted reads back.
    std::string quoted = honert::quoteJson(string), again;
    if (!honert::JsonReader(quoted).readString(again) || again != string)
      __builtin_trap();
  }
  return isGood ? 0 : -1;
}
