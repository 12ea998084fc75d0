// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The same mask falls on the cotangent: same key, same salt.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[KEY:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[DROPOUT:.+]] = hone.dropout %[[X]], %[[KEY]] p 1.000000e-01 salt 3
// CHECK: %[[DROPOUT2:.+]] = hone.dropout %[[C]], %[[KEY]] p 1.000000e-01 salt 3
// CHECK: return %{{.+}}, %[[DROPOUT2]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %key: tensor<3xi64> {hone.kind = "rng", hone.fqn = "key"},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.dropout %x, %key p 0.1 salt 3 : tensor<4x8xf32>, tensor<3xi64>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
