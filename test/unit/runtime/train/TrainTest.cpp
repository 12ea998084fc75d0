//===- TrainTest.cpp - Whole runs of a hand-written program ---------------===//

#include "base/Json.h"
#include "base/Philox.h"
#include "io/SafeTensors.h"
#include "support/Describe.h"
#include "support/Run.h"
#include "train/options/FilesInFolders.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>

using namespace honert;
using test::Outcome;
using test::TinyModel;

namespace {

using Arguments = std::vector<std::string>;

/// A folder with a token file of 400 ids.
class Train : public testing::Test {
protected:
  Train() { test::writeTokens(data, 400); }

  /// A run that must succeed.
  Outcome good(const TinyModel &model, Arguments arguments) {
    arguments.insert(arguments.begin(), {"--data", data});
    Outcome outcome = test::train(model, arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome;
  }
  Outcome good(Arguments arguments) {
    return good(model, std::move(arguments));
  }

  /// Losses of the log, by step.
  std::map<int64_t, double> losses(const std::string &log,
                                   const char *key = "loss") {
    std::map<int64_t, double> found;
    std::string text = test::readFile(log);
    for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      std::string line = text.substr(begin, end - begin);
      JsonReader json(line);
      EXPECT_TRUE(json.skipValue() && json.readEnd()) << line;
      size_t at = line.find("\"" + std::string(key) + "\":");
      if (at != std::string::npos && line.rfind("{\"step\"", 0) == 0)
        found[std::stoll(line.substr(line.find(':') + 1))] =
            std::stod(line.substr(line.find(':', at) + 1));
    }
    return found;
  }

  test::Folder folder;
  std::string data = folder / "tokens.bin";
  TinyModel model;
};

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

TEST_F(Train, loss_falls) {
  good({"--steps", "200", "--lr", "0.05", "--log", folder / "log"});
  auto found = losses(folder / "log");
  ASSERT_EQ(found.size(), 200u);
  EXPECT_GT(found[1], 3);
  EXPECT_LT(found[200], 1);
}

TEST_F(Train, bits_do_not_depend_on_threads) {
  model.noise = 0.1;
  std::string first;
  for (const char *threads : {"1", "2", "3"}) {
    good({"--steps", "25", "--threads", threads, "--save", folder / "w"});
    std::string weights = test::readFile(folder / "w");
    if (first.empty())
      first = weights;
    EXPECT_EQ(weights, first) << threads;
  }
}

TEST_F(Train, seed_changes_the_run) {
  good({"--steps", "1", "--log", folder / "a"});
  good({"--steps", "1", "--seed", "0", "--log", folder / "b"});
  good({"--steps", "1", "--seed", "1", "--log", folder / "c"});
  EXPECT_EQ(losses(folder / "a"), losses(folder / "b"));
  EXPECT_NE(losses(folder / "a"), losses(folder / "c"));
}

/// rng holds (seed, step, micro-step): noise differs between steps.
TEST_F(Train, random_key_follows_the_step) {
  good({"--steps", "3", "--lr", "0", "--log", folder / "quiet"});
  model.noise = 1;
  good({"--steps", "3", "--lr", "0", "--log", folder / "noisy"});
  auto quiet = losses(folder / "quiet", "grad_norm");
  auto noisy = losses(folder / "noisy", "grad_norm");
  for (int64_t step : {1, 2, 3})
    EXPECT_NE(quiet[step], noisy[step]);
  EXPECT_NE(noisy[1] * noisy[1] - quiet[1] * quiet[1],
            noisy[2] * noisy[2] - quiet[2] * quiet[2]);
}

TEST_F(Train, micro_batches_add_up_to_one_batch) {
  model.rows = 4;
  good({"--steps", "20", "--log", folder / "whole", "--dump", folder / "d1"});
  model.rows = 2;
  model.microBatches = 2;
  good({"--steps", "20", "--log", folder / "parts", "--dump", folder / "d2"});
  auto whole = losses(folder / "whole"), parts = losses(folder / "parts");
  ASSERT_EQ(whole.size(), parts.size());
  for (auto [step, loss] : whole)
    EXPECT_NEAR(parts[step], loss, 1e-6 * std::fabs(loss)) << step;

  SafeTensors one, two;
  ASSERT_TRUE(one.open(folder / "d1/step1.safetensors").ok());
  ASSERT_TRUE(two.open(folder / "d2/step1.safetensors").ok());
  for (const char *name : {"grad.table", "grad.bias", "loss", "grad_norm"}) {
    const TensorView *a = one.find(name), *b = two.find(name);
    ASSERT_TRUE(a && b) << name;
    ASSERT_EQ(a->shape, b->shape);
    for (int64_t i = 0; i < a->bytes; i += 4)
      ASSERT_NEAR(loadElement(a->dtype, a->data + i),
                  loadElement(b->dtype, b->data + i), 1e-6)
          << name << " " << i;
  }
}

/// Each micro-batch has its own key: what noise adds to a gradient is drawn
/// once for each.
TEST_F(Train, random_key_follows_the_micro_batch) {
  model.microBatches = 2;
  good({"--steps", "1", "--seed", "3", "--dump", folder / "quiet"});
  model.noise = 1;
  good({"--steps", "1", "--seed", "3", "--dump", folder / "noisy"});
  SafeTensors quiet, noisy;
  ASSERT_TRUE(quiet.open(folder / "quiet/step1.safetensors").ok());
  ASSERT_TRUE(noisy.open(folder / "noisy/step1.safetensors").ok());
  const TensorView *a = quiet.find("grad.bias"), *b = noisy.find("grad.bias");
  ASSERT_TRUE(a && b);
  auto drawn = [](uint32_t element, uint32_t micro) {
    PhiloxCounter words = philox({element, 0, 1, micro}, philoxKey(3));
    return (words[0] >> 8) * 0x1p-24 - 0.5;
  };
  for (uint32_t v = 0; v != a->bytes / 4; ++v) {
    double added = loadElement(b->dtype, b->data + 4 * v) -
                   loadElement(a->dtype, a->data + 4 * v);
    EXPECT_NEAR(added, drawn(v, 0) + drawn(v, 1), 1e-6) << v;
  }
}

TEST_F(Train, schedule_reaches_the_program) {
  good({"--steps", "6", "--lr", "0.1", "--warmup", "2", "--schedule", "cosine",
        "--min-lr", "0.02", "--log", folder / "log"});
  auto rates = losses(folder / "log", "lr");
  EXPECT_DOUBLE_EQ(rates[1], 0.05);
  EXPECT_DOUBLE_EQ(rates[2], 0.1);
  EXPECT_NEAR(rates[6], 0.02, 1e-15);
  // Nothing moves without a rate and decay.
  good({"--steps", "5", "--lr", "0", "--save", folder / "after"});
  good({"--steps", "0", "--save", folder / "before"});
  SafeTensors before, after;
  ASSERT_TRUE(before.open(folder / "before").ok());
  ASSERT_TRUE(after.open(folder / "after").ok());
  for (const auto &[name, view] : before.tensors())
    EXPECT_EQ(std::memcmp(view.data, after.find(name)->data,
                          static_cast<size_t>(view.bytes)),
              0);
}

TEST_F(Train, clip_zero_means_none) {
  good({"--steps", "3", "--clip", "0", "--save", folder / "none"});
  good({"--steps", "3", "--clip", "1e30", "--save", folder / "huge"});
  good({"--steps", "3", "--clip", "0.001", "--save", folder / "tight"});
  EXPECT_EQ(test::readFile(folder / "none"), test::readFile(folder / "huge"));
  EXPECT_NE(test::readFile(folder / "none"), test::readFile(folder / "tight"));
}

TEST_F(Train, shuffle_changes_the_order_only) {
  good({"--steps", "5", "--log", folder / "a"});
  good({"--steps", "5", "--shuffle", "--log", folder / "b"});
  good({"--steps", "5", "--shuffle", "--log", folder / "c"});
  EXPECT_NE(losses(folder / "a"), losses(folder / "b"));
  EXPECT_EQ(losses(folder / "b"), losses(folder / "c"));
}

TEST_F(Train, a_loss_that_is_not_finite_ends_the_run) {
  for (int64_t microBatches : {1, 2}) {
    model.microBatches = microBatches;
    test::Folder checkpoints;
    Outcome outcome = test::train(
        model, {"--data", data, "--lr", "1e38", "--steps", "20", "--save",
                folder / "w", "--checkpoint-dir", checkpoints / "c"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("expected a finite value"), std::string::npos);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    EXPECT_FALSE(test::exists(folder / "w"));
    EXPECT_TRUE(test::namesIn(checkpoints / "c").empty());
  }
}

//===----------------------------------------------------------------------===//
// What is printed
//===----------------------------------------------------------------------===//

TEST_F(Train, step_lines_have_their_figures) {
  Outcome outcome = good({"--steps", "2", "--lr", "3e-4"});
  size_t line = outcome.out.find("step 2/2 | epoch 0.08 | loss ");
  ASSERT_NE(line, std::string::npos) << outcome.out;
  std::string text =
      outcome.out.substr(line, outcome.out.find('\n', line) - line);
  for (const char *part : {" | grad norm ", " | lr 3.00e-04 | ", " ms | ",
                           " tok/s | MFU ", "% | 32 tokens | ", " TFLOP/s"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_NE(
      outcome.out.find("MFU = 192 model FLOP/token * tok/s / peak; peak "),
      std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("400 tokens, 24 batches of [2, 8] per epoch"),
            std::string::npos)
      << outcome.out;
}

/// The steps that the lines of `out` tell of.
static std::vector<int> stepsIn(const std::string &out) {
  std::vector<int> steps;
  for (size_t at = out.find("\nstep "); at != std::string::npos;
       at = out.find("\nstep ", at + 1))
    steps.push_back(std::atoi(out.c_str() + at + 6));
  return steps;
}

TEST_F(Train, every_nth_step_is_printed_and_logged) {
  Outcome outcome =
      good({"--steps", "11", "--log-every", "4", "--log", folder / "log"});
  EXPECT_EQ(stepsIn(outcome.out), (std::vector<int>{1, 4, 8, 11}));
  auto found = losses(folder / "log");
  EXPECT_EQ(found.size(), 4u);
  EXPECT_EQ(found.count(8), 1u);
}

TEST_F(Train, a_run_has_so_many_epochs_or_tokens) {
  // 400 tokens are 24 batches of 16.
  Outcome outcome = good({"--steps", "2epochs", "--quiet"});
  EXPECT_EQ(outcome.out.rfind("48 steps in ", 0), 0u) << outcome.out;
  outcome = good({"--tokens", "0.3K", "--quiet"});
  EXPECT_EQ(outcome.out.rfind("19 steps in ", 0), 0u) << outcome.out;
  model.microBatches = 5;
  outcome = good({"--steps", "1.5epochs", "--quiet"});
  EXPECT_EQ(outcome.out.rfind("7 steps in ", 0), 0u) << outcome.out;
  outcome = good({"--tokens", "0.3K", "--quiet"});
  EXPECT_EQ(outcome.out.rfind("4 steps in ", 0), 0u) << outcome.out;
}

TEST_F(Train, a_long_run_prints_a_thousand_lines_and_logs_all) {
  Outcome outcome = good({"--steps", "1001", "--log", folder / "log"});
  auto steps = stepsIn(outcome.out);
  ASSERT_EQ(steps.size(), 102u);
  EXPECT_EQ(steps[1], 10);
  EXPECT_EQ(steps.back(), 1001);
  EXPECT_EQ(losses(folder / "log").size(), 1001u);
  EXPECT_EQ(stepsIn(good({"--steps", "1000"}).out).size(), 1000u);
}

TEST_F(Train, quiet_prints_the_summary_only) {
  Outcome outcome = good({"--steps", "3", "--quiet", "--save", folder / "w"});
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
  EXPECT_EQ(outcome.out.rfind("3 steps in ", 0), 0u) << outcome.out;
  EXPECT_NE(outcome.out.find("saved " + (folder / "w")), std::string::npos);
  EXPECT_NE(outcome.out.find(" RAM | saved"), std::string::npos);
}

TEST_F(Train, logged_loss_is_exact) {
  good({"--steps", "1", "--log", folder / "log", "--dump", folder / "d"});
  SafeTensors dump;
  ASSERT_TRUE(dump.open(folder / "d/step1.safetensors").ok());
  EXPECT_EQ(static_cast<float>(losses(folder / "log")[1]),
            loadElement(DType::f32, dump.find("loss")->data));
}

TEST_F(Train, info_needs_no_data) {
  Outcome outcome = test::train(model, {"--info"});
  EXPECT_EQ(outcome.code, 0);
  for (const char *part :
       {"param   table", "also head.weight", "tokens, ids < 32",
        "normal mean 0 std 0.5", "in the executable", "memory plan",
        "parameters", "arena (peak)", "library workspace", "other, at most",
        "resident while idle", "fingerprint", "adamw"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
}

TEST_F(Train, version_and_help) {
  EXPECT_EQ(test::train(model, {"--version"}).out.rfind("honert 0.1", 0), 0u);
  Outcome help = test::train(model, {"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char *flag : {"--data FILE", "--resume", "--input NAME=FILE.npy"})
    EXPECT_NE(help.out.find(flag), std::string::npos) << flag;
}

/// The flags of --help and of --help-json are the same.
TEST_F(Train, help_as_json) {
  std::string help = test::train(model, {"--help"}).out;
  std::string text = test::train(model, {"--help-json"}).out;
  JsonReader json(text);
  int found = 0;
  bool isRead = json.readObject([&](const std::string &) {
    return json.readArray([&] {
      std::string name, value, alone = "none";
      bool isFlag = json.readObject([&](const std::string &key) {
        std::string *target = key == "name"    ? &name
                              : key == "value" ? &value
                              : key == "alone" ? &alone
                                               : nullptr;
        return target && text[json.position() + 1] == '"'
                   ? json.readString(*target)
                   : json.skipValue();
      });
      std::string row = "  --" + name;
      if (!value.empty())
        row += alone == "none" ? " " + value : " [" + value + "]";
      EXPECT_NE(help.find(row + "  "), std::string::npos) << row;
      ++found;
      return isFlag;
    });
  }) && json.readEnd();
  EXPECT_TRUE(isRead) << json.mistake();
  size_t rows = 0;
  for (size_t at = 0; (at = help.find("\n  --", at)) != help.npos; ++at)
    ++rows;
  EXPECT_EQ(static_cast<size_t>(found), rows);
}

TEST_F(Train, profile_counts_the_launches_of_a_step) {
  Outcome outcome = good({"--steps", "3", "--profile", folder / "p.json"});
  EXPECT_NE(outcome.out.find("      2       -        -  adamw"),
            std::string::npos);
  std::string trace = test::readFile(folder / "p.json");
  JsonReader json(trace);
  EXPECT_TRUE(json.skipValue() && json.readEnd());
  size_t events = 0;
  for (size_t at = 0; (at = trace.find("\"ph\":\"X\"", at)) != trace.npos; ++at)
    ++events;
  EXPECT_EQ(events, 10u);
}

//===----------------------------------------------------------------------===//
// Validation
//===----------------------------------------------------------------------===//

TEST_F(Train, validation_is_the_mean_of_its_batches) {
  test::writeTokens(folder / "val", 2 * 16 + 1);
  Outcome outcome =
      good({"--steps", "4", "--lr", "0", "--val-data", folder / "val",
            "--val-every", "3", "--log", folder / "log"});
  auto validations = losses(folder / "log", "val_loss");
  ASSERT_EQ(validations.size(), 2u); // after step 3 and at the end
  EXPECT_EQ(validations[3], validations[4]);
  EXPECT_NE(outcome.out.find("step 3/4 | val "), std::string::npos);
  // With a rate of 0 two steps over the file see the same two batches.
  Outcome steps = test::train(model, {"--data", folder / "val", "--steps", "2",
                                      "--lr", "0", "--log", folder / "log2"});
  auto both = losses(folder / "log2");
  EXPECT_NEAR(validations[4], (both[1] + both[2]) / 2, 1e-6);
}

TEST_F(Train, validation_does_not_change_training) {
  good({"--steps", "9", "--save", folder / "a"});
  good({"--steps", "9", "--val-data", data, "--val-every", "2", "--val-batches",
        "3", "--save", folder / "b"});
  EXPECT_EQ(test::readFile(folder / "a"), test::readFile(folder / "b"));
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The bytes of each tensor in a file.
std::map<std::string, std::string> tensorsOf(const std::string &path) {
  std::map<std::string, std::string> found;
  SafeTensors file;
  EXPECT_TRUE(file.open(path).ok()) << path;
  for (const auto &[name, view] : file.tensors())
    found[name] = std::string(static_cast<const char *>(view.data),
                              static_cast<size_t>(view.bytes));
  return found;
}

TEST_F(Train, weights_come_back) {
  good({"--steps", "5", "--save", folder / "a"});
  good({"--steps", "0", "--init", folder / "a", "--save", folder / "b"});
  auto a = tensorsOf(folder / "a");
  EXPECT_EQ(a.size(), 3u); // constants and optimizer state stay out
  EXPECT_EQ(a, tensorsOf(folder / "b"));
}

TEST_F(Train, weights_of_a_folder) {
  namespace fs = std::filesystem;
  good({"--steps", "5", "--save", folder / "a", "--checkpoint-dir",
        folder / "c"});
  auto startsFrom = [&](const std::string &name, const std::string &file) {
    Outcome outcome =
        good({"--steps", "0", "--init", folder / name, "--save", folder / "b"});
    EXPECT_NE(outcome.out.find("weights: " + (folder / file) + " ("),
              std::string::npos)
        << outcome.out;
    EXPECT_EQ(tensorsOf(folder / "b"), tensorsOf(folder / "a"));
  };
  const std::string state = "c/step-00000005/state.safetensors";
  startsFrom("c", state);
  startsFrom("c/step-00000005", state);
  fs::create_directory(folder / "hf");
  fs::copy(folder / "a", folder / "hf/model.safetensors");
  startsFrom("hf", "hf/model.safetensors");
}

TEST_F(Train, the_tokenizer_of_a_folder) {
  Options options;
  options.tokenizer = folder.path;
  Status status = findFilesInFolders(options);
  EXPECT_EQ(status.message(), "--tokenizer: " + folder.path +
                                  ": expected tokenizer.json in this folder, "
                                  "found tokens.bin");
  test::writeFile(folder / "tokenizer.json", "{}");
  for (int times : {1, 2}) { // then of the file
    EXPECT_TRUE(findFilesInFolders(options).ok());
    EXPECT_EQ(options.tokenizer, folder / "tokenizer.json") << times;
  }
}

TEST_F(Train, folders_without_weights_are_refused) {
  std::filesystem::create_directory(folder / "d");
  auto refusal = [&](const char *flag) {
    Outcome outcome = test::train(
        model, {"--data", data, "--steps", "0", flag, folder / "d"});
    EXPECT_EQ(outcome.code, 1);
    return outcome.err;
  };
  std::string init = "error: --init: " + (folder / "d") + ": expected ";
  EXPECT_EQ(refusal("--init"),
            init + "model.safetensors, state.safetensors (a checkpoint) or "
                   "latest (checkpoints) in this folder, found nothing\n");
  for (char name = 'a'; name != 'k'; ++name)
    test::writeFile(folder / ("d/" + std::string(1, name)), "");
  test::writeFile(folder / "d/latest", "step-00000001\n");
  EXPECT_EQ(refusal("--init"),
            init + "model.safetensors, state.safetensors (a checkpoint) or "
                   "latest (checkpoints) in this folder, found a, b, c, d, e, "
                   "f, g, h and 3 more\n");
  test::writeFile(folder / "d/model.safetensors.index.json", "{}");
  EXPECT_EQ(refusal("--init"),
            init +
                "model.safetensors in this folder, found "
                "model.safetensors.index.json: weights in several files are "
                "not read; hone export " +
                (folder / "d") +
                " --weights makes a package that holds them\n");
}

std::string floats(int64_t count, float value) {
  return test::bytesOf(std::vector<float>(static_cast<size_t>(count), value));
}

/// Weights under chosen names; sizes as the model has them.
std::string weights(const std::vector<std::pair<std::string, float>> &tensors) {
  std::string header, body;
  for (const auto &[name, value] : tensors) {
    bool isTable = name == "table" || name == "head.weight";
    int64_t count = isTable ? 32 * 32 : 32;
    header +=
        (header.empty() ? "{" : ",") + quoteJson(name) +
        ":{\"dtype\":\"F32\",\"shape\":" + (isTable ? "[32,32]" : "[32]") +
        format(",\"data_offsets\":[%zu,%zu]}", body.size(),
               body.size() + static_cast<size_t>(count) * 4);
    body += floats(count, value);
  }
  return test::safetensors(header + "}", body);
}

TEST_F(Train, tied_weights_answer_to_every_name) {
  auto start = [&](const std::vector<std::pair<std::string, float>> &tensors) {
    test::writeFile(folder / "w", weights(tensors));
    return test::train(model, {"--data", data, "--steps", "0", "--init",
                               folder / "w", "--save", folder / "out"});
  };
  EXPECT_EQ(start({{"head.weight", 2}, {"bias", 1}}).code, 0);
  SafeTensors out;
  ASSERT_TRUE(out.open(folder / "out").ok());
  EXPECT_FALSE(out.find("head.weight")); // the first name only
  EXPECT_EQ(loadElement(DType::f32, out.find("table")->data), 2);
  EXPECT_EQ(start({{"head.weight", 2}, {"table", 2}, {"bias", 1}}).code, 0);
  Outcome differ = start({{"head.weight", 2}, {"table", 3}, {"bias", 1}});
  EXPECT_EQ(differ.code, 1);
  EXPECT_NE(differ.err.find("'head.weight' differs from 'table'"),
            std::string::npos);
}

TEST_F(Train, weights_that_do_not_fit_are_refused) {
  auto refuse = [&](const std::string &bytes, const char *message) {
    test::writeFile(folder / "w", bytes);
    Outcome outcome = test::train(
        model, {"--data", data, "--init", folder / "w", "--steps", "1"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err, "error: " + (folder / "w") + ": " + message + "\n");
  };
  refuse(weights({{"table", 1}}),
         "tensor 'bias' is missing (F32 of shape [32])");
  refuse(weights({{"table", 1}, {"bias", 1}, {"more", 1}}),
         "tensor 'more' is not in this program");
  std::string good = weights({{"table", 1}, {"bias", 1}});
  std::string wrongType = good;
  wrongType.replace(wrongType.find("F32"), 3, "I32");
  refuse(wrongType, "tensor 'table' is I32, expected F32");
  std::string wrongShape = good;
  wrongShape.replace(wrongShape.find("[32,32]"), 7, "[1024 ]");
  refuse(wrongShape, "tensor 'table' has shape [1024], expected [32, 32]");
}

TEST_F(Train, weights_that_are_not_finite_are_named) {
  test::writeFile(folder / "w", weights({{"table", NAN}, {"bias", 1}}));
  Outcome outcome = test::train(
      model, {"--data", data, "--init", folder / "w", "--steps", "0"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "warning: " + (folder / "w") +
                             ": tensor 'table' holds values that are not "
                             "finite\n");
}

TEST_F(Train, a_tensor_without_a_default_must_be_loaded) {
  model.needsFile = true;
  Outcome outcome = test::train(model, {"--data", data, "--steps", "1"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "error: buffer 'scale' has no initial value: expected a "
            "file that holds it (--init)\n");
  test::writeFile(folder / "w",
                  weights({{"table", 1}, {"bias", 1}, {"scale", 1}}));
  good(model, {"--init", folder / "w", "--steps", "1"});
}

TEST_F(Train, other_inputs_come_from_array_files) {
  model.hasMask = true;
  std::string zeros = floats(32, 0);
  auto run = [&](const std::string &file, const char *log) {
    test::writeFile(folder / "m.npy", file);
    good(model, {"--input", "mask=" + (folder / "m.npy"), "--steps", "2",
                 "--log", folder / log});
    return losses(folder / log);
  };
  auto constant = run(test::npy("<f4", "(32,)", zeros), "a");
  auto perStep = run(test::npy("<f4", "(2, 32)", zeros + zeros), "b");
  std::string ramp;
  for (int i = 0; i < 32; ++i)
    ramp += test::bytesOf(std::vector<float>{0.1f * static_cast<float>(i)});
  auto second = run(test::npy("<f4", "(2, 32)", zeros + ramp), "c");
  EXPECT_EQ(constant, perStep);
  EXPECT_EQ(constant[1], second[1]);
  EXPECT_NE(constant[2], second[2]);
}

TEST_F(Train, values_per_micro_batch_stay_with_their_tokens) {
  model.hasMask = true;
  std::string zeros = floats(32, 0), file = folder / "m.npy";
  auto expect = [&](Arguments flags, int code, const std::string &message) {
    flags.insert(flags.end(), {"--input", "mask=" + file});
    Outcome outcome = test::train(model, flags);
    EXPECT_EQ(outcome.code, code);
    EXPECT_EQ(outcome.err, message);
  };
  test::writeFile(file, test::npy("<f4", "(2, 32)", zeros + zeros));
  // The third window of the stream has no value of its own.
  expect({"--data", data, "--steps", "2"}, 0, "");
  expect({"--data", data, "--steps", "3"}, 1,
         "error: " + file +
             ": values of 2 micro-batches, expected 24 as in the stream of "
             "--data, or --steps 2 at most\n");
  expect({"--data", data, "--steps", "2", "--shuffle"}, 2,
         "error: --shuffle: " + file +
             " holds values in the order of the stream, expected no "
             "--shuffle, or shape [32] for all micro-batches\n");

  std::string tokens = folder / "t.npy", targets = folder / "u.npy";
  std::string ids(sizeof(int64_t) * 3 * 2 * 8, '\0');
  for (const std::string &path : {tokens, targets})
    test::writeFile(path, test::npy("<i8", "(3, 2, 8)", ids));
  expect({"--input", "tokens=" + tokens, "--input", "targets=" + targets}, 1,
         "error: " + file + ": values of 2 micro-batches, expected 3 as in " +
             tokens + ", or shape [32] for all of them\n");
  test::writeFile(file, test::npy("<f4", "(32,)", zeros));
  expect({"--data", data, "--steps", "3", "--shuffle"}, 0, "");
}

TEST_F(Train, other_inputs_have_files_of_their_own_to_validate_on) {
  model.hasMask = true;
  std::string zeros = floats(32, 0), ramp;
  for (int i = 0; i < 32; ++i)
    ramp += test::bytesOf(std::vector<float>{0.1f * static_cast<float>(i)});
  std::string one = "mask=" + (folder / "one.npy"),
              two = "mask=" + (folder / "two.npy"),
              other = "mask=" + (folder / "other.npy");
  test::writeFile(folder / "one.npy", test::npy("<f4", "(32,)", zeros));
  test::writeFile(folder / "two.npy",
                  test::npy("<f4", "(2, 32)", zeros + zeros));
  test::writeFile(folder / "other.npy",
                  test::npy("<f4", "(2, 32)", zeros + ramp));
  auto validate = [&](const std::string &input, std::vector<std::string> more) {
    std::vector<std::string> flags = {
        "--input", input,        "--steps", "1",     "--lr",
        "0",       "--val-data", data,      "--log", folder / "log"};
    flags.insert(flags.end(), more.begin(), more.end());
    good(model, flags);
    return losses(folder / "log", "val_loss")[1];
  };
  // A value that is the same for all steps is that of a validation too.
  double same = validate(one, {});
  EXPECT_EQ(validate(two, {"--val-input", one}), same);
  EXPECT_NE(validate(one, {"--val-input", other}), same);
  auto refused = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(),
                 {"--data", data, "--val-data", data, "--steps", "1"});
    Outcome outcome = test::train(model, flags);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  EXPECT_EQ(refused({"--input", two}),
            "error: --val-input: nothing for 'mask', whose values of training "
            "go with other tokens, expected --val-input mask=FILE.npy\n");
  EXPECT_EQ(refused({"--input", one, "--val-input", "nask=x.npy"}),
            "error: --val-input: 'nask', expected an input of this program "
            "(mask)\n");
}

} // namespace
