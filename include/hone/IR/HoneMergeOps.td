//===- HoneMergeOps.td - Parts of attention ----------------*- tablegen -*-===//
//
// Apart from HoneOps.td: few files read these ops.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_HONEMERGEOPS_TD
#define HONE_IR_HONEMERGEOPS_TD

include "hone/IR/HoneOpBase.td"

def Hone_MergeAttentionOp : Hone_Op<"merge_attention", "attention", "accurate",
                                   [AllTypesMatch<["result", "other", "merged"]>,
                                    AllTypesMatch<["lse", "other_lse", "merged_lse"]>]> {
  let summary = "Attention over two sets of keys, from the attention over each";
  let description = [{
    The op merges the results of two attentions of the same queries over disjoint sets of keys into that over both (Dao
    et al., 2022). For each batch, query and head, with the log-sum-exps `l` and `l2` of the two and `m = max(l, l2)`:

    - weights `w = exp(l - m)` and `w2 = exp(l2 - m)`;
    - `merged = (w * result + w2 * result2) / (w + w2)`;
    - `merged_lse = m + log(w + w2)`.

    A set of which a query sees no key has an infinite log-sum-exp, `-inf` or the `inf` of `hone.attention`, and the
    weight 0. A query that sees no key of either set gets 0, and the log-sum-exp `inf`, as from `hone.attention`.

    The op has no gradient: `dist-lower-rings` creates it, after autodiff. The gradient of an attention over several
    sets of keys is the sum of `hone.attention_bwd` over each, with the merged result and log-sum-exp.

    (C1) `result` and `other` are `[B, T, H, E]`, and `lse` and `other_lse` `[B, H, T]`, all of one element type, f32 or
    f64. (C2) The results have the types of `result` and `lse`.

    Example:

    ```mlir
    %m, %ml = hone.merge_attention %o, %lse with %o2, %lse2 : tensor<2x16x4x64xf32>, tensor<2x4x16xf32>
    ```
  }];
  let arguments = (ins Hone_WideTensor:$result, Hone_WideTensor:$lse, Hone_WideTensor:$other,
                       Hone_WideTensor:$other_lse);
  let results = (outs Hone_WideTensor:$merged, Hone_WideTensor:$merged_lse);
  let assemblyFormat = [{
    $result `,` $lse `with` $other `,` $other_lse attr-dict `:` type($merged) `,` type($merged_lse)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, /*flopsPerElement=*/4); }
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
  }];
}

#endif // HONE_IR_HONEMERGEOPS_TD
