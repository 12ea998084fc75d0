//===- TokenSourceTest.cpp - Patterns, lists and weights ------------------===//

#include "io/data/TokenSource.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

using namespace honert;

namespace {

using Values = std::vector<std::string>;

class Sources : public testing::Test {
protected:
  Sources() {
    std::filesystem::create_directory(folder / "web");
    for (const char *name : {"web/10.bin", "web/2.bin", "web/1.bin", "books",
                             "a,b", "odd:0.5", "[x].bin"})
      test::writeFile(folder / name, "xx");
  }

  /// Paths as seen from the folder of the test.
  Values inFolder(Values values) const {
    for (std::string &value : values)
      value = folder / value;
    return values;
  }
  std::vector<TokenSource> find(const Values &values) const {
    std::vector<TokenSource> sources;
    Status status =
        findSources("--data", inFolder(values), /*takesWeights=*/true, sources);
    EXPECT_TRUE(status.ok()) << status.message();
    return sources;
  }
  std::string refusal(const Values &values, int code = 2,
                      bool takesWeights = true) const {
    std::vector<TokenSource> sources;
    Status status =
        findSources("--data", inFolder(values), takesWeights, sources);
    EXPECT_EQ(status.exitCode(), code);
    std::string message = status.message();
    for (size_t at; (at = message.find(folder.path + "/")) != message.npos;)
      message.erase(at, folder.path.size() + 1);
    return message;
  }

  test::Folder folder;
};

TEST_F(Sources, patterns_are_sorted_by_name) {
  std::vector<TokenSource> sources = find({"web/*.bin"});
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].files,
            inFolder({"web/1.bin", "web/10.bin", "web/2.bin"}));
  EXPECT_EQ(sources[0].slots, 0);
  EXPECT_EQ(sources[0].name(), folder / "web/1.bin" + " .. " +
                                   (folder / "web/2.bin") + " (3 files)");
  EXPECT_EQ(find({"w?b/[1-3].bin"})[0].files,
            inFolder({"web/1.bin", "web/2.bin"}));
}

TEST_F(Sources, values_without_weights_are_joined_in_their_order) {
  std::vector<TokenSource> sources = find({"books", "web/*0.bin", "books"});
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].files, inFolder({"books", "web/10.bin", "books"}));
  std::vector<TokenSource> list;
  ASSERT_TRUE(findSources("--data",
                          {folder / "books" + "," + (folder / "web/*0.bin")},
                          true, list)
                  .ok());
  EXPECT_EQ(list[0].files, inFolder({"books", "web/10.bin"}));
}

TEST_F(Sources, weights_become_slots) {
  std::vector<TokenSource> sources = find({"web/*.bin:7", "books:3e0"});
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].files.size(), 3u);
  EXPECT_EQ(sources[0].slots, 2867);
  EXPECT_EQ(sources[1].files, inFolder({"books"}));
  EXPECT_EQ(sources[1].slots, 1229);
  // One source is no mixture, whatever its weight.
  sources = find({"books:0.25"});
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].files, inFolder({"books"}));
  EXPECT_EQ(sources[0].slots, 0);
}

TEST_F(Sources, a_path_that_exists_is_that_file) {
  EXPECT_EQ(find({"odd:0.5"})[0].files, inFolder({"odd:0.5"}));
  EXPECT_EQ(find({"odd:0.5:0.25", "books:1"})[0].files, inFolder({"odd:0.5"}));
  EXPECT_EQ(find({"a,b"})[0].files, inFolder({"a,b"}));
  EXPECT_EQ(find({"[x].bin"})[0].files, inFolder({"[x].bin"}));
  // One that is missing is told by who opens it.
  EXPECT_EQ(find({"none:part"})[0].files, inFolder({"none:part"}));
}

TEST_F(Sources, no_match_shows_what_is_there) {
  EXPECT_EQ(refusal({"web/*.npy"}, 1),
            "--data: no file matches 'web/*.npy'; web holds 1.bin, 10.bin, "
            "2.bin");
  EXPECT_EQ(refusal({"web/more/*/x.bin"}, 1),
            "--data: no file matches 'web/more/*/x.bin'; web holds 1.bin, "
            "10.bin, 2.bin");
  test::Folder empty;
  std::vector<TokenSource> sources;
  EXPECT_EQ(findSources("--data", {empty / "*"}, true, sources).message(),
            "--data: no file matches '" + (empty / "*") + "'; " + empty.path +
                " holds nothing");
  for (char name = 'a'; name != 'h'; ++name)
    test::writeFile(empty / std::string(1, name), "");
  EXPECT_EQ(findSources("--data", {empty / "*.bin"}, true, sources).message(),
            "--data: no file matches '" + (empty / "*.bin") + "'; " +
                empty.path + " holds a, b, c, d, e and 2 more");
}

TEST_F(Sources, wrong_weights_are_refused) {
  EXPECT_EQ(refusal({"books:0.5", "web/*.bin"}),
            "--data: 'web/*.bin' has no weight, 'books:0.5' has one; expected "
            "a weight for each or for none");
  for (const char *weight : {"0", "-1", "nan", "inf", "many", "1x", ""})
    EXPECT_EQ(refusal({"books:" + std::string(weight)}),
              "--data: 'books:" + std::string(weight) + "' has the weight '" +
                  weight + "', expected a number > 0 such as books:0.3");
  EXPECT_EQ(refusal({"books:1", "web/1.bin:5000"}),
            "--data: 'books:1' has a share of 0.0002, expected at least 1/4096 "
            "of the sum of the weights");
  EXPECT_EQ(refusal({"books:0.5"}, 2, /*takesWeights=*/false),
            "--data: 'books:0.5' has a weight, expected files alone: these are "
            "read in order, none is mixed");
  EXPECT_EQ(refusal({"books,"}),
            "--data: 'books,', expected a name before and after each comma");
}

} // namespace
