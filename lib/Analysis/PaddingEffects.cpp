//===- PaddingEffects.cpp - What padding of a dimension changes -----------===//

#include "hone/Analysis/PaddingEffects.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace hone;

/// The value of a splat constant.
static std::optional<double> splatOf(Value value) {
  DenseElementsAttr dense;
  if (!matchPattern(value, m_Constant(&dense)) || !dense.isSplat())
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>().convertToDouble();
  if (dense.getElementType().isInteger(1))
    return dense.getSplatValue<bool>();
  return double(dense.getSplatValue<APInt>().getSExtValue());
}

/// `value` is select(index along `dim` < size, .., fill), for a splat `fill`;
/// around it may stand masks of other dimensions with the same fill.
static std::optional<double> maskFill(Value value, unsigned dim, int64_t size) {
  auto select = value.getDefiningOp<SelectOp>();
  auto cmp = select ? select.getPred().getDefiningOp<CmpOp>() : CmpOp();
  auto index = cmp ? cmp.getLhs().getDefiningOp<IotaOp>() : IotaOp();
  if (!index || cmp.getPredicate() != CmpPredicate::lt)
    return std::nullopt;
  std::optional<double> fill = splatOf(select.getOnFalse());
  if (index.getDim() == dim && splatOf(cmp.getRhs()) == double(size))
    return fill;
  bool isSame = fill && maskFill(select.getOnTrue(), dim, size) == fill;
  return isSame ? fill : std::nullopt;
}

namespace {
/// Walks the ops that touch a class, with what they make at its padding.
class Effects {
public:
  Effects(const DimensionClasses &classes, unsigned id, int64_t size)
      : classes(classes), id(id), size(size) {}

  PaddingEffects run();

private:
  SmallVector<unsigned> dimsIn(Value value) const {
    return classes.dimsIn(value, id);
  }
  bool touches(Value value) const { return !dimsIn(value).empty(); }
  /// A value without the class is read beside the padding as it is elsewhere.
  PadValue stateOf(Value value) const {
    auto it = states.find(value);
    return it == states.end() ? PadValue::Nonzero : it->second;
  }
  bool isZero(Value value) const { return stateOf(value) == PadValue::Zero; }

  void set(Value value, PadValue state) {
    if (touches(value))
      states[value] = state;
  }
  void refuse(Operation *op, const Twine &why) {
    if (effects.refuser)
      return;
    effects.refuser = op;
    effects.refusal = why.str();
  }
  void needs(OpOperand &use, unsigned dim, double fill);
  void needsZero(OpOperand &use, ArrayRef<int64_t> dims);

  void visit(Operation *op);
  void visitSource(Operation *op);
  bool visitMap(Operation *op);
  bool visitDivision(Operation *op);
  bool visitMove(Operation *op);
  bool visitRow(Operation *op);
  void visitBroadcast(BroadcastOp op);
  void visitSelect(SelectOp op);
  void visitReduce(ReduceOp op);
  void visitDot(DotGeneralOp op);
  void visitAttention(AttentionOp op);
  void visitEmbedding(EmbeddingOp op);

  const DimensionClasses &classes;
  unsigned id;
  int64_t size;
  DenseMap<Value, PadValue> states;
  PaddingEffects effects;
};
} // namespace

static PadValue join(PadValue a, PadValue b) {
  return a == b ? a : PadValue::Finite;
}

void Effects::needs(OpOperand &use, unsigned dim, double fill) {
  if (maskFill(use.get(), dim, size) != fill)
    effects.masks.push_back({&use, dim, fill});
}

/// The operand must be zero at the padding of those of `dims` in the class.
void Effects::needsZero(OpOperand &use, ArrayRef<int64_t> dims) {
  if (isZero(use.get()))
    return;
  for (unsigned dim : dimsIn(use.get()))
    if (llvm::is_contained(dims, int64_t(dim)))
      needs(use, dim, 0.0);
}

//===----------------------------------------------------------------------===//
// Ops that make or move elements
//===----------------------------------------------------------------------===//

void Effects::visitSource(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    std::optional<double> splat = splatOf(constant);
    if (!splat)
      return refuse(op, "a constant that is no splat");
    // Zero times infinity is no zero; a mask chooses one and computes nothing.
    if (!std::isfinite(*splat) &&
        !llvm::all_of(op->getUsers(), llvm::IsaPred<SelectOp>))
      return refuse(op, "a constant that is not finite");
    return set(constant, *splat == 0.0 ? PadValue::Zero : PadValue::Nonzero);
  }
  if (isa<IotaOp>(op))
    return set(op->getResult(0), PadValue::Finite);
  refuse(op, "an op that has no rule for padding");
}

void Effects::visitBroadcast(BroadcastOp op) {
  SmallVector<unsigned> dims = dimsIn(op.getResult());
  bool isNew = llvm::any_of(dims, [&](unsigned dim) {
    return !llvm::is_contained(op.getDims(), int64_t(dim));
  });
  PadValue state = stateOf(op.getOperand());
  if (isNew && touches(op.getOperand()))
    state = join(state, PadValue::Nonzero);
  set(op.getResult(), state);
}

/// Elements that change place; the dimensions of the class stay whole.
bool Effects::visitMove(Operation *op) {
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    visitBroadcast(broadcast);
    return true;
  }
  if (!isa<ReshapeOp, TransposeOp, SliceOp, PadOp, ConcatOp>(op))
    return false;
  PadValue state = stateOf(op->getOperand(0));
  for (Value operand : op->getOperands())
    state = join(state, stateOf(operand));
  set(op->getResult(0), state);
  return true;
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

void Effects::visitSelect(SelectOp op) {
  SmallVector<unsigned> dims = dimsIn(op.getResult());
  PadValue state = join(stateOf(op.getOnTrue()), stateOf(op.getOnFalse()));
  bool isMask = llvm::all_of(dims, [&](unsigned dim) {
    return maskFill(op.getResult(), dim, size).has_value();
  });
  set(op.getResult(), isMask ? stateOf(op.getOnFalse()) : state);
}

/// Ops that have no finite value or derivative at 0.
bool Effects::visitDivision(Operation *op) {
  if (!isa<DivOp, LogOp, RsqrtOp, SqrtOp, PowOp>(op))
    return false;
  // The operand that may not be 0: the divisor, or the only one.
  Value operand = op->getOperands().back();
  if (isa<PowOp>(op) || stateOf(operand) != PadValue::Nonzero)
    refuse(op, "an op that is not differentiable at the padding");
  PadValue state = stateOf(op->getOperand(0));
  set(op->getResult(0), isa<LogOp>(op) ? PadValue::Finite : state);
  return true;
}

bool Effects::visitMap(Operation *op) {
  if (auto select = dyn_cast<SelectOp>(op)) {
    visitSelect(select);
    return true;
  }
  if (visitDivision(op))
    return true;
  auto first = [&] { return stateOf(op->getOperand(0)); };
  auto second = [&] { return stateOf(op->getOperand(1)); };
  auto zeroOrFinite = [&] {
    return isZero(op->getOperand(0)) ? PadValue::Zero : PadValue::Finite;
  };
  using State = std::optional<PadValue>;
  State state =
      llvm::TypeSwitch<Operation *, State>(op)
          .Case<NegOp, AbsOp, SignOp, StopGradientOp>(
              [&](auto) { return first(); })
          .Case<CastOp>([&](CastOp cast) {
            bool isFloat = isa<FloatType>(getElementTypeOrSelf(cast.getType()));
            return isFloat ? first() : zeroOrFinite();
          })
          .Case<ExpOp, CosOp, LogisticOp>(
              [&](auto) { return PadValue::Nonzero; })
          .Case<SinOp, TanhOp, ErfOp, GeluOp>(
              [&](auto) { return zeroOrFinite(); })
          .Case<AddOp, SubOp>([&](auto) {
            if (first() == PadValue::Zero)
              return second();
            return second() == PadValue::Zero ? first() : PadValue::Finite;
          })
          .Case<MulOp>([&](auto) {
            bool isZero =
                first() == PadValue::Zero || second() == PadValue::Zero;
            return isZero ? PadValue::Zero : join(first(), second());
          })
          .Case<MaxOp, MinOp>([&](auto) {
            bool areZero =
                first() == PadValue::Zero && second() == PadValue::Zero;
            return areZero ? PadValue::Zero : PadValue::Finite;
          })
          .Case<CmpOp, AndOp, OrOp, NotOp>(
              [&](auto) { return PadValue::Finite; })
          .Default([](auto) { return State(); });
  if (state)
    set(op->getResult(0), *state);
  return state.has_value();
}

//===----------------------------------------------------------------------===//
// Ops along rows, reductions
//===----------------------------------------------------------------------===//

/// Norms, softmax, cross entropy: padding at the end of rows is hidden by a
/// width. What else they do with padded rows depends on the op.
bool Effects::visitRow(Operation *op) {
  if (!isa<LayerNormOp, RmsNormOp, SoftmaxOp, CrossEntropyOp>(op))
    return false;
  Value input = op->getOperand(0);
  unsigned last = cast<RankedTensorType>(input.getType()).getRank() - 1;
  SmallVector<unsigned> dims = dimsIn(input);
  bool isLeading =
      llvm::any_of(dims, [&](unsigned dim) { return dim != last; });
  if (isLeading && !isa<SoftmaxOp>(op))
    refuse(op, "an op that would see rows of padding");
  if (llvm::is_contained(dims, last)) {
    auto width = op->getAttrOfType<IntegerAttr>("width");
    if (!width || width.getInt() == 0)
      effects.widths.push_back(op);
    else if (width.getInt() > size)
      refuse(op, "an op whose width reaches into the padding");
  }
  for (Value result : op->getResults())
    set(result, isLeading ? PadValue::Finite : PadValue::Zero);
  return true;
}

/// What a maximum, or else a minimum, of this type does not see.
static double neutralOf(Type element, bool isMax) {
  double most = std::numeric_limits<double>::infinity();
  if (auto integer = dyn_cast<IntegerType>(element))
    most = std::ldexp(1.0, int(integer.getWidth()) - 1) - (isMax ? 0 : 1);
  return isMax ? -most : most;
}

void Effects::visitReduce(ReduceOp op) {
  OpOperand &use = op->getOpOperand(0);
  Value operand = use.get();
  bool isSum = op.getKind() == ReduceKind::sum;
  double fill = isSum ? 0.0
                      : neutralOf(getElementTypeOrSelf(operand),
                                  op.getKind() == ReduceKind::max);
  // Also a sum of zeros: the cotangent of the sum would reach the padding.
  for (unsigned dim : dimsIn(operand))
    if (llvm::is_contained(op.getDims(), int64_t(dim)))
      needs(use, dim, fill);
  bool keeps = isZero(operand) || !isSum;
  set(op.getResult(), keeps ? stateOf(operand) : PadValue::Finite);
}

//===----------------------------------------------------------------------===//
// Contractions, tables
//===----------------------------------------------------------------------===//

void Effects::visitDot(DotGeneralOp op) {
  needsZero(op.getLhsMutable(), op.getLhsContract());
  needsZero(op.getRhsMutable(), op.getRhsContract());
  // An element of the result at the padding is made from a slice of one operand
  // that is padding, of both along a batch dimension.
  auto isFree = [&](Value operand, ArrayRef<int64_t> contract) {
    return llvm::any_of(dimsIn(operand), [&](unsigned dim) {
      return !llvm::is_contained(contract, int64_t(dim));
    });
  };
  bool areZero =
      (!isFree(op.getLhs(), op.getLhsContract()) || isZero(op.getLhs())) &&
      (!isFree(op.getRhs(), op.getRhsContract()) || isZero(op.getRhs()));
  set(op.getResult(), areZero ? PadValue::Zero : PadValue::Finite);
}

/// The widths of heads are contracted, or carried to the result.
void Effects::visitAttention(AttentionOp op) {
  constexpr unsigned width = 3;
  auto isWidth = [&](Value value) {
    return llvm::all_of(dimsIn(value),
                        [&](unsigned dim) { return dim == width; });
  };
  Value operands[] = {op.getQuery(), op.getKey(), op.getValue()};
  if (!llvm::all_of(operands, isWidth) ||
      (op.getMask() && touches(op.getMask())))
    refuse(op, "an op that would attend to padding");
  needsZero(op.getQueryMutable(), {width});
  needsZero(op.getKeyMutable(), {width});
  set(op.getResult(),
      isZero(op.getValue()) ? PadValue::Zero : PadValue::Finite);
}

/// Rows of padding are never picked: ids count the rows of files.
void Effects::visitEmbedding(EmbeddingOp op) {
  if (touches(op.getIds()))
    refuse(op, "an op that would look up padding");
  set(op.getResult(), stateOf(op.getTable()));
}

void Effects::visit(Operation *op) {
  if (op->getNumOperands() == 0)
    return visitSource(op);
  if (op->hasTrait<OpTrait::IsTerminator>())
    return refuse(op, "a result of the function");
  if (visitMove(op) || visitMap(op) || visitRow(op))
    return;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ReduceOp op) { visitReduce(op); })
      .Case([&](DotGeneralOp op) { visitDot(op); })
      .Case([&](AttentionOp op) { visitAttention(op); })
      .Case([&](EmbeddingOp op) { visitEmbedding(op); })
      .Case([&](ArgmaxOp op) {
        OpOperand &use = op->getOpOperand(0);
        double fill = neutralOf(getElementTypeOrSelf(use.get()), true);
        if (llvm::is_contained(dimsIn(use.get()), unsigned(op.getDim())))
          needs(use, op.getDim(), fill);
        set(op.getResult(), PadValue::Finite);
      })
      .Case([&](DropoutOp op) {
        refuse(op, "dropout, which numbers elements by their place");
      })
      .Default([&](Operation *op) {
        refuse(op, "an op that has no rule for padding");
      });
}

PaddingEffects Effects::run() {
  // Arguments are parameters and buffers, zero at the padding.
  for (const Dimension &member : classes.members(id))
    if (isa<BlockArgument>(member.value))
      set(member.value, PadValue::Zero);
  if (Operation *op = classes.whole(id))
    refuse(op, "an op that needs the dimension as it is");
  for (Operation *op : classes.users(id)) {
    if (effects.refuser)
      break;
    visit(op);
  }
  return std::move(effects);
}

PaddingEffects hone::findPaddingEffects(const DimensionClasses &classes,
                                        unsigned id, int64_t size) {
  return Effects(classes, id, size).run();
}
