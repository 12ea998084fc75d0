//===- Passes.td - Passes on shardings -------------------------*- tablegen -*-===//

#ifndef HONE_SHARDING_PASSES_TD
#define HONE_SHARDING_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistAssignStages : Pass<"dist-assign-stages", "::mlir::ModuleOp"> {
  let summary = "Cuts @forward into the stages of a pipeline";
  let description = [{
    The pass runs before `hone-autodiff`. It chooses values of @forward where one stage ends and the next begins, and
    puts a `dist.boundary` behind each; the module gets `dist.stages`. A stage then reads one value of the stage before.

    - **Where a stage can end.** At a value through which everything computed so far reaches the loss. What no
      parameter is part of (masks, tables of positions) does not count: `dist-split-stages` gives a copy to each stage
      that needs it.
    - **Where it ends.** A dynamic program makes the longest stage as short as possible by the target's roofline: a step
      of m micro-batches takes all stages once and the longest of them m - 1 times more (Zheng et al., Alpa, 2022).
      Among equal ones it takes the cuts with the fewest bytes.
    - **Terms of the loss beside the last layer's**, as those that balance experts. Their ops move to the last stage. What
      they read is handed on as further columns of the one value; integers they compute again.
    - **Several chunks per stage.** With a `schedule` that has them (`interleaved=2`, `zb-v`), the parts between cuts
      are chunks, which `dist.boundary` names, and `dist.chunks` says how many there are. They go round the stages, or
      there and back (`zb-v`: the first and the last are of stage 0). Cuts then also move until no single one makes the
      longest stage, the sum of its chunks, shorter.
    - **A parameter of several chunks** (tied embeddings) belongs to the first of them, which hands it to the others by
      a `dist.boundary` of its own, and gets their gradients back.

    With `cuts`, the user says where chunks begin, from the second one on: at the first op that reads a parameter of that
    name, or of a module of that name.

    Errors: fewer values where @forward can be cut than the stages need, with the value that is in the way; names in
    `cuts` that are too few or too many, in another order than in the model, or inside of what cannot be cut apart; what a term
    of the loss reads has other rows than what is handed on.

    ```mlir
    func.func @forward(%w0: tensor<8x8xf32> {hone.kind = "param"}, %w1: tensor<8x8xf32> {hone.kind = "param"}, ...) {
      %h = hone.dot_general %x, %w0 ...
      %y = hone.dot_general %h, %w1 ...
    // hone-opt --dist-assign-stages="stages=2"
      %h = hone.dot_general %x, %w0 ...
      %h1 = dist.boundary %h from 0 to 1 : tensor<4x8xf32>
      %y = hone.dot_general %h1, %w1 ...
    ```
  }];
  let dependentDialects = ["::hone::dist::DistDialect"];
  let options = [
    Option<"stages", "stages", "int64_t", "2", "Number of stages">,
    Option<"schedule", "schedule", "std::string", "\"1f1b\"",
           "Order of micro-batches, as of dist-split-stages: says how many chunks a stage has, and where they are">,
    Option<"cuts", "cuts", "std::string", "\"\"",
           "Parameters or modules that chunks begin with, from the second on, with commas between them">
  ];
}

def DistSplitStages : Pass<"dist-split-stages", "::mlir::ModuleOp"> {
  let summary = "Gives each stage of a pipeline a module with functions of its own";
  let description = [{
    The pass runs after the step phase on a module that `dist-assign-stages` has cut. Each stage s becomes a module
    `@stages`, with the attributes of the whole and `dist.stage = s`, that holds what the ranks of the stage run:

    - **@accumulate** is the forward and the backward part of the stage for a micro-batch. It takes the output of the
      stage before (an argument of kind `boundary`) and returns the gradient of that (a result of the same kind). Its
      own output goes to the next stage, and the gradient comes back, by `dist.turn`.
    - **@update** updates the stage's parameters. The norm of all gradients is the root of a sum of squares over the
      stages, and the loss a sum in which only the last stage has a term: `dist.stage_sum`.
    - **@evaluate** is the forward part.

    A stage with several chunks has an @accumulate and an @evaluate for each, called `@accumulate.2` of chunk 2, and one
    @update. What a chunk gets from one of its own stage is the same argument of both, and never sent.

    The module keeps the order of micro-batches as `dist.schedule`, and each stage as `dist.turns` what follows from it:
    which functions it runs, and how many micro-batches need each of its values at a time. Of a module that `dist-propagate` has seen, both
    ends of a boundary are divided as there; propagation then runs again for each stage.

    Values that no parameter is part of are computed by each stage that reads them. A parameter that a stage reads and
    another owns is a working copy there, and the sum of its gradients an argument of kind `grad` of both stages; the
    runtime hands the sum to the owner before its update, and the new value back. The owner adds both sums. Chunks of
    one stage that read a parameter of each other share it, and have a sum of gradients each as well: so all schedules
    add in the same order.

    Errors: an op that reads values of two stages other than by a `dist.boundary`; lists that are not right, or not of
    these stages and micro-batches; in an exact module, a parameter of several stages that more than two places read,
    since its gradients are added in another order than on one rank.

    ```mlir
    %h1 = dist.boundary %h from 0 to 1 : tensor<4x8xf32>
    ...
    %g0 = dist.boundary %g from 1 to 0 : tensor<4x8xf32>
    // hone-opt --dist-split-stages
    module @stage0 attributes {dist.stage = 0 : i64} {
      func.func @accumulate(...) {
        %g0 = dist.turn %h to 1 : tensor<4x8xf32>
    ...
    module @stage1 attributes {dist.stage = 1 : i64} {
      func.func @accumulate(%h1: tensor<4x8xf32> {hone.fqn = "stage1", hone.kind = "boundary"}, ...)
          -> (..., tensor<4x8xf32> {hone.fqn = "stage1", hone.kind = "boundary"}) {
    ```
  }];
  let dependentDialects = ["::hone::HoneDialect", "::hone::dist::DistDialect"];
  let options = [
    Option<"schedule", "schedule", "std::string", "\"1f1b\"",
           "Order of micro-batches: gpipe, 1f1b, interleaved=2, zb-h1, zb-v, or lists as CSV of "
           "torch.distributed.pipelining">
  ];
}

def DistBlockExperts : Pass<"dist-block-experts", "::mlir::ModuleOp"> {
  let summary = "Gives mixtures of experts dimensions that a mesh can divide";
  let description = [{
    The pass runs before `hone-autodiff`. A mixture of experts sorts all slots (one for each expert of each token) by
    expert. No rank can have a part of that order. The pass sorts the slots of `blocks` blocks of tokens, each for
    `groups` groups of experts: a group of a block has the rows of its own experts first, of at most as many as its
    tokens may choose. Gathers and products become `dist.block_embedding` and `dist.block_grouped_dot`, and all values
    between them have the leading dimensions [groups, blocks].

    Every row is computed as before. The results of a token are added group by group; in a mesh-invariant module in the
    order of its slots, as before.

    **Lowerings**, with more than one group. `gather`: ranks gather the tokens of all ranks along axis ep, each group
    has the rows of a whole block. `all-to-all`: a block is the tokens of one rank. It packs the rows for each group, of
    at most `factor` times what an even routing needs, and sends them (`dist.block_exchange`); a group sorts the rows of
    all blocks by expert (`dist.block_permute`), and results go the same way back. The results of a token are added as
    on one rank. All shapes are static, so that a slot behind the last place of its pair of ranks, in the order of
    tokens, is dropped: it contributes zero. @forward then returns a count for each mixture, a result of kind `dropped`,
    unless `factor` has room for any routing. `overflow` says whether a dropped row ends the run.

    By default (`auto`) ranks gather: that drops nothing. With a `factor`, they take what needs less time on the links
    of `mesh`, by bytes without one. The module gets `dist.experts`: what was taken, and what both send.

    Errors, with more than one group: a `hone.grouped_dot` whose rows, ends or results are not those of a mixture; a
    number of experts that groups do not divide; in a mesh-invariant module, an all-to-all that may drop. With one group
    such products stay as they are.

    ```mlir
    %order = hone.argsort %experts dim 0 : tensor<64xi64> -> tensor<64xi64>
    %rows = hone.embedding %x, %tokens : tensor<32x8xf32>, tensor<64xi64> -> tensor<64x8xf32>
    %y = hone.grouped_dot %rows, %w, %ends contract 1 : tensor<64x8xf32>, tensor<4x8x8xf32>, ...
    // hone-opt --dist-block-experts="groups=2 blocks=2"
    %order = hone.argsort %own dim 2 : tensor<2x2x32xi64> -> tensor<2x2x32xi64>
    %rows = dist.block_embedding %parts, %tokens : tensor<4x8x8xf32>, tensor<2x2x32xi64> -> tensor<2x2x32x8xf32>
    %y = dist.block_grouped_dot %rows, %w, %ends contract 1 : tensor<2x2x32x8xf32>, tensor<4x8x8xf32>, ...
    ```
  }];
  let dependentDialects = ["::hone::HoneDialect", "::hone::dist::DistDialect"];
  let options = [
    Option<"groups", "groups", "int64_t", "1", "Groups of experts: ranks along axis ep">,
    Option<"blocks", "blocks", "int64_t", "1", "Blocks of tokens: ranks along the other axes of the batch">,
    Option<"lowering", "lowering", "std::string", "\"auto\"", "How rows get to groups: gather, all-to-all or auto">,
    Option<"factor", "factor", "double", "0", "Room for rows of an all-to-all, over what an even routing needs; "
           "0: 1.25, and no choice of it">,
    Option<"overflow", "overflow", "std::string", "\"drop\"", "What dropped rows do: drop or error">,
    Option<"mesh", "mesh", "std::string", "\"\"", "Axes and sizes, whose links the choice is made by">,
    Option<"report", "report", "bool", "false", "Emit a remark with what both lowerings send">
  ];
}

def DistAnnotate : Pass<"dist-annotate", "::mlir::ModuleOp"> {
  let summary = "Gives every argument a sharding, by a recipe or from a user's annotations";
  let description = [{
    The pass adds a `dist.sharding` to every argument that has none, and to every result that replaces an argument. It
    runs after the step phase and before `dist-propagate`. Its output may be edited.

    **By a recipe.** The options are the recipe. `mesh` names the axes of the mesh, the slowest first; `@` names the
    kind of link: `rep=2,fs=4@nvlink`. A `dist.mesh` in the module is an error then.

    | axis | what it shards |
    |---|---|
    | `rep`, `dp` | the batch, dimension 0 of inputs; parameters and their state are replicated |
    | `fs` | the batch, and state by the option `fsdp` (next table) |
    | `ep` | the batch, and the experts of weights that `dist.block_grouped_dot` reads |
    | `cp` | the positions of sequences, in two runs per rank (`snake`); parameters and their state are replicated |
    | `tp` | features between weights, heads, the vocabulary; with `sequence` also the positions between these |
    | `pp` | nothing: its coordinates are the stages of the module, as many as `dist-assign-stages` has cut |

    | `fsdp` | what axis `fs` shards |
    |---|---|
    | `zero1` | optimizer state, and parameters that only the update reads while other ops read a working copy |
    | `zero2` | the same, and summed gradients |
    | `zero3` | the same, and all parameters; they are gathered for the forward part and again for the backward part |
    | `zero3-keep` | as `zero3`, but parameters are gathered once |

    - `fs` shards the outermost dimension of a parameter that it divides evenly and that `tp` does not shard. So shards
      are contiguous, and a gather moves no data within a rank. A parameter without such a dimension is replicated. A
      tensor of experts has `fs` behind `ep` on its first dimension, if the experts of a rank are a multiple of `fs`.
    - `tp` shards one dimension of every weight that no op needs unsharded. The pass finds it by what the ops do with
      the weight, not by the weight's name. With `sequence`, reductions become reduce-scatters.
    - If an attention has fewer key heads than `tp` ranks, and as many divide `tp`, the mesh gets two axes in its place:
      `tp`, of as many ranks as key heads, and `tp.r`. Weights of keys and values are replicated along `tp.r`, and all
      else is sharded along both.
    - With `cp`, attention reads keys and values of all positions. By the option `context`, ranks gather them (`gather`),
      have all positions of some heads meanwhile (`heads`), or send them around (`ring`: ops become
      `dist.ring_attention`); `auto` takes the fastest, by the links and what attention hides, and of ways within a
      tenth of it the one that holds the least.
    - Gradients that micro-batches are added to are partial sums along the axes of inputs that do not shard them. Only
      the update reduces them. In a mesh-invariant module they are never partial.
    - State whose shape differs from its parameter's is sharded with it where that keeps 8-bit blocks complete. Means of
      rows and columns are sharded along the dimension that they keep.

    Errors: a batch or positions that the axes do not divide evenly (the message names the input); any other axis; a
    `tp` that shards no parameter; a `sequence` that shards nothing. One warning lists the weights of products that `tp` does not
    shard, with reasons.

    ```mlir
    func.func @step(%w: tensor<64x256xf32> {hone.kind = "param", hone.fqn = "w"},
                    %t: tensor<8x16xi64> {hone.kind = "input"})
    // hone-opt --dist-annotate="mesh=dp=2,fs=4"
    dist.mesh @mesh [<"dp" = 2>, <"fs" = 4>]
    func.func @step(%w: tensor<64x256xf32> {dist.regather, dist.sharding = #dist.sharding<{"fs"} p3, {}>,
                                            hone.kind = "param", hone.fqn = "w"},
                    %t: tensor<8x16xi64> {dist.sharding = #dist.sharding<{"dp", "fs"}, {}>, hone.kind = "input"})
    ```

    **From a user's annotations.** The module has a `dist.mesh`, and arguments of the model have shardings, which
    earlier phases copied to each function. The first function that reads a batch decides for all, so that state is
    sharded alike in each:

    - Arguments of the model without a sharding get the one that propagation finds in that function. Open dimensions are
      closed. A working copy has the sharding and the `dist.regather` of its parameter.
    - Gradients and optimizer state follow their parameter, in dimensions of the same size. Gradients are partial sums
      along the axes that shard an input and do not shard them.

    ```mlir
    dist.mesh @mesh [<"dp" = 2>, <"tp" = 4>]
    func.func @accumulate(
        %w: tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.kind = "param", hone.fqn = "w"},
        %x: tensor<32x8xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>, hone.kind = "input", hone.fqn = "x"},
        %g: tensor<16x8xf32> {hone.kind = "grad", hone.fqn = "w"})
    // hone-opt --dist-annotate
        %g: tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {} partial sum ["dp"]>, hone.kind = "grad", ...})
    ```
  }];
  let dependentDialects = ["::hone::dist::DistDialect"];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"\"",
           "Axes and sizes, as rep=2,fs=4@nvlink; empty: the module has a dist.mesh">,
    Option<"fsdp", "fsdp", "std::string", "\"zero3\"", "What axis fs shards: zero1, zero2, zero3 or zero3-keep">,
    Option<"sequence", "sequence", "bool", "false", "Axis tp shards positions where it shards no features">,
    Option<"context", "context", "std::string", "\"auto\"",
           "How attention gets the positions that axis cp shards: gather, heads, ring or auto">,
    Option<"report", "report", "bool", "false", "Emit a remark on how `auto` has chosen">
  ];
}

def DistPropagate : Pass<"dist-propagate", "::mlir::ModuleOp"> {
  let summary = "Propagates annotated shardings to all values";
  let description = [{
    The pass gives every op of a global function `dist.shardings`, and every argument and result without one a
    `dist.sharding`. It propagates the annotations of arguments, of results and of `dist.constrain` along the factors of
    the ops (docs/rationale/sharding.md).

    Errors: an op without a sharding rule, a dimension that its axes do not divide evenly, an unknown axis.

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
  let summary = "Rewrites global functions into the local functions that one rank runs";
  let description = [{
    The pass runs after `dist-propagate`. It turns every op into the op that computes a rank's shard, and inserts
    collectives where shardings differ. Arguments and results become shards.

    - **How an op is divided.** The pass compares all ways to assign axes to the op's factors. It takes the one that
      contradicts the fewest priorities, then the fastest: collectives by latency and bandwidth of their links, then a
      rank's share of the op. If there are more than `max-splits` ways, which takes a mesh of many axes, it decides the
      axes one after the other, and `report` says so.
    - **Operands.** The cheapest collectives bring an operand to the sharding that the op needs, once per value and
      sharding. Parameters with `dist.regather` are gathered once for the forward part and once after it.
    - **Partial sums.** A partial result is reduced right behind its op: by a reduce-scatter where its reader needs a
      shard, else by an all-reduce. The reduction is deferred where the only reader is linear in the value, and either
      partial sums are added there or further on, or the function returns partial sums (gradients across micro-batches).
    - **Mesh-invariant modules** (`hone-set-mesh-invariant`). No value is partial: axes shard only factors whose
      iterations are independent.

    The pass warns of an operand of at least `warn-bytes` bytes that is gathered over an axis that then shards nothing
    of the op, so that all ranks along it compute the same. The warning names the annotation that the axis comes from.

    ```mlir
    dist.mesh @mesh [<"tp" = 2>]
    func.func @f(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>},
                 %w: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>})
        -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<{}, {}>}) {
      %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0]
          : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
      return %y : tensor<8x6xf32>
    }
    // hone-opt --dist-propagate --dist-partition
      %0 = hone.dot_general %x, %w batch [] x [] contract [1] x [0]
          : tensor<8x2xf32>, tensor<2x6xf32> -> tensor<8x6xf32>
      %1 = dist.all_reduce sum %0 over ["tp"] : tensor<8x6xf32>
    ```
  }];
  let options = [
    Option<"warnBytes", "warn-bytes", "int64_t", "1 << 20", "Least bytes of a gathered operand that give a warning">,
    Option<"maxSplits", "max-splits", "int64_t", "4096",
           "Largest number of ways to divide an op that are all compared; with more, each axis is decided by itself">,
    Option<"report", "report", "bool", "false", "Emit a remark per function with ops that have more ways">
  ];
}

def DistLowerBlocks : Pass<"dist-lower-blocks", "::mlir::ModuleOp"> {
  let summary = "Lowers ops on blocks of rows to ops of the dialect hone";
  let description = [{
    The pass runs after `dist-verify`. A rank has one group of experts and one block of tokens as a rule: then an op on
    blocks is the op of the dialect hone with the same name. Where it has several, as in a mesh-invariant module, the
    tables of blocks are one table side by side, and the rows of each expert are gathered from all blocks, in order.

    ```mlir
    %y = dist.block_grouped_dot %x, %w, %ends contract 1
        : tensor<1x1x64x8xf32>, tensor<2x8x8xf32>, tensor<1x1x2xi32> -> tensor<1x1x64x8xf32>
    // hone-opt --dist-lower-blocks
    %0 = hone.reshape %x : tensor<1x1x64x8xf32> -> tensor<64x8xf32>
    %1 = hone.reshape %ends : tensor<1x1x2xi32> -> tensor<2xi32>
    %2 = hone.grouped_dot %0, %w, %1 contract 1 : tensor<64x8xf32>, tensor<2x8x8xf32>, tensor<2xi32> -> tensor<64x8xf32>
    %y = hone.reshape %2 : tensor<64x8xf32> -> tensor<1x1x64x8xf32>
    ```
  }];
  let dependentDialects = ["::hone::HoneDialect"];
}

def DistLowerRings : Pass<"dist-lower-rings", "::mlir::ModuleOp"> {
  let summary = "Lowers attention in a ring to attention on runs of positions and shifts of keys";
  let description = [{
    The pass runs after `dist-verify`. A rank `i` of `c` has the runs `i` and `2c - 1 - i` of positions. It computes
    (Liu et al., 2023):

    - first the causal attention among its own two runs;
    - in step `j`, from 1 to `c - 1`, attention over the keys and values of rank `i - j`, which a `dist.shift` brings.
      If that is an earlier rank, both of its runs of queries see the first run of keys; else its second run of queries
      sees both. Either way two runs of queries each see a whole run of keys: one `hone.attention` without a mask, with
      twice the batch. A `hone.select` by the rank's `dist.coordinate` chooses the runs. The shift for a step stands
      before the attention of the step before it;
    - `hone.merge_attention` of the parts, in f32 (f64 for f64), rounded once at the end.

    Backward, each step is a `hone.attention_bwd` with the final result and log-sum-exp. Keys and values go around the
    ring again, and their gradients with them, in f32. They lack the rank's own part until they are back home, so that
    they too travel `c - 1` times.

    ```mlir
    %o, %lse = dist.ring_attention %q, %k, %v over ["cp"] scale 1.0 : ...
    // hone-opt --dist-lower-rings, with reshapes and slices left out
    %k1 = dist.shift %k by 1 over ["cp"] : tensor<1x8x2x4xf32>
    %v1 = dist.shift %v by 1 over ["cp"] : tensor<1x8x2x4xf32>
    %o0, %lse0 = hone.attention %q, %k, %v causal scale 1.0 : ...
    %i = dist.coordinate ["cp"] : tensor<i64>
    %is_earlier = hone.cmp ge, %i, %one : tensor<i64> -> tensor<i1>
    %qs = hone.select %earlier, %q, %second_twice : tensor<1x2x4x2x4xi1>, tensor<1x2x4x2x4xf32>
    ...
    %o1, %lse1 = hone.attention %qs, %ks, %vs scale 1.0 : ...
    %m, %ml = hone.merge_attention %o0, %lse0 with %o1, %lse1 : ...
    ```
  }];
  let dependentDialects = ["::hone::HoneDialect"];
}

def DistLowerCollectives : Pass<"dist-lower-collectives", "::mlir::ModuleOp"> {
  let summary = "Lowers collectives to collectives of contiguous blocks";
  let description = [{
    The pass runs after `dist-partition`. It rewrites collectives along inner dimensions, and those with cuts, into
    collectives of contiguous blocks, with transposes, slices and concatenations around them. Later phases fuse these
    like any other op. A `dist.stage_sum` becomes a `dist.all_reduce` over the axis `pp`.

    ```mlir
    %w = dist.all_gather %shard dim 1 over ["fs"] : tensor<6x4xf32> -> tensor<6x8xf32>
    // hone-opt --dist-lower-collectives
    %0 = hone.reshape %shard : tensor<6x4xf32> -> tensor<1x6x4xf32>
    %1 = dist.all_gather %0 dim 0 over ["fs"] : tensor<1x6x4xf32> -> tensor<2x6x4xf32>
    %2 = hone.transpose %1 [1, 0, 2] : tensor<2x6x4xf32> -> tensor<6x2x4xf32>
    %w = hone.reshape %2 : tensor<6x2x4xf32> -> tensor<6x8xf32>
    ```
  }];
  let dependentDialects = ["::hone::HoneDialect"];
}

def DistBucketCollectives : Pass<"dist-bucket-collectives", "::mlir::ModuleOp"> {
  let summary = "Joins small collectives into large ones";
  let description = [{
    The pass runs after `dist-lower-collectives`. It joins collectives of one kind, along the same axes and of one
    element type, into one collective (a bucket):

    - **All-reduces** join until an op reads one of the results or the bucket has `bytes` bytes. By default, latency is
      a tenth of the time of such a bucket on its links. The kernels that compute the operands write them into the
      bucket, so nothing is copied.
    - **Reduce-scatters and all-gathers** join in the same way. Their blocks are copied, so a collective joins only if
      it has at most half of the bytes of a bucket. By default, latency is half of the time of such a bucket.
    - **All-gathers of parameters** run with the first of them that is read. The bucket lives until the last result is
      read, so a gather joins only if it has at most a 32nd of the bytes of a bucket.

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
    Option<"bytes", "bytes", "int64_t", "0", "Bytes of a bucket; 0: chosen by its links">
  ];
}

def DistSplitForOverlap : Pass<"dist-split-for-overlap", "::mlir::ModuleOp"> {
  let summary = "Splits the ops between collectives into pieces whose collectives overlap";
  let description = [{
    The pass runs after `dist-partition`. A product that waits for a collective leaves the GPU idle meanwhile. The pass
    splits such products, and the ops and collectives around them, along a dimension into `pieces` pieces that do not
    depend on each other. While the collective of one piece runs, the next piece computes: asynchronous tensor
    parallelism. `hone-overlap-collectives` starts collectives early and waits for them late, and the predicted time of
    a step counts what remains.

    - **What is split.** Collectives along `axes`, and ops whose iterations along the dimension are independent:
      products, norms, elementwise ops, moves. Attention, random numbers, orders and sums over the dimension are not;
      they read the pieces side by side, behind the last of them.
    - **Along which dimension.** The outermost before the one that a collective moves (sequences of the batch), if the
      number of pieces divides it. Else the dimension that it gathers or scatters, within the shard of each rank.
    - **In which order.** A piece runs one step behind the piece before it, where a step ends at a collective.
    - **What is not worth it.** A collective whose pieces take over 1.5 times as long on their links as the whole,
      by their latency, is not split. `bytes` replaces this by a size.

    The pieces compute the same elements from the same operands, so results keep their bits where the kernels do not
    depend on the number of rows. A region costs smaller products and, where a dimension is gathered, copies.

    See Wang et al., Overlap Communication with Dependent Computation via Decomposition, 2023; and Wang et al., Domino,
    2024, which splits a batch in the same way.

    Errors: fewer than one piece.

    ```mlir
    %y = hone.dot_general %x, %w batch [] x [] contract [2] x [0] : tensor<2x4x8xf32>, tensor<8x8xf32> -> tensor<2x4x8xf32>
    %s = dist.all_reduce sum %y over ["tp"] : tensor<2x4x8xf32>
    // hone-opt --dist-split-for-overlap="pieces=2 bytes=1"
    %0 = hone.slice %x [0, 0, 0] to [1, 4, 8] by [1, 1, 1] : tensor<2x4x8xf32> -> tensor<1x4x8xf32>
    %1 = hone.dot_general %0, %w batch [] x [] contract [2] x [0] : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
    %2 = dist.all_reduce sum %1 over ["tp"] {dist.piece} : tensor<1x4x8xf32>
    %3 = hone.slice %x [1, 0, 0] to [2, 4, 8] by [1, 1, 1] : tensor<2x4x8xf32> -> tensor<1x4x8xf32>
    %4 = hone.dot_general %3, %w batch [] x [] contract [2] x [0] : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
    %5 = dist.all_reduce sum %4 over ["tp"] {dist.piece} : tensor<1x4x8xf32>
    %s = hone.concat %2, %5 dim 0 : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<2x4x8xf32>
    ```
  }];
  let dependentDialects = ["::hone::HoneDialect"];
  let options = [
    Option<"pieces", "pieces", "int64_t", "2", "Pieces of an op">,
    Option<"axes", "axes", "std::string", "\"tp\"", "Axes of the collectives that are split, with + between">,
    Option<"bytes", "bytes", "int64_t", "0", "Bytes of the smallest collective that is split; 0: chosen by its links">,
    Option<"report", "report", "bool", "false", "Explain what is split in remarks">
  ];
}

def DistVerify : Pass<"dist-verify", "::mlir::ModuleOp"> {
  let summary = "Checks how the ranks hold every value of a local function";
  let description = [{
    The pass runs after `dist-partition`. It infers the placement of every value along every axis of the mesh, from the
    shardings of the arguments on. A placement is one of

    | placement | along the axis, ranks hold |
    |---|---|
    | replicated | the same value |
    | sharded | shards of one dimension |
    | partial | partial sums, maxima or minima: the value is their sum, maximum or minimum |
    | log-sum-exps of shards | a log-sum-exp each; its exponential is a partial sum |
    | norms of shards | a norm each; its square is a partial sum |
    | rank-local | a value computed from the rank's position, such as a mask of its rows |

    Errors name the axis, the op, and the op where ranks began to differ:

    - A result of a function has another placement than its sharding says.
    - An op that is not linear in a partial sum reads one, or an op adds a partial sum to a value that is not partial.
    - A collective reads a value of another placement than it consumes: an all-reduce a value that is not partial, an
      all-gather one that is not sharded along its dimension, `dist.shard` one that is not replicated.
    - Attention in a ring reads positions that the axes of the ring do not divide, or that another axis divides.
    - A collective or a result reads a value with none of these placements. Such a value has, for example, operands that
      are sharded along different dimensions.

    A replicated value also counts as partial sums if it is zero, or a sum over a dimension whose elements are all
    equal. Zeros in place of the rows of other ranks make partial sums of a rank's rows. Two kinds of values count as
    sharded and as partial until another operand decides: those computed from a rank's position alone, and shards whose
    dimension a reshape hides. The pass compares neither cuts nor the order of axes.
  }];
}

def DistPrintCollectives : Pass<"dist-print-collectives", "::mlir::ModuleOp"> {
  let summary = "Prints the collectives of each function and the bytes that a rank sends";
  let description = [{
    The pass runs after `dist-partition` and changes nothing. For each function it prints one line per kind of
    collective, axes, element type and size: the number of such collectives times the bytes that each rank sends for
    one. Then it prints one line per set of axes with the totals.

    ```
    @step
      all_gather over fs bf16: 12 x 6912 = 82944
      reduce_scatter sum over fs f32: 6 x 13824 = 82944
      over fs: 18 collectives, 165888 bytes
    ```
  }];
}

#endif // HONE_SHARDING_PASSES_TD
