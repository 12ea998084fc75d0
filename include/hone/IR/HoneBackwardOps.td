//===- HoneBackwardOps.td - Named backward ops -------------*- tablegen -*-===//

#ifndef HONE_IR_HONEBACKWARDOPS_TD
#define HONE_IR_HONEBACKWARDOPS_TD

include "hone/IR/HoneModelOps.td"

def Hone_LayerNormBwdOp : Hone_RowOp<"layer_norm_bwd"> {
  let summary = "Gradient of layer normalisation with respect to its input";
  let description = [{
    The op computes `result = rstd * (g - mean_row(g) - h * mean_row(g * h))`, with `h = (x - mean) * rstd` and
    `g = grad * scale` (without `scale`, `g = grad`). Gradients of scale and bias are column sums, written with
    `hone.reduce`; they share the kernel.

    With `width`, only the first `width` elements of a row count; the result is 0 at the others.

    (C1) `grad`, `input` and the result have one type. (C2) `mean` and `rstd` have its shape without the last dimension.
    (C3) `scale`, when present, has the shape of a row. (C4) `width` is at most the last dimension.

    Example:

    ```mlir
    %dx = hone.layer_norm_bwd %dy, %x, %mean, %rstd scale %g
        : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$grad, Hone_FloatTensor:$input, Hone_FloatTensor:$mean, Hone_FloatTensor:$rstd,
                       Optional<Hone_FloatTensor>:$scale, Hone_Width:$width);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $input `,` $mean `,` $rstd (`scale` $scale^)? (`width` $width^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 8); }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}, {1, 0}}; }
  }];
}

def Hone_RmsNormBwdOp : Hone_RowOp<"rms_norm_bwd"> {
  let summary = "Gradient of RMS normalisation with respect to its input";
  let description = [{
    The op computes `result = rstd * (g - h * mean_row(g * h))`, with `h = x * rstd` and `g = grad * scale` (without
    `scale`, `g = grad`).

    With `width`, only the first `width` elements of a row count; the result is 0 at the others.

    (C1) `grad`, `input` and the result have one type. (C2) `rstd` has its shape without the last dimension. (C3)
    `scale`, when present, has the shape of a row. (C4) `width` is at most the last dimension.

    Example:

    ```mlir
    %dx = hone.rms_norm_bwd %dy, %x, %rstd scale %g
        : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$grad, Hone_FloatTensor:$input, Hone_FloatTensor:$rstd,
                       Optional<Hone_FloatTensor>:$scale, Hone_Width:$width);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $input `,` $rstd (`scale` $scale^)? (`width` $width^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 8); }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}, {1, 0}}; }
  }];
}

def Hone_SoftmaxBwdOp : Hone_RowOp<"softmax_bwd", [SameOperandsAndResultType]> {
  let summary = "Gradient of softmax from its output";
  let description = [{
    The op computes `result = output * (grad - sum_row(grad * output))` along the last dimension.

    With `width`, only the first `width` elements of a row count; the result is 0 at the others.

    (C1) Operands and result have one type, of rank at least 1. (C2) `width` is at most the last dimension.

    Example:

    ```mlir
    %dx = hone.softmax_bwd %dy, %y : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$grad, Hone_FloatTensor:$output, Hone_Width:$width);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $output (`width` $width^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hone_CrossEntropyBwdOp : Hone_RowOp<"cross_entropy_bwd"> {
  let summary = "Gradient of cross entropy with respect to the logits";
  let description = [{
    The op computes, for each row that is not ignored, `result = w * (exp(x - lse) - (1 - s) * onehot(t) - s / vocab)`.
    `w` is the row's `grad` for reduction `none`, `grad` for `sum` and `grad / number of rows not ignored` for `mean`.
    The result is 0 for ignored rows.

    With `width`, the classes are the first `width` logits of a row (`vocab` is `width`); the result is 0 at the others.

    (C1) `logits` has rank at least 1 and the result its type; `targets` and `lse` have its shape without the last
    dimension. (C2) `grad` has the shape of `targets` for `none` and rank 0 otherwise. (C3) `0 <= label_smoothing <= 1`.
    (C4) `width` is at most the last dimension.

    Example:

    ```mlir
    %dx = hone.cross_entropy_bwd mean %g, %x, %t, %lse ignore_index -100 label_smoothing 0.0
        : (tensor<f32>, tensor<32x256xf32>, tensor<32xi64>, tensor<32xf32>) -> tensor<32x256xf32>
    ```
  }];
  let arguments = (ins Hone_LossReductionAttr:$reduction, Hone_FloatTensor:$grad, Hone_FloatTensor:$logits,
                       Hone_IntTensor:$targets, Hone_FloatTensor:$lse, I64Attr:$ignore_index, F64Attr:$label_smoothing,
                       Hone_Width:$width);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $reduction $grad `,` $logits `,` $targets `,` $lse `ignore_index` $ignore_index `label_smoothing` $label_smoothing
    (`width` $width^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 6); }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{1, 0}}; }
  }];
}

def Hone_AttentionBwdOp : Hone_Op<"attention_bwd", "attention", "contraction",
                                 [AttrSizedOperandSegments, Hone_RandomOpInterface]> {
  let summary = "Gradients of attention with respect to query, key and value";
  let description = [{
    The op recomputes `p = exp(s - lse)` by blocks (Dao et al., 2022). With `z` the dropout factor (0 or `1/(1-p)`) and
    `delta[t] = sum_e grad[t, e] * output[t, e]`, it computes `dv = (p z)^T grad`, `dp = (grad v^T) z`,
    `ds = p (dp - delta)`, `dq = scale * ds k` and `dk = scale * ds^T q`. Gradients of a key head and its value head are
    sums over the query heads that share it. Masks get no gradient.

    (C1) `grad` and `output` have the type of the attention's result, with the element type of the query, `lse` that of
    its `lse`, and the other operands and attributes are those of the attention. (C2) Results have the types of query,
    key and value; or all are f32 in place of a narrower type, to be added to others before they are rounded.

    Example:

    ```mlir
    %dq, %dk, %dv = hone.attention_bwd %do, %q, %k, %v, %o, %lse causal scale 0.125
        : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>,
           tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
        -> (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$grad, Hone_FloatTensor:$query, Hone_FloatTensor:$key, Hone_FloatTensor:$value,
                       Hone_FloatTensor:$output, Hone_FloatTensor:$lse,
                       Variadic<Hone_MaskTensor>:$masks, Variadic<Hone_Key>:$random,
                       UnitAttr:$causal, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout, DefaultValuedAttr<I64Attr, "0">:$salt,
                       OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Hone_FloatTensor:$query_grad, Hone_FloatTensor:$key_grad, Hone_FloatTensor:$value_grad);
  let assemblyFormat = [{
    $grad `,` $query `,` $key `,` $value `,` $output `,` $lse (`mask` $masks^)? (`rng` $random^)? (`causal` $causal^)?
    `scale` $scale (`dropout` $dropout^)? (`salt` $salt^)? (`of` $whole^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # Hone_AttentionMasks<>.method # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<int64_t> getRandomShape();
    ::llvm::SmallVector<unsigned> getRandomFactors();
    /// The operands of `rng`, or null.
    ::mlir::Value getRng() { return getRandom().empty() ? ::mlir::Value() : getRandom().front(); }
    ::mlir::Value getOrigin() { return getRandom().size() < 2 ? ::mlir::Value() : getRandom()[1]; }
    ::mlir::MutableOperandRange getOriginMutable();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
  }];
}

def Hone_GeluBwdOp : Hone_Op<"gelu_bwd", "map", "pointwise", [Elementwise, SameOperandsAndResultType]> {
  let summary = "Gradient of GELU from its input";
  let description = [{
    The op computes `result = grad * gelu'(input)`, for the formula of `hone.gelu` that `approximate` names.

    (C1) Operands and result have the same type.

    Example:

    ```mlir
    %dx = hone.gelu_bwd tanh %dy, %x : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_GeluApproximationAttr:$approximate, Hone_FloatTensor:$grad, Hone_FloatTensor:$input);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "$approximate $grad `,` $input attr-dict `:` type($result)";
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 20); }
  }];
}

#endif // HONE_IR_HONEBACKWARDOPS_TD
