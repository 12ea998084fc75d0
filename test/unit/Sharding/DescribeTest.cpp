//===- DescribeTest.cpp - A graph as a search for meshes sees it ----------===//

#include "hone/Sharding/Describe/DescribeModel.h"

#include "hone/IR/Hone.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hone;

namespace {

search::Model describe(const std::string &text, double streamBytes = 2) {
  MLIRContext context;
  context.loadDialect<HoneDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "the text is not parsed";
    return {};
  }
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  FailureOr<search::Model> model = dist::describeModel(forward, 2, streamBytes);
  EXPECT_TRUE(succeeded(model));
  return std::move(*model);
}

/// A layer of GPT-2, 2 x 16 tokens of width 8, two heads, and a head for 32
/// words, as the raise phase leaves them.
const char *const gpt = R"(
  func.func @forward(
      %table: tensor<32x8xf32> {hone.kind = "param"},
      %scale: tensor<8xf32> {hone.kind = "param"},
      %wqkv: tensor<24x8xf32> {hone.kind = "param"},
      %bqkv: tensor<24xf32> {hone.kind = "param"},
      %wo: tensor<8x8xf32> {hone.kind = "param"},
      %wup: tensor<32x8xf32> {hone.kind = "param"},
      %wdown: tensor<8x32xf32> {hone.kind = "param"},
      %tokens: tensor<2x16xi64> {hone.kind = "input"},
      %targets: tensor<32xi64> {hone.kind = "input"})
      -> (tensor<f32> {hone.kind = "loss"}) {
    %x0 = hone.embedding %table, %tokens : tensor<32x8xf32>, tensor<2x16xi64>
        -> tensor<2x16x8xf32>
    %n1, %m1, %r1 = hone.layer_norm %x0 scale %scale eps 1.0e-5
        : (tensor<2x16x8xf32>, tensor<8xf32>)
        -> (tensor<2x16x8xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
    %p = hone.dot_general %n1, %wqkv batch [] x [] contract [2] x [1]
        : tensor<2x16x8xf32>, tensor<24x8xf32> -> tensor<2x16x24xf32>
    %b = hone.broadcast %bqkv dims [2]
        : tensor<24xf32> -> tensor<2x16x24xf32>
    %qkv = hone.add %p, %b : tensor<2x16x24xf32>
    %q0 = hone.slice %qkv [0, 0, 0] to [2, 16, 8] by [1, 1, 1]
        : tensor<2x16x24xf32> -> tensor<2x16x8xf32>
    %k0 = hone.slice %qkv [0, 0, 8] to [2, 16, 16] by [1, 1, 1]
        : tensor<2x16x24xf32> -> tensor<2x16x8xf32>
    %v0 = hone.slice %qkv [0, 0, 16] to [2, 16, 24] by [1, 1, 1]
        : tensor<2x16x24xf32> -> tensor<2x16x8xf32>
    %q = hone.reshape %q0 : tensor<2x16x8xf32> -> tensor<2x16x2x4xf32>
    %k = hone.reshape %k0 : tensor<2x16x8xf32> -> tensor<2x16x2x4xf32>
    %v = hone.reshape %v0 : tensor<2x16x8xf32> -> tensor<2x16x2x4xf32>
    %a, %lse = hone.attention %q, %k, %v causal scale 5.0e-1
        : (tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>)
        -> (tensor<2x16x2x4xf32>, tensor<2x2x16xf32>)
    %a2 = hone.reshape %a : tensor<2x16x2x4xf32> -> tensor<2x16x8xf32>
    %o = hone.dot_general %a2, %wo batch [] x [] contract [2] x [1]
        : tensor<2x16x8xf32>, tensor<8x8xf32> -> tensor<2x16x8xf32>
    %x1 = hone.add %x0, %o : tensor<2x16x8xf32>
    %n2, %m2, %r2 = hone.layer_norm %x1 scale %scale eps 1.0e-5
        : (tensor<2x16x8xf32>, tensor<8xf32>)
        -> (tensor<2x16x8xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
    %up = hone.dot_general %n2, %wup batch [] x [] contract [2] x [1]
        : tensor<2x16x8xf32>, tensor<32x8xf32> -> tensor<2x16x32xf32>
    %act = hone.gelu tanh %up : tensor<2x16x32xf32>
    %down = hone.dot_general %act, %wdown batch [] x [] contract [2] x [1]
        : tensor<2x16x32xf32>, tensor<8x32xf32> -> tensor<2x16x8xf32>
    %x2 = hone.add %x1, %down : tensor<2x16x8xf32>
    %logits = hone.dot_general %x2, %table batch [] x [] contract [2] x [1]
        : tensor<2x16x8xf32>, tensor<32x8xf32> -> tensor<2x16x32xf32>
    %rows = hone.reshape %logits : tensor<2x16x32xf32> -> tensor<32x32xf32>
    %loss, %l = hone.cross_entropy mean %rows, %targets
        ignore_index -100 label_smoothing 0.0
        : tensor<32x32xf32>, tensor<32xi64> -> tensor<f32>, tensor<32xf32>
    return %loss : tensor<f32>
  })";

double total(const search::Activations &bytes) {
  return bytes.stream + bytes.gathered + bytes.inner + bytes.rows;
}

TEST(DescribeModel, SizesOfADecoder) {
  search::Model model = describe(gpt);
  EXPECT_EQ(model.sequences, 2);
  EXPECT_EQ(model.positions, 16);
  EXPECT_EQ(model.boundaryBytes, 16 * 8 * 2);
  EXPECT_EQ(model.heads, 2);
  EXPECT_EQ(model.keyHeads, 2);
  EXPECT_EQ(model.innerWidth, 8); // of 8 and 32
  EXPECT_EQ(model.experts, 0);
  EXPECT_TRUE(model.isCausal);
  // Attention with the embeddings, the MLP, the head.
  ASSERT_EQ(model.units.size(), 3u);
  EXPECT_EQ(model.units[0].parameters, 32 * 8 + 8 + 24 * 8 + 24 + 8 * 8);
  EXPECT_EQ(model.units[1].parameters, 2 * 32 * 8);
  EXPECT_EQ(model.units[2].parameters, 0); // tied
}

TEST(DescribeModel, ArithmeticOfASequence) {
  search::Model model = describe(gpt);
  EXPECT_EQ(model.units[0].productFlops, 2. * 16 * (24 * 8 + 8 * 8));
  EXPECT_EQ(model.units[0].attentionFlops, 2. * 2 * 16 * 16 * 8 / 2);
  EXPECT_EQ(model.units[0].attentionBackwardFlops,
            2.5 * model.units[0].attentionFlops);
  // In parts, what the mask hides is computed too.
  EXPECT_EQ(model.units[0].scoreFlops, 2 * model.units[0].attentionFlops);
  EXPECT_EQ(model.units[0].scoreFlops, 4 * 8 / 2. * model.units[0].scores);
  EXPECT_EQ(model.units[0].results.inner, 16. * 24 * 2);
  EXPECT_EQ(model.units[0].results.gathered, 16. * 8 * 2);
  EXPECT_EQ(model.units[1].productFlops, 2. * 16 * 2 * 32 * 8);
  EXPECT_EQ(model.units[2].productFlops, 2. * 16 * 32 * 8);
  EXPECT_EQ(model.units[0].keyBytes, 2. * 16 * 8 * 2);
  EXPECT_EQ(model.units[0].headBytes, 4. * 16 * 8 * 2);
}

// Korthikanti et al.: a layer keeps 34 bytes per element of the stream, 2 of
// which are masks of dropouts, which this one has not.
TEST(DescribeModel, ALayerKeepsWhatThePaperCounts) {
  search::Model model = describe(gpt);
  search::Activations layer;
  for (size_t unit : {0, 1}) {
    layer += model.units[unit].saved;
    layer += model.units[unit].cheap;
  }
  EXPECT_EQ(total(layer), 32. * 16 * 8);
  // 10 of the stream: inputs of two norms and of what reads these, and 24
  // that tensor parallelism divides, less the two masks. What products read of
  // the stream is whole.
  EXPECT_EQ(layer.stream, 4. * 16 * 8);
  EXPECT_EQ(layer.gathered, 4. * 16 * 8);
  EXPECT_EQ(layer.inner, 24. * 16 * 8);
  // Norms and the activation are made again from what is kept.
  EXPECT_EQ(model.units[0].cheap.gathered, 2. * 16 * 8);
  EXPECT_EQ(model.units[0].cheap.inner, 0);
  EXPECT_EQ(model.units[1].cheap.gathered, 2. * 16 * 8);
  EXPECT_EQ(model.units[1].cheap.inner, 8. * 16 * 8);
  // Gradients of weights read the results of the norm and of attention.
  EXPECT_EQ(total(model.units[0].operands), 4. * 16 * 8);
  EXPECT_EQ(total(model.units[0].cheapOperands), 2. * 16 * 8);
  EXPECT_EQ(total(model.units[1].cheapOperands), 10. * 16 * 8);
  EXPECT_EQ(total(model.units[1].remade), (4 + 16.) * 16 * 8);
}

// As docs/benchmarks/cluster-model.md has them: a norm moves 4 bytes per
// element, a residual sum 6, queries, keys and values 12, an activation 16.
TEST(DescribeModel, ElementsThatKernelsMove) {
  search::Model model = describe(gpt);
  EXPECT_EQ(model.units[1].moved.stream, (4 + 6.) * 16 * 8);
  EXPECT_EQ(model.units[1].moved.inner, 16. * 16 * 8);
  EXPECT_EQ(model.units[0].moved.inner, 12. * 16 * 8);
  EXPECT_EQ(model.units[0].sums, 1);
  EXPECT_EQ(model.units[1].sums, 1);
  EXPECT_EQ(model.units[2].sums, 0);
}

// Sums of the stream may be wider than what products read.
TEST(DescribeModel, AWideStream) {
  search::Model model = describe(gpt, /*streamBytes=*/4);
  EXPECT_EQ(model.boundaryBytes, 16 * 8 * 4);
  EXPECT_EQ(model.units[1].saved.stream, 4. * 16 * 8);   // the norm's input
  EXPECT_EQ(model.units[1].cheap.gathered, 2. * 16 * 8); // its result
}

/// Two of four experts for each of 2 x 16 tokens, beside a shared one.
const char *const experts = R"(
  func.func @forward(
      %table: tensor<32x8xf32> {hone.kind = "param"},
      %wup: tensor<4x12x8xf32> {hone.kind = "param"},
      %wdown: tensor<4x8x12xf32> {hone.kind = "param"},
      %sup: tensor<12x8xf32> {hone.kind = "param"},
      %sdown: tensor<8x12xf32> {hone.kind = "param"},
      %whead: tensor<32x8xf32> {hone.kind = "param"},
      %tokens: tensor<2x16xi64> {hone.kind = "input"},
      %ids: tensor<64xi64> {hone.kind = "input"},
      %back: tensor<32x2xi64> {hone.kind = "input"},
      %ends: tensor<4xi64> {hone.kind = "input"})
      -> (tensor<f32> {hone.kind = "loss"}) {
    %x0 = hone.embedding %table, %tokens : tensor<32x8xf32>, tensor<2x16xi64>
        -> tensor<2x16x8xf32>
    %flat = hone.reshape %x0 : tensor<2x16x8xf32> -> tensor<32x8xf32>
    %rows = hone.embedding %flat, %ids : tensor<32x8xf32>, tensor<64xi64>
        -> tensor<64x8xf32>
    %up = hone.grouped_dot %rows, %wup, %ends contract 2
        : tensor<64x8xf32>, tensor<4x12x8xf32>, tensor<4xi64>
        -> tensor<64x12xf32>
    %act = hone.gelu tanh %up : tensor<64x12xf32>
    %down = hone.grouped_dot %act, %wdown, %ends contract 2
        : tensor<64x12xf32>, tensor<4x8x12xf32>, tensor<4xi64>
        -> tensor<64x8xf32>
    %again = hone.embedding %down, %back : tensor<64x8xf32>, tensor<32x2xi64>
        -> tensor<32x2x8xf32>
    %routed = hone.reduce sum %again dims [1]
        : tensor<32x2x8xf32> -> tensor<32x8xf32>
    %s1 = hone.dot_general %flat, %sup batch [] x [] contract [1] x [1]
        : tensor<32x8xf32>, tensor<12x8xf32> -> tensor<32x12xf32>
    %s2 = hone.gelu tanh %s1 : tensor<32x12xf32>
    %shared = hone.dot_general %s2, %sdown batch [] x [] contract [1] x [1]
        : tensor<32x12xf32>, tensor<8x12xf32> -> tensor<32x8xf32>
    %both = hone.add %routed, %shared : tensor<32x8xf32>
    %wide = hone.reshape %both : tensor<32x8xf32> -> tensor<2x16x8xf32>
    %x1 = hone.add %x0, %wide : tensor<2x16x8xf32>
    %logits = hone.dot_general %x1, %whead batch [] x [] contract [2] x [1]
        : tensor<2x16x8xf32>, tensor<32x8xf32> -> tensor<2x16x32xf32>
    %loss = hone.reduce sum %logits dims [0, 1, 2]
        : tensor<2x16x32xf32> -> tensor<f32>
    return %loss : tensor<f32>
  })";

TEST(DescribeModel, Experts) {
  search::Model model = describe(experts);
  ASSERT_EQ(model.units.size(), 2u);
  const search::Unit &unit = model.units.front();
  EXPECT_EQ(model.experts, 4);
  EXPECT_EQ(model.innerWidth, 12);
  EXPECT_EQ(unit.expertParameters, 2 * 4 * 12 * 8);
  EXPECT_EQ(unit.parameters, 32 * 8 + 2 * 12 * 8);
  EXPECT_EQ(unit.expertFlops, 2. * 32 * 2 * 12 * 8); // 32 rows of a sequence
  EXPECT_EQ(unit.productFlops, 2. * 16 * 2 * 12 * 8);
  EXPECT_EQ(unit.rowBytes, 32. * 8 * 2);
  // Rows that experts read; that they are summed needs none of them.
  EXPECT_EQ(unit.saved.rows, 32. * 8 * 2);
  EXPECT_EQ(unit.sums, 1); // routed and shared together
}

TEST(DescribeModel, AFunctionWithoutBatchIsRefused) {
  MLIRContext context;
  context.loadDialect<HoneDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    func.func @forward(%w: tensor<4xf32> {hone.kind = "param"}) { return })",
                                                             &context);
  ASSERT_TRUE(module);
  std::string said;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { said = diagnostic.str(); });
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  EXPECT_TRUE(failed(dist::describeModel(forward, 2, 2)));
  EXPECT_EQ(said, "has no input of a batch, expected one, as a search for a "
                  "mesh divides it");
}

} // namespace
