//===- Views.cpp - Values that need no kernel -----------------------------===//

#include "hone/Analysis/Views.h"

using namespace mlir;
using namespace hone;

static bool isAttention(Operation *op) {
  return cast<HoneOpInterface>(op).getKernelFamily() == KernelFamily::attention;
}

static bool lastDimStrides(ArrayRef<int64_t> strides) {
  return llvm::all_of(strides, [](int64_t stride) { return stride == 1; });
}

bool hone::isStridedView(SliceOp slice) {
  auto type = cast<RankedTensorType>(slice.getType());
  auto from = cast<RankedTensorType>(slice.getOperand().getType());
  if (type.getRank() == 0 || !lastDimStrides(slice.getStrides()) ||
      type.getShape().drop_back() != from.getShape().drop_back())
    return false;
  SmallVector<Operation *> readers(slice->getUsers());
  while (!readers.empty()) {
    Operation *reader = readers.pop_back_val();
    if (auto reshape = dyn_cast<ReshapeOp>(reader)) {
      // The leading dimensions must survive: only the last one may be split.
      auto to = cast<RankedTensorType>(reshape.getType());
      if (to.getRank() < type.getRank() ||
          to.getShape().take_front(type.getRank() - 1) !=
              type.getShape().drop_back())
        return false;
      llvm::append_range(readers, reshape->getUsers());
      continue;
    }
    if (!isa<HoneDialect>(reader->getDialect()) || isa<GroupOp>(reader) ||
        !isAttention(reader))
      return false;
  }
  return true;
}

bool hone::isPlacement(ConcatOp concat) {
  auto type = cast<RankedTensorType>(concat.getType());
  if (int64_t(concat.getDim()) != type.getRank() - 1)
    return false;
  return llvm::all_of(concat.getInputs(), [&](Value input) {
    if (!input.hasOneUse())
      return false;
    Operation *producer = input.getDefiningOp();
    if (auto reshape = dyn_cast_if_present<ReshapeOp>(producer)) {
      auto from = cast<RankedTensorType>(reshape.getOperand().getType());
      if (!reshape.getOperand().hasOneUse() ||
          from.getRank() < type.getRank() ||
          from.getShape().take_front(type.getRank() - 1) !=
              type.getShape().drop_back())
        return false;
      producer = reshape.getOperand().getDefiningOp();
    }
    return producer && !isa<ReshapeOp>(producer) && isAttention(producer);
  });
}
