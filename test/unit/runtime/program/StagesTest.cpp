//===- StagesTest.cpp - Windows, and lists that are refused ---------------===//

#include "program/Stages.h"
#include "program/CheckStages.h"
#include "program/Offsets.h"
#include "support/StagedModel.h"

#include <gtest/gtest.h>

using namespace honert;
using test::StagedModel;

namespace {

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

constexpr int64_t stride = 128, instances = 3;

/// One launch of each kind, all whose offsets are counted from `at` in steps of
/// 4 bytes.
std::vector<Launch> launchesAt(int64_t at) {
  auto next = [&] { return at += 4; };
  DeviceLaunch device = {"k", 1, 1, {next(), next()}};
  device.writes = {{DType::f32, next(), 1}};
  MatmulLaunch matmul = {1, 1, 1, 1, {}, 0, 0, 0, -1, -1};
  matmul.a = next(), matmul.b = next(), matmul.c = next();
  matmul.aux = next(), matmul.sums = next();
  matmul.activationKernel = DeviceLaunch{"k", 1, 1, {next()}};
  matmul.scales = ProductScales{{ScaleMode::tensor, next()},
                                {ScaleMode::tensor, next()},
                                DType::f8e4m3,
                                false};
  GroupedMatmulLaunch grouped = {};
  grouped.a = next(), grouped.b = next(), grouped.ends = next();
  grouped.c = next();
  ConvolutionLaunch convolution = {};
  convolution.image = next(), convolution.kernel = next();
  convolution.output = next();
  AttentionLaunch attention = {};
  attention.offsets = {next()};
  attention.workspace = next();
  CollectiveLaunch collective = {};
  collective.in = next(), collective.out = next();
  ShardLaunch shard = {{}, 1, 1, next(), next()};
  KernelLaunch kernel = {nullptr, 1, 1, {next(), next()}};
  CopyLaunch copy = {CopyDirection::down, next(), 0, 4, 0};
  return {{"", "", kernel},
          {"", "", device},
          {"", "", matmul},
          {"", "", grouped},
          {"", "", convolution},
          {"", "", attention},
          {"", "", ZeroLaunch{next(), 4}},
          {"", "", collective},
          {"", "", WaitLaunch{0}},
          {"", "", shard},
          {"", "", CoordinateLaunch{{}, next()}},
          {"", "", copy},
          {"", "", CopyWaitLaunch{0}},
          {"", "", CallbackLaunch{nullptr, nullptr}}};
}

std::vector<int64_t> offsetsOf(std::vector<Launch> launches) {
  std::vector<int64_t> offsets;
  for (Launch &launch : launches)
    forEachOffset(launch, [&](int64_t &offset) { offsets.push_back(offset); });
  return offsets;
}

TEST(Offsets, are_those_of_every_kind_of_launch) {
  std::vector<Launch> launches = launchesAt(1000);
  EXPECT_EQ(launches.size(),
            std::variant_size_v<decltype(launches.front().action)>);
  for (size_t i = 0; i != launches.size(); ++i) // one of each, none twice
    EXPECT_EQ(std::count_if(launches.begin(), launches.end(),
                            [&](const Launch &other) {
                              return other.action.index() ==
                                     launches[i].action.index();
                            }),
              1);
  std::vector<int64_t> found = offsetsOf(launches), expected;
  // Absent operands of the product, besides.
  EXPECT_EQ(std::count(found.begin(), found.end(), -1), 2);
  found.erase(std::remove(found.begin(), found.end(), -1), found.end());
  std::sort(found.begin(), found.end());
  for (size_t i = 0; i != found.size(); ++i)
    expected.push_back(1004 + 4 * int64_t(i));
  EXPECT_EQ(found, expected);
  EXPECT_EQ(found.size(), 29u);
}

/// A stage whose function "f" has `launches`, windows at 0 and 1024, and runs
/// for these micro-batches, together with those `beside` them.
test::ProgramPtr withWindows(std::vector<Launch> launches,
                             std::vector<int64_t> micros,
                             std::vector<int64_t> beside = {}) {
  test::ProgramPtr program = test::makeProgram();
  honert_program *p = program.get();
  honert_mesh_axis(p, "pp", 1, "");
  honert_meta_number(p, "micro_batches", 8);
  honert_stage(p, 0);
  honert_arena(p, 4096);
  int64_t dims[] = {stride / 4 - 3}; // rounded up
  honert_argument(p, int64_t(Kind::boundary), "x", 0, 1, dims, 0);
  honert_argument_window(p, instances);
  honert_argument(p, int64_t(Kind::saved), "y", 0, 1, dims, 1024);
  honert_argument_window(p, 2);
  honert_argument(p, int64_t(Kind::scalar), "loss", 0, 0, nullptr, 2048);
  honert_function(p, "f");
  honert_result(p, "r", 0, 0, nullptr, 4);
  p->stages[0].functions[0].launches = std::move(launches);
  honert_function(p, "update");
  for (size_t i = 0; i != micros.size(); ++i) {
    honert_action(p, "step", int64_t(ActionKind::run), "f", micros[i], -1);
    if (i < beside.size())
      honert_action_beside(p, beside[i]);
  }
  honert_action(p, "step", int64_t(ActionKind::run), "update", 7, -1);
  joinStages(*p);
  return program;
}

TEST(Windows, shift_every_kind_of_launch) {
  std::vector<int64_t> described = offsetsOf(launchesAt(0));
  test::ProgramPtr program = withWindows(launchesAt(0), {0, 1, 2, 3});
  const Program &stage = program->stages[0];
  // "f" for instances 0, 1 and 2, and "update".
  ASSERT_EQ(stage.functions.size(), 4u);
  for (const Action &action : stage.stepActions) {
    if (action.what != "f")
      continue;
    const Function &function = stage.functions[action.function];
    EXPECT_EQ(function.name, "f");
    int64_t shift = action.micro % instances * stride;
    std::vector<int64_t> expected;
    for (int64_t offset : described)
      expected.push_back(offset < 0 ? offset : offset + shift);
    EXPECT_EQ(offsetsOf(function.launches), expected) << action.micro;
    EXPECT_EQ(function.result("r")->offset, 4 + shift);
  }
  EXPECT_EQ(stage.stepActions[0].function, stage.stepActions[3].function);
}

TEST(Windows, have_a_function_for_each_combination_that_runs) {
  // Instances of x and y for micro-batches 0 to 6: 00 11 20 01 10 21 00.
  Launch both = {"", "", CollectiveLaunch{}};
  std::get<CollectiveLaunch>(both.action).in = 64;
  std::get<CollectiveLaunch>(both.action).out = 1024 + 64;
  test::ProgramPtr program = withWindows({both}, {0, 1, 2, 3, 4, 5, 6});
  const Program &stage = program->stages[0];
  EXPECT_EQ(stage.functions.size(), 2u + 5u);
  for (const Action &action : stage.stepActions) {
    const Function &function = stage.functions[action.function];
    if (action.what != "f")
      continue;
    auto &shifted = std::get<CollectiveLaunch>(function.launches[0].action);
    EXPECT_EQ(shifted.in, 64 + action.micro % 3 * stride);
    EXPECT_EQ(shifted.out, 1024 + 64 + action.micro % 2 * stride);
  }
}

/// What lies in instance 1 is the second micro-batch's.
TEST(Windows, have_instances_of_two_micro_batches) {
  Launch both = {"", "", CollectiveLaunch{}};
  std::get<CollectiveLaunch>(both.action).in = 64;
  std::get<CollectiveLaunch>(both.action).out = stride + 64;
  test::ProgramPtr program = withWindows({both}, {1, 2, 3, 6}, {0, 1, 1, 7});
  const Program &stage = program->stages[0];
  for (size_t i = 0; i != 4; ++i) {
    const Action &action = stage.stepActions[i];
    const Function &function = stage.functions[action.function];
    auto &shifted = std::get<CollectiveLaunch>(function.launches[0].action);
    EXPECT_EQ(shifted.in, 64 + action.micro % 3 * stride) << i;
    EXPECT_EQ(shifted.out, 64 + action.beside % 3 * stride) << i;
  }
  // The last one runs as it is described.
  EXPECT_EQ(stage.stepActions[3].function, 0u);
}

TEST(Windows, of_two_micro_batches_are_checked) {
  Launch second = {"", "", ZeroLaunch{stride, 4}};
  test::ProgramPtr program = withWindows({second}, {1, 2}, {0});
  EXPECT_EQ(checkActions(*program).message(),
            "program: action 1 of list 'step' of stage 0 (run 'f' for "
            "micro-batch 2) has no second micro-batch, which other runs of the "
            "function have");
  program = withWindows({second}, {1}, {9});
  EXPECT_EQ(checkActions(*program).message(),
            "program: action 0 of list 'step' of stage 0 (run 'f' for "
            "micro-batch 1) is for micro-batch 9 of 8 besides");
  program = withWindows({{"", "", ZeroLaunch{2 * stride, 4}}}, {1}, {0});
  EXPECT_EQ(checkStage(program->stages[0]).message(),
            "program: function 'f' has an offset in window 'x' behind its "
            "second instance");
}

TEST(Windows, leave_other_functions_as_they_are) {
  Launch elsewhere = {"", "", ZeroLaunch{3 * stride, 4}}; // behind x
  test::ProgramPtr program = withWindows({elsewhere}, {0, 1, 2});
  program->stages[0].functions[0].results.clear();
  const Program &stage = program->stages[0];
  for (const Action &action : stage.stepActions)
    if (action.what == "f")
      EXPECT_EQ(std::get<ZeroLaunch>(
                    stage.functions[action.function].launches[0].action)
                    .offset,
                3 * stride);
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

using Change = void (*)(honert_program &);

struct BrokenStages {
  const char *message;
  Change change; ///< before stages are joined
};

class BrokenStagesTest : public testing::TestWithParam<BrokenStages> {};

StagedModel twoStages() {
  StagedModel model;
  model.stages = 2;
  model.boundaries = 2;
  return model;
}

TEST_P(BrokenStagesTest, are_refused_with_a_reason) {
  test::ProgramPtr program = test::makeProgram();
  describe(twoStages(), program.get());
  GetParam().change(*program);
  joinStages(*program);
  EXPECT_EQ(program->check().message(), GetParam().message);
}

/// The first action of the kind in the list of a stage, for a micro-batch.
std::vector<Action>::iterator find(honert_program &p, size_t stage,
                                   ActionKind kind, int64_t micro = 0) {
  std::vector<Action> &list = p.stages[stage].stepActions;
  return std::find_if(list.begin(), list.end(), [&](const Action &action) {
    return action.kind == kind && action.micro == micro;
  });
}
void erase(honert_program &p, size_t stage, ActionKind kind,
           int64_t micro = 0) {
  p.stages[stage].stepActions.erase(find(p, stage, kind, micro));
}
Argument &argument(honert_program &p, size_t stage, const char *fqn) {
  for (Argument &each : p.stages[stage].arguments)
    if (each.fqn == fqn)
      return each;
  return p.stages[stage].arguments.front();
}

int nothing(void *, const char *, void *) { return 0; }

/// Moves the action at `from` of a stage's list to before that at `to`.
void move(honert_program &p, size_t stage, std::vector<Action>::iterator from,
          std::vector<Action>::iterator to) {
  if (from < to)
    std::rotate(from, from + 1, to);
  else
    std::rotate(to, from, from + 1);
}

/// Lists of 1F1B for two instances of each boundary.
INSTANTIATE_TEST_SUITE_P(
    Lists, BrokenStagesTest,
    testing::Values(
        BrokenStages{
            "program: action 16 of list 'step' of stage 0 (send 'boundary h1' "
            "of micro-batch 3 to stage 1) is never awaited",
            [](honert_program &p) { erase(p, 0, ActionKind::awaitSend, 3); }},
        BrokenStages{
            "program: action 22 of list 'step' of stage 0 (await_send "
            "'boundary h1' of micro-batch 3 to stage 1) awaits what has not "
            "begun",
            [](honert_program &p) { erase(p, 0, ActionKind::send, 3); }},
        BrokenStages{"program: action 8 of list 'step' of stage 0 (await_send "
                     "'boundary h1' of micro-batch 1 to stage 1) is before "
                     "that of micro-batch 0, which began first",
                     [](honert_program &p) {
                       std::swap(find(p, 0, ActionKind::awaitSend, 0)->micro,
                                 find(p, 0, ActionKind::awaitSend, 1)->micro);
                     }},
        BrokenStages{"program: action 1 of list 'step' of stage 1 (run "
                     "'forward' for micro-batch 0) touches 'h1' while receive "
                     "'boundary h1' of micro-batch 0 from stage 0 is under way",
                     [](honert_program &p) {
                       move(p, 1, find(p, 1, ActionKind::run),
                            find(p, 1, ActionKind::awaitReceive));
                     }},
        BrokenStages{"program: action 8 of list 'step' of stage 0 (run "
                     "'forward' for micro-batch 2) touches 'h1' while send "
                     "'boundary h1' of micro-batch 0 to stage 1 is under way",
                     [](honert_program &p) {
                       move(p, 0, find(p, 0, ActionKind::awaitSend, 0),
                            find(p, 0, ActionKind::awaitSend, 2));
                     }},
        BrokenStages{
            "program: action 1 of list 'step' of stage 1 (receive 'boundary "
            "h1' of micro-batch 1 from stage 0) has the place of receive "
            "'boundary h1' of micro-batch 0 from stage 0, which is under way",
            [](honert_program &p) {
              argument(p, 1, "h1").instances = 1;
              move(p, 1, find(p, 1, ActionKind::receive, 1),
                   find(p, 1, ActionKind::awaitReceive, 0));
            }},
        BrokenStages{"program: action 2 of list 'step' of stage 1 (receive "
                     "'boundary h1' of micro-batch 2 from stage 0) has the "
                     "place of receive 'boundary h1' of micro-batch 0 from "
                     "stage 0, which no run has read",
                     [](honert_program &p) {
                       move(p, 1, find(p, 1, ActionKind::awaitReceive, 0),
                            find(p, 1, ActionKind::receive, 0) + 1);
                       move(p, 1, find(p, 1, ActionKind::receive, 2),
                            find(p, 1, ActionKind::run, 0));
                     }},
        BrokenStages{"program: action 13 of list 'step' of stage 1 (receive "
                     "'boundary h1' of micro-batch 3 from stage 0) has no "
                     "counterpart in the list of its peer",
                     [](honert_program &p) {
                       erase(p, 0, ActionKind::send, 3);
                       erase(p, 0, ActionKind::awaitSend, 3);
                     }},
        BrokenStages{"program: action 1 of list 'step' of stage 0 (send "
                     "'boundary h1' of micro-batch 0 to stage 1) is message 0 "
                     "of its channel, of which stage 1 expects micro-batch 1",
                     [](honert_program &p) {
                       for (Action &action : p.stages[1].stepActions)
                         if ((action.what == "boundary h1" ||
                              action.what == "forward") &&
                             action.micro < 2)
                           action.micro = 1 - action.micro;
                     }},
        BrokenStages{"program: action 1 of list 'step' of stage 0 (send "
                     "'boundary h1' of micro-batch 0 to stage 1) has 192 "
                     "bytes, of which stage 1 expects 176",
                     [](honert_program &p) {
                       argument(p, 1, "h1").dims[0] -= 1;
                       argument(p, 1, "h1").whole[0] -= 1;
                       argument(p, 1, "h1").parts[0].shape[0] -= 1;
                       argument(p, 1, "h1").bytes -= 16;
                     }},
        BrokenStages{
            "program: action 1 of list 'step' of stage 0 (await_receive "
            "'boundary g1' of micro-batch 0 from stage 1) waits forever",
            [](honert_program &p) {
              std::vector<Action> &list = p.stages[0].stepActions;
              move(p, 0, find(p, 0, ActionKind::receive), list.begin());
              move(p, 0, find(p, 0, ActionKind::awaitReceive),
                   list.begin() + 1);
            }},
        BrokenStages{
            "program: list 'step' of stage 1 does not end with a run "
            "of 'update'",
            [](honert_program &p) { p.stages[1].stepActions.pop_back(); }},
        BrokenStages{"program: action 24 of list 'step' of stage 0 (run "
                     "'update' for micro-batch 3) is not the last",
                     [](honert_program &p) {
                       p.stages[0].stepActions.push_back(
                           p.stages[0].stepActions.back());
                     }},
        BrokenStages{"program: stage 1 has no list 'evaluate', unlike stage 0",
                     [](honert_program &p) {
                       p.stages[0].evaluateActions.resize(1);
                       p.stages[1].evaluateActions.clear();
                     }},
        BrokenStages{"program: list 'evaluate' of no stage runs a function "
                     "with a result 'loss'",
                     [](honert_program &p) {
                       for (Function &each : p.stages[1].functions)
                         each.results.clear();
                     }}));

INSTANTIATE_TEST_SUITE_P(
    Stages, BrokenStagesTest,
    testing::Values(
        BrokenStages{"", [](honert_program &) {}},
        BrokenStages{
            "program: there are 1 stages for mesh 'pp=2', expected one "
            "for each coordinate along 'pp'",
            [](honert_program &p) { p.stages.pop_back(); }},
        BrokenStages{
            "program: there are 2 stages for mesh 'dp=2', expected one "
            "for each coordinate along 'pp'",
            [](honert_program &p) { p.mesh.axes[0].name = "dp"; }},
        BrokenStages{"program: stage 3 after 2 stages",
                     [](honert_program &p) { honert_stage(&p, 3); }},
        BrokenStages{"program: argument 'evaluated' of kind scalar has a "
                     "window, expected boundary or saved",
                     [](honert_program &p) {
                       honert_argument(&p, int64_t(Kind::scalar), "evaluated",
                                       0, 0, nullptr, 0);
                       honert_argument_window(&p, 2);
                     }},
        BrokenStages{"program: argument 'b' has a window of 0 instances",
                     [](honert_program &p) {
                       honert_argument(&p, int64_t(Kind::boundary), "b", 0, 0,
                                       nullptr, 0);
                       honert_argument_window(&p, 0);
                     }},
        BrokenStages{
            "stage 0: program: window 'h1' of 1000 instances is "
            "outside the arena",
            [](honert_program &p) { argument(p, 0, "h1").instances = 1000; }},
        BrokenStages{
            "stage 0: program: window 'h1' of 3 instances overlaps "
            "argument 'g1'",
            [](honert_program &p) { argument(p, 0, "h1").instances = 3; }},
        BrokenStages{"stage 0: program: function 'update' has an offset in "
                     "window 'h1' behind its first instance",
                     [](honert_program &p) {
                       const Argument &h = argument(p, 0, "h1");
                       for (Function &each : p.stages[0].functions)
                         if (each.name == "update")
                           each.launches.push_back(
                               {"zero", "",
                                ZeroLaunch{h.offset + h.instanceStride(), 4}});
                     }},
        BrokenStages{"stage 1: program: function 'update' of a stage is a "
                     "callback",
                     [](honert_program &p) {
                       for (Function &each : p.stages[1].functions)
                         if (each.name == "update")
                           each.launches.push_back(
                               {"", "", CallbackLaunch{nothing, nullptr}});
                     }},
        BrokenStages{
            "stage 1: program: a stage has a function 'step', expected "
            "a list of actions",
            [](honert_program &p) { honert_function(&p, "step"); }},
        BrokenStages{"stage 1: program: a stage has no function 'update'",
                     [](honert_program &p) {
                       for (Function &each : p.stages[1].functions)
                         if (each.name == "update")
                           each.name = "renew";
                     }},
        BrokenStages{
            "stage 0: program: a stage has no argument 'loss'",
            [](honert_program &p) { argument(p, 0, "loss").fqn = "lose"; }},
        BrokenStages{"program: opt 'updates' of stage 1 differs from that of "
                     "stage 0, expected one type, shape and division",
                     [](honert_program &p) {
                       argument(p, 1, "updates").dtype = DType::i32;
                     }},
        BrokenStages{"program: two tensors answer to 'table'",
                     [](honert_program &p) {
                       argument(p, 1, "w1").aliases = {"table"};
                     }},
        BrokenStages{"program: an action of list 'train', expected 'step' or "
                     "'evaluate'",
                     [](honert_program &p) {
                       honert_action(&p, "train", 0, "forward", 0, -1);
                     }},
        BrokenStages{"program: honert_action_beside, expected it behind a run "
                     "of list 'step', before list 'evaluate'",
                     [](honert_program &p) { // behind a run of 'evaluate'
                       honert_action(&p, "evaluate", 0, "evaluate", 0, -1);
                       honert_action_beside(&p, 0);
                     }},
        BrokenStages{"program: honert_action_beside, expected it behind a run "
                     "of list 'step', before list 'evaluate'",
                     [](honert_program &p) { // behind none
                       p.stages.back().stepActions.clear();
                       honert_action_beside(&p, 0);
                     }},
        BrokenStages{"program: action 5 is not known",
                     [](honert_program &p) {
                       honert_action(&p, "step", 5, "forward", 0, -1);
                     }},
        BrokenStages{"program: action 0 of list 'step' of stage 0 (run 'ahead' "
                     "for micro-batch 0) names a function that the stage does "
                     "not have",
                     [](honert_program &p) {
                       find(p, 0, ActionKind::run)->what = "ahead";
                     }},
        BrokenStages{"program: action 1 of list 'step' of stage 0 (send "
                     "'boundary h9' of micro-batch 0 to stage 1) names an "
                     "argument that the stage does not have",
                     [](honert_program &p) {
                       find(p, 0, ActionKind::send)->what = "boundary h9";
                     }},
        BrokenStages{
            "program: action 1 of list 'step' of stage 0 (send "
            "'boundary h1' of micro-batch 0 to stage 2) has peer 2, "
            "expected another one of 2 stages",
            [](honert_program &p) { find(p, 0, ActionKind::send)->peer = 2; }},
        BrokenStages{
            "program: action 1 of list 'step' of stage 0 (send "
            "'boundary h1' of micro-batch 0 to stage 0) has peer 0, "
            "expected another one of 2 stages",
            [](honert_program &p) { find(p, 0, ActionKind::send)->peer = 0; }},
        BrokenStages{
            "program: action 1 of list 'step' of stage 0 (send "
            "'boundary h1' of micro-batch 4 to stage 1) is for "
            "micro-batch 4 of 4",
            [](honert_program &p) { find(p, 0, ActionKind::send)->micro = 4; }},
        BrokenStages{"program: action 0 of list 'evaluate' of stage 0 (run "
                     "'evaluate' for micro-batch 1) is for micro-batch 1 of 1",
                     [](honert_program &p) {
                       p.stages[0].evaluateActions[0].micro = 1;
                     }}));

} // namespace
