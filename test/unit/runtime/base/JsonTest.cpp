//===- JsonTest.cpp - What is JSON and what is not ------------------------===//

#include "base/Json.h"

#include <gtest/gtest.h>

using namespace honert;

namespace {

bool isJson(std::string_view text) {
  JsonReader json(text);
  return json.skipValue() && json.readEnd();
}

TEST(Json, accepts_values) {
  for (const char *text :
       {"{}", "[]", "0", "-1.5e+3", "\"a\\u00e9\\ud83d\\ude00\"",
        "{\"a\":[1,2,{\"b\":null}],\"c\":true}", " [ 1 , 2 ] \n"})
    EXPECT_TRUE(isJson(text)) << text;
}

TEST(Json, refuses_everything_else) {
  for (const char *text : {"",
                           "{",
                           "[1,]",
                           "{\"a\":1,}",
                           "{a:1}",
                           "01",
                           "1.",
                           ".5",
                           "+1",
                           "1e",
                           "nul",
                           "\"\\x\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\n\"",
                           "\"open",
                           "1 2",
                           "{\"a\":1,\"a\":2}",
                           "[1}",
                           "'a'",
                           "NaN"})
    EXPECT_FALSE(isJson(text)) << text;
  EXPECT_FALSE(isJson(std::string(100000, '[')));
}

TEST(Json, strings_survive_a_round_trip) {
  std::string text = "a\"b\\c\n\x01 \xc3\xa9", back;
  std::string quoted = quoteJson(text);
  JsonReader json(quoted);
  ASSERT_TRUE(json.readString(back) && json.readEnd());
  EXPECT_EQ(back, text);
}

TEST(Json, unsigned_numbers_are_checked) {
  auto read = [](const char *text) -> std::optional<uint64_t> {
    JsonReader json(text);
    uint64_t value;
    if (json.readUnsigned(value) && json.readEnd())
      return value;
    return std::nullopt;
  };
  EXPECT_EQ(read("18446744073709551615"), ~uint64_t{0});
  for (const char *text : {"18446744073709551616", "-1", "1.0", "1e3", "00"})
    EXPECT_FALSE(read(text)) << text;
}

} // namespace
