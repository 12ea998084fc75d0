//===- TokenStreamTest.cpp - Files read as one ----------------------------===//

#include "io/data/TokenStream.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace honert;

namespace {

const ThreadPool &pool() {
  static ThreadPool pool(2);
  return pool;
}

/// Ids 0, 1, 2, .. over three files of 1,000, 1 and 70,000 ids in three
/// formats.
class JoinedFiles : public testing::Test {
protected:
  JoinedFiles() {
    std::vector<uint16_t> first(1000);
    std::iota(first.begin(), first.end(), uint16_t{0});
    test::writeFile(paths[0], test::bytesOf(first));
    test::writeFile(
        paths[1],
        test::npy("<i8", "(1,)", test::bytesOf(std::vector<int64_t>{1000})));
    last.resize(70000);
    std::iota(last.begin(), last.end(), 1001);
    writeLast();
  }
  void writeLast() {
    test::writeFile(paths[2],
                    test::npy("<i4", "(70000,)", test::bytesOf(last)));
  }

  test::Folder folder;
  std::vector<std::string> paths = {folder / "a.bin", folder / "b.npy",
                                    folder / "c.npy"};
  std::vector<int32_t> last;
};

TEST_F(JoinedFiles, are_one_stream) {
  TokenStream stream;
  ASSERT_TRUE(stream.open(paths).ok());
  ASSERT_EQ(stream.size(), 71001);
  std::vector<int64_t> ids(static_cast<size_t>(stream.size()));
  std::vector<int64_t> expected(ids.size());
  std::iota(expected.begin(), expected.end(), 0);
  stream.read(0, stream.size(), ids.data());
  EXPECT_EQ(ids, expected);
  for (int64_t begin : {0, 998, 999, 1000, 1001, 70990})
    for (int64_t n : {1, 2, 3, 10}) {
      stream.read(begin, n, ids.data());
      stream.release(begin, n);
      for (int64_t i = 0; i < n; ++i)
        EXPECT_EQ(ids[static_cast<size_t>(i)], begin + i);
    }
}

TEST_F(JoinedFiles, name_the_file_of_a_wrong_id) {
  last[66000] = 1 << 20;
  writeLast();
  TokenStream stream;
  ASSERT_TRUE(stream.open(paths).ok());
  std::string expected = paths[2] + ": token 1048576 at position 66000, "
                                    "expected 0 to 99999";
  EXPECT_EQ(stream.checkIds(100000, pool()).message(), expected);
  EXPECT_EQ(stream.refuseId(100000, 67001, 1 << 20).message(), expected);
  // Of seven shares, one has it.
  int finders = 0;
  for (int64_t part = 0; part != 7; ++part)
    finders += !stream.checkIds(100000, pool(), part, 7).ok();
  EXPECT_EQ(finders, 1);
  EXPECT_EQ(stream.checkIds(1000, pool()).message(),
            paths[1] + ": token 1000 at position 0, expected 0 to 999");
}

TEST_F(JoinedFiles, tell_how_far_the_check_has_come) {
  TokenStream stream;
  ASSERT_TRUE(stream.open(paths).ok());
  std::vector<double> told;
  ASSERT_TRUE(stream
                  .checkIds(100000, pool(), 0, 1,
                            [&](double fraction) { told.push_back(fraction); })
                  .ok());
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), 1);
}

TEST_F(JoinedFiles, one_that_is_not_there_is_named) {
  TokenStream stream;
  EXPECT_EQ(stream.open({paths[0], folder / "none"}).message(),
            folder / "none: cannot be read: No such file or directory");
}

} // namespace
