// The norm of gradients of several stages is the root of the sum of their squares. It is summed together with the loss.
// RUN: hone-opt %s --dist-split-stages | FileCheck %s

// CHECK-LABEL: module @stage1
// CHECK: func.func @update(
// CHECK: %[[N:.*]] = hone.global_norm %{{.*}} : (tensor<8xf32>)
// CHECK-NEXT: %[[NN:.*]] = hone.mul %[[N]], %[[N]]
// CHECK: %[[SQUARE:.*]] = hone.reshape %[[NN]]
// CHECK-NEXT: %[[TERMS:.*]] = hone.concat %{{.*}}, %[[SQUARE]]
// CHECK-NEXT: %[[SUM:.*]] = dist.stage_sum %[[TERMS]]
// CHECK-NEXT: %[[PART:.*]] = hone.slice %[[SUM]] [1] to [2]
// CHECK-NEXT: %[[S:.*]] = hone.reshape %[[PART]]
// CHECK-NEXT: %[[NORM:.*]] = hone.sqrt %[[S]]
// CHECK-NOT: dist.stage_sum
// CHECK: return %{{.*}}, %[[NORM]],
module attributes {dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  func.func @accumulate(%v: tensor<8xf32> {hone.kind = "param", hone.fqn = "v"},
      %w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}, %x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"},
      %sum: tensor<f32> {hone.kind = "scalar", hone.fqn = "loss"})
      -> (tensor<f32> {hone.kind = "scalar", hone.fqn = "loss", hone.donates = 3 : i64}) {
    %h = hone.mul %v, %x : tensor<8xf32>
    %h1 = dist.boundary %h from 0 to 1 : tensor<8xf32>
    %y = hone.mul %h1, %w : tensor<8xf32>
    %loss = hone.reduce sum %y dims [0] : tensor<8xf32> -> tensor<f32>
    %new = hone.add %sum, %loss : tensor<f32>
    return %new : tensor<f32>
  }
  func.func @update(%v: tensor<8xf32> {hone.kind = "param", hone.fqn = "v"},
      %w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}, %gv: tensor<8xf32> {hone.kind = "grad", hone.fqn = "v"},
      %gw: tensor<8xf32> {hone.kind = "grad", hone.fqn = "w"})
      -> (tensor<8xf32> {hone.kind = "param", hone.fqn = "v", hone.donates = 0 : i64},
          tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 1 : i64},
          tensor<f32> {hone.kind = "grad_norm"}) {
    %norm = hone.global_norm %gv, %gw : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %v1 = hone.add %v, %gv : tensor<8xf32>
    %w1 = hone.add %w, %gw : tensor<8xf32>
    return %v1, %w1, %norm : tensor<8xf32>, tensor<8xf32>, tensor<f32>
  }
}
