// RUN: hone-opt %s --hone-autodiff | FileCheck %s

// An op without a rule is no obstacle where no parameter influences it, or where the loss does not see it.

// CHECK-LABEL: func.func @gradient(
// CHECK: hone.softmax_bwd
// CHECK-NOT: hone.softmax_bwd
// CHECK: return

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %m = hone.softmax_bwd %c, %c : tensor<4x8xf32>
  %unused = hone.softmax_bwd %x, %c : tensor<4x8xf32>
  %y = hone.mul %x, %m : tensor<4x8xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
