//===- VerifyPad.cpp - Border check after the pad phase -------------------===//

#include "hone/Analysis/Padding/Effects.h"
#include "hone/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYPAD
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Names of files are those of one tensor each.
static LogicalResult verifyNames(func::FuncOp func) {
  llvm::StringSet<> names;
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    auto parts = func.getArgAttrOfType<ArrayAttr>(index, attr::parts);
    SmallVector<StringRef> own;
    if (parts)
      for (auto part : parts.getAsRange<PartAttr>())
        own.push_back(part.getName().getValue());
    else
      own.push_back(argString(func, index, attr::fqn));
    for (StringRef name : own)
      if (!names.insert(name).second)
        return func.emitError("argument ")
               << index << " holds '" << name
               << "', which an earlier argument holds";
  }
  return success();
}

/// The dimension of the value below reshapes and transposes that a contraction
/// reads as `dim`, as long as it keeps its meaning.
static Value peel(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, TransposeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether a slice reads `value`, behind reshapes and transposes.
static Operation *findSlice(Value value) {
  for (Operation *user : value.getUsers()) {
    if (isa<SliceOp>(user))
      return user;
    if (isa<ReshapeOp, TransposeOp>(user))
      if (Operation *slice = findSlice(user->getResult(0)))
        return slice;
  }
  return nullptr;
}

/// No contraction of the function stands between a pad and a slice that undoes
/// it: the pad grows a dimension that the slice cuts to its old size.
static LogicalResult verifyNoPairs(func::FuncOp func) {
  for (auto dot : func.front().getOps<DotGeneralOp>())
    for (Value operand : dot->getOperands()) {
      auto pad = peel(operand).getDefiningOp<PadOp>();
      auto slice = dyn_cast_or_null<SliceOp>(findSlice(dot.getResult()));
      if (!pad || !slice)
        continue;
      auto padded = cast<RankedTensorType>(pad.getType()).getShape();
      auto before = cast<RankedTensorType>(pad.getOperand().getType());
      auto cut = cast<RankedTensorType>(slice.getOperand().getType());
      auto after = cast<RankedTensorType>(slice.getType());
      for (auto [wide, narrow] : llvm::zip(padded, before.getShape()))
        for (auto [from, to] : llvm::zip(cut.getShape(), after.getShape()))
          if (wide != narrow && wide == from && narrow == to)
            return dot.emitOpError()
                   << "stands between a pad from " << narrow << " to " << wide
                   << " and a slice back, expected a padded parameter";
    }
  return success();
}

/// Elements of each dimension of the argument that parts reach.
static SmallVector<int64_t> filledSizes(ArrayAttr parts, int64_t rank) {
  SmallVector<int64_t> sizes(rank, 0);
  for (auto part : parts.getAsRange<PartAttr>())
    for (auto [size, offset, extent] :
         llvm::zip(sizes, part.getOffset().asArrayRef(),
                   part.getShape().asArrayRef()))
      size = std::max(size, offset + extent);
  return sizes;
}

namespace {
struct VerifyPad : hone::impl::VerifyPadBase<VerifyPad> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!forward || !forward.getBody().hasOneBlock()) {
      getOperation().emitError("has no function @forward of one block");
      return signalPassFailure();
    }
    if (failed(verifyNames(forward)) || failed(verifyNoPairs(forward)) ||
        failed(verifyHidden(forward)))
      signalPassFailure();
  }

  /// Padding is at the end of the same dimensions everywhere, and hidden.
  LogicalResult verifyHidden(func::FuncOp forward) {
    DimensionClasses classes(forward.front());
    llvm::MapVector<unsigned, int64_t> sizes; // of padded classes
    for (BlockArgument argument : forward.getArguments()) {
      auto parts = forward.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                       attr::parts);
      auto type = cast<RankedTensorType>(argument.getType());
      if (!parts)
        continue;
      for (auto [dim, size] :
           llvm::enumerate(filledSizes(parts, type.getRank()))) {
        if (size == type.getDimSize(dim))
          continue;
        auto [entry, isNew] = sizes.insert({classes.find(argument, dim), size});
        if (!isNew && entry->second != size)
          return forward.emitError("'")
                 << argString(forward, argument.getArgNumber(), attr::fqn)
                 << "' has " << size << " of " << type.getDimSize(dim)
                 << " elements along dimension " << dim
                 << ", but another argument has " << entry->second
                 << " along the same dimension";
      }
    }
    for (auto [id, size] : sizes)
      if (failed(verifyClass(classes, id, size)))
        return failure();
    return success();
  }

  LogicalResult verifyClass(const DimensionClasses &classes, unsigned id,
                            int64_t size) {
    PaddingEffects effects = findPaddingEffects(classes, id, size);
    if (effects.refuser)
      return effects.refuser->emitOpError("sees padding after the first ")
             << size << " elements: it is " << effects.refusal;
    if (!effects.masks.empty())
      return effects.masks.front().use->getOwner()->emitOpError(
                 "sees padding after the first ")
             << size << " elements of dimension " << effects.masks.front().dim
             << " of operand " << effects.masks.front().use->getOperandNumber()
             << ", expected a mask";
    if (!effects.widths.empty())
      return effects.widths.front()->emitOpError(
                 "sees padding after the first ")
             << size << " elements of rows, expected this width";
    return success();
  }
};
} // namespace
