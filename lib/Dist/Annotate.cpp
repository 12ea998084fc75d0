//===- Annotate.cpp - From a recipe to annotations ------------------------===//

#include "hone/Dist/Passes.h"

#include "TensorParallel.h"
#include "hone/Dist/Recipe.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace hone {
#define GEN_PASS_DEF_DISTANNOTATE
#include "hone/Dist/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
struct DistAnnotate : hone::impl::DistAnnotateBase<DistAnnotate> {
  using DistAnnotateBase::DistAnnotateBase;

  void runOnOperation() override {
    if (failed(readMesh()) || failed(readLevel()) || failed(readFeatures()))
      return signalPassFailure();
    findMasters();
    for (func::FuncOp func : functions())
      if (failed(annotate(func)) || failed(constrain(func)))
        return signalPassFailure();
  }

private:
  SmallVector<func::FuncOp> functions();
  LogicalResult readMesh();
  LogicalResult readLevel();
  LogicalResult readFeatures();
  void findMasters();
  LogicalResult annotate(func::FuncOp func);
  void scatterGradients(func::FuncOp func);
  LogicalResult constrain(func::FuncOp func);
  FailureOr<ShardingAttr> shardingOf(func::FuncOp func, unsigned index);
  FailureOr<ShardingAttr> batchSharding(func::FuncOp func, unsigned index,
                                        RankedTensorType type);
  ShardingAttr stateSharding(StringRef name, StringRef kind,
                             RankedTensorType type);
  bool isDivided(StringRef name, StringRef kind) const;

  SmallVector<StringAttr> batchAxes;
  StringAttr stateAxis, tensorAxis; ///< null: the mesh has none
  int64_t batchParts = 1, stateParts = 1;
  int level = 3;
  bool isKept = false; ///< what is gathered stays for the backward part
  FeatureShards features;
  /// Parameters that only updates read: others read a copy in another type.
  llvm::StringSet<> masters;
};
} // namespace

static DimAttr dimOf(MLIRContext *context, ArrayRef<StringAttr> axes = {},
                     int64_t priority = 0) {
  return DimAttr::get(context, axes, {}, /*isOpen=*/false, priority);
}

SmallVector<func::FuncOp> DistAnnotate::functions() {
  SmallVector<func::FuncOp> all;
  for (auto func : getOperation().getOps<func::FuncOp>())
    if (!func.isExternal())
      all.push_back(func);
  return all;
}

//===----------------------------------------------------------------------===//
// The recipe
//===----------------------------------------------------------------------===//

LogicalResult DistAnnotate::readMesh() {
  ModuleOp module = getOperation();
  MLIRContext *context = &getContext();
  if (!module.getOps<MeshOp>().empty())
    return module.emitError("has a dist.mesh, expected none before a recipe");
  SmallVector<Attribute> axes;
  for (StringRef text : llvm::split(mesh, ',')) {
    llvm::Expected<AxisText> axis = parseAxis(text);
    if (!axis)
      return module.emitError()
             << "mesh has axis " << llvm::toString(axis.takeError());
    auto [name, size, link] = *axis;
    auto nameAttr = StringAttr::get(context, name);
    axes.push_back(AxisAttr::get(
        context, nameAttr, size,
        link.empty() ? StringAttr() : StringAttr::get(context, link)));
    if (name == "tp") {
      tensorAxis = nameAttr;
      continue;
    }
    batchAxes.push_back(nameAttr);
    batchParts *= size;
    if (name == "fs") {
      stateAxis = nameAttr;
      stateParts = size;
    }
  }
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto op = builder.create<MeshOp>(module.getLoc(), "mesh",
                                   ArrayAttr::get(context, axes));
  return op.verify();
}

LogicalResult DistAnnotate::readLevel() {
  if (sequence && !tensorAxis)
    return getOperation().emitError("mesh has no axis tp, expected one that "
                                    "divides sequences");
  StringRef text = fsdp;
  if (!llvm::is_contained(levelsOfState(), text))
    return getOperation().emitError() << "fsdp is '" << fsdp << "', expected "
                                      << llvm::join(levelsOfState(), ", ");
  isKept = text.consume_back("-keep");
  level = text.back() - '0';
  return success();
}

/// Decided by the first function that reads a batch, for all: state is divided
/// alike in each.
LogicalResult DistAnnotate::readFeatures() {
  if (!tensorAxis)
    return success();
  FailureOr<Mesh> axes = Mesh::of(getOperation());
  if (failed(axes))
    return failure();
  for (func::FuncOp func : functions())
    for (unsigned index = 0; index != func.getNumArguments(); ++index) {
      if (argString(func, index, attr::kind) != kind::input)
        continue;
      FailureOr<FeatureShards> found = divideFeatures(func, tensorAxis, *axes);
      if (failed(found))
        return failure();
      features = std::move(*found);
      return success();
    }
  return getOperation().emitError("has no function with an input, expected "
                                  "one to see what its weights are for");
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void DistAnnotate::findMasters() {
  llvm::StringSet<> copied, read;
  for (func::FuncOp func : functions())
    for (BlockArgument arg : func.getArguments()) {
      unsigned index = arg.getArgNumber();
      StringRef kind = argString(func, index, attr::kind);
      StringRef name = argString(func, index, attr::fqn);
      if (kind == kind::shadow)
        copied.insert(name);
      auto isUpdate = [](Operation *user) {
        auto facts = dyn_cast<HoneOpInterface>(user);
        return facts && facts.getNumericClass() == NumericClass::state;
      };
      if (kind == kind::param && !llvm::all_of(arg.getUsers(), isUpdate))
        read.insert(name);
    }
  for (const auto &name : copied)
    if (!read.contains(name.getKey()))
      masters.insert(name.getKey());
}

/// Whether axis fs divides an argument.
bool DistAnnotate::isDivided(StringRef name, StringRef kind) const {
  if (!stateAxis)
    return false;
  if (kind == kind::opt || (kind == kind::param && masters.contains(name)))
    return true;
  if (kind == kind::grad)
    return level >= 2;
  return level >= 3 && (kind == kind::param || kind == kind::shadow);
}

FailureOr<ShardingAttr> DistAnnotate::batchSharding(func::FuncOp func,
                                                    unsigned index,
                                                    RankedTensorType type) {
  if (type.getDimSize(0) % batchParts != 0)
    return func.emitError()
           << "input '" << argString(func, index, attr::fqn) << "' has "
           << type.getDimSize(0) << " rows, expected a multiple of "
           << batchParts << ", the ranks that share the batch";
  SmallVector<DimAttr> dims(type.getRank(), dimOf(&getContext()));
  dims[0] = dimOf(&getContext(), batchAxes);
  return ShardingAttr::get(&getContext(), dims, {}, ReduceKind::sum);
}

/// The parameter that a tensor of state belongs to: `exp_avg.wte` to `wte`.
static StringRef parameterOf(StringRef name, StringRef kind) {
  return kind == kind::opt ? name.split('.').second : name;
}

ShardingAttr DistAnnotate::stateSharding(StringRef name, StringRef kind,
                                         RankedTensorType type) {
  SmallVector<DimAttr> dims(type.getRank(), dimOf(&getContext()));
  // State of another rank than the parameter's is not divided as it is.
  auto divided = features.find(parameterOf(name, kind));
  if (divided != features.end() && divided->second.size() == dims.size())
    dims = divided->second;
  // Parts of the outermost dimension lie side by side.
  bool isShard = false;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (isDivided(name, kind) && dims[dim].getAxes().empty() && size != 0 &&
        size % stateParts == 0) {
      dims[dim] = dimOf(&getContext(), stateAxis, memoryPriority);
      isShard = true;
      break;
    }
  SmallVector<StringAttr> terms;
  if (kind == kind::grad && !isExact(getOperation()))
    llvm::copy_if(batchAxes, std::back_inserter(terms), [&](StringAttr axis) {
      return !isShard || axis != stateAxis;
    });
  return ShardingAttr::get(&getContext(), dims, terms, ReduceKind::sum);
}

FailureOr<ShardingAttr> DistAnnotate::shardingOf(func::FuncOp func,
                                                 unsigned index) {
  auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[index]);
  if (!type)
    return func.emitError()
           << "argument " << index << " is no tensor, expected one";
  StringRef kind = argString(func, index, attr::kind);
  if (kind == kind::input && type.getRank() != 0)
    return batchSharding(func, index, type);
  return stateSharding(argString(func, index, attr::fqn), kind, type);
}

LogicalResult DistAnnotate::annotate(func::FuncOp func) {
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    if (func.getArgAttr(index, shardingAttr))
      continue;
    FailureOr<ShardingAttr> sharding = shardingOf(func, index);
    if (failed(sharding))
      return failure();
    func.setArgAttr(index, shardingAttr, *sharding);
    bool isShard = llvm::any_of(sharding->getDims(), [&](DimAttr dim) {
      return llvm::is_contained(dim.getAxes(), stateAxis);
    });
    if (!isKept && isShard && isParameter(func, index))
      func.setArgAttr(index, regatherAttr, UnitAttr::get(&getContext()));
  }
  // What replaces an argument is divided as it is.
  for (unsigned index = 0; index != func.getNumResults(); ++index)
    if (auto donor =
            func.getResultAttrOfType<IntegerAttr>(index, attr::donates))
      if (!func.getResultAttr(index, shardingAttr))
        func.setResultAttr(index, shardingAttr,
                           func.getArgAttr(donor.getInt(), shardingAttr));
  return success();
}

/// Gradients that are terms of all ranks are summed in the parts that the state
/// has: for the update, and the norm before it.
void DistAnnotate::scatterGradients(func::FuncOp func) {
  if (!stateAxis || level != 1 || isExact(func))
    return;
  llvm::StringMap<ShardingAttr> state;
  for (unsigned index = 0; index != func.getNumArguments(); ++index)
    if (argString(func, index, attr::kind) == kind::opt)
      state.try_emplace(
          parameterOf(argString(func, index, attr::fqn), kind::opt),
          func.getArgAttrOfType<ShardingAttr>(index, shardingAttr));
  OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
  for (BlockArgument arg : func.getArguments()) {
    unsigned index = arg.getArgNumber();
    if (argString(func, index, attr::kind) != kind::grad)
      continue;
    ShardingAttr sharding = state.lookup(argString(func, index, attr::fqn));
    auto type = cast<RankedTensorType>(arg.getType());
    if (!sharding || int64_t(sharding.getDims().size()) != type.getRank())
      continue;
    auto sum = builder.create<ConstrainOp>(arg.getLoc(), type, arg, sharding);
    arg.replaceAllUsesExcept(sum, sum);
  }
}

LogicalResult DistAnnotate::constrain(func::FuncOp func) {
  scatterGradients(func);
  if (!sequence)
    return success();
  FailureOr<Mesh> axes = Mesh::of(getOperation());
  if (failed(axes))
    return failure();
  return divideSequence(func, tensorAxis, batchAxes, *axes);
}
