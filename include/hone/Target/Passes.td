//===- Passes.td - Passes on the way to LLVM -------------------*- tablegen -*-===//

#ifndef HONE_TARGET_PASSES_TD
#define HONE_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApproximateMath : Pass<"hone-approximate-math", "::mlir::ModuleOp"> {
  let summary = "Replaces exp, log, tanh, erf and similar functions by polynomials";
  let description = [{
    The pass rewrites `math` ops on f32 scalars and vectors into `arith` and `math.fma`, by MLIR's polynomial
    approximations. They are within a few ulp of the exact function, are right for infinities and NaN, are inlined into
    the loop, and have the same bits on every CPU. Without the pass, LLVM would call the C library once per element. Ops
    with a machine instruction (sqrt, fma, abs, floor) stay.

    Example:

    ```mlir
    %r = math.exp %x : vector<16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def VerifyLLVM : Pass<"hone-verify-llvm", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the lowering to LLVM";
  let description = [{
    The pass checks that every op belongs to the `llvm` dialect, and that functions without a body are the runtime's
    (`honert_*`) or the C library's memory routines. So a leftover op or a call into a mathematical library is an error
    here and not at link time.
  }];
}

def ApproximateDeviceMath : Pass<"hone-approximate-device-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Replaces exp, log, tanh, erf and similar functions in device code";
  let description = [{
    The pass does what hone-approximate-math does, for device code, on f32 scalars and vectors of one dimension. It uses
    instructions of the GPU where they are as accurate as a polynomial: `ex2.approx` for exp and exp2, `rsqrt.approx`
    for 1/sqrt.

    - exp(x) = 2^h * (1 + l ln 2), where h + l = x log2 e to about 48 bits. At any x the error is that of the
      instruction (2 units in the last place) and at most 1.5 units of rounding. Results below 2^-126 are zero.
    - log has a polynomial, because `lg2.approx` has no bound of its relative error near 1.
    - powf is computed in f64.
    - Division and square root have correctly rounded instructions and stay.

    Example:

    ```mlir
    %r = math.exp %x : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def LowerDeviceCode : Pass<"hone-lower-device-code", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lowers GPU kernels to the llvm and nvvm dialects";
  let description = [{
    The pass converts `gpu.func` and the ops in it: thread and block numbers, barriers and shuffles (of 32 bits, wider
    ones in halves), `cf`, `arith`, `index`, `vector` of one dimension, `memref`, and `math` ops with an instruction
    (fma, sqrt, abs, roundings, counts of bits). Loops must be in `cf`, and functions without an instruction
    approximated (hone-approximate-device-math).

    - A memref parameter becomes its address. It must have a static shape and strides.
    - Workgroup attributions become variables in shared memory, private ones stack.
    - `index` has 64 bits.
    - Prefetches are dropped.

    The pass uses no device library. An op that needs one is an error that names it; so is any op that is left.

    Example:

    ```mlir
    gpu.func @copy(%from: memref<1024xf32>, %to: memref<1024xf32>) kernel attributes {nvvm.maxntid = array<i32: 128>} {
      ...
      gpu.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::vector::VectorDialect"];
}

def VerifyDeviceCode : Pass<"hone-verify-device-code", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Checks the contract of the lowering of device code";
  let description = [{
    The pass checks that every op belongs to the `llvm` or `nvvm` dialect, and that every function has a body, because a
    GPU links no libraries.
  }];
}

#endif // HONE_TARGET_PASSES_TD
