//===- Passes.td - Passes from the plan to LLVM ----------------*- tablegen -*-===//

#ifndef HONE_CONVERSION_PASSES_TD
#define HONE_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // HONE_CONVERSION_PASSES_TD
