//===- LinksTest.cpp - Links in a folder of checkpoints -------------------===//
//
// Whatever links lie in the folder: nothing outside it is changed.
//
//===----------------------------------------------------------------------===//

#include "support/Run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

const char *const kinds[] = {"to_folder", "to_file", "to_nothing", "hard_link"};

class Links : public testing::Test {
protected:
  Links() {
    test::writeTokens(folder / "tokens", 120);
    train("4", {});
    outside = folder / "outside";
    fs::create_directory(outside);
    fs::copy(folder / "c/step-00000004", outside / "folder");
    fs::create_directory(outside / "folder/deeper");
    test::writeFile(outside / "folder/deeper/file", "deep");
    test::writeFile(outside / "file", "text");
    fs::create_directory_symlink(outside / "folder", outside / "link");
  }

  test::Outcome train(const char *steps, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"--data",
                                          folder / "tokens",
                                          "--steps",
                                          steps,
                                          "--checkpoint-dir",
                                          folder / "c",
                                          "--checkpoint-every",
                                          "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::train(test::TinyModel(), arguments);
  }

  /// Every name outside with what it holds.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> found;
    for (const auto &entry : fs::recursive_directory_iterator(outside))
      found[entry.path()] =
          entry.is_symlink()        ? fs::read_symlink(entry.path()).string()
          : entry.is_regular_file() ? test::readFile(entry.path())
                                    : "";
    return found;
  }

  /// Puts a link at `name` in the folder. What lies there moves outside, and
  /// the link leads to it.
  void put(const std::string &name, const std::string &kind) {
    fs::path place = fs::path(folder / "c") / name;
    fs::path target =
        outside / (kind == "to_file" || kind == "hard_link" ? "file"
                   : kind == "to_nothing"                   ? "nothing"
                   : kind == "to_link"                      ? "link"
                                                            : "folder");
    if (fs::exists(fs::symlink_status(place))) {
      fs::path moved = outside / "moved";
      fs::rename(place, moved);
      if (kind != "to_nothing")
        target = moved;
    }
    if (kind == "hard_link" && fs::is_regular_file(target))
      fs::create_hard_link(target, place);
    else
      fs::create_symlink(kind == "relative"
                             ? fs::relative(target, place.parent_path())
                             : target,
                         place);
  }

  /// Trains on over two generations of checkpoints: all that is old goes.
  void expectNothingChanges(const std::string &layout) {
    auto before = contents();
    test::Outcome outcome = train("8", {"--resume"});
    EXPECT_TRUE(contents() == before) << layout << "\n" << outcome.err;
    ++layouts;
  }

  test::Folder folder;
  fs::path outside;
  int layouts = 0;
};

TEST_F(Links, nothing_outside_is_changed) {
  const char *const names[] = {".tmp-step-4-1",
                               ".tmp-step-x",
                               ".tmp-step-6-0123456789abcdef",
                               ".latest.tmp-12",
                               ".latest.tmp-0123456789abcdef",
                               "latest",
                               ".lock",
                               "step-00000002",
                               "step-00000004",
                               "step-00000006",
                               "step-00000099"};
  fs::path good = folder / "good";
  fs::copy(folder / "c", good, fs::copy_options::recursive);
  fs::copy(outside, folder / "clean",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  auto restart = [&] {
    fs::remove_all(folder / "c");
    fs::copy(good, folder / "c", fs::copy_options::recursive);
    fs::remove_all(outside);
    fs::copy(folder / "clean", outside,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  };
  for (const char *name : names)
    for (const char *kind : kinds) {
      restart();
      put(name, kind);
      expectNothingChanges(std::string(name) + " " + kind);
    }
  for (const char *inside : {".tmp-step-4-1", "step-00000002"})
    for (const char *name : {"state.safetensors", "other"})
      for (const char *kind : {"to_file", "hard_link", "relative", "to_link"}) {
        restart();
        fs::create_directories(fs::path(folder / "c") / inside);
        put(std::string(inside) + "/" + name, kind);
        expectNothingChanges(std::string(inside) + "/" + name + " " + kind);
      }
  EXPECT_GE(layouts, 50);
}

TEST_F(Links, a_checkpoint_that_was_moved_and_linked_back_is_gone_on_from) {
  put("step-00000004", "to_folder");
  test::Outcome outcome = train("6", {"--resume"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("after step 4"), std::string::npos);
}

TEST_F(Links, the_folder_itself_may_be_a_link) {
  fs::rename(folder / "c", outside / "checkpoints");
  fs::create_directory_symlink(outside / "checkpoints", folder / "c");
  test::Outcome outcome = train("8", {"--resume"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(test::namesIn(outside / "checkpoints"),
            (std::vector<std::string>{"flags.json", "latest", "step-00000006",
                                      "step-00000008"}));
}

} // namespace
