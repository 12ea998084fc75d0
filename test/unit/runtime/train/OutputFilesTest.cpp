//===- OutputFilesTest.cpp - What a run may write over --------------------===//

#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;
using test::Outcome;
using test::TinyModel;

namespace {

using Arguments = std::vector<std::string>;

class OutputFiles : public testing::Test {
protected:
  OutputFiles() {
    test::writeTokens(folder / "tokens", 120);
    test::writeTokens(folder / "val", 120);
    test::writeFile(folder / "mask.npy",
                    test::npy("<f4", "(32,)", std::string(128, '\0')));
    model.hasMask = true;
    fs::create_directory(folder / "p.hone");
    fs::create_directory(folder / "c");
    Outcome made = train({"--steps", "2", "--save", folder / "w"});
    EXPECT_EQ(made.code, 0) << made.err;
    fs::copy(folder / "w", folder / "p.hone/model.safetensors");
  }

  Outcome train(Arguments more) {
    Arguments arguments = {"--data", folder / "tokens", "--input",
                           "mask=" + (folder / "mask.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    test::ProgramPtr program(honert_program_new(), honert_program_free);
    test::describe(model, program.get());
    honert_meta(program.get(), "package", (folder / "p.hone").c_str());
    return test::run(program.get(), arguments);
  }

  test::Folder folder;
  TinyModel model;
};

/// Every output flag on every file that is read, under its name, through a
/// link, as another link, and in other words.
TEST_F(OutputFiles, nothing_that_is_read_is_written) {
  const char *const read[] = {"tokens", "val", "mask.npy", "w",
                              "p.hone/model.safetensors"};
  const Arguments base = {"--val-data", folder / "val", "--init",
                          folder / "w", "--steps",      "1"};
  for (const char *name : read) {
    std::string path = folder / name, before = test::readFile(path);
    std::string link = folder / "link", hard = folder / "hard";
    fs::remove(link);
    fs::remove(hard);
    fs::create_symlink(path, link);
    fs::create_hard_link(path, hard);
    for (const char *flag : {"--save", "--log", "--profile"})
      for (const std::string &output :
           {path, link, hard, folder.path + "/./" + name}) {
        Arguments arguments = base;
        arguments.insert(arguments.end(), {flag, output});
        Outcome outcome = train(arguments);
        EXPECT_EQ(outcome.code, 2) << flag << " " << output;
        EXPECT_EQ(outcome.err.rfind("error: " + std::string(flag) + ": ", 0),
                  0u)
            << outcome.err;
        EXPECT_EQ(test::readFile(path), before);
      }
  }
}

TEST_F(OutputFiles, no_two_outputs_are_one) {
  for (const Arguments &arguments :
       {Arguments{"--save", folder / "new", "--log", folder.path + "/./new"},
        Arguments{"--save", folder / "new", "--profile", folder / "new"},
        Arguments{"--log", folder / "d/step1.safetensors", "--dump",
                  folder / "d"}}) {
    fs::create_directory(folder / "d");
    EXPECT_EQ(train(arguments).code, 2) << arguments[1];
  }
}

TEST_F(OutputFiles, nothing_lies_among_checkpoints) {
  fs::create_directory(folder / "c/step-00000001");
  for (const char *name :
       {"latest", ".lock", "step-00000001/state.safetensors", "step-00000007"})
    EXPECT_EQ(train({"--checkpoint-dir", folder / "c", "--resume", "--save",
                     folder.path + "/./c/" + name})
                  .code,
              2)
        << name;
}

TEST_F(OutputFiles, devices_may_be_given_twice) {
  Outcome outcome = train(
      {"--steps", "1", "--log", "/dev/null", "--val-data", folder / "val"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(OutputFiles, permissions_of_what_is_replaced_stay) {
  for (mode_t mode : {0600, 0640, 0444}) {
    ASSERT_EQ(chmod((folder / "w").c_str(), mode), 0);
    ASSERT_EQ(train({"--steps", "1", "--save", folder / "w"}).code, 0);
    struct stat facts;
    ASSERT_EQ(stat((folder / "w").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, mode);
  }
}

TEST_F(OutputFiles, names_from_files_are_escaped) {
  test::writeFile(folder / "bad",
                  test::safetensors("{\"a\\u001b[2J\\n" +
                                        std::string(5 << 20, 'x') +
                                        "\":{\"dtype\":\"F32\",\"shape\":[1],"
                                        "\"data_offsets\":[0,4]}}",
                                    std::string(4, '\0')));
  Outcome outcome = train({"--init", folder / "bad", "--steps", "1"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_LT(outcome.err.size(), 2200u);
  for (char c : outcome.err.substr(0, outcome.err.size() - 1))
    EXPECT_TRUE(c >= ' ' && c != 127) << int(c);
}

} // namespace
