//===- LowerBlocks.cpp - Rows of experts as a rank computes them ----------===//
//
// A rank has one group and one block as a rule: the ops are those of the
// dialect hone then. Of several, tables lie side by side in one table, and the
// rows of an expert are brought together, in the order of blocks.
//
//===----------------------------------------------------------------------===//

#include "hone/Sharding/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace hone {
#define GEN_PASS_DEF_DISTLOWERBLOCKS
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
/// Builds with integers of 64 bits, and reshapes.
class Blocks {
public:
  Blocks(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape)
      : b(b), groups(shape[0]), blocks(shape[1]), rows(shape[2]) {}

  bool isOne() const { return groups * blocks == 1; }
  int64_t allRows() const { return groups * blocks * rows; }
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    auto type = cast<RankedTensorType>(value.getType());
    return b.create<ReshapeOp>(type.clone(shape), value);
  }
  /// [G, N, R, W] as [G N R, W].
  Value flat(Value value) {
    return reshape(value, {allRows(), shapeOf(value).back()});
  }
  RankedTensorType index(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, b.getI64Type());
  }
  Value castTo(Value ids, Type element) {
    if (elementOf(ids) == element)
      return ids;
    auto type = cast<RankedTensorType>(ids.getType());
    return b.create<CastOp>(type.clone(element), ids);
  }
  Value wide(Value ids) { return castTo(ids, b.getI64Type()); }
  Value splat(RankedTensorType type, int64_t number) {
    return b.create<ConstantOp>(
        DenseElementsAttr::get(type, Attribute(b.getI64IntegerAttr(number))));
  }
  /// `step` times the index along `dim`, in the shape of ids.
  Value steps(int64_t dim, int64_t step, ArrayRef<int64_t> shape) {
    auto line = index({shape[dim]});
    Value all = b.create<MulOp>(b.create<IotaOp>(line, 0), splat(line, step));
    return b.create<BroadcastOp>(index(shape), all, dim);
  }

  void join(Value ends);
  Value joined(Value rows) {
    Value all = flat(rows);
    return order ? pickRows(all, order) : all;
  }
  Value apart(Value rows) { return order ? pickRows(rows, places) : rows; }
  Value joinedEnds() const { return endsOfAll; }

private:
  Value pickRows(Value table, Value ids) {
    return b.create<EmbeddingOp>(table.getType(), table, ids);
  }

  ImplicitLocOpBuilder &b;
  int64_t groups, blocks, rows;
  Value order, places; ///< null: rows are in order
  Value endsOfAll;
};
} // namespace

/// Ids of rows of the tables side by side, whose shape is `table`.
static Value idsOfTables(Blocks &all, ImplicitLocOpBuilder &b, Value ids,
                         ArrayRef<int64_t> table) {
  ArrayRef<int64_t> shape = shapeOf(ids);
  bool isOfGroup = table.size() == 4;
  int64_t ofBlock =
      table[table.size() - 3] / shape[1] * table[table.size() - 2];
  Value flat = ids;
  auto add = [&](int64_t dim, int64_t step) {
    if (shape[dim] != 1)
      flat = b.create<AddOp>(all.wide(flat), all.steps(dim, step, shape));
  };
  add(1, ofBlock);
  if (isOfGroup)
    add(0, shape[1] * ofBlock);
  return all.reshape(flat, {all.allRows()});
}

static SmallVector<int64_t> tableOf(ArrayRef<int64_t> table) {
  int64_t rows = 1;
  for (int64_t size : table.drop_back())
    rows *= size;
  return {rows, table.back()};
}

static Value lower(ImplicitLocOpBuilder &b, BlockEmbeddingOp op) {
  Value table = op.getTable(), ids = op.getIds();
  RankedTensorType type = op.getType();
  Blocks all(b, shapeOf(ids));
  Value flat = idsOfTables(all, b, ids, shapeOf(table));
  Value rows =
      b.create<EmbeddingOp>(type.clone({all.allRows(), type.getShape().back()}),
                            all.reshape(table, tableOf(shapeOf(table))), flat);
  return all.reshape(rows, type.getShape());
}

static Value lower(ImplicitLocOpBuilder &b, BlockEmbeddingBwdOp op) {
  Value grad = op.getGrad(), ids = op.getIds();
  RankedTensorType type = op.getType();
  Blocks all(b, shapeOf(ids));
  Value flat = idsOfTables(all, b, ids, type.getShape());
  Value table = b.create<EmbeddingBwdOp>(type.clone(tableOf(type.getShape())),
                                         all.flat(grad), flat);
  return all.reshape(table, type.getShape());
}

/// Sorts the rows of all blocks by expert, those of one expert in the order of
/// blocks, if there are several blocks.
void Blocks::join(Value ends) {
  int64_t experts = shapeOf(ends)[2];
  if (isOne()) {
    endsOfAll = reshape(ends, {experts});
    return;
  }
  // The expert of a row in its group: as many as end before it.
  SmallVector<int64_t> shape = {groups, blocks, rows, experts};
  Value bounds = b.create<BroadcastOp>(index(shape), wide(ends),
                                       ArrayRef<int64_t>({0, 1, 3}));
  Value isBefore =
      b.create<CmpOp>(index(shape).clone(b.getI1Type()), CmpPredicate::le,
                      bounds, steps(2, 1, shape));
  Value expert = b.create<ReduceOp>(
      ReduceKind::sum, b.create<CastOp>(index(shape), isBefore), 3);
  auto type = index({groups, blocks, rows});
  Value isNone = b.create<CmpOp>(type.clone(b.getI1Type()), CmpPredicate::ge,
                                 expert, splat(type, experts));
  expert = b.create<AddOp>(expert, steps(0, experts, type.getShape()));
  expert = b.create<SelectOp>(isNone, splat(type, groups * experts), expert);
  auto line = index({allRows()});
  order = b.create<ArgsortOp>(line, reshape(expert, {allRows()}), 0,
                              /*descending=*/false);
  places = b.create<ArgsortOp>(line, order, 0, /*descending=*/false);
  // As many rows as all blocks have.
  auto counts = index({groups * experts + 1});
  Value count = b.create<PutAlongOp>(counts, ReduceKind::sum, splat(line, 1),
                                     reshape(expert, {allRows()}), 0);
  Value sums = b.create<CumsumOp>(counts, count, 0, /*reverse=*/false);
  auto kept = index({groups * experts});
  sums = b.create<SliceOp>(kept, sums, ArrayRef<int64_t>(0), kept.getShape(),
                           ArrayRef<int64_t>(1));
  endsOfAll = castTo(sums, elementOf(ends));
}

/// Rows whose id is -1 are those of id 0, and are then replaced by zeros.
static Value lower(ImplicitLocOpBuilder &b, BlockPermuteOp op) {
  Value table = op.getRows(), ids = op.getIds();
  RankedTensorType type = op.getType();
  Blocks all(b, shapeOf(ids));
  auto own = cast<RankedTensorType>(ids.getType());
  auto splat = [&](int64_t number) {
    return b.create<ConstantOp>(DenseElementsAttr::get(
        own, Attribute(b.getIntegerAttr(own.getElementType(), number))));
  };
  Value row = op.getTotal() ? ids : b.create<MaxOp>(ids, splat(0));
  if (int64_t perRow = op.picksPerRow(); perRow != 1)
    row = b.create<DivOp>(row, splat(perRow));
  Value flat = idsOfTables(all, b, row, shapeOf(table));
  Value rows = all.reshape(
      b.create<EmbeddingOp>(type.clone({all.allRows(), type.getShape().back()}),
                            all.reshape(table, tableOf(shapeOf(table))), flat),
      type.getShape());
  if (op.getTotal())
    return rows;
  Value isThere = b.create<CmpOp>(own.clone(b.getI1Type()), CmpPredicate::ge,
                                  ids, splat(0));
  isThere = b.create<BroadcastOp>(type.clone(b.getI1Type()), isThere,
                                  ArrayRef<int64_t>({0, 1, 2}));
  Value zero = b.create<ConstantOp>(
      DenseElementsAttr::get(type, b.getFloatAttr(type.getElementType(), 0)));
  return b.create<SelectOp>(isThere, rows, zero);
}

/// A rank's blocks of rows, [N, S, G, C] on the side of tokens and
/// [G, N, S, C] on that of experts.
static Value lower(ImplicitLocOpBuilder &b, BlockExchangeOp op) {
  ArrayRef<int64_t> experts = shapeOf(op.expertSide());
  int64_t sources = op.sourcesPerBlock();
  SmallVector<int64_t> shape = {experts[1], sources, experts[0],
                                experts[2] / sources};
  SmallVector<int64_t> order = {2, 0, 1, 3};
  if (op.getReverse()) {
    shape = {experts[0], experts[1], sources, shape[3]};
    order = {1, 2, 0, 3};
  }
  for (int64_t size : experts.drop_front(3)) {
    order.push_back(int64_t(shape.size()));
    shape.push_back(size);
  }
  auto type = cast<RankedTensorType>(op.getType());
  Value moved = b.create<TransposeOp>(
      b.create<ReshapeOp>(type.clone(shape), op.getOperand()), order);
  return b.create<ReshapeOp>(type, moved);
}

static Value lower(ImplicitLocOpBuilder &b, BlockGroupedDotOp op) {
  RankedTensorType type = op.getType();
  Blocks all(b, shapeOf(op.getInput()));
  all.join(op.getEnds());
  Value rows = b.create<GroupedDotOp>(
      type.clone({all.allRows(), type.getShape().back()}),
      all.joined(op.getInput()), op.getWeight(), all.joinedEnds(),
      op.getContract());
  return all.reshape(all.apart(rows), type.getShape());
}

static Value lower(ImplicitLocOpBuilder &b, BlockGroupedDotBwdWeightOp op) {
  Blocks all(b, shapeOf(op.getLhs()));
  all.join(op.getEnds());
  return b.create<GroupedDotBwdWeightOp>(op.getType(), all.joined(op.getLhs()),
                                         all.joined(op.getRhs()),
                                         all.joinedEnds());
}

namespace {
struct DistLowerBlocks : hone::impl::DistLowerBlocksBase<DistLowerBlocks> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      ImplicitLocOpBuilder b(op->getLoc(), op);
      Value lowered = llvm::TypeSwitch<Operation *, Value>(op)
                          .Case<BlockEmbeddingOp, BlockEmbeddingBwdOp,
                                BlockPermuteOp, BlockExchangeOp,
                                BlockGroupedDotOp, BlockGroupedDotBwdWeightOp>(
                              [&](auto own) { return lower(b, own); })
                          .Default([](Operation *) { return Value(); });
      if (!lowered)
        return;
      op->getResult(0).replaceAllUsesWith(lowered);
      op->erase();
    });
  }
};
} // namespace
