//===- HoneElementwiseOps.td - Ops on one element at a time *- tablegen -*-===//

#ifndef HONE_IR_HONEELEMENTWISEOPS_TD
#define HONE_IR_HONEELEMENTWISEOPS_TD

include "hone/IR/HoneOpBase.td"

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

def Hone_ConstantOp : Hone_Op<"constant", "map", "copy", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A constant";
  let description = [{
    The op returns `value`. Large tensors should not be constants; they are arguments of kind `buffer`.

    (C1) `value` has the type of the result.

    Example:

    ```mlir
    %c = hone.constant dense<1.0> : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Hone_IotaOp : Hone_Op<"iota", "map", "copy"> {
  let summary = "Index of each element along one dimension";
  let description = [{
    The op computes `result[i_0, ..., i_n] = i_dim`.

    (C1) `dim` is a dimension of the result.

    Example:

    ```mlir
    %i = hone.iota dim 1 : tensor<8x64xi64>
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Hone_NumberTensor:$result);
  let assemblyFormat = "`dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hone_RandomOp : Hone_Op<"random", "map", "copy", [Hone_RandomOpInterface]> {
  let summary = "Random elements that depend only on a key and their index";
  let description = [{
    The op draws one random number per element. Element `i` (row-major index in the result) depends on word `i mod 4` of
    Philox4x32-10 (Salmon et al., SC'11) with counter `(i div 4, salt, step, micro)` and key `(seed low, seed high)`,
    where `key = [seed, step, micro]`. All counter entries are taken modulo 2^32. With `w` that word and
    `u = floor(w / 2^8) * 2^-24`:

    - `uniform`: `u`, in [0, 1);
    - `normal`: `sqrt(-2 ln(1 - u)) * cos(2 pi u')`, where `u'` comes from the counter with `salt + 2^31` in the same
      way.

    **Shards.** An op that computes a shard draws the numbers that the global tensor has there. `whole` is the global
    shape, and `origin` the row-major index of the shard's first element in the global tensor. Then
    `i = origin + sum_d i_d * stride_d`, where `i_d` are the indices in the shard and `stride_d` the strides of a
    row-major tensor of shape `whole`. The global tensor is divided evenly: each index of the shard's first element is a
    multiple of the shard's size. Anything else is undefined behaviour of the graph, which the interpreter reports.

    (C1) `key` has shape `[3]`. (C2) The result, or the global tensor, has fewer than 2^34 elements. (C3) `origin` and
    `whole` are both present or both absent, and each size of `whole` is a multiple of the shard's.

    Example:

    ```mlir
    %r = hone.random uniform(%key) salt 7 : tensor<3xi64> -> tensor<8x64xf32>
    %s = hone.random uniform(%key) salt 7 origin %o of [8, 64] : tensor<3xi64> -> tensor<4x16xf32>
    ```
  }];
  let arguments = (ins Hone_Key:$key, Optional<Hone_Origin>:$origin, Hone_DistributionAttr:$dist, I64Attr:$salt,
                       OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $dist `(` $key `)` `salt` $salt (`origin` $origin^ `of` $whole)? attr-dict `:` type($key) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::DimensionMapping getDimensionMapping();
    ::mlir::Value getRandomKey() { return getKey(); }
  }];
}

//===----------------------------------------------------------------------===//
// Unary elementwise
//===----------------------------------------------------------------------===//

def Hone_NegOp
    : Hone_UnaryOp<"neg", Hone_NumberTensor, "-x[i]", "keepState", "pointwise", "f32", 1, "{{0}}"> {
  let hasFolder = 1;
}
def Hone_AbsOp : Hone_UnaryOp<"abs", Hone_NumberTensor, "|x[i]|", "keepState">;
def Hone_ExpOp : Hone_UnaryOp<"exp", Hone_FloatTensor, "e^x[i]", "leaveZero", "accurate", "f32", 10>;
def Hone_LogOp : Hone_UnaryOp<"log", Hone_FloatTensor, "ln x[i]", "logState", "accurate", "f32", 14>;
def Hone_Expm1Op
    : Hone_UnaryOp<"expm1", Hone_FloatTensor, "e^x[i] - 1, also near 0", "keepZero", "accurate", "f32", 16>;
def Hone_Log1pOp
    : Hone_UnaryOp<"log1p", Hone_FloatTensor, "ln(1 + x[i]), also near 0", "log1pState", "accurate", "f32", 20>;
def Hone_SqrtOp : Hone_UnaryOp<"sqrt", Hone_FloatTensor, "sqrt(x[i])", "quotientState">;
def Hone_RsqrtOp : Hone_UnaryOp<"rsqrt", Hone_FloatTensor, "1 / sqrt(x[i])", "quotientState", "accurate">;
def Hone_SinOp : Hone_UnaryOp<"sin", Hone_FloatTensor, "sin x[i]", "keepZero", "accurate", "f32", 24>;
def Hone_CosOp : Hone_UnaryOp<"cos", Hone_FloatTensor, "cos x[i]", "leaveZero", "accurate", "f32", 24>;
def Hone_AtanOp : Hone_UnaryOp<"atan", Hone_FloatTensor, "arctan x[i]", "keepZero", "accurate", "f32", 20>;
def Hone_TanhOp : Hone_UnaryOp<"tanh", Hone_FloatTensor, "tanh x[i]", "keepZero", "pointwise", "f32", 14>;
def Hone_ErfOp : Hone_UnaryOp<"erf", Hone_FloatTensor, "erf x[i]", "keepZero", "pointwise", "f32", 16>;
def Hone_LogisticOp
    : Hone_UnaryOp<"logistic", Hone_FloatTensor, "1 / (1 + e^-x[i])", "leaveZero", "pointwise", "f32", 12>;
def Hone_SignOp : Hone_UnaryOp<"sign", Hone_NumberTensor, "sign of x[i] (0 for 0, NaN for NaN)", "keepState", "copy">;
def Hone_FloorOp
    : Hone_UnaryOp<"floor", Hone_FloatTensor, "the largest whole number that is not above x[i]", "keepZero", "pointwise">;
def Hone_NotOp : Hone_UnaryOp<"not", Hone_IntOrBoolTensor, "bitwise complement of x[i]", "anyNumber", "copy", "i1">;

def Hone_CastOp : Hone_Op<"cast", "map", "copy", [Elementwise, SameOperandsAndResultShape]> {
  let summary = "Conversion of the element type";
  let description = [{
    The op sets `result[i]` to `operand[i]` in the result's element type:

    | from | to | rule |
    |---|---|---|
    | float | narrower float | rounds to nearest even |
    | float | integer | truncates toward zero |
    | integer, i1 | float | is exact where representable |
    | number | i1 | is `x != 0` |
    | integer | narrower integer | keeps the low bits |

    A float that the integer type cannot hold is undefined behaviour of the graph, which the interpreter reports.

    (C1) Operand and result have the same shape.

    Example:

    ```mlir
    %y = hone.cast %x : tensor<8x64xf32> -> tensor<8x64xbf16>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = facts # [{
    ::std::optional<::hone::ElementState> inferElementState(::llvm::ArrayRef<::hone::ElementState> operands) {
      // Truncation can turn other numbers into zero.
      bool truncates = !::llvm::isa<::mlir::FloatType>(getType().getElementType());
      return truncates ? ::hone::detail::keepZero(operands) : ::hone::detail::keepState(operands);
    }
    bool hasOwnElementType(unsigned) { return true; }
    ::hone::OperandSets getLinearOperands() {
      // A narrower type would round each partial sum.
      auto from = ::llvm::dyn_cast<::mlir::FloatType>(getOperand().getType().getElementType());
      auto to = ::llvm::dyn_cast<::mlir::FloatType>(getType().getElementType());
      if (from && to && from.getWidth() <= to.getWidth())
        return {{0}};
      return {};
    }
  }];
}

//===----------------------------------------------------------------------===//
// Binary elementwise, comparison, selection
//===----------------------------------------------------------------------===//

def Hone_AddOp
    : Hone_BinaryOp<"add", Hone_NumberTensor, "x[i] + y[i]", "sumState", [Commutative], "pointwise", "f32", 1,
                    "{{0, 1}}"> {
  let hasFolder = 1;
}
def Hone_SubOp
    : Hone_BinaryOp<"sub", Hone_NumberTensor, "x[i] - y[i]", "sumState", [], "pointwise", "f32", 1, "{{0, 1}}"> {
  let hasFolder = 1;
}
def Hone_MulOp
    : Hone_BinaryOp<"mul", Hone_NumberTensor, "x[i] * y[i]", "productState", [Commutative], "pointwise", "f32", 1,
                    "{{0}, {1}}"> {
  let hasFolder = 1;
}
def Hone_DivOp
    : Hone_BinaryOp<"div", Hone_NumberTensor, "x[i] / y[i] (integers: toward zero; by zero it is undefined)",
                    "quotientState"> {
  let hasFolder = 1;
  let extraClassDeclaration = facts # Hone_ElementRule<"quotientState">.method # [{
    ::hone::OperandSets getLinearOperands() {
      if (::llvm::isa<::mlir::FloatType>(getType().getElementType()))
        return {{0}};
      return {};
    }
  }];
}
def Hone_MaxOp
    : Hone_BinaryOp<"max", Hone_NumberTensor, "max(x[i], y[i]) (NaN if either is NaN)", "keepZero", [Commutative],
                    "copy">;
def Hone_MinOp
    : Hone_BinaryOp<"min", Hone_NumberTensor, "min(x[i], y[i]) (NaN if either is NaN)", "keepZero", [Commutative],
                    "copy">;
def Hone_PowOp
    : Hone_BinaryOp<"pow", Hone_FloatTensor, "x[i] ^ y[i]", "powerState", [], "accurate", "f32", 24> {
  let hasCanonicalizer = 1;
}
def Hone_AndOp
    : Hone_BinaryOp<"and", Hone_IntOrBoolTensor, "x[i] bitwise-and y[i]", "anyNumber", [Commutative], "copy", "i1">;
def Hone_OrOp
    : Hone_BinaryOp<"or", Hone_IntOrBoolTensor, "x[i] bitwise-or y[i]", "anyNumber", [Commutative], "copy", "i1">;

def Hone_CmpOp : Hone_Op<"cmp", "map", "copy", [Elementwise, SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "Elementwise comparison";
  let description = [{
    The op computes `result[i] = lhs[i] predicate rhs[i]`. Comparisons with NaN are false, except `ne`, which is true.
    Integers are signed; false is less than true.

    (C1) `lhs` and `rhs` have the same type. (C2) The result has their shape.

    Example:

    ```mlir
    %m = hone.cmp lt, %x, %y : tensor<8x64xf32> -> tensor<8x64xi1>
    ```
  }];
  let arguments = (ins Hone_CmpPredicateAttr:$predicate, Hone_Tensor:$lhs, Hone_Tensor:$rhs);
  let results = (outs Hone_BoolTensor:$result);
  let assemblyFormat = "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let extraClassDeclaration = facts # Hone_ElementRule<"anyNumber">.method;
}

def Hone_SelectOp : Hone_Op<"select", "map", "copy", [Elementwise, AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let summary = "Elementwise choice";
  let description = [{
    The op computes `result[i] = pred[i] ? on_true[i] : on_false[i]`.

    (C1) `on_true`, `on_false` and the result have the same type. (C2) `pred` has their shape.

    Example:

    ```mlir
    %r = hone.select %p, %x, %y : tensor<8x64xi1>, tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_BoolTensor:$pred, Hone_Tensor:$on_true, Hone_Tensor:$on_false);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$pred `,` $on_true `,` $on_false attr-dict `:` type($pred) `,` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::std::optional<::hone::ElementState> inferElementState(::llvm::ArrayRef<::hone::ElementState> operands) {
      return ::hone::join(operands[1], operands[2]);
    }
  }] # Hone_LinearIn<"{{1, 2}}">.method;
}

#endif // HONE_IR_HONEELEMENTWISEOPS_TD
