//===- CommandLineTest.cpp - Wrong command lines and files ----------------===//

#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

using test::Outcome;
using test::TinyModel;

namespace {

using Arguments = std::vector<std::string>;

/// "D" stands for the folder of the test; it holds D/tokens (400 ids),
/// D/bytes (3 bytes), D/floats.npy, D/masks.npy, and the folder D/folder.
std::string expand(std::string text, const std::string &folder) {
  for (size_t at = 0; (at = text.find("D/", at)) != text.npos;
       at += folder.size())
    text.replace(at, 1, folder);
  return text;
}

struct Mistake {
  int code;
  Arguments arguments;
  const char *message; ///< the whole line on stderr, after "error: "
  bool hasMask = false;
};

std::ostream &operator<<(std::ostream &out, const Mistake &mistake) {
  for (const std::string &argument : mistake.arguments)
    out << argument << " ";
  return out;
}

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, get_one_line_and_leave_nothing) {
  test::Folder folder;
  test::writeTokens(folder / "tokens", 400);
  test::writeFile(folder / "bytes", "abc");
  test::writeFile(folder / "floats.npy",
                  test::npy("<f4", "(3,)", std::string(12, '\0')));
  test::writeFile(folder / "masks.npy",
                  test::npy("<f4", "(3, 32)", std::string(384, '\0')));
  std::filesystem::create_directory(folder / "folder");
  Arguments before = test::namesIn(folder.path);
  Arguments arguments;
  for (const std::string &argument : GetParam().arguments)
    arguments.push_back(expand(argument, folder.path));
  TinyModel model;
  model.hasMask = GetParam().hasMask;
  Outcome outcome = test::train(model, arguments);
  EXPECT_EQ(outcome.code, GetParam().code);
  EXPECT_EQ(outcome.err,
            "error: " + expand(GetParam().message, folder.path) + "\n");
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(test::namesIn(folder.path), before);
}

INSTANTIATE_TEST_SUITE_P(
    Flags, Mistakes,
    testing::Values(
        Mistake{2, {}, "--data: not given, expected --data FILE with tokens"},
        Mistake{
            2, {"--dat", "D/tokens"}, "--dat: unknown; did you mean --data?"},
        Mistake{2, {"--chek"}, "--chek: unknown; did you mean --check?"},
        // Two letters in each other's place are one mistake.
        Mistake{2, {"--stesp"}, "--stesp: unknown; did you mean --steps?"},
        Mistake{2,
                {"--generate", "text"},
                "--generate: this program cannot generate (it has no function "
                "'generate'); compile it with honec --with=generate; for a run "
                "of hone train, type hone generate RUN --prompt TEXT"},
        Mistake{2, {"corpus"}, "corpus: unknown, expected a flag of --help"},
        Mistake{2, {"-h"}, "-h: unknown, expected a flag of --help"},
        Mistake{2, {"--data"}, "--data: no value, expected FILE"},
        Mistake{2, {"--data="}, "--data: '', expected a name"},
        Mistake{2,
                {"--data", "D/tokens", "--lr=1", "--lr=2"},
                "--lr: given twice, expected once"},
        Mistake{2,
                {"--data", "D/tokens", "D/bytes"},
                "D/bytes: unknown, expected a flag of --help (a pattern in "
                "quotes is expanded by this program: --data 'DIR/*.bin')"},
        Mistake{2, {"--quiet=yes"}, "--quiet: takes no value, 'yes' was given"},
        Mistake{2,
                {"--steps", "ten"},
                "--steps: 'ten', expected a whole number, or epochs such as "
                "2epochs"},
        Mistake{2,
                {"--steps", "-1"},
                "--steps: '-1', expected a whole number, or epochs such as "
                "2epochs"},
        Mistake{2,
                {"--steps", "1.5"},
                "--steps: '1.5', expected a whole number, or epochs such as "
                "2epochs"},
        Mistake{2,
                {"--steps", "99999999999999999999"},
                "--steps: '99999999999999999999', expected a whole number, or "
                "epochs such as 2epochs"},
        Mistake{2,
                {"--threads", "0"},
                "--threads: '0', expected a whole number from 1 to 1024"},
        Mistake{2, {"--lr", "fast"}, "--lr: 'fast', expected a number >= 0"},
        Mistake{2, {"--lr", "-1"}, "--lr: '-1', expected a number >= 0"},
        Mistake{2, {"--lr", "nan"}, "--lr: 'nan', expected a number >= 0"},
        Mistake{2, {"--lr", "inf"}, "--lr: 'inf', expected a number >= 0"},
        Mistake{2,
                {"--comm-timeout", "-1"},
                "--comm-timeout: '-1', expected a number >= 0"},
        Mistake{2, {"--clip", "1x"}, "--clip: '1x', expected a number >= 0"},
        Mistake{
            2,
            {"--seed", "9223372036854775808"},
            "--seed: '9223372036854775808', expected a whole number < 2^63"},
        Mistake{2,
                {"--schedule", "step"},
                "--schedule: 'step', expected constant, linear, cosine or "
                "wsd"},
        Mistake{2,
                {"--schedule", "cosin"},
                "--schedule: 'cosin', expected constant, linear, cosine or "
                "wsd; did you mean cosine?"},
        Mistake{2,
                {"--tokens", "many"},
                "--tokens: 'many', expected a number such as 5000, 300M or "
                "1.5B"},
        Mistake{2,
                {"--tokens", "1.2.3B"},
                "--tokens: '1.2.3B', expected a number such as 5000, 300M or "
                "1.5B"},
        Mistake{2,
                {"--steps", "0epochs"},
                "--steps: '0epochs', expected a whole number, or epochs such "
                "as 2epochs"},
        Mistake{2,
                {"--input", "mask"},
                "--input: 'mask', expected NAME=FILE.npy"}));

INSTANTIATE_TEST_SUITE_P(
    Sources, Mistakes,
    testing::Values(
        Mistake{1,
                {"--data", "D/folder/*.bin"},
                "--data: no file matches 'D/folder/*.bin'; D/folder holds "
                "nothing"},
        Mistake{2,
                {"--data", "D/tokens:0"},
                "--data: 'D/tokens:0' has the weight '0', expected a number > "
                "0 such as D/tokens:0.3"},
        Mistake{2,
                {"--data", "D/tokens:0.5", "--data", "D/tokens"},
                "--data: 'D/tokens' has no weight, 'D/tokens:0.5' has one; "
                "expected a weight for each or for none"},
        Mistake{2,
                {"--data=D/tokens", "--val-data=D/tokens:1"},
                "--val-data: 'D/tokens:1' has a weight, expected files alone: "
                "these are read in order, none is mixed"},
        Mistake{2,
                {"--data=D/tokens:1", "--data=D/tokens:1", "--steps=2epochs"},
                "--steps: given in epochs, of which each weighted --data has "
                "its own; expected a number of steps, or of --tokens: 2 times "
                "all 800 tokens are --steps 100 or --tokens 1600"},
        Mistake{1,
                {"--data=D/tokens,D/none"},
                "D/none: cannot be read: No such file or directory"},
        Mistake{1,
                {"--data=D/tokens:1", "--data=D/none:1"},
                "D/none: cannot be read: No such file or directory"},
        Mistake{2,
                {"--data=D/tokens:1", "--data=D/tokens:1",
                 "--input=mask=D/masks.npy"},
                "weights of --data: D/masks.npy holds values in the order of "
                "the stream, expected no weights of --data, or shape [32] for "
                "all micro-batches",
                true},
        Mistake{2,
                {"--data=D/tokens", "--data=D/tokens", "--save=D/tokens"},
                "--save: D/tokens is the file of --data, expected another "
                "file"}));

INSTANTIATE_TEST_SUITE_P(
    Contradictions, Mistakes,
    testing::Values(
        Mistake{2,
                {"--data", "D/tokens", "--resume"},
                "--resume: given without --checkpoint-dir"},
        Mistake{2,
                {"--data", "D/tokens", "--keep-best", "--val-data", "D/tokens"},
                "--keep-best: given without --checkpoint-dir"},
        Mistake{
            2,
            {"--data", "D/tokens", "--keep-best", "--checkpoint-dir", "D/c"},
            "--keep-best: given without --val-data"},
        Mistake{2,
                {"--data", "D/tokens", "--checkpoint-every", "5"},
                "--checkpoint-every: given without --checkpoint-dir"},
        Mistake{2,
                {"--data", "D/tokens", "--val-every", "5"},
                "--val-every: given without --val-data"},
        Mistake{2,
                {"--data", "D/tokens", "--val-batches", "5"},
                "--val-batches: given without --val-data"},
        Mistake{2,
                {"--data", "D/tokens", "--min-lr", "0.001"},
                "--min-lr: given without --schedule linear, cosine or wsd"},
        Mistake{
            2,
            {"--data", "D/tokens", "--decay-steps", "5", "--schedule=linear"},
            "--decay-steps: given without --schedule wsd"},
        Mistake{2,
                {"--data", "D/tokens", "--decay-steps=60", "--schedule=wsd",
                 "--warmup=50"},
                "--decay-steps: 60, expected at most --steps less --warmup "
                "(50)"},
        Mistake{2,
                {"--data", "D/tokens", "--steps=5", "--tokens=1K"},
                "--tokens: given with --steps, expected one of them"},
        Mistake{2,
                {"--steps", "2epochs"},
                "--steps: given in epochs without --data, whose tokens make an "
                "epoch"},
        Mistake{2,
                {"--data", "D/tokens", "--steps", "0.01epochs"},
                "--steps: 0.01 epochs of D/tokens (400 tokens) are no whole "
                "step, expected more epochs or more tokens"},
        Mistake{2,
                {"--data", "D/tokens", "--schedule", "cosine", "--lr", "0.1",
                 "--min-lr", "0.2"},
                "--min-lr: 0.2, expected at most --lr (0.1)"},
        Mistake{2,
                {"--data", "D/tokens", "--warmup", "11", "--steps", "10"},
                "--warmup: 11, expected at most --steps (10)"},
        Mistake{2, {"--shuffle"}, "--shuffle: given without --data"},
        Mistake{2,
                {"--data", "D/tokens", "--steps", "0", "--dump", "D/d"},
                "--dump: given with --steps 0"},
        Mistake{2,
                {"--data", "D/tokens", "--input", "tokens=D/floats.npy"},
                "--input: feeds the token stream that --data feeds"},
        Mistake{2,
                {"--data", "D/tokens", "--input", "other=D/floats.npy"},
                "--input: 'other', expected an input of this program (there is "
                "none)"},
        Mistake{2,
                {"--data", "D/tokens"},
                "--input: nothing for 'mask', expected --input mask=FILE.npy "
                "(f32 of shape [32])",
                true},
        Mistake{2,
                {"--data", "D/tokens", "--input", "nask=D/floats.npy"},
                "--input: 'nask', expected an input of this program (mask)",
                true}));

INSTANTIATE_TEST_SUITE_P(
    Files, Mistakes,
    testing::Values(
        Mistake{1,
                {"--data", "D/none"},
                "D/none: cannot be read: No such file or directory"},
        Mistake{1, {"--data", "D/folder"}, "D/folder: is not a regular file"},
        Mistake{1,
                {"--data", "D/bytes"},
                "D/bytes: has 3 bytes, expected an even number (uint16 ids)"},
        Mistake{
            1,
            {"--data", "D/floats.npy"},
            "D/floats.npy: .npy of float32, expected uint16, uint32, int32 or "
            "int64"},
        Mistake{1,
                {"--data", "D/tokens", "--val-data", "D/none"},
                "D/none: cannot be read: No such file or directory"},
        Mistake{1,
                {"--data", "D/tokens", "--init", "D/bytes"},
                "D/bytes: has 3 bytes, expected a safetensors file (8 bytes "
                "header length first)"},
        Mistake{1,
                {"--data", "D/tokens", "--init", "D/tokens"},
                "D/tokens: header of 844433520132096 bytes, expected at most "
                "100000000 (is it a safetensors file?)"},
        Mistake{1,
                {"--data", "D/tokens", "--save", "D/none/w"},
                "D/none/w: cannot be written: No such file or directory"},
        Mistake{1,
                {"--data", "D/tokens", "--save", "D/folder"},
                "D/folder: is no regular file, expected one or none"},
        Mistake{1,
                {"--data", "D/tokens", "--save", "/dev/null"},
                "/dev/null: is no regular file, expected one or none"},
        Mistake{1,
                {"--data", "D/tokens", "--log", "D/folder"},
                "D/folder: is no regular file, expected one or none"},
        Mistake{
            2,
            {"--data", "D/tokens", "--save", "D/tokens"},
            "--save: D/tokens is the file of --data, expected another file"},
        Mistake{2,
                {"--data", "D/tokens", "--log", "D/folder/../tokens"},
                "--log: D/folder/../tokens is the file of --data, expected "
                "another file"},
        Mistake{2,
                {"--data", "D/tokens", "--save", "D/w", "--log", "D/w"},
                "--save: D/w is the file of --log, expected another file"},
        Mistake{1,
                {"--data", "D/tokens", "--log", "D/none/log"},
                "D/none/log: cannot be written: No such file or directory"},
        Mistake{1,
                {"--data", "D/tokens", "--profile", "D/none/p"},
                "D/none/p: cannot be written: No such file or directory"},
        Mistake{1,
                {"--data", "D/tokens", "--checkpoint-dir", "D/none/c"},
                "D/none/c: cannot be made: No such file or directory"},
        Mistake{1,
                {"--data", "D/tokens", "--checkpoint-dir", "D/tokens"},
                "D/tokens: cannot be made: File exists"},
        Mistake{1,
                {"--data", "D/tokens", "--dump", "D/tokens"},
                "D/tokens: cannot be made: File exists"},
        Mistake{
            1,
            {"--data", "D/tokens", "--input", "mask=D/floats.npy"},
            "D/floats.npy: float32 of shape [3], expected f32 of shape [32] "
            "(input 'mask'), or that with a first dimension of "
            "micro-batches",
            true},
        Mistake{1,
                {"--data", "D/tokens", "--input", "mask=D/tokens"},
                "D/tokens: is no .npy file",
                true}));

TEST(CommandLine, a_log_may_go_to_a_device) {
  test::Folder folder;
  test::writeTokens(folder / "t", 100);
  Outcome outcome = test::train(
      {}, {"--data", folder / "t", "--steps", "1", "--log", "/dev/null"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(CommandLine, ids_beyond_the_vocabulary_are_named) {
  test::Folder folder;
  std::vector<uint16_t> ids(100, 1);
  ids[77] = 32;
  test::writeFile(folder / "t", test::bytesOf(ids));
  Outcome outcome = test::train({}, {"--data", folder / "t"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: " + (folder / "t") +
                             ": token 32 at position 77, expected 0 to 31\n");
}

TEST(CommandLine, fewer_tokens_than_a_batch_are_refused) {
  test::Folder folder;
  test::writeTokens(folder / "t", 16);
  Outcome outcome = test::train({}, {"--data", folder / "t"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: " + (folder / "t") +
                             ": holds 16 tokens, expected at least 17 (a batch "
                             "of 2 x 8 and one more)\n");
}

} // namespace
