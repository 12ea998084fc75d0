// The loss scale is an operand of the cross entropy's backward op: no pass over the logits, nor over
// gradients, multiplies or divides by it.
// RUN: hone-opt %s --hone-pipeline="upto=step precision=fp16" | FileCheck %s

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {hone.fqn = "loss_scale"
// CHECK-NOT: %[[SCALE]]
// CHECK: hone.cross_entropy_bwd mean %[[SCALE]], %{{.+}} : (tensor<f32>, tensor<6x11xf16>, {{.*}} -> tensor<6x11xf16>
// CHECK: %[[NORM:.+]] = hone.global_norm
// CHECK-NOT: %[[SCALE]]{{.*}}x11x
// CHECK: hone.div %[[NORM]], %[[SCALE]] : tensor<f32>
// CHECK: hone.div %{{.+}}, %[[SCALE]] : tensor<f32>
// CHECK-NOT: %[[SCALE]] {{.*}}tensor<{{[0-9]}}
// CHECK: return
module attributes {hone.version = 2 : i64} {
  func.func @forward(
      %w: tensor<11x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
          hone.init = {dist = "normal", mean = 0.0, std = 0.02}},
      %x: tensor<6x4xf32> {hone.kind = "input", hone.fqn = "x"},
      %t: tensor<6xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %l = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
        : tensor<6x4xf32>, tensor<11x4xf32> -> tensor<6x11xf32>
    %loss, %lse = hone.cross_entropy mean %l, %t ignore_index -100 label_smoothing 0.0
        : tensor<6x11xf32>, tensor<6xi64> -> tensor<f32>, tensor<6xf32>
    return %loss : tensor<f32>
  }
}
