//===- LossChunks.cpp - The head and the loss by chunks of rows -----------===//

#include "hone/Analysis/Fusion/LossChunks.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static int64_t elements(Value value) { return typeOf(value).getNumElements(); }

/// 0, 1, ..., count - 1
static bool isPrefix(ArrayRef<int64_t> dims, int64_t count) {
  return llvm::equal(dims, llvm::seq<int64_t>(0, count));
}

int64_t LossHead::vocab() { return typeOf(loss.getLogits()).getShape().back(); }

int64_t LossHead::rows() {
  return elements(loss.getLogits()) / std::max<int64_t>(1, vocab());
}

SmallVector<Operation *> LossHead::ops() {
  SmallVector<Operation *> all = {product, loss};
  if (gradient)
    all.push_back(gradient);
  llvm::append_range(all, maps);
  llvm::append_range(all, rowProducts);
  llvm::append_range(all, weightSums);
  llvm::append_range(all, biasSums);
  return all;
}

SmallVector<Value> LossHead::operands() {
  SmallVector<Operation *> all = ops();
  llvm::SmallPtrSet<Operation *, 16> inside(all.begin(), all.end());
  llvm::SetVector<Value> values;
  for (Operation *op : all)
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        values.insert(operand);
  return values.takeVector();
}

//===----------------------------------------------------------------------===//
// The match
//===----------------------------------------------------------------------===//

namespace {
class HeadFinder {
public:
  HeadFinder(CrossEntropyOp loss, std::string &reason) : reason(reason) {
    head.loss = loss;
  }
  FailureOr<LossHead> run();

private:
  LogicalResult refuse(const Twine &why) {
    reason = why.str();
    return failure();
  }
  bool isMap(Operation *op);
  bool collectMaps(Value value);
  LogicalResult findProduct();
  LogicalResult findGradient();
  LogicalResult findReaders(Value value);
  LogicalResult addContraction(DotGeneralOp dot, Value value);
  LogicalResult checkContractions();
  LogicalResult checkReaders();
  LogicalResult checkOperands();

  LossHead head;
  std::string &reason;
  llvm::SetVector<Operation *> maps;
  /// Ops asked for on the way up: shared operands are walked once.
  llvm::SmallDenseMap<Operation *, bool> leadsToProduct;
};
} // namespace

/// An op whose row of the result is made from the same row of its operands.
bool HeadFinder::isMap(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.getRank() == 0 || type.getShape().back() != head.vocab() ||
      type.getNumElements() != elements(head.loss.getLogits()))
    return false;
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    ArrayRef<int64_t> from = typeOf(reshape.getOperand()).getShape();
    return !from.empty() && from.back() == head.vocab();
  }
  return op->hasTrait<OpTrait::Elementwise>();
}

/// Walks up from `value`; whether the product lies there. Adds the maps
/// between.
bool HeadFinder::collectMaps(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return false;
  auto [known, isNew] = leadsToProduct.try_emplace(op, false);
  if (!isNew)
    return known->second;
  bool leads = false;
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    if (!head.product) // others are operands like any
      head.product = dot;
    leads = head.product == dot;
  } else if (isMap(op)) {
    for (Value operand : op->getOperands())
      leads |= collectMaps(operand);
    if (leads)
      maps.insert(op);
  }
  leadsToProduct[op] = leads;
  return leads;
}

LogicalResult HeadFinder::findProduct() {
  if (!collectMaps(head.loss.getLogits()))
    return refuse("the logits are not made by one contraction and elementwise "
                  "ops");
  DotGeneralOp dot = head.product;
  int64_t rank = typeOf(dot.getLhs()).getRank(),
          leading = rank - dot.getLhsContract().size();
  if (!dot.getLhsBatch().empty() || dot.getRhsFree().size() != 1 ||
      !isPrefix(dot.getLhsFree(), leading) ||
      typeOf(dot).getShape().back() != head.vocab())
    return refuse("the contraction of the logits does not keep the rows first");
  return success();
}

LogicalResult HeadFinder::findGradient() {
  CrossEntropyOp loss = head.loss;
  for (Operation *reader : loss.getLse().getUsers()) {
    auto gradient = dyn_cast<CrossEntropyBwdOp>(reader);
    bool same = gradient && gradient.getLse() == loss.getLse() &&
                gradient.getLogits() == loss.getLogits() &&
                gradient.getTargets() == loss.getTargets() &&
                gradient.getReduction() == loss.getReduction() &&
                gradient.getIgnoreIndex() == loss.getIgnoreIndex();
    if (!same || (head.gradient && head.gradient != gradient))
      return refuse("the log-sum-exp of the rows has another reader than the "
                    "gradient of this loss");
    head.gradient = gradient;
  }
  return head.gradient ? findReaders(head.gradient.getResult()) : success();
}

LogicalResult HeadFinder::addContraction(DotGeneralOp dot, Value value) {
  auto refused = [&] {
    return refuse("a contraction of the gradient of the logits neither keeps "
                  "the rows first nor sums over them");
  };
  bool isLeft = dot.getLhs() == value;
  if (dot.getLhs() == dot.getRhs() || !dot.getLhsBatch().empty())
    return refused();
  ArrayRef<int64_t> own = isLeft ? dot.getLhsContract() : dot.getRhsContract(),
                    other =
                        isLeft ? dot.getRhsContract() : dot.getLhsContract();
  int64_t leading = typeOf(value).getRank() - 1;
  if (isLeft && own.size() == 1 && own[0] == leading)
    head.rowProducts.push_back(dot);
  else if (isPrefix(own, leading) && isPrefix(other, leading))
    head.weightSums.push_back(dot);
  else
    return refused();
  return success();
}

/// Sorts the readers of a gradient of the logits, and those of their maps.
LogicalResult HeadFinder::findReaders(Value value) {
  for (Operation *reader : value.getUsers()) {
    if (maps.contains(reader))
      continue;
    if (auto dot = dyn_cast<DotGeneralOp>(reader)) {
      if (failed(addContraction(dot, value)))
        return failure();
      continue;
    }
    auto reduce = dyn_cast<ReduceOp>(reader);
    if (reduce && reduce.getKind() == ReduceKind::sum &&
        isPrefix(reduce.getDims(), typeOf(value).getRank() - 1)) {
      head.biasSums.push_back(reduce);
      continue;
    }
    if (!isa<HoneDialect>(reader->getDialect()) || !isMap(reader))
      return refuse("the gradient of the logits is read by '" +
                    reader->getName().getStringRef() + "'");
    maps.insert(reader);
    // The slope of an activation of the logits is made from them again.
    for (Value operand : reader->getOperands())
      collectMaps(operand);
    if (failed(findReaders(reader->getResult(0))))
      return failure();
  }
  return success();
}

/// No contraction has two operands that would be made in parts.
LogicalResult HeadFinder::checkContractions() {
  llvm::SmallPtrSet<Operation *, 16> parted(head.maps.begin(), head.maps.end());
  parted.insert(head.product);
  if (head.gradient)
    parted.insert(head.gradient);
  auto isParted = [&](Value value) {
    return parted.contains(value.getDefiningOp());
  };
  for (ArrayRef<DotGeneralOp> dots : {ArrayRef<DotGeneralOp>(head.rowProducts),
                                      ArrayRef<DotGeneralOp>(head.weightSums)})
    for (DotGeneralOp dot : dots)
      if (isParted(dot.getLhs()) && isParted(dot.getRhs()))
        return refuse("a contraction multiplies two values that have a row of "
                      "classes per row");
  return success();
}

/// Nothing else reads what would be made in parts.
LogicalResult HeadFinder::checkReaders() {
  SmallVector<Operation *> all = head.ops();
  llvm::SmallPtrSet<Operation *, 16> inside(all.begin(), all.end());
  SmallVector<Operation *> parted = {head.product};
  llvm::append_range(parted, head.maps);
  for (Operation *op : parted)
    for (Operation *reader : op->getUsers())
      if (!inside.contains(reader))
        return refuse("the logits have another reader, '" +
                      reader->getName().getStringRef() + "'");
  return success();
}

/// What the head reads must be known before it: the chunks run one by one.
LogicalResult HeadFinder::checkOperands() {
  SmallVector<Operation *> all = head.ops();
  llvm::SmallPtrSet<Operation *, 16> inside(all.begin(), all.end()), seen;
  SmallVector<std::pair<Value, bool>> worklist; // value, of the cotangent
  for (Value operand : head.operands())
    worklist.emplace_back(operand,
                          head.gradient && operand == head.gradient.getGrad());
  while (!worklist.empty()) {
    auto [value, ofCotangent] = worklist.pop_back_val();
    Operation *producer = value.getDefiningOp();
    if (!producer || producer->getBlock() != head.product->getBlock() ||
        producer->isBeforeInBlock(head.product))
      continue;
    if (inside.contains(producer))
      return refuse(ofCotangent ? "the cotangent of the loss depends on the "
                                  "loss or on the logits"
                                : "an operand of the head depends on what the "
                                  "head computes");
    if (seen.insert(producer).second)
      for (Value operand : producer->getOperands())
        worklist.emplace_back(operand, ofCotangent);
  }
  return success();
}

FailureOr<LossHead> HeadFinder::run() {
  CrossEntropyOp loss = head.loss;
  if (loss.getReduction() == LossReduction::none)
    return refuse("the loss is requested per row (reduction none)");
  if (cast<FloatType>(typeOf(loss.getLoss()).getElementType()).getWidth() < 32)
    return refuse("the loss is narrower than f32");
  if (failed(findProduct()) || failed(findGradient()))
    return failure();
  head.maps = maps.takeVector();
  llvm::sort(head.maps,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  if (failed(checkContractions()) || failed(checkReaders()) ||
      failed(checkOperands()))
    return failure();
  return head;
}

FailureOr<LossHead> hone::findLossHead(CrossEntropyOp loss,
                                       std::string &reason) {
  return HeadFinder(loss, reason).run();
}

//===----------------------------------------------------------------------===//
// The rule
//===----------------------------------------------------------------------===//

/// Whether `value` is the gradient that other micro-batches have given so far.
static bool isGradientSoFar(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto func = argument
                  ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                  : func::FuncOp();
  return func && argString(func, argument.getArgNumber(), attr::kind) ==
                     StringRef(kind::grad);
}

std::pair<AddOp, Value> hone::gradientSoFar(Value value) {
  while (value.hasOneUse()) {
    auto add = dyn_cast<AddOp>(*value.user_begin());
    if (!add)
      break;
    Value other = add.getLhs() == value ? add.getRhs() : add.getLhs();
    if (isGradientSoFar(other))
      return {add, other};
    value = add.getResult();
  }
  return {};
}

RankedTensorType hone::chunkSumType(RankedTensorType type) {
  bool isNarrow = cast<FloatType>(type.getElementType()).getWidth() < 32;
  return isNarrow ? type.clone(Float32Type::get(type.getContext())) : type;
}

/// Share of the head's time that accumulating its weight gradient in memory,
/// once per chunk, may take.
constexpr double accumulationShare = 1.0 / 64;

/// Share of that traffic which the products do not hide: a CPU's cores wait for
/// it, a GPU loads the next tile during the current one.
static double exposedShare(const TargetDescription &target) {
  return target.kind == TargetKind::CPU ? 1.0 : 0.25;
}

/// Elements per row of the head's input that the arena has room for besides,
/// while the head runs: what the backward pass of one layer needs later.
constexpr int64_t freeRoom = 4;

int64_t hone::rowsPerLossChunk(LossHead head, const TargetDescription &target) {
  int64_t rows = head.rows(), vocab = std::max<int64_t>(1, head.vocab());
  auto input = typeOf(head.product.getLhs()),
       logits = typeOf(head.loss.getLogits());
  // Three products of 2 h V flops per row; h V sums of f32 read and written
  // per chunk: exposed * 8 h V / bandwidth <= share * rows * 6 h V / rate.
  double accumulation = exposedShare(target) * 8 *
                        target.matmulFlopsPerSecond(input.getElementType()) /
                        (6 * accumulationShare * target.bytesPerSecond());
  // A chunk below the free room saves nothing.
  double room = double(freeRoom) * byteSize(input) /
                (vocab * elementByteWidth(logits.getElementType()));
  int64_t chunks = double(rows) / std::max({accumulation, room, 1.0});
  return chunks < 2 ? rows : llvm::divideCeil(rows, chunks);
}

bool hone::chunksSaveMemory(LossHead head, int64_t chunkRows) {
  int64_t perRow = byteSize(head.product.getType()) / head.rows();
  int64_t sums = 0, fresh = 0; // what only chunks have, and what both make
  auto add = [&](Value sum) {
    RankedTensorType type = typeOf(sum);
    if (chunkSumType(type) == type)
      return;
    sums += byteSize(chunkSumType(type));
    if (!gradientSoFar(sum).first)
      fresh += byteSize(type);
  };
  for (DotGeneralOp dot : head.weightSums)
    add(dot.getResult());
  for (ReduceOp reduce : head.biasSums)
    add(reduce.getResult());
  // The narrow gradient comes when no logits are left.
  return sums + std::max(chunkRows * perRow, fresh) <
         head.rows() * perRow + fresh;
}
