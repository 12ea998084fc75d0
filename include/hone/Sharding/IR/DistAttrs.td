//===- DistAttrs.td - Meshes and shardings as attributes -------*- tablegen -*-===//

#ifndef HONE_SHARDING_IR_DISTATTRS_TD
#define HONE_SHARDING_IR_DISTATTRS_TD

include "hone/IR/HoneEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::hone::dist";
  let summary = "Meshes of ranks, shardings of tensors, collectives between ranks";
  let description = [{
    The dialect describes how ranks share a program (docs/rationale/sharding.md). A `dist.mesh` arranges the ranks along
    named axes. Rank 0 has coordinate 0 on each axis; the last axis is the fastest.

    - Before `dist-partition` functions are **global**: tensors have the shapes of the model, and shardings are
      attributes. Arguments and results of functions have `dist.sharding`, and `dist.constrain` has one of its own.
      `dist-propagate` adds `dist.shardings` to each op, an array with one sharding per result.
    - After it functions are **local**: every rank runs the same ops on its shards, with collectives between them. The
      `dist.sharding` of an argument or result then says which shard of which global tensor it is.
  }];
  let dependentDialects = ["::hone::HoneDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasOperationInterfaceFallback = 1; // names of results
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Dist_Attr<string name, string attrMnemonic> : AttrDef<Dist_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Dist_AxisAttr : Dist_Attr<"Axis", "axis"> {
  let summary = "An axis of a mesh";
  let description = [{
    The attribute holds the axis's `name`, its number of coordinates `size`, at least 1, and a `link`: the kind of
    network between ranks that differ in this coordinate alone, named as in the cluster's description, or empty.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size, OptionalParameter<"::mlir::StringAttr">:$link);
  let assemblyFormat = "`<` $name `=` $size (`over` $link^)? `>`";
}

def Dist_DimAttr : Dist_Attr<"Dim", "dim"> {
  let summary = "How one dimension of a tensor is sharded";
  let description = [{
    The attribute divides the dimension into as many equal shards as the `axes` have coordinates together, the first
    axis counting slowest. A rank has the shard of its coordinates.

    `cuts` are ascending positions inside the dimension. With them, each segment between neighbouring cuts is sharded by
    itself, and a rank holds its shards of all segments, concatenated. So a packed projection shards queries, keys and
    values alike. With `snake`, every second segment hands out its shards in reverse order: of two segments, rank `i` of
    `n` has runs `i` and `2n - 1 - i`. So ranks have positions that see as many keys of causal attention.

    Where `isOpen`, propagation may append axes. It starts with dimensions of `priority` 0 and continues with `p1` to
    `p9`. It records in `source` which annotation the axes come from.

    Text: `{"fs", "tp"}`, open `{"fs", ?}`, with cuts `{"tp" cuts [768, 1536]}`, in turns
    `{"cp" cuts [512] snake}`, with a priority `{"tp"} p1`, with a
    source `{"tp"} from "wte.weight"`.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::mlir::StringAttr">:$axes,
                        OptionalArrayRefParameter<"int64_t">:$cuts, "bool":$snake, "bool":$isOpen,
                        "int64_t":$priority, OptionalParameter<"::mlir::StringAttr">:$source);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<::mlir::StringAttr>":$axes, "::llvm::ArrayRef<int64_t>":$cuts,
                                   "bool":$isOpen, "int64_t":$priority, CArg<"bool", "false">:$snake), [{
    return $_get($_ctxt, axes, cuts, snake, isOpen, priority, ::mlir::StringAttr());
  }]>];
  let hasCustomAssemblyFormat = 1;
}

def Dist_ShardingAttr : Dist_Attr<"Sharding", "sharding"> {
  let summary = "How a tensor is placed on the ranks";
  let description = [{
    The attribute has a `#dist.dim` per dimension. Along axes that no dimension names, ranks hold replicas. Along the
    `partial` axes, ranks hold partial values, and `kind` combines them to the tensor (partial sums for `sum`).

    Only gradients may be annotated as partial (arguments and results of kind `grad`): micro-batches are added to them,
    and only the update needs the reduced value.

    Text: `#dist.sharding<{"dp"}, {}, {"tp"}>`, partial `#dist.sharding<{}, {} partial sum ["dp"]>`.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::hone::dist::DimAttr">:$dims,
                        OptionalArrayRefParameter<"::mlir::StringAttr">:$partial, "::hone::ReduceKind":$kind);
  let hasCustomAssemblyFormat = 1;
}

#endif // HONE_SHARDING_IR_DISTATTRS_TD
