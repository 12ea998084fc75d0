//===- HoneDialect.td - The hone dialect ------------------------*- tablegen -*-===//

#ifndef HONE_IR_HONEDIALECT_TD
#define HONE_IR_HONEDIALECT_TD

include "mlir/IR/OpBase.td"

def Hone_Dialect : Dialect {
  let name = "hone";
  let cppNamespace = "::hone";
  let summary = "Transformer training graphs on tensors";
  let description = [{
    The dialect holds the ops of a transformer training step: forward, loss, backward, clipping and optimizer, on ranked
    tensors of static shape in row-major order. Every op is pure. State (parameters, optimizer moments, generator keys)
    enters and leaves through function arguments and results. docs/design.md lists the contracts between phases.

    Arguments and results carry these attributes:

    | attribute | on | meaning |
    |---|---|---|
    | `hone.kind` | arguments, results | what the tensor is (next table) |
    | `hone.fqn` | arguments, results | the fully qualified name of the tensor in the model (a string) |
    | `hone.aliases` | arguments | other names of the same tensor (tied weights), an array of strings |
    | `hone.requires_grad` | param arguments | unit attribute: a gradient is requested |
    | `hone.param_group` | param arguments | index into the `groups` of the module's `hone.optimizer` |
    | `hone.init` | param, buffer, opt arguments | how a fresh run fills the tensor (below) |
    | `hone.role` | input arguments | `tokens` or `targets`, filled from a token stream; absent: a named input |
    | `hone.vocab` | input arguments | a positive number; ids must be below it |
    | `hone.ignore` | input arguments | a further id that files may hold: a loss ignores it, nothing else reads it |
    | `hone.ids` | id_check results, scalars of `@accumulate` | what a check of ids reads (below) |
    | `hone.dropped` | dropped results, scalars of `@accumulate` | which rows are counted (below) |
    | `hone.balance` | buffer arguments | the step moves this bias to balance experts (below) |
    | `hone.donates` | results | index of the argument whose storage this result replaces |
    | `hone.parts` | param, buffer, opt, grad | the tensors of files that a padded or packed argument holds (below) |

    | `hone.kind` | on | tensor |
    |---|---|---|
    | `param`, `buffer` | arguments, results | a parameter; a tensor that is not trained |
    | `opt`, `grad` | arguments, results | state of the optimizer; the gradient of the parameter `hone.fqn` |
    | `working_copy` | arguments, results | parameter `hone.fqn` in this type, or its codes; derived, in no file |
    | `input`, `rng` | arguments | a tensor of the batch; the key of the random generator |
    | `scalar` | arguments, results | a number of rank 0 that the runtime writes, such as the learning rate |
    | `cache` | arguments, results | keys or values of the positions so far, of an attention in `@generate`; in no file |
    | `loss`, `grad_norm` | results | the loss; the norm of all gradients |
    | `logits` | results | of the token after the position, of rank 1 |
    | `id_check` | results | 0, or an id outside its table (docs/rationale/ids.md) |
    | `dropped` | results | rows of experts, of all ranks, that had no place on the way (`dist-block-experts`) |

    - `hone.init` is `{dist = "normal", mean, std}`, `{dist = "uniform", low, high}`, `{dist = "constant", value}`, or
      `{dist = "file"}` (in the package's safetensors).
    - `hone.ids` is `{op, size, source}`: the op that reads the ids, the number of rows or classes of its table, and the
      user's source line.
    - `hone.dropped` is `{source, rows, factor, enough, stops}`: the user's module and source line, the rows of a
      micro-batch of all ranks, the factor of room that was asked for (`--moe-factor`), the least one that never drops,
      and whether a dropped row ends the run.
    - `hone.balance` is `{counts, rate}`, on a buffer of rank 1 in f32 that a router adds to scores before it selects
      experts. `counts` names a buffer of as many i64. `@forward` returns it with the number of tokens of the batch that
      selected each expert added; a step adds `rate * sign(mean(counts) - counts)` to the bias and clears the counts.
    - `hone.parts` is an array of `#hone.part`, also on the results of these kinds. Without it the argument is one
      tensor of files. Parts of one argument have distinct names, lie inside its shape and do not overlap;
      `hone.aliases` are other names of its only part. All share the argument's `hone.init`: random values depend on the
      name of the part and the index inside it. Beside a `dist.sharding`, the boxes are those of the global tensor.

    The module carries:

    - `hone.version` (i64) and `hone.model` (string).
    - `hone.whole_step`, a unit attribute: the package holds `@step` as the user wrote it, differentiated and with its
      updates, in place of `@forward`.
    - `hone.optimizer`, where known: `{name, lr, weight_decay, clip, groups, maximize}` with the optimizer's own
      settings: `beta1, beta2, eps` (adamw), `momentum, nesterov` (sgd), `beta1, beta2` (lion),
      `beta2_decay, eps1, eps2, clip_threshold` (adafactor), `momentum, eps, nesterov, match_rms_adamw` (muon).
      `moments` is `"bf16"` or `"8bit"` where the moments are
      narrower than the parameters. `groups` is an array of `{lr_scale, decay_scale}`: factors on `lr` and
      `weight_decay`. A group may have an optimizer of its own, by `name` and settings as above, without `lr`,
      `weight_decay` and `clip`; settings that it lacks are the defaults of that optimizer.
    - `hone.crossing_attentions` (i64), after the step phase: causal attentions of the step in which documents of a row
      see one another; absent: none.
    - `hone.precision`, the policy of mixed precision that the functions follow: `"fp32"` (also when absent), `"tf32"`,
      `"bf16"`, `"fp16"`, `"bf16-sr"`, `"fp8"`, `"fp8-block"` or `"mxfp8"`. Under `"tf32"` the IR does not change:
      contractions of f32 values may round their operands to 10 bits.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let hasOperationInterfaceFallback = 1; // names of results
  let useDefaultAttributePrinterParser = 1;
}

#endif // HONE_IR_HONEDIALECT_TD
