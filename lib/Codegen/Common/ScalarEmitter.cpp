//===- ScalarEmitter.cpp - One element of a value, in code ----------------===//

#include "ScalarEmitter.h"

#include "ElementwiseArith.h"
#include "Philox.h"
#include "SharedBodies.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace hone;

/// The type that elements of `element` are computed in: narrow floats in f32.
static Type wideTypeOf(Type element) {
  return elementwise::computeType(element);
}

bool hone::isElementOp(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() || isa<StopGradientOp>(op);
}

/// A computed value as an element of a tensor: rounded if that is narrow.
static Value rounded(KernelBuilder &b, Value value, Type element) {
  return elementwise::cast(b, b.getLoc(), value, element);
}

static Value identity(KernelBuilder &b, ReduceKind kind, Type element) {
  return elementwise::identity(b, b.getLoc(), kind, element);
}

static Value combine(KernelBuilder &b, ReduceKind kind, Value lhs, Value rhs) {
  return elementwise::combine(b, b.getLoc(), kind, lhs, rhs);
}

ScalarEmitter::ScalarEmitter(KernelBuilder &b, plan::LaunchOp launch) : b(b) {
  scopes.emplace_back();
  // Keys and origins do not change within a call: once, in front of all loops.
  for (auto random : launch.getBodyBlock().getOps<RandomOpInterface>()) {
    keyVector(random.getRandomKey());
    if (random.getOrigin())
      emit(random.getOrigin(), {});
  }
}

ScalarEmitter::ElementKey ScalarEmitter::keyOf(Value value,
                                               ArrayRef<Value> indices) {
  std::vector<void *> key;
  for (Value index : indices)
    key.push_back(index.getAsOpaquePointer());
  return {value.getAsOpaquePointer(), std::move(key)};
}

void ScalarEmitter::remember(Value value, ArrayRef<Value> indices,
                             Value element) {
  scopes.back().elements.emplace(keyOf(value, indices), element);
}

Value ScalarEmitter::emit(Value value, ArrayRef<Value> indices) {
  ElementKey memo = keyOf(value, indices);
  for (Scope &scope : llvm::reverse(scopes)) {
    auto found = scope.elements.find(memo);
    if (found != scope.elements.end())
      return found->second;
  }
  Value element = emitUncached(value, indices);
  scopes.back().elements.emplace(std::move(memo), element);
  return element;
}

Value ScalarEmitter::emitUncached(Value value, ArrayRef<Value> indices) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return load(argument, indices);
  Operation *op = value.getDefiningOp();
  if (isElementOp(op)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(emit(operand, indices));
    return isa<StopGradientOp>(op)
               ? operands[0]
               : elementwise::compute(b, b.getLoc(), op, operands);
  }
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ConstantOp op) { return constant(op, indices); })
      .Case([&](IotaOp op) { return iota(op, indices); })
      .Case([&](RandomOp op) { return random(op, indices); })
      .Case([&](DropoutOp op) { return dropout(op, indices); })
      .Case([&](ReshapeOp op) { return reshape(op, indices); })
      .Case([&](TransposeOp op) {
        Indices from(indices.size());
        for (auto [to, dim] : llvm::enumerate(op.getPermutation()))
          from[dim] = indices[to];
        return emit(op.getOperand(), from);
      })
      .Case([&](BroadcastOp op) {
        Indices from;
        for (int64_t dim : op.getDims())
          from.push_back(indices[dim]);
        return emit(op.getOperand(), from);
      })
      .Case([&](SliceOp op) {
        Indices from;
        for (auto [at, start, stride] :
             llvm::zip(indices, op.getStarts(), op.getStrides()))
          from.push_back(addIndex(mulIndex(at, stride), index(start)));
        return emit(op.getOperand(), from);
      })
      .Case([&](PadOp op) { return pad(op, indices); })
      .Case([&](ConcatOp op) { return concat(op, indices, 0); })
      .Case([&](ReduceOp op) { return reduce(op, indices); })
      .Case([&](ArgmaxOp op) { return argmax(op, indices); })
      .Case([&](CumsumOp op) { return cumsum(op, indices); })
      .Case([&](TakeAlongOp op) {
        Indices from(indices);
        from[op.getDim()] = b.create<arith::IndexCastOp>(
            b.getIndexType(), emit(op.getIds(), indices));
        return emit(op.getOperand(), from);
      })
      .Case([&](DequantizeOp op) { return dequantize(op, indices); })
      .Case([&](ConvOp op) { return conv(op, indices); })
      .Case([&](ConvBwdInputOp op) { return convBwdInput(op, indices); })
      .Case([&](ConvBwdWeightOp op) { return convBwdWeight(op, indices); })
      .Case([&](MaxPoolOp op) {
        auto [maximum, tap] = maxPool(op, indices);
        remember(op.getResult(), indices, maximum);
        remember(op.getTaps(), indices, tap);
        return value == op.getTaps() ? tap : maximum;
      })
      .Case([&](MaxPoolBwdOp op) { return maxPoolBwd(op, indices); })
      .Case([&](GroupedDotOp op) { return groupedDot(op, indices); })
      .Case([&](GroupedDotBwdWeightOp op) {
        return groupedDotBwdWeight(op, indices);
      });
}

//===----------------------------------------------------------------------===//
// Inputs, constants, indices
//===----------------------------------------------------------------------===//

Value ScalarEmitter::load(BlockArgument argument, ArrayRef<Value> indices) {
  Value buffer = b.buffer(argument.getArgNumber());
  Value loaded = b.create<memref::LoadOp>(buffer, indices);
  return elementwise::fromMemory(b, b.getLoc(), loaded, elementOf(argument));
}

Value ScalarEmitter::constant(ConstantOp op, ArrayRef<Value> indices) {
  auto dense = cast<DenseElementsAttr>(op.getValue());
  if (dense.isSplat())
    return elementwise::constant(
        b, b.getLoc(), cast<TypedAttr>(dense.getSplatValue<Attribute>()));
  // Never read, and an empty global has no lowering.
  if (dense.empty())
    return elementwise::constant(b, b.getLoc(), b.getZeroAttr(elementOf(op)));
  Value loaded = b.create<memref::LoadOp>(table(op, dense), indices);
  return elementwise::fromMemory(b, b.getLoc(), loaded, elementOf(op));
}

/// The elements in the object file, bytes for i1.
Value ScalarEmitter::table(ConstantOp op, DenseElementsAttr dense) {
  Value &buffer = tables[op];
  if (buffer)
    return buffer;
  auto type =
      kernelBufferType(MemRefType::get(shapeOf(op), dense.getElementType()));
  if (dense.getElementType().isInteger(1))
    dense = cast<DenseIntElementsAttr>(dense).mapValues(
        type.getElementType(), [](const APInt &bit) { return bit.zext(8); });
  std::string symbol =
      (b.func.getName() + "_table" + Twine(tables.size())).str();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(b.func);
  b.create<memref::GlobalOp>(symbol, b.getStringAttr("private"), type, dense,
                             /*constant=*/true, /*alignment=*/IntegerAttr());
  b.setInsertionPointToStart(&b.func.front());
  return buffer = b.create<memref::GetGlobalOp>(type, symbol);
}

Value ScalarEmitter::iota(IotaOp op, ArrayRef<Value> indices) {
  Value position =
      b.create<arith::IndexCastOp>(b.getI64Type(), indices[op.getDim()]);
  return elementwise::cast(b, b.getLoc(), position, elementOf(op));
}

Value ScalarEmitter::isWithin(Value at, int64_t low, int64_t high) {
  Value above =
      b.create<arith::CmpIOp>(arith::CmpIPredicate::sge, at, index(low));
  Value below =
      b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, at, index(high));
  return b.create<arith::AndIOp>(above, below);
}

Value ScalarEmitter::ifElse(Value condition, function_ref<Value()> then,
                            function_ref<Value()> otherwise) {
  auto branch = [&](function_ref<Value()> emitBranch) {
    return [this, emitBranch](OpBuilder &, Location) {
      ScopeGuard scope(*this);
      b.create<scf::YieldOp>(emitBranch());
    };
  };
  return b.create<scf::IfOp>(condition, branch(then), branch(otherwise))
      .getResult(0);
}

SmallVector<Value>
ScalarEmitter::loop(int64_t from, int64_t to, ValueRange carried,
                    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  return b.loop(index(from), index(to), 1, carried,
                [&](Value iv, ValueRange values) {
                  ScopeGuard scope(*this);
                  return body(iv, values);
                });
}

//===----------------------------------------------------------------------===//
// Random
//===----------------------------------------------------------------------===//

Value ScalarEmitter::keyVector(Value key) {
  Value &vector = keys[key];
  if (vector)
    return vector;
  auto type = VectorType::get({3}, b.getI64Type());
  Value result = b.create<arith::ConstantOp>(b.getZeroAttr(type));
  for (int64_t i = 0; i < 3; ++i)
    result =
        b.create<vector::InsertOp>(emit(key, index(i)), result, int64_t(i));
  return keys[key] = result;
}

Value ScalarEmitter::philoxWord(RandomOpInterface op, int64_t salt,
                                ArrayRef<Value> indices) {
  SmallVector<int64_t> shape = op.getRandomShape();
  Value number = b.create<arith::IndexCastOp>(
      b.getI64Type(), linearize(indices, op.getWhole().value_or(shape)));
  if (op.getOrigin())
    number = b.create<arith::AddIOp>(number, emit(op.getOrigin(), {}));
  Value lane = b.create<vector::BroadcastOp>(
      VectorType::get({1}, b.getI64Type()), number);
  Value word =
      emitPhiloxWord(b, b.getLoc(), lane, createSalt(b, b.getLoc(), salt),
                     keyVector(op.getRandomKey()));
  return b.create<vector::ExtractOp>(word, 0);
}

Value ScalarEmitter::uniform(Value word, Type type) {
  Value upper = b.create<arith::ShRUIOp>(word, b.integer(word.getType(), 8));
  return b.create<arith::MulFOp>(b.create<arith::UIToFPOp>(type, upper),
                                 b.constant(type, 0x1p-24));
}

Value ScalarEmitter::random(RandomOp op, ArrayRef<Value> indices) {
  Type type = wideTypeOf(elementOf(op));
  int64_t salt = op.getSalt();
  Value u = uniform(philoxWord(op, salt, indices), type);
  if (op.getDist() == Distribution::uniform)
    return rounded(b, u, elementOf(op));
  // sqrt(-2 ln(1 - u)) cos(2 pi u')
  Value angle =
      uniform(philoxWord(op, salt + (int64_t(1) << 31), indices), type);
  Value log =
      b.create<math::LogOp>(b.create<arith::SubFOp>(b.constant(type, 1.0), u));
  Value radius = b.create<math::SqrtOp>(
      b.create<arith::MulFOp>(b.constant(type, -2.0), log));
  Value cosine = b.create<math::CosOp>(
      b.create<arith::MulFOp>(b.constant(type, 2 * M_PI), angle));
  return rounded(b, b.create<arith::MulFOp>(radius, cosine), elementOf(op));
}

Value ScalarEmitter::dropout(DropoutOp op, ArrayRef<Value> indices) {
  Value input = emit(op.getInput(), indices);
  double p = op.getP().convertToDouble();
  double threshold = std::nearbyint(p * 0x1p32);
  Value zero = b.constant(input.getType(), 0.0);
  if (threshold >= 0x1p32)
    return zero; // no word is large enough
  Value word = philoxWord(op, op.getSalt(), indices);
  Value kept = b.create<arith::CmpIOp>(
      arith::CmpIPredicate::uge, word,
      b.integer(word.getType(), int32_t(uint32_t(threshold))));
  Value scaled = b.create<arith::MulFOp>(
      input, b.constant(input.getType(), 1.0 / (1.0 - p)));
  return b.create<arith::SelectOp>(kept, rounded(b, scaled, elementOf(op)),
                                   zero);
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

/// Splits both shapes into groups of dimensions with equal products, and maps
/// each group by itself: dimensions that survive keep their index.
Value ScalarEmitter::reshape(ReshapeOp op, ArrayRef<Value> indices) {
  ArrayRef<int64_t> to = shapeOf(op), from = shapeOf(op.getOperand());
  if (llvm::is_contained(from, 0)) // never run
    return emit(op.getOperand(), Indices(from.size(), index(0)));
  Indices mapped(from.size());
  size_t i = 0, j = 0;
  while (j < from.size() || i < to.size()) {
    size_t firstTo = i, firstFrom = j;
    int64_t sizeTo = i < to.size() ? to[i++] : 1;
    int64_t sizeFrom = j < from.size() ? from[j++] : 1;
    while (sizeTo != sizeFrom) {
      if (sizeTo < sizeFrom)
        sizeTo *= to[i++];
      else
        sizeFrom *= from[j++];
    }
    Value linear = linearize(indices.slice(firstTo, i - firstTo),
                             to.slice(firstTo, i - firstTo));
    for (size_t dim = j; dim-- > firstFrom;) {
      mapped[dim] = dim == firstFrom ? linear : remIndex(linear, from[dim]);
      linear = divIndex(linear, from[dim]);
    }
  }
  return emit(op.getOperand(), mapped);
}

Value ScalarEmitter::pad(PadOp op, ArrayRef<Value> indices) {
  auto zero = [&] { return identity(b, ReduceKind::sum, elementOf(op)); };
  ArrayRef<int64_t> from = shapeOf(op.getOperand()), to = shapeOf(op);
  if (llvm::is_contained(from, 0))
    return zero();
  Value inside;
  auto require = [&](Value condition) {
    inside = inside ? b.create<arith::AndIOp>(inside, condition) : condition;
  };
  Indices mapped;
  for (size_t dim = 0; dim < from.size(); ++dim) {
    int64_t low = op.getLow()[dim], step = op.getInterior()[dim] + 1;
    int64_t extent = (from[dim] - 1) * step + 1;
    if (low != 0 || extent != to[dim])
      require(isWithin(indices[dim], low, low + extent));
    Value offset = addIndex(indices[dim], index(-low));
    if (step != 1)
      require(b.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                      remIndex(offset, step), index(0)));
    mapped.push_back(divIndex(offset, step));
  }
  auto fromOperand = [&] { return emit(op.getOperand(), mapped); };
  return inside ? ifElse(inside, fromOperand, zero) : fromOperand();
}

/// The element from operand `input` or a later one.
Value ScalarEmitter::concat(ConcatOp op, ArrayRef<Value> indices,
                            unsigned input) {
  int64_t dim = op.getDim();
  Value operand = op.getInputs()[input];
  auto fromOperand = [&] { return emit(operand, indices); };
  // Operands without elements are never read.
  if (input + 1 == op.getInputs().size())
    return fromOperand();
  int64_t size = shapeOf(operand)[dim];
  auto fromLater = [&] {
    Indices shifted(indices);
    shifted[dim] = addIndex(indices[dim], index(-size));
    return concat(op, shifted, input + 1);
  };
  Value isHere = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt,
                                         indices[dim], index(size));
  return ifElse(isHere, fromOperand, fromLater);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value ScalarEmitter::reduce(ReduceOp op, ArrayRef<Value> indices) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  Indices from(shape.size());
  size_t kept = 0;
  SmallVector<int64_t> sizes;
  for (size_t dim = 0; dim < from.size(); ++dim)
    if (llvm::is_contained(op.getDims(), int64_t(dim)))
      sizes.push_back(shape[dim]);
    else
      from[dim] = indices[kept++];
  Value result =
      combineOver(op.getKind(), elementOf(op), sizes, [&](ArrayRef<Value> at) {
        for (auto [dim, index] : llvm::zip_equal(op.getDims(), at))
          from[dim] = index;
        return emit(op.getOperand(), from);
      });
  return rounded(b, result, elementOf(op));
}

Value ScalarEmitter::combineOver(ReduceKind kind, Type element,
                                 ArrayRef<int64_t> sizes, ElementAt elementAt) {
  Indices at;
  return combineRest(kind, element, sizes, at, elementAt);
}

/// A loop per size, and two where it is long: each level adds into an
/// accumulator of its own, which keeps the rounding error of long sums small.
Value ScalarEmitter::combineRest(ReduceKind kind, Type element,
                                 ArrayRef<int64_t> sizes, Indices &at,
                                 ElementAt elementAt) {
  constexpr int64_t block = reduceBlock;
  if (sizes.empty())
    return elementAt(at);
  int64_t size = sizes.front();
  Value empty = identity(b, kind, element);
  auto step = [&](Value index, ValueRange carried) -> SmallVector<Value> {
    ScopeGuard scope(*this);
    at.push_back(index);
    Value inner = combineRest(kind, element, sizes.drop_front(), at, elementAt);
    at.pop_back();
    return {combine(b, kind, carried[0], inner)};
  };
  if (size <= block)
    return b.loop(index(0), index(size), 1, empty, step)[0];
  return b.loop(index(0), index(size), block, empty,
                [&](Value first, ValueRange carried) -> SmallVector<Value> {
                  ScopeGuard scope(*this);
                  Value end = b.create<arith::MinUIOp>(
                      b.create<arith::AddIOp>(first, index(block)),
                      index(size));
                  Value part = b.loop(first, end, 1, empty, step)[0];
                  return {combine(b, kind, carried[0], part)};
                })[0];
}

/// Whether a later element wins as the maximum: it is larger, or the first NaN.
Value ScalarEmitter::exceeds(Value challenger, Value best) {
  if (!isa<FloatType>(best.getType()))
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, challenger, best);
  Value isNumber =
      b.create<arith::CmpFOp>(arith::CmpFPredicate::ORD, best, best);
  Value notLess =
      b.create<arith::CmpFOp>(arith::CmpFPredicate::UGT, challenger, best);
  return b.create<arith::AndIOp>(isNumber, notLess);
}

Value ScalarEmitter::argmax(ArgmaxOp op, ArrayRef<Value> indices) {
  int64_t dim = op.getDim();
  auto elementAt = [&](Value at) {
    Indices from(indices);
    from.insert(from.begin() + dim, at);
    return emit(op.getOperand(), from);
  };
  Value zero = index(0);
  SmallVector<Value> result =
      loop(1, shapeOf(op.getOperand())[dim], {elementAt(zero), zero},
           [&](Value at, ValueRange carried) -> SmallVector<Value> {
             Value challenger = elementAt(at);
             Value better = exceeds(challenger, carried[0]);
             return {b.create<arith::SelectOp>(better, challenger, carried[0]),
                     b.create<arith::SelectOp>(better, at, carried[1])};
           });
  Value position = b.create<arith::IndexCastOp>(b.getI64Type(), result[1]);
  return elementwise::cast(b, b.getLoc(), position, elementOf(op));
}

/// The sum from the start (or end) of the line: inside larger bodies only, a
/// launch of a single cumsum runs line by line.
Value ScalarEmitter::cumsum(CumsumOp op, ArrayRef<Value> indices) {
  int64_t dim = op.getDim(), size = shapeOf(op)[dim];
  Value count = op.getReverse()
                    ? b.create<arith::SubIOp>(index(size), indices[dim])
                    : addIndex(indices[dim], index(1));
  Value sum =
      b.loop(index(0), count, 1, identity(b, ReduceKind::sum, elementOf(op)),
             [&](Value at, ValueRange carried) -> SmallVector<Value> {
               ScopeGuard scope(*this);
               Indices from(indices);
               from[dim] =
                   op.getReverse()
                       ? Value(b.create<arith::SubIOp>(index(size - 1), at))
                       : at;
               Value element = emit(op.getOperand(), from);
               return {combine(b, ReduceKind::sum, carried[0], element)};
             })[0];
  return rounded(b, sum, elementOf(op));
}
