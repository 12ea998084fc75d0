// The largest logit is sought among 6.
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --hone-verify-pad | FileCheck %s
// RUN: %python %S/equal.py %s %t 8 raise | FileCheck %s --check-prefix=EQUAL
// REQUIRES: hone-run

// EQUAL-COUNT-2: equal

// CHECK-LABEL: @forward
// CHECK-DAG: hone.constant dense<0xFF800000> : tensor<4x8xf32>
// CHECK: %[[A:.+]] = hone.select
// CHECK: hone.argmax %[[A]] dim 1 : tensor<4x8xf32> -> tensor<4xi64>
func.func @forward(
    %u: tensor<8x6xf32> {hone.kind = "param", hone.fqn = "u", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %a = hone.argmax %p dim 1 : tensor<4x6xf32> -> tensor<4xi64>
  %f = hone.cast %a : tensor<4xi64> -> tensor<4xf32>
  %loss = hone.reduce sum %f dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
