// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4 report=1}))' \
// RUN:   -verify-diagnostics | FileCheck %s

// Ten rows in chunks of four: logits, loss and gradient of one chunk, then of the next. The weight's gradient starts
// without an addend (beta 0) and is added to from the second chunk on (beta 1).

// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[X:.*]]: tensor<2x5x3xf32>, %[[W:.*]]: tensor<7x3xf32>,
// CHECK-SAME:    %[[G:[a-z0-9]+]]: tensor<f32>)
// CHECK:       %[[WEIGHT:.*]] = hone.div %[[G]], %[[COUNT:.*]] : tensor<f32>
// CHECK:       %[[X0:.*]] = hone.slice %{{.*}} [0, 0] to [4, 3] by [1, 1] : tensor<10x3xf32> -> tensor<4x3xf32>
// CHECK:       %[[L0:.*]] = hone.dot_general %[[X0]], %[[W]] batch [] x [] contract [1] x [1]
// CHECK:       %[[T0:.*]] = hone.slice %{{.*}} [0] to [4] by [1]
// CHECK:       %[[LOSS0:.*]], %[[LSE0:.*]] = hone.cross_entropy none %[[L0]], %[[T0]]
// CHECK:       %[[D0:.*]] = hone.cross_entropy_bwd sum %[[WEIGHT]], %[[L0]], %[[T0]], %[[LSE0]]
// CHECK:       %[[DX0:.*]] = hone.dot_general %[[D0]], %[[W]] batch [] x [] contract [1] x [0]
// CHECK:       %[[DW0:.*]] = hone.dot_general %[[D0]], %{{.*}} batch [] x [] contract [0] x [0]
// CHECK-NOT:   hone.add
// CHECK:       hone.slice %{{.*}} [4, 0] to [8, 3]
// CHECK:       %[[LOSS1:.*]], %{{.*}} = hone.cross_entropy none
// CHECK:       %[[D1:.*]] = hone.cross_entropy_bwd sum %[[WEIGHT]]
// CHECK:       %[[DX1:.*]] = hone.dot_general %[[D1]], %[[W]]
// CHECK:       %[[P1:.*]] = hone.dot_general %[[D1]], %{{.*}} batch [] x [] contract [0] x [0]
// CHECK-NEXT:  %[[DW1:.*]] = hone.add %[[P1]], %[[DW0]]
// CHECK:       hone.slice %{{.*}} [8, 0] to [10, 3]
// CHECK:       %[[LOSS2:.*]], %{{.*}} = hone.cross_entropy none
// CHECK:       %[[DX2:.*]] = hone.dot_general %{{.*}}, %[[W]] {{.*}} contract [1] x [0] : tensor<2x7xf32>
// CHECK:       %[[DW2:.*]] = hone.add %{{.*}}, %[[DW1]]
// CHECK:       %[[ROWS:.*]] = hone.concat %[[LOSS0]], %[[LOSS1]], %[[LOSS2]] dim 0
// CHECK:       %[[SUM:.*]] = hone.reduce sum %[[ROWS]]
// CHECK:       %[[LOSS:.*]] = hone.div %[[SUM]], %[[COUNT]]
// CHECK:       %[[FLAT:.*]] = hone.concat %[[DX0]], %[[DX1]], %[[DX2]] dim 0
// CHECK:       %[[DX:.*]] = hone.reshape %[[FLAT]] : tensor<10x3xf32> -> tensor<2x5x3xf32>
// CHECK:       return %[[LOSS]], %[[DX]], %[[DW2]]
func.func @step(%x: tensor<2x5x3xf32>, %w: tensor<7x3xf32>, %t: tensor<2x5xi64>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<2x5x3xf32>, tensor<7x3xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [2] x [1]
      : tensor<2x5x3xf32>, tensor<7x3xf32> -> tensor<2x5x7xf32>
  %flat = hone.reshape %logits : tensor<2x5x7xf32> -> tensor<10x7xf32>
  %targets = hone.reshape %t : tensor<2x5xi64> -> tensor<10xi64>
  // expected-remark @below {{the loss is computed in 3 chunks of 4 of its 10 rows}}
  %loss, %lse = hone.cross_entropy mean %flat, %targets ignore_index -100 label_smoothing 0.0
      : tensor<10x7xf32>, tensor<10xi64> -> tensor<f32>, tensor<10xf32>
  %d = hone.cross_entropy_bwd mean %g, %flat, %targets, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<10x7xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<10x7xf32>
  %whole = hone.reshape %d : tensor<10x7xf32> -> tensor<2x5x7xf32>
  %dx = hone.dot_general %whole, %w batch [] x [] contract [2] x [0]
      : tensor<2x5x7xf32>, tensor<7x3xf32> -> tensor<2x5x3xf32>
  %dw = hone.dot_general %whole, %x batch [] x [] contract [0, 1] x [0, 1]
      : tensor<2x5x7xf32>, tensor<2x5x3xf32> -> tensor<7x3xf32>
  return %loss, %dx, %dw : tensor<f32>, tensor<2x5x3xf32>, tensor<7x3xf32>
}

// Only the loss is wanted: no gradient.

// CHECK-LABEL: func.func @evaluate(
// CHECK-COUNT-2: hone.cross_entropy none
// CHECK-NOT:     hone.cross_entropy
// CHECK:         hone.reduce sum
// CHECK:         hone.div
func.func @evaluate(%x: tensor<6x3xf32>, %w: tensor<3x7xf32>, %t: tensor<6xi64>) -> tensor<f32> {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [0]
      : tensor<6x3xf32>, tensor<3x7xf32> -> tensor<6x7xf32>
  // expected-remark @below {{the loss is computed in 2 chunks of 4 of its 6 rows}}
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<6x7xf32>, tensor<6xi64> -> tensor<f32>, tensor<6xf32>
  return %loss : tensor<f32>
}
