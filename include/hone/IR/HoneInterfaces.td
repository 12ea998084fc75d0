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
      }]>
  ];
}

#endif // HONE_IR_HONEINTERFACES_TD
