// RUN: hone-opt %s --pass-pipeline="builtin.module(func.func(hone-sink-reshapes))" | FileCheck %s

// A constraint is one of the flattened rows.

dist.mesh @mesh [<"dp" = 2>]
// CHECK-LABEL: func.func @flat(
// CHECK: %[[F:.+]] = hone.reshape %{{.+}} : tensor<2x16x8xf32> -> tensor<32x8xf32>
// CHECK: dist.constrain %[[F]] to <{"dp"}, {}> : tensor<32x8xf32>
func.func @flat(%x: tensor<2x16x4xf32>, %w: tensor<4x8xf32>) -> tensor<32x8xf32> {
  %rows = hone.reshape %x : tensor<2x16x4xf32> -> tensor<32x4xf32>
  %y = hone.dot_general %rows, %w batch [] x [] contract [1] x [0] : tensor<32x4xf32>, tensor<4x8xf32> -> tensor<32x8xf32>
  %c = dist.constrain %y to <{"dp"}, {}> : tensor<32x8xf32>
  %n = hone.neg %c : tensor<32x8xf32>
  return %n : tensor<32x8xf32>
}
