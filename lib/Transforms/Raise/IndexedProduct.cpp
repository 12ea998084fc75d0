//===- IndexedProduct.cpp - Contractions by indices of their sum ----------===//

#include "IndexedProduct.h"

using namespace mlir;
using namespace hone;

IndexedProduct::IndexedProduct(DotGeneralOp op)
    : lhs{op.getLhs(), {}}, rhs{op.getRhs(), {}} {
  lhs.indices.resize(shapeOf(lhs.value).size());
  rhs.indices.resize(shapeOf(rhs.value).size());
  int64_t count = 0;
  for (auto [l, r] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch())) {
    result.push_back(count);
    lhs.indices[l] = rhs.indices[r] = count++;
  }
  for (int64_t dim : op.getLhsFree()) {
    result.push_back(count);
    lhs.indices[dim] = count++;
  }
  for (int64_t dim : op.getRhsFree()) {
    result.push_back(count);
    rhs.indices[dim] = count++;
  }
  for (auto [l, r] : llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    lhs.indices[l] = rhs.indices[r] = count++;
}

bool IndexedProduct::readSource(ProductOperand &factor, Value source,
                                ArrayRef<int64_t> permutation) const {
  SmallVector<int64_t> indices(factor.indices.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    indices[from] = factor.indices[to];
  auto freeOf = [&](ArrayRef<int64_t> list) {
    SmallVector<int64_t> free(list);
    llvm::erase_if(
        free, [&](int64_t index) { return lhs.has(index) && rhs.has(index); });
    return free;
  };
  if (freeOf(indices) != freeOf(factor.indices))
    return false;
  factor = {source, indices};
  return true;
}

SmallVector<int64_t> IndexedProduct::builtOrder() const {
  SmallVector<int64_t> order;
  for (int64_t index : result)
    if (lhs.has(index) && rhs.has(index))
      order.push_back(index);
  for (const ProductOperand *factor : {&lhs, &rhs})
    for (int64_t index : factor->indices)
      if (!(lhs.has(index) && rhs.has(index)))
        order.push_back(index);
  return order;
}

DotGeneralOp IndexedProduct::build(OpBuilder &b, DotGeneralOp from) const {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract, shape;
  for (int64_t index : builtOrder()) {
    const ProductOperand &factor = lhs.has(index) ? lhs : rhs;
    shape.push_back(shapeOf(factor.value)[factor.dimOf(index)]);
    if (lhs.has(index) && rhs.has(index)) {
      lhsBatch.push_back(lhs.dimOf(index));
      rhsBatch.push_back(rhs.dimOf(index));
    }
  }
  for (auto [dim, index] : llvm::enumerate(lhs.indices))
    if (rhs.has(index) && !llvm::is_contained(result, index)) {
      lhsContract.push_back(dim);
      rhsContract.push_back(rhs.dimOf(index));
    }
  return b.create<DotGeneralOp>(from.getLoc(), withShape(from, shape),
                                lhs.value, rhs.value, lhsBatch, rhsBatch,
                                lhsContract, rhsContract);
}
