// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The input's gradient is one op; that of the scale is a column sum.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[S:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[Y:.+]], %[[RSTD:.+]] = hone.rms_norm %[[X]] scale %[[S]] eps 1.000000e-05
// CHECK: %[[DX:.+]] = hone.rms_norm_bwd %[[C]], %[[X]], %[[RSTD]] scale %[[S]]
// CHECK: %[[BROADCAST:.+]] = hone.broadcast %[[RSTD]] dims [0, 1] : {{.*}}-> tensor<2x4x8xf32>
// CHECK: %[[MUL:.+]] = hone.mul %[[X]], %[[BROADCAST]]
// CHECK: %[[MUL2:.+]] = hone.mul %[[C]], %[[MUL]]
// CHECK: %[[REDUCE:.+]] = hone.reduce sum %[[MUL2]] dims [0, 1] : {{.*}}-> tensor<8xf32>
// CHECK: return %{{.+}}, %[[DX]], %[[REDUCE]]

func.func @forward(%x: tensor<2x4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %s: tensor<8xf32> {hone.kind = "param", hone.fqn = "s", hone.requires_grad},
    %c: tensor<2x4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y, %r = hone.rms_norm %x scale %s eps 1.0e-05 : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
  %weighted = hone.mul %y, %c : tensor<2x4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1, 2] : tensor<2x4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
