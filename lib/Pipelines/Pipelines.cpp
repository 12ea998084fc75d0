//===- Pipelines.cpp - The phases, in order -------------------------------===//

#include "hone/Pipelines/Pipelines.h"

#include "hone/Conversion/Passes.h"
#include "hone/Dist/Passes.h"
#include "hone/Support/NearestName.h"
#include "hone/Target/Passes.h"
#include "hone/Transforms/Passes.h"
#include "hone/Transforms/PrecisionPolicy.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace hone;

llvm::ArrayRef<std::pair<llvm::StringLiteral, Phase>> hone::getPhases() {
  static constexpr std::pair<llvm::StringLiteral, Phase> phases[] = {
      {"import", Phase::Import},
      {"raise", Phase::Raise},
      {"pad", Phase::Pad},
      {"precision", Phase::Precision},
      {"autodiff", Phase::Autodiff},
      {"step", Phase::Step},
      {"shard", Phase::Shard},
      {"fuse", Phase::Fuse},
      {"checkpoint", Phase::Checkpoint},
      {"plan", Phase::Plan},
      {"lower", Phase::Lower},
      {"llvm", Phase::LLVM}};
  return phases;
}

llvm::ArrayRef<std::pair<llvm::StringLiteral, AttentionKernels>>
hone::getAttentionKernels() {
  static constexpr std::pair<llvm::StringLiteral, AttentionKernels> names[] = {
      {"auto", AttentionKernels::Auto},
      {"fused", AttentionKernels::Fused},
      {"unfused", AttentionKernels::Unfused}};
  return names;
}

bool hone::isAutoOffOrCount(StringRef value) {
  int64_t count = 0;
  return value == "auto" || value == "off" ||
         (!value.getAsInteger(10, count) && count > 0);
}

/// The policy of `options`; one that does nothing for an unknown name, which
/// the passes report.
static PrecisionPolicy policyOf(const PipelineOptions &options) {
  const PrecisionPolicy *policy = findPrecisionPolicy(options.precision);
  return policy ? *policy : getPrecisionPolicies().front();
}

llvm::ArrayRef<llvm::StringLiteral> hone::getDispensables() {
  static constexpr llvm::StringLiteral names[] = {
      "hone-pack-projections",  "hone-join-rotations", "hone-shadow-parameters",
      "hone-recompute-maps",    "epilogues",           "regions",
      "dist-bucket-collectives"};
  return names;
}

/// Adds a pass that may be left out.
static void addDispensable(OpPassManager &manager, std::unique_ptr<Pass> pass,
                           const PipelineOptions &options) {
  assert(llvm::is_contained(getDispensables(), pass->getArgument()) &&
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
// On tensors
//===----------------------------------------------------------------------===//

void hone::buildImportPhase(OpPassManager &manager,
                            const PipelineOptions &options) {
  if (!options.target.empty())
    manager.addPass(createSetTarget({options.target, options.arch}));
  if (options.exact)
    manager.addPass(createSetExact());
  manager.addPass(createVerifyImport());
}

void hone::buildRaisePhase(OpPassManager &manager) {
  // Exporters repeat masks, tables and casts per layer: the patterns match one
  // canonical form of each.
  addCleanup(manager);
  manager.addPass(createRaise());
  manager.nest<func::FuncOp>().addPass(createSinkReshapes());
  // What a raised op made superfluous, and masks that only it read.
  addCleanup(manager);
  // After losses are found, before padding gives tables rows that are no ids.
  manager.addPass(createBoundIds());
  manager.addPass(createGuardIds());
  // @forward is still what a front end could have written.
  manager.addPass(createVerifyImport());
}

void hone::buildPadPhase(OpPassManager &manager,
                         const PipelineOptions &options) {
  // Both before autodiff: gradients and state follow the parameters. Packing
  // first, so that one padding serves all parts.
  addDispensable(
      manager, createPackProjections({options.step.optimizer, options.report}),
      options);
  addDispensable(manager.nest<func::FuncOp>(), createJoinRotations(), options);
  PadDimsOptions pad;
  pad.multiple = options.pad;
  pad.precision = options.precision;
  pad.optimizer = options.step.optimizer;
  pad.report = options.report;
  manager.addPass(createPadDims(pad));
  // Equal masks of several readers become one.
  addCleanup(manager);
  manager.addPass(createVerifyPad());
}

void hone::buildPrecisionPhase(OpPassManager &manager,
                               const PipelineOptions &options) {
  MixedPrecisionOptions precision;
  precision.policy = options.precision;
  precision.stream = options.stream;
  manager.addPass(createMixedPrecision(precision));
  // f32 versions of values that only low readers were left of.
  addCleanup(manager);
  manager.addPass(createVerifyPrecision());
}

void hone::buildAutodiffPhase(OpPassManager &manager,
                              const PipelineOptions &options) {
  // Micro-batches are averaged: each contributes its gradient over their
  // number, so the loss is seeded with the quotient.
  AutodiffOptions autodiff;
  autodiff.seed = 1.0 / options.step.microBatches;
  autodiff.scaleLoss = policyOf(options).scalesLoss;
  manager.addPass(createAutodiff(autodiff));
  // Rules write each gradient from scratch: sums with zero, transposes of
  // transposes and values that two rules recompute alike go here.
  addCleanup(manager);
  if (policyOf(options).low != PrecisionPolicy::Low::None)
    manager.nest<func::FuncOp>().addPass(createWidenGradients());
  manager.addPass(createVerifyGradient());
}

void hone::buildStepPhase(OpPassManager &manager,
                          const PipelineOptions &options) {
  BuildStepOptions step;
  step.microBatches = options.step.microBatches;
  step.keepGradients = options.step.keepGradients;
  step.optimizer = options.step.optimizer;
  step.moments = options.step.moments;
  step.lr = options.step.lr;
  step.weightDecay = options.step.weightDecay;
  step.clip = options.step.clip;
  step.lossScale = options.step.lossScale;
  manager.addPass(createBuildStep(step));
  if (policyOf(options).hasLowState)
    manager.addPass(createLowState());
  // After the step is whole: a shadow is made by the update.
  addDispensable(manager, createShadowParameters(), options);
  addCleanup(manager);
  manager.addPass(createVerifyStep());
}

/// The passes of the shard phase, of a module that a recipe or a user divides.
static void addShardPasses(OpPassManager &manager,
                           const PipelineOptions &options) {
  const dist::Recipe &recipe = options.recipe;
  DistAnnotateOptions annotate;
  annotate.mesh = recipe.mesh;
  if (!recipe.fsdp.empty())
    annotate.fsdp = recipe.fsdp;
  annotate.sequence = recipe.sequence;
  manager.addPass(createDistAnnotate(annotate));
  // Sums over a parameter that ranks divide are ops of their own.
  manager.addNestedPass<func::FuncOp>(createDecomposeUpdates());
  manager.addPass(createDistPropagate());
  DistPartitionOptions partition;
  partition.report = options.report;
  manager.addPass(createDistPartition(partition));
  manager.addPass(createDistVerify());
  manager.addPass(createDistLowerCollectives());
  addDispensable(manager, createDistBucketCollectives(), options);
  // Coordinates and moves that several parts share.
  addCleanup(manager);
}

namespace {
/// The shard phase without a recipe: only the module tells whether a user has
/// annotated it.
struct ShardAnnotated : PassWrapper<ShardAnnotated, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShardAnnotated)

  explicit ShardAnnotated(PipelineOptions options)
      : options(std::move(options)) {}

  StringRef getName() const override { return "ShardAnnotated"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<HoneDialect, dist::DistDialect>();
  }

  void runOnOperation() override {
    if (getOperation().getOps<dist::MeshOp>().empty())
      return markAllAnalysesPreserved();
    OpPassManager manager(ModuleOp::getOperationName());
    addShardPasses(manager, options);
    if (failed(runPipeline(manager, getOperation())))
      signalPassFailure();
  }

  PipelineOptions options;
};
} // namespace

void hone::buildShardPhase(OpPassManager &manager,
                           const PipelineOptions &options) {
  if (!options.recipe.mesh.empty())
    return addShardPasses(manager, options);
  manager.addPass(std::make_unique<ShardAnnotated>(options));
  // One rank rounds where several do.
  if (options.exact)
    manager.addNestedPass<func::FuncOp>(createDecomposeUpdates());
}

//===----------------------------------------------------------------------===//
// Groups, plan, kernels
//===----------------------------------------------------------------------===//

void hone::buildChunkedLoss(OpPassManager &functions,
                            const PipelineOptions &options) {
  functions.addPass(createChunkLoss({options.chunkLoss, options.report}));
}

void hone::buildFusePhase(OpPassManager &manager,
                          const PipelineOptions &options) {
  if (options.attention != AttentionKernels::Unfused &&
      !options.library.tool.empty())
    manager.addPass(createPlanAttention(
        {options.library.tool, options.library.emulates,
         options.library.isDeterministic,
         /*required=*/options.attention == AttentionKernels::Fused,
         options.report},
        options.library.answers));
  OpPassManager &functions = manager.nest<func::FuncOp>();
  // Gradients of a split projection are one tensor again before anything asks
  // who reads the parts.
  functions.addPass(createJoinPads());
  // Its transposes, too, may meet others, and its products take the same form.
  if (options.attention != AttentionKernels::Fused)
    functions.addPass(createDecomposeAttention(
        {/*keepFused=*/options.attention == AttentionKernels::Auto}));
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
  addDispensable(functions, createRecomputeMaps({options.report}), options);
  auto has = [&](StringRef part) {
    return !llvm::is_contained(options.without, part);
  };
  functions.addPass(
      createFuseGroups({options.report, has("epilogues"), has("regions")}));
  functions.addPass(createVerifyGroups());
}

void hone::buildCheckpointPhase(OpPassManager &manager,
                                const PipelineOptions &options) {
  // On groups: a value is redone by the kernel that made it, bit for bit.
  manager.addPass(createPlanCheckpoints(
      {options.memoryBudget, options.checkpoint, options.report}));
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createApplyCheckpoints());
  functions.addPass(createVerifyGroups());
}

void hone::buildPlanPhase(OpPassManager &manager,
                          const PipelineOptions &options) {
  if (options.overlap != "off") {
    OverlapCollectivesOptions overlap;
    overlap.budget = options.memoryBudget;
    overlap.always = options.overlap == "on";
    overlap.report = options.report;
    manager.addPass(createOverlapCollectives(overlap));
  }
  PlanMemoryOptions plan;
  plan.report = options.report;
  manager.addPass(createPlanMemory(plan));
  manager.addPass(createVerifyPlan());
}

void hone::buildLowerPhase(OpPassManager &manager) {
  manager.addPass(createLowerToKernels());
  manager.addPass(createVerifyLower());
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
  manager.addPass(createVerifyLLVM());
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
// Registration
//===----------------------------------------------------------------------===//

void hone::buildPhase(Phase phase, OpPassManager &manager,
                      const PipelineOptions &options) {
  switch (phase) {
  case Phase::Import:
    return buildImportPhase(manager, options);
  case Phase::Raise:
    return buildRaisePhase(manager);
  case Phase::Pad:
    return buildPadPhase(manager, options);
  case Phase::Precision:
    return buildPrecisionPhase(manager, options);
  case Phase::Autodiff:
    return buildAutodiffPhase(manager, options);
  case Phase::Step:
    return buildStepPhase(manager, options);
  case Phase::Shard:
    return buildShardPhase(manager, options);
  case Phase::Fuse:
    return buildFusePhase(manager, options);
  case Phase::Checkpoint:
    return buildCheckpointPhase(manager, options);
  case Phase::Plan:
    return buildPlanPhase(manager, options);
  case Phase::Lower:
    return buildLowerPhase(manager);
  case Phase::LLVM:
    return buildLLVMPhase(manager);
  }
}

namespace {
/// Options of `--hone-pipeline`.
struct CommandLine : PassPipelineOptions<CommandLine> {
  // Words, not enumerations: LLVM's error would not list what there is.
  Option<std::string> upto{*this, "upto",
                           llvm::cl::desc("Last phase to run: import, raise, "
                                          "pad, precision, autodiff, step, "
                                          "shard, fuse, checkpoint, plan, "
                                          "lower or llvm"),
                           llvm::cl::init("llvm")};
  Option<int64_t> microBatches{
      *this, "micro-batches",
      llvm::cl::desc("Micro-batches whose gradients one step adds"),
      llvm::cl::init(1)};
  Option<bool> keepGradients{
      *this, "keep-gradients",
      llvm::cl::desc("Return the gradients from the step"),
      llvm::cl::init(false)};
  Option<std::string> optimizer{
      *this, "optimizer",
      llvm::cl::desc("Optimizer; default: that of the package")};
  Option<std::string> moments{
      *this, "moments",
      llvm::cl::desc("Moments in fp32, bf16 or 8bit; default: the package's")};
  Option<std::string> pad{
      *this, "pad", llvm::cl::desc("Padding of parameters: auto, off or N"),
      llvm::cl::init("auto")};
  Option<std::string> precision{
      *this, "precision", llvm::cl::desc("Policy of hone-mixed-precision"),
      llvm::cl::init("fp32")};
  Option<std::string> stream{
      *this, "stream",
      llvm::cl::desc("Sums of f32 and low activations: f32 or low"),
      llvm::cl::init("f32")};
  Option<double> lossScale{*this, "loss-scale",
                           llvm::cl::desc("First loss scale of fp16"),
                           llvm::cl::init(65536)};
  Option<std::string> target{
      *this, "target", llvm::cl::desc("cpu or cuda; default: the module's")};
  Option<std::string> arch{*this, "arch",
                           llvm::cl::desc("With target: znver4, sm_90, ...")};
  Option<bool> report{*this, "report",
                      llvm::cl::desc("Explain each group in a remark"),
                      llvm::cl::init(false)};
  Option<std::string> chunkLoss{
      *this, "chunk-loss",
      llvm::cl::desc("Rows of logits at a time, auto (default) or off"),
      llvm::cl::init("auto")};
  Option<std::string> attention{
      *this, "attention",
      llvm::cl::desc("Attention: auto (fused where the target has it), fused "
                     "or unfused"),
      llvm::cl::init("auto")};
  Option<std::string> attentionTool{
      *this, "attention-tool",
      llvm::cl::desc("With target=cuda: whom hone-plan-attention asks")};
  Option<bool> emulate{*this, "emulate",
                       llvm::cl::desc("Ask it for the emulated library"),
                       llvm::cl::init(false)};
  Option<bool> deterministicAttention{
      *this, "deterministic-attention",
      llvm::cl::desc("Ask it for kernels that give equal bits"),
      llvm::cl::init(false)};
  Option<int64_t> memoryBudget{
      *this, "memory-budget",
      llvm::cl::desc("Bytes of the arena that checkpoints are chosen for"),
      llvm::cl::init(0)};
  Option<std::string> checkpoint{
      *this, "checkpoint",
      llvm::cl::desc(
          "What stays for the backward pass: auto, none, full, sqrt"),
      llvm::cl::init("auto")};
  Option<std::string> mesh{*this, "mesh",
                           llvm::cl::desc("Axes of ranks: rep=2,fs=4@nvlink")};
  Option<std::string> recipe{
      *this, "recipe",
      llvm::cl::desc("How they divide the step: fsdp, zero1, sp, tp=4, ...")};
  Option<bool> exact{
      *this, "exact",
      llvm::cl::desc("Bits that do not depend on the mesh (hone-set-exact)"),
      llvm::cl::init(false)};
  Option<std::string> overlap{
      *this, "overlap",
      llvm::cl::desc("Collectives beside kernels: auto (on GPUs), on or off"),
      llvm::cl::init("auto")};
  ListOption<std::string> without{
      *this, "without",
      llvm::cl::desc("Passes to leave out that only save time or memory")};
  PipelineOptions get() const {
    PipelineOptions options;
    options.target = target;
    options.arch = arch;
    options.chunkLoss = chunkLoss;
    options.library.tool = attentionTool;
    options.library.emulates = emulate;
    options.library.isDeterministic = deterministicAttention;
    options.exact = exact;
    options.overlap = overlap;
    options.report = report;
    options.memoryBudget = memoryBudget;
    options.checkpoint = checkpoint;
    options.without.assign(without.begin(), without.end());
    options.step.microBatches = microBatches;
    options.step.keepGradients = keepGradients;
    options.step.optimizer = optimizer;
    options.step.moments = moments;
    options.step.lossScale = lossScale;
    options.pad = pad;
    options.precision = precision;
    options.stream = stream;
    return options;
  }
};
} // namespace

/// What `word`, the value of the option `name`, stands for.
template <typename T>
static LogicalResult
readWord(StringRef name, StringRef word,
         ArrayRef<std::pair<llvm::StringLiteral, T>> meanings, T &result,
         function_ref<LogicalResult(const Twine &)> error) {
  std::string list;
  for (auto [known, meaning] : meanings) {
    if (known == word) {
      result = meaning;
      return success();
    }
    bool isLast = known == meanings.back().first;
    list += (list.empty() ? "" : isLast ? " or " : ", ") + known.str();
  }
  return error(name + " is '" + word + "', expected " +
               suggestWord(word, list));
}

/// The phases up to one, as the text of the options says.
static LogicalResult
buildPipeline(OpPassManager &manager, StringRef text,
              function_ref<LogicalResult(const Twine &)> error) {
  CommandLine options;
  if (failed(options.parseFromString(text)))
    return failure();
  llvm::Expected<dist::Recipe> recipe =
      dist::parseRecipe(options.mesh, options.recipe);
  if (!recipe)
    return error(llvm::toString(recipe.takeError()));
  PipelineOptions pipeline = options.get();
  pipeline.recipe = std::move(*recipe);
  Phase upto;
  if (failed(readWord("upto", options.upto, getPhases(), upto, error)) ||
      failed(readWord("attention", options.attention, getAttentionKernels(),
                      pipeline.attention, error)))
    return failure();
  for (auto [name, phase] : getPhases())
    if (phase <= upto)
      buildPhase(phase, manager, pipeline);
  return success();
}

void hone::registerHonePipelines() {
  registerPassPipeline(
      "hone-pipeline", "Phases in order, from import to `upto`", buildPipeline,
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> visit) {
        visit(CommandLine());
      });
  PassPipelineRegistration<>(
      "hone-lower-to-llvm", "From kernels to the llvm dialect", buildLLVMPhase);
  PassPipelineRegistration<>("hone-lower-to-nvvm",
                             "From kernels of a GPU to the nvvm dialect",
                             buildDevicePhase);
}

void hone::registerAllDialects(DialectRegistry &registry) {
  registry.insert<HoneDialect, dist::DistDialect, plan::PlanDialect,
                  affine::AffineDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, func::FuncDialect, gpu::GPUDialect,
                  index::IndexDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect,
                  vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

void hone::registerAllPasses() {
  registerHonePasses();
  registerHoneDistPasses();
  registerHoneConversionPasses();
  registerHoneTargetPasses();
  registerTransformsPasses();
  registerConversionPasses();
  memref::registerExpandStridedMetadata();
  registerHonePipelines();
}
