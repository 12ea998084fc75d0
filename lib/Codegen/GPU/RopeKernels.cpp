//===- RopeKernels.cpp - Rotary embeddings on a GPU -----------------------===//

#include "RopeKernels.h"

#include "Builder.h"
#include "Codegen/CPU/RopeKernels.h"
#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/RopePair.h"
#include "Items.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t ropeThreads = 128;

namespace {
/// A buffer of the launch, of shape [B, T, H, D] or [T, D / 2].
struct RopeBuffer {
  RopeBuffer(gpu::GPUFuncOp func, plan::LaunchOp launch, unsigned number)
      : address(func.getArgument(number)),
        type(cast<MemRefType>(launch->getOperand(number).getType())),
        strides(getStridesAndOffset(type).first) {}

  int64_t largestOffset() const {
    int64_t offset = 0;
    for (auto [size, stride] : llvm::zip(type.getShape(), strides))
      offset += (size - 1) * stride;
    return offset;
  }

  Value address;
  MemRefType type;
  SmallVector<int64_t> strides;
};

class RopeVectors {
public:
  RopeVectors(DeviceBuilder &b, RopeOp op, int64_t lanes)
      : b(b), op(op), lanes(lanes) {}

  /// Turns the pairs of the vector number `vector` of row `at`.
  void turn(const RopeBuffer &input, const RopeBuffer &cosines,
            const RopeBuffer &sines, const RopeBuffer &output,
            ArrayRef<Value> at, Value vector);

private:
  Value load(const RopeBuffer &buffer, ArrayRef<Value> at, Value column,
             int64_t lanes);
  void store(Value value, const RopeBuffer &buffer, ArrayRef<Value> at,
             Value column);
  Value place(const RopeBuffer &buffer, ArrayRef<Value> at, Value column) {
    SmallVector<Value> indices(at);
    indices.push_back(column);
    return b.linearize(indices, buffer.strides);
  }

  DeviceBuilder &b;
  RopeOp op;
  int64_t lanes;
};
} // namespace

Value RopeVectors::load(const RopeBuffer &buffer, ArrayRef<Value> at,
                        Value column, int64_t lanes) {
  Type element = buffer.type.getElementType();
  Value loaded = b.load(buffer.address, VectorType::get({lanes}, element),
                        place(buffer, at, column));
  return elementwise::fromMemory(b, b.getLoc(), loaded, element);
}

void RopeVectors::store(Value value, const RopeBuffer &buffer,
                        ArrayRef<Value> at, Value column) {
  Type element = buffer.type.getElementType();
  b.store(elementwise::toMemory(b, b.getLoc(), value, element), buffer.address,
          place(buffer, at, column));
}

void RopeVectors::turn(const RopeBuffer &input, const RopeBuffer &cosines,
                       const RopeBuffer &sines, const RopeBuffer &output,
                       ArrayRef<Value> at, Value vector) {
  Value first = b.mul(vector, lanes), position = at[1];
  if (op.getStyle() == RopeStyle::half) {
    int64_t half = output.type.getDimSize(3) / 2;
    Value second = b.add(first, half);
    Value x = load(input, at, first, lanes), y = load(input, at, second, lanes);
    auto [turnedX, turnedY] =
        turnPair(b, op, x, y, load(cosines, position, first, lanes),
                 load(sines, position, first, lanes));
    store(turnedX, output, at, first);
    store(turnedY, output, at, second);
    return;
  }
  int64_t pairs = lanes / 2;
  NeighbourLanes neighbours(pairs);
  Value both = load(input, at, first, lanes), angle = b.mul(vector, pairs);
  Value x = b.create<vector::ShuffleOp>(both, both, neighbours.even);
  Value y = b.create<vector::ShuffleOp>(both, both, neighbours.odd);
  auto [turnedX, turnedY] =
      turnPair(b, op, x, y, load(cosines, position, angle, pairs),
               load(sines, position, angle, pairs));
  store(b.create<vector::ShuffleOp>(turnedX, turnedY, neighbours.joined),
        output, at, first);
}

/// Elements of a vector of at most 16 bytes that all of a row's accesses may
/// have: pairs of lanes where `isInterleaved`, of vectors otherwise.
static int64_t lanesOf(plan::LaunchOp launch, bool isInterleaved) {
  auto output = cast<MemRefType>(launch.getOutputs().front().getType());
  auto fits = [&](Value buffer, int64_t lanes) {
    auto type = cast<MemRefType>(buffer.getType());
    int64_t bytes =
        std::min(lanes * elementByteWidth(type.getElementType()), accessBytes);
    SmallVector<int64_t> strides = getStridesAndOffset(type).first;
    strides.pop_back();
    auto isWhole = [&](auto dim) {
      auto [size, stride] = dim; // of one index, a stride says nothing
      return size == 1 || stride % lanes == 0;
    };
    return plan::arenaOffset(buffer) % bytes == 0 &&
           llvm::all_of(llvm::zip(type.getShape(), strides), isWhole);
  };
  auto divides = [&](int64_t lanes) {
    int64_t angles = isInterleaved ? lanes / 2 : lanes;
    return output.getDimSize(3) / 2 % angles == 0 &&
           llvm::all_of(launch->getOperands(), [&](Value buffer) {
             bool isTable = cast<MemRefType>(buffer.getType()).getRank() == 2;
             return fits(buffer, isTable ? angles : lanes);
           });
  };
  int64_t lanes = accessBytes / elementByteWidth(output.getElementType());
  while (lanes > 1 && !divides(lanes))
    lanes /= 2;
  return lanes;
}

FailureOr<GridKernel> hone::emitDeviceRope(OpBuilder &builder, StringRef name,
                                           plan::LaunchOp launch) {
  FailureOr<RopeOp> op = readRope(launch);
  if (failed(op))
    return failure();
  bool isInterleaved = op->getStyle() == RopeStyle::interleaved;
  int64_t lanes = lanesOf(launch, isInterleaved);
  if (lanes == 1) {
    FailureOr<Kernel> kernel = emitRope(builder, name, launch);
    if (failed(kernel))
      return failure();
    return emitItems(builder, *kernel);
  }
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op->getType()).getShape();
  SmallVector<int64_t> sizes(shape);
  sizes.back() /= isInterleaved ? lanes : 2 * lanes;
  int64_t vectors = ShapedType::getNumElements(sizes);
  int64_t blocks = llvm::divideCeil(vectors, ropeThreads);

  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), ropeThreads);
  auto bufferOf = [&](Value argument) {
    return RopeBuffer(func, launch,
                      cast<BlockArgument>(argument).getArgNumber());
  };
  RopeBuffer input = bufferOf(op->getInput()), cosines = bufferOf(op->getCos()),
             sines = bufferOf(op->getSin()),
             output(func, launch, launch.getInputs().size());
  int64_t largest = blocks * ropeThreads * 2 * lanes;
  for (const RopeBuffer *buffer : {&input, &output})
    largest = std::max(largest, buffer->largestOffset());
  Value number =
      b.add(b.mul(b.blockFor(largest), ropeThreads), b.threadFor(largest));
  b.emitIf(b.less(number, vectors), [&] {
    SmallVector<Value> at = b.delinearize(number, sizes);
    Value vector = at.pop_back_val();
    RopeVectors(b, *op, lanes).turn(input, cosines, sines, output, at, vector);
  });
  if (lanes * elementByteWidth(output.type.getElementType()) == accessBytes &&
      blocks > 0)
    markVectorised(func, isInterleaved ? 2 : 4);
  return GridKernel{func, blocks, ropeThreads};
}
