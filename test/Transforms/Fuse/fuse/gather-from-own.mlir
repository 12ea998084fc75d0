// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// A gather picks rows from memory: what makes its table is a kernel of its own, but for one number that fills it.

// CHECK-LABEL: func.func @counted
// CHECK: %[[TABLE:.*]] = hone.fused map () -> tensor<5x1xf32>
// CHECK-NEXT: hone.iota
// CHECK: hone.fused {{.*}}%[[TABLE]] : tensor<5x1xf32>
// CHECK-NEXT: hone.embedding
func.func @counted(%ids: tensor<12xi64>) -> tensor<12x1xf32> {
  %table = hone.iota dim 0 : tensor<5x1xf32>
  %rows = hone.embedding %table, %ids : tensor<5x1xf32>, tensor<12xi64> -> tensor<12x1xf32>
  return %rows : tensor<12x1xf32>
}

// CHECK-LABEL: func.func @filled
// CHECK: hone.fused map
// CHECK-NEXT: hone.constant
// CHECK-NEXT: hone.embedding
func.func @filled(%ids: tensor<12xi64>) -> tensor<12x1xf32> {
  %table = hone.constant dense<1.0> : tensor<5x1xf32>
  %rows = hone.embedding %table, %ids : tensor<5x1xf32>, tensor<12xi64> -> tensor<12x1xf32>
  return %rows : tensor<12x1xf32>
}
