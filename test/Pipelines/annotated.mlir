// The shard phase divides what a user annotated, by no option; a module without a mesh stays whole.
// RUN: hone-opt %s --hone-pipeline="upto=step micro-batches=2" | FileCheck %s --check-prefix=STEP
// RUN: hone-opt %s --hone-pipeline="upto=shard micro-batches=2" | FileCheck %s
// RUN: hone-opt %s --hone-pipeline="upto=shard without=dist-bucket-collectives" | FileCheck %s --check-prefix=WHOLE-STEP
// RUN: not hone-opt %s --hone-pipeline="upto=shard mesh=dp=2" 2>&1 | FileCheck %s --check-prefix=RECIPE
// RUN: hone-opt %fixtures/gpt2_tiny.hone/graph.mlir --hone-pipeline="upto=shard" | FileCheck %s --check-prefix=NONE

// Annotations come through the phases before, on arguments that the model has.
// STEP: dist.mesh @mesh
// STEP-LABEL: func.func @evaluate
// STEP: dist.constrain
// STEP-LABEL: func.func @accumulate
// STEP-SAME: %{{[a-z0-9]+}}: tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.fqn = "up"
// STEP-SAME: tensor<32x8xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>, hone.fqn = "x"
// STEP-SAME: tensor<16x8xf32> {hone.fqn = "up", hone.kind = "grad"}
// STEP-COUNT-2: dist.constrain %{{.+}} to <{"dp"}, {"tp"}> : tensor<32x16xf32>
// STEP-LABEL: func.func @update
// STEP-SAME: %{{[a-z0-9]+}}: tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.fqn = "up"

// Micro-batches sum what they need between each other (what tp has terms of); the update what the batch has.
// CHECK-LABEL: func.func @accumulate
// CHECK-SAME: tensor<4x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.fqn = "up"
// CHECK-SAME: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>, hone.fqn = "down"
// CHECK-SAME: tensor<4x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {} partial sum ["dp"]>, hone.fqn = "up", hone.kind = "grad"
// CHECK: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<16x8xf32>
// CHECK-NOT: over ["dp"] : tensor<4x8xf32>
// CHECK-LABEL: func.func @update
// CHECK-SAME: tensor<4x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.fqn = "exp_avg.up"
// CHECK: dist.all_reduce sum %{{.+}} over ["dp"]
// WHOLE-STEP-LABEL: func.func @step
// WHOLE-STEP: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<16x8xf32>
// WHOLE-STEP: dist.all_reduce sum %{{.+}} over ["dp"] : tensor<4x8xf32>

// RECIPE: error: 'dist.mesh' op says already how ranks divide the module, expected no recipe (--mesh, --recipe) besides
// NONE-NOT: dist.

module attributes {hone.optimizer = {name = "adamw", lr = 1.0e-3 : f64, weight_decay = 0.1 : f64, beta1 = 0.9 : f64, beta2 = 0.95 : f64,
    eps = 1.0e-8 : f64, clip = 1.0 : f64, groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64}]}} {
  dist.mesh @mesh [<"dp" = 2>, <"tp" = 4>]
  func.func @forward(
      %up: tensor<16x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.kind = "param", hone.fqn = "up", hone.requires_grad,
          hone.param_group = 0 : i64, hone.init = {dist = "constant", value = 0.0 : f64}},
      %down: tensor<8x16xf32> {hone.kind = "param", hone.fqn = "down", hone.requires_grad,
          hone.param_group = 0 : i64, hone.init = {dist = "constant", value = 0.0 : f64}},
      %x: tensor<32x8xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>, hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %h = hone.dot_general %x, %up batch [] x [] contract [1] x [1] : tensor<32x8xf32>, tensor<16x8xf32> -> tensor<32x16xf32>
    %c = dist.constrain %h to <{"dp"}, {"tp"}> : tensor<32x16xf32>
    %a = hone.gelu erf %c : tensor<32x16xf32>
    %y = hone.dot_general %a, %down batch [] x [] contract [1] x [1] : tensor<32x16xf32>, tensor<8x16xf32> -> tensor<32x8xf32>
    %e = hone.mul %y, %y : tensor<32x8xf32>
    %l = hone.reduce sum %e dims [0, 1] : tensor<32x8xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}
