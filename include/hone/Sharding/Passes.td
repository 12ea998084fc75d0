//===- Passes.td - Passes on shardings -------------------------*- tablegen -*-===//

#ifndef HONE_SHARDING_PASSES_TD
#define HONE_SHARDING_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistAnnotate : Pass<"dist-annotate", "::mlir::ModuleOp"> {
  let summary = "Gives every argument a sharding, by a recipe or as a user began";
  let description = [{
    Adds a `dist.sharding` to every argument that has none, and to every result that replaces one. After the step phase, before
    `dist-propagate`; what it writes can be edited.

    **As a user began.** The module has a `dist.mesh`, and shardings on arguments of the model, which the phases before have carried
    to each function. The first function that reads a batch decides for all, since state is divided alike in each: arguments of the
    model (working copies as their parameters) without a sharding get what propagation gives them there, open dimensions are closed.
    Gradients and optimizer state follow their parameter, in dimensions of the same size; a working copy has its parameter's
    `dist.regather`. Gradients are partial along the axes that divide an input and not them.

    ```mlir
    dist.mesh @mesh [<"dp" = 2>, <"tp" = 4>]
    func.func @accumulate(%w: tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.kind = "param", hone.fqn = "w"},
                          %x: tensor<32x8xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>, hone.kind = "input", hone.fqn = "x"},
                          %g: tensor<16x8xf32> {hone.kind = "grad", hone.fqn = "w"})
    // hone-opt --dist-annotate
                          %g: tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {} partial sum ["dp"]>, hone.kind = "grad", ...})
    ```

    **By a recipe**, which the options are; with a `dist.mesh` in the module besides it is an error. `mesh` names the axes, the slowest
    first, `rep=2,fs=4@nvlink` with the kind of link behind `@`:

    | axis | divides |
    |---|---|
    | `rep`, `dp` | the batch (dimension 0 of inputs); parameters and their state are copies |
    | `fs` | the batch, and as `fsdp` says: `zero1` the optimizer's state (and parameters that only it reads, others reading a copy of lower precision), `zero2` summed gradients too, `zero3` parameters too |
    | `tp` | features between weights, heads, the vocabulary: a dimension of every weight that no op needs whole, found by what the ops do with it and not by its name; with `sequence` the positions in between too, so that sums are scattered |

    Of a parameter and what belongs to it `fs` divides the outermost dimension that it divides evenly, `tp`'s not among them: there
    parts lie one after another, and are gathered without moves. Without one they are copies. `zero3` gathers a parameter for the
    forward part and again for the backward part; `zero3-keep` once. Gradients that micro-batches are added to are partial along the
    axes of the batch that do not divide them: only the update sums them (in a mesh-invariant module they are whole each time). State that has
    not its parameter's shape is divided with it where parts are whole: blocks that share a scale, means along the dimension they keep.

    A batch that is not divisible is an error that names input and axes; so are any other axis, a `tp` that divides no parameter, and
    a `sequence` that divides nothing. Weights of products that stay whole along `tp` are one warning with the reasons.

    ```mlir
    func.func @step(%w: tensor<64x256xf32> {hone.kind = "param", hone.fqn = "w"}, %t: tensor<8x16xi64> {hone.kind = "input"})
    // hone-opt --dist-annotate="mesh=dp=2,fs=4"
    dist.mesh @mesh [<"dp" = 2>, <"fs" = 4>]
    func.func @step(%w: tensor<64x256xf32> {dist.regather, dist.sharding = #dist.sharding<{"fs"} p3, {}>, hone.kind = "param", hone.fqn = "w"},
                    %t: tensor<8x16xi64> {dist.sharding = #dist.sharding<{"dp", "fs"}, {}>, hone.kind = "input"})
    ```
  }];
  let dependentDialects = ["::hone::dist::DistDialect"];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"\"", "axes and sizes: rep=2,fs=4@nvlink; none: the module has a dist.mesh">,
    Option<"fsdp", "fsdp", "std::string", "\"zero3\"", "what axis fs divides: zero1, zero2, zero3 or zero3-keep">,
    Option<"sequence", "sequence", "bool", "false", "axis tp divides positions where it divides no features">
  ];
}

def DistPropagate : Pass<"dist-propagate", "::mlir::ModuleOp"> {
  let summary = "Spreads annotated shardings over all values";
  let description = [{
    Every op of a global function gets `dist.shardings`, every argument and result that has none a `dist.sharding`: what
    `Propagation` makes of the annotations of arguments, of results and of `dist.constrain` (docs/rationale/sharding.md).
    An op without a rule, an uneven part and an unknown axis are errors.

    ```mlir
    dist.mesh @mesh [<"dp" = 2>]
    func.func @f(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>}) -> tensor<8x4xf32> {
      %y = hone.neg %x : tensor<8x4xf32>
      return %y : tensor<8x4xf32>
    }
    // hone-opt --dist-propagate
      %y = hone.neg %x {dist.shardings = [#dist.sharding<{"dp"} from "argument 0", {}>]} : tensor<8x4xf32>
    ```
  }];
}

def DistPartition : Pass<"dist-partition", "::mlir::ModuleOp"> {
  let summary = "Rewrites global functions into what one rank runs";
  let description = [{
    Runs after `dist-propagate`. Each op is divided along its factors: of all ways to give axes to factors that its tensors
    are divided by, the one that respects most priorities, then the fastest (collectives by latency and bandwidth of their
    links, then the op's own share). Operands are brought there by the cheapest collectives, once per value and sharding
    (parameters with `dist.regather`: once for the forward part and once behind it). A partial result is summed right behind its op,
    scattered where it is divided next; but where its only reader is linear in it, and terms are added up there or further on, or
    expected (gradients across micro-batches), ranks go on with their terms. In a mesh-invariant module (`hone-set-mesh-invariant`) nothing is partial:
    axes divide only factors whose iterations are independent. Arguments and results become parts. An operand of at
    least `warn-bytes` that is gathered over an axis which then divides nothing of the op, so that all ranks compute the same, is a
    warning that names the annotation of that axis.

    The ways to divide an op are the product of what each axis may divide. Where there are more than `max-splits`, which
    takes a mesh of many axes, the axes are decided one after the other, and `report` says so.

    ```mlir
    dist.mesh @mesh [<"tp" = 2>]
    func.func @f(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>},
                 %w: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>})
        -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<{}, {}>}) {
      %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
      return %y : tensor<8x6xf32>
    }
    // hone-opt --dist-propagate --dist-partition
      %0 = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x2xf32>, tensor<2x6xf32> -> tensor<8x6xf32>
      %1 = dist.all_reduce sum %0 over ["tp"] : tensor<8x6xf32>
    ```
  }];
  let options = [
    Option<"warnBytes", "warn-bytes", "int64_t", "1 << 20", "Bytes of a gathered operand that are worth a warning">,
    Option<"maxSplits", "max-splits", "int64_t", "4096", "Ways to divide an op that are all tried; of more, each axis is decided on its own">,
    Option<"report", "report", "bool", "false", "Say with a remark per function that ops have more ways">
  ];
}

def DistLowerCollectives : Pass<"dist-lower-collectives", "::mlir::ModuleOp"> {
  let summary = "Brings what ranks exchange into contiguous blocks";
  let description = [{
    Runs after `dist-partition`. Collectives along inner dimensions, or with cuts, become collectives of blocks that lie one
    after another, with transposes, slices and concatenations around them, which later phases fuse like others.

    ```mlir
    %w = dist.all_gather %part dim 1 over ["fs"] : tensor<6x4xf32> -> tensor<6x8xf32>
    // hone-opt --dist-lower-collectives
    %0 = hone.reshape %part : tensor<6x4xf32> -> tensor<1x6x4xf32>
    %1 = dist.all_gather %0 dim 0 over ["fs"] : tensor<1x6x4xf32> -> tensor<2x6x4xf32>
    %2 = hone.transpose %1 [1, 0, 2] : tensor<2x6x4xf32> -> tensor<6x2x4xf32>
    %w = hone.reshape %2 : tensor<6x2x4xf32> -> tensor<6x8xf32>
    ```
  }];
  let dependentDialects = ["::hone::HoneDialect"];
}

def DistBucketCollectives : Pass<"dist-bucket-collectives", "::mlir::ModuleOp"> {
  let summary = "Joins small exchanges into large ones";
  let description = [{
    Runs after `dist-lower-collectives`. Exchanges of one kind, along the same axes, of one element type, become one:

    - all-reduces that nothing reads before the last of them can be made; the kernels that make the operands write them into
      the bucket, so nothing is copied. It is closed where one of its sums is read or it has `bytes` bytes, by default as
      many as make latency a tenth of its time on its links.
    - reduce-scatters and gathers likewise, gathers of parameters with the first that is read. Their blocks are copied, so only
      those join that are at most half of a bucket (a 32nd of one of parameters, which lives as long as its last reader), which by
      default has as many bytes as take as long as its latency.

    ```mlir
    %0 = dist.all_reduce sum %a over ["dp"] : tensor<4x3xf32>
    %1 = dist.all_reduce sum %b over ["dp"] : tensor<5xf32>
    // hone-opt --dist-bucket-collectives
    %2 = hone.reshape %a : tensor<4x3xf32> -> tensor<1x12xf32>
    %3 = hone.reshape %b : tensor<5xf32> -> tensor<1x5xf32>
    %4 = hone.concat %2, %3 dim 1 : (tensor<1x12xf32>, tensor<1x5xf32>) -> tensor<1x17xf32>
    %5 = dist.all_reduce sum %4 over ["dp"] : tensor<1x17xf32>
    %6 = hone.slice %5 [0, 0] to [1, 12] by [1, 1] : tensor<1x17xf32> -> tensor<1x12xf32>
    %0 = hone.reshape %6 : tensor<1x12xf32> -> tensor<4x3xf32>
    ```
  }];
  let dependentDialects = ["::hone::HoneDialect"];
  let options = [
    Option<"bytes", "bytes", "int64_t", "0", "Bytes of a bucket; 0: by its links">
  ];
}

def DistVerify : Pass<"dist-verify", "::mlir::ModuleOp"> {
  let summary = "Checks that ranks agree where they must";
  let description = [{
    Runs after `dist-partition`. Follows, from the shardings of the arguments on, along which axes the ranks hold different
    numbers, and whether these are parts or terms of a sum: an op's results differ along what its operands differ along, are
    terms where it sums over parts, and a sum or gather over an axis ends it. Errors, which name the axis and the op where
    ranks began to differ, are

    - a result of a function that differs along an axis which its sharding does not have, or as parts where it has terms, as
      terms where it has parts, or as parts of another dimension;
    - a result that is to be terms and is the same on all ranks;
    - terms that reach an op which is not linear in them, or that are added to what are no terms;
    - a sum or maximum of what are no terms of it, a gather of what are no parts of its dimension, a part of what ranks do not
      have alike; and what is neither parts nor terms, as made of parts of which operands agree about no dimension.

    Terms are log-sum-exps of parts behind their `exp`, norms of parts when they are squared, and what a rank keeps of its own
    rows against zeros; numbers that are the same on all ranks are terms if they are zeros or a sum over what repeats one
    element. What is made of a rank's position alone is given the benefit of the doubt; so are parts whose dimension a reshape
    hides. Cuts and the order of axes are not compared.
  }];
}

def DistPrintCollectives : Pass<"dist-print-collectives", "::mlir::ModuleOp"> {
  let summary = "Prints what each rank sends";
  let description = [{
    Runs after `dist-partition`, and changes nothing. For each function a line per kind of collective, axes, element type and
    size, with how many there are times the bytes that each rank sends for one; then a line per set of axes with both.

    ```
    @step
      all_gather over fs bf16: 12 x 6912 = 82944
      reduce_scatter sum over fs f32: 6 x 13824 = 82944
      over fs: 18 collectives, 165888 bytes
    ```
  }];
}

#endif // HONE_SHARDING_PASSES_TD
