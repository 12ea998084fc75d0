//===- DistOps.td - Meshes, constraints and collectives --------*- tablegen -*-===//

#ifndef HONE_SHARDING_IR_DISTOPS_TD
#define HONE_SHARDING_IR_DISTOPS_TD

include "hone/Sharding/IR/DistAttrs.td"
include "hone/Sharding/IR/DistInterfaces.td"
include "hone/IR/HoneInterfaces.td"
include "hone/IR/HoneOpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<Dist_Dialect, mnemonic, traits>;

class Dist_PlacementAnswers<list<string> optional>
    : DeclareOpInterfaceMethods<Dist_PlacementOpInterface, optional>;
class Dist_CollectiveAnswers<list<string> optional>
    : DeclareOpInterfaceMethods<Dist_CollectiveOpInterface, optional>;

// Ops of local functions: each is a launch of its own, and no pass before `dist-partition` meets one.
class Dist_LocalOp<string mnemonic, list<Trait> traits = []>
    : Dist_Op<mnemonic, !listconcat(traits, [Pure, DeclareOpInterfaceMethods<Hone_OpInterface, [
        "getKernelFamily", "getNumericClass", "getCost", "getDimensionMapping", "getReusableOperands"]>])> {
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::hone::KernelFamily $cppClass::getKernelFamily() { return ::hone::KernelFamily::collective; }
    ::hone::NumericClass $cppClass::getNumericClass() { return ::hone::NumericClass::copy; }
    ::hone::OpCost $cppClass::getCost() { return ::hone::detail::elementwiseCost(*this, /*flopsPerElement=*/0); }
    ::hone::DimensionMapping $cppClass::getDimensionMapping() { return ::hone::detail::opaqueMapping(*this); }
  }];
}

def Dist_MeshOp : Dist_Op<"mesh", [Symbol]> {
  let summary = "The ranks of a program";
  let description = [{
    (C1) Axes have distinct names and at least one coordinate. (C2) A module has at most one mesh. (C3) Ranks are fewer
    than 2^31.

    Example:

    ```mlir
    dist.mesh @mesh [<"dp" = 2 over "net">, <"tp" = 4 over "nvlink">]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypedArrayAttrBase<Dist_AxisAttr, "axes of a mesh">:$axes);
  let assemblyFormat = "$sym_name custom<Axes>($axes) attr-dict";
  let hasVerifier = 1;
}

def Dist_ConstrainOp : Dist_Op<"constrain", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<Hone_OpInterface, [
        "getKernelFamily", "getNumericClass", "getCost", "getReusableOperands", "inferElementState"]>]> {
  let summary = "A tensor that is to be sharded so";
  let description = [{
    The operand; propagation starts from its sharding. Global functions only, from the package on: its cotangent is
    constrained alike (Xu et al., 2021), mixed precision gives it any type.

    (C1) The sharding has a dimension per dimension, is not partial, and its axes are of the mesh, each named once.
    (C2) Every segment of a dimension is divisible by the sizes of its axes.

    Example:

    ```mlir
    %y = dist.constrain %x to <{"dp"}, {"tp"} p2, {}> : tensor<8x1024x768xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, Dist_ShardingAttr:$sharding);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$operand `to` $sharding attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::hone::KernelFamily $cppClass::getKernelFamily() { return ::hone::KernelFamily::view; }
    ::hone::NumericClass $cppClass::getNumericClass() { return ::hone::NumericClass::copy; }
    ::hone::OpCost $cppClass::getCost() { return {}; }
    ::llvm::SmallVector<::hone::AliasPair> $cppClass::getReusableOperands() { return {{0, 0}}; }
    ::std::optional<::hone::ElementState>
    $cppClass::inferElementState(::llvm::ArrayRef<::hone::ElementState> operands) {
      return ::hone::detail::keepState(operands);
    }
  }];
}

def Dist_CoordinateOp : Dist_LocalOp<"coordinate", [Dist_PlacementAnswers<[]>]> {
  let summary = "Where a rank stands along axes";
  let description = [{
    The number of the rank's part where a dimension is divided along `axes`, the first counting slowest: in
    [0, product of their sizes). (C1) The axes are of the mesh, each named once.

    Example:

    ```mlir
    %i = dist.coordinate ["fs", "tp"] : tensor<i64>
    ```
  }];
  let arguments = (ins StrArrayAttr:$axes);
  let results = (outs Hone_StepScalar:$result);
  let assemblyFormat = "$axes attr-dict `:` type($result)";
}

// Ops between ranks. All ranks run them in one order, each with the ranks that differ from it only along `axes`; the
// first axis counts slowest. With `async` an op only begins: `dist.wait` alone may read its result.
// `placement` and `collective` name the methods with a default that the op answers itself.
class Dist_CollectiveOp<string mnemonic, string kind, list<string> placement, list<string> collective,
                        list<Trait> traits = []>
    : Dist_LocalOp<mnemonic, !listconcat([
          AllElementTypesMatch<["operand", "result"]>, Dist_PlacementAnswers<placement>,
          Dist_CollectiveAnswers<collective>], traits)> {
  let results = (outs Hone_Tensor:$result);
  let extraClassDeclaration = [{
    static ::hone::dist::CollectiveKind getCollectiveKind() { return ::hone::dist::CollectiveKind::}] # kind # [{; }
  }];
}

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce", "allReduce", ["keepsPositions"],
                                         ["getCombiner", "isBucketable"], [SameOperandsAndResultType]> {
  let summary = "Every rank gets what all have, combined";
  let description = [{
    `result[i]` is the sum (maximum, minimum) of `operand[i]` over the ranks, added in their order. A rank sends
    `2 (n - 1) / n` of the operand's bytes, n ranks.

    (C1) The axes are of the mesh, each named once. (C2) Only `dist.wait` reads an `async` result.

    Example:

    ```mlir
    %y = dist.all_reduce sum %x over ["dp"] : tensor<768x768xf32>
    ```
  }];
  let arguments = (ins Hone_ReduceKindAttr:$kind, Hone_NumberTensor:$operand, StrArrayAttr:$axes, UnitAttr:$async);
  let assemblyFormat = "$kind $operand `over` $axes (`async` $async^)? attr-dict `:` type($result)";
}

def Dist_AllGatherOp : Dist_CollectiveOp<"all_gather", "allGather", ["keepsPositions", "isContiguous"],
                                         ["isBucketable"]> {
  let summary = "Every rank gets the parts of all, side by side";
  let description = [{
    The parts of dimension `dim` (see `#dist.dim`; `cuts` are positions of the result) put together. A rank sends
    `(n - 1)` times the operand's bytes.

    With `again` it makes anew what an equal op made before, so that the parts of others need not stay in between: of
    parameters in the backward part. The attribute keeps the two from being taken for one.

    (C1) The axes are of the mesh, each named once. (C2) The result has the operand's shape but for `dim`, which is n
    times as large. (C3) Cuts ascend inside the dimension, and n divides every segment. (C4) Only `dist.wait` reads an
    `async` result.

    Example:

    ```mlir
    %w = dist.all_gather %part dim 0 over ["fs"] : tensor<96x768xbf16> -> tensor<768x768xbf16>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, I64Attr:$dim, StrArrayAttr:$axes,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$cuts, UnitAttr:$again, UnitAttr:$async);
  let assemblyFormat = [{
    $operand `dim` $dim `over` $axes (`cuts` $cuts^)? (`again` $again^)? (`async` $async^)? attr-dict
    `:` type($operand) `->` type($result)
  }];
}

def Dist_ReduceScatterOp : Dist_CollectiveOp<"reduce_scatter", "reduceScatter", ["keepsPositions", "isContiguous"],
                                             ["getCombiner", "isBucketable"]> {
  let summary = "Every rank gets its part of what all have, combined";
  let description = [{
    `dist.all_reduce`, of which a rank keeps its part of dimension `dim` (`cuts` are positions of the operand). A rank
    sends `(n - 1) / n` of the operand's bytes.

    (C1) The axes are of the mesh, each named once. (C2) The result has the operand's shape but for `dim`, which is the
    n-th part. (C3) Cuts ascend inside the dimension, and n divides every segment. (C4) Only `dist.wait` reads an `async`
    result.

    Example:

    ```mlir
    %g = dist.reduce_scatter sum %dw dim 0 over ["fs"] : tensor<768x768xf32> -> tensor<96x768xf32>
    ```
  }];
  let arguments = (ins Hone_ReduceKindAttr:$kind, Hone_NumberTensor:$operand, I64Attr:$dim, StrArrayAttr:$axes,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$cuts, UnitAttr:$async);
  let assemblyFormat = [{
    $kind $operand `dim` $dim `over` $axes (`cuts` $cuts^)? (`async` $async^)? attr-dict
    `:` type($operand) `->` type($result)
  }];
}

def Dist_AllToAllOp : Dist_CollectiveOp<"all_to_all", "allToAll", ["isContiguous"], []> {
  let summary = "Parts of one dimension become parts of another";
  let description = [{
    The operand is divided along `from`, the result along `to`: as `dist.all_gather` of `from` (with `from_cuts`,
    positions of the result), of which a rank keeps its part of `to` (with `to_cuts`, positions of the operand). A rank
    sends `(n - 1) / n` of the operand's bytes.

    (C1) The axes are of the mesh, each named once. (C2) `from` and `to` differ; the result has the operand's shape but for
    `from`, n times as large, and `to`, the n-th part. (C3) Cuts ascend inside their dimension, and n divides every segment.
    (C4) Only `dist.wait` reads an `async` result.

    Example:

    ```mlir
    %y = dist.all_to_all %x from 1 to 2 over ["cp"] : tensor<2x256x16x64xbf16> -> tensor<2x1024x4x64xbf16>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, I64Attr:$from, I64Attr:$to, StrArrayAttr:$axes,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$from_cuts,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$to_cuts, UnitAttr:$async);
  let assemblyFormat = [{
    $operand `from` $from (`cuts` $from_cuts^)? `to` $to (`cuts` $to_cuts^)? `over` $axes (`async` $async^)? attr-dict
    `:` type($operand) `->` type($result)
  }];
}

def Dist_ShiftOp : Dist_CollectiveOp<"shift", "shift", [], [], [SameOperandsAndResultType]> {
  let summary = "Every rank gets what a rank below it has";
  let description = [{
    `result` on the rank with number `i` along `axes` is `operand` of the rank with number `i - amount`, counted around: sends
    and receives of pipelines and rings. A rank sends the operand's bytes.

    (C1) The axes are of the mesh, each named once. (C2) `amount` is in [1, n). (C3) Only `dist.wait` reads an `async` result.

    Example:

    ```mlir
    %k = dist.shift %own by 1 over ["cp"] : tensor<2x256x64xbf16>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, I64Attr:$amount, StrArrayAttr:$axes, UnitAttr:$async);
  let assemblyFormat = "$operand `by` $amount `over` $axes (`async` $async^)? attr-dict `:` type($result)";
}

def Dist_WaitOp : Dist_LocalOp<"wait", [SameOperandsAndResultType, Dist_PlacementAnswers<["keepsPositions"]>]> {
  let summary = "The end of a collective that only began";
  let description = [{
    The operand, which is there from here on.

    (C1) The operand is the result of an `async` collective.

    Example:

    ```mlir
    %a = dist.all_reduce sum %x over ["dp"] async : tensor<768x768xf32>
    %y = dist.wait %a : tensor<768x768xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def Dist_ShardOp : Dist_LocalOp<"shard", [AllElementTypesMatch<["operand", "result"]>,
                                          Dist_PlacementAnswers<["isContiguous"]>]> {
  let summary = "The part of a rank of what it has whole";
  let description = [{
    A rank's part of dimension `dim` of the operand, of which all ranks have a copy (`cuts` are positions of the operand).
    Nothing is sent.

    (C1) The axes are of the mesh, each named once. (C2) The result has the operand's shape but for `dim`, which is the
    n-th part. (C3) Cuts ascend inside the dimension, and n divides every segment.

    Example:

    ```mlir
    %x = dist.shard %whole dim 1 over ["tp"] : tensor<8x1024xf32> -> tensor<8x256xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, I64Attr:$dim, StrArrayAttr:$axes,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$cuts);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$operand `dim` $dim `over` $axes (`cuts` $cuts^)? attr-dict `:` type($operand) `->` type($result)";
}

#endif // HONE_SHARDING_IR_DISTOPS_TD
