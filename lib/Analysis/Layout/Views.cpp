//===- Views.cpp - Values that need no kernel -----------------------------===//

#include "hone/Analysis/Layout/Views.h"

#include "hone/Analysis/Attention/Problem.h"

using namespace mlir;
using namespace hone;

/// Kernels that walk heads: attention and rotations.
static bool isHeadOp(Operation *op) {
  return llvm::is_contained({KernelFamily::attention, KernelFamily::rope},
                            cast<HoneOpInterface>(op).getKernelFamily());
}

/// Whether `value`, an operand or result of `op`, has no place in wider rows:
/// the log-sum-exp of a library's attention.
static bool isDenseFor(Operation *op, Value value) {
  return op->hasAttr(attr::workspace) && readAttention(op)->lse == value;
}

/// Ops of row kernels, which step over rows of any stride.
static bool isRowOp(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() || isa<DropoutOp>(op);
}

static bool hasUnitSteps(SliceOp slice) {
  return llvm::all_of(slice.getStrides(),
                      [](int64_t stride) { return stride == 1; });
}

static bool isUnit(int64_t size) { return size == 1; }

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

static StorageView storageViewOf(Operation *op) {
  auto facts = dyn_cast_if_present<HoneOpInterface>(op);
  return facts ? facts.getStorageView() : StorageView::None;
}

bool hone::isStorageView(Operation *op) {
  return storageViewOf(op) != StorageView::None;
}

bool hone::isViewOfOperand(Operation *op) {
  return storageViewOf(op) == StorageView::OfOperand;
}

Value hone::viewedValue(Value value) {
  Operation *producer = value.getDefiningOp();
  return isViewOfOperand(producer) ? producer->getOperand(0) : Value();
}

Value hone::stripViews(Value value) {
  while (Value viewed = viewedValue(value))
    value = viewed;
  return value;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

bool hone::isContiguous(SliceOp slice) {
  ArrayRef<int64_t> shape = shapeOf(slice.getResult()),
                    whole = shapeOf(slice.getOperand());
  if (!hasUnitSteps(slice))
    return false;
  // From the back: dimensions taken whole, then one that is cut, then single
  // indices.
  size_t dim = shape.size();
  while (dim > 0 && shape[dim - 1] == whole[dim - 1])
    --dim;
  return dim == 0 || llvm::all_of(shape.take_front(dim - 1), isUnit);
}

static bool isReadInPlace(Value value, ArrayRef<int64_t> leading,
                          bool isReshaped) {
  return llvm::all_of(value.getUsers(), [&](Operation *reader) {
    if (auto reshape = dyn_cast<ReshapeOp>(reader)) {
      ArrayRef<int64_t> to = shapeOf(reshape.getResult());
      return to.size() > leading.size() &&
             to.take_front(leading.size()) == leading &&
             isReadInPlace(reshape.getResult(), leading, true);
    }
    return isa<HoneDialect>(reader->getDialect()) && !isa<FusedOp>(reader) &&
           !isDenseFor(reader, value) &&
           (isHeadOp(reader) || (isRowOp(reader) && !isReshaped));
  });
}

bool hone::isReadInPlace(Value value) {
  return ::isReadInPlace(value, shapeOf(value).drop_back(),
                         /*isReshaped=*/false);
}

bool hone::isViewSlice(SliceOp slice) {
  if (isContiguous(slice))
    return true;
  ArrayRef<int64_t> leading = shapeOf(slice.getResult()).drop_back();
  return hasUnitSteps(slice) && !leading.empty() &&
         leading == shapeOf(slice.getOperand()).drop_back() &&
         isReadInPlace(slice.getResult());
}

//===----------------------------------------------------------------------===//
// Concatenations
//===----------------------------------------------------------------------===//

bool hone::isContiguous(ConcatOp concat) {
  return llvm::all_of(shapeOf(concat.getResult()).take_front(concat.getDim()),
                      isUnit);
}

bool hone::isPlacement(ConcatOp concat) {
  ArrayRef<int64_t> shape = shapeOf(concat.getResult());
  bool contiguous = isContiguous(concat);
  bool isLast = int64_t(concat.getDim()) == int64_t(shape.size()) - 1;
  if (concat.getInputs().size() < 2 || !(contiguous || isLast))
    return false;
  return llvm::all_of(concat.getInputs(), [&](Value input) {
    if (cast<RankedTensorType>(input.getType()).getNumElements() == 0 ||
        !input.hasOneUse())
      return false;
    Value made = input;
    if (auto reshape = input.getDefiningOp<ReshapeOp>()) {
      made = reshape.getOperand();
      // A strided part must keep its leading dimensions.
      ArrayRef<int64_t> from = shapeOf(made);
      bool keeps = from.size() >= shape.size() &&
                   from.take_front(shape.size() - 1) == shape.drop_back();
      if (!made.hasOneUse() || !(contiguous || keeps))
        return false;
    }
    // A view has no kernel that could write it elsewhere.
    Operation *producer = made.getDefiningOp();
    if (!producer || isStorageView(producer) || isa<StopGradientOp>(producer))
      return false;
    return contiguous || (isHeadOp(producer) && !isDenseFor(producer, made)) ||
           (isRowOp(producer) && made == input);
  });
}
