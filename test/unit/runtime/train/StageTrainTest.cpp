//===- StageTrainTest.cpp - Runs of programs with stages ------------------===//
//
// Ranks are threads that send each other messages.
//
//===----------------------------------------------------------------------===//

#include "io/SafeTensors.h"
#include "support/Run.h"
#include "support/StagedModel.h"
#include "support/ThreadRanks.h"
#include "train/Trainer.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace honert;
using test::StagedModel;

namespace {

using Arguments = std::vector<std::string>;

class StageTrain : public testing::Test {
protected:
  StageTrain() {
    test::writeTokens(data, 500);
    test::writeTokens(validation, 100);
  }

  std::vector<Status> runAll(const StagedModel &model, Arguments arguments) {
    test::ProgramPtr program = test::makeStaged(model);
    Status good = program->check();
    EXPECT_TRUE(good.ok()) << good.message();
    arguments.insert(arguments.begin(), {"./train", "--data", data});
    std::vector<char *> argv;
    for (std::string &argument : arguments)
      argv.push_back(argument.data());
    Options options;
    Status parsed =
        parseOptions(*program, int(argv.size()), argv.data(), options);
    EXPECT_TRUE(parsed.ok()) << parsed.message();
    if (!good.ok() || !parsed.ok())
      return {};
    std::vector<Status> results(size_t(program->mesh.ranks()));
    testing::internal::CaptureStdout();
    test::onRanks(program->mesh.ranks(), [&](ProcessGroup &world) {
      ThreadPool pool(1);
      results[size_t(world.rank())] =
          Trainer(program->ofRank(world.rank()), options, pool, world).run();
    });
    out = testing::internal::GetCapturedStdout();
    return results;
  }
  void good(const StagedModel &model, Arguments arguments) {
    for (const Status &status : runAll(model, std::move(arguments)))
      EXPECT_TRUE(status.ok()) << status.message();
  }

  /// The steps and validations of a log, without times and speeds.
  static std::string figures(const std::string &log) {
    std::string text = test::readFile(log), kept;
    for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      std::string line = text.substr(begin, end - begin);
      if (line.find("loss\"") != line.npos)
        kept += line.substr(
                    0, std::min(line.find(",\"ms\""), line.find(",\"time\""))) +
                "\n";
    }
    return kept;
  }

  /// The tensors of a file by name: type, shape and bytes.
  static std::map<std::string, std::string> tensorsOf(const std::string &path) {
    SafeTensors file;
    Status opened = file.open(path);
    EXPECT_TRUE(opened.ok()) << opened.message();
    std::map<std::string, std::string> tensors;
    for (const auto &[name, view] : file.tensors())
      tensors[name] = std::string(honert::name(view.dtype)) +
                      toString(view.shape) +
                      std::string(view.data, size_t(view.bytes));
    return tensors;
  }

  test::Folder folder;
  std::string data = folder / "tokens", validation = folder / "validation";
  std::string out;
};

TEST_F(StageTrain, a_run_has_the_bits_of_one_without_stages) {
  for (int64_t dp : {1, 2})
    for (bool isTied : {false, true}) {
      auto run = [&](StagedModel model, const std::string &name) {
        model.dp = dp;
        model.isTied = isTied;
        std::filesystem::remove_all(folder / (name + ".c"));
        good(model, {"--steps", "4", "--log", folder / (name + ".log"),
                     "--save", folder / (name + ".w"), "--val-data", validation,
                     "--val-every", "2", "--checkpoint-dir",
                     folder / (name + ".c"), "--check-replicas", "1"});
      };
      run({}, "one");
      std::string expected = figures(folder / "one.log");
      EXPECT_NE(expected.find("\"grad_norm\""), expected.npos) << expected;
      EXPECT_NE(expected.find("\"val_loss\""), expected.npos) << expected;
      for (int64_t stages : {1, 2, 3})
        for (bool isGpipe : {false, true})
          for (int64_t boundaries : {1, 2, 4}) {
            if ((dp > 1 || isTied) && (boundaries > 1 || stages < 3))
              continue;
            SCOPED_TRACE(testing::Message()
                         << stages << (isGpipe ? " gpipe " : " 1f1b ")
                         << boundaries << " dp " << dp);
            StagedModel model;
            model.stages = stages;
            model.isGpipe = isGpipe;
            model.boundaries = boundaries;
            run(model, "many");
            EXPECT_EQ(figures(folder / "many.log"), expected);
            for (const char *file :
                 {".w", ".c/step-00000004/state.safetensors"})
              EXPECT_EQ(tensorsOf(folder / ("many" + std::string(file))),
                        tensorsOf(folder / ("one" + std::string(file))))
                  << file;
          }
    }
}

TEST_F(StageTrain, goes_on_in_other_stages) {
  good({}, {"--steps", "6", "--save", folder / "whole"});
  for (int64_t from : {0, 2, 3})
    for (int64_t to : {0, 2, 3}) {
      test::Folder here;
      StagedModel model;
      model.stages = from;
      good(model, {"--steps", "3", "--checkpoint-dir", here / "c"});
      model.stages = to;
      good(model, {"--steps", "6", "--checkpoint-dir", here / "c", "--resume",
                   "--save", here / "rest"});
      EXPECT_NE(out.find("resume: after step 3 from"), std::string::npos);
      EXPECT_EQ(tensorsOf(here / "rest"), tensorsOf(folder / "whole"))
          << from << " to " << to;
    }
}

/// Also the copy of a parameter that another stage has.
TEST_F(StageTrain, starts_from_weights) {
  StagedModel model;
  model.isTied = true;
  good(model, {"--steps", "2", "--save", folder / "w"});
  Arguments arguments = {"--init",      folder / "w", "--steps",
                         "1",           "--val-data", validation,
                         "--val-every", "1",          "--log"};
  Arguments one = arguments, many = arguments;
  one.push_back(folder / "one.log");
  good(model, one);
  model.stages = 3;
  many.push_back(folder / "many.log");
  good(model, many);
  EXPECT_NE(out.find("w (4 tensors)"), out.npos) << out;
  EXPECT_EQ(figures(folder / "many.log"), figures(folder / "one.log"));
}

TEST_F(StageTrain, replicas_of_a_stage_are_compared) {
  StagedModel model;
  model.stages = 2;
  model.dp = 2;
  test::ProgramPtr program = test::makeStaged(model);
  // Without the sum over dp, ranks of a stage move apart.
  for (Function &function : program->stages[1].functions)
    for (Launch &launch : function.launches)
      if (auto *all = std::get_if<CollectiveLaunch>(&launch.action))
        if (all->count > 1)
          launch.action = ZeroLaunch{0, 0};
  Options options;
  Arguments arguments = {"./train", "--data",           data, "--steps",
                         "2",       "--check-replicas", "1"};
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  ASSERT_TRUE(
      parseOptions(*program, int(argv.size()), argv.data(), options).ok());
  testing::internal::CaptureStdout();
  std::vector<Status> results(4);
  test::onRanks(4, [&](ProcessGroup &world) {
    ThreadPool pool(1);
    results[size_t(world.rank())] =
        Trainer(program->ofRank(world.rank()), options, pool, world).run();
  });
  testing::internal::GetCapturedStdout();
  for (const Status &status : results)
    EXPECT_EQ(status.message(),
              "step 1: param 'w1' of rank 3 differs from that of rank 2, "
              "expected equal replicas");
}

TEST_F(StageTrain, flags_that_know_no_stages_are_refused) {
  StagedModel model;
  model.stages = 2;
  test::ProgramPtr program = test::makeStaged(model);
  for (Arguments arguments :
       {Arguments{"./train", "--dump", folder / "d", "--steps", "1"},
        Arguments{"./train", "--compare-launches"},
        Arguments{"./train", "--bench-collectives"}}) {
    std::vector<char *> argv;
    for (std::string &argument : arguments)
      argv.push_back(argument.data());
    Options options;
    Status status =
        parseOptions(*program, int(argv.size()), argv.data(), options);
    EXPECT_EQ(status.message(), arguments[1] +
                                    ": this program has stages of a pipeline, "
                                    "expected one without");
  }
}

TEST_F(StageTrain, one_process_is_refused) {
  StagedModel model;
  model.stages = 2;
  test::ProgramPtr program(honert_program_new(), honert_program_free);
  describe(model, program.get());
  test::Outcome outcome =
      test::run(program.get(), {"--data", data, "--steps", "1"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: this program is made for 2 ranks (pp=2), "
                         "started as 1: mpirun -np 2 ./train ...\n");
}

TEST_F(StageTrain, info_has_all_stages) {
  StagedModel model;
  model.stages = 2;
  test::ProgramPtr program(honert_program_new(), honert_program_free);
  describe(model, program.get());
  test::Outcome outcome = test::run(program.get(), {"--info"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char *text :
       {"stage 0 of 2\n", "stage 1 of 2\n", "param   table", "input   targets"})
    EXPECT_NE(outcome.out.find(text), outcome.out.npos) << outcome.out;
}

} // namespace
