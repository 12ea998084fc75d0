//===- HoneDialect.td - The hone dialect ------------------------*- tablegen -*-===//

#ifndef HONE_IR_HONEDIALECT_TD
#define HONE_IR_HONEDIALECT_TD

include "mlir/IR/OpBase.td"

def Hone_Dialect : Dialect {
  let name = "hone";
  let cppNamespace = "::hone";
  let summary = "Transformer training graphs on tensors";
  let description = [{
    The ops of a transformer training step: forward, loss, backward, clipping and optimizer, on ranked tensors of static
    shape in row-major order. Every op is pure; state (parameters, optimizer moments, generator keys) enters and leaves
    through function arguments and results, which carry these attributes:

    | attribute | on | meaning |
    |---|---|---|
    | `hone.kind` | arguments, results | `param`, `buffer`, `opt`, `grad`, `input`, `rng`, `scalar`, `working_copy` (parameter `hone.fqn` rounded to the argument's type: derived, in no file); results also `loss`, `grad_norm`, `id_check` (0, or an id outside its table; docs/rationale/ids.md) |
    | `hone.fqn` | arguments, results | the fully qualified name of the tensor in the model (a string) |
    | `hone.aliases` | arguments | other names of the same tensor (tied weights), an array of strings |
    | `hone.requires_grad` | param arguments | unit attribute: a gradient is requested |
    | `hone.param_group` | param arguments | index into the `groups` of the module's `hone.optimizer` |
    | `hone.init` | param, buffer arguments | how a fresh run fills it: `{dist = "normal", mean, std}`, `{dist = "uniform", low, high}`, `{dist = "constant", value}`, `{dist = "file"}` (in the package's safetensors) |
    | `hone.role` | input arguments | `tokens` or `targets` (filled from a token stream), absent: a named input |
    | `hone.vocab` | input arguments | ids must be below this number, which is positive |
    | `hone.ignore` | input arguments | the id besides that files may hold: a loss ignores it, nothing else reads it |
    | `hone.ids` | id_check results, and scalars of `@accumulate` that gather these | what is checked: `{op, size, source}`, the op that reads, the rows or classes of its table, the user's source line |
    | `hone.donates` | results | index of the argument whose storage this result replaces |
    | `hone.parts` | param, buffer, opt, grad arguments and results | the tensors of files that a padded or packed argument holds, an array of `#hone.part`; absent: the argument is its own only part. Beside a `dist.sharding` the boxes are of the whole tensor |

    The module carries `hone.version` (i64), `hone.model` (string) and, where known,
    `hone.optimizer = {name, lr, weight_decay, clip, groups, maximize}` with the optimizer's own settings: `beta1, beta2, eps`
    (adamw), `momentum, nesterov` (sgd), `beta1, beta2` (lion), `beta2_decay, eps1, eps2, clip_threshold` (adafactor), and
    `moments`, `"bf16"` or `"8bit"` where they are not as wide as the parameters. `groups` is an array of
    `{lr_scale, decay_scale}`.

    `hone.precision` is the policy of mixed precision that the functions follow, `"fp32"` (also when absent), `"tf32"`, `"bf16"`,
    `"fp16"` or `"bf16-sr"`; of `"tf32"` it is all there is: contractions of f32 values may round their operands to 10 bits.

    Parts of one argument have distinct names, lie inside its shape and do not overlap; `hone.aliases` are other names of
    its only part. All share the argument's `hone.init`: random values depend on name and index inside the part.

    Contracts between phases are written in docs/design.md.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // HONE_IR_HONEDIALECT_TD
