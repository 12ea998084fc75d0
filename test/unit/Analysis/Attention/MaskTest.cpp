//===- MaskTest.cpp - Masks as values per query and key -------------------===//

#include "hone/Analysis/Attention/Mask.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hone;

namespace {
/// Evaluates the result of a function body over t (rows) and u (columns) of
/// [5, 7], two tensors of i64.
class AttentionMask : public ::testing::Test {
protected:
  AttentionMask() { context.loadDialect<HoneDialect, func::FuncDialect>(); }

  std::optional<PairValue> evaluate(StringRef body, StringRef type) {
    std::string text = ("func.func @f(%x: tensor<5x7xi64>) -> " + type +
                        " {\n" + "%t = hone.iota dim 0 : tensor<5x7xi64>\n" +
                        "%u = hone.iota dim 1 : tensor<5x7xi64>\n" + body +
                        "\nreturn %r : " + type + "\n}")
                           .str();
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return std::nullopt;
    auto func = *module->getOps<func::FuncOp>().begin();
    return evaluatePairs(func.front().getTerminator()->getOperand(0));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr StringLiteral numbers = "tensor<5x7xi64>";
constexpr StringLiteral truths = "tensor<5x7xi1>";

TEST_F(AttentionMask, PositionsAreLinearForms) {
  auto value = evaluate("%c = hone.constant dense<3> : tensor<5x7xi64>\n"
                        "%d = hone.sub %u, %t : tensor<5x7xi64>\n"
                        "%r = hone.add %d, %c : tensor<5x7xi64>",
                        numbers);
  ASSERT_TRUE(value);
  EXPECT_FALSE(value->isSplit);
  EXPECT_EQ(value->query, -1);
  EXPECT_EQ(value->key, 1);
  EXPECT_EQ(value->offset, 3.0);
}

TEST_F(AttentionMask, ComparisonsSplitAtTheDiagonal) {
  // u <= t, whatever side it is written on, and u < t + 1.
  for (StringRef body :
       {"%r = hone.cmp le, %u, %t : tensor<5x7xi64> -> tensor<5x7xi1>",
        "%r = hone.cmp ge, %t, %u : tensor<5x7xi64> -> tensor<5x7xi1>",
        "%c = hone.constant dense<1> : tensor<5x7xi64>\n"
        "%v = hone.add %t, %c : tensor<5x7xi64>\n"
        "%r = hone.cmp lt, %u, %v : tensor<5x7xi64> -> tensor<5x7xi1>"}) {
    auto value = evaluate(body, truths);
    ASSERT_TRUE(value) << body.str();
    EXPECT_TRUE(value->isSplit);
    EXPECT_EQ(value->upTo, 1.0);
    EXPECT_EQ(value->after, 0.0);
  }
}

TEST_F(AttentionMask, OtherComparisonsAreUnknown) {
  // The diagonal masked, a band, equality, and positions of one side alone.
  for (StringRef body :
       {"%r = hone.cmp lt, %u, %t : tensor<5x7xi64> -> tensor<5x7xi1>",
        "%r = hone.cmp eq, %u, %t : tensor<5x7xi64> -> tensor<5x7xi1>",
        "%c = hone.constant dense<2> : tensor<5x7xi64>\n"
        "%r = hone.cmp le, %u, %c : tensor<5x7xi64> -> tensor<5x7xi1>",
        "%s = hone.add %u, %t : tensor<5x7xi64>\n"
        "%r = hone.cmp le, %s, %t : tensor<5x7xi64> -> tensor<5x7xi1>"})
    EXPECT_FALSE(evaluate(body, truths)) << body.str();
}

TEST_F(AttentionMask, DataIsUnknown) {
  EXPECT_FALSE(evaluate(
      "%r = hone.cmp le, %u, %x : tensor<5x7xi64> -> tensor<5x7xi1>", truths));
}

TEST_F(AttentionMask, ChoicesAndLogicActOnBothParts) {
  auto value = evaluate(
      "%m = hone.cmp gt, %u, %t : tensor<5x7xi64> -> tensor<5x7xi1>\n"
      "%n = hone.not %m : tensor<5x7xi1>\n"
      "%low = hone.constant dense<-1.0e+09> : tensor<5x7xf32>\n"
      "%zero = hone.constant dense<0.0> : tensor<5x7xf32>\n"
      "%r = hone.select %n, %zero, %low : tensor<5x7xi1>, tensor<5x7xf32>",
      "tensor<5x7xf32>");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->upTo, 0.0);
  EXPECT_EQ(value->after, -1.0e9);
}

TEST_F(AttentionMask, DimensionsAreFollowedThroughShapes) {
  // Transposed, queries and keys change roles: the step is no longer between
  // the diagonal and the pair after it.
  EXPECT_FALSE(evaluate(
      "%m = hone.cmp le, %u, %t : tensor<5x7xi64> -> tensor<5x7xi1>\n"
      "%r = hone.transpose %m [1, 0] : tensor<5x7xi1> -> tensor<7x5xi1>",
      "tensor<7x5xi1>"));
  auto value =
      evaluate("%m = hone.cmp le, %u, %t : tensor<5x7xi64> -> tensor<5x7xi1>\n"
               "%k = hone.reshape %m : tensor<5x7xi1> -> tensor<1x5x7xi1>\n"
               "%r = hone.broadcast %k dims [1, 2, 3] : tensor<1x5x7xi1> -> "
               "tensor<2x1x5x7xi1>",
               "tensor<2x1x5x7xi1>");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->upTo, 1.0);
  EXPECT_EQ(value->after, 0.0);
}
} // namespace
