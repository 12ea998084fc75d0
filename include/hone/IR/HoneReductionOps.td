//===- HoneReductionOps.td - Reductions, products, indexing *- tablegen -*-===//

#ifndef HONE_IR_HONEREDUCTIONOPS_TD
#define HONE_IR_HONEREDUCTIONOPS_TD

include "hone/IR/HoneOpBase.td"

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def Hone_ReduceOp : Hone_Op<"reduce", "row", "accurate"> {
  let summary = "Sum, maximum or minimum over dimensions";
  let description = [{
    The op combines all elements that differ only in the indices `dims`; the result lacks these dimensions. Sums of f32
    and narrower types accumulate in fp32, in an order that depends on shapes only. The empty sum is 0, the empty max
    -inf and the empty min +inf (for integers the smallest and the largest value).

    A reduction along the last dimension only is of family `row`, any other of family `column`.

    (C1) `dims` are distinct dimensions of the operand, in increasing order. (C2) The result has the remaining
    dimensions and the operand's element type.

    Example:

    ```mlir
    %s = hone.reduce sum %x dims [1] : tensor<8x64xf32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Hone_ReduceKindAttr:$kind, Hone_NumberTensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Hone_NumberTensor:$result);
  let assemblyFormat = "$kind $operand `dims` $dims attr-dict `:` type($operand) `->` type($result)";
  let builders = [OpBuilder<(ins "::hone::ReduceKind":$kind, "::mlir::Value":$operand,
                                 "::llvm::ArrayRef<int64_t>":$dims)>];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    ::hone::KernelFamily getKernelFamily();
    ::hone::NumericClass getNumericClass() { return ::hone::NumericClass::accurate; }
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    ::hone::OperandSets getLinearOperands() {
      if (getKind() == ::hone::ReduceKind::sum)
        return {{0}};
      return {};
    }
    /// True when the last dimension, and no other, is reduced.
    bool isRowReduction();
  }];
}

def Hone_ArgmaxOp : Hone_Op<"argmax", "row", "copy"> {
  let summary = "Index of the largest element along a dimension";
  let description = [{
    The op returns the smallest index at which the maximum along `dim` is found. NaN counts as larger than any number.

    (C1) `dim` is a dimension of the operand, of size at least 1. (C2) The result has the remaining dimensions.

    Example:

    ```mlir
    %i = hone.argmax %x dim 1 : tensor<8x64xf32> -> tensor<8xi64>
    ```
  }];
  let arguments = (ins Hone_NumberTensor:$operand, I64Attr:$dim);
  let results = (outs Hone_IntTensor:$result);
  let assemblyFormat = "$operand `dim` $dim attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
  }];
}

def Hone_CumsumOp : Hone_Op<"cumsum", "row", "accurate", [SameOperandsAndResultType]> {
  let summary = "Running sum along a dimension";
  let description = [{
    The op computes `result[.., i, ..] = sum over j <= i of operand[.., j, ..]` along `dim`; with `reverse`, over
    `j >= i`.

    (C1) Operand and result have the same type. (C2) `dim` is a dimension of the operand.

    Example:

    ```mlir
    %y = hone.cumsum %x dim 1 : tensor<8x64xi64>
    ```
  }];
  let arguments = (ins Hone_NumberTensor:$operand, I64Attr:$dim, UnitAttr:$reverse);
  let results = (outs Hone_NumberTensor:$result);
  let assemblyFormat = "$operand `dim` $dim (`reverse` $reverse^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
  }] # Hone_LinearIn<"{{0}}">.method;
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

def Hone_DotGeneralOp : Hone_Op<"dot_general", "contraction", "contraction"> {
  let summary = "Sum of products over contracted dimensions";
  let description = [{
    The op multiplies `lhs` and `rhs` elementwise over the paired batch dimensions and sums over the paired contracting
    dimensions. The result has the batch dimensions, then the free dimensions of `lhs`, then those of `rhs`, each in
    operand order.

    Products of low-precision operands are exact in fp32 and accumulate there. The sum is rounded once, to the result's
    element type, which may differ from the operands' (a weight gradient is f32 while its operands are bf16).

    Operands that are codes of fp8 have scales (`hone.quantize`). The result is then the sum over tiles of scale times
    scale times the exact sum of products of the values of codes, rounded once. With `fast_accumulation` a GPU may keep
    sums in fewer bits than f32 has.

    `quantized` says that `hone-quantize-products` will make codes of the operands.

    (C1) Batch and contracting lists of one operand are distinct dimensions of it. (C2) Paired lists have equal lengths
    and paired dimensions equal sizes. (C3) The result has the shape above. (C4) Operands have one element type, or both
    are codes, at most one of them f8E5M2. (C5) Codes have rank 2 and are summed over their last dimension. (C6) Codes
    have scales, other operands none; tiles are as in `hone.quantize`, equal ones, but for [128, 128] with [1, 128].
    (C7) Scales have the type that `hone.quantize` gives them. (C8) `fast_accumulation` is of codes, `quantized` of other
    operands without batch dimensions.

    Example: `y[b, m, n] = sum_k x[b, m, k] * w[n, k]`

    ```mlir
    %y = hone.dot_general %x, %w batch [] x [] contract [2] x [1]
        : tensor<2x16x64xf32>, tensor<192x64xf32> -> tensor<2x16x192xf32>
    ```

    The same of codes:

    ```mlir
    %y = hone.dot_general %x, %w scales %sx, %sw tiles [1, 128] x [128, 128] batch [] x [] contract [1] x [1]
        : tensor<32x64xf8E4M3FN>, tensor<192x64xf8E4M3FN> scales tensor<1x32xf32>, tensor<2x4xf32>
        -> tensor<32x192xbf16>
    ```
  }];
  let arguments = (ins Hone_FactorTensor:$lhs, Hone_FactorTensor:$rhs, Variadic<Hone_Fp8ScaleTensor>:$scales,
                       DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract,
                       OptionalAttr<DenseI64ArrayAttr>:$lhs_tile, OptionalAttr<DenseI64ArrayAttr>:$rhs_tile,
                       UnitAttr:$fast_accumulation, OptionalAttr<Hone_QuantizedAttr>:$quantized);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`scales` $scales^ `tiles` $lhs_tile `x` $rhs_tile)? `batch` $lhs_batch `x` $rhs_batch
    `contract` $lhs_contract `x` $rhs_contract (`fast` $fast_accumulation^)? (`quantized` $quantized^)? attr-dict `:`
    type($lhs) `,` type($rhs) (`scales` type($scales)^)? `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
      "::llvm::ArrayRef<int64_t>":$lhs_batch, "::llvm::ArrayRef<int64_t>":$rhs_batch,
      "::llvm::ArrayRef<int64_t>":$lhs_contract, "::llvm::ArrayRef<int64_t>":$rhs_contract)>,
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$lhs, "::mlir::Value":$rhs,
      "::llvm::ArrayRef<int64_t>":$lhs_batch, "::llvm::ArrayRef<int64_t>":$rhs_batch,
      "::llvm::ArrayRef<int64_t>":$lhs_contract, "::llvm::ArrayRef<int64_t>":$rhs_contract)>];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    bool hasOwnElementType(unsigned index) { return index >= 2; }
    /// Dimensions of an operand that are neither batch nor contracted, in order.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
    /// Whether the operands are codes. Their scales and tiles, or null.
    bool hasCodes() { return !getScales().empty(); }
    ::mlir::Value getLhsScales() { return hasCodes() ? getScales()[0] : ::mlir::Value(); }
    ::mlir::Value getRhsScales() { return hasCodes() ? getScales()[1] : ::mlir::Value(); }
    /// Where the scales of codes lie.
    ::honert::ScaleLayout getLhsScaleLayout();
    ::honert::ScaleLayout getRhsScaleLayout();
  }];
}

//===----------------------------------------------------------------------===//
// Index
//===----------------------------------------------------------------------===//

def Hone_EmbeddingOp : Hone_Op<"embedding", "gather", "copy"> {
  let summary = "Rows of a table picked by index";
  let description = [{
    The op computes `result[i..., :] = table[ids[i...], :]`. An id outside `[0, rows)` is undefined behaviour of the
    graph. Phases prove that there is none or check each batch (docs/rationale/ids.md), and the interpreter reports it.

    (C1) `table` has rank 2. (C2) The result has the shape of `ids` followed by the table's width, and its element type.

    Example:

    ```mlir
    %x = hone.embedding %table, %ids : tensor<256x64xf32>, tensor<2x16xi64> -> tensor<2x16x64xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$table, Hone_IntTensor:$ids);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` type($table) `,` type($ids) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
  }];
}

def Hone_EmbeddingBwdOp : Hone_Op<"embedding_bwd", "gather", "accurate"> {
  let summary = "Gradient of an embedding with respect to its table";
  let description = [{
    The op computes `result[v, :] = sum over i with ids[i] = v of grad[i, :]`, added in increasing order of `i`. Rows
    without an id are 0.

    (C1) The result has rank 2. (C2) `grad` has the shape of `ids` followed by the result's width, and its element type.

    Example:

    ```mlir
    %dt = hone.embedding_bwd %dy, %ids : tensor<2x16x64xf32>, tensor<2x16xi64> -> tensor<256x64xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$grad, Hone_IntTensor:$ids);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $ids attr-dict `:` type($grad) `,` type($ids) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
  }];
}

#endif // HONE_IR_HONEREDUCTIONOPS_TD
