//===- Placements.cpp - Where the operands of concatenations lie ----------===//
//
// A concatenation that no kernel makes is written by those that make its
// operands. It may lie over a value that dies there.
//
//===----------------------------------------------------------------------===//

#include "FunctionPlanner.h"

#include "hone/Analysis/Fusion/CollectiveGroups.h"
#include "hone/Analysis/Layout/Strides.h"
#include "hone/Analysis/Layout/Views.h"

using namespace mlir;
using namespace hone;

/// The slice of a value like `concat` that lies where `input` lies in it, from
/// `start` on, and that the group may write `input` over.
SliceOp FunctionPlanner::partUnder(ConcatOp concat, Value input,
                                   int64_t start) {
  auto group = input.getDefiningOp<FusedOp>();
  unsigned result = cast<OpResult>(input).getResultNumber();
  for (unsigned operand : reusableOperands(group, result)) {
    auto slice = group.getOperand(operand).getDefiningOp<SliceOp>();
    if (!slice || slice.getOperand().getType() != concat.getType())
      continue;
    bool isThere = llvm::all_of(slice.getStrides(),
                                [](int64_t stride) { return stride == 1; });
    for (auto [dim, from] : llvm::enumerate(slice.getStarts()))
      isThere &= from == (dim == concat.getDim() ? start : 0);
    if (isThere)
      return slice;
  }
  return {};
}

/// The value that `concat` may be written over: one group makes all parts of
/// the concatenation, reads parts of that value, each where it writes, and the
/// value dies there. So the gradients of the factors of SwiGLU lie over them.
Value FunctionPlanner::valueUnder(ConcatOp concat) {
  auto group = concat.getInputs().front().getDefiningOp<FusedOp>();
  llvm::SmallDenseSet<Value> parts;
  Value whole;
  int64_t start = 0;
  for (Value input : concat.getInputs()) {
    if (!group || input.getDefiningOp<FusedOp>() != group)
      return {};
    SliceOp part = partUnder(concat, input, start);
    if (!part || (whole && part.getOperand() != whole))
      return {};
    whole = part.getOperand();
    parts.insert(part.getResult());
    start += typeOf(input).getDimSize(concat.getDim());
  }
  if (!whole.getDefiningOp<FusedOp>() || places.contains(whole) ||
      !diesAt(whole, group,
              [&](OpOperand &use) { return parts.contains(use.get()); }))
    return {};
  underParts.insert(parts.begin(), parts.end());
  return whole;
}

/// Puts `value` at `place`, and what it waits for as well. Returns the op that
/// writes there first.
Operation *FunctionPlanner::placeWhereMade(Value value, const Place &place) {
  places[value] = place;
  auto group = value.getDefiningOp<FusedOp>();
  if (group && endsCollective(group)) {
    value = group.getOperand(0);
    places[value] = place;
  }
  return value.getDefiningOp();
}

/// Concatenations written in place: their operands lie in their storage.
void FunctionPlanner::planPlacements() {
  for (auto concat : block.getOps<ConcatOp>()) {
    int storage = newStorage(concat.getType(), position[concat]);
    placeContiguous(concat.getResult(), storage);
    SmallVector<int64_t> strides = places[concat.getResult()].strides;
    int64_t width = elementByteWidth(typeOf(concat).getElementType());
    int64_t dim = concat.getDim(), start = 0;
    for (Value input : concat.getInputs()) {
      ArrayRef<int64_t> shape = typeOf(input).getShape();
      Place place = {storage, start * width,
                     isContiguous(concat) ? rowMajorStrides(shape) : strides};
      start += shape[dim] * strides[dim];
      places[input] = place;
      Place made = place;
      if (auto reshape = input.getDefiningOp<ReshapeOp>()) {
        bool split = restride(place, typeOf(input),
                              typeOf(reshape.getOperand()), made.strides);
        assert(split && "isPlacement accepts only such reshapes");
        (void)split;
        input = reshape.getOperand();
      }
      Operation *maker = placeWhereMade(input, made);
      storages[storage].first =
          std::min(storages[storage].first, position[maker]);
    }
    if (Value under = valueUnder(concat)) {
      const Place place = places.lookup(concat.getResult());
      storages[storage].first = position[placeWhereMade(under, place)];
    }
  }
}
