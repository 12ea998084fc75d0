// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4},hone-decompose-rows,canonicalize,cse,hone-fuse-groups,hone-verify-groups),hone-plan-memory,hone-verify-plan)' \
// RUN:   | FileCheck %s

// One chunk's logits are live at a time, at one place; their gradient is written over them. The weight's gradient is
// accumulated where its first part was written. No launch copies the rows: slices are views, and each chunk writes its
// part of the input's gradient in place.

// CHECK-NOT:  plan.launch move
// CHECK:      plan.launch contraction {{.*}} outs(%[[L0:[a-z0-9]+]] : memref<4x64xf32>)
// CHECK-NOT:  plan.launch move
// CHECK:      plan.launch row {{.*}} outs(%{{.*}}, %[[D0:[a-z0-9]+]] : memref<4xf32>, memref<4x64xf32>)
func.func @step(%x: tensor<8x3xf32> {hone.kind = "input", hone.fqn = "x"},
    %w: tensor<64x3xf32> {hone.kind = "param", hone.fqn = "w"},
    %t: tensor<8xi64> {hone.kind = "input", hone.fqn = "t"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<8x3xf32> {hone.kind = "grad", hone.fqn = "x"},
        tensor<64x3xf32> {hone.kind = "grad", hone.fqn = "w"}) {
  %one = hone.constant dense<1.0> : tensor<f32>
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x3xf32>, tensor<64x3xf32> -> tensor<8x64xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<8x64xf32>, tensor<8xi64> -> tensor<f32>, tensor<8xf32>
  %d = hone.cross_entropy_bwd mean %one, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<8x64xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x64xf32>
  %dx = hone.dot_general %d, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x3xf32> -> tensor<8x3xf32>
  %dw = hone.dot_general %d, %x batch [] x [] contract [0] x [0]
      : tensor<8x64xf32>, tensor<8x3xf32> -> tensor<64x3xf32>
  return %loss, %dx, %dw : tensor<f32>, tensor<8x3xf32>, tensor<64x3xf32>
}
