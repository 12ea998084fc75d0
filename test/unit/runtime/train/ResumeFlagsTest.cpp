//===- ResumeFlagsTest.cpp - Runs that go on with their flags -------------===//

#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

using test::Outcome;
using test::TinyModel;
namespace fs = std::filesystem;

namespace {

using Arguments = std::vector<std::string>;

/// Runs that are started in the folder of the test, with relative paths.
class ResumeFlags : public testing::Test {
protected:
  ResumeFlags() {
    test::writeTokens(folder / "tokens", 400);
    test::writeTokens(folder / "more", 300);
    fs::create_directory(folder / "elsewhere");
    fs::current_path(folder.path);
  }
  ~ResumeFlags() override { fs::current_path(before); }

  Outcome run(Arguments arguments) {
    return test::train(TinyModel(), std::move(arguments));
  }
  Outcome good(Arguments arguments) {
    Outcome outcome = run(std::move(arguments));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }
  /// The lines of `text` about flags that differ.
  static Arguments changes(const std::string &text) {
    Arguments found;
    for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      std::string line = text.substr(begin, end - begin);
      if (line.find("(before: ") != line.npos)
        found.push_back(line);
    }
    return found;
  }

  const fs::path before = fs::current_path();
  test::Folder folder;
};

const Arguments flags = {"--data=tokens:3", "--data=more:1",  "--shuffle",
                         "--seed=7",        "--lr=0.05",      "--clip=1",
                         "--schedule=wsd",  "--decay-steps=4"};

Arguments with(Arguments others) {
  others.insert(others.begin(), flags.begin(), flags.end());
  return others;
}

TEST_F(ResumeFlags, a_run_goes_on_without_a_flag) {
  good(with({"--steps=20", "--save=whole", "--log=whole.jsonl"}));
  good(with({"--steps=20", "--checkpoint-dir=c", "--checkpoint-every=8",
             "--save=w", "--log=log.jsonl"}));
  // As if it had been killed after step 16.
  fs::remove_all("c/step-00000020");
  test::writeFile("c/latest", "step-00000016\n");
  fs::remove("w");
  Outcome outcome = good({"--resume", "c"});
  EXPECT_EQ(changes(outcome.out), Arguments{});
  EXPECT_NE(outcome.out.find("resume: after step 16 from c\n"),
            std::string::npos);
  EXPECT_EQ(test::readFile("w"), test::readFile("whole"));
  EXPECT_NE(test::readFile("log.jsonl").find("\"resumed\":16"),
            std::string::npos);
  // Nothing is left to do.
  EXPECT_NE(good({"--resume=c"}).out.find("already complete"),
            std::string::npos);
}

TEST_F(ResumeFlags, what_is_given_again_replaces_and_is_told) {
  good(with({"--steps=10", "--quiet", "--checkpoint-dir=c"}));
  Outcome outcome =
      good({"--resume", "c", "--steps", "14", "--lr=0.01", "--weight-decay=0.5",
            "--quiet=false", "--clip=1", "--threads=1"});
  EXPECT_EQ(changes(outcome.out),
            (Arguments{"resume: steps 14 (before: 10)",
                       "resume: lr 0.01 (before: 0.05)",
                       "resume: weight-decay 0.5 (before: not given)",
                       "resume: threads 1 (before: not given)",
                       "resume: quiet false (before: true)",
                       "resume: changed: --min-lr 0.001 (before: 0.005)"}));
  EXPECT_NE(outcome.out.find("lr 1.00e-03"), std::string::npos) << outcome.out;
  // They are the run's from now on.
  outcome = good({"--resume", "c", "--steps", "16"});
  EXPECT_EQ(changes(outcome.out), Arguments{"resume: steps 16 (before: 14)"});
  EXPECT_NE(outcome.out.find("lr 1.00e-03"), std::string::npos) << outcome.out;
}

/// How often a kernel of `interrupted` runs before it interrupts its process.
int stepsLeft;

void interrupt(void *const *, int64_t, int64_t) {
  if (--stepsLeft == 0)
    std::raise(SIGINT);
}

TEST_F(ResumeFlags, a_run_that_ends_says_how_to_go_on) {
  unsetenv("HONE_RESUME");
  std::signal(SIGINT, SIG_DFL); // ignored in the background of a script
  TinyModel interrupted;
  interrupted.before = interrupt;
  stepsLeft = 3;
  Outcome outcome = test::train(
      interrupted, with({"--steps=20", "--checkpoint-dir=c", "--threads=1"}));
  EXPECT_EQ(outcome.code, 128 + SIGINT);
  auto lastLine = [](const std::string &text) {
    return text.substr(text.rfind('\n', text.size() - 2) + 1);
  };
  EXPECT_EQ(lastLine(outcome.out), "go on: ./train --resume c\n");
  // Its own steps are done: nothing to say, until it is started once more.
  outcome = good({"--resume=c"});
  EXPECT_EQ(outcome.out.find("go on: "), std::string::npos) << outcome.out;
  outcome = good({"--resume=c"});
  EXPECT_NE(outcome.out.find("already complete: the run in c has done step 20, "
                             "--steps is 20: 0 steps in"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(lastLine(outcome.out), "go on: ./train --resume c --steps 40\n");
  good({"--resume", "c", "--steps", "40"});
  // hone train has a command of its own, whose keys are these flags.
  setenv("HONE_RESUME", "hone train --resume runs/a", 1);
  outcome = good({"--resume=c"});
  EXPECT_EQ(lastLine(outcome.out),
            "go on: hone train --resume runs/a steps=80\n");
  unsetenv("HONE_RESUME");
  // Without a checkpoint there is nothing to go on from.
  stepsLeft = 3;
  outcome = test::train(interrupted, with({"--steps=20", "--threads=1"}));
  EXPECT_EQ(outcome.code, 128 + SIGINT);
  EXPECT_EQ(outcome.out.find("go on: "), std::string::npos) << outcome.out;
}

TEST_F(ResumeFlags, what_does_not_go_with_a_given_flag_is_dropped) {
  good(with({"--tokens=160", "--checkpoint-dir=c"}));
  Outcome outcome = good({"--resume=c", "--steps=12", "--schedule=constant"});
  EXPECT_EQ(changes(outcome.out),
            (Arguments{"resume: steps 12 (before: not given)",
                       "resume: tokens not given (before: 160)",
                       "resume: schedule constant (before: wsd)",
                       "resume: decay-steps not given (before: 4)"}));
  // And back.
  good({"--resume=c", "--tokens=208"});
}

TEST_F(ResumeFlags, other_data_needs_new_data) {
  good(with({"--steps=4", "--checkpoint-dir=c"}));
  Arguments other = {"--resume=c", "--steps=6", "--data=tokens"};
  EXPECT_NE(run(other).err.find("expected the same, or --new-data"),
            std::string::npos);
  other.push_back("--new-data");
  EXPECT_EQ(changes(good(other).out).front(),
            "resume: data tokens (before: tokens:3, more:1)");
  // --new-data was for that process.
  good({"--resume=c", "--steps=8"});
  EXPECT_EQ(test::readFile("c/flags.json").find("new-data"), std::string::npos);
}

TEST_F(ResumeFlags, files_that_are_not_found_from_here) {
  good(with({"--steps=4", "--checkpoint-dir=c", "--val-data=*ore"}));
  std::string started = "the run was started in " +
                        fs::current_path().string() +
                        ": go on from there, or give the flag again\n";
  fs::current_path("elsewhere");
  EXPECT_EQ(run({"--resume=../c"}).err,
            "error: --val-data: no file matches '*ore'; . holds nothing; " +
                started);
  EXPECT_EQ(run({"--resume=../c", "--val-data=../more"}).err,
            "error: tokens: not found from here; " + started);
  good({"--resume=../c", "--steps=5", "--val-data=../more",
        "--data=../tokens:3", "--data=../more:1"});
  // A file that is gone, seen from the folder of the run.
  fs::current_path("..");
  good(with({"--steps=4", "--checkpoint-dir=d"}));
  fs::remove("tokens");
  EXPECT_EQ(run({"--resume=d"}).err,
            "error: tokens: cannot be read: No such file or directory\n");
}

TEST_F(ResumeFlags, folders_without_a_record_are_as_before) {
  EXPECT_EQ(run({"--resume=c"}).err,
            "error: --data: not given, and c has no flags.json with the flags "
            "of a run; expected --data FILE with tokens and the other flags of "
            "the run\n");
  EXPECT_FALSE(fs::exists("c"));
  // A first start that a script also uses to go on.
  Arguments all = with({"--steps=4", "--resume=c"});
  EXPECT_NE(good(all).out.find("no checkpoint in c, starting at step 1"),
            std::string::npos);
  // Of an earlier version.
  fs::remove("c/flags.json");
  EXPECT_EQ(run({"--resume=c"}).code, 2);
  all = with({"--steps=6", "--checkpoint-dir=c", "--resume"});
  EXPECT_EQ(changes(good(all).out),
            Arguments{"resume: changed: --steps 6 (before: 4)"});
  // Alone, --resume takes nothing from the record.
  EXPECT_EQ(run({"--checkpoint-dir=c", "--resume"}).err,
            "error: --data: not given, expected --data FILE with tokens\n");
}

TEST_F(ResumeFlags, wrong_records_and_folders) {
  good(with({"--steps=4", "--checkpoint-dir=c"}));
  EXPECT_EQ(run({"--resume=c", "--checkpoint-dir=d"}).err,
            "error: --checkpoint-dir: d, expected c, from which --resume goes "
            "on\n");
  test::writeFile("c/flags.json", "{\"folder\":\"/\",\"flags\":[[\"lr\"]]}");
  EXPECT_EQ(run({"--resume=c"}).err,
            "error: c/flags.json: holds no flags of a run (expected a name and "
            "a value); remove it, and give all flags again\n");
  for (const char *flag : {"learning-rat", "help", "init"}) {
    test::writeFile("c/flags.json", "{\"folder\":\"/\",\"flags\":[[\"" +
                                        std::string(flag) + "\",\"1\"]]}");
    EXPECT_EQ(run({"--resume=c"}).err,
              "error: c/flags.json: has the flag --" + std::string(flag) +
                  ", which this program does not keep; it is of another "
                  "version, expected all flags on the command line, with "
                  "--checkpoint-dir c --resume\n");
  }
}

} // namespace
