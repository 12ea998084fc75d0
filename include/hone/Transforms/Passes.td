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

#endif // HONE_TRANSFORMS_PASSES_TD
