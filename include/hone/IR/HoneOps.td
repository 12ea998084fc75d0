//===- HoneOps.td - Ops of the hone dialect --------------------*- tablegen -*-===//
//
// The description of an op is its specification. It numbers its constraints. A
// comment `// x_ck` marks the check of constraint k of op x in the verifier; the
// function `@x_ck` in test/IR/invalid-*.mlir violates it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_HONEOPS_TD
#define HONE_IR_HONEOPS_TD

include "hone/IR/HoneElementwiseOps.td"
include "hone/IR/HoneShapeOps.td"
include "hone/IR/HoneReductionOps.td"
include "hone/IR/HoneModelOps.td"
include "hone/IR/HoneBackwardOps.td"
include "hone/IR/HoneGroupedOps.td"
include "hone/IR/HoneOptimizerOps.td"
include "hone/IR/HoneQuantizationOps.td"
include "hone/IR/HoneSelectionOps.td"
include "hone/IR/HoneWindowOps.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Hone_StopGradientOp : Hone_Op<"stop_gradient", "view", "copy", [SameOperandsAndResultType]> {
  let summary = "The operand, through which no gradient flows";
  let description = [{
    The op returns its operand and stops differentiation there. Autodiff removes it; none is left after that phase.

    (C1) Operand and result have the same type.

    Example:

    ```mlir
    %y = hone.stop_gradient %x : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$operand);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return {}; }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {{0, 0}}; }
  }] # Hone_ElementRule<"keepState">.method;
}

def Hone_SelectModeOp : Hone_Op<"select_mode", "map", "copy", [AllTypesMatch<["training", "evaluation", "result"]>]> {
  let summary = "One value in training, another in evaluation";
  let description = [{
    The op is what a layer returns that computes otherwise in training than in evaluation: batch norm normalises by the
    batch in training, and by its running statistics in evaluation. Autodiff removes the op: `@gradient` has `training`,
    to which the gradient flows, and `@evaluate` has `evaluation`. Ops that the other value alone needs go with it. The
    interpreter of `@forward` takes `training`.

    (C1) Both operands and the result have the same type.

    Example:

    ```mlir
    %y = hone.select_mode training %x evaluation %z : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Hone_Tensor:$training, Hone_Tensor:$evaluation);
  let results = (outs Hone_Tensor:$result);
  let assemblyFormat = "`training` $training `evaluation` $evaluation attr-dict `:` type($result)";
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost() { return {}; }
  }];
}

def Hone_CustomGradientOp
    : Op<Hone_Dialect, "custom_gradient", [Pure, IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
                                           Hone_OpInterface, InferTypeOpAdaptor]> {
  let summary = "Values whose gradient is given";
  let description = [{
    The op returns `values`, which the ops before it compute. No gradient flows to `values`. The gradients of `inputs`
    are what the body yields, one for each. The body's arguments are the gradients of the results of floating point (0
    where the loss does not depend on a result) and `saved`. So a gradient comes into the graph that is not the
    derivative of what was computed: of PyTorch's `autograd.Function`, of JAX's `custom_vjp`.

    Autodiff puts the body in the place of a derivative rule and removes the op. No pass before it changes the types of
    the body: operands keep their sizes, and stay f32 in every precision.

    (C1) Results have the types of `values`. (C2) The body's arguments have the types of the results of floating point,
    then those of `saved`. (C3) The body yields values of the types of `inputs`. (C4) The body holds ops of the graph,
    none of them with a body, and draws no random numbers.

    Example: a value whose gradient is clamped to at least 0.

    ```mlir
    %y = hone.custom_gradient values(%x : tensor<8xf32>) inputs(%x : tensor<8xf32>) {
    ^bb0(%g: tensor<8xf32>):
      %zero = hone.constant dense<0.0> : tensor<8xf32>
      %r = hone.max %g, %zero : tensor<8xf32>
      hone.yield %r : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Hone_Tensor>:$values, Variadic<Hone_FloatTensor>:$inputs,
                       Variadic<Hone_Tensor>:$saved);
  let results = (outs Variadic<Hone_Tensor>:$results);
  let regions = (region SizedRegion<1>:$backward);
  let assemblyFormat = [{
    `values` `(` $values `:` type($values) `)` `inputs` `(` $inputs `:` type($inputs) `)`
    (`saved` `(` $saved^ `:` type($saved) `)`)? attr-dict-with-keyword $backward
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::hone::KernelFamily getKernelFamily() { return ::hone::KernelFamily::map; }
    ::hone::NumericClass getNumericClass() { return ::hone::NumericClass::accurate; }
    ::hone::OpCost getCost() { return {}; }
    ::hone::DimensionMapping getDimensionMapping() { return ::hone::detail::opaqueMapping(*this); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    ::mlir::Block &getBodyBlock() { return getBackward().front(); }
    /// The results that have a gradient.
    ::llvm::SmallVector<::mlir::Value> getDifferentiableResults();
  }];
}

def Hone_FusedOp : Op<Hone_Dialect, "fused", [Pure, IsolatedFromAbove, SingleBlock, Hone_OpInterface]> {
  let summary = "Ops that become one kernel or one library call";
  let description = [{
    The op groups other ops. Its body reads the operands as block arguments and yields the results. `family` chooses the
    emitter that lowers it. The fuse phase creates the op, and the plan phase replaces it by a `plan.launch`.

    (C1) Block arguments have the operands' types and the yielded values the results' types. (C2) The body holds only
    ops that implement `HoneOpInterface`, and no `hone.fused`.

    Example:

    ```mlir
    %y = hone.fused map (%a = %x : tensor<8x64xf32>, %b = %z : tensor<8x64xf32>) -> tensor<8x64xf32> {
      %s = hone.add %a, %b : tensor<8x64xf32>
      hone.yield %s : tensor<8x64xf32>
    }
    ```
  }];
  let arguments = (ins Hone_KernelFamilyAttr:$family, Variadic<Hone_GroupTensor>:$inputs);
  let results = (outs Variadic<Hone_GroupTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::hone::KernelFamily getKernelFamily() { return getFamily(); }
    ::hone::NumericClass getNumericClass() { return ::hone::NumericClass::copy; }
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping() { return ::hone::detail::opaqueMapping(*this); }
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands();
    ::llvm::SmallVector<::hone::AliasPair> getUpdatedOperands() { return ::hone::updatedOperands(getBodyBlock()); }
    bool endsForwardPart();
    ::mlir::Block &getBodyBlock() { return getBody().front(); }
  }];
}

def Hone_YieldOp : Op<Hone_Dialect, "yield", [Pure, ReturnLike, Terminator, ParentOneOf<["FusedOp", "CustomGradientOp"]>]> {
  let summary = "Results of a body";
  let description = [{
    The op ends the body of a `hone.fused` or a `hone.custom_gradient` and names its results.

    Example:

    ```mlir
    hone.yield %s : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Variadic<Hone_GroupTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // HONE_IR_HONEOPS_TD
