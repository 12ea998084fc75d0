//===- PartitionTest.cpp - Training steps under the known techniques ------===//
//
// Forward, backward and update of y = tanh(x w1) w2 for a given dy, under the
// annotations of data parallelism, Megatron's tensor parallelism, sequence
// parallelism, fully sharded and hybrid sharded parameters. The collectives are
// those of the literature (docs/rationale/sharding.md).
//
//===----------------------------------------------------------------------===//

#include "gtest/gtest.h"

#include "DistCase.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

/// `x` shards x, dy and the activations of their shape, `w1` and `w2` weights.
static DistText mlp(std::string mesh, std::string x, std::string w1,
                    std::string w2) {
  const std::string t = "tensor<8x16x32xf32>", h = "tensor<8x16x64xf32>",
                    a = "tensor<32x64xf32>", b = "tensor<64x32xf32>";
  std::string body =
      "%h = hone.dot_general %0, %2 batch [] x [] contract [2] x [0] : " + t +
      ", " + a + " -> " + h + "\n%t = hone.tanh %h : " + h +
      "\n%y = hone.dot_general %t, %3 batch [] x [] contract [2] x [0] : " + h +
      ", " + b + " -> " + t +
      "\n%dt = hone.dot_general %1, %3 batch [] x [] contract [2] x [1] : " +
      t + ", " + b + " -> " + h + "\n%tt = hone.mul %t, %t : " + h +
      "\n%dh = hone.mul %dt, %tt : " + h +
      "\n%dw2 = hone.dot_general %t, %1 batch [] x [] contract [0, 1] x [0, 1]"
      " : " +
      h + ", " + t + " -> " + b +
      "\n%dw1 = hone.dot_general %0, %dh batch [] x [] contract [0, 1] x "
      "[0, 1] : " +
      t + ", " + h + " -> " + a +
      "\n%dx = hone.dot_general %dh, %2 batch [] x [] contract [2] x [1] : " +
      h + ", " + a + " -> " + t + "\n%n1 = hone.sub %2, %dw1 : " + a +
      "\n%n2 = hone.sub %3, %dw2 : " + b + "\nreturn %y, %dx, %n1, %n2 : " + t +
      ", " + t + ", " + a + ", " + b;
  return {mesh,           {t, t, a, b},   {t, t, a, b},
          {x, x, w1, w2}, {x, x, w1, w2}, body};
}

static std::string collectivesOf(const DistText &text) {
  DistCase test(text);
  EXPECT_TRUE(test.partition()) << test.errors;
  EXPECT_TRUE(test.ranksAgree()) << text.str();
  return test.collectives();
}

TEST(Partition, DataParallelSumsGradients) {
  EXPECT_EQ(collectivesOf(mlp(R"([<"dp" = 4>])", R"({"dp"}, {}, {})", "{}, {}",
                              "{}, {}")),
            "all_reduce(dp) 8192, all_reduce(dp) 8192");
}

TEST(Partition, TensorParallelSumsOnceForwardAndOnceBackward) {
  EXPECT_EQ(
      collectivesOf(mlp(R"([<"dp" = 2>, <"tp" = 4>])", R"({"dp"}, {}, {})",
                        R"({}, {"tp"} p1)", R"({"tp"} p1, {})")),
      "all_reduce(tp) 8192, all_reduce(dp) 2048, all_reduce(dp) 2048, "
      "all_reduce(tp) 8192");
}

TEST(Partition, SequenceParallelScattersInstead) {
  EXPECT_EQ(collectivesOf(mlp(R"([<"dp" = 2>, <"tp" = 4>])",
                              R"({"dp"}, {"tp"} p2, {})", R"({}, {"tp"} p1)",
                              R"({"tp"} p1, {})")),
            "all_gather(tp) 2048, reduce_scatter(tp) 8192, "
            "all_gather(tp) 2048, all_reduce(dp) 2048, all_reduce(dp) 2048, "
            "reduce_scatter(tp) 8192");
}

TEST(Partition, FullyShardedParametersAreGatheredAndGradientsScattered) {
  EXPECT_EQ(collectivesOf(mlp(R"([<"fs" = 4>])", R"({"fs"}, {}, {})",
                              R"({"fs"} p3, {})", R"({}, {"fs"} p3)")),
            "all_gather(fs) 2048, all_gather(fs) 2048, "
            "reduce_scatter(fs) 8192, reduce_scatter(fs) 8192");
}

TEST(Partition, HybridShardingScattersInsideBeforeItSumsAcross) {
  EXPECT_EQ(collectivesOf(mlp(R"([<"rep" = 2>, <"fs" = 4>])",
                              R"({"rep", "fs"}, {}, {})", R"({"fs"} p3, {})",
                              R"({}, {"fs"} p3)")),
            "all_gather(fs) 2048, all_gather(fs) 2048, "
            "reduce_scatter(fs) 8192, all_reduce(rep) 2048, "
            "reduce_scatter(fs) 8192, all_reduce(rep) 2048");
}

TEST(Partition, EverythingAtOnce) {
  DistCase test(mlp(R"([<"rep" = 2>, <"fs" = 2>, <"tp" = 2>])",
                    R"({"rep", "fs"}, {"tp"} p2, {})",
                    R"({"fs"} p3, {"tp"} p1)", R"({"tp"} p1, {"fs"} p3)"));
  ASSERT_TRUE(test.partition()) << test.errors;
  EXPECT_TRUE(test.ranksAgree());
}

//===----------------------------------------------------------------------===//
// dist-verify
//===----------------------------------------------------------------------===//

TEST(VerifyPlacement, MissesADroppedSum) {
  DistCase test(
      mlp(R"([<"dp" = 4>])", R"({"dp"}, {}, {})", "{}, {}", "{}, {}"));
  ASSERT_TRUE(test.partition()) << test.errors;
  std::string message = test.verifyAfter([](func::FuncOp func) {
    AllReduceOp first = *func.getOps<AllReduceOp>().begin();
    first.getResult().replaceAllUsesWith(first.getOperand());
  });
  EXPECT_NE(message.find("takes partial sums over axis \"dp\""),
            std::string::npos)
      << message;
}

TEST(VerifyPlacement, MissesASumOverTheWrongAxis) {
  DistCase test(mlp(R"([<"dp" = 2>, <"tp" = 2>])", R"({"dp"}, {}, {})",
                    R"({}, {"tp"} p1)", R"({"tp"} p1, {})"));
  ASSERT_TRUE(test.partition()) << test.errors;
  std::string message = test.verifyAfter([](func::FuncOp func) {
    for (AllReduceOp op : func.getOps<AllReduceOp>())
      op.setAxesAttr(Builder(func.getContext()).getStrArrayAttr({"dp"}));
  });
  EXPECT_NE(message.find("along axis \"tp\""), std::string::npos) << message;
}

TEST(VerifyPlacement, MissesTermsThatAreReturned) {
  DistCase test(mlp(R"([<"dp" = 2>, <"tp" = 2>])", R"({"dp"}, {}, {})",
                    R"({}, {"tp"} p1)", R"({"tp"} p1, {})"));
  ASSERT_TRUE(test.partition()) << test.errors;
  std::string message = test.verifyAfter([](func::FuncOp func) {
    Operation *end = func.getBody().front().getTerminator();
    auto sum = end->getOperand(0).getDefiningOp<AllReduceOp>();
    end->setOperand(0, sum.getOperand());
  });
  EXPECT_NE(message.find("along axis \"tp\", expected replicas"),
            std::string::npos)
      << message;
}
