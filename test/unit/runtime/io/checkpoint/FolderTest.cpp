//===- FolderTest.cpp - Runs that go on -----------------------------------===//

#include "io/checkpoint/Folder.h"
#include "comm/host/SingleProcess.h"
#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

using test::Outcome;
using test::TinyModel;

namespace {

using Arguments = std::vector<std::string>;

class Checkpoints : public testing::Test {
protected:
  Checkpoints() {
    test::writeTokens(data, 120); // an epoch of 7 batches
    model.noise = 0.1;
  }

  Outcome run(Arguments arguments) {
    arguments.insert(arguments.begin(), {"--data", data});
    return test::train(model, arguments);
  }
  Outcome good(Arguments arguments) {
    Outcome outcome = run(std::move(arguments));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }
  /// A run of `steps` steps with a checkpoint every 2 in `name`.
  void make(const std::string &name, const char *steps) {
    good({"--steps", steps, "--checkpoint-dir", folder / name,
          "--checkpoint-every", "2"});
  }
  /// The steps of a log without times.
  static std::string figures(const std::string &log) {
    std::string text = test::readFile(log), kept;
    for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      std::string line = text.substr(begin, end - begin);
      if (line.find("\"loss\"") != line.npos)
        kept += line.substr(0, line.find(",\"ms\"")) + "\n";
    }
    return kept;
  }

  test::Folder folder;
  std::string data = folder / "tokens.bin";
  TinyModel model;
};

TEST_F(Checkpoints, a_run_may_stop_after_any_step) {
  for (bool shuffle : {false, true}) {
    model.microBatches = shuffle ? 3 : 1;
    test::Folder here;
    auto with = [&](const char *threads, Arguments arguments) {
      arguments.insert(arguments.end(), {"--threads", threads});
      if (shuffle)
        arguments.push_back("--shuffle");
      return good(arguments);
    };
    with("2",
         {"--steps", "12", "--save", here / "whole", "--log", here / "log"});
    for (int stop = 1; stop < 12; ++stop) {
      test::Folder parts;
      std::string at = std::to_string(stop);
      with("1", {"--steps", at, "--checkpoint-dir", parts / "c", "--log",
                 parts / "log"});
      Outcome rest = with("1", {"--steps", "12", "--checkpoint-dir",
                                parts / "c", "--resume", "--save", parts / "w",
                                "--log", parts / "log"});
      EXPECT_NE(rest.out.find("resume: after step " + at + " from"),
                std::string::npos);
      EXPECT_EQ(test::readFile(parts / "w"), test::readFile(here / "whole"));
      EXPECT_EQ(figures(parts / "log"), figures(here / "log")) << stop;
    }
  }
}

/// Where the link leads, and the loss there.
static std::pair<std::string, double> best(const std::string &checkpoints) {
  std::string link = checkpoints + "/best";
  return {std::filesystem::read_symlink(link),
          std::stod(test::readFile(link + "/val_loss"))};
}

// The rate rises so much that the loss falls first and then rises.
TEST_F(Checkpoints, the_best_is_kept) {
  auto with = [&](const char *steps, Arguments more) {
    more.insert(more.end(), {"--checkpoint-dir", folder / "c", "--val-data",
                             data, "--val-every", "2", "--lr", "20", "--warmup",
                             "40", "--steps", steps, "--checkpoint-every", "5",
                             "--keep-best", "--log", folder / "log"});
    good(more);
  };
  with("40", {});
  std::map<int, double> losses;
  std::istringstream lines(test::readFile(folder / "log"));
  for (std::string line; std::getline(lines, line);)
    if (size_t at = line.find("\"val_loss\":"); at != line.npos)
      losses[std::stoi(line.substr(8))] = std::stod(line.substr(at + 11));
  auto least = std::min_element(
      losses.begin(), losses.end(),
      [](const auto &a, const auto &b) { return a.second < b.second; });
  ASSERT_LT(least->first, 34);
  ASSERT_GT(least->first, 2);
  std::string name = "step-000000" + std::string(least->first < 10 ? "0" : "") +
                     std::to_string(least->first);
  EXPECT_EQ(best(folder / "c"), std::make_pair(name, least->second));
  EXPECT_EQ(test::namesIn(folder / "c"),
            (Arguments{"best", "flags.json", "latest", name, "step-00000035",
                       "step-00000040"}));
  // A run that goes on knows it: what is worse does not replace it.
  with("44", {"--resume"});
  EXPECT_EQ(best(folder / "c"), std::make_pair(name, least->second));
  // The weights that it leads to have that loss.
  good({"--steps", "0", "--init", folder / "c/best/state.safetensors",
        "--val-data", data, "--log", folder / "again"});
  std::string again = test::readFile(folder / "again");
  EXPECT_EQ(std::stod(again.substr(again.find("\"val_loss\":") + 11)),
            least->second);
}

TEST_F(Checkpoints, the_newest_two_are_kept) {
  make("c", "7");
  EXPECT_EQ(
      test::namesIn(folder / "c"),
      (Arguments{"flags.json", "latest", "step-00000006", "step-00000007"}));
  EXPECT_EQ(test::readFile(folder / "c/latest"), "step-00000007\n");
}

TEST_F(Checkpoints, without_one_the_run_starts_fresh_and_says_so) {
  good({"--steps", "4", "--save", folder / "a"});
  Outcome outcome = good({"--steps", "4", "--checkpoint-dir", folder / "c",
                          "--resume", "--save", folder / "b"});
  EXPECT_NE(outcome.out.find("resume: no checkpoint in"), std::string::npos);
  EXPECT_EQ(test::readFile(folder / "a"), test::readFile(folder / "b"));
}

TEST_F(Checkpoints, a_finished_run_has_nothing_left_to_do) {
  make("c", "4");
  Outcome outcome =
      good({"--steps", "4", "--checkpoint-dir", folder / "c", "--resume"});
  EXPECT_NE(outcome.out.find("\nalready complete: the run in "),
            std::string::npos)
      << outcome.out;
}

TEST_F(Checkpoints, an_earlier_run_is_not_overwritten) {
  make("c", "4");
  Outcome outcome = run({"--steps", "4", "--checkpoint-dir", folder / "c"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "error: " + (folder / "c") +
                ": holds step-00000004 of an earlier run; expected --resume "
                "or another folder\n");
}

TEST_F(Checkpoints, leftovers_of_an_interrupted_save_are_removed) {
  make("c", "2");
  std::filesystem::create_directory(folder / "c/.tmp-step-4-1");
  test::writeFile(folder / "c/.tmp-step-4-1/state.safetensors", "half");
  good({"--steps", "2", "--checkpoint-dir", folder / "c", "--resume"});
  EXPECT_FALSE(test::exists(folder / "c/.tmp-step-4-1"));
}

TEST_F(Checkpoints, every_flipped_bit_is_noticed) {
  make("c", "4");
  test::ProgramPtr program(honert_program_new(), honert_program_free);
  test::describe(model, program.get());
  honert::Arena arena;
  ASSERT_TRUE(arena.allocate(program->arenaBytes, "the arena").ok());
  std::unique_ptr<honert::ProcessGroup> world = honert::makeSingleProcess();
  std::mt19937 random(1);
  for (const char *name : {"state.safetensors", "manifest.json"}) {
    std::string path = folder / "c/step-00000004/" + name;
    std::string original = test::readFile(path);
    for (int i = 0; i < 300; ++i) {
      std::string bad = original;
      size_t bit = random() % (bad.size() * 8);
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
      test::writeFile(path, bad);
      honert::CheckpointFolder checkpoints(folder / "c", *program, *world);
      checkpoints.setFacts({}, /*acceptsOtherFiles=*/true);
      std::optional<honert::RunPosition> position;
      testing::internal::CaptureStderr();
      honert::Status status = checkpoints.restore(arena, position);
      std::string warning = testing::internal::GetCapturedStderr();
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(position && position->step == 2) << name << " bit " << bit;
      ASSERT_EQ(warning.rfind("warning: " + path, 0), 0u) << warning;
      ASSERT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1);
    }
    test::writeFile(path, original);
  }
}

TEST_F(Checkpoints, a_damaged_one_gives_way_to_the_one_before) {
  good({"--steps", "6", "--save", folder / "whole"});
  make("c", "4");
  std::string path = folder / "c/step-00000004/state.safetensors";
  std::string bytes = test::readFile(path);
  test::writeFile(path, bytes.substr(0, bytes.size() - 100));
  Outcome outcome = good({"--steps", "6", "--checkpoint-dir", folder / "c",
                          "--resume", "--save", folder / "w"});
  EXPECT_NE(outcome.err.find("the one before it is tried"), std::string::npos);
  EXPECT_NE(outcome.out.find("after step 2"), std::string::npos);
  EXPECT_EQ(test::readFile(folder / "w"), test::readFile(folder / "whole"));
}

/// It may be good; a later run may read it.
TEST_F(Checkpoints, one_that_cannot_be_read_ends_the_run) {
  for (const char *name : {"manifest.json", "state.safetensors"}) {
    test::Folder here;
    good({"--steps", "4", "--checkpoint-dir", here / "c", "--checkpoint-every",
          "2"});
    std::string path = here / "c/step-00000004/" + name;
    std::filesystem::rename(path, here / "kept");
    std::filesystem::create_symlink(path, path); // ELOOP
    Outcome outcome =
        run({"--steps", "8", "--checkpoint-dir", here / "c", "--resume"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err.rfind("error: " + path + ": cannot be read: ", 0), 0u)
        << outcome.err;
    std::filesystem::rename(here / "kept", path);
    EXPECT_NE(good({"--steps", "8", "--checkpoint-dir", here / "c", "--resume"})
                  .out.find("after step 4"),
              std::string::npos);
  }
}

/// So may what the folder holds: a run must not start anew then.
TEST_F(Checkpoints, a_folder_that_cannot_be_listed_ends_the_run) {
  if (geteuid() != 0)
    GTEST_SKIP() << "needs another user";
  make("c", "4");
  std::filesystem::permissions(folder.path, std::filesystem::perms(0755));
  for (const char *name : {"c", "c/latest"})
    ASSERT_EQ(chown((folder / name).c_str(), 1234, 1234), 0);
  for (bool resumes : {true, false}) {
    ASSERT_EQ(chmod((folder / "c").c_str(), 0300), 0);
    Arguments arguments = {"--steps", "6", "--checkpoint-dir", folder / "c"};
    if (resumes)
      arguments.push_back("--resume");
    setfsuid(1234); // of this thread: it is root no more where files are
    Outcome outcome = run(arguments);
    setfsuid(0);
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    EXPECT_EQ(outcome.err, "error: " + (folder / "c") +
                               ": cannot be read: Permission denied\n");
  }
}

TEST_F(Checkpoints, one_whose_folder_cannot_be_read_ends_the_run) {
  make("c", "4");
  std::string path = folder / "c/step-00000004";
  std::filesystem::rename(path, folder / "kept");
  std::filesystem::create_symlink(path, path); // ELOOP
  for (bool resumes : {true, false}) {
    Arguments arguments = {"--steps", "6", "--checkpoint-dir", folder / "c"};
    if (resumes)
      arguments.push_back("--resume");
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    EXPECT_EQ(outcome.err.rfind("error: " + path + ": cannot be read: ", 0), 0u)
        << outcome.err;
  }
}

/// The disk with the checkpoint may not be mounted.
TEST_F(Checkpoints, a_link_that_leads_nowhere_is_refused) {
  make("c", "4");
  std::string path = folder / "c/step-00000004";
  std::filesystem::rename(path, folder / "kept");
  std::filesystem::create_symlink(folder / "disk/kept", path);
  Arguments arguments = {"--steps", "6", "--checkpoint-dir", folder / "c",
                         "--resume"};
  Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_NE(outcome.err.find(path + ": is a link that leads nowhere"),
            std::string::npos)
      << outcome.err;
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  std::filesystem::create_directory(folder / "disk");
  std::filesystem::rename(folder / "kept", folder / "disk/kept");
  EXPECT_NE(good(arguments).out.find("after step 4"), std::string::npos);
}

TEST_F(Checkpoints, only_damaged_ones_are_an_error) {
  make("c", "4");
  for (const char *step : {"step-00000002", "step-00000004"})
    std::filesystem::remove(folder / "c/" + step + "/manifest.json");
  Outcome outcome =
      run({"--steps", "6", "--checkpoint-dir", folder / "c", "--resume"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("every checkpoint is damaged"), std::string::npos);
}

TEST_F(Checkpoints, those_of_another_program_are_refused) {
  make("c", "4");
  model.fingerprint = "other";
  Outcome outcome =
      run({"--steps", "6", "--checkpoint-dir", folder / "c", "--resume"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("saved by tiny 2x8 fp32 (tiny), this program is "
                             "tiny 2x8 fp32 (other)"),
            std::string::npos)
      << outcome.err;
}

TEST_F(Checkpoints, another_seed_or_order_is_refused) {
  make("c", "4");
  Arguments resume = {"--steps", "6", "--checkpoint-dir", folder / "c",
                      "--resume"};
  Arguments seeded = resume, shuffled = resume;
  seeded.insert(seeded.end(), {"--seed", "5"});
  shuffled.push_back("--shuffle");
  EXPECT_NE(run(seeded).err.find("--seed: 5, expected that of the run in"),
            std::string::npos);
  EXPECT_NE(run(shuffled).err.find("was started without it"),
            std::string::npos);
}

} // namespace
