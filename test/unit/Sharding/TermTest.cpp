//===- TermTest.cpp - Terms instead of sums -------------------------------===//
//
// Ops are linear in the operands that they say, and ranks go on with terms
// where that saves sums.
//
//===----------------------------------------------------------------------===//

#include "gtest/gtest.h"

#include "DistCase.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;
using namespace hone::interp;

//===----------------------------------------------------------------------===//
// What ops say
//===----------------------------------------------------------------------===//

namespace {
struct LinearOp {
  std::string name, arguments, op, result;
};

void PrintTo(const LinearOp &op, std::ostream *os) { *os << op.name; }

class Linear : public testing::TestWithParam<LinearOp> {};
} // namespace

static Tensor sumOf(const Tensor &a, const Tensor &b) {
  std::vector<double> sum;
  for (auto [x, y] : llvm::zip_equal(a.floats(), b.floats()))
    sum.push_back(x + y);
  return Tensor::floats(a.element(), a.shape(), std::move(sum), Mode::F64);
}

static Tensor resultOf(func::FuncOp func, const Tensors &arguments) {
  FailureOr<Tensors> results = interpret(func, arguments, {Mode::F64, {}});
  EXPECT_TRUE(succeeded(results));
  return results->front();
}

/// f(a + b) = f(a) + f(b) in each set of operands, but for the rounding of
/// sums of a few numbers of size 1.
TEST_P(Linear, SumsOfOperandsGiveSumsOfResults) {
  const LinearOp &op = GetParam();
  MLIRContext context;
  context.loadDialect<HoneDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "func.func @f(" + op.arguments + ") -> " + op.result +
          " {\n%r = " + op.op + "\nreturn %r : " + op.result + "\n}",
      &context);
  ASSERT_TRUE(module);
  auto func = *module->getOps<func::FuncOp>().begin();
  FailureOr<Tensors> first = randomArguments(func, 1, Mode::F64);
  FailureOr<Tensors> second = randomArguments(func, 2, Mode::F64);
  ASSERT_TRUE(succeeded(first) && succeeded(second));
  auto facts = cast<HoneOpInterface>(func.getBody().front().front());
  OperandSets sets = facts.getLinearOperands();
  ASSERT_FALSE(sets.empty());
  for (ArrayRef<unsigned> set : sets) {
    Tensors other = *first, together = *first;
    for (unsigned index : set) {
      other[index] = (*second)[index];
      together[index] = sumOf((*first)[index], (*second)[index]);
    }
    Tensor wanted = sumOf(resultOf(func, *first), resultOf(func, other));
    Tensor got = resultOf(func, together);
    for (int64_t i = 0; i != got.size(); ++i)
      EXPECT_NEAR(got.number(i), wanted.number(i), 1e-12) << i;
  }
}

static std::string unary(const std::string &name) {
  return "hone." + name + " %0 : tensor<4x6xf32>";
}

INSTANTIATE_TEST_SUITE_P(
    Ops, Linear,
    testing::ValuesIn(std::vector<LinearOp>{
        {"neg", "%0: tensor<4x6xf32>", unary("neg"), "tensor<4x6xf32>"},
        {"add", "%0: tensor<4xf32>, %1: tensor<4xf32>",
         "hone.add %0, %1 : tensor<4xf32>", "tensor<4xf32>"},
        {"sub", "%0: tensor<4xf32>, %1: tensor<4xf32>",
         "hone.sub %0, %1 : tensor<4xf32>", "tensor<4xf32>"},
        {"mul", "%0: tensor<4xf32>, %1: tensor<4xf32>",
         "hone.mul %0, %1 : tensor<4xf32>", "tensor<4xf32>"},
        {"div", "%0: tensor<4xf32>, %1: tensor<4xf32>",
         "hone.div %0, %1 : tensor<4xf32>", "tensor<4xf32>"},
        {"cast", "%0: tensor<4xbf16>",
         "hone.cast %0 : tensor<4xbf16> -> tensor<4xf32>", "tensor<4xf32>"},
        {"select", "%0: tensor<4xi1>, %1: tensor<4xf32>, %2: tensor<4xf32>",
         "hone.select %0, %1, %2 : tensor<4xi1>, tensor<4xf32>",
         "tensor<4xf32>"},
        {"reshape", "%0: tensor<4x6xf32>",
         "hone.reshape %0 : tensor<4x6xf32> -> tensor<24xf32>",
         "tensor<24xf32>"},
        {"transpose", "%0: tensor<4x6xf32>",
         "hone.transpose %0 [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>",
         "tensor<6x4xf32>"},
        {"broadcast", "%0: tensor<6xf32>",
         "hone.broadcast %0 dims [1] : tensor<6xf32> -> tensor<4x6xf32>",
         "tensor<4x6xf32>"},
        {"slice", "%0: tensor<4x6xf32>",
         "hone.slice %0 [0, 1] to [4, 5] by [1, 2] : tensor<4x6xf32> -> "
         "tensor<4x2xf32>",
         "tensor<4x2xf32>"},
        {"pad", "%0: tensor<4xf32>",
         "hone.pad %0 low [1] high [2] interior [1] : tensor<4xf32> -> "
         "tensor<10xf32>",
         "tensor<10xf32>"},
        {"concat", "%0: tensor<4x6xf32>, %1: tensor<2x6xf32>",
         "hone.concat %0, %1 dim 0 : (tensor<4x6xf32>, tensor<2x6xf32>) -> "
         "tensor<6x6xf32>",
         "tensor<6x6xf32>"},
        {"reduce", "%0: tensor<4x6xf32>",
         "hone.reduce sum %0 dims [1] : tensor<4x6xf32> -> tensor<4xf32>",
         "tensor<4xf32>"},
        {"cumsum", "%0: tensor<4x6xf32>",
         "hone.cumsum %0 dim 1 : tensor<4x6xf32>", "tensor<4x6xf32>"}}),
    [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// What ranks collective
//===----------------------------------------------------------------------===//

static std::string collectivesOf(const DistText &text) {
  DistCase test(text);
  EXPECT_TRUE(test.partition()) << test.errors;
  EXPECT_TRUE(test.ranksAgree()) << text.str();
  return test.collectives();
}

/// Gradients of a table that an embedding and a head share: 256 bytes each.
TEST(Terms, OfTwoUsesAreSummedOnce) {
  const std::string t = "tensor<8x4xf32>", w = "tensor<4x16xf32>",
                    g = "tensor<8x16xf32>";
  std::string dot = "hone.dot_general %0, %1 batch [] x [] contract [0] x [0] "
                    ": " +
                    t + ", " + g + " -> " + w;
  EXPECT_EQ(
      collectivesOf(
          {R"([<"dp" = 4>])",
           {t, g, w},
           {w},
           {R"({"dp"}, {})", R"({"dp"}, {})", "{}, {}"},
           {"{}, {}"},
           "%a = " + dot + "\n%n = hone.neg %0 : " + t +
               "\n%b = hone.dot_general %n, %1 batch [] x [] "
               "contract [0] x [0] : " +
               t + ", " + g + " -> " + w + "\n%s = hone.add %a, %b : " + w +
               "\n%r = hone.sub %2, %s : " + w + "\nreturn %r : " + w}),
      "all_reduce(dp) 256");
}

/// One of the ops gathers an operand before.
TEST(Terms, WaitWhateverTheirOpsGather) {
  const std::string t = "tensor<8x4xf32>", u = "tensor<4x6xf32>",
                    r = "tensor<8x6xf32>";
  std::string dot =
      " batch [] x [] contract [1] x [0] : " + t + ", " + u + " -> " + r;
  EXPECT_EQ(collectivesOf({R"([<"a" = 2>, <"b" = 2>])",
                           {t, u, t, u},
                           {r},
                           {R"({"a"}, {"b"})", R"({"b"}, {})", R"({}, {"b"})",
                            R"({"b"}, {"a"})"},
                           {R"({"a"}, {})"},
                           "%x = hone.dot_general %0, %1" + dot +
                               "\n%y = hone.dot_general %2, %3" + dot +
                               "\n%s = hone.add %x, %y : " + r +
                               "\nreturn %s : " + r}),
            "all_gather(a) 24, all_reduce(b) 96");
}

/// A rank reads what the one below it has; what began has ended.
TEST(Shift, GoesAround) {
  MLIRContext context;
  context.loadDialect<HoneDialect, DistDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      R"(dist.mesh @mesh [<"a" = 2>, <"b" = 3>]
         func.func @f(%x: tensor<f32>) -> tensor<f32> {
           %s = dist.shift %x by 1 over ["b"] async : tensor<f32>
           %w = dist.wait %s : tensor<f32>
           return %w : tensor<f32>
         })",
      &context);
  ASSERT_TRUE(module);
  FailureOr<Mesh> mesh = Mesh::of(*module);
  ASSERT_TRUE(succeeded(mesh));
  std::vector<Tensors> parts;
  for (int rank = 0; rank != 6; ++rank)
    parts.push_back(
        {Tensor::floats(Element::F32, {}, {double(rank)}, Mode::F64)});
  FailureOr<std::vector<Tensors>> got =
      interpretRanks(*module->getOps<func::FuncOp>().begin(), std::move(parts),
                     Mode::F64, collectivesOn(*mesh, Mode::F64));
  ASSERT_TRUE(succeeded(got));
  std::vector<double> numbers;
  for (const Tensors &rank : *got)
    numbers.push_back(rank[0].number(0));
  EXPECT_EQ(numbers, (std::vector<double>{2, 0, 1, 5, 3, 4}));
}
