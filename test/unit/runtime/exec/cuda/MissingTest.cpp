//===- MissingTest.cpp - A program for a GPU that is not there ------------===//
//
// With the libraries of this machine, whatever it has: no driver, no GPU, or
// one that is not of the architecture that the program is for.
//
//===----------------------------------------------------------------------===//

#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

using namespace test;

namespace {

class CudaMissing : public testing::Test {
protected:
  CudaMissing() {
    honert_meta(p, "target", "cuda sm_998");
    honert_arena(p, 4096);
    honert_device_code(p, 1, 998, "code", 4);
    honert_function(p, "step");
    honert_device_launch(p, "a", "", "k", 1, 1, 0, nullptr);
    honert_result(p, "loss", 0, 0, nullptr, 0);
  }

  ProgramPtr program = makeProgram();
  honert_program *p = program.get();
};

TEST_F(CudaMissing, is_one_line) {
  Outcome outcome = run(p, {"--steps", "1"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  EXPECT_TRUE(outcome.err.rfind("error: libcuda.so.1: ", 0) == 0 ||
              outcome.err.find("machine code of sm_998") != std::string::npos)
      << outcome.err;
}

TEST_F(CudaMissing, leaves_info_whole) {
  Outcome outcome = run(p, {"--info"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("machine code for sm_998"), std::string::npos);
  EXPECT_NE(outcome.out.find("  GPU "), std::string::npos);
}

} // namespace
