//===- HoneInterfaces.td - Facts that ops answer ---------------*- tablegen -*-===//

#ifndef HONE_IR_HONEINTERFACES_TD
#define HONE_IR_HONEINTERFACES_TD

include "mlir/IR/OpBase.td"

def Hone_OpInterface : OpInterface<"HoneOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    The interface answers what whole-graph passes need to know of an op: its cost, how its numbers may be rounded, how
    dimensions of operands and results correspond, and which operands' storage a result may reuse. A pass asks the op
    and never switches over op names.
  }];
  let methods = [
    InterfaceMethod<"The family of kernel that computes the op.", "::hone::KernelFamily", "getKernelFamily">,
    InterfaceMethod<"The numeric class, by which mixed precision chooses element types.",
      "::hone::NumericClass", "getNumericClass">,
    InterfaceMethod<"Floating-point operations and ideal bytes (each operand read once, each result written once).",
      "::hone::OpCost", "getCost", (ins), [{}], [{
        return ::hone::detail::elementwiseCost($_op, /*flopsPerElement=*/1);
      }]>,
    InterfaceMethod<[{
        How dimensions correspond: one factor per loop of the op, and the factor that each dimension of each operand
        and result runs along. Sharding, padding and fusion read it. The default is the elementwise mapping.
      }], "::hone::DimensionMapping", "getDimensionMapping", (ins), [{}], [{
        return ::hone::detail::elementwiseMapping($_op);
      }]>,
    InterfaceMethod<[{
        Pairs (operand, result) where the result may reuse the operand's storage if the op reads that operand last. The
        default allows it for `map` ops between values of equal shape and element width.
      }], "::llvm::SmallVector<::hone::AliasPair>", "getReusableOperands", (ins), [{}], [{
        return ::hone::detail::elementwiseAliases($_op);
      }]>,
    InterfaceMethod<[{
        Pairs (operand, result) where the kernel of the op writes only the elements that change: the result is in the
        operand's storage, or in that of a copy. The default is none. The memory plan reads it and its verifier checks
        it.
      }], "::llvm::SmallVector<::hone::AliasPair>", "getUpdatedOperands", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
        Whether the result may be in the storage of operands, so that no kernel computes the op. The default is none.
        Fusion and the memory plan read it.
      }], "::hone::StorageView", "getStorageView", (ins), [{}], [{ return ::hone::StorageView::None; }]>,
    InterfaceMethod<[{
        Whether each operand may have any sharding, unlike those of the other operands: partitioning then combines
        the results of groups of equally sharded operands. The default is false.
      }], "bool", "acceptsAnySharding", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        What is known of an element of result 0 from what is known of one element per operand, not all of them copies;
        nullopt, the default, if the op does not compute elements one by one. Padding reads it.
      }], "::std::optional<::hone::ElementState>", "inferElementState",
      (ins "::llvm::ArrayRef<::hone::ElementState>":$operands), [{}], [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Whether the element type of operand `index` is independent of the results': an attention mask, a table of
        angles, logits that the op widens itself. The default is false. Mixed precision reads it.
      }], "bool", "hasOwnElementType", (ins "unsigned":$index), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Sets of operands in which the results are jointly linear, with the other operands fixed: if each operand of a
        set is a sum, the result is the sum of the results of the op on the summands, apart from rounding. The default
        is none. Sharding reads it to defer reductions, so only cheap ops answer it.
      }], "::hone::OperandSets", "getLinearOperands", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
        Whether the forward part of a function ends at the operands of the op, as it ends at a loss, and what the op
        computes begins the backward part. The default is false. `forwardOps` reads it.
      }], "bool", "endsForwardPart", (ins), [{}], [{ return false; }]>
  ];
}

def Hone_WidthInterface : OpInterface<"WidthOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    The interface marks a forward op along rows (the last dimension of operand 0) that counts only the first `width`
    elements of a row. The others are padding. 0 means that all elements count.
  }];
  let methods = [
    InterfaceMethod<"The number of elements of a row that count, or 0 for all.", "uint64_t", "getWidth">,
    InterfaceMethod<"Sets the number of elements of a row that count.", "void", "setWidth", (ins "uint64_t":$width)>,
    InterfaceMethod<[{
        Whether rows that are padding give finite results and finite derivatives, and change no result of other rows.
      }], "bool", "acceptsPaddedRows", (ins), [{}], [{ return false; }]>
  ];
}

def Hone_ConvolutionInterface : OpInterface<"ConvolutionOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    The interface marks a convolution and its gradients (`hone.conv`, `hone.conv_bwd_input`, `hone.conv_bwd_weight`): the
    op computes one of the convolution's three tensors from the other two.
  }];
  let methods = [
    InterfaceMethod<"The window, with the sizes of the kernel.", "::hone::Window", "getWindow">,
    InterfaceMethod<"The convolution's input [N, S..., C].", "::mlir::Value", "getImage">,
    InterfaceMethod<"Its weight [K..., C / G, O].", "::mlir::Value", "getKernel">,
    InterfaceMethod<"Its result [N, R..., O].", "::mlir::Value", "getOutput">
  ];
}

def Hone_UpdateOpInterface : OpInterface<"UpdateOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    The interface marks an optimizer's update of one parameter. Operand 0 is the parameter, operand 1 its gradient; the
    state are the other reusable operands. Result 0 is the new parameter; the last result may be its working copy.
  }];
  let methods = [
    InterfaceMethod<"Whether the update is applied, a scalar; null: it is.", "::mlir::Value", "getApply">,
    InterfaceMethod<[{
        Elements of a row of the parameter whose state shares a scale; 0, the default: state has an element per element
        of the parameter.
      }], "int64_t", "getStateBlock", (ins), [{}], [{ return 0; }]>
  ];
}

def Hone_StochasticUpdateOpInterface : OpInterface<"StochasticUpdateOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    The interface marks an optimizer's update that can round its bf16 results stochastically (`rng` of `hone.adamw`).
    Its parameter and state are its reusable operands.
  }];
  let methods = [
    InterfaceMethod<"The operand with the key; empty without one.", "::mlir::MutableOperandRange", "getRngMutable">,
    InterfaceMethod<"The number that separates its random numbers from those of other ops with the same key.",
      "uint64_t", "getSalt">,
    InterfaceMethod<"Sets the salt.", "void", "setSalt", (ins "uint64_t":$salt)>
  ];
}

def Hone_RandomOpInterface : OpInterface<"RandomOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    The interface marks an op that may draw random numbers: one per element of a tensor, keyed by the element's
    row-major index in the global tensor. For a shard, the op has `whole`, the global shape, and `origin`, the index of
    its first element (see `hone.random`). It then draws for its shard what the global op draws there.
  }];
  let methods = [
    InterfaceMethod<"The key; null if the op draws nothing.", "::mlir::Value", "getRandomKey", (ins), [{}], [{
        return $_op.getRng();
      }]>,
    InterfaceMethod<"The shape of the tensor that has one random number per element; by default that of result 0.",
      "::llvm::SmallVector<int64_t>", "getRandomShape", (ins), [{}], [{
        return ::hone::detail::shapeOfResult($_op);
      }]>,
    InterfaceMethod<"The factors that the dimensions of that tensor run along; by default 0, 1, ...",
      "::llvm::SmallVector<unsigned>", "getRandomFactors", (ins), [{}], [{
        return ::llvm::to_vector(::llvm::seq<unsigned>(0, $_op.getRandomShape().size()));
      }]>,
    InterfaceMethod<"The index of the first element in the global tensor, a scalar; null where it is 0.",
      "::mlir::Value", "getOrigin">,
    InterfaceMethod<"The operand with that index; empty without one.",
      "::mlir::MutableOperandRange", "getOriginMutable">,
    InterfaceMethod<"The global shape, if the op computes a shard.",
      "::std::optional<::llvm::ArrayRef<int64_t>>", "getWhole">,
    InterfaceMethod<"Sets the global shape.", "void", "setWholeAttr", (ins "::mlir::DenseI64ArrayAttr":$whole)>
  ];
}

#endif // HONE_IR_HONEINTERFACES_TD
