// RUN: hone-opt %s --hone-autodiff="seed=0.25" | FileCheck %s

// The cotangent of the loss is the seed, which @gradient records.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: attributes {hone.seed = 2.500000e-01 : f64}
// CHECK: %[[SEED:.+]] = hone.constant dense<2.500000e-01> : tensor<f32>
// CHECK: %[[G:.+]] = hone.broadcast %[[SEED]]
// CHECK: return %{{.+}}, %[[G]]

func.func @forward(%x: tensor<4xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  %loss = hone.reduce sum %x dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
