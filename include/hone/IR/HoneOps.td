//===- HoneOps.td - Ops of the hone dialect --------------------*- tablegen -*-===//
//
// The description of an op is its specification. Constraints are numbered; the
// verifier marks the check of constraint k of op x `// x_ck`, and the negative
// test is the function `@x_ck` in test/IR/invalid-*.mlir.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_HONEOPS_TD
#define HONE_IR_HONEOPS_TD

include "hone/IR/HoneAttrs.td"
include "hone/IR/HoneDialect.td"
include "hone/IR/HoneEnums.td"
include "hone/IR/HoneInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Types and base classes
//===----------------------------------------------------------------------===//

def Hone_Tensor : StaticShapeTensorOf<[F64, F32, BF16, F16, I64, I32, I8, I1]>;
def Hone_NumberTensor : StaticShapeTensorOf<[F64, F32, BF16, F16, I64, I32, I8]>;
def Hone_FloatTensor : StaticShapeTensorOf<[F64, F32, BF16, F16]>;
def Hone_IntTensor : StaticShapeTensorOf<[I64, I32, I8]>;
def Hone_BoolTensor : StaticShapeTensorOf<[I1]>;
def Hone_IntOrBoolTensor : StaticShapeTensorOf<[I64, I32, I8, I1]>;
def Hone_FloatScalar : 0DTensorOf<[F64, F32]>;
def Hone_StepScalar : 0DTensorOf<[I64]>;
def Hone_BoolScalar : 0DTensorOf<[I1]>;
// Key of a random op: seed, step, micro-step.
def Hone_Key : StaticShapeTensorOf<[I64]>;

class Hone_Op<string mnemonic, string family, string numericClass, list<Trait> traits = []>
    : Op<Hone_Dialect, mnemonic, !listconcat([Pure, Hone_OpInterface], traits)> {
  code facts = [{
    ::hone::KernelFamily getKernelFamily() { return ::hone::KernelFamily::}] # family # [{; }
    ::hone::NumericClass getNumericClass() { return ::hone::NumericClass::}] # numericClass # [{; }
  }];
  let extraClassDeclaration = facts;
}

// getCost of an op that is no single instruction per element: about its FLOPs per element, with the integer work of a
// random number counted alike.
class Hone_ElementCost<int flops> {
  code method = !if(!eq(flops, 1), "",
    "::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, " # flops # "); }");
}

// Elementwise ops between values of one type.
class Hone_UnaryOp<string mnemonic, Type tensor, string formula, string numericClass = "pointwise",
                   string exampleElement = "f32", int flops = 1>
    : Hone_Op<mnemonic, "map", numericClass, [Elementwise, SameOperandsAndResultType]> {
  let summary = "Elementwise: " # formula;
  let description = "`result[i] = " # formula # "`.\n\n"
    # "(C1) Operand and result have the same type.\n\nExample:\n\n```mlir\n%r = hone." # mnemonic
    # " %x : tensor<8x64x" # exampleElement # ">\n```";
  let arguments = (ins tensor:$operand);
  let results = (outs tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let extraClassDeclaration = facts # Hone_ElementCost<flops>.method;
}

class Hone_BinaryOp<string mnemonic, Type tensor, string formula, list<Trait> traits = [],
                    string numericClass = "pointwise", string exampleElement = "f32", int flops = 1>
    : Hone_Op<mnemonic, "map", numericClass, !listconcat([Elementwise, SameOperandsAndResultType], traits)> {
  let summary = "Elementwise: " # formula;
  let description = "`result[i] = " # formula # "`. Operands are not broadcast: use `hone.broadcast`.\n\n"
    # "(C1) Operands and result have the same type.\n\nExample:\n\n```mlir\n%r = hone." # mnemonic
    # " %x, %y : tensor<8x64x" # exampleElement # ">\n```";
  let arguments = (ins tensor:$lhs, tensor:$rhs);
  let results = (outs tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let extraClassDeclaration = facts # Hone_ElementCost<flops>.method;
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

def Hone_ConstantOp : Hone_Op<"constant", "map", "exact", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A constant";
  let description = [{
    `result = value`. Large tensors do not belong here: they are arguments of kind `buffer`.

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

def Hone_IotaOp : Hone_Op<"iota", "map", "exact"> {
  let summary = "Index of each element along one dimension";
  let description = [{
    `result[i_0, ..., i_n] = i_dim`.

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

def Hone_RandomOp : Hone_Op<"random", "map", "exact"> {
  let summary = "Random elements that depend on a key and their index only";
  let description = [{
    Element `i` (row-major index in the result) is made from word `i mod 4` of Philox4x32-10 (Salmon et al., SC'11) with
    counter `(i div 4, salt, step, micro)` and key `(seed low, seed high)`, where `key = [seed, step, micro]`. All counter
    entries are taken modulo 2^32. With `w` that word and `u = floor(w / 2^8) * 2^-24`:

    - `uniform`: `u`, in [0, 1);
    - `normal`: `sqrt(-2 ln(1 - u)) * cos(2 pi u')`, where `u'` is made the same way from the counter with
      `salt + 2^31`.

    (C1) `key` has shape `[3]`. (C2) The result has fewer than 2^34 elements.

    Example:

    ```mlir
    %r = hone.random uniform(%key) salt 7 : tensor<3xi64> -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_Key:$key, Hone_DistributionAttr:$dist, I64Attr:$salt);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "$dist `(` $key `)` `salt` $salt attr-dict `:` type($key) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{ ::hone::DimensionMapping getDimensionMapping(); }];
}

//===----------------------------------------------------------------------===//
// Unary elementwise
//===----------------------------------------------------------------------===//

def Hone_NegOp : Hone_UnaryOp<"neg", Hone_NumberTensor, "-x[i]"> { let hasFolder = 1; }
def Hone_AbsOp : Hone_UnaryOp<"abs", Hone_NumberTensor, "|x[i]|">;
def Hone_ExpOp : Hone_UnaryOp<"exp", Hone_FloatTensor, "e^x[i]", "accurate", "f32", 10>;
def Hone_LogOp : Hone_UnaryOp<"log", Hone_FloatTensor, "ln x[i]", "accurate", "f32", 14>;
def Hone_SqrtOp : Hone_UnaryOp<"sqrt", Hone_FloatTensor, "sqrt(x[i])">;
def Hone_RsqrtOp : Hone_UnaryOp<"rsqrt", Hone_FloatTensor, "1 / sqrt(x[i])", "accurate">;
def Hone_SinOp : Hone_UnaryOp<"sin", Hone_FloatTensor, "sin x[i]", "accurate", "f32", 24>;
def Hone_CosOp : Hone_UnaryOp<"cos", Hone_FloatTensor, "cos x[i]", "accurate", "f32", 24>;
def Hone_TanhOp : Hone_UnaryOp<"tanh", Hone_FloatTensor, "tanh x[i]", "pointwise", "f32", 14>;
def Hone_ErfOp : Hone_UnaryOp<"erf", Hone_FloatTensor, "erf x[i]", "pointwise", "f32", 16>;
def Hone_LogisticOp : Hone_UnaryOp<"logistic", Hone_FloatTensor, "1 / (1 + e^-x[i])", "pointwise", "f32", 12>;
def Hone_SignOp : Hone_UnaryOp<"sign", Hone_NumberTensor, "sign of x[i] (0 for 0, NaN for NaN)", "exact">;
def Hone_NotOp : Hone_UnaryOp<"not", Hone_IntOrBoolTensor, "bitwise complement of x[i]", "exact", "i1">;

def Hone_CastOp : Hone_Op<"cast", "map", "exact", [Elementwise, SameOperandsAndResultShape]> {
  let summary = "Element type conversion";
  let description = [{
    `result[i]` is `operand[i]` in the result's element type. Float to narrower float rounds to nearest even; float to
    integer truncates toward zero; integer and i1 to float are exact where representable; number to i1 is `x != 0`;
    an integer too wide keeps its low bits. A float that the integer type cannot hold is undefined behaviour of the graph,
    which the interpreter reports.

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
}

//===----------------------------------------------------------------------===//
// Binary elementwise, comparison, selection
//===----------------------------------------------------------------------===//

def Hone_AddOp : Hone_BinaryOp<"add", Hone_NumberTensor, "x[i] + y[i]", [Commutative]> { let hasFolder = 1; }
def Hone_SubOp : Hone_BinaryOp<"sub", Hone_NumberTensor, "x[i] - y[i]"> { let hasFolder = 1; }
def Hone_MulOp : Hone_BinaryOp<"mul", Hone_NumberTensor, "x[i] * y[i]", [Commutative]> { let hasFolder = 1; }
def Hone_DivOp : Hone_BinaryOp<"div", Hone_NumberTensor, "x[i] / y[i] (integers: toward zero; by zero it is undefined)"> { let hasFolder = 1; }
def Hone_MaxOp : Hone_BinaryOp<"max", Hone_NumberTensor, "max(x[i], y[i]) (NaN if either is NaN)", [Commutative], "exact">;
def Hone_MinOp : Hone_BinaryOp<"min", Hone_NumberTensor, "min(x[i], y[i]) (NaN if either is NaN)", [Commutative], "exact">;
def Hone_PowOp : Hone_BinaryOp<"pow", Hone_FloatTensor, "x[i] ^ y[i]", [], "accurate", "f32", 24> { let hasCanonicalizer = 1; }
def Hone_AndOp : Hone_BinaryOp<"and", Hone_IntOrBoolTensor, "x[i] bitwise-and y[i]", [Commutative], "exact", "i1">;
def Hone_OrOp : Hone_BinaryOp<"or", Hone_IntOrBoolTensor, "x[i] bitwise-or y[i]", [Commutative], "exact", "i1">;

def Hone_CmpOp : Hone_Op<"cmp", "map", "exact", [Elementwise, SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "Elementwise comparison";
  let description = [{
    `result[i] = lhs[i] predicate rhs[i]`. Comparisons with NaN are false, `ne` is true. Integers are signed; false is
    less than true.

    (C1) `lhs` and `rhs` have the same type. (C2) The result has their shape.

    Example:

    ```mlir
    %m = hone.cmp lt, %x, %y : tensor<8x64xf32> -> tensor<8x64xi1>
    ```
  }];
  let arguments = (ins Hone_CmpPredicateAttr:$predicate, Hone_Tensor:$lhs, Hone_Tensor:$rhs);
  let results = (outs Hone_BoolTensor:$result);
  let assemblyFormat = "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def Hone_SelectOp : Hone_Op<"select", "map", "exact", [Elementwise, AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let summary = "Elementwise choice";
  let description = [{
    `result[i] = pred[i] ? on_true[i] : on_false[i]`.

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
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def Hone_ReshapeOp : Hone_Op<"reshape", "view", "exact"> {
  let summary = "The same elements in row-major order under another shape";
  let description = [{
    (C1) Operand and result have the same element type and number of elements.

    Example:

    ```mlir
    %y = hone.reshape %x : tensor<2x16x64xf32> -> tensor<32x64xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return {}; }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
  }];
}

def Hone_TransposeOp : Hone_Op<"transpose", "move", "exact"> {
  let summary = "Permutation of dimensions";
  let description = [{
    Dimension `d` of the result is dimension `permutation[d]` of the operand.

    (C1) `permutation` is a permutation of the operand's dimensions. (C2) The result has the permuted shape and the
    operand's element type.

    Example:

    ```mlir
    %y = hone.transpose %x [0, 2, 1] : tensor<2x16x64xf32> -> tensor<2x64x16xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$operand $permutation attr-dict `:` type($operand) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$permutation)>];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = facts # [{ ::hone::DimensionMapping getDimensionMapping(); }];
}

def Hone_BroadcastOp : Hone_Op<"broadcast", "map", "exact"> {
  let summary = "Repetition along new dimensions";
  let description = [{
    Dimension `d` of the operand becomes dimension `dims[d]` of the result; along every other dimension of the result the
    operand repeats. Size-1 dimensions are not stretched: reshape them away first.

    (C1) `dims` has one entry per dimension of the operand, strictly increasing, each a dimension of the result.
    (C2) Matching dimensions have equal sizes. (C3) Element types are equal.

    Example:

    ```mlir
    %y = hone.broadcast %b dims [1] : tensor<64xf32> -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$operand `dims` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = facts # [{
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
  }];
}

def Hone_SliceOp : Hone_Op<"slice", "move", "exact"> {
  let summary = "A box of the operand";
  let description = [{
    `result[i] = operand[starts + i * strides]`, for `starts[d] <= ... < limits[d]` in each dimension.

    (C1) `starts`, `limits`, `strides` have one entry per dimension. (C2) `0 <= starts[d] <= limits[d] <= size[d]` and
    `strides[d] >= 1`. (C3) The result has `ceil((limits[d] - starts[d]) / strides[d])` elements along `d` and the
    operand's element type.

    Example:

    ```mlir
    %y = hone.slice %x [0, 64] to [8, 128] by [1, 1] : tensor<8x192xf32> -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits,
                       DenseI64ArrayAttr:$strides);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = [{
    $operand $starts `to` $limits `by` $strides attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = facts # [{ ::hone::DimensionMapping getDimensionMapping(); }];
}

def Hone_PadOp : Hone_Op<"pad", "move", "exact"> {
  let summary = "Zeros around (and between) the operand";
  let description = [{
    The operand placed in a tensor of zeros, with `low[d]` zeros before, `high[d]` after, and `interior[d]` between
    neighbouring elements of dimension `d`. The adjoint of `hone.slice`.

    (C1) `low`, `high`, `interior` have one entry per dimension, none negative. (C2) Size `d` of the result is
    `low + high + size + max(size - 1, 0) * interior`; element types are equal.

    Example:

    ```mlir
    %y = hone.pad %x low [0, 64] high [0, 64] interior [0, 0] : tensor<8x64xf32> -> tensor<8x192xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DenseI64ArrayAttr:$interior);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = [{
    $operand `low` $low `high` $high `interior` $interior attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = facts # [{ ::hone::DimensionMapping getDimensionMapping(); }];
}

def Hone_ConcatOp : Hone_Op<"concat", "move", "exact"> {
  let summary = "Operands one after the other along a dimension";
  let description = [{
    (C1) At least one operand; `dim` is a dimension of the result. (C2) Operands agree with the result in element type
    and in every size but along `dim`. (C3) Sizes along `dim` add up to the result's.

    Example:

    ```mlir
    %y = hone.concat %a, %b dim 1 : (tensor<8x64xf32>, tensor<8x32xf32>) -> tensor<8x96xf32>
    ```
  }];
  let arguments = (ins Variadic<Hone_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$inputs `dim` $dim attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = facts # [{ ::hone::DimensionMapping getDimensionMapping(); }];
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def Hone_ReduceOp : Hone_Op<"reduce", "row", "accurate"> {
  let summary = "Sum, maximum or minimum over dimensions";
  let description = [{
    Combines all elements that differ only in the indices `dims`; those dimensions vanish. Floating-point sums of f32 and
    narrower types accumulate in fp32, in an order that depends on shapes only. The empty sum is 0, the empty max is
    -inf, the empty min +inf (the smallest and largest value for integers).

    (C1) `dims` are distinct dimensions of the operand, in increasing order. (C2) The result has the remaining
    dimensions and the operand's element type.

    A reduction along the last dimension only is of family `row`, any other of family `column`.

    Example:

    ```mlir
    %s = hone.reduce sum %x dims [1] : tensor<8x64xf32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Hone_ReduceKindAttr:$kind, Hone_NumberTensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Hone_NumberTensor:$result);
  let assemblyFormat = "$kind $operand `dims` $dims attr-dict `:` type($operand) `->` type($result)";
  let builders = [OpBuilder<(ins "::hone::ReduceKind":$kind, "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$dims)>];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    ::hone::KernelFamily getKernelFamily();
    ::hone::NumericClass getNumericClass() { return ::hone::NumericClass::accurate; }
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    /// True when the last dimension, and no other, is reduced.
    bool isRowReduction();
  }];
}

def Hone_ArgmaxOp : Hone_Op<"argmax", "row", "exact"> {
  let summary = "Index of the largest element along a dimension";
  let description = [{
    The smallest index at which the maximum along `dim` is found; a NaN counts as larger than any number.

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
    `result[.., i, ..] = sum over j <= i of operand[.., j, ..]` along `dim`; with `reverse`, over `j >= i`.

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
  }];
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

def Hone_DotGeneralOp : Hone_Op<"dot_general", "contraction", "contraction"> {
  let summary = "Sum of products over contracted dimensions";
  let description = [{
    Multiplies `lhs` and `rhs` elementwise over the paired batch dimensions and sums over the paired contracting
    dimensions. The result's dimensions are the batch dimensions, then the free dimensions of `lhs`, then those of `rhs`,
    each in operand order. Products of low-precision operands are exact in fp32 and accumulate there; the sum is rounded
    once, to the result's element type, which may differ from the operands' (a weight gradient is f32 while what it is
    made of is bf16).

    (C1) Batch and contracting lists of one operand are distinct dimensions of it. (C2) Paired lists have equal lengths
    and paired dimensions equal sizes. (C3) The result has the shape above. (C4) Operands have one element type.

    Example: `y[b, m, n] = sum_k x[b, m, k] * w[n, k]`

    ```mlir
    %y = hone.dot_general %x, %w batch [] x [] contract [2] x [1]
        : tensor<2x16x64xf32>, tensor<192x64xf32> -> tensor<2x16x192xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$lhs, Hone_FloatTensor:$rhs,
                       DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` $lhs_batch `x` $rhs_batch `contract` $lhs_contract `x` $rhs_contract attr-dict `:`
    type($lhs) `,` type($rhs) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
    "::llvm::ArrayRef<int64_t>":$lhs_batch, "::llvm::ArrayRef<int64_t>":$rhs_batch,
    "::llvm::ArrayRef<int64_t>":$lhs_contract, "::llvm::ArrayRef<int64_t>":$rhs_contract)>];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    /// Dimensions of an operand that are neither batch nor contracted, in order.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
  }];
}

//===----------------------------------------------------------------------===//
// Index
//===----------------------------------------------------------------------===//

def Hone_EmbeddingOp : Hone_Op<"embedding", "gather", "exact"> {
  let summary = "Rows of a table picked by index";
  let description = [{
    `result[i..., :] = table[ids[i...], :]`. An id outside `[0, rows)` is undefined behaviour of the graph; the runtime
    refuses such token files before they reach it, and the interpreter reports them.

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
    `result[v, :] = sum over i with ids[i] = v of grad[i, :]`, added in increasing order of `i`. Rows without an id are 0.

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

//===----------------------------------------------------------------------===//
// Named forward ops
//===----------------------------------------------------------------------===//

// Of the row ops: how many elements of each row count, the others being padding. 0: all of them.
defvar Hone_Width = DefaultValuedAttr<I64Attr, "0">;

class Hone_RowOp<string mnemonic, list<Trait> traits = []> : Hone_Op<mnemonic, "row", "accurate", traits> {
  code rowFacts = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 8); }
    ::hone::DimensionMapping getDimensionMapping() { return ::hone::detail::rowMapping(*this); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
  }];
  let extraClassDeclaration = rowFacts;
}

def Hone_LayerNormOp : Hone_RowOp<"layer_norm", [AttrSizedOperandSegments]> {
  let summary = "Layer normalisation along the last dimension";
  let description = [{
    With `mean` and `var` (biased) over the last dimension, `rstd = 1 / sqrt(var + eps)`:
    `result = (x - mean) * rstd * scale + bias` (Ba et al., 2016). Computed in fp32 or wider; `mean` and `rstd` are kept
    for the backward pass.

    With `width` only the first `width` elements of a row count; the result is 0 at the others.

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

def Hone_RmsNormOp : Hone_RowOp<"rms_norm"> {
  let summary = "Root-mean-square normalisation along the last dimension";
  let description = [{
    `rstd = 1 / sqrt(mean(x^2) + eps)` over the last dimension, `result = x * rstd * scale` (Zhang and Sennrich, 2019).
    `rstd` is kept for the backward pass. With `width` only the first `width` elements of a row count; the result is 0
    at the others.

    (C1) `input` has rank at least 1; the result has its type. (C2) `scale`, when present, has the shape of a row.
    (C3) `rstd` has the input's shape without the last dimension. (C4) `width` is at most the last dimension.

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

def Hone_SoftmaxOp : Hone_RowOp<"softmax", [SameOperandsAndResultType]> {
  let summary = "Softmax along the last dimension";
  let description = [{
    `result[.., i] = exp(x[.., i] - m) / sum_j exp(x[.., j] - m)` with `m` the row maximum. Another dimension is
    transposed to the last one first. With `width` only the first `width` elements of a row count; the result is 0 at
    the others.

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
}

def Hone_CrossEntropyOp : Hone_RowOp<"cross_entropy"> {
  let summary = "Cross entropy between logits and target classes";
  let description = [{
    For each row of `vocab` logits with log-sum-exp `lse` and target `t`:
    `loss = (1 - s) * (lse - x[t]) + s * (lse - mean(x))`, with `s = label_smoothing` (no second term for `s = 0`, also
    where a logit is infinite); 0 where `t == ignore_index`. Any other target outside `[0, vocab)` is undefined behaviour
    of the graph, which the interpreter reports.
    `reduction` gives the rows themselves (`none`), their sum, or the sum over the number of rows not ignored (`mean`;
    NaN if there is none, as in PyTorch). `lse` is kept for the backward pass. With `width` the classes are the first
    `width` logits of a row (`vocab` is `width`); the others do not count.

    (C1) `logits` has rank at least 1, and `targets` its shape without the last dimension. (C2) `lse` has the shape of
    `targets`. (C3) `loss` has that shape for `none` and rank 0 otherwise. (C4) `0 <= label_smoothing <= 1`.
    (C5) `width` is at most the last dimension.

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
  }];
}

def Hone_AttentionOp : Hone_Op<"attention", "attention", "contraction", [AttrSizedOperandSegments]> {
  let summary = "Scaled dot-product attention";
  let description = [{
    For each batch `b` and head `h`, with the key head `g = h div (H / G)`:
    `s[t, u] = scale * sum_d q[b, t, h, d] * k[b, u, g, d] + mask[b, h, t, u]`, `-inf` where `causal` and `u > t`,
    `p = softmax(s)` over `u`, then dropout on `p` (see `hone.dropout`; the element index is that of
    `[B, H, T, S]` in row-major order), and `result[b, t, h, :] = sum_u p[t, u] * v[b, u, g, :]`. `lse[b, h, t]` is the
    log-sum-exp of `s[t, :]`. Nothing of size T x S need be stored. Dimensions are `[batch, position, head, width]`, the
    layout a packed projection has.

    (C1) `query` is `[B, T, H, D]`, `key` `[B, S, G, D]`, `value` `[B, S, G, E]`, the result `[B, T, H, E]`, of one
    element type. (C2) `G` divides `H`. (C3) `lse` is `[B, H, T]`. (C4) `mask`, when present, is `[B or 1, H or 1, T, S]`.
    (C5) `rng` is present exactly if `dropout > 0`, and has shape `[3]`. (C6) `0 <= dropout < 1`.

    Example:

    ```mlir
    %o, %lse = hone.attention %q, %k, %v causal scale 0.125
        : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>) -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$query, Hone_FloatTensor:$key, Hone_FloatTensor:$value,
                       Optional<Hone_FloatTensor>:$mask, Optional<Hone_Key>:$rng,
                       UnitAttr:$causal, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout, DefaultValuedAttr<I64Attr, "0">:$salt);
  let results = (outs Hone_FloatTensor:$result, Hone_FloatTensor:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`rng` $rng^)? (`causal` $causal^)? `scale` $scale
    (`dropout` $dropout^)? (`salt` $salt^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
  }];
}

def Hone_RopeOp : Hone_Op<"rope", "map", "pointwise", [AllTypesMatch<["input", "result"]>,
                                                      AllTypesMatch<["cos", "sin"]>]> {
  let summary = "Rotary position embedding";
  let description = [{
    Rotates pairs of elements of the last dimension by an angle that depends on the position (Su et al., 2021). With
    `c = cos[t, j]`, `s = sin[t, j]`, `j < D/2`: `a' = a c - b s`, `b' = b c + a s`, where `(a, b)` are elements
    `(j, j + D/2)` for style `half` and `(2j, 2j + 1)` for `interleaved`. With `inverse`, `s` is negated: the adjoint.

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
  }];
}

def Hone_GeluOp : Hone_Op<"gelu", "map", "pointwise", [Elementwise, SameOperandsAndResultType]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    `erf`: `x/2 * (1 + erf(x / sqrt 2))`; `tanh`: `x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))`
    (Hendrycks and Gimpel, 2016).

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
  }];
}

def Hone_DropoutOp : Hone_Op<"dropout", "map", "pointwise", [AllTypesMatch<["input", "result"]>]> {
  let summary = "Zeroes elements at random and scales the others";
  let description = [{
    Element `i` (row-major index) is kept when its Philox word `w` (see `hone.random`) is at least `round(p * 2^32)`, and
    then multiplied by `1 / (1 - p)`; otherwise the result is 0. The mask depends on key, `salt` and index only, so the
    backward pass applies the same op to the gradient, and no fusion, tiling or recomputation changes it.

    (C1) Operand and result have the same type. (C2) `rng` has shape `[3]`. (C3) `0 <= p < 1`.

    Example:

    ```mlir
    %y = hone.dropout %x, %key p 0.1 salt 3 : tensor<8x64xf32>, tensor<3xi64>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$input, Hone_Key:$rng, F64Attr:$p, I64Attr:$salt);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "$input `,` $rng `p` $p `salt` $salt attr-dict `:` type($input) `,` type($rng)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, 16); }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
  }];
}

//===----------------------------------------------------------------------===//
// Named backward ops
//===----------------------------------------------------------------------===//

def Hone_LayerNormBwdOp : Hone_RowOp<"layer_norm_bwd"> {
  let summary = "Gradient of layer normalisation with respect to its input";
  let description = [{
    With `h = (x - mean) * rstd` and `g = grad * scale` (or `grad`):
    `result = rstd * (g - mean_row(g) - h * mean_row(g * h))`. Gradients of scale and bias are column sums, written with
    `hone.reduce`, and share the kernel. With `width` only the first `width` elements of a row count; the result is 0 at
    the others.

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
    With `h = x * rstd` and `g = grad * scale` (or `grad`): `result = rstd * (g - h * mean_row(g * h))`. With `width`
    only the first `width` elements of a row count; the result is 0 at the others.

    (C1) `grad`, `input` and the result have one type. (C2) `rstd` has its shape without the last dimension.
    (C3) `scale`, when present, has the shape of a row. (C4) `width` is at most the last dimension.

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
    `result = output * (grad - sum_row(grad * output))` along the last dimension. With `width` only the first `width`
    elements of a row count; the result is 0 at the others.

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
    For each row not ignored: `result = w * (exp(x - lse) - (1 - s) * onehot(t) - s / vocab)`, where `w` is the row's
    `grad` for reduction `none`, `grad` for `sum` and `grad / number of rows not ignored` for `mean`; 0 for ignored rows.
    With `width` the classes are the first `width` logits of a row (`vocab` is `width`); the result is 0 at the others.

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

def Hone_AttentionBwdOp : Hone_Op<"attention_bwd", "attention", "contraction", [AttrSizedOperandSegments]> {
  let summary = "Gradients of attention with respect to query, key and value";
  let description = [{
    Recomputes `p = exp(s - lse)` by blocks (Dao et al., 2022). With `z` the dropout factor (0 or `1/(1-p)`),
    `delta[t] = sum_e grad[t, e] * output[t, e]`: `dv = (p z)^T grad`, `dp = (grad v^T) z`, `ds = p (dp - delta)`,
    `dq = scale * ds k`, `dk = scale * ds^T q`; key and value gradients add over the query heads of a group. The mask gets no gradient.

    (C1) `grad` and `output` have the type of the attention's result, `lse` that of its `lse`, and the other operands
    and attributes are those of the attention. (C2) Results have the types of query, key and value.

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
                       Optional<Hone_FloatTensor>:$mask, Optional<Hone_Key>:$rng,
                       UnitAttr:$causal, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout, DefaultValuedAttr<I64Attr, "0">:$salt);
  let results = (outs Hone_FloatTensor:$query_grad, Hone_FloatTensor:$key_grad, Hone_FloatTensor:$value_grad);
  let assemblyFormat = [{
    $grad `,` $query `,` $key `,` $value `,` $output `,` $lse (`mask` $mask^)? (`rng` $rng^)? (`causal` $causal^)?
    `scale` $scale (`dropout` $dropout^)? (`salt` $salt^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
  }];
}

def Hone_GeluBwdOp : Hone_Op<"gelu_bwd", "map", "pointwise", [Elementwise, SameOperandsAndResultType]> {
  let summary = "Gradient of GELU from its input";
  let description = [{
    `result = grad * gelu'(input)`, for the formula of `hone.gelu` that `approximate` names.

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

//===----------------------------------------------------------------------===//
// Norms over many tensors, optimizers
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Hone_StopGradientOp : Hone_Op<"stop_gradient", "view", "exact", [SameOperandsAndResultType]> {
  let summary = "The operand, through which no gradient flows";
  let description = [{
    (C1) Operand and result have the same type. Autodiff consumes it; none is left after that phase.

    Example:

    ```mlir
    %y = hone.stop_gradient %x : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return {}; }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
  }];
}

def Hone_GroupOp : Op<Hone_Dialect, "group", [Pure, IsolatedFromAbove, SingleBlock, Hone_OpInterface]> {
  let summary = "Ops that become one kernel or one library call";
  let description = [{
    The body sees the operands as block arguments and yields the results. `family` says which emitter lowers it.
    Created by the fuse phase, consumed by the plan phase.

    (C1) Block arguments have the operands' types and the yielded values the results' types. (C2) The body holds `hone`
    ops only, and no group.

    Example:

    ```mlir
    %y = hone.group map (%a = %x : tensor<8x64xf32>, %b = %z : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %s = hone.add %a, %b : tensor<8x64xf32>
      hone.yield %s : tensor<8x64xf32>
    }
    ```
  }];
  let arguments = (ins Hone_KernelFamilyAttr:$family, Variadic<Hone_Tensor>:$inputs);
  let results = (outs Variadic<Hone_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::hone::KernelFamily getKernelFamily() { return getFamily(); }
    ::hone::NumericClass getNumericClass() { return ::hone::NumericClass::exact; }
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping() { return ::hone::detail::opaqueMapping(*this); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands();
    ::mlir::Block &getBodyBlock() { return getBody().front(); }
  }];
}

def Hone_YieldOp : Op<Hone_Dialect, "yield", [Pure, ReturnLike, Terminator, HasParent<"GroupOp">]> {
  let summary = "Results of a group";
  let description = [{
    Ends the body of a `hone.group` and names its results.

    Example:

    ```mlir
    hone.yield %s : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Variadic<Hone_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // HONE_IR_HONEOPS_TD
