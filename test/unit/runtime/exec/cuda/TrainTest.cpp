//===- TrainTest.cpp - Whole runs on a GPU that is none -------------------===//

#include "support/CudaFixture.h"
#include "train/MakeExecutor.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

using namespace honert;
using test::CudaProgram;
using test::Outcome;
using test::TinyModel;

namespace {

using Arguments = std::vector<std::string>;

/// Runs one program on the host and, with the same kernels, on the fake GPU.
class CudaTrain : public test::Cuda {
protected:
  CudaTrain() { test::writeTokens(data, 400); }

  Outcome good(Arguments arguments) {
    CudaProgram program(model);
    launches = program.launches();
    arguments.insert(arguments.begin(), {"--data", data});
    Outcome outcome = program.run(arguments);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err, "");
    return outcome;
  }

  /// Both write every kind of file; their bytes are the same.
  void expectEqualRuns() {
    for (const char *place : {"host", "gpu"}) {
      Arguments arguments = {"--steps",     "7", "--val-data",         data,
                             "--val-every", "3", "--checkpoint-every", "5"};
      for (const char *flag : {"save", "dump", "checkpoint-dir", "log"})
        arguments.push_back(std::string("--") + flag + "=" + path(place, flag));
      if (std::string(place) == "gpu") {
        good(arguments);
        continue;
      }
      arguments.insert(arguments.begin(), {"--data", data});
      EXPECT_EQ(test::train(model, arguments).code, 0);
    }
    EXPECT_EQ(numbersOf(path("gpu", "log")), numbersOf(path("host", "log")));
    for (const char *file :
         {"save", "dump/step1.safetensors",
          "checkpoint-dir/step-00000005/state.safetensors",
          "checkpoint-dir/step-00000007/state.safetensors"}) {
      std::string expected = test::readFile(path("host", file));
      EXPECT_NE(expected, "") << file;
      EXPECT_TRUE(test::readFile(path("gpu", file)) == expected) << file;
    }
  }
  /// The steps and validations of a log without times.
  static std::string numbersOf(const std::string &log) {
    std::istringstream lines(test::readFile(log));
    std::string text, line;
    while (std::getline(lines, line))
      if (line.find("loss\"") != line.npos)
        text += line.substr(
                    0, std::min(line.find(",\"ms\""), line.find(",\"time\""))) +
                "\n";
    EXPECT_NE(text.find("val_loss"), std::string::npos) << text;
    return text;
  }
  std::string path(const std::string &place, const std::string &file) {
    return folder / (place + "-" + file);
  }

  std::string data = folder / "tokens.bin";
  TinyModel model;
  size_t launches = 0;
};

TEST_F(CudaTrain, equals_the_host) {
  model.noise = 0.1; // the random key arrives
  expectEqualRuns();
}

TEST_F(CudaTrain, micro_batches_equal_the_host) {
  model.noise = 0.1;
  model.microBatches = 3;
  expectEqualRuns();
}

TEST_F(CudaTrain, a_resumed_run_equals_one_without_a_break) {
  good({"--steps", "6", "--save", folder / "whole"});
  good({"--steps", "4", "--checkpoint-dir", folder / "c"});
  good({"--steps", "6", "--checkpoint-dir", folder / "c", "--resume", "--save",
        folder / "parts"});
  EXPECT_EQ(test::readFile(folder / "whole"), test::readFile(folder / "parts"));
}

/// The first run goes launch by launch, the second is recorded, from then on
/// the record is replayed.
TEST_F(CudaTrain, a_function_is_recorded_once) {
  good({"--steps", "6"});
  // `evaluate` never runs; kernels of `step` do, once by themselves and once
  // while they are recorded.
  EXPECT_EQ(calls("cuStreamBeginCapture_v2"), 1);
  EXPECT_EQ(calls("cuGraphInstantiateWithFlags"), 1);
  EXPECT_EQ(calls("cuGraphLaunch"), 5);
  int before = calls("cuLaunchKernel");
  fake().calls.clear();
  good({"--steps", "60"});
  EXPECT_EQ(calls("cuLaunchKernel"), before);
  EXPECT_EQ(calls("cuGraphLaunch"), 59);
}

TEST_F(CudaTrain, kernels_are_looked_up_once) {
  good({"--steps", "5"});
  EXPECT_EQ(calls("cuModuleLoadDataEx"), 1);
  EXPECT_EQ(calls("cuModuleGetFunction"), static_cast<int>(launches));
  // The arena and slots of inputs: there is no product.
  EXPECT_EQ(calls("cuMemAlloc_v2"), 2);
}

TEST_F(CudaTrain, checked_runs_record_nothing) {
  setenv("HONE_CHECK_LAUNCHES", "1", 1);
  good({"--steps", "4"});
  EXPECT_EQ(calls("cuStreamBeginCapture_v2"), 0);
}

TEST_F(CudaTrain, profile_times_every_launch) {
  Outcome outcome = good({"--steps", "1", "--profile", folder / "p.json"});
  EXPECT_EQ(calls("cuGraphLaunch"), 0);
  // The fake's kernels take 0.01 ms each, its other work none.
  EXPECT_NE(outcome.out.find(
                "     0.010   16.7%       1       -        -  forward\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(
      outcome.out.find("     0.020   33.3%       2       -        -  adamw\n"),
      std::string::npos)
      << outcome.out;
  EXPECT_NE(test::readFile(folder / "p.json").find("\"dur\":10.000"),
            std::string::npos);
}

/// The last step is a graph with events, those between the first and it are the
/// graph as it is.
TEST_F(CudaTrain, profile_times_graphs) {
  Outcome outcome = good({"--steps", "6", "--profile", folder / "p.json"});
  EXPECT_EQ(calls("cuGraphInstantiateWithFlags"), 2);
  EXPECT_EQ(calls("cuGraphLaunch"), 5);
  // Six kernels of 0.01 ms and four launches that take no time. An event in a
  // graph takes 0.001 ms after its time is read: one in each launch, one
  // between two, one before the first and one behind the last.
  for (const char *text :
       {"     0.022   31.4%       2       -        -  adamw\n",
        "     0.070  100.0%      10       -        -  all launches of a step\n"
        "graph: 0.060 ms a step as replayed (median of 4), 0.081 ms with times "
        "of launches, 0.009 ms of it idle (11.1%)\n"
        "   idle ms       %  largest gaps\n"
        "     0.001    1.2%  step: after "})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << outcome.out;
  std::string trace = test::readFile(folder / "p.json");
  for (const char *text :
       {"\"graph_ms\":0.06,\"graph_steps\":4,\"timed_graph_ms\":0.081,"
        "\"idle_ms\":0.009",
        "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":3,"
        "\"args\":{\"name\":\"idle\"}}",
        "{\"name\":\"idle\",\"cat\":\"idle\",\"ph\":\"X\",\"ts\":19.000,"
        "\"dur\":1.000,\"pid\":1,\"tid\":3,\"args\":{\"after\":\"forward\","})
    EXPECT_NE(trace.find(text), std::string::npos) << text << "\n" << trace;
}

/// Of a step of several runs, each run has its times.
TEST_F(CudaTrain, profile_times_micro_batches) {
  model.microBatches = 3;
  Outcome outcome = good({"--steps", "5", "--profile", folder / "p.json"});
  EXPECT_EQ(calls("cuGraphInstantiateWithFlags"), 4);
  for (const char *text :
       {"     0.033   24.4%       3       -        -  forward\n",
        " ms a step as replayed (median of 3), "})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << outcome.out;
}

TEST_F(CudaTrain, profile_changes_nothing_else) {
  model.noise = 0.1;
  good({"--steps", "6", "--save", folder / "plain"});
  good({"--steps", "6", "--save", folder / "profiled", "--profile",
        folder / "p.json"});
  EXPECT_EQ(test::readFile(folder / "plain"),
            test::readFile(folder / "profiled"));
}

/// The host is a step ahead until the last step.
TEST_F(CudaTrain, profile_reads_times_of_graphs_late) {
  fake().settings.keepsOrder = true;
  good({"--steps", "5", "--profile", folder / "p.json"});
  std::string order;
  for (const std::string &call : fake().order)
    order += call == "cuGraphLaunch"        ? "g"
             : call == "cuEventElapsedTime" ? "t"
                                            : "";
  // Times of the first step's launches; graphs of steps 2, 3 and 4, the times
  // of each after the next one is launched; the fifth is timed inside.
  constexpr int timed = 10 + 1; // launches, and the graph
  EXPECT_EQ(order.substr(order.find('g')), "g"
                                           "gtt"
                                           "gtt"
                                           "g" +
                                               std::string(2 * timed, 't') +
                                               "tt");
}

/// Launches are then timed one by one, as in a first step.
TEST_F(CudaTrain, profile_without_events_in_graphs) {
  expectsMistakes = true;
  fake().failCall("cuEventRecordWithFlags", 1, CUDA_ERROR_NOT_SUPPORTED);
  Outcome outcome = good({"--steps", "6", "--profile", folder / "p.json"});
  EXPECT_EQ(calls("cuGraphLaunch"), 4);
  EXPECT_NE(
      outcome.out.find(
          "     0.060  100.0%      10       -        -  all launches of a "
          "step (medians of 2)\n"
          "graph: 0.060 ms a step as replayed (median of 4); launches "
          "were timed one by one\n"),
      std::string::npos)
      << outcome.out;
}

/// Launches of the last quarter of the steps are timed.
TEST_F(CudaTrain, profile_of_a_longer_run_has_medians) {
  Outcome outcome = good({"--steps", "9", "--profile", folder / "p.json"});
  EXPECT_NE(outcome.out.find("all launches of a step (medians of 2)\n"
                             "graph: 0.060 ms a step as replayed (median of "
                             "6), "),
            std::string::npos)
      << outcome.out;
  std::string trace = test::readFile(folder / "p.json");
  EXPECT_NE(trace.find("\"steps\":2,\"graph_ms\""), std::string::npos) << trace;
}

TEST_F(CudaTrain, profile_of_checked_launches) {
  setenv("HONE_CHECK_LAUNCHES", "1", 1);
  Outcome outcome = good({"--steps", "4", "--profile", folder / "p.json"});
  EXPECT_EQ(calls("cuStreamBeginCapture_v2"), 0);
  EXPECT_EQ(outcome.out.find("graph:"), std::string::npos) << outcome.out;
}

/// Rates are those of all launches of a group; peaks are the data sheet's.
TEST_F(CudaTrain, profile_says_what_a_launch_reaches) {
  fake().settings.name = "NVIDIA H200";
  test::ProgramPtr program = test::makeProgram();
  honert_program *p = program.get();
  std::string code = test::ptx(80, {"k0_row", "k1_row"});
  const int64_t offset = 0, strides[12] = {0, 16, 1, 0, 8, 1, 0, 8, 1};
  honert_meta(p, "target", "cuda sm_80");
  honert_meta(p, "model", "tiny");
  honert_arena(p, 4096);
  honert_device_code(p, 0, 80, code.data(), int64_t(code.size()));
  honert_function(p, "step");
  honert_device_launch(p, "norm", "m.py:3", "k0_row", 4, 128, 1, &offset);
  honert_device_launch(p, "norm", "m.py:3", "k1_row", 2, 64, 1, &offset);
  honert_launch_cost(p, "row", 48000000, 2000000);
  honert_matmul(p, "fc", "m.py:4", 2, 0, 1, 4, 8, 16, strides, 0, 512, 1024, -1,
                -1);
  honert_launch_cost(p, "contraction", 960, 1024);
  honert_result(p, "loss", 0, 0, nullptr, 0);
  for (const char *name : {"k0_row", "k1_row"})
    fake().settings.kernels[name] = {
        1, [](void *const *buffers, int64_t, int64_t) {
          *static_cast<float *>(buffers[0]) = 1;
        }};
  Outcome outcome = test::run(p, {"--steps", "1", "--profile", folder / "p"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::string trace = test::readFile(folder / "p");
  // 48 MB in twice 0.01 ms are 2400 GB/s, half of an H200's 4.8 TB/s.
  for (const char *text :
       {"\"model\":\"tiny\",\"machine\":\"NVIDIA H200 (sm_999)",
        "\"library\":\"cuBLASLt 13.0.0\"", "\"name\":\"norm\",\"cat\":\"row\"",
        "\"location\":\"m.py:3\",\"median_us\":10,\"kernel\":\"k1_row\","
        "\"blocks\":2,"
        "\"threads\":64,\"launch\":0,\"bytes\":48000000,\"flops\":2000000,"
        "\"launches\":2,"
        "\"gb_per_s\":2400,\"tflops\":0.1,\"of_peak_bandwidth\":0.5,",
        "\"tensor_cores\":false}", "\"cat\":\"contraction\"",
        "\"location\":\"m.py:4\",\"median_us\":1000,\"launch\":1,",
        "\"tensor_cores\":true,"
        "\"operand_alignment\":16}"})
    EXPECT_NE(trace.find(text), std::string::npos) << text << "\n" << trace;
  EXPECT_NE(
      outcome.out.find("     0.020    2.0%       2    2400     0.10  norm\n"),
      std::string::npos)
      << outcome.out;
}

TEST_F(CudaTrain, header_names_the_gpu) {
  Outcome outcome = good({"--steps", "1"});
  EXPECT_NE(outcome.out.find("emulated GPU (sm_999), driver for CUDA 13.0"),
            std::string::npos)
      << outcome.out;
}

/// A GPU's peak is that of its data sheet; one that is not known has no MFU.
TEST_F(CudaTrain, mfu_is_a_fraction_of_the_data_sheet) {
  Outcome outcome = good({"--steps", "1"});
  EXPECT_EQ(outcome.out.find("MFU"), std::string::npos) << outcome.out;
  fake().settings.name = "NVIDIA H100 PCIe";
  outcome = good({"--steps", "1"});
  EXPECT_NE(outcome.out.find("peak 51000.0 GFLOP/s (fp32 multiply-adds, by the "
                             "GPU's data sheet)"),
            std::string::npos)
      << outcome.out;
}

TEST_F(CudaTrain, info_shows_code_and_gpu) {
  Outcome outcome = good({"--info"});
  EXPECT_NE(outcome.out.find("device code              PTX for sm_80 or later"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("GPU                      emulated GPU (sm_999)"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(calls("cuMemAlloc_v2"), 0);
}

TEST_F(CudaTrain, info_works_without_a_driver) {
  fake().settings.missing = {"libcuda.so.1"};
  Outcome outcome = good({"--info"});
  EXPECT_NE(outcome.out.find(
                "GPU                      unknown: libcuda.so.1: cannot be "
                "opened"),
            std::string::npos)
      << outcome.out;
}

/// Low-precision copies of parameters are made on the host, once.
TEST_F(CudaTrain, low_copies_of_parameters_arrive) {
  test::ProgramPtr program = test::makeProgram();
  honert_program *p = program.get();
  std::string code = test::ptx(80, {"widen"});
  const int64_t dims[] = {4}, offsets[] = {64, 128};
  honert_meta(p, "target", "cuda sm_80");
  honert_arena(p, 192);
  honert_argument(p, 0, "w", 0, 1, dims, 0);
  honert_argument_init(p, 1, 1.5, 0, "");
  honert_argument(p, 7, "w", 2, 1, dims, 64);
  honert_device_code(p, 0, 80, code.data(), int64_t(code.size()));
  honert_function(p, "step");
  honert_device_launch(p, "widen", "", "widen", 1, 1, 2, offsets);
  honert_result(p, "loss", 0, 0, nullptr, 128);
  fake().settings.kernels["widen"] = {
      2, [](void *const *buffers, int64_t, int64_t) {
        storeElement(DType::f32, buffers[1],
                     loadElement(DType::bf16, buffers[0]));
      }};
  Outcome outcome =
      test::run(p, {"--steps", "1", "--log", folder / "log", "--quiet"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(test::readFile(folder / "log").find("\"loss\":1.5"),
            std::string::npos)
      << test::readFile(folder / "log");
}

/// The host's view of the arena is no second arena: state leaves it when the
/// device has it.
TEST_F(CudaTrain, published_state_leaves_the_host) {
  constexpr int64_t bytes = 64 << 20;
  test::ProgramPtr program = test::makeProgram();
  honert_meta(program.get(), "target", "cuda sm_80");
  honert_arena(program.get(), bytes);
  ThreadPool pool(1);
  std::unique_ptr<Executor> executor = makeExecutor(*program, pool);
  ASSERT_TRUE(executor->start().ok());
  std::fill_n(executor->arena().at(0), bytes, 'x');
  ASSERT_TRUE(executor->publish(0, bytes).ok());
  EXPECT_EQ(*executor->arena().at(bytes / 2), '\0');
  ASSERT_TRUE(executor->fetch(bytes / 2, 1).ok());
  EXPECT_EQ(*executor->arena().at(bytes / 2), 'x');
}

} // namespace
