//===- UpdateKernels.cpp - Updates of parameters on a GPU -----------------===//

#include "UpdateKernels.h"

#include "Builder.h"
#include "Codegen/CPU/OptimizerKernels.h"
#include "Codegen/Common/Philox.h"
#include "Codegen/Common/UpdateEmitter.h"
#include "Items.h"

using namespace mlir;
using namespace hone;

/// Each thread makes the scalars of its update anew, of which some are powers
/// in f64: it has as many vectors as make that cheap.
static constexpr int64_t updateThreads = 128, threadVectors = 16;

namespace {
/// A kernel whose [lo, hi) a block computes together. Its buffers are
/// addresses.
class DeviceUpdateEmitter : public UpdateEmitter {
public:
  DeviceUpdateEmitter(OpBuilder &builder, StringRef name, plan::LaunchOp launch,
                      const UpdateTable &table, int64_t lanes)
      : UpdateEmitter(builder, name, launch, table, addressesOf(table), lanes) {
  }
  /// Emits the update of all whole vectors, then of what is left of [lo, hi).
  /// False for an op that has no kernel.
  bool emitAll(bool hasRest);

private:
  static SmallVector<Type> addressesOf(const UpdateTable &table) {
    MLIRContext *context = table.op->getContext();
    return SmallVector<Type>(table.types.size(),
                             LLVM::LLVMPointerType::get(context));
  }
  int64_t lanes() { return vectorType.getNumElements(); }
  Type elementOf(unsigned argument) {
    Type element = getElementTypeOrSelf(table.types[argument]);
    return element.isInteger(1) ? getI8Type() : element;
  }
  Value place(unsigned argument, Value at);
  unsigned alignment(Type element);

  Value loadElements(unsigned argument, Value at, Value mask) override;
  void storeElements(Value value, unsigned argument, Value at,
                     Value mask) override;
  Value loadScalar(unsigned argument) override;
  Value loadKey(unsigned argument) override;
  void forVectors(const RandomSource &random, VectorBody body) override;
  Value wordsAt(Value at, const RandomSource &random);

  bool isRest = false;
  int64_t wholeLanes = lanes();
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value DeviceUpdateEmitter::place(unsigned argument, Value at) {
  Value from = buffer(argument);
  Value number = create<arith::IndexCastOp>(getI64Type(), at);
  return create<LLVM::GEPOp>(from.getType(), elementOf(argument), from,
                             ArrayRef<LLVM::GEPArg>{number});
}

unsigned DeviceUpdateEmitter::alignment(Type element) {
  return std::min(lanes() * elementByteWidth(element), accessBytes);
}

Value DeviceUpdateEmitter::loadElements(unsigned argument, Value at, Value) {
  Type element = elementOf(argument);
  return create<LLVM::LoadOp>(VectorType::get({lanes()}, element),
                              place(argument, at), alignment(element));
}

void DeviceUpdateEmitter::storeElements(Value value, unsigned argument,
                                        Value at, Value) {
  Type element = elementOf(argument);
  create<LLVM::StoreOp>(convertFloat(value, element), place(argument, at),
                        alignment(element));
}

Value DeviceUpdateEmitter::loadScalar(unsigned argument) {
  Type element = elementOf(argument);
  return create<LLVM::LoadOp>(element, buffer(argument),
                              unsigned(elementByteWidth(element)));
}

Value DeviceUpdateEmitter::loadKey(unsigned argument) {
  auto type = VectorType::get({3}, getI64Type());
  Value key = create<arith::ConstantOp>(getZeroAttr(type));
  for (int64_t part = 0; part < 3; ++part) {
    Value word =
        create<LLVM::LoadOp>(getI64Type(), place(argument, index(part)),
                             /*alignment=*/8);
    key = create<vector::InsertOp>(word, key, part);
  }
  return key;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Random words of the vector at `at`: a counter has four.
Value DeviceUpdateEmitter::wordsAt(Value at, const RandomSource &random) {
  const RandomPart &part = random.part;
  bool isRow = part.isRun() || part.dims.back().size % lanes() == 0;
  if (lanes() % 4 != 0 || !isRow || !part.keepsCounters())
    return emitPhiloxWord(*this, getLoc(), numbersFrom(at, 1, lanes(), random),
                          random.salt, random.key);
  if (random.origin) {
    Value number = create<arith::IndexCastOp>(getI64Type(), at);
    number = emitRandomNumber(*this, getLoc(), part, random.origin, number);
    at = create<arith::IndexCastOp>(getIndexType(), number);
  }
  return emitPhiloxGroups(*this, getLoc(), at, lanes() / 4, random.salt,
                          random.key);
}

void DeviceUpdateEmitter::forVectors(const RandomSource &random,
                                     VectorBody body) {
  auto emitAt = [&](Value at) {
    body(at, {}, random.key ? wordsAt(at, random) : Value());
  };
  Value thread = create<gpu::ThreadIdOp>(gpu::Dimension::x);
  Value count = create<arith::SubIOp>(hi(), lo());
  if (!isRest) {
    Value vectors = create<arith::DivUIOp>(count, index(lanes()));
    loop(thread, vectors, updateThreads, [&](Value vector) {
      Value offset = create<arith::MulIOp>(vector, index(lanes()));
      emitAt(create<arith::AddIOp>(lo(), offset));
    });
    return;
  }
  // Fewer elements than a vector has: a loop of one step at most.
  Value rest = create<arith::RemUIOp>(count, index(wholeLanes));
  Value end = hi(), first = create<arith::SubIOp>(end, rest);
  loop(create<arith::AddIOp>(first, thread), end, updateThreads, emitAt);
}

bool DeviceUpdateEmitter::emitAll(bool hasRest) {
  if (!emitUpdate(*this))
    return false;
  if (!hasRest)
    return true;
  isRest = true;
  vectorType = VectorType::get({1}, compute);
  return emitUpdate(*this);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Bytes of the widest element of a tensor.
static int64_t widestElement(const UpdateTable &table) {
  int64_t widest = 1;
  for (unsigned argument : table.perElement)
    widest = std::max(
        widest, elementByteWidth(getElementTypeOrSelf(table.types[argument])));
  return widest;
}

/// Elements of a thread's vector: accesses of 16 bytes or less, aligned in all
/// tensors.
static int64_t lanesOf(const UpdateTable &table, ArrayRef<int64_t> offsets) {
  auto isAligned = [&](int64_t lanes) {
    return llvm::all_of(table.tensors.tensors, [&](const auto &tensor) {
      return llvm::all_of(table.perElement, [&](unsigned argument) {
        Type element = getElementTypeOrSelf(table.types[argument]);
        int64_t offset = offsets[tensor.buffers[argument]];
        return offset % (lanes * elementByteWidth(element)) == 0;
      });
    });
  };
  int64_t lanes = accessBytes / widestElement(table);
  while (!isAligned(lanes))
    lanes /= 2;
  return lanes;
}

FailureOr<GridKernel> hone::emitDeviceUpdates(OpBuilder &builder,
                                              StringRef name,
                                              plan::LaunchOp launch) {
  FailureOr<UpdateTable> table = UpdateTable::of(launch);
  if (failed(table))
    return failure();
  SmallVector<int64_t> offsets = arenaOffsets(launch);
  if (table->op.getStateBlock() != 0) { // an item is a block
    FailureOr<Kernel> kernel = emitUpdates(builder, name, launch);
    if (failed(kernel))
      return failure();
    return emitTableItems(builder, *kernel, offsets);
  }
  int64_t lanes = lanesOf(*table, offsets);
  bool hasRest = llvm::any_of(table->tensors.tensors, [&](const auto &tensor) {
    return tensor.size % lanes != 0;
  });
  DeviceUpdateEmitter b(builder, name, launch, *table, lanes);
  if (!b.emitAll(hasRest))
    return launch.emitOpError("holds an update that has no kernel, ")
           << table->op->getName()
           << ": expected hone-decompose-updates before";
  TensorTable tensors = table->tensors;
  tensors.chunk = updateThreads * lanes * threadVectors;
  GridKernel kernel = emitTableBlocks(
      builder, {b.func, tensors.items(), 1, tensors}, offsets, updateThreads);
  int64_t wide = llvm::count_if(table->perElement, [&](unsigned argument) {
    Type element = getElementTypeOrSelf(table->types[argument]);
    return lanes * elementByteWidth(element) == accessBytes;
  });
  // Where no tensor has a vector, the optimiser may know.
  if (wide > 0 && tensors.largest() >= lanes)
    markVectorised(kernel.func, wide);
  return kernel;
}
