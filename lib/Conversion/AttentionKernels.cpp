//===- AttentionKernels.cpp - Attention as loops over vectors -------------===//

#include "hone/Conversion/AttentionKernels.h"

#include "AttentionEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hone;
using namespace hone::detail;

/// Largest blocks of scores.
static constexpr BlockSizes largestBlocks = {64, 64};
/// Bytes of the stack that one call may use.
static constexpr int64_t stackLimit = 512 * 1024;
/// Work worth handing to a thread: some 20 microseconds.
static constexpr int64_t flopsPerGrain = 1 << 21;

/// Bytes of the stack blocks for `queries` queries.
static int64_t stackBytes(const Attention &op, BlockSizes sizes) {
  // Forward: query, result, scores; backward: query and its gradient, the
  // result's gradient, scores and theirs. Few rows hold one value per query.
  int64_t rows = op.grad ? 2 * op.width + op.valueWidth + 2 * sizes.keys
                         : op.width + op.valueWidth + sizes.keys;
  if (op.mask)
    rows += sizes.keys;
  return (rows + 4) * sizes.queries * sizeof(float);
}

/// The largest block sizes that fit, or failure.
static FailureOr<BlockSizes> chooseBlocks(const Attention &op) {
  BlockSizes sizes = largestBlocks;
  auto atMost = [](int64_t size, int64_t count) -> int64_t {
    int64_t padded = llvm::alignTo(std::max<int64_t>(count, 1), kernelLanes);
    return std::min(size, padded);
  };
  sizes.queries = atMost(sizes.queries, op.queries);
  sizes.keys = atMost(sizes.keys, op.keys);
  while (stackBytes(op, sizes) > stackLimit && sizes.queries > kernelLanes)
    sizes.queries = llvm::alignTo(sizes.queries / 2, kernelLanes);
  if (stackBytes(op, sizes) > stackLimit)
    return failure();
  return sizes;
}

namespace {
/// Finds the kernel argument of each operand and result of an op of a launch.
class ArgumentMap {
public:
  ArgumentMap(plan::LaunchOp launch, func::FuncOp func)
      : launch(launch), func(func) {}

  /// Argument that holds `operand`, null for an absent one.
  Value operand(Value operand) {
    if (!operand)
      return {};
    return func.getArgument(cast<BlockArgument>(operand).getArgNumber());
  }
  /// Argument that takes `result`, null if the launch does not yield it.
  Value result(Value result) {
    ValueRange yielded = launch.getBodyBlock().getTerminator()->getOperands();
    for (auto [index, value] : llvm::enumerate(yielded))
      if (value == result)
        return func.getArgument(launch.getInputs().size() + index);
    return {};
  }

private:
  plan::LaunchOp launch;
  func::FuncOp func;
};
} // namespace

template <typename AttentionLike>
static Attention describe(AttentionLike op, ArgumentMap arguments) {
  ArrayRef<int64_t> query = op.getQuery().getType().getShape();
  ArrayRef<int64_t> value = op.getValue().getType().getShape();
  Attention attention{};
  attention.batch = query[0];
  attention.queries = query[1];
  attention.heads = query[2];
  attention.width = query[3];
  attention.keys = value[1];
  attention.groups = value[2];
  attention.valueWidth = value[3];
  attention.causal = op.getCausal();
  attention.scale = op.getScale().convertToDouble();
  attention.dropout = op.getDropout().convertToDouble();
  attention.salt = op.getSalt();
  attention.query = arguments.operand(op.getQuery());
  attention.key = arguments.operand(op.getKey());
  attention.value = arguments.operand(op.getValue());
  attention.mask = arguments.operand(op.getMask());
  attention.rng = arguments.operand(op.getRng());
  if constexpr (std::is_same_v<AttentionLike, AttentionBwdOp>) {
    attention.result = arguments.operand(op.getOutput());
    attention.lse = arguments.operand(op.getLse());
    attention.grad = arguments.operand(op.getGrad());
    attention.queryGrad = arguments.result(op.getQueryGrad());
    attention.keyGrad = arguments.result(op.getKeyGrad());
    attention.valueGrad = arguments.result(op.getValueGrad());
  } else {
    attention.result = arguments.result(op.getResult());
    attention.lse = arguments.result(op.getLse());
  }
  return attention;
}

/// Checks what the emitter relies on beyond the verifiers.
static LogicalResult checkLaunch(plan::LaunchOp launch, Operation *op) {
  Block &body = launch.getBodyBlock();
  if (!isa<AttentionOp, AttentionBwdOp>(op) ||
      op->getNextNode() != body.getTerminator())
    return op->emitOpError()
           << "is not alone in its launch, expected one hone.attention or "
              "hone.attention_bwd";
  for (Value operand : op->getOperands())
    if (!isa<BlockArgument>(operand))
      return op->emitOpError() << "has an operand that is not an input of its "
                                  "launch";
  DenseSet<Value> seen;
  for (Value value : body.getTerminator()->getOperands())
    if (value.getDefiningOp() != op || !seen.insert(value).second)
      return op->emitOpError() << "does not produce each output of its launch "
                                  "exactly once";
  for (Value buffer :
       llvm::concat<Value>(llvm::to_vector(launch.getInputs()),
                           llvm::to_vector(launch.getOutputs()))) {
    auto type = cast<MemRefType>(buffer.getType());
    if (type.getElementType().isInteger(64) || type.getNumElements() == 0)
      continue; // the key of random ops, or nothing
    if (!type.getElementType().isF32())
      return op->emitOpError() << "has element type " << type.getElementType()
                               << ", CPU kernels of attention take f32 only";
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(getStridesAndOffset(type, strides, offset)) ||
        (type.getShape().back() > 1 && strides.back() != 1))
      return op->emitOpError()
             << "uses " << type << ", expected an innermost stride of 1";
  }
  return success();
}

FailureOr<Kernel> hone::emitAttention(OpBuilder &builder, StringRef name,
                                      plan::LaunchOp launch) {
  Operation *op = &launch.getBodyBlock().front();
  if (failed(checkLaunch(launch, op)))
    return failure();

  SmallVector<Type> inputs;
  for (Type type : launch->getOperandTypes())
    inputs.push_back(kernelArgumentType(cast<MemRefType>(type)));
  inputs.append(2, builder.getIndexType());
  auto func = builder.create<func::FuncOp>(op->getLoc(), name,
                                           builder.getFunctionType(inputs, {}));
  OpBuilder::InsertionGuard guard(builder);
  func.addEntryBlock();

  ArgumentMap arguments(launch, func);
  bool isForward = isa<AttentionOp>(op);
  Attention attention = isForward
                            ? describe(cast<AttentionOp>(op), arguments)
                            : describe(cast<AttentionBwdOp>(op), arguments);
  FailureOr<BlockSizes> sizes = chooseBlocks(attention);
  if (failed(sizes)) {
    func.erase();
    return op->emitOpError()
           << "has heads of width " << attention.width << " and "
           << attention.valueWidth << ", which need more than " << stackLimit
           << " bytes of stack";
  }
  int64_t items = (isForward ? emitForward : emitBackward)(builder, func,
                                                           attention, *sizes);
  builder.setInsertionPointToEnd(&func.front());
  builder.create<func::ReturnOp>(op->getLoc());

  int64_t flops = cast<HoneOpInterface>(op).getCost().flops;
  int64_t flopsPerItem =
      std::max<int64_t>(flops / std::max<int64_t>(items, 1), 1);
  return Kernel{func, items,
                std::max<int64_t>(flopsPerGrain / flopsPerItem, 1)};
}
