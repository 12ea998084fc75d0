//===- OpFactsTest.cpp - What ops answer through HoneOpInterface ----------===//

#include "hone/IR/Hone.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hone;

namespace {
using Dims = TensorFactors;
using Pairs = std::vector<std::pair<unsigned, unsigned>>;

class OpFactsTest : public testing::Test {
protected:
  OpFactsTest() { context.loadDialect<HoneDialect, func::FuncDialect>(); }

  /// The last hone op of a function with these arguments and this body.
  HoneOpInterface parse(StringRef arguments, StringRef body) {
    std::string text =
        ("func.func @f(" + arguments + ") {\n" + body + "\n return\n}").str();
    module = parseSourceString<ModuleOp>(text, &context);
    auto func = *module->getOps<func::FuncOp>().begin();
    return cast<HoneOpInterface>(
        func.getBody().front().getTerminator()->getPrevNode());
  }

  static Pairs pairs(HoneOpInterface op) {
    Pairs all;
    for (AliasPair pair : op.getReusableOperands())
      all.emplace_back(pair.operand, pair.result);
    return all;
  }
  static std::vector<int64_t> sizes(const DimensionMapping &mapping) {
    std::vector<int64_t> all;
    for (Factor factor : mapping.factors)
      all.push_back(factor.size);
    return all;
  }
  static std::vector<FactorKind> kinds(const DimensionMapping &mapping) {
    std::vector<FactorKind> all;
    for (Factor factor : mapping.factors)
      all.push_back(factor.kind);
    return all;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

DimensionFactors both(int slow, int fast) {
  return llvm::ArrayRef<int>({slow, fast});
}

constexpr FactorKind parallel = FactorKind::Parallel,
                     reduced = FactorKind::Reduce,
                     whole = FactorKind::Replicate;
} // namespace

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

TEST_F(OpFactsTest, ElementwiseCostsOneFlopPerElement) {
  OpCost cost = parse("%x: tensor<8x64xf32>, %y: tensor<8x64xf32>",
                      "%r = hone.add %x, %y : tensor<8x64xf32>")
                    .getCost();
  EXPECT_EQ(cost.flops, 8 * 64);
  EXPECT_EQ(cost.bytesRead, 2 * 8 * 64 * 4);
  EXPECT_EQ(cost.bytesWritten, 8 * 64 * 4);
}

TEST_F(OpFactsTest, BooleansCostOneByte) {
  OpCost cost = parse("%x: tensor<8xbf16>, %y: tensor<8xbf16>",
                      "%r = hone.cmp lt, %x, %y : tensor<8xbf16> -> "
                      "tensor<8xi1>")
                    .getCost();
  EXPECT_EQ(cost.bytesRead, 2 * 8 * 2);
  EXPECT_EQ(cost.bytesWritten, 8);
}

TEST_F(OpFactsTest, ContractionCountsMultiplyAndAdd) {
  OpCost cost =
      parse("%x: tensor<2x16x64xf32>, %w: tensor<192x64xf32>",
            "%y = hone.dot_general %x, %w batch [] x [] contract [2] x [1] : "
            "tensor<2x16x64xf32>, tensor<192x64xf32> -> tensor<2x16x192xf32>")
          .getCost();
  EXPECT_EQ(cost.flops, 2 * 2 * 16 * 192 * 64);
}

TEST_F(OpFactsTest, ReshapeIsFree) {
  OpCost cost = parse("%x: tensor<2x16xf32>", "%y = hone.reshape %x : "
                                              "tensor<2x16xf32> -> "
                                              "tensor<32xf32>")
                    .getCost();
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.bytesRead + cost.bytesWritten, 0);
}

TEST_F(OpFactsTest, EmbeddingReadsOnlyThePickedRows) {
  OpCost cost = parse("%t: tensor<50000x64xf32>, %i: tensor<16xi64>",
                      "%x = hone.embedding %t, %i : tensor<50000x64xf32>, "
                      "tensor<16xi64> -> tensor<16x64xf32>")
                    .getCost();
  EXPECT_EQ(cost.bytesRead, 16 * 64 * 4 + 16 * 8);
  EXPECT_EQ(cost.bytesWritten, 16 * 64 * 4);
}

TEST_F(OpFactsTest, CausalAttentionCostsHalf) {
  StringRef arguments = "%q: tensor<2x16x4x64xf32>";
  auto text = [](StringRef causal) {
    return ("%o, %l = hone.attention %q, %q, %q " + causal +
            " scale 1.0 : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, "
            "tensor<2x16x4x64xf32>) -> (tensor<2x16x4x64xf32>, "
            "tensor<2x4x16xf32>)")
        .str();
  };
  int64_t full = parse(arguments, text("")).getCost().flops;
  EXPECT_EQ(full, 2 * (2 * 4 * 16 * 16) * (64 + 64));
  EXPECT_EQ(parse(arguments, text("causal")).getCost().flops, full / 2);
}

TEST_F(OpFactsTest, GroupAddsFlopsAndReadsItsOperandsOnce) {
  OpCost cost =
      parse(
          "%x: tensor<8x64xf32>",
          R"(%y = hone.fused map (%a = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
        %s = hone.add %a, %a : tensor<8x64xf32>
        %t = hone.neg %s : tensor<8x64xf32>
        hone.yield %t : tensor<8x64xf32>
      })")
          .getCost();
  EXPECT_EQ(cost.flops, 2 * 8 * 64);
  EXPECT_EQ(cost.bytesRead, 8 * 64 * 4);
  EXPECT_EQ(cost.bytesWritten, 8 * 64 * 4);
}

//===----------------------------------------------------------------------===//
// Dimension mapping
//===----------------------------------------------------------------------===//

TEST_F(OpFactsTest, ElementwiseDimensionsCorrespond) {
  DimensionMapping mapping =
      parse("%x: tensor<8x64xf32>", "%r = hone.neg %x : tensor<8x64xf32>")
          .getDimensionMapping();
  EXPECT_EQ(sizes(mapping), (std::vector<int64_t>{8, 64}));
  EXPECT_EQ(mapping.operands[0], (Dims{0, 1}));
  EXPECT_EQ(mapping.results[0], (Dims{0, 1}));
}

TEST_F(OpFactsTest, TransposePermutesDimensions) {
  DimensionMapping mapping =
      parse("%x: tensor<2x16x64xf32>",
            "%y = hone.transpose %x [2, 0, 1] : tensor<2x16x64xf32> -> "
            "tensor<64x2x16xf32>")
          .getDimensionMapping();
  EXPECT_EQ(mapping.operands[0], (Dims{0, 1, 2}));
  EXPECT_EQ(mapping.results[0], (Dims{2, 0, 1}));
}

TEST_F(OpFactsTest, BroadcastLeavesNewDimensionsToTheResult) {
  DimensionMapping mapping =
      parse("%b: tensor<64xf32>",
            "%y = hone.broadcast %b dims [1] : tensor<64xf32> -> "
            "tensor<8x64xf32>")
          .getDimensionMapping();
  EXPECT_EQ(mapping.operands[0], (Dims{1}));
  EXPECT_EQ(mapping.results[0], (Dims{0, 1}));
}

TEST_F(OpFactsTest, ReshapeSplitsDimensionsIntoFactors) {
  DimensionMapping mapping =
      parse("%x: tensor<2x16x64xf32>",
            "%y = hone.reshape %x : tensor<2x16x64xf32> -> "
            "tensor<2x16x4x16xf32>")
          .getDimensionMapping();
  EXPECT_EQ(sizes(mapping), (std::vector<int64_t>{2, 16, 4, 16}));
  EXPECT_EQ(mapping.operands[0], (Dims{0, 1, both(2, 3)}));
  EXPECT_EQ(mapping.results[0], (Dims{0, 1, 2, 3}));
}

TEST_F(OpFactsTest, ReshapeMergesFactors) {
  DimensionMapping merged =
      parse("%x: tensor<2x16x64xf32>",
            "%y = hone.reshape %x : tensor<2x16x64xf32> -> tensor<32x64xf32>")
          .getDimensionMapping();
  EXPECT_EQ(merged.operands[0], (Dims{0, 1, 2}));
  EXPECT_EQ(merged.results[0], (Dims{both(0, 1), 2}));
  DimensionMapping ones =
      parse("%x: tensor<6x1x8xf32>",
            "%y = hone.reshape %x : tensor<6x1x8xf32> -> tensor<6x8x1xf32>")
          .getDimensionMapping();
  EXPECT_EQ(ones.operands[0], (Dims{0, -1, 1}));
  EXPECT_EQ(ones.results[0], (Dims{0, 1, -1}));
  // Both shapes are cut where 4 elements lie behind: 12 = 3 x 4, 8 = 2 x 4.
  DimensionMapping shared =
      parse("%x: tensor<2x12xf32>",
            "%y = hone.reshape %x : tensor<2x12xf32> -> tensor<6x4xf32>")
          .getDimensionMapping();
  EXPECT_EQ(shared.operands[0], (Dims{0, both(1, 2)}));
  EXPECT_EQ(shared.results[0], (Dims{both(0, 1), 2}));
}

TEST_F(OpFactsTest, ReshapeOfOtherElementsHasNoFactors) {
  // 4 and 6: a boundary of one shape lies inside a factor of the other.
  DimensionMapping crossed =
      parse("%x: tensor<4x6x2xf32>",
            "%y = hone.reshape %x : tensor<4x6x2xf32> -> tensor<6x4x2xf32>")
          .getDimensionMapping();
  EXPECT_EQ(crossed.operands[0], (Dims{-1, -1, 0}));
  EXPECT_EQ(crossed.results[0], (Dims{-1, -1, 0}));
  DimensionMapping empty =
      parse("%x: tensor<0x6xf32>",
            "%y = hone.reshape %x : tensor<0x6xf32> -> tensor<0x2x3xf32>")
          .getDimensionMapping();
  EXPECT_EQ(empty.operands[0], (Dims{-1, -1}));
}

TEST_F(OpFactsTest, ReductionDropsItsFactor) {
  DimensionMapping mapping =
      parse("%x: tensor<8x64xf32>",
            "%s = hone.reduce sum %x dims [0] : tensor<8x64xf32> -> "
            "tensor<64xf32>")
          .getDimensionMapping();
  EXPECT_EQ(kinds(mapping), (std::vector<FactorKind>{reduced, parallel}));
  EXPECT_EQ(mapping.results[0], (Dims{1}));
}

TEST_F(OpFactsTest, ContractionHasOneFactorPerLoop) {
  DimensionMapping mapping =
      parse("%x: tensor<2x16x64xf32>, %w: tensor<2x32x64xf32>",
            "%y = hone.dot_general %x, %w batch [0] x [0] contract [2] x [2] "
            ": tensor<2x16x64xf32>, tensor<2x32x64xf32> -> "
            "tensor<2x16x32xf32>")
          .getDimensionMapping();
  EXPECT_EQ(sizes(mapping), (std::vector<int64_t>{2, 16, 32, 64}));
  EXPECT_EQ(kinds(mapping),
            (std::vector<FactorKind>{parallel, parallel, parallel, reduced}));
  EXPECT_EQ(mapping.operands[0], (Dims{0, 1, 3}));
  EXPECT_EQ(mapping.operands[1], (Dims{0, 2, 3}));
  EXPECT_EQ(mapping.results[0], (Dims{0, 1, 2}));
}

TEST_F(OpFactsTest, NormNeedsWholeRows) {
  DimensionMapping mapping =
      parse("%x: tensor<8x64xf32>, %g: tensor<64xf32>",
            "%y, %m, %r = hone.layer_norm %x scale %g eps 1.0e-05 : "
            "(tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, "
            "tensor<8xf32>, tensor<8xf32>)")
          .getDimensionMapping();
  EXPECT_EQ(kinds(mapping), (std::vector<FactorKind>{parallel, whole}));
  EXPECT_EQ(mapping.operands[1], (Dims{1}));
  EXPECT_EQ(mapping.results[1], (Dims{0}));
}

TEST_F(OpFactsTest, ScaleIsAVectorAlsoWhereTheInputIsOne) {
  // Input and scale are the same value: rank 1 is a row, not its columns.
  DimensionMapping mapping =
      parse("%x: tensor<64xf32>",
            "%y, %r = hone.rms_norm %x scale %x eps 1.0e-05 : "
            "(tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, "
            "tensor<f32>)")
          .getDimensionMapping();
  EXPECT_EQ(mapping.operands[0], (Dims{0}));
  EXPECT_EQ(mapping.operands[1], (Dims{0}));
  EXPECT_TRUE(mapping.results[1].empty());
}

TEST_F(OpFactsTest, EmbeddingGathersRows) {
  DimensionMapping mapping =
      parse("%t: tensor<256x64xf32>, %i: tensor<2x16xi64>",
            "%x = hone.embedding %t, %i : tensor<256x64xf32>, "
            "tensor<2x16xi64> -> tensor<2x16x64xf32>")
          .getDimensionMapping();
  EXPECT_EQ(mapping.factors[mapping.operands[0][0][0]].kind,
            FactorKind::Gather);
  EXPECT_EQ(mapping.operands[1], (Dims{0, 1}));
  EXPECT_EQ(mapping.results[0], (Dims{0, 1, 3}));
}

TEST_F(OpFactsTest, AttentionSplitsByBatchPositionAndHead) {
  DimensionMapping mapping =
      parse("%q: tensor<2x16x4x64xf32>, %k: tensor<2x24x2x64xf32>",
            "%o, %l = hone.attention %q, %k, %k scale 1.0 : "
            "(tensor<2x16x4x64xf32>, tensor<2x24x2x64xf32>, "
            "tensor<2x24x2x64xf32>) -> (tensor<2x16x4x64xf32>, "
            "tensor<2x4x16xf32>)")
          .getDimensionMapping();
  for (int factor : {0, 1, 2})
    EXPECT_EQ(mapping.factors[factor].kind, parallel);
  EXPECT_EQ(mapping.factors[mapping.operands[1][1][0]].kind, whole);
  EXPECT_EQ(mapping.results[1], (Dims{0, 2, 1}));
}

TEST_F(OpFactsTest, DropoutKeyMapsToNothing) {
  DimensionMapping mapping =
      parse("%x: tensor<3xf32>, %k: tensor<3xi64>",
            "%y = hone.dropout %x, %k p 0.5 salt 0 : tensor<3xf32>, "
            "tensor<3xi64>")
          .getDimensionMapping();
  EXPECT_EQ(mapping.operands[1], (Dims{-1}));
}

TEST_F(OpFactsTest, RowsOfALossAddUpAndItsClassesMeet) {
  DimensionMapping mapping =
      parse("%x: tensor<8x64xf32>, %t: tensor<8xi64>",
            "%l, %s = hone.cross_entropy mean %x, %t ignore_index -100 "
            "label_smoothing 0.0 : tensor<8x64xf32>, tensor<8xi64> -> "
            "tensor<f32>, tensor<8xf32>")
          .getDimensionMapping();
  EXPECT_EQ(kinds(mapping),
            (std::vector<FactorKind>{reduced, FactorKind::Reconcilable}));
  EXPECT_EQ(mapping.results[1], (Dims{0}));
}

TEST_F(OpFactsTest, OptimizerScalarsMapToNothing) {
  DimensionMapping mapping =
      parse("%p: tensor<8x64xf32>, %s: tensor<f32>, %t: tensor<i64>",
            "%a, %b, %c = hone.adamw %p, %p, %p, %p lr %s weight_decay %s "
            "step %t grad_scale %s {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-8} "
            ": (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, "
            "tensor<8x64xf32>, tensor<f32>, tensor<f32>, tensor<i64>, "
            "tensor<f32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, "
            "tensor<8x64xf32>)")
          .getDimensionMapping();
  EXPECT_EQ(mapping.operands[0], (Dims{0, 1}));
  EXPECT_TRUE(mapping.operands[4].empty());
  EXPECT_EQ(mapping.results[2], (Dims{0, 1}));
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

TEST_F(OpFactsTest, ElementwiseMayOverwriteEitherOperand) {
  EXPECT_EQ(pairs(parse("%x: tensor<8xf32>, %y: tensor<8xf32>",
                        "%r = hone.mul %x, %y : tensor<8xf32>")),
            (Pairs{{0, 0}, {1, 0}}));
}

TEST_F(OpFactsTest, CastOverwritesOnlyEqualWidths) {
  EXPECT_EQ(pairs(parse("%x: tensor<8xf32>",
                        "%r = hone.cast %x : tensor<8xf32> -> tensor<8xi32>")),
            (Pairs{{0, 0}}));
  EXPECT_TRUE(
      pairs(parse("%x: tensor<8xf32>",
                  "%r = hone.cast %x : tensor<8xf32> -> tensor<8xbf16>"))
          .empty());
}

TEST_F(OpFactsTest, BroadcastAndContractionOverwriteNothing) {
  EXPECT_TRUE(pairs(parse("%x: tensor<8xf32>",
                          "%y = hone.broadcast %x dims [1] : tensor<8xf32> "
                          "-> tensor<1x8xf32>"))
                  .empty());
  EXPECT_TRUE(pairs(parse("%x: tensor<8x8xf32>",
                          "%y = hone.dot_general %x, %x batch [] x [] "
                          "contract [1] x [0] : tensor<8x8xf32>, "
                          "tensor<8x8xf32> -> tensor<8x8xf32>"))
                  .empty());
}

TEST_F(OpFactsTest, AdamwWritesItsStateInPlace) {
  EXPECT_EQ(
      pairs(parse("%p: tensor<8xf32>, %s: tensor<f32>, %t: tensor<i64>",
                  "%a, %b, %c = hone.adamw %p, %p, %p, %p lr %s weight_decay "
                  "%s step %t grad_scale %s {beta1 = 0.9, beta2 = 0.99, eps = "
                  "1.0e-8} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, "
                  "tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>, "
                  "tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, "
                  "tensor<8xf32>)")),
      (Pairs{{0, 0}, {2, 1}, {3, 2}}));
}

TEST_F(OpFactsTest, SgdBufferIsReusedOnlyWhenPresent) {
  StringRef plain = "%a = hone.sgd %p, %p lr %s weight_decay %s grad_scale %s "
                    ": (tensor<8xf32>, tensor<8xf32>, tensor<f32>, "
                    "tensor<f32>, tensor<f32>) -> tensor<8xf32>";
  StringRef momentum =
      "%a, %b = hone.sgd %p, %p lr %s weight_decay %s grad_scale %s buffer %p "
      "{momentum = 0.9} : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, "
      "tensor<f32>, tensor<f32>, tensor<8xf32>) -> (tensor<8xf32>, "
      "tensor<8xf32>)";
  StringRef arguments = "%p: tensor<8xf32>, %s: tensor<f32>";
  EXPECT_EQ(pairs(parse(arguments, plain)), (Pairs{{0, 0}}));
  EXPECT_EQ(pairs(parse(arguments, momentum)), (Pairs{{0, 0}, {5, 1}}));
}

TEST_F(OpFactsTest, GroupOverwritesOnlyWhatItReadsInPlace) {
  // %a is read element by element, %b through a transpose.
  EXPECT_EQ(
      pairs(parse(
          "%x: tensor<8x8xf32>, %y: tensor<8x8xf32>",
          R"(%r = hone.fused map (%a = %x : tensor<8x8xf32>, %b = %y : tensor<8x8xf32>) -> tensor<8x8xf32> {
        %t = hone.transpose %b [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
        %s = hone.add %a, %t : tensor<8x8xf32>
        hone.yield %s : tensor<8x8xf32>
      })")),
      (Pairs{{0, 0}}));
}

TEST_F(OpFactsTest, GroupOverwritesWhatItWidens) {
  // A vector along rows is widened too, and read by every row.
  EXPECT_EQ(
      pairs(parse(
          "%x: tensor<8x16xbf16>, %v: tensor<16xbf16>",
          R"(%r:2 = hone.fused row (%a = %x : tensor<8x16xbf16>, %b = %v : tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<16xbf16>) {
        %w = hone.cast %a : tensor<8x16xbf16> -> tensor<8x16xf32>
        %c = hone.cast %b : tensor<16xbf16> -> tensor<16xf32>
        %d = hone.broadcast %c dims [1] : tensor<16xf32> -> tensor<8x16xf32>
        %s = hone.add %w, %d : tensor<8x16xf32>
        %n = hone.cast %s : tensor<8x16xf32> -> tensor<8x16xbf16>
        %u = hone.reduce sum %s dims [0] : tensor<8x16xf32> -> tensor<16xf32>
        %l = hone.cast %u : tensor<16xf32> -> tensor<16xbf16>
        hone.yield %n, %l : tensor<8x16xbf16>, tensor<16xbf16>
      })")),
      (Pairs{{0, 0}}));
}

//===----------------------------------------------------------------------===//
// Element states
//===----------------------------------------------------------------------===//

namespace {
constexpr ElementState zero = ElementState::Zero,
                       nonzero = ElementState::Nonzero,
                       copied = ElementState::Copy,
                       number = ElementState::Finite,
                       singular = ElementState::Singular;

class ElementStates : public OpFactsTest {
protected:
  /// What `hone.<op>` makes of elements of these states.
  std::optional<ElementState> infer(StringRef op,
                                    ArrayRef<ElementState> operands) {
    StringRef values = operands.size() == 1 ? "%x" : "%x, %y";
    std::string body =
        ("%r = hone." + op + " " + values + " : tensor<8xf32>").str();
    return parse("%x: tensor<8xf32>, %y: tensor<8xf32>", body)
        .inferElementState(operands);
  }
};
} // namespace

TEST_F(ElementStates, ZerosStayZerosWhereTheFormulaKeepsThem) {
  for (StringRef op : {"neg", "abs", "sign", "sin", "tanh", "erf", "gelu tanh"})
    EXPECT_EQ(infer(op, {zero}), zero) << op.str();
  for (StringRef op : {"exp", "cos", "logistic"})
    EXPECT_EQ(infer(op, {zero}), nonzero) << op.str();
  for (StringRef op : {"add", "sub", "mul", "max", "min"})
    EXPECT_EQ(infer(op, {zero, zero}), zero) << op.str();
}

TEST_F(ElementStates, OnlySignsKeepANumberFromZero) {
  EXPECT_EQ(infer("neg", {nonzero}), nonzero);
  EXPECT_EQ(infer("sin", {nonzero}), number);
  EXPECT_EQ(infer("exp", {number}), number); // underflows
  EXPECT_EQ(infer("add", {nonzero, nonzero}), number);
  EXPECT_EQ(infer("mul", {nonzero, nonzero}), nonzero);
  EXPECT_EQ(infer("mul", {number, zero}), zero);
}

TEST_F(ElementStates, ASumWithZeroIsTheOtherNumberButNoCopy) {
  EXPECT_EQ(infer("add", {zero, nonzero}), nonzero);
  EXPECT_EQ(infer("sub", {nonzero, zero}), nonzero);
  EXPECT_EQ(infer("add", {zero, copied}), number);
}

TEST_F(ElementStates, DivisionsAreDefinedWhereTheDivisorIs) {
  EXPECT_EQ(infer("div", {zero, nonzero}), zero);
  EXPECT_EQ(infer("div", {zero, copied}), zero);
  EXPECT_EQ(infer("div", {copied, nonzero}), number);
  for (ElementState state : {zero, number})
    for (StringRef op : {"log", "sqrt", "rsqrt"})
      EXPECT_EQ(infer(op, {state}), singular) << op.str();
  EXPECT_EQ(infer("div", {nonzero, zero}), singular);
  EXPECT_EQ(infer("rsqrt", {nonzero}), nonzero);
  EXPECT_EQ(infer("log", {nonzero}), number);
  EXPECT_EQ(infer("pow", {nonzero, nonzero}), singular);
  EXPECT_EQ(infer("mul", {zero, singular}), singular);
}

TEST_F(ElementStates, OpsAcrossElementsSayNothing) {
  auto sum = parse("%x: tensor<8xf32>",
                   "%r = hone.reduce sum %x dims [0] : tensor<8xf32> -> "
                   "tensor<f32>");
  EXPECT_FALSE(sum.inferElementState({zero}).has_value());
}

TEST_F(ElementStates, TruncationMakesZeros) {
  auto cast = parse("%x: tensor<8xf32>",
                    "%r = hone.cast %x : tensor<8xf32> -> tensor<8xi64>");
  EXPECT_EQ(cast.inferElementState({nonzero}), number);
}

TEST_F(OpFactsTest, MasksAndTablesKeepTheirElementType) {
  StringRef attention =
      "%o, %l = hone.attention %q, %q, %q mask %m scale 1.0 : "
      "(tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, "
      "tensor<1x1x16x16xf32>) -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)";
  HoneOpInterface op =
      parse("%q: tensor<2x16x4x64xf32>, %m: tensor<1x1x16x16xf32>", attention);
  EXPECT_FALSE(op.hasOwnElementType(2));
  EXPECT_TRUE(op.hasOwnElementType(3));
  op = parse("%x: tensor<2x16x4x64xf32>, %c: tensor<16x32xf32>",
             "%y = hone.rope half %x, %c, %c : tensor<2x16x4x64xf32>, "
             "tensor<16x32xf32>");
  EXPECT_FALSE(op.hasOwnElementType(0));
  EXPECT_TRUE(op.hasOwnElementType(1));
}
