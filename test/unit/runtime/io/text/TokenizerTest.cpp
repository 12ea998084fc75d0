//===- TokenizerTest.cpp - Words, byte pairs, and files of them -----------===//

#include "io/text/BytePairs.h"
#include "support/Run.h"

#include <gtest/gtest.h>

using namespace honert;

namespace {

using Words = std::vector<std::string_view>;

TEST(Words, are_those_of_gpt2) {
  WordPattern pattern;
  EXPECT_EQ(cutWords("I'll go,  12 caf\u00e9s\n\n", pattern),
            (Words{"I", "'ll", " go", ",", " ", " 12", " caf\u00e9s", "\n\n"}));
  EXPECT_EQ(cutWords("I'LL\n x", pattern), (Words{"I", "'", "LL", "\n", " x"}));
}

TEST(Words, are_those_of_gpt4) {
  WordPattern pattern{/*isFirst=*/false, /*digits=*/3};
  EXPECT_EQ(cutWords("I'LL (go) 12345!\n\n  x \n", pattern),
            (Words{"I", "'LL", " (", "go", ")", " ", "123", "45", "!\n\n", " ",
                   " x", " \n"}));
  pattern.digits = 1;
  EXPECT_EQ(cutWords("12", pattern), (Words{"1", "2"}));
}

TEST(Words, keep_bytes_that_are_no_text) {
  std::string text = "a\xff\xc3";
  EXPECT_EQ(cutWords(text, {}), (Words{"a", "\xff\xc3"}));
}

/// A file with the bytes a, b, c, space, two merges and one added token.
std::string file(const std::string &words, const std::string &more = "") {
  return R"({"added_tokens": [{"id": 6, "content": "<|endoftext|>"}],
    "normalizer": null, "pre_tokenizer": )" +
         words + R"(, "model": {"type": "BPE", )" + more + R"("vocab":
    {"a": 0, "b": 1, "c": 2, "\u0120": 3, "bc": 4, "abc": 5},
    "merges": ["b c", ["a", "bc"]]}})";
}

const char *const byteLevel =
    R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})";

TEST(BytePairs, are_merged_in_order) {
  test::Folder folder;
  test::writeFile(folder / "t.json", file(byteLevel));
  BytePairTokenizer tokenizer;
  ASSERT_EQ(tokenizer.open(folder / "t.json").message(), "");
  std::vector<int64_t> ids;
  ASSERT_TRUE(tokenizer.encode("abcb a<|endoftext|>bc", ids).ok());
  EXPECT_EQ(ids, (std::vector<int64_t>{5, 1, 3, 0, 6, 4}));
  std::string text;
  for (int64_t id : ids)
    text += tokenizer.bytesOf(id);
  EXPECT_EQ(text, "abcb a<|endoftext|>bc");
  EXPECT_EQ(tokenizer.end(), 6);
  EXPECT_EQ(tokenizer.bytesOf(7), "");
}

TEST(BytePairs, end_where_the_configuration_says) {
  test::Folder folder;
  test::writeFile(folder / "t.json", file(byteLevel));
  test::writeFile(folder / "tokenizer_config.json",
                  R"({"eos_token": {"content": "none"}})");
  BytePairTokenizer tokenizer;
  ASSERT_TRUE(tokenizer.open(folder / "t.json").ok());
  EXPECT_EQ(tokenizer.end(), -1);
}

TEST(BytePairs, refuse_other_tokenizers) {
  const char *expected = ", expected byte-level BPE as of GPT-2, Llama 3 or "
                         "Qwen; --prompt-ids takes tokens as numbers";
  const std::pair<std::string, std::string> cases[] = {
      {file(R"({"type": "Metaspace"})"), "pre-tokenizer 'Metaspace'"},
      {file(R"({"type": "ByteLevel", "add_prefix_space": true})"),
       "add_prefix_space"},
      {file(R"({"type": "ByteLevel", "use_regex": false})"),
       "a pre-tokenizer without expression"},
      {file(byteLevel, R"("byte_fallback": true, )"), "byte_fallback"},
      {R"({"model": {"type": "WordPiece"}})", "model 'WordPiece'"}};
  test::Folder folder;
  for (const auto &[text, what] : cases) {
    test::writeFile(folder / "t.json", text);
    EXPECT_EQ(BytePairTokenizer().open(folder / "t.json").message(),
              (folder / "t.json") + ": " + what + expected);
  }
  test::writeFile(folder / "t.json", "[]");
  EXPECT_EQ(BytePairTokenizer().open(folder / "t.json").message(),
            (folder / "t.json") +
                ": expected '{' at byte 0, expected a tokenizer.json");
}

} // namespace
