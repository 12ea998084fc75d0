// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// The mask follows key, salt and element: it is the same in whatever group draws it.
// CHECK-LABEL: func.func @key_kept
// CHECK: hone.fused row ({{.*}}, %[[KEY:.*]] = %arg1 : tensor<3xi64>)
// CHECK:   hone.dropout {{.*}}, %[[KEY]] p 1.250000e-01 salt 3
// CHECK: hone.fused contraction
// CHECK: hone.fused map ({{.*}}, %[[AGAIN:.*]] = %arg1 : tensor<3xi64>)
// CHECK:   hone.dropout {{.*}}, %[[AGAIN]] p 1.250000e-01 salt 3
func.func @key_kept(%x: tensor<8x64xf32>, %k: tensor<3xi64>, %w: tensor<64x64xf32>)
    -> (tensor<8xf32>, tensor<8x64xf32>) {
  %a = hone.dropout %x, %k p 0.125 salt 3 : tensor<8x64xf32>, tensor<3xi64>
  %s = hone.reduce sum %a dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p = hone.dot_general %a, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %e = hone.exp %p : tensor<8x64xf32>
  %b = hone.dropout %e, %k p 0.125 salt 3 : tensor<8x64xf32>, tensor<3xi64>
  return %s, %b : tensor<8xf32>, tensor<8x64xf32>
}
