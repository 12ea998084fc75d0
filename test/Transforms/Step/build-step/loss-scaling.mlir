// Dynamic loss scaling, in whole steps and with micro-batches.
// RUN: hone-opt %s --hone-autodiff=scale-loss --hone-build-step=loss-scale=1024.0 --hone-verify-step | FileCheck %s
// RUN: hone-opt %s --hone-autodiff="scale-loss seed=0.5" --hone-build-step="micro-batches=2 optimizer=sgd" \
// RUN:   --hone-verify-step | FileCheck %s --check-prefix=MICRO
// RUN: hone-opt %s --hone-autodiff=scale-loss --hone-build-step=keep-gradients --hone-verify-step \
// RUN:   | FileCheck %s --check-prefix=KEEP

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {hone.fqn = "loss_scale",
// CHECK-SAME: hone.init = {dist = "constant", value = 1.024000e+03 : f64}, hone.kind = "opt"}
// CHECK-SAME: %[[GOOD:[a-z0-9]+]]: tensor<i64> {hone.fqn = "loss_scale.good_steps",
// CHECK-SAME: %[[UPDATES:[a-z0-9]+]]: tensor<i64> {hone.fqn = "updates",
// CHECK-SAME: %[[CLIP:[a-z0-9]+]]: tensor<f32> {hone.fqn = "clip"
// The scale enters the cotangent of the loss.
// CHECK: %[[ONE:.+]] = hone.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[COTANGENT:.+]] = hone.mul %[[SCALE]], %[[ONE]] : tensor<f32>
// CHECK: %[[GRADIENT:.+]] = hone.broadcast %[[COTANGENT]] dims []
// The norm of what is scaled decides, and its quotient clips.
// CHECK: %[[NORM:.+]] = hone.global_norm %[[G:.+]] : (tensor<8x4xf32>)
// CHECK: %[[INF:.+]] = hone.constant dense<0x7F800000> : tensor<f32>
// CHECK: %[[FINITE:.+]] = hone.cmp lt, %[[NORM]], %[[INF]] : tensor<f32> -> tensor<i1>
// CHECK: %[[TRUE:.+]] = hone.div %[[NORM]], %[[SCALE]] : tensor<f32>
// CHECK: hone.add %[[TRUE]],
// CHECK: %[[CLIPPED:.+]] = hone.select
// CHECK: %[[FACTOR:.+]] = hone.div %[[CLIPPED]], %[[SCALE]] : tensor<f32>
// Growth and back-off.
// CHECK: %[[MORE:.+]] = hone.add %[[GOOD]], %{{.+}} : tensor<i64>
// CHECK: %[[STREAK:.+]] = hone.select %[[FINITE]], %[[MORE]], %{{.+}} : tensor<i1>, tensor<i64>
// CHECK: %[[LIMIT:.+]] = hone.constant dense<2000> : tensor<i64>
// CHECK: %[[GROWS:.+]] = hone.cmp ge, %[[STREAK]], %[[LIMIT]]
// CHECK: %[[TWICE:.+]] = hone.mul %[[SCALE]], %{{.+}} : tensor<f32>
// CHECK: %[[GROWN:.+]] = hone.min %[[TWICE]], %{{.+}} : tensor<f32>
// CHECK: %[[HALF:.+]] = hone.mul %[[SCALE]], %{{.+}} : tensor<f32>
// CHECK: %[[KEPT:.+]] = hone.select %[[GROWS]], %[[GROWN]], %[[SCALE]]
// CHECK: %[[NEXT:.+]] = hone.select %[[FINITE]], %[[KEPT]], %[[HALF]]
// CHECK: %[[NEXTGOOD:.+]] = hone.select %[[GROWS]], %{{.+}}, %[[STREAK]]
// CHECK: %[[MADE:.+]] = hone.cast %[[FINITE]] : tensor<i1> -> tensor<i64>
// CHECK: %[[COUNT:.+]] = hone.add %[[UPDATES]], %[[MADE]]
// CHECK: hone.adamw {{.*}}, %[[G]], {{.*}} step %[[COUNT]] grad_scale %[[FACTOR]] apply %[[FINITE]]
// CHECK: return {{.*}}, %[[NEXT]], %[[NEXTGOOD]], %[[COUNT]], %{{.+}}, %[[TRUE]] :

// Sums of micro-batches have one scale: @accumulate reads it, @update changes it.
// MICRO-LABEL: func.func @accumulate(
// MICRO-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {hone.fqn = "loss_scale",
// MICRO-SAME: hone.init = {dist = "constant", value = 6.553600e+04 : f64}
// MICRO-SAME: hone.kind = "grad"
// MICRO: %[[HALF:.+]] = hone.constant dense<5.000000e-01> : tensor<f32>
// MICRO: hone.mul %[[SCALE]], %[[HALF]]
// MICRO-LABEL: func.func @update(
// MICRO-SAME: "loss_scale"
// MICRO-SAME: hone.fqn = "updates", hone.kind = "opt"}
// MICRO: hone.sgd {{.*}} apply

// Kept gradients are those of the loss.
// KEEP: hone.adamw
// KEEP: %[[B:.+]] = hone.broadcast %{{.+}} dims [] : tensor<f32> -> tensor<8x4xf32>
// KEEP: %[[G:.+]] = hone.div %{{.+}}, %[[B]] : tensor<8x4xf32>
// KEEP: return {{.*}}, %[[G]] :
func.func @forward(
    %w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %0 = hone.mul %w, %x : tensor<8x4xf32>
  %loss = hone.reduce sum %0 dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
