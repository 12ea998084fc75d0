//===- HoneShapeOps.td - Ops that move elements ------------*- tablegen -*-===//

#ifndef HONE_IR_HONESHAPEOPS_TD
#define HONE_IR_HONESHAPEOPS_TD

include "hone/IR/HoneOpBase.td"

def Hone_ReshapeOp : Hone_Op<"reshape", "view", "copy"> {
  let summary = "The same elements in row-major order, with another shape";
  let description = [{
    The op returns the elements of the operand in row-major order, with the shape of the result. It costs nothing: the
    result has the storage of the operand.

    (C1) Operand and result have the same element type and number of elements.

    Example:

    ```mlir
    %y = hone.reshape %x : tensor<2x16x64xf32> -> tensor<32x64xf32>
    ```
  }];
  let arguments = (ins Hone_GroupTensor:$operand);
  let results = (outs Hone_GroupTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return {}; }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
    ::hone::StorageView getStorageView() { return ::hone::StorageView::OfOperand; }
  }] # Hone_ElementRule<"keepState">.method # Hone_LinearIn<"{{0}}">.method;
}

def Hone_TransposeOp : Hone_Op<"transpose", "dataMovement", "copy"> {
  let summary = "Permutation of dimensions";
  let description = [{
    The op permutes dimensions: dimension `d` of the result is dimension `permutation[d]` of the operand.

    (C1) `permutation` is a permutation of the operand's dimensions. (C2) The result has the permuted shape and the
    operand's element type.

    Example:

    ```mlir
    %y = hone.transpose %x [0, 2, 1] : tensor<2x16x64xf32> -> tensor<2x64x16xf32>
    ```
  }];
  let arguments = (ins Hone_GroupTensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Hone_GroupTensor:$result);
  let assemblyFormat = "$operand $permutation attr-dict `:` type($operand) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$permutation)>];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = facts # [{
    ::hone::DimensionMapping getDimensionMapping();
  }] # Hone_ElementRule<"keepState">.method # Hone_LinearIn<"{{0}}">.method;
}

def Hone_BroadcastOp : Hone_Op<"broadcast", "map", "copy"> {
  let summary = "Repetition along new dimensions";
  let description = [{
    The op repeats its operand. Dimension `d` of the operand becomes dimension `dims[d]` of the result; along all other
    dimensions of the result the operand repeats. The op does not stretch dimensions of size 1: reshape them away first.

    (C1) `dims` has one entry per dimension of the operand, strictly increasing, each a dimension of the result. (C2)
    Matching dimensions have equal sizes. (C3) Element types are equal.

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
  }] # Hone_ElementRule<"keepState">.method # Hone_LinearIn<"{{0}}">.method;
}

def Hone_SliceOp : Hone_Op<"slice", "dataMovement", "copy"> {
  let summary = "A box of the operand";
  let description = [{
    The op computes `result[i] = operand[starts + i * strides]`, for `starts[d] <= ... < limits[d]` in each dimension.

    (C1) `starts`, `limits`, `strides` have one entry per dimension. (C2) `0 <= starts[d] <= limits[d] <= size[d]` and
    `strides[d] >= 1`. (C3) The result has `ceil((limits[d] - starts[d]) / strides[d])` elements along `d` and the
    operand's element type.

    Example:

    ```mlir
    %y = hone.slice %x [0, 64] to [8, 128] by [1, 1] : tensor<8x192xf32> -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_GroupTensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits,
                       DenseI64ArrayAttr:$strides);
  let results = (outs Hone_GroupTensor:$result);
  let assemblyFormat = [{
    $operand $starts `to` $limits `by` $strides attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = facts # [{
    ::hone::DimensionMapping getDimensionMapping();
    ::hone::StorageView getStorageView() { return ::hone::StorageView::OfOperand; }
  }] # Hone_ElementRule<"keepState">.method # Hone_LinearIn<"{{0}}">.method;
}

def Hone_PadOp : Hone_Op<"pad", "dataMovement", "copy"> {
  let summary = "The operand with zeros around it and between its elements";
  let description = [{
    The op places the operand in a tensor of zeros, with `low[d]` zeros before it, `high[d]` after it, and `interior[d]`
    between neighbouring elements of dimension `d`. It is the adjoint of `hone.slice`.

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
  let extraClassDeclaration = facts # [{
    ::hone::DimensionMapping getDimensionMapping();
  }] # Hone_ElementRule<"keepState">.method # Hone_LinearIn<"{{0}}">.method;
}

def Hone_ConcatOp : Hone_Op<"concat", "dataMovement", "copy"> {
  let summary = "Concatenation along a dimension";
  let description = [{
    The op concatenates its operands, in order, along dimension `dim`.

    (C1) At least one operand; `dim` is a dimension of the result. (C2) Operands agree with the result in element type
    and in every size but along `dim`. (C3) Sizes along `dim` add up to the result's.

    Example:

    ```mlir
    %y = hone.concat %a, %b dim 1 : (tensor<8x64xf32>, tensor<8x32xf32>) -> tensor<8x96xf32>
    ```
  }];
  let arguments = (ins Variadic<Hone_GroupTensor>:$inputs, I64Attr:$dim);
  let results = (outs Hone_GroupTensor:$result);
  let assemblyFormat = "$inputs `dim` $dim attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = facts # [{
    ::hone::DimensionMapping getDimensionMapping();
    ::hone::OperandSets getLinearOperands();
    ::hone::StorageView getStorageView() { return ::hone::StorageView::OfOperands; }
  }] # Hone_ElementRule<"keepState">.method;
}

#endif // HONE_IR_HONESHAPEOPS_TD
