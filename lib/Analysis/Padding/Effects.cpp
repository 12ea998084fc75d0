//===- Effects.cpp - What padding of a dimension changes ------------------===//

#include "hone/Analysis/Padding/Effects.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace hone;

/// What every element of a constant is.
static std::optional<double> splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? hone::splatOf(constant.getValue()) : std::nullopt;
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
  /// A value without the class is at the padding what it is elsewhere.
  ElementState stateOf(Value value) const {
    auto it = states.find(value);
    return it == states.end() ? ElementState::Copy : it->second;
  }
  bool isZero(Value value) const {
    return stateOf(value) == ElementState::Zero;
  }

  void set(Value value, ElementState state) {
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
  bool visitElements(Operation *op);
  ElementState stateAtPadding(Operation *op, ElementState state);
  void visitRow(WidthOpInterface op);
  void visitReduce(ReduceOp op);
  void visitDot(DotGeneralOp op);
  void visitConv(ConvOp op);
  void visitAttention(AttentionOp op);
  void visitEmbedding(EmbeddingOp op);

  const DimensionClasses &classes;
  unsigned id;
  int64_t size;
  DenseMap<Value, ElementState> states;
  PaddingEffects effects;
};
} // namespace

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
// Ops without operands
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
    return set(constant,
               *splat == 0.0 ? ElementState::Zero : ElementState::Nonzero);
  }
  if (isa<IotaOp>(op))
    return set(op->getResult(0), ElementState::Finite);
  refuse(op, "an op that has no rule for padding");
}

//===----------------------------------------------------------------------===//
// Ops that make each element of one per operand
//===----------------------------------------------------------------------===//

/// What the op makes of `state`, at the padding, of each element.
ElementState Effects::stateAtPadding(Operation *op, ElementState state) {
  Value result = op->getResult(0);
  SmallVector<unsigned> dims = dimsIn(result);
  // A mask chooses the value that it fills with.
  if (auto select = dyn_cast<SelectOp>(op)) {
    bool isMask = llvm::all_of(dims, [&](unsigned dim) {
      return maskFill(result, dim, size).has_value();
    });
    return isMask ? stateOf(select.getOnFalse()) : state;
  }
  // Along a new dimension of the class, padding repeats other elements too.
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    bool isNew = llvm::any_of(dims, [&](unsigned dim) {
      return !llvm::is_contained(broadcast.getDims(), int64_t(dim));
    });
    if (isNew && touches(broadcast.getOperand()))
      return join(state, ElementState::Copy);
  }
  return state;
}

/// Whether the op is of this kind.
bool Effects::visitElements(Operation *op) {
  SmallVector<ElementState> operands;
  for (Value operand : op->getOperands())
    operands.push_back(stateOf(operand));
  auto facts = dyn_cast<HoneOpInterface>(op);
  std::optional<ElementState> state =
      facts ? facts.inferElementState(operands) : std::nullopt;
  if (!state)
    return false;
  // What is made of copies, and constants, is a copy.
  auto isCopy = [&](Value operand) {
    return stateOf(operand) == ElementState::Copy ||
           operand.getDefiningOp<ConstantOp>();
  };
  if (llvm::is_contained(operands, ElementState::Copy) &&
      llvm::all_of(op->getOperands(), isCopy))
    state = ElementState::Copy;
  if (state == ElementState::Singular)
    refuse(op, "an op that is not differentiable at the padding");
  set(op->getResult(0), stateAtPadding(op, *state));
  return true;
}

//===----------------------------------------------------------------------===//
// Ops along rows, reductions
//===----------------------------------------------------------------------===//

/// Norms, softmax, cross entropy: padding at the end of rows is hidden by a
/// width. What else they do with padded rows depends on the op.
void Effects::visitRow(WidthOpInterface op) {
  Value input = op->getOperand(0);
  unsigned last = cast<RankedTensorType>(input.getType()).getRank() - 1;
  SmallVector<unsigned> dims = dimsIn(input);
  bool isLeading =
      llvm::any_of(dims, [&](unsigned dim) { return dim != last; });
  if (isLeading && !op.acceptsPaddedRows())
    refuse(op, "an op that would see rows of padding");
  if (llvm::is_contained(dims, last)) {
    if (op.getWidth() == 0)
      effects.widths.push_back(op);
    else if (int64_t(op.getWidth()) > size)
      refuse(op, "an op whose width reaches into the padding");
  }
  for (Value result : op->getResults())
    set(result, isLeading ? ElementState::Finite : ElementState::Zero);
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
  set(op.getResult(), keeps ? stateOf(operand) : ElementState::Finite);
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
  set(op.getResult(), areZero ? ElementState::Zero : ElementState::Finite);
}

/// Channels of the input are contracted, with those of the kernel that meet
/// them; other channels are carried to the result.
void Effects::visitConv(ConvOp op) {
  Value input = op.getInput(), weight = op.getWeight();
  int64_t last = cast<RankedTensorType>(input.getType()).getRank() - 1;
  if (llvm::is_contained(dimsIn(input), 0u))
    return refuse(op, "an op that would convolve padding");
  if (!op.getDepthwise()) {
    needsZero(op.getInputMutable(), {last});
    needsZero(op.getWeightMutable(), {last - 1});
  }
  bool isMadeOfZeros = isZero(weight) || (op.getDepthwise() && isZero(input));
  set(op.getResult(),
      isMadeOfZeros ? ElementState::Zero : ElementState::Finite);
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
      llvm::any_of(op.getMasks(), [&](Value mask) { return touches(mask); }))
    refuse(op, "an op that would attend to padding");
  needsZero(op.getQueryMutable(), {width});
  needsZero(op.getKeyMutable(), {width});
  set(op.getResult(),
      isZero(op.getValue()) ? ElementState::Zero : ElementState::Finite);
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
  if (auto row = dyn_cast<WidthOpInterface>(op))
    return visitRow(row);
  if (visitElements(op))
    return;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ReduceOp op) { visitReduce(op); })
      .Case([&](DotGeneralOp op) { visitDot(op); })
      .Case([&](ConvOp op) { visitConv(op); })
      .Case([&](AttentionOp op) { visitAttention(op); })
      .Case([&](EmbeddingOp op) { visitEmbedding(op); })
      .Case([&](ArgmaxOp op) {
        OpOperand &use = op->getOpOperand(0);
        double fill = neutralOf(getElementTypeOrSelf(use.get()), true);
        if (llvm::is_contained(dimsIn(use.get()), unsigned(op.getDim())))
          needs(use, op.getDim(), fill);
        set(op.getResult(), ElementState::Finite);
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
      set(member.value, ElementState::Zero);
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
