//===- WorkingCopies.cpp - One cast of a weight per step ------------------===//

#include "hone/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace hone {
#define GEN_PASS_DEF_WORKINGCOPIES
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Parameters, by name, with the narrower type that they are cast to.
using CopyTypes = llvm::MapVector<StringAttr, RankedTensorType>;

/// Calls `found(name, cast)` for each cast of a parameter to a narrower type,
/// in program order.
static void forEachCast(func::FuncOp func,
                        function_ref<void(StringAttr, CastOp)> found) {
  for (auto cast : llvm::make_early_inc_range(func.front().getOps<CastOp>())) {
    auto arg = dyn_cast<BlockArgument>(cast.getOperand());
    if (!arg || argString(func, arg.getArgNumber(), attr::kind) != kind::param)
      continue;
    auto name =
        func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), attr::fqn);
    auto from = dyn_cast<FloatType>(getElementTypeOrSelf(arg.getType()));
    auto to = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getType()));
    if (name && from && to && to.getWidth() < from.getWidth())
      found(name, cast);
  }
}

static DictionaryAttr describe(MLIRContext *context, StringAttr name,
                               std::optional<unsigned> donates = {}) {
  Builder b(context);
  NamedAttrList attrs;
  attrs.append(attr::kind, b.getStringAttr(kind::workingCopy));
  attrs.append(attr::fqn, name);
  if (donates)
    attrs.append(attr::donates, b.getI64IntegerAttr(*donates));
  return attrs.getDictionary(context);
}

/// Appends the arguments for `names` to `func`; returns the first's index.
static unsigned appendArguments(func::FuncOp func, ArrayRef<StringAttr> names,
                                const CopyTypes &copies) {
  unsigned first = func.getNumArguments();
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  for (StringAttr name : names) {
    types.push_back(copies.lookup(name));
    attrs.push_back(describe(func.getContext(), name));
  }
  SmallVector<unsigned> indices(names.size(), first);
  SmallVector<Location> locs(names.size(), func.getLoc());
  func.insertArguments(indices, types, attrs, locs);
  return first;
}

/// Replaces the casts in `func` by arguments.
static void replaceCasts(func::FuncOp func, const CopyTypes &copies) {
  llvm::MapVector<StringAttr, SmallVector<CastOp>> casts;
  forEachCast(func, [&](StringAttr name, CastOp cast) {
    if (copies.lookup(name) == cast.getType())
      casts[name].push_back(cast);
  });
  SmallVector<StringAttr> names;
  for (auto &[name, each] : casts)
    names.push_back(name);
  unsigned index = appendArguments(func, names, copies);
  for (auto &[name, each] : casts) {
    for (CastOp cast : each) {
      cast.replaceAllUsesWith(Value(func.getArgument(index)));
      cast.erase();
    }
    ++index;
  }
}

/// The op that makes the new value of parameter `name`, or null.
static Operation *findUpdate(func::FuncOp func, StringAttr name) {
  for (unsigned index = 0; index != func.getNumResults(); ++index)
    if (resultString(func, index, attr::kind) == kind::param &&
        resultString(func, index, attr::fqn) == name.getValue())
      return func.front().getTerminator()->getOperand(index).getDefiningOp();
  return nullptr;
}

/// `update` with one more result, the working copy.
static Value addWorkingCopyResult(Operation *update, Type type) {
  OperationState state(update->getLoc(), update->getName());
  state.addOperands(update->getOperands());
  state.addTypes(update->getResultTypes());
  state.addTypes(type);
  state.addAttributes(update->getAttrs());
  Operation *wider = OpBuilder(update).create(state);
  update->replaceAllUsesWith(wider->getResults().drop_back(1));
  update->erase();
  return wider->getResults().back();
}

/// Lets the updates in `func` make the working copies' new values.
static void addResults(func::FuncOp func, const CopyTypes &copies) {
  SmallVector<StringAttr> missing;
  llvm::DenseMap<StringAttr, unsigned> arguments;
  for (unsigned index = 0; index != func.getNumArguments(); ++index)
    if (argString(func, index, attr::kind) == kind::workingCopy)
      arguments[func.getArgAttrOfType<StringAttr>(index, attr::fqn)] = index;
  SmallVector<StringAttr> names;
  for (auto &[name, type] : copies) {
    Operation *update = findUpdate(func, name);
    auto facts = dyn_cast_or_null<HoneOpInterface>(update);
    if (!facts || facts.getNumericClass() != NumericClass::state)
      continue; // not trained: its working copy never changes
    names.push_back(name);
    if (!arguments.count(name))
      missing.push_back(name);
  }
  unsigned index = appendArguments(func, missing, copies);
  for (StringAttr name : missing)
    arguments[name] = index++;

  SmallVector<Value> made;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  for (StringAttr name : names) {
    types.push_back(copies.lookup(name));
    attrs.push_back(describe(func.getContext(), name, arguments.lookup(name)));
    made.push_back(addWorkingCopyResult(findUpdate(func, name), types.back()));
  }
  Operation *end = func.front().getTerminator();
  end->insertOperands(end->getNumOperands(), made);
  SmallVector<unsigned> indices(names.size(), func.getNumResults());
  func.insertResults(indices, types, attrs);
}

namespace {
struct WorkingCopies : hone::impl::WorkingCopiesBase<WorkingCopies> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = [&](ArrayRef<StringRef> names) {
      SmallVector<func::FuncOp> found;
      for (StringRef name : names)
        if (auto func = module.lookupSymbol<func::FuncOp>(name))
          found.push_back(func);
      return found;
    };
    // A working copy is worth its memory only where training reads it.
    CopyTypes copies;
    for (func::FuncOp func : functions({"step", "accumulate"}))
      forEachCast(func, [&](StringAttr name, CastOp cast) {
        copies.insert({name, mlir::cast<RankedTensorType>(cast.getType())});
      });
    if (copies.empty())
      return;
    for (func::FuncOp func :
         functions({"step", "accumulate", "evaluate", "generate"}))
      replaceCasts(func, copies);
    for (func::FuncOp func : functions({"step", "update"}))
      addResults(func, copies);
  }
};
} // namespace
