// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// From the output alone.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[SOFTMAX:.+]] = hone.softmax %[[X]]
// CHECK: %[[SOFTMAX_BWD:.+]] = hone.softmax_bwd %[[C]], %[[SOFTMAX]]
// CHECK: return %{{.+}}, %[[SOFTMAX_BWD]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.softmax %x : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
