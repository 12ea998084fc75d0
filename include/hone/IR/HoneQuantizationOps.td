//===- HoneQuantizationOps.td - Numbers stored in few bits -*- tablegen -*-===//

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

def Hone_AmaxOp : Hone_Op<"amax", "column", "accurate"> {
  let summary = "The largest magnitude of a tensor";
  let description = [{
    The op computes the maximum of `|operand[i]|` over all elements, which is the same in any order; of no elements it
    is 0. If an element is NaN, the result is NaN.

    Example:

    ```mlir
    %a = hone.amax %x : tensor<8x64xbf16>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$operand);
  let results = (outs Hone_Amax:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
  let extraClassDeclaration = facts # [{
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
  }];
}

def Hone_QuantizeOp : Hone_Op<"quantize", "dataMovement", "copy"> {
  let summary = "Codes of eight bits of a matrix, and the scales of their tiles";
  let description = [{
    The op makes a code of each element, and a scale of each tile of [r, c] codes, that is r rows and c columns; tiles at
    the ends may be smaller. `tile` is [0, 0] for one scale, [1, 128], [128, 128], or [1, 32] (MX). A product sums over
    columns: with `transposed`, codes and tiles are those of the operand's transpose.

    With `amax`, the largest magnitude of a tile, as m 2^E with 1 <= m < 2, a scale is 2^e:

    | codes | largest number | e |
    |---|---|---|
    | f8E4M3FN | 448 = 1.75 * 2^8 | E - 8, plus 1 if m > 1.75 |
    | f8E5M2 | 57344 = 1.75 * 2^15 | E - 15, plus 1 if m > 1.75 |

    but at least 2^-126, and 1 where `amax` is 0. A code is `element * 2^-e`, rounded to nearest even; numbers beyond the
    largest become the largest, infinities too. A code is NaN only if its element is. Where `amax` is infinite or NaN,
    the scale is NaN, so that no number comes of a product, and codes are those of e = 0.

    `tile` [0, 0] takes `amax` as an operand (`hone.amax`), other tiles are read for it. Scales are f32, but for [1, 32]
    i8: UE8M0, e + 127, and 255 for NaN. They lie as cuBLASLt reads them (runtime/lib/base/ScaleLayout.h); elements that
    are no tile's are 0:

    | tile | scales of codes [R, C] | scale of tile (i, j) |
    |---|---|---|
    | [0, 0] | rank 0 | the only element |
    | [1, 128] | [ceil(C / 128), R] | [j, i] |
    | [128, 128] | [ceil(R / 128), ceil(C / 128) rounded up to 4] | [i, j] |
    | [1, 32] | [512 * ceil(R / 128) * ceil(C / 128)] | 512 per 128 rows and 4 tiles of a row, these in row-major order; inside, `i % 32 * 16 + i % 128 / 32 * 4 + j % 4` |

    (C1) The operand has rank 2. (C2) `tile` is one of those above. (C3) `amax` is present if `tile` is [0, 0], and only
    then. (C4) Codes have the operand's shape, or that of its transpose. (C5) Scales have shape and type above.

    Example:

    ```mlir
    %codes, %scales = hone.quantize %x tile [1, 128] : tensor<40x200xbf16> -> tensor<40x200xf8E4M3FN>, tensor<2x40xf32>
    ```
  }];
  let arguments = (ins StaticShapeTensorOf<[F32, BF16, F16]>:$operand, Optional<Hone_Amax>:$amax,
                       DenseI64ArrayAttr:$tile, UnitAttr:$transposed);
  let results = (outs Hone_Fp8Tensor:$codes, Hone_Fp8ScaleTensor:$scales);
  let assemblyFormat = [{
    $operand (`amax` $amax^)? `tile` $tile (`transposed` $transposed^)? attr-dict `:` type($operand) `->` type($codes)
    `,` type($scales)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$amax, "::honert::ScaleTile":$tile,
    "::mlir::Type":$code, "bool":$transposed)>];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    bool hasOwnElementType(unsigned) { return true; }
    ::honert::ScaleLayout getScaleLayout();
    ::honert::Fp8Format getFormat();
  }];
}

#endif // HONE_IR_HONEQUANTIZATIONOPS_TD
