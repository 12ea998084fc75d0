//===- Pipelines.h - The phases, in order -----------------------*- C++ -*-===//
//
// One function and one options struct per phase of docs/design.md. Nothing else
// in the compiler knows an order of passes. Each phase ends with the verifier
// of its border.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PIPELINES_PIPELINES_H
#define HONE_PIPELINES_PIPELINES_H

#include "hone/Dist/Recipe.h"
#include "hone/Support/AttentionPlanner.h"

#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace hone {

/// How the step is trained. Empty strings keep what the package says.
struct StepOptions {
  int64_t microBatches = 1;   ///< gradients summed into one optimizer step
  bool keepGradients = false; ///< gradients are results that can be dumped
  std::string optimizer;      ///< one of listOptimizers()
  std::string moments;        ///< one of listMomentFormats()
  std::string lr;
  std::string weightDecay;
  std::string clip;         ///< "inf": no clipping
  double lossScale = 65536; ///< the first one, of precision fp16
};

/// What computes attention: the fused kernel or call where the target has one,
/// that in any case, or products and a softmax.
enum class AttentionKernels { Auto, Fused, Unfused };

/// All of them with the names that `attention=` takes.
llvm::ArrayRef<std::pair<llvm::StringLiteral, AttentionKernels>>
getAttentionKernels();

/// How to ask the library of a GPU for fused attention (hone-plan-attention).
struct AttentionLibrary {
  std::string tool;      ///< "": nobody is asked, and fused kernels stay ops
  bool emulates = false; ///< ask for the emulated library
  bool isDeterministic = false; ///< equal calls give equal bits
  /// What it has said.
  std::shared_ptr<AttentionAnswers> answers =
      std::make_shared<AttentionAnswers>();
};

/// What the phases are told. The target is the module's (`hone.target`), unless
/// it is named here.
struct PipelineOptions {
  std::string target;             ///< "cpu" or "cuda"; "": the module's
  std::string arch;               ///< with `target`: "sm_90", ...
  std::string chunkLoss = "auto"; ///< rows of logits at a time, auto or off
  std::string pad = "auto";       ///< padding: auto, off or a multiple
  AttentionKernels attention = AttentionKernels::Auto;
  AttentionLibrary library;
  std::string precision = "fp32";   ///< policy of hone-mixed-precision
  std::string stream = "f32";       ///< its residual stream, "f32" or "low"
  bool report = false;              ///< explain each group in a remark
  int64_t memoryBudget = 0;         ///< bytes of the arena; 0: no bound
  std::string checkpoint = "auto";  ///< auto, none, full or sqrt
  std::vector<std::string> without; ///< some of getDispensables()
  dist::Recipe recipe; ///< without a mesh: that of the module, or one rank
  bool exact = false;  ///< bits do not depend on the mesh (hone-set-exact)
  std::string overlap = "auto"; ///< collectives beside kernels: auto, on, off
  StepOptions step;
};

/// Whether `value` is auto, off or a positive number: what `pad` and
/// `chunkLoss` take.
bool isAutoOffOrCount(llvm::StringRef value);

/// What saves time or memory and nothing else, so that a measurement may leave
/// it out: passes by their arguments, and the options of hone-fuse-groups.
llvm::ArrayRef<llvm::StringLiteral> getDispensables();

/// The phases in their order.
enum class Phase {
  Import,
  Raise,
  Pad,
  Precision,
  Autodiff,
  Step,
  Shard,
  Fuse,
  Checkpoint,
  Plan,
  Lower,
  LLVM
};

/// All phases, first to last, with the names that `upto=` takes.
llvm::ArrayRef<std::pair<llvm::StringLiteral, Phase>> getPhases();

void buildImportPhase(mlir::OpPassManager &manager,
                      const PipelineOptions &options);
void buildRaisePhase(mlir::OpPassManager &manager);
void buildPadPhase(mlir::OpPassManager &manager,
                   const PipelineOptions &options);
void buildPrecisionPhase(mlir::OpPassManager &manager,
                         const PipelineOptions &options);
void buildAutodiffPhase(mlir::OpPassManager &manager,
                        const PipelineOptions &options);
void buildStepPhase(mlir::OpPassManager &manager,
                    const PipelineOptions &options);
/// Nothing where neither the recipe nor the module has a mesh.
void buildShardPhase(mlir::OpPassManager &manager,
                     const PipelineOptions &options);
/// What of the fuse phase a user can ask for, on each of `functions`: head and
/// loss by chunks.
void buildChunkedLoss(mlir::OpPassManager &functions,
                      const PipelineOptions &options);
void buildFusePhase(mlir::OpPassManager &manager,
                    const PipelineOptions &options);
void buildCheckpointPhase(mlir::OpPassManager &manager,
                          const PipelineOptions &options);
void buildPlanPhase(mlir::OpPassManager &manager,
                    const PipelineOptions &options);
void buildLowerPhase(mlir::OpPassManager &manager);
void buildLLVMPhase(mlir::OpPassManager &manager);
/// On modules that hold a gpu.module: its kernels, to the llvm and nvvm
/// dialects.
void buildDevicePhase(mlir::OpPassManager &manager);

/// Adds the passes of one phase.
void buildPhase(Phase phase, mlir::OpPassManager &manager,
                const PipelineOptions &options);

/// Makes `--hone-pipeline="upto=step micro-batches=2"`, `--hone-lower-to-llvm`
/// (the last phase alone) and `--hone-lower-to-nvvm` (of a GPU) known to opt
/// tools.
void registerHonePipelines();

/// Registers every dialect that the phases read, and the translations to LLVM.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers every pass of Hone and those of MLIR that the phases use.
void registerAllPasses();

} // namespace hone

#endif // HONE_PIPELINES_PIPELINES_H
