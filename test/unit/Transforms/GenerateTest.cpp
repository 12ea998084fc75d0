//===- GenerateTest.cpp - @generate against @evaluate, in the interpreter -===//
//
// For each sequence, @generate is called for one token after the other. Its
// logits must be the rows of those that @evaluate computes for all positions.
//
//===----------------------------------------------------------------------===//

#include "hone/Interpreter/Interpreter.h"
#include "hone/Sharding/IR/Dist.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hone;
using namespace hone::interp;

namespace {
class GenerateTest : public testing::Test {
protected:
  GenerateTest() {
    context.loadDialect<HoneDialect, dist::DistDialect, func::FuncDialect>();
  }

  /// Builds @generate beside @evaluate, the function in `text`.
  void build(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    PassManager manager(&context);
    manager.addPass(createBuildGenerate());
    ASSERT_TRUE(succeeded(manager.run(*module)));
    evaluate = module->lookupSymbol<func::FuncOp>("evaluate");
    generate = module->lookupSymbol<func::FuncOp>("generate");
    arguments = *randomArguments(evaluate, /*seed=*/7, Mode::F64);
  }

  /// The logits of all rows that @evaluate computes.
  Tensor evaluateLogits() {
    Tensor logits;
    Options options{Mode::F64, nullptr};
    auto loss = *evaluate.front().getOps<CrossEntropyOp>().begin();
    options.hook = [&](Operation *op, ArrayRef<Tensor> results) {
      if (op == loss.getLogits().getDefiningOp())
        logits = results[0];
    };
    EXPECT_TRUE(succeeded(interpret(evaluate, arguments, options)));
    return logits;
  }

  /// What @generate starts with: the state of @evaluate, and zeros.
  Tensors firstArguments() {
    Tensors first;
    for (BlockArgument arg : generate.getArguments()) {
      std::optional<Tensor> known;
      for (BlockArgument old : evaluate.getArguments())
        if (argString(evaluate, old.getArgNumber(), attr::fqn) ==
            argString(generate, arg.getArgNumber(), attr::fqn))
          known = arguments[old.getArgNumber()];
      auto type = cast<RankedTensorType>(arg.getType());
      if (!known && isa<FloatType>(type.getElementType()))
        known = Tensor::floats(Element::F32, type.getShape(),
                               std::vector<double>(type.getNumElements()),
                               Mode::F64);
      first.push_back(known.value_or(Tensor::ints(Element::I64, {}, {0})));
    }
    return first;
  }

  unsigned indexOf(StringRef name) {
    for (unsigned index = 0; index != generate.getNumArguments(); ++index)
      if (argString(generate, index, attr::fqn) == name)
        return index;
    ADD_FAILURE() << "no argument " << name.str();
    return 0;
  }

  void compare() {
    Tensor tokens;
    for (BlockArgument arg : evaluate.getArguments())
      if (argString(evaluate, arg.getArgNumber(), attr::role) == "tokens")
        tokens = arguments[arg.getArgNumber()];
    Tensor expected = evaluateLogits();
    int64_t classes = expected.shape().back(), length = tokens.shape()[1];
    for (int64_t sequence = 0; sequence != tokens.shape()[0]; ++sequence) {
      Tensors state = firstArguments();
      for (int64_t position = 0; position != length; ++position) {
        int64_t row = sequence * length + position;
        state[indexOf("token")] =
            Tensor::ints(Element::I64, {}, {tokens.ints()[row]});
        state[indexOf("position")] = Tensor::ints(Element::I64, {}, {position});
        FailureOr<Tensors> results =
            interpret(generate, state, {Mode::F64, nullptr});
        ASSERT_TRUE(succeeded(results));
        unsigned logits = findResults(generate, kind::logits).front();
        for (int64_t id = 0; id != (*results)[logits].size(); ++id)
          ASSERT_NEAR((*results)[logits].number(id),
                      expected.number(row * classes + id), 1e-12)
              << "sequence " << sequence << ", position " << position
              << ", token " << id;
        for (auto [index, result] : llvm::enumerate(*results))
          if (auto donated = generate.getResultAttrOfType<IntegerAttr>(
                  index, attr::donates))
            state[donated.getInt()] = result;
      }
    }
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp evaluate, generate;
  Tensors arguments;
};
} // namespace

// Learned positions by ids that the graph counts, a packed projection, rows and
// positions in one dimension before the loss.
TEST_F(GenerateTest, FollowsPositionsThroughReshapesAndSlices) {
  build(R"(
    func.func @evaluate(
        %wte: tensor<11x8xf32> {hone.kind = "param", hone.fqn = "wte"},
        %wpe: tensor<6x8xf32> {hone.kind = "param", hone.fqn = "wpe"},
        %qkv: tensor<24x8xf32> {hone.kind = "param", hone.fqn = "qkv"},
        %t: tensor<2x5xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens", hone.vocab = 11 : i64},
        %y: tensor<2x5xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets", hone.vocab = 11 : i64})
        -> (tensor<f32> {hone.kind = "loss"}) {
      %ids = hone.iota dim 0 : tensor<5xi64>
      %row = hone.reshape %ids : tensor<5xi64> -> tensor<1x5xi64>
      %pos = hone.embedding %wpe, %row : tensor<6x8xf32>, tensor<1x5xi64> -> tensor<1x5x8xf32>
      %pos1 = hone.reshape %pos : tensor<1x5x8xf32> -> tensor<5x8xf32>
      %pos2 = hone.broadcast %pos1 dims [1, 2] : tensor<5x8xf32> -> tensor<2x5x8xf32>
      %e = hone.embedding %wte, %t : tensor<11x8xf32>, tensor<2x5xi64> -> tensor<2x5x8xf32>
      %x = hone.add %e, %pos2 : tensor<2x5x8xf32>
      %flat = hone.reshape %x : tensor<2x5x8xf32> -> tensor<10x8xf32>
      %p = hone.dot_general %flat, %qkv batch [] x [] contract [1] x [1]
          : tensor<10x8xf32>, tensor<24x8xf32> -> tensor<10x24xf32>
      %p1 = hone.reshape %p : tensor<10x24xf32> -> tensor<2x5x24xf32>
      %q = hone.slice %p1 [0, 0, 0] to [2, 5, 8] by [1, 1, 1] : tensor<2x5x24xf32> -> tensor<2x5x8xf32>
      %k = hone.slice %p1 [0, 0, 8] to [2, 5, 16] by [1, 1, 1] : tensor<2x5x24xf32> -> tensor<2x5x8xf32>
      %v = hone.slice %p1 [0, 0, 16] to [2, 5, 24] by [1, 1, 1] : tensor<2x5x24xf32> -> tensor<2x5x8xf32>
      %q1 = hone.reshape %q : tensor<2x5x8xf32> -> tensor<2x5x2x4xf32>
      %k1 = hone.reshape %k : tensor<2x5x8xf32> -> tensor<2x5x2x4xf32>
      %v1 = hone.reshape %v : tensor<2x5x8xf32> -> tensor<2x5x2x4xf32>
      %o, %lse = hone.attention %q1, %k1, %v1 causal scale 0.5
          : (tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>)
          -> (tensor<2x5x2x4xf32>, tensor<2x2x5xf32>)
      %o1 = hone.reshape %o : tensor<2x5x2x4xf32> -> tensor<2x5x8xf32>
      %r = hone.add %x, %o1 : tensor<2x5x8xf32>
      %l = hone.dot_general %r, %wte batch [] x [] contract [2] x [1]
          : tensor<2x5x8xf32>, tensor<11x8xf32> -> tensor<2x5x11xf32>
      %l1 = hone.reshape %l : tensor<2x5x11xf32> -> tensor<10x11xf32>
      %y1 = hone.reshape %y : tensor<2x5xi64> -> tensor<10xi64>
      %loss, %z = hone.cross_entropy mean %l1, %y1 ignore_index -100 label_smoothing 0.0
          : tensor<10x11xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
      return %loss : tensor<f32>
    })");
  compare();
}

// Rotations from tables, fewer key heads than heads, and a mask per head
// that depends on both positions (ALiBi).
TEST_F(GenerateTest, PicksTablesAndMasksAtThePosition) {
  build(R"(
    func.func @evaluate(
        %wte: tensor<11x8xf32> {hone.kind = "param", hone.fqn = "wte"},
        %w: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "w"},
        %cos: tensor<5x2xf32> {hone.kind = "buffer", hone.fqn = "cos"},
        %sin: tensor<5x2xf32> {hone.kind = "buffer", hone.fqn = "sin"},
        %m: tensor<2x5x5xf32> {hone.kind = "buffer", hone.fqn = "m"},
        %t: tensor<2x5xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens", hone.vocab = 11 : i64},
        %y: tensor<2x5xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets", hone.vocab = 11 : i64})
        -> (tensor<f32> {hone.kind = "loss"}) {
      %x = hone.embedding %wte, %t : tensor<11x8xf32>, tensor<2x5xi64> -> tensor<2x5x8xf32>
      %q = hone.reshape %x : tensor<2x5x8xf32> -> tensor<2x5x2x4xf32>
      %k = hone.dot_general %x, %w batch [] x [] contract [2] x [1]
          : tensor<2x5x8xf32>, tensor<4x8xf32> -> tensor<2x5x4xf32>
      %k1 = hone.reshape %k : tensor<2x5x4xf32> -> tensor<2x5x1x4xf32>
      %c = hone.exp %cos : tensor<5x2xf32>
      %q2 = hone.rope half %q, %c, %sin : tensor<2x5x2x4xf32>, tensor<5x2xf32>
      %k2 = hone.rope half %k1, %c, %sin : tensor<2x5x1x4xf32>, tensor<5x2xf32>
      %mask = hone.reshape %m : tensor<2x5x5xf32> -> tensor<1x2x5x5xf32>
      %o, %lse = hone.attention %q2, %k2, %k1 mask %mask causal scale 0.5
          : (tensor<2x5x2x4xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1x4xf32>, tensor<1x2x5x5xf32>)
          -> (tensor<2x5x2x4xf32>, tensor<2x2x5xf32>)
      %o1 = hone.reshape %o : tensor<2x5x2x4xf32> -> tensor<2x5x8xf32>
      %l = hone.dot_general %o1, %wte batch [] x [] contract [2] x [1]
          : tensor<2x5x8xf32>, tensor<11x8xf32> -> tensor<2x5x11xf32>
      %loss, %z = hone.cross_entropy mean %l, %y ignore_index -100 label_smoothing 0.0
          : tensor<2x5x11xf32>, tensor<2x5xi64> -> tensor<f32>, tensor<2x5xf32>
      return %loss : tensor<f32>
    })");
  compare();
}

// Documents as hone-separate-documents counts them, in rows that hold no end of
// one: those of @evaluate are one document, as a text of @generate is.
TEST_F(GenerateTest, TakesTheTextForOneDocument) {
  build(R"(
    func.func @evaluate(
        %wte: tensor<11x8xf32> {hone.kind = "param", hone.fqn = "wte"},
        %wpe: tensor<5x8xf32> {hone.kind = "param", hone.fqn = "wpe"},
        %t: tensor<2x5xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens", hone.vocab = 11 : i64},
        %y: tensor<2x5xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets", hone.vocab = 11 : i64})
        -> (tensor<f32> {hone.kind = "loss"}) {
      %end = hone.constant dense<99> : tensor<2x5xi64>
      %is = hone.cmp eq, %t, %end : tensor<2x5xi64> -> tensor<2x5xi1>
      %ends = hone.cast %is : tensor<2x5xi1> -> tensor<2x5xi32>
      %sum = hone.cumsum %ends dim 1 : tensor<2x5xi32>
      %segments = hone.sub %sum, %ends {hone.of_document = "segment"} : tensor<2x5xi32>
      %place = hone.iota dim 1 : tensor<2x5xi32>
      %firsts = hone.put_along min %place, %segments dim 1 : tensor<2x5xi32>, tensor<2x5xi32> -> tensor<2x5xi32>
      %first = hone.take_along %firsts, %segments dim 1 : tensor<2x5xi32>, tensor<2x5xi32> -> tensor<2x5xi32>
      %positions = hone.sub %place, %first {hone.of_document = "position"} : tensor<2x5xi32>
      %p = hone.embedding %wpe, %positions : tensor<5x8xf32>, tensor<2x5xi32> -> tensor<2x5x8xf32>
      %e = hone.embedding %wte, %t : tensor<11x8xf32>, tensor<2x5xi64> -> tensor<2x5x8xf32>
      %x = hone.add %e, %p : tensor<2x5x8xf32>
      %q = hone.reshape %x : tensor<2x5x8xf32> -> tensor<2x5x2x4xf32>
      %o, %lse = hone.attention %q, %q, %q mask %segments causal scale 0.5
          : (tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5xi32>)
          -> (tensor<2x5x2x4xf32>, tensor<2x2x5xf32>)
      %o1 = hone.reshape %o : tensor<2x5x2x4xf32> -> tensor<2x5x8xf32>
      %l = hone.dot_general %o1, %wte batch [] x [] contract [2] x [1]
          : tensor<2x5x8xf32>, tensor<11x8xf32> -> tensor<2x5x11xf32>
      %loss, %z = hone.cross_entropy mean %l, %y ignore_index -100 label_smoothing 0.0
          : tensor<2x5x11xf32>, tensor<2x5xi64> -> tensor<f32>, tensor<2x5xf32>
      return %loss : tensor<f32>
    })");
  compare();
}
