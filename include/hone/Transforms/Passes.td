//===- Passes.td - Passes on hone graphs -----------------------*- tablegen -*-===//

#ifndef HONE_TRANSFORMS_PASSES_TD
#define HONE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyImport : Pass<"hone-verify-import", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the import phase";
  let description = [{
    `@forward` exists, returns one loss of rank 0, and holds only `hone` ops; every argument has a kind and a unique
    name; every parameter and buffer has an initialisation; there is at most one `rng` argument.
  }];
}

def DecomposeRows : Pass<"hone-decompose-rows", "::mlir::func::FuncOp"> {
  let summary = "Rewrites norms, softmax and cross entropy into primitives";
  let description = [{
    Replaces `layer_norm`, `rms_norm`, `softmax`, `cross_entropy` and their backward ops by elementwise ops,
    `hone.broadcast` and `hone.reduce`, right before fusion: the fusion analysis and the kernel emitters know
    primitives only. Computed in fp32 or wider and cast to the types of the results. Nothing is declined; every other op
    is left as it is. Means multiply by the reciprocal of the width.

    ```mlir
    %y = hone.softmax %x : tensor<8x64xf32>
    // becomes
    %m = hone.reduce max %x dims [1] : tensor<8x64xf32> -> tensor<8xf32>
    %mb = hone.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x64xf32>
    %c = hone.sub %x, %mb : tensor<8x64xf32>
    %e = hone.exp %c : tensor<8x64xf32>
    %s = hone.reduce sum %e dims [1] : tensor<8x64xf32> -> tensor<8xf32>
    %sb = hone.broadcast %s dims [0] : tensor<8xf32> -> tensor<8x64xf32>
    %y = hone.div %e, %sb : tensor<8x64xf32>
    ```
  }];
}

#endif // HONE_TRANSFORMS_PASSES_TD
