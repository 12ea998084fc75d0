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
  /// Each null where the call needs none.
  Value workspace() { return own(0); }
  Value seed() { return own(1); }
  Value lengths() { return own(2); }

private:
  /// Types of the buffers that come before those of results, null for none.
  std::array<MemRefType, 3> types() const {
    return {scratch.workspace, scratch.seed, scratch.lengths};
  }
  Value own(size_t number);

  LaunchOp launch;
  const LibraryScratch &scratch;
};
} // namespace

Value LaunchBuffers::own(size_t number) {
  std::array<MemRefType, 3> all = types();
  if (!all[number])
    return Value();
  size_t index =
      number - llvm::count(ArrayRef(all).take_front(number), MemRefType());
  return launch.getScratch()[index];
}

Value LaunchBuffers::of(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return launch.getInputs()[argument.getArgNumber()];
  ValueRange yielded = launch.getBodyBlock().getTerminator()->getOperands();
  for (auto [index, other] : llvm::enumerate(yielded))
    if (other == value)
      return launch.getOutputs()[index];
  size_t index = types().size() - llvm::count(types(), MemRefType());
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
  if (readAttention(op)->runs() != 1)
    return op->emitOpError("has queries that begin at several positions, "
                           "expected a call for each");
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
  if (Value lengths = buffers.lengths())
    call.offsets.push_back(arenaOffset(lengths));
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
// What a call reads besides tensors
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

static void emitSeed(DeviceBuilder &b, Value key, uint64_t salt, Value seed) {
  b.emitIf(b.less(b.threads.threadNumber(), 1), [&] {
    Value zero = b.create<arith::ConstantOp>(b.getI64IntegerAttr(0));
    b.store(randomBits(b, key, salt), seed, b.index(0));
    b.store(zero, seed, b.index(1));
  });
}

/// The lengths of `batch` sequences of `queries`, the first of which is at the
/// position that lies at `first`.
static void emitLengths(DeviceBuilder &b, Value first, int64_t batch,
                        int64_t queries, Value lengths) {
  Value count = b.i32(queries);
  Value position = b.create<arith::TruncIOp>(
      b.getI32Type(), b.load(first, b.getI64Type(), b.index(0)));
  Value keys = b.add(position, count);
  b.loop(b.threads.threadNumber(), b.index(batch), warpSize, [&](Value at) {
    b.store(count, lengths, at);
    b.store(keys, lengths, b.add(at, batch));
  });
}

FailureOr<GridKernel>
hone::emitAttentionInputs(OpBuilder &builder, StringRef name, LaunchOp launch) {
  Operation *op = &launch.getBodyBlock().front();
  if (failed(checkLaunch(launch, op)))
    return failure();
  AttentionParts parts = *readAttention(op);
  LibraryScratch scratch = LibraryScratch::of(launch.getBodyBlock());
  LaunchBuffers buffers(launch, scratch);
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), warpSize);
  auto input = [&](Value argument) {
    return func.getArgument(cast<BlockArgument>(argument).getArgNumber());
  };
  auto output = [&](Value buffer) {
    return func.getArgument(llvm::find(launch->getOperands(), buffer) -
                            launch->operand_begin());
  };
  if (Value seed = buffers.seed())
    emitSeed(b, input(parts.rng), parts.salt, output(seed));
  if (Value lengths = buffers.lengths())
    emitLengths(b, input(parts.first), shapeOf(parts.query)[0],
                shapeOf(parts.query)[1], output(lengths));
  return GridKernel{func, /*blocks=*/1, warpSize};
}
