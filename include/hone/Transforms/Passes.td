//===- Passes.td - Passes on hone graphs -----------------------*- tablegen -*-===//

#ifndef HONE_TRANSFORMS_PASSES_TD
#define HONE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyImport : Pass<"hone-verify-import", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the import phase";
  let description = [{
    `@forward` exists, returns one loss of rank 0, and holds only `hone` ops; every argument has a kind and a unique
    name; every parameter and buffer has an initialisation; there is at most one `rng` argument. No tensor has more than
    2^40 bytes.
  }];
}

//===----------------------------------------------------------------------===//
// Raise
//===----------------------------------------------------------------------===//

def Raise : Pass<"hone-raise", "::mlir::ModuleOp"> {
  let summary = "Finds the named ops that @forward spells out";
  let description = [{
    | spelled out | named |
    |---|---|
    | `x * rsqrt(mean(x^2) + eps)`, or over the root, then `* scale` | `rms_norm` |
    | the same of `x - mean(x)`, then `* scale`, `+ bias` | `layer_norm` |
    | `x/2 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`, `x/2 * (1 + erf(x / sqrt 2))`, factors in any order | `gelu` |
    | `x * cos + concat(-b, a) * sin` with tables whose halves repeat; `concat(a c - b s, b c + a s)` of halves or pairs | `rope` |
    | `dropout(softmax(scale q k^T + mask)) v` over batch and heads, masks by addition or by selection of `-inf` | `attention` |
    | a mask that is 0 for keys up to the query and lowest (at most -1e4) after it | `causal` |
    | keys and values that repeat along the heads | fewer key heads |
    | `-log_softmax(x)[t]`, 0 where ignored, and the mean of those | `cross_entropy` |

    A pattern declines, with a note in the debug output, where the numbers could differ, where a mask or a table depends
    on a parameter that requires a gradient, and where an intermediate result that would be computed again has another reader.
  }];
}

def VerifyRaise : Pass<"hone-verify-raise", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the raise phase";
  let description = [{
    `@forward` returns one loss and holds only `hone` ops, and every op between a parameter with `hone.requires_grad` and the
    loss can be differentiated: it has a VJP rule, and no attention mask or rotation table lies on such a path.
  }];
}

//===----------------------------------------------------------------------===//
// Autodiff
//===----------------------------------------------------------------------===//

def Autodiff : Pass<"hone-autodiff", "::mlir::ModuleOp"> {
  let summary = "Makes @gradient and @evaluate from @forward";
  let description = [{
    Reverse mode: `@gradient` has the arguments of `@forward` and returns the loss and one gradient (`hone.kind = "grad"`,
    `hone.fqn` of the parameter) per argument with `hone.requires_grad`, in argument order. There is one rule per op
    (VjpRules.cpp). Only ops between such an argument and the loss are differentiated; an op there without a rule is an
    error, and so is a path through a second result (mean, rstd, lse) or to a mask or rotation table. Contributions to
    one value add in the order of the walk backwards. Ops of the backward pass are located at `"bwd"` of their forward op.

    Conventions, all PyTorch's: ties of elementwise `max` and `min` share the gradient in halves, of `reduce max` and `min`
    evenly; `sign` has gradient 0; `abs` has 0 at 0; no gradient flows through `stop_gradient`, which is consumed. A
    parameter that the loss does not depend on gets no gradient: it loses `hone.requires_grad`, with a warning.

    `@evaluate` is `@forward` without dropout (the identity) and without `stop_gradient`; the generator's key is no argument of it
    unless a `hone.random` reads it. `@forward` stays.
  }];
  let options = [
    Option<"seed", "seed", "double", "1.0", "Cotangent of the loss: 1/K when gradients of K micro-batches add up. "
           "Recorded as `hone.seed` on @gradient.">
  ];
}

def VerifyGradient : Pass<"hone-verify-gradient", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the autodiff phase";
  let description = [{
    `@gradient` returns the loss, then for every argument with `hone.requires_grad`, in order, one result of kind `grad`
    with its name and type. `@gradient` and `@evaluate` hold only `hone` ops, and no `hone.stop_gradient`; `@evaluate` returns the
    loss and holds no dropout.
  }];
}

//===----------------------------------------------------------------------===//
// Step
//===----------------------------------------------------------------------===//

// A number of the optimizer; without it the module's is taken.
class StepNumber<string name, string flag, string description>
    : Option<name, flag, "std::string", "", description>;

def BuildStep : Pass<"hone-build-step", "::mlir::ModuleOp"> {
  let summary = "Makes the training step from @gradient";
  let description = [{
    With one micro-batch, `@step` computes the gradients, their global norm, the clipping factor
    `min(1, clip / (grad_norm + 1e-6))` (exactly 1 for `clip = +inf`; a NaN norm gives NaN under a finite bound) and the optimizer's
    update of each parameter. With K of them, `@accumulate` adds the gradients and the loss, each over K, to its
    arguments, and `@update` does the rest. docs/design.md lists arguments and results. `@gradient` and `@forward` go,
    `@evaluate` stays.

    The settings come from the options, else the module's `hone.optimizer`, else PyTorch's defaults of AdamW; an option that names
    another optimizer than the attribute starts from the defaults of the one named. The settings used are written back
    to `hone.optimizer`: the runtime takes `lr`, `weight_decay` and `clip`, which are operands of the step, from there unless told otherwise.

    Parameters without `hone.requires_grad` have no optimizer state and are not returned.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "", "adamw or sgd; default: that of the module">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "Micro-batches whose gradients one step adds">,
    Option<"keepGradients", "keep-gradients", "bool", "false", "Return the gradients from @step, before clipping">,
    StepNumber<"lr", "lr", "Learning rate">,
    StepNumber<"weightDecay", "weight-decay", "Weight decay">,
    StepNumber<"clip", "clip", "Bound of the global gradient norm; inf: none">,
    StepNumber<"beta1", "beta1", "AdamW: decay of the first moment">,
    StepNumber<"beta2", "beta2", "AdamW: decay of the second moment">,
    StepNumber<"eps", "eps", "AdamW: added to the root of the second moment">,
    StepNumber<"momentum", "momentum", "SGD: momentum">,
    Option<"nesterov", "nesterov", "bool", "false", "SGD: Nesterov's momentum">
  ];
}

def VerifyStep : Pass<"hone-verify-step", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the step phase";
  let description = [{
    There is `@step`, or `@accumulate` and `@update`, of `hone` ops only, and `@evaluate`, but neither `@forward` nor `@gradient`.
    Every result of kind `param`, `opt` or `scalar`, and of kind `grad` where the function takes gradients, donates an argument of its
    type, kind and name, and no argument is donated twice. Every parameter with `hone.requires_grad` is updated by
    `@step` or `@update`, which return the gradient norm; `@step` and `@accumulate` give the loss. Scalars have rank 0.
  }];
}

def DecomposeRows : Pass<"hone-decompose-rows", "::mlir::func::FuncOp"> {
  let summary = "Rewrites norms, softmax and cross entropy into primitives";
  let description = [{
    Replaces `layer_norm`, `rms_norm`, `softmax`, `cross_entropy` and their backward ops by elementwise ops,
    `hone.broadcast` and `hone.reduce`, right before fusion: the fusion analysis and the kernel emitters know
    primitives only. Computed in fp32 or wider and cast to the types of the results. Nothing is declined; every other op
    is left as it is.

    ```mlir
    %y = hone.softmax %x : tensor<8x64xf32>
    // becomes
    %m = hone.reduce max %x dims [1] : tensor<8x64xf32> -> tensor<8xf32>
    %mb = hone.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x64xf32>
    %c = hone.sub %x, %mb : tensor<8x64xf32>
    %e = hone.exp %c : tensor<8x64xf32>
    %s = hone.reduce sum %e dims [1] : tensor<8x64xf32> -> tensor<8xf32>
    %sb = hone.broadcast %s dims [0] : tensor<8xf32> -> tensor<8x64xf32>
    %y = hone.div %e, %sb : tensor<8x64xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Fuse
//===----------------------------------------------------------------------===//

def JoinPads : Pass<"hone-join-pads", "::mlir::func::FuncOp"> {
  let summary = "Turns sums of disjoint padded tensors into a concatenation";
  let description = [{
    The gradient of a tensor that is sliced into parts is the sum of the parts' gradients, each padded with zeros to the
    whole. Where the parts cover one dimension without gap or overlap, in any order, that sum is a `hone.concat`. Sums with a gap, an
    overlap, interior padding, padding of several dimensions, or partial sums with another reader are left alone.

    ```mlir
    %p = hone.pad %a low [0, 0] high [0, 32] interior [0, 0] : tensor<8x64xf32> -> tensor<8x96xf32>
    %q = hone.pad %b low [0, 64] high [0, 0] interior [0, 0] : tensor<8x32xf32> -> tensor<8x96xf32>
    %s = hone.add %p, %q : tensor<8x96xf32>
    // becomes
    %s = hone.concat %a, %b dim 1 : (tensor<8x64xf32>, tensor<8x32xf32>) -> tensor<8x96xf32>
    ```
  }];
}

def NormalizeContractions : Pass<"hone-normalize-contractions", "::mlir::func::FuncOp"> {
  let summary = "Makes every contraction a strided matrix product";
  let description = [{
    A library computes `c[b, m, n] = sum_k a[b, m, k] b[b, k, n]` with one stride per index. Where the batch, free or contracting
    dimensions of an operand do not collapse into one stride each, the operand is transposed to `[batch, free, contract]`
    first. Contractions that fit are left alone.
  }];
}

def FuseGroups : Pass<"hone-fuse-groups", "::mlir::func::FuncOp"> {
  let summary = "Puts every op into the group that becomes one kernel or call";
  let description = [{
    Applies the decision of the fusion analysis (Analysis/FusionGroups.h). Values computed from narrow data alone are
    first copied to each reader, so that none of them is stored.

    - A contraction takes a bias along its last dimension and one addend with it, where the sums have no other reader.
    - The scatter of an embedding gradient takes an addend.
    - Maps, row reductions and column sums over one row space share a kernel, within a region without library call.
    - Every other op is alone. Reshapes, slices that attention reads in place, and concatenations of attention
      gradients become views: they stay outside.
  }];
}

def VerifyGroups : Pass<"hone-verify-groups", "::mlir::func::FuncOp"> {
  let summary = "Checks the contract of the fuse phase";
  let description = [{
    Every op outside a group is the return or a view: a `hone.reshape`, a `hone.slice` that only attention reads, or a `hone.concat` of what
    attention made. A group of family `map` or `row` fits one row space, and yields no value that every row would write; of
    family `contraction`, `attention`, `gather` and `multi`, it holds exactly one op of that family.
  }];
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

def PlanMemory : Pass<"hone-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Gives every value an offset in one arena";
  let description = [{
    Replaces the functions `@step`, `@accumulate`, `@update` and `@evaluate` by a `plan.program`. Arguments of one kind and name
    share storage in all functions and keep it. Other values live from their launch to their last reader, in program
    order; results of the function live to its end. Offsets are chosen by decreasing size, each the lowest that fits.

    A result that donates an argument is written over it when nothing reads the argument later; otherwise it is copied at
    the end. A launch writes over an operand that dies there, where the op allows it (`getReusableOperands`).
  }];
  let dependentDialects = ["::hone::plan::PlanDialect"];
}

def VerifyPlan : Pass<"hone-verify-plan", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the plan phase";
  let description = [{
    There is one `plan.program` and no function besides. Every byte that a launch or a result reads was written by the last launch that wrote
    there as a part of the same buffer, or is state that no launch has written yet; so buffers that are live at the same
    time do not overlap. The arena ends with the last buffer.
  }];
}

#endif // HONE_TRANSFORMS_PASSES_TD
