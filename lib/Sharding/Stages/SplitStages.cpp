//===- SplitStages.cpp - A module for each stage of a pipeline ------------===//
//
// The functions of a stage are slices of those of the whole: what its results
// need, up to the borders of the stage.
//
//===----------------------------------------------------------------------===//

#include "Sharding/Stages/StageFunction.h"
#include "hone/Analysis/Pipeline/StageSchedule.h"
#include "hone/Sharding/Passes.h"

namespace hone {
#define GEN_PASS_DEF_DISTSPLITSTAGES
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
struct DistSplitStages : hone::impl::DistSplitStagesBase<DistSplitStages> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run();
};
} // namespace

/// A module of the attributes of `whole`, for stage `stage` of it.
static ModuleOp createStage(ModuleOp whole, int64_t stage) {
  Builder builder(whole.getContext());
  auto module = ModuleOp::create(whole.getLoc(), stageName(stage));
  for (NamedAttribute attribute : whole->getAttrs())
    if (attribute.getName() != stagesAttr &&
        attribute.getName() != chunksAttr &&
        attribute.getName() != scheduleAttr &&
        attribute.getName() != SymbolTable::getSymbolAttrName())
      module->setAttr(attribute.getName(), attribute.getValue());
  module->setAttr(stageAttr, builder.getI64IntegerAttr(stage));
  return module;
}

static bool isHanded(Value value) {
  auto boundary = value.getDefiningOp<BoundaryOp>();
  return boundary && boundary.getParameter();
}

/// Whether `gradient` is the sum of a term of this chunk and one of another,
/// each by one reader, as hone-build-step divides it on one rank.
static bool hasTermPerReader(Value gradient) {
  auto sum = gradient.getDefiningOp<AddOp>();
  if (!sum)
    return false;
  Value own = sum.getLhs(), handed = sum.getRhs();
  if (isHanded(own))
    std::swap(own, handed);
  return isHanded(handed) && !isHanded(own) && !own.getDefiningOp<AddOp>() &&
         !handed.getDefiningOp<BoundaryOp>()
              .getOperand()
              .getDefiningOp<AddOp>();
}

/// Gradients of a parameter that several stages read are added up by stage:
/// in the order of one rank, where each is of one reader.
static LogicalResult checkExact(func::FuncOp accumulate, const Owners &owners) {
  if (!isMeshInvariant(accumulate))
    return success();
  for (BlockArgument argument : accumulate.getArguments()) {
    unsigned index = argument.getArgNumber();
    StringRef name = argString(accumulate, index, attr::fqn);
    if (argString(accumulate, index, attr::kind) != kind::grad ||
        owners.borrowersOf(name).empty())
      continue;
    bool isByReader = llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return isa<AddOp>(user) &&
             llvm::any_of(user->getOperands(), hasTermPerReader);
    });
    if (!isByReader)
      return accumulate.emitError("--exact: several ")
             << (owners.nameOf(0).isStage ? "stages" : "chunks")
             << " read parameter '" << name
             << "', and its gradients are added in another order than on one "
                "rank; expected at most two readers of it, in two "
             << (owners.nameOf(0).isStage ? "stages" : "chunks")
             << ", no axis pp, as in --mesh=tp=2 or fs=2, or no --exact: "
                "losses then agree within rounding";
  }
  return success();
}

LogicalResult DistSplitStages::run() {
  ModuleOp module = getOperation();
  auto count = module->getAttrOfType<IntegerAttr>(stagesAttr);
  if (!count)
    return module.emitError("has no ")
           << stagesAttr << ": run dist-assign-stages before dist-split-stages";
  auto accumulate = module.lookupSymbol<func::FuncOp>("accumulate");
  auto update = module.lookupSymbol<func::FuncOp>("update");
  if (!accumulate || !update)
    return module.emitError("has no functions @accumulate and @update, which "
                            "stages run");
  SmallVector<CutFunction> parts;
  for (func::FuncOp func :
       {accumulate, module.lookupSymbol<func::FuncOp>("evaluate")})
    if (func) {
      FailureOr<CutFunction> part = CutFunction::find(func);
      if (failed(part))
        return failure();
      parts.push_back(std::move(*part));
    }
  module->setAttr(scheduleAttr, StringAttr::get(&getContext(), schedule));
  FailureOr<pipeline::Schedule> lists = pipeline::readStageSchedule(module);
  if (failed(lists))
    return failure();
  FailureOr<Owners> owners = Owners::find(parts.front(), lists->shape);
  if (failed(owners) || failed(checkExact(accumulate, *owners)))
    return failure();
  SmallVector<pipeline::StageTurns, 0> turns = pipeline::StageTurns::of(*lists);
  BoundaryShardings shardings = findBoundaryShardings(parts.front());
  SmallVector<ModuleOp> made;
  for (int64_t stage = 0; stage != count.getInt(); ++stage) {
    made.push_back(createStage(module, stage));
    made.back()->setAttr(turnsAttr, turns[stage].toAttr(&getContext()));
    for (auto mesh : module.getOps<MeshOp>())
      made.back().push_back(mesh->clone());
    for (const CutFunction &part : parts)
      for (const pipeline::ChunkTurns &own : turns[stage].chunks) {
        FailureOr<func::FuncOp> func =
            slicePart(part, *owners, shardings, own.chunk.number);
        if (failed(func))
          return failure();
        made.back().push_back(*func);
      }
    made.back().push_back(sliceUpdate(update, *owners, stage));
  }
  // Each stage has its own.
  for (auto mesh : llvm::make_early_inc_range(module.getOps<MeshOp>()))
    mesh.erase();
  for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    func.erase();
  for (ModuleOp stage : made)
    module.push_back(stage);
  return success();
}
