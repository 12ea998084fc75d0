//===- RecipeTest.cpp - Words of a recipe ---------------------------------===//

#include "gtest/gtest.h"

#include "hone/Sharding/Propagate/Recipe.h"

using namespace hone::dist;

static Recipe read(llvm::StringRef mesh, llvm::StringRef words) {
  llvm::Expected<Recipe> recipe = parseRecipe(mesh, words);
  EXPECT_TRUE(bool(recipe));
  return recipe ? *recipe : Recipe();
}

TEST(Recipe, DividesStateAlongAnAxisOfTheBatch) {
  EXPECT_EQ(read("dp=4", "fsdp").mesh, "fs=4");
  EXPECT_EQ(read("dp=4", "fsdp").fsdp, "zero3");
  EXPECT_EQ(read("dp=2,fs=4@net", "zero1").mesh, "dp=2,fs=4@net");
  EXPECT_EQ(read("dp=4", "ddp").mesh, "dp=4");
}

TEST(Recipe, NamesLevelsInOneWordOrTwo) {
  EXPECT_EQ(read("fs=2", "zero2").fsdp, "zero2");
  EXPECT_EQ(read("fs=2", "fsdp=zero2").fsdp, "zero2");
  EXPECT_EQ(read("fs=2", "zero3-keep").fsdp, "zero3-keep");
  EXPECT_TRUE(read("fs=2,tp=2", "fsdp=zero3-keep,sp").sequence);
}

TEST(Recipe, SaysHowAttentionGetsPositions) {
  EXPECT_EQ(read("cp=2", "").context, "");
  EXPECT_EQ(read("cp=2", "cp").context, "auto");
  EXPECT_EQ(read("dp=2,cp=2", "cp-gather").context, "gather");
  EXPECT_EQ(read("cp=4", "cp-ring").context, "ring");
  EXPECT_EQ(read("", "cp-heads,tp=2,cp=4").mesh, "cp=4,tp=2");
}

TEST(Recipe, DividesExpertsAlongEp) {
  EXPECT_EQ(read("dp=2,ep=4", "ep").mesh, "dp=2,ep=4");
  EXPECT_EQ(read("tp=2", "ep=4,ep,fs=2").mesh, "fs=2,ep=4,tp=2");
  EXPECT_EQ(read("ep=4", "ep").experts, "auto");
  EXPECT_EQ(read("ep=4", "ep-gather").experts, "gather");
  EXPECT_EQ(read("ep=4", "zero1,fs=2,ep-all-to-all").experts, "all-to-all");
  EXPECT_EQ(read("ep=4", "").experts, "");
  EXPECT_EQ(sizeOfAxis("dp=2,ep=4,tp=8", "ep"), 4);
  EXPECT_EQ(sizeOfAxis("dp=2", "ep"), 1);
  EXPECT_EQ(batchRanks("rep=3,fs=2,ep=4,tp=8"), 6);
  EXPECT_EQ(batchRanks(""), 1);
}

TEST(Recipe, RefusesTwoLevels) {
  llvm::Expected<Recipe> recipe = parseRecipe("fs=2", "zero3,zero3-keep");
  ASSERT_FALSE(bool(recipe));
  EXPECT_EQ(llvm::toString(recipe.takeError()),
            "'zero3-keep': expected one level of zero");
}

static std::string messageOf(llvm::StringRef mesh, llvm::StringRef words) {
  llvm::Expected<Recipe> recipe = parseRecipe(mesh, words);
  return recipe ? "" : llvm::toString(recipe.takeError());
}

TEST(Recipe, QuotesWordsAsTheyAreWritten) {
  llvm::StringRef wanted =
      ": expected an axis fs or dp, which divides state, as fs=2";
  for (std::string word : {"fsdp", "fsdp=zero3", "zero3", "zero3-keep"})
    EXPECT_EQ(messageOf("rep=2", word), "'" + word + "'" + wanted.str());
  EXPECT_EQ(messageOf("", "fsdp,sp"),
            "'fsdp,sp': expected a mesh, as dp=2,tp=2");
  EXPECT_EQ(messageOf("dp=2", "cp-heads"),
            "'cp-heads': expected an axis cp, which divides positions, as "
            "cp=2");
  EXPECT_EQ(messageOf("cp=2", "cp-heads,cp-gather"),
            "'cp-gather': expected one way to divide positions");
}

TEST(Recipe, PutsAxesInTheirPlaces) {
  EXPECT_EQ(read("", "tp=4,sp,zero3,fs=3,rep=2").mesh, "rep=2,fs=3,tp=4");
  EXPECT_EQ(read("", "tp=4,cp=2,fs=3").mesh, "fs=3,cp=2,tp=4");
  EXPECT_EQ(read("", "tp=4@nvlink,dp=2").mesh, "dp=2,tp=4@nvlink");
  EXPECT_EQ(read("rep=2,tp=2", "fs=3,dp=5").mesh, "rep=2,dp=5,fs=3,tp=2");
  // What the mesh says stays as it is.
  EXPECT_EQ(read("tp=2,dp=2", "rep=3").mesh, "rep=3,tp=2,dp=2");
  EXPECT_EQ(read("tp=2,dp=2", "fs=3").mesh, "fs=3,tp=2,dp=2");
  EXPECT_EQ(read("tp=2", "zero1,dp=4").mesh, "fs=4,tp=2");
}

TEST(Recipe, RefusesExpertsWithoutAnAxis) {
  EXPECT_EQ(messageOf("dp=2", "ep"),
            "'ep': expected an axis ep, which divides experts, as ep=2");
  EXPECT_EQ(messageOf("", "ep"), "'ep': expected a mesh, as dp=2,tp=2");
}
