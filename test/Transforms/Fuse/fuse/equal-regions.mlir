// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s

// Regions of equal layers are searched once; which mask a layer draws does not tell them apart, what it stores does.
// CHECK: @layers: 8 groups; 4 of 4 regions of row ops at least cost, 2 of them distinct
func.func @layers(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>, %k: tensor<3xi64>)
    -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %a0 = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %t0 = hone.tanh %a0 : tensor<8x64xf32>
  %r0 = hone.dropout %t0, %k p 0.125 salt 0 : tensor<8x64xf32>, tensor<3xi64>
  %a1 = hone.dot_general %r0, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %t1 = hone.tanh %a1 : tensor<8x64xf32>
  %r1 = hone.dropout %t1, %k p 0.125 salt 1 : tensor<8x64xf32>, tensor<3xi64>
  %a2 = hone.dot_general %r1, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %t2 = hone.tanh %a2 : tensor<8x64xf32>
  %r2 = hone.dropout %t2, %k p 0.125 salt 2 : tensor<8x64xf32>, tensor<3xi64>
  %a3 = hone.dot_general %r2, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %t3 = hone.tanh %a3 : tensor<8x64xf32>
  %r3 = hone.dropout %t3, %k p 0.125 salt 3 : tensor<8x64xf32>, tensor<3xi64>
  return %r3, %t3 : tensor<8x64xf32>, tensor<8x64xf32>
}
