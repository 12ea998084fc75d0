//===- MergeMaps.cpp - Elementwise ops in kernels that make codes ---------===//

#include "MergeMaps.h"

#include "hone/Analysis/Layout/Views.h"
#include "hone/IR/Hone.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

namespace {
/// A group that makes codes of one matrix, and the maps that make this.
class Merge {
public:
  explicit Merge(FusedOp codes)
      : codes(codes), matrix(codes.getInputs().front()) {}

  /// Whether the kernels can be one.
  bool find();
  void apply();

private:
  bool findSources();
  bool takes(FusedOp map);
  Value asMatrix(OpBuilder &builder, Value value);
  void cloneMap(OpBuilder &builder, FusedOp map, IRMapping &mapping);

  FusedOp codes;
  Value matrix;
  SmallVector<OpResult> sources; ///< side by side in the matrix
  llvm::SetVector<FusedOp> maps;
};
} // namespace

/// Whether the kernel makes nothing but codes of its only input, by tiles.
static bool makesCodes(FusedOp group) {
  return group.getInputs().size() == 1 &&
         llvm::all_of(group.getBodyBlock().without_terminator(),
                      [](Operation &op) {
                        auto quantize = dyn_cast<QuantizeOp>(op);
                        return quantize && !quantize.getAmax();
                      });
}

/// The parts of which a value is made, side by side in its last dimension; each
/// read by nothing else. Empty: it is read by others.
static SmallVector<Value> partsOf(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    if (!value.hasOneUse())
      return {};
    value = reshape.getOperand();
  }
  if (!value.hasOneUse())
    return {};
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat)
    return {value};
  bool isAlongRows =
      int64_t(concat.getDim()) + 1 == int64_t(shapeOf(value).size());
  if (!isAlongRows)
    return {};
  return llvm::to_vector(concat.getInputs());
}

/// Widths at which a tile never holds elements of two parts.
static constexpr int64_t tileWidth = 128;

bool Merge::findSources() {
  SmallVector<Value> parts = partsOf(matrix);
  int64_t width = 0;
  for (Value part : parts) {
    auto result = dyn_cast<OpResult>(part);
    auto map = result ? dyn_cast<FusedOp>(result.getOwner()) : FusedOp();
    if (!map || !part.hasOneUse())
      return false;
    sources.push_back(result);
    maps.insert(map);
    width += shapeOf(part).back();
    if (parts.size() != 1 && shapeOf(part).back() % tileWidth != 0)
      return false;
  }
  // Parts of the matrix are the last dimension of what maps work on.
  return !parts.empty() && width == shapeOf(matrix).back();
}

/// Whether a kernel of codes can compute the map: elementwise ops on floats,
/// all of the matrix's rows.
bool Merge::takes(FusedOp map) {
  if (map.getFamily() != KernelFamily::map ||
      map->getBlock() != codes->getBlock() ||
      !llvm::all_of(map.getOutputs(), [&](Value result) {
        return llvm::is_contained(sources, result);
      }))
    return false;
  ArrayRef<int64_t> shape = shapeOf(map.getOutputs().front());
  auto fits = [&](Value value) {
    return shapeOf(value) == shape &&
           isa<FloatType>(getElementTypeOrSelf(value.getType())) &&
           !getElementTypeOrSelf(value.getType()).isF64();
  };
  return shape.back() % 8 == 0 && llvm::all_of(map.getInputs(), fits) &&
         llvm::all_of(
             map.getBodyBlock().without_terminator(), [&](Operation &op) {
               auto constant = dyn_cast<ConstantOp>(op);
               bool isKnown = constant
                                  ? isa<SplatElementsAttr>(constant.getValue())
                                  : op.hasTrait<OpTrait::Elementwise>();
               return isKnown && llvm::all_of(op.getResults(), fits);
             });
}

bool Merge::find() {
  return makesCodes(codes) && findSources() &&
         llvm::all_of(maps, [&](FusedOp map) { return takes(map); });
}

/// Whether the slice has all rows of its operand, and some columns that lie
/// side by side.
static bool isPartOfRows(SliceOp slice) {
  return shapeOf(slice.getResult()).drop_back() ==
             shapeOf(slice.getOperand()).drop_back() &&
         llvm::all_of(slice.getStrides(),
                      [](int64_t step) { return step == 1; });
}

/// `value` as a matrix with the rows that codes have. A part of wider rows
/// stays one.
Value Merge::asMatrix(OpBuilder &builder, Value value) {
  int64_t rows = shapeOf(matrix).front(), width = shapeOf(value).back();
  SmallVector<int64_t> shape = {rows, width};
  if (shapeOf(value) == ArrayRef(shape))
    return value;
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(value));
  if (auto slice = value.getDefiningOp<SliceOp>();
      slice && isPartOfRows(slice)) {
    Value wide = asMatrix(builder, slice.getOperand());
    return builder.create<SliceOp>(
        slice.getLoc(), type, wide,
        ArrayRef<int64_t>{0, slice.getStarts().back()},
        ArrayRef<int64_t>{rows, slice.getLimits().back()},
        ArrayRef<int64_t>{1, 1});
  }
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    if (shapeOf(reshape.getOperand()) == ArrayRef(shape))
      return reshape.getOperand();
  return builder.create<ReshapeOp>(value.getLoc(), type, value);
}

/// The ops of a map, of values that are matrices.
void Merge::cloneMap(OpBuilder &builder, FusedOp map, IRMapping &mapping) {
  int64_t rows = shapeOf(matrix).front();
  Block &body = map.getBodyBlock();
  for (Operation &op : body.without_terminator()) {
    Operation *made = builder.clone(op, mapping);
    for (Value result : made->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      result.setType(type.clone({rows, type.getShape().back()}));
    }
    if (auto constant = dyn_cast<ConstantOp>(made))
      constant.setValueAttr(
          cast<DenseElementsAttr>(constant.getValue())
              .resizeSplat(cast<ShapedType>(constant.getType())));
  }
  for (auto [output, yielded] :
       llvm::zip(map.getOutputs(), body.getTerminator()->getOperands()))
    mapping.map(output, mapping.lookup(yielded));
}

void Merge::apply() {
  OpBuilder builder(codes);
  llvm::SetVector<Value> inputs;
  DenseMap<Value, Value> matrices;
  for (FusedOp map : maps)
    for (Value input : map.getInputs()) {
      matrices[input] = asMatrix(builder, input);
      inputs.insert(matrices[input]);
    }
  auto merged =
      builder.create<FusedOp>(codes.getLoc(), codes.getOutputs().getTypes(),
                              codes.getFamily(), inputs.getArrayRef());
  merged->setDiscardableAttrs(codes->getDiscardableAttrDictionary());
  Block *body = builder.createBlock(&merged.getBody());
  IRMapping mapping, outside;
  for (Value input : inputs)
    outside.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (FusedOp map : maps) {
    for (auto [argument, input] :
         llvm::zip(map.getBodyBlock().getArguments(), map.getInputs()))
      mapping.map(argument, outside.lookup(matrices[input]));
    cloneMap(builder, map, mapping);
  }
  SmallVector<Value> parts;
  for (OpResult source : sources)
    parts.push_back(mapping.lookup(Value(source)));
  Value made = parts.front();
  if (parts.size() != 1)
    made = builder.create<ConcatOp>(codes.getLoc(), matrix.getType(), parts,
                                    /*dim=*/1);
  mapping.map(codes.getBodyBlock().getArgument(0), made);
  for (Operation &op : codes.getBodyBlock())
    builder.clone(op, mapping);
  codes.replaceAllUsesWith(merged.getOutputs());
  codes.erase();
  // The views between, then the maps.
  while (Operation *op = matrix.getDefiningOp()) {
    if (!op->use_empty() || !isStorageView(op))
      break;
    matrix = op->getOperand(0);
    op->erase();
  }
  for (FusedOp map : llvm::reverse(maps))
    map.erase();
}

void hone::mergeMapsIntoCodes(Block &block) {
  for (auto codes : llvm::make_early_inc_range(block.getOps<FusedOp>()))
    if (Merge merge(codes); !codes.getInputs().empty() && merge.find())
      merge.apply();
}
