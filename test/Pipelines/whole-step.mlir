// A package that holds a whole step: the phases from pad to step leave it as it
// is, ids are checked in it, and the later phases run as on any step.
//
// RUN: hone-opt %s --hone-pipeline="upto=step" | FileCheck %s --check-prefix=STEP
// RUN: hone-opt %s --hone-pipeline="upto=plan" | FileCheck %s --check-prefix=PLAN
// RUN: not hone-opt %s --hone-pipeline="upto=step optimizer=lion" -o /dev/null 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not hone-opt %s --hone-pipeline="upto=step micro-batches=2" -o /dev/null 2>&1 | FileCheck %s --check-prefix=MICRO
// RUN: not hone-opt %s --hone-pipeline="upto=step precision=bf16" -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not hone-opt %s --hone-pipeline="upto=step mesh=dp=2" -o /dev/null 2>&1 | FileCheck %s --check-prefix=MESH

// STEP-NOT: func.func @evaluate
// STEP: func.func @step
// STEP-SAME: hone.fqn = "momentum"
// STEP-SAME: {hone.donates = 0 : i64, hone.fqn = "table", hone.kind = "param"}
// STEP-SAME: {hone.donates = 1 : i64, hone.fqn = "momentum", hone.kind = "opt"}
// STEP-SAME: {hone.kind = "loss"}
// STEP-SAME: hone.kind = "id_check"
// STEP-NOT: hone.global_norm

// PLAN: plan.program
// PLAN: plan.argument "momentum" kind "opt"
// PLAN: plan.function @step
// PLAN: plan.result "loss"
// PLAN-NOT: plan.result "grad_norm"
// PLAN-NOT: plan.function

// OPTIMIZER: error: the package holds a whole step, which option 'optimizer' cannot change; expected none, or an export of the loss
// MICRO: error: the package holds a whole step, which option 'micro-batches' cannot change
// PRECISION: error: the package holds a whole step, which option 'precision' cannot change
// MESH: error: the package holds a whole step, which option 'mesh' cannot change

module attributes {hone.version = 2 : i64, hone.model = "toy", hone.whole_step} {
  func.func @step(
      %table: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "table", hone.init = {dist = "constant", value = 1.0 : f64}},
      %momentum: tensor<8x4xf32> {hone.kind = "opt", hone.fqn = "momentum", hone.init = {dist = "constant", value = 0.0 : f64}},
      %ids: tensor<3xi32> {hone.kind = "input", hone.fqn = "ids"})
      -> (tensor<8x4xf32> {hone.kind = "param", hone.fqn = "table", hone.donates = 0 : i64},
          tensor<8x4xf32> {hone.kind = "opt", hone.fqn = "momentum", hone.donates = 1 : i64},
          tensor<f32> {hone.kind = "loss"}) {
    %one = hone.constant dense<1> : tensor<3xi32>
    %next = hone.add %ids, %one : tensor<3xi32>
    %half = hone.constant dense<0.5> : tensor<8x4xf32>
    %x = hone.embedding %table, %next : tensor<8x4xf32>, tensor<3xi32> -> tensor<3x4xf32>
    %squares = hone.mul %x, %x : tensor<3x4xf32>
    %loss = hone.reduce sum %squares dims [0, 1] : tensor<3x4xf32> -> tensor<f32>
    %dx = hone.add %x, %x : tensor<3x4xf32>
    %grad = hone.embedding_bwd %dx, %next : tensor<3x4xf32>, tensor<3xi32> -> tensor<8x4xf32>
    %decayed = hone.mul %momentum, %half : tensor<8x4xf32>
    %moved = hone.add %decayed, %grad : tensor<8x4xf32>
    %update = hone.mul %moved, %half : tensor<8x4xf32>
    %new = hone.sub %table, %update : tensor<8x4xf32>
    return %new, %moved, %loss : tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>
  }
}
