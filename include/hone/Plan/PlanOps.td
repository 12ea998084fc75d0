//===- PlanOps.td - The scheduled program ----------------------*- tablegen -*-===//

#ifndef HONE_PLAN_PLANOPS_TD
#define HONE_PLAN_PLANOPS_TD

include "hone/Sharding/IR/DistAttrs.td"
include "hone/IR/HoneEnums.td"
include "hone/Plan/PlanEnums.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::hone::plan";
  let summary = "The scheduled program: buffers at arena offsets, launches in order";
  let dependentDialects = ["::hone::HoneDialect", "::hone::dist::DistDialect"];
  let hasOperationInterfaceFallback = 1; // names of results
  let description = [{
    The plan phase writes this dialect from the tensor functions, and the lower phase reads it. A `plan.program` owns
    one arena of bytes. Its arguments are state at fixed offsets. Its functions are lists of launches, run in order,
    that read and write buffers of the arena. The size of the arena is the peak memory of the program: nothing else that
    scales with the model is allocated.
  }];
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

def Plan_ProgramOp : Plan_Op<"program", [Symbol, SymbolTable, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "A training program over one arena";
  let description = [{
    The op holds the arguments and the functions of a program. `arena` is the size of the arena in bytes.

    With `stage`, the program is that of one stage of a pipeline, numbered from 0: a module then has one for each stage,
    and each says with `plan.actions` in which order its functions run.

    With `host`, there is a second arena of so many bytes, beyond the memory that kernels read: a file of a CPU's
    program. Arguments may lie in it; `plan.copy` moves bytes between it and the arena.

    (C1) `arena` is a non-negative multiple of 64. (C2) `stage` is not negative. (C3) `host` is a positive multiple of
    64.

    `categories` maps kinds of memory to bytes of the arena at its fullest point. `gaps` are the bytes that no buffer
    needs there. The categories add up to the arena.

    Example:

    ```mlir
    plan.program @gpt2 arena 4096 {
      plan.argument "w" kind "param" at 0 : tensor<8x64xf32>
      plan.function @step {
        %w = plan.buffer at 0 : memref<8x64xf32>
        %y = plan.buffer at 2048 : memref<8x64xf32> for temporaries
        plan.launch map ins(%w : memref<8x64xf32>) outs(%y : memref<8x64xf32>) {
        ^bb0(%a: tensor<8x64xf32>):
          %s = hone.neg %a : tensor<8x64xf32>
          plan.yield %s : tensor<8x64xf32>
        }
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$arena, OptionalAttr<DictionaryAttr>:$categories,
                       OptionalAttr<I64Attr>:$stage, OptionalAttr<I64Attr>:$host);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `arena` $arena (`host` $host^)? (`stage` $stage^)? (`categories` $categories^)? attr-dict-with-keyword
    $body
  }];
  let hasVerifier = 1;
}

def Plan_ArgumentOp : Plan_Op<"argument", [HasParent<"ProgramOp">]> {
  let summary = "State that stays in the arena between calls";
  let description = [{
    The op places an argument of the program's functions at byte `offset` of the arena. `kind`, `init`, `role`, `vocab`,
    `aliases` and `parts` are those of the function argument (see the hone dialect). So are `hone.ignore` and
    `hone.ids`, where the op has them. With `sharding`, the argument is a rank's shard of a global tensor, and `parts`
    are boxes of that global tensor. `changes` marks a buffer to which a function writes: files of weights hold it.
    `window` is the number of instances of what a stage of a pipeline keeps for several micro-batches: micro-batch i has
    number i mod `window`, each behind the one before at a multiple of 64 bytes. Functions are written for instance 0,
    and those of two micro-batches (`plan.run`) for instances 0 and 1.
    With `host`, it lies at byte `offset` of the second arena, and has one instance.

    (C1) `offset` is a multiple of 64 and all instances end inside the arena. (C2) `window` is at least 1, and 1 of an
    argument with `host`.
  }];
  let arguments = (ins StrAttr:$fqn, StrAttr:$kind, I64Attr:$offset, TypeAttr:$type,
                       OptionalAttr<DictionaryAttr>:$init, OptionalAttr<StrAttr>:$role,
                       OptionalAttr<I64Attr>:$vocab, OptionalAttr<ArrayAttr>:$aliases,
                       OptionalAttr<ArrayAttr>:$parts, OptionalAttr<Dist_ShardingAttr>:$sharding,
                       UnitAttr:$changes, DefaultValuedAttr<I64Attr, "1">:$window, UnitAttr:$host);
  let assemblyFormat = "$fqn `kind` $kind (`host` $host^)? `at` $offset (`window` $window^)? `:` $type attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The first byte behind the last instance.
    int64_t getEnd();
  }];
}

def Plan_FunctionOp : Plan_Op<"function", [Symbol, HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let summary = "A list of launches, run in order";
  let description = [{
    The op is a function that the runtime calls: `step`, `accumulate`, `update` or `evaluate`. The lists of a stage call
    `update`, `evaluate`, and `accumulate` or its parts: `forward` and `backward`, or in place of the latter
    `backward_input` and `backward_weight`; and `overlap`, a forward and a backward part of two micro-batches.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Plan_BufferOp : Plan_Op<"buffer", [Pure, HasParent<"FunctionOp">]> {
  let summary = "A tensor at a fixed offset of the arena";
  let description = [{
    The op names the bytes of the arena from `offset` on as a tensor in memory. Strides are in elements, row-major
    unless the type says otherwise. `purpose` is for reports; buffers of state have none:

    | purpose | buffers |
    |---|---|
    | `activations` | computed on the way to the loss and read after it |
    | `gradients` | gradients of parameters, until the update or the end |
    | `workspaces` | scratch memory of one launch |
    | `temporaries` | all others |

    (C1) The strides are static and the buffer lies inside the arena.
  }];
  let arguments = (ins I64Attr:$offset, OptionalAttr<Plan_PurposeAttr>:$purpose);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "`at` $offset attr-dict `:` type($result) (`for` $purpose^)?";
  let hasVerifier = 1;
}

def Plan_ViewOp : Plan_Op<"view", [Pure, HasParent<"FunctionOp">]> {
  let summary = "A buffer with another shape, or a slice of it";
  let description = [{
    The op names the bytes of `base` from `offset` on, with another shape or other strides. Writing through a view
    writes the base.

    (C1) The strides are static and the view lies inside the arena.
  }];
  let arguments = (ins AnyStaticShapeMemRef:$base, I64Attr:$offset);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "$base `at` $offset attr-dict `:` type($base) `to` type($result)";
  let hasVerifier = 1;
}

def Plan_LaunchOp : Plan_Op<"launch", [HasParent<"FunctionOp">, SingleBlock, IsolatedFromAbove,
                                       AttrSizedOperandSegments]> {
  let summary = "One run of a kernel or one library call";
  let description = [{
    The op runs its body once. The body computes tensors from tensors, like that of a `hone.fused`: block arguments are
    the contents of `inputs`, and the yielded values are written to `outputs`. An output may lie on an input (in place)
    where the family allows it. The kernel may use `scratch` freely; its contents are undefined before and after.

    (C1) Block arguments and yielded tensors have the shapes and element types of the buffers.
  }];
  let arguments = (ins Hone_KernelFamilyAttr:$family, Variadic<AnyStaticShapeMemRef>:$inputs,
                       Variadic<AnyStaticShapeMemRef>:$outputs, Variadic<AnyStaticShapeMemRef>:$scratch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $family (`ins` `(` $inputs^ `:` type($inputs) `)`)? (`outs` `(` $outputs^ `:` type($outputs) `)`)?
    (`scratch` `(` $scratch^ `:` type($scratch) `)`)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ ::mlir::Block &getBodyBlock() { return getBody().front(); } }];
}

def Plan_CopyOp : Plan_Op<"copy", [HasParent<"FunctionOp">]> {
  let summary = "The beginning of a copy between the two arenas";
  let description = [{
    The op begins to copy the bytes of `buffer` from the second arena, where they lie at `offset` (`up`), or to it
    (`down`). Copies of one direction are done in their order, beside launches and copies of the other direction. Until
    the `plan.wait` of `token`, which several copies may share, the buffer and the bytes of the second arena belong to
    the copy.

    (C1) `offset` is a multiple of 64 and the copy ends inside the second arena. (C2) The buffer is one run of memory.
    (C3) `token` is not negative.

    Example:

    ```mlir
    plan.program @offloaded arena 512 host 256 {
      plan.argument "exp_avg.w" kind "opt" host at 0 : tensor<64xf32>
      plan.function @step {
        %m = plan.buffer at 0 : memref<64xf32> for temporaries
        plan.copy up %m at 0 token 0 : memref<64xf32>
        plan.wait 0
        plan.copy down %m at 0 token 1 : memref<64xf32>
        plan.wait 1
        %y = plan.buffer at 256 : memref<64xf32> for temporaries
      }
    }
    ```
  }];
  let arguments = (ins Plan_DirectionAttr:$direction, AnyStaticShapeMemRef:$buffer, I64Attr:$offset, I64Attr:$token);
  let assemblyFormat = "$direction $buffer `at` $offset `token` $token attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Plan_WaitOp : Plan_Op<"wait", [HasParent<"FunctionOp">]> {
  let summary = "The end of copies between the two arenas";
  let description = [{
    The op ends all copies of the function with `token` that have begun: what follows sees what they have done.

    (C1) A copy before it has begun with `token`, and no other op has waited for it.
  }];
  let arguments = (ins I64Attr:$token);
  let assemblyFormat = "$token attr-dict";
  let hasVerifier = 1;
}

def Plan_YieldOp : Plan_Op<"yield", [Pure, ReturnLike, Terminator, HasParent<"LaunchOp">]> {
  let summary = "The values that a launch writes to its outputs";
  let description = [{
    The op ends the body of a `plan.launch`.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Plan_ResultOp : Plan_Op<"result", [HasParent<"FunctionOp">]> {
  let summary = "A value that the runtime reads after the function";
  let description = [{
    The op names a buffer. `name` is `loss`, `grad_norm`, `grad.<fqn>`, or that of a check of ids, which also has
    `hone.ids`.
  }];
  let arguments = (ins StrAttr:$name, AnyStaticShapeMemRef:$buffer);
  let assemblyFormat = "$name `,` $buffer attr-dict `:` type($buffer)";
}

def Plan_ActionsOp : Plan_Op<"actions", [HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let summary = "What a stage of a pipeline does, in order";
  let description = [{
    The op is a list of `plan.run` and `plan.transfer`, which the runtime goes through: "step", or "evaluate", once per
    batch of a validation. Its rules are those of `honert_action` in runtime/include/honert/abi.def.

    (C1) `name` is "step" or "evaluate". (C2) The program is of a stage and has no other list of the name.

    Example:

    ```mlir
    plan.program @stage1 arena 128 stage 1 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.function @evaluate {
      }
      plan.actions "evaluate" {
        plan.transfer receive "boundary" "stage1" micro 0 peer 0
        plan.transfer await_receive "boundary" "stage1" micro 0 peer 0
        plan.run @evaluate micro 0
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Plan_RunOp : Plan_Op<"run", [HasParent<"ActionsOp">]> {
  let summary = "A run of a function for one micro-batch";
  let description = [{
    The op runs `function` on the inputs and the random key of micro-batch `micro`. What the function reads and writes of
    windows (`plan.argument`) is the instance of the micro-batch.

    With `beside`, the function runs the forward part of `micro` together with the backward part of micro-batch
    `beside`: what it reads and writes of instance 1 of a window is the instance of the latter. Inputs and random key
    are those of `micro`.

    (C1) The program has the function. (C2) `micro` and `beside` are not negative. (C3) Only the list "step" has `beside`.

    Example:

    ```mlir
    plan.program @stage0 arena 128 stage 0 {
      plan.argument "saved.0" kind "saved" at 0 window 2 : tensor<16xf32>
      plan.function @overlap {
        %of_forward = plan.buffer at 0 : memref<16xf32>
        %of_backward = plan.buffer at 64 : memref<16xf32>
      }
      plan.actions "step" {
        plan.run @overlap micro 1 beside 0
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$function, I64Attr:$micro, OptionalAttr<I64Attr>:$beside);
  let assemblyFormat = "$function `micro` $micro (`beside` $beside^)? attr-dict";
}

def Plan_TransferOp : Plan_Op<"transfer", [HasParent<"ActionsOp">]> {
  let summary = "The beginning or the end of a message between stages";
  let description = [{
    The op begins or ends a message of the argument `fqn` of kind `kind`, the instance of micro-batch `micro`, to or from
    stage `peer`, which sends or receives an argument of that name:

    | transfer | |
    |---|---|
    | `send` | begins to send |
    | `receive` | begins to receive |
    | `await_receive` | what was received may be read |
    | `await_send` | the instance may be written again |

    (C1) The program has the argument. (C2) `micro` is not negative. (C3) `peer` is another stage.
  }];
  let arguments = (ins Plan_TransferAttr:$transfer, StrAttr:$kind, StrAttr:$fqn, I64Attr:$micro, I64Attr:$peer);
  let assemblyFormat = "$transfer $kind $fqn `micro` $micro `peer` $peer attr-dict";
}

#endif // HONE_PLAN_PLANOPS_TD
