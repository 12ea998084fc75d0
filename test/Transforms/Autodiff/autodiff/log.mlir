// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The cotangent over x.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[LOG:.+]] = hone.log %[[X]]
// CHECK: %[[DIV:.+]] = hone.div %[[C]], %[[X]]
// CHECK: return %{{.+}}, %[[DIV]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.log %x : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
