//===- Pipelines.cpp - The phases, in order -------------------------------===//

#include "hone/Pipelines/Pipelines.h"

#include "Nesting.h"
#include "hone/Codegen/Passes.h"
#include "hone/IR/PackageFunction.h"
#include "hone/Sharding/Passes.h"
#include "hone/Support/ParseFile.h"
#include "hone/Target/Passes.h"
#include "hone/Transforms/Passes.h"
#include "hone/Transforms/Precision/Policy.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace hone;

/// The policy of `options`; one that does nothing for an unknown name, which
/// the passes report.
static PrecisionPolicy policyOf(const PipelineOptions &options) {
  const PrecisionPolicy *policy = findPrecisionPolicy(options.precision);
  return policy ? *policy : getPrecisionPolicies().front();
}

/// Adds a pass that may be left out.
static void addOptional(OpPassManager &manager, std::unique_ptr<Pass> pass,
                        const PipelineOptions &options) {
  assert(llvm::is_contained(getOptionalPasses(), pass->getArgument()) &&
         "not in the list");
  if (!llvm::is_contained(options.without, pass->getArgument()))
    manager.addPass(std::move(pass));
}

/// Folds, merges equal values and drops unused ones.
static void addCleanup(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

//===----------------------------------------------------------------------===//
// Packages that hold a whole step
//===----------------------------------------------------------------------===//

namespace {
/// Rejects options that would change how @forward becomes @step, of a package
/// that holds @step, and those that contradict each other.
struct CheckForwardOptions
    : PassWrapper<CheckForwardOptions, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckForwardOptions)

  explicit CheckForwardOptions(PipelineOptions options)
      : options(std::move(options)) {}

  StringRef getName() const override { return "CheckForwardOptions"; }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool hasRanks = !options.ranks.mesh.empty() ||
                    !getOperation().getOps<dist::MeshOp>().empty();
    if (hasRanks && !options.with.empty()) {
      getOperation().emitError("option 'with' adds functions of one rank, "
                               "expected no mesh; weights of any mesh are "
                               "read by a program without one (--init)");
      return signalPassFailure();
    }
    if (!holdsWholeStep(getOperation()))
      return;
    for (const PipelineOption &option : getPipelineOptions())
      if (option.needsForward && !option.isInitial(options)) {
        getOperation().emitError("the package holds a whole step, which option "
                                 "'")
            << option.name << "' cannot change; expected none, or an export of "
            << "the loss";
        return signalPassFailure();
      }
  }

  PipelineOptions options;
};
} // namespace

//===----------------------------------------------------------------------===//
// Borders
//===----------------------------------------------------------------------===//

void hone::buildBorder(Phase phase, OpPassManager &manager) {
  switch (phase) {
  case Phase::Import:
  // @forward is still what a front end could have written.
  case Phase::Raise:
    return manager.addPass(createVerifyImport());
  case Phase::Pad:
    return addOnForward(manager, [](OpPassManager &passes) {
      passes.addPass(createVerifyPad());
    });
  case Phase::Precision:
    return addOnForward(manager, [](OpPassManager &passes) {
      passes.addPass(createVerifyPrecision());
    });
  case Phase::Autodiff:
    return addOnForward(manager, [](OpPassManager &passes) {
      passes.addPass(createVerifyGradient());
    });
  case Phase::Step:
  case Phase::Shard:
    return addOnStages(manager, [](OpPassManager &passes) {
      passes.addPass(createVerifyStep());
    });
  case Phase::Fuse:
  case Phase::Checkpoint:
    return addOnStages(manager, [](OpPassManager &passes) {
      passes.addNestedPass<func::FuncOp>(createVerifyGroups());
    });
  case Phase::Plan:
    return manager.addPass(createVerifyPlan());
  case Phase::Lower:
    return manager.addPass(createVerifyLower());
  case Phase::LLVM:
    return manager.addPass(createVerifyLLVM());
  }
}

//===----------------------------------------------------------------------===//
// On tensors
//===----------------------------------------------------------------------===//

void hone::buildImportPhase(OpPassManager &manager,
                            const PipelineOptions &options) {
  if (!options.target.empty())
    manager.addPass(createSetTarget({options.target, options.arch}));
  if (options.exact)
    manager.addPass(createSetMeshInvariant());
  buildBorder(Phase::Import, manager);
  manager.addPass(std::make_unique<CheckForwardOptions>(options));
}

void hone::buildRaisePhase(OpPassManager &manager,
                           const PipelineOptions &options) {
  // Exporters repeat masks, tables and casts per layer: the patterns match one
  // canonical form of each.
  addCleanup(manager);
  // Before norms over channels are looked for, which are last then.
  manager.nest<func::FuncOp>().addPass(createSinkTransposes());
  addCleanup(manager);
  // The backward part of a whole step reads what named ops would hide.
  addOnForward(manager,
               [](OpPassManager &passes) { passes.addPass(createRaise()); });
  // After attention and rotations are found, whose patterns know transposes.
  manager.nest<func::FuncOp>().addPass(createSimplifyContractions());
  manager.nest<func::FuncOp>().addPass(createSinkTransposes({/*all=*/true}));
  manager.nest<func::FuncOp>().addPass(createSinkReshapes());
  // What a raised op made superfluous, and masks that only it read.
  addCleanup(manager);
  // After losses are found, before padding gives tables rows that are no ids.
  manager.addPass(createBoundIds());
  manager.addPass(createGuardIds());
  // After attention and rotations are one op each, whose tables of positions
  // stay; what it looks up is in range by construction, and needs no guard.
  if (int64_t end; !StringRef(options.documents).getAsInteger(10, end))
    addOnForward(manager, [&](OpPassManager &passes) {
      passes.addPass(createSeparateDocuments({end}));
    });
  buildBorder(Phase::Raise, manager);
}

void hone::buildPadPhase(OpPassManager &manager,
                         const PipelineOptions &options) {
  // Both before autodiff: gradients and state follow the parameters. Packing
  // first, so that one padding serves all parts.
  PackProjectionsOptions pack;
  pack.optimizer = options.optimizer;
  pack.report = options.report;
  // With exact, one rank and many add the terms of the same products.
  pack.tensorRanks =
      options.exact ? 1 : dist::sizeOfAxis(options.ranks.mesh, "tp");
  addOptional(manager, createPackProjections(pack), options);
  addOptional(manager.nest<func::FuncOp>(), createJoinRotations(), options);
  PadDimsOptions pad;
  pad.multiple = options.pad;
  pad.precision = options.precision;
  pad.optimizer = options.optimizer;
  pad.report = options.report;
  manager.addPass(createPadDims(pad));
  // Equal masks of several readers become one.
  addCleanup(manager);
  buildBorder(Phase::Pad, manager);
}

void hone::buildPrecisionPhase(OpPassManager &manager,
                               const PipelineOptions &options) {
  MixedPrecisionOptions precision;
  precision.policy = options.precision;
  precision.stream = options.stream;
  precision.keep = options.fp8Keep;
  precision.small = options.fp8Small;
  precision.report = options.report;
  manager.addPass(createMixedPrecision(precision));
  // f32 versions of values that only low readers were left of.
  addCleanup(manager);
  buildBorder(Phase::Precision, manager);
}

void hone::buildAutodiffPhase(OpPassManager &manager,
                              const PipelineOptions &options) {
  // Before gradients are made of the ops that it replaces.
  const std::string &mesh = options.ranks.mesh;
  DistBlockExpertsOptions blocks;
  blocks.groups = dist::sizeOfAxis(mesh, "ep");
  blocks.blocks = dist::batchRanks(mesh);
  blocks.mesh = mesh;
  if (!options.ranks.experts.empty())
    blocks.lowering = options.ranks.experts;
  if (!options.moeFactor.empty())
    StringRef(options.moeFactor).getAsDouble(blocks.factor);
  blocks.overflow = options.moeOverflow;
  blocks.report = options.report;
  if (!mesh.empty() && blocks.groups * blocks.blocks != 1)
    manager.addPass(createDistBlockExperts(blocks));
  // Before, so that the gradient of what is handed on is handed back.
  if (options.ranks.stages > 1)
    manager.addPass(createDistAssignStages(
        {options.ranks.stages, options.ranks.schedule, options.cuts}));
  // Micro-batches are averaged: each contributes its gradient over their
  // number, so the loss is seeded with the quotient.
  AutodiffOptions autodiff;
  autodiff.seed = 1.0 / options.microBatches;
  autodiff.scaleLoss = policyOf(options).scalesLoss;
  manager.addPass(createAutodiff(autodiff));
  // Rules write each gradient from scratch: sums with zero, transposes of
  // transposes and values that two rules recompute alike go here.
  addCleanup(manager);
  if (policyOf(options).low != PrecisionPolicy::Low::None)
    manager.nest<func::FuncOp>().addPass(createWidenGradients());
  buildBorder(Phase::Autodiff, manager);
}

void hone::buildStepPhase(OpPassManager &manager,
                          const PipelineOptions &options) {
  BuildStepOptions step;
  step.microBatches = options.microBatches;
  step.keepGradients = options.keepGradients;
  step.optimizer = options.optimizer;
  step.moments = options.moments;
  step.lr = options.lr;
  step.weightDecay = options.weightDecay;
  step.clip = options.clip;
  step.lossScale = options.lossScale;
  addOnForward(manager, [&](OpPassManager &passes) {
    // Before weights that it reads are stored in another type.
    if (llvm::is_contained(options.with, "generate"))
      passes.addPass(createBuildGenerate());
    passes.addPass(createBuildStep(step));
    if (options.gradients != "f32")
      passes.addPass(createLowGradients({options.gradients}));
    if (policyOf(options).hasLowState)
      passes.addPass(createLowState());
    // After the step is whole: a working copy is made by the update.
    addOptional(passes, createWorkingCopies(), options);
    addCleanup(passes);
  });
  buildBorder(Phase::Step, manager);
}

/// What leads from annotations to the functions of a rank.
static void addPartitionPasses(OpPassManager &manager,
                               const PipelineOptions &options) {
  // Sums over a parameter that ranks divide are ops of their own.
  manager.addNestedPass<func::FuncOp>(createDecomposeUpdates());
  manager.addPass(createDistPropagate());
  DistPartitionOptions partition;
  partition.report = options.report;
  manager.addPass(createDistPartition(partition));
  if (options.overlapPieces != 1) {
    DistSplitForOverlapOptions split;
    split.pieces = options.overlapPieces;
    split.report = options.report;
    manager.addPass(createDistSplitForOverlap(split));
  }
  manager.addPass(createDistVerify());
  manager.addPass(createDistLowerBlocks());
  manager.addPass(createDistLowerRings());
  manager.addPass(createDistLowerCollectives());
  addOptional(manager, createDistBucketCollectives(), options);
  // Coordinates and moves that several parts share.
  addCleanup(manager);
}

/// The passes of the shard phase, of a module that a recipe or a user divides.
static void addShardPasses(OpPassManager &manager,
                           const PipelineOptions &options) {
  const dist::Recipe &recipe = options.ranks;
  DistAnnotateOptions annotate;
  annotate.mesh = recipe.mesh;
  if (!recipe.fsdp.empty())
    annotate.fsdp = recipe.fsdp;
  annotate.sequence = recipe.sequence;
  if (!recipe.context.empty())
    annotate.context = recipe.context;
  annotate.report = options.report;
  manager.addPass(createDistAnnotate(annotate));
  if (recipe.stages == 1)
    return addPartitionPasses(manager, options);
  // Once for the whole, so that both ends of a boundary are divided alike.
  manager.addPass(createDistPropagate());
  manager.addPass(createDistSplitStages({options.ranks.schedule}));
  addOnStages(manager, [&](OpPassManager &passes) {
    addPartitionPasses(passes, options);
  });
}

namespace {
/// Passes of a module that has a mesh: where none is asked for, only the module
/// tells whether a user has annotated one.
struct OnMesh : PassWrapper<OnMesh, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OnMesh)

  explicit OnMesh(std::function<void(OpPassManager &)> build)
      : build(std::move(build)) {}

  StringRef getName() const override { return "OnMesh"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<HoneDialect, dist::DistDialect>();
  }

  void runOnOperation() override {
    if (getOperation().getOps<dist::MeshOp>().empty())
      return markAllAnalysesPreserved();
    OpPassManager manager(ModuleOp::getOperationName());
    build(manager);
    if (failed(runPipeline(manager, getOperation())))
      signalPassFailure();
  }

  std::function<void(OpPassManager &)> build;
};
} // namespace

void hone::buildShardPhase(OpPassManager &manager,
                           const PipelineOptions &options) {
  if (!options.ranks.mesh.empty())
    return addShardPasses(manager, options);
  manager.addPass(std::make_unique<OnMesh>(
      [options](OpPassManager &passes) { addShardPasses(passes, options); }));
  // One rank rounds where several do.
  if (options.exact)
    manager.addNestedPass<func::FuncOp>(createDecomposeUpdates());
}

//===----------------------------------------------------------------------===//
// Groups, plan, kernels
//===----------------------------------------------------------------------===//

void hone::buildQuantizedProducts(OpPassManager &functions,
                                  const PipelineOptions &options) {
  functions.addPass(
      createQuantizeProducts({options.fp8Gradients, options.report}));
}

void hone::buildChunkedLoss(OpPassManager &functions,
                            const PipelineOptions &options) {
  functions.addPass(createChunkLoss({options.chunkLoss, options.report}));
}

void hone::buildFusePhase(OpPassManager &manager,
                          const PipelineOptions &options) {
  if (options.attention != "unfused" && !options.attentionTool.empty())
    manager.addPass(createPlanAttention(
        {options.attentionTool, options.emulate, options.deterministicAttention,
         /*required=*/options.attention == "fused", options.report},
        options.attentionAnswers));
  // On what a rank has: no tile of codes crosses its border. Before values move
  // into one another: equal values have codes once.
  buildQuantizedProducts(manager.nest<func::FuncOp>(), options);
  // Before anything else moves between weights and their codes.
  addOptional(manager, createHoistWeightCodes({options.report}), options);
  const PrecisionPolicy *policy = findPrecisionPolicy(options.precision);
  // Gathers of scales came after buckets of collectives were made.
  if (policy && policy->codes)
    manager.addPass(std::make_unique<OnMesh>([options](OpPassManager &passes) {
      addOptional(passes, createDistBucketCollectives(), options);
    }));
  OpPassManager &functions = manager.nest<func::FuncOp>();
  // Gradients of a split projection are one tensor again before anything asks
  // who reads the parts.
  functions.addPass(createJoinPads());
  // Its transposes, too, may meet others, and its products take the same form.
  // Merges of a ring have no kernel, whatever attention has. Without a tool no
  // attention is marked: where it is to be fused, all of it stays.
  if (options.attention != "fused" || !options.attentionTool.empty())
    functions.addPass(createDecomposeAttention(
        {/*keepFused=*/options.attention != "unfused"}));
  // While norms and softmax are one op each: a transpose that it adds may fold
  // with one around them.
  functions.addPass(createNormalizeContractions());
  addCleanup(functions);
  // The loss is one op still, and its contractions are in their last form.
  buildChunkedLoss(functions, options);
  // The analysis knows primitives only.
  functions.addPass(createDecomposeUpdates());
  functions.addPass(createDecomposeRows());
  // Backward ops recompute what forward ops have: share it, then group.
  addCleanup(functions);
  addOptional(functions, createRecomputeMaps({options.report}), options);
  // Nothing merges equal values from here on.
  functions.addPass(createExpandWeights());
  auto has = [&](StringRef part) {
    return !llvm::is_contained(options.without, part);
  };
  functions.addPass(
      createFuseGroups({options.report, has("epilogues"), has("regions")}));
  addOptional(functions, createFuseIntoCodes(), options);
  buildBorder(Phase::Fuse, manager);
}

void hone::buildCheckpointPhase(OpPassManager &manager,
                                const PipelineOptions &options) {
  bool moves = options.offload == "auto" || options.offload == "activations";
  PlanCheckpointsOptions checkpoints;
  checkpoints.budget = options.memoryBudget;
  checkpoints.policy = options.checkpoint;
  checkpoints.report = options.report;
  checkpoints.hostMemory = options.hostMemory;
  checkpoints.overlap = options.overlap;
  checkpoints.moves = moves ? std::max<int64_t>(options.offloadLeast, 1) : 0;
  // Before recomputation, which then finds the arena without that state.
  if (options.offload != "off") {
    OffloadStateOptions offload;
    offload.what = options.offload;
    offload.chunk = options.offloadChunk;
    offload.budget = options.memoryBudget;
    offload.hostMemory = options.hostMemory;
    offload.moves = checkpoints.moves;
    offload.overlap = options.overlap;
    offload.least = std::max<int64_t>(options.offloadLeast, 1);
    offload.report = options.report;
    manager.addPass(createOffloadState(offload));
  }
  // On groups: a value is recomputed by the kernel that made it, bit for bit.
  manager.addPass(createPlanCheckpoints(checkpoints));
  manager.addNestedPass<func::FuncOp>(createApplyCheckpoints());
  // Visits of a layer are known when kernels run in their order.
  if (options.offload == "auto" || options.offload == "weights")
    manager.addNestedPass<func::FuncOp>(createStreamWeights());
  buildBorder(Phase::Checkpoint, manager);
}

void hone::buildPlanPhase(OpPassManager &manager,
                          const PipelineOptions &options) {
  addOnStages(manager, [&](OpPassManager &passes) {
    passes.addPass(createSplitTurns());
    passes.addPass(createOverlapTurns());
    if (options.overlap != "off") {
      OverlapCollectivesOptions overlap;
      overlap.budget = options.memoryBudget;
      overlap.always = options.overlap == "on";
      overlap.report = options.report;
      passes.addPass(createOverlapCollectives(overlap));
    }
    PlanMemoryOptions plan;
    plan.report = options.report;
    passes.addPass(createPlanMemory(plan));
  });
  manager.addPass(createJoinStages());
  buildBorder(Phase::Plan, manager);
}

void hone::buildLowerPhase(OpPassManager &manager) {
  manager.addPass(createLowerToKernels());
  buildBorder(Phase::Lower, manager);
}

//===----------------------------------------------------------------------===//
// LLVM
//===----------------------------------------------------------------------===//

void hone::buildLLVMPhase(OpPassManager &manager) {
  // Before anything scalarises vectors: the polynomials are vector code.
  manager.addPass(createApproximateMath());
  // Common subexpressions between polynomials of one argument, and invariant
  // scalars out of loops.
  addCleanup(manager);
  // Transfers of more than one dimension become loops over rows.
  manager.addPass(createConvertVectorToSCFPass());
  // vector-to-scf computes addresses with affine.apply.
  manager.addPass(createLowerAffinePass());
  manager.addPass(createConvertSCFToCFPass());
  manager.addPass(createConvertVectorToLLVMPass());
  // Subviews and strided buffers become address arithmetic (affine again).
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  // What has no polynomial has an instruction: sqrt, fma, abs.
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  // Shapes are static: a buffer is passed as its address alone.
  ConvertFuncToLLVMPassOptions func;
  func.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(func));
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  // Entries call kernels by their lowered signature.
  manager.addPass(createBindKernels());
  addCleanup(manager);
  // Casts that the partial conversions left between them.
  manager.addPass(createReconcileUnrealizedCastsPass());
  buildBorder(Phase::LLVM, manager);
}

void hone::buildDevicePhase(OpPassManager &manager) {
  OpPassManager &code = manager.nest<gpu::GPUModuleOp>();
  // As on the CPU: functions first, while vectors are whole.
  code.addPass(createApproximateDeviceMath());
  addCleanup(code);
  code.addPass(createConvertVectorToSCFPass());
  code.addPass(createLowerAffinePass());
  code.addPass(createConvertSCFToCFPass());
  code.addPass(memref::createExpandStridedMetadataPass());
  code.addPass(createLowerAffinePass());
  // One conversion for the rest: memory spaces are known to it alone.
  code.addPass(createLowerDeviceCode());
  // Casts between buffers and their parts, of emitters that have the latter.
  code.addPass(createReconcileUnrealizedCastsPass());
  addCleanup(code);
  code.addPass(createVerifyDeviceCode());
}

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

void hone::buildPhase(Phase phase, OpPassManager &manager,
                      const PipelineOptions &options) {
  switch (phase) {
  case Phase::Import:
    return buildImportPhase(manager, options);
  case Phase::Raise:
    return buildRaisePhase(manager, options);
  case Phase::Pad:
    return addOnForward(manager, [&](OpPassManager &passes) {
      buildPadPhase(passes, options);
    });
  case Phase::Precision:
    return addOnForward(manager, [&](OpPassManager &passes) {
      buildPrecisionPhase(passes, options);
    });
  case Phase::Autodiff:
    return addOnForward(manager, [&](OpPassManager &passes) {
      buildAutodiffPhase(passes, options);
    });
  case Phase::Step:
    return buildStepPhase(manager, options);
  case Phase::Shard:
    return buildShardPhase(manager, options);
  case Phase::Fuse:
    return addOnStages(manager, [&](OpPassManager &passes) {
      buildFusePhase(passes, options);
    });
  case Phase::Checkpoint:
    return addOnStages(manager, [&](OpPassManager &passes) {
      buildCheckpointPhase(passes, options);
    });
  case Phase::Plan:
    return buildPlanPhase(manager, options);
  case Phase::Lower:
    return buildLowerPhase(manager);
  case Phase::LLVM:
    return buildLLVMPhase(manager);
  }
}

llvm::Error hone::buildPhases(OpPassManager &manager,
                              const PipelineOptions &options) {
  Phase from = phaseOf(options.from), upto = phaseOf(options.upto);
  if (from > upto)
    return makeError("from is '" + options.from +
                     "', expected a phase up to '" + options.upto +
                     "', where upto ends");
  for (auto [name, phase] : getPhases()) {
    bool isBehind = phase > upto;
    if (phase < from || isBehind)
      continue;
    if (phase == from && phase != Phase::Import)
      buildBorder(Phase(int(phase) - 1), manager);
    buildPhase(phase, manager, options);
  }
  return llvm::Error::success();
}
