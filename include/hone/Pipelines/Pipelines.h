//===- Pipelines.h - The phases, in order -----------------------*- C++ -*-===//
//
// One function per phase of docs/design.md. Nothing else in the compiler knows
// an order of passes. Each phase ends with the verifier of its border.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PIPELINES_PIPELINES_H
#define HONE_PIPELINES_PIPELINES_H

#include "hone/Pipelines/Options.h"

#include "mlir/Pass/PassManager.h"

namespace hone {

void buildImportPhase(mlir::OpPassManager &manager,
                      const PipelineOptions &options);
void buildRaisePhase(mlir::OpPassManager &manager,
                     const PipelineOptions &options);
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
/// What of the fuse phase makes other numbers, on each of `functions`: codes of
/// the operands of products that are marked.
void buildQuantizedProducts(mlir::OpPassManager &functions,
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

/// Adds the verifier of the border behind `phase`: of what the next one reads.
/// What ranks run is still a step, so the shard phase has that of the step
/// phase; placements are verified inside it.
void buildBorder(Phase phase, mlir::OpPassManager &manager);

/// Adds the passes of `options.from` to `options.upto`, behind the verifier of
/// what `from` reads. The error says which of the two is wrong.
llvm::Error buildPhases(mlir::OpPassManager &manager,
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
