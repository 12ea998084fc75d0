//===- PartsTest.cpp - Padded and packed arguments ------------------------===//
//
// Two programs hold the same tensors: one each in its own argument, the other
// padded and packed. Files, initial values and dumps must not tell them apart.
//
//===----------------------------------------------------------------------===//

#include "program/Parts.h"
#include "comm/host/SingleProcess.h"
#include "io/checkpoint/State.h"
#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

using namespace honert;

namespace {

constexpr int64_t normal = 2;

ProcessGroup *alone() {
  static std::unique_ptr<ProcessGroup> world = makeSingleProcess();
  return world.get();
}

void argument(honert_program *program, int64_t kind, const char *fqn,
              std::vector<int64_t> dims, int64_t offset) {
  honert_argument(program, kind, fqn, 0, int64_t(dims.size()), dims.data(),
                  offset);
}

void part(honert_program *program, const char *fqn, std::vector<int64_t> offset,
          std::vector<int64_t> shape) {
  honert_argument_part(program, fqn, int64_t(offset.size()), offset.data(),
                       shape.data());
}

/// A table [5, 3], q [4, 2], k [3, 2] and the table's moment.
test::ProgramPtr plainProgram() {
  test::ProgramPtr program = test::makeProgram();
  honert_arena(program.get(), 1024);
  argument(program.get(), 0, "table", {5, 3}, 0);
  honert_argument_init(program.get(), normal, 0, 1, "head");
  argument(program.get(), 0, "q", {4, 2}, 128);
  honert_argument_init(program.get(), normal, 0, 1, "");
  argument(program.get(), 0, "k", {3, 2}, 256);
  honert_argument_init(program.get(), normal, 0, 1, "");
  argument(program.get(), 2, "exp_avg.table", {5, 3}, 384);
  honert_argument_init(program.get(), normal, 0, 1, "");
  return program;
}

/// The table in [8, 4], q and k one after the other in [8, 4].
test::ProgramPtr paddedProgram() {
  test::ProgramPtr program = test::makeProgram();
  honert_arena(program.get(), 1024);
  argument(program.get(), 0, "qk", {8, 4}, 0);
  part(program.get(), "q", {0, 0}, {4, 2});
  part(program.get(), "k", {4, 0}, {3, 2});
  honert_argument_init(program.get(), normal, 0, 1, "");
  argument(program.get(), 0, "table", {8, 4}, 128);
  part(program.get(), "table", {0, 0}, {5, 3});
  honert_argument_init(program.get(), normal, 0, 1, "head");
  argument(program.get(), 2, "exp_avg.table", {8, 4}, 256);
  part(program.get(), "exp_avg.table", {0, 0}, {5, 3});
  honert_argument_init(program.get(), normal, 0, 1, "");
  return program;
}

/// A program with its arena, whose bytes are all set at first.
struct Instance {
  explicit Instance(test::ProgramPtr described)
      : program(std::move(described)) {
    EXPECT_TRUE(arena.allocate(program->arenaBytes, "the arena").ok());
    std::memset(arena.at(0), 0x7f, size_t(program->arenaBytes));
  }

  Status start(const std::string &file = "", uint64_t seed = 1) {
    std::string origin;
    std::vector<const Argument *> zeros;
    Status status = startState({file}, *program, *alone(), seed, ThreadPool(2),
                               arena, origin, zeros);
    for (const Argument *argument : zeros)
      std::memset(arena.at(argument->offset), 0, size_t(argument->bytes));
    return status;
  }
  /// Elements of an argument, padding too.
  std::vector<float> storage(const char *fqn) const {
    for (const Argument &argument : program->arguments)
      if (argument.fqn == fqn) {
        auto *data = reinterpret_cast<float *>(arena.at(argument.offset));
        return {data, data + argument.bytes / 4};
      }
    ADD_FAILURE() << fqn;
    return {};
  }
  /// Every element outside the parts is +0.
  void expectCleanPadding() const {
    for (const Argument &argument : program->arguments) {
      std::vector<bool> isPart(size_t(argument.bytes / 4));
      for (const Part &part : argument.parts) {
        PartLayout layout(argument.dims, part);
        layout.forEachRun(0, layout.size(),
                          [&](int64_t, int64_t place, int64_t length) {
                            for (int64_t i = 0; i < length; ++i)
                              isPart[size_t(place + i)] = true;
                          });
      }
      std::vector<float> values = storage(argument.fqn.c_str());
      for (size_t i = 0; i < values.size(); ++i) {
        uint32_t bits;
        std::memcpy(&bits, &values[i], 4);
        EXPECT_EQ(bits == 0, !isPart[i]) << argument.fqn << " " << i;
      }
    }
  }

  test::ProgramPtr program;
  Arena arena;
};

TEST(Parts, layout_of_a_box) {
  // Rows only: one run. Columns: a run per row. A box of rank 3: nested runs.
  using Runs = std::vector<std::array<int64_t, 3>>;
  auto runsOf = [](const PartLayout &layout) {
    Runs runs;
    layout.forEachRun(0, layout.size(),
                      [&](int64_t element, int64_t place, int64_t length) {
                        runs.push_back({element, place, length});
                      });
    return runs;
  };
  EXPECT_EQ(runsOf(PartLayout({8, 4}, {"", {2, 0}, {5, 4}})),
            (Runs{{0, 8, 20}}));
  EXPECT_EQ(runsOf(PartLayout({8, 4}, {"", {2, 1}, {2, 3}})),
            (Runs{{0, 9, 3}, {3, 13, 3}}));
  PartLayout box({3, 5, 7}, {"", {1, 2, 0}, {2, 3, 7}});
  EXPECT_EQ(runsOf(box), (Runs{{0, 35 + 14, 21}, {21, 2 * 35 + 14, 21}}));
  std::vector<float> storage(105), packed(42), again(105);
  for (size_t i = 0; i < storage.size(); ++i)
    storage[i] = float(i);
  gatherPart(box, 0, 42, DType::f32, reinterpret_cast<char *>(storage.data()),
             reinterpret_cast<char *>(packed.data()));
  EXPECT_EQ(packed[0], 35 + 14);
  EXPECT_EQ(packed[21], 70 + 14);
  EXPECT_EQ(packed[41], 70 + 34);
  // In two pieces, cut inside a run.
  scatterPart(box, 0, 10, DType::f32, reinterpret_cast<char *>(packed.data()),
              reinterpret_cast<char *>(again.data()));
  EXPECT_EQ(again[35 + 24], 0);
  scatterPart(box, 10, 42, DType::f32,
              reinterpret_cast<char *>(packed.data() + 10),
              reinterpret_cast<char *>(again.data()));
  EXPECT_EQ(again[34], 0);
  for (size_t i : {35 + 14, 35 + 23, 35 + 24, 70 + 14, 70 + 34})
    EXPECT_EQ(again[i], float(i));
  std::vector<float> piece(5);
  gatherPart(box, 19, 24, DType::f32, reinterpret_cast<char *>(storage.data()),
             reinterpret_cast<char *>(piece.data()));
  EXPECT_EQ(piece,
            (std::vector<float>(packed.begin() + 19, packed.begin() + 24)));
  PartLayout scalar({}, {"", {}, {}});
  EXPECT_EQ(scalar.size(), 1);
  PartLayout none({8, 4}, {"", {0, 0}, {0, 3}});
  EXPECT_EQ(none.size(), 0);
}

TEST(Parts, initial_values_do_not_see_padding) {
  Instance plain(plainProgram()), padded(paddedProgram());
  ASSERT_TRUE(plain.start().ok());
  ASSERT_TRUE(padded.start().ok());
  padded.expectCleanPadding();
  std::vector<float> table = plain.storage("table");
  std::vector<float> wide = padded.storage("table");
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 3; ++column)
      EXPECT_EQ(table[size_t(row * 3 + column)],
                wide[size_t(row * 4 + column)]);
  EXPECT_EQ(plain.storage("k")[3], padded.storage("qk")[5 * 4 + 1]);
}

TEST(Parts, a_large_part_is_made_in_blocks) {
  // More than one block of 4096, rows of odd length.
  auto describe = [](bool padded) {
    test::ProgramPtr program = test::makeProgram();
    honert_arena(program.get(), 1 << 20);
    argument(program.get(), 0, "w", {301, padded ? 80 : 77}, 0);
    if (padded)
      part(program.get(), "w", {0, 0}, {301, 77});
    honert_argument_init(program.get(), normal, 0, 1, "");
    return program;
  };
  Instance plain(describe(false)), padded(describe(true));
  ASSERT_TRUE(plain.start().ok());
  ASSERT_TRUE(padded.start().ok());
  padded.expectCleanPadding();
  std::vector<float> narrow = plain.storage("w"), wide = padded.storage("w");
  for (size_t row = 0; row < 301; ++row)
    for (size_t column = 0; column < 77; ++column)
      ASSERT_EQ(narrow[row * 77 + column], wide[row * 80 + column]);
}

TEST(Parts, files_of_both_programs_are_the_same) {
  test::Folder folder;
  Instance plain(plainProgram()), padded(paddedProgram());
  ASSERT_TRUE(plain.start("", 7).ok());
  ASSERT_TRUE(padded.start("", 8).ok());
  auto save = [&](const Instance &instance, const std::string &name) {
    EXPECT_TRUE(saveWeights(folder / (name + ".w"), *instance.program, *alone(),
                            instance.arena, {})
                    .ok());
    EXPECT_TRUE(saveState(folder / (name + ".s"), *instance.program, *alone(),
                          instance.arena, nullptr)
                    .ok());
  };
  save(plain, "plain");
  save(padded, "padded");
  // Each loads the other's and saves the same tensors.
  Instance fromPadded(plainProgram()), fromPlain(paddedProgram());
  ASSERT_TRUE(loadState(folder / "padded.s", *fromPadded.program, *alone(),
                        fromPadded.arena)
                  .ok());
  ASSERT_TRUE(loadState(folder / "plain.s", *fromPlain.program, *alone(),
                        fromPlain.arena)
                  .ok());
  fromPlain.expectCleanPadding();
  save(fromPadded, "crossed");
  save(fromPlain, "back");
  auto tensors = [&](const std::string &name) {
    SafeTensors file;
    EXPECT_TRUE(file.open(folder / name).ok());
    std::map<std::string, std::pair<Shape, std::string>> all;
    for (const auto &[key, view] : file.tensors())
      all[key] = {view.shape, std::string(view.data, size_t(view.bytes))};
    return all;
  };
  EXPECT_EQ(tensors("plain.s").size(), 4u);
  EXPECT_EQ(tensors("padded.s").at("k").first, (Shape{3, 2}));
  EXPECT_EQ(tensors("padded.s"), tensors("crossed.s"));
  EXPECT_EQ(tensors("plain.s"), tensors("back.s"));
  EXPECT_EQ(tensors("plain.w"), tensors("back.w"));
  // As initial weights too.
  Instance started(paddedProgram());
  ASSERT_TRUE(started.start(folder / "plain.w", 9).ok());
  started.expectCleanPadding();
  EXPECT_EQ(started.storage("table"), fromPlain.storage("table"));
}

TEST(Parts, a_tensor_of_another_shape_is_named) {
  test::Folder folder;
  test::writeFile(folder / "f",
                  test::safetensors(R"({"q":{"dtype":"F32","shape":[8,4],)"
                                    R"("data_offsets":[0,128]}})",
                                    std::string(128, '\0')));
  Instance padded(paddedProgram());
  EXPECT_EQ(padded.start(folder / "f").message(),
            folder / "f" + ": tensor 'q' has shape [8, 4], expected [4, 2]");
  test::writeFile(folder / "e", test::safetensors("{}", ""));
  EXPECT_EQ(padded.start(folder / "e").message(),
            folder / "e" + ": tensor 'q' is missing (F32 of shape [4, 2])");
}

TEST(Parts, tied_names_lead_to_the_part) {
  test::Folder folder;
  Instance plain(plainProgram());
  ASSERT_TRUE(plain.start().ok());
  std::vector<float> table = plain.storage("table");
  std::vector<TensorSource> tensors;
  for (const Argument &argument : plain.program->arguments)
    if (argument.kind == Kind::param)
      tensors.push_back(sourceOf(*plain.program, argument, argument.parts[0],
                                 plain.arena, *alone()));
  tensors[0].name = "head";
  ASSERT_TRUE(writeSafeTensors(folder / "f", tensors, {}, *alone()).ok());
  Instance padded(paddedProgram());
  ASSERT_TRUE(padded.start(folder / "f", 5).ok());
  EXPECT_EQ(padded.storage("table")[5], table[4]);
}

struct Broken {
  const char *message;
  void (*describe)(honert_program *);
};

class BrokenParts : public testing::TestWithParam<Broken> {};

TEST_P(BrokenParts, are_refused_with_a_reason) {
  test::ProgramPtr program = paddedProgram();
  GetParam().describe(program.get());
  EXPECT_NE(program->check().message().find(GetParam().message),
            std::string::npos)
      << program->check().message();
}

INSTANTIATE_TEST_SUITE_P(
    Parts, BrokenParts,
    testing::Values(
        Broken{"part 'x' reaches outside the storage of 'exp_avg.table'",
               [](honert_program *p) { part(p, "x", {4, 1}, {5, 1}); }},
        Broken{"part 'x' overlaps another part of 'exp_avg.table'",
               [](honert_program *p) { part(p, "x", {4, 2}, {1, 2}); }},
        Broken{"part 'x' has no name or another rank",
               [](honert_program *p) { part(p, "x", {4}, {1}); }},
        Broken{"part '' has no name or another rank",
               [](honert_program *p) { part(p, "", {5, 3}, {1, 1}); }},
        Broken{"two tensors answer to 'q'",
               [](honert_program *p) { part(p, "q", {5, 3}, {1, 1}); }},
        Broken{"has parts together with a value",
               [](honert_program *p) { honert_argument_data(p, "", 128); }},
        Broken{"has parts together with a value in the executable or aliases",
               [](honert_program *p) {
                 part(p, "x", {5, 3}, {1, 1});
                 honert_argument_init(p, normal, 0, 1, "other");
               }}));

} // namespace
