// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// An argument without hone.requires_grad gets no gradient, and no op is made for it or for what leads only to it.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[F:[a-z0-9]+]]: tensor
// CHECK-SAME: -> (tensor<f32> {hone.kind = "loss"}, tensor<4x8xf32> {hone.fqn = "x", hone.kind = "grad"})
// CHECK: %[[EXP:.+]] = hone.exp %[[F]]
// CHECK: hone.mul %[[X]], %[[EXP]]
// CHECK-NEXT: %[[LOSS:.+]] = hone.reduce
// CHECK-NEXT: return %[[LOSS]], %[[EXP]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %f: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "f"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %e = hone.exp %f : tensor<4x8xf32>
  %y = hone.mul %x, %e : tensor<4x8xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
