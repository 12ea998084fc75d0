//===- HoneModelOps.td - Named forward ops -----------------*- tablegen -*-===//

#ifndef HONE_IR_HONEMODELOPS_TD
#define HONE_IR_HONEMODELOPS_TD

include "hone/IR/HoneOpBase.td"

// Of row ops: the number of elements of each row that count; the others are padding. 0: all elements count.
defvar Hone_Width = DefaultValuedAttr<I64Attr, "0">;

class Hone_RowOp<string mnemonic, list<Trait> traits = []> : Hone_Op<mnemonic, "row", "accurate", traits> {
  code rowFacts = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 8); }
    ::hone::DimensionMapping getDimensionMapping() { return ::hone::detail::rowMapping(*this); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
  }];
  let extraClassDeclaration = rowFacts;
}

def Hone_LayerNormOp : Hone_RowOp<"layer_norm", [AttrSizedOperandSegments, Hone_WidthInterface]> {
  let summary = "Layer normalisation along the last dimension";
  let description = [{
    The op computes `result = (x - mean) * rstd * scale + bias` (Ba et al., 2016), with `mean` and `var` (biased) over
    the last dimension and `rstd = 1 / sqrt(var + eps)`, in fp32 or wider. It returns `mean` and `rstd` for the backward
    pass.

    With `width`, only the first `width` elements of a row count; the result is 0 at the others.

    (C1) `input` has rank at least 1; the result has its type. (C2) `scale` and `bias`, when present, have the shape of
    a row. (C3) `mean` and `rstd` have the input's shape without the last dimension. (C4) `width` is at most the last
    dimension.

    Example:

    ```mlir
    %y, %mean, %rstd = hone.layer_norm %x scale %g bias %b eps 1.0e-05
        : (tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$input, Optional<Hone_FloatTensor>:$scale, Optional<Hone_FloatTensor>:$bias,
                       F64Attr:$eps, Hone_Width:$width);
  let results = (outs Hone_FloatTensor:$result, Hone_FloatTensor:$mean, Hone_FloatTensor:$rstd);
  let assemblyFormat = [{
    $input (`scale` $scale^)? (`bias` $bias^)? `eps` $eps (`width` $width^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 8); }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
  }];
}

def Hone_RmsNormOp : Hone_RowOp<"rms_norm", [Hone_WidthInterface]> {
  let summary = "Root-mean-square normalisation along the last dimension";
  let description = [{
    The op computes `result = x * rstd * scale` with `rstd = 1 / sqrt(mean(x^2) + eps)` over the last dimension (Zhang
    and Sennrich, 2019). It returns `rstd` for the backward pass.

    With `width`, only the first `width` elements of a row count; the result is 0 at the others.

    (C1) `input` has rank at least 1; the result has its type. (C2) `scale`, when present, has the shape of a row. (C3)
    `rstd` has the input's shape without the last dimension. (C4) `width` is at most the last dimension.

    Example:

    ```mlir
    %y, %rstd = hone.rms_norm %x scale %g eps 1.0e-05
        : (tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$input, Optional<Hone_FloatTensor>:$scale, F64Attr:$eps, Hone_Width:$width);
  let results = (outs Hone_FloatTensor:$result, Hone_FloatTensor:$rstd);
  let assemblyFormat = [{
    $input (`scale` $scale^)? `eps` $eps (`width` $width^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 8); }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
  }];
}

def Hone_SoftmaxOp : Hone_RowOp<"softmax", [SameOperandsAndResultType, Hone_WidthInterface]> {
  let summary = "Softmax along the last dimension";
  let description = [{
    The op computes `result[.., i] = exp(x[.., i] - m) / sum_j exp(x[.., j] - m)`, where `m` is the row maximum. For
    another dimension, transpose it to the last one first.

    With `width`, only the first `width` elements of a row count; the result is 0 at the others.

    (C1) Operand and result have the same type, of rank at least 1. (C2) `width` is at most the last dimension.

    Example:

    ```mlir
    %p = hone.softmax %x : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$input, Hone_Width:$width);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "$input (`width` $width^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = rowFacts # [{ bool acceptsPaddedRows() { return true; } }];
}

def Hone_CrossEntropyOp : Hone_RowOp<"cross_entropy", [Hone_WidthInterface]> {
  let summary = "Cross entropy between logits and target classes";
  let description = [{
    The op computes the loss of each row of `vocab` logits `x` with log-sum-exp `lse` and target `t`:
    `loss = (1 - s) * (lse - x[t]) + s * (lse - mean(x))`, with `s = label_smoothing`. For `s = 0` the second term is
    absent, also where a logit is infinite. The loss is 0 where `t == ignore_index`. Any other target outside
    `[0, vocab)` is undefined behaviour of the graph, which the interpreter reports.

    | `reduction` | `loss` |
    |---|---|
    | `none` | the losses of the rows |
    | `sum` | their sum |
    | `mean` | their sum divided by the number of rows not ignored (NaN if there is none, as in PyTorch) |

    The op returns `lse` for the backward pass. With `width`, the classes are the first `width` logits of a row (`vocab`
    is `width`); the others do not count.

    (C1) `logits` has rank at least 1, and `targets` its shape without the last dimension. (C2) `lse` has the shape of
    `targets`. (C3) `loss` has that shape for `none` and rank 0 otherwise. (C4) `0 <= label_smoothing <= 1`. (C5)
    `width` is at most the last dimension.

    Example:

    ```mlir
    %loss, %lse = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0
        : tensor<32x256xf32>, tensor<32xi64> -> tensor<f32>, tensor<32xf32>
    ```
  }];
  let arguments = (ins Hone_LossReductionAttr:$reduction, Hone_FloatTensor:$logits, Hone_IntTensor:$targets,
                       I64Attr:$ignore_index, F64Attr:$label_smoothing, Hone_Width:$width);
  let results = (outs Hone_FloatTensor:$loss, Hone_FloatTensor:$lse);
  let assemblyFormat = [{
    $reduction $logits `,` $targets `ignore_index` $ignore_index `label_smoothing` $label_smoothing (`width` $width^)?
    attr-dict `:` type($logits) `,` type($targets) `->` type($loss) `,` type($lse)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 8); }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    bool hasOwnElementType(unsigned) { return true; }
  }];
}

def Hone_AttentionOp : Hone_Op<"attention", "attention", "contraction",
                              [AttrSizedOperandSegments, Hone_RandomOpInterface]> {
  let summary = "Scaled dot-product attention";
  let description = [{
    The op computes attention for each batch `b` and query head `h`, with the key head `g = h div (H / G)`:

    - scores `s[t, u] = scale * sum_d q[b, t, h, d] * k[b, u, g, d] + mask[b, h, t, u]`, and `-inf` where `causal` and
      `u > t`, or where `segments[b, t] != segments[b, u]`;
    - weights `p = softmax(s)` over `u`, then dropout on `p`;
    - `result[b, t, h, :] = sum_u p[t, u] * v[b, u, g, :]`;
    - `lse[b, h, t]`, the log-sum-exp of `s[t, :]`, for the backward pass.

    A row `t` whose scores are all `-inf`, as of a query that is padding, has weights 0, so that its result and its
    gradients are 0, as of PyTorch's scaled_dot_product_attention; its `lse` is `inf`, as of FlashAttention-2.

    `segments` are ids of the documents that a row holds, of any integer type and in any order: positions of one
    document have one id. They get no gradient. Kernels skip blocks of keys whose ids no query of a block has, so ids
    that ascend along the positions cost the least.

    Dimensions are `[batch, position, head, width]`, the layout of a packed projection. An implementation need not store
    anything of size T x S. Dropout is that of `hone.dropout`; the index of an element is its row-major index in
    `[B, H, T, S]`, for a shard that in `whole`.

    Query `t` stands at position `t` of the keys, unless `first` is given: then queries are as many runs of neighbours
    as it has elements, and run `r` begins at position `first[r]`. `causal`, `segments` and dropout go by the position
    of a query; the added mask has a row per query.

    (C1) `query` is `[B, T, H, D]`, `key` `[B, S, G, D]`, `value` `[B, S, G, E]`, of one element type; the result is
    `[B, T, H, E]`, of that type, or of f32 in place of a narrower one, to be merged with others before it is rounded.
    (C2) `G` divides `H`. (C3) `lse` is `[B, H, T]`. (C4) `mask` has at most a float tensor `[B or 1, H or 1, T, S]`,
    which is added, then an integer tensor `[B, S]`, the `segments`, and then an i64 tensor of rank 1, `first`. With
    segments `T = S`, or there is `first`, whose size divides `T`. (C5) `rng` is present exactly if `dropout > 0`, and
    begins with a key of shape `[3]`. (C6) `0 <= dropout < 1`. (C7) The second operand of `rng`, if there is one, and
    `whole` are `origin` and `whole` of `hone.random`, of `[B, H, T, S]`; with `first`, `origin` does not count
    positions, and dropout needs both.

    Example:

    ```mlir
    %o, %lse = hone.attention %q, %k, %v causal scale 0.125
        : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>)
        -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
    %p, %l = hone.attention %q, %k, %v mask %segments causal scale 0.125
        : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16xi64>)
        -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
    %some, %of = hone.attention %part, %k, %v mask %first causal scale 0.125
        : (tensor<2x8x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>, tensor<2xi64>)
        -> (tensor<2x8x4x64xf32>, tensor<2x4x8xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$query, Hone_FloatTensor:$key, Hone_FloatTensor:$value,
                       Variadic<Hone_MaskTensor>:$masks, Variadic<Hone_Key>:$random,
                       UnitAttr:$causal, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout, DefaultValuedAttr<I64Attr, "0">:$salt,
                       OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Hone_FloatTensor:$result, Hone_FloatTensor:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $masks^)? (`rng` $random^)? (`causal` $causal^)? `scale` $scale
    (`dropout` $dropout^)? (`salt` $salt^)? (`of` $whole^)? attr-dict `:`
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
    bool hasOwnElementType(unsigned index) { return index >= 3; } // masks, rng, origin
  }];
}

def Hone_DecodeAttentionOp : Hone_Op<"decode_attention", "attention", "contraction"> {
  let summary = "Attention of the newest positions over the keys and values so far";
  let description = [{
    The op is causal attention (`hone.attention`) of queries that stand at positions `first`, `first + 1`, ... of the keys:
    query `t` sees the keys `u <= first + t`. Keys and values are caches, of which the rest may be garbage that is
    finite; a kernel need not read it. There is no gradient.

    Dimensions are `[batch, position, head, width]`.

    (C1) `query` is `[B, T, H, D]`, `key` `[B, S, G, D]`, `value` `[B, S, G, E]`, the result `[B, T, H, E]`, of one
    element type. (C2) `G` divides `H`. (C3) `mask`, when present, is `[B or 1, H or 1, T, S]`.

    Example:

    ```mlir
    %o = hone.decode_attention %q, %keys, %values at %position scale 0.125
        : (tensor<1x1x4x64xf32>, tensor<1x16x2x64xf32>, tensor<1x16x2x64xf32>, tensor<i64>) -> tensor<1x1x4x64xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$query, Hone_FloatTensor:$key, Hone_FloatTensor:$value, Hone_StepScalar:$first,
                       Optional<Hone_FloatTensor>:$mask, F64Attr:$scale);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value `at` $first (`mask` $mask^)? `scale` $scale attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    bool hasOwnElementType(unsigned index) { return index >= 3; } // first, mask
    bool getCausal() { return true; }
  }];
}

def Hone_RopeOp : Hone_Op<"rope", "rope", "pointwise", [AllTypesMatch<["input", "result"]>,
                                                      AllTypesMatch<["cos", "sin"]>]> {
  let summary = "Rotary position embedding";
  let description = [{
    The op rotates pairs of elements of the last dimension by an angle that depends on the position (Su et al., 2021).
    With `c = cos[t, j]`, `s = sin[t, j]`, `j < D/2`: `a' = a c - b s`, `b' = b c + a s`. The pair `(a, b)` consists of
    elements `(j, j + D/2)` for style `half` and `(2j, 2j + 1)` for `interleaved`. `inverse` negates `s`, which gives
    the adjoint.

    (C1) `input` is `[B, T, H, D]` with even `D`; the result has its type. (C2) `cos` and `sin` have shape `[T, D/2]`.

    Example:

    ```mlir
    %y = hone.rope half %x, %cos, %sin : tensor<2x16x4x64xf32>, tensor<16x32xf32>
    ```
  }];
  let arguments = (ins Hone_RopeStyleAttr:$style, Hone_FloatTensor:$input, Hone_FloatTensor:$cos, Hone_FloatTensor:$sin,
                       UnitAttr:$inverse);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $style (`inverse` $inverse^)? $input `,` $cos `,` $sin attr-dict `:` type($input) `,` type($cos)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 3); }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
    bool hasOwnElementType(unsigned index) { return index != 0; }
  }];
}

def Hone_GeluOp : Hone_Op<"gelu", "map", "pointwise", [Elementwise, SameOperandsAndResultType]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    The op computes `x/2 * (1 + erf(x / sqrt 2))` for `erf`, and `x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))` for
    `tanh` (Hendrycks and Gimpel, 2016).

    (C1) Operand and result have the same type.

    Example:

    ```mlir
    %y = hone.gelu tanh %x : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_GeluApproximationAttr:$approximate, Hone_FloatTensor:$input);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "$approximate $input attr-dict `:` type($result)";
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 12); }
  }] # Hone_ElementRule<"keepZero">.method;
}

def Hone_DropoutOp : Hone_Op<"dropout", "map", "pointwise",
                            [AllTypesMatch<["input", "result"]>, Hone_RandomOpInterface]> {
  let summary = "Zeroes elements at random and scales the others";
  let description = [{
    The op keeps element `i` if its Philox word `w` is at least `round(p * 2^32)`, and multiplies it by `1 / (1 - p)`;
    otherwise the result is 0. `i` is the row-major index, with `origin` that in `whole` (see `hone.random`).

    The mask depends only on key, `salt` and index. So the backward pass applies the same op to the gradient, and no
    fusion, tiling, sharding or recomputation changes the mask.

    (C1) Operand and result have the same type. (C2) `rng` has shape `[3]`. (C3) `0 <= p < 1`. (C4) `origin` and `whole`
    are those of `hone.random`.

    Example:

    ```mlir
    %y = hone.dropout %x, %key p 0.1 salt 3 : tensor<8x64xf32>, tensor<3xi64>
    %z = hone.dropout %x, %key p 0.1 salt 3 origin %o of [8, 256] : tensor<8x64xf32>, tensor<3xi64>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$input, Hone_Key:$rng, Optional<Hone_Origin>:$origin, F64Attr:$p,
                       I64Attr:$salt, OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $rng `p` $p `salt` $salt (`origin` $origin^ `of` $whole)? attr-dict `:` type($input) `,` type($rng)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 16); }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
  }];
}

#endif // HONE_IR_HONEMODELOPS_TD
