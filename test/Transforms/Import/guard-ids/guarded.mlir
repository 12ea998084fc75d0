// RUN: hone-opt %s --hone-bound-ids --hone-guard-ids | FileCheck %s
// RUN: hone-opt %s --hone-bound-ids --hone-guard-ids -o %t
// RUN: hone-run --eval %t | FileCheck %s --check-prefix=FOUND

// An id that comes from a float may be anything: 0 is read in its place, and one of them is a result besides the loss.
// Two readers of one bound share a guard.

// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<f32> {hone.kind = "loss"}, tensor<i64> {hone.fqn = "ids.0", hone.ids = {op = "embedding", size = 7 : i64, source = "{{.*}}guarded.mlir:[[#@LINE+15]]:8"}, hone.kind = "id_check"})
// CHECK: %[[IDS:.+]] = hone.cast %{{.+}} : tensor<2x3xf32> -> tensor<2x3xi32>
// CHECK: %[[NOT_BELOW:.+]] = hone.cmp{{ +}}ge, %[[IDS]]
// CHECK: %[[NOT_ABOVE:.+]] = hone.cmp{{ +}}lt, %[[IDS]]
// CHECK: %[[INSIDE:.+]] = hone.and %[[NOT_BELOW]], %[[NOT_ABOVE]]
// CHECK: %[[SAFE:.+]] = hone.select %[[INSIDE]], %[[IDS]]
// CHECK: %[[ROWS:.+]] = hone.reduce{{ +}}max %{{.+}} dims [1] : tensor<2x3xi32> -> tensor<2xi32>
// CHECK: hone.reduce{{ +}}max %[[ROWS]] dims [0] : tensor<2xi32> -> tensor<i32>
// CHECK: hone.embedding %{{.+}}, %[[SAFE]]
// CHECK: hone.embedding %{{.+}}, %[[SAFE]]
// FOUND: -3
func.func @forward() -> (tensor<f32> {hone.kind = "loss"}) {
  %w = hone.constant dense<1.0> : tensor<7x4xf32>
  %x = hone.constant dense<[[0.5, -3.0, 1.0], [6.9, 2.0, 0.0]]> : tensor<2x3xf32>
  %ids = hone.cast %x : tensor<2x3xf32> -> tensor<2x3xi32>
  %a = hone.embedding %w, %ids : tensor<7x4xf32>, tensor<2x3xi32> -> tensor<2x3x4xf32>
  %b = hone.embedding %w, %ids : tensor<7x4xf32>, tensor<2x3xi32> -> tensor<2x3x4xf32>
  %y = hone.add %a, %b : tensor<2x3x4xf32>
  %loss = hone.reduce sum %y dims [0, 1, 2] : tensor<2x3x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
