//===- StepTrainerTest.cpp - The C functions of honert/trainer.h ----------===//

#include "base/Parallel.h"
#include "honert/trainer.h"
#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

using test::Outcome;
using test::TinyModel;

namespace {

/// Ids of a batch as the training binary takes them from a stream.
std::vector<int64_t> window(const std::vector<uint16_t> &stream, int64_t batch,
                            int64_t size, int64_t shift) {
  int64_t batches = (static_cast<int64_t>(stream.size()) - 1) / size;
  auto first = stream.begin() + batch % batches * size + shift;
  return {first, first + size};
}

class StepTrainer : public testing::Test {
protected:
  StepTrainer() {
    test::writeTokens(data, 400);
    std::string bytes = test::readFile(data);
    stream.resize(bytes.size() / 2);
    std::memcpy(stream.data(), bytes.data(), bytes.size());
  }
  ~StepTrainer() override { close(); }

  void close() {
    honert_trainer_close(trainer);
    trainer = nullptr;
  }

  /// Opens the model; returns the line of the error.
  std::string open(honert_trainer_options options = {}) {
    close();
    program = test::makeProgram();
    test::describe(model, program.get());
    trainer = honert_trainer_open(program.get(), &options);
    return honert_trainer_error(trainer);
  }

  /// Both inputs dense, with a first dimension of micro-batches if there are
  /// some.
  int step(std::vector<int64_t> &tokens, std::vector<int64_t> &targets) {
    std::vector<int64_t> dims = {model.rows, model.columns};
    if (model.microBatches > 1)
      dims.insert(dims.begin(), model.microBatches);
    honert_tensor a = ids(tokens, dims), b = ids(targets, dims);
    const honert_tensor *inputs[] = {&a, &b};
    return honert_trainer_step(trainer, inputs, 2, &facts);
  }
  static honert_tensor ids(std::vector<int64_t> &values,
                           const std::vector<int64_t> &dims) {
    return {
        values.data(), 1,       0, static_cast<int32_t>(dims.size()), 0, 64, 1,
        dims.data(),   nullptr, 0};
  }

  /// Steps over the stream, as `--steps` makes them; their losses and norms.
  std::vector<std::pair<double, double>> train(int64_t first, int64_t last) {
    std::vector<std::pair<double, double>> seen;
    int64_t size = model.rows * model.columns;
    for (int64_t step = first; step <= last; ++step) {
      std::vector<int64_t> tokens, targets;
      for (int64_t micro = 0; micro != model.microBatches; ++micro)
        for (auto *ids : {&tokens, &targets}) {
          auto more = window(stream, (step - 1) * model.microBatches + micro,
                             size, ids == &targets);
          ids->insert(ids->end(), more.begin(), more.end());
        }
      EXPECT_EQ(this->step(tokens, targets), 0)
          << honert_trainer_error(trainer);
      EXPECT_EQ(facts.step, step);
      seen.emplace_back(facts.loss, facts.grad_norm);
    }
    return seen;
  }

  /// The same by the command line.
  std::vector<std::pair<double, double>>
  binary(int64_t steps, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"--data",  data,
                                          "--log",   folder / "log",
                                          "--steps", std::to_string(steps)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(test::train(model, arguments).code, 0);
    std::vector<std::pair<double, double>> seen;
    std::istringstream lines(test::readFile(folder / "log"));
    for (std::string line; std::getline(lines, line);)
      if (size_t at = line.find("\"loss\":"); at != line.npos)
        seen.emplace_back(
            std::stod(line.substr(at + 7)),
            std::stod(line.substr(line.find("\"grad_norm\":") + 12)));
    return seen;
  }

  /// Losses are printed with all digits, norms with fewer.
  static void expectEqual(const std::vector<std::pair<double, double>> &seen,
                          const std::vector<std::pair<double, double>> &want) {
    ASSERT_EQ(seen.size(), want.size());
    for (size_t i = 0; i != seen.size(); ++i) {
      EXPECT_EQ(static_cast<float>(seen[i].first),
                static_cast<float>(want[i].first))
          << "step " << i + 1;
      EXPECT_NEAR(seen[i].second, want[i].second, 1e-4 * want[i].second);
    }
  }

  /// The tensor of the state with this name and its number.
  const honert_named_tensor *find(const char *name, int64_t *index = nullptr) {
    int64_t count;
    const honert_named_tensor *all = honert_trainer_tensors(trainer, &count);
    for (int64_t i = 0; i != count; ++i)
      if (!std::strcmp(all[i].name, name) && all[i].kind != 4) {
        if (index)
          *index = i;
        return &all[i];
      }
    return nullptr;
  }

  test::Folder folder;
  std::string data = folder / "tokens.bin";
  std::vector<uint16_t> stream;
  TinyModel model;
  test::ProgramPtr program{nullptr, honert_program_free};
  honert_trainer *trainer = nullptr;
  honert_step facts = {};
};

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

TEST_F(StepTrainer, steps_equal_the_binary) {
  model.noise = 0.1; // the random key arrives
  honert_trainer_options options = {};
  options.seed = 7;
  ASSERT_EQ(open(options), "");
  expectEqual(train(1, 60), binary(60, {"--seed", "7"}));
  EXPECT_EQ(honert_trainer_steps(trainer), 60);
}

TEST_F(StepTrainer, micro_batches_equal_the_binary) {
  model.microBatches = 3;
  model.noise = 0.1;
  ASSERT_EQ(open(), "");
  expectEqual(train(1, 20), binary(20));
}

TEST_F(StepTrainer, scalars_are_those_of_the_flags) {
  ASSERT_EQ(open(), "");
  for (auto [name, value] : {std::pair("lr", 0.05), std::pair("clip", 0.2),
                             std::pair("weight_decay", 0.3)})
    EXPECT_EQ(honert_trainer_set(trainer, name, value), 0);
  double value = 0;
  EXPECT_EQ(honert_trainer_get(trainer, "clip", &value), 0);
  EXPECT_EQ(value, 0.2);
  expectEqual(train(1, 20), binary(20, {"--lr", "0.05", "--clip", "0.2",
                                        "--weight-decay", "0.3"}));
  EXPECT_EQ(facts.lr, 0.05);
  EXPECT_EQ(honert_trainer_set(trainer, "lr", -1), 1);
  EXPECT_STREQ(honert_trainer_error(trainer),
               "lr: is -1, expected a number >= 0");
  EXPECT_EQ(honert_trainer_set(trainer, "momentum", 1), 1);
  EXPECT_STREQ(honert_trainer_error(trainer),
               "'momentum': this program has no such scalar that could be set, "
               "expected one of its own (lr, weight_decay, clip)");
}

TEST_F(StepTrainer, evaluation_trains_nothing) {
  ASSERT_EQ(open(), "");
  std::vector<int64_t> tokens = window(stream, 0, 16, 0),
                       targets = window(stream, 0, 16, 1), dims = {2, 8};
  honert_tensor a = ids(tokens, dims), b = ids(targets, dims);
  const honert_tensor *inputs[] = {&a, &b};
  double before = 0, again = 0;
  ASSERT_EQ(honert_trainer_evaluate(trainer, inputs, 2, &before), 0);
  ASSERT_EQ(honert_trainer_evaluate(trainer, inputs, 2, &again), 0);
  EXPECT_EQ(before, again);
  EXPECT_EQ(train(1, 1).front().first, before);
}

TEST_F(StepTrainer, two_trainers_are_independent) {
  ASSERT_EQ(open(), "");
  honert_trainer_options options = {};
  options.seed = 3;
  honert_trainer *other = honert_trainer_open(program.get(), &options);
  ASSERT_STREQ(honert_trainer_error(other), "");
  auto expected = binary(10), expectedOther = binary(10, {"--seed", "3"});
  std::vector<std::pair<double, double>> seen, seenOther;
  honert_trainer *first = trainer;
  for (int64_t step = 1; step <= 10; ++step) {
    trainer = first;
    seen.push_back(train(step, step).front());
    trainer = other;
    seenOther.push_back(train(step, step).front());
  }
  honert_trainer_close(other);
  trainer = first;
  expectEqual(seen, expected);
  expectEqual(seenOther, expectedOther);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

TEST_F(StepTrainer, strides_and_types_do_not_matter) {
  ASSERT_EQ(open(), "");
  auto expected = train(1, 1);
  ASSERT_EQ(open(), "");
  // Rows of 9 ids, of which tokens are the first 8, targets the last; of every
  // id there is a second one beside it, and one id before all.
  std::vector<int32_t> wide(1 + 2 * 9 * 2, 99);
  for (int64_t row = 0; row != 2; ++row)
    for (int64_t i = 0; i != 9; ++i)
      wide[static_cast<size_t>(1 + 2 * (row * 9 + i))] =
          stream[static_cast<size_t>(row * 8 + i)];
  int64_t dims[] = {2, 8}, strides[] = {18, 2};
  honert_tensor tokens = {wide.data(), 1, 0, 2, 0, 32, 1, dims, strides, 4},
                targets = tokens;
  targets.byte_offset = 12;
  const honert_tensor *inputs[] = {&tokens, &targets};
  ASSERT_EQ(honert_trainer_step(trainer, inputs, 2, &facts), 0)
      << honert_trainer_error(trainer);
  EXPECT_EQ(facts.loss, expected.front().first);
}

TEST_F(StepTrainer, wrong_inputs_change_nothing) {
  ASSERT_EQ(open(), "");
  std::vector<int64_t> good = window(stream, 0, 16, 0), bad = good,
                       dims = {2, 8}, other = {8, 2};
  bad[11] = 32;
  honert_tensor a = ids(good, dims), wrongShape = ids(good, other),
                wrongId = ids(bad, dims), wrongType = a, wrongDevice = a;
  wrongType.code = 2;
  wrongDevice.device = 2;
  for (auto [tensor, line] :
       {std::pair(&wrongShape, "input 'targets': int64 of shape [8, 2], "
                               "expected int64 of shape [2, 8]"),
        std::pair(&wrongId,
                  "input 'targets': id 32 at position 11, expected 0 to 31"),
        std::pair(&wrongType, "input 'targets': float64 of shape [2, 8], "
                              "expected int64 of shape [2, 8]"),
        std::pair(&wrongDevice, "input 'targets': lies on a device (DLPack's "
                                "type 2), expected memory of the host: "
                                "x.cpu()")}) {
    const honert_tensor *inputs[] = {&a, tensor};
    EXPECT_EQ(honert_trainer_step(trainer, inputs, 2, &facts), 1);
    EXPECT_STREQ(honert_trainer_error(trainer), line);
  }
  const honert_tensor *inputs[] = {&a};
  EXPECT_EQ(honert_trainer_step(trainer, inputs, 1, &facts), 1);
  EXPECT_STREQ(honert_trainer_error(trainer),
               "inputs: 1, expected 2 (tokens, targets)");
  EXPECT_EQ(honert_trainer_steps(trainer), 0);
  expectEqual(train(1, 20), binary(20));
}

TEST_F(StepTrainer, inputs_of_floats_are_copied) {
  model.hasMask = true;
  ASSERT_EQ(open(), "");
  std::vector<int64_t> tokens = window(stream, 0, 16, 0),
                       targets = window(stream, 0, 16, 1), dims = {2, 8},
                       vocab = {32};
  std::vector<float> mask(32, 0);
  honert_tensor a = ids(tokens, dims), b = ids(targets, dims),
                c = {mask.data(), 1, 0, 1, 2, 32, 1, vocab.data(), nullptr, 0};
  const honert_tensor *inputs[] = {&a, &b, &c};
  double plain = 0, masked = 0;
  ASSERT_EQ(honert_trainer_evaluate(trainer, inputs, 3, &plain), 0);
  mask[static_cast<size_t>(targets[0])] = 4; // more likely
  ASSERT_EQ(honert_trainer_evaluate(trainer, inputs, 3, &masked), 0);
  EXPECT_NE(plain, masked);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(StepTrainer, a_loss_that_is_not_finite_is_an_error) {
  ASSERT_EQ(open(), "");
  int64_t index;
  const honert_named_tensor *table = find("table", &index);
  auto *values = static_cast<float *>(table->tensor.data);
  std::fill(values, values + 32 * 32, NAN);
  ASSERT_EQ(honert_trainer_publish(trainer, index), 0);
  std::vector<int64_t> tokens = window(stream, 0, 16, 0);
  EXPECT_EQ(step(tokens, tokens), 1);
  EXPECT_STREQ(honert_trainer_error(trainer),
               "step 1: the loss is nan, expected a finite value");
  EXPECT_TRUE(std::isnan(facts.loss));
}

TEST_F(StepTrainer, opening_tells_what_is_wrong) {
  std::string missing = folder / "missing";
  honert_trainer_options options = {};
  options.init = missing.c_str();
  EXPECT_NE(open(options).find(missing), std::string::npos);
  std::vector<int64_t> tokens = window(stream, 0, 16, 0);
  EXPECT_EQ(step(tokens, tokens), 1);
  EXPECT_STREQ(honert_trainer_error(trainer),
               "this trainer was not opened, see its error");
  options.fresh = 1;
  EXPECT_EQ(open(options), "fresh: given with init, expected one of them");
}

TEST_F(StepTrainer, a_child_is_refused) {
  ASSERT_EQ(open(), "");
  train(1, 1);
  pid_t child = fork();
  if (child == 0) {
    std::vector<int64_t> tokens = window(stream, 0, 16, 0);
    bool isRefused =
        step(tokens, tokens) == 1 && std::strstr(honert_trainer_error(trainer),
                                                 "this trainer is of process");
    close();
    _exit(isRefused ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  train(2, 3); // the parent goes on
}

TEST_F(StepTrainer, float_mode_and_team_are_the_callers) {
  honert::DefaultFloatMode mode; // other tests have made pools on this thread
  unsigned before = _mm_getcsr();
  void *libgomp = dlopen("libgomp.so.1", RTLD_NOW);
  ASSERT_NE(libgomp, nullptr) << dlerror();
  auto setTeam =
      reinterpret_cast<void (*)(int)>(dlsym(libgomp, "omp_set_num_threads"));
  auto teamSize =
      reinterpret_cast<int (*)()>(dlsym(libgomp, "omp_get_max_threads"));
  ASSERT_TRUE(setTeam && teamSize);
  setTeam(7);
  honert_trainer_options options = {};
  options.threads = 2;
  ASSERT_EQ(open(options), "");
  EXPECT_EQ(_mm_getcsr(), before);
  EXPECT_EQ(teamSize(), 7);
  train(1, 2);
  EXPECT_EQ(_mm_getcsr(), before);
  EXPECT_EQ(teamSize(), 7);
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

TEST_F(StepTrainer, tensors_are_the_state_itself) {
  ASSERT_EQ(open(), "");
  int64_t count;
  const honert_named_tensor *all = honert_trainer_tensors(trainer, &count);
  EXPECT_STREQ(all[0].name, "tokens");
  EXPECT_EQ(all[0].tensor.data, nullptr);
  const honert_named_tensor *table = find("table");
  EXPECT_STREQ(table->aliases, "head.weight\n");
  EXPECT_EQ(table->tensor.dims[0], 32);
  EXPECT_EQ(find("sizes"), nullptr); // a constant
  ASSERT_NE(find("exp_avg.table"), nullptr);
  auto *values = static_cast<float *>(table->tensor.data);
  float before = values[0];
  train(1, 1);
  EXPECT_NE(values[0], before);
}

TEST_F(StepTrainer, weights_go_to_the_binarys_files_and_back) {
  std::string saved = folder / "own", byBinary = folder / "binary";
  ASSERT_EQ(open(), "");
  train(1, 5);
  ASSERT_EQ(honert_trainer_save(trainer, saved.c_str()), 0);
  binary(5, {"--save", byBinary});
  EXPECT_EQ(test::readFile(saved), test::readFile(byBinary));
  ASSERT_EQ(open(), "");
  ASSERT_EQ(honert_trainer_load(trainer, saved.c_str()), 0);
  expectEqual(train(1, 5), binary(5, {"--init", saved}));
  EXPECT_EQ(honert_trainer_load(trainer, data.c_str()), 1);
  EXPECT_NE(std::strstr(honert_trainer_error(trainer), data.c_str()), nullptr);
}

TEST_F(StepTrainer, checkpoints_go_on) {
  model.noise = 0.1;
  std::string checkpoints = folder / "checkpoints";
  honert_trainer_options options = {};
  options.checkpoints = checkpoints.c_str();
  options.seed = 5;
  ASSERT_EQ(open(options), "");
  train(1, 10);
  ASSERT_EQ(honert_trainer_checkpoint(trainer), 0)
      << honert_trainer_error(trainer);
  options.resume = 1;
  options.seed = 0; // that of the run is taken
  ASSERT_EQ(open(options), "");
  EXPECT_EQ(honert_trainer_steps(trainer), 10);
  auto seen = train(11, 20), expected = binary(20, {"--seed", "5"});
  expected.erase(expected.begin(), expected.begin() + 10);
  expectEqual(seen, expected);
  ASSERT_EQ(open(), "");
  EXPECT_EQ(honert_trainer_checkpoint(trainer), 1);
  EXPECT_STREQ(honert_trainer_error(trainer),
               "checkpoint: this trainer was opened without a folder of "
               "checkpoints");
}

} // namespace
