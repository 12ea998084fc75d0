//===- JsonTest.cpp - What is JSON and what is not ------------------------===//

#include "base/Json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

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

TEST(Json, numbers_have_the_shortest_digits_that_keep_the_bits) {
  EXPECT_EQ(jsonNumber(0.001), "0.001");
  EXPECT_EQ(jsonNumber(600.0), "600");
  EXPECT_EQ(jsonNumber(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(jsonNumber(1.0f / 3), "0.33333334");
  EXPECT_EQ(jsonNumber(0.1f), "0.1");
  EXPECT_EQ(jsonNumber(-3.0f), "-3");
  EXPECT_EQ(jsonNumber(0x1p127f), "1.7014118e+38");
  EXPECT_EQ(jsonNumber(std::nan("")), "null");
  EXPECT_EQ(jsonNumber(-HUGE_VALF), "null");
  uint32_t bits = 1;
  for (int i = 0; i < 10000; ++i) {
    bits = bits * 1664525 + 1013904223;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value))
      continue;
    std::string text = jsonNumber(value);
    EXPECT_EQ(std::strtof(text.c_str(), nullptr), value) << text;
    EXPECT_TRUE(isJson(text)) << text;
  }
}

} // namespace
