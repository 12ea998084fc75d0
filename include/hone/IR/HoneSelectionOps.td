//===- HoneSelectionOps.td - Order, and elements picked by index -*- tablegen -*-===//

#ifndef HONE_IR_HONESELECTIONOPS_TD
#define HONE_IR_HONESELECTIONOPS_TD

include "hone/IR/HoneOpBase.td"

// Ops along lines: the elements that differ in their index along `dim` only.
class Hone_LineOp<string mnemonic, string family, string numericClass, list<Trait> traits = []>
    : Hone_Op<mnemonic, family, numericClass, traits> {
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
  }];
}

def Hone_ArgsortOp : Hone_LineOp<"argsort", "line", "copy"> {
  let summary = "Indices that sort a dimension";
  let description = [{
    The op returns, for each line along `dim`, the indices of its elements in increasing order, in decreasing order with
    `descending`. Equal elements keep their order. A NaN is greater than any number, as in PyTorch.
    `hone.take_along` of the operand by the result gives the sorted elements.

    (C1) `dim` is a dimension of the operand. (C2) The result has the operand's shape.

    Example:

    ```mlir
    %ids = hone.argsort %x dim 1 descending : tensor<8x64xf32> -> tensor<8x64xi64>
    ```
  }];
  let arguments = (ins Hone_NumberTensor:$operand, I64Attr:$dim, UnitAttr:$descending);
  let results = (outs Hone_IntTensor:$result);
  let assemblyFormat = [{
    $operand `dim` $dim (`descending` $descending^)? attr-dict `:` type($operand) `->` type($result)
  }];
}

def Hone_TopkOp : Hone_LineOp<"topk", "line", "copy"> {
  let summary = "Indices of the largest elements along a dimension";
  let description = [{
    The op returns, for each line along `dim`, the indices of its largest elements, the largest first; with `smallest`,
    of its smallest ones, the smallest first. The result's size along `dim` says how many. Of equal elements the one with
    the lower index comes first. A NaN is greater than any number, as in PyTorch. `hone.take_along` of the operand by the
    result gives the elements, and carries their gradient.

    (C1) `dim` is a dimension of the operand. (C2) The result has the operand's shape, but for its size along `dim`,
    which is at most the operand's.

    Example:

    ```mlir
    %ids = hone.topk %scores dim 1 : tensor<32x8xf32> -> tensor<32x2xi64>
    ```
  }];
  let arguments = (ins Hone_NumberTensor:$operand, I64Attr:$dim, UnitAttr:$smallest);
  let results = (outs Hone_IntTensor:$result);
  let assemblyFormat = [{
    $operand `dim` $dim (`smallest` $smallest^)? attr-dict `:` type($operand) `->` type($result)
  }];
}

def Hone_TakeAlongOp : Hone_LineOp<"take_along", "dataMovement", "copy"> {
  let summary = "Elements of each line picked by index";
  let description = [{
    The op computes `result[.., i, ..] = operand[.., ids[.., i, ..], ..]` along `dim`. An id outside of the line is
    undefined behaviour of the graph. Phases prove that there is none or check each batch (docs/rationale/ids.md), and the
    interpreter reports it.

    (C1) `dim` is a dimension of the operand. (C2) `ids` has the operand's shape, but for its size along `dim`. (C3) The
    result has the shape of `ids` and the operand's element type.

    Example:

    ```mlir
    %y = hone.take_along %x, %ids dim 1 : tensor<32x8xf32>, tensor<32x2xi64> -> tensor<32x2xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, Hone_IntTensor:$ids, I64Attr:$dim);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $ids `dim` $dim attr-dict `:` type($operand) `,` type($ids) `->` type($result)
  }];
}

def Hone_PutAlongOp : Hone_LineOp<"put_along", "line", "accurate"> {
  let summary = "Elements of each line placed by index, combined where they meet";
  let description = [{
    The op computes, along `dim`, `result[.., v, ..] = combine over i with ids[.., i, ..] = v of updates[.., i, ..]`, in
    increasing order of `i`, by `kind`. Where no id names a place, the result is what the combination of nothing gives:
    0 for a sum, the least number of the type for a maximum, the greatest for a minimum. The sum is the gradient of
    `hone.take_along`. An id outside of the line is undefined behaviour, as there.

    (C1) `dim` is a dimension of the result. (C2) `ids` has the result's shape, but for its size along `dim`. (C3)
    `updates` has the shape of `ids` and the result's element type.

    Example:

    ```mlir
    %y = hone.put_along sum %u, %ids dim 1 : tensor<32x2xf32>, tensor<32x2xi64> -> tensor<32x8xf32>
    ```
  }];
  let arguments = (ins Hone_ReduceKindAttr:$kind, Hone_NumberTensor:$updates, Hone_IntTensor:$ids, I64Attr:$dim);
  let results = (outs Hone_NumberTensor:$result);
  let assemblyFormat = [{
    $kind $updates `,` $ids `dim` $dim attr-dict `:` type($updates) `,` type($ids) `->` type($result)
  }];
}

def Hone_UpdateSliceOp : Hone_LineOp<"update_slice", "line", "copy", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "A tensor with some of its elements replaced, from a computed index on";
  let description = [{
    The op returns the operand, with the elements of `update` at the indices `at`, `at + 1`, ... along `dim`. It writes
    these elements only: the memory plan puts the result in the storage of the operand, into a copy where the operand is
    read later. The caches of `@generate` are updated by it, a row for each token.

    An update that reaches outside of the operand is undefined behaviour, and the interpreter reports it.

    (C1) `dim` is a dimension of the operand. (C2) `update` has the operand's element type and shape, but for its size
    along `dim`, which is at most the operand's. (C3) The result has the operand's type.

    Example:

    ```mlir
    %new = hone.update_slice %cache, %row at %position dim 1
        : tensor<1x64x4x16xf32>, tensor<1x1x4x16xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, Hone_Tensor:$update, Hone_Origin:$at, I64Attr:$dim);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $update `at` $at `dim` $dim attr-dict `:` type($operand) `,` type($update)
  }];
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
    ::llvm::SmallVector<::hone::AliasPair> getUpdatedOperands() { return {{0, 0}}; }
  }];
}

#endif // HONE_IR_HONESELECTIONOPS_TD
