//===- FileArenaTest.cpp - The second arena as a file ---------------------===//

#include "exec/cpu/FileArena.h"
#include "base/Arena.h"
#include "support/Describe.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace honert;
using namespace test;

namespace {

constexpr auto down = CopyDirection::down, up = CopyDirection::up;

std::string checkProgram(const ProgramPtr &program) {
  return program->check().message();
}

/// A program that trains nothing, with `copies` in its step.
template <typename Body> std::string checkWith(const Body &copies) {
  ProgramPtr program = makeProgram();
  honert_arena(program.get(), 256);
  honert_host_arena(program.get(), 128);
  const int64_t dims[] = {16};
  honert_argument(program.get(), int64_t(Kind::opt), "m", int64_t(DType::f32),
                  1, dims, 64);
  honert_argument_host(program.get());
  honert_function(program.get(), "step");
  copies(program.get());
  honert_result(program.get(), "loss", int64_t(DType::f32), 0, nullptr, 0);
  return checkProgram(program);
}

} // namespace

TEST(FileArena, CopiesOfOneDirectionAreInOrderAndDirectionsBesideEachOther) {
  constexpr int64_t bytes = 9 << 20; // more than a piece
  FileArena host;
  ASSERT_EQ(host.create("", 2 * bytes).message(), "");
  std::vector<char> arena(3 * bytes);
  std::iota(arena.begin(), arena.begin() + bytes, 0);
  host.start(arena.data());
  host.begin({down, 0, 0, bytes, 0});
  host.begin({down, 1, bytes, bytes - 1, 0});
  ASSERT_TRUE(host.wait(0).ok());
  host.begin({up, bytes, 0, bytes, 1});
  host.begin({up, 2 * bytes, bytes, bytes - 1, 2});
  ASSERT_TRUE(host.wait(2).ok());
  EXPECT_TRUE(
      std::equal(arena.begin(), arena.begin() + bytes, arena.begin() + bytes));
  EXPECT_TRUE(std::equal(arena.begin() + 1, arena.begin() + bytes,
                         arena.begin() + 2 * bytes));
}

TEST(FileArena, TheMappedFileIsWhatIsCopied) {
  constexpr int64_t page = 2 << 20;
  FileArena host;
  ASSERT_EQ(host.create("", 4096).message(), "");
  Arena arena;
  arena.placeFile(host.descriptor(), page, 4096);
  ASSERT_EQ(arena.allocate(100, "the arena").message(), "");
  host.start(arena.at(0));
  EXPECT_EQ(arena.bytes(), 100);
  EXPECT_EQ(*arena.at(page + 7), 0); // room is zeros
  *arena.at(page + 7) = 3;
  host.begin({up, 0, 0, 64, 0});
  ASSERT_TRUE(host.wait(0).ok());
  EXPECT_EQ(*arena.at(7), 3);
  *arena.at(7) = 5;
  host.begin({down, 0, 0, 64, 1});
  ASSERT_TRUE(host.wait(1).ok());
  arena.pass(page, 4096); // leaves the process, not the file
  EXPECT_EQ(*arena.at(page + 7), 5);
  ASSERT_TRUE(host.zero(0, 64).ok());
  EXPECT_EQ(*arena.at(page + 7), 0);
  *arena.at(9) = 1;
  arena.pass(0, 100); // not of the file
  EXPECT_EQ(*arena.at(9), 1);
}

TEST(FileArena, ADiskWithoutRoomIsAnError) {
  FileArena host;
  std::string message = host.create("/var/tmp", int64_t(1) << 61).message();
  EXPECT_NE(message.find("the second arena needs "), message.npos) << message;
  EXPECT_NE(message.find(" of disk; /var/tmp has "), message.npos) << message;
  EXPECT_NE(message.find("(--offload-dir DIR names another folder)"),
            message.npos);
}

TEST(FileArena, ProgramsAreChecked) {
  auto copy = [](int64_t offset, int64_t hostOffset, int64_t bytes) {
    return checkWith([=](honert_program *program) {
      honert_copy(program, "copy", int64_t(up), offset, hostOffset, bytes, 0);
      honert_copy_wait(program, 0);
    });
  };
  EXPECT_EQ(copy(0, 64, 64), "");
  std::string outside =
      "program: a copy of 192 bytes of step reaches outside an arena";
  EXPECT_EQ(copy(0, 0, 192), outside);
  EXPECT_EQ(copy(128, -64, 192), outside);
  EXPECT_EQ(copy(0, 64, -1),
            "program: a copy of -1 bytes of step reaches outside an arena");
  EXPECT_EQ(
      checkWith([](honert_program *program) { honert_copy_wait(program, 4); }),
      "program: function step waits for copies, but none is under way, "
      "of token 4");
  EXPECT_EQ(checkWith([](honert_program *program) {
              honert_copy(program, "copy", int64_t(up), 0, 0, 64, 7);
            }),
            "program: function step does not wait for copies of token 7");
  EXPECT_EQ(checkWith([](honert_program *program) {
              honert_copy(program, "copy", 2, 0, 0, 64, 0);
              honert_copy_wait(program, 0);
            }),
            "program: copy direction 2 is not known");
}

TEST(FileArena, OnlyStateLiesInTheSecondArena) {
  auto place = [](Kind kind, int64_t offset) {
    ProgramPtr program = makeProgram();
    honert_arena(program.get(), 64);
    honert_host_arena(program.get(), 128);
    const int64_t dims[] = {16};
    honert_argument(program.get(), int64_t(kind), "x", int64_t(DType::f32), 1,
                    dims, offset);
    honert_argument_host(program.get());
    return checkProgram(program);
  };
  EXPECT_EQ(place(Kind::grad, 0),
            "program: argument 'x' of kind grad lies in "
            "the second arena, expected state or a working "
            "copy");
  EXPECT_EQ(place(Kind::opt, 192), "program: argument 'x' at 192 of the second "
                                   "arena, which has 128 bytes");
  EXPECT_EQ(place(Kind::opt, 128),
            "program: argument 'x' is outside the second arena, not at a "
            "multiple of 64, or a window");
}
