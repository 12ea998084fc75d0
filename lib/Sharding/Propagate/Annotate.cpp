//===- Annotate.cpp - Annotations of all arguments ------------------------===//

#include "hone/Sharding/Passes.h"

#include "Annotations.h"
#include "ContextParallel.h"
#include "Sharding/Experts/ExpertParallel.h"
#include "StateDims.h"
#include "TensorParallel.h"
#include "hone/Sharding/Propagate/Recipe.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace hone {
#define GEN_PASS_DEF_DISTANNOTATE
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
struct DistAnnotate : hone::impl::DistAnnotateBase<DistAnnotate> {
  using DistAnnotateBase::DistAnnotateBase;

  void runOnOperation() override {
    if (failed(mesh.empty() ? readGiven() : readRecipe()))
      return signalPassFailure();
    findMasters();
    // A mesh-invariant loss adds its rows in the order of one rank.
    if (inputAxes.positions && !isMeshInvariant(getOperation()))
      llvm::for_each(functions(), separateRows);
    for (func::FuncOp func : functions())
      if (failed(annotate(func)) || (!given && failed(constrain(func))))
        return signalPassFailure();
    if (sequence && !given && failed(checkSequence()))
      signalPassFailure();
  }

private:
  SmallVector<func::FuncOp> functions();
  FailureOr<func::FuncOp> findReader();
  LogicalResult readGiven();
  LogicalResult readRecipe();
  LogicalResult readMesh();
  LogicalResult checkStages(int64_t ranks);
  LogicalResult readAxes();
  LogicalResult readLevel();
  LogicalResult readPositions();
  LogicalResult readFeatures();
  LogicalResult readExperts();
  void findMasters();
  LogicalResult annotate(func::FuncOp func);
  void scatterGradients(func::FuncOp func);
  LogicalResult constrain(func::FuncOp func);
  LogicalResult checkSequence();
  FailureOr<ShardingAttr> shardingOf(func::FuncOp func, unsigned index);
  FailureOr<ShardingAttr> batchSharding(func::FuncOp func, unsigned index,
                                        RankedTensorType type);
  ArrayRef<int64_t> parameterShape(StringRef name, StringRef kind,
                                   RankedTensorType type);
  SmallVector<DimAttr> parameterDims(StringRef name, StringRef kind,
                                     ArrayRef<int64_t> shape);
  ShardingAttr stateSharding(StringRef name, StringRef kind,
                             RankedTensorType type);
  ShardingAttr givenSharding(StringRef name, StringRef kind,
                             RankedTensorType type);
  ShardingAttr withTerms(StringRef kind, ArrayRef<DimAttr> dims);
  bool isDivided(StringRef name, StringRef kind) const;
  bool isRegathered(func::FuncOp func, unsigned index, ShardingAttr sharding);

  std::optional<Mesh> axes; ///< of the module, once they are read
  InputAxes inputAxes;
  /// All of them: along these, gradients are partial sums.
  SmallVector<StringAttr> sumAxes;
  /// Axis tp, or the two that it is made of; empty: the mesh has none.
  SmallVector<StringAttr> tensorAxes;
  StringAttr stateAxis;  ///< null: the mesh has none
  StringAttr expertAxis; ///< null: the mesh has none
  int64_t batchParts = 1, stateParts = 1, expertParts = 1;
  int64_t positions = 0; ///< of a sequence, where an axis divides them
  int level = 3;
  bool isKept = false; ///< what is gathered stays for the backward part
  FeatureShards features;
  llvm::StringSet<> experts; ///< parameters with a matrix for each expert
  bool isSequenceDivided = false;
  ContextLowering lowering = ContextLowering::Gather; ///< of attention
  std::optional<Annotations> given; ///< a user's, in place of a recipe
  llvm::StringMap<ArrayRef<int64_t>> parameterShapes; ///< once it is asked for
  /// Parameters that only updates read: others read a copy in another type.
  llvm::StringSet<> masters;
};
} // namespace

SmallVector<func::FuncOp> DistAnnotate::functions() {
  SmallVector<func::FuncOp> all;
  for (auto func : getOperation().getOps<func::FuncOp>())
    if (!func.isExternal())
      all.push_back(func);
  return all;
}

/// The first function that reads a batch decides for all: state is divided
/// alike in each.
FailureOr<func::FuncOp> DistAnnotate::findReader() {
  for (func::FuncOp func : functions())
    for (unsigned index = 0; index != func.getNumArguments(); ++index)
      if (argString(func, index, attr::kind) == kind::input)
        return func;
  return getOperation().emitError("has no function with an input, expected "
                                  "one to see what its weights are for");
}

//===----------------------------------------------------------------------===//
// What a user annotated
//===----------------------------------------------------------------------===//

LogicalResult DistAnnotate::readGiven() {
  if (getOperation().getOps<MeshOp>().empty())
    return getOperation().emitError(
        "has no dist.mesh, expected one or axes in option mesh");
  FailureOr<func::FuncOp> reader = findReader();
  if (failed(readAxes()) || failed(reader))
    return failure();
  if (axes->find(stageAxis))
    return (*getOperation().getOps<MeshOp>().begin()).emitOpError()
           << "has axis " << stageAxis
           << ", whose ranks would all do the same: "
           << "stages of a pipeline are of --mesh, expected another name";
  FailureOr<Annotations> read = readAnnotations(*reader, *axes);
  if (failed(read))
    return failure();
  given = std::move(*read);
  sumAxes = given->inputAxes;
  return success();
}

//===----------------------------------------------------------------------===//
// The recipe
//===----------------------------------------------------------------------===//

LogicalResult DistAnnotate::readRecipe() {
  return failure(failed(readMesh()) || failed(readLevel()) ||
                 failed(readPositions()) || failed(readFeatures()) ||
                 failed(readExperts()));
}

LogicalResult DistAnnotate::readMesh() {
  ModuleOp module = getOperation();
  MLIRContext *context = &getContext();
  for (auto op : module.getOps<MeshOp>())
    return op.emitOpError("says already how ranks divide the module, expected "
                          "no recipe (--mesh, --recipe) besides");
  SmallVector<Attribute> attrs;
  auto add = [&](StringRef name, int64_t size, StringRef link) {
    auto nameAttr = StringAttr::get(context, name);
    attrs.push_back(AxisAttr::get(
        context, nameAttr, size,
        link.empty() ? StringAttr() : StringAttr::get(context, link)));
    return nameAttr;
  };
  for (StringRef text : llvm::split(mesh, ',')) {
    llvm::Expected<AxisText> axis = parseAxis(text);
    if (!axis)
      return module.emitError()
             << "mesh has axis " << llvm::toString(axis.takeError());
    auto [name, size, link] = *axis;
    if (name == "tp") {
      FailureOr<func::FuncOp> reader = findReader();
      if (failed(reader))
        return failure();
      int64_t keyRanks = ranksOfKeyHeads(*reader, size);
      tensorAxes.push_back(add(name, keyRanks, link));
      if (keyRanks != size)
        tensorAxes.push_back(add("tp.r", size / keyRanks, link));
      continue;
    }
    StringAttr nameAttr = add(name, size, link);
    if (name == stageAxis) {
      if (failed(checkStages(size)))
        return failure();
      continue;
    }
    sumAxes.push_back(nameAttr);
    if (name == "cp") {
      inputAxes.positions = nameAttr;
      continue;
    }
    inputAxes.batch.push_back(nameAttr);
    batchParts *= size;
    if (name == "ep") {
      expertAxis = nameAttr;
      expertParts = size;
    }
    if (name == "fs") {
      stateAxis = nameAttr;
      stateParts = size;
    }
  }
  // A block of tokens, divided along the others, is divided along ep: each of
  // its experts needs all of it.
  if (expertAxis) {
    llvm::erase(inputAxes.batch, expertAxis);
    inputAxes.batch.push_back(expertAxis);
  }
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto op = builder.create<MeshOp>(module.getLoc(), "mesh",
                                   ArrayAttr::get(context, attrs));
  return failure(failed(op.verify()) || failed(readAxes()));
}

/// The ranks of axis pp have a stage each.
LogicalResult DistAnnotate::checkStages(int64_t ranks) {
  auto stages = getOperation()->getAttrOfType<IntegerAttr>(stagesAttr);
  if (stages && stages.getInt() == ranks)
    return success();
  InFlightDiagnostic error = getOperation().emitError()
                             << "mesh has axis pp of " << ranks << " ranks, ";
  if (stages)
    return error << "expected " << stages.getInt()
                 << ", the stages of the module";
  return error << "expected a module that dist-assign-stages has cut, before "
                  "hone-autodiff";
}

LogicalResult DistAnnotate::readAxes() {
  FailureOr<Mesh> read = Mesh::of(getOperation());
  if (succeeded(read))
    axes = std::move(*read);
  return read;
}

LogicalResult DistAnnotate::readLevel() {
  if (sequence && tensorAxes.empty())
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

/// The positions of sequences, which axis cp divides into two runs per rank.
LogicalResult DistAnnotate::readPositions() {
  if (!inputAxes.positions)
    return success();
  FailureOr<func::FuncOp> reader = findReader();
  if (failed(reader))
    return failure();
  auto input = dyn_cast_or_null<BlockArgument>(findSequences(*reader));
  if (!input)
    return reader->emitError("axis cp divides positions, and no input has "
                             "any: expected one of two dimensions");
  positions = cast<RankedTensorType>(input.getType()).getDimSize(1);
  int64_t ranks = (*axes)[*axes->find("cp")].size;
  if (positions % (2 * ranks) == 0) {
    FailureOr<ContextLowering> way =
        chooseContext(*reader, context, inputAxes, tensorAxes, *axes, report);
    lowering = way.value_or(ContextLowering::Gather);
    return way;
  }
  return reader->emitError()
         << "input '" << argString(*reader, input.getArgNumber(), attr::fqn)
         << "' has " << positions << " positions, expected a multiple of "
         << 2 * ranks << ", two runs for each of the " << ranks
         << " ranks along axis cp: choose another cp, or export the model "
            "with another length";
}

LogicalResult DistAnnotate::readFeatures() {
  if (tensorAxes.empty())
    return success();
  FailureOr<func::FuncOp> reader = findReader();
  if (failed(reader))
    return failure();
  FailureOr<FeatureShards> found = divideFeatures(*reader, tensorAxes, *axes);
  if (failed(found))
    return failure();
  features = std::move(*found);
  return success();
}

LogicalResult DistAnnotate::readExperts() {
  if (!expertAxis)
    return success();
  FailureOr<func::FuncOp> reader = findReader();
  if (failed(reader))
    return failure();
  FailureOr<llvm::StringSet<>> found = findExperts(*reader, expertAxis);
  if (failed(found))
    return failure();
  experts = std::move(*found);
  return success();
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
      if (kind == kind::workingCopy)
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
  return level >= 3 && (kind == kind::param || kind == kind::workingCopy);
}

FailureOr<ShardingAttr> DistAnnotate::batchSharding(func::FuncOp func,
                                                    unsigned index,
                                                    RankedTensorType type) {
  if (type.getDimSize(0) % batchParts != 0)
    return func.emitError()
           << "input '" << argString(func, index, attr::fqn) << "' has "
           << type.getDimSize(0) << " rows, expected a multiple of "
           << batchParts
           << ", the ranks that share the batch; the exported batch is that of "
              "all ranks together";
  SmallVector<DimAttr> dims(type.getRank(), dimOf(&getContext()));
  dims[0] = dimOf(&getContext(), inputAxes.batch);
  if (inputAxes.positions)
    if (std::optional<unsigned> dim = dimOfPositions(type, positions))
      dims[*dim] = zigzagOf(inputAxes.positions, positions);
  return ShardingAttr::get(&getContext(), dims, {}, ReduceKind::sum);
}

/// The shape of the parameter of a tensor of state; its own where there is
/// none.
ArrayRef<int64_t> DistAnnotate::parameterShape(StringRef name, StringRef kind,
                                               RankedTensorType type) {
  if (parameterShapes.empty())
    for (func::FuncOp func : functions())
      for (BlockArgument arg : func.getArguments())
        if (argString(func, arg.getArgNumber(), attr::kind) == kind::param)
          if (auto param = dyn_cast<RankedTensorType>(arg.getType()))
            parameterShapes[argString(func, arg.getArgNumber(), attr::fqn)] =
                param.getShape();
  auto found = parameterShapes.find(parameterOf(name, kind));
  return found == parameterShapes.end() ? type.getShape() : found->second;
}

/// How a parameter is divided, or what has its shape.
SmallVector<DimAttr> DistAnnotate::parameterDims(StringRef name, StringRef kind,
                                                 ArrayRef<int64_t> shape) {
  SmallVector<DimAttr> dims(shape.size(), dimOf(&getContext()));
  auto divided = features.find(parameterOf(name, kind));
  if (divided != features.end() && divided->second.size() == dims.size())
    dims = divided->second;
  bool isExpert = experts.contains(parameterOf(name, kind));
  if (isExpert)
    dims[0] = dimOf(&getContext(), expertAxis);
  if (!isDivided(name, kind))
    return dims;
  // Parts of the outermost dimension lie side by side; also those of a rank's
  // experts, which then need no transposition when they are gathered.
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isOfExperts = dim == 0 && isExpert;
    int64_t parts = isOfExperts ? expertParts * stateParts : stateParts;
    if (size == 0 || size % parts != 0 ||
        (!isOfExperts && !dims[dim].getAxes().empty()))
      continue;
    SmallVector<StringAttr> both(dims[dim].getAxes());
    both.push_back(stateAxis);
    dims[dim] = dimOf(&getContext(), both, memoryPriority);
    break;
  }
  return dims;
}

ShardingAttr DistAnnotate::stateSharding(StringRef name, StringRef kind,
                                         RankedTensorType type) {
  ArrayRef<int64_t> shape = parameterShape(name, kind, type);
  if (kind != kind::opt || !isStateOf(type, shape))
    shape = type.getShape();
  SmallVector<DimAttr> dims = parameterDims(name, kind, shape);
  if (kind == kind::opt)
    dims = dimsOfState(name, type, std::move(dims), shape, *axes);
  return withTerms(kind, dims);
}

/// As the argument of the model is divided that it belongs to, in dimensions of
/// the same size.
ShardingAttr DistAnnotate::givenSharding(StringRef name, StringRef kind,
                                         RankedTensorType type) {
  SmallVector<DimAttr> dims(type.getRank(), dimOf(&getContext()));
  auto found = given->arguments.find(parameterOf(name, kind));
  if (found != given->arguments.end() &&
      found->second.shape.size() == dims.size())
    for (auto [dim, divided, size, own] : llvm::zip_equal(
             dims, found->second.dims, found->second.shape, type.getShape()))
      if (own == size)
        dim = divided;
  return withTerms(kind, dims);
}

static bool isShardedBy(ArrayRef<DimAttr> dims, StringAttr axis) {
  return llvm::any_of(dims, [&](DimAttr dim) {
    return llvm::is_contained(dim.getAxes(), axis);
  });
}

/// Gradients that micro-batches are added to are partial sums along the axes of
/// inputs that do not shard them.
ShardingAttr DistAnnotate::withTerms(StringRef kind, ArrayRef<DimAttr> dims) {
  SmallVector<StringAttr> terms;
  if (kind == kind::grad && !isMeshInvariant(getOperation()))
    llvm::copy_if(sumAxes, std::back_inserter(terms),
                  [&](StringAttr axis) { return !isShardedBy(dims, axis); });
  return ShardingAttr::get(&getContext(), dims, terms, ReduceKind::sum);
}

FailureOr<ShardingAttr> DistAnnotate::shardingOf(func::FuncOp func,
                                                 unsigned index) {
  auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[index]);
  if (!type)
    return func.emitError()
           << "argument " << index << " is no tensor, expected one";
  StringRef kind = argString(func, index, attr::kind);
  StringRef name = argString(func, index, attr::fqn);
  if (given)
    return givenSharding(name, kind, type);
  if (kind == kind::input && type.getRank() != 0)
    return batchSharding(func, index, type);
  return stateSharding(name, kind, type);
}

bool DistAnnotate::isRegathered(func::FuncOp func, unsigned index,
                                ShardingAttr sharding) {
  if (!isParameter(func, index))
    return false;
  return given ? given->arguments.lookup(argString(func, index, attr::fqn))
                     .isRegathered
               : !isKept && isShardedBy(sharding.getDims(), stateAxis);
}

LogicalResult DistAnnotate::annotate(func::FuncOp func) {
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    bool isFound = given && isOfModel(argString(func, index, attr::kind));
    if (func.getArgAttr(index, shardingAttr) && !isFound)
      continue;
    FailureOr<ShardingAttr> sharding = shardingOf(func, index);
    if (failed(sharding))
      return failure();
    func.setArgAttr(index, shardingAttr, *sharding);
    if (isRegathered(func, index, *sharding))
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

/// Gradients that are partial sums are reduce-scattered to the shards of the
/// optimizer state: for the update, and for the norm before it.
void DistAnnotate::scatterGradients(func::FuncOp func) {
  if (!stateAxis || level != 1 || isMeshInvariant(func))
    return;
  llvm::StringMap<ShardingAttr> state;
  for (unsigned index = 0; index != func.getNumArguments(); ++index)
    if (argString(func, index, attr::kind) == kind::opt) {
      StringRef name = argString(func, index, attr::fqn);
      auto type = cast<RankedTensorType>(func.getArgumentTypes()[index]);
      ArrayRef<int64_t> shape = parameterShape(name, kind::opt, type);
      // Means of rows and columns are taken in the parts of what they are of.
      state.try_emplace(
          parameterOf(name, kind::opt),
          type.getRank() == int64_t(shape.size())
              ? func.getArgAttrOfType<ShardingAttr>(index, shardingAttr)
              : withTerms(kind::opt, parameterDims(name, kind::opt, shape)));
    }
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
  ArrayRef<StringAttr> blockAxes = inputAxes.batch;
  divideBlocks(func, expertAxis ? blockAxes.drop_back() : blockAxes,
               expertAxis ? ArrayRef(expertAxis) : ArrayRef<StringAttr>());
  if (lowering == ContextLowering::Heads)
    divideHeads(func, inputAxes, tensorAxes);
  if (lowering == ContextLowering::Ring)
    makeRings(func, inputAxes.positions);
  if (!sequence)
    return success();
  FailureOr<bool> isDivided =
      divideSequence(func, tensorAxes, inputAxes, *axes);
  if (failed(isDivided))
    return failure();
  isSequenceDivided |= *isDivided;
  return success();
}

/// What was asked for and divides nothing is an error.
LogicalResult DistAnnotate::checkSequence() {
  FailureOr<func::FuncOp> reader = findReader();
  if (failed(reader))
    return failure();
  if (isSequenceDivided)
    return success();
  int64_t parts = 1;
  for (StringAttr axis : tensorAxes)
    parts *= (*axes)[*axes->find(axis.getValue())].size;
  int64_t pieces = parts; // of all positions
  if (inputAxes.positions)
    pieces *= 2 * (*axes)[*axes->find("cp")].size;
  InFlightDiagnostic error = reader->emitError()
                             << "sequence divides nothing along axis "
                             << tensorAxes.front().getValue() << " of " << parts
                             << " ranks: ";
  auto input = dyn_cast_or_null<BlockArgument>(findSequences(*reader));
  if (!input)
    return error << "no input has positions, expected one of two dimensions";
  int64_t positions = cast<RankedTensorType>(input.getType()).getDimSize(1);
  error << "input '" << argString(*reader, input.getArgNumber(), attr::fqn)
        << "' has " << positions << " positions, expected ";
  if (positions % pieces != 0)
    return error << "a multiple of " << pieces;
  return error << "sums over what the axis divides that have them";
}
