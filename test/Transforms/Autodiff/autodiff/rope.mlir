// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// A rotation's adjoint is its inverse.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[COS:[a-z0-9]+]]: tensor{{.*}}, %[[SIN:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[ROPE:.+]] = hone.rope half %[[X]], %[[COS]], %[[SIN]]
// CHECK: %[[ROPE2:.+]] = hone.rope half inverse %[[C]], %[[COS]], %[[SIN]]
// CHECK: return %{{.+}}, %[[ROPE2]]

func.func @forward(%x: tensor<2x4x3x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %cos: tensor<4x4xf32> {hone.kind = "input", hone.fqn = "cos"},
    %sin: tensor<4x4xf32> {hone.kind = "input", hone.fqn = "sin"},
    %c: tensor<2x4x3x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.rope half %x, %cos, %sin : tensor<2x4x3x8xf32>, tensor<4x4xf32>
  %weighted = hone.mul %y, %c : tensor<2x4x3x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1, 2, 3] : tensor<2x4x3x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
