//===- Passes.td - Passes from the plan to LLVM ----------------*- tablegen -*-===//

#ifndef HONE_CODEGEN_PASSES_TD
#define HONE_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToKernels : Pass<"hone-lower-to-kernels", "::mlir::ModuleOp"> {
  let summary = "Lowers the plan to kernels and a description of the program";
  let description = [{
    The pass turns every `plan.launch` into a kernel on `scf`, `vector`, `arith`, `math` and `memref`, or into a library
    call. Equal launches share one kernel, and kernels on a CPU that differ in salts of dropout call one body. The
    function `@hone_program` (llvm dialect) describes arena, arguments, functions, launches and results to the runtime,
    in order, by calls of the functions in abi.def. The runtime runs this description; the launches themselves are not
    compiled into code.

    - On a CPU, kernels are functions. `hone-bind-kernels` gives each the entry that the runtime calls.
    - On a GPU (the target of the module), kernels are `gpu.func`s of the `gpu.module @hone_device`. `@hone_program`
      calls `@hone_device_images`, which is defined once their code exists.
    - Attention that `hone-plan-attention` marked is a library call, followed by a call of `@hone_attention_plan_N`.
      `hone.attention_plans` on the module lists the problems that need such a function
      (include/hone/Codegen/Program/AttentionPlans.h).

    Errors: a contraction of types other than f32, bf16 and f16; an op without an emitter, among them, on a GPU,
    attention without that mark.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def VerifyLower : Pass<"hone-verify-lower", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the lower phase";
  let description = [{
    The pass checks that `@hone_program` exists and that no op of the `hone` or `plan` dialect is left.
  }];
}

def BindKernels : Pass<"hone-bind-kernels", "::mlir::ModuleOp"> {
  let summary = "Defines the entry functions of kernels";
  let description = [{
    The pass runs after functions are in the llvm dialect. It gives a body to every declaration with the attribute
    `hone.kernel = @f`: the body loads the buffers' addresses from its first argument and calls `@f`. With
    `hone.tensors` (TensorTable in lib/Codegen/Common/Kernel.h) the body is a loop over a static table of tensors. It
    calls `@f` for each tensor that the work items touch. Entry and kernel get internal linkage.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // HONE_CODEGEN_PASSES_TD
