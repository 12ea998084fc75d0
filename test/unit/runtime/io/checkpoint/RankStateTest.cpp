//===- RankStateTest.cpp - Files of runs of several ranks -----------------===//
//
// One model on many meshes: its files have the same bytes on all of them.
//
//===----------------------------------------------------------------------===//

#include "comm/host/SingleProcess.h"
#include "io/SharedFiles.h"
#include "io/checkpoint/Folder.h"
#include "support/DividedModel.h"
#include "support/Ranks.h"
#include "support/Run.h"
#include "train/WorkingCopies.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

using namespace honert;
using test::expectAll;
using test::MeshSizes;

namespace {

const MeshSizes meshes[] = {
    {},
    {{"a", 2}},
    {{"a", 4}},
    {{"b", 3}},
    {{"a", 2}, {"b", 2}},
    {{"c", 2}, {"a", 2}},
    {{"a", 2}, {"b", 2}, {"c", 2}},
    {{"other", 2}, {"a", 2}},
};

/// A rank of the model with its arena, whose bytes are all set at first.
struct Instance {
  explicit Instance(const MeshSizes &mesh) : program(test::dividedState(mesh)) {
    EXPECT_TRUE(arena.allocate(program->arenaBytes, "the arena").ok());
    std::memset(arena.at(0), 0x7f, size_t(program->arenaBytes));
  }
  Status start(ProcessGroup &world, uint64_t seed,
               const std::string &init = "") {
    std::string origin;
    std::vector<const Argument *> zeros;
    Status status = startState({init}, *program, world, seed, ThreadPool(1),
                               arena, origin, zeros);
    for (const Argument *argument : zeros)
      std::memset(arena.at(argument->offset), 0, size_t(argument->bytes));
    return status;
  }

  test::ProgramPtr program;
  Arena arena;
};

int64_t ranksOf(const MeshSizes &mesh) {
  int64_t ranks = 1;
  for (const auto &axis : mesh)
    ranks *= axis.second;
  return ranks;
}

/// Starts the model on `mesh` and saves it to `name`.w and `name`.s.
void startAndSave(const MeshSizes &mesh, uint64_t seed, const std::string &init,
                  const std::string &name) {
  expectAll(ranksOf(mesh), [&](ProcessGroup &world) {
    Instance instance(mesh);
    HONERT_TRY(instance.start(world, seed, init));
    HONERT_TRY(saveWeights(name + ".w", *instance.program, world,
                           instance.arena, {{"step", "0"}}));
    return saveState(name + ".s", *instance.program, world, instance.arena,
                     nullptr);
  });
}

class OnMesh : public testing::TestWithParam<MeshSizes> {};

TEST_P(OnMesh, fresh_files_are_those_of_one_rank) {
  test::Folder folder;
  startAndSave({}, 5, "", folder / "one");
  startAndSave(GetParam(), 5, "", folder / "many");
  EXPECT_EQ(test::readFile(folder / "many.w"),
            test::readFile(folder / "one.w"));
  EXPECT_EQ(test::readFile(folder / "many.s"),
            test::readFile(folder / "one.s"));
  std::filesystem::directory_iterator files(folder.path), end;
  EXPECT_EQ(std::distance(files, end), 4); // nothing is left over
}

TEST_P(OnMesh, initial_weights_are_read_in_parts) {
  test::Folder folder;
  startAndSave({}, 5, "", folder / "one");
  startAndSave({}, 6, folder / "one.w", folder / "two");
  startAndSave(GetParam(), 6, folder / "one.w", folder / "many");
  EXPECT_EQ(test::readFile(folder / "many.w"),
            test::readFile(folder / "two.w"));
  EXPECT_EQ(test::readFile(folder / "many.s"),
            test::readFile(folder / "two.s"));
}

TEST_P(OnMesh, checkpoints_load_on_every_other) {
  test::Folder folder;
  startAndSave({}, 7, "", folder / "one");
  RunPosition position = {12, 12, 7, true, 1000};
  expectAll(ranksOf(GetParam()), [&](ProcessGroup &world) {
    Instance instance(GetParam());
    HONERT_TRY(instance.start(world, 7));
    CheckpointFolder checkpoints(folder / "c", *instance.program, world);
    HONERT_TRY(checkpoints.open(false));
    return checkpoints.save(position, instance.arena);
  });
  EXPECT_EQ(test::readFile(folder / "c/step-00000012/state.safetensors"),
            test::readFile(folder / "one.s"));
  for (const MeshSizes &mesh : meshes) {
    expectAll(ranksOf(mesh), [&](ProcessGroup &world) {
      Instance instance(mesh);
      CheckpointFolder checkpoints(folder / "c", *instance.program, world);
      HONERT_TRY(checkpoints.open(true));
      std::optional<RunPosition> found;
      HONERT_TRY(checkpoints.restore(instance.arena, found));
      EXPECT_EQ(*found, position);
      return saveState(folder / "again.s", *instance.program, world,
                       instance.arena, nullptr);
    });
    EXPECT_EQ(test::readFile(folder / "again.s"),
              test::readFile(folder / "one.s"))
        << test::textOf(mesh);
  }
}

INSTANTIATE_TEST_SUITE_P(Meshes, OnMesh, testing::ValuesIn(meshes),
                         [](const auto &info) {
                           return "number_" + std::to_string(info.index);
                         });

/// Of the copy in low precision each rank has all, of the parameter a part.
TEST_P(OnMesh, copies_are_rounded_whole) {
  test::Folder folder;
  startAndSave({}, 5, "", folder / "one");
  auto expectCopy = [](const Instance &of, const Instance &one) {
    const Argument *copy = of.program->argument(Kind::workingCopy, "master");
    const Argument *whole = one.program->argument(Kind::param, "master");
    for (int64_t i = 0; i != 40; ++i) {
      uint16_t rounded;
      storeElement(
          DType::bf16, &rounded,
          loadElement(DType::f32, one.arena.at(whole->offset) + 4 * i));
      EXPECT_EQ(std::memcmp(of.arena.at(copy->offset) + 2 * i, &rounded, 2), 0);
    }
  };
  Instance one({});
  ASSERT_TRUE(one.start(*makeSingleProcess(), 5).ok());
  expectAll(ranksOf(GetParam()), [&](ProcessGroup &world) {
    Instance fresh(GetParam()), fromWeights(GetParam()), restored(GetParam());
    for (Instance *each : {&fresh, &fromWeights, &restored}) {
      if (each == &restored)
        HONERT_TRY(
            loadState(folder / "one.s", *each->program, world, each->arena));
      else
        HONERT_TRY(each->start(world, each == &fresh ? 5 : 6,
                               each == &fresh ? "" : folder / "one.w"));
      fillWorkingCopies(*each->program, ThreadPool(1), each->arena);
      expectCopy(*each, one);
    }
    return Status();
  });
}

TEST_P(OnMesh, a_damaged_checkpoint_is_skipped_by_all) {
  test::Folder folder;
  testing::internal::CaptureStderr();
  expectAll(ranksOf(GetParam()), [&](ProcessGroup &world) {
    Instance instance(GetParam());
    CheckpointFolder checkpoints(folder / "c", *instance.program, world);
    HONERT_TRY(checkpoints.open(false));
    for (int64_t step : {3, 4}) {
      HONERT_TRY(instance.start(world, uint64_t(step)));
      HONERT_TRY(checkpoints.save({step, step, 0, false, 0}, instance.arena));
    }
    std::string newest = folder / "c/step-00000004/state.safetensors";
    if (world.isFirst()) {
      std::string bytes = test::readFile(newest);
      bytes.back() ^= 1;
      test::writeFile(newest, bytes);
    }
    HONERT_TRY(world.barrier());
    std::optional<RunPosition> found;
    HONERT_TRY(checkpoints.restore(instance.arena, found));
    EXPECT_EQ(found->step, 3);
    // Without any good one all fail.
    if (world.isFirst())
      test::writeFile(folder / "c/step-00000003/manifest.json", "");
    HONERT_TRY(world.barrier());
    EXPECT_EQ(checkpoints.restore(instance.arena, found).message(),
              folder / "c" + ": every checkpoint is damaged; expected one good "
                             "checkpoint (or start without --resume)");
    return Status();
  });
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("warning: " + (folder / "c/step-00000004")), 0u) << text;
}

/// One rank sees another size (a network file system may be late).
TEST_P(OnMesh, a_checkpoint_that_ranks_see_differently_is_kept) {
  if (ranksOf(GetParam()) == 1)
    return;
  test::Folder folder;
  testing::internal::CaptureStderr();
  expectAll(ranksOf(GetParam()), [&](ProcessGroup &world) {
    Instance instance(GetParam());
    {
      CheckpointFolder checkpoints(folder / "c", *instance.program, world);
      HONERT_TRY(checkpoints.open(false));
      HONERT_TRY(instance.start(world, 1));
      for (int64_t step : {3, 4})
        HONERT_TRY(checkpoints.save({step, step, 0, false, 0}, instance.arena));
    }
    if (world.isFirst()) {
      std::filesystem::copy(folder / "c", folder / "d",
                            std::filesystem::copy_options::recursive);
      std::filesystem::resize_file(folder / "d/step-00000004/state.safetensors",
                                   40);
    }
    HONERT_TRY(world.barrier());
    CheckpointFolder seen(folder / (world.rank() == 1 ? "d" : "c"),
                          *instance.program, world);
    std::optional<RunPosition> found;
    std::string message = seen.restore(instance.arena, found).message();
    EXPECT_NE(message.find(world.rank() == 1 ? "has 40 bytes, and "
                                             : "rank 1 has failed"),
              std::string::npos)
        << message;
    EXPECT_FALSE(found);
    return Status();
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(RankFiles, ranks_share_the_reading_of_a_checksum) {
  test::Folder folder;
  const auto share = size_t(FileChecksum::share);
  for (size_t size : {size_t(0), size_t(5), share, 2 * share + 7, 5 * share}) {
    std::string bytes(size, 'x');
    for (size_t i = 0; i < size; i += 1000)
      bytes[i] = char(i / 1000);
    test::writeFile(folder / "f", bytes);
    FileChecksum whole, pieces;
    whole.add(bytes.data(), int64_t(size));
    for (size_t at = 0; at < size; at += 99999)
      pieces.add(&bytes[at], int64_t(std::min<size_t>(99999, size - at)));
    EXPECT_EQ(whole.value(), pieces.value());
    for (int64_t ranks : {1, 2, 4})
      expectAll(ranks, [&](ProcessGroup &world) {
        uint64_t value = 0;
        HONERT_TRY(checksumOf(folder / "f", world, value));
        EXPECT_EQ(value, whole.value()) << size;
        return Status();
      });
  }
}

/// Where it has become shorter a mapping would end the process.
TEST(RankFiles, a_file_that_ends_early_is_an_error) {
  test::Folder folder;
  std::string path = folder / "f";
  test::writeFile(path, std::string(100, 'x'));
  ReadFile file;
  ASSERT_TRUE(file.open(path).ok());
  EXPECT_EQ(file.size(), 100);
  std::filesystem::resize_file(path, 40);
  char bytes[60];
  EXPECT_TRUE(file.readAt(10, bytes, 30).ok());
  EXPECT_EQ(file.readAt(10, bytes, 60).message(),
            path + ": ends at byte 40, expected 100");
}

/// The first rank makes it as long as it will be before others write.
TEST(RankFiles, a_file_of_several_ranks_has_its_size_at_once) {
  test::Folder folder;
  AtomicFile file;
  ASSERT_TRUE(file.create(folder / "f").ok());
  ASSERT_TRUE(file.resize(100).ok());
  AtomicFile other;
  ASSERT_TRUE(other.join(folder / "f", file.temporaryName()).ok());
  EXPECT_EQ(std::filesystem::file_size(file.temporaryName()), 100u);
  ASSERT_TRUE(other.writeAt(98, "ab", 2).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(test::readFile(folder / "f"), std::string(98, '\0') + "ab");
}

TEST(RankFiles, a_rank_that_finds_no_folder_fails_all) {
  test::Folder folder;
  std::vector<Status> results = test::runRanks(3, [&](ProcessGroup &world) {
    // Only the first rank sees the folder that it has made.
    if (world.isFirst())
      HONERT_TRY(makeFolder(folder / "own"));
    std::string path = folder / "own/file";
    AtomicFile file;
    HONERT_TRY(world.agree(world.isFirst() ? file.create(path) : Status()));
    std::string name =
        world.isFirst() ? file.temporaryName() : folder / "none/.file.tmp";
    return world.agree(world.isFirst() ? Status() : file.join(path, name));
  });
  EXPECT_FALSE(results[0].ok());
  EXPECT_EQ(results[2].message(),
            folder / "own/file" + ": cannot be written where the first rank "
                                  "writes: No such file or directory");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "own"));
}

TEST(RankFiles, what_all_ranks_see_is_shared) {
  test::Folder folder;
  expectAll(3, [&](ProcessGroup &world) {
    return checkShared(world, folder / "file");
  });
  for (const Status &status : test::runRanks(3, [&](ProcessGroup &world) {
         return checkShared(world, folder / "missing/file");
       }))
    EXPECT_FALSE(status.ok());
}

TEST(RankProgram, a_value_in_the_executable_is_whole) {
  test::ProgramPtr program = test::dividedState({{"a", 2}});
  const char part[8] = {};
  for (Argument &argument : program->arguments)
    if (argument.fqn == "mask")
      argument.data = part, argument.dataBytes = sizeof part;
  EXPECT_EQ(program->check().message(),
            "program: argument 'mask' has 16 bytes, but its value 8");
}

} // namespace
