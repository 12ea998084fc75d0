//===- DataTest.cpp - Whole runs over several data files ------------------===//

#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sys/resource.h>

using test::Outcome;
using test::TinyModel;

namespace {

using Arguments = std::vector<std::string>;

/// Files D/0.bin, D/1.bin and D/2.npy of 120, 7 and 250 ids, and D/joined.
class Data : public testing::Test {
protected:
  Data() {
    test::writeTokens(folder / "joined", 377);
    std::string ids = test::readFile(folder / "joined");
    test::writeFile(folder / "0.bin", ids.substr(0, 240));
    test::writeFile(folder / "1.bin", ids.substr(240, 14));
    test::writeFile(folder / "2.npy",
                    test::npy("<u2", "(250,)", ids.substr(254)));
  }

  Outcome run(Arguments arguments) {
    return test::train(model, std::move(arguments));
  }
  /// Losses, weights and validation losses of a run that must succeed.
  std::string bits(Arguments data, Arguments others = {}) {
    data.insert(data.end(), others.begin(), others.end());
    for (const char *word : {"--steps", "60"})
      data.push_back(word);
    data.insert(data.end(), {"--save", folder / "w", "--log", folder / "log"});
    Outcome outcome = run(data);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    out = outcome.out;
    return test::readFile(folder / "w") +
           losses(test::readFile(folder / "log"));
  }
  /// The lines of a log without times and speeds.
  static std::string losses(const std::string &log) {
    std::string kept;
    for (size_t begin = 0, end; begin < log.size(); begin = end + 1) {
      end = log.find('\n', begin);
      std::string line = log.substr(begin, end - begin);
      if (line.find("loss\"") != line.npos)
        kept += line.substr(
                    0, std::min(line.find(",\"ms\""), line.find(",\"time\""))) +
                "\n";
    }
    return kept;
  }
  std::string file(const char *name) const { return folder / name; }

  test::Folder folder;
  TinyModel model;
  std::string out;
};

TEST_F(Data, files_give_the_bits_of_the_joined_file) {
  for (const Arguments &others :
       {Arguments{}, Arguments{"--shuffle", "--seed=3"}}) {
    std::string joined =
        bits({"--data", file("joined"), "--val-data", file("joined")}, others);
    std::string list =
        file("0.bin") + "," + file("1.bin") + "," + file("2.npy");
    EXPECT_EQ(bits({"--data", folder / "*.*", "--val-data", list}, others),
              joined);
    EXPECT_EQ(bits({"--data", file("0.bin"), "--data", folder / "1.*",
                    "--data=" + file("2.npy"), "--val-data", file("0.bin"),
                    "--val-data", folder / "[12].*"},
                   others),
              joined);
    EXPECT_NE(bits({"--data", file("2.npy"), "--data", file("0.bin"), "--data",
                    file("1.bin"), "--val-data", list},
                   others),
              joined);
  }
}

TEST_F(Data, epochs_are_those_of_the_joined_file) {
  auto steps = [&](Arguments data) {
    data.insert(data.end(), {"--steps", "2epochs"});
    Outcome outcome = run(data);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out.substr(outcome.out.rfind("step "), 11);
  };
  EXPECT_EQ(steps({"--data", folder / "*.*"}),
            steps({"--data", file("joined")}));
  EXPECT_EQ(steps({"--data", folder / "*.*:0.5"}),
            steps({"--data", file("joined")}));
}

TEST_F(Data, crossed_documents_are_told) {
  auto note = [&](const std::string &facts, int64_t crossing) {
    test::writeFile(folder / "tokens.json", facts);
    model.crossingAttentions = crossing;
    bits({"--data", file("joined")});
    size_t begin = out.find("note: "), end = out.find('\n', begin);
    return begin == out.npos ? "" : out.substr(begin, end - begin);
  };
  std::string facts = R"({"end": "<|end|>", "end_id": 5, "documents": 3})";
  EXPECT_EQ(note(facts, 2),
            "note: attention crosses documents: " + file("joined") +
                " holds 3, and a token sees those before its own in the row; "
                "--documents=5 of honec (in run.toml documents = \"eos\") "
                "keeps them apart");
  EXPECT_EQ(note(facts, 0), "");
  EXPECT_EQ(note(R"({"end_id": 5, "documents": 1})", 2), "");
  // What is no such file says nothing.
  for (const char *other : {"{\"documents\": \"many\"}", "[3]", "", "{"})
    EXPECT_EQ(note(other, 2), "") << other;
  EXPECT_NE(note(R"({"documents": 3, "end_id": null})", 2)
                .find("--documents=ID of honec"),
            std::string::npos);
}

TEST_F(Data, sources_are_told) {
  bits({"--data", folder / "[01].bin:3", "--data", file("2.npy") + ":1"});
  std::string first = test::readFile(file("log"));
  first = first.substr(0, first.find('\n'));
  // 60 steps of 2 windows of 8: 90 over the 15 of one, 30 over the other's 31.
  EXPECT_NE(out.find("data: 2 sources, 377 tokens, batches of [2, 8], 1 per "
                     "step\n  " +
                     file("0.bin") + " .. " + file("1.bin") +
                     " (2 files), 127 tokens, 75 % of the windows, read 6 "
                     "times by step 60\n  " +
                     file("2.npy") +
                     ", 250 tokens, 25 % of the windows, read 0.968 times by "
                     "step 60\n"),
            std::string::npos)
      << out;
  EXPECT_NE(first.find(",\"data\":[{\"files\":[\"" + file("0.bin") + "\",\"" +
                       file("1.bin") +
                       "\"],\"tokens\":127,\"share\":0.75,\"passes\":6},{"
                       "\"files\":[\"" +
                       file("2.npy") +
                       "\"],\"tokens\":250,\"share\":0.25,\"passes\":0."
                       "967742}]"),
            std::string::npos)
      << first;
  EXPECT_EQ(out.find("epoch"), std::string::npos) << out;
  bits({"--data", file("joined")});
  EXPECT_NE(out.find("data: " + file("joined") +
                     ", 377 tokens, 23 batches of [2, 8] per epoch, 1 per "
                     "step, read 2.61 times by step 60\n"),
            std::string::npos)
      << out;
}

/// As many shards as a shell's usual limit does not let a process open.
TEST_F(Data, many_files_are_read) {
  std::string ids = test::readFile(file("joined"));
  for (int i = 0; i != 300; ++i)
    test::writeFile(folder / ("shard-" + std::to_string(1000 + i)),
                    ids.substr(size_t(i) * 2, 2));
  test::writeFile(file("joined"), ids.substr(0, 600));
  rlimit before, low;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  low = before;
  low.rlim_cur = 128;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  std::string shards = bits({"--data", folder / "shard-*"});
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(shards, bits({"--data", file("joined")}));
}

TEST_F(Data, mixtures_go_on_where_they_stood) {
  Arguments mixture = {"--data", folder / "[01].bin:0.4", "--data",
                       file("2.npy") + ":0.6"};
  for (const char *order : {"--quiet", "--shuffle"}) {
    for (int64_t microBatches : {1, 3}) {
      model.microBatches = microBatches;
      std::string whole = bits(mixture, {order});
      test::Folder checkpoints;
      Arguments part = mixture;
      part.insert(part.end(), {order, "--steps", "23", "--checkpoint-dir",
                               checkpoints / "c", "--log", file("log")});
      EXPECT_EQ(run(part).code, 0);
      // bits() reads the log of both parts.
      EXPECT_EQ(bits(mixture, {order, "--checkpoint-dir", checkpoints / "c",
                               "--resume"}),
                whole);
    }
  }
  model.microBatches = 1;
}

TEST_F(Data, a_resume_names_the_source_that_changed) {
  Arguments run = {"--steps", "3",   "--checkpoint-dir", file("c"),
                   "--lr",    "0.1", "--quiet",          "--data"};
  auto with = [&](const std::string &a, const std::string &b, bool resumes,
                  bool takesNew = false) {
    Arguments arguments = run;
    arguments.insert(arguments.end(), {a, "--data", b});
    if (resumes)
      arguments.push_back("--resume");
    if (takesNew)
      arguments.push_back("--new-data");
    return this->run(arguments);
  };
  std::string a = file("0.bin"), b = file("2.npy");
  ASSERT_EQ(with(a + ":1", b + ":1", false).code, 0);
  EXPECT_EQ(with(a + ":2", b + ":2", true).code, 0);
  std::string step = "error: " + file("c/step-00000003");
  EXPECT_EQ(with(a + ":1", file("joined:1"), true)
                .err.find(step + ": the run had another file for --data source "
                                 "2 ("),
            0u);
  EXPECT_EQ(with(a + ":3", b + ":1", true).err,
            step + ": the run had other weights for --data source 1 (2048 "
                   "slots, now 3072); expected the same, or --new-data to go "
                   "on with these\n");
  EXPECT_EQ(
      with(a, b, true)
          .err.find(step + ": the run had another file for --data (none; now "),
      0u);
  EXPECT_EQ(with(a + ":3", b + ":1", true, /*takesNew=*/true).code, 0);
}

} // namespace
