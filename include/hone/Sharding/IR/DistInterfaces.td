//===- DistInterfaces.td - Placements and collectives ----------*- tablegen -*-===//

#ifndef HONE_SHARDING_IR_DISTINTERFACES_TD
#define HONE_SHARDING_IR_DISTINTERFACES_TD

include "mlir/IR/OpBase.td"

def Dist_PlacementOpInterface : OpInterface<"PlacementOpInterface"> {
  let cppNamespace = "::hone::dist";
  let description = [{
    The interface describes how an op of a local function changes the placement of its operand. Along an axis of the
    mesh, ranks hold a tensor as replicas, as partial sums (or maxima, minima), as shards of one dimension, or as values
    of their own (rank-local). The verification of placements, the lowering to contiguous blocks and the buckets ask the
    op; none of them lists ops.
  }];
  let methods = [
    InterfaceMethod<[{
        The axes along which the op changes the placement, with the placement of its operand and that of its result.
        nullopt: the result has the operand's placement.
      }], "::std::optional<::hone::dist::PlacementChange>", "getPlacementChange">,
    InterfaceMethod<[{
        Whether every element keeps its position along dimension `dim`. Then a slice of the result along `dim` is the
        op applied to that slice of the operand. The default, false, is always correct.
      }], "bool", "keepsPositions", (ins "unsigned":$dim), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Whether the blocks of all ranks are contiguous in row-major operands and results, as libraries require. For
        `dist.shard`, which sends nothing: whether a shard has one stride per dimension. The default is true. After
        `dist-lower-collectives` every op answers true.
      }], "bool", "isContiguous", (ins), [{}], [{ return true; }]>
  ];
}

def Dist_CollectiveOpInterface : OpInterface<"CollectiveOpInterface", [Dist_PlacementOpInterface]> {
  let cppNamespace = "::hone::dist";
  let description = [{
    The interface describes a collective: an op in which each rank communicates with the ranks that differ from it only
    along the axes of the op. It has one operand and one result. The models of traffic and time, the buckets, the
    overlap and the code that launches collectives ask the op.
  }];
  let methods = [
    InterfaceMethod<"The kind of collective, which is the number that `honert_collective` takes.",
      "::hone::dist::CollectiveKind", "getCollectiveKind", (ins), [{ return $_op.getCollectiveKind(); }]>,
    InterfaceMethod<"The names of the axes, the first counting slowest.", "::mlir::ArrayAttr", "getAxes", (ins),
      [{ return $_op.getAxes(); }]>,
    InterfaceMethod<"The reduction that combines the ranks' operands; nullopt for a collective that only moves data.",
      "::std::optional<::hone::ReduceKind>", "getCombiner", (ins), [{}], [{ return ::std::nullopt; }]>,
    InterfaceMethod<"The extra number that `honert_collective` takes: the distance of a shift in ranks, else 0.",
      "uint64_t", "getAmount", (ins), [{}], [{ return 0; }]>,
    InterfaceMethod<"Whether the op only starts, so that only `dist.wait` may read its result.", "bool", "getAsync",
      (ins), [{ return $_op.getAsync(); }]>,
    InterfaceMethod<"Makes the op only start (true), or run to completion (false).",
      "void", "setAsync", (ins "bool":$async),
      [{ $_op.setAsync(async); }]>,
    InterfaceMethod<"Whether the op repeats an earlier, equal op and must not be merged with it.", "bool", "getAgain",
      (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Whether `dist-bucket-collectives` may join it with others of its kind into one collective, whose blocks
        concatenate theirs. The default is false.
      }], "bool", "isBucketable", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Creates the same collective of contiguous blocks, and returns its result. Dimension 0 of `blocks` is the number
        of blocks: `ranks` where the op produces shards, else 1. Dimension 0 of the result is `ranks` where the op
        consumes shards, else 1.
      }], "::mlir::Value", "createOnBlocks",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder, "::mlir::Value":$blocks, "int64_t":$ranks)>
  ];
  let extraSharedClassDeclaration = [{
    /// The bytes that each of `ranks` ranks sends.
    double getBytesSent(int64_t ranks) {
      return ::hone::dist::bytesSent($_op.getCollectiveKind(), ranks, getBytesGiven());
    }
    /// The bytes of a rank's operand.
    double getBytesGiven() { return double(::hone::byteSize($_op->getOperand(0).getType())); }
  }];
}

#endif // HONE_SHARDING_IR_DISTINTERFACES_TD
