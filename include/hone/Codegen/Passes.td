//===- Passes.td - Passes from the plan to LLVM ----------------*- tablegen -*-===//

#ifndef HONE_CODEGEN_PASSES_TD
#define HONE_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToKernels : Pass<"hone-lower-to-kernels", "::mlir::ModuleOp"> {
  let summary = "Turns the plan into kernels and a description of the program";
  let description = [{
    Every `plan.launch` becomes a kernel on `scf`, `vector`, `arith`, `math` and `memref`, or a library call; equal launches share
    one kernel. The function `@hone_program` (llvm dialect) describes arena, arguments, functions, launches and results to
    the runtime through the functions of abi.def, in order; the program itself is data.

    For a CPU, kernels are functions, and `hone-bind-kernels` gives each the entry that the runtime calls. For a GPU (the
    target that the module names), they are `gpu.func`s of the `gpu.module @hone_device`, and `@hone_program` calls
    `@hone_device_images`, which is defined when their code exists. Attention that `hone-plan-attention` marked is a library
    call, which is followed by one of `@hone_attention_plan_N`; `hone.attention_plans` on the module says for which problems
    those are to be defined (Conversion/AttentionPlans.h).

    Declined with an error: contractions of other types than f32, bf16 and f16, and ops without an emitter, on a GPU
    attention without that mark among them.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def VerifyLower : Pass<"hone-verify-lower", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the lower phase";
  let description = [{
    `@hone_program` exists, and no op of the `hone` or `plan` dialect is left.
  }];
}

def BindKernels : Pass<"hone-bind-kernels", "::mlir::ModuleOp"> {
  let summary = "Defines the entries of kernels";
  let description = [{
    Runs after functions are in the llvm dialect. A declaration with the attribute `hone.kernel = @f` gets a body that loads the
    buffers' addresses from its first argument and calls `@f`. With `hone.tensors` (see TensorTable in Kernel.h) the body is a loop
    over a table of tensors, in static data, that calls `@f` for each tensor that the work items touch. Both become internal.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // HONE_CODEGEN_PASSES_TD
