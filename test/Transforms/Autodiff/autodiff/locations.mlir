// RUN: hone-opt %s --hone-autodiff --mlir-print-debuginfo | FileCheck %s

// Ops of the backward pass name the line of the forward op they belong to.

// CHECK-LABEL: func.func @gradient(
// CHECK: hone.gelu_bwd {{.*}} loc([[LOC:#.+]])
// CHECK: [[LINE:#.+]] = loc("model.py":12:5)
// CHECK: [[LOC]] = loc("bwd"([[LINE]]))

func.func @forward(%x: tensor<4xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.gelu tanh %x : tensor<4xf32> loc("model.py":12:5)
  %loss = hone.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
