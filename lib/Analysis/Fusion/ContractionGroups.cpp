//===- ContractionGroups.cpp - What a product computes besides ------------===//

#include "hone/Analysis/Fusion/ContractionGroups.h"

#include "hone/Analysis/Fusion/Groups.h"
#include "hone/Analysis/Fusion/RowSpace.h"
#include "hone/Plan/AbiNumbers.h"

#include "base/ProductEpilogue.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static Epilogues epiloguesOf(DotGeneralOp dot,
                             const TargetDescription &target) {
  return target.epilogues(getElementTypeOrSelf(dot.getLhs().getType()),
                          getElementTypeOrSelf(dot.getType()));
}

/// What `slowdown` adds to the seconds of `dot`.
static double secondsLonger(DotGeneralOp dot, Epilogues::Slowdown slowdown,
                            const TargetDescription &target) {
  Type operand = getElementTypeOrSelf(dot.getLhs().getType());
  return slowdown.value_or(0) * double(dot.getCost().flops) /
         target.matmulFlopsPerSecond(operand);
}

/// `other` operand of an addition that reads `value` once.
static Value otherOperand(AddOp add, Value value) {
  return add.getLhs() == value ? add.getRhs() : add.getLhs();
}

/// The broadcast of a vector along the last dimension of `type`, or null.
static BroadcastOp biasOf(Value value, RankedTensorType type) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  bool isBias = broadcast && broadcast.getDims().size() == 1 &&
                broadcast.getDims()[0] == type.getRank() - 1;
  return isBias ? broadcast : BroadcastOp();
}

/// What `reduce` sums, without a cast that only widens for it.
static Value summed(ReduceOp reduce) {
  auto cast = reduce.getOperand().getDefiningOp<CastOp>();
  return cast && cast->hasOneUse() ? cast.getOperand() : reduce.getOperand();
}

/// Whether the product's last dimension is exactly the free dimensions of rhs:
/// then a vector runs along columns of the library's matrix.
static bool hasColumnLastDim(DotGeneralOp dot) {
  return dot.getRhsFree().size() == 1;
}

/// Sums over all dimensions but the last.
static bool isColumnSum(ReduceOp reduce) {
  int64_t rank = typeOf(reduce.getOperand()).getRank();
  return reduce.getKind() == ReduceKind::sum &&
         llvm::equal(reduce.getDims(), llvm::seq<int64_t>(0, rank - 1));
}

/// Sums of an operand of `dot` over exactly what the product contracts.
static bool isOperandSum(ReduceOp reduce, DotGeneralOp dot) {
  if (reduce.getKind() != ReduceKind::sum || !dot.getLhsBatch().empty())
    return false;
  auto sums = [&](Value operand, ArrayRef<int64_t> contract) {
    SmallVector<int64_t> dims(contract);
    llvm::sort(dims);
    return summed(reduce) == operand && llvm::equal(dims, reduce.getDims());
  };
  return sums(dot.getLhs(), dot.getLhsContract()) ||
         sums(dot.getRhs(), dot.getRhsContract());
}

Value ContractionForm::result() const {
  if (geluBwd)
    return geluBwd->getResult(0);
  if (gelu)
    return gelu->getResult(0);
  if (addend)
    return addend->getResult(0);
  return bias ? bias->getResult(0)
              : Operation::result_range(dot->getResults())[0];
}

std::optional<ContractionForm>
ContractionForm::read(ArrayRef<Operation *> ops) {
  ContractionForm form;
  size_t known = 0; // ops that have a place in the form
  for (Operation *op : ops)
    if (auto dot = dyn_cast<DotGeneralOp>(op)) {
      if (form.dot)
        return std::nullopt;
      form.dot = dot;
    }
  if (!form.dot)
    return std::nullopt;
  RankedTensorType type = typeOf(form.dot.getResult());
  for (Operation *op : ops) {
    Value value = form.result();
    if (auto add = dyn_cast<AddOp>(op)) {
      bool reads = add.getLhs() == value || add.getRhs() == value;
      if (!reads || form.addend || form.gelu || form.geluBwd)
        return std::nullopt;
      BroadcastOp bias = biasOf(otherOperand(add, value), type);
      bool isInside = bias && llvm::is_contained(ops, bias);
      if (isInside && form.bias)
        return std::nullopt;
      (isInside ? form.bias : form.addend) = add;
      known += isInside; // the broadcast
    } else if (auto gelu = dyn_cast<GeluOp>(op)) {
      if (gelu.getInput() != value || form.gelu || form.geluBwd)
        return std::nullopt;
      form.gelu = gelu;
    } else if (auto bwd = dyn_cast<GeluBwdOp>(op)) {
      if (bwd.getGrad() != value || form.gelu || form.geluBwd)
        return std::nullopt;
      form.geluBwd = bwd;
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (form.sums)
        return std::nullopt;
      form.sums = reduce;
      known += summed(reduce) != reduce.getOperand(); // the cast
    } else if (!isa<DotGeneralOp, BroadcastOp, CastOp>(op)) {
      return std::nullopt;
    } else {
      continue;
    }
    ++known;
  }
  if (++known != ops.size())
    return std::nullopt;
  if (form.sums) {
    form.sumsOperand = isOperandSum(form.sums, form.dot);
    bool sumsResult =
        summed(form.sums) == form.result() && isColumnSum(form.sums);
    if (!form.sumsOperand && !sumsResult)
      return std::nullopt;
  }
  return form;
}

std::string ContractionForm::whyNot(const TargetDescription &target,
                                    bool keepsInput) const {
  DotGeneralOp product = dot; // ops are handles: their methods are not const
  RankedTensorType type = typeOf(product.getResult());
  Epilogues table = epiloguesOf(product, target);
  if (bias && !table.bias)
    return "the library adds no bias to a result of this type";
  if (bias && !hasColumnLastDim(product))
    return "the bias does not run along the columns of the product";
  if (addend && !table.addend)
    return "the library adds no matrix to a result of this type";
  GeluOp activation = gelu;
  GeluBwdOp gradient = geluBwd;
  if (activation || gradient) {
    bool isTanh =
        (activation ? activation.getApproximate()
                    : gradient.getApproximate()) == GeluApproximation::tanh;
    if (!isTanh)
      return "the library has GELU by tanh only";
    if (!(gradient ? table.geluBwd : keepsInput ? table.geluAux : table.gelu))
      return "the library has no GELU for this type here";
    if (addend || (gradient && bias))
      return "the library has no such GELU of a sum";
    if (!product.getLhsBatch().empty())
      return "the product has batch dimensions";
    if (!hasColumnLastDim(product) || type.getShape().back() % table.alignment)
      return llvm::formatv("its rows of {0} elements are no multiple of {1}",
                           type.getShape().back(), table.alignment);
  }
  return sums ? whyNoSums(table) : "";
}

std::string ContractionForm::whyNoSums(const Epilogues &table) const {
  if (!sumsOperand && !geluBwd)
    return "the library sums a result only as the gradient of a GELU";
  if (!sumsOperand)
    return table.geluBwdSums ? "" : "the library sums no result of this type";
  if (!table.operandSums)
    return "the library sums no operand beside a result of this type";
  DotGeneralOp product = dot;
  auto type = static_cast<honert::DType>(
      abi::dtype(getElementTypeOrSelf(product.getType())));
  auto activation = gelu      ? honert::Activation::gelu
                    : geluBwd ? honert::Activation::geluBwd
                              : honert::Activation::none;
  return honert::hasSumsEpilogue(type, activation, honert::Sums::ofA,
                                 bool(bias))
             ? ""
             : "the library sums no operand beside a bias or an activation";
}

double ContractionForm::slowdown(const TargetDescription &target) const {
  Epilogues table = epiloguesOf(dot, target);
  double share = 0;
  auto take = [&](bool has, Epilogues::Slowdown slowdown) {
    share += has ? slowdown.value_or(0) : 0;
  };
  GeluOp activation = gelu;
  bool keepsInput = activation && !activation.getInput().hasOneUse();
  bool sumsResult = sums && !sumsOperand;
  take(bool(bias), table.bias);
  take(bool(addend), table.addend);
  take(bool(gelu), keepsInput ? table.geluAux : table.gelu);
  take(bool(geluBwd), sumsResult ? table.geluBwdSums : table.geluBwd);
  take(sumsOperand, table.operandSums);
  return share;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

namespace {
/// Extends the group of one contraction op by op.
class EpiloguePlanner {
public:
  EpiloguePlanner(DotGeneralOp dot, const TargetDescription &target,
                  llvm::SmallPtrSetImpl<Operation *> &taken)
      : target(target), taken(taken), table(epiloguesOf(dot, target)) {
    group.form.dot = dot;
    group.ops.push_back(dot);
  }
  ContractionGroup run();

private:
  void takeAdditions();
  void takeGelu();
  void takeGeluBwd();
  void takeResultSums();
  void takeOperandSums();
  bool accept(const ContractionForm &form, ArrayRef<Operation *> ops,
              int64_t saved, double loss, bool keepsInput);
  double longer(Epilogues::Slowdown slowdown) const {
    return secondsLonger(group.form.dot, slowdown, target);
  }
  double secondsOfSumsHere() const;
  double secondsOfSumsLost(Value value) const;
  void refuse(Operation *op, const Twine &why) {
    group.refused.push_back({op, why.str()});
  }

  const TargetDescription &target;
  llvm::SmallPtrSetImpl<Operation *> &taken;
  Epilogues table;
  ContractionGroup group;
};
} // namespace

/// Whether `value` depends on a result of `op`, which comes before it.
static bool dependsOn(Value value, Operation *op) {
  SmallVector<Operation *> worklist = {value.getDefiningOp()};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!worklist.empty()) {
    Operation *current = worklist.pop_back_val();
    if (current == op)
      return true;
    if (!current || current->isBeforeInBlock(op) ||
        !seen.insert(current).second)
      continue;
    for (Value operand : current->getOperands())
      worklist.push_back(operand.getDefiningOp());
  }
  return false;
}

/// Adds `ops`, which make the call one of `form`, if the library has that form
/// and it pays: the traffic saved takes longer than the seconds of `loss`.
bool EpiloguePlanner::accept(const ContractionForm &form,
                             ArrayRef<Operation *> ops, int64_t saved,
                             double loss, bool keepsInput) {
  std::string why = form.whyNot(target, keepsInput);
  if (!why.empty()) {
    refuse(ops.back(), why);
    return false;
  }
  double gain = double(saved) / target.bytesPerSecond();
  if (loss >= gain) {
    refuse(ops.back(),
           llvm::formatv("the product would take {0:F1} us longer, to save "
                         "{1:F1} us of traffic",
                         loss * 1e6, gain * 1e6));
    return false;
  }
  group.form = form;
  group.savedBytes += saved;
  llvm::append_range(group.ops, ops);
  taken.insert(ops.begin(), ops.end());
  return true;
}

// product (+ bias along the last dimension) (+ addend of the product's type)
void EpiloguePlanner::takeAdditions() {
  while (!group.form.addend) {
    Value value = group.form.result();
    auto isAddition = [](Operation *op) { return isa<AddOp>(op); };
    auto reader = llvm::find_if(value.getUsers(), isAddition);
    if (reader == value.getUsers().end()) {
      Operation *only = value.hasOneUse() ? *value.user_begin() : nullptr;
      if (isa_and_present<DropoutOp>(only) &&
          llvm::any_of(only->getUsers(), isAddition))
        refuse(*only->user_begin(),
               "a dropout lies between the product and the sum");
      if (isa_and_present<CastOp>(only) &&
          llvm::any_of(only->getUsers(), isAddition))
        refuse(*only->user_begin(),
               "the sum has another type than the product");
      return;
    }
    auto add = cast<AddOp>(*reader);
    if (taken.contains(add) || add.getLhs() == add.getRhs())
      return;
    Value other = otherOperand(add, value);
    BroadcastOp bias =
        group.form.bias ? BroadcastOp() : biasOf(other, typeOf(value));
    if (!value.hasOneUse()) {
      refuse(add, dependsOn(other, group.form.dot)
                      ? "the addend depends on the product"
                      : "the product has another reader");
      return;
    }
    ContractionForm form = group.form;
    // Written by the product and read by the next kernel, else.
    int64_t saved = 2 * byteSize(value.getType());
    if (bias) {
      if (!bias->hasOneUse() || taken.contains(bias))
        return;
      form.bias = add;
      if (!accept(form, {bias, add}, saved, longer(table.bias), false))
        return;
      continue;
    }
    if (Operation *producer = other.getDefiningOp();
        producer && isFreeValue(producer)) {
      refuse(add, "the addend is recomputed where it is read, never stored");
      return;
    }
    // The parts of one sum may be far apart: what the first is made of need not
    // wait for the last.
    if (Operation *later = other.getDefiningOp();
        isa_and_present<DotGeneralOp, EmbeddingBwdOp>(later) &&
        form.dot->isBeforeInBlock(later) && later->hasOneUse()) {
      refuse(add, "the addend's maker comes later and takes the sum");
      return;
    }
    form.addend = add;
    accept(form, {add}, saved, longer(table.addend), false);
    return;
  }
}

// gelu(product + bias), its argument stored too where something else reads it
void EpiloguePlanner::takeGelu() {
  Value value = group.form.result();
  for (Operation *reader : value.getUsers()) {
    auto gelu = dyn_cast<GeluOp>(reader);
    if (!gelu || taken.contains(gelu))
      continue;
    ContractionForm form = group.form;
    form.gelu = gelu;
    bool keepsInput = !value.hasOneUse();
    // The argument is read and the result written by the call itself.
    int64_t saved = 2 * byteSize(value.getType());
    accept(form, {gelu}, saved, longer(keepsInput ? table.geluAux : table.gelu),
           keepsInput);
    return;
  }
}

/// The ops from `value` to `reduce`, both excluded and included: a cast may
/// widen for the sum.
static SmallVector<Operation *> chainTo(ReduceOp reduce, Value value) {
  SmallVector<Operation *> chain;
  if (reduce.getOperand() != value)
    chain.push_back(reduce.getOperand().getDefiningOp());
  chain.push_back(reduce);
  return chain;
}

/// Sums that read `value`, directly or through a cast that only they read.
static SmallVector<ReduceOp> sumsOf(Value value) {
  SmallVector<ReduceOp> sums;
  for (Operation *reader : value.getUsers()) {
    if (isa<CastOp>(reader) && reader->hasOneUse())
      reader = *reader->user_begin();
    auto reduce = dyn_cast<ReduceOp>(reader);
    if (reduce && summed(reduce) == value)
      sums.push_back(reduce);
  }
  return sums;
}

/// Whether a kernel of our own makes `value` and can sum its columns on the
/// way: free, and in fp32.
static bool isSummedWhereMade(Value value, const TargetDescription &target,
                              const llvm::SmallPtrSetImpl<Operation *> &taken) {
  Operation *producer = value.getDefiningOp();
  return producer && !taken.contains(producer) && isRowSpaceOp(producer) &&
         !isa<ReshapeOp>(producer) &&
         typeOf(value).getShape().back() <= target.rowLimits().summedCols;
}

/// Seconds of the cheapest way to sum the columns of `value` outside of the
/// call or kernel that makes it: the call of a product that contracts its rows,
/// as that of a weight's gradient does, or a kernel that reads it once more.
static double secondsOfSums(ReduceOp reduce, Value value,
                            const TargetDescription &target) {
  double least = double(byteSize(value.getType())) / target.bytesPerSecond();
  for (Operation *reader : value.getUsers()) {
    auto dot = dyn_cast<DotGeneralOp>(reader);
    Epilogues::Slowdown sums;
    if (dot && isOperandSum(reduce, dot))
      sums = epiloguesOf(dot, target).operandSums;
    if (sums)
      least = std::min(least, secondsLonger(dot, sums, target));
  }
  return least;
}

/// The column sums of `value`, if it has any.
static ReduceOp columnSumOf(Value value) {
  SmallVector<ReduceOp> sums = sumsOf(value);
  auto found = llvm::find_if(sums, isColumnSum);
  return found == sums.end() ? ReduceOp() : *found;
}

/// Seconds of the sums of a result in the call that makes it.
double EpiloguePlanner::secondsOfSumsHere() const {
  return table.geluBwdSums ? longer(*table.geluBwdSums - *table.geluBwd)
                           : std::numeric_limits<double>::infinity();
}

/// Seconds that the sums of `value` cost once the call of the product makes it:
/// a kernel of ours that makes it sums its columns for nothing.
double EpiloguePlanner::secondsOfSumsLost(Value value) const {
  ReduceOp reduce = columnSumOf(value);
  if (!reduce || !isSummedWhereMade(value, target, taken))
    return 0;
  return std::min(secondsOfSumsHere(), secondsOfSums(reduce, value, target));
}

// gelu_bwd(product, u), and the sums of its columns
void EpiloguePlanner::takeGeluBwd() {
  Value value = group.form.result();
  for (Operation *reader : value.getUsers()) {
    auto bwd = dyn_cast<GeluBwdOp>(reader);
    if (!bwd || bwd.getGrad() != value || taken.contains(bwd))
      continue;
    if (!value.hasOneUse())
      return refuse(bwd, "the product has another reader");
    ContractionForm form = group.form;
    form.geluBwd = bwd;
    int64_t saved = 3 * byteSize(value.getType());
    double loss = longer(table.geluBwd) + secondsOfSumsLost(bwd.getResult());
    if (accept(form, {bwd}, saved, loss, false))
      takeResultSums();
    return;
  }
}

void EpiloguePlanner::takeResultSums() {
  Value value = group.form.result();
  ReduceOp reduce = columnSumOf(value);
  if (!reduce || taken.contains(reduce))
    return;
  ContractionForm form = group.form;
  form.sums = reduce;
  double here = secondsOfSumsHere();
  if (table.geluBwdSums && here > secondsOfSums(reduce, value, target))
    return refuse(reduce, "the product that reads the result sums it faster");
  accept(form, chainTo(reduce, value), byteSize(value.getType()), here, false);
}

/// Whether a member of the group waits for `reduce`.
static bool isWaitedFor(ReduceOp reduce, ArrayRef<Operation *> ops) {
  return llvm::any_of(ops, [&](Operation *member) {
    return llvm::any_of(member->getOperands(), [&](Value operand) {
      return dependsOn(operand, reduce);
    });
  });
}

// A weight's gradient contracts over the rows; the gradient of the bias is the
// sum of one operand over them.
void EpiloguePlanner::takeOperandSums() {
  DotGeneralOp dot = group.form.dot;
  for (Value operand : {dot.getLhs(), dot.getRhs()})
    for (ReduceOp reduce : sumsOf(operand)) {
      if (taken.contains(reduce) || !isOperandSum(reduce, dot))
        continue;
      if (isSummedWhereMade(operand, target, taken)) {
        refuse(reduce, "the kernel that makes the operand sums it for nothing");
        continue;
      }
      if (isWaitedFor(reduce, group.ops)) {
        refuse(reduce, "the sum is read before the product is complete");
        continue;
      }
      ContractionForm form = group.form;
      form.sums = reduce;
      form.sumsOperand = true;
      if (accept(form, chainTo(reduce, operand), byteSize(operand.getType()),
                 longer(table.operandSums), false))
        return;
    }
}

ContractionGroup EpiloguePlanner::run() {
  takeAdditions();
  if (!group.form.addend) {
    takeGelu();
    if (!group.form.gelu)
      takeGeluBwd();
  }
  if (!group.form.sums)
    takeOperandSums();
  llvm::sort(group.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return std::move(group);
}

SmallVector<ContractionGroup>
hone::planContractions(Block &block, const TargetDescription &target) {
  SmallVector<ContractionGroup> groups;
  llvm::SmallPtrSet<Operation *, 32> taken;
  for (auto dot : block.getOps<DotGeneralOp>())
    groups.push_back(EpiloguePlanner(dot, target, taken).run());
  return groups;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

bool hone::isVectorSum(Operation *op) {
  auto add = dyn_cast<AddOp>(op);
  return add && typeOf(add).getRank() == 1 &&
         isa<BlockArgument>(add.getLhs()) != isa<BlockArgument>(add.getRhs());
}

SmallVector<Operation *> hone::planVectorSums(Block &block,
                                              const TargetDescription &target) {
  SmallVector<Operation *> sums;
  for (Operation &op : block)
    if (isVectorSum(&op) && llvm::all_of(op.getUsers(), [&](Operation *user) {
          return user == block.getTerminator();
        }))
      sums.push_back(&op);
  bool pays = target.kind == TargetKind::CUDA && sums.size() > 1;
  return pays ? sums : SmallVector<Operation *>();
}
