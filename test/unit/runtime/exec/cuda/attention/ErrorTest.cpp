//===- ErrorTest.cpp - Plans, call order, what can be wrong ---------------===//

#include "emulation/cudnn/FakeCudnn.h"
#include "support/AttentionCase.h"

#include <cstdlib>
#include <cstring>

using namespace honert;
using namespace test;

using Operand = AttentionOperand;

namespace {

class AttentionErrors : public Cuda {
protected:
  AttentionErrors() { fake::cudnnSettings() = {}; }

  /// The lines on stderr while a program starts and runs twice; `message` is
  /// that of the first error.
  std::string runTwice(AttentionProgram &program, std::string &message) {
    testing::internal::CaptureStderr();
    Status status = program.start();
    for (int i = 0; i != 2 && status.ok(); ++i)
      status = program.run(randomInputs(c));
    message = status.message();
    return testing::internal::GetCapturedStderr();
  }
  std::string errorOf(AttentionProgram &program) {
    std::string message;
    EXPECT_EQ(runTwice(program, message), "");
    return message;
  }

  const AttentionCase c = {1, 2, 2, 8, 8, 16, 16, true};
};

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

TEST_F(AttentionErrors, plans_of_the_program_are_read_not_made) {
  AttentionProgram program(c);
  int made = calls("finalize a plan");
  std::string message;
  EXPECT_EQ(runTwice(program, message), "");
  EXPECT_EQ(message, "");
  EXPECT_EQ(calls("finalize a plan") - made, 2); // both from text
  EXPECT_EQ(calls("cudnnCreate"), 1);
  EXPECT_EQ(calls("cudnnSetStream"), 1);
  // The first run as it is, the second while it is recorded; then it is a
  // graph, that the library is not asked for.
  EXPECT_EQ(calls("cudnnBackendExecute"), 4);
  EXPECT_TRUE(program.run(randomInputs(c)).ok());
  EXPECT_EQ(calls("cudnnBackendExecute"), 4);
}

TEST_F(AttentionErrors, a_recorded_run_gives_the_same_bits) {
  AttentionProgram program(c);
  ASSERT_TRUE(program.start().ok());
  std::vector<double> first;
  for (int i = 0; i != 3; ++i) {
    ASSERT_TRUE(program.run(randomInputs(c)).ok());
    std::vector<double> grad = program.read(Operand::keyGrad);
    if (i == 0)
      first = grad;
    EXPECT_EQ(grad, first);
  }
}

TEST_F(AttentionErrors, plans_are_made_where_there_are_none) {
  AttentionProgram program(c, /*arch=*/0);
  std::string message;
  EXPECT_EQ(runTwice(program, message),
            "warning: plans of attention in this program are not used (it has "
            "none for sm_999); planning again\n");
  EXPECT_EQ(message, "");
}

TEST_F(AttentionErrors, plans_are_made_for_another_version) {
  AttentionProgram program(c);
  fake::cudnnSettings().version = 92000;
  std::string message;
  EXPECT_EQ(runTwice(program, message),
            "warning: plans of attention in this program are not used (cuDNN "
            "9.20.0 could not read a plan: CUDNN_STATUS_NOT_SUPPORTED (as told "
            "to fail)); planning again\n");
  EXPECT_EQ(message, "");
}

TEST_F(AttentionErrors, plans_of_another_architecture_are_not_used) {
  AttentionProgram program(c, /*arch=*/90);
  fake().settings.arch = 100;
  std::string message, lines = runTwice(program, message);
  EXPECT_NE(lines.find("it has none for sm_100"), std::string::npos) << lines;
  EXPECT_EQ(message, "");
}

/// A deterministic backward pass that is planned at start, for other libraries.
class DeterministicAttention : public AttentionErrors {
protected:
  /// The error; `lists` becomes how often engines were listed for it. The
  /// `failing`-th plan from then on is none.
  std::string start(int arch, int failing = 0) {
    fake::cudnnSettings() = {};
    AttentionCase same = c;
    same.deterministic = true;
    AttentionProgram program(same, /*arch=*/0);
    fake::cudnnSettings() = library;
    fake().settings.arch = arch;
    if (failing > 0)
      fake().failCall("finalize a plan", failing, 3000);
    int before = calls("list of engines");
    std::string message;
    runTwice(program, message);
    lists = calls("list of engines") - before - 1; // of the forward pass
    if (message.empty())
      EXPECT_LT(relativeError(program.read(Operand::queryGrad),
                              PlainAttention(same, randomInputs(same))
                                  .backward()[Operand::queryGrad]),
                0x1p-7);
    return message;
  }

  fake::CudnnSettings library;
  int lists = 0;
  /// What engines take from 9.23 on.
  const std::map<int, int64_t> newKnobs = {
      {CUDNN_KNOB_TYPE_TILE_M, 3},     {CUDNN_KNOB_TYPE_TILE_N, 2},
      {CUDNN_KNOB_TYPE_KERNEL_CFG, 2}, {CUDNN_KNOB_TYPE_STREAM_K, 0},
      {CUDNN_KNOB_TYPE_TILE_CGA_M, 0}, {CUDNN_KNOB_TYPE_STAGES, 2}};
};

TEST_F(DeterministicAttention, has_a_named_engine_on_sm_100) {
  for (int arch : {100, 103}) {
    EXPECT_EQ(start(arch), "");
    EXPECT_EQ(lists, 0) << arch;
    EXPECT_EQ(fake::plannedEngines().back(), 5);
  }
}

TEST_F(DeterministicAttention, has_other_knobs_in_newer_versions) {
  library.version = 92300;
  library.named = {{5, newKnobs}};
  EXPECT_EQ(start(100), "");
  EXPECT_EQ(lists, 0);
}

TEST_F(DeterministicAttention, has_another_engine_behind_sm_103) {
  library.named = {{17, library.named.at(5)}};
  EXPECT_EQ(start(107), "");
  EXPECT_EQ(lists, 0);
  library.version = 92800;
  library.named = {{17, newKnobs}};
  EXPECT_EQ(start(107), "");
  EXPECT_EQ(lists, 0);
}

/// Of those listed the first is taken that is neither called nondeterministic
/// nor the named engine, which has other knobs there.
TEST_F(DeterministicAttention, takes_a_listed_engine_where_none_is_named) {
  library.listed = {
      {5, {0}}, {6, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}}, {7, {0}}};
  EXPECT_EQ(start(100, /*failing=*/2), ""); // the named engine's plan
  EXPECT_EQ(lists, 1);
  EXPECT_EQ(fake::plannedEngines().back(), 7);
  library.named = {};
  EXPECT_EQ(start(100), "");
  EXPECT_EQ(lists, 1);
  EXPECT_EQ(fake::plannedEngines().back(), 7);
  EXPECT_EQ(start(90), "");
  EXPECT_EQ(lists, 1);
  EXPECT_EQ(fake::plannedEngines().back(), 5); // whose number means nothing
}

TEST_F(DeterministicAttention, is_refused_where_no_engine_gives_equal_bits) {
  std::string expected = "attention backward at model.py:3: cuDNN 9.19.0 lists "
                         "1 engines that do not give equal bits, expected one "
                         "that does (compile without "
                         "--deterministic-attention)";
  library.listed = {{6, {0, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}}};
  EXPECT_EQ(start(90), expected);
  library.listed = {{5, {}}};
  library.named = {};
  EXPECT_EQ(start(100), expected);
}

TEST_F(AttentionErrors, a_new_plan_may_need_more_workspace) {
  AttentionProgram program(c, /*arch=*/0);
  fake::cudnnSettings().workspaceBytes = 4096;
  std::string message, lines = runTwice(program, message);
  EXPECT_EQ(message, "");
  EXPECT_NE(lines.find("warning: cuDNN 9.19.0 needs 4.00 KiB of workspace "
                       "beside the memory that was planned\n"),
            std::string::npos)
      << lines;
  EXPECT_LT(
      relativeError(
          program.read(Operand::queryGrad),
          PlainAttention(c, randomInputs(c)).backward()[Operand::queryGrad]),
      0x1p-7);
}

TEST_F(AttentionErrors, a_plan_that_is_read_may_not_run) {
  AttentionProgram program(c);
  fake().failCall("cudnnBackendExecute", 2, 5000); // the backward pass's first
  std::string message;
  EXPECT_EQ(runTwice(program, message),
            "warning: plans of attention in this program are not used (cuDNN "
            "9.19.0 could not run it: CUDNN_STATUS_EXECUTION_FAILED (as told "
            "to fail)); planning again\n");
  EXPECT_EQ(message, "");
  EXPECT_LT(
      relativeError(
          program.read(Operand::queryGrad),
          PlainAttention(c, randomInputs(c)).backward()[Operand::queryGrad]),
      0x1p-7);
}

TEST_F(AttentionErrors, nor_may_there_be_another) {
  AttentionProgram program(c);
  fake().failCall("cudnnBackendExecute", 2, 5000);
  fake().failCall("finalize a plan", 3, 3000); // after both from text
  std::string message;
  runTwice(program, message);
  EXPECT_EQ(message,
            "attention backward at model.py:3: cuDNN 9.19.0 could not make a "
            "plan: CUDNN_STATUS_NOT_SUPPORTED (as told to fail)");
}

/// Blocks of a long sequence's keys add to the gradient of the queries in any
/// order.
TEST_F(AttentionErrors, equal_bits_need_a_plan_that_gives_them) {
  for (bool deterministic : {false, true}) {
    AttentionCase long_ = {1, 2, 2, 1024, 1024, 16, 16, true};
    long_.deterministic = deterministic;
    AttentionProgram program(long_);
    Status status = program.start(/*deterministic=*/true);
    EXPECT_EQ(status.message(),
              deterministic
                  ? ""
                  : "attention backward at model.py:3: its plan adds in any "
                    "order, which --deterministic does not allow: compile with "
                    "--deterministic-attention");
  }
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(AttentionErrors, the_library_may_be_missing) {
  AttentionProgram program(c);
  fake().settings.missing = {"libcudnn_graph.so.9"};
  EXPECT_EQ(errorOf(program),
            "libcudnn_graph.so.9: cannot be opened (no such library); fused "
            "attention needs cuDNN 9 (is its folder in LD_LIBRARY_PATH?)");
}

TEST_F(AttentionErrors, the_library_may_be_too_old) {
  AttentionProgram program(c);
  fake::cudnnSettings().version = 90700;
  EXPECT_EQ(errorOf(program),
            "libcudnn_graph.so.9: is cuDNN 9.7.0, expected 9.19.0 or later");
}

TEST_F(AttentionErrors, the_library_may_lack_a_function) {
  AttentionProgram program(c);
  fake().settings.missing = {"cudnnBackendExecute"};
  EXPECT_EQ(
      errorOf(program),
      "libcudnn_graph.so.9: has no cudnnBackendExecute; expected cuDNN 9");
}

TEST_F(AttentionErrors, the_library_may_not_start) {
  AttentionProgram program(c);
  fake().failCall("cudnnCreate", 1, 3000);
  EXPECT_EQ(errorOf(program),
            "cuDNN 9.19.0 on GPU emulated GPU could not start: "
            "CUDNN_STATUS_NOT_SUPPORTED (as told to fail)");
}

TEST_F(AttentionErrors, there_may_be_no_plan) {
  AttentionProgram program(c, /*arch=*/0);
  fake().failCall("finalize a plan", 1, 3000);
  std::string message;
  runTwice(program, message);
  EXPECT_EQ(message,
            "attention forward at model.py:3: cuDNN 9.19.0 could not make a "
            "plan: CUDNN_STATUS_NOT_SUPPORTED (as told to fail)");
}

TEST_F(AttentionErrors, a_call_may_fail) {
  AttentionProgram program(c, /*arch=*/0);
  fake().failCall("cudnnBackendExecute", 2, 5000);
  std::string message;
  runTwice(program, message);
  EXPECT_EQ(message,
            "attention backward at model.py:3: cuDNN 9.19.0 could not run it: "
            "CUDNN_STATUS_EXECUTION_FAILED (as told to fail)");
}

TEST_F(AttentionErrors, a_call_may_fail_while_it_is_recorded) {
  AttentionProgram program(c);
  fake().failCall("cudnnBackendExecute", 3, 5000);
  EXPECT_EQ(errorOf(program),
            "attention forward at model.py:3: cuDNN 9.19.0 could not run it: "
            "CUDNN_STATUS_EXECUTION_FAILED (as told to fail)");
}

/// What the fake is there to notice.
TEST_F(AttentionErrors, operands_outside_the_device_are_mistakes) {
  expectsMistakes = true;
  AttentionProgram program(c, /*arch=*/0);
  program.launch(false).offsets[0] = int64_t(1) << 20;
  std::string message;
  runTwice(program, message);
  EXPECT_EQ(message,
            "attention forward at model.py:3: cuDNN 9.19.0 could not run it: "
            "CUDNN_STATUS_BAD_PARAM (tensor 1 is outside the memory of the "
            "device)");
}

TEST_F(AttentionErrors, operands_that_are_not_aligned_are_mistakes) {
  expectsMistakes = true;
  AttentionProgram program(c, /*arch=*/0);
  program.launch(false).offsets[1] += 8;
  std::string message;
  runTwice(program, message);
  EXPECT_EQ(message,
            "attention forward at model.py:3: cuDNN 9.19.0 could not run it: "
            "CUDNN_STATUS_BAD_PARAM (tensor 2 is not aligned as described)");
}

} // namespace
