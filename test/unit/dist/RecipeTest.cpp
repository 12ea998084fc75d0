//===- RecipeTest.cpp - Words of a recipe ---------------------------------===//

#include "gtest/gtest.h"

#include "hone/Dist/Recipe.h"

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

TEST(Recipe, RefusesTwoLevels) {
  llvm::Expected<Recipe> recipe = parseRecipe("fs=2", "zero3,zero3-keep");
  ASSERT_FALSE(bool(recipe));
  EXPECT_EQ(llvm::toString(recipe.takeError()),
            "'zero3-keep': expected one level of zero");
}
