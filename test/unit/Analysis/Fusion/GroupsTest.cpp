//===- GroupsTest.cpp - Which ops share a kernel --------------------------===//

#include "hone/Analysis/Fusion/Groups.h"

#include "ParsedFunction.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace hone;

namespace {
SmallVector<FusionGroup> planFusion(Block &block) {
  FusionAnalysis analysis(block, TargetDescription());
  return SmallVector<FusionGroup>(analysis.groups());
}

/// Families and numbers of ops of the groups: "row 3, contraction 1".
std::string describe(ArrayRef<FusionGroup> groups) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(groups, stream, [&](const FusionGroup &group) {
    stream << stringifyKernelFamily(group.family) << " " << group.ops.size();
  });
  return text;
}

std::string plan(StringRef arguments, StringRef body) {
  ParsedFunction function(arguments, body);
  return describe(planFusion(function.block()));
}

TEST(FusionGroups, LayerNormBackwardAndParameterGradientsAreOne) {
  EXPECT_EQ(plan("%g: tensor<8x64xf32>, %x: tensor<8x64xf32>, "
                 "%mean: tensor<8xf32>, %rstd: tensor<8xf32>",
                 R"(
    %m = hone.broadcast %mean dims [0] : tensor<8xf32> -> tensor<8x64xf32>
    %r = hone.broadcast %rstd dims [0] : tensor<8xf32> -> tensor<8x64xf32>
    %c = hone.sub %x, %m : tensor<8x64xf32>
    %h = hone.mul %c, %r : tensor<8x64xf32>
    %gh = hone.mul %g, %h : tensor<8x64xf32>
    %s = hone.reduce sum %g dims [1] : tensor<8x64xf32> -> tensor<8xf32>
    %sb = hone.broadcast %s dims [0] : tensor<8xf32> -> tensor<8x64xf32>
    %d = hone.sub %g, %sb : tensor<8x64xf32>
    %dx = hone.mul %d, %r : tensor<8x64xf32>
    %dw = hone.reduce sum %gh dims [0] : tensor<8x64xf32> -> tensor<64xf32>
    %db = hone.reduce sum %g dims [0] : tensor<8x64xf32> -> tensor<64xf32>)"),
            "row 11");
}

/// `count` sums over the rows of maps of one matrix.
std::string columnSums(int64_t count) {
  std::string text = "%v0 = hone.exp %x : tensor<8x64xf32>\n";
  for (int64_t index = 1; index <= count; ++index)
    text += llvm::formatv("%v{0} = hone.tanh %v{1} : tensor<8x64xf32>\n"
                          "%s{0} = hone.reduce sum %v{0} dims [0] : "
                          "tensor<8x64xf32> -> tensor<64xf32>\n",
                          index, index - 1)
                .str();
  return text;
}

TEST(FusionGroups, ColumnSumsAreLimited) {
  EXPECT_EQ(plan("%x: tensor<8x64xf32>", columnSums(8)), "row 17");
  ParsedFunction function("%x: tensor<8x64xf32>", columnSums(9));
  SmallVector<FusionGroup> groups = planFusion(function.block());
  EXPECT_EQ(groups.size(), 2u);
  for (const FusionGroup &group : groups)
    EXPECT_LE(llvm::count_if(group.ops,
                             [](Operation *op) { return isa<ReduceOp>(op); }),
              8);
}

TEST(FusionGroups, OperandsAreLimited) {
  std::string arguments = "%a0: tensor<8x64xf32>", body;
  for (int64_t index = 1; index != 40; ++index) {
    arguments += llvm::formatv(", %a{0}: tensor<8x64xf32>", index).str();
    body += llvm::formatv("%v{0} = hone.add {1}{2}, %a{0} : tensor<8x64xf32>\n",
                          index, index == 1 ? "%a" : "%v", index - 1)
                .str();
  }
  ParsedFunction function(arguments, body);
  SmallVector<FusionGroup> groups = planFusion(function.block());
  EXPECT_GE(groups.size(), 2u);
  size_t ops = 0;
  for (const FusionGroup &group : groups) {
    ops += group.ops.size();
    llvm::SmallDenseSet<Value> read;
    for (Operation *op : group.ops)
      read.insert(op->operand_begin(), op->operand_end());
    EXPECT_LE(read.size(), 24u + group.ops.size());
  }
  EXPECT_EQ(ops, 39u);
}

TEST(FusionGroups, EveryOpIsInOneGroup) {
  ParsedFunction function("%x: tensor<8x64xf32>, %w: tensor<64x64xf32>", R"(
    %t = hone.tanh %x : tensor<8x64xf32>
    %p = hone.dot_general %t, %w batch [] x [] contract [1] x [0]
        : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    %q = hone.transpose %p [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
    %r = hone.exp %q : tensor<64x8xf32>)");
  SmallVector<FusionGroup> groups = planFusion(function.block());
  EXPECT_EQ(describe(groups), "contraction 1, data_movement 1, map 1, map 1");
  llvm::SmallDenseSet<Operation *> seen;
  for (const FusionGroup &group : groups)
    for (Operation *op : group.ops)
      EXPECT_TRUE(seen.insert(op).second);
  EXPECT_EQ(seen.size(), function.ops().size());
}

TEST(FusionGroups, MembersStandInProgramOrder) {
  ParsedFunction function("%x: tensor<8x64xf32>, %y: tensor<8x64xf32>", R"(
    %a = hone.tanh %x : tensor<8x64xf32>
    %b = hone.tanh %y : tensor<8x64xf32>
    %c = hone.exp %a : tensor<8x64xf32>
    %d = hone.mul %b, %c : tensor<8x64xf32>)");
  SmallVector<FusionGroup> groups = planFusion(function.block());
  ASSERT_EQ(describe(groups), "map 4");
  for (size_t index = 1; index != groups[0].ops.size(); ++index)
    EXPECT_TRUE(
        groups[0].ops[index - 1]->isBeforeInBlock(groups[0].ops[index]));
}

TEST(FusionGroups, FreeValues) {
  ParsedFunction f("%v: tensor<64xf32>, %x: tensor<8x64xf32>", R"(
    %i = hone.iota dim 0 : tensor<8x64xf32>
    %b = hone.broadcast %v dims [1] : tensor<64xf32> -> tensor<8x64xf32>
    %p = hone.mul %i, %b : tensor<8x64xf32>
    %q = hone.mul %p, %x : tensor<8x64xf32>
    %n = hone.constant dense<1.0> : tensor<8x64xf32>
    %t = hone.constant dense<[1.0, 2.0]> : tensor<2xf32>)");
  EXPECT_TRUE(isFreeValue(f.ops()[0]));
  EXPECT_TRUE(isFreeValue(f.ops()[1]));
  EXPECT_TRUE(isFreeValue(f.ops()[2]));
  EXPECT_FALSE(isFreeValue(f.ops()[3])); // reads a matrix
  EXPECT_TRUE(isFreeValue(f.ops()[4]));
  EXPECT_FALSE(isFreeValue(f.ops()[5])); // data
}

// Copies for each reader make a tree of this chain: it doubles with every
// link.
TEST(FusionGroups, FreeValuesAreCheap) {
  std::string body =
      "%b0 = hone.broadcast %v dims [1] : tensor<64xf32> -> tensor<8x64xf32>\n";
  for (int64_t index = 0; index != 40; ++index)
    body += llvm::formatv("%l{0} = hone.logistic %b{0} : tensor<8x64xf32>\n"
                          "%b{1} = hone.mul %b{0}, %l{0} : tensor<8x64xf32>\n",
                          index, index + 1)
                .str();
  ParsedFunction function("%v: tensor<64xf32>", body);
  SmallVector<Operation *> ops = function.ops();
  EXPECT_TRUE(isFreeValue(ops[2]));
  EXPECT_TRUE(isFreeValue(ops[6]));
  EXPECT_FALSE(isFreeValue(ops[12]));
  EXPECT_FALSE(isFreeValue(ops.back()));
}
} // namespace
