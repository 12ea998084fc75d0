//===- ScalarIndices.cpp - Index arithmetic of the scalar emitter ---------===//
//
// Constants are folded, and each sum, product or quotient is emitted once per
// scope.
//
//===----------------------------------------------------------------------===//

#include "ScalarEmitter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace hone;

Value ScalarEmitter::index(int64_t value) {
  for (Scope &scope : scopes) {
    auto found = scope.constants.find(value);
    if (found != scope.constants.end())
      return found->second;
  }
  return scopes.back().constants[value] = b.index(value);
}

template <typename Op>
Value ScalarEmitter::arithmetic(char tag, Value lhs, Value rhs) {
  auto memo =
      std::make_tuple(tag, lhs.getAsOpaquePointer(), rhs.getAsOpaquePointer());
  for (Scope &scope : scopes) {
    auto found = scope.arithmetic.find(memo);
    if (found != scope.arithmetic.end())
      return found->second;
  }
  return scopes.back().arithmetic[memo] = b.create<Op>(lhs, rhs);
}

Value ScalarEmitter::addIndex(Value lhs, Value rhs) {
  std::optional<int64_t> x = getConstantIntValue(lhs),
                         y = getConstantIntValue(rhs);
  if (x && y)
    return index(*x + *y);
  if (x == 0)
    return rhs;
  if (y == 0)
    return lhs;
  return arithmetic<arith::AddIOp>('+', lhs, rhs);
}

Value ScalarEmitter::mulIndex(Value lhs, int64_t rhs) {
  if (std::optional<int64_t> x = getConstantIntValue(lhs))
    return index(*x * rhs);
  if (rhs == 1)
    return lhs;
  return arithmetic<arith::MulIOp>('*', lhs, index(rhs));
}

Value ScalarEmitter::divIndex(Value lhs, int64_t rhs) {
  if (std::optional<int64_t> x = getConstantIntValue(lhs))
    return index(*x / rhs);
  if (rhs == 1)
    return lhs;
  return arithmetic<arith::DivUIOp>('/', lhs, index(rhs));
}

Value ScalarEmitter::remIndex(Value lhs, int64_t rhs) {
  if (std::optional<int64_t> x = getConstantIntValue(lhs))
    return index(*x % rhs);
  if (rhs == 1)
    return index(0);
  return arithmetic<arith::RemUIOp>('%', lhs, index(rhs));
}

Value ScalarEmitter::linearize(ArrayRef<Value> indices,
                               ArrayRef<int64_t> shape) {
  Value linear = index(0);
  for (auto [at, size] : llvm::zip(indices, shape))
    linear = addIndex(mulIndex(linear, size), at);
  return linear;
}
