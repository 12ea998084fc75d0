// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// sign(x) times the cotangent; 0 where x is 0.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[ABS:.+]] = hone.abs %[[X]]
// CHECK: %[[SIGN:.+]] = hone.sign %[[X]]
// CHECK: %[[MUL:.+]] = hone.mul %[[C]], %[[SIGN]]
// CHECK: return %{{.+}}, %[[MUL]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.abs %x : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
