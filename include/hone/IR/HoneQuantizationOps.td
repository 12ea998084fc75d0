//===- HoneQuantizationOps.td - Weights stored in few bits -*- tablegen -*-===//

#ifndef HONE_IR_HONEQUANTIZATIONOPS_TD
#define HONE_IR_HONEQUANTIZATIONOPS_TD

include "hone/IR/HoneOpBase.td"

def Hone_DequantizeOp : Hone_Op<"dequantize", "dataMovement", "copy"> {
  let summary = "The values of a weight that is stored in codes of 8 or 4 bits";
  let description = [{
    The op computes `result[.., j] = value(code of element j) * scales[.., j div block]` along each row (the last
    dimension), in fp32, and rounds that to the result's type. `value` depends on the code:

    - `int8`: element `j` has byte `j`, and the value is that signed integer (Dettmers et al., "LLM.int8()", 2022). With
      the largest magnitude of a block over 127 as its scale, codes are in [-127, 127].
    - `nf4`: element `2 i` has the high four bits of byte `i`, element `2 i + 1` the low four bits; in a row of odd
      width the last four bits are unused. The values are the 16 of NormalFloat (Dettmers et al., "QLoRA", 2023,
      appendix E), from -1 to 1 with 0 among them; the scale is the largest magnitude of the block.

    Weights in codes are frozen: codes have no gradient. `hone-expand-weights` computes the values anew for each op that
    reads them, so that no step keeps them.

    (C1) The result has a last dimension. (C2) `codes` has the result's shape, but for nf4 half the last size, rounded
    up. (C3) `block` is at least 1. (C4) `scales` has the result's shape, but for the last size, the number of blocks:
    that size over `block`, rounded up.

    Example:

    ```mlir
    %w = hone.dequantize nf4 %codes scales %absmax block 64
        : tensor<8x32xi8>, tensor<8x1xf32> -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_WeightCodeAttr:$code, Hone_CodeTensor:$codes, Hone_ScaleTensor:$scales, I64Attr:$block);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $code $codes `scales` $scales `block` $block attr-dict `:` type($codes) `,` type($scales) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    bool hasOwnElementType(unsigned) { return true; }
  }];
}

#endif // HONE_IR_HONEQUANTIZATIONOPS_TD
