// RUN: hone-opt %s --hone-low-gradients --canonicalize | FileCheck %s
// RUN: hone-opt %s --hone-low-gradients=type=f32 --canonicalize | FileCheck %s --check-prefix=WIDE

module attributes {hone.precision = "bf16"} {
  // WIDE-NOT: hone.dot_general {{.*}} -> tensor<8x4xbf16>
  // A product writes bf16, behind a move too; of a table, rows are rounded before its kernel adds them up; a vector
  // stays f32. What else reads a gradient reads the bf16 that the update does, widened.
  // CHECK-LABEL: @step
  // CHECK-SAME: -> (tensor<8x4xf32> {{.*}}, tensor<6x4xf32> {{.*}}, tensor<4xf32>
  // CHECK-SAME: tensor<8x4xbf16> {hone.fqn = "w", hone.kind = "grad"}
  func.func @step(
      %w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
      %t: tensor<6x4xf32> {hone.kind = "param", hone.fqn = "t", hone.requires_grad},
      %v: tensor<4xf32> {hone.kind = "param", hone.fqn = "v", hone.requires_grad},
      %x: tensor<3x4xbf16> {hone.kind = "input", hone.fqn = "x"},
      %g: tensor<3x8xbf16> {hone.kind = "input", hone.fqn = "g"},
      %r: tensor<3x4xf32> {hone.kind = "input", hone.fqn = "r"},
      %ids: tensor<3xi64> {hone.kind = "input", hone.fqn = "ids"},
      %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"})
      -> (tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
          tensor<6x4xf32> {hone.kind = "param", hone.fqn = "t", hone.donates = 1 : i64},
          tensor<4xf32> {hone.kind = "param", hone.fqn = "v", hone.donates = 2 : i64},
          tensor<f32> {hone.kind = "grad_norm"},
          tensor<8x4xf32> {hone.kind = "grad", hone.fqn = "w"},
          tensor<6x4xf32> {hone.kind = "grad", hone.fqn = "t"}) {
    // CHECK: %[[DOT:.+]] = hone.dot_general {{.*}} -> tensor<4x8xbf16>
    // CHECK: %[[DW:.+]] = hone.transpose %[[DOT]] [1, 0] : tensor<4x8xbf16> -> tensor<8x4xbf16>
    %dot = hone.dot_general %x, %g batch [] x [] contract [0] x [0]
        : tensor<3x4xbf16>, tensor<3x8xbf16> -> tensor<4x8xf32>
    %dw = hone.transpose %dot [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
    // CHECK: %[[T:.+]] = hone.embedding_bwd {{.*}} : tensor<3x4xf32>, tensor<3xi64> -> tensor<6x4xf32>
    // CHECK: %[[DT:.+]] = hone.cast %[[T]] : tensor<6x4xf32> -> tensor<6x4xbf16>
    // CHECK: %[[READ:.+]] = hone.cast %[[DT]] : tensor<6x4xbf16> -> tensor<6x4xf32>
    %dt = hone.embedding_bwd %r, %ids : tensor<3x4xf32>, tensor<3xi64> -> tensor<6x4xf32>
    %dv = hone.reduce sum %r dims [0] : tensor<3x4xf32> -> tensor<4xf32>
    // CHECK: hone.global_norm %[[DW]], %[[DT]], %{{.+}} : (tensor<8x4xbf16>, tensor<6x4xbf16>, tensor<4xf32>)
    %n = hone.global_norm %dw, %dt, %dv : (tensor<8x4xf32>, tensor<6x4xf32>, tensor<4xf32>) -> tensor<f32>
    // CHECK: hone.sgd %arg0, %[[DW]]
    %w1 = hone.sgd %w, %dw lr %lr weight_decay %lr grad_scale %n
        : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8x4xf32>
    // CHECK: hone.sgd %arg1, %[[DT]]
    %t1 = hone.sgd %t, %dt lr %lr weight_decay %lr grad_scale %n
        : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<6x4xf32>
    %v1 = hone.sgd %v, %dv lr %lr weight_decay %lr grad_scale %n
        : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
    // CHECK: hone.exp %[[READ]]
    %kept = hone.exp %dt : tensor<6x4xf32>
    return %w1, %t1, %v1, %n, %dw, %kept : tensor<8x4xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<f32>,
        tensor<8x4xf32>, tensor<6x4xf32>
  }
}
