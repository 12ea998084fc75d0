//===- OptimizerKernels.cpp - Kernels of norms and updates ----------------===//

#include "hone/Conversion/OptimizerKernels.h"

#include "KernelBuilder.h"
#include "PointOps.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

/// Vectors that one step of a loop works on, to keep their latencies apart.
static constexpr int64_t unroll = 4;
static constexpr int64_t blockElements = unroll * kernelLanes;

//===----------------------------------------------------------------------===//
// Global norm
//===----------------------------------------------------------------------===//

/// A sum of all lanes, in an order of its own but always the same.
static Value sumLanes(KernelBuilder &b, Value vector) {
  return b.create<vector::ReductionOp>(vector::CombiningKind::ADD, vector,
                                       arith::FastMathFlags::reassoc);
}

Kernel hone::emitSquareSums(OpBuilder &builder, Location loc, StringRef name,
                            MemRefType input) {
  int64_t count = input.getNumElements(), chunks = normPartials(input);
  Type compute = pointops::computeType(input.getElementType());
  auto vectorType = VectorType::get({kernelLanes}, compute);
  auto partialsType = MemRefType::get({chunks}, builder.getF32Type());
  KernelBuilder b(builder, loc, name, {input, partialsType});
  Value from = b.flat(b.buffer(0)), partials = b.buffer(1);
  auto addSquares = [&](Value sum, Value at, Value mask) -> Value {
    Value x = b.loadVector(from, at, compute, mask);
    return b.create<math::FmaOp>(x, x, sum);
  };
  b.loop(b.lo(), b.hi(), 1, [&](Value chunk) {
    Value start = b.create<arith::MulIOp>(chunk, b.index(normChunk));
    Value length = b.create<arith::MinSIOp>(
        b.create<arith::SubIOp>(b.index(count), start), b.index(normChunk));
    auto whole = [&](int64_t of) -> Value {
      Value rest = b.create<arith::RemUIOp>(length, b.index(of));
      return b.create<arith::SubIOp>(length, rest);
    };
    Value blocks = whole(blockElements), vectors = whole(kernelLanes);
    SmallVector<Value> zeros(unroll, b.constant(vectorType, 0.0));
    SmallVector<Value> sums = b.loop(
        b.index(0), blocks, blockElements, zeros,
        [&](Value at, ValueRange carried) {
          SmallVector<Value> next;
          Value first = b.create<arith::AddIOp>(start, at);
          for (auto [part, sum] : llvm::enumerate(carried))
            next.push_back(addSquares(
                sum,
                b.create<arith::AddIOp>(first, b.index(part * kernelLanes)),
                {}));
          return next;
        });
    Value sum =
        b.create<arith::AddFOp>(b.create<arith::AddFOp>(sums[0], sums[1]),
                                b.create<arith::AddFOp>(sums[2], sums[3]));
    sum = b.loop(blocks, vectors, kernelLanes, sum,
                 [&](Value at, ValueRange carried) -> SmallVector<Value> {
                   return {addSquares(carried[0],
                                      b.create<arith::AddIOp>(start, at), {})};
                 })[0];
    Value mask = b.maskOfFirst(Value(b.create<arith::SubIOp>(length, vectors)));
    sum = addSquares(sum, b.create<arith::AddIOp>(start, vectors), mask);
    b.create<memref::StoreOp>(b.convertFloat(sumLanes(b, sum), b.getF32Type()),
                              partials, chunk);
  });
  return {b.func, chunks, 4};
}

Kernel hone::emitNormFinish(OpBuilder &builder, Location loc, StringRef name,
                            int64_t partials, FloatType type) {
  Type f64 = builder.getF64Type();
  KernelBuilder b(builder, loc, name,
                  {MemRefType::get({partials}, builder.getF32Type()),
                   MemRefType::get({}, type)});
  b.loop(b.lo(), b.hi(), 1, [&](Value) {
    Value sum = b.loop(b.index(0), b.index(partials), 1, b.constant(f64, 0.0),
                       [&](Value at, ValueRange carried) -> SmallVector<Value> {
                         Value part = b.create<memref::LoadOp>(b.buffer(0), at);
                         return {b.create<arith::AddFOp>(
                             carried[0], b.convertFloat(part, f64))};
                       })[0];
    Value norm = b.create<math::SqrtOp>(sum);
    b.create<memref::StoreOp>(b.convertFloat(norm, type), b.buffer(1),
                              ValueRange());
  });
  return {b.func, 1, 1};
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

namespace {
/// Loops, scalars and vectors of an elementwise update.
struct UpdateEmitter : KernelBuilder {
  UpdateEmitter(OpBuilder &builder, StringRef name, plan::LaunchOp launch,
                Value param)
      : KernelBuilder(builder, name, launch), launch(launch),
        compute(pointops::computeType(getElementTypeOrSelf(param))),
        vectorType(VectorType::get({kernelLanes}, compute)),
        count(cast<ShapedType>(param.getType()).getNumElements()) {}

  Value input(Value argument) {
    return flat(buffer(cast<BlockArgument>(argument).getArgNumber()));
  }
  /// The buffer of an op's result, if it is an output at all.
  Value output(Value result) {
    auto yield = launch.getBodyBlock().getTerminator();
    for (OpOperand &operand : yield->getOpOperands())
      if (operand.get() == result)
        return flat(
            buffer(launch.getInputs().size() + operand.getOperandNumber()));
    return {};
  }

  Value add(Value x, Value y) { return create<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return create<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return create<arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return create<arith::DivFOp>(x, y); }
  Value neg(Value x) { return create<arith::NegFOp>(x); }
  Value fma(Value x, Value y, Value z) { return create<math::FmaOp>(x, y, z); }
  Value f64(double value) { return constant(getF64Type(), value); }

  /// A scalar operand in f64.
  Value scalar(Value argument) {
    Value memory = buffer(cast<BlockArgument>(argument).getArgNumber());
    Value value = create<memref::LoadOp>(memory, ValueRange());
    return isa<FloatType>(value.getType()) ? convertFloat(value, getF64Type())
                                           : value;
  }
  /// A scalar in f64, rounded to the compute type, in all lanes.
  Value splat(Value value) {
    return create<vector::BroadcastOp>(vectorType,
                                       convertFloat(value, compute));
  }
  Value splat(double value) { return constant(vectorType, value); }

  Value power(double base, Value exponent);
  Kernel forBlocks(function_ref<void(Value, Value)> body);

  plan::LaunchOp launch;
  Type compute;
  VectorType vectorType;
  int64_t count;
};
} // namespace

/// base^exponent in f64 by repeated squaring, for an exponent of at least 0.
Value UpdateEmitter::power(double base, Value exponent) {
  Type i64 = getI64Type();
  return loop(index(0), index(63), 1, {f64(1.0), f64(base)},
              [&](Value bit, ValueRange carried) -> SmallVector<Value> {
                Value shift = create<arith::IndexCastOp>(i64, bit);
                Value set = create<arith::TruncIOp>(
                    getI1Type(), create<arith::ShRUIOp>(exponent, shift));
                Value product = mul(carried[0], carried[1]);
                return {create<arith::SelectOp>(set, product, carried[0]),
                        mul(carried[1], carried[1])};
              })[0];
}

/// Calls `body(offset, mask)` for each vector of the blocks lo to hi; the last
/// block may be partial.
Kernel UpdateEmitter::forBlocks(function_ref<void(Value, Value)> body) {
  int64_t whole = count / blockElements, rest = count % blockElements;
  auto emitVectors = [&](Value first, int64_t elements) {
    for (int64_t at = 0; at < elements; at += kernelLanes) {
      int64_t lanes = elements - at;
      body(create<arith::AddIOp>(first, index(at)),
           lanes < kernelLanes ? maskOfFirst(lanes) : Value());
    }
  };
  auto emitBlocks = [&](Value from, Value to, int64_t elements) {
    loop(from, to, 1, [&](Value block) {
      emitVectors(create<arith::MulIOp>(block, index(blockElements)), elements);
    });
  };
  Value end = create<arith::MinUIOp>(hi(), index(whole));
  emitBlocks(lo(), end, blockElements);
  if (rest != 0)
    emitBlocks(create<arith::MaxUIOp>(lo(), index(whole)), hi(), rest);
  return {func, whole + (rest != 0), 256};
}

/// Checks that the launch is `op` alone, on its inputs.
static LogicalResult verifyAlone(plan::LaunchOp launch, Operation *op) {
  bool isAlone =
      op && op->getNextNode() == launch.getBodyBlock().getTerminator() &&
      llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>) &&
      llvm::all_of(launch.getBodyBlock().getTerminator()->getOperands(),
                   [&](Value value) { return value.getDefiningOp() == op; }) &&
      llvm::all_of(launch->getOperandTypes(), isContiguous);
  return isAlone ? success()
                 : launch.emitOpError(
                       "is no optimizer's update of contiguous inputs alone");
}

FailureOr<Kernel> hone::emitAdamw(OpBuilder &builder, StringRef name,
                                  plan::LaunchOp launch) {
  auto op = dyn_cast<AdamwOp>(launch.getBodyBlock().front());
  if (failed(verifyAlone(launch, op)))
    return failure();
  double beta1 = op.getBeta1().convertToDouble();
  double beta2 = op.getBeta2().convertToDouble();

  UpdateEmitter b(builder, name, launch, op.getParam());
  Value param = b.input(op.getParam()), grad = b.input(op.getGrad());
  Value average = b.input(op.getExpAvg()), square = b.input(op.getExpAvgSq());
  Value newParam = b.output(op.getNewParam());
  Value newAverage = b.output(op.getNewExpAvg());
  Value newSquare = b.output(op.getNewExpAvgSq());

  // a = lr lr_scale; corrections 1 - beta^t.
  Value one = b.f64(1.0), step = b.scalar(op.getStep());
  Value rate =
      b.mul(b.scalar(op.getLr()), b.f64(op.getLrScale().convertToDouble()));
  Value decayRate = b.mul(b.scalar(op.getWeightDecay()),
                          b.f64(op.getDecayScale().convertToDouble()));
  Value keep = b.splat(b.sub(one, b.mul(rate, decayRate)));
  Value correction1 = b.sub(one, b.power(beta1, step));
  Value correction2 = b.sub(one, b.power(beta2, step));
  Value stepSize = b.splat(b.neg(b.div(rate, correction1)));
  // sqrt(v) times this is sqrt(v) / sqrt(1 - beta2^t), to half an ulp more.
  Value rootScale = b.splat(b.div(one, b.create<math::SqrtOp>(correction2)));
  Value gradScale = b.scalar(op.getGradScale());
  gradScale = b.splat(op.getMaximize() ? b.neg(gradScale) : gradScale);
  Value rest1 = b.splat(1.0 - beta1), rest2 = b.splat(1.0 - beta2);
  Value decay2 = b.splat(beta2), eps = b.splat(op.getEps().convertToDouble());

  return b.forBlocks([&](Value at, Value mask) {
    auto load = [&](Value from) {
      return b.loadVector(from, at, b.compute, mask);
    };
    auto store = [&](Value value, Value to) {
      if (to)
        b.storeVector(value, to, at, mask);
    };
    Value p = load(param), g = b.mul(load(grad), gradScale);
    Value m = load(average), v = load(square);
    // PyTorch's lerp: m + (1 - beta1) (g - m).
    m = b.fma(rest1, b.sub(g, m), m);
    v = b.fma(b.mul(rest2, g), g, b.mul(decay2, v));
    Value root = b.create<math::SqrtOp>(v);
    Value quotient = b.div(m, b.fma(root, rootScale, eps));
    p = b.fma(stepSize, quotient, b.mul(p, keep));
    store(p, newParam);
    store(m, newAverage);
    store(v, newSquare);
  });
}

FailureOr<Kernel> hone::emitSgd(OpBuilder &builder, StringRef name,
                                plan::LaunchOp launch) {
  auto op = dyn_cast<SgdOp>(launch.getBodyBlock().front());
  if (failed(verifyAlone(launch, op)))
    return failure();
  UpdateEmitter b(builder, name, launch, op.getParam());
  Value param = b.input(op.getParam()), grad = b.input(op.getGrad());
  Value newParam = b.output(op.getNewParam()), buffer, newBuffer;
  if (op.getBuffer()) {
    buffer = b.input(op.getBuffer());
    newBuffer = b.output(op.getNewBuffer());
  }

  Value rate = b.splat(b.neg(
      b.mul(b.scalar(op.getLr()), b.f64(op.getLrScale().convertToDouble()))));
  Value decay = b.splat(b.mul(b.scalar(op.getWeightDecay()),
                              b.f64(op.getDecayScale().convertToDouble())));
  Value gradScale = b.scalar(op.getGradScale());
  gradScale = b.splat(op.getMaximize() ? b.neg(gradScale) : gradScale);
  Value momentum = b.splat(op.getMomentum().convertToDouble());

  return b.forBlocks([&](Value at, Value mask) {
    auto load = [&](Value from) {
      return b.loadVector(from, at, b.compute, mask);
    };
    Value p = load(param);
    Value g = b.fma(decay, p, b.mul(load(grad), gradScale));
    if (buffer) {
      Value velocity = b.fma(momentum, load(buffer), g);
      if (newBuffer)
        b.storeVector(velocity, newBuffer, at, mask);
      g = op.getNesterov() ? b.fma(momentum, velocity, g) : velocity;
    }
    if (newParam)
      b.storeVector(b.fma(rate, g, p), newParam, at, mask);
  });
}
