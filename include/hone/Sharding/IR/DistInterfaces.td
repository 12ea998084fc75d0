//===- DistInterfaces.td - What ops between ranks answer -------*- tablegen -*-===//

#ifndef HONE_SHARDING_IR_DISTINTERFACES_TD
#define HONE_SHARDING_IR_DISTINTERFACES_TD

include "mlir/IR/OpBase.td"

def Dist_PlacementOpInterface : OpInterface<"PlacementOpInterface"> {
  let cppNamespace = "::hone::dist";
  let description = [{
    An op of local functions that knows how ranks hold its operand and its result. Along axes of the mesh ranks hold a
    tensor as replicas, as partial sums (or maxima, minima), as shards of one dimension, or as numbers of their own. The
    verification of placements, the lowering to contiguous blocks and the buckets ask here; none of them lists ops.
  }];
  let methods = [
    InterfaceMethod<[{
        The axes along which the op changes the placement, the placement that it consumes there and the one that it
        produces. Nothing: ranks hold the result as they hold the operand.
      }], "::std::optional<::hone::dist::PlacementChange>", "getPlacementChange">,
    InterfaceMethod<[{
        Whether every element keeps its position along dimension `dim`, so that a slice of the result along it is the op
        of that slice of the operand. The default, no, is always safe.
      }], "bool", "keepsPositions", (ins "unsigned":$dim), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Whether the blocks of all ranks lie one after another in row-major operands and results, as libraries want them;
        of an op that sends nothing, whether a shard lies at equal distances. After `dist-lower-collectives` every op
        says yes, which is the default.
      }], "bool", "isContiguous", (ins), [{}], [{ return true; }]>
  ];
}

def Dist_CollectiveOpInterface : OpInterface<"CollectiveOpInterface", [Dist_PlacementOpInterface]> {
  let cppNamespace = "::hone::dist";
  let description = [{
    An op in which ranks send to each other: each rank with those that differ from it only along the axes of the op. It
    has one operand and one result. The models of traffic and time, the buckets, the overlap and the code that launches
    collectives ask here.
  }];
  let methods = [
    InterfaceMethod<"What the ranks do: the number that `honert_collective` takes.",
      "::hone::dist::CollectiveKind", "getCollectiveKind", (ins), [{ return $_op.getCollectiveKind(); }]>,
    InterfaceMethod<"The names of the axes, the first counting slowest.", "::mlir::ArrayAttr", "getAxes", (ins),
      [{ return $_op.getAxes(); }]>,
    InterfaceMethod<"What combines the operands of ranks; nothing where each is only moved.",
      "::std::optional<::hone::ReduceKind>", "getCombiner", (ins), [{}], [{ return ::std::nullopt; }]>,
    InterfaceMethod<"The extra number that `honert_collective` takes: of a shift, by how many ranks. Else 0.",
      "uint64_t", "getAmount", (ins), [{}], [{ return 0; }]>,
    InterfaceMethod<"Whether the op only begins, so that `dist.wait` alone may read its result.", "bool", "getAsync",
      (ins), [{ return $_op.getAsync(); }]>,
    InterfaceMethod<"Lets the op only begin, or complete.", "void", "setAsync", (ins "bool":$async),
      [{ $_op.setAsync(async); }]>,
    InterfaceMethod<"Whether the op makes again what an equal op made before, and must not be merged with it.", "bool",
      "getAgain", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Whether `dist-bucket-collectives` may run it with others of its kind as one collective, their blocks side by
        side. The default: no.
      }], "bool", "isBucketable", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Writes the same collective of contiguous blocks, and returns its result. Dimension 0 of `blocks` counts them:
        one for each of the `ranks` ranks where the op produces shards, else one. The result has one for each rank where
        the op consumes shards, else one.
      }], "::mlir::Value", "createOnBlocks",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder, "::mlir::Value":$blocks, "int64_t":$ranks)>
  ];
  let extraSharedClassDeclaration = [{
    /// The bytes that each of `ranks` ranks sends.
    double getBytesSent(int64_t ranks) {
      return ::hone::dist::bytesSent($_op.getCollectiveKind(), ranks, getBytesGiven());
    }
    /// The bytes that a rank gives: those of the operand.
    double getBytesGiven() { return double(::hone::byteSize($_op->getOperand(0).getType())); }
  }];
}

#endif // HONE_SHARDING_IR_DISTINTERFACES_TD
