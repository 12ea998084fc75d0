//===- Passes.td - Passes on hone graphs -----------------------*- tablegen -*-===//

#ifndef HONE_TRANSFORMS_PASSES_TD
#define HONE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyImport : Pass<"hone-verify-import", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the import phase";
  let description = [{
    The pass checks the package that the front end wrote:

    - `@forward` exists. It returns one loss of rank 0, followed by results of kinds `buffer` and `id_check` only. A
      result of kind `buffer` has the name and the type of an argument of that kind, which it replaces.
    - A buffer with `hone.balance` is not replaced, and the buffer of its counts is.
    - `@forward` holds only ops of the `hone` dialect and `dist.constrain`.
    - Every argument has a kind and a unique name. Every parameter and buffer has an initialisation (`hone.init`).
    - At most one argument is of kind `rng`.
    - No tensor has more than 2^44 bytes.

    Where the module has `hone.whole_step`, the package holds `@step` in place of `@forward`, and the same holds for its
    ops, sizes and arguments. These may be of kind `opt`, with an initialisation, and none requires a gradient. The step
    phase checks the results.

    A user may have annotated the package: the module has a `dist.mesh`, arguments have a `dist.sharding`, and
    `dist.constrain` stands between ops. Then the pass also checks:

    - No sharding is partial. Its axes are axes of the mesh, and they divide every dimension evenly.
    - Every `dist.constrain` has a reader, since it constrains its result alone.
  }];
}

def SetTarget : Pass<"hone-set-target", "::mlir::ModuleOp"> {
  let summary = "Records the machine to compile for";
  let description = [{
    The pass writes `hone.target` on the module. Every later decision about costs and library calls reads it. An unknown
    kind of machine is an error.

    ```mlir
    module {}
    // hone-opt --hone-set-target="target=cuda arch=sm_90"
    module attributes {hone.target = "cuda sm_90"} {}
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "kind of machine: cpu or cuda">,
    Option<"arch", "arch", "std::string", "", "architecture, as znver4 or sm_90; default: any of the kind">
  ];
}

def SetMeshInvariant : Pass<"hone-set-mesh-invariant", "::mlir::ModuleOp"> {
  let summary = "Requests results whose bits do not depend on the mesh";
  let description = [{
    The pass writes `hone.mesh_invariant` on the module. The program then has the same bits for every mesh and every
    recipe, those of one rank under the same flag. (The interpreter is mesh-invariant too, but its bits differ from
    those of compiled programs.)

    Under the flag, no reduction is divided among ranks:

    - `dist-annotate`, `dist-propagate` and `dist-partition` gather the operands of a sum, and every rank that needs the
      sum computes all of it. `dist-verify` rejects sums over ranks.
    - `hone-chunk-loss` does nothing.
    - Matrix products accumulate in f64, in the order of the contracted index.

    This costs what sharding saves: activations are gathered, and all ranks that share a batch compute the gradients of
    the weights. The flag serves to tell rounding from errors. A module whose target is a GPU is an error, because the
    order of sums in a GPU's library depends on the shape.

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
    The pass replaces groups of primitive ops by the named op that computes the same:

    | primitive ops | named op |
    |---|---|
    | `x * rsqrt(mean(x^2) + eps)`, or division by the root, then `* scale` | `rms_norm` |
    | the same of `x - mean(x)`, then `* scale`, `+ bias` | `layer_norm` |
    | `x/2 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`, `x/2 * (1 + erf(x / sqrt 2))`, factors in any order | `gelu` |
    | `x * cos + concat(-b, a) * sin` with tables whose halves repeat | `rope` |
    | `concat(a c - b s, b c + a s)` of halves or pairs | `rope` |
    | `dropout(softmax(scale q k^T + mask)) v` over batch and heads, masks added or selected as `-inf` | `attention` |
    | a mask that is 0 for keys up to the query and at most -1e4 after it | `causal` |
    | keys and values that repeat along the heads | fewer key heads |
    | `-log_softmax(x)[t]`, 0 where ignored, and the mean of those | `cross_entropy` |
    | `logsumexp(x) - x[t]` | `cross_entropy` |
    | `exp(x - max(x)) / sum(exp(x - max(x)))` | `softmax` |
    | `conv` whose windows tile the input (patch embeddings) or are single positions | `dot_general` of the windows |
    | `conv_bwd_input` with such windows (upsampling) | `dot_general`, its rows put in their places |

    A pattern is not applied, with a note in the debug output, where

    - the numbers could differ;
    - a mask or a table depends on a parameter that requires a gradient;
    - an intermediate result has another reader, so that it would be computed twice;
    - a `dist.constrain` stands inside the pattern. Operands and results of the named op may be constrained.
  }];
}

def BoundIds : Pass<"hone-bound-ids", "::mlir::ModuleOp"> {
  let summary = "Finds the ids that the files of an input may hold";
  let description = [{
    The pass gives each integer input of the package's function two bounds, which the runtime checks against the files
    before the first step (docs/rationale/ids.md):

    - `hone.vocab`: all ids in [0, vocab) stay inside a table, and every other id is outside it.
    - `hone.ignore`: one further id that is allowed. Either a loss ignores it or a comparison replaces it, and it
      reaches no other table.

    The pass lowers a bound that the package gives, and never raises it. An input gets no bound where none is exact,
    that is, where an id outside the bound may do no harm. `hone-guard-ids` then checks each batch.

    ```mlir
    func.func @forward(%t: tensor<8xi64> {hone.kind = "input", hone.fqn = "t"}) {
      %x = hone.embedding %table, %t : tensor<61x16xf32>, ...
    // hone-opt --hone-bound-ids
    func.func @forward(%t: tensor<8xi64> {hone.kind = "input", hone.fqn = "t", hone.vocab = 61 : i64}) {
    ```
  }];
}

def GuardIds : Pass<"hone-guard-ids", "::mlir::ModuleOp"> {
  let summary = "Checks in each batch the ids that no bound proves valid";
  let description = [{
    The pass guards every operand of the package's function that holds ids, unless interval analysis from `hone.vocab`
    and `hone.ignore` proves that all of them are inside their table. A guard has two effects:

    - The op reads 0 in place of an id outside its table.
    - The function gets one more result, of kind `id_check`: 0, or one of the ids outside. Its attribute `hone.ids`
      names the op, its source line and the size of its table.

    The runtime ends the run when such a result is not 0, before it saves anything. If the analysis proves that all ids
    are outside, the pass reports an error.
  }];
}

def VerifyRaise : Pass<"hone-verify-raise", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the raise phase";
  let description = [{
    The pass checks:

    - `@forward` returns one loss, followed by results of the kinds `buffer` and `id_check` only.
    - `@forward` holds only ops of the `hone` dialect and `dist.constrain`.
    - Every op between a parameter with `hone.requires_grad` and the loss can be differentiated: it has a gradient rule,
      or is a `hone.custom_gradient` or a `hone.select_mode`, and the path does not enter it by an attention mask or a
      table of rotations.
  }];
}

def PadDims : Pass<"hone-pad-dims", "::mlir::ModuleOp"> {
  let summary = "Pads parameters to sizes that the target's matrix library computes fast";
  let description = [{
    The pass grows dimensions of `@forward` to a multiple that the target's library prefers (docs/rationale/padding.md).
    It decides per class, the set of dimensions that ops loop over together. A class is a candidate if it is the last
    dimension of an operand or a result of a contraction, and its size is not such a multiple.

    The parameters of the class are padded with zeros at the end, once, and so is every value that is computed from
    them. `hone.parts` keeps the tensors of files at their size. Where padding could change a result, the pass masks it:
    a `width` on norms, softmax and cross entropy; a `select` before other reductions, arg max, and contractions that
    would read something other than zeros. Gradients of padding are zero, and optimizers keep it zero.

    A class is not padded, with a remark under `report`, where

    - padding takes more time than it saves (this reason does not apply to `multiple` = N);
    - the class is the size of an input, or comes from no parameter;
    - an op needs the dimension at its size: a reshape that splits it into heads, a slice, a concatenation;
    - a sharding of a user (`dist.sharding`, `dist.constrain`) does not divide the new size evenly;
    - no mask can hide the padding from an op: dropout numbers elements by their position, a norm has padded rows;
    - zero has no finite value or derivative: division, logarithm, root, or AdamW with `eps` 0;
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
    Option<"multiple", "multiple", "std::string", "\"auto\"", "auto, off, or a number N to pad to multiples of N">,
    Option<"precision", "precision", "std::string", "\"fp32\"",
           "Policy of the precision phase: fp32, tf32, bf16, fp16, bf16-sr, fp8, fp8-block or mxfp8">,
    Option<"optimizer", "optimizer", "std::string", "", "Optimizer of the step; default: the module's">,
    Option<"report", "report", "bool", "false", "Emit a remark per class that is or is not padded">
  ];
}

def VerifyPad : Pass<"hone-verify-pad", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the pad phase";
  let description = [{
    The pass checks of `@forward`:

    - No contraction stands between a pad and the slice that undoes it.
    - Every tensor of files is a part of one argument.
    - Arguments that are padded along the same dimensions have the same number of elements before the padding.
    - The padding changes no result: every contraction and sum over it reads zeros, every other reduction reads its
      neutral element, and every row op has a `width`.
  }];
}

def PackProjections : Pass<"hone-pack-projections", "::mlir::ModuleOp"> {
  let summary = "Joins weights that multiply the same input into one contraction";
  let description = [{
    The pass joins contractions of `@forward` that have the same left operand. The new weight concatenates theirs along
    the dimension that is not contracted; biases are concatenated alike. The packed parameter is one argument with
    `hone.parts`: files, dumps and initialisation see the parts under their own names. Readers of a projection get a
    slice.

    Contractions are not joined, with a remark under `report`, where

    - a weight or bias is not a parameter, has another reader, or is tied;
    - they differ in element type, contracted dimension, optimizer group, initialisation or `hone.requires_grad`;
    - only some of them have a bias;
    - a user gave one of them a `dist.sharding`, which does not carry over to the packed parameter;
    - one makes key or value heads that `tensor-ranks` do not divide, and the other does not: ranks share these heads;
    - a reader cannot read a slice in place, and would copy more than packing saves;
    - the optimizer is Adafactor, which takes means over each parameter, or, of a parameter, Muon, which takes each
      matrix as a whole.

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
      %p = hone.dot_general %x, %qk batch [] x [] contract [1] x [1]
          : tensor<8x64xf32>, tensor<96x64xf32> -> tensor<8x96xf32>
      %a = hone.slice %p [0, 0] to [8, 64] by [1, 1] : tensor<8x96xf32> -> tensor<8x64xf32>
      %b = hone.slice %p [0, 64] to [8, 96] by [1, 1] : tensor<8x96xf32> -> tensor<8x32xf32>
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "", "Optimizer of the step; default: the module's">,
    Option<"report", "report", "bool", "false", "Emit a remark per contraction that is or is not packed">,
    Option<"tensorRanks", "tensor-ranks", "int64_t", "1", "Ranks that will divide heads: axis tp of the mesh">
  ];
}

def JoinRotations : Pass<"hone-join-rotations", "::mlir::func::FuncOp"> {
  let summary = "Joins the rotations of neighbouring slices of a projection";
  let description = [{
    The pass rotates the query and the key of a packed projection as one tensor, with the heads of both, and slices the
    result. Query and key are neighbouring slices, and the same table of angles rotates both.

    Rotations are not joined where style, direction, tables or width of heads differ, where a slice has another reader,
    and where a reader of the result cannot read a slice in place.

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

def SimplifyContractions : Pass<"hone-simplify-contractions", "::mlir::func::FuncOp"> {
  let summary = "Multiplies repeated operands once, and reads operands without transposes";
  let description = [{
    Models write sums of products as they stand in papers, such as `einsum("bclhn,bcshn->bclsh", c, b)` with `b` and `c`
    repeated for every head `h`. The pass rewrites a `hone.dot_general`:

    - An operand that a `hone.broadcast` repeats along a dimension of the result is multiplied once. If the other
      operand has the dimension too, it becomes a free dimension of that one: a few large products instead of many small
      ones. If both repeat along it, the result does.
    - A transposed operand is read as it is, with other dimension numbers, unless its free dimensions would change their
      order. A library reads a matrix in either order; `hone-normalize-contractions` puts back what it cannot.
    - A transpose of a batched product that moves the free dimensions of the right operand before those of the left one
      exchanges the operands. Products without batch dimensions stay as they are: their left operand has the rows of
      activations, which epilogues and packing look for.

    To find repeated operands, a reshape moves before a broadcast whose repeated dimensions it keeps apart from others.

    Example:

    ```mlir
    %r = hone.broadcast %c dims [0, 2] : tensor<64x128xf32> -> tensor<64x24x128xf32>
    %y = hone.dot_general %r, %s batch [1] x [0] contract [2] x [1]
        : tensor<64x24x128xf32>, tensor<24x128x32xf32> -> tensor<24x64x32xf32>
    // becomes
    %p = hone.dot_general %c, %s batch [] x [] contract [1] x [1]
        : tensor<64x128xf32>, tensor<24x128x32xf32> -> tensor<64x24x32xf32>
    %y = hone.transpose %p [1, 0, 2] : tensor<64x24x32xf32> -> tensor<24x64x32xf32>
    ```
  }];
}

def SinkReshapes : Pass<"hone-sink-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Moves the reshape that flattens rows behind the projection";
  let description = [{
    The pass moves a reshape of rows from the operand of a contraction to its result, and from there behind elementwise
    ops whose other operands are vectors along the columns. There it mostly meets its inverse, and both fold away. The
    residual stream, a projection and its addend then have one shape, forward and backward.

    A reshape stays where the rows are not the leading dimensions of the tensor that it flattens, and before an
    elementwise op with any other operand.

    ```mlir
    %f = hone.reshape %x : tensor<2x16x64xf32> -> tensor<32x64xf32>
    %y = hone.dot_general %f, %w batch [] x [] contract [1] x [1]
        : tensor<32x64xf32>, tensor<96x64xf32> -> tensor<32x96xf32>
    // becomes
    %d = hone.dot_general %x, %w batch [] x [] contract [2] x [1]
        : tensor<2x16x64xf32>, tensor<96x64xf32> -> tensor<2x16x96xf32>
    %y = hone.reshape %d : tensor<2x16x96xf32> -> tensor<32x96xf32>
    ```
  }];
}

def SinkTransposes : Pass<"hone-sink-transposes", "::mlir::func::FuncOp"> {
  let summary = "Moves transposes down to where they cancel";
  let description = [{
    Convolutions and pooling have their channels last; PyTorch has them second, so that an imported convolution stands
    between two transposes. The pass moves the transpose of such a result behind elementwise ops, reductions, reshapes,
    slices, pads and concatenations, where it mostly meets its inverse. What lies between two convolutions then has its
    channels last too.

    A transpose stops before an op that reads another whole tensor besides (other operands may be constants and
    broadcasts), before a reshape that joins dimensions which do not lie side by side in the source, and before any
    other op. The function stays as it was where its transposes would not move fewer elements; operands of contractions
    that `hone-normalize-contractions` will transpose count too.

    Of transposes of other values, those move that make channels second in images or volumes ([0, 3, 1, 2] of rank 4),
    in functions with a convolution, where all transposes together then move fewer elements: a norm or a product of
    channels that are last, whose result a residual adds. Those of attention heads, which `hone-raise` looks for, stay.

    With `all`, which the pipeline uses after that pass, every transpose moves. It then also moves behind an elementwise
    op of two operands that are transposed differently, where one transpose is left of two, and into the operand of a
    contraction whose free dimensions keep their order.

    ```mlir
    %t = hone.transpose %c [0, 3, 1, 2] : tensor<2x8x8x16xf32> -> tensor<2x16x8x8xf32>  // %c: a convolution
    %y = hone.max %t, %zero : tensor<2x16x8x8xf32>
    %n = hone.transpose %y [0, 2, 3, 1] : tensor<2x16x8x8xf32> -> tensor<2x8x8x16xf32>
    // becomes
    %n = hone.max %c, %zero : tensor<2x8x8x16xf32>
    ```
  }];
  let options = [Option<"all", "all", "bool", /*default=*/"false", "every transpose, not only those of convolutions">];
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

def MixedPrecision : Pass<"hone-mixed-precision", "::mlir::ModuleOp"> {
  let summary = "Casts operands of contractions in @forward to low precision";
  let description = [{
    The pass rewrites `@forward` by the numeric class of each op (`getNumericClass`). The low type is bf16 under the
    policies `bf16` and `bf16-sr` and under those of fp8, and f16 under `fp16`. `fp32` and `tf32` change no op. `tf32`
    allows a target that has such units to round the operands of f32 contractions; the CPU target has none and computes
    in fp32. The pass records the policy as `hone.precision`.

    | class | reads | writes |
    |---|---|---|
    | contraction | low | low; f32 where its one reader, behind a bias, adds it to an f32 value |
    | accurate | f32 (`cross_entropy` reads low logits and widens them itself) | f32 |
    | pointwise, copy | the type of its activations; where they differ f32, or low with `stream=low` | the same |

    - Parameters stay f32 arguments, the master weights. What only they make is f32 where it meets activations: layer
      scales, class tokens and position embeddings are not rounded, and a residual stream that begins with one is f32.
      A vector that is added to a contraction is its bias and takes its type.
    - Constants are not activations: they take the type of the other operands.
    - Statistics (`lse`, mean, rstd), attention masks, tables of angles and all ops that no parameter influences stay
      f32.
    - One cast rounds a value, right after the op that computes it and before any data movement of it (reshape,
      transpose, broadcast, slices of parameters). No cast undoes another one. A rounded value is widened only for
      readers of f32.
    - Values of other types, such as f64, are not changed.

    The policies `fp8` (one scale per tensor), `fp8-block` and `mxfp8` (a scale per tile) also mark products whose
    operands `hone-quantize-products` will make codes of: `quantized` of `hone.dot_general`. A product is marked if one
    operand is a parameter, but not

    - if its result reaches the loss without another product: the head;
    - if it has batch dimensions, or a size of its matrices is no multiple of 16;
    - if a name of its parameter matches `keep`, a glob pattern that is an error if it matches no such parameter;
    - on a GPU, if its weight [N, K] is so small that quantising costs more than it saves
      (`Analysis/Cost/QuantizationGain`): on an H200 where `K N / (K + N)` is below 421 (fp8) or 410 (fp8-block), on a
      B200 below 595 (fp8) or 421 (mxfp8). The option `small` marks them all the same.

    Without any such product there is a warning. Errors: a GPU without such products, and `hone.mesh_invariant`, as
    scales depend on how ranks divide rows.

    ```mlir
    %z = hone.dot_general %x, %w batch [] x [] contract [1] x [0]
        : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
    // becomes
    %wl = hone.cast %w : tensor<64x32xf32> -> tensor<64x32xbf16>
    %xl = hone.cast %x : tensor<8x64xf32> -> tensor<8x64xbf16>
    %z = hone.dot_general %xl, %wl batch [] x [] contract [1] x [0]
        : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"bf16\"", "fp32, tf32, bf16, fp16, bf16-sr, fp8, fp8-block or mxfp8">,
    Option<"stream", "stream", "std::string", "\"f32\"", "Type of sums of f32 and low activations: f32 or low">,
    Option<"keep", "keep", "std::string", "", "Parameters whose products stay bf16 under policies of fp8">,
    Option<"small", "small", "bool", "false", "Mark products of small weights too under policies of fp8">,
    Option<"report", "report", "bool", "false", "Emit a remark per product with a parameter that is not marked">
  ];
}

def VerifyPrecision : Pass<"hone-verify-precision", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the precision phase";
  let description = [{
    The pass checks the ops of `@forward` that a parameter influences: under a policy with a low type, contractions do
    not read f32; accurate ops read f32. The loss is f32, and `hone.precision` is a known policy. Products are marked
    `quantized` under a policy of fp8 only, with its scaling, and multiply an activation by a weight.
  }];
}

//===----------------------------------------------------------------------===//
// Autodiff
//===----------------------------------------------------------------------===//

def Autodiff : Pass<"hone-autodiff", "::mlir::ModuleOp"> {
  let summary = "Writes @gradient and @evaluate, from @forward";
  let description = [{
    The pass differentiates `@forward` in reverse mode. `@gradient` has the arguments of `@forward`. It returns the
    loss, then one gradient per argument with `hone.requires_grad`, in argument order. A gradient has
    `hone.kind = "grad"` and the `hone.fqn` of its parameter.

    Each op has one gradient rule (lib/Transforms/Autodiff/VjpRules.cpp). Only ops between such an argument and the loss
    are differentiated. Contributions to the gradient of one value are added in the order in which the backward pass
    reaches them. The gradient of the operand of a `dist.constrain` gets the same constraint. Ops of the backward pass
    have the location `"bwd"` of their forward op.

    Errors: an op on such a path has no rule; a path leads through a second result (mean, rstd, lse), or to a mask or a
    table of rotations.

    Conventions, all of them PyTorch's:

    - Ties share the gradient: in halves for elementwise `max` and `min`, evenly for `reduce max` and `reduce min`.
    - The gradient of `sign` is 0; that of `abs` is 0 at 0.
    - No gradient passes `stop_gradient`, which the pass removes.
    - A parameter that the loss does not depend on gets no gradient. It loses `hone.requires_grad`, with a warning.

    New values of buffers stay behind the gradients.

    `@evaluate` is `@forward` without dropout and without `stop_gradient`, with the second operand of each
    `select_mode`, and without new values of buffers. The generator's key is not an argument of it,
    unless a `hone.random` reads the key. `@forward` stays.
  }];
  let options = [
    Option<"seed", "seed", "double", "1.0", "Seed of the backward pass: 1/K to add gradients of K micro-batches. "
           "Recorded as `hone.seed` on @gradient.">,
    Option<"scaleLoss", "scale-loss", "bool", "false",
           "Multiply the seed by another argument of @gradient, the scalar `loss_cotangent`">
  ];
}

def VerifyGradient : Pass<"hone-verify-gradient", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the autodiff phase";
  let description = [{
    The pass checks:

    - `@gradient` returns the loss, then one result of kind `grad` for every argument with `hone.requires_grad`, in
      order, with the argument's name and type.
    - `@gradient` and `@evaluate` hold only `hone` ops, and neither `hone.stop_gradient` nor `hone.select_mode`.
    - `@evaluate` returns the loss and holds no dropout.
  }];
}

def WidenGradients : Pass<"hone-widen-gradients", "::mlir::func::FuncOp"> {
  let summary = "Gives gradients that are sums of low-precision values the type f32";
  let description = [{
    The pass looks for a gradient that a contraction or a sum computes with low-precision operands and an fp32
    accumulator, rounds to the low type, and then casts to f32. It removes the rounding: the contraction or sum gets an
    f32 result, and the cast goes. The result is more accurate than before, by one rounding.

    The rewrite needs a low-precision result that only the cast reads, directly or through data movement. A contraction
    is not changed if the cast has readers other than additions, norms over tensors and the return: these readers widen
    the value themselves and read half the bytes.

    ```mlir
    %d = hone.dot_general %g, %x batch [] x [] contract [0] x [0]
        : tensor<8x32xbf16>, tensor<8x64xbf16> -> tensor<32x64xbf16>
    %r = hone.cast %d : tensor<32x64xbf16> -> tensor<32x64xf32>
    return %r : tensor<32x64xf32>
    // becomes
    %r = hone.dot_general %g, %x batch [] x [] contract [0] x [0]
        : tensor<8x32xbf16>, tensor<8x64xbf16> -> tensor<32x64xf32>
    return %r : tensor<32x64xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Step
//===----------------------------------------------------------------------===//

// A setting of the optimizer; the default is the module's.
class StepNumber<string name, string flag, string description>
    : Option<name, flag, "std::string", "", description>;

def BuildStep : Pass<"hone-build-step", "::mlir::ModuleOp"> {
  let summary = "Builds the training step from @gradient";
  let description = [{
    The pass writes one function or two, and removes `@gradient` and `@forward`; `@evaluate` stays. docs/design.md lists
    arguments and results.

    - With one micro-batch, `@step` computes the gradients, their global norm, the clipping factor and the optimizer's
      update of each parameter. The clipping factor is `min(1, clip / (grad_norm + 1e-6))`: exactly 1 for `clip = +inf`,
      NaN for a norm of NaN under a finite bound.
    - With K micro-batches, `@accumulate` adds the gradients and the loss, each divided by K, to its arguments.
      `@update` does the rest. In a mesh-invariant module, two places that read a parameter have a gradient each,
      `<fqn>` and `<fqn>#2`, which `@update` adds: the order in which stages of a pipeline add those of a tied weight.
    - A buffer with `hone.balance`, the bias of a router, becomes `bias + rate * sign(mean(counts) - counts)` once per
      step, and its counts become 0: in `@step` or `@update`, whose arguments both are. It moves in steps that overflow,
      too: a router has selected experts for their tokens.

    **State.** Arguments of kind `opt` hold the state of the optimizer:

    | optimizer | state |
    |---|---|
    | AdamW | `exp_avg.<fqn>`, `exp_avg_sq.<fqn>` |
    | SGD with momentum | `momentum.<fqn>` |
    | Lion | `exp_avg.<fqn>` |
    | Adafactor | `row_var.<fqn>` and `col_var.<fqn>`; for vectors `variance.<fqn>` |
    | Muon, of matrices | `momentum.<fqn>` |

    `moments=bf16` keeps this state in bf16, rounded stochastically as in `hone-low-state`, except for Adafactor and
    Muon.
    `moments=8bit` keeps AdamW's state as 8-bit codes with the scales `exp_avg_scale.<fqn>` and `exp_avg_sq_scale.<fqn>`
    (`hone.adamw_8bit`). State of a parameter stays in fp32 where the parameter, or a part of it, has fewer than 4096
    elements, or where a part begins inside a block. Parameters without `hone.requires_grad` have no state and are not
    returned.

    **Settings** come from the options, else from the module's `hone.optimizer`, else from PyTorch's defaults of AdamW.
    An option that names another optimizer than the attribute starts from the defaults of the named one. The pass writes
    the settings back to `hone.optimizer`. The runtime reads `lr`, `weight_decay` and `clip` there, unless the command
    line gives others: they are operands of the step.

    **Overflow.** Every update is conditional (`apply`) on a finite gradient norm. A step that overflows changes no bit
    of parameters and state.

    **Loss scaling.** Where `@gradient` takes `loss_cotangent`, the gradients are scaled. The state then also has
    `loss_scale`, `loss_scale.good_steps` and `updates`. The norm and the clipping factor are divided by the scale; the
    gradients are not. A skipped step halves the scale, `growth-interval` good steps in a row double it, and AdamW
    counts updates instead of steps.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "",
           "adamw, sgd, lion, adafactor or muon; default: the module's">,
    Option<"moments", "moments", "std::string", "", "Type of moments: fp32, bf16 or 8bit; default: the module's">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "Number of micro-batches whose gradients one step adds">,
    Option<"keepGradients", "keep-gradients", "bool", "false", "Return the gradients from @step, before clipping">,
    StepNumber<"lr", "lr", "Learning rate">,
    StepNumber<"weightDecay", "weight-decay", "Weight decay">,
    StepNumber<"clip", "clip", "Bound of the global gradient norm; inf: none">,
    StepNumber<"beta1", "beta1", "AdamW: decay of the first moment; Lion: weight of the moment in the step">,
    StepNumber<"beta2", "beta2", "AdamW: decay of the second moment; Lion: decay of the moment">,
    StepNumber<"eps", "eps", "AdamW: added to the root of the second moment; Muon: least norm of a matrix">,
    StepNumber<"beta2Decay", "beta2-decay", "Adafactor: exponent of the step in the weight of new means">,
    StepNumber<"eps1", "eps1", "Adafactor: least root of a second moment, and least mean">,
    StepNumber<"eps2", "eps2", "Adafactor: least root mean square of a parameter">,
    StepNumber<"clipThreshold", "clip-threshold", "Adafactor: bound of the update's root mean square">,
    StepNumber<"momentum", "momentum", "SGD, Muon: momentum">,
    Option<"nesterov", "nesterov", "bool", "false", "SGD, Muon: Nesterov's momentum">,
    Option<"lossScale", "loss-scale", "double", "65536.0", "Loss scale of the first step">,
    Option<"growthInterval", "growth-interval", "int64_t", "2000", "Good steps after which the loss scale doubles">
  ];
}

def SeparateDocuments : Pass<"hone-separate-documents", "::mlir::ModuleOp"> {
  let summary = "Keeps the documents of a row apart, from the token that ends each";
  let description = [{
    The pass numbers the documents of each row of the tokens, and gives the numbers to every attention as segments
    (docs/rationale/packed-documents.md). The number of a position is the count of ids `end` before it, so that the id
    belongs to the document that it ends. Tables that have a row per position, and are not those of `hone.rope` or a
    mask, are read by the position inside the document.

    Errors: an op that combines positions and is no causal attention; an attention that has segments, or that the
    tokens do not reach; no `hone.cross_entropy`; no input of role `tokens`; an `end` that is no id of that input.

    ```mlir
    %o, %lse = hone.attention %q, %k, %v causal scale 0.5
        : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
        -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
    // becomes
    %ends = hone.cmp eq, %tokens, %end : tensor<2x16xi64> -> tensor<2x16xi1>
    %counts = hone.cast %ends : tensor<2x16xi1> -> tensor<2x16xi32>
    %through = hone.cumsum %counts dim 1 : tensor<2x16xi32>
    %segments = hone.sub %through, %counts {hone.of_document = "segment"} : tensor<2x16xi32>
    %o, %lse = hone.attention %q, %k, %v mask %segments causal scale 0.5
        : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16xi32>)
        -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
    ```
  }];
  let options = [Option<"end", "end", "int64_t", /*default=*/"-1", "the id that ends a document">];
}

def BuildGenerate : Pass<"hone-build-generate", "::mlir::ModuleOp"> {
  let summary = "Builds the function that computes one token at a time, from @evaluate";
  let description = [{
    The pass adds `@generate`: what `@evaluate` computes for one position of one sequence. It takes the parameters and
    buffers that the logits depend on, the scalars `token` and `position` (from 0), and two caches for each attention,
    of kind `cache`: the keys and values of all positions. It returns the logits of the next token, as f32 of rank 1,
    and the new caches. Called for positions 0, 1, .. in turn, with caches that begin as zeros, it returns the rows of
    the logits of `@evaluate`.

    - The logits are those of the only `hone.cross_entropy`. The pass follows sequences and positions from the tokens,
      `[batch, position]`, to them, by the dimension mappings of ops (`HoneOpInterface`). An op whose iterations along
      both are independent becomes the same op on one position.
    - A causal attention becomes the `hone.decode_attention` of one query over the caches, in which keys and values of
      the position replace a row.
    - A value that does not depend on the tokens, as a table of rotations, is computed at the position where its op
      allows that, and picked from the value of all positions otherwise.

    Errors: an op, other than causal attention, that combines positions or sequences; a loss without one
    `hone.cross_entropy`; no input of role `tokens`, or logits that depend on other inputs.

    ```mlir
    %o, %lse = hone.attention %q, %k, %v causal scale 0.5
        : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
        -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
    // becomes
    %key = hone.update_slice %key_cache, %k at %position dim 1 : tensor<1x16x4x8xf32>, tensor<1x1x4x8xf32>
    %value = hone.update_slice %value_cache, %v at %position dim 1 : tensor<1x16x4x8xf32>, tensor<1x1x4x8xf32>
    %o = hone.decode_attention %q, %key, %value at %position scale 0.5
        : (tensor<1x1x4x8xf32>, tensor<1x16x4x8xf32>, tensor<1x16x4x8xf32>, tensor<i64>) -> tensor<1x1x4x8xf32>
    ```
  }];
}

def WorkingCopies : Pass<"hone-working-copies", "::mlir::ModuleOp"> {
  let summary = "Casts each weight to low precision once per step, in its update";
  let description = [{
    The pass replaces casts of a parameter to a narrower type, in `@step` and `@accumulate`, by an argument of kind
    `working_copy` that holds the rounded parameter. The op that updates the parameter also returns the new working
    copy. The runtime fills working copies from the parameters when a run starts.

    - Other readers of the parameter still read the parameter.
    - A parameter that is not trained keeps its first working copy.
    - If a parameter is cast to two narrower types, the first gets a working copy. Casts to the other type stay.

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
  let summary = "Stores parameters and moments in bf16, without an f32 master";
  let description = [{
    The pass changes f32 parameters and their moments to bf16 arguments, in every function. Updates still compute in
    fp32, and round their results stochastically (`rng` of `hone.adamw`). Each update has its own salt, from 2^30 on. A
    function without a generator key gets one. Gradients and their sums stay f32.

    Casts of a parameter to bf16 fold away. Other readers cast it to f32; such a cast stands behind the data movement
    and the embedding that read the parameter, so that no table is widened as a whole.

    An update that cannot round stochastically (Adafactor, 8-bit codes) is an error.

    ```mlir
    %w1 = hone.sgd %w, %g lr %lr weight_decay %wd grad_scale %c
        : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
    // becomes
    %w1 = hone.sgd %w, %g lr %lr weight_decay %wd grad_scale %c rng %key salt 1073741824
        : (tensor<8xbf16>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xi64>) -> tensor<8xbf16>
    ```
  }];
}

def LowGradients : Pass<"hone-low-gradients", "::mlir::ModuleOp"> {
  let summary = "Keeps gradients of matrices in bf16, as values and as sums over micro-batches";
  let description = [{
    With `type=bf16`, arguments of kind `grad` of `@accumulate` and `@update` that have two dimensions or more are bf16,
    and so are the gradients that the updates of `@step` read. Norms and updates compute in fp32, whatever they read.
    Gradients of vectors stay f32.

    - A gradient that is a product of bf16 operands is written in bf16 by the product. The sum of earlier micro-batches
      is an operand of the product's call (docs/rationale/epilogues.md), which adds in fp32 and rounds once.
    - The gradient of a table is one of rows in bf16. Its kernel adds these to the sum of earlier micro-batches in fp32,
      and rounds each row of the table once.
    - Of a gradient that is a sum of such, as that of a table that is the head's weight, too, each term is added so.
    - Any other, as that of products in f16, is computed in f32, added to the widened sum, and rounded.

    Errors: another type; a module whose policy (`hone.precision`) has f32 products; `hone.mesh_invariant`.

    ```mlir
    %dw = hone.dot_general %x, %g batch [] x [] contract [0] x [0]
        : tensor<16x8xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>
    %sum1 = hone.add %sum, %dw : tensor<8x4xf32>
    // becomes
    %dw = hone.dot_general %x, %g batch [] x [] contract [0] x [0]
        : tensor<16x8xbf16>, tensor<16x4xbf16> -> tensor<8x4xbf16>
    %sum1 = hone.add %sum, %dw : tensor<8x4xbf16>
    ```
  }];
  let options = [Option<"type", "type", "std::string", "\"bf16\"", "f32 or bf16">];
}

def VerifyStep : Pass<"hone-verify-step", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the step phase";
  let description = [{
    The pass checks:

    - The module has `@step`, or `@accumulate` and `@update`, and `@evaluate`. `@forward` and `@gradient` are gone. A
      whole step of the package (`hone.whole_step`) needs no `@evaluate` and no gradient norm.
    - `@step`, `@accumulate`, `@update` and `@generate` hold only `hone` ops, and `dist` ops in a module with a
      mesh.
    - Every result of kind `param`, `opt`, `working_copy`, `cache` or `scalar` donates an argument of its type, kind and
      name. So does a result of kind `grad` where the function takes gradients. No argument is donated twice.
    - `@step` or `@update` updates every parameter with `hone.requires_grad` and returns the gradient norm. `@step`
      returns the loss, and `@accumulate` the sum of losses, a scalar called `loss`.
    - `@step` or `@update` updates every buffer with `hone.balance`.
    - Scalars have rank 0.
  }];
}

def DecomposeUpdates : Pass<"hone-decompose-updates", "::mlir::func::FuncOp"> {
  let summary = "Decomposes updates of a parameter as a whole into primitives";
  let description = [{
    The pass replaces `hone.adafactor` by reductions, broadcasts and elementwise ops, and `hone.muon` by these and
    products. It runs right before `hone-decompose-rows`, so that fusion builds the kernels of its sums over rows,
    columns and all elements.

    The primitives compute in fp32 or wider and cast to the types of the results. Where `apply` is false, a select keeps
    the operand. The pass decomposes every op of these two. Updates that compute element by element have kernels of
    their own and stay.

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
  let summary = "Decomposes norms, softmax and cross entropy into primitives";
  let description = [{
    The pass replaces `layer_norm`, `rms_norm`, `softmax`, `cross_entropy` and their backward ops by elementwise ops,
    `hone.broadcast` and `hone.reduce`. It runs right before fusion, because the fusion analysis and the kernel emitters
    know primitives only. The primitives compute in fp32 or wider and cast to the types of the results. Every such op is
    decomposed; all other ops stay.

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
  let summary = "Marks the attention that cuDNN computes in one call";
  let description = [{
    On a GPU (the target of the module) cuDNN computes some kinds of attention in one call. The pass asks which: it runs
    the runtime's tool hone-plan-attention, which needs no GPU (include/hone/Support/AttentionPlanner.h).

    It asks once per distinct problem, both for dense operands and for operands that are slices of one packed
    projection, because later phases decide between these two. An op that the library computes either way gets
    `hone.workspace`: the bytes of memory that the call needs besides its operands, the larger number of the two. With
    `deterministic` it also gets `hone.deterministic`. All other ops stay as they are, for `hone-decompose-attention`.

    An op whose queries are runs that begin at positions of their own, as ranks along `cp` have them, becomes an op per
    run, each with one position: a call knows of one. Gradients of keys are replaced by zero past the last query of a
    run, where a call leaves them undefined, and those of all runs are added in f32. Results in f32 of narrower operands
    (those of a ring) become results in the type of the operands, which are then cast.

    An op is not marked, with a remark under `report` and an error under `required`, if its operands are neither bf16
    nor f16, if it has a mask, or if the library rejects it. With dropout, ops that share a dropout mask are marked
    together or not at all. If the tool or the library is missing, nothing is marked, with a warning, or an error under
    `required`. The pass ignores modules for other targets.

    ```mlir
    %o, %lse = hone.attention %q, %k, %v causal scale 0.125
        : (tensor<2x16x4x64xbf16>, tensor<2x16x2x64xbf16>, tensor<2x16x2x64xbf16>)
        -> (tensor<2x16x4x64xbf16>, tensor<2x4x16xf32>)
    // becomes
    %o, %lse = hone.attention %q, %k, %v causal scale 0.125 {hone.workspace = 0 : i64}
        : (tensor<2x16x4x64xbf16>, tensor<2x16x2x64xbf16>, tensor<2x16x2x64xbf16>)
        -> (tensor<2x16x4x64xbf16>, tensor<2x4x16xf32>)
    ```
  }];
  let options = [
    Option<"tool", "tool", "std::string", "\"hone-plan-attention\"", "Path of the tool, or its name on PATH">,
    Option<"emulate", "emulate", "bool", "false", "Ask the emulated library">,
    Option<"deterministic", "deterministic", "bool", "false",
           "Plan attention whose results have the same bits in every run">,
    Option<"required", "required", "bool", "false", "Report an error for attention that the library rejects">,
    Option<"report", "report", "bool", "false", "Emit a remark per op that is not marked, with the reason">
  ];
}

def DecomposeAttention : Pass<"hone-decompose-attention", "::mlir::func::FuncOp"> {
  let summary = "Decomposes attention into products and a softmax";
  let description = [{
    The pass replaces attention by primitives, for targets without a fused kernel and as the reference of these kernels
    (docs/rationale/attention.md). The primitives store whole matrices of scores.

    - Forward: scores, a masked softmax with its log-sum-exp, the product with the values.
    - Backward: it recomputes scores and weights from the log-sum-exp, then `dv = (p z)^T grad`, `dp = (grad v^T) z`,
      `ds = scale p (dp - delta)`, `dq = ds k`, `dk = ds^T q`. Here `z` is the dropout factor and `delta` the sum of
      `grad * output` along the width.
    - `hone.merge_attention`: weights of both sets of keys per row, then an average of rows.

    Products read the operands' type and accumulate in fp32. The weights and `ds` are rounded to that type before the
    product that reads them; everything else is fp32 (f64 for f64). Query heads that share a key head are rows of one
    product, so keys and values are not repeated. Dropout draws the same bits as in the fused kernels. Ops that the
    backward pass recomputes are marked `hone.clone`: CSE would otherwise merge them with the forward ops, whose results
    would have to be stored in between.

    The pass decomposes all attention. With `keep-fused` it leaves what the module's target has a fused kernel for: all
    of it on a CPU, the ops that `hone-plan-attention` marked on a GPU.

    ```mlir
    %o, %lse = hone.attention %q, %k, %v scale 1.0
        : (tensor<2x16x4x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>)
        -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
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

def QuantizeProducts : Pass<"hone-quantize-products", "::mlir::func::FuncOp"> {
  let summary = "Makes marked products multiply codes of fp8";
  let description = [{
    The pass rewrites each `hone.dot_general` that is marked `quantized`: both operands become matrices with the
    contracted dimensions last, of these `hone.quantize` makes codes, and a product of codes follows. A value is
    quantised once per orientation, tile and format; an operand whose contracted dimensions come first is read
    transposed. Casts to bf16 stay: codes come from bf16 numbers.

    | scaling | tiles of weights | of activations and gradients |
    |---|---|---|
    | tensor | all, with `hone.amax` | all, with `hone.amax` |
    | block | [128, 128] | [1, 128] |
    | mx | [1, 32] | [1, 32] |

    Codes are f8E4M3FN, those of gradients what `gradients` says. Forward products with one scale per tensor accumulate
    fast. A product loses its mark, and stays as it is, where a rank's part of a matrix has a size that is no multiple
    of 16, which the option `report` says in a remark.

    The pass runs after ranks have divided the step: each rank scales its own rows. Sums with a product move before the
    reshape of its result, so that they can be part of its call.

    ```mlir
    %y = hone.dot_general %x, %w batch [] x [] contract [2] x [0] quantized <block, activation x weight>
        : tensor<2x16x64xbf16>, tensor<64x192xbf16> -> tensor<2x16x192xbf16>
    // becomes
    %r = hone.reshape %x : tensor<2x16x64xbf16> -> tensor<32x64xbf16>
    %a, %sa = hone.quantize %r tile [1, 128] : tensor<32x64xbf16> -> tensor<32x64xf8E4M3FN>, tensor<1x32xf32>
    %b, %sb = hone.quantize %w tile [128, 128] transposed
        : tensor<64x192xbf16> -> tensor<192x64xf8E4M3FN>, tensor<2x4xf32>
    %d = hone.dot_general %a, %b scales %sa, %sb tiles [1, 128] x [128, 128] batch [] x [] contract [1] x [1]
        : tensor<32x64xf8E4M3FN>, tensor<192x64xf8E4M3FN> scales tensor<1x32xf32>, tensor<2x4xf32>
        -> tensor<32x192xbf16>
    %y = hone.reshape %d : tensor<32x192xbf16> -> tensor<2x16x192xbf16>
    ```
  }];
  let options = [
    Option<"gradients", "gradients", "std::string", "\"e4m3\"", "Format of codes of gradients: e4m3 or e5m2">,
    Option<"report", "report", "bool", "false", "Emit a remark per product that loses its mark">
  ];
}

def HoistWeightCodes : Pass<"hone-hoist-weight-codes", "::mlir::ModuleOp"> {
  let summary = "Makes codes of weights once per update, as working copies";
  let description = [{
    `hone-quantize-products` makes codes of a weight wherever a product reads it: in every micro-batch, from the weight's
    working copy in bf16. The pass makes them once per update. Codes and scales become arguments of kind `working_copy`,
    called `<weight>:codes` and `<weight>:scales` (`:codes_t` and `:scales_t` of the transposed weight), and results of
    `@step` or `@update`, which quantises the new working copy. `@fill_codes`, a new function, makes them of the
    parameters before the first step, after loading or when training is resumed: by the same ops, on every target, with
    the same collectives. The working copy in bf16 disappears where nothing else reads it. Every code and every scale
    keeps its bits.

    Where ranks gather a weight (`fs=` or zero level 3), each makes codes of its shard, and they gather these: a byte of
    an element, and not two of bf16. Every bit is that of codes of the whole weight. For that each rank has whole rows,
    one after another:

    - With scales of blocks of 128 x 128, a multiple of 128 rows. Codes and scales of the transposed weight are
      transposes of those that are gathered.
    - With one scale, any rows. Each rank finds the largest magnitude of its shard; one all-reduce makes those of all
      weights the same everywhere, once per update. Codes of the transposed weight are transposes.
    - With scales of 32 of a row (MX), a multiple of 128 rows, since scales lie in groups of so many. A rank keeps codes
      of both orientations of its shard; the forward part gathers the one, the backward part the other.

    Other weights, those of which two formats are read, and those whose numbers another op reads, are gathered in bf16,
    and codes are made in each micro-batch; the option `report` says which and why.

    A weight stays as it is

    - where ranks gather its numbers;
    - where only `@evaluate` or `@generate` reads its codes;
    - where two stages of a pipeline read it, which the option `report` says in a remark.

    ```mlir
    func.func @accumulate(%c: tensor<64x192xbf16> {hone.kind = "working_copy", hone.fqn = "w"}, ...) {
      %b, %sb = hone.quantize %c tile [128, 128] transposed
          : tensor<64x192xbf16> -> tensor<192x64xf8E4M3FN>, tensor<2x4xf32>
      ...
    // becomes
    func.func @accumulate(%b: tensor<192x64xf8E4M3FN> {hone.kind = "working_copy", hone.fqn = "w:codes_t"},
                          %sb: tensor<2x4xf32> {hone.kind = "working_copy", hone.fqn = "w:scales_t"}, ...) {
      ...
    func.func @fill_codes(%w: tensor<64x192xf32> {hone.kind = "param", hone.fqn = "w"}, ...) {
      %c = hone.cast %w : tensor<64x192xf32> -> tensor<64x192xbf16>
      %b, %sb = hone.quantize %c tile [128, 128] transposed
          : tensor<64x192xbf16> -> tensor<192x64xf8E4M3FN>, tensor<2x4xf32>
      ...
    ```
  }];
  let options = [
    Option<"report", "report", "bool", "false", "Emit a remark per weight that stays as it is">
  ];
}

def JoinPads : Pass<"hone-join-pads", "::mlir::func::FuncOp"> {
  let summary = "Turns sums of disjoint padded tensors into a concatenation";
  let description = [{
    The pass rewrites the gradient of a tensor that is sliced. That gradient is a sum of the slices' gradients, each
    padded with zeros to the full size. Where the slices cover one dimension without gap or overlap, in any order, the
    sum is a `hone.concat`.

    Sums with a gap, an overlap, interior padding, padding of several dimensions, or a partial sum with another reader
    stay.

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
  let summary = "Turns every contraction into a strided matrix product";
  let description = [{
    The pass transposes operands of contractions that a library cannot read. A library computes
    `c[b, m, n] = sum_k a[b, m, k] b[b, k, n]` with one stride per index. Where the batch, free or contracting
    dimensions of an operand do not collapse into one stride each, the operand is transposed to
    `[batch, free, contract]`. Other contractions stay.
  }];
}

def ChunkLoss : Pass<"hone-chunk-loss", "::mlir::func::FuncOp"> {
  let summary = "Computes the head, the loss and their gradients by chunks of rows";
  let description = [{
    The pass splits the rows of the logits into chunks, so that memory never holds all logits
    (docs/rationale/chunked-loss.md). It applies where only a `cross_entropy` and its gradient read the result of a
    contraction, and only contractions that keep the rows or sum over them read that gradient.

    - The number of targets that are not ignored is counted once, before the chunks.
    - The gradient of the weight is accumulated in place, on top of the gradients of earlier micro-batches where there
      are any.
    - The chunks of the input's gradient and of the losses per row are concatenated.

    `chunk` is a number of rows, or `auto`: as many as make the traffic of the accumulation a small share of the head's
    time on the module's target (include/hone/Analysis/Fusion/LossChunks.h). Chunks add up the gradient of the weight in
    f32. Where that gradient is narrower and chunks would take more memory than all rows at once, `auto` is all rows.

    Elementwise ops and reshapes may stand between: a bias, a mask over the classes, casts. The loss is not chunked
    where the logits or their gradient have another reader, the loss is requested per row, its cotangent depends on the
    loss, one chunk holds every row, or the module is mesh-invariant. With `report`, a remark at the loss explains the
    decision.

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
    Option<"report", "report", "bool", "false", "Emit a remark at each loss with the decision and its reason">
  ];
}

def ExpandWeights : Pass<"hone-expand-weights", "::mlir::func::FuncOp"> {
  let summary = "Expands frozen weights where they are read";
  let description = [{
    A frozen weight may be stored in fewer bits than its readers compute with: in codes (`hone.dequantize`) or in a
    narrower float (a cast that widens a parameter without `hone.requires_grad`). The pass gives each op that reads the
    expanded weight an expansion of its own, directly before it. So the expanded weight lives during one op, in the
    forward pass and again in the backward pass, and never through a step.

    - Moves of an expanded weight (transposes, slices, reshapes) are cloned with it.
    - A widening cast that only an embedding reads stands behind it: the rows that are picked are widened, not the
      table.
    - An expansion without a reader is dropped.

    No bit changes. The pass runs after the last that merges equal ops, directly before fusion.

    ```mlir
    %w = hone.dequantize int8 %codes scales %scales block 64 : tensor<8x64xi8>, tensor<8x1xf32> -> tensor<8x64xf32>
    %y = hone.dot_general %x, %w ...
    %d = hone.dot_general %g, %w ...
    // becomes
    %w = hone.dequantize int8 %codes scales %scales block 64 : tensor<8x64xi8>, tensor<8x1xf32> -> tensor<8x64xf32>
    %y = hone.dot_general %x, %w ...
    %v = hone.dequantize int8 %codes scales %scales block 64 {hone.clone}
        : tensor<8x64xi8>, tensor<8x1xf32> -> tensor<8x64xf32>
    %d = hone.dot_general %g, %v ...
    ```
  }];
}

def RecomputeMaps : Pass<"hone-recompute-maps", "::mlir::func::FuncOp"> {
  let summary = "Recomputes cheap values in the kernels that read them";
  let description = [{
    The pass clones elementwise ops into the kernels that read their results, where that takes no longer than a store
    and loads. After it, the backward pass of a norm reads the norm's input instead of the normalised value, and that of
    a gated activation reads the activation's input.

    A value is recomputed where all of this holds:

    - One row kernel computes it, only other row kernels read it, and nothing else keeps it in memory.
    - At most 16 elementwise ops compute it from values that are in memory anyway, or that are small (one per row or per
      column).
    - The kernels read no more bytes than before, and the traffic saved outweighs the computation.

    It is not recomputed where it depends on a reduction of its own rows that is not stored, or on a random number.
    Under `report`, a remark counts the values that would take more than 16 ops.

    Clones are marked `hone.clone`, so that no kernel holds both a clone and its original. A clone has the same bits.

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
    Option<"report", "report", "bool", "false", "Emit a remark with the number of values that take too many ops">
  ];
}

def FuseGroups : Pass<"hone-fuse-groups", "::mlir::func::FuncOp"> {
  let summary = "Puts every op into the kernel or library call that computes it";
  let description = [{
    The pass applies the decision of the fusion analysis (include/hone/Analysis/Fusion/Groups.h), which minimises bytes
    moved and launches on the module's target (docs/rationale/fusion.md). Each `hone.fused` becomes one kernel or one
    library call.

    - A contraction takes the ops that the target's library computes with it, where the traffic saved outweighs what the
      call loses: a bias, one addend, GELU or its gradient, sums of columns (docs/rationale/epilogues.md). An addition
      to an argument (a gradient of earlier micro-batches) moves to where its operands are ready.
    - The kernel of an embedding's gradient takes an addend.
    - Elementwise ops, row reductions and column sums over one row space share a kernel, within a region without a
      library call.
    - Every other op is a kernel of its own. Reshapes, slices that are read in place and concatenations that are written
      in place become views, outside of any kernel.

    Before that, the pass clones values that depend on small values only to each reader, so that they are never stored.

    With `report`, a remark at the location of each kernel says why its ops are together, what that saves, and which op
    came nearest to joining and why it did not. Further remarks say which searches stopped at their bounds.

    ```
    remark: row kernel of 4 ops that moves 6400 bytes: 2 values never stored, 1 value read once for all, 1 column sum;
    saves 6144 bytes and 4 of 6 launches; not joined: hone.exp
    (a path leaves the group and returns through hone.sub)
    ```
  }];
  let options = [
    Option<"report", "report", "bool", "false", "Emit a remark per fused kernel with the reason">,
    Option<"epilogues", "epilogues", "bool", "true", "Fuse epilogues into library calls">,
    Option<"regions", "regions", "bool", "true", "Let row ops share a kernel; false shows what sharing saves">
  ];
}

def FuseIntoCodes : Pass<"hone-fuse-into-codes", "::mlir::func::FuncOp"> {
  let summary = "Computes values in the kernels that make codes of them";
  let description = [{
    A kernel that makes codes of fp8, along rows and columns, has 128 x 128 elements in registers of a GPU, or next to
    the core of a CPU. Where nothing else reads a value, the pass lets that kernel compute it from what it is made of,
    so that it is never stored. Codes and scales keep their bits. Where the value's columns are summed, as for the
    gradient of a bias, that kernel adds them up, too, in an order of its own. Such values are

    - results of a `map` of elementwise ops on floats, as gates, also of vectors repeated along rows or columns;
    - results of a `rope`;
    - results of a norm: its `row` keeps what it finds per row (include/hone/Analysis/Fusion/RowTail.h), where the
      norm's inputs take fewer bytes to read than its result to write and to read.

    Several may lie side by side, beside others that are read as they are, each a multiple of 128 wide.

    One scale of all needs the largest magnitude before. hone-fuse-groups lets a `map` or `row` find that of what it
    makes. Such a kernel need not write a value that takes more bytes to write and to read than its inputs take to read
    again: the kernel of codes computes it once more. Where a kernel of its own finds the largest magnitude, as that of
    values side by side, both compute these, if that takes fewer bytes. Sums of columns stay where they are.

    On a CPU, sums of columns stay where they are with any scales, and only norms are computed twice.

    ```mlir
    %n, %r = hone.fused row (%a = %x : tensor<32x128xbf16>) -> (tensor<32x128xbf16>, tensor<32xf32>) ...
    %c, %s = hone.fused data_movement (%a = %n : tensor<32x128xbf16>) -> (tensor<32x128xf8E4M3FN>, tensor<1x32xf32>) ...
    // becomes
    %r = hone.fused row (%a = %x : tensor<32x128xbf16>) -> tensor<32xf32> ...
    %c, %s = hone.fused data_movement (%a = %x : tensor<32x128xbf16>, %b = %r : tensor<32xf32>) -> ... {
      ...
      %m = hone.mul %f, %d : tensor<32x128xf32>
      %n = hone.cast %m : tensor<32x128xf32> -> tensor<32x128xbf16>
      %c, %s = hone.quantize %n tile [1, 128] ...
    ```
  }];
}

def VerifyGroups : Pass<"hone-verify-groups", "::mlir::func::FuncOp"> {
  let summary = "Checks the contract of the fuse phase";
  let description = [{
    The pass checks every op outside a `hone.fused`. It is the return or a view:

    - a `hone.reshape`;
    - a `hone.slice` that is one run of memory, or that only kernels with strides read (families `attention`, `rope`,
      `map`, `row` and `data_movement`);
    - a `hone.concat` of operands that are such runs, or that kernels with strides write. One `hone.fused` computes each
      operand for the concatenation alone.

    It checks every `hone.fused` by its family:

    | family | rule |
    |---|---|
    | `map`, `row` | all ops fit one row space; every yielded value is written by a single row |
    | `contraction` | the target's library has a call for the ops; exactly one of them is a contraction |
    | `attention`, `gather`, `rope` | exactly one op is of the family |
    | `multi_tensor` | one op of the family, updates that differ only in shapes, scalars and salt, or sums of vectors |
    | `collective` | exactly one op; the result of an `async` one has one reader, which waits for it |
  }];
}

//===----------------------------------------------------------------------===//
// Checkpoint
//===----------------------------------------------------------------------===//

def PlanCheckpoints : Pass<"hone-plan-checkpoints", "::mlir::ModuleOp"> {
  let summary = "Chooses the values that stay in memory for the backward pass";
  let description = [{
    The pass decides which values of the forward part are kept for the backward part and which are recomputed, so that
    the arena fits `budget` bytes and the step takes the least time (docs/rationale/checkpointing.md). It works in
    steps:

    1. It cuts the forward part of `@step` or `@accumulate` into stages, usually layers of the model, where one value
       alone leads from one to the next. Each kernel of the backward part belongs to the stage whose values it reads
       (include/hone/Analysis/Recompute/StepStages.h).
    2. For each kind of stage, a minimum cut and a search find the sets of values worth keeping (StageOptions.h there).
    3. Over the chain of stages, a dynamic program finds the order of visits that takes the least time (ChainSchedule.h
       there).
    4. It applies proposals to a copy of the function and plans the arena. So `budget` bounds the arena of the program,
       not an estimate.

    The pass records its choice in attributes, which may be edited before hone-apply-checkpoints:

    - `hone.schedule` on the function: visits of stages in order. `"f0:3 b3 f1:2 b2:0"` runs stages 0 to 3 forward, 3
      backward, 1 and 2 forward again, and 2 to 0 backward.
    - `hone.forward` on forward kernels: the stage of each result.
    - `hone.backward` on backward kernels: their stage.
    - `hone.recompute` on forward kernels: the results that are recomputed for backward kernels.
    - `hone.away` on forward kernels: the results that lie in the second arena until backward kernels read them.

    With `moves`, the ways to run a stage are offered again with values away: as many bytes as the link of the two
    arenas moves beside the stage's forward and its backward visit, and all of them. Values of the last two stages and
    of a pipeline's stages stay. What lies in the second arena at a time is at most `hostMemory` bytes, with the state
    that is there.

    If everything fits, it records nothing. A budget that no schedule meets is an error that names the smallest budget
    that works.

    Policies other than `auto` are for comparison. `none` recomputes nothing. `away` recomputes nothing and moves all
    that may lie in the second arena. `full` keeps only the values between stages and runs each stage again right before
    its backward visit. `sqrt` keeps every sqrt(n)-th of these values (Chen et al., 2016).

    With `report`, a remark per stage lists what it keeps and recomputes, and the module gets `hone.memory_curve`: pairs
    of arena bytes and estimated seconds per step under other budgets. A remark for each bound that was met says what
    was not tried.

    With `overlap`, a schedule leaves room for the results of collectives that begin early, twice the bytes of the
    largest, if there is such a schedule. Where everything could be kept without that room, its recomputation must take
    less time than all collectives; stages of several chunks always leave it.
  }];
  let options = [
    Option<"budget", "budget", "int64_t", "0", "Largest size of the arena in bytes; 0: no bound">,
    Option<"policy", "policy", "std::string", "\"auto\"", "auto, none, full, sqrt or away">,
    Option<"report", "report", "bool", "false", "Emit a remark per stage, and write hone.memory_curve">,
    Option<"moves", "moves", "int64_t", "0",
           "Values of so many bytes or more may lie in the second arena; 0: none">,
    Option<"hostMemory", "host-memory", "int64_t", "0", "Bytes that the second arena may have; 0: any">,
    Option<"overlap", "overlap", "std::string", "\"off\"",
           "Whether collectives begin early (hone-overlap-collectives): off, auto (on a GPU) or on">,
    Option<"stageUnits", "stage-units", "int", "20",
           "Kernels of a stage that branch and bound decides, the largest first">,
    Option<"stageSteps", "stage-steps", "int", "1 << 15", "Choices that branch and bound tries per kind of stage">,
    Option<"cutSteps", "cut-steps", "int64_t", "1 << 24", "Edges that minimum cuts visit per kind of stage">,
    Option<"maxTrials", "max-trials", "int", "10", "Schedules whose arena is planned to find one that fits">
  ];
}

def ApplyCheckpoints : Pass<"hone-apply-checkpoints", "::mlir::func::FuncOp"> {
  let summary = "Orders and clones kernels by the schedule of recomputation";
  let description = [{
    The pass applies the attributes of hone-plan-checkpoints and removes them. A function without `hone.schedule` does
    not change.

    - Kernels run in the order of the visits. The first forward visit of a stage runs the originals, later visits run
      clones. Each kernel reads the latest version of its operands.
    - A result in `hone.recompute` is recomputed right before the first backward kernel that reads it, together with the
      kernels that it needs.
    - Of a row kernel, only the ops that compute the requested results are cloned. A library call is cloned as a whole.
    - A result in `hone.away` is read by backward kernels as the result of a group with `hone.reload`, which computes
      nothing: hone-plan-memory makes copies to the second arena and back of it.
    - Kernels whose results nothing reads are removed: a stage that runs forward only for its backward visit does not
      compute its output.
    - Ops of no stage run first, or last if they depend on a stage.

    A clone has the same bits as its original, since random ops draw by key and salt. It carries `hone.clone` with a
    number of its own, so that equal clones are not merged.

    Errors: `hone.schedule` does not parse; visits are out of order; the schedule omits a stage; a kernel would run
    before one that computes its operand; a result that is `hone.away` is no group's, or part of another value.

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
  let summary = "Starts collectives early, so that kernels run beside them";
  let description = [{
    The pass works on the final order of fused kernels. It splits a collective into a start (`async`) and a wait
    (`dist.wait`), with kernels between that take as long as the collective:

    - The wait moves down, past as many kernels as hide the collective, at the latest to right before the first reader,
      and with it views and the concatenations that the result is written into. Where a collective reads another one's
      result, as in a sum along one axis and then another, it moves down as well.
    - The start moves up until enough kernels stand between, or to right after the kernel that computes its operand. So
      the parameters of a layer are gathered during the layer before.
    - Collectives along the same axes run one after the other, and what is read first goes first. One that would be late
      behind others begins as much earlier, and those right before it in the queue do, too: so a gather begins before a
      sum of gradients that nothing reads soon.

    Early results take memory. At any time they hold at most twice the bytes of the largest collective's result: the one
    that is read and the next. In a function whose arena would then exceed `budget` bytes one result is early at a time;
    where that is too much as well, nothing moves.

    Times are estimates: of kernels by include/hone/Analysis/Cost/KernelCost.h, of collectives by the mesh's links. On a
    CPU the pass does nothing without `always`, because messages between its processes advance only while a rank waits.

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
    Option<"budget", "budget", "int64_t", "0", "Largest size of the arena in bytes; 0: no bound">,
    Option<"always", "always", "bool", "false", "Overlap collectives on a CPU too">,
    Option<"maxSteps", "max-steps", "int64_t", "1 << 28",
           "Ops that the pass visits per function; later collectives stay in place">,
    Option<"report", "report", "bool", "false",
           "Emit a remark with the number of collectives that max-steps kept in place">
  ];
  let dependentDialects = ["::hone::dist::DistDialect"];
}

def SplitTurns : Pass<"hone-split-turns", "::mlir::ModuleOp"> {
  let summary = "Splits the work of a pipeline's stage into a forward and a backward function";
  let description = [{
    The pass runs before `hone-plan-memory`, on the module of a stage (`dist-split-stages`); others stay as they are.
    Fusion and checkpoints have seen the forward and the backward part of a stage as one function. The
    schedule runs them at different times, and other micro-batches in between:

    - **@forward** computes what the stage hands on, or the loss, and all results that are no gradients.
    - **@backward** has the rest: it begins with the gradient that `dist.turn` stood for.
    - A value that @forward computes and @backward reads is an argument of kind `saved` of both, which a result of
      @forward replaces. @backward recomputes views, and what maps and data movement compute from constant buffers
      alone, such as tables of positions: all micro-batches have the same.
    - What a stage gets or hands on is an argument of kind `boundary`: `stage1` of the stages 0 and 1, and
      `stage1.grad`, its gradient. If @backward reads one, it stays for as long instead of a copy.

    Of a stage with several chunks, functions and arguments are called by the chunk: `@accumulate.2` becomes
    `@forward.2` and `@backward.2`, and the boundary before it is `chunk2`. Where the chunk before is of the same stage,
    `chunk2` is one argument of both, and nothing is sent.

    Where a schedule runs @backward together with another @forward (`+overlap`), it reads neither inputs nor the random
    key: @forward saves what it needs of them.

    `dist.window` of such an argument is how many micro-batches need one at a time, by the schedule (`dist.turns`). A
    stage that runs each backward part directly after its forward part, as the last one of `1f1b`, keeps @accumulate.

    ```mlir
    func.func @accumulate(%w: tensor<8x8xf32> {hone.kind = "param", ...}, %x: ..., %sum: ...) {
      %h = hone.fused contraction (%w, %x) ...
      %g = hone.fused collective (%a = %h : ...) { dist.turn %a to 1 ... }
      %new = hone.fused contraction (%x, %g, %sum) ...
    // hone-opt --hone-split-turns
    func.func @forward(%w: tensor<8x8xf32> {hone.kind = "param", ...}, %x: ...,
        %out: tensor<4x8xf32> {hone.fqn = "stage1", hone.kind = "boundary", dist.window = 2 : i64})
      %h = hone.fused contraction (%w, %x) ...
    func.func @backward(%g: tensor<4x8xf32> {hone.fqn = "stage1.grad", ...}, %x: ..., %sum: ...)
      %new = hone.fused contraction (%x, %g, %sum) ...
    ```
  }];
  let dependentDialects = ["::hone::dist::DistDialect"];
}

def OverlapTurns : Pass<"hone-overlap-turns", "::mlir::ModuleOp"> {
  let summary = "Merges a forward and a backward function that a schedule runs together";
  let description = [{
    The pass runs behind `hone-split-turns`, on the module of a stage; others stay as they are. A schedule with
    `+overlap` runs a forward part beside the backward part of another micro-batch. For each pair of chunks that it
    runs so (`dist.turns`), the pass adds a function with the ops of both: `@overlap`, or of a stage with several chunks
    `@overlap_0_2`, of the forward part of chunk 0 and the backward part of chunk 2.

    - **Order.** Each part keeps its own. Which of the two goes on is decided by estimated seconds: one whose next
      kernel waits for a collective lets the other go first; of two that can run, the one that has more left to do does.
      `hone-overlap-collectives` then begins collectives early and waits for them late, with kernels of the other part
      in between. The order is the same on all ranks of the stage.
    - **State** of both parts is one argument. Where the forward part replaces what the backward part reads, the latter
      reads the new value, as when they run one after the other.
    - **Windows** of the backward part are arguments of their own, marked `plan.beside`: they have the instance of its
      micro-batch. Inputs and the random key are read by the forward part alone.

    ```mlir
    func.func @forward(%w: ... {hone.kind = "param"}, %s: tensor<4x8xf32> {hone.fqn = "saved.0", ...})
    func.func @backward(%w: ... {hone.kind = "param"}, %s: tensor<4x8xf32> {hone.fqn = "saved.0", ...})
    // hone-opt --hone-overlap-turns
    func.func @overlap(%w: ... {hone.kind = "param"}, %s: tensor<4x8xf32> {hone.fqn = "saved.0", ...},
        %t: tensor<4x8xf32> {plan.beside, hone.fqn = "saved.0", ...})
    ```
  }];
  let dependentDialects = ["::hone::dist::DistDialect", "::hone::plan::PlanDialect"];
}

def OffloadState : Pass<"hone-offload-state", "::mlir::ModuleOp"> {
  let summary = "Places optimizer state and weights in the second arena";
  let description = [{
    The pass marks state that one kernel of one function reads and replaces, the update, as `plan.host`, and cuts updates
    of many tensors into parts (docs/rationale/offload.md). While one part runs, the state of the next one is copied to
    the arena and that of the one before is copied back (hone-plan-memory). What is computed stays the same.

    Candidates are arguments of kind `opt`, and then parameters that have a working copy. `what` says how many of them:

    | what | |
    |---|---|
    | `off` | none |
    | `state` | all |
    | `weights` | all, and weights of at least `least` bytes |
    | `activations` | none: hone-plan-checkpoints moves other values |
    | `auto` | as many, in this order, as make the step fastest within `budget`; where that is no plan, weights too |

    Weights are working copies, or parameters without one, that kernels alone read, none as a table whose rows it picks.
    They get `plan.layer`, too: the number of the stage of the step that reads them first (hone-stream-weights).

    The price of a step is the seconds of all launches, recomputed ones too, and those that they wait for copies. With
    `weights`, a `budget` that the update exceeds puts its small parts between the large ones.

    No part copies more than `chunk` bytes of state, unless one tensor has more; 0 is a sixteenth of the state of all
    candidates and of the weights that the update alone reads, at most 256 MiB. With `report`, a remark says what the
    second arena holds.
  }];
  let options = [
    Option<"what", "what", "std::string", "\"off\"", "auto, state, weights, activations or off">,
    Option<"chunk", "chunk", "int64_t", "268435456", "Bytes of state that a part of an update has copied">,
    Option<"budget", "budget", "int64_t", "0", "With auto and weights: bytes that the arena may have; 0: any">,
    Option<"hostMemory", "host-memory", "int64_t", "0", "Bytes that the second arena may have; 0: any">,
    Option<"moves", "moves", "int64_t", "0", "With auto: the same of hone-plan-checkpoints">,
    Option<"overlap", "overlap", "std::string", "\"off\"", "With auto: the same of hone-plan-checkpoints">,
    Option<"least", "least", "int64_t", "1", "Bytes that a weight has at least">,
    Option<"report", "report", "bool", "false", "Emit a remark on what is placed there">
  ];
  let dependentDialects = ["::hone::plan::PlanDialect"];
}

def StreamWeights : Pass<"hone-stream-weights", "::mlir::func::FuncOp"> {
  let summary = "Reads weights of the second arena by reloads, layer by layer";
  let description = [{
    The pass makes kernels read a weight with `plan.layer` as the result of a group with `hone.reload`, which computes
    nothing: hone-plan-memory copies the weight up ahead of it, and gives it memory up to the last reader. There is one
    for each visit of a layer, before the first kernel that reads the weight. A visit ends where a kernel reads a weight
    of another layer. So a layer's forward kernels are one visit, and its backward kernels another, with what they
    recompute. A kernel that writes the weight's new value over it reads it as before.

    ```mlir
    func.func @accumulate(%w: tensor<64x64xbf16> {plan.host, plan.layer = 0 : i64}, %v: ... {plan.layer = 1 : i64}) {
      %a = hone.fused contraction (%x, %w) ...
      %b = hone.fused contraction (%a, %v) ...
      %c = hone.fused contraction (%g, %w) ...
    // becomes
      %w0 = hone.fused data_movement (%w) attributes {hone.reload} ...
      %a = hone.fused contraction (%x, %w0) ...
      %v0 = hone.fused data_movement (%v) attributes {hone.reload} ...
      %b = hone.fused contraction (%a, %v0) ...
      %w1 = hone.fused data_movement (%w) attributes {hone.reload} ...
      %c = hone.fused contraction (%g, %w1) ...
    ```
  }];
}

def PlanMemory : Pass<"hone-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Gives every value an offset in one arena";
  let description = [{
    The pass replaces the functions `@step`, `@accumulate`, `@update` and `@evaluate`, or in a stage of a pipeline
    `@forward` and `@backward`, by a `plan.program` (docs/rationale/memory-plan.md). Arguments of one kind and name share storage in all functions and keep it. Other
    values live from their launch to their last reader, in program order; results of a function live to its end. Greedy
    orders choose offsets first, then a search improves them.

    - A result that donates an argument is written over it if nothing reads the argument later. Otherwise it is copied
      at the end.
    - A launch writes over an operand that it reads last, where the op allows it (`getReusableOperands`); also over
      columns of a wider value that nothing else reads.
    - What a group with `hone.reload` reads is copied to the second arena behind its maker, and back in time.

    Every buffer that is not state records its purpose. The program records how its arena is used at its fullest point;
    `gaps` are the bytes that no buffer needs there.

    With `report`, a remark says which limit stopped the search for offsets, unless the offsets are proven optimal.
  }];
  let options = [
    Option<"maxNodes", "max-nodes", "int64_t", "160000",
           "Largest number of decisions of the search; 0: greedy orders only">,
    Option<"maxScanned", "max-scanned", "int64_t", "150000000",
           "Largest number of neighbours that greedy orders visit">,
    Option<"maxPairs", "max-pairs", "int64_t", "4000000", "Largest number of pairs of live buffers that are searched">,
    Option<"report", "report", "bool", "false", "Emit a remark where a limit stopped the search">
  ];
  let dependentDialects = ["::hone::plan::PlanDialect"];
}

def JoinStages : Pass<"hone-join-stages", "::mlir::ModuleOp"> {
  let summary = "Joins the programs of the stages of a pipeline";
  let description = [{
    The pass moves the `plan.program` of each stage (docs/rationale/pipeline-stages.md) out of the module of the stage,
    and writes what the stage does in which order: `plan.actions` "step" and, where stages have `@evaluate`, "evaluate".
    A module without modules of stages stays as it is.

    ```mlir
    module attributes {dist.stages = 2 : i64, dist.schedule = "1f1b", hone.micro_batches = 1 : i64} {
      module @stage0 attributes {dist.stage = 0 : i64} { dist.mesh @mesh [<"pp" = 2>]  plan.program @program ... {...} }
      module @stage1 attributes {dist.stage = 1 : i64} { dist.mesh @mesh [<"pp" = 2>]  plan.program @program ... {...} }
    }
    // becomes
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @stage0 arena 4096 stage 0 {
      ...
      plan.actions "step" {
        plan.transfer receive "boundary" "stage1.grad" micro 0 peer 1
        plan.run @forward micro 0
        plan.transfer send "boundary" "stage1" micro 0 peer 1
        plan.transfer await_receive "boundary" "stage1.grad" micro 0 peer 1
        plan.run @backward micro 0
        plan.transfer await_send "boundary" "stage1" micro 0 peer 1
        plan.run @update micro 0
      }
    }
    plan.program @stage1 ...
    ```

    - `dist.schedule` is the name of a schedule or its CSV, of one chunk per rank. Messages begin where it has them and
      end where their buffer is needed. How many buffers there are, the windows of the arguments say; the pass checks
      that they are enough.
    - Boundary `stageN` is what stage N reads of the stage before, `stageN.grad` its gradient.
    - A stage runs `@forward` and `@backward`, or in place of the latter `@backward_input` and `@backward_weight`. The
      last stage may run both parts as `@accumulate`, if each forward action is followed by the backward action of its
      micro-batch. With a window of at least 2 it receives an activation beside the run before.
    - A working copy of a parameter that another stage owns is received before the first run of each list. The stage's
      sum of its gradients, `stageN.W` in both stages, goes to the owner before the update. Weights without gradients
      are not sent.
  }];
  let dependentDialects = ["::hone::plan::PlanDialect", "::hone::dist::DistDialect"];
}

def VerifyPlan : Pass<"hone-verify-plan", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of the plan phase";
  let description = [{
    The pass checks:

    - The module holds one `plan.program`, or one for each stage in the order of stages, and no function.
    - Every byte that a launch or a result reads was last written as a part of the same buffer, or is state that no
      launch has written yet. So buffers that are live at the same time do not overlap.
    - No launch writes a byte with two of its results.
    - A map or row kernel writes over an operand only at the point at which it reads it (`RowSpace::mayOverwrite`).
    - The arena ends with the last buffer, and its categories add up to its size.
  }];
}

#endif // HONE_TRANSFORMS_PASSES_TD
