// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// x * stop_gradient(x) has gradient c * x, not 2 c x; the op is gone from @gradient and @evaluate.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.stop_gradient
// CHECK: %[[DX:.+]] = hone.mul %[[C]], %[[X]]
// CHECK-NEXT: return %{{.+}}, %[[DX]]
// CHECK-LABEL: func.func @evaluate(
// CHECK-NOT: hone.stop_gradient

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %s = hone.stop_gradient %x : tensor<4x8xf32>
  %y = hone.mul %x, %s : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
