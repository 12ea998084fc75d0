//===- RuleTest.cpp - Each op's rule against the undivided op -------------===//
//
// Functions of one op under random shardings of arguments and results: the
// ranks' results make what the op computes alone. Sums are taken in double, in
// another order: 1e-12 of the result's size. Random numbers are those of the
// whole, bit for bit.
//
//===----------------------------------------------------------------------===//

#include "gtest/gtest.h"

#include "DistCase.h"
#include "RuleOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace hone;
using namespace hone::dist;
using namespace hone::test;

namespace {
class Rule : public testing::TestWithParam<OpText> {};
} // namespace

static SmallVector<int64_t> shapeOf(const std::string &type) {
  SmallVector<int64_t> shape;
  StringRef rest = StringRef(type).drop_front(strlen("tensor<"));
  int64_t size;
  while (!rest.consumeInteger(10, size)) {
    shape.push_back(size);
    rest.consume_front("x");
  }
  return shape;
}

TEST_P(Rule, EqualsTheOpUnderAnySharding) {
  const OpText &op = GetParam();
  const Mesh axes({{"a", 2, ""}, {"b", 2, ""}, {"c", 3, ""}});
  std::minstd_rand draw(7);
  int exchanged = 0;
  for (int i = 0; i != 60; ++i) {
    DistText text{R"([<"a" = 2>, <"b" = 2>, <"c" = 3>])",
                  op.arguments,
                  op.results,
                  {},
                  {},
                  op.op};
    for (const std::string &type : op.arguments)
      text.argumentShardings.push_back(
          randomSharding(shapeOf(type), axes, draw));
    for (const std::string &type : op.results)
      text.resultShardings.push_back(randomSharding(shapeOf(type), axes, draw));
    std::string names;
    for (size_t result = 0; result != op.results.size(); ++result)
      names += (result ? ", %r" : " %r") + (op.results.size() > 1
                                                ? "#" + std::to_string(result)
                                                : std::string());
    text.body += "\nreturn" + names + " : " + llvm::join(op.results, ", ");
    DistCase test(text);
    ASSERT_TRUE(test.partition()) << test.errors << text.str();
    EXPECT_TRUE(test.ranksAgree(op.tolerance, op.mode)) << text.str();
    exchanged += !test.collectives().empty();
  }
  EXPECT_GT(exchanged, 0);
}

INSTANTIATE_TEST_SUITE_P(CodedOps, Rule, testing::ValuesIn(codedOps()),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(ElementOps, Rule, testing::ValuesIn(elementOps()),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Ops, Rule, testing::ValuesIn(ops()),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(RandomOps, Rule, testing::ValuesIn(randomOps()),
                         [](const auto &info) { return info.param.name; });

/// Ops that need no case, each with its reason.
static const std::map<StringRef, const char *> withoutCase = {
    {"hone.adafactor", "its primitives are divided"},
    {"hone.amax", "made of what is divided already, by hone-quantize-products"},
    {"hone.custom_gradient",
     "autodiff removes it before ranks divide the step"},
    {"hone.fused", "fusion makes groups of what is divided already"},
    {"hone.muon", "its primitives are divided"},
    {"hone.quantize",
     "made of what is divided already, by hone-quantize-products"},
};

TEST(Rules, EveryOpHasACase) {
  StringSet<> covered;
  for (const auto &table : {elementOps(), ops(), randomOps(), codedOps()})
    for (const OpText &op : table) {
      SmallVector<StringRef> words;
      SplitString(op.op, words, " (\n");
      for (StringRef word : words)
        if (word.starts_with("hone."))
          covered.insert(word);
    }
  MLIRContext context;
  context.loadDialect<HoneDialect>();
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (op.hasInterface<HoneOpInterface>() &&
        withoutCase.count(op.getStringRef()) == 0)
      EXPECT_TRUE(covered.contains(op.getStringRef()))
          << op.getStringRef().str() << " has no case in RuleTest.cpp";
}
