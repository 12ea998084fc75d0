//===- ResumeTest.cpp - What may differ when a run goes on ----------------===//

#include "io/FileIdentity.h"
#include "io/checkpoint/Manifest.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

using test::Outcome;
using test::TinyModel;

namespace {

using Arguments = std::vector<std::string>;

class Resume : public testing::Test {
protected:
  Resume() {
    model.hasMask = true;
    test::writeTokens(data, 120);
    test::writeTokens(validation, 60);
    writeMask(1);
    Outcome first = run({"--steps", "4"});
    EXPECT_EQ(first.code, 0) << first.err;
  }

  void writeMask(float value) {
    std::vector<float> values(TinyModel::vocab, value);
    test::writeFile(mask, test::npy("<f4", "(32,)", test::bytesOf(values)));
  }
  Outcome run(Arguments more) {
    Arguments arguments = {"--checkpoint-dir", folder / "c"};
    for (const auto &[flag, value] : flags)
      arguments.insert(arguments.end(), {flag, value});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::train(model, arguments);
  }
  Outcome resume(Arguments more = {}) {
    more.push_back("--resume");
    if (std::count(more.begin(), more.end(), "--steps") == 0)
      more.insert(more.end(), {"--steps", "6"});
    return run(more);
  }
  /// Changes a byte of a file.
  static void flip(const std::string &path, size_t at) {
    std::string bytes = test::readFile(path);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    test::writeFile(path, bytes);
  }
  static void cut(const std::string &path, size_t bytes) {
    test::writeFile(path, test::readFile(path).substr(0, bytes));
  }

  /// A difference from the run that wrote the checkpoint, and what is said.
  struct Mismatch {
    const char *name, *message;
    std::function<void()> make;
    Arguments flags = {};
  };
  void expectRefused(const Mismatch &mismatch);
  /// Each by itself: all is as before after it.
  void expectEachRefused(const std::vector<Mismatch> &mismatches);

  test::Folder folder;
  std::string data = folder / "tokens.bin", mask = folder / "mask.npy";
  std::string validation = folder / "val.bin";
  std::vector<std::pair<std::string, std::string>> flags = {
      {"--data", data},
      {"--val-data", validation},
      {"--input", "mask=" + mask}};
  TinyModel model;
};

void Resume::expectRefused(const Mismatch &mismatch) {
  mismatch.make();
  auto names = test::namesIn(folder / "c");
  Arguments checking = mismatch.flags;
  checking.push_back("--check");
  Outcome checked = resume(checking), outcome = resume(mismatch.flags);
  EXPECT_EQ(checked.err, outcome.err);
  EXPECT_EQ(checked.code, outcome.code);
  EXPECT_EQ(outcome.code, 1) << mismatch.name;
  EXPECT_NE(outcome.err.find(mismatch.message), std::string::npos)
      << mismatch.name << ": " << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  EXPECT_EQ(test::namesIn(folder / "c"), names);
}

void Resume::expectEachRefused(const std::vector<Mismatch> &mismatches) {
  const std::string tokens = test::readFile(data);
  const std::string others = test::readFile(validation);
  const TinyModel before = model;
  for (const Mismatch &mismatch : mismatches) {
    expectRefused(mismatch);
    model = before;
    test::writeFile(data, tokens);
    test::writeFile(validation, others);
  }
  EXPECT_EQ(resume().code, 0); // all was as before
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

// Ranges of numbers, another format: ManifestTest.cpp.

TEST_F(Resume, other_data_is_refused_by_name) {
  auto exchangeNeighbours = [&] {
    std::string bytes = test::readFile(data);
    size_t at = 0; // where two of them differ
    while (bytes.substr(at, 2) == bytes.substr(at + 2, 2))
      at += 2;
    std::swap(bytes[at], bytes[at + 2]);
    test::writeFile(data, bytes);
  };
  auto exchangeFiles = [&] {
    std::string bytes = test::readFile(data);
    test::writeFile(data, test::readFile(validation) + bytes);
    test::writeFile(validation, bytes);
  };
  const char *train = "another file for --data";
  const char *other = "another file for --val-data";
  expectEachRefused({
      {"first token", "another file for --data (240 bytes, hash",
       [&] { flip(data, 0); }},
      {"last token", train, [&] { flip(data, 238); }},
      {"middle", train, [&] { flip(data, 120); }},
      {"shorter", "(240 bytes, hash", [&] { cut(data, 200); }},
      {"longer", "now 400 bytes, hash", [&] { test::writeTokens(data, 200); }},
      {"two tokens exchanged", train, exchangeNeighbours},
      {"the two files exchanged", "another file for --", exchangeFiles},
      {"validation", other, [&] { flip(validation, 10); }},
      {"validation shorter", other, [&] { cut(validation, 100); }},
  });
}

TEST_F(Resume, another_run_is_refused_by_name) {
  auto nothing = [] {};
  expectEachRefused({
      {"model",
       "saved by tiny 2x8 fp32 (tiny), this program is tiny 2x8 fp32 (other)",
       [&] { model.fingerprint = "other"; }},
      {"batch",
       "saved by tiny 2x8 fp32, this program is tiny 3x8 fp32; expected "
       "the same model; for its weights alone: --init",
       [&] { model.fingerprint = "other", model.rows = 3; }},
      {"precision", "precision fp32, this program has bf16",
       [&] { model.precision = "bf16"; }},
      {"optimizer", "optimizer adamw, this program has lion",
       [&] { model.optimizer = "lion"; }},
      {"micro-batches", "micro-batches per step 1, this program has 3",
       [&] { model.microBatches = 3; }},
      {"seed",
       "--seed: 5, expected that of the run in",
       nothing,
       {"--seed", "5"}},
      {"order", "--shuffle: the run in", nothing, {"--shuffle"}},
  });
}

TEST_F(Resume, other_inputs_are_refused_by_name) {
  writeMask(2);
  Outcome outcome = resume();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("another file for --input mask"),
            std::string::npos)
      << outcome.err;
}

TEST_F(Resume, the_line_says_what_to_type) {
  model.precision = "bf16";
  EXPECT_EQ(resume().err,
            "error: " + (folder / "c/step-00000004") +
                ": precision fp32, this program has bf16; expected the same; "
                "for its weights alone: --init " +
                (folder / "c/step-00000004/state.safetensors") + "\n");
}

TEST_F(Resume, checking_starts_nothing) {
  auto before = test::readFile(folder / "c/flags.json");
  Outcome outcome =
      resume({"--check", "--quiet", "--lr", "0.5", "--log", folder / "log"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "check: the run goes on after step 4 of " + (folder / "c") + "\n");
  EXPECT_EQ(test::readFile(folder / "c/flags.json"), before);
  EXPECT_EQ(test::namesIn(folder / "c"),
            (Arguments{"flags.json", "latest", "step-00000004"}));
  EXPECT_EQ(test::readFile(folder / "log"), "");
  // Mistakes in flags are told as by a run.
  EXPECT_EQ(resume({"--check", "--min-lr", "0.1"}).code, 2);
  // Damage of the newest is no obstacle where there is one before it.
  EXPECT_EQ(resume().code, 0);
  test::writeFile(folder / "c/step-00000006/manifest.json", "{}");
  outcome = resume({"--check"});
  EXPECT_NE(outcome.out.find("after step 4 of "), std::string::npos)
      << outcome.out << outcome.err;
  test::writeFile(folder / "c/step-00000004/manifest.json", "{}");
  outcome = resume({"--check"});
  EXPECT_NE(outcome.err.find("every checkpoint is damaged"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.code, 1);
  std::filesystem::remove_all(folder / "c");
  EXPECT_EQ(resume({"--check"}).out, "check: the run starts at step 1\n");
}

//===----------------------------------------------------------------------===//
// What may differ
//===----------------------------------------------------------------------===//

TEST_F(Resume, new_data_is_taken_when_asked_for) {
  flip(data, 0);
  Outcome outcome = resume({"--new-data"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // And then it is the run's data.
  EXPECT_EQ(resume().code, 0);
  flip(data, 0);
  EXPECT_EQ(resume().code, 1);
  // It is not a way to another model.
  model.fingerprint = "other";
  EXPECT_EQ(resume({"--new-data"}).code, 1);
}

/// Of format 2 the number of tokens is all that is known of the data.
TEST_F(Resume, other_tokens_than_an_older_checkpoint_counted_are_refused) {
  std::string name = folder / "c/step-00000004/manifest.json";
  honert::Manifest manifest;
  ASSERT_TRUE(parseManifest(name, test::readFile(name), manifest).ok());
  manifest.format = 2;
  test::writeFile(name, textOf(manifest));
  flip(data, 0);
  Outcome outcome = resume({"--steps", "4"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "warning: " + (folder / "c/step-00000004") +
                             ": of an earlier version, which noted of data "
                             "the number of tokens alone; contents, precision "
                             "and optimizer are not compared\n");
  for (int count : {119, 121, 400}) {
    test::writeTokens(data, count);
    outcome = resume();
    EXPECT_EQ(outcome.code, 1) << count;
    std::string line = outcome.err.substr(outcome.err.find('\n') + 1);
    EXPECT_EQ(line, "error: " + (folder / "c") +
                        ": the run read 120 tokens of --data, got " +
                        std::to_string(count) +
                        "; expected as many, or --new-data to go on with "
                        "this file\n");
  }
  EXPECT_EQ(resume({"--new-data"}).code, 0);
}

TEST_F(Resume, validation_may_be_left_out_or_added) {
  auto all = flags;
  flags.erase(flags.begin() + 1);
  EXPECT_EQ(resume().code, 0);
  flags = all;
  EXPECT_EQ(resume({"--new-data"}).code, 0);
}

TEST_F(Resume, the_same_data_under_another_name_is_the_same) {
  std::filesystem::rename(data, folder / "moved.bin");
  flags[0].second = folder / "moved.bin";
  EXPECT_EQ(resume().code, 0);
}

TEST_F(Resume, changed_settings_are_named) {
  Outcome outcome = resume({"--lr", "0.5"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("resume: changed: --steps 6 (before: 4), --lr 0.5 "
                             "(before: 0.01), --min-lr 0.05 (before: 0.001)\n"),
            std::string::npos)
      << outcome.out;
}

/// As a message about a mismatch says.
TEST_F(Resume, the_weights_of_a_checkpoint_start_another_run) {
  std::string state = folder / "c/step-00000004/state.safetensors";
  Outcome outcome =
      test::train(model, {"--data", data, "--input", "mask=" + mask, "--init",
                          state, "--steps", "0", "--save", folder / "w"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

//===----------------------------------------------------------------------===//
// Identity of a long file
//===----------------------------------------------------------------------===//

/// Of a file that is not hashed whole: its ends, its size, and any change that
/// touches more than the distance of two blocks.
TEST(FileIdentity, of_a_long_file) {
  test::Folder folder;
  std::string path = folder / "long";
  constexpr int64_t size = 200 << 20, distance = (size - (64 << 10)) / 1023;
  test::writeFile(path, "");
  std::filesystem::resize_file(path, size); // sparse: zeros
  auto hash = [&] {
    honert::FileIdentity identity;
    honert::Status status = honert::identify("--data", {path}, identity);
    EXPECT_TRUE(status.ok()) << status.message();
    return std::make_pair(identity.bytes, identity.hash);
  };
  auto write = [&](int64_t at, const std::string &bytes) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << bytes;
  };
  auto zeros = hash();
  EXPECT_EQ(zeros.first, size);
  EXPECT_EQ(hash(), zeros);
  for (int64_t at : {int64_t{0}, size - 1}) {
    write(at, "x");
    EXPECT_NE(hash(), zeros) << at;
    write(at, std::string(1, '\0'));
    EXPECT_EQ(hash(), zeros);
  }
  for (int64_t at : {distance / 2, size / 3, size - 2 * distance}) {
    write(at, std::string(distance, 'x'));
    EXPECT_NE(hash(), zeros) << at;
    write(at, std::string(distance, '\0'));
  }
  std::filesystem::resize_file(path, size + 2);
  EXPECT_NE(hash(), zeros);
}

} // namespace
