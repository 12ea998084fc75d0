//===- VjpRules.cpp - The derivative of each op ---------------------------===//

#include "Vjp.h"
#include "hone/Sharding/IR/Dist.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

void Cotangents::add(OpBuilder &builder, Location loc, Value value,
                     Value cotangent) {
  if (!isActive(value))
    return;
  assert(cotangent.getType() == value.getType() && "cotangent of another type");
  Value &sum = sums[value];
  sum = sum ? builder.create<AddOp>(loc, sum, cotangent) : cotangent;
}

//===----------------------------------------------------------------------===//
// Rules of more than a line
//===----------------------------------------------------------------------===//

/// Ties share the gradient in halves, as in PyTorch; a NaN passes it to both.
template <typename OpT>
static void extremum(OpT op, Vjp &v, CmpPredicate loses) {
  Value x = op.getLhs(), y = op.getRhs(), zero = v.like(x, 0.0);
  Value shared = v.select(v.cmp(CmpPredicate::eq, x, y), v.mul(v.g, 0.5), v.g);
  if (v.needs(x))
    v.add(x, v.select(v.cmp(loses, x, y), zero, shared));
  if (v.needs(y))
    v.add(y, v.select(v.cmp(loses, y, x), zero, shared));
}

/// d x^y = y x^(y-1) dx + x^y ln(x) dy, with PyTorch's values where these
/// formulas read 0 * inf: no gradient for x where y = 0, nor for y where x = 0
/// and y >= 0.
static void powRule(PowOp op, Vjp &v) {
  Value x = op.getLhs(), y = op.getRhs();
  if (v.needs(x)) {
    Attribute constant;
    std::optional<double> number;
    if (matchPattern(y, m_Constant(&constant)))
      number = splatOf(constant);
    Value less = number ? v.like(y, *number - 1.0) : v.sub(y, v.like(y, 1.0));
    Value dx = v.mul(v.g, v.mul(y, v.make<PowOp>(x, less)));
    if (number.value_or(0.0) == 0.0)
      dx = v.select(v.cmp(CmpPredicate::eq, y, v.like(y, 0.0)), v.like(x, 0.0),
                    dx);
    v.add(x, dx);
  }
  if (v.needs(y)) {
    Value zero = v.like(x, 0.0);
    Value dy = v.mul(v.g, v.mul(op.getResult(), v.make<LogOp>(x)));
    Value kept = v.select(v.cmp(CmpPredicate::ge, y, zero), zero, dy);
    v.add(y, v.select(v.cmp(CmpPredicate::eq, x, zero), kept, dy));
  }
}

/// The elements that equal the extremum share the gradient evenly.
static void reduceRule(ReduceOp op, Vjp &v) {
  Value x = op.getOperand();
  ArrayRef<int64_t> shape = shapeOf(x);
  SmallVector<int64_t> kept;
  for (int64_t dim : llvm::seq<int64_t>(0, shape.size()))
    if (!llvm::is_contained(op.getDims(), dim))
      kept.push_back(dim);
  Value g = v.broadcast(v.g, shape, kept);
  if (op.getKind() == ReduceKind::sum)
    return v.add(x, g);
  Value isExtremum =
      v.cmp(CmpPredicate::eq, x, v.broadcast(op.getResult(), shape, kept));
  Value mask = v.make<CastOp>(x.getType(), isExtremum);
  Value count = v.sum(mask, op.getDims());
  v.add(x, v.div(v.mul(g, mask), v.broadcast(count, shape, kept)));
}

static void sliceRule(SliceOp op, Vjp &v) {
  SmallVector<int64_t> high, interior;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getResult()))) {
    int64_t stride = op.getStrides()[dim];
    int64_t covered = size ? (size - 1) * stride + 1 : 0;
    high.push_back(shapeOf(op.getOperand())[dim] - op.getStarts()[dim] -
                   covered);
    interior.push_back(stride - 1);
  }
  v.add(op.getOperand(), v.make<PadOp>(op.getOperand().getType(), v.g,
                                       op.getStarts(), high, interior));
}

static void padRule(PadOp op, Vjp &v) {
  SmallVector<int64_t> limits, strides;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand()))) {
    int64_t stride = op.getInterior()[dim] + 1;
    limits.push_back(op.getLow()[dim] + (size ? (size - 1) * stride + 1 : 0));
    strides.push_back(stride);
  }
  v.add(op.getOperand(), v.make<SliceOp>(op.getOperand().getType(), v.g,
                                         op.getLow(), limits, strides));
}

static void concatRule(ConcatOp op, Vjp &v) {
  int64_t dim = op.getDim();
  SmallVector<int64_t> starts(shapeOf(op.getResult()).size(), 0);
  SmallVector<int64_t> limits(shapeOf(op.getResult()));
  SmallVector<int64_t> strides(starts.size(), 1);
  for (Value input : op.getInputs()) {
    limits[dim] = starts[dim] + shapeOf(input)[dim];
    if (v.needs(input))
      v.add(input,
            v.make<SliceOp>(input.getType(), v.g, starts, limits, strides));
    starts[dim] = limits[dim];
  }
}

static void broadcastRule(BroadcastOp op, Vjp &v) {
  SmallVector<int64_t> added;
  for (int64_t dim : llvm::seq<int64_t>(0, Vjp::typeOf(v.g).getRank()))
    if (!llvm::is_contained(op.getDims(), dim))
      added.push_back(dim);
  v.add(op.getOperand(), v.sum(v.g, added));
}

static void transposeRule(TransposeOp op, Vjp &v) {
  SmallVector<int64_t> inverse(op.getPermutation().size());
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    inverse[from] = to;
  v.add(op.getOperand(), v.make<TransposeOp>(v.g, inverse));
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

namespace {
/// One side of a dot_general, seen from the other.
struct DotSide {
  Value value;
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;
  /// Position of the first free dimension in the result.
  int64_t firstFree;
  /// What it is, if the product is marked to multiply codes of fp8.
  FactorRole role;
};
} // namespace

/// The cotangent of `mine`: the result's cotangent contracted with `other` over
/// the free dimensions of `other`. Of the two operand orders the one is taken
/// whose result has its dimensions in the order of `mine`; when neither has, a
/// transpose follows.
static Value dotCotangent(Vjp &v, const DotSide &mine, const DotSide &other,
                          QuantizedAttr mark) {
  // Batch pairs in the order in which `mine` has these dimensions.
  SmallVector<int64_t> pairs(
      llvm::to_vector(llvm::seq<int64_t>(0, mine.batch.size())));
  llvm::sort(pairs, [&](int64_t a, int64_t b) {
    return mine.batch[a] < mine.batch[b];
  });
  SmallVector<int64_t> myBatch, otherBatch, otherFree(other.free), gradFree;
  for (int64_t pair : pairs) {
    myBatch.push_back(mine.batch[pair]);
    otherBatch.push_back(other.batch[pair]);
  }
  for (size_t i = 0; i != other.free.size(); ++i)
    gradFree.push_back(other.firstFree + i);
  // The dimensions of `mine` that the free ones of `other` now stand for.
  SmallVector<int64_t> order(
      llvm::to_vector(llvm::seq<int64_t>(0, other.contract.size())));
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return other.contract[a] < other.contract[b];
  });
  SmallVector<int64_t> contracted;
  for (int64_t i : order)
    contracted.push_back(mine.contract[i]);

  auto layout = [&](ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
    SmallVector<int64_t> dims(myBatch);
    llvm::append_range(dims, first);
    llvm::append_range(dims, second);
    return dims;
  };
  SmallVector<int64_t> gradFirst = layout(mine.free, contracted);
  SmallVector<int64_t> otherFirst = layout(contracted, mine.free);
  bool swap = !llvm::is_sorted(gradFirst) && llvm::is_sorted(otherFirst);
  // Where the result is wider than the operands its cotangent is rounded, so
  // that this contraction too has low-precision operands.
  Value grad = v.castTo(v.g, Vjp::typeOf(other.value).getElementType());
  // In the cotangent the batch dimensions lead, in the order of the pairs.
  Value dot = swap ? v.make<DotGeneralOp>(other.value, grad, otherBatch, pairs,
                                          otherFree, gradFree)
                   : v.make<DotGeneralOp>(grad, other.value, pairs, otherBatch,
                                          gradFree, otherFree);
  if (mark)
    dot.getDefiningOp<DotGeneralOp>().setQuantizedAttr(
        QuantizedAttr::get(mark.getContext(), mark.getScaling(),
                           swap ? other.role : FactorRole::gradient,
                           swap ? FactorRole::gradient : other.role));
  ArrayRef<int64_t> dims = swap ? otherFirst : gradFirst;
  if (llvm::is_sorted(dims))
    return dot;
  SmallVector<int64_t> permutation(dims.size());
  for (auto [position, dim] : llvm::enumerate(dims))
    permutation[dim] = position;
  return v.make<TransposeOp>(dot, permutation);
}

static void dotGeneralRule(DotGeneralOp op, Vjp &v) {
  int64_t batch = op.getLhsBatch().size(), lhsFree = op.getLhsFree().size();
  QuantizedAttr mark = op.getQuantizedAttr();
  DotSide lhs{op.getLhs(),
              op.getLhsBatch(),
              op.getLhsContract(),
              op.getLhsFree(),
              batch,
              mark ? mark.getLhs() : FactorRole::activation};
  DotSide rhs{
      op.getRhs(),         op.getRhsBatch(),
      op.getRhsContract(), op.getRhsFree(),
      batch + lhsFree,     mark ? mark.getRhs() : FactorRole::activation};
  if (v.needs(lhs.value))
    v.add(lhs.value, dotCotangent(v, lhs, rhs, mark));
  if (v.needs(rhs.value))
    v.add(rhs.value, dotCotangent(v, rhs, lhs, mark));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

// `v.g` is the cotangent of the result, `op` the forward op.

static void addUnaryRules(RuleTable &t) {
  t.add<NegOp>([](NegOp op, Vjp &v) { v.add(op.getOperand(), v.neg(v.g)); });
  t.add<AbsOp>([](AbsOp op, Vjp &v) {
    v.add(op.getOperand(), v.mul(v.g, v.make<SignOp>(op.getOperand())));
  });
  t.add<ExpOp>([](ExpOp op, Vjp &v) {
    v.add(op.getOperand(), v.mul(v.g, op.getResult()));
  });
  t.add<LogOp>([](LogOp op, Vjp &v) {
    v.add(op.getOperand(), v.div(v.g, op.getOperand()));
  });
  t.add<Expm1Op>([](Expm1Op op, Vjp &v) {
    Value y = op.getResult();
    v.add(op.getOperand(), v.mul(v.g, v.plus(y, 1.0)));
  });
  t.add<Log1pOp>([](Log1pOp op, Vjp &v) {
    Value x = op.getOperand();
    v.add(x, v.div(v.g, v.plus(x, 1.0)));
  });
  t.add<SqrtOp>([](SqrtOp op, Vjp &v) {
    v.add(op.getOperand(), v.div(v.g, v.mul(op.getResult(), 2.0)));
  });
  t.add<RsqrtOp>([](RsqrtOp op, Vjp &v) {
    Value y = op.getResult();
    v.add(op.getOperand(), v.mul(v.mul(v.g, -0.5), v.mul(y, v.mul(y, y))));
  });
  t.add<SinOp>([](SinOp op, Vjp &v) {
    v.add(op.getOperand(), v.mul(v.g, v.make<CosOp>(op.getOperand())));
  });
  t.add<CosOp>([](CosOp op, Vjp &v) {
    v.add(op.getOperand(), v.neg(v.mul(v.g, v.make<SinOp>(op.getOperand()))));
  });
  t.add<AtanOp>([](AtanOp op, Vjp &v) {
    Value x = op.getOperand();
    v.add(x, v.div(v.g, v.plus(v.mul(x, x), 1.0)));
  });
  t.add<TanhOp>([](TanhOp op, Vjp &v) {
    Value y = op.getResult();
    v.add(op.getOperand(), v.mul(v.g, v.sub(v.like(y, 1.0), v.mul(y, y))));
  });
  t.add<ErfOp>([](ErfOp op, Vjp &v) { // 2 / sqrt(pi) * exp(-x^2)
    Value x = op.getOperand();
    v.add(x, v.mul(v.g, v.mul(v.make<ExpOp>(v.neg(v.mul(x, x))),
                              2.0 * llvm::numbers::inv_sqrtpi)));
  });
  t.add<LogisticOp>([](LogisticOp op, Vjp &v) {
    Value y = op.getResult();
    v.add(op.getOperand(), v.mul(v.mul(v.g, v.sub(v.like(y, 1.0), y)), y));
  });
  t.add<SignOp>([](SignOp op, Vjp &v) {
    v.add(op.getOperand(), v.like(op.getOperand(), 0.0));
  });
  t.add<FloorOp>([](FloorOp op, Vjp &v) {
    v.add(op.getOperand(), v.like(op.getOperand(), 0.0));
  });
  t.add<CastOp>([](CastOp op, Vjp &v) {
    v.add(op.getOperand(),
          v.castTo(v.g, Vjp::typeOf(op.getOperand()).getElementType()));
  });
}

static void addBinaryRules(RuleTable &t) {
  t.add<AddOp>([](AddOp op, Vjp &v) {
    v.add(op.getLhs(), v.g);
    v.add(op.getRhs(), v.g);
  });
  t.add<SubOp>([](SubOp op, Vjp &v) {
    v.add(op.getLhs(), v.g);
    if (v.needs(op.getRhs()))
      v.add(op.getRhs(), v.neg(v.g));
  });
  t.add<MulOp>([](MulOp op, Vjp &v) {
    if (v.needs(op.getLhs()))
      v.add(op.getLhs(), v.mul(v.g, op.getRhs()));
    if (v.needs(op.getRhs()))
      v.add(op.getRhs(), v.mul(v.g, op.getLhs()));
  });
  t.add<DivOp>([](DivOp op, Vjp &v) {
    if (v.needs(op.getLhs()))
      v.add(op.getLhs(), v.div(v.g, op.getRhs()));
    if (v.needs(op.getRhs()))
      v.add(op.getRhs(), v.neg(v.mul(v.g, v.div(op.getResult(), op.getRhs()))));
  });
  t.add<MaxOp>([](MaxOp op, Vjp &v) { extremum(op, v, CmpPredicate::lt); });
  t.add<MinOp>([](MinOp op, Vjp &v) { extremum(op, v, CmpPredicate::gt); });
  t.add<PowOp>(powRule);
  t.add<SelectOp>([](SelectOp op, Vjp &v) {
    Value zero = v.like(v.g, 0.0);
    if (v.needs(op.getOnTrue()))
      v.add(op.getOnTrue(), v.select(op.getPred(), v.g, zero));
    if (v.needs(op.getOnFalse()))
      v.add(op.getOnFalse(), v.select(op.getPred(), zero, v.g));
  });
}

/// The adjoint moves elements back.
static void addShapeRules(RuleTable &t) {
  t.add<ReshapeOp>([](ReshapeOp op, Vjp &v) {
    v.add(op.getOperand(), v.make<ReshapeOp>(op.getOperand().getType(), v.g));
  });
  t.add<dist::ConstrainOp>([](dist::ConstrainOp op, Vjp &v) {
    v.add(op.getOperand(), v.make<dist::ConstrainOp>(v.g, op.getSharding()));
  });
  t.add<dist::BoundaryOp>([](dist::BoundaryOp op, Vjp &v) {
    v.add(op.getOperand(),
          v.make<dist::BoundaryOp>(v.g, op.getToAttr(), op.getFromAttr(),
                                   op.getParameterAttr()));
  });
  t.add<TransposeOp>(transposeRule);
  t.add<BroadcastOp>(broadcastRule);
  t.add<SliceOp>(sliceRule);
  t.add<PadOp>(padRule);
  t.add<ConcatOp>(concatRule);
}

static void addReductionRules(RuleTable &t) {
  t.add<ReduceOp>(reduceRule);
  t.add<CumsumOp>([](CumsumOp op, Vjp &v) {
    v.add(op.getOperand(),
          v.make<CumsumOp>(v.g.getType(), v.g, op.getDim(), !op.getReverse()));
  });
  t.add<DotGeneralOp>(dotGeneralRule);
  t.add<EmbeddingOp>([](EmbeddingOp op, Vjp &v) {
    v.add(op.getTable(),
          v.make<EmbeddingBwdOp>(op.getTable().getType(), v.g, op.getIds()));
  });
}

static RuleTable makeRules() {
  RuleTable table;
  addUnaryRules(table);
  addBinaryRules(table);
  addShapeRules(table);
  addReductionRules(table);
  addNamedRules(table);
  return table;
}

static const RuleTable &rules() {
  static const RuleTable table = makeRules();
  return table;
}

bool hone::hasVjpRule(Operation *op) {
  return isa<CustomGradientOp, SelectModeOp>(op) || rules().find(op);
}

/// The name of a result in the op's definition ("rstd"), or its number.
static std::string resultName(OpResult result) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "result #" << result.getResultNumber();
  Operation *op = result.getOwner();
  if (isa<LayerNormOp>(op))
    os << (result.getResultNumber() == 1 ? " (mean)" : " (rstd)");
  else if (isa<RmsNormOp>(op))
    os << " (rstd)";
  else if (isa<CrossEntropyOp, AttentionOp>(op))
    os << " (lse)";
  return name;
}

/// The body of the op, in the place of a rule.
static void applyCustomGradient(CustomGradientOp op, OpBuilder &builder,
                                Cotangents &cotangents) {
  StringAttr bwd = builder.getStringAttr("bwd");
  Location loc = NameLoc::get(bwd, op.getLoc());
  Block &body = op.getBodyBlock();
  IRMapping mapping;
  SmallVector<Value> results = op.getDifferentiableResults();
  for (auto [argument, result] : llvm::zip(body.getArguments(), results)) {
    Value cotangent = cotangents.lookup(result);
    if (!cotangent) {
      Attribute zero = builder.getZeroAttr(result.getType());
      cotangent = builder.create<ConstantOp>(loc, cast<ElementsAttr>(zero));
    }
    mapping.map(argument, cotangent);
  }
  mapping.map(body.getArguments().drop_front(results.size()), op.getSaved());
  for (Operation &inner : body.without_terminator())
    builder.clone(inner, mapping)->setLoc(NameLoc::get(bwd, inner.getLoc()));
  for (auto [input, gradient] :
       llvm::zip(op.getInputs(), body.getTerminator()->getOperands()))
    cotangents.add(builder, loc, input, mapping.lookupOrDefault(gradient));
}

LogicalResult hone::applyVjpRule(Operation *op, OpBuilder &builder,
                                 Cotangents &cotangents) {
  if (auto custom = dyn_cast<CustomGradientOp>(op)) {
    applyCustomGradient(custom, builder, cotangents);
    return success();
  }
  const VjpRule *rule = rules().find(op);
  if (!rule)
    return op->emitOpError("has no gradient, and lies between a parameter that "
                           "requires one and the loss");
  for (OpResult result : op->getResults().drop_front())
    if (cotangents.lookup(result))
      return op->emitOpError("has no gradient through ")
             << resultName(result) << ", which the loss depends on";
  Location loc = NameLoc::get(builder.getStringAttr("bwd"), op->getLoc());
  Vjp v{op, builder, cotangents, loc, cotangents.lookup(op->getResult(0))};
  (*rule)(op, v);
  return failure(v.failed);
}
