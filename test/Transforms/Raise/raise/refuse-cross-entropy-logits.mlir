// RUN: hone-opt %s --hone-raise | FileCheck %s

// Logits that are picked without their log-sum-exp.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[T:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.cross_entropy
// CHECK: hone.exp

func.func @forward(%x: tensor<32x61xf32>,
    %t: tensor<32xi64>) -> tensor<32xf32> {
  %logp = hone.exp %x : tensor<32x61xf32>
  %i = hone.iota dim 1 : tensor<32x61xi64>
  %tb = hone.broadcast %t dims [0] : tensor<32xi64> -> tensor<32x61xi64>
  %is = hone.cmp eq, %i, %tb : tensor<32x61xi64> -> tensor<32x61xi1>
  %zero = hone.constant dense<0.0> : tensor<32x61xf32>
  %one = hone.select %is, %logp, %zero : tensor<32x61xi1>, tensor<32x61xf32>
  %p = hone.reduce sum %one dims [1] : tensor<32x61xf32> -> tensor<32xf32>
  %rows = hone.neg %p : tensor<32xf32>
  return %rows : tensor<32xf32>
}
