//===- ReshardTest.cpp - From any sharding to any other -------------------===//

#include "gtest/gtest.h"

#include "DistCase.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

static const char *const mesh = R"([<"a" = 2>, <"b" = 3>, <"c" = 2>])";

static DistText identity(const std::string &from, const std::string &to) {
  return {
      mesh, {"tensor<12x24x6xf32>"},          {"tensor<12x24x6xf32>"}, {from},
      {to}, "return %0 : tensor<12x24x6xf32>"};
}

static std::string stepsBetween(const std::string &from,
                                const std::string &to) {
  DistCase test(identity(from, to));
  EXPECT_TRUE(test.partition()) << test.errors;
  EXPECT_TRUE(test.ranksAgree(0));
  return test.collectives();
}

TEST(Reshard, KeepsWhatIsThere) {
  EXPECT_EQ(
      stepsBetween(R"({"a"}, {"b", "c"}, {})", R"({"a"}, {"b", "c"}, {})"), "");
  EXPECT_EQ(stepsBetween("{}, {}, {}", R"({"a"}, {"b"}, {"c"})"), "");
}

TEST(Reshard, GathersOnlyTheAxesThatGo) {
  EXPECT_EQ(stepsBetween(R"({"a", "b"}, {}, {})", R"({"a"}, {}, {})"),
            "all_gather(b) 1152");
  EXPECT_EQ(stepsBetween(R"({"a", "b"}, {}, {})", "{}, {}, {}"),
            "all_gather(a b) 1152");
  // The slower axis goes: the faster one is not where it was.
  EXPECT_EQ(stepsBetween(R"({"a", "b"}, {}, {})", R"({"b"}, {}, {})"),
            "all_gather(a b) 1152");
}

TEST(Reshard, MovesAnAxisBetweenDimensions) {
  EXPECT_EQ(stepsBetween(R"({"a"}, {}, {})", R"({}, {"a"}, {})"),
            "all_to_all(a) 3456");
  EXPECT_EQ(stepsBetween(R"({"a"}, {"b"}, {})", R"({}, {"b", "a"}, {})"),
            "all_to_all(a) 1152");
}

TEST(Reshard, KeepsTheTurnsOfASnake) {
  EXPECT_EQ(stepsBetween(R"({}, {"a" cuts [8] snake}, {})",
                         R"({}, {"a" cuts [8] snake}, {})"),
            "");
  EXPECT_EQ(stepsBetween(R"({}, {"a" cuts [8] snake}, {})", R"({}, {}, {"a"})"),
            "all_to_all(a) 3456");
  EXPECT_EQ(stepsBetween(R"({}, {"a" cuts [8] snake}, {})",
                         R"({}, {"a" cuts [8]}, {})"),
            "all_gather(a) 3456");
}

TEST(Reshard, RespectsCuts) {
  EXPECT_EQ(stepsBetween(R"({}, {"a" cuts [8, 16]}, {})",
                         R"({}, {"a" cuts [8, 16]}, {})"),
            "");
  EXPECT_EQ(stepsBetween(R"({}, {"a" cuts [8, 16]}, {})", R"({}, {"a"}, {})"),
            "all_gather(a) 3456");
  EXPECT_EQ(stepsBetween(R"({"a"}, {}, {})", R"({}, {"a" cuts [6]}, {})"),
            "all_to_all(a) 3456");
}

TEST(Reshard, AnyToAny) {
  std::minstd_rand draw(1);
  const Mesh axes({{"a", 2, ""}, {"b", 3, ""}, {"c", 2, ""}});
  for (int i = 0; i != 200; ++i) {
    std::string from = randomSharding({12, 24, 6}, axes, draw);
    std::string to = randomSharding({12, 24, 6}, axes, draw);
    DistCase test(identity(from, to));
    ASSERT_TRUE(test.partition()) << test.errors << from << " to " << to;
    EXPECT_TRUE(test.ranksAgree(0)) << from << " to " << to;
  }
}
