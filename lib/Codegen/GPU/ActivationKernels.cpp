//===- ActivationKernels.cpp - Activations of products on a GPU -----------===//

#include "ActivationKernels.h"

#include "Builder.h"
#include "Codegen/Common/ElementwiseArith.h"

#include <numeric>

using namespace mlir;
using namespace hone;

static constexpr int64_t activationThreads = 128;

namespace {
/// The kernel's thread, which has one vector of a row.
class ActivationEmitter {
public:
  ActivationEmitter(DeviceBuilder &b, gpu::GPUFuncOp func, Type element,
                    int64_t lanes, const ProductActivation &product)
      : b(b), func(func), element(element), product(product),
        type(VectorType::get({lanes}, element)) {}

  void emit(Value row, Value column);

private:
  Value load(int64_t buffer, Value offset) {
    return elementwise::fromMemory(
        b, b.getLoc(), b.load(func.getArgument(buffer), type, offset), element);
  }
  void store(Value value, int64_t buffer, Value offset) {
    b.store(elementwise::toMemory(b, b.getLoc(), value, element),
            func.getArgument(buffer), offset);
  }

  DeviceBuilder &b;
  gpu::GPUFuncOp func;
  Type element;
  const ProductActivation &product;
  VectorType type;
};
} // namespace

void ActivationEmitter::emit(Value row, Value column) {
  Value place = b.add(b.mul(row, product.rowStride), column);
  Value value = load(product.result, place);
  if (product.bias)
    value = elementwise::combine(b, b.getLoc(), ReduceKind::sum, value,
                                 load(*product.bias, column));
  Value auxPlace;
  if (product.aux)
    auxPlace = b.add(b.mul(row, product.auxStride), column);
  SmallVector<Value> operands = {value};
  if (isa<GeluBwdOp>(product.op))
    operands.push_back(load(*product.aux, auxPlace));
  else if (product.aux)
    store(value, *product.aux, auxPlace);
  Value active = elementwise::compute(b, b.getLoc(), product.op, operands);
  store(active, product.result, place);
}

FailureOr<GridKernel>
hone::emitProductActivation(OpBuilder &builder, StringRef name,
                            plan::LaunchOp launch,
                            const ProductActivation &product) {
  Type element =
      getElementTypeOrSelf(launch->getOperand(product.result).getType());
  SmallVector<int64_t> offsets = {
      plan::arenaOffset(launch->getOperand(product.result))};
  for (std::optional<int64_t> buffer : {product.bias, product.aux})
    if (buffer)
      offsets.push_back(plan::arenaOffset(launch->getOperand(*buffer)));
  int64_t divisor = std::gcd(product.n, product.rowStride);
  if (product.aux)
    divisor = std::gcd(divisor, product.auxStride);
  int64_t lanes = DeviceBuilder::lanesOf(element, divisor, offsets);
  int64_t vectors = product.m * product.n / lanes;
  int64_t blocks = llvm::divideCeil(vectors, activationThreads);

  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  gpu::GPUFuncOp func =
      b.begin(name, launch->getNumOperands(), activationThreads);
  int64_t largest =
      std::max(blocks * activationThreads * lanes,
               product.m * std::max(product.rowStride, product.auxStride));
  Value number = b.add(b.mul(b.blockFor(largest), activationThreads),
                       b.threadFor(largest));
  b.emitIf(b.less(number, vectors), [&] {
    SmallVector<Value> at =
        b.delinearize(number, {product.m, product.n / lanes});
    ActivationEmitter(b, func, element, lanes, product)
        .emit(at[0], b.mul(at[1], lanes));
  });
  if (lanes * elementByteWidth(element) == accessBytes && blocks > 0)
    markVectorised(func, 2);
  return GridKernel{func, blocks, activationThreads};
}
