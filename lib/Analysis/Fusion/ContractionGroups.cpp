//===- ContractionGroups.cpp - What a product computes besides ------------===//

#include "ContractionOps.h"

#include "hone/Analysis/Fusion/Groups.h"
#include "hone/Analysis/Fusion/RowSpace.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir;
using namespace hone;
using namespace hone::contraction;

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
