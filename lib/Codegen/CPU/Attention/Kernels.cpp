//===- Kernels.cpp - Attention as loops over vectors ----------------------===//

#include "Kernels.h"

#include "hone/Analysis/Memory/Scratch.h"
#include "hone/IR/QueryPositions.h"

#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;
using namespace hone::detail;

/// Largest blocks of scores.
static constexpr BlockSizes largestBlocks = {64, 64};
/// Bytes of the stack that one call may use.
static constexpr int64_t stackLimit = 512 * 1024;
/// Work worth handing to a thread: some 20 microseconds.
static constexpr int64_t flopsPerGrain = 1 << 21;

/// Bytes of the stack blocks for these sizes.
static int64_t stackBytes(const Attention &op, BlockSizes sizes) {
  // Forward: query, result, scores; backward: query and its gradient, the
  // result's gradient, scores and theirs. Few rows hold one value per query.
  int64_t rows = op.grad ? 2 * op.width + op.valueWidth + 2 * sizes.keys
                         : op.width + op.valueWidth + sizes.keys;
  if (op.mask)
    rows += sizes.keys;
  if (op.isPaired()) // weights of two bytes, along keys and along queries
    rows += op.grad ? 2 * sizes.keys : sizes.keys;
  int64_t elements = (rows + 4) * sizes.queries;
  if (op.isPaired() || op.isWidened()) { // copies of rows
    elements += sizes.keys * (op.width + op.valueWidth);
    if (op.grad)
      elements += sizes.queries * (op.width + op.valueWidth);
  }
  return elements * sizeof(float);
}

/// Blocks of queries of all heads, or key heads.
static int64_t countItems(const Attention &op, BlockSizes sizes) {
  if (op.grad)
    return op.batch * op.groups;
  int64_t runs = op.queries == 0 ? 0 : op.queries / op.runQueries;
  return op.batch * op.heads * runs *
         llvm::divideCeil(op.runQueries, sizes.queries);
}

/// The largest block sizes that fit, or failure.
static FailureOr<BlockSizes> chooseBlocks(const Attention &op) {
  BlockSizes sizes = largestBlocks;
  auto atMost = [](int64_t size, int64_t count) -> int64_t {
    int64_t padded = llvm::alignTo(std::max<int64_t>(count, 1), kernelLanes);
    return std::min(size, padded);
  };
  sizes.queries = atMost(sizes.queries, op.runQueries);
  sizes.keys = atMost(sizes.keys, op.keys);
  while (stackBytes(op, sizes) > stackLimit && sizes.queries > kernelLanes)
    sizes.queries = llvm::alignTo(sizes.queries / 2, kernelLanes);
  while (stackBytes(op, sizes) > stackLimit && sizes.keys > kernelLanes)
    sizes.keys = llvm::alignTo(sizes.keys / 2, kernelLanes);
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

  /// Where the sums of `grad` stand: the launch's scratch, if it has one.
  Value sums(Value grad, unsigned number) {
    if (!grad || launch.getScratch().empty())
      return grad;
    return func.getArgument(launch.getInputs().size() +
                            launch.getOutputs().size() + number);
  }

private:
  plan::LaunchOp launch;
  func::FuncOp func;
};
} // namespace

/// Strides of the first three of four dimensions.
static std::array<int64_t, 3> stridesOf(ArrayRef<int64_t> shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]};
}

template <typename AttentionLike>
static Attention describeAs(AttentionLike op, ArgumentMap arguments) {
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
  attention.runQueries = query[1];
  attention.query = arguments.operand(op.getQuery());
  attention.key = arguments.operand(op.getKey());
  attention.value = arguments.operand(op.getValue());
  attention.mask = arguments.operand(op.getMask());
  if constexpr (std::is_same_v<AttentionLike, DecodeAttentionOp>) {
    attention.first = arguments.operand(op.getFirst());
    attention.result = arguments.result(op.getResult());
    return attention;
  } else {
    attention.first = arguments.operand(firstPositions(op.getMasks()));
    attention.runQueries /= countRuns(op.getMasks());
    attention.segments = arguments.operand(op.getSegments());
    attention.dropout = op.getDropout().convertToDouble();
    attention.salt = op.getSalt();
    attention.scores = RandomPart::of(op);
    attention.scoreStrides =
        stridesOf(op.getWhole().value_or(op.getRandomShape()));
    attention.rng = arguments.operand(op.getRng());
    attention.origin = arguments.operand(op.getOrigin());
  }
  if constexpr (std::is_same_v<AttentionLike, AttentionBwdOp>) {
    attention.result = arguments.operand(op.getOutput());
    attention.lse = arguments.operand(op.getLse());
    attention.grad = arguments.operand(op.getGrad());
    attention.queryGrad = arguments.result(op.getQueryGrad());
    attention.keyGrad = arguments.result(op.getKeyGrad());
    attention.valueGrad = arguments.result(op.getValueGrad());
    attention.keySums = arguments.sums(attention.keyGrad, 0);
    attention.valueSums = arguments.sums(attention.valueGrad, 1);
  } else if constexpr (std::is_same_v<AttentionLike, AttentionOp>) {
    attention.result = arguments.result(op.getResult());
    attention.lse = arguments.result(op.getLse());
  }
  return attention;
}

/// `op` of `launch` on the arguments of `func`: the buffers and the range of
/// items.
static Attention describe(plan::LaunchOp launch, Operation *op,
                          func::FuncOp func) {
  ArgumentMap arguments(launch, func);
  Attention attention =
      llvm::TypeSwitch<Operation *, Attention>(op)
          .Case<AttentionOp, DecodeAttentionOp, AttentionBwdOp>(
              [&](auto each) { return describeAs(each, arguments); });
  unsigned count = func.getNumArguments();
  attention.lo = func.getArgument(count - 2);
  attention.hi = func.getArgument(count - 1);
  return attention;
}

/// Checks what the emitter relies on beyond the verifiers.
static LogicalResult checkLaunch(plan::LaunchOp launch, Operation *op) {
  Block &body = launch.getBodyBlock();
  if (!isa<AttentionOp, DecodeAttentionOp, AttentionBwdOp>(op) ||
      op->getNextNode() != body.getTerminator())
    return op->emitOpError()
           << "is not alone in its launch, expected one hone.attention, "
              "hone.decode_attention or hone.attention_bwd";
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
    bool isInteger = isa<IntegerType>(type.getElementType());
    if ((isInteger && type.getRank() < 2) || type.getNumElements() == 0)
      continue; // first positions, a random key or its origin, or nothing
    if (!isInteger &&
        !isa<Float32Type, BFloat16Type, Float16Type>(type.getElementType()))
      return op->emitOpError() << "has element type " << type.getElementType()
                               << ", CPU kernels of attention take f32, bf16 "
                                  "and f16";
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(getStridesAndOffset(type, strides, offset)) ||
        (type.getShape().back() > 1 && strides.back() != 1))
      return op->emitOpError()
             << "uses " << type << ", expected an innermost stride of 1";
  }
  auto backward = dyn_cast<AttentionBwdOp>(op);
  SmallVector<Type> sums;
  if (backward)
    llvm::append_range(sums, gradientSumTypes(backward));
  if (!llvm::equal(launch.getScratch().getTypes(), sums))
    return op->emitOpError()
           << "has other scratch than its sums of narrow gradients";
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Creates `name(buffers..., lo, hi)` at the insertion point.
static func::FuncOp createFunction(OpBuilder &builder, Location loc,
                                   StringRef name, plan::LaunchOp launch) {
  SmallVector<Type> inputs;
  for (Type type : launch->getOperandTypes())
    inputs.push_back(kernelArgumentType(cast<MemRefType>(type)));
  inputs.append(2, builder.getIndexType());
  auto func = builder.create<func::FuncOp>(loc, name,
                                           builder.getFunctionType(inputs, {}));
  func.addEntryBlock();
  return func;
}

/// Whether each head has one query: blocks of queries would be nearly empty.
static bool hasSingleQueries(const Attention &op) {
  return !op.grad && op.queries == 1 && !op.rng && !op.segments;
}

/// Builds the loops over work items that compute `op`, on the arguments of
/// `func`.
static void emitLoops(OpBuilder &builder, func::FuncOp func,
                      const Attention &op, BlockSizes sizes) {
  OpBuilder::InsertionGuard guard(builder);
  auto *emit = op.grad                ? emitBackward
               : hasSingleQueries(op) ? emitSingleQuery
                                      : emitForward;
  emit(builder, func, op, sizes);
  builder.setInsertionPointToEnd(&func.front());
  builder.create<func::ReturnOp>(func.getLoc());
}

FailureOr<Kernel> hone::emitAttention(OpBuilder &builder, StringRef name,
                                      plan::LaunchOp launch) {
  Operation *op = &launch.getBodyBlock().front();
  if (failed(checkLaunch(launch, op)))
    return failure();

  func::FuncOp func = createFunction(builder, op->getLoc(), name, launch);
  Attention attention = describe(launch, op, func);
  FailureOr<BlockSizes> sizes = chooseBlocks(attention);
  if (failed(sizes)) {
    func.erase();
    return op->emitOpError()
           << "has heads of width " << attention.width << " and "
           << attention.valueWidth << ", which need more than " << stackLimit
           << " bytes of stack";
  }
  emitLoops(builder, func, attention, *sizes);

  int64_t items = countItems(attention, *sizes);
  // The time of a single query is that of reading keys and values.
  if (hasSingleQueries(attention))
    return Kernel{func, items, 1};
  int64_t flops = cast<HoneOpInterface>(op).getCost().flops;
  int64_t flopsPerItem =
      std::max<int64_t>(flops / std::max<int64_t>(items, 1), 1);
  return Kernel{func, items,
                std::max<int64_t>(flopsPerGrain / flopsPerItem, 1)};
}
