//===- StreamTest.cpp - What runs beside what on a GPU --------------------===//

#include "exec/cuda/TimedRun.h"
#include "support/CudaFixture.h"

#include <cmath>

using namespace honert;
using test::CudaProgram;
using test::Outcome;

namespace {

class CudaStreams : public test::Cuda {
protected:
  CudaStreams() { test::writeTokens(data, 400); }

  Outcome train(int steps, std::vector<std::string> more = {}) {
    CudaProgram program({});
    more.insert(more.begin(),
                {"--data", data, "--steps", std::to_string(steps)});
    return program.run(more);
  }
  /// A letter for each call of `names`, in their order.
  std::string order(const std::map<std::string, char> &names) {
    std::string text;
    for (const std::string &call : fake().order)
      if (auto found = names.find(call); found != names.end())
        text += found->second;
    return text;
  }
  std::string lossesOf(const std::string &log) {
    std::string text = test::readFile(log), losses;
    for (size_t at = text.find("\"loss\":"); at != text.npos;
         at = text.find("\"loss\":", at + 1))
      losses += text.substr(at, text.find(',', at) - at) + "\n";
    return losses;
  }

  std::string data = folder / "tokens.bin";
};

/// Inputs of a step go up (i) and the step is launched (g) before the host
/// waits (s) for the loss of the one before; from the third on, it waits before
/// that for the slot of inputs, which was free long ago. The last loss is
/// waited for at the end.
TEST_F(CudaStreams, a_step_is_on_its_way_before_the_loss_is_read) {
  fake().settings.keepsOrder = true;
  EXPECT_EQ(train(6).code, 0);
  std::string calls = order({{"cuMemcpyHtoDAsync_v2", 'i'},
                             {"cuGraphLaunch", 'g'},
                             {"cuEventSynchronize", 's'}});
  // Before the first step's inputs: state, published.
  EXPECT_EQ(calls.substr(calls.find("igs") - 1), "i"
                                                 "igs"
                                                 "sigs"
                                                 "sigs"
                                                 "sigs"
                                                 "sigs"
                                                 "s");
}

/// The host waits for whole streams at start and end only.
TEST_F(CudaStreams, a_step_synchronises_no_stream) {
  EXPECT_EQ(train(3).code, 0);
  int few = calls("cuStreamSynchronize");
  fake().calls.clear();
  EXPECT_EQ(train(23).code, 0);
  EXPECT_EQ(calls("cuStreamSynchronize"), few);
}

/// One copy brings all inputs of a step, on the stream that is not the main
/// one, which waits for it and moves those that lie side by side at once.
TEST_F(CudaStreams, inputs_come_in_one_copy) {
  EXPECT_EQ(train(3).code, 0);
  int few = calls("cuMemcpyHtoDAsync_v2"), waits = calls("cuStreamWaitEvent");
  EXPECT_EQ(calls("cuMemcpyDtoDAsync_v2"), 3);
  fake().calls.clear();
  EXPECT_EQ(train(13).code, 0);
  EXPECT_EQ(calls("cuMemcpyHtoDAsync_v2") - few, 10);
  EXPECT_EQ(calls("cuStreamWaitEvent") - waits, 20);
}

/// As late as they may or as early: what a step reads is its own.
TEST_F(CudaStreams, early_copies_change_nothing) {
  EXPECT_EQ(train(9, {"--log", folder / "late", "--shuffle"}).code, 0);
  fake().settings.copiesRunAhead = true;
  EXPECT_EQ(train(9, {"--log", folder / "early", "--shuffle"}).code, 0);
  std::string late = lossesOf(folder / "late");
  EXPECT_EQ(std::count(late.begin(), late.end(), '\n'), 9);
  EXPECT_EQ(late, lossesOf(folder / "early"));
}

/// The step after it was on its way: the line names the one that failed, and
/// nothing is saved.
TEST_F(CudaStreams, a_loss_that_is_no_number_names_its_step) {
  CudaProgram program({});
  auto &kernel = fake().settings.kernels["kernel1"];
  int runs = 0;
  kernel.run = [&, run = kernel.run](void *const *buffers, int64_t blocks,
                                     int64_t threads) {
    run(buffers, blocks, threads);
    if (++runs == 3)
      *static_cast<float *>(buffers[2]) = std::nanf("");
  };
  Outcome outcome = program.run({"--data", data, "--steps", "9", "--log",
                                 folder / "log", "--save", folder / "weights"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: step 3: the loss is nan, expected a finite "
                         "value; the run ends, nothing is saved\n");
  EXPECT_EQ(calls("cuGraphLaunch"), 3); // steps 2, 3 and 4
  EXPECT_NE(test::readFile(folder / "log").find("\"step\":2,"),
            std::string::npos);
  EXPECT_EQ(test::readFile(folder / "log").find("\"step\":3,"),
            std::string::npos);
  EXPECT_FALSE(test::exists(folder / "weights"));
}

/// A checkpoint holds the state after its own step, and follows its line.
TEST_F(CudaStreams, a_checkpoint_waits_for_its_step) {
  Outcome outcome = train(
      4, {"--checkpoint-dir", folder / "c", "--checkpoint-every", "2", "--log",
          folder / "log", "--val-data", data, "--val-every", "3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::string log = test::readFile(folder / "log");
  EXPECT_LT(log.find("\"step\":3,\"loss\""), log.find("\"val_loss\""));
  EXPECT_LT(log.find("\"val_loss\""), log.find("\"step\":4,\"loss\""));
}

/// A GPU that waited for the host between two steps waited in the second.
TEST_F(CudaStreams, a_step_lasts_from_the_end_of_the_one_before) {
  Device device;
  ASSERT_TRUE(device.open().ok() && device.choose().ok() &&
              device.start().ok());
  StepClock clock;
  ASSERT_TRUE(clock.start(device).ok());
  auto pass = [&](double milliseconds) {
    (void)fake::enqueue(device.stream(), [=] {
      fake().milliseconds += milliseconds;
      return CUDA_SUCCESS;
    });
  };
  auto step = [&](double milliseconds) {
    EXPECT_TRUE(clock.run().ok());
    pass(milliseconds);
    EXPECT_TRUE(clock.endStep().ok());
  };
  auto collected = [&] {
    EXPECT_TRUE(device.synchronize("steps").ok());
    double seconds = 0;
    EXPECT_TRUE(clock.collectStep(seconds).ok());
    return seconds * 1e3;
  };
  step(1);
  for (double idle : {2, 4}) { // the one before is on its way
    pass(idle);
    step(8);
    EXPECT_FLOAT_EQ(collected(), idle == 2 ? 1 : 10);
  }
  EXPECT_FLOAT_EQ(collected(), 12);
  pass(16); // what is done between steps is of none
  step(32);
  EXPECT_FLOAT_EQ(collected(), 32);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// What a step did wrong shows in any later call: its functions are named, not
/// that call.
TEST_F(CudaStreams, a_fault_is_that_of_the_step_before) {
  expectsMistakes = true;
  CudaProgram program({});
  fake().failCall("cuGraphLaunch", 3, CUDA_ERROR_ILLEGAL_ADDRESS);
  fake().failCall("cuEventSynchronize", 5, CUDA_ERROR_ILLEGAL_ADDRESS);
  Outcome outcome = program.run({"--data", data, "--steps", "9"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "error: function 'step' on GPU emulated GPU (HONE_CHECK_LAUNCHES=1 "
            "names the launch): CUDA_ERROR_ILLEGAL_ADDRESS (as told to "
            "fail)\n");
}

/// Also where the first call of the next step tells of it.
TEST_F(CudaStreams, a_fault_that_a_clock_meets_is_that_of_the_step_before) {
  EXPECT_EQ(train(3).code, 0);
  int records = calls("cuEventRecord");
  fake().calls.clear();
  expectsMistakes = true;
  fake().failCall("cuEventRecord", records + 1, CUDA_ERROR_ILLEGAL_ADDRESS);
  fake().failCall("cuEventSynchronize", 4, CUDA_ERROR_ILLEGAL_ADDRESS);
  Outcome outcome = train(4);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "error: function 'step' on GPU emulated GPU (HONE_CHECK_LAUNCHES=1 "
            "names the launch): CUDA_ERROR_ILLEGAL_ADDRESS (as told to "
            "fail)\n");
}

TEST_F(CudaStreams, a_fault_names_all_functions_of_a_step) {
  expectsMistakes = true;
  test::TinyModel model;
  model.microBatches = 3;
  CudaProgram program(model);
  auto &kernel = fake().settings.kernels["kernel1"];
  int runs = 0;
  kernel.run = [&, run = kernel.run](void *const *buffers, int64_t blocks,
                                     int64_t threads) {
    run(buffers, blocks, threads);
    if (++runs == 8)
      fake().sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
  };
  Outcome outcome = program.run({"--data", data, "--steps", "9"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("function 'accumulate', 'update' on GPU"),
            std::string::npos)
      << outcome.err;
}

} // namespace
