//===- DistOps.td - Meshes, constraints and collectives --------*- tablegen -*-===//

#ifndef HONE_SHARDING_IR_DISTOPS_TD
#define HONE_SHARDING_IR_DISTOPS_TD

include "hone/Sharding/IR/DistAttrs.td"
include "hone/Sharding/IR/DistBlockOps.td"
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

// Ops of local functions. Each becomes a launch of its own. `dist-partition` creates them, but for those of stages.
class Dist_LocalOp<string mnemonic, list<Trait> traits = [], string mapping = "opaqueMapping">
    : Dist_Op<mnemonic, !listconcat(traits, [Pure, DeclareOpInterfaceMethods<Hone_OpInterface, [
        "getKernelFamily", "getNumericClass", "getCost", "getDimensionMapping", "getReusableOperands"]>])> {
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::hone::KernelFamily $cppClass::getKernelFamily() { return ::hone::KernelFamily::collective; }
    ::hone::NumericClass $cppClass::getNumericClass() { return ::hone::NumericClass::copy; }
    ::hone::OpCost $cppClass::getCost() { return ::hone::detail::elementwiseCost(*this, /*flopsPerElement=*/0); }
    ::hone::DimensionMapping $cppClass::getDimensionMapping() { return ::hone::detail::}] # mapping # [{(*this); }
  }];
}

// Ops between stages of a pipeline, of global and of local functions: a rank exchanges with the ranks that have its
// coordinates in the other stages.
class Dist_StageOp<string mnemonic>
    : Dist_LocalOp<mnemonic, [SameOperandsAndResultType, Dist_PlacementAnswers<["keepsPositions"]>],
                   "elementwiseMapping">;

def Dist_MeshOp : Dist_Op<"mesh", [Symbol]> {
  let summary = "The ranks of a program, arranged along named axes";
  let description = [{
    The op declares the axes of the mesh, the slowest first, each with its number of coordinates and its kind of link.

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
  let summary = "Requests a sharding for a value";
  let description = [{
    The op returns its operand. Propagation starts from its sharding. It stands in global functions only, from the
    package on. Autodiff gives the gradient of its operand the same constraint (Xu et al., 2021), and mixed precision
    may change its type.

    (C1) The sharding has a `#dist.dim` per dimension, is not partial, and its axes are of the mesh, each named once.
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

def Dist_BoundaryOp : Dist_Op<"boundary", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<Hone_OpInterface, [
        "getKernelFamily", "getNumericClass", "getCost", "getReusableOperands", "inferElementState"]>]> {
  let summary = "Hands a value from one stage of a pipeline to another";
  let description = [{
    The op returns its operand, which chunk `from` computes and chunk `to` reads: the stages themselves, or parts of
    them where a stage has several. It stands in global functions from `dist-assign-stages` to `dist-split-stages`,
    which gives each chunk functions of its own. No other op reads a value of another chunk. Autodiff hands the gradient
    back from `to` to `from`. With `of`, the value is the parameter of that name, of chunk `from`, or a cast of it, that
    `to` reads as well, or on the way back a gradient of it.

    (C1) `from` and `to` are different chunks, numbered from 0.

    Example:

    ```mlir
    %h1 = dist.boundary %h from 0 to 1 : tensor<4x256x768xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, I64Attr:$from, I64Attr:$to, OptionalAttr<StrAttr>:$parameter);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$operand (`of` $parameter^)? `from` $from `to` $to attr-dict `:` type($result)";
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

def Dist_TurnOp : Dist_StageOp<"turn"> {
  let summary = "Hands a stage's output to the next stage and gets its gradient back";
  let description = [{
    The op stands in the function that computes the forward and the backward part of a stage, between the two. The
    operand is the stage's output. The result is the gradient of the loss with respect to it, which the next stage
    returns. So what follows from the result is the backward part, and no op of it is before the operand.

    Example:

    ```mlir
    %g = dist.turn %h to 1 : tensor<4x256x768xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, I64Attr:$to);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$operand `to` $to attr-dict `:` type($result)";
  let extraClassDeclaration = [{ bool endsForwardPart() { return true; } }];
}

def Dist_StageSumOp : Dist_StageOp<"stage_sum"> {
  let summary = "Sums of numbers over the stages of a pipeline";
  let description = [{
    The op returns the sums of the operands of all stages, element by element, added in the order of the stages, on each
    of them. A function has at most one, since what else it computes differs by stage: two might be merged, or change
    places, in one stage and not in another. `dist-lower-collectives` makes it a `dist.all_reduce` over the axis `pp`.

    Example:

    ```mlir
    %s = dist.stage_sum %squares : tensor<2xf32>
    ```
  }];
  let arguments = (ins Hone_FloatTensor:$operand);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def Dist_CoordinateOp : Dist_LocalOp<"coordinate", [Dist_PlacementAnswers<[]>]> {
  let summary = "The number of a rank along axes";
  let description = [{
    The op returns the number of the shard that the rank holds of a dimension sharded along `axes`, the first axis
    counting slowest. It is in [0, product of their sizes).

    (C1) The axes are of the mesh, each named once.

    Example:

    ```mlir
    %i = dist.coordinate ["fs", "tp"] : tensor<i64>
    ```
  }];
  let arguments = (ins StrArrayAttr:$axes);
  let results = (outs Hone_StepScalar:$result);
  let assemblyFormat = "$axes attr-dict `:` type($result)";
}

// Collectives. All ranks run them in one order. A rank communicates with the ranks that differ from it only along
// `axes`; the first axis counts slowest. With `async` an op only starts, and only `dist.wait` may read its result.
// `placement` and `collective` name the interface methods whose default the op overrides.
class Dist_CollectiveOp<string mnemonic, string kind, list<string> placement, list<string> collective,
                        list<Trait> traits = []>
    : Dist_LocalOp<mnemonic, !listconcat([
          AllElementTypesMatch<["operand", "result"]>, Dist_PlacementAnswers<placement>,
          Dist_CollectiveAnswers<collective>], traits)> {
  let results = (outs Hone_GroupTensor:$result);
  let extraClassDeclaration = [{
    static ::hone::dist::CollectiveKind getCollectiveKind() { return ::hone::dist::CollectiveKind::}] # kind # [{; }
  }];
}

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce", "allReduce", ["keepsPositions"],
                                         ["getCombiner", "isBucketable"], [SameOperandsAndResultType]> {
  let summary = "Combines partial values into a replica on every rank";
  let description = [{
    The op sets `result[i]` to the sum (maximum, minimum) of `operand[i]` over the ranks, combined in the order of the
    ranks. With n ranks, each sends `2 (n - 1) / n` of the operand's bytes.

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
  let summary = "Concatenates the shards of all ranks on every rank";
  let description = [{
    The op builds dimension `dim` of the result from the ranks' shards (see `#dist.dim`; `cuts` are positions of the
    result, `snake` is that of the dimension). With n ranks, each sends `(n - 1)` times the operand's bytes.

    `again` marks a gather that repeats an earlier, equal one, so that the gathered value need not stay in memory in
    between: that of a parameter in the backward part. The attribute keeps CSE from merging the two.

    (C1) The axes are of the mesh, each named once. (C2) The result has the operand's shape but for `dim`, which is n
    times as large. (C3) Cuts ascend inside the dimension, and n divides every segment. (C4) Only `dist.wait` reads an
    `async` result.

    Example:

    ```mlir
    %w = dist.all_gather %part dim 0 over ["fs"] : tensor<96x768xbf16> -> tensor<768x768xbf16>
    ```
  }];
  let arguments = (ins Hone_GroupTensor:$operand, I64Attr:$dim, StrArrayAttr:$axes,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$cuts, UnitAttr:$snake,
                       UnitAttr:$again, UnitAttr:$async);
  let assemblyFormat = [{
    $operand `dim` $dim `over` $axes (`cuts` $cuts^)? (`snake` $snake^)? (`again` $again^)? (`async` $async^)? attr-dict
    `:` type($operand) `->` type($result)
  }];
}

def Dist_ReduceScatterOp : Dist_CollectiveOp<"reduce_scatter", "reduceScatter", ["keepsPositions", "isContiguous"],
                                             ["getCombiner", "isBucketable"]> {
  let summary = "Combines partial values into a shard on every rank";
  let description = [{
    The op computes the `dist.all_reduce` of the operand, and each rank gets its shard of dimension `dim` (`cuts` are
    positions of the operand). With n ranks, each sends `(n - 1) / n` of the operand's bytes.

    (C1) The axes are of the mesh, each named once. (C2) The result has the operand's shape but for `dim`, which is the
    n-th part. (C3) Cuts ascend inside the dimension, and n divides every segment. (C4) Only `dist.wait` reads an
    `async` result.

    Example:

    ```mlir
    %g = dist.reduce_scatter sum %dw dim 0 over ["fs"] : tensor<768x768xf32> -> tensor<96x768xf32>
    ```
  }];
  let arguments = (ins Hone_ReduceKindAttr:$kind, Hone_NumberTensor:$operand, I64Attr:$dim, StrArrayAttr:$axes,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$cuts, UnitAttr:$snake, UnitAttr:$async);
  let assemblyFormat = [{
    $kind $operand `dim` $dim `over` $axes (`cuts` $cuts^)? (`snake` $snake^)? (`async` $async^)? attr-dict
    `:` type($operand) `->` type($result)
  }];
}

def Dist_AllToAllOp : Dist_CollectiveOp<"all_to_all", "allToAll", ["keepsPositions", "isContiguous"], []> {
  let summary = "Moves the sharding of a tensor from one dimension to another";
  let description = [{
    The operand is sharded along `from`, the result along `to`. The op computes the `dist.all_gather` of `from` (with
    `from_cuts`, positions of the result), and each rank gets its shard of `to` (with `to_cuts`, positions of the
    operand). With n ranks, each sends `(n - 1) / n` of the operand's bytes.

    (C1) The axes are of the mesh, each named once. (C2) `from` and `to` differ; the result has the operand's shape but
    for `from`, n times as large, and `to`, the n-th part. (C3) Cuts ascend inside their dimension, and n divides every
    segment. (C4) Only `dist.wait` reads an `async` result.

    Example:

    ```mlir
    %y = dist.all_to_all %x from 1 to 2 over ["cp"] : tensor<2x256x16x64xbf16> -> tensor<2x1024x4x64xbf16>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, I64Attr:$from, I64Attr:$to, StrArrayAttr:$axes,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$from_cuts, UnitAttr:$from_snake,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$to_cuts, UnitAttr:$to_snake, UnitAttr:$async);
  let assemblyFormat = [{
    $operand `from` $from (`cuts` $from_cuts^)? (`snake` $from_snake^)? `to` $to (`cuts` $to_cuts^)?
    (`snake` $to_snake^)? `over` $axes (`async` $async^)? attr-dict `:` type($operand) `->` type($result)
  }];
}

def Dist_ShiftOp : Dist_CollectiveOp<"shift", "shift", [], [], [SameOperandsAndResultType]> {
  let summary = "Sends each rank's tensor to the rank a fixed distance ahead";
  let description = [{
    The op sets `result` on the rank with number `i` along `axes` to `operand` of the rank with number `i - amount`,
    modulo n: the sends and receives of pipelines and rings. Each rank sends the operand's bytes.

    (C1) The axes are of the mesh, each named once. (C2) `amount` is in [1, n). (C3) Only `dist.wait` reads an `async`
    result.

    Example:

    ```mlir
    %k = dist.shift %own by 1 over ["cp"] : tensor<2x256x64xbf16>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, I64Attr:$amount, StrArrayAttr:$axes, UnitAttr:$async);
  let assemblyFormat = "$operand `by` $amount `over` $axes (`async` $async^)? attr-dict `:` type($result)";
}

def Dist_WaitOp : Dist_LocalOp<"wait", [SameOperandsAndResultType, Dist_PlacementAnswers<["keepsPositions"]>]> {
  let summary = "Waits for an async collective";
  let description = [{
    The op returns its operand once the collective that computes it has completed.

    (C1) The operand is the result of an `async` collective.

    Example:

    ```mlir
    %a = dist.all_reduce sum %x over ["dp"] async : tensor<768x768xf32>
    %y = dist.wait %a : tensor<768x768xf32>
    ```
  }];
  let arguments = (ins Hone_GroupTensor:$operand);
  let results = (outs Hone_GroupTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def Dist_ShardOp : Dist_LocalOp<"shard", [AllElementTypesMatch<["operand", "result"]>,
                                          Dist_PlacementAnswers<["isContiguous"]>]> {
  let summary = "Takes a rank's shard of a replicated tensor";
  let description = [{
    The op returns the rank's shard of dimension `dim` of the operand, of which all ranks hold a replica (`cuts` are
    positions of the operand). Nothing is sent.

    (C1) The axes are of the mesh, each named once. (C2) The result has the operand's shape but for `dim`, which is the
    n-th part. (C3) Cuts ascend inside the dimension, and n divides every segment.

    Example:

    ```mlir
    %x = dist.shard %whole dim 1 over ["tp"] : tensor<8x1024xf32> -> tensor<8x256xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand, I64Attr:$dim, StrArrayAttr:$axes,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$cuts, UnitAttr:$snake);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = [{
    $operand `dim` $dim `over` $axes (`cuts` $cuts^)? (`snake` $snake^)? attr-dict `:` type($operand) `->` type($result)
  }];
}

#endif // HONE_SHARDING_IR_DISTOPS_TD
