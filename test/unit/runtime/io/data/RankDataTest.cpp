//===- RankDataTest.cpp - What each rank reads ----------------------------===//

#include "io/data/Batches.h"
#include "io/data/NamedInputs.h"
#include "support/DividedModel.h"
#include "support/Ranks.h"
#include "support/Run.h"
#include "train/SameData.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace honert;

namespace {

const ThreadPool &pool() {
  static ThreadPool pool(2);
  return pool;
}

/// One of several ranks, which asks no other one.
class LonelyRank final : public ProcessGroup {
public:
  LonelyRank(int64_t own, int64_t ranks) : own(own), ranks(ranks) {}
  int64_t rank() const override { return own; }
  int64_t size() const override { return ranks; }
  Status broadcast(void *, int64_t, int64_t) override {
    return Status::error("nobody is there");
  }
  Status allGather(const void *, int64_t, void *) override {
    return Status::error("nobody is there");
  }

private:
  int64_t own, ranks;
};

using AxesByDim =
    std::vector<std::pair<std::vector<const char *>, std::vector<int64_t>>>;

/// Tokens and targets [12, 8] and an input "mask" [12, 3], on a mesh.
test::ProgramPtr dividedInputs(const test::MeshSizes &mesh,
                               const AxesByDim &divisions) {
  test::ProgramPtr program = test::makeProgram();
  for (const auto &[name, size] : mesh)
    honert_mesh_axis(program.get(), name.c_str(), size, "");
  test::Layout layout;
  auto add = [&](const char *fqn, DType dtype, std::vector<int64_t> whole,
                 int64_t role) {
    test::DividedTensor tensor = {4, fqn, dtype, whole, divisions};
    int64_t offset = layout.take(*byteCount(dtype, whole));
    test::describe(tensor, mesh, offset, program.get());
    if (role)
      honert_argument_role(program.get(), role, 1000);
  };
  add("x", DType::i64, {12, 8}, 1);
  add("y", DType::i32, {12, 8}, 2);
  add("mask", DType::f32, {12, 4}, 0);
  honert_arena(program.get(), layout.bytes());
  return program;
}

struct DividedInputs {
  const char *name;
  test::MeshSizes mesh;
  AxesByDim divisions;
};

class BatchesOfRanks : public testing::TestWithParam<DividedInputs> {
protected:
  BatchesOfRanks() {
    std::vector<uint16_t> ids(400);
    std::iota(ids.begin(), ids.end(), uint16_t{0});
    test::writeFile(data, test::bytesOf(ids));
    std::vector<float> values(3 * 12 * 4);
    std::iota(values.begin(), values.end(), 0.0f);
    test::writeFile(mask,
                    test::npy("<f4", "(3, 12, 4)", test::bytesOf(values)));
  }

  /// Every input of batch `index` on one rank, as it lies there.
  std::vector<std::vector<double>> load(const Program &program, int64_t rank,
                                        int64_t index, bool shuffle) {
    LonelyRank world(rank, program.mesh.ranks());
    Batches batches;
    NamedInputs named;
    EXPECT_TRUE(
        batches.open(test::oneSource(data), program, world, shuffle, 3, pool())
            .ok());
    Status status = named.open({{"mask", mask}}, program, world, true);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<char> arena(static_cast<size_t>(program.arenaBytes));
    EXPECT_TRUE(batches.load(index, arena.data()).ok());
    EXPECT_TRUE(named.load(index, arena.data()).ok());
    std::vector<std::vector<double>> inputs;
    for (const Argument &argument : program.arguments) {
      inputs.emplace_back();
      for (int64_t i = 0; i != *elementCount(argument.dims); ++i)
        inputs.back().push_back(loadElement(
            argument.dtype,
            &arena[argument.offset + i * byteWidth(argument.dtype)]));
    }
    return inputs;
  }

  test::Folder folder;
  std::string data = folder / "tokens", mask = folder / "mask.npy";
};

/// Each rank has its elements of the batch that one rank would read, no other
/// windows, and together they have all of it.
TEST_P(BatchesOfRanks, are_parts_of_the_batch_of_one) {
  test::ProgramPtr one = dividedInputs({}, {});
  test::ProgramPtr many = dividedInputs(GetParam().mesh, GetParam().divisions);
  const Mesh &mesh = many->mesh;
  for (bool shuffle : {false, true})
    for (int64_t index : {0, 1, 7}) {
      auto whole = load(*one, 0, index, shuffle);
      for (size_t i = 0; i != many->arguments.size(); ++i) {
        const Argument &argument = many->arguments[i];
        std::vector<bool> isRead(whole[i].size());
        for (int64_t rank = 0; rank != mesh.ranks(); ++rank) {
          auto own = load(*many, rank, index, shuffle);
          PartLayout layout(argument, argument.parts.front(), mesh, rank);
          EXPECT_EQ(layout.size(), *elementCount(argument.dims));
          layout.forEachRun(
              0, layout.size(),
              [&](int64_t element, int64_t place, int64_t length) {
                for (int64_t j = 0; j < length; ++j) {
                  ASSERT_EQ(own[i][size_t(place + j)],
                            whole[i][size_t(element + j)]);
                  isRead[size_t(element + j)] = true;
                }
              });
        }
        EXPECT_EQ(std::count(isRead.begin(), isRead.end(), false), 0);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Divisions, BatchesOfRanks,
    testing::Values(
        DividedInputs{"rows", {{"dp", 4}}, {{{"dp"}, {}}}},
        DividedInputs{"rows_twice",
                      {{"rep", 2}, {"tp", 2}, {"fs", 3}},
                      {{{"fs", "rep"}, {}}}},
        DividedInputs{"columns", {{"tp", 2}}, {{{}, {}}, {{"tp"}, {}}}},
        DividedInputs{
            "both", {{"dp", 3}, {"cp", 4}}, {{{"dp"}, {}}, {{"cp"}, {}}}},
        DividedInputs{"cut", {{"dp", 2}}, {{{"dp"}, {4}}}}),
    [](const auto &info) { return info.param.name; });

TEST(RankInputs, one_rank_finds_the_wrong_id) {
  test::Folder folder;
  std::vector<uint16_t> ids(300000);
  ids[200000] = 2000; // in the last of three shares
  test::writeFile(folder / "tokens", test::bytesOf(ids));
  test::ProgramPtr program = dividedInputs({{"dp", 3}}, {{{"dp"}, {}}});
  for (int64_t rank = 0; rank != 3; ++rank) {
    Batches batches;
    Status status = batches.open(test::oneSource(folder / "tokens"), *program,
                                 LonelyRank(rank, 3), false, 0, pool());
    EXPECT_EQ(status.ok(), rank != 2) << status.message();
  }
}

TEST(RankInputs, files_hold_values_of_all_ranks) {
  test::Folder folder;
  test::writeFile(folder / "mask.npy",
                  test::npy("<f4", "(6, 4)", std::string(96, '\0')));
  test::ProgramPtr program = dividedInputs({{"dp", 2}}, {{{"dp"}, {}}});
  EXPECT_EQ(
      NamedInputs()
          .open({{"mask", folder / "mask.npy"}}, *program, LonelyRank(0, 2),
                true)
          .message(),
      folder / "mask.npy" +
          ": float32 of shape [6, 4], expected f32 of shape [12, 4] (input "
          "'mask'), or that with a first dimension of micro-batches");
}

Options optionsOf(const std::string &data) {
  Options options;
  options.data = {data};
  options.sources = test::oneSource(data);
  return options;
}

TEST(RankInputs, another_file_on_one_rank_is_named) {
  test::Folder folder;
  // Of one size; the second differs in its last byte.
  std::string text(3 << 20, 'x');
  test::writeFile(folder / "a", text);
  text.back() = 'y';
  test::writeFile(folder / "b", text);
  auto check = [&](const char *ofRankTwo) {
    return test::runRanks(3, [&, ofRankTwo](ProcessGroup &world) {
      return checkSameData(
          optionsOf(folder / (world.rank() == 2 ? ofRankTwo : "a")), world);
    });
  };
  for (const Status &status : check("a"))
    EXPECT_TRUE(status.ok()) << status.message();
  for (const Status &status : check("b"))
    EXPECT_EQ(status.message(),
              "--data: rank 2 has another file than the first rank (size, "
              "first or last MiB differ), expected the same on all ranks");
  std::vector<Status> missing = check("missing");
  EXPECT_NE(missing[2].message().find("missing: cannot be read"),
            std::string::npos);
  EXPECT_FALSE(missing[0].ok());
}

} // namespace
