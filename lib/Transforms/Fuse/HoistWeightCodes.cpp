//===- HoistWeightCodes.cpp - Codes of a weight once per update -----------===//

#include "GatheredCodes.h"
#include "WeightCodes.h"
#include "hone/Sharding/IR/Chunk.h"
#include "hone/Sharding/IR/Dist.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_HOISTWEIGHTCODES
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
/// A weight whose codes may become working copies.
struct Weight {
  Type copy; ///< type of the working copy
  SmallVector<CodesForm> forms;
  func::FuncOp update; ///< makes the new copy, from `made`; null: none does
  Value made;
  BlockArgument param; ///< of some function

  const CodesForm *find(StringRef recipe) const {
    auto found = llvm::find_if(forms, [&](const CodesForm &form) {
      return form.example.recipe == recipe;
    });
    return found == forms.end() ? nullptr : found;
  }
};

/// Moves codes of weights out of the functions of one module.
class Hoister {
public:
  Hoister(ModuleOp module, bool report) : module(module), report(report) {}

  void run();

private:
  void findForms(func::FuncOp func);
  void findMakers(func::FuncOp func);
  bool isLent(StringRef name);
  std::optional<StringRef> whyKept(StringRef name, const Weight &weight);
  void replace(func::FuncOp func);
  void makeInUpdate(const Weight &weight);
  void buildFill();
  void eraseCopies();

  ModuleOp module;
  bool report;
  llvm::MapVector<StringAttr, Weight> weights;
};
} // namespace

/// Whether `func` is part of training, as opposed to what reads its weights.
static bool isOfTraining(func::FuncOp func) {
  StringRef name = dist::functionWithoutChunk(func.getName());
  return name == "step" || name == "accumulate";
}

/// The forms that training reads: codes are worth their memory for these.
void Hoister::findForms(func::FuncOp func) {
  for (const WeightCodes &codes : findWeightCodes(func)) {
    Weight &weight = weights[codes.name];
    weight.copy = codes.copy.getType();
    if (weight.find(codes.recipe))
      continue;
    int same = llvm::count_if(weight.forms, [&](const CodesForm &form) {
      return form.example.isTransposed() == codes.isTransposed();
    });
    weight.forms.push_back(CodesForm::make(codes, same));
  }
}

/// Finds what new working copies are made of, and parameters.
void Hoister::findMakers(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (argString(func, index, attr::kind) != kind::param)
      continue;
    auto found =
        weights.find(func.getArgAttrOfType<StringAttr>(index, attr::fqn));
    if (found != weights.end() && !found->second.param)
      found->second.param = argument;
  }
  for (unsigned index = 0; index != func.getNumResults(); ++index) {
    if (resultString(func, index, attr::kind) != kind::workingCopy)
      continue;
    auto found =
        weights.find(func.getResultAttrOfType<StringAttr>(index, attr::fqn));
    if (found == weights.end())
      continue;
    found->second.update = func;
    found->second.made = func.front().getTerminator()->getOperand(index);
  }
}

/// Whether another stage reads the working copy of `name` too, and returns its
/// gradients.
bool Hoister::isLent(StringRef name) {
  for (auto func : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index != func.getNumArguments(); ++index) {
      StringRef sum = argString(func, index, attr::fqn);
      if (argString(func, index, attr::kind) == kind::grad &&
          sum.consume_back(name) && sum.consume_back(".") &&
          (sum.consume_front("stage") || sum.consume_front("chunk")) &&
          llvm::all_of(sum, llvm::isDigit))
        return true;
    }
  return false;
}

/// Why the codes of a weight are made where they are read.
std::optional<StringRef> Hoister::whyKept(StringRef name,
                                          const Weight &weight) {
  if (!weight.param)
    return "another stage has the parameter";
  if (isLent(name))
    return "another stage reads it, too";
  if (weight.made && !CopyMaker::canMake(weight.update, weight.made))
    return "its new value is made of more than the new parameter";
  return std::nullopt;
}

/// Makes `func` read codes instead of making them.
void Hoister::replace(func::FuncOp func) {
  StateAppender arguments(func);
  for (const WeightCodes &codes : findWeightCodes(func)) {
    auto found = weights.find(codes.name);
    const CodesForm *form =
        found == weights.end() ? nullptr : found->second.find(codes.recipe);
    if (!form)
      continue;
    QuantizeOp quantize = codes.quantize();
    quantize.getCodes().replaceAllUsesWith(
        arguments.get(form->codes, quantize.getCodes().getType()));
    quantize.getScales().replaceAllUsesWith(
        arguments.get(form->scales, quantize.getScales().getType()));
    for (Operation *op : llvm::reverse(codes.ops))
      if (op->use_empty())
        op->erase();
  }
}

/// The update quantises the new working copy.
void Hoister::makeInUpdate(const Weight &weight) {
  func::FuncOp func = weight.update;
  StateAppender arguments(func);
  OpBuilder builder(func.front().getTerminator());
  for (const CodesForm &form : weight.forms) {
    QuantizeOp made = form.clone(builder, weight.made);
    arguments.replace(form.codes, made.getCodes());
    arguments.replace(form.scales, made.getScales());
  }
}

/// Puts codes that `func` returns behind the largest magnitudes of all weights,
/// which ranks then find by one exchange (dist-bucket-collectives).
static void moveBehindAmaxes(func::FuncOp func) {
  Operation *end = func.front().getTerminator();
  SmallVector<QuantizeOp> quantizers(func.front().getOps<QuantizeOp>());
  for (QuantizeOp quantize : quantizers)
    if (quantize.getAmax() &&
        quantize.getAmax().getDefiningOp<dist::AllReduceOp>() &&
        llvm::all_of(quantize->getUsers(),
                     [&](Operation *user) { return user == end; }))
      quantize->moveBefore(end);
}

/// The function that makes codes of parameters that were loaded.
void Hoister::buildFill() {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  auto fill = builder.create<func::FuncOp>(module.getLoc(), fillCodesName,
                                           builder.getFunctionType({}, {}));
  fill.addEntryBlock();
  builder.setInsertionPointToEnd(&fill.front());
  builder.setInsertionPoint(builder.create<func::ReturnOp>(fill.getLoc()));
  CopyMaker copies(fill, builder);
  for (auto &[name, weight] : weights) {
    Value copy = weight.made ? copies.make(weight.update, weight.made)
                             : copies.round(weight.param, weight.copy);
    StateAppender arguments(fill);
    for (const CodesForm &form : weight.forms) {
      QuantizeOp codes = form.clone(builder, copy);
      arguments.replace(form.codes, codes.getCodes());
      arguments.replace(form.scales, codes.getScales());
    }
  }
  moveBehindAmaxes(fill);
}

/// Drops working copies in bf16 that nothing reads any more.
void Hoister::eraseCopies() {
  llvm::DenseSet<StringAttr> read;
  for (auto func : module.getOps<func::FuncOp>())
    for (BlockArgument argument : func.getArguments())
      if (!argument.use_empty() && argString(func, argument.getArgNumber(),
                                             attr::kind) == kind::workingCopy)
        read.insert(func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      attr::fqn));
  for (auto func : module.getOps<func::FuncOp>())
    eraseWorkingCopies(func, [&](StringAttr name) {
      return weights.count(name) != 0 && !read.contains(name);
    });
}

void Hoister::run() {
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (func::FuncOp func : functions)
    gatherCodes(func, report);
  for (func::FuncOp func : functions)
    if (isOfTraining(func))
      findForms(func);
  for (func::FuncOp func : functions)
    findMakers(func);
  weights.remove_if([&](const auto &each) {
    std::optional<StringRef> reason = whyKept(each.first, each.second);
    if (reason && report)
      module.emitRemark("codes of '")
          << each.first.getValue()
          << "' are made in each micro-batch: " << *reason;
    return reason.has_value();
  });
  if (weights.empty())
    return;
  // Forms are clones of what functions still make.
  buildFill();
  for (auto &[name, weight] : weights)
    if (weight.made)
      makeInUpdate(weight);
  for (func::FuncOp func : functions) {
    replace(func);
    moveBehindAmaxes(func);
  }
  eraseCopies();
}

namespace {
struct HoistWeightCodes : hone::impl::HoistWeightCodesBase<HoistWeightCodes> {
  using HoistWeightCodesBase::HoistWeightCodesBase;

  void runOnOperation() override { Hoister(getOperation(), report).run(); }
};
} // namespace
