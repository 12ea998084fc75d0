// A maximum does not see -inf, a minimum not +inf.
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --hone-verify-pad | FileCheck %s
// RUN: %python %S/equal.py %s %t 8 autodiff | FileCheck %s --check-prefix=EQUAL
// REQUIRES: hone-run

// EQUAL-COUNT-4: equal

// CHECK-LABEL: @forward
// CHECK-DAG: hone.constant dense<0xFF800000> : tensor<4x8xf32>
// CHECK-DAG: hone.constant dense<0x7F800000> : tensor<4x8xf32>
// CHECK-DAG: hone.reduce max %{{.+}} dims [1] : tensor<4x8xf32>
// CHECK-DAG: hone.reduce min %{{.+}} dims [1] : tensor<4x8xf32>
func.func @forward(
    %u: tensor<8x6xf32> {hone.kind = "param", hone.fqn = "u", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %a = hone.reduce max %p dims [1] : tensor<4x6xf32> -> tensor<4xf32>
  %b = hone.reduce min %p dims [1] : tensor<4x6xf32> -> tensor<4xf32>
  %c = hone.sub %a, %b : tensor<4xf32>
  %loss = hone.reduce sum %c dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
