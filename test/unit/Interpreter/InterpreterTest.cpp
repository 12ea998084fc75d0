//===- InterpreterTest.cpp - The interpreter as a library -----------------===//

#include "hone/Interpreter/Interpreter.h"
#include "hone/Interpreter/Philox.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hone;
using namespace hone::interp;

namespace {
class InterpreterTest : public testing::Test {
protected:
  InterpreterTest() { context.loadDialect<HoneDialect, func::FuncDialect>(); }

  func::FuncOp parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    return *module->getOps<func::FuncOp>().begin();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(InterpreterTest, RunsEveryTensorOpOfTheDialect) {
  unsigned count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "hone" ||
        name.getStringRef() == YieldOp::getOperationName())
      continue;
    ++count;
    EXPECT_TRUE(isInterpreted(name)) << name.getStringRef().str();
  }
  EXPECT_GE(count, 58u);
}

TEST_F(InterpreterTest, CallsTheHookAfterEachOp) {
  func::FuncOp func = parse(R"(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %a = hone.neg %x : tensor<2xf32>
      %b = hone.exp %a : tensor<2xf32>
      return %b : tensor<2xf32>
    })");
  std::vector<std::string> seen;
  Options options;
  options.hook = [&](Operation *op, ArrayRef<Tensor> results) {
    seen.push_back(op->getName().getStringRef().str() + " " +
                   results[0].typeName());
  };
  Tensor x = Tensor::floats(Element::F32, {2}, {0, 1}, Mode::Typed);
  ASSERT_TRUE(succeeded(interpret(func, {x}, options)));
  EXPECT_EQ(seen, (std::vector<std::string>{"hone.neg tensor<2xf32>",
                                            "hone.exp tensor<2xf32>"}));
}

TEST_F(InterpreterTest, RefusesArgumentsOfAnotherType) {
  func::FuncOp func = parse(R"(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      return %x : tensor<2xf32>
    })");
  std::string message;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  Tensor wide = Tensor::floats(Element::F64, {2}, {0, 1}, Mode::Typed);
  EXPECT_TRUE(failed(interpret(func, {wide})));
  EXPECT_EQ(message, "argument 0 has type 'tensor<2xf32>', got tensor<2xf64>");
  EXPECT_TRUE(failed(interpret(func, {})));
  EXPECT_EQ(message, "takes 1 arguments, got 0");
}

TEST_F(InterpreterTest, ArgumentsFollowSeedAndAttributes) {
  func::FuncOp func = parse(R"(
    func.func @f(%x: tensor<1000xf32>, %i: tensor<1000xi64> {hone.vocab = 7 : i64},
        %c: tensor<2xf32> {hone.init = {dist = "constant", value = 2.5 : f64}},
        %k: tensor<3xi64> {hone.kind = "rng"}) {
      return
    })");
  FailureOr<Tensors> first = randomArguments(func, 3, Mode::Typed);
  FailureOr<Tensors> again = randomArguments(func, 3, Mode::Typed);
  FailureOr<Tensors> other = randomArguments(func, 4, Mode::Typed);
  ASSERT_TRUE(succeeded(first) && succeeded(again) && succeeded(other));
  EXPECT_EQ((*first)[0].floats(), (*again)[0].floats());
  EXPECT_NE((*first)[0].floats(), (*other)[0].floats());
  ArrayRef<int64_t> ids = (*first)[1].ints();
  EXPECT_EQ(*std::min_element(ids.begin(), ids.end()), 0);
  EXPECT_EQ(*std::max_element(ids.begin(), ids.end()), 6);
  EXPECT_EQ((*first)[2].floats(), ArrayRef<double>({2.5, 2.5}));
  EXPECT_EQ((*first)[3].ints(), ArrayRef<int64_t>({3, 1, 0}));
}

// The known-answer vectors that the authors of Philox publish with Random123.
TEST(PhiloxTest, MatchesTheKnownAnswers) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                   {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RoundingTest, RoundsOnceToNearestEven) {
  EXPECT_EQ(roundTo(Element::F32, 0.1, Mode::Typed), double(0.1f));
  EXPECT_EQ(roundTo(Element::F32, 0.1, Mode::F64), 0.1);
  EXPECT_EQ(roundTo(Element::F64, 0.1, Mode::Typed), 0.1);
  // bf16 has 8 significant bits: 1 + 2^-8 lies halfway and goes to even; the
  // least bit above goes up, though a detour over f32 would lose it.
  EXPECT_EQ(roundTo(Element::BF16, 1 + 0x1p-8, Mode::Typed), 1.0);
  EXPECT_EQ(roundTo(Element::BF16, 1 + 0x1p-8 + 0x1p-40, Mode::Typed),
            1 + 0x1p-7);
  EXPECT_EQ(roundTo(Element::F16, 65520, Mode::Typed),
            std::numeric_limits<double>::infinity());
}

TEST(RoundingTest, EqualNumbersMoveBothWays) {
  std::vector<double> ones(64, 1.0);
  Tensor row = Tensor::floats(Element::F32, {64}, ones, Mode::Moved);
  int64_t up = 0;
  for (double value : row.floats()) {
    EXPECT_EQ(std::abs(value - 1.0), 0x1p-23);
    up += value > 1;
  }
  EXPECT_GT(up, 16);
  EXPECT_LT(up, 48);
  EXPECT_EQ(moved(Element::F32, 0.0, 7), 0.0); // stays, as it is exact
}

TEST(RoundingTest, IntegersWrap) {
  EXPECT_EQ(wrapTo(Element::I8, 128), -128);
  EXPECT_EQ(wrapTo(Element::I32, (int64_t(1) << 32) + 5), 5);
  EXPECT_EQ(wrapTo(Element::I1, -1), 1);
}

TEST(DotTest, AgreesWithThePlainSumsAcrossTiles) {
  // Sizes on both sides of the tile (4 x 32) and of the block of 512.
  for (int64_t rows : {1, 5})
    for (int64_t columns : {1, 33})
      for (int64_t depth : {0, 3, 513}) {
        ResultSpec left{Element::F64, {rows, depth}, Mode::F64};
        ResultSpec right{Element::F64, {columns, depth}, Mode::F64};
        Tensor key = Tensor::ints(Element::I64, {3}, {1, 2, 3});
        Tensor a = random(left, key, Distribution::normal, 0);
        Tensor b = random(right, key, Distribution::normal, 1);
        Tensor c = dotGeneral({Element::F64, {rows, columns}, Mode::F64}, a,
                              {{}, {0}, {1}}, b, {{}, {0}, {1}});
        for (int64_t m = 0; m != rows; ++m)
          for (int64_t n = 0; n != columns; ++n) {
            double sum = 0;
            for (int64_t k = 0; k != depth; ++k)
              sum += a.floats()[m * depth + k] * b.floats()[n * depth + k];
            EXPECT_EQ(c.floats()[m * columns + n], sum)
                << rows << "x" << columns << "x" << depth;
          }
      }
}
