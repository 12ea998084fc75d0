//===- Passes.td - Passes on the way to LLVM -------------------*- tablegen -*-===//

#ifndef HONE_TARGET_PASSES_TD
#define HONE_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApproximateMath : Pass<"hone-approximate-math", "::mlir::ModuleOp"> {
  let summary = "Replaces exp, log, tanh, erf and their kin by polynomials";
  let description = [{
    Rewrites `math` ops on f32 scalars and vectors into `arith` and `math.fma` by MLIR's polynomial approximations: a few
    ulp from the exact function, right for infinities and NaN, inlined into the loop, and the same bits on every CPU. LLVM
    would call the C library once per element instead. Ops with a machine instruction (sqrt, fma, abs, floor) are left.

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
    Every op belongs to the `llvm` dialect, and functions without a body are the runtime's (`honert_*`) or the C
    library's memory routines. A leftover op or a call into a mathematical library is an error here and not at link time.
  }];
}

def ApproximateDeviceMath : Pass<"hone-approximate-device-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Replaces exp, log, tanh, erf and their kin in device code";
  let description = [{
    As hone-approximate-math, with the instructions of a GPU where they are as good as a polynomial: exp and exp2 by `ex2.approx`,
    1/sqrt by `rsqrt.approx`. On f32 scalars and vectors of one dimension.

    exp(x) = 2^h * (1 + l ln 2), where h + l = x log2 e to about 48 bits: the error is that of the instruction (2 units in the last
    place) and at most 1.5 of roundings, at any x. Results below 2^-126 are zero. log has a polynomial, as `lg2.approx` knows no
    relative error near 1. powf is computed in f64. Division and square root have correctly rounded instructions and stay.

    Example:

    ```mlir
    %r = math.exp %x : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def LowerDeviceCode : Pass<"hone-lower-device-code", "::mlir::gpu::GPUModuleOp"> {
  let summary = "From kernels of a GPU to the llvm and nvvm dialects";
  let description = [{
    Converts `gpu.func` and what it holds: thread and block numbers, barriers and shuffles (of 32 bits, wider ones in halves), `cf`,
    `arith`, `index`, `vector` of one dimension, `memref`, and `math` ops with an instruction (fma, sqrt, abs, roundings, counts of
    bits). Loops must be `cf`, functions without instructions approximated (hone-approximate-device-math).

    A memref parameter is passed as its address and must have a static shape and strides. Workgroup attributions become variables in
    shared memory, private ones stack. `index` has 64 bits. No library of the device's is used: an op that would need one is an error
    that names it, as is any op which is left. Prefetches are dropped.

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
    Every op belongs to the `llvm` or `nvvm` dialect, and every function has a body: a GPU links no libraries.
  }];
}

#endif // HONE_TARGET_PASSES_TD
