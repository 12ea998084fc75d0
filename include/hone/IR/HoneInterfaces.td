//===- HoneInterfaces.td - What every hone op answers ----------*- tablegen -*-===//

#ifndef HONE_IR_HONEINTERFACES_TD
#define HONE_IR_HONEINTERFACES_TD

include "mlir/IR/OpBase.td"

def Hone_OpInterface : OpInterface<"HoneOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    The facts about an op that whole-graph passes ask for: what it costs, how its numbers may be rounded, how the
    dimensions of operands and results correspond, and which operands' storage a result may take over. A pass that needs
    such a fact asks here; it never switches over op names.
  }];
  let methods = [
    InterfaceMethod<"The family of kernel that computes the op.", "::hone::KernelFamily", "getKernelFamily">,
    InterfaceMethod<"The numeric class that mixed precision decides by.", "::hone::NumericClass", "getNumericClass">,
    InterfaceMethod<"Floating-point operations and ideal bytes (each operand read once, each result written once).",
      "::hone::OpCost", "getCost", (ins), [{}], [{
        return ::hone::detail::elementwiseCost($_op, /*flopsPerElement=*/1);
      }]>,
    InterfaceMethod<[{
        How dimensions correspond: one factor per independent loop of the op, and for each dimension of each operand and
        result the factor it runs along. Sharding, padding and fusion read it. The default is the elementwise mapping.
      }], "::hone::DimensionMapping", "getDimensionMapping", (ins), [{}], [{
        return ::hone::detail::elementwiseMapping($_op);
      }]>,
    InterfaceMethod<[{
        Pairs (operand, result) where the result may be written over the operand's storage when that operand dies here.
        The default allows it for `map` ops between values of equal shape and element width.
      }], "::llvm::SmallVector<::hone::AliasPair>", "getReusableOperands", (ins), [{}], [{
        return ::hone::detail::elementwiseAliases($_op);
      }]>,
    InterfaceMethod<[{
        What is known of an element of result 0 from what is known of the elements, one per operand, that it is made of,
        not all of them copies. Nothing, the default: its elements are made otherwise. Padding reads it.
      }], "::std::optional<::hone::ElementState>", "inferElementState",
      (ins "::llvm::ArrayRef<::hone::ElementState>":$operands), [{}], [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Whether operand `index` keeps its element type whatever that of the results is: an attention mask, a table of
        angles, logits that the op widens by itself. The default: no. Mixed precision reads it.
      }], "bool", "hasOwnElementType", (ins "unsigned":$index), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Sets of operands in which the results are linear together, the other operands being what they are: of sums of
        such operands they are the sums. Rounding aside. The default: none. Sharding reads it, of ops that move numbers or
        do little with each.
      }], "::hone::OperandSets", "getLinearOperands", (ins), [{}], [{ return {}; }]>
  ];
}

def Hone_WidthInterface : OpInterface<"WidthOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    A forward op along rows (the last dimension of operand 0) of which the first `width` elements count, the others being
    padding; 0: all of them.
  }];
  let methods = [
    InterfaceMethod<"The elements of a row that count, or 0.", "uint64_t", "getWidth">,
    InterfaceMethod<"Lets the first `width` elements of a row count.", "void", "setWidth", (ins "uint64_t":$width)>,
    InterfaceMethod<[{
        Whether rows that are padding give finite results, and a finite derivative, and count in no result of the others.
      }], "bool", "acceptsPaddedRows", (ins), [{}], [{ return false; }]>
  ];
}

def Hone_StochasticUpdateOpInterface : OpInterface<"StochasticUpdateOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    An optimizer's update that can round what it writes in bf16 at random (`rng` of `hone.adamw`). Its parameter and
    state are its reusable operands.
  }];
  let methods = [
    InterfaceMethod<"The key, if there is one.", "::mlir::MutableOperandRange", "getRngMutable">,
    InterfaceMethod<"What tells its random numbers from those of other ops with the key.", "uint64_t", "getSalt">,
    InterfaceMethod<"Sets the salt.", "void", "setSalt", (ins "uint64_t":$salt)>
  ];
}

def Hone_RandomOpInterface : OpInterface<"RandomOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    An op that may draw random numbers: one per element of a tensor, told apart by the element's row-major index in the
    whole tensor. Where ranks divide the tensor, the op has `whole`, the whole shape, and `origin`, the index of its
    first element (see `hone.random`), and draws for its part what the whole draws there.
  }];
  let methods = [
    InterfaceMethod<"The key; null where the op draws nothing.", "::mlir::Value", "getRandomKey", (ins), [{}], [{
        return $_op.getRng();
      }]>,
    InterfaceMethod<"The shape of the tensor whose elements draw: that of result 0 by default.",
      "::llvm::SmallVector<int64_t>", "getRandomShape", (ins), [{}], [{
        return ::hone::detail::shapeOfResult($_op);
      }]>,
    InterfaceMethod<"The factors of the dimension mapping that its dimensions run along: 0, 1, ... by default.",
      "::llvm::SmallVector<unsigned>", "getRandomFactors", (ins), [{}], [{
        return ::llvm::to_vector(::llvm::seq<unsigned>(0, $_op.getRandomShape().size()));
      }]>,
    InterfaceMethod<"The index of the first element, a scalar; null where it is 0.", "::mlir::Value", "getOrigin">,
    InterfaceMethod<"The operand that gives it, if any.", "::mlir::MutableOperandRange", "getOriginMutable">,
    InterfaceMethod<"The whole shape, where the op has a part of it.",
      "::std::optional<::llvm::ArrayRef<int64_t>>", "getWhole">,
    InterfaceMethod<"Sets the whole shape.", "void", "setWholeAttr", (ins "::mlir::DenseI64ArrayAttr":$whole)>
  ];
}

#endif // HONE_IR_HONEINTERFACES_TD
