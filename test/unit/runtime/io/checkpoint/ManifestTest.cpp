//===- ManifestTest.cpp - What a checkpoint says of itself ----------------===//

#include "io/checkpoint/Manifest.h"
#include "base/Files.h"
#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace honert;

namespace {

/// The manifest with a checksum that fits, as one who crafts it would make.
std::string seal(const std::string &rest) {
  Checksum checksum;
  checksum.add(rest.data(), static_cast<int64_t>(rest.size()));
  return format("{\"checksum\":\"%016llx\",\n",
                static_cast<unsigned long long>(checksum.value())) +
         rest;
}

class Manifests : public testing::Test {
protected:
  Manifests() {
    test::describe(test::TinyModel(), program.get());
    good = Manifest::of(*program);
    good.position = {12, 12, 7, true, 1000};
    good.facts.files = {{"--data", 240, 0xfedcba9876543210},
                        {"--data source 2", 3, 4, /*slots=*/1024},
                        {"--val-data", 1, 5}};
    good.facts.settings = {{"--lr", "0.01"}, {"--schedule", "\"cosine\""}};
    good.stateBytes = 4567;
    good.stateChecksum = ~uint64_t{0};
    text = textOf(good);
    rest = text.substr(text.find('\n') + 1);
  }

  /// With the first `from` in it made `to`, resealed.
  std::string changed(const std::string &from, const std::string &to) const {
    std::string bad = rest;
    size_t at = bad.find(from);
    EXPECT_NE(at, bad.npos) << from;
    return seal(bad.replace(at, from.size(), to));
  }
  /// What is wrong with a text, in the order in which a run looks.
  Status check(const std::string &bytes) const {
    Manifest found;
    HONERT_TRY(parseManifest("c/manifest.json", bytes, found));
    return checkProgram("c", found, *program);
  }

  test::ProgramPtr program{honert_program_new(), honert_program_free};
  Manifest good;
  std::string text, rest;
};

TEST_F(Manifests, are_read_as_written) {
  Manifest found;
  Status status = parseManifest("m", text, found);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(textOf(found), text);
  EXPECT_EQ(found.position, good.position);
  EXPECT_EQ(found.facts.files, good.facts.files);
  EXPECT_EQ(found.facts.settings, good.facts.settings);
  EXPECT_TRUE(check(text).ok());
}

TEST_F(Manifests, of_format_2_are_read) {
  std::string old = seal(
      "\"format\":2,\n\"fingerprint\":\"tiny\",\n\"step\":4,\n"
      "\"micro_step\":4,\n\"seed\":0,\n\"shuffle\":0,\n\"data_tokens\":120,\n"
      "\"files\":[{\"name\":\"state.safetensors\",\"bytes\":9,\"checksum\":"
      "\"00000000000000ff\"}]}\n");
  EXPECT_TRUE(check(old).ok()) << check(old).message();
}

/// Before batches and shares of sources were noted.
TEST_F(Manifests, of_format_3_are_read) {
  EXPECT_NE(check(changed("\"batch\":\"2x8\",\n", ""))
                .message()
                .find("key 'batch' is missing"),
            std::string::npos);
  std::string without = changed("\"batch\":\"2x8\",\n", "");
  rest = without.substr(without.find('\n') + 1);
  Status status = check(changed("\"format\":4", "\"format\":3"));
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(Manifests, every_number_has_a_range) {
  const struct {
    const char *from, *to, *message;
  } cases[] = {
      {"\"step\":12", "\"step\":18446744073709551615", "expected at most 92"},
      {"\"step\":12", "\"step\":9223372036854775808", "expected at most 92"},
      {"\"step\":12", "\"step\":18446744073709551616", "at 'step': "},
      {"\"step\":12", "\"step\":9223372036854775807", "2^61 tokens"},
      {"\"step\":12", "\"step\":1152921504606846976", "2^61 tokens"},
      {"\"step\":12", "\"step\":-1", "at 'step': "},
      {"\"step\":12", "\"step\":1.5", "at 'step': "},
      {"\"step\":12", "\"step\":1e3", "at 'step': "},
      {"\"step\":12", "\"step\":\"12\"", "at 'step': "},
      {"\"step\":12", "\"step\":13", "12 micro-batches after 13 steps"},
      {"\"micro_step\":12", "\"micro_step\":9223372036854775808", "at most"},
      {"\"micro_step\":12", "\"micro_step\":0", "0 micro-batches after 12"},
      {"\"micro_batches\":1", "\"micro_batches\":2147483648", "at most"},
      {"\"micro_batches\":1", "\"micro_batches\":0", "micro-batches per step"},
      {"\"seed\":7", "\"seed\":9223372036854775808", "at most"},
      {"\"shuffle\":1", "\"shuffle\":2", "expected at most 1"},
      {"\"data_tokens\":1000", "\"data_tokens\":9223372036854775808",
       "at most"},
      {"\"bytes\":240", "\"bytes\":9223372036854775808", "at most"},
      {"\"bytes\":4567", "\"bytes\":9223372036854775808", "at most"},
      {"\"format\":4", "\"format\":18446744073709551615", "expected 2 to 4"},
      {"\"format\":4", "\"format\":0", "format 0, expected 2 to 4"},
      {"\"format\":4,", "", "is no manifest"},
      {"\"seed\":7,", "", "key 'seed' is missing"},
      {"\"seed\":7", "\"seed\":7,\"seed\":8", "'seed' appears twice"},
      {"\"seed\":7", "\"sead\":7", "unknown key 'sead'"},
      {"\"hash\":\"fe", "\"hash\":\"FE", "expected 16 hex digits"},
      {"\"hash\":\"fe", "\"hash\":\"e", "expected 16 hex digits"},
      {"\"name\":\"state", "\"name\":\"../state", "expected one file"},
      {"\"files\":[", "\"files\":[{},", "expected one file"},
  };
  for (const auto &each : cases) {
    Status status = check(changed(each.from, each.to));
    EXPECT_NE(status.message().find(each.message), std::string::npos)
        << each.to << ": " << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
}

/// Numbers at the ends of ranges, and pieces of JSON.
const std::string words[] = {"18446744073709551615",
                             "9223372036854775807",
                             "9223372036854775808",
                             "-1",
                             "0",
                             "4294967296",
                             "1e999",
                             "null",
                             "true",
                             "[]",
                             "{}",
                             "\"\"",
                             "[[",
                             "\"\\u0000\"",
                             ",",
                             ":",
                             "}",
                             "\"step\":",
                             "\"files\":"};

/// Makes one change, often an error.
void changeAnywhere(std::string &text, std::mt19937_64 &random) {
  size_t at = random() % (text.size() + 1);
  const std::string &word = words[random() % std::size(words)];
  size_t digit = text.find_first_of("0123456789", at);
  switch (random() % 5) {
  case 0: // another number, or something else instead of one
    if (digit != text.npos) {
      size_t end = text.find_first_not_of("0123456789", digit);
      text.replace(digit, end - digit,
                   random() % 2 ? word : std::to_string(random()));
    }
    break;
  case 1:
    text.insert(at, word);
    break;
  case 2:
    text.erase(at, random() % 20);
    break;
  case 3:
    if (at < text.size())
      text[at] = static_cast<char>(random());
    break;
  case 4: // a piece of it again
    text.insert(at, text.substr(random() % (text.size() + 1), random() % 40));
    break;
  }
}

/// What holds of every manifest that is read.
void expectInRange(const Manifest &found) {
  ASSERT_LE(found.position.seed, uint64_t{INT64_MAX});
  ASSERT_GE(found.position.dataTokens, 0);
  ASSERT_GE(found.stateBytes, 0);
  for (const FileIdentity &file : found.facts.files)
    ASSERT_GE(file.bytes, 0);
}

/// What holds of every manifest that a run goes on from.
void expectPlace(const RunPosition &position) {
  ASSERT_GE(position.step, 0);
  ASSERT_LT(position.step, int64_t{1} << 61);
  ASSERT_EQ(position.microStep, position.step);
}

/// A manifest that is made to be wrong is refused or harmless. The number of
/// trials: HONE_FUZZ_MANIFESTS, for HONE_FUZZ_SECONDS at most.
TEST_F(Manifests, crafted_ones_are_refused_or_in_range) {
  const char *trials = std::getenv("HONE_FUZZ_MANIFESTS");
  long count = trials ? std::atol(trials) : 20000;
  const char *bound = std::getenv("HONE_FUZZ_SECONDS");
  std::chrono::seconds most(bound ? std::atol(bound) : 600);
  auto start = std::chrono::steady_clock::now();
  std::mt19937_64 random(42);
  long good = 0, trial = 0;
  for (; trial < count; ++trial) {
    if (std::chrono::steady_clock::now() - start > most)
      break;
    std::string bad = rest;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes)
      changeAnywhere(bad, random);
    Manifest found;
    if (!parseManifest("m", seal(bad), found).ok())
      continue;
    ASSERT_NO_FATAL_FAILURE(expectInRange(found));
    if (!checkProgram("c", found, *program).ok())
      continue;
    ++good;
    ASSERT_NO_FATAL_FAILURE(expectPlace(found.position));
  }
  // Most changes matter, and some do not.
  EXPECT_GT(good, trial / 1000);
  EXPECT_LT(good, trial / 2);
  if (trials)
    std::printf("%ld manifests, %ld accepted\n", trial, good);
}

} // namespace
