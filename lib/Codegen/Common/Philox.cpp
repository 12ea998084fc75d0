//===- Philox.cpp - Random words inside kernels ---------------------------===//

#include "Philox.h"
#include "Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

using namespace mlir;
using namespace hone;

static constexpr int64_t multipliers[2] = {0xD2511F53, 0xCD9E8D57};
static constexpr int64_t weyl[2] = {0x9E3779B9, 0xBB67AE85};
static constexpr int rounds = 10;
static constexpr int64_t lowMask = 0xFFFFFFFF;

/// `value` in every lane of `type`.
static Value splat(ImplicitLocOpBuilder &b, VectorType type, int64_t value) {
  auto attr = DenseElementsAttr::get(
      type, b.getIntegerAttr(type.getElementType(), value));
  return b.create<arith::ConstantOp>(attr);
}

static Value constant64(ImplicitLocOpBuilder &b, int64_t value) {
  return b.create<arith::ConstantOp>(b.getI64IntegerAttr(value));
}

Value hone::emitPhiloxKey(OpBuilder &builder, Location loc, Value key) {
  ImplicitLocOpBuilder b(loc, builder);
  Value zero = b.create<arith::ConstantIndexOp>(0);
  return b.create<vector::LoadOp>(VectorType::get({3}, b.getI64Type()), key,
                                  zero);
}

Value hone::emitRandomNumber(OpBuilder &builder, Location loc,
                             const RandomPart &part, Value origin,
                             Value index) {
  ImplicitLocOpBuilder b(loc, builder);
  Type type = index.getType();
  auto constant = [&](int64_t value) -> Value {
    if (auto vector = dyn_cast<VectorType>(type))
      return splat(b, vector, value);
    return constant64(b, value);
  };
  Value number;
  for (auto [at, dim] : llvm::enumerate(llvm::reverse(part.dims))) {
    bool isSlowest = at + 1 == part.dims.size();
    Value own = index;
    if (!isSlowest) {
      own = b.create<arith::RemUIOp>(index, constant(dim.size));
      index = b.create<arith::DivUIOp>(index, constant(dim.size));
    }
    if (dim.stride != 1)
      own = b.create<arith::MulIOp>(own, constant(dim.stride));
    number = number ? b.create<arith::AddIOp>(number, own).getResult() : own;
  }
  if (!origin)
    return number;
  if (isa<VectorType>(type))
    origin = b.create<vector::BroadcastOp>(type, origin);
  return b.create<arith::AddIOp>(number, origin);
}

std::array<Value, 4> hone::emitPhiloxWords(OpBuilder &builder, Location loc,
                                           Value counter, Value salt,
                                           Value key) {
  // Words live in 64-bit lanes whose upper halves hold anything: a product
  // reads lower halves only, so that it is one instruction per 8 lanes.
  ImplicitLocOpBuilder b(loc, builder);
  auto type = cast<VectorType>(counter.getType());
  auto broadcast = [&](Value scalar) -> Value {
    return b.create<vector::BroadcastOp>(type, scalar);
  };
  Value low = splat(b, type, lowMask), half = splat(b, type, 32);
  Value seed = b.create<vector::ExtractOp>(key, 0);
  Value roundKey[2] = {seed, b.create<arith::ShRUIOp>(seed, constant64(b, 32))};
  std::array<Value, 4> state = {counter, broadcast(salt),
                                broadcast(b.create<vector::ExtractOp>(key, 1)),
                                broadcast(b.create<vector::ExtractOp>(key, 2))};
  for (int round = 0; round < rounds; ++round) {
    Value product[2], high[2];
    for (int j = 0; j < 2; ++j) {
      Value factor = b.create<arith::AndIOp>(state[2 * j], low);
      product[j] =
          b.create<arith::MulIOp>(factor, splat(b, type, multipliers[j]));
      high[j] = b.create<arith::ShRUIOp>(product[j], half);
    }
    auto mix = [&](Value high, Value word, Value roundKey) -> Value {
      Value mixed = b.create<arith::XOrIOp>(high, word);
      return b.create<arith::XOrIOp>(mixed, broadcast(roundKey));
    };
    state = {mix(high[1], state[1], roundKey[0]), product[1],
             mix(high[0], state[3], roundKey[1]), product[0]};
    for (int j = 0; j < 2; ++j)
      roundKey[j] =
          b.create<arith::AddIOp>(roundKey[j], constant64(b, weyl[j]));
  }
  auto words = VectorType::get(type.getShape(), b.getI32Type());
  for (Value &word : state)
    word = b.create<arith::TruncIOp>(words, word);
  return state;
}

Value hone::emitPhiloxWord(OpBuilder &builder, Location loc, Value index,
                           Value salt, Value key) {
  ImplicitLocOpBuilder b(loc, builder);
  auto type = cast<VectorType>(index.getType());
  Value counter = b.create<arith::ShRUIOp>(index, splat(b, type, 2));
  Value which = b.create<arith::AndIOp>(index, splat(b, type, 3));
  std::array<Value, 4> words = emitPhiloxWords(b, loc, counter, salt, key);
  Value word = words[3];
  for (int64_t j = 2; j >= 0; --j) {
    Value isWord = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, which,
                                           splat(b, type, j));
    word = b.create<arith::SelectOp>(isWord, words[j], word);
  }
  return word;
}

/// counter, counter + 1, ... for `counter : i64`.
static Value counterVector(ImplicitLocOpBuilder &b, Value counter,
                           int64_t lanes) {
  auto type = VectorType::get({lanes}, b.getI64Type());
  SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  return b.create<arith::AddIOp>(
      b.create<vector::BroadcastOp>(type, counter),
      b.create<arith::ConstantOp>(
          DenseElementsAttr::get(type, ArrayRef<int64_t>(steps))));
}

Value hone::emitPhiloxGroups(OpBuilder &builder, Location loc, Value first,
                             int64_t groups, Value salt, Value key) {
  ImplicitLocOpBuilder b(loc, builder);
  Value number = b.create<arith::IndexCastOp>(b.getI64Type(), first);
  Value counter = b.create<arith::ShRUIOp>(number, constant64(b, 2));
  std::array<Value, 4> words =
      emitPhiloxWords(b, loc, counterVector(b, counter, groups), salt, key);
  auto type = VectorType::get({4 * groups}, b.getI32Type());
  Value result = b.create<arith::ConstantOp>(b.getZeroAttr(type));
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t word = 0; word < 4; ++word)
      result = b.create<vector::InsertOp>(
          b.create<vector::ExtractOp>(words[word], group), result,
          4 * group + word);
  return result;
}

std::array<Value, 4> hone::emitPhiloxRun(OpBuilder &builder, Location loc,
                                         Value first, Value salt, Value key) {
  ImplicitLocOpBuilder b(loc, builder);
  auto firsts = dyn_cast<VectorType>(first.getType());
  Value two = firsts ? splat(b, firsts, 2) : constant64(b, 2);
  Value counter = b.create<arith::ShRUIOp>(first, two);
  if (!firsts)
    counter = counterVector(b, counter, kernelLanes);
  std::array<Value, 4> words = emitPhiloxWords(b, loc, counter, salt, key);

  // Lane l of word j is element 4 l + j: a 4 x 4 transpose within each group
  // of four vectors, by two interleavings.
  SmallVector<int64_t> interleave;
  for (int64_t lane = 0; lane < kernelLanes; ++lane)
    interleave.append({lane, lane + kernelLanes});
  Value even = b.create<vector::ShuffleOp>(words[0], words[2], interleave);
  Value odd = b.create<vector::ShuffleOp>(words[1], words[3], interleave);
  for (int64_t part = 0; part < 4; ++part) {
    SmallVector<int64_t> lanesOfPart;
    for (int64_t lane = 0; lane < kernelLanes / 2; ++lane) {
      int64_t from = part * (kernelLanes / 2) + lane;
      lanesOfPart.append({from, from + 2 * kernelLanes});
    }
    words[part] = b.create<vector::ShuffleOp>(even, odd, lanesOfPart);
  }
  return words;
}

Value hone::emitDropout(OpBuilder &builder, Location loc, Value value,
                        Value word, double p) {
  ImplicitLocOpBuilder b(loc, builder);
  auto type = cast<VectorType>(value.getType());
  Value zero = b.create<arith::ConstantOp>(b.getZeroAttr(type));
  int64_t threshold = std::llround(p * 0x1p32);
  if (threshold > lowMask)
    return zero;
  Value scale = b.create<arith::ConstantOp>(DenseElementsAttr::get(
      type, b.getF32FloatAttr(static_cast<float>(1.0 / (1.0 - p)))));
  Value kept =
      b.create<arith::CmpIOp>(arith::CmpIPredicate::uge, word,
                              splat(b, cast<VectorType>(word.getType()),
                                    static_cast<int32_t>(threshold)));
  Value scaled = b.create<arith::MulFOp>(value, scale);
  return b.create<arith::SelectOp>(kept, scaled, zero);
}
