//===- HoneGroupedOps.td - Products of groups of rows ------*- tablegen -*-===//

#ifndef HONE_IR_HONEGROUPEDOPS_TD
#define HONE_IR_HONEGROUPEDOPS_TD

include "hone/IR/HoneOpBase.td"

// Rows in groups, such as the tokens of each expert: group e has the rows from `ends[e - 1]` (0 for the first) up to
// `ends[e]`. How many rows a group has depends on the data; all shapes are static.
class Hone_GroupedOp<string mnemonic> : Hone_Op<mnemonic, "groupedContraction", "contraction"> {
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    bool hasOwnElementType(unsigned index) { return index == 2; }
  }];
}

def Hone_GroupedDotOp : Hone_GroupedOp<"grouped_dot"> {
  let summary = "Product of each group of rows with a matrix of its own";
  let description = [{
    The op computes, for `input` [R, H], `weight` [E, H, F] and `ends` [E],
    `result[r, f] = sum over h of input[r, h] * weight[e, h, f]` for the group e of row r: the first with `r < ends[e]`.
    Rows behind the last end give 0. With `contract 2` the weight is [E, F, H]. The ends must not decrease; the op reads
    no row outside of the input whatever they are.

    Products of low-precision operands are exact in fp32 and accumulate there; the sum is rounded once.

    (C1) `input` and the result have rank 2, `weight` rank 3, `ends` rank 1. (C2) `contract` is 1 or 2, and that dimension
    of `weight` has the size H. (C3) `ends` has E elements. (C4) The result is [R, F]. (C5) Operands have one element type.

    Example:

    ```mlir
    %y = hone.grouped_dot %x, %w, %ends contract 1
        : tensor<64x32xf32>, tensor<8x32x48xf32>, tensor<8xi32> -> tensor<64x48xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$input, Hone_FloatTensor:$weight, Hone_IntTensor:$ends, I64Attr:$contract);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weight `,` $ends `contract` $contract attr-dict `:` type($input) `,` type($weight) `,` type($ends) `->`
    type($result)
  }];
  let hasCanonicalizer = 1;
}

def Hone_GroupedDotBwdWeightOp : Hone_GroupedOp<"grouped_dot_bwd_weight"> {
  let summary = "Product of two matrices of rows, group by group";
  let description = [{
    The op computes, for `lhs` [R, A], `rhs` [R, B] and `ends` [E], the result [E, A, B]
    `result[e, a, b] = sum over the rows r of group e of lhs[r, a] * rhs[r, b]`, added in increasing order of `r`; 0 for a
    group without rows. It is the gradient of the weight of a `hone.grouped_dot`.

    (C1) `lhs` and `rhs` have rank 2 and equally many rows, `ends` rank 1. (C2) The result is [E, A, B]. (C3) Operands
    have one element type.

    Example:

    ```mlir
    %dw = hone.grouped_dot_bwd_weight %x, %dy, %ends
        : tensor<64x32xf32>, tensor<64x48xf32>, tensor<8xi32> -> tensor<8x32x48xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$lhs, Hone_FloatTensor:$rhs, Hone_IntTensor:$ends);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $ends attr-dict `:` type($lhs) `,` type($rhs) `,` type($ends) `->` type($result)
  }];
}

#endif // HONE_IR_HONEGROUPEDOPS_TD
