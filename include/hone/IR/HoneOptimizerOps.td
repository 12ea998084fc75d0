//===- HoneOptimizerOps.td - Norms over many tensors, optimizers *- tablegen -*-===//

#ifndef HONE_IR_HONEOPTIMIZEROPS_TD
#define HONE_IR_HONEOPTIMIZEROPS_TD

include "hone/IR/HoneOpBase.td"

def Hone_GlobalNormOp : Hone_Op<"global_norm", "multi", "accurate"> {
  let summary = "Euclidean norm of many tensors taken as one vector";
  let description = [{
    `result = sqrt(sum over tensors and elements of x^2)`, accumulated in fp32 or wider, in an order that depends on
    shapes only.

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
  }];
}

def Hone_AdamwOp : Hone_Op<"adamw", "multi", "state", [AttrSizedOperandSegments]> {
  let summary = "One AdamW update of a parameter";
  let description = [{
    Decoupled weight decay (Loshchilov and Hutter, 2019), in PyTorch's order. With `g = grad * grad_scale` (negated when
    `maximize`), `a = lr * lr_scale`, `t = step` (1 for the first update):

    - `p = param * (1 - a * weight_decay * decay_scale)`
    - `m' = beta1 * m + (1 - beta1) * g`, `v' = beta2 * v + (1 - beta2) * g^2`
    - `p' = p - a / (1 - beta1^t) * m' / (sqrt(v') / sqrt(1 - beta2^t) + eps)`

    computed in fp32 or wider whatever the element types (`p'` from `m'` and `v'` before they are rounded).

    `new_shadow`, when wanted, is `new_param` rounded to nearest even in its own, narrower type: the copy that
    contractions read, so that no step casts a weight. `apply`, when present and false, makes every result its operand
    bit for bit (`new_shadow` that of `param`), whatever the gradient holds.

    With `rng`, results of type bf16 are rounded stochastically (Gupta et al., 2015), so that updates smaller than half
    a unit in the last place are not lost but happen with their probability. Let `w` be the Philox word of element `i`
    (see `hone.random`) for key `rng` and `salt`, and `r` 16 bits of it: `w div 2^16` for `new_param`,
    `(w div 2^8) mod 2^16` for `new_exp_avg`, `w mod 2^16` for `new_exp_avg_sq`. With `b` the bits of the value rounded
    to f32, the result has the bits `(b + r) div 2^16`; what is not finite is rounded as usual. Representable values
    stay as they are, so zero stays zero.

    (C1) `param`, `grad`, `exp_avg`, `exp_avg_sq` and the results have one shape, and the first and each state their
    result's type. (C2) `0 <= beta1, beta2 < 1` and `eps >= 0`. (C3) `new_shadow`, when present, has a narrower element
    type than `param`. (C4) `rng`, when present, has shape `[3]`, and `param` or a state is of type bf16.

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
                       Optional<Hone_Key>:$rng,
                       F64Attr:$beta1, F64Attr:$beta2, F64Attr:$eps,
                       DefaultValuedAttr<F64Attr, "1.0">:$lr_scale, DefaultValuedAttr<F64Attr, "1.0">:$decay_scale,
                       UnitAttr:$maximize, DefaultValuedAttr<I64Attr, "0">:$salt);
  let results = (outs Hone_FloatTensor:$new_param, Hone_FloatTensor:$new_exp_avg, Hone_FloatTensor:$new_exp_avg_sq,
                      Optional<Hone_FloatTensor>:$new_shadow);
  let assemblyFormat = [{
    $param `,` $grad `,` $exp_avg `,` $exp_avg_sq `lr` $lr `weight_decay` $weight_decay `step` $step
    `grad_scale` $grad_scale (`apply` $apply^)? (`rng` $rng^)? (`salt` $salt^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 5); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}, {2, 1}, {3, 2}}; }
    ::hone::DimensionMapping getDimensionMapping();
  }];
}

def Hone_SgdOp : Hone_Op<"sgd", "multi", "state", [AttrSizedOperandSegments]> {
  let summary = "One update by stochastic gradient descent";
  let description = [{
    PyTorch's SGD without dampening. With `g = grad * grad_scale` (negated when `maximize`)
    `+ weight_decay * decay_scale * param` and `a = lr * lr_scale`: without momentum `param' = param - a * g`; with it
    `b' = momentum * b + g`, `param' = param - a * (nesterov ? g + momentum * b' : b')`, where `b` starts at 0.

    The results after `new_param` are the new buffer, with momentum, and then the shadow, when wanted. `apply`, shadow
    and `rng` mean what they mean for `hone.adamw`; `r` is `w div 2^16` for `new_param` and `w mod 2^16` for the buffer.

    (C1) `param`, `grad`, the momentum buffer and the results have one shape; param and buffer have their result's type.
    (C2) A momentum buffer enters exactly if one leaves, and exactly if `momentum != 0`. (C3) `nesterov` needs
    momentum. (C4) A shadow has a narrower element type than `param`. (C5) `rng`, when present, has shape `[3]`, and
    `param` or the buffer is of type bf16.

    Example:

    ```mlir
    %p1, %b1 = hone.sgd %p, %g lr %lr weight_decay %wd grad_scale %c buffer %b {momentum = 0.9}
        : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<8x64xf32>)
        -> (tensor<8x64xf32>, tensor<8x64xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$param, Hone_FloatTensor:$grad, Hone_FloatScalar:$lr,
                       Hone_FloatScalar:$weight_decay, Hone_FloatScalar:$grad_scale, Optional<Hone_FloatTensor>:$buffer,
                       Optional<Hone_BoolScalar>:$apply, Optional<Hone_Key>:$rng,
                       DefaultValuedAttr<F64Attr, "0.0">:$momentum,
                       DefaultValuedAttr<F64Attr, "1.0">:$lr_scale, DefaultValuedAttr<F64Attr, "1.0">:$decay_scale,
                       UnitAttr:$nesterov, UnitAttr:$maximize, DefaultValuedAttr<I64Attr, "0">:$salt);
  let results = (outs Hone_FloatTensor:$new_param, Variadic<Hone_FloatTensor>:$others);
  let assemblyFormat = [{
    $param `,` $grad `lr` $lr `weight_decay` $weight_decay `grad_scale` $grad_scale (`buffer` $buffer^)?
    (`apply` $apply^)? (`rng` $rng^)? (`salt` $salt^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 3); }
    /// The results after `new_param`, or null.
    ::mlir::Value getNewBuffer();
    ::mlir::Value getNewShadow();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands();
    ::hone::DimensionMapping getDimensionMapping();
  }];
}

#endif // HONE_IR_HONEOPTIMIZEROPS_TD
