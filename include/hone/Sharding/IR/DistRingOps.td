//===- DistRingOps.td - Attention whose keys go around a ring --*- tablegen -*-===//

#ifndef HONE_SHARDING_IR_DISTRINGOPS_TD
#define HONE_SHARDING_IR_DISTRINGOPS_TD

include "hone/IR/HoneInterfaces.td"
include "hone/IR/HoneOpBase.td"
include "hone/Sharding/IR/DistAttrs.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// Apart from DistOps.td: few files read these ops. Causal attention of all positions, which the ranks along one axis may
// share. The op is of global functions and of local ones, from dist-annotate to dist-lower-rings: on a rank that has its
// two runs of positions, it gives the results at these.
class Dist_RingOp<string mnemonic>
    : Op<Dist_Dialect, mnemonic, [Pure, DeclareOpInterfaceMethods<Hone_OpInterface, [
        "getKernelFamily", "getNumericClass", "getCost", "getDimensionMapping", "getReusableOperands"]>]> {
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The factor of positions, of queries and keys alike.
    static constexpr unsigned positionFactor = 1;
  }];
  let extraClassDefinition = [{
    ::hone::KernelFamily $cppClass::getKernelFamily() { return ::hone::KernelFamily::attention; }
    ::hone::NumericClass $cppClass::getNumericClass() { return ::hone::NumericClass::contraction; }
    ::llvm::SmallVector<::hone::AliasPair> $cppClass::getReusableOperands() { return {}; }
  }];
}

def Dist_RingAttentionOp : Dist_RingOp<"ring_attention"> {
  let summary = "Causal attention whose keys and values go around a ring of ranks";
  let description = [{
    The op is a causal `hone.attention` of as many queries as keys, without other masks and without dropout. Its
    positions may be divided along `axes`, in two runs per rank (`cuts [S / 2] snake`), and in no other way.
    `dist-lower-rings` lowers it on a rank that has its part of them (Liu et al., 2023).

    (C1) `query` is `[B, S, H, D]`, `key` `[B, S, G, D]`, `value` `[B, S, G, E]`, the result `[B, S, H, E]`, of one
    element type. (C2) `G` divides `H`. (C3) `lse` is `[B, H, S]`. (C4) The axes are of the mesh, each named once. (C5)
    `S` is even.

    Example:

    ```mlir
    %o, %lse = dist.ring_attention %q, %k, %v over ["cp"] scale 0.125
        : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>)
        -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$query, Hone_FloatTensor:$key, Hone_FloatTensor:$value, StrArrayAttr:$axes,
                       F64Attr:$scale);
  let results = (outs Hone_FloatTensor:$result, Hone_FloatTensor:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value `over` $axes `scale` $scale attr-dict `:` functional-type(operands, results)
  }];
}

def Dist_RingAttentionBwdOp : Dist_RingOp<"ring_attention_bwd"> {
  let summary = "Gradients of a dist.ring_attention with respect to query, key and value";
  let description = [{
    The op is the `hone.attention_bwd` of a `dist.ring_attention`. On a rank, the gradients of its keys and values are
    sums over the queries of all ranks.

    (C1) `grad` and `output` have the type of the attention's result, `lse` that of its `lse`, and the other operands
    and attributes are those of the attention. (C2) Results have the types of query, key and value. (C3) The axes are of
    the mesh, each named once.

    Example:

    ```mlir
    %dq, %dk, %dv = dist.ring_attention_bwd %do, %q, %k, %v, %o, %lse over ["cp"] scale 0.125
        : (tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>,
           tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
        -> (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>)
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$grad, Hone_FloatTensor:$query, Hone_FloatTensor:$key, Hone_FloatTensor:$value,
                       Hone_FloatTensor:$output, Hone_FloatTensor:$lse, StrArrayAttr:$axes, F64Attr:$scale);
  let results = (outs Hone_FloatTensor:$query_grad, Hone_FloatTensor:$key_grad, Hone_FloatTensor:$value_grad);
  let assemblyFormat = [{
    $grad `,` $query `,` $key `,` $value `,` $output `,` $lse `over` $axes `scale` $scale attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif // HONE_SHARDING_IR_DISTRINGOPS_TD
