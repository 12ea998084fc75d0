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
    Two levels (docs/rationale/sharding.md). Before `dist-partition` functions are **global**: tensors have the shapes of
    the model, and shardings are attributes, `dist.sharding` on arguments and results of functions and those of
    `dist.constrain`; `dist-propagate` adds `dist.shardings`, an array with one per result, to each op. After it functions are **local**: every rank runs the same ops on its part of each tensor, and
    collectives exchange parts. `dist.sharding` of arguments and results then says which part of which global tensor they
    are.

    A `dist.mesh` arranges the ranks along named axes. Rank 0 has coordinate 0 on each; the last axis is the fastest.
  }];
  let dependentDialects = ["::hone::HoneDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Dist_Attr<string name, string attrMnemonic> : AttrDef<Dist_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Dist_AxisAttr : Dist_Attr<"Axis", "axis"> {
  let summary = "An axis of a mesh";
  let description = [{
    `name`, a number of coordinates `size` >= 1, and the kind of `link` between ranks that differ in this coordinate alone,
    a name of the cluster's description or empty.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size, OptionalParameter<"::mlir::StringAttr">:$link);
  let assemblyFormat = "`<` $name `=` $size (`over` $link^)? `>`";
}

def Dist_DimAttr : Dist_Attr<"Dim", "dim"> {
  let summary = "How one dimension of a tensor is divided among ranks";
  let description = [{
    The dimension is divided into as many equal parts as the `axes` have coordinates, the first axis counting slowest; a
    rank has the part of its coordinates. With `cuts`, ascending positions inside the dimension, each segment between
    neighbouring cuts is divided so, and a rank has its part of every segment, side by side: queries, keys and values in
    one projection are sharded alike.

    Propagation may append axes where `isOpen`, those of `priority` 0 first (`p1` to `p9` later). What it writes says
    in `source` which annotation the axes come from.

    Text: `{"fs", "tp"}`, open `{"fs", ?}`, with cuts `{"tp" cuts [768, 1536]}`, with a priority `{"tp"} p1`, with a source
    `{"tp"} from "wte.weight"`.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::mlir::StringAttr">:$axes, OptionalArrayRefParameter<"int64_t">:$cuts,
                        "bool":$isOpen, "int64_t":$priority, OptionalParameter<"::mlir::StringAttr">:$source);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<::mlir::StringAttr>":$axes, "::llvm::ArrayRef<int64_t>":$cuts,
                                   "bool":$isOpen, "int64_t":$priority), [{
    return $_get($_ctxt, axes, cuts, isOpen, priority, ::mlir::StringAttr());
  }]>];
  let hasCustomAssemblyFormat = 1;
}

def Dist_ShardingAttr : Dist_Attr<"Sharding", "sharding"> {
  let summary = "How a tensor is divided among ranks";
  let description = [{
    A `#dist.dim` per dimension; axes that none names hold equal copies. Along the `partial` axes ranks hold terms of the
    tensor: it is what `kind` makes of them. Annotations are partial sums of gradients alone (arguments and results of kind
    `grad`), which micro-batches add to and only the update needs whole.

    Text: `#dist.sharding<{"dp"}, {}, {"tp"}>`, partial `#dist.sharding<{}, {} partial sum ["dp"]>`.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::hone::dist::DimAttr">:$dims,
                        OptionalArrayRefParameter<"::mlir::StringAttr">:$partial, "::hone::ReduceKind":$kind);
  let hasCustomAssemblyFormat = 1;
}

#endif // HONE_SHARDING_IR_DISTATTRS_TD
