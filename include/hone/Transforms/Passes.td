//===- Passes.td - Passes on hone graphs -----------------------*- tablegen -*-===//

#ifndef HONE_TRANSFORMS_PASSES_TD
#define HONE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyImport : Pass<"hone-verify-import", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the import phase";
  let description = [{
    `@forward` exists, returns one loss of rank 0 (and results of kind `id_check`), and holds only `hone` ops; every argument has a kind and a unique
    name; every parameter and buffer has an initialisation; there is at most one `rng` argument. No tensor has more than
    2^40 bytes.

    A user may have annotated it: the module has a `dist.mesh`, arguments a `dist.sharding`, and `dist.constrain` stands
    between ops. Shardings are of parts or copies, along axes of the mesh, with even parts; something reads every constraint.
  }];
}

def SetTarget : Pass<"hone-set-target", "::mlir::ModuleOp"> {
  let summary = "Names the machine to compile for";
  let description = [{
    Writes `hone.target`, which every later decision about costs and library calls reads. An unknown kind of machine is an
    error.

    ```mlir
    module {}
    // hone-opt --hone-set-target="target=cuda arch=sm_90"
    module attributes {hone.target = "cuda sm_90"} {}
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "cpu or cuda">,
    Option<"arch", "arch", "std::string", "", "znver4, sm_90, ...; default: any of the kind">
  ];
}

def SetMeshInvariant : Pass<"hone-set-mesh-invariant", "::mlir::ModuleOp"> {
  let summary = "Asks for bits that do not depend on how ranks divide the step";
  let description = [{
    Writes `hone.mesh_invariant`. Then no sum is divided: what ranks would add up is gathered, and each that needs the sum makes it all
    (`dist-annotate`, `dist-propagate`, `dist-partition`; `dist-verify` refuses sums over ranks). `hone-chunk-loss` does nothing,
    and matrix products add up their terms in order, in f64. So a program has the bits of one rank's under the same flag, whatever
    mesh and recipe; so does the interpreter, whose bits are others. It costs what sharding saves: activations are gathered, gradients of weights computed
    by all ranks that share a batch.

    A module whose target is a GPU is an error: its library orders sums by the shape.

    ```mlir
    module {}
    // hone-opt --hone-set-mesh-invariant
    module attributes {hone.mesh_invariant} {}
    ```
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
    on a parameter that requires a gradient, where an intermediate result that would be computed again has another reader, and
    where a `dist.constrain` stands inside: what comes in and goes out may be constrained.
  }];
}

def BoundIds : Pass<"hone-bound-ids", "::mlir::ModuleOp"> {
  let summary = "Finds which ids the files of an input may hold";
  let description = [{
    Gives each integer input of `@forward` the `hone.vocab` such that ids below it stay inside a table and every other one
    leaves it, and `hone.ignore` where a loss ignores, or a comparison replaces, an id that reaches no other table (docs/rationale/ids.md). A bound that the
    package gives is lowered, never raised. Where no bound is exact, because ids outside may do no harm, the input gets none:
    `hone-guard-ids` checks each batch.

    ```mlir
    func.func @forward(%t: tensor<8xi64> {hone.kind = "input", hone.fqn = "t"}) {
      %x = hone.embedding %table, %t : tensor<61x16xf32>, ...
    // hone-opt --hone-bound-ids
    func.func @forward(%t: tensor<8xi64> {hone.kind = "input", hone.fqn = "t", hone.vocab = 61 : i64}) {
    ```
  }];
}

def GuardIds : Pass<"hone-guard-ids", "::mlir::ModuleOp"> {
  let summary = "Checks ids that bounds of inputs do not prove to be in their table";
  let description = [{
    Each operand of `@forward` that holds ids, and that interval analysis from `hone.vocab` and `hone.ignore` does not prove
    to be inside its table, becomes one with 0 in place of ids outside; `@forward` returns besides the loss, as a result of
    kind `id_check`, 0 or such an id, with `hone.ids` saying which op of which source line reads which table. The runtime
    ends the run when one is not 0, before anything is saved. Ids that are outside for certain are an error.
  }];
}

def VerifyRaise : Pass<"hone-verify-raise", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the raise phase";
  let description = [{
    `@forward` returns one loss (and results of kind `id_check`) and holds only `hone` ops and `dist.constrain`, and every op between a parameter with `hone.requires_grad` and the
    loss can be differentiated: it has a VJP rule, and no attention mask or rotation table lies on such a path.
  }];
}

def PadDims : Pass<"hone-pad-dims", "::mlir::ModuleOp"> {
  let summary = "Pads parameters to sizes that the target's matrix library likes";
  let description = [{
    A class of dimensions of `@forward` that ops loop over together, along which rows of a contraction run and whose size is
    no multiple of the target's, grows by zeros at its end: the parameters once, with `hone.parts` for files, and every
    value that is made of them. Masks come exactly where the padding could be seen: a `width` on norms, softmax and cross
    entropy, a `select` before other reductions, arg max, and contractions that would read something else than zeros.
    Gradients of padding are zero, and optimizers leave it zero.

    A class is declined, with a remark under `report`, where
    - padding takes more time than it saves, or, with `multiple` = N, never for that;
    - it is the size of an input, or comes from no parameter: rows of tokens are no rows of a contraction's operands;
    - an op needs the dimension as it is: a reshape that splits it into heads, a slice, a concatenation;
    - a user wants parts of a dimension that the new size does not have (`dist.sharding`, `dist.constrain`);
    - an op would see padding that no mask hides: dropout numbers elements by their place, a norm over padded rows;
    - zero has no finite value or derivative: division, logarithm, root; AdamW with `eps` 0;
    - the optimizer is Adafactor, whose means would count the padding.

    `precision` is the policy that the next phase applies: it decides the element type of contractions.

    ```mlir
    %w: tensor<50257x768xf32> {hone.kind = "param", hone.fqn = "wte"}
    ...
    %l = hone.dot_general %x, %w batch [] x [] contract [1] x [1] : ... -> tensor<1024x50257xf32>
    %loss, %lse = hone.cross_entropy mean %l, %t ignore_index -100 label_smoothing 0.0 : ...
    // becomes
    %w: tensor<50304x768xf32> {hone.kind = "param", hone.fqn = "wte",
                               hone.parts = [#hone.part<"wte", offset = [0, 0], shape = [50257, 768]>]}
    ...
    %l = hone.dot_general %x, %w batch [] x [] contract [1] x [1] : ... -> tensor<1024x50304xf32>
    %loss, %lse = hone.cross_entropy mean %l, %t ignore_index -100 label_smoothing 0.0 width 50257 : ...
    ```
  }];
  let options = [
    Option<"multiple", "multiple", "std::string", "\"auto\"", "auto, off, or the number to pad to multiples of">,
    Option<"precision", "precision", "std::string", "\"fp32\"", "fp32, tf32, bf16, fp16 or bf16-sr">,
    Option<"optimizer", "optimizer", "std::string", "", "That of the step; default: that of the module">,
    Option<"report", "report", "bool", "false", "Emit one remark per class that is padded or declined">
  ];
}

def VerifyPad : Pass<"hone-verify-pad", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the pad phase";
  let description = [{
    No contraction of `@forward` stands between a pad and the slice that undoes it. Every tensor of files is part of one
    argument. Where parts do not fill an argument, all values along the same dimensions are padded alike, and nothing sees
    the padding: every contraction and reduction over it reads zeros (or what a maximum does not see), every row op has
    a `width`.
  }];
}

def PackProjections : Pass<"hone-pack-projections", "::mlir::ModuleOp"> {
  let summary = "Makes one contraction of weights that multiply one input";
  let description = [{
    Contractions of `@forward` that have the same left side become one, whose weight holds theirs one after the other along
    the dimension that is not contracted; so do their biases. The packed parameter is one argument with `hone.parts`: files,
    dumps and initialisation see its parts under their names. Readers of a projection get a slice.

    Declined, with a remark under `report`, where the weights or biases are no parameters, are read elsewhere or tied,
    differ in element type, contracted dimension, optimizer group, initialisation or `hone.requires_grad`, where only one has a
    bias, where a user has given one a `dist.sharding`, which is not that of the packed one, and where readers that cannot read a slice in place would copy more than packing saves. With Adafactor nothing is
    packed: it takes means over each parameter.

    ```mlir
    func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
        %q: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "q"},
        %k: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "k"}) {
      %a = hone.dot_general %x, %q batch [] x [] contract [1] x [1] : ...
      %b = hone.dot_general %x, %k batch [] x [] contract [1] x [1] : ...
    // becomes
    func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
        %qk: tensor<96x64xf32> {hone.kind = "param", hone.fqn = "q+k", hone.parts = [
            #hone.part<"q", offset = [0, 0], shape = [64, 64]>, #hone.part<"k", offset = [64, 0], shape = [32, 64]>]}) {
      %p = hone.dot_general %x, %qk batch [] x [] contract [1] x [1] : tensor<8x64xf32>, tensor<96x64xf32> -> tensor<8x96xf32>
      %a = hone.slice %p [0, 0] to [8, 64] by [1, 1] : tensor<8x96xf32> -> tensor<8x64xf32>
      %b = hone.slice %p [0, 64] to [8, 96] by [1, 1] : tensor<8x96xf32> -> tensor<8x32xf32>
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "", "That of the step; default: that of the module">,
    Option<"report", "report", "bool", "false", "Emit one remark per packed and per declined contraction">
  ];
}

def JoinRotations : Pass<"hone-join-rotations", "::mlir::func::FuncOp"> {
  let summary = "Makes one rotation of neighbouring parts of a projection";
  let description = [{
    Query and key of a packed projection lie side by side and turn by one table: they are rotated as one part, with the
    heads of both, and sliced behind it. Declined where style, direction, tables or the width of heads differ, where a
    part has another reader, and where a reader of the result cannot read a slice in place.

    ```mlir
    %q = hone.slice %p [0, 0, 0] to [2, 16, 24] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x24xf32>
    %k = hone.slice %p [0, 0, 24] to [2, 16, 36] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x12xf32>
    %a = hone.reshape %q : tensor<2x16x24xf32> -> tensor<2x16x4x6xf32>
    %b = hone.reshape %k : tensor<2x16x12xf32> -> tensor<2x16x2x6xf32>
    %x = hone.rope half %a, %c, %s : tensor<2x16x4x6xf32>, tensor<16x3xf32>
    %y = hone.rope half %b, %c, %s : tensor<2x16x2x6xf32>, tensor<16x3xf32>
    // becomes
    %qk = hone.slice %p [0, 0, 0] to [2, 16, 36] by [1, 1, 1] : tensor<2x16x48xf32> -> tensor<2x16x36xf32>
    %ab = hone.reshape %qk : tensor<2x16x36xf32> -> tensor<2x16x6x6xf32>
    %xy = hone.rope half %ab, %c, %s : tensor<2x16x6x6xf32>, tensor<16x3xf32>
    // then slices of %xy
    ```
  }];
}

def SinkReshapes : Pass<"hone-sink-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Flattens the rows of a projection after it, not before";
  let description = [{
    A contraction of flattened rows, and the maps with vectors along its columns behind it, keep the rows of what was flattened;
    the reshape moves behind them, where it mostly meets its inverse. Then the residual stream, a projection and its addend
    have one shape, forward and backward. Declined where the rows are no leading dimensions of the tensor that was reshaped, and
    behind a map with another operand.

    ```mlir
    %f = hone.reshape %x : tensor<2x16x64xf32> -> tensor<32x64xf32>
    %y = hone.dot_general %f, %w batch [] x [] contract [1] x [1] : tensor<32x64xf32>, tensor<96x64xf32> -> tensor<32x96xf32>
    // becomes
    %d = hone.dot_general %x, %w batch [] x [] contract [2] x [1]
        : tensor<2x16x64xf32>, tensor<96x64xf32> -> tensor<2x16x96xf32>
    %y = hone.reshape %d : tensor<2x16x96xf32> -> tensor<32x96xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

def MixedPrecision : Pass<"hone-mixed-precision", "::mlir::ModuleOp"> {
  let summary = "Lets contractions of @forward work in low precision";
  let description = [{
    Rewrites `@forward` by the numeric class of each op (`getNumericClass`), with `low` = bf16 (policies `bf16`, `bf16-sr`) or
    f16 (`fp16`). `fp32` and `tf32` change no op; `tf32` allows a target with such units to round what f32 contractions
    read (the CPU target has none and computes in fp32). The policy is recorded as `hone.precision`.

    | class | reads | writes |
    |---|---|---|
    | contraction | low | low; f32 where its one reader, behind a bias, is a sum with an f32 value |
    | accurate | f32 (`cross_entropy` reads low logits: it widens them by itself) | f32 |
    | pointwise, exact | the type of its activations, f32 where they differ (with `stream=low`: low) | the same |

    Parameters and constants are no activations: they take the type of what they meet. Statistics (`lse`, mean, rstd), attention
    masks and tables of angles stay f32, and so does every op that no parameter influences. Parameters stay f32 arguments:
    the master weights. A value is rounded by one cast, where it is made and above the moves (reshape, transpose,
    broadcast, slices of parameters) that lead to it; no cast undoes another one, and a value rounded
    once is widened only for readers that want f32. Values of other types, f64 say, are left alone.

    ```mlir
    %z = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
    // becomes
    %wl = hone.cast %w : tensor<64x32xf32> -> tensor<64x32xbf16>
    %xl = hone.cast %x : tensor<8x64xf32> -> tensor<8x64xbf16>
    %z = hone.dot_general %xl, %wl batch [] x [] contract [1] x [0] : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"bf16\"", "fp32, tf32, bf16, fp16 or bf16-sr">,
    Option<"stream", "stream", "std::string", "\"f32\"", "Sums of f32 and low activations: f32 or low">
  ];
}

def VerifyPrecision : Pass<"hone-verify-precision", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the precision phase";
  let description = [{
    Of the ops of `@forward` that a parameter influences, contractions read no f32 under a policy with a low type, and
    accurate ops read f32. The loss is f32. `hone.precision` is a policy.
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
    one value add in the order of the walk backwards. What `dist.constrain` divides has a cotangent that is divided alike. Ops of the backward pass are located at `"bwd"` of their forward op.

    Conventions, all PyTorch's: ties of elementwise `max` and `min` share the gradient in halves, of `reduce max` and `min`
    evenly; `sign` has gradient 0; `abs` has 0 at 0; no gradient flows through `stop_gradient`, which is consumed. A
    parameter that the loss does not depend on gets no gradient: it loses `hone.requires_grad`, with a warning.

    `@evaluate` is `@forward` without dropout (the identity) and without `stop_gradient`; the generator's key is no argument of it
    unless a `hone.random` reads it. `@forward` stays.
  }];
  let options = [
    Option<"seed", "seed", "double", "1.0", "Cotangent of the loss: 1/K when gradients of K micro-batches add up. "
           "Recorded as `hone.seed` on @gradient.">,
    Option<"scaleLoss", "scale-loss", "bool", "false",
           "Multiply the cotangent of the loss by a further argument of @gradient, the scalar `loss_cotangent`">
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

def WidenGradients : Pass<"hone-widen-gradients", "::mlir::func::FuncOp"> {
  let summary = "Makes gradients in f32 of what low-precision sums accumulate";
  let description = [{
    The gradient of a parameter is cast to f32 from a contraction or sum that has low-precision operands, an fp32
    accumulator and a low-precision result. That result, where the cast (behind moves) alone reads it, is given in f32
    instead: this is what the pair means from then on, one rounding less. A contraction is left alone where readers of the cast
    are others than sums, norms over tensors and the return: they widen half the bytes as they read them.

    ```mlir
    %d = hone.dot_general %g, %x batch [] x [] contract [0] x [0] : tensor<8x32xbf16>, tensor<8x64xbf16> -> tensor<32x64xbf16>
    %r = hone.cast %d : tensor<32x64xbf16> -> tensor<32x64xf32>
    return %r : tensor<32x64xf32>
    // becomes
    %r = hone.dot_general %g, %x batch [] x [] contract [0] x [0] : tensor<8x32xbf16>, tensor<8x64xbf16> -> tensor<32x64xf32>
    return %r : tensor<32x64xf32>
    ```
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

    State of kind `opt` is, by optimizer, `exp_avg.<fqn>` and `exp_avg_sq.<fqn>` (AdamW), `momentum.<fqn>` (SGD with momentum),
    `exp_avg.<fqn>` (Lion), or `row_var.<fqn>` and `col_var.<fqn>`, for vectors `variance.<fqn>` (Adafactor). With `moments`
    = bf16 all but Adafactor keep it in bf16, rounded at random as `hone-low-state` does. With 8bit, AdamW's are codes, with
    scales `exp_avg_scale.<fqn>` and `exp_avg_sq_scale.<fqn>` (`hone.adamw_8bit`), except where a parameter, or a part of it,
    has fewer than 4096 elements or a part begins inside a block: those keep fp32.

    The settings come from the options, else the module's `hone.optimizer`, else PyTorch's defaults of AdamW; an option that names
    another optimizer than the attribute starts from the defaults of the one named. The settings used are written back
    to `hone.optimizer`: the runtime takes `lr`, `weight_decay` and `clip`, which are operands of the step, from there unless told otherwise.

    Parameters without `hone.requires_grad` have no optimizer state and are not returned.

    Every update is conditional (`apply`) on a finite gradient norm: a step that overflows changes no bit of parameters and state.

    Where `@gradient` takes `loss_cotangent`, gradients are scaled: the state has `loss_scale`, `loss_scale.good_steps` and
    `updates` besides, the norm and the clipping factor are divided by the scale (the gradients themselves never are),
    a skipped step halves the scale, `growth-interval` good ones in a row double it, and AdamW counts updates instead
    of steps.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "",
           "adamw, sgd, lion or adafactor; default: that of the module">,
    Option<"moments", "moments", "std::string", "", "Moments in fp32, bf16 or 8bit; default: as the module says">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "Micro-batches whose gradients one step adds">,
    Option<"keepGradients", "keep-gradients", "bool", "false", "Return the gradients from @step, before clipping">,
    StepNumber<"lr", "lr", "Learning rate">,
    StepNumber<"weightDecay", "weight-decay", "Weight decay">,
    StepNumber<"clip", "clip", "Bound of the global gradient norm; inf: none">,
    StepNumber<"beta1", "beta1", "AdamW, Lion: decay of the first moment, for the step">,
    StepNumber<"beta2", "beta2", "AdamW: decay of the second moment; Lion: of the first">,
    StepNumber<"eps", "eps", "AdamW: added to the root of the second moment">,
    StepNumber<"beta2Decay", "beta2-decay", "Adafactor: exponent of the step in the share of new means">,
    StepNumber<"eps1", "eps1", "Adafactor: least root of a second moment, and least mean">,
    StepNumber<"eps2", "eps2", "Adafactor: least root mean square of a parameter">,
    StepNumber<"clipThreshold", "clip-threshold", "Adafactor: bound of the update's root mean square">,
    StepNumber<"momentum", "momentum", "SGD: momentum">,
    Option<"nesterov", "nesterov", "bool", "false", "SGD: Nesterov's momentum">,
    Option<"lossScale", "loss-scale", "double", "65536.0", "First loss scale">,
    Option<"growthInterval", "growth-interval", "int64_t", "2000", "Good steps after which the loss scale doubles">
  ];
}

def WorkingCopies : Pass<"hone-working-copies", "::mlir::ModuleOp"> {
  let summary = "Casts each weight once per step, in its update";
  let description = [{
    Casts of a parameter to a narrower type in `@step` or `@accumulate` become reads of an argument of kind `working_copy`, which holds
    the parameter so rounded; the op that updates the parameter yields the working copy's new value too. The runtime fills working copies
    from parameters when a run starts. Other readers of the parameter keep it, and one that is not trained keeps its first
    working copy. Of two narrower types the first found is kept as a working copy, casts to the other are left alone.

    ```mlir
    func.func @step(%w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w"}, ...) {
      %c = hone.cast %w : tensor<8x64xf32> -> tensor<8x64xbf16>
      %w1, %m1, %v1 = hone.adamw %w, ...
    // becomes
    func.func @step(%w: ..., %c: tensor<8x64xbf16> {hone.kind = "working_copy", hone.fqn = "w"}) {
      %w1, %m1, %v1, %c1 = hone.adamw %w, ...
    ```
  }];
}

def LowState : Pass<"hone-low-state", "::mlir::ModuleOp"> {
  let summary = "Keeps parameters and moments in bf16 alone";
  let description = [{
    f32 parameters and their moments become bf16 arguments of every function, with no f32 master. Updates compute in fp32 as
    before and round at random (`rng` of `hone.adamw`), each with its own salt from 2^30 on; a function without generator key gets one.
    An update that cannot (Adafactor, codes of 8 bits) is an error.
    Casts of a parameter to bf16 fold away; other readers widen it, behind the moves and embeddings that pick from it.
    Gradients and their sums stay f32.

    ```mlir
    %w1 = hone.sgd %w, %g lr %lr weight_decay %wd grad_scale %c
        : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
    // becomes
    %w1 = hone.sgd %w, %g lr %lr weight_decay %wd grad_scale %c rng %key salt 1073741824
        : (tensor<8xbf16>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xi64>) -> tensor<8xbf16>
    ```
  }];
}

def VerifyStep : Pass<"hone-verify-step", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the step phase";
  let description = [{
    There is `@step`, or `@accumulate` and `@update`, of `hone` ops only, and `@evaluate`, but neither `@forward` nor `@gradient`.
    Every result of kind `param`, `opt`, `working_copy` or `scalar`, and of kind `grad` where the function takes gradients, donates an argument of its
    type, kind and name, and no argument is donated twice. Every parameter with `hone.requires_grad` is updated by
    `@step` or `@update`, which return the gradient norm; `@step` and `@accumulate` give the loss. Scalars have rank 0.
  }];
}

def DecomposeUpdates : Pass<"hone-decompose-updates", "::mlir::func::FuncOp"> {
  let summary = "Rewrites updates that take means over a parameter into primitives";
  let description = [{
    Replaces `hone.adafactor` by reductions, broadcasts and elementwise ops, right before `hone-decompose-rows`: its sums over
    rows, columns and all elements are kernels that fusion makes. Computed in fp32 or wider and cast to the types of the
    results. Where `apply` is false a select keeps the operand. Nothing is declined; updates that go element by element have
    kernels of their own and stay.

    ```mlir
    %p1, %v1 = hone.adafactor %p, %g variances (%v) lr %lr weight_decay %wd step %t grad_scale %s {...}
        : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, ...) -> (tensor<64xf32>, tensor<64xf32>)
    // becomes
    %squares = hone.mul %scaled, %scaled : tensor<64xf32>
    %d = hone.sub %squares, %v : tensor<64xf32>
    %m = hone.mul %share, %d : tensor<64xf32>
    %v1 = hone.add %v, %m : tensor<64xf32>
    ...
    ```
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

def PlanAttention : Pass<"hone-plan-attention", "::mlir::ModuleOp"> {
  let summary = "Asks cuDNN which attention it computes, and with how much memory";
  let description = [{
    On a GPU (the target that the module names) cuDNN computes attention in one call, of the kinds that it has kernels for.
    The runtime's tool hone-plan-attention knows which, without a GPU (Support/AttentionPlanner.h). It is asked once per
    distinct problem, for dense operands and for operands that are parts of one packed projection, since what they become
    is decided later. An op that the library takes either way gets `hone.workspace`, the larger of the bytes that the two
    need besides operands, and with `deterministic` `hone.deterministic`. Every other op is left as it is, for
    `hone-decompose-attention`.

    Declined, with a remark under `report`, and with an error under `required`: operands other than bf16 and f16, a mask,
    and what the library refuses; with dropout also what shares its mask with one of those. Where tool or library are
    missing nothing is marked, which is a warning, and under `required` an error. Modules for other targets are left alone.

    ```mlir
    %o, %lse = hone.attention %q, %k, %v causal scale 0.125
        : (tensor<2x16x4x64xbf16>, tensor<2x16x2x64xbf16>, tensor<2x16x2x64xbf16>) -> (tensor<2x16x4x64xbf16>, tensor<2x4x16xf32>)
    // becomes
    %o, %lse = hone.attention %q, %k, %v causal scale 0.125 {hone.workspace = 0 : i64}
        : (tensor<2x16x4x64xbf16>, tensor<2x16x2x64xbf16>, tensor<2x16x2x64xbf16>) -> (tensor<2x16x4x64xbf16>, tensor<2x4x16xf32>)
    ```
  }];
  let options = [
    Option<"tool", "tool", "std::string", "\"hone-plan-attention\"", "The tool, by path or by name on PATH">,
    Option<"emulate", "emulate", "bool", "false", "Ask for the emulated library">,
    Option<"deterministic", "deterministic", "bool", "false", "Equal calls give equal bits">,
    Option<"required", "required", "bool", "false", "What cannot be one call is an error">,
    Option<"report", "report", "bool", "false", "Say with a remark what is declined and why">
  ];
}

def DecomposeAttention : Pass<"hone-decompose-attention", "::mlir::func::FuncOp"> {
  let summary = "Rewrites attention into products and a softmax in primitives";
  let description = [{
    For targets without a fused kernel, and as its reference (docs/rationale/attention.md). Forward: scores, a masked softmax
    with its log-sum-exp, the product with the values. Backward: scores and weights again from the log-sum-exp, then
    `dv = (p z)^T grad`, `dp = (grad v^T) z`, `ds = scale p (dp - delta)`, `dq = ds k`, `dk = ds^T q`, with `z` the dropout factor
    and `delta` the sums of `grad * output` along the width. Whole matrices of scores are stored.

    Products read the operands' type and add up in fp32; weights and `ds` are rounded to that type before the product that
    reads them, everything else is fp32 (f64 for f64). Query heads that share a key head are rows of one product: keys and
    values are not repeated. Dropout draws the bits that the fused kernels draw. What the backward pass makes again is marked
    `hone.clone`: merged with the forward pass it would be stored in between.

    Nothing is declined; with `keep-fused` what the module's target has a fused kernel for stays as it is: all of it on a CPU,
    on a GPU what `hone-plan-attention` marked.

    ```mlir
    %o, %lse = hone.attention %q, %k, %v scale 1.0
        : (tensor<2x16x4x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
    // becomes, with the transposes and reshapes left out
    %s = hone.dot_general %q, %k batch [0, 1] x [0, 1] contract [3] x [3]
        : tensor<2x2x32x8xf32>, tensor<2x2x16x8xf32> -> tensor<2x2x32x16xf32>
    %m = hone.reduce max %s dims [3] : tensor<2x4x16x16xf32> -> tensor<2x4x16xf32>
    ...
    %p = hone.div %e, %sums : tensor<2x4x16x16xf32>
    %o = hone.dot_general %p, %v batch [0, 1] x [0, 1] contract [3] x [2]
        : tensor<2x2x32x16xf32>, tensor<2x2x16x8xf32> -> tensor<2x2x32x8xf32>
    ```
  }];
  let options = [
    Option<"keepFused", "keep-fused", "bool", "false", "Leave attention alone where the target has a fused kernel">
  ];
}

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

def ChunkLoss : Pass<"hone-chunk-loss", "::mlir::func::FuncOp"> {
  let summary = "Computes the head, the loss and their gradients by chunks of rows";
  let description = [{
    Where a contraction's result is read by a `cross_entropy` and its gradient alone, and that gradient by contractions
    that keep the rows or sum over them, all of it runs for some rows at a time, so that the logits are never whole in
    memory. The number of targets that are not ignored is counted once, before the chunks. The gradient of the weight is
    added up in place, starting from the gradients so far where there are any; the parts of the input's gradient and of
    the rows' losses lie one after the other in one tensor.

    `chunk` is a number of rows, or `auto`: as many as keep the traffic of that adding up a small share of the head's
    time on the module's target (Analysis/LossChunks.h, docs/rationale/chunked-loss.md).

    Elementwise ops and reshapes may lie between: a bias, a mask over the classes, casts. The loss stays whole where the
    logits or their gradient have another reader, the loss is requested per row, its cotangent depends on it, one chunk
    holds every row, or the module is exact. With `report` a remark at the loss says what was done and why.

    ```mlir
    %x = hone.dot_general %h, %w batch [] x [] contract [1] x [1] : tensor<6x4xf32>, tensor<9x4xf32> -> tensor<6x9xf32>
    %loss, %lse = hone.cross_entropy sum %x, %t ignore_index -100 label_smoothing 0.0
        : tensor<6x9xf32>, tensor<6xi64> -> tensor<f32>, tensor<6xf32>
    // --hone-chunk-loss="chunk=3"
    %h0 = hone.slice %h [0, 0] to [3, 4] by [1, 1] : tensor<6x4xf32> -> tensor<3x4xf32>
    %x0 = hone.dot_general %h0, %w batch [] x [] contract [1] x [1]
        : tensor<3x4xf32>, tensor<9x4xf32> -> tensor<3x9xf32>
    %t0 = hone.slice %t [0] to [3] by [1] : tensor<6xi64> -> tensor<3xi64>
    %l0, %lse0 = hone.cross_entropy none %x0, %t0 ignore_index -100 label_smoothing 0.0
        : tensor<3x9xf32>, tensor<3xi64> -> tensor<3xf32>, tensor<3xf32>
    // ... rows 3 to 5: %l1
    %rows = hone.concat %l0, %l1 dim 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
    %loss = hone.reduce sum %rows dims [0] : tensor<6xf32> -> tensor<f32>
    ```
  }];
  let options = [
    Option<"chunk", "chunk", "std::string", "\"auto\"", "Rows per chunk, auto or off">,
    Option<"report", "report", "bool", "false", "Say with a remark at each loss what was done and why">
  ];
}

def RecomputeMaps : Pass<"hone-recompute-maps", "::mlir::func::FuncOp"> {
  let summary = "Makes cheap values again in the kernels that read them";
  let description = [{
    A value that one row kernel would store for others to read, and nothing else reads, is recomputed by each of them where
    that takes no longer: it depends by few maps on values that are stored anyway and no larger than itself, or are one per
    row or column, and the traffic saved outweighs the computation. The backward pass of a norm then reads the norm's input
    instead of a normalised copy; that of a gated activation reads what it was applied to. Copies are marked `hone.clone`:
    no kernel holds both. Values of the same ops from the same operands are equal bit for bit. Declined where the value
    depends on a reduction of its own rows that is not stored, on a random number, or on more than 16 ops, which a remark
    counts under `report`.

    ```mlir
    %s = hone.logistic %g : tensor<8x64xf32>
    %a = hone.mul %s, %u : tensor<8x64xf32>           // one kernel
    %p = hone.dot_general %a, %w ...
    %d = hone.mul %p, %s : tensor<8x64xf32>           // another
    // becomes, for the latter
    %t = hone.logistic %g {hone.clone} : tensor<8x64xf32>
    %d = hone.mul %p, %t : tensor<8x64xf32>
    ```
  }];
  let options = [
    Option<"report", "report", "bool", "false", "Say with a remark how many values take too many ops">
  ];
}

def FuseGroups : Pass<"hone-fuse-groups", "::mlir::func::FuncOp"> {
  let summary = "Puts every op into the group that becomes one kernel or call";
  let description = [{
    Applies the decision of the fusion analysis (Analysis/FusionGroups.h), which minimises bytes moved and launches on the
    module's target. Values computed from narrow data alone are first copied to each reader, so that none of them is stored.

    - A contraction takes what the target's library computes with it, where the traffic saved outweighs what the call loses:
      a bias, one addend, GELU or its gradient, sums of columns (docs/rationale/epilogues.md). Sums with an argument (a gradient
      of earlier micro-batches) move to where their operands are ready.
    - The scatter of an embedding gradient takes an addend.
    - Maps, row reductions and column sums over one row space share a kernel, within a region without library call.
    - Every other op is alone. Reshapes, slices read in place, and concatenations written in place become views: they stay
      outside.

    With `report`, a remark at the location of each group says why its ops are together, what that saves, and what comes
    nearest to joining and why it does not; remarks besides say which searches stopped at their bounds:

    ```
    remark: row kernel of 4 ops that moves 6400 bytes: 2 values never stored, 1 value read once for all, 1 column sum; saves
    6144 bytes and 4 of 6 launches; nearest refused: hone.exp (a path leaves the group and returns through hone.sub)
    ```
  }];
  let options = [
    Option<"report", "report", "bool", "false", "Explain each group in a remark">,
    Option<"epilogues", "epilogues", "bool", "true", "Let the library compute more than the product">,
    Option<"regions", "regions", "bool", "true", "Let row ops share a kernel; off, each has its own: a measure of what sharing saves">
  ];
}

def VerifyGroups : Pass<"hone-verify-groups", "::mlir::func::FuncOp"> {
  let summary = "Checks the contract of the fuse phase";
  let description = [{
    Every op outside a group is the return or a view: a `hone.reshape`; a `hone.slice` that is one run of memory, or that
    only kernels read which step over strides (attention, rotations, maps and rows); a `hone.concat` of such runs, each made
    for it by one group, or of what those kernels made. A group of family `map` or `row` fits one row space, and yields no
    value that every row would write. One of family `contraction` is a call that the target's library has. Of `attention`,
    `gather` and `multi`, it holds exactly one op of that family; optimizer updates may be many, if they differ in shapes,
    scalars and salt alone, and so may additions of vectors.
  }];
}

//===----------------------------------------------------------------------===//
// Checkpoint
//===----------------------------------------------------------------------===//

def PlanCheckpoints : Pass<"hone-plan-checkpoints", "::mlir::ModuleOp"> {
  let summary = "Chooses which values stay for the backward pass and which are recomputed";
  let description = [{
    The forward part of `@step` or `@accumulate` is cut into stages, layers of the model, where one value alone leads from
    one to the next; each kernel of the backward part belongs to the stage whose values it reads (Analysis/StepStages.h).
    For each kind of stage a minimum cut and a search find the sets of values worth keeping (Analysis/StageOptions.h); over
    the chain of stages a dynamic program finds the visits of least time (Analysis/ChainSchedule.h,
    docs/rationale/checkpointing.md). Proposals are applied to a copy and their arena planned, so that `budget` is a bound
    on what the program takes, not on a model of it.

    The choice is written down, for hone-apply-checkpoints, and may be edited before that:

    - on the function `hone.schedule`, visits of stages in order: `"f0:3 b3 f1:2 b2:0"` runs stages 0 to 3 forward, 3
      backward, 1 and 2 forward again, and 2 to 0 backward;
    - on forward kernels `hone.forward`, the stage of each result;
    - on backward kernels `hone.backward`, their stage;
    - on forward kernels `hone.recompute`, the results that backward kernels do not find but have recomputed.

    Nothing is recorded where everything fits. With `budget`, in bytes of the whole arena, a budget that no schedule keeps
    is an error that names the smallest that works. Policies other than `auto` are for comparison: `none`; `full`, which
    keeps what leads from stage to stage alone and runs each stage again right before its backward visit; `sqrt`, which keeps
    every sqrt(n)-th of those (Chen et al. 2016).

    With `report`, a remark per stage says what it keeps and makes again, and the module gets `hone.memory_curve`: pairs of
    arena bytes and estimated seconds per step that other budgets would give. A remark for each bound that was met says what
    was not tried for it.
  }];
  let options = [
    Option<"budget", "budget", "int64_t", "0", "Bytes of the arena; 0: no bound">,
    Option<"policy", "policy", "std::string", "\"auto\"", "auto, none, full or sqrt">,
    Option<"report", "report", "bool", "false", "Explain each stage in a remark, and write the curve">,
    Option<"stageUnits", "stage-units", "int", "20", "Kernels of a stage that branch and bound decides, the largest first">,
    Option<"stageSteps", "stage-steps", "int", "1 << 15", "Choices that it tries for a kind of stage">,
    Option<"cutSteps", "cut-steps", "int64_t", "1 << 24", "Edges that minimum cuts look at for a kind of stage">,
    Option<"maxTrials", "max-trials", "int", "10", "Schedules that are measured in search of one that fits">
  ];
}

def ApplyCheckpoints : Pass<"hone-apply-checkpoints", "::mlir::func::FuncOp"> {
  let summary = "Orders and clones kernels as the schedule of checkpoints says";
  let description = [{
    Applies the attributes that hone-plan-checkpoints describes, and takes them away; without `hone.schedule` nothing happens.

    Kernels run in the order of the visits. The first forward visit of a stage is the original, later ones are clones. Each
    reads the latest version of what it reads; a result in `hone.recompute` is recomputed right before the first backward kernel
    that reads it, with what that takes. Of a kernel over rows only the part is cloned that makes what is requested; a library
    call is cloned whole. What no kernel reads is dropped: a stage that runs forward for its backward visit alone does not
    make its output. Ops of no stage run first, or last where they wait for a stage.

    A clone computes what its original computed, in the same kernel from the same bits (random ops draw by key and salt), so
    results do not change. It carries `hone.clone` with a number of its own: equal clones are not merged.

    Refused: text that is no schedule; visits out of order; stages that the schedule does not visit; an order in which a
    kernel would run before what it reads.

    ```mlir
    func.func @step(...) attributes {hone.schedule = "f0:1 b1 f0 b0"} {
      %a = hone.fused map (%x) ... {hone.forward = array<i64: 0>, hone.recompute = array<i64: 0>}
      %b = hone.fused contraction (%a, %w) ... {hone.forward = array<i64: 0>}
      ...
      %g = hone.fused contraction (%a, %d) ... {hone.backward = 0}
    // becomes, before %g
      %a2 = hone.fused map (%x) ... {hone.clone = 0}
      %g = hone.fused contraction (%a2, %d) ...
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

def OverlapCollectives : Pass<"hone-overlap-collectives", "::mlir::ModuleOp"> {
  let summary = "Lets ranks compute while they exchange";
  let description = [{
    On groups. A collective that kernels stand between and its first reader only begins (`async`) and is waited for
    (`dist.wait`) when the kernels behind it take as long as it does, at the latest before that reader. It is moved up until
    that many kernels stand behind it, or its operands are made there; so parameters of a layer are gathered during the
    layer before. What is made early takes memory: at a time no more bytes than two results of the largest collective, the one that is
    read and the next. Nothing is moved in a function whose arena then has more than `budget` bytes.

    Times are those of KernelCost and of the mesh's links. On a CPU nothing happens without `always`: messages between its
    processes move on only while somebody waits for them.

    ```mlir
    %w = hone.fused collective (%p = %part : ...) -> ... { dist.all_gather %p dim 0 over ["fs"] ... }
    %x = hone.fused row (...) -> ... { ... }
    %y = hone.fused contraction (%x, %w) -> ... { ... }
    // becomes
    %b = hone.fused collective (%p = %part : ...) -> ... { dist.all_gather %p dim 0 over ["fs"] async ... }
    %x = hone.fused row (...) -> ... { ... }
    %w = hone.fused collective (%a = %b : ...) -> ... { dist.wait %a ... }
    %y = hone.fused contraction (%x, %w) -> ... { ... }
    ```
  }];
  let options = [
    Option<"budget", "budget", "int64_t", "0", "Bytes of the arena; 0: no bound">,
    Option<"always", "always", "bool", "false", "On a CPU too">,
    Option<"maxSteps", "max-steps", "int64_t", "1 << 28", "Ops looked at in a function; then the rest stays where it stands">,
    Option<"report", "report", "bool", "false", "Say with a remark how many collectives stay for that">
  ];
  let dependentDialects = ["::hone::dist::DistDialect"];
}

def PlanMemory : Pass<"hone-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Gives every value an offset in one arena";
  let description = [{
    Replaces the functions `@step`, `@accumulate`, `@update` and `@evaluate` by a `plan.program`. Arguments of one kind and name
    share storage in all functions and keep it. Other values live from their launch to their last reader, in program
    order; results of the function live to its end. Offsets are chosen by greedy orders, then by a search.

    A result that donates an argument is written over it when nothing reads the argument later; otherwise it is copied at
    the end. A launch writes over an operand that dies there, where the op allows it (`getReusableOperands`); also over
    columns of a wider value that nothing else reads.

    Every buffer that is no state says what it is for, and the program how its arena is used where it is fullest; bytes
    that nothing needs there are `gaps`.

    With `report`, a remark says which limit stopped the search for offsets, where nothing proves that there are no better.
  }];
  let options = [
    Option<"maxNodes", "max-nodes", "int64_t", "160000", "Decisions of the search; 0: greedy orders alone">,
    Option<"maxScanned", "max-scanned", "int64_t", "150000000", "Neighbours that greedy orders look at">,
    Option<"maxPairs", "max-pairs", "int64_t", "4000000", "Pairs of buffers alive at once, of more there is no search">,
    Option<"report", "report", "bool", "false", "Say with a remark where a limit stopped the search">
  ];
  let dependentDialects = ["::hone::plan::PlanDialect"];
}

def VerifyPlan : Pass<"hone-verify-plan", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the plan phase";
  let description = [{
    There is one `plan.program` and no function besides. Every byte that a launch or a result reads was written by the last launch that wrote
    there as a part of the same buffer, or is state that no launch has written yet; so buffers that are live at the same
    time do not overlap. No launch writes a byte with two of its results. The arena ends with the last buffer, and
    its categories add up to it.
  }];
}

#endif // HONE_TRANSFORMS_PASSES_TD
