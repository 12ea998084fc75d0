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

#endif // HONE_TARGET_PASSES_TD
