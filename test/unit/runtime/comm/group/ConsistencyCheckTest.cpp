//===- ConsistencyCheckTest.cpp - Ranks run the same thing ----------------===//

#include "io/SharedFiles.h"
#include "support/Describe.h"
#include "support/ThreadRanks.h"
#include "train/SharedFacts.h"

#include <gtest/gtest.h>

#include <functional>

using namespace honert;

namespace {

using Facts = std::vector<SharedFact>;

/// What each of three ranks hears, of which rank r has facts(r).
std::vector<std::string> heard(std::function<Facts(int64_t)> facts) {
  std::vector<std::string> messages(3);
  test::onRanks(3, [&](MessageProcessGroup &world) {
    messages[world.rank()] =
        checkConsistency(facts(world.rank()), world).message();
  });
  return messages;
}

TEST(ConsistencyCheck, equal_facts_are_fine) {
  EXPECT_EQ(heard([](int64_t) { return Facts{{"--seed", "1"}, {"--lr", ""}}; }),
            std::vector<std::string>(3));
}

TEST(ConsistencyCheck, every_rank_hears_of_the_first_that_differs) {
  EXPECT_EQ(heard([](int64_t rank) {
              return Facts{{"--lr", "1"},
                           {"--seed", rank == 0 ? "1" : std::to_string(rank)},
                           {"--save", rank == 2 ? "" : "x"}};
            }),
            std::vector<std::string>(3, "rank 2 has --seed 2, rank 0 has 1; "
                                        "expected the same on all ranks"));
  EXPECT_EQ(heard([](int64_t rank) {
              return Facts{{"--save", rank == 1 ? "" : "x"}};
            }),
            std::vector<std::string>(3, "rank 1 has --save (none), rank 0 has "
                                        "x; expected the same on all ranks"));
}

TEST(ConsistencyCheck, ranks_may_know_of_other_facts) {
  for (const std::string &message : heard([](int64_t rank) {
         return rank == 1 ? Facts{{"--lr", "1"}, {"--new", "1"}}
                          : Facts{{"--lr", "1"}};
       }))
    EXPECT_EQ(message.rfind("rank 1 has another build of the runtime:", 0), 0u)
        << message;
}

/// It has no end, where others end theirs by a zero.
TEST(ConsistencyCheck, a_value_of_another_rank_may_be_anything) {
  std::vector<std::string> messages(3);
  test::onRanks(3, [&](MessageProcessGroup &world) {
    if (world.rank() != 2) {
      messages[world.rank()] =
          checkConsistency({{"--lr", "1"}}, world).message();
      return;
    }
    uint64_t hash = 0, hashes[3];
    std::string own(120, 'x'), all(360, ' ');
    own.replace(0, 3, "\x1b\n\t");
    EXPECT_TRUE(world.allGather(&hash, sizeof hash, hashes).ok());
    EXPECT_TRUE(world.allGather(own.data(), 120, all.data()).ok());
    EXPECT_FALSE(world.agree(Status()).ok());
  });
  for (int rank : {0, 1})
    EXPECT_EQ(messages[size_t(rank)],
              "rank 2 has another build of the runtime: \\x1b\\x0a\\x09" +
                  std::string(117, 'x') +
                  ", rank 0 has --lr; expected the same on all ranks");
}

TEST(ConsistencyCheck, a_text_of_the_first_rank_may_have_any_length) {
  for (int64_t bytes : {int64_t(40000000000), int64_t(-1)}) {
    std::vector<std::string> messages(2);
    test::onRanks(2, [&](MessageProcessGroup &world) {
      std::string text;
      if (world.rank() == 0)
        EXPECT_TRUE(world.broadcast(&bytes, sizeof bytes, 0).ok());
      else
        messages[1] = broadcastText(world, text).message();
    });
    EXPECT_EQ(messages[1], "the first rank sends a text of " +
                               std::to_string(bytes) +
                               " bytes, expected at most 1048576");
  }
}

TEST(ConsistencyCheck, numbers_are_compared_whole_and_told_short) {
  auto rateOf = [](double rate) {
    Options options;
    options.learningRate = rate;
    test::ProgramPtr program = test::makeProgram();
    for (const SharedFact &fact : sharedFacts(*program, options))
      if (fact.name == "--lr")
        return fact.value;
    return std::string();
  };
  EXPECT_EQ(rateOf(0.1), "0.1");
  EXPECT_EQ(rateOf(0.1000001), "0.1000001");
  EXPECT_EQ(rateOf(0.1 + 0x1p-56), "0.10000000000000002");
}

/// A program with a step that has one launch, which `describe` adds.
Facts factsOf(std::function<void(honert_program *)> describe) {
  test::ProgramPtr program = test::makeProgram();
  honert_mesh_axis(program.get(), "dp", 2, "");
  honert_function(program.get(), "step");
  describe(program.get());
  return sharedFacts(*program, Options());
}

TEST(ConsistencyCheck, a_program_is_told_by_its_collectives) {
  auto with = [](int64_t kind, int64_t count, int64_t out, int64_t token) {
    return factsOf([=](honert_program *program) {
             int64_t axes[] = {0};
             honert_collective(program, "c", "", kind, 0, 0, 0, count, 1, axes,
                               0, out, token);
           })
        .front()
        .value;
  };
  std::string one = with(0, 8, 64, -1);
  EXPECT_EQ(one.rfind("program (dp=2, ", 0), 0u) << one;
  EXPECT_EQ(one, with(0, 8, 64, -1));
  for (const std::string &other : {with(3, 8, 64, -1), with(0, 6, 64, -1),
                                   with(0, 8, 128, -1), with(0, 8, 64, 1)})
    EXPECT_NE(one, other);
}

} // namespace
