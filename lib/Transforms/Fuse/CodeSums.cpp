//===- CodeSums.cpp - Groups that make codes, and column sums -------------===//

#include "CodeSums.h"

#include "hone/Analysis/Fusion/RowTail.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace hone;

Value hone::withoutReshapes(Value value, unsigned readers) {
  while (llvm::hasNItems(value.getUses(), readers)) {
    auto reshape = value.getDefiningOp<ReshapeOp>();
    if (!reshape)
      return value;
    value = reshape.getOperand();
    readers = 1;
  }
  return Value();
}

Value hone::codedMatrix(FusedOp codes) {
  auto first = cast<QuantizeOp>(codes.getBodyBlock().front());
  return codes
      .getInputs()[cast<BlockArgument>(first.getOperand()).getArgNumber()];
}

bool hone::makesCodes(FusedOp group) {
  Value matrix;
  for (Operation &op : group.getBodyBlock().without_terminator()) {
    auto quantize = dyn_cast<QuantizeOp>(op);
    if (!quantize || (matrix && matrix != quantize.getOperand()) ||
        !llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>))
      return false;
    matrix = quantize.getOperand();
  }
  return matrix != nullptr;
}

bool hone::readsAmax(FusedOp codes) {
  return bool(cast<QuantizeOp>(codes.getBodyBlock().front()).getAmax());
}

FusedOp hone::findAmax(FusedOp codes) {
  if (!readsAmax(codes))
    return {};
  // Between it and the codes ranks may find the largest of all shards.
  for (Operation *reader : codedMatrix(codes).getUsers()) {
    auto group = dyn_cast<FusedOp>(reader);
    if (group && group != codes && group->getBlock() == codes->getBlock() &&
        isa<AmaxOp>(group.getBodyBlock().front()) &&
        group.getFamily() == KernelFamily::dataMovement &&
        group.getInputs().size() == 1)
      return group;
  }
  return {};
}

static Value stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

/// The value whose columns `result` sums in f32, itself or as f32; null: it is
/// no such sum.
static Value summedColumns(Value result) {
  auto reduce = result.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != ReduceKind::sum ||
      !getElementTypeOrSelf(result.getType()).isF32())
    return Value();
  int64_t last = shapeOf(reduce.getOperand()).size() - 1;
  if (!llvm::equal(reduce.getDims(), llvm::seq<int64_t>(0, last)))
    return Value();
  auto cast = reduce.getOperand().getDefiningOp<CastOp>();
  return cast ? cast.getOperand() : reduce.getOperand();
}

/// Whether the group makes nothing but sums of columns of its only input.
static bool makesSums(FusedOp group) {
  Block &body = group.getBodyBlock();
  return group.getFamily() == KernelFamily::row &&
         group.getInputs().size() == 1 &&
         llvm::all_of(body.getTerminator()->getOperands(), [&](Value yielded) {
           return summedColumns(yielded) == body.getArgument(0);
         });
}

//===----------------------------------------------------------------------===//
// Splits
//===----------------------------------------------------------------------===//

/// The number of the only result of `group` that is no sum of columns of it;
/// -1: the group has others.
static int64_t summedResult(FusedOp group) {
  OperandRange yields = group.getBodyBlock().getTerminator()->getOperands();
  int64_t found = -1;
  for (auto [number, yielded] : llvm::enumerate(yields))
    if (!yielded.getDefiningOp<ReduceOp>()) {
      if (found != -1)
        return -1;
      found = int64_t(number);
    }
  bool isSum = found != -1 && llvm::all_of(yields, [&](Value yielded) {
                 return yielded == yields[found] ||
                        summedColumns(yielded) == yields[found];
               });
  return isSum && yields.size() > 1 ? found : -1;
}

/// Whether all else in the body is elementwise, of inputs of one shape.
static bool isMapBesideSums(FusedOp group, Value made) {
  auto hasShape = [&](Value value) {
    return shapeOf(value) == shapeOf(made) && isComputedFloat(value);
  };
  Block &body = group.getBodyBlock();
  return llvm::all_of(body.getArguments(), hasShape) &&
         llvm::all_of(body.without_terminator(), [&](Operation &op) {
           if (isa<ReduceOp>(op))
             return true;
           bool isSplat = isa<ConstantOp>(op); // row spaces hold no other
           return (isSplat || op.hasTrait<OpTrait::Elementwise>()) &&
                  llvm::all_of(op.getResults(), hasShape);
         });
}

/// A group of one input, in front of `before`, that sums what `sums` sum.
static FusedOp createSums(OpBuilder &builder, Value input, ValueRange sums,
                          Location loc) {
  auto group =
      builder.create<FusedOp>(loc, sums.getTypes(), KernelFamily::row, input);
  OpBuilder inside(builder.getContext());
  Block *body = inside.createBlock(&group.getBody());
  Value argument = body->addArgument(input.getType(), loc);
  SmallVector<Value> made;
  for (Value sum : sums) {
    auto reduce = sum.getDefiningOp<ReduceOp>();
    IRMapping mapping;
    mapping.map(summedColumns(sum), argument);
    if (auto cast = reduce.getOperand().getDefiningOp<CastOp>())
      inside.clone(*cast, mapping);
    made.push_back(inside.clone(*reduce, mapping)->getResult(0));
  }
  inside.create<YieldOp>(loc, made);
  return group;
}

void hone::splitSums(FusedOp codes) {
  Value matrix = codes.getInputs().front(), value = withoutReshapes(matrix);
  auto result = dyn_cast_or_null<OpResult>(value);
  auto group = result ? dyn_cast<FusedOp>(result.getOwner()) : FusedOp();
  if (!group || group.getFamily() != KernelFamily::row ||
      group->getBlock() != codes->getBlock() ||
      shapeOf(value).back() != shapeOf(matrix).back() ||
      shapeOf(value).back() % threadWidth != 0)
    return;
  Operation *yield = group.getBodyBlock().getTerminator();
  int64_t number = summedResult(group);
  if (number != int64_t(result.getResultNumber()) ||
      !isMapBesideSums(group, yield->getOperand(number)))
    return;
  OpBuilder builder(group);
  auto map = builder.create<FusedOp>(group.getLoc(), value.getType(),
                                     KernelFamily::map, group.getInputs());
  SmallVector<Value> sums, places;
  for (auto [yielded, output] :
       llvm::zip(yield->getOperands(), group.getOutputs()))
    if (output != value) {
      sums.push_back(yielded);
      places.push_back(output);
    }
  FusedOp added =
      createSums(builder, map.getOutputs().front(), sums, group.getLoc());
  for (auto [place, sum] : llvm::zip(places, added.getOutputs()))
    place.replaceAllUsesWith(sum);
  value.replaceAllUsesWith(map.getOutputs().front());
  yield->setOperands(yield->getOperand(number));
  map.getBody().takeBody(group.getBody());
  group.erase();
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(map.getBodyBlock())))
    if (!op.hasTrait<OpTrait::IsTerminator>() && op.use_empty())
      op.erase();
}

//===----------------------------------------------------------------------===//
// Merges
//===----------------------------------------------------------------------===//

/// The sums of `from`, of a matrix.
static SmallVector<Value> cloneSums(OpBuilder &builder, FusedOp from,
                                    Value matrix) {
  SmallVector<Value> made;
  for (Value sum : from.getBodyBlock().getTerminator()->getOperands()) {
    Value value = matrix;
    auto type = cast<RankedTensorType>(matrix.getType());
    if (!type.getElementType().isF32())
      value = builder.create<CastOp>(sum.getLoc(),
                                     type.clone(builder.getF32Type()), value);
    made.push_back(builder.create<ReduceOp>(sum.getLoc(), ReduceKind::sum,
                                            value, ArrayRef<int64_t>(0)));
  }
  return made;
}

FusedOp hone::mergeSums(FusedOp codes) {
  Value matrix = codes.getInputs().front(), value = stripReshapes(matrix);
  FusedOp sums;
  for (Operation *reader : value.getUsers())
    if (auto group = dyn_cast<FusedOp>(reader);
        group && group != codes && group->getBlock() == codes->getBlock() &&
        makesSums(group) && shapeOf(value).back() == shapeOf(matrix).back())
      sums = group;
  if (!sums)
    return codes;
  // Where the first stands: what reads either comes later.
  OpBuilder builder(sums->isBeforeInBlock(codes) ? sums : codes);
  Location loc = codes.getLoc();
  Value input = value;
  if (value.getType() != matrix.getType())
    input = builder.create<ReshapeOp>(loc, matrix.getType(), value);
  SmallVector<Type> types(codes.getOutputs().getTypes());
  llvm::append_range(types, sums.getOutputs().getTypes());
  auto merged = builder.create<FusedOp>(loc, types, codes.getFamily(), input);
  merged->setDiscardableAttrs(codes->getDiscardableAttrDictionary());
  Block *body = builder.createBlock(&merged.getBody());
  Value argument = body->addArgument(input.getType(), loc);
  SmallVector<Value> made = cloneSums(builder, sums, argument);
  IRMapping mapping;
  mapping.map(codes.getBodyBlock().getArgument(0), argument);
  SmallVector<Value> yielded;
  for (Operation &op : codes.getBodyBlock().without_terminator())
    builder.clone(op, mapping);
  for (Value each : codes.getBodyBlock().getTerminator()->getOperands())
    yielded.push_back(mapping.lookup(each));
  llvm::append_range(yielded, made);
  builder.create<YieldOp>(loc, yielded);
  unsigned count = codes.getOutputs().size();
  codes.replaceAllUsesWith(merged.getOutputs().take_front(count));
  sums.replaceAllUsesWith(merged.getOutputs().drop_front(count));
  codes.erase();
  sums.erase();
  for (Value view = matrix; view != value;) {
    Operation *reshape = view.getDefiningOp();
    if (!reshape->use_empty())
      break;
    view = reshape->getOperand(0);
    reshape->erase();
  }
  return merged;
}
