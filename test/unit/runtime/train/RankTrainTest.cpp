//===- RankTrainTest.cpp - Whole runs of several ranks --------------------===//
//
// Ranks are threads here, so what belongs to a process (signals, standard
// output) they have in common.
//
//===----------------------------------------------------------------------===//

#include "support/DividedModel.h"
#include "support/Ranks.h"
#include "support/Run.h"
#include "train/Info.h"
#include "train/MakeExecutor.h"
#include "train/Trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>

using namespace honert;
using test::DividedModel;
using test::MeshSizes;

namespace {

using Arguments = std::vector<std::string>;

const MeshSizes meshes[] = {
    {{"dp", 2}},
    {{"dp", 4}},
    {{"tp", 2}},
    {{"tp", 4}},
    {{"dp", 2}, {"tp", 2}},
    {{"tp", 2}, {"rep", 2}, {"dp", 2}},
};

class RankTrain : public testing::Test {
protected:
  RankTrain() {
    test::writeTokens(data, 500);
    test::writeTokens(validation, 200);
  }

  /// What every rank's run returned.
  std::vector<Status> runAll(const DividedModel &model, Arguments arguments) {
    test::ProgramPtr program = describe(model);
    Status good = program->check();
    EXPECT_TRUE(good.ok()) << good.message();
    arguments.insert(arguments.begin(), {"./train", "--data", firstData});
    std::vector<char *> argv;
    for (std::string &argument : arguments)
      argv.push_back(argument.data());
    Options options;
    Status parsed =
        parseOptions(*program, int(argv.size()), argv.data(), options);
    EXPECT_TRUE(parsed.ok()) << parsed.message();
    testing::internal::CaptureStdout();
    std::vector<Status> results =
        test::runRanks(program->mesh.ranks(), [&](ProcessGroup &world) {
          ThreadPool pool(1);
          return Trainer(*program, options, pool, world).run();
        });
    out = testing::internal::GetCapturedStdout();
    return results;
  }
  void good(const DividedModel &model, Arguments arguments) {
    for (const Status &status : runAll(model, std::move(arguments)))
      EXPECT_TRUE(status.ok()) << status.message();
  }
  void good(const MeshSizes &mesh, Arguments arguments) {
    DividedModel model;
    model.mesh = mesh;
    good(model, std::move(arguments));
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

  test::Folder folder;
  std::string data = folder / "tokens", validation = folder / "validation";
  std::string firstData = data; ///< of each run
  std::string out;
};

TEST_F(RankTrain, a_run_has_the_bits_of_one_rank) {
  for (int64_t microBatches : {1, 3})
    for (bool shuffle : {false, true}) {
      auto run = [&](const MeshSizes &mesh, const std::string &name) {
        Arguments arguments = {"--steps",
                               "5",
                               "--save",
                               folder / (name + ".w"),
                               "--log",
                               folder / (name + ".log"),
                               "--val-data",
                               validation,
                               "--val-every",
                               "2",
                               "--check-replicas",
                               "1",
                               "--checkpoint-dir",
                               folder / (name + ".c")};
        if (shuffle)
          arguments.push_back("--shuffle");
        std::filesystem::remove_all(folder / (name + ".c"));
        DividedModel model;
        model.mesh = mesh;
        model.microBatches = microBatches;
        good(model, arguments);
      };
      run({}, "one");
      for (const MeshSizes &mesh : meshes) {
        run(mesh, "many");
        EXPECT_EQ(figures(folder / "many.log"), figures(folder / "one.log"))
            << test::textOf(mesh);
        for (const char *file : {".w", ".c/step-00000005/state.safetensors",
                                 ".c/step-00000005/manifest.json"})
          EXPECT_EQ(test::readFile(folder / ("many" + std::string(file))),
                    test::readFile(folder / ("one" + std::string(file))))
              << test::textOf(mesh) << file;
      }
    }
}

TEST_F(RankTrain, a_mixture_has_the_bits_of_one_rank) {
  test::writeTokens(folder / "other", 300);
  for (const char *order : {"--quiet", "--shuffle"}) {
    auto run = [&](const MeshSizes &mesh, const std::string &name,
                   Arguments others) {
      Arguments arguments = {order,
                             "--data",
                             folder / "other:0.3",
                             "--save",
                             folder / (name + ".w"),
                             "--log",
                             folder / (name + ".log")};
      arguments.insert(arguments.end(), others.begin(), others.end());
      DividedModel model;
      model.mesh = mesh;
      model.microBatches = 3;
      firstData = data + ":0.7";
      good(model, arguments);
    };
    run({}, "one", {"--steps", "8"});
    for (const MeshSizes &mesh : meshes) {
      run(mesh, "many", {"--steps", "8"});
      EXPECT_EQ(figures(folder / "many.log"), figures(folder / "one.log"))
          << test::textOf(mesh);
      EXPECT_EQ(test::readFile(folder / "many.w"),
                test::readFile(folder / "one.w"))
          << test::textOf(mesh);
      // Begun on this mesh, ended on one rank.
      std::filesystem::remove_all(folder / "c");
      run(mesh, "many", {"--steps", "3", "--checkpoint-dir", folder / "c"});
      run({}, "many",
          {"--steps", "8", "--checkpoint-dir", folder / "c", "--resume"});
      EXPECT_EQ(test::readFile(folder / "many.w"),
                test::readFile(folder / "one.w"))
          << test::textOf(mesh);
    }
  }
}

TEST_F(RankTrain, goes_on_on_another_mesh) {
  good(MeshSizes{}, {"--steps", "6", "--save", folder / "whole"});
  std::vector<MeshSizes> all(std::begin(meshes), std::end(meshes));
  all.push_back({});
  for (size_t i = 0; i != all.size(); ++i) {
    test::Folder here;
    good(all[i], {"--steps", "3", "--checkpoint-dir", here / "c"});
    good(all[(i + 2) % all.size()],
         {"--steps", "6", "--checkpoint-dir", here / "c", "--resume", "--save",
          here / "rest"});
    EXPECT_NE(out.find("resume: after step 3 from"), std::string::npos);
    EXPECT_EQ(test::readFile(here / "rest"), test::readFile(folder / "whole"))
        << test::textOf(all[i]);
  }
}

TEST_F(RankTrain, the_first_rank_speaks_for_all) {
  good({{"dp", 2}, {"tp", 2}},
       {"--steps", "2", "--profile", folder / "profile"});
  auto count = [&](const std::string &text) {
    size_t found = 0;
    for (size_t at = out.find(text); at != out.npos;
         at = out.find(text, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("hone: divided"), 1u) << out;
  EXPECT_EQ(count("per rank, 4 ranks (dp=2,tp=2)"), 1u) << out;
  EXPECT_EQ(count("batches of [8, 6] per epoch"), 1u) << out;
  EXPECT_EQ(count("peak 4 ranks of "), 1u) << out;
  EXPECT_EQ(count("step 2/2 |"), 1u) << out;
  EXPECT_EQ(count("2 steps in "), 1u) << out;
  EXPECT_EQ(count("all launches of a step"), 1u) << out;
}

TEST_F(RankTrain, a_signal_to_one_stops_all_after_one_step) {
  good(MeshSizes{}, {"--steps", "3", "--save", folder / "one"});
  DividedModel model;
  model.mesh = {{"dp", 2}, {"tp", 2}};
  model.actingRank = 2;
  model.action = [](int64_t step, float *) {
    if (step == 3)
      std::raise(SIGTERM);
  };
  for (const Status &status :
       runAll(model, {"--steps", "100", "--save", folder / "many",
                      "--checkpoint-dir", folder / "c"})) {
    EXPECT_TRUE(status.isStop()) << status.message();
    EXPECT_EQ(status.exitCode(), 128 + SIGTERM);
  }
  EXPECT_NE(out.find("stopped by SIGTERM after step 3: 3 steps in"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("--resume " + (folder / "c") + ", as 4 ranks again\n"),
            std::string::npos)
      << out;
  EXPECT_EQ(test::readFile(folder / "many"), test::readFile(folder / "one"));
}

/// Which ranks notice it in which micro-batch is left to chance.
TEST_F(RankTrain, data_that_change_within_a_step_end_all_before_it) {
  DividedModel model;
  model.mesh = {{"dp", 2}, {"tp", 2}};
  model.microBatches = 3;
  good(model, {"--steps", "2", "--save", folder / "same"});
  model.actingRank = 2;
  model.actsInMicroBatches = true;
  model.action = [&](int64_t step, float *) {
    if (step == 3)
      std::filesystem::last_write_time(
          data, std::filesystem::file_time_type::clock::now() +
                    std::chrono::hours(1));
  };
  std::vector<Status> results =
      runAll(model, {"--steps", "100", "--save", folder / "w"});
  size_t named = 0;
  for (const Status &status : results) {
    EXPECT_EQ(status.exitCode(), 1);
    named += status.message().find("was written to while it was in use") !=
             std::string::npos;
  }
  EXPECT_GE(named, 1u);
  EXPECT_NE(out.find("stopped by an error after step 2: 2 steps in"),
            std::string::npos)
      << out;
  EXPECT_EQ(test::readFile(folder / "w"), test::readFile(folder / "same"));
}

/// The folder is away when the first of two checkpoints is due.
TEST_F(RankTrain, a_checkpoint_that_fails_does_not_end_the_run) {
  DividedModel model;
  model.mesh = {{"dp", 2}};
  model.actingRank = 1;
  model.action = [&](int64_t step, float *) {
    if (step == 2)
      std::filesystem::remove_all(folder / "c");
    if (step == 3)
      std::filesystem::create_directory(folder / "c");
  };
  testing::internal::CaptureStderr();
  std::vector<Status> results =
      runAll(model, {"--steps", "4", "--checkpoint-dir", folder / "c",
                     "--checkpoint-every", "2"});
  std::string text = testing::internal::GetCapturedStderr();
  for (const Status &status : results)
    EXPECT_EQ(status.exitCode(), 1);
  EXPECT_NE(text.find("cannot be read: No such file or directory; the run "
                      "goes on\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("warning: rank 0 has failed; the run goes on\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(test::namesIn(folder / "c"),
            (Arguments{"flags.json", "latest", "step-00000004"}));
}

TEST_F(RankTrain, replicas_that_differ_are_found) {
  DividedModel model;
  model.mesh = {{"dp", 2}, {"tp", 2}};
  model.actingRank = 3; // dp 1, tp 1: has what rank 1 has
  model.action = [](int64_t step, float *weight) {
    if (step == 3)
      *weight += 1;
  };
  for (const Status &status : runAll(model, {"--steps", "8", "--check-replicas",
                                             "2", "--save", folder / "w"}))
    EXPECT_EQ(
        status.message(),
        "step 4: param 'w' of rank 3 differs from that of rank 1, expected "
        "equal replicas");
  EXPECT_FALSE(test::exists(folder / "w"));
}

TEST_F(RankTrain, a_dump_holds_whole_gradients) {
  auto dumped = [&](const MeshSizes &mesh, const char *name) {
    good(mesh, {"--steps", "2", "--dump", folder / name});
    return test::readFile(folder / name + "/step1.safetensors");
  };
  std::string one = dumped({}, "one");
  EXPECT_NE(one.find("\"grad.w\":{\"dtype\":\"F32\",\"shape\":[8, 12]"),
            std::string::npos);
  EXPECT_EQ(dumped({{"tp", 4}}, "columns"), one);
  EXPECT_EQ(dumped({{"dp", 2}, {"tp", 2}}, "both"), one);
}

/// Ranks along dp hold terms of the gradient: the first id of their rows, of
/// each micro-batch.
TEST_F(RankTrain, a_dump_sums_the_terms_of_a_gradient) {
  DividedModel model;
  model.mesh = {{"tp", 2}, {"dp", 2}};
  model.microBatches = 2;
  good(model, {"--steps", "1", "--dump", folder / "d"});
  SafeTensors file;
  ASSERT_TRUE(file.open(folder / "d/step1.safetensors").ok());
  const TensorView *gradient = file.find("grad.w");
  ASSERT_TRUE(gradient);
  EXPECT_EQ(gradient->shape, (Shape{8, 12}));
  TokenFile stream;
  ASSERT_TRUE(stream.open(data).ok());
  int64_t expected = 0, id;
  for (int64_t batch : {0, 1})
    for (int64_t row : {0, 4}) {
      stream.read((batch * 8 + row) * 6, 1, &id);
      expected += id;
    }
  for (int64_t i = 0; i != 8 * 12; ++i)
    EXPECT_EQ(loadElement(DType::f32, gradient->data + i * 4),
              double(expected));
}

TEST_F(RankTrain, what_one_rank_finds_wrong_ends_all) {
  std::vector<uint16_t> ids(200000); // three shares of 65536 at most
  ids[140000] = 99;
  test::writeFile(data, test::bytesOf(ids));
  DividedModel model;
  model.mesh = {{"dp", 4}};
  std::vector<Status> results =
      runAll(model, {"--steps", "1", "--save", folder / "w"});
  EXPECT_NE(results[2].message().find("token 99 at position 140000"),
            std::string::npos)
      << results[2].message();
  for (size_t rank : {0, 1, 3})
    EXPECT_NE(results[rank].message().find("rank 2 has failed"),
              std::string::npos)
        << results[rank].message();
  EXPECT_FALSE(test::exists(folder / "w"));
}

TEST(RankInfo, tells_mesh_and_divisions) {
  DividedModel model;
  model.mesh = {{"dp", 2}, {"tp", 4}};
  test::ProgramPtr program = describe(model);
  ThreadPool pool(1);
  std::unique_ptr<Executor> executor = makeExecutor(*program, pool);
  Status status = executor->startForInfo();
  ASSERT_TRUE(status.ok()) << status.message();
  std::string text = infoText(*program, *executor, "");
  for (const char *line :
       {"mesh of 8 ranks\n  dp                       2\n",
        "memory plan of a rank\n",
        "        of [8, 12], dimension 1 along tp with cuts [4]\n",
        "        of [8, 12], dimension 0 along dp and 1 along tp with cuts "
        "[4]\n",
        "        of [8, 6], dimension 0 along dp\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

} // namespace
