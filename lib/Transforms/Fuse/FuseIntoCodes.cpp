//===- FuseIntoCodes.cpp - Kernels that compute what they make codes of ---===//

#include "CodeSums.h"
#include "SplitRows.h"

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Analysis/Layout/KernelLanes.h"
#include "hone/Analysis/Layout/Views.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace hone {
#define GEN_PASS_DEF_FUSEINTOCODES
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
/// Part of the matrix that codes are made of: some of its columns.
struct Part {
  Value value;     ///< [..., width]
  int64_t width;   ///< columns
  FusedOp maker;   ///< that the kernel computes; null: it reads the part
  OpResult result; ///< of the maker, which is the part in some shape
};

/// A group that makes codes of one matrix, one that finds its largest magnitude
/// before, if there is such, and what makes the matrix.
class Merge {
public:
  Merge(FusedOp codes, FusedOp amax, int64_t width)
      : width(width), matrix(codedMatrix(codes)) {
    if (amax)
      readers.push_back(amax);
    readers.push_back(codes);
  }

  /// Whether the kernels can be one.
  bool find();
  void apply();

private:
  bool findParts();
  SmallVector<Value> partsOfMatrix();
  bool takes(FusedOp maker);
  bool takesMap(FusedOp map);
  bool takesRotation(FusedOp rotation);
  Value asMatrix(OpBuilder &builder, Value value, int64_t width);
  Value inputFor(OpBuilder &builder, BlockArgument argument, Value input,
                 int64_t width);
  void cloneMap(OpBuilder &builder, FusedOp map, IRMapping &mapping);
  void cloneRotation(OpBuilder &builder, const Part &part, IRMapping &mapping);
  void cloneMaker(OpBuilder &outside, FusedOp merged, const Part &part,
                  IRMapping &mapping);
  Value cloneParts(OpBuilder &outside, FusedOp merged);
  void rewrite(FusedOp reader);

  const int64_t width;             ///< elements of a vector
  SmallVector<FusedOp, 2> readers; ///< of the matrix
  Value matrix;
  SmallVector<Part> parts; ///< side by side
  llvm::SetVector<FusedOp> makers;
};
} // namespace

/// The values of which a value is made, side by side in its last dimension.
/// Empty: others than so many read it.
static SmallVector<Value> partsOf(Value value, unsigned readers) {
  value = withoutReshapes(value, readers);
  if (!value)
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

SmallVector<Value> Merge::partsOfMatrix() {
  return partsOf(matrix, readers.size());
}

bool Merge::findParts() {
  SmallVector<Value> values = partsOfMatrix();
  int64_t width = 0;
  for (Value value : values) {
    Part part = {value, shapeOf(value).back(), {}, {}};
    if (values.size() == 1)
      part.width = shapeOf(matrix).back();
    unsigned count = value == matrix ? readers.size() : 1;
    auto result = dyn_cast_or_null<OpResult>(withoutReshapes(value, count));
    auto maker = result ? dyn_cast<FusedOp>(result.getOwner()) : FusedOp();
    if (maker && takes(maker)) {
      part.maker = maker;
      part.result = result;
      makers.insert(maker);
    }
    parts.push_back(part);
    width += part.width;
    if (values.size() != 1 && part.width % tileWidth != 0)
      return false;
  }
  // Parts of the matrix are the last dimension of what makers work on.
  return width == shapeOf(matrix).back();
}

/// Along which of [rows, columns] an argument of a map has elements, if the
/// map's ops use it so: both, or one of them by broadcasts.
enum class Along { both, rows, columns, unknown };

static Along elementsOf(BlockArgument argument, ArrayRef<int64_t> shape) {
  if (shapeOf(argument) == shape)
    return Along::both;
  int64_t last = shape.size() - 1;
  auto known = Along::unknown;
  for (Operation *user : argument.getUsers()) {
    auto broadcast = dyn_cast<BroadcastOp>(user);
    if (!broadcast || shapeOf(broadcast.getResult()) != shape)
      return Along::unknown;
    ArrayRef<int64_t> dims = broadcast.getDims();
    auto own = llvm::equal(dims, llvm::seq<int64_t>(0, last)) ? Along::rows
               : dims == ArrayRef(last)                       ? Along::columns
                                                              : Along::unknown;
    if (own == Along::unknown || (known != Along::unknown && known != own))
      return Along::unknown;
    known = own;
  }
  return known;
}

/// Whether a kernel of codes can compute the map: elementwise ops on floats,
/// all of the matrix's rows, and vectors repeated along rows or columns.
bool Merge::takesMap(FusedOp map) {
  ArrayRef<int64_t> shape = shapeOf(map.getOutputs().front());
  Block &body = map.getBodyBlock();
  auto takesOp = [&](Operation &op) {
    bool isKnown = op.hasTrait<OpTrait::Elementwise>();
    if (auto constant = dyn_cast<ConstantOp>(op))
      isKnown = isa<SplatElementsAttr>(constant.getValue());
    else if (isa<BroadcastOp>(op))
      isKnown = isa<BlockArgument>(op.getOperand(0));
    return isKnown && llvm::all_of(op.getResults(), [&](Value value) {
             return shapeOf(value) == shape && isComputedFloat(value);
           });
  };
  return shape.back() % width == 0 &&
         llvm::all_of(body.getArguments(),
                      [&](BlockArgument argument) {
                        return isComputedFloat(argument) &&
                               elementsOf(argument, shape) != Along::unknown;
                      }) &&
         llvm::all_of(body.without_terminator(), takesOp);
}

/// Whether the slice has all rows of its operand, and some columns that lie
/// side by side.
static bool isPartOfRows(SliceOp slice) {
  return shapeOf(slice.getResult()).drop_back() ==
             shapeOf(slice.getOperand()).drop_back() &&
         llvm::all_of(slice.getStrides(),
                      [](int64_t step) { return step == 1; });
}

/// Whether a kernel of codes can compute the rotation: a vector of a thread is
/// in one half of a head, or has both elements of each pair.
bool Merge::takesRotation(FusedOp rotation) {
  Block &body = rotation.getBodyBlock();
  auto rope = dyn_cast<RopeOp>(body.front());
  if (!rope || rope->getNextNode() != body.getTerminator() ||
      !llvm::all_of(rope->getOperands(), llvm::IsaPred<BlockArgument>) ||
      !llvm::all_of(rope->getOperands(), isComputedFloat))
    return false;
  ArrayRef<int64_t> shape = shapeOf(rope.getResult());
  int64_t half = rope.getStyle() == RopeStyle::half ? 2 : 1;
  Value input =
      rotation.getInputs()[cast<BlockArgument>(rope.getInput()).getArgNumber()];
  while (auto reshape = input.getDefiningOp<ReshapeOp>())
    input = reshape.getOperand();
  return shape[3] % (half * width) == 0 && !input.getDefiningOp<SliceOp>();
}

/// Bytes of values with an element per point.
static int64_t bytesOfPoints(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (shapeOf(value).size() > 1)
      bytes += byteSize(value.getType());
  return bytes;
}

bool Merge::takes(FusedOp maker) {
  unsigned count = readers.size();
  SmallVector<Value> values = partsOfMatrix();
  auto isPart = [&](Value result) {
    return llvm::any_of(values, [&](Value part) {
      return withoutReshapes(part, part == matrix ? count : 1) == result;
    });
  };
  if (maker->getBlock() != readers.back()->getBlock() ||
      !llvm::all_of(maker.getOutputs(), isPart))
    return false;
  // Apart, its inputs are read once, and its results written and read by all.
  if (int64_t(count - 1) * bytesOfPoints(maker.getInputs()) >=
      int64_t(count + 1) * bytesOfPoints(maker.getOutputs()))
    return false;
  return maker.getFamily() == KernelFamily::map    ? takesMap(maker)
         : maker.getFamily() == KernelFamily::rope ? takesRotation(maker)
                                                   : false;
}

/// Whether the maker's last dimension is that of the part.
static bool hasRowsOf(const Part &part) {
  ArrayRef<int64_t> shape = shapeOf(part.result);
  bool isRotation = FusedOp(part.maker).getFamily() == KernelFamily::rope;
  return part.width == (isRotation ? shape[2] * shape[3] : shape.back());
}

bool Merge::find() {
  return findParts() && !makers.empty() &&
         llvm::all_of(parts, [](const Part &part) {
           return !part.maker || hasRowsOf(part);
         });
}

/// `value` as a matrix with the rows that codes have. A part of wider rows
/// stays one.
Value Merge::asMatrix(OpBuilder &builder, Value value, int64_t width) {
  int64_t rows = shapeOf(matrix).front();
  SmallVector<int64_t> shape = {rows, width};
  if (shapeOf(value) == ArrayRef(shape))
    return value;
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(value));
  if (auto slice = value.getDefiningOp<SliceOp>();
      slice && isPartOfRows(slice)) {
    Value wide = asMatrix(builder, slice.getOperand(),
                          shapeOf(slice.getOperand()).back());
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

/// What the kernel of codes reads where a map reads `input`.
Value Merge::inputFor(OpBuilder &builder, BlockArgument argument, Value input,
                      int64_t width) {
  auto map = cast<FusedOp>(argument.getOwner()->getParentOp());
  int64_t rows = shapeOf(matrix).front();
  switch (elementsOf(argument, shapeOf(map.getOutputs().front()))) {
  case Along::both:
    return asMatrix(builder, input, width);
  case Along::rows:
    if (shapeOf(input).size() == 1)
      return input;
    return builder.create<ReshapeOp>(
        input.getLoc(),
        RankedTensorType::get({rows}, getElementTypeOrSelf(input)), input);
  case Along::columns:
    return input;
  case Along::unknown:
    break;
  }
  llvm_unreachable("a map that kernels of codes do not take");
}

/// The ops of a map, of values that are matrices.
void Merge::cloneMap(OpBuilder &builder, FusedOp map, IRMapping &mapping) {
  int64_t rows = shapeOf(matrix).front();
  Block &body = map.getBodyBlock();
  ArrayRef<int64_t> shape = shapeOf(map.getOutputs().front());
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
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      auto repeated = cast<BlockArgument>(broadcast.getOperand());
      bool isOfRows = elementsOf(repeated, shape) == Along::rows;
      cast<BroadcastOp>(made).setDims({isOfRows ? 0 : 1});
    }
  }
  for (auto [output, yielded] :
       llvm::zip(map.getOutputs(), body.getTerminator()->getOperands()))
    mapping.map(output, mapping.lookup(yielded));
}

/// A rotation of heads, of which a row of the matrix has all.
void Merge::cloneRotation(OpBuilder &builder, const Part &part,
                          IRMapping &mapping) {
  auto rope = cast<RopeOp>(FusedOp(part.maker).getBodyBlock().front());
  Value heads = builder.create<ReshapeOp>(rope.getLoc(), rope.getType(),
                                          mapping.lookup(rope.getInput()));
  Operation *made = builder.clone(*rope, mapping);
  made->setOperand(0, heads);
  auto type = RankedTensorType::get({shapeOf(matrix).front(), part.width},
                                    getElementTypeOrSelf(rope.getType()));
  mapping.map(part.result,
              builder.create<ReshapeOp>(rope.getLoc(), type, made->getResult(0))
                  .getResult());
}

/// The argument of `merged` that stands for `input`, made if there is none.
static Value argumentOf(FusedOp merged, Value input) {
  Block &body = merged.getBodyBlock();
  for (auto [argument, own] :
       llvm::zip(body.getArguments(), merged.getInputs()))
    if (own == input)
      return argument;
  merged.getInputsMutable().append(input);
  return body.addArgument(input.getType(), input.getLoc());
}

/// Erases the views that make `value`, which nothing reads any more.
static void eraseUnread(Value value) {
  llvm::SetVector<Value> open; // each once: a view may be several parts
  open.insert(value);
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !op->use_empty() || !isStorageView(op))
      continue;
    open.insert(op->operand_begin(), op->operand_end());
    op->erase();
  }
}

/// The ops of a part's maker, in the body of `merged`.
void Merge::cloneMaker(OpBuilder &outside, FusedOp merged, const Part &part,
                       IRMapping &mapping) {
  FusedOp maker = part.maker;
  bool isRotation = maker.getFamily() == KernelFamily::rope;
  for (auto [argument, input] :
       llvm::zip(maker.getBodyBlock().getArguments(), maker.getInputs())) {
    bool isTable = isRotation && shapeOf(input).size() == 2;
    Value read = isTable      ? input
                 : isRotation ? asMatrix(outside, input, part.width)
                              : inputFor(outside, argument, input, part.width);
    mapping.map(argument, argumentOf(merged, read));
  }
  OpBuilder builder(merged->getContext());
  builder.setInsertionPointToEnd(&merged.getBodyBlock());
  if (isRotation)
    cloneRotation(builder, part, mapping);
  else
    cloneMap(builder, maker, mapping);
}

/// The matrix, made in the body of `merged`.
Value Merge::cloneParts(OpBuilder &outside, FusedOp merged) {
  IRMapping mapping;
  llvm::SmallPtrSet<Operation *, 2> cloned;
  SmallVector<Value> made;
  for (const Part &part : parts) {
    if (!part.maker) {
      Value input = asMatrix(outside, part.value, part.width);
      made.push_back(argumentOf(merged, input));
      continue;
    }
    if (cloned.insert(part.maker).second)
      cloneMaker(outside, merged, part, mapping);
    made.push_back(mapping.lookup(Value(part.result)));
  }
  if (made.size() == 1)
    return made.front();
  OpBuilder builder(merged->getContext());
  builder.setInsertionPointToEnd(&merged.getBodyBlock());
  return builder.create<ConcatOp>(merged.getLoc(), matrix.getType(), made,
                                  /*dim=*/1);
}

/// Lets `reader` compute the matrix.
void Merge::rewrite(FusedOp reader) {
  OpBuilder outside(reader), builder(reader->getContext());
  auto merged =
      outside.create<FusedOp>(reader.getLoc(), reader.getOutputs().getTypes(),
                              reader.getFamily(), ValueRange());
  merged->setDiscardableAttrs(reader->getDiscardableAttrDictionary());
  builder.createBlock(&merged.getBody());
  outside.setInsertionPoint(merged);
  IRMapping mapping;
  Value made = cloneParts(outside, merged);
  for (auto [argument, input] :
       llvm::zip(reader.getBodyBlock().getArguments(), reader.getInputs()))
    mapping.map(argument, input == matrix ? made : argumentOf(merged, input));
  builder.setInsertionPointToEnd(&merged.getBodyBlock());
  for (Operation &op : reader.getBodyBlock())
    builder.clone(op, mapping);
  reader.replaceAllUsesWith(merged.getOutputs());
  reader.erase();
}

void Merge::apply() {
  for (FusedOp reader : readers)
    rewrite(reader);
  eraseUnread(matrix);
  for (FusedOp maker : llvm::reverse(makers))
    maker.erase();
}

/// Elements that a thread of a GPU, or a vector of a CPU, has of one row.
static int64_t widthFor(const TargetDescription &target) {
  return target.kind == TargetKind::CUDA ? threadWidth : kernelLanes;
}

/// Gives norms whose result nothing but codes reads to the kernel of these,
/// and maps that need not write it.
static void splitTail(FusedOp codes, const TargetDescription &target) {
  Value matrix = codedMatrix(codes);
  auto result = dyn_cast_or_null<OpResult>(withoutReshapes(matrix));
  if (!result || shapeOf(result).back() % widthFor(target) != 0 ||
      shapeOf(result).back() != shapeOf(matrix).back() ||
      result.getOwner()->getBlock() != codes->getBlock())
    return;
  // To a CPU a GELU computed twice costs more than bytes.
  auto maker = dyn_cast<FusedOp>(result.getOwner());
  if (target.kind == TargetKind::CPU && maker &&
      maker.getFamily() == KernelFamily::map)
    return;
  if (std::optional<RowTail> tail = RowTail::of(result))
    splitRows(*tail);
}

namespace {
struct FuseIntoCodes : hone::impl::FuseIntoCodesBase<FuseIntoCodes> {
  void runOnOperation() override {
    FailureOr<TargetDescription> target =
        getTarget(getOperation()->getParentOfType<ModuleOp>());
    if (failed(target))
      return signalPassFailure();
    Block &block = getOperation().getBody().front();
    SmallVector<FusedOp> groups;
    for (auto group : block.getOps<FusedOp>())
      if (makesCodes(group))
        groups.push_back(group);
    // Kernels of a CPU neither add up columns beside codes nor compute a value
    // for its largest magnitude alone.
    bool isGpu = target->kind == TargetKind::CUDA;
    for (FusedOp codes : groups) {
      splitTail(codes, *target);
      if (isGpu && !readsAmax(codes)) {
        splitSums(codes);
        codes = mergeSums(codes);
      }
      FusedOp amax = isGpu ? findAmax(codes) : FusedOp();
      if (Merge merge(codes, amax, widthFor(*target)); merge.find())
        merge.apply();
    }
  }
};
} // namespace
