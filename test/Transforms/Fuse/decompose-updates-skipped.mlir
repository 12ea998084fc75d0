// Where `apply` is false every result has the bits of its operand, whatever the gradient holds; the working copy is made anew.
// RUN: hone-opt %s --hone-decompose-updates -o %t
// RUN: hone-run --compare %t %s --args 3 --bitwise
// RUN: hone-run --eval %t | FileCheck %s
// REQUIRES: hone-run

// CHECK: result 0: tensor<2x2xf32> = {{\[\[}}1.00097656, -2], [0.5, 0]]
// CHECK-NEXT: result 1: tensor<2xf32> = [0.25, 0.5]
// CHECK-NEXT: result 2: tensor<2xf32> = [0.125, 1]
// CHECK-NEXT: result 3: tensor<2x2xbf16> = {{\[\[}}1, -2], [0.5, 0]]
func.func @skipped() -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xbf16>) {
  %p = hone.constant dense<[[1.0009765625, -2.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %g = hone.constant dense<[[0x7F800000, 0x7FC00000], [1.0, 2.0]]> : tensor<2x2xf32>
  %r = hone.constant dense<[0.25, 0.5]> : tensor<2xf32>
  %c = hone.constant dense<[0.125, 1.0]> : tensor<2xf32>
  %x = hone.constant dense<0.1> : tensor<f32>
  %t = hone.constant dense<1> : tensor<i64>
  %no = hone.constant dense<false> : tensor<i1>
  %p1, %r1, %c1, %s1 = hone.adafactor %p, %g variances (%r, %c) lr %x weight_decay %x step %t grad_scale %x apply %no
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>, tensor<i1>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xbf16>)
  return %p1, %r1, %c1, %s1 : tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xbf16>
}
