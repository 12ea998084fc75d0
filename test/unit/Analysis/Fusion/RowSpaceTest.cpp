//===- RowSpaceTest.cpp - Roles of values in a space of rows --------------===//

#include "hone/Analysis/Fusion/RowSpace.h"

#include "ParsedFunction.h"

using namespace mlir;
using namespace hone;

namespace {

TEST(RowSpace, StatisticsOfRows) {
  ParsedFunction f("%x: tensor<2x4x64xf32>", R"(
    %m = hone.reduce max %x dims [2] : tensor<2x4x64xf32> -> tensor<2x4xf32>
    %b = hone.broadcast %m dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x64xf32>
    %s = hone.sub %x, %b : tensor<2x4x64xf32>)");
  std::optional<RowSpace> space = RowSpace::find(f.ops());
  ASSERT_TRUE(space);
  EXPECT_EQ(space->rows(), 8);
  EXPECT_EQ(space->cols(), 64);
  EXPECT_EQ(space->role(f.argument(0)), Role::Full);
  EXPECT_EQ(space->role(f.result(0)), Role::Row);
  EXPECT_EQ(space->role(f.result(1)), Role::Full);
  EXPECT_TRUE(space->hasReduction());
  EXPECT_FALSE(space->hasPartialSums());
}

TEST(RowSpace, OperandsOfMaps) {
  ParsedFunction f("%x: tensor<2x4x64xf32>, %c: tensor<64xf32>, "
                   "%t: tensor<4x64xf32>, %s: tensor<f32>, %r: tensor<2x4xf32>",
                   R"(
    %a = hone.broadcast %c dims [2] : tensor<64xf32> -> tensor<2x4x64xf32>
    %b = hone.broadcast %t dims [1, 2] : tensor<4x64xf32> -> tensor<2x4x64xf32>
    %d = hone.broadcast %s dims [] : tensor<f32> -> tensor<2x4x64xf32>
    %e = hone.broadcast %r dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x64xf32>
    %f = hone.add %x, %a : tensor<2x4x64xf32>
    %g = hone.add %f, %b : tensor<2x4x64xf32>
    %h = hone.add %g, %d : tensor<2x4x64xf32>
    %i = hone.add %h, %e : tensor<2x4x64xf32>)");
  std::optional<RowSpace> space = RowSpace::find(f.ops());
  ASSERT_TRUE(space);
  EXPECT_EQ(space->role(f.argument(0)), Role::Full);
  EXPECT_EQ(space->role(f.argument(1)), Role::Col);
  EXPECT_EQ(space->role(f.argument(2)), Role::Cyclic);
  EXPECT_EQ(space->period(f.argument(2)), 4);
  EXPECT_EQ(space->role(f.argument(3)), Role::Scalar);
  EXPECT_EQ(space->role(f.argument(4)), Role::Row);
  EXPECT_FALSE(space->hasReduction());
}

TEST(RowSpace, SumsOverRows) {
  ParsedFunction f("%x: tensor<8x64xf32>", R"(
    %c = hone.reduce sum %x dims [0] : tensor<8x64xf32> -> tensor<64xf32>
    %t = hone.reduce sum %x dims [0, 1] : tensor<8x64xf32> -> tensor<f32>)");
  std::optional<RowSpace> space = RowSpace::find(f.ops());
  ASSERT_TRUE(space);
  EXPECT_EQ(space->role(f.result(0)), Role::ColumnSum);
  EXPECT_EQ(space->role(f.result(1)), Role::TotalSum);
  EXPECT_TRUE(space->hasPartialSums());
}

TEST(RowSpace, KeyOfDropout) {
  ParsedFunction f("%x: tensor<8x64xf32>, %k: tensor<3xi64>", R"(
    %d = hone.dropout %x, %k p 0.5 salt 1 : tensor<8x64xf32>, tensor<3xi64>)");
  std::optional<RowSpace> space = RowSpace::find(f.ops());
  ASSERT_TRUE(space);
  EXPECT_EQ(space->role(f.argument(1)), Role::Key);
}

TEST(RowSpace, OriginOfDropout) {
  ParsedFunction f("%x: tensor<8x64xf32>, %k: tensor<3xi64>, %i: tensor<i64>",
                   R"(
    %c = hone.constant dense<64> : tensor<i64>
    %o = hone.mul %i, %c : tensor<i64>
    %d = hone.dropout %x, %k p 0.5 salt 1 origin %o of [8, 128] : tensor<8x64xf32>, tensor<3xi64>)");
  std::optional<RowSpace> space = RowSpace::find(f.ops());
  ASSERT_TRUE(space);
  EXPECT_EQ(space->role(f.argument(2)), Role::Scalar);
}

TEST(RowSpace, EqualNumbersHaveEveryRole) {
  ParsedFunction f("%x: tensor<8x64xf32>", R"(
    %o = hone.constant dense<1.0> : tensor<8x64xf32>
    %a = hone.add %x, %o : tensor<8x64xf32>)");
  EXPECT_TRUE(RowSpace::find(f.ops()));
}

TEST(RowSpace, ATableOfNumbersHasNone) {
  ParsedFunction f("", R"(
    %c = hone.constant dense<[1.0, 2.0]> : tensor<2xf32>)");
  EXPECT_FALSE(RowSpace::find(f.ops()));
}

TEST(RowSpace, ASumOverRowsIsNotReadInside) {
  ParsedFunction f("%x: tensor<8x64xf32>", R"(
    %c = hone.reduce sum %x dims [0] : tensor<8x64xf32> -> tensor<64xf32>
    %e = hone.exp %c : tensor<64xf32>)");
  EXPECT_FALSE(RowSpace::find(f.ops()));
}

TEST(RowSpace, OnlySumsHavePartialResults) {
  ParsedFunction f("%x: tensor<8x64xf32>", R"(
    %c = hone.reduce max %x dims [0] : tensor<8x64xf32> -> tensor<64xf32>)");
  EXPECT_FALSE(RowSpace::find(f.ops()));
}

// Partial sums are f32 in memory.
TEST(RowSpace, OnlySumsOfF32HavePartialResults) {
  ParsedFunction f("%x: tensor<8x64xf64>", R"(
    %c = hone.reduce sum %x dims [0] : tensor<8x64xf64> -> tensor<64xf64>)");
  EXPECT_FALSE(RowSpace::find(f.ops()));
}

TEST(RowSpace, TransposesHaveNoSpace) {
  ParsedFunction f("%x: tensor<8x64xf32>", R"(
    %t = hone.transpose %x [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>)");
  EXPECT_FALSE(RowSpace::find(f.ops()));
}

TEST(RowSpace, ASpaceWithoutPointsMakesNoNumber) {
  ParsedFunction f("%x: tensor<0x64xf32>, %s: tensor<f32>", R"(
    %e = hone.exp %s : tensor<f32>
    %b = hone.broadcast %e dims [] : tensor<f32> -> tensor<0x64xf32>
    %r = hone.mul %x, %b : tensor<0x64xf32>)");
  EXPECT_FALSE(RowSpace::find(f.ops()));
  EXPECT_TRUE(RowSpace::find(llvm::ArrayRef(f.ops()).drop_front()));
  EXPECT_TRUE(RowSpace::of(f.ops().front()));
}

TEST(RowSpace, ChunksDependOnRowsAlone) {
  EXPECT_EQ(numChunks(0, 64), 0);
  EXPECT_EQ(numChunks(1, 64), 1);
  EXPECT_EQ(numChunks(64, 64), 64);
  EXPECT_EQ(numChunks(65, 64), 33); // two rows each, the last chunk one
  for (int64_t limit : {64, 264})
    for (int64_t rows = 1; rows != 1000; ++rows) {
      int64_t chunks = numChunks(rows, limit);
      int64_t perChunk = rowsPerChunk(rows, limit);
      EXPECT_LE(chunks, limit);
      EXPECT_GE(chunks * perChunk, rows);
      EXPECT_LT((chunks - 1) * perChunk, rows);
      // Kernels read the rows of a chunk off the number of chunks.
      EXPECT_EQ(perChunk, (rows + chunks - 1) / chunks);
    }
}
} // namespace
