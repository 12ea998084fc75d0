//===- ChannelLinesTest.cpp - Which channels of stages share a line -------===//

#include "program/ChannelLines.h"
#include "program/Stages.h"
#include "support/StagedModel.h"

#include <gtest/gtest.h>

using namespace honert;
using test::StagedModel;

namespace {

std::string textOf(const std::vector<ChannelLine> &lines) {
  std::string text;
  for (const ChannelLine &line : lines)
    text += (text.empty() ? "" : ", ") + std::to_string(line.source) + ">" +
            std::to_string(line.destination) + " x" +
            std::to_string(line.channels.size());
  return text;
}

TEST(ChannelLines, one_a_direction_and_one_for_a_tied_weight) {
  StagedModel model;
  model.stages = 3;
  test::ProgramPtr program = test::makeStaged(model);
  EXPECT_EQ(textOf(planLines(*program)), "0>1 x1, 1>0 x1, 1>2 x1, 2>1 x1");
  model.isTied = true;
  program = test::makeStaged(model);
  EXPECT_EQ(textOf(planLines(*program)),
            "0>1 x1, 0>2 x1, 1>0 x1, 1>2 x1, 2>1 x1");
}

TEST(ChannelLines, none_without_stages) {
  EXPECT_TRUE(planLines(*test::makeStaged({})).empty());
}

/// Lists of transfers between two stages, each of which has the arguments.
class Chunks {
public:
  explicit Chunks(std::vector<std::string> names) {
    honert_mesh_axis(program.get(), "pp", 2, "");
    for (int64_t stage : {0, 1}) {
      honert_stage(program.get(), stage);
      int64_t offset = 0;
      for (const std::string &name : names)
        honert_argument(program.get(), int64_t(Kind::boundary), name.c_str(), 0,
                        0, nullptr, offset += 64);
    }
  }
  /// "s a0": begins to send 'a' of micro-batch 0; r: to receive; S, R: awaits.
  void list(size_t stage, const std::vector<std::string> &actions) {
    for (const std::string &action : actions) {
      Action made = {ActionKind::send,
                     "boundary " + action.substr(2, action.size() - 3),
                     action.back() - '0', int64_t(1 - stage)};
      made.kind = action[0] == 's'   ? ActionKind::send
                  : action[0] == 'r' ? ActionKind::receive
                  : action[0] == 'S' ? ActionKind::awaitSend
                                     : ActionKind::awaitReceive;
      program->stages[stage].stepActions.push_back(made);
    }
  }
  std::string lines() {
    joinStages(*program);
    return textOf(planLines(*program));
  }

private:
  test::ProgramPtr program = test::makeProgram();
};

TEST(ChannelLines, chunks_share_one_where_both_ends_agree) {
  Chunks chunks({"a", "b"});
  chunks.list(0, {"s a0", "s b0", "s a1", "S b0", "S a0", "S a1"});
  chunks.list(1, {"r a0", "r b0", "R a0", "R b0", "r a1", "R a1"});
  EXPECT_EQ(chunks.lines(), "0>1 x2");
}

TEST(ChannelLines, chunks_in_another_order_stay_apart) {
  Chunks chunks({"a", "b"});
  chunks.list(0, {"s a0", "s b0", "S a0", "S b0"});
  chunks.list(1, {"r b0", "r a0", "R a0", "R b0"});
  EXPECT_EQ(chunks.lines(), "0>1 x1, 0>1 x1");
}

TEST(ChannelLines, gradients_have_their_own) {
  Chunks chunks({"a", "b.grad"});
  chunks.list(0, {"s a0", "s b.grad0", "S a0", "S b.grad0"});
  chunks.list(1, {"r a0", "r b.grad0", "R a0", "R b.grad0"});
  EXPECT_EQ(chunks.lines(), "0>1 x1, 0>1 x1");
}

TEST(ChannelLines, no_line_is_in_two_rounds_or_meets_another) {
  std::vector<ChannelLine> lines;
  for (int64_t stage = 0; stage != 7; ++stage) {
    lines.push_back({stage, stage + 1, {}});
    lines.push_back({stage + 1, stage, {}});
  }
  std::vector<std::vector<size_t>> rounds = planRounds(lines);
  EXPECT_EQ(rounds.size(), 4u); // two directions, even and odd stages
  std::vector<int> seen(lines.size());
  for (const std::vector<size_t> &round : rounds) {
    std::vector<int> stages(8);
    for (size_t line : round) {
      ++seen[line];
      EXPECT_EQ(++stages[size_t(lines[line].source)], 1);
      EXPECT_EQ(++stages[size_t(lines[line].destination)], 1);
    }
  }
  EXPECT_EQ(seen, std::vector<int>(lines.size(), 1));
}

} // namespace
