//===- GenericKernels.cpp - Kernels that compute element by element -------===//

#include "GenericKernels.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/ScalarEmitter.h"
#include "CopyKernels.h"
#include "LineKernels.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace hone;

static bool isPointOp(Operation *op) {
  return isElementOp(op) ||
         isa<ConstantOp, IotaOp, RandomOp, DropoutOp, ReshapeOp, TransposeOp,
             BroadcastOp, SliceOp, PadOp, ConcatOp, ReduceOp, ArgmaxOp,
             CumsumOp, TakeAlongOp, DequantizeOp, ConvOp, ConvBwdInputOp,
             ConvBwdWeightOp, MaxPoolOp, MaxPoolBwdOp, GroupedDotOp,
             GroupedDotBwdWeightOp>(op);
}

/// Whether every result element that depends on `value` does so through the
/// element of the same indices alone.
static bool isReadElementwise(Value value) {
  SmallVector<Value> worklist = {value};
  DenseSet<Value> seen = {value};
  while (!worklist.empty())
    for (OpOperand &use : worklist.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<plan::YieldOp>(user))
        continue;
      bool isKey = isa<DropoutOp>(user) && use.getOperandNumber() != 0;
      if (isKey || !(isElementOp(user) || isa<DropoutOp>(user)))
        return false;
      if (seen.insert(user->getResult(0)).second)
        worklist.push_back(user->getResult(0));
    }
  return true;
}

/// Whether element i of both buffers lies at the same place.
static bool coincide(Value lhs, Value rhs) {
  auto x = cast<MemRefType>(lhs.getType()), y = cast<MemRefType>(rhs.getType());
  return x.getShape() == y.getShape() && x.getLayout() == y.getLayout() &&
         elementByteWidth(x.getElementType()) ==
             elementByteWidth(y.getElementType()) &&
         plan::arenaOffset(lhs) == plan::arenaOffset(rhs);
}

/// Refuses what a kernel of elements in any order cannot do.
static LogicalResult verifyLaunch(plan::LaunchOp launch) {
  for (Operation &op : launch.getBodyBlock().without_terminator()) {
    if (!isPointOp(&op))
      return launch.emitOpError()
             << "holds '" << op.getName()
             << "', expected primitive ops that compute element by element";
    auto constant = dyn_cast<ConstantOp>(op);
    if (constant && !isa<DenseElementsAttr>(constant.getValue()))
      return launch.emitOpError("holds a constant that is not dense");
  }
  for (auto [argument, input] :
       llvm::zip(launch.getBodyBlock().getArguments(), launch.getInputs()))
    for (Value output : launch.getOutputs())
      if (plan::overlap(input, output) &&
          !(isReadElementwise(argument) && coincide(input, output)))
        return launch.emitOpError()
               << "writes over input " << argument.getArgNumber()
               << ", which other elements of the outputs read";
  return success();
}

/// Elements that one element of the outputs costs, about.
static int64_t costPerItem(plan::LaunchOp launch, int64_t items) {
  int64_t elements = items;
  for (Operation &op : launch.getBodyBlock().without_terminator())
    for (Type type : op.getOperandTypes())
      elements = std::max(elements, cast<ShapedType>(type).getNumElements());
  return elements / std::max<int64_t>(items, 1);
}

/// Least elements worth a thread.
static constexpr int64_t grainElements = 8192;

static void store(KernelBuilder &b, Value element, Value buffer,
                  ArrayRef<Value> indices) {
  Type type = cast<MemRefType>(buffer.getType()).getElementType();
  element = elementwise::toMemory(b, b.getLoc(), element, type);
  b.create<memref::StoreOp>(element, buffer, indices);
}

/// A launch of one cumsum: an item is a line along its dimension. An element is
/// read before the sum is written there, so the output may be the input.
static std::optional<Kernel> emitLineSums(OpBuilder &builder, StringRef name,
                                          plan::LaunchOp launch) {
  auto op = dyn_cast_if_present<CumsumOp>(onlyOpOf(launch));
  if (!op)
    return std::nullopt;
  int64_t dim = op.getDim(), size = shapeOf(op)[dim];
  SmallVector<int64_t> lines(shapeOf(op));
  lines[dim] = 1;
  int64_t items = ShapedType::getNumElements(lines);
  Type element = elementOf(op);

  KernelBuilder b(builder, name, launch);
  Value input = b.buffer(cast<BlockArgument>(op.getOperand()).getArgNumber());
  Value output = b.buffer(launch.getInputs().size());
  b.loop(b.lo(), b.hi(), 1, [&](Value line) {
    Indices indices = b.delinearize(line, lines);
    Value zero = elementwise::identity(b, b.getLoc(), ReduceKind::sum, element);
    b.loop(b.index(0), b.index(size), 1, zero,
           [&](Value at, ValueRange carried) -> SmallVector<Value> {
             indices[dim] =
                 op.getReverse()
                     ? Value(b.create<arith::SubIOp>(b.index(size - 1), at))
                     : at;
             Value next = elementwise::fromMemory(
                 b, b.getLoc(), b.create<memref::LoadOp>(input, indices),
                 element);
             Value sum = elementwise::combine(b, b.getLoc(), ReduceKind::sum,
                                              carried[0], next);
             store(b, sum, output, indices);
             return {sum};
           });
  });
  return Kernel{
      b.func, items,
      std::max<int64_t>(1, grainElements / std::max<int64_t>(size, 1))};
}

FailureOr<Kernel> hone::emitPoint(OpBuilder &builder, StringRef name,
                                  plan::LaunchOp launch) {
  if (std::optional<Kernel> kernel = emitLineSums(builder, name, launch))
    return *kernel;
  if (failed(verifyLaunch(launch)))
    return failure();
  if (std::optional<Kernel> kernel = emitCopy(builder, name, launch))
    return *kernel;

  // Outputs of one shape share a loop, and with it what they have in common.
  auto yield = cast<plan::YieldOp>(launch.getBodyBlock().getTerminator());
  llvm::MapVector<ArrayRef<int64_t>, SmallVector<unsigned>> byShape;
  for (auto [position, value] : llvm::enumerate(yield.getValues()))
    byShape[shapeOf(value)].push_back(position);

  KernelBuilder b(builder, name, launch);
  ScalarEmitter emitter(b, launch);
  int64_t items = 0;
  for (auto &group : byShape) {
    ArrayRef<int64_t> shape = group.first;
    ArrayRef<unsigned> positions = group.second;
    int64_t count = ShapedType::getNumElements(shape);
    items = std::max(items, count);
    Value end = b.index(count);
    Value first = b.create<arith::MinUIOp>(b.lo(), end);
    Value last = b.create<arith::MinUIOp>(b.hi(), end);
    b.loop(first, last, 1, [&](Value item) {
      ScalarEmitter::ScopeGuard scope(emitter);
      Indices indices = b.delinearize(item, shape);
      SmallVector<Value> elements;
      for (unsigned position : positions)
        elements.push_back(emitter.emit(yield.getValues()[position], indices));
      // All are computed before any is stored: outputs may lie on inputs.
      for (auto [position, element] : llvm::zip(positions, elements))
        store(b, element, b.buffer(launch.getInputs().size() + position),
              indices);
    });
  }
  int64_t grain =
      grainElements / costPerItem(launch, std::max<int64_t>(items, 1));
  return Kernel{b.func, items, std::max<int64_t>(1, grain)};
}
