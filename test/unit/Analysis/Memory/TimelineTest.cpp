//===- TimelineTest.cpp - What lives in the arena, by launch --------------===//

#include "hone/Analysis/Memory/Timeline.h"
#include "hone/Analysis/Recompute/ForwardPart.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hone;

namespace {
class MemoryTimelineTest : public testing::Test {
protected:
  void parse(StringRef text) {
    context.loadDialect<HoneDialect, plan::PlanDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
  }
  MemoryTimeline timeline() {
    return MemoryTimeline(*module->getOps<plan::ProgramOp>().begin());
  }
  func::FuncOp function() { return *module->getOps<func::FuncOp>().begin(); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// Two weights and a moment below 576; %a is read twice, %c is written over %b
/// and is a result, %s is scratch, and nothing uses bytes [896, 1024).
constexpr StringLiteral program = R"(
plan.program @p arena 1280 {
  plan.argument "h.0.w" kind "param" at 0 : tensor<64xf32>
  plan.argument "h.11.w" kind "param" at 256 : tensor<64xf32>
  plan.argument "m" kind "opt" at 512 : tensor<10xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    %a = plan.buffer at 576 : memref<64xf32> for activations
    %b = plan.buffer at 1024 : memref<60xf32> for temporaries
    %c = plan.buffer at 1024 : memref<60xf32> for gradients
    %s = plan.buffer at 832 : memref<16xf32> for workspaces
    %e = plan.buffer at 576 : memref<f32>
    plan.launch map ins(%w : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32> loc("model.py":40:0)
      plan.yield %r : tensor<64xf32>
    }
    plan.launch row ins(%a : memref<64xf32>) outs(%b : memref<60xf32>) scratch(%s : memref<16xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.slice %x [0] to [60] by [1] : tensor<64xf32> -> tensor<60xf32>
      plan.yield %r : tensor<60xf32>
    }
    plan.launch map ins(%b, %a : memref<60xf32>, memref<64xf32>) outs(%c : memref<60xf32>) {
    ^bb0(%x: tensor<60xf32>, %y: tensor<64xf32>):
      %r = hone.neg %x : tensor<60xf32>
      plan.yield %r : tensor<60xf32>
    }
    plan.launch row ins(%w : memref<64xf32>) outs(%e : memref<f32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.reduce sum %x dims [0] : tensor<64xf32> -> tensor<f32>
      plan.yield %r : tensor<f32>
    }
    plan.result "grad.w", %c : memref<60xf32>
  }
}
)";

TEST_F(MemoryTimelineTest, CountsWhatLivesDuringEachLaunch) {
  parse(program);
  MemoryTimeline memory = timeline();
  ASSERT_EQ(memory.points().size(), 4u);
  EXPECT_EQ(memory.stateBytes()[MemoryCategory::Parameters], 512);
  EXPECT_EQ(memory.stateBytes()[MemoryCategory::Optimizer], 64);
  EXPECT_EQ(memory.points()[0].live.total(), 576 + 256);
  EXPECT_EQ(memory.points()[1].live.total(), 576 + 256 + 256 + 64);
  EXPECT_EQ(memory.points()[1].live[MemoryCategory::Workspaces], 64);
  EXPECT_EQ(memory.points()[3].live.total(), 576 + 256 + 64);
}

TEST_F(MemoryTimelineTest, CountsBytesOnceThatAreWrittenOver) {
  parse(program);
  MemoryBytes live = timeline().points()[2].live;
  EXPECT_EQ(live[MemoryCategory::Temporaries], 0);
  EXPECT_EQ(live[MemoryCategory::Gradients], 256);
  EXPECT_EQ(live.total(), 576 + 256 + 256);
}

TEST_F(MemoryTimelineTest, AccountsForTheWholeArenaAtTheFullestPoint) {
  parse(program);
  MemoryTimeline memory = timeline();
  EXPECT_EQ(memory.fullest(), 1u);
  EXPECT_EQ(memory.gapBytes(), 128);
  EXPECT_EQ(memory.peakBytes().total() + memory.gapBytes(), 1280);
  SmallVector<LiveTensors> tensors = memory.tensorsAtPeak();
  ASSERT_EQ(tensors.size(), 5u);
  EXPECT_EQ(tensors[0].name, "h.*.w");
  EXPECT_EQ(tensors[0].count, 2);
  EXPECT_EQ(tensors[0].bytes, 512);
  EXPECT_EQ(tensors[1].name, "tanh");
  EXPECT_EQ(tensors[1].location, "model.py:40");
  EXPECT_EQ(tensors[1].category, MemoryCategory::Activations);
  EXPECT_EQ(tensors[2].name, "slice");
  int64_t sum = 0;
  for (const LiveTensors &row : tensors)
    sum += row.bytes;
  EXPECT_EQ(sum, memory.peakBytes().total());
}

TEST_F(MemoryTimelineTest, IsStateAloneWithoutLaunches) {
  parse(R"(
plan.program @p arena 256 {
  plan.argument "w" kind "param" at 0 : tensor<60xf32>
  plan.function @step {}
})");
  EXPECT_EQ(timeline().fullest(), std::nullopt);
  EXPECT_EQ(timeline().peakBytes().total(), 256);
  EXPECT_EQ(timeline().gapBytes(), 0);
}

//===----------------------------------------------------------------------===//
// The forward part
//===----------------------------------------------------------------------===//

using ForwardPartTest = MemoryTimelineTest;

/// %t is read again after the loss, as another shape; %u only before it.
constexpr StringLiteral step = R"(
func.func @step(%x: tensor<8x64xf32>) -> (tensor<512xf32>, tensor<f32> {hone.kind = "loss"}) {
  %t = hone.tanh %x : tensor<8x64xf32>
  %u = hone.neg %t : tensor<8x64xf32>
  %l = hone.reduce sum %u dims [0, 1] : tensor<8x64xf32> -> tensor<f32>
  %r = hone.reshape %t : tensor<8x64xf32> -> tensor<512xf32>
  %g = hone.neg %r : tensor<512xf32>
  return %g, %l : tensor<512xf32>, tensor<f32>
})";

TEST_F(ForwardPartTest, HoldsWhatTheLossIsMadeFrom) {
  parse(step);
  ForwardPart forward(function());
  std::string held;
  for (Operation &op : function().getBody().front())
    held += forward.contains(&op) ? '1' : '0';
  EXPECT_EQ(held, "111000");
}

TEST_F(ForwardPartTest, KnowsWhatIsReadAfterIt) {
  parse(step);
  ForwardPart forward(function());
  std::string read;
  for (Operation &op : function().getBody().front().without_terminator())
    read += forward.isReadAfter(op.getResult(0)) ? '1' : '0';
  EXPECT_EQ(read, "10000");
}

TEST_F(ForwardPartTest, EndsWithTheSumOverMicroBatches) {
  parse(R"(
func.func @accumulate(%x: tensor<8xf32>, %sum: tensor<f32>)
    -> (tensor<f32> {hone.kind = "scalar", hone.fqn = "loss", hone.donates = 1 : i64}) {
  %l = hone.reduce sum %x dims [0] : tensor<8xf32> -> tensor<f32>
  %s = hone.add %sum, %l : tensor<f32>
  return %s : tensor<f32>
})");
  EXPECT_EQ(findLoss(function()).getDefiningOp()->getName().stripDialect(),
            "add");
  EXPECT_FALSE(ForwardPart(function()).empty());
}

TEST_F(ForwardPartTest, IsEmptyWithoutALoss) {
  parse(R"(
func.func @update(%x: tensor<8xf32>) -> (tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}) {
  %s = hone.neg %x : tensor<8xf32>
  return %s : tensor<8xf32>
})");
  EXPECT_TRUE(ForwardPart(function()).empty());
}
} // namespace
