// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// logsumexp(x) - x[t] per row, guarded as jax.nn.logsumexp is.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[T:[a-z0-9]+]]: tensor
// CHECK: %[[L:.+]], %{{.+}} = hone.cross_entropy none %[[X]], %[[T]] ignore_index -2147483648
// CHECK-NEXT: return %[[L]]

func.func @forward(%x: tensor<32x61xf32>,
    %t: tensor<32xi64>) -> tensor<32xf32> {
  %mx = hone.reduce max %x dims [1] : tensor<32x61xf32> -> tensor<32xf32>
  %size = hone.abs %mx : tensor<32xf32>
  %inf = hone.constant dense<0x7F800000> : tensor<32xf32>
  %finite = hone.cmp lt, %size, %inf : tensor<32xf32> -> tensor<32xi1>
  %nothing = hone.constant dense<0.0> : tensor<32xf32>
  %guarded = hone.select %finite, %mx, %nothing : tensor<32xi1>, tensor<32xf32>
  %st = hone.stop_gradient %guarded : tensor<32xf32>
  %mb = hone.broadcast %st dims [0] : tensor<32xf32> -> tensor<32x61xf32>
  %d = hone.sub %x, %mb : tensor<32x61xf32>
  %ex = hone.exp %d : tensor<32x61xf32>
  %sum = hone.reduce sum %ex dims [1] : tensor<32x61xf32> -> tensor<32xf32>
  %abs = hone.abs %sum : tensor<32xf32>
  %log = hone.log %abs : tensor<32xf32>
  %lse = hone.add %log, %st : tensor<32xf32>
  %i = hone.iota dim 1 : tensor<32x61xi64>
  %tb = hone.broadcast %t dims [0] : tensor<32xi64> -> tensor<32x61xi64>
  %is = hone.cmp eq, %i, %tb : tensor<32x61xi64> -> tensor<32x61xi1>
  %zero = hone.constant dense<0.0> : tensor<32x61xf32>
  %one = hone.select %is, %x, %zero : tensor<32x61xi1>, tensor<32x61xf32>
  %p = hone.reduce sum %one dims [1] : tensor<32x61xf32> -> tensor<32xf32>
  %rows = hone.sub %lse, %p : tensor<32xf32>
  return %rows : tensor<32xf32>
}
