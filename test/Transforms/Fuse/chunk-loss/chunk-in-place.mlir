// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4},hone-decompose-rows, \
// RUN:   canonicalize,cse,hone-fuse-groups,hone-verify-groups),hone-plan-memory,hone-verify-plan)' \
// RUN:   | FileCheck %s

// One chunk's logits are live at a time, at one place; their gradient is written over them. The weight's gradient is
// accumulated where its first part was written. No launch copies the rows: slices are views, and each chunk writes its
// part of the input's gradient in place.

// The first chunk:
// CHECK-NOT:  plan.launch data_movement
// CHECK:      %[[X0:.*]] = plan.view %[[X:.*]] at 0 : memref<8x3xf32> to memref<4x3xf32>
// CHECK:      %[[L0:.*]] = plan.buffer at [[LOGITS:[0-9]+]] : memref<4x64xf32>
// CHECK-NEXT: plan.launch contraction ins(%[[X0]], %[[W:.*]] : {{.*}}) outs(%[[L0]] :
// CHECK-NOT:  plan.launch data_movement
// CHECK:      %[[ROWS0:.*]] = plan.view %[[ROWS:.*]] at 0 : memref<8xf32> to memref<4xf32>
// CHECK:      %[[D0:.*]] = plan.buffer at [[LOGITS]] : memref<4x64xf32>
// CHECK-NEXT: plan.launch row ins(%[[L0]]{{.*}} outs(%[[ROWS0]], %[[D0]] :
// CHECK:      %[[DX0:.*]] = plan.view %[[DX:.*]] at 0 : memref<24xf32> to memref<4x3xf32>
// CHECK-NEXT: plan.launch contraction ins(%[[D0]], %[[W]] : {{.*}}) outs(%[[DX0]] :
// CHECK:      %[[DW0:.*]] = plan.buffer at [[SUM:[0-9]+]] : memref<64x3xf32>
// CHECK-NEXT: plan.launch contraction ins(%[[D0]], %[[X0]] : {{.*}}) outs(%[[DW0]] :

// The second:
// CHECK-NOT:  plan.launch data_movement
// CHECK:      %[[X1:.*]] = plan.view %[[X]] at 48 : memref<8x3xf32> to memref<4x3xf32>
// CHECK:      %[[L1:.*]] = plan.buffer at [[LOGITS]] : memref<4x64xf32>
// CHECK-NEXT: plan.launch contraction ins(%[[X1]], %[[W]] : {{.*}}) outs(%[[L1]] :
// CHECK-NOT:  plan.launch data_movement
// CHECK:      %[[ROWS1:.*]] = plan.view %[[ROWS]] at 16
// CHECK:      %[[D1:.*]] = plan.buffer at [[LOGITS]] : memref<4x64xf32>
// CHECK-NEXT: plan.launch row ins(%[[L1]]{{.*}} outs(%[[ROWS1]], %[[D1]] :
// CHECK:      %[[DX1:.*]] = plan.view %[[DX]] at 48
// CHECK-NEXT: plan.launch contraction ins(%[[D1]], %[[W]] : {{.*}}) outs(%[[DX1]] :
// CHECK:      %[[DW1:.*]] = plan.buffer at [[SUM]] : memref<64x3xf32>
// CHECK-NEXT: plan.launch contraction ins(%[[D1]], %[[X1]], %[[DW0]] : {{.*}}) outs(%[[DW1]] :
// CHECK-NOT:  plan.launch data_movement
// CHECK:      plan.result "grad.w", %[[DW1]]
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
