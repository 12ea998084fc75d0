//===- DistBlockOps.td - Ops on blocks of rows of experts ------*- tablegen -*-===//

#ifndef HONE_SHARDING_IR_DISTBLOCKOPS_TD
#define HONE_SHARDING_IR_DISTBLOCKOPS_TD

include "hone/IR/HoneInterfaces.td"
include "hone/IR/HoneOpBase.td"
include "hone/Sharding/IR/DistAttrs.td"

// Gathers and grouped products of a mixture of experts, with two leading dimensions that a mesh can divide: groups of
// experts (G) and blocks of tokens (N). Within a block they are the op of the dialect hone with the same name. They
// stand in global functions only, from dist-block-experts to dist-partition.
class Dist_BlockOp<string mnemonic, string family, string numericClass>
    : Op<Dist_Dialect, mnemonic, [Pure, DeclareOpInterfaceMethods<Hone_OpInterface, [
        "getKernelFamily", "getNumericClass", "getCost", "getDimensionMapping", "getReusableOperands",
        "hasOwnElementType"]>]> {
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::hone::KernelFamily $cppClass::getKernelFamily() { return ::hone::KernelFamily::}] # family # [{; }
    ::hone::NumericClass $cppClass::getNumericClass() { return ::hone::NumericClass::}] # numericClass # [{; }
    ::llvm::SmallVector<::hone::AliasPair> $cppClass::getReusableOperands() { return {}; }
    bool $cppClass::hasOwnElementType(unsigned index) {
      return ::llvm::isa<::mlir::IntegerType>(::mlir::getElementTypeOrSelf((*this)->getOperand(index)));
    }
  }];
}

def Dist_BlockEmbeddingOp : Dist_BlockOp<"block_embedding", "gather", "copy"> {
  let summary = "Rows picked by index from the table of a block";
  let description = [{
    The op computes, for `ids` [G, N, R], `result[g, n, r, :] = table[n, ids[g, n, r], :]` of a table [N, V, H] that the
    groups share, or `table[g, n, ids[g, n, r], :]` of a table [G, N, V, H]. A table that groups share may have s N
    blocks instead; then s neighbours make up the table of one block, of s V rows.

    (C1) `ids` has rank 3, the table rank 3 or 4. (C2) The leading dimensions of the table are those of `ids`, or a
    multiple of N. (C3) The result is [G, N, R, H], of the table's element type.

    Example:

    ```mlir
    %rows = dist.block_embedding %x, %ids : tensor<4x8x32xf32>, tensor<2x2x32xi64> -> tensor<2x2x32x32xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$table, Hone_IntTensor:$ids);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` type($table) `,` type($ids) `->` type($result)";
}

def Dist_BlockEmbeddingBwdOp : Dist_BlockOp<"block_embedding_bwd", "gather", "accurate"> {
  let summary = "Gradient of a dist.block_embedding with respect to its table";
  let description = [{
    The op adds, for each row of the table, the rows of `grad` whose ids name it, in increasing order of (g, r). Rows
    that no id names are 0.

    (C1) `ids` has rank 3, the result rank 3 or 4. (C2) The leading dimensions of the result are those of `ids`, or a
    multiple of N. (C3) `grad` is [G, N, R, H], of the result's element type.

    Example:

    ```mlir
    %dx = dist.block_embedding_bwd %g, %ids : tensor<2x2x32x32xf32>, tensor<2x2x32xi64> -> tensor<4x8x32xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$grad, Hone_IntTensor:$ids);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $ids attr-dict `:` type($grad) `,` type($ids) `->` type($result)";
}

def Dist_BlockGroupedDotOp : Dist_BlockOp<"block_grouped_dot", "groupedContraction", "contraction"> {
  let summary = "Products of groups of rows, block by block";
  let description = [{
    The op is `hone.grouped_dot` in each block: of the rows `input[g, n]` with the matrices of group g, E / G of the E,
    and with the ends `ends[g, n]`. Rows behind a block's last end give 0.

    (C1) `input` and the result have rank 4, `weight` and `ends` rank 3. (C2) `contract` is 1 or 2, and that dimension
    of `weight` has the size H. (C3) `ends` is [G, N, E / G]. (C4) The result is [G, N, R, F]. (C5) `input` and `weight`
    have one element type.

    Example:

    ```mlir
    %y = dist.block_grouped_dot %x, %w, %ends contract 1
        : tensor<2x2x32x32xf32>, tensor<4x32x48xf32>, tensor<2x2x2xi32> -> tensor<2x2x32x48xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$input, Hone_FloatTensor:$weight, Hone_IntTensor:$ends, I64Attr:$contract);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weight `,` $ends `contract` $contract attr-dict `:` type($input) `,` type($weight) `,` type($ends) `->`
    type($result)
  }];
}

def Dist_BlockGroupedDotBwdWeightOp
    : Dist_BlockOp<"block_grouped_dot_bwd_weight", "groupedContraction", "contraction"> {
  let summary = "Products of matrices of rows, group by group, over all blocks";
  let description = [{
    The op computes, for `lhs` [G, N, R, A] and `rhs` [G, N, R, B], the result [E, A, B]: for each expert, the sum of
    `lhs[g, n, r, a] * rhs[g, n, r, b]` over its rows in increasing order of (n, r). It is the gradient of the weight of
    a `dist.block_grouped_dot`.

    (C1) `lhs` and `rhs` have rank 4 and equal sizes but for the last, `ends` rank 3. (C2) The result is [E, A, B].
    (C3) `ends` is [G, N, E / G]. (C4) `lhs` and `rhs` have one element type.

    Example:

    ```mlir
    %dw = dist.block_grouped_dot_bwd_weight %x, %dy, %ends
        : tensor<2x2x32x32xf32>, tensor<2x2x32x48xf32>, tensor<2x2x2xi32> -> tensor<4x32x48xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$lhs, Hone_FloatTensor:$rhs, Hone_IntTensor:$ends);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $ends attr-dict `:` type($lhs) `,` type($rhs) `,` type($ends) `->` type($result)
  }];
}

def Dist_BlockPermuteOp : Dist_BlockOp<"block_permute", "gather", "copy"> {
  let summary = "Rows of a block in another order, with a known way back";
  let description = [{
    The op computes, for `rows` [G, N, M, H] and `ids` [G, N, L], `result[g, n, l, :] = rows[g, n, ids[g, n, l] / s, :]`,
    or zeros where the id is -1. `back` [G, N, s M] is the way back: `back[ids[l]] = l`, and -1 where no id leads. Each
    row is thus picked at most s times, and its gradient is a sum of s rows that `back` picks: nothing is scattered.
    With `total` no id is -1.

    (C1) `rows` has rank 4, `ids` and `back` rank 3, with equal leading dimensions. (C2) `back` has M elements for a
    block, or a multiple. (C3) The result is [G, N, L, H], of the element type of `rows`.

    Example:

    ```mlir
    %y = dist.block_permute %x, %ids back %back
        : tensor<1x4x8x32xf32>, tensor<1x4x20xi64>, tensor<1x4x16xi64> -> tensor<1x4x20x32xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$rows, Hone_IntTensor:$ids, Hone_IntTensor:$back, UnitAttr:$total);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    (`total` $total^)? $rows `,` $ids `back` $back attr-dict `:` type($rows) `,` type($ids) `,` type($back) `->`
    type($result)
  }];
  let extraClassDeclaration = [{
    /// How many ids may lead to a row.
    int64_t picksPerRow();
  }];
}

def Dist_BlockExchangeOp : Dist_BlockOp<"block_exchange", "dataMovement", "copy"> {
  let summary = "Hands blocks of rows from those that have tokens to those that have experts, or back";
  let description = [{
    Each of S N sources has C rows for each of G groups: the operand is [1, S N, G C, ...], and the result, with the
    rows of S sources for each group, is [G, N, S C, ...]:

    `result[g, n, s C + c] = operand[0, n S + s, g C + c]`

    With `reverse`, operand and result change places. Where a mesh divides sources and groups along one axis, this is an
    all-to-all of blocks of C rows. `dist-annotate` says so: until then nothing is divided.

    (C1) Both have the same rank, 3 or more, and equal dimensions from the third on. (C2) The side of tokens has one
    group. (C3) Its blocks and its rows are multiples: S N and G C, where the side of experts has N and S C.

    Example:

    ```mlir
    %y = dist.block_exchange %x : tensor<1x4x16x32xf32> -> tensor<2x2x16x32xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, UnitAttr:$reverse);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "(`reverse` $reverse^)? $operand attr-dict `:` type($operand) `->` type($result)";
  let extraClassDeclaration = [{
    ::mlir::Value tokenSide() { return getReverse() ? getResult() : getOperand(); }
    ::mlir::Value expertSide() { return getReverse() ? getOperand() : getResult(); }
    /// S, the sources of a block of the side of experts.
    int64_t sourcesPerBlock();
  }];
}

#endif // HONE_SHARDING_IR_DISTBLOCKOPS_TD
