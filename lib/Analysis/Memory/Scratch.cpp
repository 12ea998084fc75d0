//===- Scratch.cpp - Memory that a kernel needs for itself ----------------===//

#include "hone/Analysis/Memory/Scratch.h"

#include "hone/Analysis/Attention/Problem.h"
#include "hone/Analysis/Fusion/RowSpace.h"
#include "hone/Plan/Plan.h"

using namespace mlir;
using namespace hone;

int64_t hone::normPartials(Type input) {
  return llvm::divideCeil(cast<ShapedType>(input).getNumElements(), normChunk);
}

SmallVector<MemRefType> hone::gradientSumTypes(AttentionBwdOp op) {
  SmallVector<MemRefType> types;
  if (elementOf(op.getKeyGrad()).getIntOrFloatBitWidth() < 32)
    for (Value operand : {op.getKey(), op.getValue()})
      types.push_back(
          MemRefType::get(cast<ShapedType>(operand.getType()).getShape(),
                          Float32Type::get(op.getContext())));
  return types;
}

//===----------------------------------------------------------------------===//
// Convolutions of each channel apart
//===----------------------------------------------------------------------===//

bool hone::hasVectorKernel(ConvolutionOpInterface op) {
  Value image = op.getImage(), kernel = op.getKernel(), result = op.getOutput();
  int64_t channels = shapeOf(image).back();
  bool isApart = shapeOf(kernel).drop_back().back() == 1 &&
                 shapeOf(result).back() == channels;
  bool isEmpty = llvm::any_of(ValueRange{image, result}, [](Value value) {
    return llvm::is_contained(shapeOf(value), 0);
  });
  if (!isApart || isEmpty || isMeshInvariant(op) ||
      getElementTypeOrSelf(image).isF64())
    return false;
  // Blocks at the edges of a row have code of their own: a limit to its size.
  constexpr int64_t mostOperations = 1 << 14, blocks = 48, largestStride = 8;
  Window window = op.getWindow();
  unsigned last = window.rank() - 1;
  int64_t positions = 2 * window.extent(last) + blocks;
  return window.strides[last] <= largestStride &&
         positions * window.sizes[last] <= mostOperations;
}

int64_t hone::weightChunks(ConvolutionOpInterface op) {
  constexpr int64_t most = 8;
  ArrayRef<int64_t> rows = shapeOf(op.getOutput()).drop_back(2);
  return std::min(ShapedType::getNumElements(rows), most);
}

//===----------------------------------------------------------------------===//
// Attention of a library
//===----------------------------------------------------------------------===//

static constexpr int64_t workspaceAlignment = 256;

int64_t hone::alignedWorkspace(int64_t offset) {
  return llvm::alignTo(offset, workspaceAlignment);
}

/// The marked attention op of `body`, or null.
static Operation *findLibraryAttention(Block &body) {
  for (Operation &op : body)
    if (op.hasAttr(attr::workspace))
      return &op;
  return nullptr;
}

LibraryScratch LibraryScratch::of(Block &body) {
  LibraryScratch scratch;
  Operation *op = findLibraryAttention(body);
  Builder builder(op->getContext());
  int64_t bytes = op->getAttrOfType<IntegerAttr>(attr::workspace).getInt();
  if (bytes > 0)
    scratch.workspace = MemRefType::get(
        {bytes + workspaceAlignment - plan::alignment}, builder.getI8Type());
  AttentionParts parts = *readAttention(op);
  if (parts.dropout > 0)
    scratch.seed = MemRefType::get({2}, builder.getI64Type());
  if (parts.readsFirst())
    scratch.lengths =
        MemRefType::get({2, shapeOf(parts.query)[0]}, builder.getI32Type());
  for (Value result : op->getResults())
    if (result.use_empty())
      scratch.unread.push_back(
          {result,
           MemRefType::get(cast<ShapedType>(result.getType()).getShape(),
                           getElementTypeOrSelf(result))});
  return scratch;
}

SmallVector<MemRefType> LibraryScratch::types() const {
  SmallVector<MemRefType> types;
  for (MemRefType type : {workspace, seed, lengths})
    if (type)
      types.push_back(type);
  llvm::append_range(types, llvm::make_second_range(unread));
  return types;
}

//===----------------------------------------------------------------------===//
// Sums by id
//===----------------------------------------------------------------------===//

/// A block of the GPU looks at all ids to find those of its bucket, and then at
/// those once for each row, which costs less: the sum is about the least where
/// a bucket has four times as many rows as there are buckets.
TokenSort TokenSort::of(EmbeddingBwdOp op) {
  int64_t rows = shapeOf(op)[0], buckets = 1;
  while (4 * buckets * buckets < rows)
    buckets *= 2;
  return {ShapedType::getNumElements(shapeOf(op.getIds())), buckets,
          std::max<int64_t>(1, llvm::divideCeil(rows, buckets))};
}

SmallVector<MemRefType> TokenSort::scratch(MLIRContext *context) const {
  Type i32 = IntegerType::get(context, 32);
  int64_t size = std::max<int64_t>(1, tokens);
  return {MemRefType::get({2, size}, i32), MemRefType::get({size}, i32),
          MemRefType::get({slots(), 2}, i32)};
}

//===----------------------------------------------------------------------===//
// Lines in order
//===----------------------------------------------------------------------===//

/// What an op compares elements of, and the dimension of its lines; null of
/// other ops.
static std::pair<Value, int64_t> comparedLines(Operation *op) {
  if (auto sort = dyn_cast<ArgsortOp>(op))
    return {sort.getOperand(), sort.getDim()};
  if (auto top = dyn_cast<TopkOp>(op))
    return {top.getOperand(), top.getDim()};
  if (auto put = dyn_cast<PutAlongOp>(op))
    return {put.getIds(), put.getDim()};
  return {};
}

Value LineSort::compared(Operation *op) { return comparedLines(op).first; }

int64_t LineSort::dimOf(Operation *op) { return comparedLines(op).second; }

Type LineSort::keyType(Value compared) {
  bool isWide = elementOf(compared).getIntOrFloatBitWidth() > 32;
  return IntegerType::get(compared.getContext(), isWide ? 64 : 32);
}

std::optional<LineSort> LineSort::of(Operation *op) {
  constexpr int64_t largestTile = 1024;
  auto [operand, dim] = comparedLines(op);
  if (!operand)
    return std::nullopt;
  auto put = dyn_cast<PutAlongOp>(op);
  ArrayRef<int64_t> shape = shapeOf(operand);
  int64_t size = shape[dim], made = shapeOf(op->getResult(0))[dim];
  int64_t total = ShapedType::getNumElements(shape);
  constexpr int64_t most = std::numeric_limits<int32_t>::max() - largestTile;
  if (size <= shortLine || std::max(size, made) > most || total == 0)
    return std::nullopt;
  int64_t tile =
      std::min<int64_t>(largestTile, int64_t(llvm::PowerOf2Ceil(size)));
  return LineSort{total / size, size, tile, keyType(operand), bool(put)};
}

SmallVector<MemRefType> LineSort::scratch() const {
  SmallVector<MemRefType> types;
  auto add = [&](int64_t each) {
    for (Type element : {key, Type(IntegerType::get(key.getContext(), 32))})
      types.push_back(MemRefType::get({lines, each}, element));
  };
  if (tiles() > 1)
    add(padded());
  if (keepsSorted)
    add(size);
  return types;
}

MemRefType hone::codeSums(ReduceOp sum) {
  ArrayRef<int64_t> shape = shapeOf(sum.getOperand());
  int64_t squares = llvm::divideCeil(shape[0], codesRows);
  return MemRefType::get({squares, shape[1]},
                         Float32Type::get(sum.getContext()));
}

SmallVector<MemRefType> hone::scratchTypes(FusedOp group,
                                           const TargetDescription &target) {
  SmallVector<MemRefType> types;
  Type f32 = Float32Type::get(group.getContext());
  Block &body = group.getBodyBlock();
  if (group.getFamily() == KernelFamily::row) {
    std::optional<RowSpace> space = RowSpace::of(body);
    assert(space && "hone-verify-groups accepts only groups with a row space");
    ValueRange yields = body.getTerminator()->getOperands();
    int64_t columnSums = llvm::count_if(yields, [&](Value yielded) {
      return space->role(yielded) == Role::ColumnSum;
    });
    bool hasRowReductions =
        llvm::any_of(body.getOps<ReduceOp>(), [&](ReduceOp reduce) {
          return space->role(reduce.getResult()) == Role::Row;
        });
    int64_t chunks =
        numChunks(space->rows(), target.partialChunks(space->cols(), columnSums,
                                                      hasRowReductions));
    for (Value yielded : yields) {
      if (space->role(yielded) == Role::ColumnSum)
        types.push_back(MemRefType::get({chunks, space->cols()}, f32));
      else if (space->role(yielded) == Role::TotalSum)
        types.push_back(MemRefType::get({chunks}, f32));
    }
  }
  if (target.kind == TargetKind::CUDA && !body.getOps<QuantizeOp>().empty())
    for (auto sum : body.getOps<ReduceOp>())
      types.push_back(codeSums(sum));
  if (findLibraryAttention(body))
    return LibraryScratch::of(body).types();
  for (auto op : body.getOps<ConvolutionOpInterface>())
    if (target.kind == TargetKind::CPU && op->getResult(0) == op.getKernel() &&
        hasVectorKernel(op))
      types.push_back(
          MemRefType::get({weightChunks(op),
                           ShapedType::getNumElements(shapeOf(op.getKernel()))},
                          f32));
  for (auto attention : body.getOps<AttentionBwdOp>())
    llvm::append_range(types, gradientSumTypes(attention));
  for (auto norm : body.getOps<GlobalNormOp>()) {
    int64_t partials = 0;
    for (Value input : norm.getInputs())
      partials += normPartials(input.getType());
    types.push_back(MemRefType::get({partials}, f32));
  }
  for (auto scatter : body.getOps<EmbeddingBwdOp>())
    if (target.kind == TargetKind::CUDA)
      llvm::append_range(types,
                         TokenSort::of(scatter).scratch(group.getContext()));
  if (target.kind == TargetKind::CUDA &&
      group.getFamily() == KernelFamily::line)
    if (std::optional<LineSort> sort = LineSort::of(&body.front()))
      llvm::append_range(types, sort->scratch());
  return types;
}
