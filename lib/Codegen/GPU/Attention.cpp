//===- Attention.cpp - Attention by a GPU's library -----------------------===//

#include "Attention.h"

#include "Builder.h"
#include "Codegen/Common/Philox.h"
#include "hone/Analysis/Attention/Problem.h"
#include "hone/Analysis/Memory/Scratch.h"

using namespace mlir;
using namespace hone;
using namespace hone::plan;

namespace {
/// The buffers of a launch by the values of its only op.
class LaunchBuffers {
public:
  LaunchBuffers(LaunchOp launch, const LibraryScratch &scratch)
      : launch(launch), scratch(scratch) {}

  Value of(Value value);
  /// Null where the call needs none.
  Value workspace() {
    return scratch.workspace ? launch.getScratch().front() : Value();
  }
  /// Null without dropout.
  Value seed() {
    return scratch.seed ? launch.getScratch()[scratch.workspace ? 1 : 0]
                        : Value();
  }

private:
  LaunchOp launch;
  const LibraryScratch &scratch;
};
} // namespace

Value LaunchBuffers::of(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return launch.getInputs()[argument.getArgNumber()];
  ValueRange yielded = launch.getBodyBlock().getTerminator()->getOperands();
  for (auto [index, other] : llvm::enumerate(yielded))
    if (other == value)
      return launch.getOutputs()[index];
  size_t index = (scratch.workspace ? 1 : 0) + (scratch.seed ? 1 : 0);
  for (auto &[unread, type] : scratch.unread) {
    if (unread == value)
      return launch.getScratch()[index];
    ++index;
  }
  llvm_unreachable("checked by checkLaunch");
}

/// Checks what is relied on beyond the verifiers.
static LogicalResult checkLaunch(LaunchOp launch, Operation *op) {
  if (!op->hasAttr(attr::workspace))
    return launch.emitOpError("is attention, for which there is no device "
                              "code: expected hone-plan-attention or "
                              "hone-decompose-attention before");
  Operation *yield = launch.getBodyBlock().getTerminator();
  if (op != &launch.getBodyBlock().front() || op->getNextNode() != yield ||
      !llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>))
    return op->emitOpError("is not alone in its launch, on its inputs");
  DenseSet<Value> seen;
  for (Value value : yield->getOperands())
    if (value.getDefiningOp() != op || !seen.insert(value).second)
      return op->emitOpError("does not produce each output of its launch "
                             "exactly once");
  if (!llvm::equal(launch.getScratch().getTypes(),
                   LibraryScratch::of(launch.getBodyBlock()).types()))
    return op->emitOpError("has other scratch than its workspace and results "
                           "that nothing reads");
  return success();
}

static HeadStrides headStrides(Value buffer) {
  SmallVector<int64_t> strides =
      getStridesAndOffset(cast<MemRefType>(buffer.getType())).first;
  return {strides[0], strides[1], strides[2]};
}

FailureOr<AttentionCall> hone::describeAttentionCall(LaunchOp launch) {
  Operation *op = &launch.getBodyBlock().front();
  std::optional<AttentionParts> parts = readAttention(op);
  if (!parts)
    return op->emitOpError("is in a launch of attention, expected "
                           "hone.attention or hone.attention_bwd first");
  if (failed(checkLaunch(launch, op)))
    return failure();
  LibraryScratch scratch = LibraryScratch::of(launch.getBodyBlock());
  LaunchBuffers buffers(launch, scratch);
  AttentionCall call;
  for (Value value : parts->inCallOrder()) {
    Value buffer = buffers.of(value);
    auto type = cast<MemRefType>(buffer.getType());
    bool isDense = type.getLayout().isIdentity();
    if (value == parts->lse ? !isDense
                            : getStridesAndOffset(type).first.back() != 1)
      return op->emitOpError()
             << "uses " << type << ", expected "
             << (value == parts->lse ? "a dense log-sum-exp"
                                     : "an innermost stride of 1");
    call.offsets.push_back(arenaOffset(buffer));
  }
  if (Value seed = buffers.seed())
    call.offsets.push_back(arenaOffset(seed));
  if (Value workspace = buffers.workspace()) {
    call.workspace = alignedWorkspace(arenaOffset(workspace));
    call.workspaceBytes =
        op->getAttrOfType<IntegerAttr>(attr::workspace).getInt();
  }
  call.problem =
      describeAttention(*parts, op->hasAttr(attr::deterministic),
                        [&](Value v) { return headStrides(buffers.of(v)); });
  return call;
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// The first 64 random bits of `salt` under the key at `address`, as i64.
static Value randomBits(DeviceBuilder &b, Value address, uint64_t salt) {
  auto keyType = VectorType::get({3}, b.getI64Type());
  Value key = b.create<arith::ConstantOp>(b.getZeroAttr(keyType));
  for (int64_t part = 0; part != 3; ++part)
    key = b.create<vector::InsertOp>(
        b.load(address, b.getI64Type(), b.index(part)), key, part);
  Value salted = b.create<arith::ConstantOp>(b.getI64IntegerAttr(salt));
  Value words =
      emitPhiloxGroups(b, b.getLoc(), b.index(0), /*groups=*/1, salted, key);
  auto word = [&](int64_t number) -> Value {
    return b.create<arith::ExtUIOp>(b.getI64Type(),
                                    b.create<vector::ExtractOp>(words, number));
  };
  Value half = b.create<arith::ConstantOp>(b.getI64IntegerAttr(32));
  return b.create<arith::OrIOp>(word(0),
                                b.create<arith::ShLIOp>(word(1), half));
}

FailureOr<GridKernel> hone::emitAttentionSeed(OpBuilder &builder,
                                              StringRef name, LaunchOp launch) {
  Operation *op = &launch.getBodyBlock().front();
  if (failed(checkLaunch(launch, op)))
    return failure();
  AttentionParts parts = *readAttention(op);
  LibraryScratch scratch = LibraryScratch::of(launch.getBodyBlock());
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), warpSize);
  size_t seed =
      llvm::find(launch->getOperands(), LaunchBuffers(launch, scratch).seed()) -
      launch->operand_begin();
  unsigned key = cast<BlockArgument>(parts.rng).getArgNumber();
  b.emitIf(b.less(b.threads.threadNumber(), 1), [&] {
    Value bits = randomBits(b, func.getArgument(key), parts.salt);
    Value zero = b.create<arith::ConstantOp>(b.getI64IntegerAttr(0));
    b.store(bits, func.getArgument(seed), b.index(0));
    b.store(zero, func.getArgument(seed), b.index(1));
  });
  return GridKernel{func, /*blocks=*/1, warpSize};
}
