//===- HoneOptimizerOps.td - Norms over many tensors, optimizers *- tablegen -*-===//

#ifndef HONE_IR_HONEOPTIMIZEROPS_TD
#define HONE_IR_HONEOPTIMIZEROPS_TD

include "hone/IR/HoneOpBase.td"

def Hone_GlobalNormOp : Hone_Op<"global_norm", "multiTensor", "accurate"> {
  let summary = "Euclidean norm of many tensors taken as one vector";
  let description = [{
    The op computes `result = sqrt(sum over tensors and elements of x^2)`. It accumulates in fp32 or wider, in an order
    that depends on shapes only.

    (C1) At least one operand.

    Example:

    ```mlir
    %n = hone.global_norm %a, %b : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<Hone_FloatTensor>:$inputs);
  let results = (outs Hone_FloatScalar:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 2); }
    ::hone::DimensionMapping getDimensionMapping() { return ::hone::detail::opaqueMapping(*this); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    bool acceptsAnySharding() { return true; }
  }];
}

def Hone_AdamwOp : Hone_Op<"adamw", "multiTensor", "state",
                           [AttrSizedOperandSegments, Hone_UpdateOpInterface, Hone_RandomOpInterface,
                          Hone_StochasticUpdateOpInterface]> {
  let summary = "One AdamW update of a parameter";
  let description = [{
    The op computes AdamW with decoupled weight decay (Loshchilov and Hutter, 2019), in PyTorch's order. With
    `g = grad * grad_scale` (negated when `maximize`), `a = lr * lr_scale`, `t = step` (1 for the first update):

    - `p = param * (1 - a * weight_decay * decay_scale)`
    - `m' = beta1 * m + (1 - beta1) * g`, `v' = beta2 * v + (1 - beta2) * g^2`
    - `p' = p - a / (1 - beta1^t) * m' / (sqrt(v') / sqrt(1 - beta2^t) + eps)`

    It computes in fp32 or wider, whatever the element types, and `p'` from `m'` and `v'` before they are rounded.

    **Working copy.** `new_working_copy`, when requested, is `new_param` rounded to nearest even in its own, narrower
    type. Contractions read it, so that no step casts a weight.

    **Conditional update.** If `apply` is present and false, every result is its operand bit for bit (`new_working_copy`
    that of `param`), whatever the gradient holds.

    **Stochastic rounding.** With `rng`, results of type bf16 are rounded stochastically (Gupta et al., 2015): an update
    smaller than half a unit in the last place happens with the right probability instead of being lost. Let `w` be the
    Philox word of element `i` (see `hone.random`) for key `rng` and `salt`, and `r` 16 bits of it: `w div 2^16` for
    `new_param`, `(w div 2^8) mod 2^16` for `new_exp_avg`, `w mod 2^16` for `new_exp_avg_sq`. With `b` the bits of the
    value rounded to f32, the result has the bits `(b + r) div 2^16`. Infinities and NaN are rounded as usual.
    Representable values stay as they are, so zero stays zero.

    (C1) `param`, `grad`, `exp_avg`, `exp_avg_sq` and the results have one shape, and the first and each state their
    result's type. (C2) `0 <= beta1, beta2 < 1` and `eps >= 0`. (C3) `new_working_copy`, when present, has a narrower
    element type than `param`. (C4) `rng`, when present, has shape `[3]`, and `param` or a state is of type bf16. (C5)
    `origin` and `whole` are those of `hone.random`, of the parameter, and need `rng`.

    Example:

    ```mlir
    %p1, %m1, %v1 = hone.adamw %p, %g, %m, %v lr %lr weight_decay %wd step %t grad_scale %c
        {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08}
        : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>,
           tensor<i64>, tensor<f32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
    %p2, %m2, %v2, %s2 = hone.adamw %p, %g, %m, %v lr %lr weight_decay %wd step %t grad_scale %c apply %finite
        {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08}
        : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>,
           tensor<i64>, tensor<f32>, tensor<i1>)
        -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xbf16>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$param, Hone_FloatTensor:$grad, Hone_FloatTensor:$exp_avg,
                       Hone_FloatTensor:$exp_avg_sq, Hone_FloatScalar:$lr, Hone_FloatScalar:$weight_decay,
                       Hone_StepScalar:$step, Hone_FloatScalar:$grad_scale, Optional<Hone_BoolScalar>:$apply,
                       Optional<Hone_Key>:$rng, Optional<Hone_Origin>:$origin,
                       F64Attr:$beta1, F64Attr:$beta2, F64Attr:$eps,
                       DefaultValuedAttr<F64Attr, "1.0">:$lr_scale, DefaultValuedAttr<F64Attr, "1.0">:$decay_scale,
                       UnitAttr:$maximize, DefaultValuedAttr<I64Attr, "0">:$salt,
                       OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Hone_FloatTensor:$new_param, Hone_FloatTensor:$new_exp_avg, Hone_FloatTensor:$new_exp_avg_sq,
                      Optional<Hone_FloatTensor>:$new_working_copy);
  let assemblyFormat = [{
    $param `,` $grad `,` $exp_avg `,` $exp_avg_sq `lr` $lr `weight_decay` $weight_decay `step` $step
    `grad_scale` $grad_scale (`apply` $apply^)? (`rng` $rng^)? (`salt` $salt^)? (`origin` $origin^ `of` $whole)?
    attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 5); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}, {2, 1}, {3, 2}}; }
    ::hone::DimensionMapping getDimensionMapping();
  }];
}

def Hone_Adamw8bitOp : Hone_Op<"adamw_8bit", "multiTensor", "state", [Hone_UpdateOpInterface]> {
  let summary = "One AdamW update with moments in 8 bits";
  let description = [{
    The op is `hone.adamw` with moments stored as 8-bit codes (Dettmers et al., 2022). A block is 256 elements of a row;
    the last block of a row may be shorter. Each block has a scale, the magnitude of its largest element. An element is
    the value of its code times the scale of its block. The op computes the new moments from the values of the old
    codes, and the parameter from the new moments before they become codes.

    **Codes.** Values are those of dynamic tree quantization. For decades `e = 0, ..., 6` and `k = 0, ..., n - 1`, there
    is a value `10^(e - 6) * (0.1 + 0.9 * (k + 1/2) / n)`, where `n = 2^e` for `exp_avg` and `2^(e + 1)` for
    `exp_avg_sq`, which has no sign. Counted upwards from 1, these are the codes 1 to 127 for `exp_avg`, with -1 to -127
    for their negatives, and the unsigned codes 1 to 254 for `exp_avg_sq`. Code 0 is the value 0; the value 1 is code
    -128 and 255.

    **Rounding.** A new moment, divided by its block's new scale, gets the code of the nearest value. A second moment
    that is not 0 never gets code 0: a root of zero would divide the first moment by `eps` alone. A block whose largest
    magnitude is below 2^-126 has scale and codes 0.

    `apply` and `new_working_copy` mean what they mean for `hone.adamw`.

    (C1) `param`, `grad`, `exp_avg`, `exp_avg_sq` and the results that follow them have one shape, of rank 1 or more,
    and `param` has its result's type. (C2) Scales have the parameter's shape but for the last size, which is divided by
    256 and rounded up. (C3) `0 <= beta1, beta2 < 1` and `eps >= 0`. (C4) `new_working_copy`, when present, has a
    narrower element type than `param`. (C5) `param` is not f64.

    Example:

    ```mlir
    %p1, %m1, %ms1, %v1, %vs1 = hone.adamw_8bit %p, %g, %m scale %ms, %v scale %vs lr %lr weight_decay %wd step %t
        grad_scale %c {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08}
        : (tensor<8x600xf32>, tensor<8x600xf32>, tensor<8x600xi8>, tensor<8x3xf32>, tensor<8x600xi8>, tensor<8x3xf32>,
           tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>)
        -> (tensor<8x600xf32>, tensor<8x600xi8>, tensor<8x3xf32>, tensor<8x600xi8>, tensor<8x3xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$param, Hone_FloatTensor:$grad, Hone_CodeTensor:$exp_avg,
                       Hone_ScaleTensor:$exp_avg_scale, Hone_CodeTensor:$exp_avg_sq, Hone_ScaleTensor:$exp_avg_sq_scale,
                       Hone_FloatScalar:$lr, Hone_FloatScalar:$weight_decay, Hone_StepScalar:$step,
                       Hone_FloatScalar:$grad_scale, Optional<Hone_BoolScalar>:$apply,
                       F64Attr:$beta1, F64Attr:$beta2, F64Attr:$eps,
                       DefaultValuedAttr<F64Attr, "1.0">:$lr_scale, DefaultValuedAttr<F64Attr, "1.0">:$decay_scale,
                       UnitAttr:$maximize);
  let results = (outs Hone_FloatTensor:$new_param, Hone_CodeTensor:$new_exp_avg, Hone_ScaleTensor:$new_exp_avg_scale,
                      Hone_CodeTensor:$new_exp_avg_sq, Hone_ScaleTensor:$new_exp_avg_sq_scale,
                      Optional<Hone_FloatTensor>:$new_working_copy);
  let assemblyFormat = [{
    $param `,` $grad `,` $exp_avg `scale` $exp_avg_scale `,` $exp_avg_sq `scale` $exp_avg_sq_scale `lr` $lr
    `weight_decay` $weight_decay `step` $step `grad_scale` $grad_scale (`apply` $apply^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 60); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 4}}; }
    int64_t getStateBlock();
    ::hone::DimensionMapping getDimensionMapping();
  }];
}

def Hone_SgdOp : Hone_Op<"sgd", "multiTensor", "state",
                         [AttrSizedOperandSegments, Hone_UpdateOpInterface, Hone_RandomOpInterface,
                          Hone_StochasticUpdateOpInterface]> {
  let summary = "One update by stochastic gradient descent";
  let description = [{
    The op computes PyTorch's SGD without dampening. With `g = grad * grad_scale` (negated when `maximize`)
    `+ weight_decay * decay_scale * param` and `a = lr * lr_scale`:

    - without momentum `param' = param - a * g`;
    - with momentum `b' = momentum * b + g` and `param' = param - a * (nesterov ? g + momentum * b' : b')`, where `b`
      starts at 0.

    The results after `new_param` are the new buffer, with momentum, and then the working copy, when requested. `apply`,
    working copy and `rng` mean what they mean for `hone.adamw`; `r` is `w div 2^16` for `new_param` and `w mod 2^16`
    for the buffer.

    (C1) `param`, `grad`, the momentum buffer and the results have one shape; param and buffer have their result's type.
    (C2) The op reads a momentum buffer exactly if it returns one, and exactly if `momentum != 0`. (C3) `nesterov` needs
    momentum. (C4) A working copy has a narrower element type than `param`. (C5) `rng`, when present, has shape `[3]`,
    and `param` or the buffer is of type bf16. (C6) `origin` and `whole` are those of `hone.adamw`.

    Example:

    ```mlir
    %p1, %b1 = hone.sgd %p, %g lr %lr weight_decay %wd grad_scale %c buffer %b {momentum = 0.9}
        : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<8x64xf32>)
        -> (tensor<8x64xf32>, tensor<8x64xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$param, Hone_FloatTensor:$grad, Hone_FloatScalar:$lr,
                       Hone_FloatScalar:$weight_decay, Hone_FloatScalar:$grad_scale, Optional<Hone_FloatTensor>:$buffer,
                       Optional<Hone_BoolScalar>:$apply, Optional<Hone_Key>:$rng, Optional<Hone_Origin>:$origin,
                       DefaultValuedAttr<F64Attr, "0.0">:$momentum,
                       DefaultValuedAttr<F64Attr, "1.0">:$lr_scale, DefaultValuedAttr<F64Attr, "1.0">:$decay_scale,
                       UnitAttr:$nesterov, UnitAttr:$maximize, DefaultValuedAttr<I64Attr, "0">:$salt,
                       OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Hone_FloatTensor:$new_param, Variadic<Hone_FloatTensor>:$others);
  let assemblyFormat = [{
    $param `,` $grad `lr` $lr `weight_decay` $weight_decay `grad_scale` $grad_scale (`buffer` $buffer^)?
    (`apply` $apply^)? (`rng` $rng^)? (`salt` $salt^)? (`origin` $origin^ `of` $whole)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 3); }
    /// The results after `new_param`, or null.
    ::mlir::Value getNewBuffer();
    ::mlir::Value getNewWorkingCopy();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands();
    ::hone::DimensionMapping getDimensionMapping();
  }];
}

def Hone_LionOp : Hone_Op<"lion", "multiTensor", "state",
                          [AttrSizedOperandSegments, Hone_UpdateOpInterface, Hone_RandomOpInterface,
                          Hone_StochasticUpdateOpInterface]> {
  let summary = "One Lion update of a parameter";
  let description = [{
    The op updates a parameter by the sign of an interpolated momentum (Chen et al., 2023). With `g = grad * grad_scale`
    (negated when `maximize`) and `a = lr * lr_scale`:

    - `p' = param * (1 - a * weight_decay * decay_scale) - a * sign(beta1 * m + (1 - beta1) * g)`, where `sign(0) = 0`
    - `m' = beta2 * m + (1 - beta2) * g`

    `apply`, `new_working_copy` and `rng` mean what they mean for `hone.adamw`; `r` is `w div 2^16` for `new_param` and
    `w mod 2^16` for `new_exp_avg`.

    (C1) `param`, `grad`, `exp_avg` and the results have one shape, and the first and the third state their result's
    type. (C2) `0 <= beta1, beta2 < 1`. (C3) `new_working_copy`, when present, has a narrower element type than `param`.
    (C4) `rng`, when present, has shape `[3]`, and `param` or `exp_avg` is of type bf16. (C5) `origin` and `whole` are
    those of `hone.adamw`.

    Example:

    ```mlir
    %p1, %m1 = hone.lion %p, %g, %m lr %lr weight_decay %wd grad_scale %c {beta1 = 0.9, beta2 = 0.99}
        : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
        -> (tensor<8x64xf32>, tensor<8x64xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$param, Hone_FloatTensor:$grad, Hone_FloatTensor:$exp_avg,
                       Hone_FloatScalar:$lr, Hone_FloatScalar:$weight_decay, Hone_FloatScalar:$grad_scale,
                       Optional<Hone_BoolScalar>:$apply, Optional<Hone_Key>:$rng, Optional<Hone_Origin>:$origin,
                       F64Attr:$beta1, F64Attr:$beta2,
                       DefaultValuedAttr<F64Attr, "1.0">:$lr_scale, DefaultValuedAttr<F64Attr, "1.0">:$decay_scale,
                       UnitAttr:$maximize, DefaultValuedAttr<I64Attr, "0">:$salt,
                       OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Hone_FloatTensor:$new_param, Hone_FloatTensor:$new_exp_avg,
                      Optional<Hone_FloatTensor>:$new_working_copy);
  let assemblyFormat = [{
    $param `,` $grad `,` $exp_avg `lr` $lr `weight_decay` $weight_decay `grad_scale` $grad_scale (`apply` $apply^)?
    (`rng` $rng^)? (`salt` $salt^)? (`origin` $origin^ `of` $whole)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 5); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}, {2, 1}}; }
    ::hone::DimensionMapping getDimensionMapping();
  }];
}

def Hone_AdafactorOp : Hone_Op<"adafactor", "multiTensor", "state",
                               [AttrSizedOperandSegments, Hone_UpdateOpInterface]> {
  let summary = "One Adafactor update of a parameter";
  let description = [{
    The op computes PyTorch's form of Adafactor (Shazeer and Stern, 2018): it keeps the second moments of a matrix as
    means of its rows and columns, and no first moments. With `g = grad * grad_scale` (negated when `maximize`),
    `a = lr * lr_scale`, `t = step` (1 for the first update), `b = t^beta2_decay` and `rms(x) = sqrt(mean(x^2))` over
    all elements of a tensor:

    - rank 2 and more: `r' = r + b * (mean of g^2 over the last dimension - r)`,
      `c' = c + b * (mean of g^2 over the one before it - c)` and
      `v[.., i, j] = r'[.., i] * c'[.., j] / max(mean of r'[.., :], eps1)`
    - rank 0 and 1: `v = v' = v + b * (g^2 - v)`
    - `u = g / sqrt(max(v, eps1^2))`
    - `p' = param * (1 - a * weight_decay * decay_scale) - s * u` with
      `s = max(eps2, rms(param)) * min(a, 1 / sqrt(t)) / max(1, rms(u) / clip_threshold)`

    It computes in fp32 or wider, whatever the element types, with `r'`, `c'` and `v'` before they are rounded.

    The results after `new_param` are the new means and then the working copy, when requested. Working copy and `apply`
    mean what they mean for `hone.adamw`. Means are over all elements of a dimension, so a parameter must be neither
    padded nor packed. The op has no kernel: `hone-decompose-updates` decomposes it into primitives.

    (C1) `param` and `grad` have one shape, and `param`, the means and the working copy the shapes of their results;
    `param` and the means have their result's type. (C2) `variances` are the rows' means, of the shape without the last
    size, and the columns', of that without the size before it; for rank 0 and 1 one of the parameter's shape. (C3)
    `beta2_decay <= 0`, `eps1 >= 0`, `eps2 >= 0` and `clip_threshold >= 1`. (C4) A working copy has a narrower element
    type than `param`.

    Example:

    ```mlir
    %p1, %r1, %c1 = hone.adafactor %p, %g variances (%r, %c) lr %lr weight_decay %wd step %t grad_scale %s
        {beta2_decay = -0.8, eps1 = 1.1920928955078125e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
        : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
           tensor<f32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<64xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$param, Hone_FloatTensor:$grad, Variadic<Hone_FloatTensor>:$variances,
                       Hone_FloatScalar:$lr, Hone_FloatScalar:$weight_decay, Hone_StepScalar:$step,
                       Hone_FloatScalar:$grad_scale, Optional<Hone_BoolScalar>:$apply, F64Attr:$beta2_decay,
                       F64Attr:$eps1, F64Attr:$eps2, F64Attr:$clip_threshold,
                       DefaultValuedAttr<F64Attr, "1.0">:$lr_scale, DefaultValuedAttr<F64Attr, "1.0">:$decay_scale,
                       UnitAttr:$maximize);
  let results = (outs Hone_FloatTensor:$new_param, Variadic<Hone_FloatTensor>:$others);
  let assemblyFormat = [{
    $param `,` $grad `variances` `(` $variances `)` `lr` $lr `weight_decay` $weight_decay `step` $step
    `grad_scale` $grad_scale (`apply` $apply^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 12); }
    ::hone::DimensionMapping getDimensionMapping() { return ::hone::detail::opaqueMapping(*this); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    /// The last of the results after `new_param`, or null.
    ::mlir::Value getNewWorkingCopy();
  }];
}

def Hone_MuonOp : Hone_Op<"muon", "multiTensor", "state", [Hone_UpdateOpInterface]> {
  let summary = "One Muon update of a matrix";
  let description = [{
    The op computes PyTorch's form of Muon (`torch.optim.Muon`; Jordan et al., 2024): the momentum of a matrix, made
    nearly orthogonal, is the step. With `g = grad * grad_scale` (negated when `maximize`) and `a = lr * lr_scale`:

    - `m' = m + (1 - momentum) * (g - m)`, and `u = g + momentum * (m' - g)` when `nesterov`, else `u = m'`
    - `x = bf16(u)`, then `x = bf16(x / max(bf16(norm(x)), bf16(eps)))` with the Euclidean norm over all elements
    - five times, for the shape `[rows, columns]` of `x`: `s = bf16(x x^T)` where `rows <= columns`, else
      `s = bf16(x^T x)`; `t = bf16(-4.775 * s + 2.0315 * s s)`; `x = bf16(3.4445 * x + t x)`, or `x t` where
      `rows > columns`
    - `p' = param * (1 - a * weight_decay * decay_scale) - a * shape_scale * x`

    These are the steps of the Newton-Schulz iteration with the published coefficients, which move every singular value
    near 1. Momentum and parameter are computed in fp32 or wider. The iteration is computed in bf16: products accumulate
    in fp32, and only what `bf16(..)` surrounds is rounded. `shape_scale` corrects the rate for the shape of the matrix:
    `sqrt(max(1, rows / columns))`, or `0.2 * sqrt(max(rows, columns))` to have the root mean square of AdamW's steps
    (Liu et al., 2025), by the sizes that the matrix has in files. Zero rows and columns, such as padding, stay zero; a
    parameter must not be packed from several.

    Working copy and `apply` mean what they mean for `hone.adamw`. The op has no kernel: `hone-decompose-updates`
    decomposes it into primitives.

    (C1) `param`, `grad`, `buffer` and the results have one shape, and the first and the third their result's type. (C2)
    The shape has rank 2. (C3) `0 <= momentum < 1` and `eps >= 0`. (C4) `new_working_copy`, when present, has a narrower
    element type than `param`.

    Example:

    ```mlir
    %p1, %m1 = hone.muon %p, %g, %m lr %lr weight_decay %wd grad_scale %c
        {momentum = 0.95, eps = 1.0e-07, nesterov, shape_scale = 1.0}
        : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
        -> (tensor<8x64xf32>, tensor<8x64xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$param, Hone_FloatTensor:$grad, Hone_FloatTensor:$buffer,
                       Hone_FloatScalar:$lr, Hone_FloatScalar:$weight_decay, Hone_FloatScalar:$grad_scale,
                       Optional<Hone_BoolScalar>:$apply, F64Attr:$momentum, F64Attr:$eps,
                       DefaultValuedAttr<F64Attr, "1.0">:$shape_scale,
                       DefaultValuedAttr<F64Attr, "1.0">:$lr_scale, DefaultValuedAttr<F64Attr, "1.0">:$decay_scale,
                       UnitAttr:$nesterov, UnitAttr:$maximize);
  let results = (outs Hone_FloatTensor:$new_param, Hone_FloatTensor:$new_buffer,
                      Optional<Hone_FloatTensor>:$new_working_copy);
  let assemblyFormat = [{
    $param `,` $grad `,` $buffer `lr` $lr `weight_decay` $weight_decay `grad_scale` $grad_scale (`apply` $apply^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    /// Steps of the iteration, and its polynomial `a x + b x^3 + c x^5`.
    static constexpr int iterations = 5;
    static constexpr double coefficients[] = {3.4445, -4.7750, 2.0315};

    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping() { return ::hone::detail::opaqueMapping(*this); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}, {2, 1}}; }
  }];
}

#endif // HONE_IR_HONEOPTIMIZEROPS_TD
